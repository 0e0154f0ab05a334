//! The measures of a table: how many slots, how wide, and where each byte lies.

use super::{BLOCK_QUOTIENTS, Layout, Part, Plain, Size};
use crate::bits::packed::PADDING;
use crate::bits::word::low_mask;

/// Offsets fit a byte; the largest value means "at least this, walk to find out".
const OFFSET_MAX: u8 = u8::MAX;

/// The measures of a table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Shape {
    quotient_bits: u8,
    slot_bits: u8,
    block_slots: u8,
    has_extensions: bool,
    offset_max: u8,
    part: Part,
    spill_slots: u32,
    /// The spill slots before any were added; of standard tables those of their size.
    usual_spill: u32,
    /// What follows is kept because every access needs it. Bytes of a block before its slots, of these, and of the whole
    /// block.
    slots_at: u16,
    slots_bytes: u16,
    block_bytes: u16,
    slots_words: u16,
    slots: u64,
    slot_limit: u64,
    total_slots: u64,
    blocks: u64,
    whole_blocks: u64,
    /// To divide by the slots of a block: `2^64` divided by them, and 1 more.
    reciprocal: u64,
}

/// The largest share of the slots that may be in use, in percent: beyond it, clusters get so long that every update is slow.
pub(crate) const MAX_LOAD_PERCENT: u64 = 95;

impl Shape {
    pub(crate) const MAX_QUOTIENT_BITS: u32 = Size::MAX_QUOTIENT_BITS;

    /// A table of a size, or of `2^quotient_bits` slots, of `slot_bits` bits, with a spill area after them.
    ///
    /// # Panics
    ///
    /// If there are not 1 to 48 quotient bits, or 1 to 64 slot bits.
    pub(crate) fn new(size: impl Into<Size>, slot_bits: u32) -> Self {
        let size = size.into();
        let quotient_bits = size.quotient_bits();
        assert!((1..=Self::MAX_QUOTIENT_BITS).contains(&quotient_bits), "quotient bits: {quotient_bits}");
        assert!((1..=64).contains(&slot_bits), "slot bits: {slot_bits}");
        Self {
            quotient_bits: quotient_bits as u8,
            slot_bits: slot_bits as u8,
            block_slots: size.block_slots() as u8,
            has_extensions: false,
            offset_max: OFFSET_MAX,
            part: Part::ALL,
            spill_slots: default_spill(size),
            usual_spill: default_spill(size),
            slots_at: Plain::BYTES as u16,
            slots_bytes: 0,
            block_bytes: 0,
            slots_words: 0,
            slots: 0,
            slot_limit: 0,
            total_slots: 0,
            blocks: 0,
            whole_blocks: 0,
            reciprocal: 0,
        }
        .measured()
    }

    /// With the measures that follow from the others.
    fn measured(mut self) -> Self {
        // Blocks are whole bytes, since their slots are a multiple of eight.
        self.slots_bytes = u16::from(self.block_slots / 8) * u16::from(self.slot_bits);
        self.block_bytes = self.slots_at + self.slots_bytes;
        self.slots_words = self.slots_bytes.div_ceil(8);
        self.slots = (u64::from(self.block_slots) << self.quotient_bits) / BLOCK_QUOTIENTS;
        // There are at most 2^48 quotients, so this does not overflow.
        self.slot_limit = self.slots * MAX_LOAD_PERCENT / 100;
        self.total_slots = self.slots + u64::from(self.spill_slots);
        self.blocks = self.total_slots.div_ceil(self.block_slots());
        self.whole_blocks = self.total_slots / self.block_slots();
        self.reciprocal = u64::MAX / u64::from(self.block_slots) + 1;
        self
    }

    /// This shape with blocks of another layout.
    pub(crate) fn with_layout<L: Layout>(self) -> Self {
        Self { has_extensions: L::EXTENDED, slots_at: L::BYTES as u16, ..self }.measured()
    }

    /// This shape for a part of all hashes.
    pub(crate) fn for_part(self, part: Part) -> Self {
        Self { part, ..self }
    }

    /// The hashes that the table is for.
    #[inline(always)]
    pub(crate) fn part(&self) -> Part {
        self.part
    }

