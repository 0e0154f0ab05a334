//! The usual edits, in few steps: one head more or less in a run that a glance found.
//!
//! They do what [`Table::plan`] and [`Table::commit`] do, with the words of a block in registers. Whatever is unusual (a run
//! that leaves its block, a saturated offset, the end of the table) is left to those: the answer is `false`, and nothing has
//! changed.

use super::glance::{Glance, Words};
use super::shift::{Moved, Slots, with_inserted, with_removed};
use super::{BLOCK_QUOTIENTS, EXTENSION_AT, Home, Layout, OCCUPIED_AT, RUNEND_AT, Run, Table, split};
use crate::bits::cpu::{Cpu, Kernel};
use crate::bits::packed::{self, Block};
use crate::bits::word::{bit, rank_below};
use crate::mem::Memory;

/// Whatever reaches over more blocks than this is not usual.
const MOST_BLOCKS: u64 = 16;

impl<L: Layout> Table<Memory, L> {
    /// Inserts a head into the run of a quotient, or starts one. `rank` looks at a run that there is and tells how many heads of
    /// it come before the new one, `None` if it must not be inserted like this. Few instructions, so that several inserts wait
    /// for memory at the same time.
    #[inline(always)]
    pub(crate) fn insert_at_glance<C: Cpu>(
        &mut self,
        cpu: C,
        home: Home,
        value: u64,
        rank: impl FnOnce(&Self, &Glance) -> Option<u32>,
    ) -> bool {
        let Some((words, bytes)) = self.words_and_slots(home.block) else { return false };
        let number = home.number as u32;
        if words.goes_on()
            || self.is_full(&words)
            || words.offset >= self.offset_limit()
            || home.block >= self.shape.whole_blocks()
        {
            return cpu.outlined(InsertInFull { table: self, home, value, rank });
        }
        // Whether there is a run is a coin toss, so most of the work comes after it.
        let (at, end, old_last);
        if bit(words.occupied, number) {
            let Some(glance) = self.look_into(cpu, home, words, bytes, true) else { return false };
            let Some(rank) = rank(self, &glance) else { return false };
            (at, end) = (glance.start + rank, glance.start + glance.len);
            old_last = 1 << (end - 1);
        } else {
            // See `run_in_block`: a virtual run end before the block's own ones.
            at = words.offset + cpu.select(words.own_ends() << 1 | 1, rank_below(words.occupied, number));
            (end, old_last) = (at, 0);
            // Extension slots of the run before may reach up to here.
            if L::EXTENDED && bit(words.extension, at % BLOCK_QUOTIENTS as u32) {
                return false;
            }
        }
        let (width, block_at) = (self.shape.slot_bits(), self.shape.block_at(home.block));
        let block = Block::bytes_mut(&mut self.bytes, block_at, L::BYTES as u8, width as u8);
        let Some(block) = block else {
            return cpu.outlined(InsertWhereShared { table: self, home, value, words, at, end, old_last });
        };
        // Before the header, since vectors may begin in it.
        if !cpu.insert_field(&self.lanes.vectors, block, L::BYTES, at * width, value) {
            let slots = Slots::of(&self.shape, &mut block[L::BYTES..]);
            let by_words = InsertByWords { slots, at, last: words.last_slot_end(), value };
            if C::INSERTS_FIELDS { cpu.outlined(by_words) } else { by_words.run(cpu) }
        }
        packed::store(block, OCCUPIED_AT, words.occupied | 1 << number);
        packed::store(block, RUNEND_AT, with_inserted(words.ends, at) & !old_last | 1 << end);
        if L::EXTENDED {
            packed::store(block, EXTENSION_AT, with_inserted(words.extension, at));
        }
        self.used += 1;
        true
    }

    /// Whether [`insert_at_glance`](Self::insert_at_glance) would do it.
    #[inline(always)]
    pub(crate) fn has_room_at_glance(&self, glance: &Glance) -> bool {
        let Glance { block, words, start, len, .. } = *glance;
        self.is_placed(glance)
            && start + len <= self.last_slot()
            && self.free_slot_near(block, words).is_some()
    }

