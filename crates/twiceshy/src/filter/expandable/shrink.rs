//! Getting smaller after many removals.
//!
//! Every entry gets the last bit of its quotient back. A fingerprint that is longer than a new one at the
//! smaller size is cut to that length; so there are never more long-lived short fingerprints than if the filter
//! had not grown, and the error rate that was asked for still holds.
//!
//! Source: *Contraction* in section 4.1 of *InfiniFilter*: at a quarter of the load limit, so that growing and
//! shrinking do not alternate. `smaller.rs` does it little by little.

use super::ExpandableFilter;
use super::level::Level;
use super::place::NoPlace;
use crate::filter::room::is_crowded;
use crate::filter::union::union_of;
use crate::mem::OutOfMemory;

impl ExpandableFilter {
    /// Makes the filter as small as its contents allow, but not smaller than at the start. If it was growing or
    /// shrinking little by little, that is over then.
    pub fn shrink_to_fit(&mut self) -> Result<(), OutOfMemory> {
        match self.placed_anew(self.settings.least_quotient_bits) {
            Ok(levels) => {
                self.levels = levels;
                self.sum_up_levels();
                Ok(())
            }
            Err(NoPlace::Memory(error)) => Err(error),
            // There is no better arrangement than the present one.
            Err(_) => Ok(()),
        }
    }

    /// Halves the active table. If that is not possible, it stays as it is until there is much less in it.
    pub(super) fn halve(&mut self) {
        let quotient_bits = self.quotient_bits();
        match self.placed_anew(quotient_bits - 1) {
            // Whoever removes keys in the order of their hashes leaves the last of them crowded together. In a smaller table
            // each removal would have to close a gap over all of them.
            Ok(levels)
                if levels[0].table.shape().quotient_bits() < quotient_bits
                    && levels.iter().all(|level| !is_crowded(level.table.farthest_from_home())) =>
            {
                self.levels = levels;
                self.sum_up_levels();
                self.moves.add(self.levels.iter().map(Level::used).sum());
            }
            _ => self.give_up_halving(),
        }
    }

    /// All entries in tables of their own, with at least `quotient_bits`.
    fn placed_anew(&self, quotient_bits: u32) -> Result<Vec<Level>, NoPlace> {
        let all = || union_of(self.levels.iter().map(Level::entries).collect());
        let used = self.levels.iter().map(|level| level.entries().count() as u64).sum();
        self.settings.place(None, quotient_bits, used, all, &[])
    }

    /// Drops tables of the chain that have no entries left.
    pub(super) fn drop_empty_levels(&mut self) {
        let is_empty = |level: &Level| level.old.is_none() && level.table.used() == 0;
        if self.levels.iter().skip(1).any(is_empty) {
            let mut number = 0;
            self.levels.retain(|level| {
                number += 1;
                number == 1 || !is_empty(level)
            });
        }
    }
}
