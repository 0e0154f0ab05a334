//! Inserting a key.
//!
//! A key that no fingerprint covers is certainly new, and the map need not be asked. One that is covered may be new or not;
//! the map knows. One that may not share the fingerprint which covers it is parted from the keys under it.

use super::{Machine, MoreRoom, OperationError, Reader, Step, Wanted, is_same_key, no_room, not_adapted};
use crate::codec::string::Payload;
use crate::error::AdaptError;
use crate::filter::core::{Core, Insertion, Neighbour, Parted, Room, Ticket};
use crate::hash::Words;
use crate::reverse_map::{Row, Rows};

/// Inserts a key. Tells whether it is new.
#[derive(Debug)]
pub struct Insert<'k, V = u64> {
    row: Row<'k>,
    value: V,
    order: Order,
    /// The fingerprint that covers the key, if one did.
    ticket: Option<Ticket<V>>,
    /// What the map has said: whether it has the key, and what is under the fingerprint.
    is_known: Option<bool>,
    rows: Option<Rows>,
    /// What the map said when the row was written.
    is_new: Option<bool>,
    asked: Asked,
}

#[derive(Debug, Clone, Copy)]
enum Order {
    MapFirst,
    FilterFirst,
}

/// What the last question was.
#[derive(Debug, Clone, Copy)]
enum Asked {
    Get,
    Put,
}

impl<'k, V> Insert<'k, V> {
    /// The row is written as soon as there is room for the fingerprint: for drivers that have the filter for themselves.
    pub(crate) fn map_first(row: Row<'k>, value: V) -> Self {
        Self::new(row, value, Order::MapFirst)
    }

    /// Has the filter cover a key whose row is there, and which may have been covered and counted before: for recovery. It
    /// asks the map only if the key must be parted from others.
    pub(crate) fn recovered(row: Row<'k>, value: V) -> Self {
        Self { is_known: Some(false), ..Self::new(row, value, Order::FilterFirst) }
    }

    fn new(row: Row<'k>, value: V, order: Order) -> Self {
        let (ticket, is_known, rows, is_new, asked) = (None, None, None, None, Asked::Get);
        Self { row, value, order, ticket, is_known, rows, is_new, asked }
    }
}

impl<'k> Insert<'k> {
    /// Has the filter cover a key, given with its hash. Whoever drives it writes the row when that is done: for drivers that
    /// share the filter with others. It never asks to [`Put`](Step::Put).
    pub fn filter_first(hash: u64, key: &'k [u8], tag: u64) -> Self {
        Self::new(Row { hash, key, value: &[] }, tag, Order::FilterFirst)
    }
}

impl<'k, V: Clone + PartialEq> Machine<'k, V> for Insert<'k, V> {
    type Output = bool;

    fn next<P: Payload<Value = V>, R: Reader<P>>(
        &mut self,
        core: &mut Core<P>,
        reader: &R,
    ) -> Result<Step<'k, bool>, OperationError> {
        loop {
            let step = match self.ticket.take() {
                None => self.enter(core, reader),
                Some(ticket) if core.strings().payload().covers(&ticket.value, &self.value) => {
                    self.enter_covered(core, ticket)
                }
                Some(ticket) => self.enter_apart(core, reader, ticket),
            };
            if let Some(step) = step {
                return step;
            }
        }
    }

    fn answer(&mut self, yes: bool) {
        match self.asked {
            Asked::Get => self.is_known = Some(yes),
            Asked::Put => self.is_new = Some(yes),
        }
    }

    fn rows(&mut self, rows: Rows) {
        self.rows = Some(rows);
    }
}

impl<'k, V: Clone + PartialEq> Insert<'k, V> {
    /// Whether the row must be written before the fingerprint.
    fn must_write(&mut self) -> bool {
        self.asked = Asked::Put;
        matches!(self.order, Order::MapFirst) && self.is_new.is_none()
    }

