//! Building a filter from many keys at once, several times faster than inserting them one by one.

use super::fill::{FillError, fill};
use super::{Builder, Fingerprint, QuotientFilter};
use crate::codec::counted;
use crate::error::BulkError;
use crate::key::Key;

impl Builder {
    /// A filter with all `keys`, which may come in any order and more than once.
    ///
    /// The hashes are collected and sorted (8 bytes per key). Without a size the filter is made just large
    /// enough for the keys given.
    ///
    /// ```
    /// # use twiceshy::QuotientFilter;
    /// let filter = QuotientFilter::builder().error_rate(0.001).from_keys(["ant", "bee", "ant"])?;
    /// assert_eq!(filter.count("ant"), 2);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn from_keys<K: Key>(self, keys: impl IntoIterator<Item = K>) -> Result<QuotientFilter, BulkError> {
        let hasher = self.clone().into_hasher()?;
        let mut hashes: Vec<u64> = keys.into_iter().map(|key| hasher.hash(&key)).collect();
        hashes.sort_unstable();
        self.hasher(hasher).from_sorted_hashes(hashes)
    }

    /// A filter with all `hashes`, which must be in ascending order; equal ones are copies.
    ///
    /// With a size given, the hashes stream through; without, they are collected first to count them.
    /// They must be the filter's own ([`Hasher::hash`](crate::Hasher::hash)) if it is to be asked for
    /// keys later.
    pub fn from_sorted_hashes(
        self,
        hashes: impl IntoIterator<Item = u64>,
    ) -> Result<QuotientFilter, BulkError> {
        if self.has_size() {
            return self.stream(hashes);
        }
        let hashes: Vec<u64> = hashes.into_iter().collect();
        let slots = hashes.chunk_by(|one, other| one == other).map(most_slots).sum();
        self.capacity(slots).stream(hashes)
    }

    fn stream(self, hashes: impl IntoIterator<Item = u64>) -> Result<QuotientFilter, BulkError> {
        let plan = self.plan()?;
        let hasher = self.into_hasher()?;
        let bits = plan.shape.quotient_bits() + plan.shape.slot_bits();
        let mut stream =
            Ascending { hashes: hashes.into_iter(), taken: 0, last: 0, sorted: true, surplus: 64 - bits };
        let filled = fill(plan.shape, plan.max_quotient_bits, &mut stream);
        if !stream.sorted {
            return Err(BulkError::Unsorted { index: stream.taken });
        }
        let (table, filled) = filled.map_err(|error| match error {
            FillError::Full(shape) => {
                BulkError::Full { inserted: stream.taken.saturating_sub(1), slots: shape.slots() }
            }
            FillError::Unsorted => BulkError::Unsorted { index: stream.taken },
            FillError::TooManyCopies => BulkError::TooManyCopies,
            FillError::Memory(error) => error.into(),
        })?;
        Ok(QuotientFilter {
            table,
            hasher,
            len: filled.len,
            distinct: filled.distinct,
            max_quotient_bits: plan.max_quotient_bits,
        })
    }
}

/// The most slots that copies of one hash take, at any width but 1.
fn most_slots(copies: &[u64]) -> u64 {
    counted::encode(0, copies.len() as u64, 2).as_ref().len() as u64
}

/// Hashes as fingerprints, up to the first one that is smaller than its predecessor.
struct Ascending<I> {
    hashes: I,
    /// How many were in order.
    taken: u64,
    last: u64,
    sorted: bool,
    /// Bits of a hash that a fingerprint does not have.
    surplus: u32,
}

impl<I: Iterator<Item = u64>> Iterator for Ascending<I> {
    type Item = Fingerprint;
    #[inline(always)]
    fn next(&mut self) -> Option<Fingerprint> {
        let hash = self.hashes.next()?;
        if hash < self.last {
            self.sorted = false;
            return None;
        }
        self.last = hash;
        self.taken += 1;
        Some(Fingerprint { fingerprint: hash >> self.surplus, count: 1 })
    }
}
