//! The split block Bloom filter of the crate `sbbf-rs-safe`: one cache line and a few vector instructions
//! per query, paid with bits. It has no hash of its own.

use sbbf_rs_safe::Filter as Inner;

use super::{Contender, Filter, Kind, insert_into_empty};
use crate::plan::{Hash, Plan};

pub(crate) struct Sbbf;

/// Bits per item beyond those of the remainder. Found by trying: with 9 remainder bits at 90 % load, 15
/// bits per item come closest to the quotient filters' error rate.
const MORE_BITS: u32 = 6;

impl Kind for Sbbf {
    fn name(&self) -> &'static str {
        "sbbf-rs-safe"
    }

    fn about(&self) -> &'static str {
        "a split block Bloom filter; takes raw hashes only"
    }

    fn hashes(&self) -> &'static [Hash] {
        &[Hash::Raw]
    }

    fn empty(&self, plan: &Plan, _hash: Hash) -> Option<Box<dyn Contender>> {
        let bits = plan.remainder_bits + MORE_BITS;
        Some(Box::new(Table(Inner::new(bits as usize, plan.items()))))
    }

    fn build_ways(&self) -> &'static [&'static str] {
        &["insert one by one"]
    }

    fn build(&self, plan: &Plan, hash: Hash, _way: usize, items: Vec<u64>) -> Box<dyn Contender> {
        insert_into_empty(self, plan, hash, &items)
    }
}

struct Table(Inner);

impl Filter for Table {
    #[inline(always)]
    fn insert(&mut self, item: u64) {
        self.0.insert_hash(item);
    }

    #[inline(always)]
    fn contains(&self, item: u64) -> bool {
        self.0.contains_hash(item)
    }

    fn bytes(&self) -> usize {
        self.0.as_bytes().len()
    }
}
