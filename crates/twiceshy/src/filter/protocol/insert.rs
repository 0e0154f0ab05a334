//! Inserting a key.
//!
//! A key that no fingerprint covers is certainly new, and the map need not be asked. One that is covered may be new or not;
//! the map knows. One that may not share the fingerprint which covers it is parted from the keys under it.
//!
//! A map may have rows that no fingerprint may cover. Then those under a new fingerprint are asked for first, and it gets long
//! enough to be a prefix of none of their hashes. One that covers the key already is a prefix of none.

use super::is_same_key;
use super::{Answers, Attempt, MoreRoom, Reader, Step, ValueOf, Wanted};
use crate::codec::string::Payload;
use crate::error::AdaptError;
use crate::filter::core::{Core, Insertion, Neighbour, Parted, Room, Ticket};
use crate::hash::{MAX_BITS, Words};
use crate::prefix::Prefix;
use crate::reverse_map::{Row, Rows};

/// Inserts a key. Tells whether it is new.
#[derive(Debug)]
pub struct Insert<'k, V = u64> {
    row: Row<'k>,
    value: V,
    order: Order,
    /// Whether its row is there, whatever the map would say.
    is_recovered: bool,
    /// Whether a key that is there stays as it is, whatever it has brought along.
    stays: bool,
    /// Whether the usual insert is worth a try.
    at_glance: bool,
    /// The fingerprint that covers the key, if one did.
    ticket: Option<Ticket<V>>,
    /// What the map has said: whether it has the key, and what is under the fingerprint.
    is_known: Option<bool>,
    rows: Option<Rows>,
    /// What the map said when the row was written.
    is_new: Option<bool>,
    asked: Asked,
    /// Where rows were asked for that no fingerprint may cover.
    clear: Option<Clear>,
}

/// How far a new fingerprint is clear of rows that none may cover.
#[derive(Debug)]
struct Clear {
    /// All of them that begin like this were asked for, when this was the stamp of it.
    under: Prefix,
    stamp: u64,
    /// How many bits tell the key from each of them, 0 if there are none; once they have come.
    least: Option<u32>,
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
    /// Has the filter cover a key, given with its hash, and what it brings along: a tag. Whoever drives it writes the row
    /// when that is done: for drivers that share the filter with others. It never asks to [`Put`](Step::Put).
    pub fn filter_first(hash: u64, key: &'k [u8], value: V) -> Self {
        Self::new(Row { hash, key, value: &[] }, value, Order::FilterFirst)
    }

    /// The row is written as soon as there is room for the fingerprint: for drivers that have the filter for themselves.
    pub(crate) fn map_first(row: Row<'k>, value: V) -> Self {
        Self::new(row, value, Order::MapFirst)
    }

    /// [`map_first`](Self::map_first), unless the key is there already.
    pub(crate) fn if_new(row: Row<'k>, value: V) -> Self {
        Self { stays: true, ..Self::map_first(row, value) }
    }

    /// [`map_first`](Self::map_first) for a key that is certainly none of the filter's, although there may be a row of it.
    pub(crate) fn of_new(row: Row<'k>, value: V) -> Self {
        Self { is_known: Some(false), ..Self::map_first(row, value) }
    }

    /// Has the filter cover a key whose row is there, and which may have been covered and counted before: for recovery. It
    /// asks the map only if the key must be parted from others.
    pub(crate) fn recovered(row: Row<'k>, value: V) -> Self {
        Self { is_known: Some(false), is_recovered: true, ..Self::new(row, value, Order::FilterFirst) }
    }

    fn new(row: Row<'k>, value: V, order: Order) -> Self {
        let (ticket, is_known, rows, is_new, asked) = (None, None, None, None, Asked::Get);
        let (is_recovered, stays, at_glance, clear) = (false, false, true, None);
        Self {
            row,
            value,
            order,
            is_recovered,
            stays,
            at_glance,
            ticket,
            is_known,
            rows,
            is_new,
            asked,
            clear,
        }
    }
}

impl<V> Answers for Insert<'_, V> {
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
    pub(super) fn attempt<R: Reader<Payload: Payload<Value = V>>>(
        &mut self,
        core: &mut Core<R::Payload>,
        reader: &R,
    ) -> Attempt<'k, bool> {
        match self.ticket.take() {
            None => self.enter(core, reader),
            Some(ticket) if core.strings().payload().covers(&ticket.value, &self.value) => {
                self.enter_covered(core, ticket)
            }
            Some(ticket) => self.enter_apart(core, reader, ticket),
        }
    }
}

impl<'k, V: Clone + PartialEq> Insert<'k, V> {
    /// Whether the row must be written before the fingerprint.
    fn must_write(&self) -> bool {
        matches!(self.order, Order::MapFirst) && self.is_new.is_none()
    }

