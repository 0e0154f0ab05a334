//! Growth that is spread over the operations that follow: no insert has to wait for a whole table to move.
//!
//! The larger table is allocated empty and takes all new entries; the old one stays beside it. Every operation
//! that changes the filter then moves a few runs. Which of the two tables has the entries of a hash follows
//! from its quotient: runs below a border have moved, runs from it on are looked up in both.
//!
//! # Cost
//!
//! An operation moves some slots or passes some quotients, as [`USUAL_PACE`] says, and stops at the end of the
//! run. So the move is over long before the new table is full. A query for a run that has
//! not moved looks into both tables, and both take memory until the move is over.
//!
//! A run moves as a whole or not at all. If it cannot (the memory for a table of the chain is missing, hashes
//! are bad, or the basic mode has no place for a void entry), both tables stay in use and the next operation
//! tries again; if the larger table gets full before that, it is replaced at once, or that is an error.
//!
//! Entries that come in the order of their hashes lie in a crowd, and whatever moves shifts what came since. When that has
//! cost more than moving all at once, the rest moves at once.

use super::ExpandableFilter;
use super::fingerprint::Entry;
use super::level::{Which, read_run};
use crate::codec::counted::Change;
use crate::table::Limits;

/// How far an operation goes: it stops after so many slots, or so many quotients, most of which have no run then.
#[derive(Debug, Clone, Copy)]
pub(super) struct Pace {
    pub(super) slots: u64,
    pub(super) quotients: u64,
}

/// The pace of one operation.
pub(super) const USUAL_PACE: Pace = Pace { slots: 16, quotients: 64 };

impl Pace {
    pub(super) fn of(operations: u64) -> Self {
        #[cfg(not(test))]
        let pace = USUAL_PACE;
        #[cfg(test)]
        let pace = slow::pace();
        Self {
            slots: pace.slots.saturating_mul(operations),
            quotients: pace.quotients.saturating_mul(operations),
        }
    }

    pub(super) fn is_over(self, slots: u64, quotients: u64) -> bool {
        slots >= self.slots || quotients >= self.quotients
    }
}

/// A slower pace, for tests: even a tiny table then takes many operations.
#[cfg(test)]
pub(super) mod slow {
    use std::cell::Cell;

    use super::{Pace, USUAL_PACE};

    thread_local! {
        static PACE: Cell<Pace> = const { Cell::new(USUAL_PACE) };
    }

    pub(super) fn pace() -> Pace {
        PACE.get()
    }

    /// Does something at another pace.
    pub(crate) fn at<T>(pace: Pace, work: impl FnOnce() -> T) -> T {
        let before = PACE.replace(pace);
        let result = work();
        PACE.set(before);
        result
    }
}

/// How many slots operations moved.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Moves {
    /// Of the present operation.
    now: u64,
    /// The most of one operation.
    pub(super) most: u64,
}

impl Moves {
    pub(super) fn add(&mut self, slots: u64) {
        self.now += slots;
    }

    /// The operation is over.
    pub(super) fn end(&mut self) {
        self.most = self.most.max(self.now);
        self.now = 0;
    }

    /// The operation is over and was taken back.
    pub(super) fn forget(&mut self) {
        self.now = 0;
    }
}

impl ExpandableFilter {
    /// Moves a few runs of every level that is on its way to a larger table, for `operations` operations.
    pub(super) fn step(&mut self, operations: u64) {
        for number in 0..self.levels.len() {
            if self.levels[number].old.is_some() {
                self.step_level(number, operations);
            }
        }
    }

    fn step_level(&mut self, number: usize, operations: u64) {
        let (mut slots, pace) = (0, Pace::of(operations));
        let start = self.levels[number].old.as_ref().map_or(0, |old| old.moved);
        while let Some(old) = &self.levels[number].old {
            if pace.is_over(slots, old.moved - start) {
                break;
            }
            match old.table.next_quotient(old.moved) {
                None => {
                    self.levels[number].old = None;
                    self.sum_up_levels();
                }
                Some(quotient) => match self.move_run(number, quotient) {
                    Some(moved) => slots += moved,
                    None => break,
                },
            }
        }
        self.moves.add(slots);
        if self.levels[number].old.is_some() && self.levels[number].is_crowded() {
            self.finish_level(number);
        }
    }

    /// Moves all runs of a level that have not moved yet. If there is no memory for that, they move little by little.
    #[cold]
    fn finish_level(&mut self, number: usize) {
        let mut undo = Vec::new();
        let quotient_bits = self.levels[number].table.shape().quotient_bits();
        if self.replace_level(number, quotient_bits, &mut undo).is_err() {
            self.take_back(undo);
            self.levels[number].table.forget_work();
        }
    }

    /// Moves a run to the larger table, and its void entry to the next level. Tells how many slots it had;
    /// `None` if it could not be moved.
    fn move_run(&mut self, number: usize, quotient: u64) -> Option<u64> {
        let level = &mut self.levels[number];
        let old = &mut level.old.as_mut()?.table;
        let (entries, run) = read_run(old, quotient);
        old.remember_run(quotient, run);
        let position_bits = level.table.shape().position_bits();
        let (long, void): (Vec<Entry>, Vec<Entry>) =
            entries.into_iter().partition(|entry| entry.fingerprint.len() >= position_bits);
        for (done, entry) in long.iter().enumerate() {
            if level.change_at_any_cost(entry.fingerprint, Change::Add(entry.count)).is_err() {
                self.unmove(number, &long[..done]);
                return None;
            }
        }
        let mut undo = Vec::new();
        let basic = self.settings.lengths.mode == super::Mode::Basic;
        for entry in void {
            // There is at most one.
            if basic || self.add(entry.fingerprint, entry.count, &mut undo).is_err() {
                self.take_back(undo);
                self.unmove(number, &long);
                return None;
            }
        }
        self.levels[number].old.as_mut()?.moved = quotient + 1;
        Some(run.end - run.start)
    }

    fn unmove(&mut self, number: usize, entries: &[Entry]) {
        for Entry { fingerprint, count } in entries {
            let removed =
                self.levels[number].change(Which::Table, *fingerprint, Change::Remove(*count), Limits::NONE);
            debug_assert!(removed.is_ok());
        }
    }
}
