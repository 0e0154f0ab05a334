//! What is done with all keys at once: growing, rebuilding, merging, counting.
//!
//! Everything is a pass over rows in the order of their hashes. Nothing is changed before all of it has worked, but for the
//! rows of a merge, which are removed again if it fails.

use std::cell::Cell;
use std::collections::HashSet;
use std::ops::{ControlFlow, RangeInclusive};

use super::{Reader, ValueOf};
use crate::codec::string::{Entry, Payload};
use crate::error::{OnBothLists, RebuildError, SetError};
use crate::filter::core::{Core, Filling, Neighbour};
use crate::prefix::Prefix;
use crate::reverse_map::{Lookup, ReverseMap, Row, Rows, Visit};

/// What a set with this filter makes of errors.
pub(crate) fn set_error<P: Payload, B: AsRef<[u8]>, E>(
    core: &Core<P, B>,
) -> impl FnOnce(RebuildError<E>) -> SetError<E> {
    |error| match error {
        RebuildError::Lookup(error) => SetError::Map(error),
        RebuildError::DifferentHash => SetError::DifferentHash,
        RebuildError::DifferentPartitions => SetError::DifferentPartitions,
        RebuildError::Invalid(what) => SetError::Inconsistent(what),
        RebuildError::Unsorted { index } => SetError::Unsorted { index },
        RebuildError::OnBothLists(error) => error.into(),
        RebuildError::Indistinguishable(error) => error.into(),
        RebuildError::Memory(error) => error.into(),
        RebuildError::Full { .. } | RebuildError::Capacity { .. } | RebuildError::Build(_) => {
            core.full().into()
        }
    }
}

/// Keys under a prefix, in memory of their own.
pub(super) type Owned<'a, R> = Vec<Neighbour<<R as Reader>::Owned<'a>, ValueOf<R>>>;

/// The keys under a prefix.
pub(super) fn neighbours<'a, R: Reader, L: Lookup + ?Sized>(
    reader: &'a R,
    prefix: &Prefix,
    lookup: &L,
) -> Result<Owned<'a, R>, L::Error> {
    let mut under = Vec::new();
    lookup.visit(reader.listed(prefix).first_words(), &mut |row| {
        if reader.is_key(row) && prefix.is_prefix_of(&reader.words(row)) {
            under.push(Neighbour { words: reader.owned(row), value: reader.value_under(row) });
        }
        ControlFlow::Continue(())
    })?;
    Ok(under)
}

/// The core in a larger size, with room for so many keys more.
pub(crate) fn grown<R: Reader, L: Lookup + ?Sized>(
    core: &Core<R::Payload>,
    reader: &R,
    keys: u64,
    lookup: &L,
) -> Result<Core<R::Payload>, RebuildError<L::Error>> {
    core.grown(keys, |prefix| neighbours(reader, prefix, lookup))
}

/// Adds the fingerprints of another core whose keys are in another map.
///
/// A fingerprint of either may cover rows of the other map that none may cover. So where there may be such rows, all are gone
/// through, and what was the union of two cores says how long fingerprints are at least. So they are if the cores are in different
/// epochs; then only the first one says so.
pub(crate) fn merge<R, B, L, M>(
    core: &mut Core<R::Payload>,
    other: &Core<R::Payload, B>,
    is_same_epoch: bool,
    reader: &R,
    mine: &L,
    theirs: &M,
) -> Result<(), RebuildError<L::Error>>
where
    R: Reader,
    B: AsRef<[u8]>,
    L: Lookup + ?Sized,
    M: Lookup<Error = L::Error> + ?Sized,
{
    let (my_keys, their_keys) = (
        |prefix: &Prefix| neighbours(reader, prefix, mine),
        |prefix: &Prefix| neighbours(reader, prefix, theirs),
    );
    if is_same_epoch && !R::BARS {
        return core.merge_from(other, my_keys, their_keys);
    }
    let on_both = Cell::new(None);
    let union = Union {
        mine,
        theirs,
        rows: core.len() + other.len(),
        met: &|mine, theirs| {
            let is_against = |one, other| reader.is_key(one) && reader.is_barred(other);
            if is_against(mine, theirs) || is_against(theirs, mine) {
                on_both.set(Some(mine.key.to_vec()));
            }
        },
    };
    let mut merged = core.try_clone()?;
    let united = if is_same_epoch { merged.merge_from(other, my_keys, their_keys) } else { Ok(()) };
    let rebuilt = match united {
        Ok(()) => rebuilt(&merged, reader, &[], &union),
        Err(error) => Err(error),
    };
    if matches!(
        rebuilt,
        Err(RebuildError::Full { .. } | RebuildError::Capacity { .. } | RebuildError::Build(_))
    ) {
        // More room would not help if a key is on both lists: not all rows were gone through.
        try_each(&union, core.hashes(), RebuildError::Lookup, |_| Ok(()))?;
    }
    match on_both.take() {
        Some(key) => Err(OnBothLists { key }.into()),
        None => rebuilt.map(|rebuilt| *core = rebuilt),
    }
}

