//! Engines: ordered key-value stores that keep the rows of a store and what is remembered beside them.
//!
//! # The idea
//!
//! A store asks little of an engine: four separate [spaces](Space) of rows in the order of their keys, a point
//! read, a scan of a range, and batches that are written as a whole or not at all, to the [`Durability`] that is
//! asked for. [`Engine`] is that and nothing more, so that an engine is a page of code, and so that tests can put
//! one between a store and the disk that fails when it is told to.
//!
//! | engine | how it stores | choose it |
//! |---|---|---|
//! | [`FjallEngine`] | log-structured merge tree | by default: writes are cheap, and a filter keeps most reads away |
//! | [`RedbEngine`] | copy-on-write B-tree in one file | if reads of present keys and scans matter most, or one file must hold all |
//! | [`MemoryEngine`] | a `BTreeMap` | for tests, and for data that may be lost with the process |
//!
//! With the feature `testing`, `testing::conformance` tries any engine.

mod error;
#[cfg(feature = "fjall")]
mod fjall;
mod memory;
#[cfg(feature = "redb")]
mod redb;

pub use error::{EngineError, EngineErrorKind};
#[cfg(feature = "fjall")]
pub use fjall::FjallEngine;
pub use memory::MemoryEngine;
#[cfg(feature = "redb")]
pub use redb::RedbEngine;

use std::ops::{Bound, ControlFlow};
use std::sync::Arc;

/// One of the separate sets of rows that an engine keeps.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Space {
    /// The keys and values of the user.
    Rows,
    /// What changed since the filter was saved.
    Journal,
    /// A few rows that say what this store is.
    Meta,
    /// Which partitions have keys, in the order of their hashes; only stores whose keys have an order write there.
    Partitions,
}

impl Space {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Rows, Self::Journal, Self::Meta, Self::Partitions];

    /// A short name that engines can use for files or tables.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Rows => "rows",
            Self::Journal => "journal",
            Self::Meta => "meta",
            Self::Partitions => "partitions",
        }
    }
}

/// What a write survives once it was acknowledged.
///
/// Whatever the level, a batch is there as a whole or not at all, and if it is there, so are all batches that were
/// acknowledged before it.
///
/// | level | fjall | redb | memory |
/// |---|---|---|---|
/// | `Relaxed` | in the buffer of its journal | `Durability::None` | nothing |
/// | `Process` | `PersistMode::Buffer` | `Durability::Immediate`, for there is nothing between | nothing |
/// | `Power` | `PersistMode::SyncAll` | `Durability::Immediate` | nothing |
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub enum Durability {
    /// Nothing until the next [`flush`](crate::AdaptiveStore::flush), or until the store is dropped: a process that
    /// is killed may lose the last writes.
    Relaxed,
    /// The end of the process, however it comes, but not a power cut.
    #[default]
    Process,
    /// A power cut.
    Power,
}

/// Changes that are made together or not at all.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Batch {
    changes: Vec<Change>,
}

/// A change of one row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Change {
    /// A row that is written, in place of an older one with this key.
    Put {
        /// Where.
        space: Space,
        /// The key of the row.
        key: Vec<u8>,
        /// Its value.
        value: Vec<u8>,
    },
    /// A row that is removed if it is there.
    Delete {
        /// Where.
        space: Space,
        /// The key of the row.
        key: Vec<u8>,
    },
}

#[cfg(feature = "fjall")]
impl Change {
    /// The bytes of key and value.
    fn len(&self) -> usize {
        match self {
            Self::Put { key, value, .. } => key.len() + value.len(),
            Self::Delete { key, .. } => key.len(),
        }
    }
}

impl Batch {
    /// No changes yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Writes a row. The last change of a key counts.
    pub fn put(&mut self, space: Space, key: Vec<u8>, value: Vec<u8>) {
        self.changes.push(Change::Put { space, key, value });
    }

    /// Removes a row.
    pub fn delete(&mut self, space: Space, key: Vec<u8>) {
        self.changes.push(Change::Delete { space, key });
    }

    /// Whether the last change was to write this row.
    pub(crate) fn ends_with_put(&self, wanted: Space, row_key: &[u8]) -> bool {
        matches!(self.changes.last(), Some(Change::Put { space, key, .. }) if *space == wanted && key == row_key)
    }

