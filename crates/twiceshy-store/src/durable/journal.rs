//! What changed since the filter was saved, as rows of the engine.
//!
//! Every batch that changes keys has one row in the space [`Journal`](Space::Journal), written with it or not at all.
//! Its key is a number that counts up, highest byte first, and, in the first row that an opening of the store writes, the
//! [history](History) that begins there; its value:
//!
//! | byte | size | |
//! |---|---|---|
//! | 0 | 8 | keys in the store after this batch, little-endian |
//! | 8 | 4 | how many keys came, little-endian |
//! | 12 | 4 each | the heads of their rows |
//! | | | records of what else happened, one after the other ([`Record`]) |
//!
//! Heads instead of hashes, because every byte here is written once more for every key.
//!
//! A row in the space [`Meta`](Space::Meta) says up to which number the journal was cleared. The records are logical:
//! they can be replayed on any older filter, and more than once.
//!
//! # Histories
//!
//! A folder can be copied, and then both copies go on with the same numbers. So a number alone does not say what happened
//! up to there. Every opening of a store draws a random name for its own part of the history, and its first batch takes the
//! name along. Number and name together are found in two engines only if all batches up to there are the same: whoever
//! copies an engine, or puts back an old one, opens it again before anything else is written.

use std::ops::ControlFlow;

use twiceshy::adaptive::Record;

use crate::engine::{Batch, Durability, Engine, Keys, Space};
use crate::error::StoreError;
use crate::rows::{HEAD_BYTES, Head};

/// The row that says what was cleared.
const CLEARED: &[u8] = b"cleared";

/// How many rows are read at a time.
const PAGE_ROWS: usize = 1_000;
/// How many rows are removed at a time.
const CLEARED_ROWS: usize = 10_000;

/// The random name of what was written between one opening of a store and the next. What all stores begin with, before
/// anything is written, has the name 0.
pub(crate) type History = [u8; 16];

/// A place in the journal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Mark {
    /// The number of the last batch.
    pub(crate) number: u64,
    /// The history that it belongs to.
    pub(crate) history: History,
    /// The keys in the store after it.
    pub(crate) keys: u64,
}

/// What happened in a batch.
#[derive(Debug, Default)]
pub(crate) struct Entry {
    /// The heads of the keys that came.
    pub(crate) inserted: Vec<Head>,
    /// Keys that went, and mistakes that were fixed.
    pub(crate) others: Vec<Record>,
}

impl Entry {
    pub(crate) fn is_empty(&self) -> bool {
        self.len() == 0
    }

    pub(crate) fn len(&self) -> u64 {
        (self.inserted.len() + self.others.len()) as u64
    }
}

/// One thing that happened.
#[derive(Debug)]
pub(crate) enum Event {
    /// A key with this head came.
    Inserted(Head),
    /// Anything else.
    Other(Record),
}

/// Adds the row of a batch to it. `last` is the last row that is certainly there.
pub(crate) fn put(batch: &mut Batch, last: Mark, mark: Mark, entry: &Entry) {
    let mut key = mark.number.to_be_bytes().to_vec();
    if mark.history != last.history {
        key.extend(mark.history);
    }
    let mut value = mark.keys.to_le_bytes().to_vec();
    value.extend((entry.inserted.len() as u32).to_le_bytes());
    value.extend(entry.inserted.as_flattened());
    for record in &entry.others {
        record.write_to(&mut value);
    }
    batch.put(Space::Journal, key, value);
}

/// What is in the journal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Extent {
    /// Everything up to here was cleared.
    pub(crate) cleared: Mark,
    /// The last row, or the place up to which it was cleared.
    pub(crate) last: Mark,
    /// How many records there are.
    pub(crate) records: u64,
}

/// What is called with everything that happened and the place of its row.
type Visit<'a> = dyn FnMut(Mark, Event) -> Result<(), StoreError> + 'a;

