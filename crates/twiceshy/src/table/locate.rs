//! Finding runs, free slots and the ends of clusters. Nothing here changes the table.

use super::{BLOCK_QUOTIENTS, Layout, Source, Table, split};
use crate::bits::cpu::{Cpu, Kernel};
use crate::bits::word::{bit, low_mask, rank};

/// The slots `start..end` of one quotient. Empty if the quotient has no run; `start` then is where
/// its run would begin.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Run {
    pub(crate) start: u64,
    pub(crate) end: u64,
}

impl Run {
    pub(crate) fn is_empty(&self) -> bool {
        self.start == self.end
    }
}

impl<B: Source, L: Layout> Table<B, L> {
    /// The run of `quotient`.
    ///
    /// On bytes that are not a valid table the answer is meaningless, but `start <= end <=
    /// total_slots` still holds.
    #[inline(always)]
    pub(crate) fn run<C: Cpu>(&self, cpu: C, quotient: u64) -> Run {
        let (block, i) = split(quotient);
        let occupied = self.occupied(block);
        if self.extension(block) == 0
            && let Some(offset) = self.offset(block)
            && offset < self.shape.block_slots()
            && let Some(run) = self.run_in_block(cpu, block, i, occupied, offset as u32)
            // If the slot after it is in the next block, it could be an extension: of the run itself, or, if
            // that is empty, of the one before.
            && (!L::EXTENDED || run.end < self.shape.first_slot(block + 1))
        {
            return run;
        }
        cpu.outlined(RunAnywhere { table: self, quotient })
    }

    /// The usual case, decided with the words of one block: `None` if the run leaves the block.
    ///
    /// The run ends at or after `offset` belong to this block's quotients in order. A virtual run end
    /// just before them makes every run the stretch between two neighbouring ones.
    #[inline(always)]
    fn run_in_block<C: Cpu>(&self, cpu: C, block: u64, i: u32, occupied: u64, offset: u32) -> Option<Run> {
        let ends = self.run_ends(block) >> offset;
        // The virtual end takes bit 0; a real one pushed out at the top is found by the slow path.
        let ends = ends << 1 | 1;
        let (start, end) = cpu.select_two(ends, rank(occupied, i));
        if start >= BLOCK_QUOTIENTS as u32 {
            return None;
        }
        let slot = |i: u32| self.shape.first_slot(block) + u64::from(offset + i);
        if !bit(occupied, i) {
            return Some(Run { start: slot(start), end: slot(start) });
        }
        (end < BLOCK_QUOTIENTS as u32).then(|| Run { start: slot(start), end: slot(end) })
    }

    /// The first slot at or after the start of `block` that no quotient of an earlier block uses.
    #[inline(always)]
    pub(super) fn first_own_slot<C: Cpu>(&self, cpu: C, block: u64) -> u64 {
        if let Some(offset) = self.offset(block) {
            return (self.shape.first_slot(block) + offset).min(self.shape.total_slots());
        }
        cpu.outlined(FirstOwnSlotInCrowd { table: self, block, known: (0, 0) })
    }

    /// The first own slot of a block whose offset is saturated, given that of an earlier one, and how many blocks it took.
    #[inline(always)]
    pub(super) fn first_own_slot_in_crowd<C: Cpu>(
        &self,
        cpu: C,
        block: u64,
        earlier: (u64, u64),
    ) -> (u64, u64) {
        let spot = self.crowd.spot_before(block);
        let (nearest, own) = if spot.block > earlier.0 { (spot.block, spot.own) } else { earlier };
        let mut known = block;
        let free = loop {
            match self.offset(known) {
                Some(offset) => break self.shape.first_slot(known) + offset,
                None if known == nearest => break own,
                None => known -= 1,
            }
        };
        (self.first_own_slot_from(cpu, known, free, block), block - known)
    }

    /// [`first_own_slot`](Self::first_own_slot), given that of an earlier block.
    #[inline(always)]
    fn first_own_slot_from<C: Cpu>(&self, cpu: C, mut known: u64, mut free: u64, block: u64) -> u64 {
        while known < block {
            free = self.behind_block(cpu, known, free);
            known += 1;
        }
        free.min(self.shape.total_slots())
    }

    /// Given the first own slot of `block`, that of the next one.
    #[inline(always)]
    pub(super) fn behind_block<C: Cpu>(&self, cpu: C, block: u64, first_own: u64) -> u64 {
        self.end_of_block(cpu, block, first_own).max(self.shape.first_slot(block + 1))
    }

    /// Given the first own slot of `block`, the slot after its runs.
    #[inline(always)]
    pub(super) fn end_of_block<C: Cpu>(&self, cpu: C, block: u64, first_own: u64) -> u64 {
        match u64::from(self.occupied(block).count_ones()).checked_sub(1) {
            Some(k) => self.behind_run_end(cpu, first_own, k),
            None => first_own,
        }
    }

