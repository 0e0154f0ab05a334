//! Inserting and removing.

use twiceshy::Key;

use super::AdaptiveStore;
use crate::error::StoreError;
use crate::rows::{KeyRows, NewRow};
use crate::shared::Known;

impl AdaptiveStore {
    /// Stores a value under a key, in place of an older one. `true` if the key is new.
    ///
    /// The engine is read only if the filter says *maybe*. If it fails to write, nobody knows whether the row is there;
    /// any other error leaves everything as it was. The same holds for batches, and for [`remove`](Self::remove).
    pub fn insert<K: Key + ?Sized>(&self, key: &K, value: impl AsRef<[u8]>) -> Result<bool, StoreError> {
        let key = key.key_bytes();
        Ok(self.shared.insert_rows(&[self.row(key.as_ref(), value.as_ref())], Known::Replace)? == 1)
    }

    /// Stores many values, all of them or none. Tells how many keys are new. If a key comes twice, its last value
    /// counts.
    ///
    /// ```
    /// use twiceshy_store::AdaptiveStore;
    ///
    /// let store = AdaptiveStore::builder().in_memory()?;
    /// assert_eq!(store.insert_batch(&[("ant", "six"), ("cow", "four"), ("ant", "6")])?, 2);
    /// assert_eq!(store.get("ant")?, Some(b"6".to_vec()));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn insert_batch<K: Key, V: AsRef<[u8]>>(&self, rows: &[(K, V)]) -> Result<u64, StoreError> {
        let keys: Vec<_> = rows.iter().map(|(key, _)| key.key_bytes()).collect();
        let rows: Vec<_> =
            keys.iter().zip(rows).map(|(key, (_, value))| self.row(key.as_ref(), value.as_ref())).collect();
        self.shared.insert_rows(&rows, Known::Replace)
    }

    /// Removes a key and its value. `false` if it was not there.
    pub fn remove<K: Key + ?Sized>(&self, key: &K) -> Result<bool, StoreError> {
        let key = key.key_bytes();
        let key = key.as_ref();
        self.shared.remove_row(self.shared.durable.rows.hash(key), key, key)
    }

    /// A row that is to be written. The key is all that tells it from others.
    pub(super) fn row<'a>(&self, key: &'a [u8], value: &'a [u8]) -> NewRow<'a> {
        NewRow { hash: self.shared.durable.rows.hash(key), key, row: key, value }
    }
}
