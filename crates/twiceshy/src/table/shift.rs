//! Moving the slots of a block by one, with their bits: what every edit comes down to.
//!
//! The slots in use lie at the start of a block without a gap, and the others are 0. So to move some of them is to move all
//! that is left of the block, word by word, and what falls out at its end goes to the start of the next.

use super::{EXTENSION_AT, Layout, RUNEND_AT, Shape, Table};
use crate::bits::packed::{self, WordBytes};
use crate::bits::word::{field_mask, high_mask};
use crate::mem::Memory;

/// A slot on its way, with its bits; by default one that is free.
#[derive(Clone, Copy, Default)]
pub(super) struct Moved {
    pub(super) value: u64,
    pub(super) end: u64,
    pub(super) extension: u64,
}

/// The slots of a block that change.
pub(super) struct Slots<'a> {
    /// All that hold slots of the block; the next block may begin in the last of them.
    words: &'a mut WordBytes,
    width: u32,
    /// How many bits of the last word are of the block; 0 if all are.
    own: u32,
}

impl<L: Layout> Table<Memory, L> {
    /// Puts a slot at `at` into a block. Those from there on move up, the last of them onto slot `last`; what was there, if it
    /// was in use, falls out.
    #[inline(always)]
    pub(super) fn shift_in(&mut self, block: u64, at: u32, last: u32, slot: Moved) -> Moved {
        let all = self.shape.slots_of_word();
        self.change_block(block, |header, slots| {
            let end = insert_bit(header, RUNEND_AT, at, last, slot.end, all);
            let extension =
                if L::EXTENDED { insert_bit(header, EXTENSION_AT, at, last, slot.extension, all) } else { 0 };
            Moved { value: slots.insert(at, last, slot.value), end, extension }
        })
    }

    /// Takes the slot at `at` out of a block. Those after it up to `last`, the last one in use, move down, and `follows` takes
    /// the place of the last; by default, if that is not the last of the block.
    #[inline(always)]
    pub(super) fn shift_out(&mut self, block: u64, at: u32, last: u32, follows: Moved) -> Moved {
        let (width, bit) = (self.shape.slot_bits(), self.shape.bit_of(block, at));
        let value = packed::get(self.bytes(), bit, width);
        self.change_block(block, |header, slots| {
            let end = remove_bit(header, RUNEND_AT, at, last, follows.end);
            let extension =
                if L::EXTENDED { remove_bit(header, EXTENSION_AT, at, last, follows.extension) } else { 0 };
            slots.remove(at, last, follows.value);
            Moved { value, end, extension }
        })
    }

    /// The last slot of a block.
    #[inline(always)]
    pub(super) fn last_slot(&self) -> u32 {
        self.shape.block_slots() as u32 - 1
    }

    /// Changes the header and the slots of a block.
    #[inline(always)]
    pub(super) fn change_block<R>(
        &mut self,
        block: u64,
        change: impl FnOnce(&mut [u8], Slots<'_>) -> R,
    ) -> R {
        let Self { bytes, shape, .. } = self;
        bytes.change(shape.block_at(block), L::BYTES + 8 * shape.slots_words(), |bytes| {
            let (header, slots) = bytes.split_at_mut(L::BYTES);
            change(header, Slots::of(shape, slots))
        })
    }
}

impl<'a> Slots<'a> {
    /// Those that `bytes` begins with.
    #[inline(always)]
    pub(super) fn of(shape: &Shape, bytes: &'a mut [u8]) -> Self {
        let (width, own) = (shape.slot_bits(), shape.slots_bytes() as u32 * 8 % 64);
        Self { words: &mut bytes.as_chunks_mut().0[..shape.slots_words()], width, own }
    }

    /// Moves the slots from `at` on up, the last onto slot `last`, and puts `value` in front of them. What was in slot `last`
    /// falls out.
    #[inline(always)]
    pub(super) fn insert(self, at: u32, last: u32, value: u64) -> u64 {
        let (first, end) = self.words_of(at, last);
        let Self { words, width, own } = self;
        if own == 0 || end < words.len() {
            return packed::insert(&mut words[first..end], at * width % 64, width, value);
        }
        // The next block begins in the last word: what goes there is of that block, or falls out.
        let next = u64::from_le_bytes(words[end - 1]) & high_mask(own);
        words[end - 1] = (u64::from_le_bytes(words[end - 1]) ^ next).to_le_bytes();
        let over = packed::insert(&mut words[first..end], at * width % 64, width, value);
        let moved = u64::from_le_bytes(words[end - 1]);
        words[end - 1] = (moved & !high_mask(own) | next).to_le_bytes();
        (moved >> own | over << (64 - own)) & field_mask(width)
    }

    /// Moves the slots after `at` up to `last` down, and puts `value` after them; 0, unless slot `last` is that of the block.
    #[inline(always)]
    pub(super) fn remove(self, at: u32, last: u32, value: u64) {
        let (first, end) = self.words_of(at, last);
        let Self { words, width, own } = self;
        if own == 0 || end < words.len() {
            return packed::remove(&mut words[first..end], at * width % 64, width, value);
        }
        // The next block begins in the last word, and is a field higher while the others move.
        let next = u64::from_le_bytes(words[end - 1]) & high_mask(own);
        let lifted = value << own;
        words[end - 1] = (u64::from_le_bytes(words[end - 1]) ^ next | lifted).to_le_bytes();
        let over = value >> 1 >> (63 - own);
        packed::remove(&mut words[first..end], at * width % 64, width, over);
        let moved = u64::from_le_bytes(words[end - 1]);
        words[end - 1] = (moved & !high_mask(own) | next).to_le_bytes();
    }

    /// The words that hold the slots from `at` to `last`.
    #[inline(always)]
    fn words_of(&self, at: u32, last: u32) -> (usize, usize) {
        ((at * self.width / 64) as usize, ((last + 1) * self.width).div_ceil(64) as usize)
    }
}

/// Inserts a bit into a word of a header, of which not `all` bits are used, and gives the one that falls out at `last`.
#[inline(always)]
fn insert_bit(header: &mut [u8], field_at: usize, at: u32, last: u32, bit: u64, all: u64) -> u64 {
    let word = packed::load(header, field_at);
    packed::store(header, field_at, with_inserted(word, at) & all | bit << at);
    word >> last & 1
}

/// Removes a bit from a word of a header, with `follows` at `last`, and gives it.
#[inline(always)]
fn remove_bit(header: &mut [u8], field_at: usize, at: u32, last: u32, follows: u64) -> u64 {
    let word = packed::load(header, field_at);
    packed::store(header, field_at, with_removed(word, at) | follows << last);
    word >> at & 1
}

/// A word whose bits from `at` on moved up by one.
#[inline(always)]
pub(super) fn with_inserted(word: u64, at: u32) -> u64 {
    // What moves up is doubled.
    word.wrapping_add(word & high_mask(at))
}

/// A word whose bits after `at` moved down by one.
#[inline(always)]
pub(super) fn with_removed(word: u64, at: u32) -> u64 {
    word & !high_mask(at) | word >> 1 & high_mask(at)
}