/// A core with fresh fingerprints for all rows, which are at least as long as those that the keys had, and apart from the
/// queries that begin with prefixes, which are in order.
pub(crate) fn rebuilt<R: Reader, B: AsRef<[u8]>, L: Lookup + ?Sized>(
    old: &Core<R::Payload, B>,
    reader: &R,
    apart: &[Prefix],
    rows: &L,
) -> Result<Core<R::Payload>, RebuildError<L::Error>> {
    // How many keys it counts may be wrong after a crash; keys that share a fingerprint are few.
    let (mut keys, mut least) = (old.entries(), old.least_size(reader.hasher().turn().least_bits()));
    loop {
        let empty = old.empty_for(keys, least)?;
        least = empty.size().next().ok_or(RebuildError::Full { slots: empty.slots() })?;
        match filled(empty, old, reader, apart, rows) {
            // There is far more to store than the core knew, and what was written first has run out of bits.
            Err(RebuildError::Capacity { .. }) => {
                keys = 0;
                try_each(rows, old.hashes(), RebuildError::Lookup, |row| {
                    keys += u64::from(reader.is_key(row));
                    Ok(())
                })?;
            }
            done => return done,
        }
    }
}

/// An empty core, filled with all rows.
fn filled<R: Reader, B: AsRef<[u8]>, L: Lookup + ?Sized>(
    empty: Core<R::Payload>,
    old: &Core<R::Payload, B>,
    reader: &R,
    apart: &[Prefix],
    rows: &L,
) -> Result<Core<R::Payload>, RebuildError<L::Error>> {
    let mut filling = Filling::new(empty, Some(old), apart, reader.ordered_bits())?;
    try_each(rows, old.hashes(), RebuildError::Lookup, |row| match reader.is_key(row) {
        true => filling.add(reader.owned(row), reader.value(row)),
        false if reader.is_barred(row) => filling.bar(reader.owned(row)),
        false => Ok(()),
    })?;
    filling.finish()
}

