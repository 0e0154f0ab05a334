//! Walking over all fingerprints in order.

use std::fmt;

use crate::codec::counted::Entries;
use crate::filter::union::Ascending;
use crate::table::Table;

/// A fingerprint and how many copies of it there are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Fingerprint {
    /// The first [`fingerprint_bits`](super::QuotientFilter::fingerprint_bits) bits of a hash, as a
    /// number.
    pub fingerprint: u64,
    /// The copies, at least one.
    pub count: u64,
}

/// All fingerprints of a filter in ascending order. See [`QuotientFilter::iter`](super::QuotientFilter::iter).
pub struct Iter<'a, B>(Entries<'a, B>);

impl<'a, B: AsRef<[u8]>> Iter<'a, B> {
    pub(super) fn new(table: &'a Table<B>) -> Self {
        Self(Entries::new(table))
    }
}

impl<B: AsRef<[u8]>> Iterator for Iter<'_, B> {
    type Item = Fingerprint;

    #[inline(always)]
    fn next(&mut self) -> Option<Fingerprint> {
        let (quotient, remainder, count) = self.0.next()?;
        let fingerprint = quotient << self.0.table().shape().slot_bits() | remainder;
        Some(Fingerprint { fingerprint, count })
    }
}

/// For unions of streams.
impl Ascending for Fingerprint {
    const END: Self = Self { fingerprint: u64::MAX, count: 0 };

    #[inline(always)]
    fn is_end(&self) -> bool {
        self.count == 0
    }

    #[inline(always)]
    fn is_before(&self, other: &Self) -> bool {
        self.fingerprint < other.fingerprint
    }
}

impl<B: AsRef<[u8]>> fmt::Debug for Iter<'_, B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Iter").field("quotient", &self.0.quotient()).finish_non_exhaustive()
    }
}

impl<B: AsRef<[u8]>> std::iter::FusedIterator for Iter<'_, B> {}
