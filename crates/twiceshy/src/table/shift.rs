//! Moving the slots of a block by one, with their bits: what every edit comes down to.
//!
//! The slots in use lie at the start of a block without a gap, and the others are 0. So to move some of them is to move all
//! that is left of the block, word by word, and what falls out at its end goes to the start of the next.

use super::{BLOCK_SLOTS, EXTENSION_AT, Layout, RUNEND_AT, Table};
use crate::bits::packed::{self, WordBytes};
use crate::bits::word::high_mask;
use crate::mem::Memory;

/// The last slot of a block.
pub(super) const LAST: u32 = BLOCK_SLOTS as u32 - 1;

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
        let width = self.shape.slot_bits();
        let (header, slots) = self.block_mut(block);
        let end = insert_bit(header, RUNEND_AT, at, slot.end);
        let extension = if L::EXTENDED { insert_bit(header, EXTENSION_AT, at, slot.extension) } else { 0 };
        Moved { value: insert_slot(slots, width, at, last, slot.value), end, extension }
    }

    /// Takes the slot at `at` out of a block. Those after it up to `last`, the last one in use, move down, and `follows` takes
    /// the place of the last.
    #[inline(always)]
    pub(super) fn shift_out(&mut self, block: u64, at: u32, last: u32, follows: Moved) -> Moved {
        let value = self.slot(block * BLOCK_SLOTS + u64::from(at));
        let width = self.shape.slot_bits();
        let (header, slots) = self.block_mut(block);
        let end = remove_bit(header, RUNEND_AT, at, follows.end);
        let extension = if L::EXTENDED { remove_bit(header, EXTENSION_AT, at, follows.extension) } else { 0 };
        remove_slot(slots, width, at, last, follows.value);
        Moved { value, end, extension }
    }

    /// The header and the slots of a block.
    #[inline(always)]
    pub(super) fn block_mut(&mut self, block: u64) -> (&mut [u8], &mut WordBytes) {
        let (at, len) = (self.shape.block_at(block), self.shape.block_bytes());
        let (header, slots) = self.bytes_mut()[at..at + len].split_at_mut(L::BYTES);
        (header, slots.as_chunks_mut().0)
    }
}

/// Inserts a bit into a word of a header, and gives the one that falls out.
#[inline(always)]
fn insert_bit(header: &mut [u8], field_at: usize, at: u32, bit: u64) -> u64 {
    let word = packed::load(header, field_at);
    packed::store(header, field_at, with_inserted(word, at) | bit << at);
    word >> LAST
}

/// Removes a bit from a word of a header, with `follows` as its last one, and gives it.
#[inline(always)]
fn remove_bit(header: &mut [u8], field_at: usize, at: u32, follows: u64) -> u64 {
    let word = packed::load(header, field_at);
    packed::store(header, field_at, with_removed(word, at) | follows << LAST);
    word >> at & 1
}

/// A word whose bits from `at` on moved up by one.
#[inline(always)]
pub(super) fn with_inserted(word: u64, at: u32) -> u64 {
    word & !high_mask(at) | (word & high_mask(at)) << 1
}

/// A word whose bits after `at` moved down by one.
#[inline(always)]
pub(super) fn with_removed(word: u64, at: u32) -> u64 {
    word & !high_mask(at) | word >> 1 & high_mask(at)
}

/// Moves the slots from `at` on up, the last onto slot `last`, and puts `value` in front of them. What falls out is the answer.
#[inline(always)]
pub(super) fn insert_slot(slots: &mut WordBytes, width: u32, at: u32, last: u32, value: u64) -> u64 {
    packed::insert(words_of(slots, width, at, last), at * width % 64, width, value)
}

/// Moves the slots after `at` up to `last` down, and puts `value` after them.
#[inline(always)]
pub(super) fn remove_slot(slots: &mut WordBytes, width: u32, at: u32, last: u32, value: u64) {
    packed::remove(words_of(slots, width, at, last), at * width % 64, width, value);
}

/// The words that hold the slots from `at` to `last`.
#[inline(always)]
fn words_of(slots: &mut WordBytes, width: u32, at: u32, last: u32) -> &mut WordBytes {
    &mut slots[(at * width / 64) as usize..((last + 1) * width).div_ceil(64) as usize]
}
