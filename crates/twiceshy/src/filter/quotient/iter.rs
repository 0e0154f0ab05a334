//! Walking over all fingerprints in order.

use std::fmt;

use crate::bits::packed;
use crate::codec::counted;
use crate::table::{BLOCK_SLOTS, Run, Runs, Table};

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
    /// What is left of the present run; nothing behind the last.
    run: Run,
    /// The first bit of the slot where it starts, which is cheaper to move on than to compute anew.
    bit: usize,
}

impl<'a, B: AsRef<[u8]>> Fingerprints<'a, B> {
    pub(super) fn new(table: &'a Table<B>) -> Self {
        let mut all = Self { table, runs: table.runs(), quotient: 0, run: Run { start: 0, end: 0 }, bit: 0 };
        all.next_run();
        all
    }

    /// Goes on at `slot` of the present run.
    #[inline(always)]
    fn go_to(&mut self, slot: u64) {
        self.run.start = slot;
        self.bit = self.table.shape().slot_bit(slot);
    }

    #[inline(always)]
    fn next_run(&mut self) {
        let last = (self.quotient, Run { start: 0, end: 0 });
        (self.quotient, self.run) = self.runs.next().unwrap_or(last);
        self.go_to(self.run.start);
    }
}

impl<B: AsRef<[u8]>> Iterator for Fingerprints<'_, B> {
    type Item = FingerprintCount;

    #[inline(always)]
    fn next(&mut self) -> Option<FingerprintCount> {
        if self.run.is_empty() {
            return None;
        }
        let (bytes, width) = (self.table.bytes(), self.table.shape().slot_bits());
        let remainder = packed::get(bytes, self.bit, width);
        let fingerprint = self.quotient << width | remainder;
        // One copy, for certain: the slot is the last of the run, or another value follows in the block.
        let next = self.run.start + 1;
        let next_bit = self.bit + width as usize;
        if next == self.run.end {
            self.next_run();
            return Some(FingerprintCount { fingerprint, count: 1 });
        }
        if !next.is_multiple_of(BLOCK_SLOTS) && packed::get(bytes, next_bit, width) != remainder {
            (self.run.start, self.bit) = (next, next_bit);
            return Some(FingerprintCount { fingerprint, count: 1 });
        }
        let entry = counted::decode(self.table, self.run.start, self.run.end);
        if entry.end() == self.run.end {
            self.next_run();
        } else {
            self.go_to(entry.end());
        }
        Some(FingerprintCount { fingerprint, count: entry.count })
    }
}

impl<B> fmt::Debug for Fingerprints<'_, B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Fingerprints").field("quotient", &self.quotient).finish_non_exhaustive()
    }
}

impl<B: AsRef<[u8]>> std::iter::FusedIterator for Fingerprints<'_, B> {}
