//! What all stores have in common: one writer at a time, lessons that wait for it, a thread of the store's own, batches.
//!
//! # Who holds what
//!
//! | lock | held by | while |
//! |---|---|---|
//! | filter, shared | `get`, `contains_key`, `get_batch`, `range` | the filter is asked: some 100 ns |
//! | filter, alone | whoever changes it | one change is made in memory, or a larger filter that is ready takes its place |
//! | writer | `insert`, `remove`, batches | one batch is planned and written to the engine |
//! | writer | learning from a mistake | the keys under one fingerprint are read |
//!
//! So readers never wait for the disk, except for the rows that they want. A query that was a mistake while the writer
//! lock is taken leaves the lesson in a queue for whoever has the lock; one whose lesson needs a larger filter leaves
//! it to a thread of the store's own, unless the filter is so small that growing takes no longer than a disk access. The
//! filter grows beside the old one, which readers go on using.
//!
//! The filter always covers at least the keys that are in the engine: a key enters the filter before its row is
//! written, and leaves it after its row is gone. If a write fails, nobody knows whether the row is there, and the
//! fingerprint stays; at worst it is a mistake, once.
//!
//! | file | what |
//! |---|---|
//! | `served.rs` | what is asked of the filter |
//! | `learn.rs` | mistakes, growth, the queue |
//! | `write.rs` | insert, remove, batches |
//! | `pages.rs` | reading rows a page at a time |
//! | `whole.rs` | rebuild, compact, what verifying counts |
//! | `stats.rs` | counting |
//! | `face.rs` | the methods that all stores have |

mod face;
mod learn;
mod pages;
mod served;
mod stats;
mod whole;
mod write;

pub(crate) use face::as_every_store;
pub(crate) use pages::Pages;
pub(crate) use served::{Served, served};
pub use stats::StoreStats;
pub(crate) use stats::{Count, Counters};
pub(crate) use whole::Met;
pub use whole::Verified;
pub(crate) use write::Known;

use std::ops::{Deref, DerefMut};

use crate::durable::{Durable, Journal, JournalLock};
use crate::error::StoreError;
use crate::sync::{Arc, AtomicBool, Mutex, MutexGuard, thread};
use learn::Lessons;

/// What the threads of a store share.
pub(crate) struct Shared<F: Served> {
    pub(crate) durable: Durable<F>,
    writer: Mutex<Writer>,
    /// Queries that were mistakes and are to be learned.
    lessons: Mutex<Lessons>,
    pub(crate) counters: Counters,
    /// Whether a thread of ours is at work, or about to be.
    has_helper: AtomicBool,
    helper: Mutex<Option<thread::JoinHandle<()>>>,
}

/// What only the holder of the writer lock changes.
pub(crate) struct Writer {
    pub(crate) journal: Journal,
    /// Queries whose lesson needs a larger filter.
    waiting: Vec<Vec<u8>>,
}

impl<F: Served> Shared<F> {
    pub(crate) fn new((durable, journal): (Durable<F>, Journal)) -> Arc<Self> {
        Arc::new(Self {
            durable,
            writer: Mutex::new(Writer { journal, waiting: Vec::new() }),
            lessons: Mutex::default(),
            counters: Counters::default(),
            has_helper: false.into(),
            helper: Mutex::new(None),
        })
    }

    pub(crate) fn writer(self: &Arc<Self>) -> Result<WriterLock<'_, F>, StoreError> {
        let guard = self.writer.lock().map_err(|_| StoreError::Broken)?;
        Ok(WriterLock { shared: self, guard: Some(guard) })
    }

    /// Saves the filter and clears the journal up to there.
    pub(crate) fn save(self: &Arc<Self>) -> Result<(), StoreError> {
        self.durable.save(self)
    }
}

impl<F: Served> JournalLock for Arc<Shared<F>> {
    fn with_journal<T>(
        &self,
        work: impl FnOnce(&mut Journal) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        work(&mut self.writer()?.journal)
    }
}

/// The writer lock. Whoever has held it does afterwards what others have left in the queue meanwhile.
pub(crate) struct WriterLock<'a, F: Served> {
    shared: &'a Arc<Shared<F>>,
    /// There until it is dropped.
    guard: Option<MutexGuard<'a, Writer>>,
}

impl<F: Served> Drop for WriterLock<'_, F> {
    fn drop(&mut self) {
        drop(self.guard.take());
        self.shared.learn_queued();
    }
}

impl<F: Served> Deref for WriterLock<'_, F> {
    type Target = Writer;

    fn deref(&self) -> &Writer {
        self.guard.as_ref().expect("it is there until it is dropped")
    }
}

impl<F: Served> DerefMut for WriterLock<'_, F> {
    fn deref_mut(&mut self) -> &mut Writer {
        self.guard.as_mut().expect("it is there until it is dropped")
    }
}
