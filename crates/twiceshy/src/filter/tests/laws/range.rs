//! The range filter as the laws see it: keys are numbers next to each other, many of a partition.

use super::{Done, Lawful, Size, is_narrow, named_alike, stored_alike};
use crate::filter::any::FilterKind;
use crate::filter::range::{Builder, RangeFilter};
use crate::hash::Hasher;

/// The number that some bytes are.
pub(super) fn number(bytes: &[u8]) -> u16 {
    bytes.iter().rev().fold(0, |number, &byte| number << 8 | u16::from(byte))
}

/// The longest range, which follows from the number of a case.
pub(super) fn max_range(number: u64) -> u64 {
    [1, 4, 32, 256][(number / 50 % 4) as usize]
}

fn sized(quotient_bits: u32, remainder_bits: u32) -> Builder<u16> {
    RangeFilter::builder().quotient_bits(quotient_bits).remainder_bits(remainder_bits)
}

impl Lawful for RangeFilter<u16> {
    const KIND: FilterKind = FilterKind::Range;
    const COUNTS: bool = true;
    const WHOLE_BATCHES: bool = true;

    fn make(size: Size, number: u64, hasher: Hasher) -> Self {
        let few = number as u32 % 40;
        let builder = match size {
            Size::Roomy => sized(11, 1 + few),
            // With fingerprints of a few bits, what has none left would take most of a table.
            Size::Growing => sized(1 + few % 4, 7 + few),
            Size::Cramped => sized(3 + few % 4, 1 + few % 9).growth(false),
        };
        let builder = if is_narrow(size, number) { builder.limits(3, 20) } else { builder };
        builder.max_range(max_range(number)).hasher(hasher).build().unwrap()
    }

    named_alike!(|key: &[u8]| &number(key));
    stored_alike!(|key: &[u8]| &number(key));

    fn grow(&mut self) -> Done {
        Some(self.grow().map_err(|error| error.to_string()))
    }

    /// Without keys nothing can be done for old fingerprints.
    fn rejuvenate(&mut self, _: &[&[u8]]) -> Done {
        None
    }

    fn load(&self, keys: &[&[u8]]) -> Option<Result<Self, String>> {
        let builder = sized(self.quotient_bits(), self.fingerprint_bits() - self.quotient_bits());
        let builder = builder.max_range(self.max_range()).hasher(self.hasher().clone());
        Some(builder.from_keys(keys.iter().map(|key| number(key))).map_err(|error| error.to_string()))
    }

    fn entries(&self) -> Vec<(String, u64)> {
        self.iter().map(|entry| (format!("{} {}", entry.prefix, entry.suffix), entry.count)).collect()
    }
}