    /// This shape with other internal limits: small ones make the rare paths common, for tests.
    /// `None` if the limits make no sense.
    pub(crate) fn with_limits(self, offset_max: u8, spill_slots: u32) -> Option<Self> {
        let usual_spill = spill_slots.min(self.usual_spill);
        (offset_max > 0).then_some(Self { offset_max, spill_slots, usual_spill, ..self }.measured())
    }

    /// This shape with `slots` spill slots more, but at least twice as many, in whole blocks.
    pub(crate) fn extended(self, slots: u64) -> Self {
        let spill = u64::from(self.spill_slots) + slots.max(self.spill_slots.into());
        let total = (self.slots() + spill).next_multiple_of(self.block_slots());
        Self { spill_slots: u32::try_from(total - self.slots()).unwrap_or(u32::MAX), ..self }.measured()
    }

    /// The smallest shape with the same internal limits, to be [resized](Self::resized).
    pub(crate) fn template(self) -> Self {
        self.resized(1, 2)
    }

    /// Another size with these internal limits.
    pub(crate) fn resized(self, size: impl Into<Size>, slot_bits: u32) -> Self {
        let new = Self::new(size, slot_bits);
        let standard = self.usual_spill == default_spill(self.size());
        let usual_spill = if standard { new.usual_spill } else { self.usual_spill };
        Self {
            spill_slots: usual_spill,
            usual_spill,
            has_extensions: self.has_extensions,
            slots_at: self.slots_at,
            offset_max: self.offset_max,
            part: self.part,
            ..new
        }
        .measured()
    }

    pub(crate) fn size(&self) -> Size {
        Size::new(self.quotient_bits(), self.block_slots.into()).expect("made from a size")
    }

    pub(crate) fn quotient_bits(&self) -> u32 {
        u32::from(self.quotient_bits)
    }

    #[inline(always)]
    pub(crate) fn slot_bits(&self) -> u32 {
        u32::from(self.slot_bits)
    }

    #[inline(always)]
    pub(crate) fn has_extensions(&self) -> bool {
        self.has_extensions
    }

    #[inline(always)]
    pub(crate) fn offset_max(&self) -> u8 {
        self.offset_max
    }

    pub(crate) fn spill_slots(&self) -> u32 {
        self.spill_slots
    }

    /// How many quotients there are.
    pub(crate) fn quotients(&self) -> u64 {
        1 << self.quotient_bits
    }

    /// How many slots there are before the spill area.
    #[inline(always)]
    pub(crate) fn slots(&self) -> u64 {
        self.slots
    }

    /// How many slots should be in use at most.
    #[inline(always)]
    pub(crate) fn slot_limit(&self) -> u64 {
        self.slot_limit
    }

    /// How many slots a block has.
    #[inline(always)]
    pub(crate) fn block_slots(&self) -> u64 {
        u64::from(self.block_slots)
    }

    /// The bits of a metadata word that stand for slots.
    #[inline(always)]
    pub(super) fn slots_of_word(&self) -> u64 {
        low_mask(u32::from(self.block_slots))
    }

    /// All slots, with the spill area.
    #[inline(always)]
    pub(crate) fn total_slots(&self) -> u64 {
        self.total_slots
    }

    #[inline(always)]
    pub(crate) fn blocks(&self) -> u64 {
        self.blocks
    }

    /// How many blocks have all their slots; the last one may not.
    #[inline(always)]
    pub(super) fn whole_blocks(&self) -> u64 {
        self.whole_blocks
    }

    /// Bytes of a block before its slots.
    #[inline(always)]
    pub(super) fn slots_at(&self) -> usize {
        usize::from(self.slots_at)
    }

    /// Bytes of the slots of a block.
    #[inline(always)]
    pub(super) fn slots_bytes(&self) -> usize {
        usize::from(self.slots_bytes)
    }

    /// Words that the slots of a block begin in; the next block may begin in the last of them.
    #[inline(always)]
    pub(super) fn slots_words(&self) -> usize {
        usize::from(self.slots_words)
    }

    #[inline(always)]
    pub(crate) fn block_bytes(&self) -> usize {
        usize::from(self.block_bytes)
    }

