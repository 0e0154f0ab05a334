//! Walking over all runs and clusters in order.

use std::ops::Range;

use super::{BLOCK_QUOTIENTS, Layout, Plain, Run, Table, split};
use crate::bits::word::high_mask;

/// The set bits of one metadata word per block, as numbers of slots or quotients.
struct Bits {
    block: u64,
    /// The number of its first bit.
    first: u64,
    /// The bits of that block that are still to come.
    word: u64,
}

impl Bits {
    /// The next set bit, given how many there are for a block, and the word of each.
    #[inline(always)]
    fn next(&mut self, blocks: u64, per_block: u64, word_of: impl Fn(u64) -> u64) -> Option<u64> {
        while self.word == 0 {
            (self.block, self.first) = (self.block + 1, self.first + per_block);
            if self.block >= blocks {
                return None;
            }
            self.word = word_of(self.block);
        }
        let number = self.first + u64::from(self.word.trailing_zeros());
        self.word &= self.word - 1;
        Some(number)
    }
}

/// All runs of a table in the order of their quotients. See [`Table::runs`].
///
/// The k-th occupied quotient owns the k-th run end, so both are simply read in step.
pub(crate) struct Runs<'a, B, L = Plain> {
    table: &'a Table<B, L>,
    occupied: Bits,
    ends: Bits,
    /// The first slot after the last run.
    free: u64,
    /// Measures of the table.
    blocks: u64,
    block_slots: u64,
    quotients: u64,
    total_slots: u64,
}

impl<B: AsRef<[u8]>, L: Layout> Table<B, L> {
    /// How many slots after its home the run lies that lies farthest from it. Reads the whole table.
    pub(crate) fn farthest_from_home(&self) -> u64 {
        self.runs().map(|(quotient, run)| run.start - self.shape.home_of(quotient)).max().unwrap_or(0)
    }
}

impl<B: AsRef<[u8]>, L: Layout> Table<B, L> {
    /// The quotients that have a run, with their runs.
    pub(crate) fn runs(&self) -> Runs<'_, B, L> {
        let occupied = Bits { block: 0, first: 0, word: self.occupied(0) };
        let ends = Bits { block: 0, first: 0, word: self.run_ends(0) };
        let shape = &self.shape;
        let (blocks, quotients, total_slots) = (shape.blocks(), shape.quotients(), shape.total_slots());
        let block_slots = shape.block_slots();
        Runs { table: self, occupied, ends, free: 0, blocks, block_slots, quotients, total_slots }
    }

    /// The first quotient at or after `from` that has a run.
    pub(crate) fn next_quotient(&self, from: u64) -> Option<u64> {
        if from >= self.shape.quotients() {
            return None;
        }
        let (block, i) = split(from);
        let mut bits =
            Bits { block, first: block * BLOCK_QUOTIENTS, word: self.occupied(block) & high_mask(i) };
        bits.next(self.shape.blocks(), BLOCK_QUOTIENTS, |block| self.occupied(block))
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
}

impl<B: AsRef<[u8]>, L: Layout> Iterator for Runs<'_, B, L> {
    type Item = (u64, Run);

    #[inline(always)]
    fn next(&mut self) -> Option<Self::Item> {
        let (table, blocks) = (self.table, self.blocks);
        let quotient = self.occupied.next(blocks, BLOCK_QUOTIENTS, |block| table.occupied(block))?;
        let start = self.free.max(self.occupied.block * self.block_slots);
        let end = self.ends.next(blocks, self.block_slots, |block| table.run_ends(block));
        let end = end.map_or(0, |end| table.behind_extensions(end + 1).min(self.total_slots));
        if end <= start || quotient >= self.quotients {
            // On bytes that are not a valid table bits may be missing or misplaced: stop for good.
            self.occupied = Bits { block: blocks, first: 0, word: 0 };
            return None;
        }
        self.free = end;
        Some((quotient, Run { start, end }))
    }
}
