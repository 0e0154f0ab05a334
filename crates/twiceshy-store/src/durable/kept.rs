//! What is asked of a filter that is kept: that it can be saved, made anew from its rows, and brought up to date by a
//! journal. A store of another kind of filter, or with other rows, implements this and has all the rest.

use std::io::{self, Read, Write};
use std::sync::Arc;

use twiceshy::adaptive::{Growth, Record};
use twiceshy::error::{ReadError, RebuildError, SetError};
use twiceshy::reverse_map::Row;
use twiceshy::{AdaptiveFilter, Hasher, Prefix};

use super::journal::Event;
use crate::engine::Engine;
use crate::error::StoreError;
use crate::key_type::KeyType;
use crate::rows::KeyRows;
use crate::settings::StoreKind;

/// What is called with everything that happened.
pub(crate) type Replay<'a> = dyn FnMut(Event) -> Result<(), StoreError> + 'a;

/// A filter that is kept beside its rows.
pub(crate) trait Kept: Sized {
    /// The rows, in which it finds its keys by their hashes.
    type Rows: KeyRows;

    /// Which kind of store that makes.
    const KIND: StoreKind;

    /// What its keys are, if they have an order.
    const KEYS: Option<KeyType> = None;

    /// The rows in an engine.
    fn rows(&self, engine: Arc<dyn Engine>) -> Self::Rows;

    /// Writes it into a snapshot.
    fn write_to(&self, file: &mut dyn Write) -> io::Result<()>;

    /// Reads what [`write_to`](Self::write_to) has written, and nothing that follows.
    fn read_from(file: &mut dyn Read) -> Result<Self, ReadError>;

    /// The bytes that [`from_bytes`](Self::from_bytes) reads.
    fn to_bytes(&self) -> Vec<u8>;

    /// Reads what is in some bytes.
    fn from_bytes(bytes: &[u8]) -> Result<Self, ReadError>;

    /// A copy.
    fn try_clone(&self) -> Result<Self, StoreError>;

    /// How it hashes.
    fn hasher(&self) -> &Hasher;

    /// Whether another one has the same fingerprints for the same keys.
    fn is_like(&self, other: &Self) -> bool {
        self.hasher() == other.hasher()
    }

    /// Checks that an engine has what this filter needs beside its rows.
    fn check_rows(_: &Self::Rows) -> Result<(), StoreError> {
        Ok(())
    }

    /// How far it may grow.
    fn growth(&self) -> Growth;

    /// Sets how far it may grow.
    fn set_growth(&mut self, growth: Growth);

    /// How many keys it has.
    fn len(&self) -> u64;

    /// Sets how many keys it has.
    fn set_len(&mut self, keys: u64);

