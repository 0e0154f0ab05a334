//! The protocol of a filter and its map: who is asked what, and in which order, so that no key is ever lost.
//!
//! # The idea
//!
//! A filter knows prefixes of hashes, a map knows the keys. To insert, to remove and to learn takes both. An operation here
//! is a small machine without any input or output of its own: [`step`](Operation::step) looks at the filter, changes it if
//! everything is known, or says what it needs first. The *driver* gets that, from wherever its keys are and under whatever
//! locks it holds, answers, and steps again.
//!
//! - Nothing of the filter or the map is borrowed from one step to the next. Whatever was asked for is checked against the
//!   filter's versions when it comes back, and asked for again if something has changed meanwhile.
//! - An operation that is dropped, at any step, has changed nothing.
//! - Only operations count keys, and only when they are done.
//!
//! # Orders
//!
//! | driver | insert | remove | what a failure leaves |
//! |---|---|---|---|
//! | [`AdaptiveSet`](crate::AdaptiveSet), which has the filter for itself: *map first* | there is room; row; fingerprint, which cannot fail then | row; fingerprint | the map failed: the filter is as it was, a filter that had to grow for it too |
//! | a store with readers beside it: *filter first* | fingerprint; row, in a batch with others | row; fingerprint | the map failed: a fingerprint whose key may not be there; at worst it is a mistake, once |
//! | learning, both | – | – | nothing is written to the map |
//!
//! Filter first is for everybody who shares the filter: with the map first, another thread could take the room that the
//! fingerprint of a written row needs. A removal has the row first in any case: a row without a fingerprint is a lost key.
//! Between fingerprint and row, a key is *pending*: rows that are read meanwhile do not have it, so whoever removes, learns
//! or grows then must add it to what it reads, or there is one writer at a time, as in today's store.
//!
//! # Source
//!
//! Sections 4.2 and 6.4 of *Adaptive Quotient Filters* keep filter and map in step under one lock.

mod adapt;
mod drive;
mod insert;
mod remove;
#[cfg(test)]
mod tests;
mod whole;

pub use adapt::{Adapt, Separate};
pub use insert::Insert;
pub use remove::{ClearAway, Remove};

pub(crate) use adapt::adapt_by_rows;
pub(crate) use drive::{ReadOnly, drive, with_room};
pub(crate) use insert::part_by_rows;
pub(crate) use whole::{Union, check, copy_rows, grown, merge, rebuilt, recount, set_error};

use super::core::{Adapted, Core, Neighbour, Room};
use crate::codec::string::{Payload, Tags};
use crate::error::{AdaptError, Full, Indistinguishable, OutOfMemory};
use crate::filter::adaptive::AdaptiveFilter;
use crate::hash::{Hasher, KeyWords, RawWords, Words};
use crate::prefix::Prefix;
use crate::reverse_map::{Lookup, Row, Rows};

