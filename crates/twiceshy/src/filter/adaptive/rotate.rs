//! Forgetting, so that there is room to learn in a table that may not get larger.

use super::{AdaptiveFilter, Filter};
use crate::error::RebuildError;
use crate::filter::protocol::{self, Keys, Raw};
use crate::hash::Turn;
use crate::reverse_map::Lookup;

impl<R: Keys, B: AsRef<[u8]>> Filter<R, B> {
    /// How far the filter has come with hashing its keys anew.
    pub fn turn(&self) -> Turn {
        self.reader.hasher().turn()
    }
}

impl<R: Keys> Filter<R> {
    /// Gives the keys of the next group, those of a block of the table, fingerprints of the next epoch: as short as fresh ones, and
    /// made by a hash of which nobody knows anything. What was learned about these keys is forgotten.
    ///
    /// A filter that [rotates](super::Growth::Rotate) does so by itself, and in [`grow`](Self::grow), when there is no room. Whoever calls
    /// this now and then, while nobody waits, spares others the time. Any adaptive filter may be rotated.
    ///
    /// All rows of the group are looked up. An error changes nothing; [`Full`](RebuildError::Full) if the keys of the group, which
    /// may have shared fingerprints before, need more slots than there are.
    ///
    /// ```
    /// use twiceshy::reverse_map::Rows;
    /// use twiceshy::AdaptiveFilter;
    ///
    /// let mut filter = AdaptiveFilter::builder().capacity(1_000).build()?;
    /// let keys: Vec<u64> = (0..1_000).collect();
    /// for key in &keys {
    ///     let _ = filter.insert(key)?;
    /// }
    /// let rows = Rows::of(filter.hasher(), &keys);
    /// while filter.turn().epoch() == 0 {
    ///     filter.rotate(&rows)?; // group by group
    ///     assert!(keys.iter().all(|key| filter.contains(key)));
    /// }
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn rotate<L: Lookup + ?Sized>(&mut self, lookup: &L) -> Result<(), RebuildError<L::Error>> {
        self.rotate_with(self.core.group_bits(), lookup)
    }

    /// [`rotate`](Self::rotate); if an epoch begins, so many bits stay in it.
    pub(crate) fn rotate_with<L: Lookup + ?Sized>(
        &mut self,
        bits: u32,
        lookup: &L,
    ) -> Result<(), RebuildError<L::Error>> {
        let (turn, group) = self.next_group(bits)?;
        let next = self.reader.in_turn(turn);
        protocol::rotate(&mut self.core, &self.reader, &next, group, lookup)?;
        self.reader = next;
        Ok(())
    }

    /// The turn after the next group was rotated, and its first and last hash.
    fn next_group<E>(&self, bits: u32) -> Result<(Turn, (u64, u64)), RebuildError<E>> {
        self.turn().advanced(bits).ok_or(RebuildError::Full { slots: self.slots() })
    }

    /// [Rotates](Self::rotate) until the filter has come as far as another one like it: groups that are farther stay as they are.
    pub(crate) fn rotate_to<L: Lookup + ?Sized>(
        &mut self,
        turn: &Turn,
        lookup: &L,
    ) -> Result<(), RebuildError<L::Error>> {
        while turn.is_after(&self.turn()) {
            // In an epoch in which as many bits stay, fingerprints are the same as those that were learned about.
            let bits = turn.bits_after(&self.turn()).unwrap_or(self.core.group_bits());
            let rotated = match bits > self.core.position_bits() && self.core.can_grow() {
                true => Err(RebuildError::Full { slots: self.slots() }),
                false => self.rotate_with(bits.min(self.core.position_bits()), lookup),
            };
            match rotated {
                // It was larger when it rotated.
                Err(RebuildError::Full { .. }) if self.core.can_grow() => {
                    self.core = protocol::grown(&self.core, &self.reader, 0, lookup)?;
                }
                rotated => rotated?,
            }
        }
        Ok(())
    }

    /// Whether there is no more room to be had but by forgetting.
    pub(crate) fn must_forget(&self) -> bool {
        self.core.must_forget()
    }

    /// Forgets until fewer slots are in use; [`Full`](RebuildError::Full) if a whole turn has not helped. Groups that have turned
    /// until there is an error are right as they are.
    pub(super) fn forget<L: Lookup + ?Sized>(&mut self, lookup: &L) -> Result<(), RebuildError<L::Error>> {
        self.forget_by(|filter| filter.rotate(lookup))
    }

    fn forget_by<E>(
        &mut self,
        mut rotate: impl FnMut(&mut Self) -> Result<(), RebuildError<E>>,
    ) -> Result<(), RebuildError<E>> {
        let (before, start) = (self.used_slots(), self.turn());
        while self.turn().is_within_a_turn_of(&start) {
            rotate(self)?;
            if self.used_slots() < before {
                return Ok(());
            }
        }
        Err(RebuildError::Full { slots: self.slots() })
    }
}

impl AdaptiveFilter {
    /// [`rotate`](Self::rotate) for callers who hash themselves; see [`contains_hash`](Self::contains_hash). The keys of the rows
    /// do not matter.
    pub fn rotate_hashes<L: Lookup + ?Sized>(&mut self, lookup: &L) -> Result<(), RebuildError<L::Error>> {
        let (turn, group) = self.next_group(self.core.group_bits())?;
        let next = self.reader.in_turn(turn);
        protocol::rotate(&mut self.core, &Raw(&self.reader), &Raw(&next), group, lookup)?;
        self.reader = next;
        Ok(())
    }

    /// [`forget`](Self::forget) for callers who hash themselves.
    pub(super) fn forget_hashes<L: Lookup + ?Sized>(
        &mut self,
        lookup: &L,
    ) -> Result<(), RebuildError<L::Error>> {
        self.forget_by(|filter| filter.rotate_hashes(lookup))
    }
}
