//! Barring a key: no fingerprint covers it from now on.
//!
//! That is learning from a mistake before it is made: if a fingerprint covers the key, the others under it are parted from
//! it. Only keys that come later could be mistaken for it then, and who inserts them looks for what is barred.

use super::{Answers, Attempt, MoreRoom, Reader, Step, ValueOf, Wanted, is_same_key};
use crate::codec::string::Payload;
use crate::error::AdaptError;
use crate::filter::core::{Core, Neighbour, Parted, Room, Ticket};
use crate::hash::{MAX_BITS, Words};
use crate::reverse_map::{Row, Rows};

/// Has no fingerprint cover a key, which is one of the filter's no more if it was. Tells whether it was.
#[derive(Debug)]
pub struct Bar<'k, V = u64> {
    row: Row<'k>,
    /// Whether the row must be written first.
    must_write: bool,
    /// Whether there was a row of it as one of the filter's keys.
    was_key: bool,
    ticket: Option<Ticket<V>>,
    rows: Option<Rows>,
}

impl<'k, V> Bar<'k, V> {
    /// For a row that is to be written as soon as there is room for what that changes: a row that says it is barred while a
    /// fingerprint covers it is put right by doing this again, but a key that lost its fingerprint first would be lost.
    pub fn map_first(row: Row<'k>) -> Self {
        Self { row, must_write: true, was_key: false, ticket: None, rows: None }
    }

    /// For a row that is there already, or that whoever drives this writes when it is done. That must not be one of the filter's
    /// keys.
    pub fn filter_only(hash: u64, key: &'k [u8]) -> Self {
        Self { must_write: false, ..Self::map_first(Row { hash, key, value: &[] }) }
    }
}

impl<V> Answers for Bar<'_, V> {
    fn answer(&mut self, _: bool) {
        self.must_write = false;
    }

    fn rows(&mut self, rows: Rows) {
        self.rows = Some(rows);
    }
}

impl<'k, V: Clone + PartialEq> Bar<'k, V> {
    pub(super) fn attempt<R: Reader<Payload: Payload<Value = V>>>(
        &mut self,
        core: &mut Core<R::Payload>,
        reader: &R,
    ) -> Attempt<'k, bool> {
        let words = reader.words(self.row);
        let Some(ticket) = self.ticket.take().or_else(|| core.query(&words)) else {
            if self.must_write {
                return Ok(Some(Step::Put(self.row)));
            }
            core.bump(words.word(0));
            return Ok(Some(Step::Done(self.was_key)));
        };
        let Some(rows) = self.rows.take() else {
            let listed = reader.listed(ticket.fingerprint());
            self.ticket = Some(ticket);
            return Ok(Some(Step::Rows(Wanted::all(listed))));
        };
        // What is there after the row was written does not tell any more.
        self.was_key |= rows.iter().any(|row| reader.is_key(row) && is_same_key(row, self.row));
        let parted = apart_by_rows(core, reader, &ticket, self.row, &rows)?;
        match core.room_to_part(&parted)? {
            Room::Enough | Room::AtGlance | Room::Covered(_) => {}
            room => return Ok(Some(Step::Room(MoreRoom(room)))),
        }
        if self.must_write {
            (self.ticket, self.rows) = (Some(ticket), Some(rows));
            return Ok(Some(Step::Put(self.row)));
        }
        core.replace(&parted)?;
        core.set_len(core.len().saturating_sub(u64::from(self.was_key)));
        Ok(Some(Step::Done(self.was_key)))
    }
}

/// Plans to part the other keys under a fingerprint from one that is barred, given the rows there.
fn apart_by_rows<R: Reader>(
    core: &Core<R::Payload>,
    reader: &R,
    ticket: &Ticket<ValueOf<R>>,
    barred: Row<'_>,
    rows: &Rows,
) -> Result<Parted, AdaptError> {
    let words = reader.words(barred);
    let others = reader.rows_under(ticket.fingerprint(), rows).filter(|(row, _)| !is_same_key(*row, barred));
    let others = others.map(|(row, other)| {
        let needed = other.common_bits(&words, MAX_BITS) + 1;
        (Neighbour { words: other, value: reader.value_under(row) }, needed)
    });
    core.apart(ticket, others)
}
