//! The adaptive filter as the laws see it: in a set, with the keys in memory.

use super::{Lawful, Size, named_alike, set_alike, sized_set};
use crate::filter::adaptive::{AdaptiveFilter, AdaptiveSet};
use crate::filter::any::FilterKind;
use crate::hash::Hasher;
use crate::reverse_map::{MemoryMap, ReverseMap};

impl Lawful for AdaptiveSet<MemoryMap> {
    const KIND: FilterKind = FilterKind::Adaptive;
    const COUNTS: bool = false;
    const WHOLE_BATCHES: bool = false;
    type Stored = AdaptiveFilter;

    fn make(size: Size, number: u64, hasher: Hasher) -> Self {
        let builder = sized_set!(Self::builder(), size, number);
        builder.hasher(hasher).build_set(MemoryMap::new()).unwrap()
    }

    named_alike!();
    set_alike!(|key: &[u8]| key);

    fn load(&self, keys: &[&[u8]]) -> Option<Result<Self, String>> {
        let filter = self.filter();
        let mut map = MemoryMap::new();
        for key in keys {
            map.insert(filter.hasher().hash(key), key, &[]).unwrap();
        }
        let builder = AdaptiveFilter::builder().quotient_bits(filter.quotient_bits());
        let builder = builder.remainder_bits(filter.remainder_bits()).growth(filter.growth());
        let loaded = builder.hasher(filter.hasher().clone()).from_sorted(map.iter().map(|row| row.key));
        Some(loaded.map(|filter| Self::from_parts(filter, map)).map_err(|error| error.to_string()))
    }

    fn entries(&self) -> Vec<(String, u64)> {
        self.filter().iter().map(|entry| (entry.prefix.to_string(), 1)).collect()
    }
}
