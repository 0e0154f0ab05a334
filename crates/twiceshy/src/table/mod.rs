//! The quotient table: the one data structure under every filter.
//!
//! # The idea
//!
//! A fingerprint is split into a *quotient* (its first `q` bits) and the rest. The table is an array of slots, as many as there
//! are quotients or [fewer](Size), plus a spill area after the last. What belongs to one quotient lies in consecutive slots, its
//! *run*. Every 64 quotients and their slots form a block, whose first slot is the *home* of all its quotients: there their runs lie, in order
//! and one directly after the other. If they are more than fit, they go on in the next block, whose own runs lie after them.
//! Two bits per slot say which slot belongs to whom:
//!
//! - `occupied[i]`: quotient `i` of the block has a run;
//! - `runend[i]`: slot `i` holds the last entry of some run;
//!
//! and a number per block, the
//!
//! - `offset`: how many slots at the start of the block belong to runs of quotients of earlier blocks.
//!
//! After the offset, the k-th run end is that of the k-th occupied quotient, so a run is found by rank and select. A stretch of
//! slots in use is a *cluster*; in a block they lie at its start, and the first free slot is the one after the last run.
//!
//! ```text
//! quotient   0   1   2   3   4   5   6   7
//! occupied   0   1   0   1   1   0   0   0         the first slots of a block whose offset is 0
//! slot       1a  1b  3a  3b  4a  -   -   -
//! runend     0   1   0   1   1   0   0   0
//! ```
//!
//! # One block
//!
//! ```text
//! byte 0   1            9            17                                    17 + 8w
//!      +---+------------+------------+--------------------------------------+
//!      |off|  occupied  |   runend   |  64 slots of w bits, packed          |   w words
//!      +---+------------+------------+--------------------------------------+
//!      with extension bits there are 8 more bytes before the slots: | extension |
//! ```
//!
//! Blocks follow each other without gaps; everything is little-endian and unaligned, and a table in
//! memory is byte for byte the body of a filter file.
//!
//! # Entries of several slots
//!
//! With the optional extension word an entry may span several slots, and the two bits of a slot read:
//!
//! | extension | runend | the slot is |
//! |---|---|---|
//! | 0 | 0 | the head of an entry |
//! | 0 | 1 | the head of the run's last entry |
//! | 1 | 0 | a continuation of the entry's bit string |
//! | 1 | 1 | payload of the entry |
//!
//! Run ends are then `runend & !extension`, and a run ends after the trailing extension slots of its
//! last entry. What the slots mean is the business of a codec; the table only moves them.
//!
//! # Changing it
//!
//! There is one complete way, [`Table::plan`] and [`Table::commit`]: replace some slots of one run by
//! others. `plan` finds the free slots it needs and fails with [`Full`] before anything is written;
//! `commit` cannot fail. For the edits that are most common, one head more or less in a short run, `quick.rs`
//! has shortcuts that write the same bytes or decline. Unused slots and their bits are always 0, so equal
//! contents in equal shapes are equal bytes, whatever the history.
//!
//! # Cost
//!
//! `w + 2.125` bits per slot (`w + 3.125` with extension bits), if there are as many slots as quotients. A query touches one or two cache lines. An insert shifts the
//! slots after it in its block, and if the block is full, those of the next one too.
//!
//! # Source
//!
//! The rank-and-select quotient filter of Pandey et al. as described in chapter 3 of the thesis
//! *Practical Adaptive Quotient Filter*, and the extension bits of section 4 of *Adaptive Quotient
//! Filters*. We deviate in four points. There, every quotient has a home slot of its own, and a run begins there or after the
//! run before; with one home for a block there are no gaps to reason about, queries compute less, and most edits stay in one
//! block. Our `offset` counts slots taken by earlier blocks instead of
//! pointing at the run end of the block's first quotient: it is never negative and needs no special
//! cases. It saturates (at 255, or less in tests); a saturated offset is recomputed by walking from an
//! earlier block. And a run is found with a virtual run end in front of the block, so that one `pdep`
//! yields both its ends.

mod address;
mod crowd;
mod edit;
mod glance;
mod iter;
mod layout;
mod load;
mod locate;
mod prefix;
mod quick;
mod respace;
mod shape;
mod shift;
mod size;
mod source;
mod stretch;
#[cfg(test)]
mod tests;
mod validate;

