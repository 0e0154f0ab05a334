//! The expandable filter as the laws see it.

use super::{Done, Lawful, Size, is_narrow, named_alike, stored_alike};
use crate::filter::any::FilterKind;
use crate::filter::expandable::{ExpandableFilter, Mode};
use crate::hash::Hasher;

impl Lawful for ExpandableFilter {
    const KIND: FilterKind = FilterKind::Expandable;
    const COUNTS: bool = true;
    const WHOLE_BATCHES: bool = true;

    fn make(size: Size, number: u64, hasher: Hasher) -> Self {
        let (few, mode) = (number as u32 % 15, [Mode::Growing, Mode::Chained][number as usize % 2]);
        let builder = match size {
            Size::Roomy => Self::builder().mode(mode).quotient_bits(11).fingerprint_bits(1 + few),
            Size::Growing => Self::builder().mode(mode).quotient_bits(1 + few % 4).fingerprint_bits(1 + few),
            Size::Cramped => {
                Self::builder().mode(Mode::Basic).quotient_bits(1 + few % 4).fingerprint_bits(1 + few % 3)
            }
        };
        let builder = if is_narrow(size, number) { builder.limits(3, 20) } else { builder };
        builder.spread_growth((number / 2).is_multiple_of(2)).hasher(hasher).build().unwrap()
    }

    named_alike!();
    stored_alike!();

    /// It grows by itself only.
    fn grow(&mut self) -> Done {
        None
    }

    fn rejuvenate(&mut self, keys: &[&[u8]]) -> Done {
        Some(self.rejuvenate_batch(keys).map(drop).map_err(|error| error.to_string()))
    }

    /// Keys come in one by one, or in batches.
    fn load(&self, _: &[&[u8]]) -> Option<Result<Self, String>> {
        None
    }

    fn entries(&self) -> Vec<(String, u64)> {
        self.iter().map(|entry| (entry.prefix.to_string(), entry.count)).collect()
    }
}