    /// Stores a fingerprint, or finds one that covers the key.
    fn enter<P: Payload<Value = V>, R: Reader<P>>(
        &mut self,
        core: &mut Core<P>,
        reader: &R,
    ) -> Option<Result<Step<'k, bool>, OperationError>> {
        let words = reader.words(self.row);
        if matches!(self.order, Order::MapFirst) && self.is_new.is_none() {
            match core.room_for(&words, &self.value) {
                Ok(Room::Enough) => {
                    self.asked = Asked::Put;
                    return Some(Ok(Step::Put(self.row)));
                }
                Ok(Room::Covered(place)) => {
                    self.ticket = Some(core.ticket(&place));
                    return None;
                }
                Ok(room) => return Some(Ok(Step::Room(MoreRoom(room)))),
                Err(error) => return Some(no_room(error)),
            }
        }
        if core.insert_at_glance(words.word(0), &self.value) {
            return Some(Ok(Step::Done(self.is_new.unwrap_or(true))));
        }
        match core.insert(&words, &self.value) {
            Ok(Insertion::Stored) => Some(Ok(Step::Done(self.is_new.unwrap_or(true)))),
            Ok(Insertion::Covered(ticket)) => {
                self.ticket = Some(ticket);
                None
            }
            Err(error) => Some(no_room(error)),
        }
    }

    /// Counts the key, if it is new.
    fn enter_covered<P: Payload<Value = V>>(
        &mut self,
        core: &mut Core<P>,
        ticket: Ticket<V>,
    ) -> Option<Result<Step<'k, bool>, OperationError>> {
        let Some(is_known) = self.is_known else {
            (self.ticket, self.asked) = (Some(ticket), Asked::Get);
            return Some(Ok(Step::Get(self.row)));
        };
        if is_known {
            return Some(Ok(Step::Done(false)));
        }
        if self.must_write() {
            self.ticket = Some(ticket);
            return Some(Ok(Step::Put(self.row)));
        }
        core.insert_covered(&ticket).ok().map(|()| Ok(Step::Done(true)))
    }

    /// Parts the key from the others under the fingerprint.
    fn enter_apart<P: Payload<Value = V>, R: Reader<P>>(
        &mut self,
        core: &mut Core<P>,
        reader: &R,
        ticket: Ticket<V>,
    ) -> Option<Result<Step<'k, bool>, OperationError>> {
        let Some(rows) = self.rows.take() else {
            let listed = reader.listed(ticket.prefix());
            self.ticket = Some(ticket);
            return Some(Ok(Step::Rows(Wanted::all(listed))));
        };
        let (parted, is_new) = match part_by_rows(core, reader, &ticket, self.row, self.value.clone(), &rows)
        {
            Ok(parted) => parted,
            Err(error) => return not_adapted(error),
        };
        match core.room_to_part(&parted) {
            Ok(Room::Enough | Room::Covered(_)) => {}
            Ok(room) => return Some(Ok(Step::Room(MoreRoom(room)))),
            Err(error) => return Some(no_room(error)),
        }
        if self.must_write() {
            (self.ticket, self.rows) = (Some(ticket), Some(rows));
            return Some(Ok(Step::Put(self.row)));
        }
        Some(match core.replace(&parted) {
            Ok(()) => {
                core.set_len(core.len() + u64::from(is_new));
                Ok(Step::Done(is_new))
            }
            Err(error) => return not_adapted(error),
        })
    }
}

/// Plans to part a key from the others under a fingerprint, given the rows there. Tells whether the key is none of them.
pub(crate) fn part_by_rows<P: Payload, R: Reader<P>>(
    core: &Core<P>,
    reader: &R,
    ticket: &Ticket<P::Value>,
    row: Row<'_>,
    value: P::Value,
    rows: &Rows,
) -> Result<(Parted, bool), AdaptError> {
    let is_new = !rows.iter().any(|other| is_same_key(other, row));
    let others = reader.rows_under(ticket.prefix(), rows).filter(|(other, _)| !is_same_key(*other, row));
    let others = others.map(|(other, words)| Neighbour { words, value: reader.value_under(other) });
    let key = Neighbour { words: reader.words(row), value: Some(value) };
    Ok((core.part(ticket, key, others)?, is_new))
}
