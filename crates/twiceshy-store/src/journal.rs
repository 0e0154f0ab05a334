//! What changed since the filter was saved, as rows of the engine.
//!
//! Every batch that changes keys has one row in the space [`Journal`](Space::Journal), written with it or not at all.
//! Its key is a number that counts up, highest byte first; its value:
//!
//! | byte | size | |
//! |---|---|---|
//! | 0 | 8 | keys in the store after this batch, little-endian |
//! | 8 | | records, one behind the other ([`Record`]) |
//!
//! A row in the space [`Meta`](Space::Meta) says up to which number the journal was cleared. The records are logical:
//! they can be replayed on any older filter, and more than once.

use std::ops::ControlFlow;

use twiceshy::Record;

use crate::engine::{Batch, Engine, Space};
use crate::error::StoreError;

/// The row that says what was cleared.
const CLEARED: &[u8] = b"cleared";

/// How many rows are read at a time.
const PAGE_ROWS: usize = 1_000;

/// A place in the journal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Mark {
    /// The number of the last batch.
    pub(crate) number: u64,
    /// The keys in the store after it.
    pub(crate) keys: u64,
}

/// Adds the row of a batch to it.
pub(crate) fn put(batch: &mut Batch, mark: Mark, records: &[Record]) {
    let mut value = mark.keys.to_le_bytes().to_vec();
    for record in records {
        record.write_to(&mut value);
    }
    batch.put(Space::Journal, mark.number.to_be_bytes().to_vec(), value);
}

/// What is in the journal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Extent {
    /// Everything up to here was cleared.
    pub(crate) cleared: Mark,
    /// The last row, or the place up to which it was cleared.
    pub(crate) last: Mark,
    /// How many records there are.
    pub(crate) records: u64,
}

/// Reads the whole journal and calls `visit` with every record and the number of its row.
pub(crate) fn read(
    engine: &dyn Engine,
    visit: &mut dyn FnMut(u64, Record) -> Result<(), StoreError>,
) -> Result<Extent, StoreError> {
    let cleared = match engine.get(Space::Meta, CLEARED)? {
        None => Mark::default(),
        Some(value) => cleared_from(&value)?,
    };
    let mut extent = Extent { cleared, last: cleared, records: 0 };
    let mut from = Some(Vec::new());
    // Page by page, so that `visit` can use the engine.
    while let Some(start) = from.take() {
        let mut page = Vec::new();
        engine.scan(Space::Journal, &start, None, &mut |key, value| {
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

fn read_row(
    key: &[u8],
    value: &[u8],
    extent: &mut Extent,
    visit: &mut dyn FnMut(u64, Record) -> Result<(), StoreError>,
) -> Result<(), StoreError> {
    let damaged = || StoreError::damaged("a row of the journal cannot be read");
    let number = u64::from_be_bytes(key.try_into().map_err(|_| damaged())?);
    let (keys, mut records) = value.split_first_chunk().ok_or_else(damaged)?;
    if number <= extent.cleared.number {
        return Ok(());
    }
    extent.last = Mark { number, keys: u64::from_le_bytes(*keys) };
    while !records.is_empty() {
        extent.records += 1;
        visit(number, Record::read_from(&mut records).map_err(|_| damaged())?)?;
    }
    Ok(())
}

/// Adds to a batch the removal of everything up to a place.
pub(crate) fn clear(engine: &dyn Engine, batch: &mut Batch, up_to: Mark) -> Result<(), StoreError> {
    let mut numbers = Vec::new();
    let until = up_to.number.checked_add(1).map(u64::to_be_bytes);
    let until = until.as_ref().map(<[u8; 8]>::as_slice);
    engine.scan(Space::Journal, &[], until, &mut |key, _| {
        numbers.push(key.to_vec());
        ControlFlow::Continue(())
    })?;
    for key in numbers {
        batch.delete(Space::Journal, key);
    }
    let value = [up_to.number.to_le_bytes(), up_to.keys.to_le_bytes()].concat();
    batch.put(Space::Meta, CLEARED.to_vec(), value);
    Ok(())
}

fn cleared_from(value: &[u8]) -> Result<Mark, StoreError> {
    let parts = value.split_first_chunk().and_then(|(number, rest)| Some((number, rest.try_into().ok()?)));
    let (number, keys) =
        parts.ok_or_else(|| StoreError::damaged("the row that says what was cleared is cut off"))?;
    Ok(Mark { number: u64::from_le_bytes(*number), keys: u64::from_le_bytes(keys) })
}