/// What an [`Operation`] needs, or what it has done.
#[derive(Debug)]
#[non_exhaustive]
pub enum Step<'k, T> {
    /// Whether the map has a row of this key: [`answer`](Operation::answer).
    Get(Row<'k>),
    /// Rows under a prefix: [`rows`](Operation::rows).
    Rows(Wanted),
    /// A filter with more room: step on what [`with_room`](AdaptiveFilter::with_room) makes of this one.
    Room(MoreRoom),
    /// This row is to be written: do so, and [`answer`](Operation::answer) whether the key is new to the map.
    Put(Row<'k>),
    /// This row is to be removed: do so, and [`answer`](Operation::answer) whether it was there.
    Delete(Row<'k>),
    /// It is done.
    Done(T),
}

/// Which rows an [`Operation`] asks for: all whose hashes begin alike, or some of them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wanted {
    prefix: Prefix,
    enough: usize,
}

impl Wanted {
    pub(crate) fn all(prefix: Prefix) -> Self {
        Self { prefix, enough: usize::MAX }
    }

    /// How their hashes begin.
    pub fn prefix(&self) -> &Prefix {
        &self.prefix
    }

    /// As many are enough. Fewer say that there are no others.
    pub fn enough(&self) -> usize {
        self.enough
    }

    /// Reads them.
    pub fn read<L: Lookup + ?Sized>(&self, lookup: &L) -> Result<Rows, L::Error> {
        Rows::some_under(&self.prefix, self.enough, lookup)
    }
}

/// How much more room an [`Operation`] needs.
#[derive(Debug)]
pub struct MoreRoom(pub(crate) Room);

/// Why an operation cannot be done. The filter is as it was.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OperationError {
    /// There is no slot left, and the filter must not grow.
    #[error(transparent)]
    Full(#[from] Full),
    /// Two keys have the same hash.
    #[error(transparent)]
    Indistinguishable(#[from] Indistinguishable),
    /// There is no memory for a larger table.
    #[error(transparent)]
    Memory(#[from] OutOfMemory),
}

/// Something that is done with a filter and its map: [`Insert`], [`Adapt`], [`Remove`] and, for recovery, [`Separate`] and
/// [`ClearAway`].
///
/// `'k` is how long the key lives, `F` the filter that it is done with.
pub trait Operation<'k, F = AdaptiveFilter> {
    /// What it tells in the end.
    type Output;

    /// Does what can be done, and tells what is needed to go on. It may be called again without an answer, which asks again.
    fn step(&mut self, filter: &mut F) -> Result<Step<'k, Self::Output>, OperationError>;

    /// Answers a question that has yes or no as its answer.
    fn answer(&mut self, yes: bool);

    /// The rows that were asked for. Others among them do no harm.
    fn rows(&mut self, rows: Rows);
}

/// What a [`Machine`] does, for others to see.
macro_rules! operations {
    ($($machine:ty: $output:ty),+ $(,)?) => {$(
        impl<'k> Operation<'k> for $machine {
            type Output = $output;

            #[inline]
            fn step(&mut self, filter: &mut AdaptiveFilter) -> Result<Step<'k, $output>, OperationError> {
                let (core, hasher) = filter.parts();
                self.next(core, hasher)
            }

            fn answer(&mut self, yes: bool) {
                Machine::<Tags, Hasher>::answer(self, yes);
            }

            fn rows(&mut self, rows: Rows) {
                Machine::<Tags, Hasher>::rows(self, rows);
            }
        }
    )+};
}

operations! {
    Insert<'k>: bool,
    Adapt<'k>: Adapted,
    Remove<'k>: bool,
    Separate<'k>: (),
    ClearAway: (),
}

/// What comes of an attempt to go on.
type Attempt<'k, T> = Result<Option<Step<'k, T>>, AdaptError>;

/// An operation on a core with any payload.
pub(crate) trait Machine<'k, P: Payload, R: Reader<P>> {
    /// What it tells in the end.
    type Output;

    /// Does what can be done next, and tells what is needed to go on: `None` if nothing is. [`Stale`](AdaptError::Stale) if
    /// what was known is out of date; then it is forgotten.
    fn attempt(&mut self, core: &mut Core<P>, reader: &R) -> Attempt<'k, Self::Output>;

    /// Does what can be done, and tells what is needed to go on.
    fn next(&mut self, core: &mut Core<P>, reader: &R) -> Result<Step<'k, Self::Output>, OperationError> {
        loop {
            match self.attempt(core, reader) {
                Ok(Some(step)) => return Ok(step),
                Ok(None) | Err(AdaptError::Stale(_)) => {}
                Err(AdaptError::NeedsGrow(_)) => return Ok(Step::Room(MoreRoom(Room::NeedsGrow))),
                Err(AdaptError::Full(error)) => return Err(error.into()),
                Err(AdaptError::Indistinguishable(error)) => return Err(error.into()),
                Err(AdaptError::Memory(error)) => return Err(error.into()),
            }
        }
    }

    fn answer(&mut self, _yes: bool) {}

    fn rows(&mut self, rows: Rows);
}

/// How rows are read: the hash of a key, and what it brings along.
pub(crate) trait Reader<P: Payload> {
    /// A hash.
    type Words<'a>: Words + PartialEq
    where
        Self: 'a;

    /// One that does not need the row any more.
    type Owned<'a>: Words + PartialEq
    where
        Self: 'a;

    /// The hash of a row's key.
    fn words<'a>(&'a self, row: Row<'a>) -> Self::Words<'a>;

    /// The hash of a row's key, for longer than the row lives.
    fn owned<'a>(&'a self, row: Row<'_>) -> Self::Owned<'a>;

