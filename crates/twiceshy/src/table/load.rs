//! Filling a table from the front: bulk loading, merging and resizing are one sequential pass.
//!
//! Entries come in the order of their quotients and are written one after the other; nothing is
//! shifted. The words that are being written (the occupied bits of the block of the quotient, the run ends
//! of the block of the slot, and the slots themselves) are kept aside until they are complete, so that
//! nearly every word of the table is stored once and never read.

use super::{
    Address, EXTENSION_AT, Kind, Layout, NoRoom, OCCUPIED_AT, Plain, RUNEND_AT, Shape, Slot, Table, split,
};
use crate::bits::packed;
use crate::mem::{Memory, OutOfMemory};

/// No quotient is as large.
const NONE: u64 = u64::MAX;

/// A table that is being filled.
pub(crate) struct Loader<L = Plain> {
    table: Table<Memory, L>,
    /// How many slots may be used, up to where that is, given the gaps so far, and the end of the table.
    most: u64,
    limit: u64,
    total: u64,
    /// The smaller of the two.
    bound: u64,
    /// How many bytes the table may have with more spill slots; 0 if it stays as it is.
    most_bytes: u64,
    /// The quotient of the run that is being written, [`NONE`] before the first.
    quotient: u64,
    /// The block of that quotient, and its occupied bits. The offsets up to it are known.
    home_block: u64,
    occupied: u64,
    /// The first slot after what was written.
    free: u64,
    /// How often a quotient was smaller than the one before. [`NONE`] is larger than the first.
    descents: u64,
    /// The head of the last entry: its block, and its bit there.
    head: (u64, u64),
    /// A block and its run ends so far: that of the last run end.
    ends_block: u64,
    ends: u64,
    slots: SlotWriter,
}

impl<L: Layout> Loader<L> {
    /// An empty table that takes up to `limit` slots.
    pub(crate) fn new(shape: Shape, limit: u64) -> Result<Self, OutOfMemory> {
        // There is never room for more, and no sum of slots overflows.
        let most = limit.min(u64::MAX / 2);
        let table = Table::new(shape)?;
        Ok(Self {
            slots: SlotWriter::new(&table.shape, 0),
            total: table.shape.total_slots(),
            bound: most.min(table.shape.total_slots()),
            table,
            most,
            limit: most,
            most_bytes: 0,
            quotient: NONE,
            home_block: 0,
            occupied: 0,
            free: 0,
            descents: 0,
            head: (0, 1),
            ends_block: 0,
            ends: 0,
        })
    }

    /// With more spill slots when there are too few, as long as the table has no more than so many bytes. With hashes
    /// that are evenly distributed that is never needed, unless they come in order and there are more to come.
    pub(crate) fn extending(self, most_bytes: u64) -> Self {
        Self { most_bytes, ..self }
    }

    pub(crate) fn shape(&self) -> &Shape {
        &self.table.shape
    }

    /// Where hashes belong.
    #[inline(always)]
    pub(crate) fn address(&self) -> Address {
        self.table.address
    }

    /// How many slots are in use.
    pub(crate) fn used(&self) -> u64 {
        let gaps = self.limit - self.most;
        self.free - gaps
    }

    /// Makes sure that runs of these quotients and numbers of slots, in order, fit one after the other.
    pub(crate) fn make_room(&mut self, runs: impl IntoIterator<Item = (u64, u64)>) -> Result<(), NoRoom> {
        let (mut free, mut room) = (self.free, self.limit - self.free);
        for (quotient, slots) in runs {
            free = free.max(self.table.shape.home_of(quotient)) + slots;
            room = room.checked_sub(slots).ok_or(NoRoom)?;
        }
        if free > self.total { self.extend(free) } else { Ok(()) }
    }

    #[cold]
    #[inline(never)]
    fn make_room_at(&mut self, start: u64, slots: u64) -> Result<(), NoRoom> {
        if self.free + slots > self.limit {
            return Err(NoRoom);
        }
        if start + slots > self.total { self.extend(start + slots) } else { Ok(()) }
    }

    /// Makes the table end at slot `end` or later.
    #[cold]
    fn extend(&mut self, end: u64) -> Result<(), NoRoom> {
        let more = end - self.total;
        let bytes = self.table.shape.extended(more).body_bytes();
        if bytes.is_none_or(|bytes| bytes as u64 > self.most_bytes) {
            return Err(NoRoom);
        }
        self.table = self.table.extended(more).map_err(|_| NoRoom)?;
        self.total = self.table.shape.total_slots();
        self.bound = self.limit.min(self.total);
        if end > self.total { Err(NoRoom) } else { Ok(()) }
    }

    /// Appends an entry, or nothing if it does not fit. Quotients must not decrease; within a run the
    /// order is the caller's.
    pub(crate) fn push(&mut self, quotient: u64, slots: &[Slot]) -> Result<(), NoRoom> {
        self.open_run(quotient, slots.len() as u64)?;
        for slot in slots {
            match slot.kind {
                Kind::Head => self.head = self.slots.place(),
                kind => {
                    self.table.set_bit(self.free, EXTENSION_AT, true);
                    if kind == Kind::Payload {
                        self.mark_end(self.slots.place(), true);
                    }
                }
            }
            self.slots.write(&mut self.table, slot.value);
            self.free += 1;
        }
        Ok(())
    }

