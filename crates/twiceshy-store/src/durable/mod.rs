//! A filter and the rows that it is a filter of, kept so that a crash loses nothing.
//!
//! # The idea
//!
//! The rows are in an [engine](crate::engine), the filter is in memory. Every batch that changes keys is written together
//! with a row of a journal, which says what happened to the filter. Now and then the filter is saved, as a snapshot, and the
//! journal up to there is cleared. When the store is opened again, snapshot and journal make the filter; if they cannot, the
//! rows do.
//!
//! Only the trait [`Kept`] knows what kind of filter that is, and how it finds its keys in the rows. A store holds a
//! [`Durable`], and brings the operations and the writer lock, with a [`Journal`] under it.
//!
//! | file | what |
//! |---|---|
//! | `kept.rs` | what is asked of the filter |
//! | `journal.rs` | what changed since the filter was saved, as rows of the engine |
//! | `snapshot.rs` | the filter as a file |
//! | `open.rs` | making and opening |
//! | `recover.rs` | a filter for the rows that are there |
//! | `save.rs` | flush, snapshots, the journal's end |

mod journal;
mod kept;
mod open;
mod recover;
mod save;
mod snapshot;

pub(crate) use journal::{Entry, Event};
pub(crate) use kept::{Kept, Replay, apart, kept, kept_by_hash, rebuild_error, set_error};
pub(crate) use open::{Description, Opening, describe};
pub use recover::Recovery;

use std::io;
use std::sync::Arc as StdArc;

use twiceshy::adaptive::Record;

use crate::engine::{Batch, Durability, Engine};
use crate::error::StoreError;
use crate::files::Files;
use crate::sync::{AtomicU64, Mutex, Ordering, RwLock, RwLockReadGuard, RwLockWriteGuard};
use journal::{History, Mark};

/// A number that tells stores apart.
type StoreId = [u8; 16];

/// A filter, its rows, and what is needed to keep both.
pub(crate) struct Durable<F: Kept> {
    pub(crate) engine: StdArc<dyn Engine>,
    pub(crate) rows: F::Rows,
    pub(crate) files: Box<dyn Files>,
    id: StoreId,
    pub(crate) durability: Durability,
    /// A journal with fewer records is not worth a snapshot.
    few_records: u64,
    pub(crate) recovery: Recovery,
    filter: RwLock<F>,
    /// Held while a snapshot is written.
    saving: Mutex<()>,
    /// Keys in the store.
    keys: AtomicU64,
}

/// How far the journal of an open store has got. Only who holds the store's writer lock has it.
pub(crate) struct Journal {
    /// The last row that is certainly there.
    mark: Mark,
    /// The last number that a row was given, whether or not it could be written.
    number: u64,
    /// The history that begins with the first row of this opening.
    history: History,
    /// How many records no snapshot knows.
    records: u64,
    /// With fewer records than this no thread of the store's own saves the filter again: the last time it could not.
    retry_at: u64,
    /// Mistakes that were fixed, and leftovers that were cleared away, and are in no row yet.
    pub(crate) learned: Vec<Record>,
    /// Keys whose rows were to say something else, and nobody knows whether they do, because writing them failed.
    pub(crate) in_doubt: Vec<Vec<u8>>,
    /// Whether there is a snapshot that the journal leads on from.
    pub(crate) is_saved: bool,
}

/// The writer lock of a store, with the journal under it.
pub(crate) trait JournalLock {
    /// Calls `work` with the journal while nobody else writes.
    fn with_journal<T>(
        &self,
        work: impl FnOnce(&mut Journal) -> Result<T, StoreError>,
    ) -> Result<T, StoreError>;
}

impl Journal {
    /// Keys in the store.
    pub(crate) fn keys(&self) -> u64 {
        self.mark.keys
    }

    /// How many records no snapshot knows, written or not.
    pub(crate) fn unsaved(&self) -> u64 {
        self.records + self.learned.len() as u64
    }
}

impl<F: Kept> Durable<F> {
    pub(crate) fn filter(&self) -> Result<RwLockReadGuard<'_, F>, StoreError> {
        self.filter.read().map_err(|_| StoreError::Broken)
    }

    pub(crate) fn filter_mut(&self) -> Result<RwLockWriteGuard<'_, F>, StoreError> {
        self.filter.write().map_err(|_| StoreError::Broken)
    }

    /// Puts another filter in place of this one. Freeing the old one takes time, and keeps nobody waiting.
    pub(crate) fn exchange(&self, new: F) -> Result<(), StoreError> {
        let old = std::mem::replace(&mut *self.filter_mut()?, new);
        drop(old);
        Ok(())
    }

    /// How many keys there are, for those who do not hold the writer lock.
    pub(crate) fn keys(&self) -> u64 {
        self.keys.load(Ordering::Relaxed)
    }

    /// Notes how many keys there are.
    pub(crate) fn set_keys(&self, journal: &mut Journal, keys: u64) {
        journal.mark.keys = keys;
        self.keys.store(keys, Ordering::Relaxed);
    }

    /// Writes the lessons that are in no row of the journal yet. They are safe with the next sync.
    pub(crate) fn write_learned(&self, journal: &mut Journal) -> Result<(), StoreError> {
        if journal.learned.is_empty() {
            return Ok(());
        }
        let keys = journal.keys();
        self.commit(journal, Batch::new(), Entry::default(), keys, Durability::Relaxed)
    }

    /// Writes a batch after which there are so many keys, and its row of the journal with all lessons that are in none yet.
    /// If that fails, nobody knows whether it is there.
    pub(crate) fn commit(
        &self,
        journal: &mut Journal,
        mut batch: Batch,
        mut entry: Entry,
        keys: u64,
        durability: Durability,
    ) -> Result<(), StoreError> {
        entry.others.extend(journal.learned.iter().cloned());
        let mut mark = Mark { keys, ..journal.mark };
        if !entry.is_empty() {
            // Used once, whatever becomes of the row.
            journal.number += 1;
            (mark.number, mark.history) = (journal.number, journal.history);
            journal::put(&mut batch, journal.mark, mark, &entry);
        }
        self.engine.write(batch, durability)?;
        journal.mark = mark;
        journal.records += entry.len();
        journal.learned.clear();
        self.keys.store(keys, Ordering::Relaxed);
        Ok(())
    }
}

fn file_error(doing: &'static str, files: &dyn Files, name: &str, source: io::Error) -> StoreError {
    StoreError::File { doing, path: files.path().join(name), source }
}
