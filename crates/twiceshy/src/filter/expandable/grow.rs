//! Growing: a table that is full gets twice as many slots, without a key being read.
//!
//! Every fingerprint gives the first of its stored bits to the quotient. One that has none left is *void*: it
//! moves to the next, smaller table of the chain, where the same bits are quotient and slot. A table of the
//! chain grows when it is full itself, and hands its own void entries on.
//!
//! Nothing is changed before all new tables are complete, and what they replace is kept until the operation
//! that needed room has succeeded: an error leaves no trace.
//!
//! # Source
//!
//! Sections 4.1 and 4.2 of *InfiniFilter*. There, the second table doubles together with the first and is
//! sealed when its first entry is void. Here each table doubles when it has to; with steady growth that is
//! the same moment, and after removals, merges and with repeated keys there is no table that is too small.

use std::mem;

use super::ExpandableFilter;
use super::fingerprint::{Entry, Fingerprint};
use super::level::{Level, Old, Strings, Which};
use super::place::NoPlace;
use crate::codec::counted::Change;
use crate::error::ExpandError;
use crate::filter::room::{Crowded, Effort, Remedy};
use crate::table::{Full, Shape, Table};

/// What was done to make room, to be taken back if that did not help.
pub(super) enum Undo {
    /// The level of this number was replaced.
    Replaced(usize, Box<Level>),
    /// A level was appended.
    Appended,
    /// The level of this number began to move to a larger table.
    Began(usize),
    /// The table of the level of this number got a larger spill area.
    Extended(usize, Box<Table>),
}

impl ExpandableFilter {
    /// Adds copies of a fingerprint to the first table for which it is long enough, making room if need be.
    /// Tells how many copies there were before. After an error, what is in `undo` is to be
    /// [taken back](Self::take_back).
    pub(super) fn add(
        &mut self,
        fingerprint: Fingerprint,
        copies: u64,
        undo: &mut Vec<Undo>,
    ) -> Result<u64, ExpandError> {
        let mut effort = Effort::Usual;
        loop {
            let fits = |level: &Level| level.table.shape().position_bits() <= fingerprint.len();
            let Some(number) = self.levels.iter().position(fits) else {
                self.append_level(Entry { fingerprint, count: copies }, undo)?;
                return Ok(0);
            };
            let level = &mut self.levels[number];
            let shape = *level.table.shape();
            if number > 0 && fingerprint.len() >= shape.position_bits() + shape.slot_bits() {
                // Wider slots: nothing is to be cut off.
                self.replace_level(number, shape.quotient_bits(), undo)?;
                continue;
            }
            match level.change(Which::Table, fingerprint, Change::Add(copies), level.limits(effort)) {
                Ok(before) => return Ok(before),
                Err(why) => effort = self.make_room(number, why, effort, undo)?,
            }
        }
    }

    /// Does what helps a level that had no room. Tells how hard to try next.
    pub(super) fn make_room(
        &mut self,
        number: usize,
        why: Full,
        effort: Effort,
        undo: &mut Vec<Undo>,
    ) -> Result<Effort, ExpandError> {
        let level = &mut self.levels[number];
        let may_grow = level.table.shape().quotient_bits() < Shape::MAX_QUOTIENT_BITS;
        let crowded = Crowded { why, effort, used: level.table.used(), limit: level.limit };
        match crowded.remedy(|| true, || may_grow) {
            Remedy::TryHarder => {
                level.table.bear(why);
                return Ok(Effort::Utmost);
            }
            Remedy::Extend => {
                let table = level.table.extended(crowded.slots())?;
                undo.push(Undo::Extended(number, Box::new(mem::replace(&mut level.table, table))));
            }
            Remedy::Grow => {
                if number == 0 {
                    self.crowded_at = (why != Full::Slots).then_some(crowded.used);
                }
                self.grow_level(number, undo)?;
            }
            Remedy::None => return Err(self.no_place(NoPlace::Crowded)),
        }
        Ok(Effort::Usual)
    }