    /// [`push`](Loader::push) for an entry of one slot.
    #[inline(always)]
    pub(crate) fn push_head(&mut self, quotient: u64, value: u64) -> Result<(), NoRoom> {
        self.open_run(quotient, 1)?;
        self.head = self.slots.place();
        self.slots.write(&mut self.table, value);
        self.free += 1;
        Ok(())
    }

    /// Goes to where an entry of `quotient` with this many slots belongs.
    ///
    /// Whether the entry starts a run is a coin toss, so there is no branch on it: what has to be done for
    /// a new run only is done for every entry, to no effect.
    #[inline(always)]
    fn open_run(&mut self, quotient: u64, slots: u64) -> Result<(), NoRoom> {
        self.descents += u64::from(quotient < self.quotient);
        let start = self.free.max(self.table.shape.home_of(quotient));
        if start + slots > self.bound {
            self.make_room_at(start, slots)?;
        }
        // The run before has ended. Before the first there is none, and `NONE` is not less.
        self.mark_end(self.head, self.quotient < quotient);
        let (block, i) = split(quotient);
        if block != self.home_block {
            self.go_home(block);
        }
        if start != self.free {
            self.slots.store(&mut self.table);
            self.slots = SlotWriter::new(&self.table.shape, start);
            self.slots.word = self.slots.load(&self.table);
            self.limit += start - self.free;
            self.bound = self.limit.min(self.total);
            self.free = start;
        }
        self.occupied |= 1 << i;
        self.quotient = quotient;
        Ok(())
    }

    /// Marks a slot if it `is_end`.
    #[inline(always)]
    fn mark_end(&mut self, (block, bit): (u64, u64), is_end: bool) {
        if block != self.ends_block {
            self.table.set_word(self.ends_block, RUNEND_AT, self.ends);
            self.ends_block = block;
            // A run's last head may lie in an earlier block than payload that was marked before.
            self.ends = self.table.word(block, RUNEND_AT);
        }
        self.ends |= if is_end { bit } else { 0 };
    }

    /// Goes to a later block of quotients. All runs of earlier ones are written, so its offset and those
    /// before it are known.
    fn go_home(&mut self, block: u64) {
        self.table.set_word(self.home_block, OCCUPIED_AT, self.occupied);
        self.occupied = 0;
        for block in self.home_block + 1..=block {
            self.table.set_offset(block, self.free.saturating_sub(self.table.shape.first_slot(block)));
        }
        self.home_block = block;
    }

    /// The table.
    ///
    /// # Panics
    ///
    /// If quotients did not come in order: then the table would have lost entries. That is checked here, at no cost,
    /// and not where it happens.
    pub(crate) fn finish(mut self) -> Table<Memory, L> {
        assert!(self.descents <= 1, "a table was filled out of order");
        self.mark_end(self.head, self.quotient != NONE);
        self.table.set_word(self.ends_block, RUNEND_AT, self.ends);
        self.slots.store(&mut self.table);
        self.go_home(self.table.shape.blocks() - 1);
        self.table.used = self.used();
        self.table
    }
}

/// Writes slots one after the other, a word at a time.
struct SlotWriter {
    /// The block of the next slot, its bit there, and the bit after the last.
    block: u64,
    next: u64,
    end: u64,
    /// The byte of the present word.
    at: usize,
    /// The present word and how many of its bits are done.
    word: u64,
    bits: u32,
}

impl SlotWriter {
    /// Goes on at `slot`, with an empty word.
    fn new(shape: &Shape, slot: u64) -> Self {
        let (block, i) = shape.place(slot);
        let bit = i * shape.slot_bits();
        let at = shape.block_at(block) + shape.slots_at() + (bit / 64 * 8) as usize;
        // There is none after the last of 64.
        let end = shape.slots_of_word().wrapping_add(1);
        Self { block, next: 1 << i, end, at, word: 0, bits: bit % 64 }
    }

    /// The block of the next slot, and its bit there.
    #[inline(always)]
    fn place(&self) -> (u64, u64) {
        (self.block, self.next)
    }

    #[inline(always)]
    fn write(&mut self, table: &mut Table<Memory, impl Layout>, value: u64) {
        let width = table.shape.slot_bits();
        self.word |= value << self.bits;
        self.bits += width;
        if self.bits >= 64 {
            packed::store(table.bytes_mut(), self.at, self.word);
            self.bits -= 64;
            // What did not fit; nothing of a value that ended with the word.
            self.word = value.unbounded_shr(width - self.bits);
            self.at += 8;
        }
        self.next <<= 1;
        if self.next == self.end {
            self.store(table);
            (self.block, self.next) = (self.block + 1, 1);
            self.at = table.shape.block_at(self.block) + table.shape.slots_at();
            (self.word, self.bits) = (0, 0);
        }
    }

    /// Stores the present word, if there is anything in it.
    fn store(&self, table: &mut Table<Memory, impl Layout>) {
        if self.bits > 0 {
            packed::store(table.bytes_mut(), self.at, self.word);
        }
    }

    /// The present word as it is in the table: it may hold slots from before a gap.
    fn load(&self, table: &Table<Memory, impl Layout>) -> u64 {
        packed::load(table.bytes(), self.at)
    }
}