    /// Has it say of the key of a row, which is there, what is to be said of it.
    fn agree(&mut self, row: Row<'_>, rows: &Self::Rows) -> Result<(), StoreError>;

    /// How many times the journal is gone through when it is done again.
    const PHASES: u32;

    /// In which of them an event has its turn, from 0.
    fn phase(event: &Event) -> u32;

    /// Whether a record tells what the rows do not, so that [`rebuilt`](Self::rebuilt) has to know it.
    fn is_lesson(record: &Record) -> bool;

    /// A filter of all rows, and of no others, and how many there are. What this one and the lessons have learned stays
    /// learned.
    fn rebuilt(&self, rows: &Self::Rows, lessons: &[Record]) -> Result<(Self, u64), StoreError>;

    /// Does again what has happened since it was saved; the rows are those of now, so some of it may not hold any more.
    /// `journal` calls what it is given with everything that happened, phase by phase.
    fn replayed(
        self,
        rows: &Self::Rows,
        journal: impl FnOnce(&mut Replay<'_>) -> Result<(), StoreError>,
    ) -> Result<Self, StoreError>;
}

/// [`Kept`] for an adaptive filter, with what differs: its rows, and how it is rebuilt.
macro_rules! kept {
    (impl [$($generic:tt)*] for $filter:ty; $($differs:tt)*) => {
        impl $($generic)* $crate::durable::Kept for $filter {
            $($differs)*

            fn write_to(&self, file: &mut dyn std::io::Write) -> std::io::Result<()> {
                self.write_to(file)
            }

            fn read_from(file: &mut dyn std::io::Read) -> Result<Self, twiceshy::error::ReadError> {
                Self::read_from(file)
            }

            fn to_bytes(&self) -> Vec<u8> {
                self.to_bytes()
            }

            fn from_bytes(bytes: &[u8]) -> Result<Self, twiceshy::error::ReadError> {
                Self::from_bytes(bytes)
            }

            fn try_clone(&self) -> Result<Self, $crate::StoreError> {
                Ok(self.try_clone()?)
            }

            fn hasher(&self) -> &twiceshy::Hasher {
                self.hasher()
            }

            fn growth(&self) -> twiceshy::adaptive::Growth {
                self.growth()
            }

            fn set_growth(&mut self, growth: twiceshy::adaptive::Growth) {
                self.set_growth(growth);
            }

            fn len(&self) -> u64 {
                self.len()
            }

            fn set_len(&mut self, keys: u64) {
                self.set_len(keys);
            }

            fn agree(
                &mut self,
                row: twiceshy::reverse_map::Row<'_>,
                rows: &Self::Rows,
            ) -> Result<(), $crate::StoreError> {
                self.cover_with(row, rows).map_err($crate::durable::set_error)
            }

            /// Mistakes last: they hold for all keys that are there now.
            const PHASES: u32 = 2;

            fn phase(event: &$crate::durable::Event) -> u32 {
                u32::from(matches!(event, $crate::durable::Event::Other(record) if Self::is_lesson(record)))
            }

            fn is_lesson(record: &twiceshy::adaptive::Record) -> bool {
                matches!(record, twiceshy::adaptive::Record::Separate(_))
            }

            fn replayed(
                mut self,
                rows: &Self::Rows,
                journal: impl FnOnce(&mut $crate::durable::Replay<'_>) -> Result<(), $crate::StoreError>,
            ) -> Result<Self, $crate::StoreError> {
                // All keys with a head are covered at once, and there may be many of them.
                let mut covered = std::collections::HashSet::<$crate::rows::Head>::new();
                journal(&mut |event| {
                    match event {
                        $crate::durable::Event::Inserted(head) if !covered.insert(head) => Ok(()),
                        $crate::durable::Event::Inserted(head) => $crate::rows::rows_with(head, rows)?
                            .iter()
                            .try_for_each(|row| $crate::durable::Kept::agree(&mut self, row, rows)),
                        $crate::durable::Event::Other(record) => {
                            self.replay_with(&record, rows).map_err($crate::durable::set_error)
                        }
                    }
                })?;
                Ok(self)
            }
        }
    };
}
pub(crate) use kept;

/// [`Kept`] for a filter whose rows are in the order of the hashes of their keys, and which sees some bytes of their values.
macro_rules! kept_by_hash {
    ($filter:ty, $kind:expr, seeing $seen_bytes:expr) => {
        $crate::durable::kept! {
            impl [] for $filter;

            type Rows = $crate::rows::RowMap;
            const KIND: $crate::StoreKind = $kind;

            fn rows(&self, engine: std::sync::Arc<dyn $crate::Engine>) -> $crate::rows::RowMap {
                $crate::rows::RowMap::new(engine, self.hasher().clone(), $seen_bytes)
            }

            fn rebuilt(
                &self,
                rows: &$crate::rows::RowMap,
                lessons: &[twiceshy::adaptive::Record],
            ) -> Result<(Self, u64), $crate::StoreError> {
                let slots = (self.used_slots(), self.slots());
                let filter = self.rebuild(rows, &$crate::durable::apart(lessons));
                let filter = filter.map_err(|error| $crate::durable::rebuild_error(error, slots))?;
                let keys = filter.len();
                Ok((filter, keys))
            }
        }
    };
}
pub(crate) use kept_by_hash;

kept_by_hash!(AdaptiveFilter, StoreKind::Adaptive, seeing 0);

/// What the lessons say.
pub(crate) fn apart(lessons: &[Record]) -> Vec<Prefix> {
    let separate = |record: &Record| match record {
        Record::Separate(prefix) => Some(prefix.clone()),
        _ => None,
    };
    lessons.iter().filter_map(separate).collect()
}

/// What an error means for a filter with so many slots in use, of so many.
pub(crate) fn rebuild_error(error: RebuildError<StoreError>, (used, slots): (u64, u64)) -> StoreError {
    match error {
        RebuildError::Full { .. } | RebuildError::Capacity { .. } | RebuildError::Build(_) => {
            StoreError::FilterFull { used, slots }
        }
        error => error.into(),
    }
}

pub(crate) fn set_error(error: SetError<StoreError>) -> StoreError {
    match error {
        SetError::Map(error) => error,
        SetError::Full(error) => error.into(),
        SetError::Indistinguishable(error) => error.into(),
        SetError::Memory(error) => error.into(),
        SetError::OnBothLists(error) => error.into(),
        error => StoreError::damaged(error.to_string()),
    }
}
