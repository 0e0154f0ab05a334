//! The split set-up: a database that stays as it is, and a filter with its reverse map beside it.
//!
//! # The idea
//!
//! An [`AdaptiveStore`] keeps values next to keys in the order of hashes, so it cannot answer ranges of keys. Who has a
//! database already, in the order of its keys, keeps it: [`FilteredDb`] puts a filter in front of it and has the keys
//! once more in a store of its own, without values, where the filter finds them by hash.
//!
//! A key enters the filter's store before it enters the database, and leaves it after it has left the database. If a
//! crash comes in between, the filter knows a key that the database does not have: a mistake that the first `get`
//! mends.
//!
//! # Cost
//!
//! Every new key is written twice. Absent keys cost what they cost in a store; present keys what they cost in the
//! database.
//!
//! # Source
//!
//! Section 6.4 of *Adaptive Quotient Filters*, the *split* set-up.

use twiceshy::Key;

use crate::engine::{Batch, Durability, Space};
use crate::error::StoreError;
use crate::store::AdaptiveStore;
use crate::sync::Mutex;

/// A database of your own, as far as [`FilteredDb`] needs it: reading and writing.
///
/// A pair of closures is one, too:
///
/// ```
/// use std::collections::BTreeMap;
/// use std::convert::Infallible;
/// use std::sync::Mutex;
/// use twiceshy_store::{AdaptiveStore, FilteredDb};
///
/// let rows = Mutex::new(BTreeMap::new());
/// let read = |key: &[u8]| Ok::<_, Infallible>(rows.lock().unwrap().get(key).cloned());
/// let write = |key: &[u8], value: Option<&[u8]>| {
///     match value {
///         Some(value) => rows.lock().unwrap().insert(key.to_vec(), value.to_vec()),
///         None => rows.lock().unwrap().remove(key),
///     };
///     Ok(())
/// };
///
/// let db = FilteredDb::new((read, write), AdaptiveStore::builder().in_memory()?);
/// db.insert("ant", "six legs")?;
/// assert_eq!(db.get("ant")?, Some(b"six legs".to_vec()));
/// assert_eq!(db.get("bee")?, None);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub trait Database: Send + Sync {
    /// Why it could not read or write.
    type Error: std::error::Error + Send + Sync + 'static;

    /// The value of a key, `None` if it is not there.
    fn read(&self, key: &[u8]) -> Result<Option<Vec<u8>>, Self::Error>;

    /// Stores a value, in place of an older one, or removes the key if there is `None`.
    fn write(&self, key: &[u8], value: Option<&[u8]>) -> Result<(), Self::Error>;
}

impl<R, W, E> Database for (R, W)
where
    R: Fn(&[u8]) -> Result<Option<Vec<u8>>, E> + Send + Sync,
    W: Fn(&[u8], Option<&[u8]>) -> Result<(), E> + Send + Sync,
    E: std::error::Error + Send + Sync + 'static,
{
    type Error = E;

    fn read(&self, key: &[u8]) -> Result<Option<Vec<u8>>, E> {
        self.0(key)
    }

    fn write(&self, key: &[u8], value: Option<&[u8]>) -> Result<(), E> {
        self.1(key, value)
    }
}

