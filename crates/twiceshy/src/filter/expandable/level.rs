//! One table of the chain, and the smaller one that it replaces while growth is spread out.

use super::fingerprint::{Entry, Fingerprint, Hash};
use crate::bits::cpu::dispatch;
use crate::codec::aged::Longest;
use crate::codec::counted::{self, Change, Entries};
use crate::filter::macros::kernel;
use crate::filter::room::Effort;
use crate::filter::union::Union;
use crate::mem::{Memory, OutOfMemory};
use crate::table::{Full, Limits, Run, Table};

/// A table, and what has not moved to it yet.
pub(super) struct Level<B = Memory> {
    /// Where new entries go.
    pub(super) table: Table<B>,
    /// How many of its slots may be in use before it grows.
    pub(super) limit: u64,
    pub(super) old: Option<Old<B>>,
}

/// A table of half the size whose entries are on their way.
pub(super) struct Old<B = Memory> {
    pub(super) table: Table<B>,
    /// The runs of all quotients below this one have moved. They are still in the table, but do not count.
    pub(super) moved: u64,
}

/// Which of the two tables of a level.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Which {
    Table,
    Old,
}

impl Level {
    /// Whether edits in a crowd have cost more than filling the table anew.
    pub(super) fn is_crowded(&self) -> bool {
        self.table.crowd_work() > self.limits(Effort::Usual).work
    }

    fn at(&mut self, place: Which) -> &mut Table {
        match (place, &mut self.old) {
            (Which::Old, Some(old)) => &mut old.table,
            _ => &mut self.table,
        }
    }

    /// Changes the number of copies of a fingerprint, within limits. Tells how many there were before.
    pub(super) fn change(
        &mut self,
        place: Which,
        fingerprint: Fingerprint,
        change: Change,
        limits: Limits,
    ) -> Result<u64, Full> {
        dispatch(ChangeCount { table: self.at(place), fingerprint, change, limits })
    }

    /// [`change`](Self::change) in the new table, which gets a larger spill area if need be.
    pub(super) fn change_at_any_cost(
        &mut self,
        fingerprint: Fingerprint,
        change: Change,
    ) -> Result<(), Full> {
        match self.change(Which::Table, fingerprint, change, Limits::NONE) {
            Err(full @ Full::End { slots }) => {
                self.table = self.table.extended(slots.into()).map_err(|_| full)?;
                self.change(Which::Table, fingerprint, change, Limits::NONE).map(drop)
            }
            changed => changed.map(drop),
        }
    }

    /// Removes a copy of a fingerprint that is there.
    pub(super) fn take(&mut self, place: Which, fingerprint: Fingerprint) {
        let before = self.change(place, fingerprint, Change::Remove(1), Limits::NONE);
        debug_assert!(before.is_ok_and(|before| before > 0), "removed what was there");
    }

    /// Puts a copy of a fingerprint back that was there before.
    pub(super) fn put_back(&mut self, place: Which, fingerprint: Fingerprint) {
        let put = self.change(place, fingerprint, Change::Add(1), Limits::NONE);
        debug_assert!(put.is_ok(), "it fitted before");
    }
}

impl<B: AsRef<[u8]>> Level<B> {
    /// The table that still has the run of this hash, if it has not moved.
    fn old_of(&self, hash: Hash) -> Option<&Table<B>> {
        let old = self.old.as_ref()?;
        let quotient = hash.in_table(old.table.shape())?.quotient;
        (quotient >= old.moved).then_some(&old.table)
    }

    /// The longest fingerprint that is a prefix of `hash`, and where it is.
    pub(super) fn longest(&self, hash: Hash) -> Option<(Fingerprint, Which)> {
        let here = longest(&self.table, hash).map(|found| (found, Which::Table));
        let old = self.old_of(hash).and_then(|table| longest(table, hash));
        // Of two equal ones it does not matter which.
        here.into_iter().chain(old.map(|found| (found, Which::Old))).max_by_key(|(found, _)| found.len())
    }

    /// Whether a fingerprint is a prefix of `hash`.
    pub(super) fn contains(&self, hash: Hash) -> bool {
        longest(&self.table, hash).is_some()
            || self.old_of(hash).is_some_and(|table| longest(table, hash).is_some())
    }