    /// Makes a level larger: at once, or little by little.
    pub(super) fn grow_level(&mut self, number: usize, undo: &mut Vec<Undo>) -> Result<(), ExpandError> {
        let level = &self.levels[number];
        let quotient_bits = level.table.shape().quotient_bits() + 1;
        let above = self.above(number);
        if !self.settings.spread_growth || level.old.is_some() {
            return self.replace_level(number, quotient_bits, undo);
        }
        if above.is_some_and(|above| quotient_bits >= above) {
            return Err(self.no_place(NoPlace::Crowded));
        }
        let shape = self.settings.shape(above, quotient_bits);
        let table = Table::new(shape)?;
        let level = &mut self.levels[number];
        level.old = Some(Old { table: mem::replace(&mut level.table, table), moved: 0 });
        level.limit = self.settings.slot_limit(&shape);
        undo.push(Undo::Began(number));
        self.sum_up_levels();
        Ok(())
    }

    /// Replaces a level by one with `quotient_bits` or more, and those after it that get entries from it.
    pub(super) fn replace_level(
        &mut self,
        number: usize,
        quotient_bits: u32,
        undo: &mut Vec<Undo>,
    ) -> Result<(), ExpandError> {
        let (level, behind) = (&self.levels[number], &self.levels[number + 1..]);
        let above = self.above(number);
        let (settings, used) = (&self.settings, level.used());
        let placed = match level.old {
            // The usual case is worth a loop of its own.
            None => settings.place(above, quotient_bits, used, || Strings::new(&level.table), behind),
            Some(_) => settings.place(above, quotient_bits, used, || level.entries(), behind),
        };
        self.take_over(number, placed.map_err(|error| self.no_place(error))?, undo);
        Ok(())
    }

    /// Appends a level for an entry that is too short for all others.
    fn append_level(&mut self, entry: Entry, undo: &mut Vec<Undo>) -> Result<(), ExpandError> {
        let number = self.levels.len();
        if self.settings.lengths.mode == super::Mode::Basic {
            return Err(self.no_place(NoPlace::Exhausted));
        }
        let placed = self.settings.place(self.above(number), 1, 1, || [entry].into_iter(), &[]);
        self.take_over(number, placed.map_err(|error| self.no_place(error))?, undo);
        Ok(())
    }

    /// Puts new levels in the place of those from `number` on, or after the last.
    fn take_over(&mut self, number: usize, placed: Vec<Level>, undo: &mut Vec<Undo>) {
        for (number, level) in (number..).zip(placed) {
            self.moves.add(level.table.used());
            match self.levels.get_mut(number) {
                Some(old) => undo.push(Undo::Replaced(number, Box::new(mem::replace(old, level)))),
                None => {
                    self.levels.push(level);
                    undo.push(Undo::Appended);
                }
            }
        }
        self.sum_up_levels();
    }

    /// Takes back what was done to make room. What was added since then must have been removed before.
    #[cold]
    pub(super) fn take_back(&mut self, undo: Vec<Undo>) {
        if undo.is_empty() {
            return;
        }
        for step in undo.into_iter().rev() {
            match step {
                Undo::Replaced(number, level) => self.levels[number] = *level,
                Undo::Appended => drop(self.levels.pop()),
                Undo::Extended(number, table) => self.levels[number].table = *table,
                Undo::Began(number) => {
                    let level = &mut self.levels[number];
                    if let Some(old) = level.old.take() {
                        level.limit = self.settings.slot_limit(old.table.shape());
                        level.table = old.table;
                    }
                }
            }
        }
        self.sum_up_levels();
    }

    /// Quotient bits of the level before this one.
    fn above(&self, number: usize) -> Option<u32> {
        let above = self.levels.get(number.checked_sub(1)?)?;
        Some(above.table.shape().quotient_bits())
    }

    pub(super) fn no_place(&self, why: NoPlace) -> ExpandError {
        let (used, slots) = (self.used_slots(), self.slots());
        match why {
            NoPlace::Crowded | NoPlace::Unsorted => ExpandError::Crowded { used, slots },
            NoPlace::Exhausted => ExpandError::Exhausted { slots },
            NoPlace::TooManyCopies => ExpandError::TooManyCopies,
            NoPlace::Memory(error) => ExpandError::Memory(error),
        }
    }
}