/// The filter or the database failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FilteredError<E> {
    /// Your database failed.
    #[error("the database failed: {0}")]
    Database(#[source] E),
    /// The filter's own store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// The row in [`Space::Meta`] that says that the keys of the database were imported.
const IMPORTED: &[u8] = b"imported";

/// How many locks keep writers of the same key apart.
const STRIPES: usize = 64;

/// An adaptive filter in front of a database of your own, which stays as it is.
///
/// All writes to the database must come through here, or the filter does not know their keys; a database that has keys
/// already is taken in with [`import_once`](Self::import_once): **until then its keys are not found**. Reading it in any
/// other way is fine: ranges, iteration, backups.
///
/// The filter's store must be at least as durable as the database: if a power cut can take a key from it that the
/// database keeps, the filter says *no* to a key that is there. So give it
/// [`Durability::Power`](crate::Durability::Power) if the database syncs its writes, or, after a power cut,
/// [`import`](Self::import) all keys again.
///
/// All operations take `&self`. Writers of the same key wait for each other (sometimes those of different keys, because
/// there are only so many locks); readers wait for nobody.
#[derive(Debug)]
pub struct FilteredDb<D> {
    database: D,
    keys: AdaptiveStore,
    stripes: [Mutex<()>; STRIPES],
}

impl<D: Database> FilteredDb<D> {
    /// A filter in front of a database. `keys` is a store that holds exactly the keys of the database, and nothing else:
    /// an empty one for an empty database, later the same one again. See above how durable it must be.
    pub fn new(database: D, keys: AdaptiveStore) -> Self {
        Self { database, keys, stripes: std::array::from_fn(|_| Mutex::new(())) }
    }

    /// The database.
    pub fn database(&self) -> &D {
        &self.database
    }

    /// The filter's own store: its statistics, its recovery.
    pub fn keys(&self) -> &AdaptiveStore {
        &self.keys
    }

    fn stripe(&self, key: &[u8]) -> Result<&Mutex<()>, StoreError> {
        let hash = self.keys.with_filter(|filter| filter.hasher().hash_bytes(key))?;
        Ok(&self.stripes[hash as usize % STRIPES])
    }

    /// Stores a value under a key, in place of an older one.
    ///
    /// If the filter's own store fails, the database has not been asked. If the database fails, only it knows whether the
    /// value is there; do it again, or not: the filter says *maybe* to the key until a [`get`](Self::get) finds that it is
    /// not there.
    pub fn insert<K: Key + ?Sized>(
        &self,
        key: &K,
        value: impl AsRef<[u8]>,
    ) -> Result<(), FilteredError<D::Error>> {
        let key = key.key_bytes();
        let key = key.as_ref();
        let _alone = self.stripe(key)?.lock().map_err(|_| StoreError::Broken)?;
        self.keys.insert(key, [])?;
        self.database.write(key, Some(value.as_ref())).map_err(FilteredError::Database)
    }

    /// The value of a key. The database is asked only if the filter says *maybe*; if that was a mistake, the filter
    /// learns from it: what goes wrong then does not fail this call.
    pub fn get<K: Key + ?Sized>(&self, key: &K) -> Result<Option<Vec<u8>>, FilteredError<D::Error>> {
        let key = key.key_bytes();
        let key = key.as_ref();
        if !self.keys.may_contain(key)? {
            return Ok(None);
        }
        let value = self.database.read(key).map_err(FilteredError::Database)?;
        if value.is_none() {
            // The database has answered: what goes wrong here is tried again by the next query.
            let _ = self.learn(key);
        }
        Ok(value)
    }

    /// The database does not have a key that the filter says *maybe* to.
    fn learn(&self, key: &[u8]) -> Result<(), FilteredError<D::Error>> {
        // Its own store learns from it, unless it has the key: a crash, or a writer that is not done yet.
        if !self.keys.contains_key(key)? {
            return Ok(());
        }
        let Ok(_alone) = self.stripe(key)?.try_lock() else { return Ok(()) };
        if self.database.read(key).map_err(FilteredError::Database)?.is_none() {
            self.keys.remove(key)?;
        }
        Ok(())
    }

    /// Whether a key is there.
    pub fn contains_key<K: Key + ?Sized>(&self, key: &K) -> Result<bool, FilteredError<D::Error>> {
        Ok(self.get(key)?.is_some())
    }

    /// Removes a key. Tells whether the database had it, which is read for that.
    ///
    /// | | the filter says *maybe* | the filter says *no* |
    /// |---|---|---|
    /// | the database has the key | it is removed: `true` | the database is not asked: `false`, as for `get` |
    /// | the database does not | `false`, and the filter learns that | `false` |
    ///
    /// (A key that the database has and the filter says *no* to was not written through here.)
    ///
    /// An error of the database ends it, and the filter goes on saying *maybe*; do it again. Once the database has done its
    /// part, what goes wrong in the filter's own store does not fail this call: it knows a key too many until the next `get`.
    pub fn remove<K: Key + ?Sized>(&self, key: &K) -> Result<bool, FilteredError<D::Error>> {
        let key = key.key_bytes();
        let key = key.as_ref();
        if !self.keys.may_contain(key)? {
            return Ok(false);
        }
        let _alone = self.stripe(key)?.lock().map_err(|_| StoreError::Broken)?;
        let was_there = self.database.read(key).map_err(FilteredError::Database)?.is_some();
        if was_there {
            self.database.write(key, None).map_err(FilteredError::Database)?;
        }
        // If its own store does not have the key, asking for it is how it learns.
        if let Ok(true) = self.keys.contains_key(key) {
            let _ = self.keys.remove(key);
        }
        Ok(was_there)
    }

    /// Tells the filter of keys that the database has already. May be done again after an interruption.
    pub fn import<K: Key>(&self, keys: impl IntoIterator<Item = K>) -> Result<u64, FilteredError<D::Error>> {
        let mut new = 0;
        let mut keys = keys.into_iter().peekable();
        while keys.peek().is_some() {
            let page: Vec<_> = keys.by_ref().take(1_000).map(|key| (key, [])).collect();
            new += self.keys.insert_batch(&page)?;
        }
        Ok(new)
    }

    /// [`import`](Self::import) for a program that is started again and again: asks for the keys and imports them, unless that
    /// was done before, as a whole. Tells whether it was done now.
    ///
    /// An import that was interrupted is begun anew by the next call. As long as it has not been done, keys that the database
    /// had already are not found.
    pub fn import_once<K: Key, I: IntoIterator<Item = K>>(
        &self,
        keys: impl FnOnce() -> Result<I, D::Error>,
    ) -> Result<bool, FilteredError<D::Error>> {
        let engine = self.keys.engine();
        if engine.get(Space::Meta, IMPORTED).map_err(StoreError::from)?.is_some() {
            return Ok(false);
        }
        self.import(keys().map_err(FilteredError::Database)?)?;
        self.flush()?;
        let mut batch = Batch::new();
        batch.put(Space::Meta, IMPORTED.to_vec(), Vec::new());
        engine.write(batch, Durability::Power).map_err(StoreError::from)?;
        Ok(true)
    }

    /// Flushes the filter's own store; the database is yours.
    pub fn flush(&self) -> Result<(), StoreError> {
        self.keys.flush()
    }
}
