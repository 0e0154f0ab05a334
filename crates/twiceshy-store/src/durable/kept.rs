//! What is asked of a filter that is kept: that it can be saved, made anew from its rows, and brought up to date by a
//! journal. A store of another kind of filter, or with other rows, implements this and has all the rest.

use std::io::{self, Read, Write};
use std::sync::Arc;

use twiceshy::adaptive::{Growth, Record};
use twiceshy::error::{ReadError, SetError};
use twiceshy::{AdaptiveFilter, AdaptiveSet, Hasher};

use super::journal::Event;
use crate::engine::Engine;
use crate::error::StoreError;
use crate::rows::RowMap;

/// What is called with everything that happened.
pub(crate) type Replay<'a> = dyn FnMut(Event) -> Result<(), StoreError> + 'a;

/// A filter that is kept beside its rows.
pub(crate) trait Kept: Sized {
    /// The rows, in which it finds its keys by their hashes.
    type Rows;

    /// The rows in an engine.
    fn rows(&self, engine: Arc<dyn Engine>) -> Self::Rows;

    /// Writes it into a snapshot.
    fn write_to(&self, file: &mut dyn Write) -> io::Result<()>;

    /// Reads what [`write_to`](Self::write_to) has written, and nothing that follows.
    fn read_from(file: &mut dyn Read) -> Result<Self, ReadError>;

    /// Reads what is in some bytes.
    fn from_bytes(bytes: &[u8]) -> Result<Self, ReadError>;

    /// A copy.
    fn try_clone(&self) -> Result<Self, StoreError>;

    /// How it hashes.
    fn hasher(&self) -> &Hasher;

    /// How far it may grow.
    fn growth(&self) -> Growth;

    /// Sets how far it may grow.
    fn set_growth(&mut self, growth: Growth);

    /// How many keys it has.
    fn len(&self) -> u64;

    /// Sets how many keys it has.
    fn set_len(&mut self, keys: u64);

    /// How many times the journal is gone through when it is done again.
    const PHASES: u32;

    /// In which of them an event has its turn, from 0.
    fn phase(event: &Event) -> u32;

    /// Whether a record tells what the rows do not, so that [`rebuilt`](Self::rebuilt) has to know it.
    fn is_lesson(record: &Record) -> bool;

    /// A filter of all rows, and of no others. What this one and the lessons have learned stays learned.
    fn rebuilt(&self, rows: &Self::Rows, lessons: &[Record]) -> Result<Self, StoreError>;

    /// Does again what has happened since it was saved; the rows are those of now, so some of it may not hold any more.
    /// `journal` calls what it is given with everything that happened, phase by phase.
    fn replayed(
        self,
        rows: &Self::Rows,
        journal: impl FnOnce(&mut Replay<'_>) -> Result<(), StoreError>,
    ) -> Result<Self, StoreError>;
}

impl Kept for AdaptiveFilter {
    type Rows = RowMap;

    fn rows(&self, engine: Arc<dyn Engine>) -> RowMap {
        RowMap::new(engine, self.hasher().clone())
    }

    fn write_to(&self, file: &mut dyn Write) -> io::Result<()> {
        self.write_to(file)
    }

    fn read_from(file: &mut dyn Read) -> Result<Self, ReadError> {
        Self::read_from(file)
    }

    fn from_bytes(bytes: &[u8]) -> Result<Self, ReadError> {
        Self::from_bytes(bytes)
    }

    fn try_clone(&self) -> Result<Self, StoreError> {
        Ok(self.try_clone()?)
    }

    fn hasher(&self) -> &Hasher {
        self.hasher()
    }

    fn growth(&self) -> Growth {
        self.growth()
    }

    fn set_growth(&mut self, growth: Growth) {
        self.set_growth(growth);
    }

    fn len(&self) -> u64 {
        self.len()
    }

    fn set_len(&mut self, keys: u64) {
        self.set_len(keys);
    }

    /// Mistakes last: they hold for all keys that are there now.
    const PHASES: u32 = 2;

    fn phase(event: &Event) -> u32 {
        u32::from(matches!(event, Event::Other(record) if Self::is_lesson(record)))
    }

    fn is_lesson(record: &Record) -> bool {
        matches!(record, Record::Separate(_))
    }

    fn rebuilt(&self, rows: &RowMap, lessons: &[Record]) -> Result<Self, StoreError> {
        let set = AdaptiveSet::recover(self, rows.clone(), lessons.iter().cloned()).map_err(set_error)?;
        Ok(set.into_parts().0)
    }

    fn replayed(
        self,
        rows: &RowMap,
        journal: impl FnOnce(&mut Replay<'_>) -> Result<(), StoreError>,
    ) -> Result<Self, StoreError> {
        let mut set = AdaptiveSet::from_parts(self, rows.clone());
        journal(&mut |event| {
            match event {
                Event::Inserted(head) => {
                    rows.rows_with(head)?.iter().try_for_each(|row| set.cover(row.key, 0))
                }
                Event::Other(record) => set.replay(&record),
            }
            .map_err(set_error)
        })?;
        Ok(set.into_parts().0)
    }
}

fn set_error(error: SetError<StoreError>) -> StoreError {
    match error {
        SetError::Map(error) => error,
        SetError::Full(error) => error.into(),
        SetError::Indistinguishable(error) => error.into(),
        SetError::Memory(error) => error.into(),
        error => StoreError::damaged(error.to_string()),
    }
}
