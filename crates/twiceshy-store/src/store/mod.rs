//! A key-value store with an adaptive filter in front.
//!
//! # The idea
//!
//! A [filter](twiceshy::AdaptiveFilter) in memory says *no* for nearly all keys that are not there; only if it says
//! *maybe* the engine is asked. If the engine has no such key, that was a mistake, and the filter learns from it
//! before `get` returns: the same key is a mistake never again.
//!
//! # Who holds what
//!
//! | lock | held by | while |
//! |---|---|---|
//! | filter, shared | `get`, `contains_key`, `get_batch` | the filter is asked: some 100 ns |
//! | filter, alone | whoever changes it | one change is made in memory, or a larger filter that is ready takes its place |
//! | writer | `insert`, `remove`, batches | one batch is planned and written to the engine |
//! | writer | learning from a mistake | the keys under one fingerprint are read |
//!
//! So readers never wait for the disk, except for the row that they want. A `get` that made a mistake while the writer
//! lock is taken leaves the key in a queue for whoever has the lock; a `get` whose lesson needs a larger filter leaves
//! it to a thread of its own, unless the filter is so small that growing takes no longer than a disk access. The filter
//! grows beside the old one, which readers go on using.
//!
//! The filter always covers at least the keys that are in the engine: a key enters the filter before its row is
//! written, and leaves it after its row is gone. If a write fails, nobody knows whether the row is there, and the
//! fingerprint stays; at worst it is a mistake, once.
//!
//! | file | what |
//! |---|---|
//! | `builder.rs` | what can be chosen, and opening |
//! | `learn.rs` | mistakes, growth, the queue |
//! | `write.rs` | insert, remove, batches |
//! | `read.rs` | get, batches, iteration |
//! | `check.rs` | verify, rebuild, compact |
//! | `merge.rs` | taking in another store |
//! | `stats.rs` | counting |
//!
//! Journal, snapshots and recovery are those of any filter in front of an engine: the folder `durable` beside this one.
//!
//! # Source
//!
//! Sections 4.2 and 6.4 of *Adaptive Quotient Filters* (the *merged* set-up: the value lies next to the key in the
//! reverse map), sections 3.1 and 5.1 of *Aeris*.

mod builder;
mod check;
mod learn;
mod merge;
mod read;
mod stats;
mod write;

pub use crate::durable::Recovery;
pub use builder::{EngineKind, StoreBuilder};
pub use check::Verified;
pub use merge::Merged;
pub use read::Iter;
pub use stats::StoreStats;

use std::fmt;
use std::ops::{Deref, DerefMut};

use twiceshy::AdaptiveFilter;

use crate::durable::{Durable, Journal, JournalLock};
use crate::engine::{Durability, Engine};
use crate::error::StoreError;
use crate::sync::{Arc, AtomicBool, Mutex, MutexGuard, thread};
use learn::Lessons;
use stats::Counters;

/// A key-value store on disk with an adaptive filter in front: absent keys cost no disk access, and no mistake is made
/// twice.
///
/// ```
/// use twiceshy_store::AdaptiveStore;
///
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("words");
/// let store = AdaptiveStore::open(&path)?;
/// store.insert("ant", "six legs")?;
/// assert_eq!(store.get("ant")?, Some(b"six legs".to_vec()));
/// assert_eq!(store.get("bee")?, None);
/// assert!(store.remove("ant")?);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// All operations take `&self`, and the store can be shared between threads. The [module](self) says who waits for
/// whom. Dropping the store flushes it; [`close`](Self::close) does so, too, and says whether it worked.
///
/// # What is promised
///
/// - A key that was acknowledged is found, until it is removed: also after errors, and after a crash to the
///   [`Durability`] that was chosen.
/// - A query that was a mistake is not one again because of a key that was there at the time, as long as that key stays.
///   Mistakes that were fixed are remembered through restarts; a crash forgets at most those since the last
///   [`flush`](Self::flush) or the last write that came after them.
/// - Only the filter is in memory, never the keys.
pub struct AdaptiveStore {
    shared: Arc<Shared>,
}

/// What the threads of a store share.
struct Shared {
    durable: Durable<AdaptiveFilter>,
    writer: Mutex<Writer>,
    /// Keys that were mistakes and are to be learned.
    lessons: Mutex<Lessons>,
    counters: Counters,
    /// Whether a thread of ours is at work, or about to be.
    has_helper: AtomicBool,
    helper: Mutex<Option<thread::JoinHandle<()>>>,
}

/// What only the holder of the writer lock changes.
struct Writer {
    journal: Journal,
    /// Keys whose lesson needs a larger filter.
    waiting: Vec<Vec<u8>>,
}

impl AdaptiveStore {
    /// Opens the store in a folder, or makes one there, with the default engine and settings.
    ///
    /// See [`builder`](Self::builder) for everything that can be chosen.
    #[cfg(feature = "fjall")]
    pub fn open(folder: impl AsRef<std::path::Path>) -> Result<Self, StoreError> {
        Self::builder().open(folder)
    }

