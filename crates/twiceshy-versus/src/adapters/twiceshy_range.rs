//! Our range filters, with the keyed hash: only the partitions of keys are hashed, so they take keys.

use twiceshy::adaptive::{Growth, Insertion};
use twiceshy::{AdaptiveRangeFilter, RangeFilter, adaptive_range, range};

use super::twiceshy_quotient::keyed;
use super::{Contender, Filter, Kind};
use crate::plan::{Hash, Plan, RANGE};

pub(crate) static PLAIN: PlainRange = PlainRange;
pub(crate) static ADAPTIVE: AdaptiveRange = AdaptiveRange;

pub(crate) struct PlainRange;
pub(crate) struct AdaptiveRange;

impl PlainRange {
    fn builder(&self, plan: &Plan) -> range::Builder<u64> {
        RangeFilter::builder()
            .quotient_bits(plan.slots_log2)
            .remainder_bits(plan.remainder_bits)
            .max_range(RANGE)
            .growth(false)
            .hasher(keyed())
    }
}

impl Kind for PlainRange {
    fn name(&self) -> &'static str {
        "twiceshy-range"
    }

    fn about(&self) -> &'static str {
        "our range filter, without a map; own hash: keyed, on AES"
    }

    fn is_ours(&self) -> bool {
        true
    }

    fn hashes(&self) -> &'static [Hash] {
        &[Hash::Own]
    }

    fn empty(&self, plan: &Plan, _: Hash) -> Option<Box<dyn Contender>> {
        let filter = self.builder(plan).build().expect("the shape is valid");
        assert_eq!(filter.slots(), plan.slots());
        Some(Box::new(filter))
    }

    fn sort_for_load(&self, plan: &Plan, items: &mut Vec<u64>) {
        let filter = self.builder(plan).quotient_bits(6).build().expect("the shape is valid");
        items.sort_by_cached_key(|item| filter.partition_hash(item));
    }

    fn load_sorted(&self, plan: &Plan, sorted: &[u64]) -> Option<Box<dyn Contender>> {
        Some(Box::new(self.builder(plan).from_sorted(sorted).expect("sorted, and they fit")))
    }
}

/// What both do in the same words.
macro_rules! queries {
    ($filter:ident) => {
        #[inline(always)]
        fn contains(&self, item: u64) -> bool {
            $filter::contains(self, &item)
        }

        fn bytes(&self) -> usize {
            self.size_in_bytes()
        }

        #[inline(always)]
        fn contains_batch(&self, items: &[u64], found: &mut [bool]) {
            $filter::contains_batch(self, items, found);
        }

        #[inline(always)]
        fn contains_range(&self, start: u64) -> bool {
            $filter::contains_range(self, start..start + RANGE)
        }

        fn contains_range_batch(&self, starts: &[u64], found: &mut [bool]) {
            // A caller has ranges: to make them is part of the time.
            let ranges: Vec<_> = starts.iter().map(|start| *start..start + RANGE).collect();
            $filter::contains_range_batch(self, &ranges, found);
        }
    };
}

impl Filter for RangeFilter<u64> {
    const REMOVES: bool = true;
    const BATCHES: bool = true;
    const RANGES: bool = true;

    queries!(RangeFilter);

    #[inline(always)]
    fn insert(&mut self, item: u64) {
        RangeFilter::insert(self, &item).expect("there is room");
    }

    #[inline(always)]
    fn remove(&mut self, item: u64) -> bool {
        RangeFilter::remove(self, &item)
    }
}

impl AdaptiveRange {
    fn builder(&self, plan: &Plan) -> adaptive_range::Builder<u64> {
        AdaptiveRangeFilter::builder()
            .quotient_bits(plan.slots_log2)
            .remainder_bits(plan.remainder_bits)
            .max_range(RANGE)
            .growth(Growth::Refuse)
            .hasher(keyed())
    }
}

impl Kind for AdaptiveRange {
    fn name(&self) -> &'static str {
        "twiceshy-adaptive-range"
    }

    fn about(&self) -> &'static str {
        "our adaptive range filter; own hash: keyed, on AES"
    }

    fn is_ours(&self) -> bool {
        true
    }

    fn hashes(&self) -> &'static [Hash] {
        &[Hash::Own]
    }

    fn empty(&self, plan: &Plan, _: Hash) -> Option<Box<dyn Contender>> {
        let filter = self.builder(plan).build().expect("the shape is valid");
        assert_eq!(filter.slots(), plan.slots());
        Some(Box::new(filter))
    }

    fn sort_for_load(&self, plan: &Plan, items: &mut Vec<u64>) {
        let filter = self.builder(plan).quotient_bits(6).build().expect("the shape is valid");
        items.sort_by_cached_key(|item| filter.coded(item).hash());
    }

    fn load_sorted(&self, plan: &Plan, sorted: &[u64]) -> Option<Box<dyn Contender>> {
        Some(Box::new(self.builder(plan).from_sorted(sorted).expect("sorted, and they fit")))
    }
}

impl Filter for AdaptiveRangeFilter<u64> {
    const BATCHES: bool = true;
    const RANGES: bool = true;

    #[inline(always)]
    fn insert(&mut self, item: u64) {
        let inserted = AdaptiveRangeFilter::insert(self, &item);
        if let Insertion::Covered(ticket) = inserted.expect("there is room") {
            self.insert_covered(&ticket).expect("nothing happened in between");
        }
    }

    queries!(AdaptiveRangeFilter);
}