/// Visits the rows with some hashes, until something fails.
fn try_each<L: Lookup + ?Sized, E>(
    rows: &L,
    hashes: RangeInclusive<u64>,
    lookup_failed: impl FnOnce(L::Error) -> E,
    mut each: impl FnMut(Row<'_>) -> Result<(), E>,
) -> Result<(), E> {
    let mut done = Ok(());
    let visited = rows.visit(hashes, &mut |row| {
        done = each(row);
        if done.is_ok() { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    });
    done.and(visited.map_err(lookup_failed))
}

/// Calls `each` with every row of a key, or of one that is barred, and the entry that covers it, until something fails.
fn try_each_entry<R: Reader, L: Lookup + ?Sized>(
    core: &Core<R::Payload>,
    reader: &R,
    rows: &L,
    mut each: impl FnMut(Row<'_>, Option<Entry>) -> Result<(), SetError<L::Error>>,
) -> Result<(), SetError<L::Error>> {
    try_each(rows, core.hashes(), SetError::Map, |row| match reader.is_key(row) || reader.is_barred(row) {
        true => each(row, core.cover(&reader.words(row)).map(|place| place.entry)),
        false if R::BARS => Err(SetError::Inconsistent(format!("key {:?} is on no list", row.key))),
        false => Ok(()),
    })
}

/// Counts the rows, and removes fingerprints without a key.
pub(crate) fn recount<R: Reader, L: Lookup + ?Sized>(
    core: &mut Core<R::Payload>,
    reader: &R,
    rows: &L,
) -> Result<u64, SetError<L::Error>> {
    let (mut len, mut met) = (0, HashSet::new());
    try_each_entry(core, reader, rows, |row, entry| {
        if reader.is_key(row) {
            len += 1;
            met.extend(entry.map(|entry| entry.start));
        }
        Ok(())
    })?;
    for prefix in core.fingerprints_without(|entry| met.contains(&entry.start)) {
        core.remove_leftover(&prefix);
    }
    core.set_len(len);
    Ok(len)
}

/// Checks table and core, that every row has a fingerprint that carries what it brings along, that every fingerprint has a row, that
/// none covers a row that is barred, and that there are as many rows as keys.
pub(crate) fn check<R: Reader, L: Lookup + ?Sized>(
    core: &Core<R::Payload>,
    reader: &R,
    rows: &L,
) -> Result<(), SetError<L::Error>> {
    core.table().validate().map_err(|invalid| SetError::Inconsistent(invalid.to_string()))?;
    core.check().map_err(SetError::Inconsistent)?;
    let (mut len, mut met) = (0, HashSet::new());
    let wrong = |what: String| Err(SetError::Inconsistent(what));
    try_each_entry(core, reader, rows, |row, entry| {
        if reader.is_barred(row) {
            return match entry {
                Some(_) => wrong(format!("a fingerprint covers key {:?}, which none may cover", row.key)),
                None => Ok(()),
            };
        }
        len += 1;
        let Some(entry) = entry else { return wrong(format!("key {:?} has no fingerprint", row.key)) };
        met.insert(entry.start);
        let (own, carried) = (reader.value(row), core.value(&entry));
        match core.strings().payload().covers(&carried, &own) {
            true => Ok(()),
            false => wrong(format!("key {:?} has {own:?}, its fingerprint {carried:?}", row.key)),
        }
    })?;
    let (met, entries, expected) = (met.len() as u64, core.entries(), core.len());
    if met != entries {
        return wrong(format!("{met} of {entries} fingerprints have a key"));
    }
    if len != expected {
        return wrong(format!("the map has {len} keys, expected {expected}"));
    }
    Ok(())
}

/// Copies the rows of another map that this one does not have, and tells how many keys that are. The core is of this one. If
/// that fails, those that were copied are removed again, as far as the map lets us.
pub(crate) fn copy_rows<R: Reader, M: ReverseMap, N: Lookup<Error = M::Error>>(
    core: &Core<R::Payload>,
    reader: &R,
    map: &mut M,
    other: &N,
) -> Result<u64, M::Error> {
    let (mut copied, mut keys) = (Rows::new(), 0);
    let done = try_each(
        other,
        core.hashes(),
        |error| error,
        |row| {
            let is_key = reader.is_key(row);
            let may_be_there = !is_key || core.contains(reader.words(row));
            if may_be_there && map.contains(row.hash, row.key)? {
                return Ok(());
            }
            keys += u64::from(is_key);
            // Whether or not it works: who fails may have written.
            copied.push(Row { value: &[], ..row });
            map.insert(row.hash, row.key, row.value).map(drop)
        },
    );
    if done.is_err() {
        for row in copied.iter() {
            let _ = map.remove(row.hash, row.key);
        }
    }
    done.map(|()| keys)
}

/// About as many rows of two maps are in memory at a time.
const ROWS_AT_ONCE: u64 = 4096;

/// The rows of two maps. Where both have a key, the first counts.
pub(crate) struct Union<'a, M: ?Sized, N: ?Sized> {
    pub(crate) mine: &'a M,
    pub(crate) theirs: &'a N,
    /// About how many rows there are, so that not all of them are in memory at once.
    pub(crate) rows: u64,
    /// What is called with both rows of a key that both have.
    pub(crate) met: &'a dyn Fn(Row<'_>, Row<'_>),
}

/// Hash, key and value of a row.
type OwnedRow = (u64, Vec<u8>, Vec<u8>);

fn borrowed((hash, key, value): &OwnedRow) -> Row<'_> {
    Row { hash: *hash, key, value }
}

impl<M: Lookup + ?Sized, N: Lookup<Error = M::Error> + ?Sized> Lookup for Union<'_, M, N> {
    type Error = M::Error;

    fn visit(&self, hashes: RangeInclusive<u64>, visit: Visit<'_>) -> Result<(), M::Error> {
        let parts = (self.rows / ROWS_AT_ONCE).max(1);
        let last_of_part = u64::MAX >> (64 - parts.leading_zeros()).min(63);
        let (mut first, end) = hashes.into_inner();
        while first <= end {
            let last = (first | last_of_part).min(end);
            let mut rows: Vec<OwnedRow> = Vec::new();
            let collect = &mut |row: Row<'_>| {
                rows.push((row.hash, row.key.to_vec(), row.value.to_vec()));
                ControlFlow::Continue(())
            };
            self.mine.visit(first..=last, collect)?;
            self.theirs.visit(first..=last, collect)?;
            // Equal keys stay in order: mine, then theirs.
            rows.sort_by(|one, other| (one.0, &one.1).cmp(&(other.0, &other.1)));
            rows.dedup_by(|later, earlier| {
                let is_same = later.1 == earlier.1;
                if is_same {
                    (self.met)(borrowed(earlier), borrowed(later));
                }
                is_same
            });
            let mut all = rows.iter().map(borrowed);
            if all.try_for_each(&mut *visit).is_break() {
                return Ok(());
            }
            let Some(next) = last.checked_add(1) else { break };
            first = next;
        }
        Ok(())
    }
}
