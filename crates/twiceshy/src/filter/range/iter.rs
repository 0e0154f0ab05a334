//! Walking over all keys as the filter knows them.

use std::fmt;

use super::boxed::{Entries, Entry};
use super::{RangeFilter, RangeKey};
use crate::prefix::Prefix;

/// Keys that a filter cannot tell apart: a fingerprint, a suffix, and how many copies there are.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Fingerprint {
    /// The first bits of the hash of the partition.
    pub prefix: Prefix,
    /// The place in the partition.
    pub suffix: u16,
    /// The copies, at least one.
    pub count: u64,
}

impl<K: RangeKey + ?Sized, B: AsRef<[u8]>> RangeFilter<K, B> {
    /// All fingerprints in the order of the hashes, each with its suffixes in order. One that is too short for the present size
    /// comes once for each quotient that begins with it.
    ///
    /// ```
    /// # use twiceshy::RangeFilter;
    /// let filter: RangeFilter<u64> = [640, 641, 641].into_iter().collect();
    /// let all: Vec<_> = filter.iter().map(|entry| (entry.suffix, entry.count)).collect();
    /// assert_eq!(all, [(0, 1), (1, 2)]);
    /// ```
    pub fn iter(&self) -> Iter<'_, B> {
        Iter(self.boxes.entries())
    }
}

/// All fingerprints of a filter. See [`RangeFilter::iter`].
pub struct Iter<'a, B>(Entries<'a, B>);

impl<B: AsRef<[u8]>> Iterator for Iter<'_, B> {
    type Item = Fingerprint;

    fn next(&mut self) -> Option<Fingerprint> {
        let Entry { fingerprint, suffix, count } = self.0.next()?;
        Some(Fingerprint { prefix: fingerprint.to_prefix(), suffix, count })
    }
}

impl<B> fmt::Debug for Iter<'_, B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Iter").finish_non_exhaustive()
    }
}

impl<'a, K: RangeKey + ?Sized, B: AsRef<[u8]>> IntoIterator for &'a RangeFilter<K, B> {
    type Item = Fingerprint;
    type IntoIter = Iter<'a, B>;
    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}
