//! Getting smaller little by little, for filters that are not to pause: half as many slots, without a removal
//! that has to wait for a whole table.
//!
//! The smaller tables are filled beside the present ones, a few runs with every operation that changes the
//! filter. Until they are complete they are a mere copy: queries, files and views know the present tables only.
//! What was copied is what lies before a border in the order of the fingerprints, and whatever is added or
//! removed before the border is added to or removed from the copy as well. In the end the copy takes the place
//! of the tables.
//!
//! # Why a copy, and not a move as in `spread.rs`
//!
//! A smaller active table also gets the longest entries of the next table of the chain, so two tables change
//! at once, and a table whose entries are on their way has no room for that. A copy can be dropped at any
//! moment: if there is no memory, if the smaller tables get full, or if the filter grows or is rebuilt in
//! between. Nothing is lost then, and a file looks as if shrinking had never begun.
//!
//! # Cost
//!
//! As much work for each operation as with growth, for about one operation per 32 slots; the present size and
//! half of it in memory; no more time for queries than before.

use super::ExpandableFilter;
use super::fingerprint::{Entry, Fingerprint};
use super::level::{Level, Which, read_run};
use super::spread::Pace;
use crate::codec::counted::Change;
use crate::filter::room::Effort;
use crate::mem::OutOfMemory;
use crate::table::{Full, Table};

/// Tables half as large, and how much is in them.
pub(super) struct Smaller {
    pub(super) levels: Vec<Level>,
    /// All entries whose first bits are a smaller quotient of the active table were copied.
    pub(super) copied: u64,
    /// Quotient bits of the active table.
    pub(super) quotient_bits: u32,
}

impl Smaller {
    /// Empty tables for all entries of a filter.
    fn new(filter: &ExpandableFilter) -> Result<Self, OutOfMemory> {
        let settings = &filter.settings;
        let level = |above, bits| Table::new(settings.shape(above, bits)).map(|table| settings.level(table));
        let quotient_bits = filter.quotient_bits();
        let mut bits = quotient_bits - 1;
        let mut levels = vec![level(None, bits)?];
        let mut used: u64 = filter.levels.iter().skip(1).map(Level::used).sum();
        for present in filter.levels.iter().skip(1) {
            // Not larger than the present one, so that there is a table for every entry. They come in order, so a
            // table that had to grow would be one long cluster before: it gets its size now.
            let (above, most) = (bits, present.table.shape().quotient_bits().min(bits - 1));
            if most == 0 {
                break;
            }
            let has_room = |&bits: &u32| used <= settings.slot_limit(&settings.shape(Some(above), bits)) / 2;
            bits = (1..most).find(has_room).unwrap_or(most);
            levels.push(level(Some(above), bits)?);
            used -= present.used();
        }
        Ok(Self { levels, copied: 0, quotient_bits })
    }

    /// Copies what lies at the next quotient of the active table. Tells how much it was, in slots.
    fn copy_next(&mut self, from: &[Level]) -> Result<u64, Full> {
        let mut slots = 0;
        for Level { table, .. } in from {
            let quotient = self.copied >> (self.quotient_bits - table.shape().quotient_bits());
            // In the chain a run may reach over many quotients of the active table.
            let (mut entries, _) = read_run(table, quotient);
            entries.retain(|entry| self.position(entry.fingerprint) == self.copied);
            for Entry { fingerprint, count } in entries {
                self.change(fingerprint, Change::Add(count))?;
                slots += 1;
            }
        }
        self.copied += 1;
        Ok(slots)
    }

    /// At which quotient of the active table a fingerprint is copied.
    fn position(&self, fingerprint: Fingerprint) -> u64 {
        fingerprint.first_bits(self.quotient_bits)
    }

    /// Changes the number of copies of a fingerprint, cut to what fits. Tells how many there were before.
    fn change(&mut self, fingerprint: Fingerprint, change: Change) -> Result<u64, Full> {
        let fits = |level: &&mut Level| level.table.shape().position_bits() <= fingerprint.len();
        let level = self.levels.iter_mut().find(fits).ok_or(Full::Slots)?;
        level.change(Which::Table, fingerprint, change, level.limits(Effort::Usual))
    }
}

impl ExpandableFilter {
    /// Begins to halve the active table little by little, while no table is on the move. If there is no memory
    /// for that, nothing happens.
    pub(super) fn begin_to_halve(&mut self) {
        if self.has_no_entries() {
            return self.shrink_to_fit().unwrap_or_else(|_| self.give_up_halving());
        }
        match Smaller::new(self) {
            Ok(smaller) => {
                self.smaller = Some(Box::new(smaller));
                self.shrink_below = 0;
            }
            Err(_) => self.give_up_halving(),
        }
    }

    /// Whether there is nothing to copy.
    fn has_no_entries(&self) -> bool {
        self.levels.iter().all(|level| level.used() == 0)
    }

    /// The tables stay as they are until there is much less in them.
    pub(super) fn give_up_halving(&mut self) {
        self.smaller = None;
        self.shrink_below = self.levels[0].table.used().div_ceil(2);
    }

    /// Does what was done to the filter to its copy, too.
    pub(super) fn copy_change(&mut self, fingerprint: Fingerprint, change: Change) {
        let Some(smaller) = &mut self.smaller else { return };
        if smaller.position(fingerprint) >= smaller.copied {
            return;
        }
        match (change, smaller.change(fingerprint, change)) {
            (Change::Add(_), Ok(_)) | (Change::Remove(_), Ok(1..)) => {}
            (_, before) => {
                debug_assert!(before.is_err(), "the copy has what the filter has");
                self.give_up_halving();
            }
        }
    }

    /// Copies a few runs for `operations` operations, and takes the copy over when it is complete.
    pub(super) fn step_to_smaller(&mut self, operations: u64) {
        let (pace, quotients) = (Pace::of(operations), self.slots());
        if self.smaller.is_some() && self.has_no_entries() {
            return self.shrink_to_fit().unwrap_or_else(|_| self.give_up_halving());
        }
        let Some(smaller) = &mut self.smaller else { return };
        let (mut slots, start) = (0, smaller.copied);
        while smaller.copied < quotients && !pace.is_over(slots, smaller.copied - start) {
            match smaller.copy_next(&self.levels) {
                Ok(more) => slots += more,
                Err(_) => return self.give_up_halving(),
            }
        }
        self.moves.add(slots);
        // Whoever removes keys in the order of their hashes leaves the last of them crowded together: see `halve`.
        if smaller.levels.iter().any(|level| level.table.crowd_work() > 0) {
            return self.give_up_halving();
        }
        if smaller.copied == quotients {
            self.levels = std::mem::take(&mut smaller.levels);
            self.drop_empty_levels();
            self.sum_up_levels();
        }
    }
}
