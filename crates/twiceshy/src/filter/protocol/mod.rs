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
mod bar;
mod drive;
mod insert;
mod reader;
mod remove;
mod rotate;
#[cfg(test)]
mod tests;
mod whole;

pub use adapt::{Adapt, Separate};
pub use bar::Bar;
pub use insert::Insert;
pub use remove::{ClearAway, Remove};

pub(crate) use adapt::adapt_by_rows;
pub(crate) use drive::{ReadOnly, drive};
pub(crate) use insert::part_by_rows;
pub(crate) use reader::{Keys, Raw, Reader, ValueOf, row_value, tag_and_value};
pub(crate) use rotate::rotate;
pub(crate) use whole::{Union, check, copy_rows, grown, merge, rebuilt, recount, set_error};

use super::core::{Adapted, Room};
use crate::error::{AdaptError, Full, Indistinguishable, OutOfMemory};
use crate::filter::adaptive::{AdaptiveFilter, Filter};
use crate::prefix::Prefix;
use crate::reverse_map::{Lookup, Row, Rows};
use reader::is_same_key;

/// What an [`Operation`] needs, or what it has done.
#[derive(Debug)]
#[non_exhaustive]
pub enum Step<'k, T> {
    /// Whether the map has a row of this key: [`answer`](Answers::answer).
    Get(Row<'k>),
    /// Rows under a prefix: [`rows`](Answers::rows).
    Rows(Wanted),
    /// A filter with more room: step on what [`with_room`](AdaptiveFilter::with_room) makes of this one.
    Room(MoreRoom),
    /// This row is to be written: do so, and [`answer`](Answers::answer) whether the key is new to the map.
    Put(Row<'k>),
    /// This row is to be removed: do so, and [`answer`](Answers::answer) whether it was there.
    Delete(Row<'k>),
    /// It is done.
    Done(T),
}

/// Which rows an [`Operation`] asks for: all whose hashes begin alike, or some of them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wanted {
    prefix: Prefix,
    enough: usize,
    like: Option<Vec<u8>>,
}

impl Wanted {
    pub(crate) fn all(prefix: Prefix) -> Self {
        Self::some(prefix, usize::MAX)
    }

    pub(crate) fn some(prefix: Prefix, enough: usize) -> Self {
        Self { prefix, enough, like: None }
    }

    /// How their hashes begin.
    pub fn prefix(&self) -> &Prefix {
        &self.prefix
    }

    /// As many are enough. Fewer say that there are no others.
    pub fn enough(&self) -> usize {
        self.enough
    }

    /// The key that they are asked for because of, if only those matter that bring the same along: of keys that have ranges, those
    /// with the same place in their partitions. A map that finds these without reading all others may leave the others out.
    pub fn like(&self) -> Option<&[u8]> {
        self.like.as_deref()
    }

    /// Reads them all, whether or not they are [alike](Self::like).
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

/// Something that is done with a filter and its map: [`Insert`], [`Adapt`], [`Remove`], for lists [`Bar`] and, for recovery,
/// [`Separate`] and [`ClearAway`].
///
/// `'k` is how long the key lives, `F` the filter that it is done with.
pub trait Operation<'k, F = AdaptiveFilter>: Answers {
    /// What it tells in the end.
    type Output;

    /// Does what can be done, and tells what is needed to go on. It may be called again without an answer, which asks again.
    fn step(&mut self, filter: &mut F) -> Result<Step<'k, Self::Output>, OperationError>;
}

/// What an [`Operation`] is told that has asked.
pub trait Answers {
    /// Answers a question that has yes or no as its answer.
    fn answer(&mut self, _yes: bool) {}

    /// The rows that were asked for. Others among them do no harm.
    fn rows(&mut self, rows: Rows);
}

/// What the machines do, for filters of any kind.
macro_rules! operations {
    ($($machine:ident<$($lifetime:lifetime)?>: $output:ty),+ $(,)?) => {$(
        impl<'k, R: Keys> Operation<'k, Filter<R>> for $machine<$($lifetime,)? ValueOf<R>> {
            type Output = $output;

            #[inline]
            fn step(&mut self, filter: &mut Filter<R>) -> Result<Step<'k, $output>, OperationError> {
                let (core, reader) = filter.parts();
                step(|| self.attempt(core, reader))
            }
        }
    )+};
}

operations! {
    Insert<'k>: bool,
    Adapt<'k>: Adapted,
    Remove<'k>: bool,
    Separate<'k>: (),
    ClearAway<>: (),
    Bar<'k>: bool,
}

/// What comes of an attempt to go on: what can be done next is done, and what is needed to go on is told, if anything is.
/// [`Stale`](AdaptError::Stale) if what was known is out of date; then it was forgotten.
type Attempt<'k, T> = Result<Option<Step<'k, T>>, AdaptError>;

/// Does what can be done, attempt by attempt, and tells what is needed to go on.
#[inline(always)]
fn step<'k, T>(mut attempt: impl FnMut() -> Attempt<'k, T>) -> Result<Step<'k, T>, OperationError> {
    loop {
        match attempt() {
            Ok(Some(step)) => return Ok(step),
            Ok(None) | Err(AdaptError::Stale(_)) => {}
            Err(AdaptError::NeedsGrow(_)) => return Ok(Step::Room(MoreRoom(Room::NeedsGrow))),
            Err(AdaptError::Full(error)) => return Err(error.into()),
            Err(AdaptError::Indistinguishable(error)) => return Err(error.into()),
            Err(AdaptError::Memory(error)) => return Err(error.into()),
        }
    }
}
