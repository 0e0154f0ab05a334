//! The cuckoo filter of the crate `cuckoofilter`. Its fingerprints have 8 bits, which cannot be changed,
//! so it errs more often than the others.
//!
//! It hashes twice, the key and the fingerprint, with a hash that it is given by type: raw hashes are out of
//! its reach. Near the end of a fill it may drop an item that it moved (it says so by an error, which is
//! ignored here).

use std::collections::hash_map::DefaultHasher;

use cuckoofilter::CuckooFilter;

use super::{Contender, Filter, Kind, insert_into_empty};
use crate::plan::{Hash, Plan};

pub(crate) struct Cuckoofilter;

impl Kind for Cuckoofilter {
    fn name(&self) -> &'static str {
        "cuckoofilter"
    }

    fn about(&self) -> &'static str {
        "a cuckoo filter of 8 bits, error rate 3 %; own hash: SipHash-1-3"
    }

    fn hashes(&self) -> &'static [Hash] {
        &[Hash::Own]
    }

    fn is_reliable(&self) -> bool {
        false
    }

    fn empty(&self, plan: &Plan, _hash: Hash) -> Option<Box<dyn Contender>> {
        Some(Box::new(Table(CuckooFilter::with_capacity(plan.items()))))
    }

    fn build_ways(&self) -> &'static [&'static str] {
        &["insert one by one"]
    }

    fn build(&self, plan: &Plan, hash: Hash, _way: usize, items: Vec<u64>) -> Box<dyn Contender> {
        insert_into_empty(self, plan, hash, &items)
    }
}

struct Table(CuckooFilter<DefaultHasher>);

impl Filter for Table {
    const REMOVES: bool = true;

    #[inline(always)]
    fn insert(&mut self, item: u64) {
        let _ = self.0.add(&item);
    }

    #[inline(always)]
    fn contains(&self, item: u64) -> bool {
        self.0.contains(&item)
    }

    fn bytes(&self) -> usize {
        self.0.memory_usage()
    }

    #[inline(always)]
    fn remove(&mut self, item: u64) -> bool {
        self.0.delete(&item)
    }
}
