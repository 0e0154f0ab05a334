//! Doing again what a journal says, for filters whose keys are kept by the caller.

use super::{Filter, Record};
use crate::error::SetError;
use crate::filter::protocol::{Bar, ClearAway, Insert, Keys, ReadOnly, Separate, drive, set_error};
use crate::prefix::Prefix;
use crate::reverse_map::{Lookup, Row, Rows};

impl<R: Keys> Filter<R> {
    /// Does again what a record of a journal says, on a filter that was saved before; the keys are looked up in a database as it
    /// is now. See [`AdaptiveSet::replay`](super::AdaptiveSet::replay), also for what
    /// no record tells. An error changes nothing.
    pub fn replay_with<L: Lookup + ?Sized>(
        &mut self,
        record: &Record,
        database: &L,
    ) -> Result<(), SetError<L::Error>> {
        match record {
            Record::Inserted(hash) => {
                let rows = Rows::under(&Prefix::from_bits(*hash, 64), database).map_err(SetError::Map)?;
                rows.iter().try_for_each(|row| self.cover_with(row, database))
            }
            Record::Separate(_) | Record::SeparateIn { .. } => match self.lesson(record) {
                Some(apart) => drive(self, &mut ReadOnly(database), Separate::new(apart)),
                None => Ok(()),
            },
            Record::Removed(hash) => drive(self, &mut ReadOnly(database), ClearAway::new(*hash)),
            Record::Rotated(turn) => self.rotate_to(turn, database).map_err(set_error(&self.core)),
        }
    }

    /// Gives the key of a row, which is in the database, a fingerprint, if it has none; on the NO list of a
    /// [list](crate::YesNoList) it sees to it that none covers it. That is what [`replay_with`](Self::replay_with) does for
    /// [`Inserted`](Record::Inserted), for callers who know the row. An error changes nothing.
    pub fn cover_with<L: Lookup + ?Sized>(
        &mut self,
        row: Row<'_>,
        database: &L,
    ) -> Result<(), SetError<L::Error>> {
        if self.reader.is_barred(row) {
            let bar = Bar::filter_only(row.hash, row.key);
            return drive(self, &mut ReadOnly(database), bar).map(drop);
        }
        if !self.reader.is_key(row) {
            return Ok(());
        }
        let value = self.reader.value(row);
        drive(self, &mut ReadOnly(database), Insert::recovered(row, value)).map(drop)
    }
}