    /// [`insert_at_glance`](Self::insert_at_glance) into any block, also one that is full: something moves to later blocks.
    #[inline(always)]
    fn insert_in_full<C: Cpu>(
        &mut self,
        cpu: C,
        home: Home,
        value: u64,
        rank: impl FnOnce(&Self, &Glance) -> Option<u32>,
    ) -> bool {
        let Some(glance) = self.glance_at(cpu, home) else { return false };
        let Glance { block, words, home, start, len, .. } = glance;
        if !self.is_placed(&glance) || start + len > self.last_slot() {
            return false;
        }
        let rank = if len == 0 { Some(0) } else { rank(self, &glance) };
        let Some(rank) = rank else { return false };
        let Some(free) = self.free_slot_near(block, words) else { return false };
        self.shift_in_from(block, start + rank, free, Moved { value, ..Moved::default() });
        let ends = self.word(block, RUNEND_AT) & !old_last(len, start + len) | 1 << (start + len);
        self.set_word(block, RUNEND_AT, ends);
        self.set_word(block, OCCUPIED_AT, words.occupied | 1 << home);
        true
    }

    /// Inserts a continuation at `at` in `run`, the run of `quotient`, if all that lies in one block.
    #[inline(always)]
    pub(super) fn insert_continuation_quickly(
        &mut self,
        quotient: u64,
        run: Run,
        at: u64,
        value: u64,
    ) -> bool {
        let (block, _) = split(quotient);
        let ((at_block, at), (end_block, _)) = (self.shape.place(at), self.shape.place(run.end));
        if at_block != block || end_block != block {
            return false;
        }
        let words = self.words(block);
        if words.offset >= u32::from(self.shape.offset_max()) {
            return false;
        }
        let Some(free) = self.free_slot_near(block, words) else { return false };
        self.shift_in_from(block, at, free, Moved { value, end: 0, extension: 1 });
        true
    }

    /// Removes the head after `rank` others from the run.
    #[inline(always)]
    pub(crate) fn remove_at_glance<C: Cpu>(&mut self, cpu: C, glance: &Glance, rank: u32) -> bool {
        let Glance { block, words, home, start, len, .. } = *glance;
        let (at, (used, slots)) = (start + rank, self.used_of(&words));
        if used >= slots {
            return cpu.outlined(RemoveFromFull { table: self, glance: *glance, rank });
        }
        self.change_block(block, |header, slots| {
            packed::store(header, OCCUPIED_AT, words.occupied & !(u64::from(len == 1) << home));
            packed::store(header, RUNEND_AT, with_removed(words.ends, at) | new_last(len, start));
            if L::EXTENDED {
                packed::store(header, EXTENSION_AT, with_removed(words.extension, at));
            }
            slots.remove(at, used - 1, 0);
        });
        self.used -= 1;
        self.crowd.given_back += 1;
        true
    }

    /// [`remove_at_glance`](Self::remove_at_glance) from a block that is full: later blocks may have something of it.
    #[inline(always)]
    fn remove_from_full(&mut self, glance: &Glance, rank: u32) -> bool {
        let Glance { block, words, home, start, len, .. } = *glance;
        let Some((last_block, last)) = self.last_that_moves(block, words) else { return false };
        let (mut follows, last_slot) = (Moved::default(), self.last_slot());
        for later in (block + 1..=last_block).rev() {
            follows = self.shift_out(later, 0, if later == last_block { last } else { last_slot }, follows);
            self.set_offset(later, self.offset_byte(later) - 1);
        }
        self.shift_out(block, start + rank, if last_block == block { last } else { last_slot }, follows);
        let ends = self.word(block, RUNEND_AT) | new_last(len, start);
        self.set_word(block, RUNEND_AT, ends);
        self.set_word(block, OCCUPIED_AT, words.occupied & !(u64::from(len == 1) << home));
        self.used -= 1;
        self.crowd.given_back += 1;
        true
    }

    /// The first free slot after the runs of the block, and its block. `None` if that is far away, or there is none.
    #[inline(always)]
    fn free_slot_near(&self, block: u64, words: Words) -> Option<(u64, u32)> {
        let (mut last, (mut free, slots)) = (block, self.used_of(&words));
        while free >= slots {
            last += 1;
            if last >= self.shape.blocks() || last - block > MOST_BLOCKS {
                return None;
            }
            let words = self.words(last);
            if words.offset >= u32::from(self.shape.offset_max()) {
                return None;
            }
            (free, _) = self.used_of(&words);
        }
        (self.shape.first_slot(last) + u64::from(free) < self.shape.total_slots()).then_some((last, free))
    }

