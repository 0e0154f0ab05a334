//! A key-value store with an adaptive filter in front.
//!
//! # The idea
//!
//! A [filter](twiceshy::AdaptiveFilter) in memory says *no* for nearly all keys that are not there; only if it says
//! *maybe* the engine is asked. If the engine has no such key, that was a mistake, and the filter learns from it
//! before `get` returns: the same key is a mistake never again.
//!
//! | file | what |
//! |---|---|
//! | `builder.rs` | what can be chosen |
//! | `write.rs` | insert, remove, batches |
//! | `read.rs` | get, batches, iteration |
//! | `check.rs` | verify, rebuild |
//! | `merge.rs` | taking in another store |
//!
//! Who waits for whom, learning, growth and batches are those of every store: the folder `shared` beside this one. Journal,
//! snapshots and recovery are those of any filter in front of an engine: the folder `durable`.
//!
//! # Source
//!
//! Sections 4.2 and 6.4 of *Adaptive Quotient Filters* (the *merged* set-up: the value lies next to the key in the
//! reverse map), sections 3.1 and 5.1 of *Aeris*.

mod builder;
mod check;
mod merge;
mod read;
mod write;

pub use builder::StoreBuilder;
pub use merge::Merged;
pub(crate) use merge::PAGE_ROWS;
pub use read::Iter;

pub use crate::durable::Recovery;
pub use crate::settings::EngineKind;
pub use crate::shared::{StoreStats, Verified};

use twiceshy::AdaptiveFilter;

use crate::durable::{Durable, Journal};
use crate::error::StoreError;
use crate::settings::StoreKind;
use crate::shared::{Shared, as_every_store};
use crate::sync::Arc;

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
/// All operations take `&self`, and the store can be shared between threads. Readers never wait for the disk, except for the
/// row that they want; there is one writer at a time. Dropping the store flushes it; [`close`](Self::close) does so, too, and says whether it worked.
///
/// # What is promised
///
/// - A key that was acknowledged is found, until it is removed: also after errors, and after a crash to the
///   [`Durability`](crate::Durability) that was chosen.
/// - A query that was a mistake is not one again because of a key that was there at the time, as long as that key stays.
///   Mistakes that were fixed are remembered through restarts; a crash forgets at most those since the last
///   [`flush`](Self::flush) or the last write that came after them.
/// - Only the filter is in memory, never the keys.
pub struct AdaptiveStore {
    shared: Arc<Shared<AdaptiveFilter>>,
}

as_every_store! { impl [] for AdaptiveStore, with AdaptiveFilter }

impl AdaptiveStore {
    /// Opens the store in a folder, or makes one there, with the default engine and settings.
    ///
    /// See [`builder`](Self::builder) for everything that can be chosen.
    #[cfg(feature = "fjall")]
    pub fn open(folder: impl AsRef<std::path::Path>) -> Result<Self, StoreError> {
        Self::builder().open(folder)
    }

    /// Whether there is such a store in a folder, by the file that says so. Nothing is opened, and nothing is made.
    /// [`StoreKind::in_folder`] tells which kind of store there is.
    pub fn is_in(folder: impl AsRef<std::path::Path>) -> Result<bool, StoreError> {
        Ok(StoreKind::in_folder(folder)? == Some(StoreKind::Adaptive))
    }

    /// Chooses engine, error rate, durability and memory.
    pub fn builder() -> StoreBuilder {
        StoreBuilder::new()
    }

    fn new(opened: (Durable<AdaptiveFilter>, Journal)) -> Self {
        Self { shared: Shared::new(opened) }
    }

    /// What the store has done since it was opened, and what it holds.
    pub fn stats(&self) -> Result<StoreStats, StoreError> {
        self.shared.stats()
    }
}