    /// The slot after the run whose end is the k-th (from 0) at or after `from`, with the trailing
    /// extension slots of its last entry. The end of the table if there is none.
    #[inline(always)]
    fn behind_run_end<C: Cpu>(&self, cpu: C, from: u64, mut k: u64) -> u64 {
        let (mut block, i) = self.shape.place(from);
        let mut mask = !low_mask(i);
        while block < self.shape.blocks() {
            let ends = self.run_ends(block) & mask;
            let count = u64::from(ends.count_ones());
            if k < count {
                let end = self.shape.first_slot(block) + u64::from(cpu.select(ends, k as u32));
                return self.behind_extensions(end + 1).min(self.shape.total_slots());
            }
            k -= count;
            block += 1;
            mask = u64::MAX;
        }
        self.shape.total_slots()
    }

    /// The first slot at or after `slot` that is no extension.
    #[inline(always)]
    pub(super) fn behind_extensions(&self, slot: u64) -> u64 {
        if !L::EXTENDED {
            return slot;
        }
        let slots = self.shape.slots_of_word();
        let (mut block, i) = self.shape.place(slot);
        let mut mask = slots & !low_mask(i);
        while block < self.shape.blocks() {
            let others = !self.extension(block) & mask;
            if others != 0 {
                return self.shape.first_slot(block) + u64::from(others.trailing_zeros());
            }
            block += 1;
            mask = slots;
        }
        self.shape.first_slot(block)
    }

    /// The first free slot at or after `from`, before which all slots of its block are in use or to be; `None` if there is none.
    #[inline(always)]
    pub(super) fn first_free<C: Cpu>(&self, cpu: C, from: u64) -> Option<u64> {
        let mut known = (0, 0);
        for block in self.shape.place(from).0..self.shape.blocks() {
            let slot = self.end_of_next_block(cpu, block, &mut known).max(from);
            if slot < self.shape.first_slot(block + 1) {
                return (slot < self.shape.total_slots()).then_some(slot);
            }
        }
        None
    }

    /// The slot after the last one that moves down if a run of `block` gets shorter.
    #[inline(always)]
    pub(super) fn end_of_cluster<C: Cpu>(&self, cpu: C, block: u64) -> u64 {
        let mut known = (0, 0);
        for block in block..self.shape.blocks() {
            let end = self.end_of_next_block(cpu, block, &mut known);
            if end <= self.shape.first_slot(block + 1) {
                return end.min(self.shape.total_slots());
            }
        }
        self.shape.total_slots()
    }

    /// The slot after the runs of a block, for one block after the other; if they begin in a later block, any slot there.
    /// `known` is a block before it and its first own slot, to begin with the front of the table; then the block itself.
    #[inline(always)]
    fn end_of_next_block<C: Cpu>(&self, cpu: C, block: u64, known: &mut (u64, u64)) -> u64 {
        let own = match self.offset(block) {
            Some(offset) => self.shape.first_slot(block) + offset,
            None => cpu.outlined(FirstOwnSlotInCrowd { table: self, block, known: *known }),
        };
        *known = (block, own);
        if own > self.shape.first_slot(block + 1) { own } else { self.end_of_block(cpu, block, own) }
    }
}

/// [`Table::first_own_slot`] of a block whose offset is saturated, given that of an earlier one.
struct FirstOwnSlotInCrowd<'a, B, L> {
    table: &'a Table<B, L>,
    block: u64,
    known: (u64, u64),
}

impl<B: Source, L: Layout> Kernel for FirstOwnSlotInCrowd<'_, B, L> {
    type Output = u64;
    #[inline(always)]
    fn run<C: Cpu>(self, cpu: C) -> u64 {
        self.table.first_own_slot_in_crowd(cpu, self.block, self.known).0
    }
}

/// [`Table::run`] in the general case.
pub(super) struct RunAnywhere<'a, B, L> {
    pub(super) table: &'a Table<B, L>,
    pub(super) quotient: u64,
}

impl<B: Source, L: Layout> Kernel for RunAnywhere<'_, B, L> {
    type Output = Run;
    #[inline(always)]
    fn run<C: Cpu>(self, cpu: C) -> Run {
        let Self { table, quotient } = self;
        let (block, i) = split(quotient);
        let occupied = table.occupied(block);
        let free = table.first_own_slot(cpu, block);
        let start = match u64::from(rank(occupied, i)).checked_sub(1) {
            Some(k) => table.behind_run_end(cpu, free, k),
            None => free,
        };
        let start = start.min(table.shape.total_slots());
        let end = if bit(occupied, i) { table.behind_run_end(cpu, start, 0) } else { start };
        Run { start, end }
    }
}
