//! What an ordered store has counted.

use super::{OrderedKey, OrderedStore};
use crate::error::StoreError;
use crate::shared::{Count, StoreStats};

/// What an ordered store has done since it was opened, and what it holds.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct OrderedStats {
    /// Ranges that were asked for.
    pub ranges: u64,
    /// How many of them the filter has answered alone: they are empty.
    pub ranges_answered: u64,
    /// How many of the others turned out to be empty.
    pub range_false_positives: u64,
    /// Keys that were asked for, and what was learned. Every part of a range that was a mistake, and every key that was, counts
    /// as one of the [false positives](StoreStats::false_positives).
    pub store: StoreStats,
}

impl<K: OrderedKey + ?Sized> OrderedStore<K> {
    /// What the store has done since it was opened, and what it holds.
    pub fn stats(&self) -> Result<OrderedStats, StoreError> {
        let count = |count| self.shared.counters.sum(count);
        Ok(OrderedStats {
            ranges: count(Count::Ranges),
            ranges_answered: count(Count::RangesAnswered),
            range_false_positives: count(Count::RangeMistakes),
            store: self.shared.stats()?,
        })
    }
}
