//! What is done with all keys at once: growing, rebuilding, merging, counting.
//!
//! Everything is a pass over rows in the order of their hashes. Nothing is changed before all of it has worked, but for the
//! rows of a merge, which are removed again if it fails.

use std::collections::HashSet;
use std::ops::{ControlFlow, RangeInclusive};

use super::Reader;
use crate::codec::string::{Entry, Payload};
use crate::error::{RebuildError, SetError};
use crate::filter::core::{Core, Filling, Neighbour};
use crate::prefix::Prefix;
use crate::reverse_map::{Lookup, ReverseMap, Row, Rows};

/// What a set with this filter makes of errors.
pub(crate) fn set_error<P: Payload, B: AsRef<[u8]>, E>(
    core: &Core<P, B>,
) -> impl FnOnce(RebuildError<E>) -> SetError<E> {
    |error| match error {
        RebuildError::Lookup(error) => SetError::Map(error),
        RebuildError::DifferentHash => SetError::DifferentHash,
        RebuildError::Unsorted { index } => SetError::Unsorted { index },
        RebuildError::Indistinguishable(error) => error.into(),
        RebuildError::Memory(error) => error.into(),
        RebuildError::Full { .. } | RebuildError::Capacity { .. } | RebuildError::Build(_) => {
            core.full().into()
        }
    }
}

/// Keys under a prefix, in memory of their own.
type Owned<'a, P, R> = Vec<Neighbour<<R as Reader<P>>::Owned<'a>, <P as Payload>::Value>>;

/// The keys under a prefix.
fn neighbours<'a, P: Payload, R: Reader<P>, L: Lookup + ?Sized>(
    reader: &'a R,
    prefix: &Prefix,
    lookup: &L,
) -> Result<Owned<'a, P, R>, L::Error> {
    let mut under = Vec::new();
    lookup.visit(reader.listed(prefix).first_words(), &mut |row| {
        if reader.is_key(row) && prefix.is_prefix_of(&reader.words(row)) {
            under.push(Neighbour { words: reader.owned(row), value: reader.value_under(row) });
        }
        ControlFlow::Continue(())
    })?;
    Ok(under)
}

/// The core in the next larger size.
pub(crate) fn grown<P: Payload, R: Reader<P>, L: Lookup + ?Sized>(
    core: &Core<P>,
    reader: &R,
    lookup: &L,
) -> Result<Core<P>, RebuildError<L::Error>> {
    core.grown(|prefix| neighbours(reader, prefix, lookup))
}

/// Adds the fingerprints of another core whose keys are in another map.
pub(crate) fn merge<P, B, R, L, M>(
    core: &mut Core<P>,
    other: &Core<P, B>,
    reader: &R,
    mine: &L,
    theirs: &M,
) -> Result<(), RebuildError<L::Error>>
where
    P: Payload,
    B: AsRef<[u8]>,
    R: Reader<P>,
    L: Lookup + ?Sized,
    M: Lookup<Error = L::Error> + ?Sized,
{
    let mine = |prefix: &Prefix| neighbours(reader, prefix, mine);
    core.merge_from(other, mine, |prefix| neighbours(reader, prefix, theirs))
}

/// A core with fresh fingerprints for all rows, which are at least as long as those that the keys had, and apart from the
/// queries that begin with prefixes, which are in order.
pub(crate) fn rebuilt<P: Payload, B: AsRef<[u8]>, R: Reader<P>, L: Lookup + ?Sized>(
    old: &Core<P, B>,
    reader: &R,
    apart: &[Prefix],
    rows: &L,
) -> Result<Core<P>, RebuildError<L::Error>> {
    // How many keys it counts may be wrong after a crash; keys that share a fingerprint are few.
    let (mut keys, mut quotient_bits) = (old.entries(), 1);
    loop {
        let empty = old.empty_for(keys, quotient_bits)?;
        quotient_bits = empty.quotient_bits() + 1;
        match filled(empty, old, reader, apart, rows) {
            // There is far more to store than the core knew, and what was written first has run out of bits.
            Err(RebuildError::Capacity { .. }) => {
                keys = 0;
                let count = &mut |_: Row<'_>| {
                    keys += 1;
                    ControlFlow::Continue(())
                };
                rows.visit(0..=u64::MAX, count).map_err(RebuildError::Lookup)?;
            }
            done => return done,
        }
    }
}

/// An empty core, filled with all rows.
fn filled<P: Payload, B: AsRef<[u8]>, R: Reader<P>, L: Lookup + ?Sized>(
    empty: Core<P>,
    old: &Core<P, B>,
    reader: &R,
    apart: &[Prefix],
    rows: &L,
) -> Result<Core<P>, RebuildError<L::Error>> {
    let mut filling = Filling::new(empty, Some(old), apart)?;
    let mut failed = None;
    let add = &mut |row: Row<'_>| {
        if !reader.is_key(row) {
            return ControlFlow::Continue(());
        }
        match filling.add(reader.owned(row), reader.value(row)) {
            Ok(()) => ControlFlow::Continue(()),
            Err(error) => {
                failed = Some(error);
                ControlFlow::Break(())
            }
        }
    };
    rows.visit(0..=u64::MAX, add).map_err(RebuildError::Lookup)?;
    match failed {
        Some(error) => Err(error),
        None => filling.finish(),
    }
}

