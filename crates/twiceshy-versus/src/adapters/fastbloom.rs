//! The Bloom filter of the crate `fastbloom`, built for the error rate of the quotient filters.

use fastbloom::BloomFilter;

use super::{Contender, Filter, Kind, insert_into_empty};
use crate::plan::{Hash, Plan};

pub(crate) struct Fastbloom;

impl Kind for Fastbloom {
    fn name(&self) -> &'static str {
        "fastbloom"
    }

    fn about(&self) -> &'static str {
        "a Bloom filter for the same error rate; own hash: SipHash-1-3"
    }

    fn empty(&self, plan: &Plan, hash: Hash) -> Option<Box<dyn Contender>> {
        let seed = u128::from(plan.seed);
        let filter = BloomFilter::with_false_pos(plan.error_rate()).seed(&seed).expected_items(plan.items());
        Some(match hash {
            Hash::Raw => Box::new(Table::<false>(filter)),
            Hash::Own => Box::new(Table::<true>(filter)),
        })
    }

    fn build_ways(&self) -> &'static [&'static str] {
        &["insert one by one"]
    }

    fn build(&self, plan: &Plan, hash: Hash, _way: usize, items: Vec<u64>) -> Box<dyn Contender> {
        insert_into_empty(self, plan, hash, &items)
    }
}

/// A table that is given keys (`true`) or raw hashes.
struct Table<const KEYS: bool>(BloomFilter);

impl<const KEYS: bool> Filter for Table<KEYS> {
    #[inline(always)]
    fn insert(&mut self, item: u64) {
        if KEYS {
            self.0.insert(&item)
        } else {
            self.0.insert_hash(item)
        };
    }

    #[inline(always)]
    fn contains(&self, item: u64) -> bool {
        if KEYS { self.0.contains(&item) } else { self.0.contains_hash(item) }
    }

    fn bytes(&self) -> usize {
        self.0.num_bits() / 8
    }
}
