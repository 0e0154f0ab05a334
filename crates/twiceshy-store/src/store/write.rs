//! Inserting and removing.

use std::collections::HashSet;

use twiceshy::Key;
use twiceshy::adaptive::Record;
use twiceshy::adaptive::protocol::{Answers, Insert, Operation, Remove, Step};
use twiceshy::reverse_map::Lookup;

use super::learn::unexpected;
use super::{AdaptiveStore, Shared, Writer};
use crate::durable::Entry;
use crate::engine::Batch;
use crate::error::StoreError;
use crate::rows::{AndPending, Pending, head};
use crate::sync::Arc;

/// How many keys enter the filter before readers get their turn.
const AT_ONCE: usize = 64;

/// For how many keys ahead memory is asked for.
const AHEAD: usize = 16;

/// A row that is to be written.
struct NewRow<'a> {
    hash: u64,
    key: &'a [u8],
    value: &'a [u8],
}

/// What becomes of a row of a key that is there already.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Known {
    Replace,
    Keep,
}

impl AdaptiveStore {
    /// Stores a value under a key, in place of an older one. `true` if the key is new.
    ///
    /// The engine is read only if the filter says *maybe*. If it fails to write, nobody knows whether the row is there;
    /// any other error leaves everything as it was. The same holds for batches, and for [`remove`](Self::remove).
    pub fn insert<K: Key + ?Sized>(&self, key: &K, value: impl AsRef<[u8]>) -> Result<bool, StoreError> {
        let key = key.key_bytes();
        Ok(self.shared.insert_rows(&[(key.as_ref(), value.as_ref())], Known::Replace)? == 1)
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
            keys.iter().zip(rows).map(|(key, (_, value))| (key.as_ref(), value.as_ref())).collect();
        self.shared.insert_rows(&rows, Known::Replace)
    }

    /// Removes a key and its value. `false` if it was not there.
    pub fn remove<K: Key + ?Sized>(&self, key: &K) -> Result<bool, StoreError> {
        self.shared.remove(key.key_bytes().as_ref())
    }
}

impl Shared {
    /// Stores rows, all of them or none, and tells how many keys are new.
    pub(super) fn insert_rows(
        self: &Arc<Self>,
        rows: &[(&[u8], &[u8])],
        known: Known,
    ) -> Result<u64, StoreError> {
        for (key, value) in rows {
            self.durable.rows.check(key, value)?;
        }
        if rows.is_empty() {
            return Ok(0);
        }
        let mut writer = self.writer()?;
        let written = self.insert_as_writer(&mut writer, rows, known);
        self.end_writing(&writer);
        written
    }

    fn insert_as_writer(
        &self,
        writer: &mut Writer,
        rows: &[(&[u8], &[u8])],
        known: Known,
    ) -> Result<u64, StoreError> {
        let hash = |key| self.durable.rows.hash(key);
        let rows: Vec<_> = rows.iter().map(|&(key, value)| NewRow { hash: hash(key), key, value }).collect();
        let mut is_new = Vec::with_capacity(rows.len());
        if let Err(error) = self.enter_filter(writer, &rows, &mut is_new) {
            // What can be read can be taken back; the rest are mistakes that the first query mends.
            let _ = self.leave_filter(&rows, &is_new);
            return Err(error);
        }
        let (mut batch, mut entry) = (Batch::new(), Entry::default());
        for (NewRow { hash, key, value }, is_new) in rows.into_iter().zip(is_new) {
            if is_new {
                entry.inserted.push(head(hash, false));
            }
            if is_new || known == Known::Replace {
                self.durable.rows.put(&mut batch, hash, key, value);
            }
        }
        let added = entry.len();
        if batch.is_empty() {
            return Ok(0);
        }
        let keys = writer.journal.keys() + added;
        self.durable.commit(&mut writer.journal, batch, entry, keys, self.durable.durability)?;
        Ok(added)
    }

