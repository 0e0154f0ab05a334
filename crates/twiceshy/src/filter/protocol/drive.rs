//! The driver of a set: it has filter and map for itself, and everything happens at once, the map first.

use std::ops::RangeInclusive;

use super::whole::{grown, set_error};
use super::{Machine, MoreRoom, OperationError, Reader, Step};
use crate::codec::string::Payload;
use crate::error::{RebuildError, SetError};
use crate::filter::core::{Core, Room};
use crate::reverse_map::{Lookup, ReverseMap, Visit};

/// Carries out an operation, on a larger core if there is no room. The larger core is taken over only if the operation works
/// there, so that an error leaves everything as it was.
pub(crate) fn drive<'k, P, R, M, O>(
    core: &mut Core<P>,
    reader: &R,
    map: &mut M,
    mut operation: O,
) -> Result<O::Output, SetError<M::Error>>
where
    P: Payload,
    R: Reader<P>,
    M: ReverseMap,
    O: Machine<'k, P, R>,
{
    let mut larger: Option<Core<P>> = None;
    loop {
        let now = larger.as_mut().unwrap_or(core);
        match operation.next(now, reader)? {
            Step::Get(row) => operation.answer(map.contains(row.hash, row.key).map_err(SetError::Map)?),
            Step::Rows(wanted) => operation.rows(wanted.read(map).map_err(SetError::Map)?),
            Step::Put(row) => {
                operation.answer(map.insert(row.hash, row.key, row.value).map_err(SetError::Map)?)
            }
            Step::Delete(row) => operation.answer(map.remove(row.hash, row.key).map_err(SetError::Map)?),
            Step::Room(more) => {
                larger = Some(with_room(now, reader, &more, map).map_err(set_error(now))?);
            }
            Step::Done(done) => {
                if let Some(larger) = larger {
                    *core = larger;
                }
                return Ok(done);
            }
        }
    }
}

/// A core with the room that an operation lacks.
pub(crate) fn with_room<P: Payload, R: Reader<P>, L: Lookup + ?Sized>(
    core: &Core<P>,
    reader: &R,
    more: &MoreRoom,
    lookup: &L,
) -> Result<Core<P>, RebuildError<L::Error>> {
    match more.0 {
        Room::NeedsExtension(why) => Ok(core.extended(why)?),
        Room::Enough | Room::AtGlance | Room::Covered(_) | Room::NeedsGrow => grown(core, reader, 0, lookup),
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
