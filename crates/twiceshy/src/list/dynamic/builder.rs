//! Choosing the shape of a list, and making one of two iterators.

use std::convert::Infallible;

use super::{ListFilter, Lists, YesNoList};
use crate::codec::string::Tags;
use crate::error::{BuildError, OnBothLists, RebuildError};
use crate::filter::adaptive::{self, Growth};
use crate::filter::core::{Core, Filling};
use crate::filter::settings::as_for_points;
use crate::hash::{Hasher, Hashes, KeyWords};
use crate::key::Key;
use crate::list::Answer;
use crate::reverse_map::{MemoryMap, ReverseMap};

/// Settings for a [`YesNoList`]. All have defaults.
///
/// ```
/// use twiceshy::reverse_map::MemoryMap;
/// use twiceshy::YesNoList;
///
/// let list = YesNoList::builder().error_rate(0.01).capacity(1_000).build_list(MemoryMap::new())?;
/// assert!(list.is_empty());
/// # Ok::<(), twiceshy::error::BuildError>(())
/// ```
#[derive(Debug, Clone, Default)]
#[must_use = "a builder does nothing until build_list() or from_lists() is called"]
pub struct Builder {
    points: adaptive::Builder,
}

impl YesNoList<MemoryMap> {
    /// Chooses size, error rate, hash and growth; then call [`build_list`](Builder::build_list) with a map, or
    /// [`from_lists`](Builder::from_lists) with keys.
    pub fn builder() -> Builder {
        Builder::default()
    }
}

impl Builder {
    as_for_points! {
        /// How many keys must fit on the YES list before the filter grows, with room for adaptations. The default is a few dozen.
        capacity(keys: u64);

        /// The highest probability that a key that is on neither list and was never asked for is answered *yes*, at every size.
        /// The default is 0.001.
        error_rate(rate: f64);

        /// `2^bits` slots, instead of a capacity.
        quotient_bits(bits: u32);

        /// At least `bits` bits of every new fingerprint after its quotient, instead of an error rate; see
        /// [`adaptive::Builder`](crate::adaptive::Builder::remainder_bits).
        remainder_bits(bits: u32);

        /// What to do when the filter is full. The default is to grow without a limit.
        growth(growth: Growth);

        /// Lets the filter grow to this many bytes at most.
        max_bytes(bytes: u64);

        /// How to hash keys. The default is a keyed hash with a fresh random key.
        hasher(hasher: Hasher);
    }

    /// The empty filter, for whoever keeps the keys of a list in a database of their own.
    pub fn build(self) -> Result<ListFilter, BuildError> {
        let (core, hasher) = self.points.build_core(Tags, 1)?;
        Ok(ListFilter::from_core(core, Lists::new(hasher)))
    }

    /// The empty list, on an empty map.
    pub fn build_list<M: ReverseMap>(self, map: M) -> Result<YesNoList<M>, BuildError> {
        Ok(YesNoList::from_parts(self.build()?, map))
    }

    /// A list in memory of all keys on the YES list and all keys on the NO list, in any order, each any number of times. They are
    /// sorted first, and then filter and map are filled in one pass, many times as fast as by single operations.
    ///
    /// A key that is on both lists is [an error](RebuildError::OnBothLists). Without a [`capacity`](Self::capacity) the number of YES keys
    /// is taken.
    ///
    /// ```
    /// use twiceshy::error::RebuildError;
    /// use twiceshy::YesNoList;
    ///
    /// let list = YesNoList::builder().from_lists(["ant", "bee", "ant"], ["cow"])?;
    /// assert_eq!((list.yes_len(), list.no_len()?), (2, 1));
    ///
    /// let both = YesNoList::builder().from_lists(["ant"], ["bee", "ant"]);
    /// assert!(matches!(both, Err(RebuildError::OnBothLists(both)) if both.key == b"ant"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn from_lists<Y: Key, N: Key>(
        self,
        yes: impl IntoIterator<Item = Y>,
        no: impl IntoIterator<Item = N>,
    ) -> Result<YesNoList<MemoryMap>, RebuildError<Infallible>> {
        let hasher = self.points.chosen_hasher()?;
        let listed = |key: &[u8], list| (hasher.hash_bytes(key), Box::<[u8]>::from(key), list);
        let yes = yes.into_iter().map(|key| listed(key.key_bytes().as_ref(), Answer::Yes));
        let no = no.into_iter().map(|key| listed(key.key_bytes().as_ref(), Answer::No));
        let mut keys: Vec<(u64, Box<[u8]>, Answer)> = yes.chain(no).collect();
        keys.sort_unstable_by(|one, other| (one.0, &one.1).cmp(&(other.0, &other.1)));
        let is_same = |one: &(u64, Box<[u8]>, Answer), other: &(u64, Box<[u8]>, Answer)| one.1 == other.1;
        let is_on_both = |pair: &&[_]| is_same(&pair[0], &pair[1]) && pair[0].2 != pair[1].2;
        if let Some(both) = keys.windows(2).find(is_on_both) {
            return Err(OnBothLists { key: both[0].1.to_vec() }.into());
        }
        keys.dedup_by(|later, earlier| is_same(later, earlier));
        let yes = keys.iter().filter(|(_, _, list)| list.is_yes()).count();
        let points = self.points.sized(yes)?.hasher(hasher);
        let (core, lists) = Self { points }.build()?.into_core();
        let filter = ListFilter::from_core(filled(core, &lists, &keys)?, lists);
        let rows = keys.into_iter().map(|(hash, key, list)| (hash, key, list.row_value().into()));
        Ok(YesNoList::from_parts(filter, rows.collect()))
    }
}

/// An empty core with the keys on the YES list, cut past those on the NO list. All are in the order of their hashes.
fn filled(
    empty: Core<Tags>,
    lists: &Lists,
    keys: &[(u64, Box<[u8]>, Answer)],
) -> Result<Core<Tags>, RebuildError<Infallible>> {
    let mut filling = Filling::new(empty, None::<&Core<Tags>>, &[], u64::BITS)?;
    for (hash, key, list) in keys {
        let words = KeyWords::with_first(lists.hasher(), &**key, *hash);
        match list {
            Answer::Yes => filling.add(words, 0)?,
            Answer::No => filling.bar(words)?,
        }
    }
    filling.finish()
}