pub(crate) use address::{Address, Home, Part};
pub(crate) use edit::{Edit, Kind, Slot};
pub(crate) use glance::Glance;
pub(crate) use iter::Runs;
pub(crate) use layout::{Extended, Layout, Plain};
pub(crate) use load::Loader;
pub(crate) use locate::Run;
pub(crate) use shape::{MAX_LOAD_PERCENT, Shape};
pub(crate) use size::Size;
pub(crate) use source::{Located, Source};
pub(crate) use stretch::{Stretch, Stretches, WIDEST};

use std::marker::PhantomData;

use crate::bits::cpu::Cpu;
use crate::bits::packed;
use crate::bits::word::{bit, with_bit};
use crate::mem::{self, Memory, OutOfMemory};
use crowd::Crowd;
use glance::Lanes;

/// Quotients of a block, one per bit of a metadata word. It has as many slots, or [fewer](Size).
pub(crate) const BLOCK_QUOTIENTS: u64 = 64;

/// Bytes of a block's fields, in order. The slots follow.
const OFFSET_AT: usize = 0;
const OCCUPIED_AT: usize = OFFSET_AT + 1;
const RUNEND_AT: usize = OCCUPIED_AT + 8;
const EXTENSION_AT: usize = RUNEND_AT + 8;

/// There is no room in a table that is being filled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct NoRoom;

/// Why there is no room for an edit. Small enough for a register.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Full {
    /// As many slots are in use as may be.
    Slots,
    /// There is no free slot up to the end of the table.
    End {
        /// How many the edit takes.
        slots: u32,
    },
    /// The nearest free slot is so far away that it is too much work to shift everything up to it.
    Far {
        /// How many slots that are.
        reach: u32,
    },
    /// All edits in a crowd together were too much work.
    Work,
}

/// What an edit may take.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Limits {
    /// How many slots may be in use.
    pub(crate) slots: u64,
    /// How many slots may be shifted. What takes about as long: to search a run of a quarter of that, and to find a run that
    /// lies sixteen times as many slots after its home.
    pub(crate) reach: u64,
    /// How many slots edits in a crowd may have shifted, or gone over, since the table was made.
    pub(crate) work: u64,
}

impl Limits {
    /// Whatever is possible.
    pub(crate) const NONE: Self = Self { slots: u64::MAX, reach: u64::MAX, work: u64::MAX };

    /// No edit shifts more slots than this, which takes about a millisecond.
    pub(crate) const FARTHEST: u64 = 1 << 20;

    /// For an entry of so many slots, which reaches as many times as far without being in a crowd.
    #[inline(always)]
    fn for_entry(self, slots: u64) -> Self {
        let reach = self.reach.saturating_mul(slots.max(1)).min(self.reach.max(Self::FARTHEST));
        Self { reach, ..self }
    }
}

/// A quotient table over any bytes: [`Memory`] to change it, `&[u8]` to read it in place.
pub(crate) struct Table<B = Memory, L = Plain> {
    bytes: B,
    shape: Shape,
    used: u64,
    /// These two follow from the shape.
    address: Address,
    lanes: Lanes,
    crowd: Crowd,
    /// Whether nobody has checked the bytes as a whole.
    is_view: bool,
    layout: PhantomData<L>,
}

impl<L: Layout> Table<Memory, L> {
    /// An empty table, whose blocks have the layout of its type.
    pub(crate) fn new(shape: Shape) -> Result<Self, OutOfMemory> {
        let shape = shape.with_layout::<L>();
        let len = shape.body_bytes().ok_or_else(OutOfMemory::too_large)?;
        Ok(Self::over(Memory::zeroed(len)?, shape, 0))
    }

    /// A copy with a larger spill area: `slots` more fit there, whatever lies where. It is at least twice as large.
    pub(crate) fn extended(&self, slots: u64) -> Result<Self, OutOfMemory> {
        let mut copy = Self::new(self.shape.extended(slots))?;
        copy.bytes[..self.bytes.len()].copy_from_slice(&self.bytes);
        (copy.used, copy.crowd) = (self.used, self.crowd);
        Ok(copy)
    }

    /// Removes everything.
    pub(crate) fn clear(&mut self) {
        self.bytes.clear();
        self.used = 0;
        self.crowd = Crowd::default();
    }

    /// Where the bytes live.
    #[inline(always)]
    pub(crate) fn memory(&mut self) -> &mut Memory {
        &mut self.bytes
    }

    #[inline(always)]
    fn bytes_mut(&mut self) -> &mut [u8] {
        &mut self.bytes
    }

    #[inline(always)]
    fn set_offset(&mut self, block: u64, slots: u64) {
        let at = self.shape.block_at(block) + OFFSET_AT;
        let offset = slots.min(u64::from(self.shape.offset_max())) as u8;
        self.bytes.change(at, 1, |byte| byte[0] = offset);
    }