    /// Has the filter cover all keys, and tells which are new; after an error, which of the first keys are new and covered
    /// now.
    fn enter_filter(
        &self,
        writer: &mut Writer,
        rows: &[NewRow<'_>],
        is_new: &mut Vec<bool>,
    ) -> Result<(), StoreError> {
        // The first keys of the batch: one that is covered and not in the engine may be one of them.
        let (mut earlier, mut collected) = (HashSet::<&[u8]>::new(), 0);
        while is_new.len() < rows.len() {
            let done = is_new.len();
            let mut covered = Vec::new();
            let entered = self.enter_next(&rows[done..], is_new, &mut covered);
            for (index, mut insert) in covered {
                let key = rows[index].key;
                if self.durable.rows.has(key)? {
                    continue;
                }
                earlier.extend(rows[collected..index].iter().map(|row| row.key));
                collected = index;
                let is_known = earlier.contains(key);
                insert.answer(is_known);
                // It was covered, and nothing was removed since; but if others have come, it asks again.
                let mut filter = self.durable.filter_mut()?;
                is_new[index] = loop {
                    match insert.step(&mut filter)? {
                        Step::Done(new) => break new,
                        Step::Get(_) => insert.answer(is_known),
                        step => return Err(unexpected(&step)),
                    }
                };
            }
            entered?;
            if is_new.len() == done {
                let pending = Pending::new(rows[..done].iter().map(|row| (row.hash, row.key)));
                self.grow(writer, 0, &pending)?;
            }
        }
        Ok(())
    }

    /// Has the filter cover some keys, and adds to what is known of all keys which of them are certainly new, and which
    /// were covered before, so that only the engine knows. None if the filter must grow.
    fn enter_next<'k>(
        &self,
        rows: &[NewRow<'k>],
        is_new: &mut Vec<bool>,
        covered: &mut Vec<(usize, Insert<'k>)>,
    ) -> Result<(), StoreError> {
        let mut filter = self.durable.filter_mut()?;
        rows.iter().take(AHEAD).for_each(|row| filter.prefetch(row.hash));
        for (index, row) in rows.iter().take(AT_ONCE).enumerate() {
            if let Some(ahead) = rows.get(index + AHEAD) {
                filter.prefetch(ahead.hash);
            }
            let mut insert = Insert::filter_first(row.hash, row.key, 0);
            match insert.step(&mut filter)? {
                Step::Done(new) => is_new.push(new),
                Step::Get(_) => {
                    covered.push((is_new.len(), insert));
                    is_new.push(false);
                }
                Step::Room(_) => break,
                step => return Err(unexpected(&step)),
            }
        }
        Ok(())
    }

    /// Takes back what [`enter_filter`](Self::enter_filter) did before it failed, so that keys that are not stored take no
    /// room.
    fn leave_filter(&self, rows: &[NewRow<'_>], is_new: &[bool]) -> Result<(), StoreError> {
        let new = rows.iter().zip(is_new).filter(|(_, is_new)| **is_new);
        let mut pending = Pending::new(new.map(|(row, _)| (row.hash, row.key)));
        while let Some((hash, key)) = pending.pop() {
            let mut remove = Remove::after_its_row(hash, key);
            loop {
                let step = remove.step(&mut *self.durable.filter_mut()?)?;
                match step {
                    Step::Rows(wanted) => {
                        let all = AndPending { rows: &self.durable.rows, pending: &pending };
                        remove.rows(wanted.read(&all)?);
                    }
                    Step::Done(_) => break,
                    step => return Err(unexpected(&step)),
                }
            }
        }
        Ok(())
    }

    fn remove(self: &Arc<Self>, key: &[u8]) -> Result<bool, StoreError> {
        // Nothing that is in the engine is unknown to the filter.
        if !self.durable.filter()?.contains(key) {
            return Ok(false);
        }
        let mut writer = self.writer()?;
        let removed = self.remove_as_writer(&mut writer, key);
        self.end_writing(&writer);
        removed
    }

    fn remove_as_writer(&self, writer: &mut Writer, key: &[u8]) -> Result<bool, StoreError> {
        let hash = self.durable.rows.hash(key);
        let mut remove = Remove::new(hash, key);
        loop {
            // The filter is held for a step, not while the engine works.
            let step = remove.step(&mut *self.durable.filter_mut()?)?;
            match step {
                Step::Get(_) => remove.answer(self.durable.rows.contains(hash, key)?),
                Step::Rows(wanted) => remove.rows(wanted.read(&self.durable.rows)?),
                Step::Delete(_) => {
                    let mut batch = Batch::new();
                    self.durable.rows.delete(&mut batch, hash, key);
                    let entry = Entry { others: vec![Record::Removed(hash)], ..Entry::default() };
                    let left = writer.journal.keys().saturating_sub(1);
                    self.durable.commit(&mut writer.journal, batch, entry, left, self.durable.durability)?;
                    remove.answer(true);
                }
                Step::Done(was_there) => return Ok(was_there),
                step => return Err(unexpected(&step)),
            }
        }
    }

    /// Has the filter saved if the journal got long.
    fn end_writing(self: &Arc<Self>, writer: &Writer) {
        if self.durable.is_worth_saving(&writer.journal) {
            self.call_helper();
        }
    }
}
