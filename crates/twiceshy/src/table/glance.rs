//! Looking into a run without finding out where it is first: the fast path of every operation.
//!
//! At usual loads a run has one or two slots and lies in the block of its quotient, but whether a quotient
//! has a run at all is a coin toss that no branch predictor wins. So everything is computed as if there
//! were a run, without a branch: both ends of the run with one `pdep`, up to three slots with one load, and
//! all of them are compared with a value at once. Only if that cannot decide (the run leaves the block, or
//! is longer) is there a jump, to the general code, in about one query of twelve at 90 % load.
//!
//! Comparing several slots at once is the well-known search for a zero byte in a word, with lanes of any
//! width: `(x - 1) & !x` has the top bit of a lane set if the lane is 0. Lanes above a zero lane may be
//! wrong because of the borrow, the lowest one that is set never is.

use std::hint::select_unpredictable;

use super::{BLOCK_SLOTS, EXTENSION_AT, OCCUPIED_AT, OFFSET_AT, RUNEND_AT, Shape, Table, split};
use crate::bits::cpu::Cpu;
use crate::bits::packed;
use crate::bits::word::{bit, high_mask, low_mask, rank, rank_through, shift_down_one, shift_up_one};
use crate::mem;

/// The most slots that are compared at once. Codecs may count on it.
pub(crate) const MOST_LANES: usize = 3;

/// Several slots side by side in a word, and what else a glance needs that follows from the shape.
#[derive(Clone, Copy)]
pub(super) struct Lanes {
    /// How many there are.
    count: u32,
    /// The lowest bit of each.
    ones: u64,
    /// The highest bits of the first 0, 1, 2 or 3 of them.
    highs: [u64; MOST_LANES + 1],
    /// Offsets from here on are saturated, or point behind the block.
    offset_limit: u32,
}

impl Lanes {
    pub(super) fn new(shape: &Shape) -> Self {
        // A word loaded at a byte has at least 57 bits from any bit of that byte on.
        let width = shape.slot_bits();
        let count = (57 / width).min(MOST_LANES as u32);
        let ones = (0..count).fold(0, |ones, lane| ones | 1 << (lane * width));
        let highs = std::array::from_fn(|len| ones << (width - 1) & low_mask(len as u32 * width));
        Self { count, ones, highs, offset_limit: u32::from(shape.offset_max()).min(64) }
    }
}

/// A run of at most three slots in the block of its quotient; no slots if the quotient has no run.
#[derive(Clone, Copy)]
pub(crate) struct Glance {
    block: u64,
    /// The words of the block.
    occupied: u64,
    ends: u64,
    offset: u32,
    /// The quotient, and the first slot and the length of its run, in the block.
    home: u32,
    start: u32,
    len: u32,
    /// The slots from the start of the run on, side by side.
    slots: u64,
}

impl<B: AsRef<[u8]>> Table<B> {
    /// Looks at the run of `quotient`; `None` if it takes more than a glance. For tables without
    /// extensions.
    #[inline(always)]
    pub(crate) fn glance<C: Cpu>(&self, cpu: C, quotient: u64) -> Option<Glance> {
        debug_assert!(!self.shape.has_extensions());
        let (lanes, width) = (&self.lanes, self.shape.slot_bits());
        let (block, home) = split(quotient);
        let bytes = &self.bytes()[self.shape.block_at(block)..];
        // The slots are usually in another cache line than the words before them: ask for both at once.
        mem::prefetch(bytes, EXTENSION_AT + (home * width) as usize / 8);
        let header: &[u8; EXTENSION_AT] = bytes.first_chunk().expect("a block has a header");
        let offset = u32::from(header[OFFSET_AT]);
        let (occupied, ends) = (packed::load(header, OCCUPIED_AT), packed::load(header, RUNEND_AT));
        // See `run_in_block`: a virtual run end before the block's own ones.
        let own_ends = ends.wrapping_shr(offset) << 1 | 1;
        let (after, end) = cpu.select_two(own_ends, rank(occupied, home));
        let start = home.max(offset + after);
        let len = offset.wrapping_add(end).wrapping_sub(start);
        // If the numbers make no sense, any slot will do for the load.
        let first_bit = (start % BLOCK_SLOTS as u32 * width) as usize;
        let slots = packed::load(bytes, EXTENSION_AT + first_bit / 8) >> (first_bit % 8);
        // Without a run there is nothing to decide. A length of 0 or less is that of a run whose end is
        // not in this block.
        let has_run = bit(occupied, home);
        let beyond = select_unpredictable(has_run, len.wrapping_sub(1), 0);
        let far = select_unpredictable(has_run, offset, 0);
        if beyond >= lanes.count || far >= lanes.offset_limit {
            return None;
        }
        let len = select_unpredictable(has_run, len, 0);
        Some(Glance { block, occupied, ends, offset, home, start, len, slots })
    }
}

/// What the slots of a run hold.
impl<B: AsRef<[u8]>> Table<B> {
    /// The highest bits of the lanes that hold slots of the run.
    #[inline(always)]
    fn lanes_of(&self, glance: &Glance) -> u64 {
        self.lanes.highs[glance.len as usize % (MOST_LANES + 1)]
    }

