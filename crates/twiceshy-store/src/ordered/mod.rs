//! A key-value store whose rows are in the order of their keys, with a filter in front that answers ranges.
//!
//! # The idea
//!
//! "Is there anything between a and b?" takes an engine a disk access, also if there is nothing. An
//! [adaptive range filter](twiceshy::AdaptiveRangeFilter) in memory says *no* to nearly all empty ranges, and to nearly all keys
//! that are not there; only if it says *maybe* the engine is asked. If it has no row, that was a mistake, and the filter learns
//! from it: the parts of the range that were positive are parted from the keys that they were mistaken for.
//!
//! Rows lie under their keys. What the filter needs beside them, to find the keys under a fingerprint, is one row for every
//! partition of neighbouring keys (`rows.rs`).
//!
//! | file | what |
//! |---|---|
//! | `key.rs`, `time.rs` | keys as keys of rows; times that are coarse enough for ranges |
//! | `rows.rs` | rows, and the partitions that have some |
//! | `sorted.rs` | all keys in the order of hashes, for rebuilding |
//! | `kept.rs` | what `durable` and `shared` ask of the filter |
//! | `builder.rs` | what can be chosen |
//! | `read.rs`, `range.rs` | get, batches; ranges |
//! | `write.rs` | insert, remove, batches |
//! | `check.rs` | verify, rebuild |
//! | `stats.rs` | what was counted |
//!
//! Locks, learning, growth and batches are those of every store: the folder `shared` beside this one. Journal, snapshots and
//! recovery are those of any filter in front of an engine: the folder `durable`.
//!
//! # Cost
//!
//! An empty range costs two lookups in memory. A range with rows costs what it costs in the engine. A new key is written with
//! the row of its partition, which is as long as a short key.
//!
//! # Source
//!
//! Sections 3 and 5 of *Aeris Filter*; sections 4.2 and 6.4 of *Adaptive Quotient Filters*.

mod builder;
mod check;
mod kept;
mod key;
mod range;
mod read;
mod rows;
mod sorted;
mod stats;
mod time;
mod write;

pub use builder::OrderedBuilder;
pub use key::OrderedKey;
pub use range::Range;
pub use stats::OrderedStats;
pub use time::{Milliseconds, Seconds};

use twiceshy::AdaptiveRangeFilter;

use crate::durable::{Durable, Journal};
use crate::error::StoreError;
use crate::settings::StoreKind;
use crate::shared::{Shared, as_every_store};
use crate::sync::Arc;

/// A key-value store on disk whose rows are in the order of their keys, with an adaptive filter in front: empty ranges and
/// absent keys cost no disk access, and no mistake is made twice.
///
/// ```
/// use twiceshy_store::OrderedStore;
///
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("visits");
/// let visits = OrderedStore::<u64>::open(&path)?;
/// visits.insert(&1_700_000_000, "ann")?;
/// visits.insert(&1_700_000_007, "bob")?;
/// let minute: Vec<_> = visits.range(1_700_000_000..1_700_000_060).collect::<Result<_, _>>()?;
/// assert_eq!(minute, [(1_700_000_000, b"ann".to_vec()), (1_700_000_007, b"bob".to_vec())]);
/// // Without a look at the disk, nearly always.
/// assert!(visits.range(1_700_000_060..1_700_000_120).next().is_none());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// Keys are of one type that has an order: see [`OrderedKey`]. Strings are stored as they are, but the filter knows only their
/// first 16 bytes: what begins with the same 16 bytes is one key to it (see [`RangeKey`](twiceshy::RangeKey)). So a range or a
/// key beside a string that begins alike is read from the engine every time. Of times, [`Seconds`] or [`Milliseconds`] are mostly
/// better keys than `SystemTime`, which is in nanoseconds: [`max_range`](OrderedBuilder::max_range) counts them.
///
/// All operations take `&self`, and the store can be shared between threads. Readers never wait for the disk, except for the
/// rows that they want; there is one writer at a time. Dropping the store flushes it; [`close`](Self::close) does so, too, and
/// says whether it worked.
///
/// # What is promised
///
/// - A key that was acknowledged is found, by itself and in every range, until it is removed: also after errors, and after a
///   crash to the [`Durability`](crate::Durability) that was chosen.
/// - A query that was a mistake is not one again because of a key that was there at the time, as long as that key stays.
///   Mistakes that were fixed are remembered through restarts; a crash forgets at most those since the last
///   [`flush`](Self::flush) or the last write that came after them.
/// - A range of up to [`max_range`](OrderedBuilder::max_range) keys that was never asked for and has no rows is read from the
///   engine with at most the error rate that was chosen, however close to a key it lies.
/// - Only the filter is in memory, never the keys.
pub struct OrderedStore<K: OrderedKey + ?Sized> {
    shared: Arc<Shared<AdaptiveRangeFilter<K>>>,
}

as_every_store! { impl [<K: OrderedKey + ?Sized>] for OrderedStore<K>, with AdaptiveRangeFilter<K> }

impl<K: OrderedKey + ?Sized> OrderedStore<K> {
    /// Opens the store in a folder, or makes one there, with the default engine and settings.
    ///
    /// See [`builder`](Self::builder) for everything that can be chosen.
    #[cfg(feature = "fjall")]
    pub fn open(folder: impl AsRef<std::path::Path>) -> Result<Self, StoreError> {
        Self::builder().open(folder)
    }

    /// Whether there is an ordered store in a folder, by the file that says so, whatever its keys are. Nothing is opened, and
    /// nothing is made. [`StoreKind::in_folder`] tells which kind of store there is.
    pub fn is_in(folder: impl AsRef<std::path::Path>) -> Result<bool, StoreError> {
        Ok(StoreKind::in_folder(folder)? == Some(StoreKind::Ordered))
    }

    /// Chooses engine, error rate, the longest range, durability and memory.
    pub fn builder() -> OrderedBuilder<K> {
        OrderedBuilder::new()
    }

    fn new(opened: (Durable<AdaptiveRangeFilter<K>>, Journal)) -> Self {
        Self { shared: Shared::new(opened) }
    }
}
