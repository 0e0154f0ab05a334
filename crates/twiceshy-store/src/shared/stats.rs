//! Counting, so that many threads can.

use std::sync::atomic::{AtomicU64, Ordering};

use twiceshy::adaptive;

use super::{Served, Shared};
use crate::error::StoreError;
use crate::sync::Arc;

/// How many sets of counters there are: threads that use different ones do not wait for each other's cache lines.
const STRIPES: usize = 16;

/// What is counted.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Count {
    Queries,
    Lookups,
    Mistakes,
    Fixed,
    Postponed,
    Dropped,
    Failed,
    /// Ranges that were asked for.
    Ranges,
    /// Those that the filter has answered.
    RangesAnswered,
    /// Those that the filter let through and that have no rows.
    RangeMistakes,
}

const COUNTS: usize = 10;

/// A cache line of counters, or two.
#[repr(align(128))]
#[derive(Debug, Default)]
struct Stripe([AtomicU64; COUNTS]);

#[derive(Debug, Default)]
pub(crate) struct Counters {
    stripes: [Stripe; STRIPES],
}

thread_local! {
    /// Which stripe a thread uses.
    static STRIPE: usize = {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        NEXT.fetch_add(1, Ordering::Relaxed) as usize % STRIPES
    };
}

impl Counters {
    #[inline]
    pub(crate) fn add(&self, count: Count, number: u64) {
        let stripe = STRIPE.try_with(|&stripe| stripe).unwrap_or(0);
        self.stripes[stripe].0[count as usize].fetch_add(number, Ordering::Relaxed);
    }

    pub(crate) fn sum(&self, count: Count) -> u64 {
        self.stripes.iter().map(|stripe| stripe.0[count as usize].load(Ordering::Relaxed)).sum()
    }
}

/// What a store has done since it was opened, and what it holds.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct StoreStats {
    /// Keys that were asked for.
    pub queries: u64,
    /// How many of them the engine was asked for.
    pub engine_lookups: u64,
    /// How many of those the engine did not have.
    pub false_positives: u64,
    /// How many false positives the filter has learned from.
    pub fixed: u64,
    /// How many of them were left to another thread.
    pub postponed: u64,
    /// False positives that nothing was learned from, because too many were waiting.
    pub dropped: u64,
    /// False positives that nothing was learned from, because the engine failed or the filter may not grow.
    pub failed: u64,
    /// Records in the journal that no snapshot of the filter knows.
    pub journal_records: u64,
    /// The bytes of the filter in memory.
    pub filter_bytes: u64,
    /// The bytes of the engine on disk, if it knows.
    pub disk_bytes: Option<u64>,
    /// The filter's own statistics.
    pub filter: adaptive::Stats,
}

impl<F: Served> Shared<F> {
    pub(crate) fn stats(self: &Arc<Self>) -> Result<StoreStats, StoreError> {
        let records = self.writer()?.journal.unsaved();
        let filter = self.durable.filter()?;
        let count = |count| self.counters.sum(count);
        Ok(StoreStats {
            queries: count(Count::Queries),
            engine_lookups: count(Count::Lookups),
            false_positives: count(Count::Mistakes),
            fixed: count(Count::Fixed),
            postponed: count(Count::Postponed),
            dropped: count(Count::Dropped),
            failed: count(Count::Failed),
            journal_records: records,
            filter_bytes: filter.size_in_bytes() as u64,
            disk_bytes: self.durable.engine.disk_bytes(),
            filter: filter.stats(),
        })
    }
}
