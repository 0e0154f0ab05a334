//! Removing a key, and clearing away fingerprints that no key is under.
//!
//! An entry carries what its keys bring along together, so it is read from the others' rows what is left. If that may be
//! thousands of rows, only those matter that bring along what the removed key did ([`Remove::among_alike`]): if there is none,
//! the entry carries that no longer, and goes if nothing else is left. A leftover of a crash in what it carries then stays: it is
//! a mistake at worst, and goes when the entry is cut.

use super::{Answers, Attempt, Reader, Step, ValueOf, Wanted, is_same_key};
use crate::codec::string::Payload;
use crate::filter::core::{Core, Ticket};
use crate::prefix::Prefix;
use crate::reverse_map::{Row, Rows};

/// Removes a key. Tells whether it was there.
#[derive(Debug)]
pub struct Remove<'k, V = u64> {
    row: Row<'k>,
    ticket: Option<Ticket<V>>,
    rows: Option<Rows>,
    /// Whether all rows under the fingerprint are needed. Where all bring the same along it matters only whether there is
    /// another one, and there may be thousands.
    needs_all: bool,
    /// Whether only rows that are alike are read.
    among_alike: bool,
    /// What the fingerprint carries without this key, once that is known.
    left: Option<Option<V>>,
    /// Whether there is a row, once that is known, and whether this was asked last.
    is_there: Option<bool>,
    asked: bool,
    /// Whether the row was removed, once that was tried.
    was_there: Option<bool>,
}

impl<'k, V> Remove<'k, V> {
    /// For a key that is given with its hash.
    pub fn new(hash: u64, key: &'k [u8]) -> Self {
        let row = Row { hash, key, value: &[] };
        Self {
            row,
            ticket: None,
            rows: None,
            needs_all: false,
            among_alike: false,
            left: None,
            is_there: None,
            asked: false,
            was_there: None,
        }
    }

    /// For a key whose row is gone already.
    pub fn after_its_row(hash: u64, key: &'k [u8]) -> Self {
        Self { was_there: Some(true), ..Self::new(hash, key) }
    }

    /// Asks only for rows that are [alike](Wanted::like), and takes what the entry carries for what all of its keys bring along.
    /// Where all keys of an entry bring the same along, this makes no difference.
    pub fn among_alike(self) -> Self {
        Self { among_alike: true, ..self }
    }
}

impl<V> Answers for Remove<'_, V> {
    fn answer(&mut self, yes: bool) {
        let answered = if std::mem::take(&mut self.asked) { &mut self.is_there } else { &mut self.was_there };
        *answered = Some(yes);
    }

    fn rows(&mut self, rows: Rows) {
        self.rows = Some(rows);
    }
}

impl<'k, V: Clone + PartialEq> Remove<'k, V> {
    pub(super) fn attempt<R: Reader<Payload: Payload<Value = V>>>(
        &mut self,
        core: &mut Core<R::Payload>,
        reader: &R,
    ) -> Attempt<'k, bool> {
        let ticket = match &self.ticket {
            Some(ticket) => ticket,
            None => match core.query(&reader.words(self.row)) {
                Some(ticket) => self.ticket.insert(ticket),
                None => return Ok(Some(Step::Done(self.was_there.is_some()))),
            },
        };
        let left = match &self.left {
            Some(left) => left,
            None => {
                let payload = core.strings().payload();
                // Its own row and another one.
                let is_alone = reader.ordered_bits_of(ticket.fingerprint()) >= u64::BITS;
                let enough = if R::Payload::ALIKE && is_alone && !self.needs_all { 2 } else { usize::MAX };
                let among_alike = self.among_alike && !R::Payload::ALIKE;
                let Some(rows) = &self.rows else {
                    let like = among_alike.then(|| self.row.key.to_vec());
                    let wanted = Wanted { like, ..Wanted::some(reader.listed(ticket.fingerprint()), enough) };
                    return Ok(Some(Step::Rows(wanted)));
                };
                let key = self.was_there.is_none().then_some(self.row);
                let (is_seen, left) = without(payload, reader, ticket, key, rows);
                let are_all = rows.len() < enough;
                if left.is_none() && !are_all {
                    (self.needs_all, self.rows) = (true, None);
                    return Ok(None);
                }
                self.is_there = (is_seen || are_all).then_some(is_seen);
                let own = reader.value(self.row);
                self.left.insert(match left {
                    left if !among_alike => left,
                    // Another one brings the same along.
                    Some(left) if payload.covers(&left, &own) => Some(ticket.value.clone()),
                    _ => payload.without(&ticket.value, &own),
                })
            }
        };
        Ok(match (self.was_there, self.is_there) {
            (None, None) => {
                self.asked = true;
                Some(Step::Get(self.row))
            }
            (None, Some(true)) => Some(Step::Delete(self.row)),
            (None | Some(false), _) => Some(Step::Done(false)),
            (Some(true), _) if core.remove(ticket, left.as_ref()).is_ok() => Some(Step::Done(true)),
            (Some(true), _) => {
                (self.ticket, self.rows, self.left) = (None, None, None);
                None
            }
        })
    }
}

