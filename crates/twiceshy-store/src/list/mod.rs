//! A YES list and a NO list on an engine, kept through crashes.
//!
//! # The idea
//!
//! Both lists are rows of an engine, in the order of the hashes of their keys, and a row's value says which list it is on. The
//! filter in memory is that of a [`YesNoList`](twiceshy::YesNoList): it answers every key on either list rightly, without a look at the
//! rows. They are read when keys come, go and move, and to learn from a mistake about a key on neither list.
//!
//! | file | what |
//! |---|---|
//! | `kept.rs` | what `durable` and `shared` ask of the filter |
//! | `builder.rs` | what can be chosen |
//! | `read.rs` | query, lookup, iteration |
//! | `write.rs` | add, remove, move, batches |
//! | `merge.rs` | taking in another store |
//! | `check.rs` | verify, rebuild |
//!
//! Locks, learning and growth are those of every store: the folder `shared` beside this one. Journal, snapshots and recovery are
//! those of any filter in front of an engine: the folder `durable`.
//!
//! # Orders
//!
//! A query must be right for every key that is on a list, also while others write, and whatever fails. So:
//!
//! | what happens | first | then | what a failure in between leaves |
//! |---|---|---|---|
//! | a key comes on the YES list | the filter, clear of all NO keys | the row | a mistake, once |
//! | a key comes on the NO list | the filter | the row | nothing: the filter says *no* to a key on neither list |
//! | a key moves to the YES list | the filter | the row | the key is *in doubt* |
//! | a key moves to the NO list | there is room; the row | the filter, which cannot fail then | the key is in doubt |
//! | a key leaves the YES list | the row | the filter | a mistake, once |
//! | a batch | a copy of the filter | the rows; the copy takes the filter's place | its keys are in doubt |
//!
//! A key is in doubt if writing its row has failed, so that nobody knows which list it is on. Then the row is read, and the filter
//! made to agree with it, at once or before anything else is looked up, changed or saved. After a crash snapshot and journal tell, as always: the journal says
//! that something about the key has changed, the row says what it is now.
//!
//! # Cost
//!
//! Memory: the filter, which takes nothing for a NO key. On disk a row is the key and four bytes, five on the YES list. A YES key
//! that comes costs a read of the key and a scan, which nearly always finds nothing; a NO key the read, and a scan if the filter
//! says *yes*. A batch copies the filter.

mod builder;
mod check;
mod kept;
mod merge;
mod read;
mod write;

pub use builder::YesNoStoreBuilder;
pub use read::{Count, Iter};

use twiceshy::list::ListFilter;

use crate::durable::{Durable, Journal};
use crate::engine::Space;
use crate::error::StoreError;
use crate::settings::StoreKind;
use crate::shared::{Shared, StoreStats, as_every_store};
use crate::sync::{Arc, AtomicBool, AtomicU64};

/// The row in [`Space::Meta`] that says how many keys are on the NO list.
const NO_KEYS: &[u8] = b"no";

/// A YES list and a NO list on disk: every key on the YES list is answered *yes*, every key on the NO list is answered *no*,
/// always, from memory, and any other key is answered *yes* with at most the error rate that was chosen.
///
/// ```
/// use twiceshy::list::Answer;
/// use twiceshy_store::YesNoStore;
///
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("blocked");
/// let blocked = YesNoStore::open(&path)?;
/// blocked.add_yes("evil.example")?;
/// blocked.add_no("vote.example")?;
/// assert_eq!(blocked.query("evil.example")?, Answer::Yes);
/// assert_eq!(blocked.query("vote.example")?, Answer::No);
/// assert_eq!(blocked.lookup("other.example")?, None);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// It is what a [`YesNoList`](twiceshy::YesNoList) is, with its keys in an engine. All operations take `&self`, and the store can
/// be shared between threads. Queries ask the filter and never wait for the disk; there is one writer at a time.
/// Dropping the store flushes it; [`close`](Self::close) does so, too, and says whether it worked.
///
/// # What is promised
///
/// - A key that is on a list is answered rightly, until it is removed or moved: also after errors, and after a crash to the
///   [`Durability`](crate::Durability) that was chosen. If the engine fails to write, nobody knows whether the change was
///   made, and the answer may be the one or the other; [`lookup`](Self::lookup) tells, and from then on the answer is the one for
///   the list that it has told.
/// - A mistake about a key on neither list that was [reported](Self::report) is not made again because of a key that was there at
///   the time, as long as that key stays. Mistakes that were fixed are remembered through restarts; a crash forgets at
///   most those since the last [`flush`](Self::flush) or the last write that came after them.
/// - Only the filter is in memory, never the keys.
pub struct YesNoStore {
    shared: Arc<Shared<ListFilter>>,
    /// Keys on the NO list. Only the holder of the writer lock changes it.
    no: AtomicU64,
    /// Whether keys may be in doubt.
    in_doubt: AtomicBool,
}

as_every_store! { impl [] for YesNoStore, with ListFilter }

impl YesNoStore {
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
        Ok(StoreKind::in_folder(folder)? == Some(StoreKind::List))
    }

    /// Chooses engine, error rate, durability and memory.
    pub fn builder() -> YesNoStoreBuilder {
        YesNoStoreBuilder::new()
    }

    fn new(opened: (Durable<ListFilter>, Journal)) -> Result<Self, StoreError> {
        let no = opened.0.engine.get(Space::Meta, NO_KEYS)?;
        let no = no.map_or(Some(0), |count| count.try_into().ok().map(u64::from_le_bytes));
        let no = no.ok_or_else(|| StoreError::damaged("the number of its NO keys has the wrong length"))?;
        Ok(Self { shared: Shared::new(opened), no: no.into(), in_doubt: false.into() })
    }

    /// What the store has done since it was opened, and what it holds.
    pub fn stats(&self) -> Result<StoreStats, StoreError> {
        self.shared.stats()
    }
}
