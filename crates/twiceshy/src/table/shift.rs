//! Moving the slots of a block by one, with their bits: what every edit comes down to.
//!
//! The slots in use lie at the start of a block without a gap, and the others are 0. So to move some of them is to move all
//! that is left of the block, word by word, and what falls out at its end goes to the start of the next.

use super::{EXTENSION_AT, Layout, RUNEND_AT, Table};
use crate::bits::packed;
use crate::bits::word::{high_mask, low_mask};
use crate::mem::Memory;

/// The last slot of a block.
pub(super) const LAST: u32 = super::BLOCK_SLOTS as u32 - 1;

/// A slot on its way, with its bits; by default one that is free.
#[derive(Clone, Copy, Default)]
pub(super) struct Moved {
    pub(super) value: u64,
    pub(super) end: u64,
    pub(super) extension: u64,
}

impl<L: Layout> Table<Memory, L> {
    /// Puts a slot at `at` into a block. Those from there on move up, the last of them onto slot `last`; what was there, if it
    /// was in use, falls out.
    #[inline(always)]
    pub(super) fn shift_in(&mut self, block: u64, at: u32, last: u32, slot: Moved) -> Moved {
        let end = self.insert_bit(block, RUNEND_AT, at, slot.end);
        let extension =
            if L::EXTENDED { self.insert_bit(block, EXTENSION_AT, at, slot.extension) } else { 0 };
        let (bit, width) = (at * self.shape.slot_bits(), self.shape.slot_bits());
        let value = packed::insert(self.slots_up_to(block, last), bit, width, slot.value);
        Moved { value, end, extension }
    }

    /// Takes the slot at `at` out of a block. Those after it up to `last`, the last one in use, move down, and `follows` takes
    /// the place of the last.
    #[inline(always)]
    pub(super) fn shift_out(&mut self, block: u64, at: u32, last: u32, follows: Moved) -> Moved {
        let end = self.remove_bit(block, RUNEND_AT, at, follows.end);
        let extension =
            if L::EXTENDED { self.remove_bit(block, EXTENSION_AT, at, follows.extension) } else { 0 };
        let (bit, width) = (at * self.shape.slot_bits(), self.shape.slot_bits());
        let value = self.slot(block * super::BLOCK_SLOTS + u64::from(at));
        packed::remove(self.slots_up_to(block, last), bit, width, follows.value);
        Moved { value, end, extension }
    }

    /// The words of a block that hold the slots up to `last`.
    #[inline(always)]
    fn slots_up_to(&mut self, block: u64, last: u32) -> &mut [u8] {
        let (at, words) =
            (self.shape.block_at(block) + L::BYTES, ((last + 1) * self.shape.slot_bits()).div_ceil(64));
        &mut self.bytes_mut()[at..at + 8 * words as usize]
    }

    /// Inserts a bit into a word of a block, and gives the one that falls out.
    #[inline(always)]
    fn insert_bit(&mut self, block: u64, field_at: usize, at: u32, bit: u64) -> u64 {
        let word = self.word(block, field_at);
        self.set_word(block, field_at, word & low_mask(at) | bit << at | (word & high_mask(at)) << 1);
        word >> LAST
    }

    /// Removes a bit from a word of a block, with `follows` as its last one, and gives it.
    #[inline(always)]
    fn remove_bit(&mut self, block: u64, field_at: usize, at: u32, follows: u64) -> u64 {
        let word = self.word(block, field_at);
        let moved = word >> 1 & high_mask(at) | follows << LAST;
        self.set_word(block, field_at, word & low_mask(at) | moved);
        word >> at & 1
    }
}
