//! The driver of a set: it has filter and map for itself, and everything happens at once, the map first.

use std::ops::RangeInclusive;

use super::whole::set_error;
use super::{Keys, MoreRoom, Operation, OperationError, Room, Step};
use crate::error::SetError;
use crate::filter::adaptive::Filter;
use crate::reverse_map::{Lookup, ReverseMap, Visit};

/// Carries out an operation, on a larger filter if there is no room. The larger one is taken over only if the operation works
/// there, so that an error leaves everything as it was.
pub(crate) fn drive<'k, R, M, O>(
    filter: &mut Filter<R>,
    map: &mut M,
    mut operation: O,
) -> Result<O::Output, SetError<M::Error>>
where
    R: Keys,
    M: ReverseMap,
    O: Operation<'k, Filter<R>>,
{
    let mut larger: Option<Filter<R>> = None;
    loop {
        let now = larger.as_mut().unwrap_or(filter);
        match operation.step(now)? {
            Step::Get(row) => operation.answer(map.contains(row.hash, row.key).map_err(SetError::Map)?),
            Step::Rows(wanted) => operation.rows(wanted.read(map).map_err(SetError::Map)?),
            Step::Put(row) => {
                operation.answer(map.insert(row.hash, row.key, row.value).map_err(SetError::Map)?)
            }
            Step::Delete(row) => operation.answer(map.remove(row.hash, row.key).map_err(SetError::Map)?),
            // In place, since that takes a few keys' time, and is right whether or not the operation works.
            Step::Room(MoreRoom(Room::NeedsGrow)) if now.must_forget() => {
                if let Err(error) = now.grow(map) {
                    return Err(set_error(now.core())(error));
                }
            }
            Step::Room(more) => {
                larger = Some(now.with_room(&more, map).map_err(set_error(now.core()))?);
            }
            Step::Done(done) => {
                if let Some(larger) = larger {
                    *filter = larger;
                }
                return Ok(done);
            }
        }
    }
}

/// A database that is only looked into: whoever owns it writes the rows.
pub(crate) struct ReadOnly<'a, L: ?Sized>(pub(crate) &'a L);

impl<L: Lookup + ?Sized> Lookup for ReadOnly<'_, L> {
    type Error = L::Error;

    fn visit(&self, hashes: RangeInclusive<u64>, visit: Visit<'_>) -> Result<(), L::Error> {
        self.0.visit(hashes, visit)
    }

    fn contains(&self, hash: u64, key: &[u8]) -> Result<bool, L::Error> {
        self.0.contains(hash, key)
    }
}

impl<L: Lookup + ?Sized> ReverseMap for ReadOnly<'_, L> {
    fn insert(&mut self, _: u64, _: &[u8], _: &[u8]) -> Result<bool, L::Error> {
        unreachable!("an operation that has the filter first does not ask for that")
    }

    fn remove(&mut self, _: u64, _: &[u8]) -> Result<bool, L::Error> {
        unreachable!("the row is gone already")
    }
}

impl<E> From<OperationError> for SetError<E> {
    fn from(error: OperationError) -> Self {
        match error {
            OperationError::Full(error) => error.into(),
            OperationError::Indistinguishable(error) => error.into(),
            OperationError::Memory(error) => error.into(),
        }
    }
}
