//! Inserting and removing.

use std::collections::HashSet;
use std::fmt::Debug;

use twiceshy::adaptive::Record;
use twiceshy::adaptive::protocol::{Answers, Operation, Step};

use super::learn::unexpected;
use super::{Served, Shared, Writer};
use crate::durable::Entry;
use crate::engine::Batch;
use crate::error::StoreError;
use crate::rows::{AndPending, KeyRows, NewRow, Pending, Sharing, head};
use crate::sync::Arc;

/// How many keys enter the filter before readers get their turn.
const AT_ONCE: usize = 64;

/// For how many keys ahead memory is asked for.
const AHEAD: usize = 16;

/// What becomes of a row of a key that is there already.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Known {
    Replace,
    Keep,
}

impl<F: Served> Shared<F> {
    /// Stores rows, all of them or none, and tells how many keys are new.
    pub(crate) fn insert_rows(
        self: &Arc<Self>,
        rows: &[NewRow<'_>],
        known: Known,
    ) -> Result<u64, StoreError> {
        for row in rows {
            self.durable.rows.check(row.row, row.value)?;
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
        rows: &[NewRow<'_>],
        known: Known,
    ) -> Result<u64, StoreError> {
        let mut is_new = Vec::with_capacity(rows.len());
        if let Err(error) = self.enter_filter(writer, rows, &mut is_new) {
            // What can be read can be taken back; the rest are mistakes that the first query mends.
            let _ = self.leave_filter(rows, &is_new);
            return Err(error);
        }
        let (mut batch, mut entry) = (Batch::new(), Entry::default());
        for (row, is_new) in rows.iter().zip(is_new) {
            if is_new {
                entry.inserted.push(head(row.hash, false));
            }
            if is_new || known == Known::Replace {
                self.durable.rows.put(&mut batch, row, is_new);
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
                let row = rows[index].row;
                if self.durable.rows.has(row)? {
                    continue;
                }
                earlier.extend(rows[collected..index].iter().map(|row| row.row));
                collected = index;
                let is_known = earlier.contains(row);
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
                let pending = Pending::of(&self.durable.rows, &rows[..done]);
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
        covered: &mut Vec<(usize, F::Insert<'k>)>,
    ) -> Result<(), StoreError> {
        let mut filter = self.durable.filter_mut()?;
        rows.iter().take(AHEAD).for_each(|row| filter.prefetch(row.hash));
        for (index, row) in rows.iter().take(AT_ONCE).enumerate() {
            if let Some(ahead) = rows.get(index + AHEAD) {
                filter.prefetch(ahead.hash);
            }
            let mut insert = F::insert(&self.durable.rows, row.hash, row.key);
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
        let mut pending = Pending::of(&self.durable.rows, new.map(|(row, _)| row));
        while let Some((hash, key)) = pending.pop() {
            let mut remove = F::remove_after_its_row(hash, key);
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

    /// Removes a row, given the key by which the filter knows it, and its hash. `false` if it was not there.
    pub(crate) fn remove_row(
        self: &Arc<Self>,
        hash: u64,
        key: &[u8],
        row: &[u8],
    ) -> Result<bool, StoreError> {
        // Nothing that is in the engine is unknown to the filter.
        if !self.durable.filter()?.may_have(hash, key) {
            return Ok(false);
        }
        let mut writer = self.writer()?;
        let removed = self.remove_as_writer(&mut writer, hash, key, row);
        self.end_writing(&writer);
        removed
    }

    pub(crate) fn remove_as_writer(
        &self,
        writer: &mut Writer,
        hash: u64,
        key: &[u8],
        row: &[u8],
    ) -> Result<bool, StoreError> {
        match self.durable.rows.sharing(key, row)? {
            Sharing::Alone => (),
            Sharing::NotThere => return Ok(false),
            Sharing::WithOthers => {
                // The others need all that the filter knows.
                self.delete_as_writer(writer, hash, row)?;
                let mut filter = self.durable.filter_mut()?;
                let left = filter.len().saturating_sub(1);
                filter.set_len(left);
                return Ok(true);
            }
        }
        self.drive(writer, row, F::remove(hash, key), |writer| self.delete_as_writer(writer, hash, row))
    }

    /// Carries out an operation with the key of a row. `write` is called when the row is to be written, or removed.
    pub(crate) fn drive<'k, O: Operation<'k, F, Output: Debug>>(
        &self,
        writer: &mut Writer,
        row: &[u8],
        mut operation: O,
        mut write: impl FnMut(&mut Writer) -> Result<(), StoreError>,
    ) -> Result<O::Output, StoreError> {
        loop {
            // The filter is held for a step, not while the engine works.
            let step = operation.step(&mut *self.durable.filter_mut()?)?;
            match step {
                Step::Get(_) => operation.answer(self.durable.rows.has(row)?),
                Step::Rows(wanted) => operation.rows(self.durable.rows.wanted(&wanted)?),
                Step::Room(_) => self.grow(writer, 0, &Pending::default())?,
                Step::Put(_) | Step::Delete(_) => {
                    write(writer)?;
                    operation.answer(true);
                }
                Step::Done(done) => return Ok(done),
                step => return Err(unexpected(&step)),
            }
        }
    }

    pub(crate) fn delete_as_writer(
        &self,
        writer: &mut Writer,
        hash: u64,
        row: &[u8],
    ) -> Result<(), StoreError> {
        let mut batch = Batch::new();
        self.durable.rows.delete(&mut batch, hash, row)?;
        let entry = Entry { others: vec![Record::Removed(hash)], ..Entry::default() };
        let left = writer.journal.keys().saturating_sub(1);
        self.durable.commit(&mut writer.journal, batch, entry, left, self.durable.durability)
    }

    /// Has the filter saved if the journal got long.
    pub(crate) fn end_writing(self: &Arc<Self>, writer: &Writer) {
        if self.durable.is_worth_saving(&writer.journal) {
            self.call_helper();
        }
    }
}
