//! The usual edits, in few steps: one head more or less in a run that a glance found.
//!
//! They do what [`Table::plan`] and [`Table::commit`] do, with the words of each block in registers. Whatever is unusual (a run that leaves its block, a saturated offset, the end
//! of the table) is left to those: the answer is `false`, and nothing has changed.

use super::glance::{Glance, Words};
use super::{BLOCK_SLOTS, EXTENSION_AT, Layout, OCCUPIED_AT, RUNEND_AT, Run, Table, split};
use crate::bits::cpu::Cpu;
use crate::bits::packed;
use crate::bits::word::{bit, high_mask, rank, rank_through, shift_down_one, shift_up_one};
use crate::mem::Memory;

/// Whatever reaches over more blocks than this is not usual.
const MOST_BLOCKS: u64 = 16;

/// The last slot of a block.
const LAST: u32 = BLOCK_SLOTS as u32 - 1;

impl<L: Layout> Table<Memory, L> {
    /// Starts a run of `quotient` with one head, if its home slot is free.
    #[inline(always)]
    pub(crate) fn insert_at_home(&mut self, quotient: u64, value: u64) -> bool {
        let (block, home) = split(quotient);
        let words = self.words(block);
        if words.offset > home || words.offset >= u32::from(self.shape.offset_max()) {
            return false;
        }
        // As many runs have ended before the slot as have begun up to it.
        let ended = rank(words.run_ends() & high_mask(words.offset), home);
        if rank_through(words.occupied, home) > ended || bit(words.extension, home) {
            return false;
        }
        self.set_word(block, OCCUPIED_AT, words.occupied | 1 << home);
        self.set_word(block, RUNEND_AT, words.ends | 1 << home);
        self.set_slot(quotient, value);
        self.used += 1;
        true
    }

    /// Inserts a head into the run, after `rank` others.
    #[inline(always)]
    pub(crate) fn insert_at_glance<C: Cpu>(
        &mut self,
        cpu: C,
        glance: &Glance,
        rank: u32,
        value: u64,
    ) -> bool {
        let Glance { block, words, home, start, len, .. } = *glance;
        let (at, end) = (start + rank, start + len);
        if !self.is_placed(glance) || end > LAST {
            return false;
        }
        let Some(free) = self.first_from(cpu, block, words, end, true) else { return false };
        if free >= self.shape.total_slots() {
            return false;
        }
        let free = self.shift_later_blocks(block, free);
        // The new last slot of the run is `end`; the old one, if there was a run, is none any more.
        let old_last = u64::from(len > 0).wrapping_shl(end.wrapping_sub(1));
        let new_ends = shift_up_one(words.ends, at, free) & !old_last | 1 << end;
        self.set_word(block, OCCUPIED_AT, words.occupied | 1 << home);
        self.set_word(block, RUNEND_AT, new_ends);
        if L::EXTENDED {
            self.set_word(block, EXTENSION_AT, shift_up_one(words.extension, at, free));
        }
        self.insert_slot(block, at, free, value);
        self.used += 1;
        true
    }

    /// Inserts a continuation at `at` in `run`, the run of `quotient`, if all that lies in one block.
    #[inline(always)]
    pub(super) fn insert_continuation_quickly<C: Cpu>(
        &mut self,
        cpu: C,
        quotient: u64,
        run: Run,
        at: u64,
        value: u64,
    ) -> bool {
        let ((block, _), (at_block, at), (end_block, end)) = (split(quotient), split(at), split(run.end));
        if at_block != block || end_block != block {
            return false;
        }
        let words = self.words(block);
        if words.offset >= u32::from(self.shape.offset_max()) {
            return false;
        }
        let Some(free) = self.first_from(cpu, block, words, end, true) else { return false };
        if free >= self.shape.total_slots() {
            return false;
        }
        let free = self.shift_later_blocks(block, free);
        self.set_word(block, RUNEND_AT, shift_up_one(words.ends, at, free));
        self.set_word(block, EXTENSION_AT, shift_up_one(words.extension, at, free) | 1 << at);
        self.insert_slot(block, at, free, value);
        self.used += 1;
        true
    }

    /// Removes the head after `rank` others from the run.
    #[inline(always)]
    pub(crate) fn remove_at_glance<C: Cpu>(&mut self, cpu: C, glance: &Glance, rank: u32) -> bool {
        let Glance { block, words, home, start, len, .. } = *glance;
        let (at, end) = (start + rank, start + len);
        let Some(stop) = self.first_from(cpu, block, words, at + 1, false) else {
            return false;
        };
        let (last_block, last) = split(stop - 1);
        let (stays, goes_on) = if last_block == block { (last, false) } else { (LAST, true) };
        let (carry, follows) = self.first_of_next(block, goes_on);
        // The new last slot of the run, if one is left, is the one before the old one.
        let new_last = u64::from(len > 1).wrapping_shl(end.wrapping_sub(2));
        let new_ends = shift_down_one(words.ends, at + 1, stays + 1) | carry.ends << LAST | new_last;
        self.set_word(block, OCCUPIED_AT, words.occupied & !(u64::from(len == 1) << home));
        self.set_word(block, RUNEND_AT, new_ends);
        if L::EXTENDED {
            let extension = shift_down_one(words.extension, at + 1, stays + 1) | carry.extension << LAST;
            self.set_word(block, EXTENSION_AT, extension);
        }
        self.remove_slot(block, at, stays, follows);
        for later in block + 1..=last_block {
            let stays = if later == last_block { last } else { LAST };
            self.give_to_before(later, stays, later < last_block);
        }
        self.used -= 1;
        self.crowd.given_back += 1;
        true
    }