    /// The first byte of a block.
    #[inline(always)]
    pub(crate) fn block_at(&self, block: u64) -> usize {
        block as usize * self.block_bytes()
    }

    /// The first bit of a slot.
    #[inline(always)]
    pub(crate) fn slot_bit(&self, slot: u64) -> usize {
        let (block, i) = self.place(slot);
        self.bit_of(block, i)
    }

    /// The first bit of a slot, and the first slot of the next block.
    #[inline(always)]
    pub(crate) fn slot_bit_and_next_block(&self, slot: u64) -> (usize, u64) {
        let (block, i) = self.place(slot);
        (self.bit_of(block, i), slot - u64::from(i) + self.block_slots())
    }

    /// The first bit of a slot of a block.
    #[inline(always)]
    pub(super) fn bit_of(&self, block: u64, i: u32) -> usize {
        (self.block_at(block) + self.slots_at()) * 8 + i as usize * usize::from(self.slot_bits)
    }

    /// Block and position in the block of a slot.
    #[inline(always)]
    pub(crate) fn place(&self, slot: u64) -> (u64, u32) {
        // One multiplication instead of a division: right for slots up to 2^58, and there are fewer.
        let block = ((u128::from(slot) * u128::from(self.reciprocal)) >> 64) as u64;
        (block, (slot - block * self.block_slots()) as u32)
    }

    /// The first slot of a block.
    #[inline(always)]
    pub(super) fn first_slot(&self, block: u64) -> u64 {
        block * self.block_slots()
    }

    /// The first slot of a quotient's block: where its run would be, were it not for others.
    #[inline(always)]
    pub(super) fn home_of(&self, quotient: u64) -> u64 {
        self.first_slot(quotient / BLOCK_QUOTIENTS)
    }

    /// Bytes of the whole table, `None` if this machine cannot address them bit by bit.
    pub(crate) fn body_bytes(&self) -> Option<usize> {
        let bytes = self.blocks().checked_mul(self.block_bytes() as u64)?.checked_add(PADDING as u64)?;
        usize::try_from(bytes.checked_mul(8)?).ok().map(|bits| bits / 8)
    }
}

/// Slots after those of the last quotients, for runs that do not fit there.
///
/// With hashed quotients at 95 % load, more than `x` slots are displaced past the end with probability
/// about `e^(-x / 10)` (at 90 %: `e^(-x / 5)`): 64 slots do for tables too small to build up such a
/// queue, 128 to 256 for the others. Entries of several slots make longer queues; then the table is
/// full a little earlier.
fn default_spill(size: Size) -> u32 {
    let block_slots = size.block_slots();
    match size.quotient_bits() {
        ..6 => block_slots - (1 << size.quotient_bits()),
        6..8 => block_slots,
        8..15 => 2 * block_slots,
        15.. => 4 * block_slots,
    }
}

#[cfg(test)]
mod tests {
    use super::super::Extended;
    use super::*;

    #[test]
    fn blocks_are_whole_and_fields_do_not_overlap() {
        for quotient_bits in 1..=20 {
            for slot_bits in 1..=64 {
                for shape in [
                    Shape::new(quotient_bits, slot_bits),
                    Shape::new(quotient_bits, slot_bits).with_layout::<Extended>(),
                ] {
                    assert_eq!(shape.total_slots() % 64, 0);
                    assert_eq!(shape.slot_bit(64) - shape.slot_bit(0), shape.block_bytes() * 8);
                    assert_eq!(shape.slot_bit(63) + slot_bits as usize, shape.block_at(1) * 8);
                    let last = shape.slot_bit(shape.total_slots() - 1) + slot_bits as usize;
                    assert_eq!(shape.body_bytes(), Some(last / 8 + PADDING));
                }
            }
        }
    }

    #[test]
    fn nine_bit_slots_cost_at_most_twelve_and_a_half_bits_per_item_at_ninety_percent() {
        for quotient_bits in 15..=30 {
            let shape = Shape::new(quotient_bits, 9);
            let items = 0.9 * shape.quotients() as f64;
            let bits = shape.body_bytes().unwrap() as f64 * 8.0 / items;
            assert!(bits <= 12.5, "2^{quotient_bits} slots: {bits:.3} bits per item");
        }
    }
}
