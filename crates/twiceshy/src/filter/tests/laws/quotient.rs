//! The quotient filter as the laws see it.

use super::{Done, Lawful, Size, is_narrow, named_alike, stored_alike};
use crate::filter::any::FilterKind;
use crate::filter::quotient::{Builder, QuotientFilter};
use crate::hash::Hasher;

fn sized(quotient_bits: u32, remainder_bits: u32) -> Builder {
    QuotientFilter::builder().quotient_bits(quotient_bits).remainder_bits(remainder_bits)
}

impl Lawful for QuotientFilter {
    const KIND: FilterKind = FilterKind::Quotient;
    const COUNTS: bool = true;
    const WHOLE_BATCHES: bool = true;

    fn make(size: Size, number: u64, hasher: Hasher) -> Self {
        let few = 1 + number as u32 % 50;
        let builder = match size {
            Size::Roomy => sized(11, few),
            Size::Growing => sized(2 + few % 4, 10 + few % 30).grow_to(1_500),
            Size::Cramped => sized(3 + few % 4, 1 + few % 9),
        };
        let builder = if is_narrow(size, number) { builder.limits(3, 20) } else { builder };
        builder.hasher(hasher).build().unwrap()
    }

    named_alike!();
    stored_alike!();

    fn grow(&mut self) -> Done {
        Some(self.grow().map_err(|error| error.to_string()))
    }

    /// There are no old fingerprints.
    fn rejuvenate(&mut self, _: &[&[u8]]) -> Done {
        None
    }

    fn load(&self, keys: &[&[u8]]) -> Option<Result<Self, String>> {
        let builder = sized(self.quotient_bits(), self.remainder_bits()).hasher(self.hasher().clone());
        Some(builder.from_keys(keys).map_err(|error| error.to_string()))
    }

    fn entries(&self) -> Vec<(String, u64)> {
        let len = self.fingerprint_bits() as usize;
        self.iter().map(|entry| (format!("{:0len$b}", entry.fingerprint), entry.count)).collect()
    }
}
