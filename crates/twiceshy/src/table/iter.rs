//! Walking over all runs and clusters in order.

use std::ops::Range;

use super::{BLOCK_SLOTS, Run, Table, split};
use crate::bits::word::low_mask;

/// All runs of a table in the order of their quotients. See [`Table::runs`].
pub(crate) struct Runs<'a, B> {
    table: &'a Table<B>,
    /// The block of the next quotient and those of its occupied bits that are still to come.
    block: u64,
    occupied: u64,
    /// The first slot behind the last run.
    free: u64,
}

impl<B: AsRef<[u8]>> Table<B> {
    /// The quotients that have a run, with their runs.
    pub(crate) fn runs(&self) -> Runs<'_, B> {
        Runs { table: self, block: 0, occupied: self.occupied(0), free: 0 }
    }

    /// The clusters: the longest stretches of slots in use.
    pub(crate) fn clusters(&self) -> impl Iterator<Item = Range<u64>> {
        let mut runs = self.runs().map(|(_, run)| run.start..run.end).peekable();
        std::iter::from_fn(move || {
            let mut cluster = runs.next()?;
            while let Some(next) = runs.next_if(|next| next.start == cluster.end) {
                cluster.end = next.end;
            }
            Some(cluster)
        })
    }

    /// The end of the run that starts at `start`, `None` if there is no run end.
    #[inline]
    fn run_end(&self, start: u64) -> Option<u64> {
        let (mut block, i) = split(start);
        let mut mask = !low_mask(i);
        while block < self.shape.blocks() {
            let ends = self.run_ends(block) & mask;
            if ends != 0 {
                let end = block * BLOCK_SLOTS + u64::from(ends.trailing_zeros());
                return Some(self.behind_extensions(end + 1).min(self.shape.total_slots()));
            }
            block += 1;
            mask = u64::MAX;
        }
        None
    }
}

impl<B: AsRef<[u8]>> Iterator for Runs<'_, B> {
    type Item = (u64, Run);

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        while self.occupied == 0 {
            self.block += 1;
            if self.block * BLOCK_SLOTS >= self.table.shape.quotients() {
                return None;
            }
            self.occupied = self.table.occupied(self.block);
        }
        let quotient = self.block * BLOCK_SLOTS + u64::from(self.occupied.trailing_zeros());
        self.occupied &= self.occupied - 1;
        let start = self.free.max(quotient);
        // On bytes that are not a valid table a run end may be missing, or lie behind the end of the
        // table: then this is the last run.
        let Some(end) = self.table.run_end(start).filter(|&end| start < end) else {
            (self.block, self.occupied) = (self.table.shape.blocks(), 0);
            return None;
        };
        self.free = end;
        Some((quotient, Run { start, end }))
    }
}