    #[inline(always)]
    fn set_word(&mut self, block: u64, field_at: usize, word: u64) {
        let at = self.shape.block_at(block) + field_at;
        self.bytes.change(at, 8, |bytes| packed::store(bytes, 0, word));
    }

    #[inline(always)]
    fn set_bit(&mut self, slot: u64, field_at: usize, value: bool) {
        let (block, i) = self.shape.place(slot);
        let word = self.word(block, field_at);
        self.set_word(block, field_at, with_bit(word, i, value));
    }

    #[inline(always)]
    fn set_occupied(&mut self, quotient: u64, value: bool) {
        let (block, i) = split(quotient);
        let word = self.occupied(block);
        self.set_word(block, OCCUPIED_AT, with_bit(word, i, value));
    }

    #[inline(always)]
    fn set_slot(&mut self, slot: u64, value: u64) {
        let (at, width) = (self.shape.slot_bit(slot), self.shape.slot_bits());
        self.bytes.change(at / 8, 9, |bytes| packed::set(bytes, at % 8, width, value));
    }
}

impl<B: AsRef<[u8]>, L: Layout> Table<B, L> {
    /// A table over existing bytes, which may be anything: reading it ends without a panic or an
    /// endless loop, and [`validate`](Table::validate) tells whether it makes sense. `None` if the
    /// bytes are not as many as the shape needs, or the shape is of another layout.
    pub(crate) fn from_bytes(bytes: B, shape: Shape, used: u64) -> Option<Self> {
        let fits = Some(bytes.as_ref().len()) == shape.body_bytes() && shape == shape.with_layout::<L>();
        fits.then(|| Self::over(bytes, shape, used))
    }

    fn over(bytes: B, shape: Shape, used: u64) -> Self {
        let (address, lanes) = (Address::new(&shape), Lanes::new(&shape));
        Self {
            bytes,
            shape,
            used,
            address,
            lanes,
            crowd: Crowd::default(),
            is_view: false,
            layout: PhantomData,
        }
    }

    /// This table, and whether it may make no sense for as long as it lives: all others are validated before they are used.
    pub(crate) fn viewed(self, is_view: bool) -> Self {
        Self { is_view, ..self }
    }

    /// All that it takes to read this table, but for its bytes, and for which part of all hashes it is.
    pub(crate) fn frame(&self) -> Table<(), L> {
        let shape = self.shape.for_part(Part::new(0, self.shape.part().bits()));
        Table { shape, used: 0, ..self.with_bytes(()) }
    }

    /// This table over borrowed bytes.
    pub(crate) fn borrowed(&self) -> Table<&[u8], L> {
        // A copy of what is known of crowds would not stay in registers.
        self.with_bytes(self.bytes())
    }

    /// A copy that can be changed.
    pub(crate) fn try_clone(&self) -> Result<Table<Memory, L>, OutOfMemory> {
        let copy = self.with_bytes(Memory::copy_of(self.bytes())?);
        Ok(Table { crowd: self.crowd, ..copy })
    }

    #[inline(always)]
    pub(crate) fn bytes(&self) -> &[u8] {
        self.bytes.as_ref()
    }
}

impl<B, L: Layout> Table<B, L> {
    /// This table over other bytes, without what is known of crowds.
    pub(crate) fn with_bytes<D>(&self, bytes: D) -> Table<D, L> {
        let Self { shape, used, address, lanes, is_view, layout, .. } = *self;
        Table { bytes, shape, used, address, lanes, crowd: Crowd::default(), is_view, layout }
    }

    #[inline(always)]
    pub(crate) fn shape(&self) -> &Shape {
        &self.shape
    }

    /// Where hashes belong.
    #[inline(always)]
    pub(crate) fn address(&self) -> Address {
        self.address
    }
}

impl<B: Located, L: Layout> Table<B, L> {
    /// Asks for all of the block of a hash, given its first 64 bits, and the next header: it is to be near enough when
    /// [`prefetch`](Self::prefetch) asks for what is read of it.
    #[inline(always)]
    pub(crate) fn prefetch_far<C: Cpu>(&self, cpu: C, hash: u64) {
        let block_at = self.shape.block_at(self.address.home(cpu, hash).block);
        for at in [0, 64, self.shape.block_bytes()] {
            mem::prefetch_far(self.bytes.start(), block_at + at);
        }
    }