/// Reads the whole journal.
pub(crate) fn read(engine: &dyn Engine, visit: &mut Visit<'_>) -> Result<Extent, StoreError> {
    let cleared = match engine.get(Space::Meta, CLEARED)? {
        None => Mark::default(),
        Some(value) => cleared_from(&value)?,
    };
    let mut extent = Extent { cleared, last: cleared, records: 0 };
    // What was cleared is not looked at: an engine may have to step over every row that it was.
    let mut from = cleared.number.checked_add(1).map(|first| first.to_be_bytes().to_vec());
    // Page by page, so that `visit` can use the engine.
    while let Some(start) = from.take() {
        let mut page = Vec::new();
        engine.scan(Space::Journal, Keys { from: &start, until: None }, &mut |key, value| {
            page.push((key.to_vec(), value.to_vec()));
            if page.len() < PAGE_ROWS { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        })?;
        if page.len() == PAGE_ROWS {
            from = page.last().map(|(key, _)| [key.as_slice(), &[0]].concat());
        }
        for (key, value) in page {
            read_row(&key, &value, &mut extent, visit)?;
        }
    }
    Ok(extent)
}

fn read_row(key: &[u8], value: &[u8], extent: &mut Extent, visit: &mut Visit<'_>) -> Result<(), StoreError> {
    let damaged = || StoreError::damaged("a row of the journal cannot be read");
    let (number, history) = key.split_first_chunk().ok_or_else(damaged)?;
    let number = u64::from_be_bytes(*number);
    let history = match history {
        [] => extent.last.history,
        name => name.try_into().map_err(|_| damaged())?,
    };
    let (keys, value) = value.split_first_chunk().ok_or_else(damaged)?;
    let (count, value) = value.split_first_chunk().ok_or_else(damaged)?;
    let bytes =
        usize::try_from(u32::from_le_bytes(*count)).ok().and_then(|count| count.checked_mul(HEAD_BYTES));
    let (heads, mut records) = bytes.and_then(|bytes| value.split_at_checked(bytes)).ok_or_else(damaged)?;
    let mark = Mark { number, history, keys: u64::from_le_bytes(*keys) };
    extent.last = mark;
    for head in heads.as_chunks().0 {
        extent.records += 1;
        visit(mark, Event::Inserted(*head))?;
    }
    while !records.is_empty() {
        extent.records += 1;
        visit(mark, Event::Other(Record::read_from(&mut records).map_err(|_| damaged())?))?;
    }
    Ok(())
}

/// Removes everything up to a place. From the first write on it counts as removed, so the rest can be done step by
/// step: a journal may have as many rows as there were batches, and not all their numbers are held in memory.
pub(crate) fn clear(engine: &dyn Engine, up_to: Mark) -> Result<(), StoreError> {
    let until = up_to.number.checked_add(1).map(u64::to_be_bytes);
    let until = until.as_ref().map(<[u8; 8]>::as_slice);
    let mut batch = Batch::new();
    let mut value = [up_to.number.to_le_bytes(), up_to.keys.to_le_bytes()].concat();
    value.extend(up_to.history);
    batch.put(Space::Meta, CLEARED.to_vec(), value);
    let mut next = Some(Vec::new());
    while let Some(from) = next.take() {
        let mut rows = 0;
        engine.scan(Space::Journal, Keys { from: &from, until }, &mut |key, _| {
            batch.delete(Space::Journal, key.to_vec());
            rows += 1;
            if rows < CLEARED_ROWS {
                return ControlFlow::Continue(());
            }
            next = Some([key, &[0]].concat());
            ControlFlow::Break(())
        })?;
        if !batch.is_empty() {
            engine.write(std::mem::take(&mut batch), Durability::Relaxed)?;
        }
    }
    Ok(())
}

fn cleared_from(value: &[u8]) -> Result<Mark, StoreError> {
    let parts = value.split_first_chunk().and_then(|(number, rest)| {
        let (keys, history) = rest.split_first_chunk()?;
        Some((number, keys, history.try_into().ok()?))
    });
    let (number, keys, history) =
        parts.ok_or_else(|| StoreError::damaged("the row that says what was cleared cannot be read"))?;
    Ok(Mark { number: u64::from_le_bytes(*number), history, keys: u64::from_le_bytes(*keys) })
}
