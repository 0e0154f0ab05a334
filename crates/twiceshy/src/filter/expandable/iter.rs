//! Walking over all fingerprints in order.

use std::fmt;

use super::ExpandableFilter;
use super::fingerprint::Entry;
use super::level::Level;
use crate::filter::union::{Stream, union_of};
use crate::prefix::Prefix;

/// A stored fingerprint and how many copies of it there are.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct PrefixCount {
    /// The first bits of the hash of the keys that it stands for.
    pub prefix: Prefix,
    /// The copies, at least one.
    pub count: u64,
}

impl<B: AsRef<[u8]>> ExpandableFilter<B> {
    /// All fingerprints of all tables, in the order of the hashes. The same one may come twice if growth is
    /// going on.
    ///
    /// ```
    /// # use twiceshy::ExpandableFilter;
    /// let mut filter = ExpandableFilter::builder().quotient_bits(4).fingerprint_bits(4).build()?;
    /// filter.insert_hash(0xab << 56)?;
    /// let all: Vec<_> = filter.iter().map(|entry| (entry.prefix.to_string(), entry.count)).collect();
    /// assert_eq!(all, [("10101011".to_owned(), 1)]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn iter(&self) -> Iter<'_> {
        Iter(self.entries())
    }

    /// All entries of all tables in ascending order.
    pub(super) fn entries(&self) -> Stream<'_, Entry> {
        union_of(self.levels.iter().map(Level::entries).collect())
    }
}

/// All fingerprints of a filter. See [`ExpandableFilter::iter`].
pub struct Iter<'a>(Stream<'a, Entry>);

impl Iterator for Iter<'_> {
    type Item = PrefixCount;

    fn next(&mut self) -> Option<PrefixCount> {
        let Entry { fingerprint, count } = self.0.next()?;
        Some(PrefixCount { prefix: fingerprint.to_prefix(), count })
    }
}

impl fmt::Debug for Iter<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Iter").finish_non_exhaustive()
    }
}

impl<'a, B: AsRef<[u8]>> IntoIterator for &'a ExpandableFilter<B> {
    type Item = PrefixCount;
    type IntoIter = Iter<'a>;
    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}