    /// The first slot at or after slot `from` of the block that is free, or (if not `inclusive`) that no
    /// run of an earlier quotient uses. `None` if that takes more than the words of the blocks on the way.
    #[inline(always)]
    fn first_from<C: Cpu>(
        &self,
        cpu: C,
        mut block: u64,
        words: Words,
        from: u32,
        inclusive: bool,
    ) -> Option<u64> {
        let first = block;
        let mut found = words.first_without_debt(cpu, from, inclusive);
        while found.is_none() {
            block += 1;
            if block >= self.shape.blocks() || block - first > MOST_BLOCKS {
                return None;
            }
            let words = self.words(block);
            if words.offset >= u32::from(self.shape.offset_max()) {
                return None;
            }
            found = words.first_without_debt(cpu, words.offset, inclusive);
        }
        found.map(|i| block * BLOCK_SLOTS + u64::from(i))
    }

    /// Moves the slots after the block up to `free` one up, and the last one of the block onto the first of
    /// them. The slot of the block that is free now, in the block.
    #[inline(always)]
    fn shift_later_blocks(&mut self, block: u64, free: u64) -> u32 {
        let (free_block, mut free) = split(free);
        for later in (block + 1..=free_block).rev() {
            self.take_from_before(later, free);
            free = LAST;
        }
        free
    }

    /// Moves the slots before `free` one up, and the last slot of the block before onto the first.
    #[inline(always)]
    fn take_from_before(&mut self, block: u64, free: u32) {
        let (before, words) = (self.words(block - 1), self.words(block));
        self.set_word(block, RUNEND_AT, shift_up_one(words.ends, 0, free) | before.ends >> LAST);
        if L::EXTENDED {
            let extension = shift_up_one(words.extension, 0, free) | before.extension >> LAST;
            self.set_word(block, EXTENSION_AT, extension);
        }
        self.set_offset(block, u64::from(words.offset) + 1);
        self.insert_slot(block, 0, free, self.slot(block * BLOCK_SLOTS - 1));
    }

    /// Moves the slots after the first, which the block before has taken, up to `last` one down. If the
    /// cluster `goes_on`, the first slot of the next block follows.
    #[inline(always)]
    fn give_to_before(&mut self, block: u64, last: u32, goes_on: bool) {
        let words = self.words(block);
        let (carry, follows) = self.first_of_next(block, goes_on);
        self.set_word(block, RUNEND_AT, shift_down_one(words.ends, 1, last + 1) | carry.ends << LAST);
        if L::EXTENDED {
            let extension = shift_down_one(words.extension, 1, last + 1) | carry.extension << LAST;
            self.set_word(block, EXTENSION_AT, extension);
        }
        self.set_offset(block, u64::from(words.offset) - 1);
        self.remove_slot(block, 0, last, follows);
    }

    /// The header and the first slot of the next block, both 0 if the cluster does not go on there.
    #[inline(always)]
    fn first_of_next(&self, block: u64, goes_on: bool) -> (Words, u64) {
        if goes_on {
            (self.words(block + 1), self.slot((block + 1) * BLOCK_SLOTS))
        } else {
            (Words { offset: 0, occupied: 0, ends: 0, extension: 0 }, 0)
        }
    }

    /// Moves the slots `at..free` of a block one up and puts `value` in front of them.
    #[inline(always)]
    fn insert_slot(&mut self, block: u64, at: u32, free: u32, value: u64) {
        let (width, first) = (self.shape.slot_bits(), self.shape.slot_bit(block * BLOCK_SLOTS));
        let bit_of = |slot: u32| first + (slot * width) as usize;
        packed::insert(self.bytes_mut(), bit_of(at), bit_of(free), width, value);
    }

    /// Moves the slots after `at` up to `last` of a block one down and puts `value` after them.
    #[inline(always)]
    fn remove_slot(&mut self, block: u64, at: u32, last: u32, value: u64) {
        let (width, first) = (self.shape.slot_bits(), self.shape.slot_bit(block * BLOCK_SLOTS));
        let bit_of = |slot: u32| first + (slot * width) as usize;
        packed::remove(self.bytes_mut(), bit_of(at), bit_of(last + 1), width, value);
    }
}