    /// What a row brings along.
    fn value(&self, row: Row<'_>) -> P::Value;

    /// What a query asks for that is written as a row.
    fn query(&self, row: Row<'_>) -> P::Query;

    /// What a row under a fingerprint brings along; `None` if it is what the fingerprint carries.
    fn value_under(&self, _row: Row<'_>) -> Option<P::Value> {
        None
    }

    /// Whether a row is of a key that the filter covers. A map may have other rows, too.
    #[inline(always)]
    fn is_key(&self, _row: Row<'_>) -> bool {
        true
    }

    /// Whether a row is what a query asked for: then the query was no mistake.
    #[inline(always)]
    fn answers(&self, query: Row<'_>, row: Row<'_>) -> bool {
        self.is_key(row) && is_same_key(row, query)
    }

    /// Where in the map the keys under a fingerprint are: they begin like this, and some others may.
    #[inline(always)]
    fn listed(&self, prefix: &Prefix) -> Prefix {
        prefix.clone()
    }

    /// Whether a row under a fingerprint must be told from a query that was mistaken for one of them.
    #[inline(always)]
    fn must_part(&self, _query: Row<'_>, _row: Row<'_>) -> bool {
        true
    }

    /// Those of some rows that are under a prefix.
    #[inline(always)]
    fn rows_under<'a>(
        &'a self,
        prefix: &'a Prefix,
        rows: &'a Rows,
    ) -> impl Iterator<Item = (Row<'a>, Self::Words<'a>)> {
        rows.iter().filter_map(move |row| {
            let words = self.words(row);
            (self.is_key(row) && prefix.is_prefix_of(&words)).then_some((row, words))
        })
    }

    /// Those of some rows that are under a prefix, as neighbours.
    fn neighbours<'a>(
        &'a self,
        prefix: &'a Prefix,
        rows: &'a Rows,
    ) -> impl Iterator<Item = Neighbour<Self::Words<'a>, P::Value>> {
        let value = |row| self.value_under(row);
        self.rows_under(prefix, rows).map(move |(row, words)| Neighbour { words, value: value(row) })
    }
}

/// A filter of keys: a row may have a tag as its value. All rows under a fingerprint have the same, so nobody has to tell.
impl Reader<Tags> for Hasher {
    type Words<'a> = KeyWords<'a, &'a [u8]>;
    type Owned<'a> = KeyWords<'a, Vec<u8>>;

    #[inline(always)]
    fn words<'a>(&'a self, row: Row<'a>) -> Self::Words<'a> {
        KeyWords::with_first(self, row.key, row.hash)
    }

    #[inline(always)]
    fn owned<'a>(&'a self, row: Row<'_>) -> Self::Owned<'a> {
        KeyWords::with_first(self, row.key.to_vec(), row.hash)
    }

    fn value(&self, row: Row<'_>) -> u64 {
        tag_of(row.value)
    }

    fn query(&self, _: Row<'_>) {}
}

/// A filter of hashes that the caller has made.
pub(crate) struct Raw;

impl Reader<Tags> for Raw {
    type Words<'a> = RawWords;
    type Owned<'a> = RawWords;

    #[inline(always)]
    fn words(&self, row: Row<'_>) -> RawWords {
        RawWords(row.hash)
    }

    #[inline(always)]
    fn owned(&self, row: Row<'_>) -> RawWords {
        RawWords(row.hash)
    }

    fn value(&self, row: Row<'_>) -> u64 {
        tag_of(row.value)
    }

    fn query(&self, _: Row<'_>) {}
}

/// A tag as the value of a row: its bytes from the lowest to the highest that is not 0.
pub(crate) fn value_of(tag: &u64) -> ([u8; 8], usize) {
    (tag.to_le_bytes(), 8 - tag.leading_zeros() as usize / 8)
}

/// The tag in the value of a row.
pub(crate) fn tag_of(value: &[u8]) -> u64 {
    value.iter().take(8).rev().fold(0, |tag, &byte| tag << 8 | u64::from(byte))
}

/// Whether two rows are of the same key.
fn is_same_key(one: Row<'_>, other: Row<'_>) -> bool {
    one.hash == other.hash && one.key == other.key
}
