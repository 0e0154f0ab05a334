//! Walking over all fingerprints in order.

use crate::codec::counted;
use crate::table::{Run, Runs, Table};

/// A fingerprint and how many copies of it there are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FingerprintCount {
    /// The first [`fingerprint_bits`](super::QuotientFilter::fingerprint_bits) bits of a hash, as a
    /// number.
    pub fingerprint: u64,
    /// The copies, at least one.
    pub count: u64,
}

/// All fingerprints of a filter in ascending order. See [`QuotientFilter::iter`](super::QuotientFilter::iter).
pub struct Fingerprints<'a, B> {
    table: &'a Table<B>,
    runs: Runs<'a, B>,
    quotient: u64,
    /// What is left of the present run.
    run: Run,
}

impl<'a, B: AsRef<[u8]>> Fingerprints<'a, B> {
    pub(super) fn new(table: &'a Table<B>) -> Self {
        Self { table, runs: table.runs(), quotient: 0, run: Run { start: 0, end: 0 } }
    }
}

impl<B: AsRef<[u8]>> Iterator for Fingerprints<'_, B> {
    type Item = FingerprintCount;

    #[inline(always)]
    fn next(&mut self) -> Option<FingerprintCount> {
        if self.run.is_empty() {
            (self.quotient, self.run) = self.runs.next()?;
        }
        let entry = counted::decode(self.table, self.run.start, self.run.end);
        self.run.start = entry.end();
        let fingerprint = self.quotient << self.table.shape().slot_bits() | entry.remainder;
        Some(FingerprintCount { fingerprint, count: entry.count })
    }
}

impl<B> std::fmt::Debug for Fingerprints<'_, B> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Fingerprints").field("quotient", &self.quotient).finish_non_exhaustive()
    }
}

impl<B: AsRef<[u8]>> std::iter::FusedIterator for Fingerprints<'_, B> {}
