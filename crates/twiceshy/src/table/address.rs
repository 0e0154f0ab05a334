//! Where a hash belongs in a table. No other place knows which of its bits mean what:
//!
//! ```text
//! | part | block       | number | window           | ...
//!        |<--- quotient ------>|<-- a slot's bits -->
//! ```
//!
//! A table may be for a *part* of all hashes, those that begin with certain bits: which table it is then implies these
//! bits, as the position in the table implies those of the quotient. What a slot holds begins after both.

use std::ops::RangeInclusive;

use super::{BLOCK_QUOTIENTS, Shape};
use crate::bits::cpu::Cpu;
use crate::bits::word::low_mask;

/// The hashes that begin with some bits; with none, all hashes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Part {
    number: u16,
    bits: u8,
}

impl Part {
    /// There are at most as many bits.
    pub(crate) const MOST_BITS: u32 = 16;

    pub(crate) const ALL: Self = Self { number: 0, bits: 0 };

    /// The hashes that begin with the `bits` bits (up to 16) of `number`.
    pub(crate) fn new(number: u16, bits: u32) -> Self {
        assert!(bits <= Self::MOST_BITS && u64::from(number) <= low_mask(bits));
        Self { number, bits: bits as u8 }
    }

    /// The first words of these hashes.
    pub(crate) fn hashes(self) -> RangeInclusive<u64> {
        let first = self.number().unbounded_shl(64 - self.bits());
        first..=first | low_mask(64 - self.bits())
    }

    #[inline(always)]
    pub(crate) fn bits(self) -> u32 {
        u32::from(self.bits)
    }

    #[inline(always)]
    pub(crate) fn number(self) -> u64 {
        u64::from(self.number)
    }
}

/// Where the run of a quotient is: the block, and the number of the quotient in it.
#[derive(Clone, Copy)]
pub(crate) struct Home {
    pub(super) block: u64,
    pub(super) number: u64,
}

impl Home {
    #[inline(always)]
    pub(super) fn of(quotient: u64) -> Self {
        Self { block: quotient / BLOCK_QUOTIENTS, number: quotient % BLOCK_QUOTIENTS }
    }
}

/// Reads hashes, given their first 64 bits, for tables of one shape.
#[derive(Clone, Copy)]
pub(crate) struct Address {
    part_bits: u32,
    quotient_bits: u32,
    slot_bits: u32,
    /// Where the block is, the number of the quotient in it, and the window.
    block_mask: u64,
    number_mask: u64,
    window_mask: u64,
}

impl Address {
    pub(super) fn new(shape: &Shape) -> Self {
        let (part_bits, quotient_bits, slot_bits) =
            (shape.part().bits(), shape.quotient_bits(), shape.slot_bits());
        let (part, quotient) = (high_bits(part_bits), high_bits(part_bits + quotient_bits));
        let block = high_bits(part_bits + quotient_bits.saturating_sub(BLOCK_QUOTIENTS.ilog2()));
        let window = (u64::MAX << (64 - slot_bits)).unbounded_shr(part_bits + quotient_bits);
        let (block_mask, number_mask) = (block & !part, quotient & !block);
        Self { part_bits, quotient_bits, slot_bits, block_mask, number_mask, window_mask: window }
    }

    /// The quotient.
    #[inline(always)]
    pub(crate) fn quotient(self, hash: u64) -> u64 {
        hash << self.part_bits >> (64 - self.quotient_bits)
    }

    /// Quotient and window; zeros after the 64 bits, if it reaches that far.
    #[inline(always)]
    pub(crate) fn split(self, hash: u64) -> (u64, u64) {
        let hash = hash << self.part_bits;
        (hash >> (64 - self.quotient_bits), hash << self.quotient_bits >> (64 - self.slot_bits))
    }

    /// The quotient as block and number.
    #[inline(always)]
    pub(crate) fn home<C: Cpu>(self, cpu: C, hash: u64) -> Home {
        let number = cpu.field(hash, self.number_mask) % BLOCK_QUOTIENTS;
        Home { block: cpu.field(hash, self.block_mask), number }
    }

    /// [`home`](Self::home) and [`window`](Self::window).
    #[inline(always)]
    pub(crate) fn home_and_window<C: Cpu>(self, cpu: C, hash: u64) -> (Home, u64) {
        (self.home(cpu, hash), self.window(cpu, hash))
    }

    /// The bits after the quotient, as many as a slot has, if the first 64 bits reach that far; else they are not enough.
    #[inline(always)]
    pub(crate) fn window<C: Cpu>(self, cpu: C, hash: u64) -> u64 {
        cpu.field(hash, self.window_mask)
    }
}

/// The same for callers who have the first 128 bits of a hash, and the way back.
impl Shape {
    /// How many bits of a hash follow from where it is: those of the part and of the quotient.
    #[inline(always)]
    pub(crate) fn position_bits(&self) -> u32 {
        self.part().bits() + self.quotient_bits()
    }

    /// Quotient and window of the first 128 bits of a hash.
    #[inline(always)]
    pub(crate) fn split(&self, hash: u128) -> (u64, u64) {
        let position_bits = self.position_bits();
        let quotient = (hash >> (128 - position_bits)) as u64 & (self.quotients() - 1);
        (quotient, (hash << position_bits >> (128 - self.slot_bits())) as u64)
    }

    /// The bits that follow from where a hash with this quotient is.
    #[inline(always)]
    pub(crate) fn position(&self, quotient: u64) -> u64 {
        self.part().number() << self.quotient_bits() | quotient
    }
}

/// The highest bits of a word.
fn high_bits(bits: u32) -> u64 {
    !low_mask(64 - bits)
}