    /// Whether a slot of the run has this value.
    #[inline(always)]
    pub(crate) fn has_at_glance(&self, glance: &Glance, value: u64) -> bool {
        let differ = glance.slots ^ value.wrapping_mul(self.lanes.ones);
        differ.wrapping_sub(self.lanes.ones) & !differ & self.lanes_of(glance) != 0
    }

    /// How many slots of the run have this value.
    #[inline(always)]
    pub(crate) fn count_at_glance(&self, glance: &Glance, value: u64) -> u32 {
        // With its top bit set, a lane lends nothing to the next one, so all lanes are right: the bit is
        // left alone if the lower bits differ.
        let highs = self.lanes.highs[MOST_LANES];
        let differ = glance.slots ^ value.wrapping_mul(self.lanes.ones);
        let differs = (differ | highs).wrapping_sub(self.lanes.ones) | differ;
        (!differs & self.lanes_of(glance)).count_ones()
    }

    /// How many slots of the run have a smaller value.
    #[inline(always)]
    pub(crate) fn rank_at_glance(&self, glance: &Glance, value: u64) -> u32 {
        let (highs, others) = (self.lanes.highs[MOST_LANES], value.wrapping_mul(self.lanes.ones));
        // With its top bit set, a lane lends nothing to the next one: the top bit that is left tells
        // whether the lower bits were at least as large. The top bits themselves are compared apart.
        let not_less = (glance.slots | highs).wrapping_sub(others & !highs);
        let less = (!glance.slots & others) | (!(glance.slots ^ others) & !not_less);
        (less & self.lanes_of(glance)).count_ones()
    }
}

impl Glance {
    /// The first slot of the block at or behind `from` before which all runs of the quotients up to the
    /// slot (or, if not `inclusive`, below it) have ended. See `first_without_debt` of the table, which does
    /// this across blocks.
    #[inline(always)]
    fn first_without_debt<C: Cpu>(&self, cpu: C, from: u32, inclusive: bool) -> Option<u32> {
        let occupied = if inclusive { self.occupied } else { self.occupied << 1 };
        let ends = self.ends & high_mask(self.offset);
        let runs = ends.count_ones();
        let mut i = from;
        while i < BLOCK_SLOTS as u32 {
            let open = ends & high_mask(i);
            let ended = runs - open.count_ones();
            let begun = rank_through(occupied, i);
            if begun <= ended {
                return Some(i);
            }
            i = cpu.select(open, begun - ended - 1) + 1;
        }
        None
    }
}

/// Edits that stay within one block, which most do: all bits are in registers, and no offset changes.
impl Table {
    /// Inserts a head into the run, behind `rank` others; `false` if that takes more than a glance.
    #[inline(always)]
    pub(crate) fn insert_at_glance<C: Cpu>(
        &mut self,
        cpu: C,
        glance: &Glance,
        rank: u32,
        value: u64,
    ) -> bool {
        let Glance { block, occupied, ends, offset, home, start, len, .. } = *glance;
        let (at, end) = (start + rank, start + len);
        // Where a run that is not there yet would begin is known only if no other block matters.
        if start >= BLOCK_SLOTS as u32 || offset >= self.lanes.offset_limit {
            return false;
        }
        let Some(free) = glance.first_without_debt(cpu, end, true) else { return false };
        if block * BLOCK_SLOTS + u64::from(free) >= self.shape.total_slots() {
            return false;
        }
        // The new last slot of the run is `end`; the old one, if there was a run, is none any more.
        let old_last = u64::from(len > 0).wrapping_shl(end.wrapping_sub(1));
        let new_ends = shift_up_one(ends, at, free) & !old_last | 1 << end;
        self.set_word(block, OCCUPIED_AT, occupied | 1 << home);
        self.set_word(block, RUNEND_AT, new_ends);
        let (width, first) = (self.shape.slot_bits(), self.shape.slot_bit(block * BLOCK_SLOTS));
        let bit_of = |slot: u32| first + (slot * width) as usize;
        packed::shift_up(self.bytes_mut(), bit_of(at), bit_of(free), width as usize);
        packed::set(self.bytes_mut(), bit_of(at), width, value);
        self.used += 1;
        true
    }

    /// Removes the head behind `rank` others from the run; `false` if that takes more than a glance.
    #[inline(always)]
    pub(crate) fn remove_at_glance<C: Cpu>(&mut self, cpu: C, glance: &Glance, rank: u32) -> bool {
        let Glance { block, occupied, ends, home, start, len, .. } = *glance;
        let (at, end) = (start + rank, start + len);
        let Some(stop) = glance.first_without_debt(cpu, at + 1, false) else { return false };
        // The new last slot of the run, if one is left, is the one before the old one.
        let new_last = u64::from(len > 1).wrapping_shl(end.wrapping_sub(2));
        self.set_word(block, OCCUPIED_AT, occupied & !(u64::from(len == 1) << home));
        self.set_word(block, RUNEND_AT, shift_down_one(ends, at + 1, stop) | new_last);
        let (width, first) = (self.shape.slot_bits(), self.shape.slot_bit(block * BLOCK_SLOTS));
        let bit_of = |slot: u32| first + (slot * width) as usize;
        packed::shift_down(self.bytes_mut(), bit_of(at + 1), bit_of(stop), width as usize);
        packed::set(self.bytes_mut(), bit_of(stop - 1), width, 0);
        self.used -= 1;
        true
    }
}
