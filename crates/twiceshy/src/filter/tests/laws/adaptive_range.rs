//! The adaptive range filter as the laws see it: in a set, with the keys in memory.

use super::range::{max_range, number};
use super::{Lawful, Size, named_alike, set_alike, sized_set};
use crate::filter::adaptive_range::{AdaptiveRangeFilter, AdaptiveRangeSet};
use crate::filter::any::FilterKind;
use crate::hash::Hasher;
use crate::reverse_map::{MemoryMap, ReverseMap};

impl Lawful for AdaptiveRangeSet<u16, MemoryMap> {
    const KIND: FilterKind = FilterKind::AdaptiveRange;
    const COUNTS: bool = false;
    const WHOLE_BATCHES: bool = false;
    type Stored = AdaptiveRangeFilter<u16>;

    fn make(size: Size, number: u64, hasher: Hasher) -> Self {
        let builder = sized_set!(Self::builder(), size, number);
        builder.max_range(max_range(number)).hasher(hasher).build_set(MemoryMap::new()).unwrap()
    }

    named_alike!(|key: &[u8]| &number(key));
    set_alike!(|key: &[u8]| &number(key));

    fn load(&self, keys: &[&[u8]]) -> Option<Result<Self, String>> {
        let filter = self.filter();
        let mut map = MemoryMap::new();
        for key in keys {
            let coded = filter.coded(&number(key));
            map.insert(coded.hash(), coded.bytes(), &[]).unwrap();
        }
        let builder = AdaptiveRangeFilter::builder().quotient_bits(filter.quotient_bits());
        let builder = builder.remainder_bits(filter.remainder_bits()).growth(filter.growth());
        let builder = builder.max_range(filter.max_range()).hasher(filter.hasher().clone());
        let loaded = builder.from_keys(keys.iter().map(|key| number(key)));
        Some(loaded.map(|filter| Self::from_parts(filter, map)).map_err(|error| error.to_string()))
    }

    fn entries(&self) -> Vec<(String, u64)> {
        let suffixes = |entry: &crate::adaptive_range::Fingerprint| {
            entry.suffixes.iter().map(|suffix| format!(" {suffix}")).collect::<String>()
        };
        self.filter().iter().map(|entry| (format!("{}{}", entry.prefix, suffixes(&entry)), 1)).collect()
    }
}