    /// Whether there is a store in a folder, by the file that says so. Nothing is opened, and nothing is made.
    pub fn is_in(folder: impl AsRef<std::path::Path>) -> Result<bool, StoreError> {
        builder::is_store(folder.as_ref())
    }

    /// Chooses engine, error rate, durability and memory.
    pub fn builder() -> StoreBuilder {
        StoreBuilder::new()
    }

    fn new((durable, journal): (Durable<AdaptiveFilter>, Journal)) -> Self {
        let shared = Shared {
            durable,
            writer: Mutex::new(Writer { journal, waiting: Vec::new() }),
            lessons: Mutex::default(),
            counters: Counters::default(),
            has_helper: false.into(),
            helper: Mutex::new(None),
        };
        Self { shared: Arc::new(shared) }
    }

    /// How the store was opened: with its filter as it was left, or with a filter that had to be mended.
    pub fn recovery(&self) -> &Recovery {
        &self.shared.durable.recovery
    }

    /// How many keys there are, without counting. Exact, unless a write failed without saying whether it had been
    /// carried out.
    pub fn approximate_len(&self) -> u64 {
        self.shared.durable.keys()
    }

    /// What is acknowledged survives this.
    pub fn durability(&self) -> Durability {
        self.shared.durable.durability
    }

    /// Calls `look` with the filter, which nobody changes meanwhile: for its size, its fingerprints, or a copy of it.
    ///
    /// As long as it looks, writers wait, and then readers after them. It must not use the store: it would wait for itself.
    pub fn with_filter<T>(&self, look: impl FnOnce(&AdaptiveFilter) -> T) -> Result<T, StoreError> {
        Ok(look(&*self.shared.durable.filter()?))
    }

    /// Waits until a thread that learns from mistakes in the background, if there is one, has ended.
    ///
    /// Not needed for anything but measuring: a mistake that is fixed in the background may be made again meanwhile.
    pub fn settle(&self) {
        self.shared.join_helper();
    }

    /// Returns when everything that was acknowledged, and every mistake that was fixed, survives a power cut.
    ///
    /// If the journal has got long, the filter is saved, too. That it cannot be is no error here, because nothing is lost;
    /// it is tried again, and [`close`](Self::close) says so.
    pub fn flush(&self) -> Result<(), StoreError> {
        self.shared.durable.flush(&self.shared)
    }

    /// Flushes the store and saves its filter; says whether both worked. Dropping the store does the same, and cannot say
    /// so.
    ///
    /// The next opening reads the filter, and little else: the engine, too, leaves next to nothing to do again. Without a
    /// saved filter it has to be mended first ([`Recovery`]).
    pub fn close(self) -> Result<(), StoreError> {
        self.shared.join_helper();
        self.shared.durable.save_if_changed(&self.shared)
    }

    /// The engine.
    pub fn engine(&self) -> &dyn Engine {
        &*self.shared.durable.engine
    }
}

impl Shared {
    fn writer(self: &Arc<Self>) -> Result<WriterLock<'_>, StoreError> {
        let guard = self.writer.lock().map_err(|_| StoreError::Broken)?;
        Ok(WriterLock { shared: self, guard: Some(guard) })
    }

    /// Saves the filter and clears the journal up to there.
    fn save(self: &Arc<Self>) -> Result<(), StoreError> {
        self.durable.save(self)
    }
}

impl JournalLock for Arc<Shared> {
    fn with_journal<T>(
        &self,
        work: impl FnOnce(&mut Journal) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        work(&mut self.writer()?.journal)
    }
}

/// The writer lock. Whoever has held it does afterwards what others have left in the queue meanwhile.
struct WriterLock<'a> {
    shared: &'a Arc<Shared>,
    /// There until it is dropped.
    guard: Option<MutexGuard<'a, Writer>>,
}

impl Drop for WriterLock<'_> {
    fn drop(&mut self) {
        drop(self.guard.take());
        self.shared.learn_queued();
    }
}

impl Deref for WriterLock<'_> {
    type Target = Writer;

    fn deref(&self) -> &Writer {
        self.guard.as_ref().expect("it is there until it is dropped")
    }
}

impl DerefMut for WriterLock<'_> {
    fn deref_mut(&mut self) -> &mut Writer {
        self.guard.as_mut().expect("it is there until it is dropped")
    }
}

impl Drop for AdaptiveStore {
    fn drop(&mut self) {
        self.shared.join_helper();
        // What cannot be saved now is mended when the store is opened.
        let _ = self.shared.durable.save_if_changed(&self.shared);
    }
}

impl fmt::Debug for AdaptiveStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AdaptiveStore")
            .field("path", &self.shared.durable.files.path())
            .field("engine", &self.shared.durable.engine.name())
            .field("keys", &self.approximate_len())
            .finish_non_exhaustive()
    }
}