    /// How many changes there are.
    pub fn len(&self) -> usize {
        self.changes.len()
    }

    /// Whether there is no change.
    pub fn is_empty(&self) -> bool {
        self.changes.is_empty()
    }

    /// The changes, in the order in which they were made.
    pub fn into_changes(self) -> Vec<Change> {
        self.changes
    }
}

/// A range of keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Keys<'a> {
    /// The first key that belongs to it.
    pub from: &'a [u8],
    /// The first key after it; `None` if there is no end.
    pub until: Option<&'a [u8]>,
}

impl<'a> Keys<'a> {
    /// All keys.
    pub const ALL: Self = Self { from: &[], until: None };

    /// The range for `range` of ordered maps. An empty one, which some of them take for a mistake, is one that holds
    /// nothing: the empty key is none.
    pub fn bounds(self) -> (Bound<&'a [u8]>, Bound<&'a [u8]>) {
        match self.until {
            Some(until) if until <= self.from => (Bound::Included(&[]), Bound::Excluded(&[0])),
            Some(until) => (Bound::Included(self.from), Bound::Excluded(until)),
            None => (Bound::Included(self.from), Bound::Unbounded),
        }
    }
}

/// What a scan calls with the key and the value of every row, until it says `Break`. It must not use the engine.
pub type Visit<'a> = dyn FnMut(&[u8], &[u8]) -> ControlFlow<()> + 'a;

/// An ordered key-value store. See the [module](self).
///
/// All operations may be called from many threads at once. A read sees every write that was acknowledged before it
/// began. `Ok` means that the engine looked: `Ok(None)` is "nothing there"; `Err` means that it could not look, or
/// does not know whether it wrote.
pub trait Engine: Send + Sync + 'static {
    /// What the engine is called in messages and in the description of a store.
    fn name(&self) -> &'static str;

    /// The longest key that it stores. A store's own rows have keys of up to 24 bytes.
    fn max_key_len(&self) -> usize;

    /// The longest value that it stores.
    fn max_value_len(&self) -> usize;

    /// The value of a key.
    fn get(&self, space: Space, key: &[u8]) -> Result<Option<Vec<u8>>, EngineError>;

    /// Calls `visit` for all rows with keys in a range, in ascending order of the keys.
    fn scan(&self, space: Space, keys: Keys<'_>, visit: &mut Visit<'_>) -> Result<(), EngineError>;

    /// Makes all changes of a batch, or none.
    ///
    /// No key is empty, and no key and no value is longer than the engine allows.
    fn write(&self, batch: Batch, durability: Durability) -> Result<(), EngineError>;

    /// Makes everything that was written survive a power cut.
    fn sync(&self) -> Result<(), EngineError>;

    /// Gives back space and makes reads faster, as far as the engine can; may take long.
    fn compact(&self) -> Result<(), EngineError> {
        Ok(())
    }

    /// The bytes that it uses on disk, if it knows.
    fn disk_bytes(&self) -> Option<u64> {
        None
    }
}

impl<E: Engine + ?Sized> Engine for Arc<E> {
    fn name(&self) -> &'static str {
        (**self).name()
    }

    fn max_key_len(&self) -> usize {
        (**self).max_key_len()
    }

    fn max_value_len(&self) -> usize {
        (**self).max_value_len()
    }

    fn get(&self, space: Space, key: &[u8]) -> Result<Option<Vec<u8>>, EngineError> {
        (**self).get(space, key)
    }

    fn scan(&self, space: Space, keys: Keys<'_>, visit: &mut Visit<'_>) -> Result<(), EngineError> {
        (**self).scan(space, keys, visit)
    }

    fn write(&self, batch: Batch, durability: Durability) -> Result<(), EngineError> {
        (**self).write(batch, durability)
    }

    fn sync(&self) -> Result<(), EngineError> {
        (**self).sync()
    }

    fn compact(&self) -> Result<(), EngineError> {
        (**self).compact()
    }

    fn disk_bytes(&self) -> Option<u64> {
        (**self).disk_bytes()
    }
}