    /// The last slot that moves down when a run of the block gets shorter, and its block. `None` if that is far away.
    #[inline(always)]
    fn last_that_moves(&self, block: u64, words: Words) -> Option<(u64, u32)> {
        let (mut last, (mut used, slots)) = (block, self.used_of(&words));
        while used >= slots && last + 1 < self.shape.blocks() {
            let words = self.words(last + 1);
            if words.offset >= u32::from(self.shape.offset_max()) || last - block >= MOST_BLOCKS {
                return None;
            }
            if words.offset == 0 {
                break;
            }
            (last, (used, _)) = (last + 1, self.used_of(&words));
        }
        Some((last, used - 1))
    }

    /// Puts a slot at `at` into the block. All that lies after it moves up, onto the slot that is `free`.
    #[inline(always)]
    fn shift_in_from(&mut self, block: u64, at: u32, (last, free): (u64, u32), slot: Moved) {
        let last_slot = self.last_slot();
        let mut moved = self.shift_in(block, at, if last == block { free } else { last_slot }, slot);
        for later in block + 1..=last {
            moved = self.shift_in(later, 0, if later == last { free } else { last_slot }, moved);
            self.set_offset(later, self.offset_byte(later) + 1);
        }
        self.used += 1;
    }
}

/// The old last slot of a run of `len` slots up to `end` that gets one more, as a bit; none, if there was no run.
#[inline(always)]
fn old_last(len: u32, end: u32) -> u64 {
    u64::from(len > 0).wrapping_shl(end.wrapping_sub(1))
}

/// The new last slot of a run of `len` slots from `start` that loses one, as a bit; none, if it had one.
#[inline(always)]
fn new_last(len: u32, start: u32) -> u64 {
    u64::from(len > 1).wrapping_shl((start + len).wrapping_sub(2))
}

struct InsertInFull<'a, L, F> {
    table: &'a mut Table<Memory, L>,
    home: Home,
    value: u64,
    rank: F,
}

impl<L: Layout, F: FnOnce(&Table<Memory, L>, &Glance) -> Option<u32>> Kernel for InsertInFull<'_, L, F> {
    type Output = bool;
    #[inline(always)]
    fn run<C: Cpu>(self, cpu: C) -> bool {
        self.table.insert_in_full(cpu, self.home, self.value, self.rank)
    }
}

/// The end of [`Table::insert_at_glance`] in a table that others read at the same time.
struct InsertWhereShared<'a, L> {
    table: &'a mut Table<Memory, L>,
    home: Home,
    value: u64,
    words: Words,
    at: u32,
    end: u32,
    old_last: u64,
}

impl<L: Layout> Kernel for InsertWhereShared<'_, L> {
    type Output = bool;
    #[inline(always)]
    fn run<C: Cpu>(self, _: C) -> bool {
        let Self { table, home, value, words, at, end, old_last } = self;
        let (shape, block_at) = (table.shape, table.shape.block_at(home.block));
        let Some(plot) = table.bytes.plot() else { return false };
        plot.disturb();
        let toggle = |field_at, bits| plot.toggle((block_at + field_at) * 8, bits);
        let ends = with_inserted(words.ends, at) & !old_last | 1 << end;
        toggle(OCCUPIED_AT, !words.occupied & 1 << home.number);
        toggle(RUNEND_AT, words.ends ^ ends);
        if L::EXTENDED {
            toggle(EXTENSION_AT, words.extension ^ with_inserted(words.extension, at));
        }
        let slots_end = (block_at + shape.block_bytes()) * 8;
        plot.insert(shape.bit_of(home.block, at), slots_end, shape.slot_bits(), value);
        table.used += 1;
        true
    }
}

struct InsertByWords<'a> {
    slots: Slots<'a>,
    at: u32,
    last: u32,
    value: u64,
}

impl Kernel for InsertByWords<'_> {
    type Output = ();
    #[inline(always)]
    fn run<C: Cpu>(self, _: C) {
        self.slots.insert(self.at, self.last, self.value);
    }
}

struct RemoveFromFull<'a, L> {
    table: &'a mut Table<Memory, L>,
    glance: Glance,
    rank: u32,
}

impl<L: Layout> Kernel for RemoveFromFull<'_, L> {
    type Output = bool;
    #[inline(always)]
    fn run<C: Cpu>(self, _: C) -> bool {
        self.table.remove_from_full(&self.glance, self.rank)
    }
}
