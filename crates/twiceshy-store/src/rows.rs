//! The keys and values of the user as rows of an engine, in the order of the keys' hashes.
//!
//! # The idea
//!
//! A row's key is `H(x) ‖ 0 ‖ x`: the first 64 bits of the key's hash, highest byte first, and the key. So all keys
//! under a fingerprint lie side by side, and the filter's question "which keys are these?" is a short scan. The
//! filter's fingerprints are written nowhere: however they change, the rows stay as they are.
//!
//! A key that is too long for the engine lies under `H(x) ‖ 1 ‖ D(x)`, where `D(x)` are 256 further bits of its keyed
//! hash; the key itself is in front of the value.
//!
//! # Source
//!
//! Section 4.2 of *Adaptive Quotient Filters*; the paper's map is keyed by fingerprints and rewritten as they change.

use std::ops::{ControlFlow, RangeInclusive};
use std::sync::Arc;

use twiceshy::reverse_map::Row;
use twiceshy::{Hasher, Prefix, ReverseMap};

use crate::engine::{Batch, Durability, Engine, Space};
use crate::error::StoreError;

const HASH_BYTES: usize = 8;
const HEAD_BYTES: usize = HASH_BYTES + 1;
const DIGEST_BYTES: usize = 32;
/// The length of a long key, in front of it.
const LEN_BYTES: usize = 8;

const WHOLE: u8 = 0;
const DIGEST: u8 = 1;

/// The rows of a store.
#[derive(Clone)]
pub(crate) struct Rows {
    engine: Arc<dyn Engine>,
    hasher: Hasher,
}

impl Rows {
    pub(crate) fn new(engine: Arc<dyn Engine>, hasher: Hasher) -> Self {
        Self { engine, hasher }
    }

    pub(crate) fn hash(&self, key: &[u8]) -> u64 {
        self.hasher.hash_bytes(key)
    }

    fn is_long(&self, key: &[u8]) -> bool {
        HEAD_BYTES + key.len() > self.engine.max_key_len()
    }

    /// The key of the row of a key.
    fn row_key(&self, key: &[u8]) -> Vec<u8> {
        let is_long = self.is_long(key);
        let len = if is_long { DIGEST_BYTES } else { key.len() };
        let mut row = Vec::with_capacity(HEAD_BYTES + len);
        row.extend(self.hash(key).to_be_bytes());
        row.push(if is_long { DIGEST } else { WHOLE });
        if is_long {
            row.extend((1..=4).flat_map(|index| self.hasher.word_bytes(key, index).to_be_bytes()));
        } else {
            row.extend(key);
        }
        row
    }

    /// Checks that a row can be stored.
    pub(crate) fn check(&self, key: &[u8], value: &[u8]) -> Result<(), StoreError> {
        let mut max = self.engine.max_value_len();
        if self.is_long(key) {
            let no_room = HEAD_BYTES + DIGEST_BYTES > self.engine.max_key_len();
            let most = if no_room { self.engine.max_key_len() - HEAD_BYTES } else { max - LEN_BYTES };
            if key.len() > most {
                return Err(StoreError::KeyTooLong { len: key.len(), max: most });
            }
            max = most - key.len();
        }
        if value.len() > max {
            return Err(StoreError::ValueTooLong { len: value.len(), max });
        }
        Ok(())
    }

    /// Adds the row to a batch; it was [checked](Self::check).
    pub(crate) fn put(&self, batch: &mut Batch, key: &[u8], value: &[u8]) {
        let value = if self.is_long(key) {
            [&(key.len() as u64).to_le_bytes(), key, value].concat()
        } else {
            value.to_vec()
        };
        batch.put(Space::Rows, self.row_key(key), value);
    }

    /// Adds the removal of a row to a batch.
    pub(crate) fn delete(&self, batch: &mut Batch, key: &[u8]) {
        batch.delete(Space::Rows, self.row_key(key));
    }

    /// The value of a key.
    pub(crate) fn get(&self, key: &[u8]) -> Result<Option<Vec<u8>>, StoreError> {
        if self.is_long(key) && HEAD_BYTES + DIGEST_BYTES > self.engine.max_key_len() {
            return Ok(None);
        }
        let row = self.row_key(key);
        let Some(mut value) = self.engine.get(Space::Rows, &row)? else { return Ok(None) };
        if !self.is_long(key) {
            return Ok(Some(value));
        }
        let (stored, rest) = split_long(&value)?;
        if stored != key {
            return Ok(None);
        }
        let start = value.len() - rest.len();
        Ok(Some(value.split_off(start)))
    }

