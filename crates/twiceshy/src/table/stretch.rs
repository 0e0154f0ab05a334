//! Walking over all slots in order, a stretch at a time: what merging and resizing read with.
//!
//! # The idea
//!
//! Whether a slot ends its run is a coin toss, which a CPU guesses wrong every other time. But nearly all entries are one head
//! without extensions, and as long as such heads follow each other in a block, everything about them is in three words: the
//! quotient of a head is the lowest one left in `occupied`, and if the head is a run end, that bit goes. So a stretch is read
//! in one loop that has no branch but its end. An entry of several slots is a stretch of its own.
//!
//! # Cost
//!
//! About twenty instructions per slot.

use super::{BLOCK_QUOTIENTS, Layout, RUNEND_AT, Table};
use crate::bits::cpu::Cpu;
use crate::bits::packed::Block;
use crate::bits::word::{field_mask, low_mask};

/// The widest slots that can be read so.
pub(crate) const WIDEST: u32 = 57;

/// Reads a table from the front. See [`Table::stretches`].
pub(crate) struct Stretches<'a, B, L> {
    table: &'a Table<B, L>,
    /// The block of the next quotient, and which of its quotients are still to come.
    block: u64,
    occupied: u64,
    /// The next slot.
    slot: u64,
}

/// Neighbouring slots, which were read together.
pub(crate) enum Stretch {
    /// So many entries of one slot each, from `start` on, which were told one by one.
    Heads { start: u64, count: usize },
    /// The slots `start..end`, which are an entry of `quotient`.
    Entry { quotient: u64, start: u64, end: u64 },
}

impl<B: AsRef<[u8]>, L: Layout> Table<B, L> {
    /// All slots in use, in order.
    pub(crate) fn stretches(&self) -> Stretches<'_, B, L> {
        Stretches { table: self, block: 0, occupied: self.occupied(0), slot: 0 }
    }
}

impl<B: AsRef<[u8]>, L: Layout> Stretches<'_, B, L> {
    /// The next stretch. What is a head only is given to `tell`: its number in the stretch (less than 64), its position and
    /// its slot. With `entries` heads are entries like all others.
    ///
    /// On bytes that are not a valid table the answer is meaningless, but it ends.
    #[inline(always)]
    pub(crate) fn next<C: Cpu>(
        &mut self,
        cpu: C,
        entries: bool,
        mut tell: impl FnMut(usize, u64, u64),
    ) -> Option<Stretch> {
        let (table, shape) = (self.table, &self.table.shape);
        while self.occupied == 0 {
            self.block += 1;
            if self.block >= shape.blocks() {
                return None;
            }
            self.occupied = table.occupied(self.block);
            self.slot = self.slot.max(shape.first_slot(self.block));
        }
        let (start, first) = (self.slot, self.block * BLOCK_QUOTIENTS);
        let quotient = first + u64::from(self.occupied.trailing_zeros());
        if start >= shape.total_slots() || quotient >= shape.quotients() {
            (self.block, self.occupied) = (shape.blocks(), 0);
            return None;
        }
        let (block, i) = shape.place(start);
        let (mut ends, extension) = (table.word(block, RUNEND_AT) >> i, table.extension(block) >> i);
        let heads = if entries { 0 } else { self.heads(cpu, block, i, ends, extension) };
        let (width, block_at) = (shape.slot_bits(), shape.block_at(block));
        match Block::new(table.bytes(), block_at, L::BYTES as u8, width as u8) {
            Some(slots) if heads > 0 => {
                let (mut occupied, first) = (self.occupied, shape.position(first));
                for number in 0..heads {
                    let position = first + u64::from(occupied.trailing_zeros());
                    tell(number as usize, position, slots.fields(i + number) & field_mask(width));
                    // The lowest bit goes with the end of its run.
                    occupied &= occupied.wrapping_sub(ends & 1);
                    ends >>= 1;
                }
                self.occupied = occupied;
                self.slot = start + u64::from(heads);
                Some(Stretch::Heads { start, count: heads as usize })
            }
            _ => {
                self.slot = table.behind_extensions(start + 1).min(shape.total_slots());
                self.occupied &= self.occupied.wrapping_sub(ends & 1);
                Some(Stretch::Entry { quotient, start, end: self.slot })
            }
        }
    }

    /// How many heads without extensions there are from slot `i` of a block on, which belong to the block of the next
    /// quotient; its words from there on are given.
    #[inline(always)]
    fn heads<C: Cpu>(&self, cpu: C, block: u64, i: u32, ends: u64, extension: u64) -> u32 {
        let table = self.table;
        let heads = if extension != 0 {
            // The head before the first extension is not alone.
            extension.trailing_zeros().saturating_sub(1)
        } else {
            let goes_on = block + 1 < table.shape.blocks() && table.extension(block + 1) & 1 == 1;
            table.shape.block_slots() as u32 - i - u32::from(goes_on)
        };
        let runs = self.occupied.count_ones();
        let last = cpu.select(ends & low_mask(heads), runs - 1);
        heads.min(last + 1)
    }
}
