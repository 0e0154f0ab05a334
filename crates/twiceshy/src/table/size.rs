//! How large a table is: how many quotients it has, and how many slots for each 64 of them.
//!
//! A table with twice as many quotients takes one bit of every hash more for its position. In between there are tables with as
//! many quotients and fewer slots: 40 or 48 for every 64. To have more quotients than slots costs little, since the header
//! of a block is for 64 quotients anyway: with 40 slots 1.9 bits per slot more (of 17 or so) in tables with extensions, and
//! 0.68 bits of the error rate come back. So a table that grows need not be half empty afterwards.

use super::BLOCK_QUOTIENTS;

/// The size of a table. Larger ones have more slots.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Size {
    quotient_bits: u8,
    block_slots: u8,
}

/// As many slots as quotients.
impl From<u32> for Size {
    fn from(quotient_bits: u32) -> Self {
        Self { quotient_bits: quotient_bits as u8, block_slots: Self::MOST_BLOCK_SLOTS as u8 }
    }
}

impl Size {
    /// A table of this size is beyond any machine, and none of its measures overflows 64 bits.
    pub(crate) const MAX_QUOTIENT_BITS: u32 = 48;

    /// Blocks have as many slots as quotients, or fewer.
    pub(crate) const MOST_BLOCK_SLOTS: u32 = BLOCK_QUOTIENTS as u32;

    /// How many slots blocks have in tables that grow step by step.
    const STEPS: [u32; 3] = [40, 48, Self::MOST_BLOCK_SLOTS];

    /// Smaller tables have as many slots as quotients: they are small anyway.
    const LEAST_WITH_STEPS: u32 = 7;

    /// `None` unless there are 1 to 48 quotient bits, and a multiple of eight slots in a block: fewer than quotients only if
    /// there is a whole block of these.
    pub(crate) fn new(quotient_bits: u32, block_slots: u32) -> Option<Self> {
        let most = Self::MOST_BLOCK_SLOTS;
        let is_whole = block_slots.is_multiple_of(8) && (8..=most).contains(&block_slots);
        let fits = (1..=Self::MAX_QUOTIENT_BITS).contains(&quotient_bits)
            && is_whole
            && (block_slots == most || quotient_bits >= BLOCK_QUOTIENTS.ilog2());
        fits.then_some(Self { quotient_bits: quotient_bits as u8, block_slots: block_slots as u8 })
    }

    pub(crate) fn quotient_bits(self) -> u32 {
        self.quotient_bits.into()
    }

    pub(crate) fn block_slots(self) -> u32 {
        self.block_slots.into()
    }

    /// How many slots there are before the spill area.
    pub(crate) fn slots(self) -> u64 {
        let slots = u64::from(self.block_slots) << self.quotient_bits;
        slots / BLOCK_QUOTIENTS
    }

    /// All sizes for tables that grow step by step.
    pub(crate) fn steps() -> impl Iterator<Item = Self> {
        (1..=Self::MAX_QUOTIENT_BITS).flat_map(|quotient_bits| {
            let steps = if quotient_bits < Self::LEAST_WITH_STEPS { &Self::STEPS[2..] } else { &Self::STEPS };
            steps.iter().filter_map(move |&block_slots| Self::new(quotient_bits, block_slots))
        })
    }

    /// The steps that are at least as large as this size.
    pub(crate) fn and_larger(self) -> impl Iterator<Item = Self> {
        Self::steps().skip_while(move |step| *step < self)
    }

    /// The next step; `None` if it is the largest.
    pub(crate) fn next(self) -> Option<Self> {
        Self::steps().find(|step| *step > self)
    }

    /// The next step with more quotients, that has twice as many slots at least; `None` if there is none.
    pub(crate) fn doubled(self) -> Option<Self> {
        Self::steps().find(|step| step.quotient_bits > self.quotient_bits && step.slots() >= 2 * self.slots())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_get_larger_by_a_third_at_most() {
        let sizes: Vec<Size> = Size::steps().collect();
        assert_eq!(sizes[0], Size::from(1));
        for pair in sizes.windows(2) {
            assert!(pair[0] < pair[1] && pair[0].slots() < pair[1].slots(), "{pair:?}");
            assert_eq!(pair[0].next(), Some(pair[1]));
            assert!(pair[0].doubled().is_none_or(|double| double.slots() == 2 * pair[0].slots()), "{pair:?}");
            if pair[1].quotient_bits() > Size::LEAST_WITH_STEPS {
                assert!(pair[1].slots() * 3 <= pair[0].slots() * 4, "{pair:?}");
            }
        }
        assert_eq!(sizes.last(), Some(&Size::from(48)));
    }

    #[test]
    fn blocks_have_a_multiple_of_eight_slots() {
        for block_slots in 0..=70 {
            for quotient_bits in [0, 1, 5, 6, 20, 48, 49] {
                let is_size = (1..=48).contains(&quotient_bits)
                    && (block_slots == 64
                        || quotient_bits > 5 && [8, 16, 24, 32, 40, 48, 56].contains(&block_slots));
                assert_eq!(Size::new(quotient_bits, block_slots).is_some(), is_size);
            }
        }
    }
}
