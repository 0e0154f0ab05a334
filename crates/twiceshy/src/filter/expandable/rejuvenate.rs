//! Rejuvenation: a key that is at hand again gets a fingerprint of full length.
//!
//! The *longest* matching fingerprint of the whole chain is replaced, never a shorter one: another key may rely
//! on that. If the longest has full length already, nothing is done, even if there is a shorter one.
//!
//! Source: *Rejuvenation* and *Batch Rejuvenation* in section 4.1 of *InfiniFilter*, and 4.2 for the chain.

use super::ExpandableFilter;
use super::fingerprint::{Fingerprint, Hash};
use super::grow::Undo;
use super::level::Place;
use crate::codec::counted::Change;
use crate::error::ExpandError;
use crate::key::Key;

/// Which fingerprint was replaced, where it was, and by which.
pub(super) struct Rejuvenated {
    pub(super) level: usize,
    pub(super) place: Place,
    pub(super) from: Fingerprint,
    pub(super) to: Fingerprint,
}

impl ExpandableFilter {
    /// Gives `key` a fingerprint of full length. `true` if it had a shorter one.
    ///
    /// **The key must have been inserted.** After a hit of [`contains`](Self::contains) look the key up where it
    /// is stored, and call this only if it is there: for a key that merely looks present the fingerprint of
    /// another one is replaced, which may then be missing.
    ///
    /// The filter may grow by this. An error changes nothing.
    ///
    /// ```
    /// # use twiceshy::{ExpandableFilter, expandable::Mode};
    /// let mut filter = ExpandableFilter::builder().mode(Mode::Chained).error_rate(1e-6).build()?;
    /// for number in 0..1_000u32 {
    ///     filter.insert(&number)?;
    /// }
    /// let before = filter.expected_error_rate();
    /// assert!(filter.rejuvenate(&0u32)?); // one of the oldest
    /// assert!(!filter.rejuvenate(&0u32)?);
    /// assert!(filter.contains(&0u32));
    /// assert!(filter.expected_error_rate() < before);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn rejuvenate<K: Key + ?Sized>(&mut self, key: &K) -> Result<bool, ExpandError> {
        let hash = self.whole_hash(key, self.hasher.hash(key));
        self.rejuvenate_one(hash)
    }

    /// [`rejuvenate`](Self::rejuvenate) for callers who hash themselves.
    pub fn rejuvenate_hash(&mut self, hash: u64) -> Result<bool, ExpandError> {
        self.rejuvenate_one(Hash::raw(hash, self.settings.block_bits))
    }

    fn rejuvenate_one(&mut self, hash: Hash) -> Result<bool, ExpandError> {
        let Some(replaced) = self.lengthen(hash, &mut Vec::new())? else { return Ok(false) };
        self.copy_change(replaced.from, Change::Remove(1));
        self.copy_change(replaced.to, Change::Add(1));
        self.end_operation(1);
        Ok(true)
    }

    /// Replaces the longest fingerprint of a hash by one of full length; nothing, if it has that. After an error
    /// everything is as it was.
    pub(super) fn lengthen(
        &mut self,
        hash: Hash,
        undo: &mut Vec<Undo>,
    ) -> Result<Option<Rejuvenated>, ExpandError> {
        let Some((level, from, place)) = self.longest(hash) else { return Ok(None) };
        if from.len() >= self.full_bits().min(hash.known()) {
            return Ok(None);
        }
        self.levels[level].take(place, from);
        match self.add_hash(hash, undo) {
            Ok((to, _)) => Ok(Some(Rejuvenated { level, place, from, to })),
            Err(error) => {
                self.take_back(std::mem::take(undo));
                self.levels[level].put_back(place, from);
                self.moves.forget();
                Err(error)
            }
        }
    }
}