    /// Its tables; for the old one with the border below which its runs have moved.
    pub(super) fn tables(&self) -> impl Iterator<Item = (&Table<B>, Option<u64>)> {
        let old = self.old.as_ref().map(|old| (&old.table, Some(old.moved)));
        [(&self.table, None)].into_iter().chain(old)
    }

    /// What a change may take.
    pub(super) fn limits(&self, effort: Effort) -> Limits {
        effort.limits(self.table.used(), self.limit)
    }

    /// How many slots all entries take at least.
    pub(super) fn used(&self) -> u64 {
        self.table.used()
    }

    /// All entries in ascending order.
    pub(super) fn entries(&self) -> impl Iterator<Item = Entry> {
        let old = self.old.as_ref().map(|old| Strings { from: old.moved, ..Strings::new(&old.table) });
        Union::new(Strings::new(&self.table), old.into_iter().flatten())
    }

    /// This level over borrowed bytes.
    pub(super) fn borrowed(&self) -> Level<&[u8]> {
        let old = self.old.as_ref().map(|old| Old { table: old.table.borrowed(), moved: old.moved });
        Level { table: self.table.borrowed(), limit: self.limit, old }
    }

    /// A copy that can be changed.
    pub(super) fn try_clone(&self) -> Result<Level, OutOfMemory> {
        let old = match &self.old {
            Some(old) => Some(Old { table: old.table.try_clone()?, moved: old.moved }),
            None => None,
        };
        Ok(Level { table: self.table.try_clone()?, limit: self.limit, old })
    }

    pub(super) fn size_in_bytes(&self) -> usize {
        self.table.bytes().len() + self.old.as_ref().map_or(0, |old| old.table.bytes().len())
    }
}

/// The longest fingerprint of a table that is a prefix of `hash`.
fn longest<B: AsRef<[u8]>>(table: &Table<B>, hash: Hash) -> Option<Fingerprint> {
    let window = hash.in_table(table.shape())?;
    let (quotient, known) = (window.quotient, window.known);
    let slot = dispatch(Longest { table, quotient, window: window.bits, known })?;
    Some(Fingerprint::from_table(table.shape(), quotient, slot))
}

/// The entries of a run, and where it is.
pub(super) fn read_run<B: AsRef<[u8]>>(table: &Table<B>, quotient: u64) -> (Vec<Entry>, Run) {
    dispatch(ReadRun { table, quotient })
}

kernel! {
    ReadRun<'a, B: AsRef<[u8]>> { table: &'a Table<B>, quotient: u64 } -> (Vec<Entry>, Run)
    |cpu| {
        let run = table.run(cpu, quotient);
        let (mut entries, mut at) = (Vec::new(), run.start);
        while at < run.end {
            let entry = counted::decode(table, at, run.end);
            let fingerprint = Fingerprint::from_table(table.shape(), quotient, entry.remainder);
            entries.push(Entry { fingerprint, count: entry.count });
            at = entry.end();
        }
        (entries, run)
    }
}

/// The entries of a table in ascending order, from a quotient on.
pub(super) struct Strings<'a, B> {
    entries: Entries<'a, B>,
    /// Entries of smaller quotients are left out.
    from: u64,
}

impl<'a, B: AsRef<[u8]>> Strings<'a, B> {
    pub(super) fn new(table: &'a Table<B>) -> Self {
        Self { entries: Entries::new(table), from: 0 }
    }
}

impl<B: AsRef<[u8]>> Iterator for Strings<'_, B> {
    type Item = Entry;
    #[inline(always)]
    fn next(&mut self) -> Option<Entry> {
        loop {
            let (quotient, slot, count) = self.entries.next()?;
            if quotient >= self.from {
                let fingerprint = Fingerprint::from_table(self.entries.table().shape(), quotient, slot);
                return Some(Entry { fingerprint, count });
            }
        }
    }
}

kernel! {
    ChangeCount<'a> { table: &'a mut Table, fingerprint: Fingerprint, change: Change, limits: Limits } -> Result<u64, Full>
    |cpu| {
        let (quotient, slot) = fingerprint.in_table(table.shape());
        counted::change(cpu, table, quotient, slot, change, limits)
    }
}