    /// Whether there is a row of this key.
    pub(crate) fn has(&self, key: &[u8]) -> Result<bool, StoreError> {
        Ok(self.get(key)?.is_some())
    }

    /// Calls `visit` for every row whose hash is in the range, in the order of the hashes.
    pub(crate) fn rows_in(
        &self,
        hashes: RangeInclusive<u64>,
        visit: &mut dyn FnMut(Row<'_>) -> ControlFlow<()>,
    ) -> Result<(), StoreError> {
        let from = hashes.start().to_be_bytes();
        let until = hashes.end().checked_add(1).map(u64::to_be_bytes);
        self.rows_from(&from, until.as_ref().map(<[u8; HASH_BYTES]>::as_slice), &mut |_, row| visit(row))
    }

    /// The same for the rows from one row's key to another's; `visit` also gets the row's key.
    pub(crate) fn rows_from(
        &self,
        from: &[u8],
        until: Option<&[u8]>,
        visit: &mut dyn FnMut(&[u8], Row<'_>) -> ControlFlow<()>,
    ) -> Result<(), StoreError> {
        let mut failed = None;
        self.engine.scan(Space::Rows, from, until, &mut |row_key, value| match decode(row_key, value) {
            Ok(row) => visit(row_key, row),
            Err(error) => {
                failed = Some(error);
                ControlFlow::Break(())
            }
        })?;
        failed.map_or(Ok(()), Err)
    }

    /// All keys whose hashes begin with a prefix.
    pub(crate) fn keys_under(&self, prefix: &Prefix) -> Result<Vec<Vec<u8>>, StoreError> {
        let mut keys = Vec::new();
        self.rows_in(prefix.first_words(), &mut |row| {
            if prefix.covers(&self.hasher, row.key) {
                keys.push(row.key.to_vec());
            }
            ControlFlow::Continue(())
        })?;
        Ok(keys)
    }
}

/// A row of an engine as a key, its hash and its value.
fn decode<'a>(row_key: &'a [u8], value: &'a [u8]) -> Result<Row<'a>, StoreError> {
    let parts =
        row_key.split_first_chunk::<HASH_BYTES>().and_then(|(hash, rest)| Some((hash, rest.split_first()?)));
    let (hash, (&kind, rest)) =
        parts.ok_or_else(|| StoreError::damaged(format!("a row has a key of {} bytes", row_key.len())))?;
    let (key, value) = match kind {
        WHOLE => (rest, value),
        DIGEST => split_long(value)?,
        other => return Err(StoreError::damaged(format!("a row has the unknown kind {other}"))),
    };
    Ok(Row { hash: u64::from_be_bytes(*hash), key, value })
}

/// A long key and its value.
fn split_long(value: &[u8]) -> Result<(&[u8], &[u8]), StoreError> {
    let parts = value
        .split_first_chunk::<LEN_BYTES>()
        .and_then(|(len, rest)| rest.split_at_checked(usize::try_from(u64::from_le_bytes(*len)).ok()?));
    parts.ok_or_else(|| StoreError::damaged("the row of a long key is cut off"))
}

/// The rows as a filter's reverse map. Values stay in the engine: keys have no tags here.
impl ReverseMap for Rows {
    type Error = StoreError;

    fn insert(&mut self, _: u64, key: &[u8], value: &[u8]) -> Result<bool, StoreError> {
        self.check(key, value)?;
        let is_new = !self.has(key)?;
        let mut batch = Batch::new();
        self.put(&mut batch, key, value);
        self.engine.write(batch, Durability::Process)?;
        Ok(is_new)
    }

    fn remove(&mut self, _: u64, key: &[u8]) -> Result<bool, StoreError> {
        let was_there = self.has(key)?;
        let mut batch = Batch::new();
        self.delete(&mut batch, key);
        self.engine.write(batch, Durability::Process)?;
        Ok(was_there)
    }

    fn visit(
        &self,
        hashes: RangeInclusive<u64>,
        visit: &mut dyn FnMut(Row<'_>) -> ControlFlow<()>,
    ) -> Result<(), StoreError> {
        self.rows_in(hashes, &mut |row| visit(Row { value: &[], ..row }))
    }

    fn contains(&self, _: u64, key: &[u8]) -> Result<bool, StoreError> {
        self.has(key)
    }
}
