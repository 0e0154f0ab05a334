//! The adaptive filter as the laws see it: in a set, with the keys in memory.

use super::{Done, Lawful, Size, is_narrow, named_alike};
use crate::filter::adaptive::{AdaptiveFilter, AdaptiveSet, Growth};
use crate::filter::any::FilterKind;
use crate::hash::Hasher;
use crate::reverse_map::{MemoryMap, ReverseMap};

impl Lawful for AdaptiveSet<MemoryMap> {
    const KIND: FilterKind = FilterKind::Adaptive;
    const COUNTS: bool = false;
    const WHOLE_BATCHES: bool = false;
    type Stored = AdaptiveFilter;

    fn make(size: Size, number: u64, hasher: Hasher) -> Self {
        let few = number as u32 % 50;
        let builder = match size {
            Size::Roomy => Self::builder().quotient_bits(11).remainder_bits(1 + few),
            Size::Growing => Self::builder().quotient_bits(1 + few % 4).remainder_bits(1 + few % 20),
            Size::Cramped => {
                let builder = Self::builder().quotient_bits(3 + few % 4).remainder_bits(1 + few % 9);
                builder.growth(Growth::Refuse)
            }
        };
        let builder = if is_narrow(size, number) { builder.limits(3, 20) } else { builder };
        builder.hasher(hasher).build_set(MemoryMap::new()).unwrap()
    }

    fn empty_like(&self) -> Self {
        Self::from_parts(self.filter().empty_like().unwrap(), MemoryMap::new())
    }

    named_alike!();

    fn remove(&mut self, key: &[u8]) -> Option<bool> {
        Some(self.remove(key).unwrap())
    }

    fn clear(&mut self) -> Option<()> {
        let mut filter = self.filter().clone();
        filter.clear();
        *self = Self::from_parts(filter, MemoryMap::new());
        Some(())
    }

    fn grow(&mut self) -> Done {
        Some(self.grow().map_err(|error| error.to_string()))
    }

    fn rejuvenate(&mut self, _: &[&[u8]]) -> Done {
        Some(self.rejuvenate().map_err(|error| error.to_string()))
    }

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

    fn validate(&self) -> Result<(), String> {
        self.validate().map_err(|error| error.to_string())
    }

    fn stored(&self) -> &AdaptiveFilter {
        self.filter()
    }

    fn reread(&self) -> Self {
        let filter = AdaptiveFilter::from_bytes(&self.filter().to_bytes()).unwrap();
        Self::from_parts(filter, self.map().clone())
    }

    fn bytes(&self) -> Vec<u8> {
        let mut bytes = self.filter().to_bytes();
        for row in self.map().iter() {
            bytes.extend_from_slice(&row.hash.to_le_bytes());
            bytes.extend_from_slice(row.key);
            bytes.extend_from_slice(row.value);
        }
        bytes
    }
}
