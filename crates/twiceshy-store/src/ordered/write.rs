//! Inserting and removing.

use std::borrow::Borrow;

use super::key::write_code;
use super::{OrderedKey, OrderedStore};
use crate::error::StoreError;
use crate::rows::NewRow;
use crate::shared::Known;

/// A key as its row and as the filter know it.
pub(super) struct Written {
    hash: u64,
    row: Vec<u8>,
    /// The code, if the row's key is another one.
    code: Option<Vec<u8>>,
}

impl Written {
    /// The key of its row.
    pub(super) fn row(&self) -> &[u8] {
        &self.row
    }

    /// What the filter takes for the key.
    pub(super) fn key(&self) -> &[u8] {
        self.code.as_deref().unwrap_or(&self.row)
    }

    fn with<'a>(&'a self, value: &'a [u8]) -> NewRow<'a> {
        NewRow { hash: self.hash, key: self.key(), row: &self.row, value }
    }
}

impl<K: OrderedKey + ?Sized> OrderedStore<K> {
    /// Stores a value under a key, in place of an older one. `true` if the key is new.
    ///
    /// The engine is read only if the filter says *maybe*. If it fails to write, nobody knows whether the row is there;
    /// any other error leaves everything as it was. The same holds for batches, and for [`remove`](Self::remove).
    pub fn insert<Q: OrderedKey + ?Sized>(&self, key: &Q, value: impl AsRef<[u8]>) -> Result<bool, StoreError>
    where
        K: Borrow<Q>,
    {
        Ok(self.shared.insert_rows(&[self.written(key).with(value.as_ref())], Known::Replace)? == 1)
    }

    /// Stores many values, all of them or none. Tells how many keys are new. If a key comes twice, its last value
    /// counts. Keys that come in order are stored a little faster.
    ///
    /// ```
    /// use twiceshy_store::OrderedStore;
    ///
    /// let store = OrderedStore::<str>::builder().in_memory()?;
    /// assert_eq!(store.insert_batch(&[("ant", "six"), ("cow", "four"), ("ant", "6")])?, 2);
    /// assert_eq!(store.get("ant")?, Some(b"6".to_vec()));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn insert_batch<Q: Borrow<K>, V: AsRef<[u8]>>(&self, rows: &[(Q, V)]) -> Result<u64, StoreError> {
        let written: Vec<_> = rows.iter().map(|(key, _)| self.written(key.borrow())).collect();
        let rows: Vec<_> =
            written.iter().zip(rows).map(|(written, (_, value))| written.with(value.as_ref())).collect();
        self.shared.insert_rows(&rows, Known::Replace)
    }

    /// Removes a key and its value. `false` if it was not there.
    pub fn remove<Q: OrderedKey + ?Sized>(&self, key: &Q) -> Result<bool, StoreError>
    where
        K: Borrow<Q>,
    {
        let written = self.written(key);
        self.shared.remove_row(written.hash, written.key(), written.row())
    }

    /// A key as its row and as the filter know it.
    pub(super) fn written<Q: OrderedKey + ?Sized>(&self, key: &Q) -> Written {
        let (code, mut row) = (key.code(), Vec::new());
        key.write_row_key(&mut row);
        let code_bytes = (!K::EXACT).then(|| {
            let mut bytes = Vec::new();
            write_code::<K>(code, &mut bytes);
            bytes
        });
        Written { hash: self.shared.durable.rows.partitions.hash_of(code), row, code: code_bytes }
    }
}