/// Whether the row of a key is among others under a fingerprint, and what these bring along together, if there are any.
/// Without a key all are others: one that is there although its row was removed has been inserted again.
fn without<R: Reader>(
    payload: R::Payload,
    reader: &R,
    ticket: &Ticket<ValueOf<R>>,
    key: Option<Row<'_>>,
    rows: &Rows,
) -> (bool, Option<ValueOf<R>>) {
    let (mut is_there, mut left) = (false, None);
    for (other, _) in reader.rows_under(ticket.fingerprint(), rows) {
        let value = reader.value_under(other).unwrap_or_else(|| ticket.value.clone());
        match &mut left {
            _ if key.is_some_and(|key| is_same_key(other, key)) => is_there = true,
            None => left = Some(value),
            Some(left) => payload.unite(left, &value),
        }
    }
    (is_there, left)
}

/// Removes the fingerprints that a hash begins with, or that begin with a hash, if no key is under them, and else what no key
/// under them brings along: for recovery.
#[derive(Debug)]
pub struct ClearAway<V = u64> {
    hash: u64,
    /// What is still to be looked at, once that was listed.
    fingerprints: Option<Vec<Prefix>>,
    ticket: Option<Ticket<V>>,
    rows: Option<Rows>,
    /// Whether the first row told nothing.
    needs_all: bool,
}

impl<V> ClearAway<V> {
    /// For a key with this hash that is gone.
    pub fn new(hash: u64) -> Self {
        Self { hash, fingerprints: None, ticket: None, rows: None, needs_all: false }
    }
}

impl<V> Answers for ClearAway<V> {
    fn rows(&mut self, rows: Rows) {
        self.rows = Some(rows);
    }
}

impl<V: Clone + PartialEq> ClearAway<V> {
    pub(super) fn attempt<'k, R: Reader<Payload: Payload<Value = V>>>(
        &mut self,
        core: &mut Core<R::Payload>,
        reader: &R,
    ) -> Attempt<'k, ()> {
        let hash = reader.fingerprint_of(self.hash);
        let fingerprints = self.fingerprints.get_or_insert_with(|| core.fingerprints_at(&hash));
        let Some(prefix) = fingerprints.last() else { return Ok(Some(Step::Done(()))) };
        let ticket = self.ticket.take().or_else(|| core.query_prefix(prefix));
        let Some(ticket) = ticket.filter(|ticket| ticket.fingerprint() == prefix) else {
            fingerprints.pop();
            return Ok(None);
        };
        let is_alone = reader.ordered_bits_of(prefix) >= u64::BITS;
        let enough = if R::Payload::ALIKE && is_alone && !self.needs_all { 1 } else { usize::MAX };
        let Some(rows) = self.rows.take() else {
            let wanted = Wanted::some(reader.listed(prefix), enough);
            self.ticket = Some(ticket);
            return Ok(Some(Step::Rows(wanted)));
        };
        let payload = core.strings().payload();
        let (_, left) = without(payload, reader, &ticket, None, &rows);
        self.needs_all = left.is_none() && rows.len() >= enough;
        // Keys that came later may bring along what the entry does not carry. That is for their own records: there may be no room.
        let kept = left.as_ref().and_then(|left| match payload.without(&ticket.value, left) {
            Some(leftover) => payload.without(&ticket.value, &leftover),
            None => Some(ticket.value.clone()),
        });
        let is_right = kept.as_ref() == Some(&ticket.value) || R::Payload::ALIKE && left.is_some();
        // If it cannot be changed, something else has: then the rows are asked for once more.
        if is_right || !self.needs_all && core.remove(&ticket, kept.as_ref()).is_ok() {
            fingerprints.pop();
        }
        Ok(None)
    }
}