    /// Asks for the cache lines that a lookup of a hash, given its first 64 bits, will most likely read.
    #[inline(always)]
    pub(crate) fn prefetch<C: Cpu>(&self, cpu: C, hash: u64) {
        let block_at = self.shape.block_at(self.address.home(cpu, hash).block);
        mem::prefetch(self.bytes.start(), block_at);
        mem::prefetch(self.bytes.start(), block_at + 64);
    }

    /// Asks for the header that a hash needs.
    #[inline(always)]
    pub(crate) fn prefetch_header<C: Cpu>(&self, cpu: C, hash: u64) {
        mem::prefetch(self.bytes.start(), self.shape.block_at(self.address.home(cpu, hash).block));
    }

    /// The byte that a run is near if most slots are in use: as far into the block as its quotient.
    #[inline(always)]
    fn likely_at(&self, home: Home) -> usize {
        let in_block = home.number as usize * self.shape.slots_bytes() / BLOCK_QUOTIENTS as usize + L::BYTES;
        self.shape.block_at(home.block) + in_block
    }

    /// Where a hash belongs, whose run is looked up now: asks for the cache lines that will be read, apart from the header's,
    /// which is read at once. A run lies near the slot with the number of its quotient, and the next block's header tells the end
    /// of a run that leaves the block: hence a second line.
    #[inline(always)]
    pub(crate) fn home_now<C: Cpu>(&self, cpu: C, hash: u64) -> Home {
        let home = self.address.home(cpu, hash);
        let likely_at = self.likely_at(home);
        mem::prefetch(self.bytes.start(), likely_at);
        mem::prefetch(self.bytes.start(), likely_at + 48);
        home
    }

    /// Asks for the cache lines that an edit may read and shift: those of the block and of the next header.
    #[inline(always)]
    pub(crate) fn prefetch_block(&self, home: Home) {
        let block_at = self.shape.block_at(home.block);
        for line in 0..=2 {
            mem::prefetch(self.bytes.start(), block_at + line * 64);
        }
    }
}

impl<B: Source, L: Layout> Table<B, L> {
    /// Whether nobody has checked the bytes as a whole.
    pub(crate) fn is_view(&self) -> bool {
        self.is_view
    }

    /// How many slots are in use.
    pub(crate) fn used(&self) -> u64 {
        self.used
    }

    #[inline(always)]
    pub(crate) fn slot(&self, slot: u64) -> u64 {
        self.bytes.field(self.shape.slot_bit(slot), self.shape.slot_bits())
    }

    #[inline(always)]
    fn word(&self, block: u64, field_at: usize) -> u64 {
        self.bytes.word(self.shape.block_at(block) + field_at)
    }

    #[inline(always)]
    fn occupied(&self, block: u64) -> u64 {
        self.word(block, OCCUPIED_AT)
    }

    /// The extension word, 0 for tables without.
    #[inline(always)]
    fn extension(&self, block: u64) -> u64 {
        if L::EXTENDED { self.word(block, EXTENSION_AT) } else { 0 }
    }

    /// Heads of last entries.
    #[inline(always)]
    fn run_ends(&self, block: u64) -> u64 {
        // A table that makes no sense may have ends where there are no slots.
        self.word(block, RUNEND_AT) & !self.extension(block) & self.shape.slots_of_word()
    }

    #[inline(always)]
    fn is_extension(&self, slot: u64) -> bool {
        let (block, i) = self.shape.place(slot);
        bit(self.extension(block), i)
    }

    /// The kind of a slot in use.
    #[inline(always)]
    pub(crate) fn kind(&self, slot: u64) -> Kind {
        let (block, i) = self.shape.place(slot);
        match (bit(self.extension(block), i), bit(self.word(block, RUNEND_AT), i)) {
            (false, _) => Kind::Head,
            (true, false) => Kind::Continuation,
            (true, true) => Kind::Payload,
        }
    }

    /// The stored offset of a block.
    #[inline(always)]
    fn offset_byte(&self, block: u64) -> u64 {
        u64::from(self.bytes.byte(self.shape.block_at(block) + OFFSET_AT))
    }

    /// The offset of a block, `None` if it is saturated.
    #[inline(always)]
    fn offset(&self, block: u64) -> Option<u64> {
        let offset = self.offset_byte(block);
        (offset < u64::from(self.shape.offset_max())).then_some(offset)
    }
}

/// Block and position in the block of a quotient.
#[inline(always)]
const fn split(quotient: u64) -> (u64, u32) {
    (quotient / BLOCK_QUOTIENTS, quotient as u32 % BLOCK_QUOTIENTS as u32)
}
