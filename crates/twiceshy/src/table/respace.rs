//! The same runs in blocks of more or fewer slots: how a table grows by less than a doubling.
//!
//! Quotients and slots stay what they are, and only lie elsewhere, so the runs of a block are copied as a whole: their bits
//! word by word, and their slots as one long string of bits.
//!
//! # Cost
//!
//! Some ten instructions per slot, a tenth of what it takes to read and write entries one by one.

use super::{EXTENSION_AT, Layout, NoRoom, OCCUPIED_AT, RUNEND_AT, Shape, Table};
use crate::bits::cpu::{Cpu, Kernel, dispatch};
use crate::bits::packed;
use crate::bits::word::low_mask;
use crate::mem::{Memory, OutOfMemory};

impl<B: AsRef<[u8]>, L: Layout> Table<B, L> {
    /// A table of another shape, with as many quotients and slots as wide, that has the same contents; `None` if they do not
    /// fit.
    pub(crate) fn respaced(&self, shape: Shape) -> Result<Option<Table<Memory, L>>, OutOfMemory> {
        debug_assert_eq!(shape.position_bits(), self.shape.position_bits());
        debug_assert_eq!(shape.slot_bits(), self.shape.slot_bits());
        let mut table = Table::new(shape)?;
        Ok(dispatch(CopyRuns { from: self, to: &mut table }).is_ok().then_some(table))
    }
}

struct CopyRuns<'a, B, L> {
    from: &'a Table<B, L>,
    to: &'a mut Table<Memory, L>,
}

impl<B: AsRef<[u8]>, L: Layout> Kernel for CopyRuns<'_, B, L> {
    type Output = Result<(), NoRoom>;
    #[inline(always)]
    fn run<C: Cpu>(self, cpu: C) -> Self::Output {
        let Self { from, to } = self;
        // The first slots that are not taken, here and there.
        let (mut old, mut new) = (0, 0);
        for block in 0..to.shape.blocks() {
            let first = to.shape.first_slot(block);
            to.set_offset(block, u64::saturating_sub(new, first));
            new = new.max(first);
            if block >= from.shape.blocks() || from.occupied(block) == 0 {
                continue;
            }
            let start = old.max(from.shape.first_slot(block));
            old = from.end_of_block(cpu, block, start);
            if new + (old - start) > to.shape.total_slots() {
                return Err(NoRoom);
            }
            to.set_word(block, OCCUPIED_AT, from.occupied(block));
            to.copy_slots(from, start, old, new);
            new += old - start;
        }
        to.used = from.used;
        Ok(())
    }
}

impl<L: Layout> Table<Memory, L> {
    /// Copies the slots `start..end` of another table to `at`, where everything is 0.
    #[inline(always)]
    fn copy_slots<B: AsRef<[u8]>>(&mut self, from: &Table<B, L>, mut start: u64, end: u64, mut at: u64) {
        while start < end {
            let ((block, i), (new_block, j)) = (from.shape.place(start), self.shape.place(at));
            // As many as are in one block, here and there.
            let here = from.shape.block_slots() - u64::from(i);
            let there = self.shape.block_slots() - u64::from(j);
            let count = (end - start).min(here).min(there);
            let mut copy_bits = |field_at: usize| {
                let bits = from.word(block, field_at) >> i & low_mask(count as u32);
                let word = self.word(new_block, field_at);
                self.set_word(new_block, field_at, word | bits << j);
            };
            copy_bits(RUNEND_AT);
            if L::EXTENDED {
                copy_bits(EXTENSION_AT);
            }
            let (source, target) = (from.shape.bit_of(block, i), self.shape.bit_of(new_block, j));
            packed::copy(
                from.bytes(),
                source,
                self.bytes_mut(),
                target,
                count as usize * from.shape.slot_bits() as usize,
            );
            (start, at) = (start + count, at + count);
        }
    }
}