    /// Asks for the row to be written.
    fn put(&mut self) -> Step<'k, bool> {
        self.asked = Asked::Put;
        Step::Put(self.row)
    }

    /// Stores a fingerprint, or finds one that covers the key.
    fn enter<R: Reader<Payload: Payload<Value = V>>>(
        &mut self,
        core: &mut Core<R::Payload>,
        reader: &R,
    ) -> Attempt<'k, bool> {
        let words = reader.words(self.row);
        let least = match self.clear_of_barred(core, reader, &words) {
            Ok(least) => least,
            Err(wanted) => return Ok(Some(Step::Rows(wanted))),
        };
        if self.must_write() {
            let room = core.room_for(&words, &self.value, least)?;
            self.at_glance = matches!(room, Room::AtGlance);
            return Ok(match room {
                Room::AtGlance | Room::Enough => Some(self.put()),
                Room::Covered(place) => {
                    self.ticket = Some(core.ticket(&place));
                    None
                }
                room => Some(Step::Room(MoreRoom(room))),
            });
        }
        if !(self.at_glance && least == 0 && core.insert_at_glance(words.word(0), &self.value))
            && let Insertion::Covered(ticket) = core.insert(&words, &self.value, least)?
        {
            self.ticket = Some(ticket);
            return Ok(None);
        }
        Ok(Some(Step::Done(self.is_new.unwrap_or(true))))
    }

    /// How many bits a new fingerprint has at least, to be clear of rows that none may cover; or which rows tell.
    #[inline(always)]
    fn clear_of_barred<R: Reader<Payload: Payload<Value = V>>>(
        &mut self,
        core: &Core<R::Payload>,
        reader: &R,
        words: &R::Words<'_>,
    ) -> Result<u32, Wanted> {
        match R::BARS.then(|| core.new_length(words)).flatten() {
            Some(len) => self.clear_of_rows(core, reader, words, Prefix::of(words, len)),
            None => Ok(0),
        }
    }

    /// How many bits the fingerprint has at least which would be `under` if there were no rows that none may cover.
    fn clear_of_rows<R: Reader<Payload: Payload<Value = V>>>(
        &mut self,
        core: &Core<R::Payload>,
        reader: &R,
        words: &R::Words<'_>,
        under: Prefix,
    ) -> Result<u32, Wanted> {
        let (stamp, rows) = (core.stamp(&under), self.rows.take());
        let asked = self.clear.take().filter(|clear| clear.under == under && clear.stamp == stamp);
        let least = match (asked, rows) {
            (None, _) => None,
            (Some(Clear { least: None, .. }), Some(rows)) => {
                let barred = rows.iter().filter(|row| reader.is_barred(*row) && !is_same_key(*row, self.row));
                let bits = barred.map(|row| reader.words(row).common_bits(words, MAX_BITS) + 1);
                bits.max().filter(|bits| *bits > under.len()).or(Some(0))
            }
            (Some(Clear { least, .. }), _) => least,
        };
        let wanted = Wanted::all(reader.listed(&under));
        self.clear = Some(Clear { under, stamp, least });
        least.ok_or(wanted)
    }

    /// Counts the key, if it is new.
    fn enter_covered<P: Payload<Value = V>>(
        &mut self,
        core: &mut Core<P>,
        ticket: Ticket<V>,
    ) -> Attempt<'k, bool> {
        let Some(is_known) = self.is_known else {
            (self.ticket, self.asked) = (Some(ticket), Asked::Get);
            return Ok(Some(Step::Get(self.row)));
        };
        if !is_known && self.must_write() {
            self.ticket = Some(ticket);
            return Ok(Some(self.put()));
        }
        if core.confirm_covered(&ticket, !is_known).is_err() {
            // The map is asked again, unless what it says would be what was written just now.
            if self.is_new.is_none() && !self.is_recovered {
                self.is_known = None;
            }
            return Ok(None);
        }
        Ok(Some(Step::Done(!is_known)))
    }

    /// Parts the key from the others under the fingerprint.
    fn enter_apart<R: Reader<Payload: Payload<Value = V>>>(
        &mut self,
        core: &mut Core<R::Payload>,
        reader: &R,
        ticket: Ticket<V>,
    ) -> Attempt<'k, bool> {
        let Some(rows) = self.rows.take() else {
            let listed = reader.listed(ticket.fingerprint());
            self.ticket = Some(ticket);
            return Ok(Some(Step::Rows(Wanted::all(listed))));
        };
        let (parted, is_new) = part_by_rows(core, reader, &ticket, self.row, self.value.clone(), &rows)?;
        if self.stays && !is_new && self.is_new.is_none() {
            return Ok(Some(Step::Done(false)));
        }
        match core.room_to_part(&parted)? {
            Room::Enough | Room::AtGlance | Room::Covered(_) => {}
            room => return Ok(Some(Step::Room(MoreRoom(room)))),
        }
        if self.must_write() {
            (self.ticket, self.rows) = (Some(ticket), Some(rows));
            return Ok(Some(self.put()));
        }
        core.replace(&parted)?;
        core.set_len(core.len() + u64::from(is_new));
        Ok(Some(Step::Done(is_new)))
    }
}

/// Plans to part a key from the others under a fingerprint, given the rows there. Tells whether the key is none of them.
pub(crate) fn part_by_rows<R: Reader>(
    core: &Core<R::Payload>,
    reader: &R,
    ticket: &Ticket<ValueOf<R>>,
    row: Row<'_>,
    value: ValueOf<R>,
    rows: &Rows,
) -> Result<(Parted, bool), AdaptError> {
    let is_new = !rows.iter().any(|other| reader.is_key(other) && is_same_key(other, row));
    let others = reader.rows_under(ticket.fingerprint(), rows).filter(|(other, _)| !is_same_key(*other, row));
    let others = others.map(|(other, words)| Neighbour { words, value: reader.value_under(other) });
    let key = Neighbour { words: reader.words(row), value: Some(value) };
    Ok((core.part(ticket, key, others)?, is_new))
}
