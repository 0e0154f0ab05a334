//! Learning from a mistake, when it is made and when it is read from a journal.

use super::{Answers, Attempt, Reader, Step, ValueOf, Wanted};
use crate::codec::string::Payload;
use crate::error::AdaptError;
use crate::filter::core::{Adapted, Core, Neighbour, Ticket};
use crate::hash::{MAX_BITS, Words};
use crate::prefix::Prefix;
use crate::reverse_map::{Row, Rows};

/// Learns that the filter's *maybe* to a key was wrong, if it was.
#[derive(Debug)]
pub struct Adapt<'k, V = u64> {
    row: Row<'k>,
    ticket: Option<Ticket<V>>,
    rows: Option<Rows>,
    /// Whether it was positive at first: then growth may fix it.
    was_positive: bool,
}

impl<'k, V> Adapt<'k, V> {
    /// For a key that is given with its hash.
    pub fn new(hash: u64, key: &'k [u8]) -> Self {
        Self { row: Row { hash, key, value: &[] }, ticket: None, rows: None, was_positive: false }
    }
}

impl<V> Answers for Adapt<'_, V> {
    fn rows(&mut self, rows: Rows) {
        self.rows = Some(rows);
    }
}

impl<'k, V: Clone + PartialEq> Adapt<'k, V> {
    pub(super) fn attempt<R: Reader<Payload: Payload<Value = V>>>(
        &mut self,
        core: &mut Core<R::Payload>,
        reader: &R,
    ) -> Attempt<'k, Adapted> {
        if self.ticket.is_none() {
            self.ticket = core.query_for(&reader.words(self.row), &reader.query(self.row));
        }
        let Some(ticket) = &self.ticket else {
            let adapted = if self.was_positive { core.fixed_by_growth() } else { Adapted::NotPositive };
            return Ok(Some(Step::Done(adapted)));
        };
        self.was_positive = true;
        let Some(rows) = &self.rows else {
            return Ok(Some(Step::Rows(Wanted::all(reader.listed(ticket.fingerprint())))));
        };
        let adapted = adapt_by_rows(core, reader, ticket, self.row, rows);
        if adapted.is_err() {
            (self.ticket, self.rows) = (None, None);
        }
        Ok(Some(Step::Done(adapted?)))
    }
}

/// Learns that a query was a mistake, given the rows under the fingerprint that it has met.
pub(crate) fn adapt_by_rows<R: Reader>(
    core: &mut Core<R::Payload>,
    reader: &R,
    ticket: &Ticket<ValueOf<R>>,
    query: Row<'_>,
    rows: &Rows,
) -> Result<Adapted, AdaptError> {
    if rows.iter().any(|row| reader.answers(query, row)) {
        return Ok(Adapted::WasMember);
    }
    let words = reader.words(query);
    let need = |row, other: &R::Words<'_>| match reader.must_part(query, row) {
        true => other.common_bits(&words, MAX_BITS) + 1,
        false => 0,
    };
    let neighbours = reader.rows_under(ticket.fingerprint(), rows).map(|(row, other)| {
        let need = need(row, &other);
        (Neighbour { words: other, value: reader.value_under(row) }, need)
    });
    core.adapt(ticket, &words, neighbours)
}

/// Parts keys from a query that was a mistake once and begins with a prefix, also if it has become a key since: for
/// recovery.
#[derive(Debug)]
pub struct Separate<'k, V = u64> {
    apart: &'k Prefix,
    ticket: Option<Ticket<V>>,
    rows: Option<Rows>,
}

impl<'k, V> Separate<'k, V> {
    /// From whatever begins like this.
    pub fn new(apart: &'k Prefix) -> Self {
        Self { apart, ticket: None, rows: None }
    }
}

impl<V> Answers for Separate<'_, V> {
    fn rows(&mut self, rows: Rows) {
        self.rows = Some(rows);
    }
}

impl<'k, V: Clone + PartialEq> Separate<'k, V> {
    pub(super) fn attempt<R: Reader<Payload: Payload<Value = V>>>(
        &mut self,
        core: &mut Core<R::Payload>,
        reader: &R,
    ) -> Attempt<'k, ()> {
        let Some(ticket) = self.ticket.take().or_else(|| core.query_prefix(self.apart)) else {
            return Ok(Some(Step::Done(())));
        };
        let Some(rows) = self.rows.take() else {
            let listed = reader.listed(ticket.fingerprint());
            self.ticket = Some(ticket);
            return Ok(Some(Step::Rows(Wanted::all(listed))));
        };
        core.separate(&ticket, self.apart, reader.neighbours(ticket.fingerprint(), &rows))?;
        Ok(Some(Step::Done(())))
    }
}