/// Calls `visit` with every row and the entry that covers its key.
pub(crate) fn for_each_entry<P: Payload, R: Reader<P>, L: Lookup + ?Sized>(
    core: &Core<P>,
    reader: &R,
    rows: &L,
    mut visit: impl FnMut(Row<'_>, Option<Entry>) -> ControlFlow<()>,
) -> Result<(), L::Error> {
    rows.visit(0..=u64::MAX, &mut |row| {
        if !reader.is_key(row) {
            return ControlFlow::Continue(());
        }
        let entry = core.cover(&reader.words(row)).map(|place| place.entry);
        visit(row, entry)
    })
}

/// Counts the rows, and removes fingerprints without a key.
pub(crate) fn recount<P: Payload, R: Reader<P>, L: Lookup + ?Sized>(
    core: &mut Core<P>,
    reader: &R,
    rows: &L,
) -> Result<u64, L::Error> {
    let (mut len, mut met) = (0, HashSet::new());
    for_each_entry(core, reader, rows, |_, entry| {
        len += 1;
        met.extend(entry.map(|entry| entry.start));
        ControlFlow::Continue(())
    })?;
    for prefix in core.fingerprints_without(|entry| met.contains(&entry.start)) {
        core.remove_leftover(&prefix);
    }
    core.set_len(len);
    Ok(len)
}

/// Checks that every row has a fingerprint that carries what it brings along, that every fingerprint has a row, and that
/// there are as many rows as keys. `Ok(Err(what))` says what is wrong.
pub(crate) fn check<P: Payload, R: Reader<P>, L: Lookup + ?Sized>(
    core: &Core<P>,
    reader: &R,
    rows: &L,
) -> Result<Result<(), String>, L::Error> {
    let (mut wrong, mut len, mut met) = (None, 0, HashSet::new());
    for_each_entry(core, reader, rows, |row, entry| {
        len += 1;
        match entry {
            Some(entry) => {
                met.insert(entry.start);
                let (own, carried) = (reader.value(row), core.value(&entry));
                if !core.strings().payload().covers(&carried, &own) {
                    wrong = Some(format!("key {:?} has {own:?}, its fingerprint {carried:?}", row.key));
                }
            }
            None => wrong = Some(format!("key {:?} has no fingerprint", row.key)),
        }
        if wrong.is_some() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    })?;
    let (entries, expected) = (core.entries(), core.len());
    Ok(match wrong {
        Some(wrong) => Err(wrong),
        None if met.len() as u64 != entries => {
            Err(format!("{} of {entries} fingerprints have a key", met.len()))
        }
        None if len != expected => Err(format!("the map has {len} keys, expected {expected}")),
        None => Ok(()),
    })
}

/// Copies the rows of another map that this one does not have, and tells how many. `may_have` says whether it may. If that
/// fails, those that were copied are removed again, as far as the map lets us.
pub(crate) fn copy_rows<M: ReverseMap, N: Lookup<Error = M::Error>>(
    map: &mut M,
    other: &N,
    may_have: impl Fn(Row<'_>) -> bool,
) -> Result<u64, M::Error> {
    let (mut copied, mut error) = (Rows::new(), None);
    let copy = &mut |row: Row<'_>| {
        let known = if may_have(row) { map.contains(row.hash, row.key) } else { Ok(false) };
        let done = known.and_then(|known| match known {
            true => Ok(()),
            false => {
                // Whether or not it works: who fails may have written.
                copied.push(Row { value: &[], ..row });
                map.insert(row.hash, row.key, row.value).map(drop)
            }
        });
        match done {
            Ok(()) => ControlFlow::Continue(()),
            Err(failed) => {
                error = Some(failed);
                ControlFlow::Break(())
            }
        }
    };
    let visited = other.visit(0..=u64::MAX, copy);
    let done = error.map_or(visited, Err);
    if done.is_err() {
        for row in copied.iter() {
            let _ = map.remove(row.hash, row.key);
        }
    }
    done.map(|()| copied.len() as u64)
}

/// About as many rows of two maps are in memory at a time.
const ROWS_AT_ONCE: u64 = 4096;

/// The rows of two maps. Where both have a key, the first counts.
pub(crate) struct Union<'a, M, N> {
    pub(crate) mine: &'a M,
    pub(crate) theirs: &'a N,
    /// About how many rows there are, so that not all of them are in memory at once.
    pub(crate) rows: u64,
}

impl<M: Lookup, N: Lookup<Error = M::Error>> Lookup for Union<'_, M, N> {
    type Error = M::Error;

    fn visit(
        &self,
        hashes: RangeInclusive<u64>,
        visit: &mut dyn FnMut(Row<'_>) -> ControlFlow<()>,
    ) -> Result<(), M::Error> {
        let parts = (self.rows / ROWS_AT_ONCE).max(1);
        let last_of_part = u64::MAX >> (64 - parts.leading_zeros()).min(63);
        let (mut first, end) = hashes.into_inner();
        while first <= end {
            let last = (first | last_of_part).min(end);
            let mut rows: Vec<(u64, Vec<u8>, Vec<u8>)> = Vec::new();
            let collect = &mut |row: Row<'_>| {
                rows.push((row.hash, row.key.to_vec(), row.value.to_vec()));
                ControlFlow::Continue(())
            };
            self.mine.visit(first..=last, collect)?;
            self.theirs.visit(first..=last, collect)?;
            // Equal keys stay in order: mine, then theirs.
            rows.sort_by(|one, other| (one.0, &one.1).cmp(&(other.0, &other.1)));
            rows.dedup_by(|later, earlier| later.1 == earlier.1);
            for (hash, key, value) in &rows {
                if visit(Row { hash: *hash, key, value }).is_break() {
                    return Ok(());
                }
            }
            let Some(next) = last.checked_add(1) else { break };
            first = next;
        }
        Ok(())
    }
}
