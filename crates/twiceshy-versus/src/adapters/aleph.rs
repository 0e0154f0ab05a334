//! The expandable filter of the crate `aleph-filter`: the other one in Rust that grows without its keys.
//!
//! It is given bytes and hashes them itself, also where others get raw hashes. Slots are not packed: 72
//! bits each, whatever the fingerprint. Every doubling makes new fingerprints a bit shorter, so it starts with as many bits
//! more as there will be doublings.

use aleph_filter::AlephFilter;
use aleph_filter::metadata::SlotMetadata;
use aleph_filter::slot::Slot;

use super::twiceshy_quotient::GROW_FROM_LOG2;
use super::{Contender, Filter, Kind, insert_into_empty};
use crate::plan::{Hash, Plan};

pub(crate) struct Aleph;

impl Kind for Aleph {
    fn name(&self) -> &'static str {
        "aleph-filter"
    }

    fn about(&self) -> &'static str {
        "expandable, slots of 72 bits; own hash: xxHash3"
    }

    /// It grows when four fifths of its slots are in use.
    fn empty(&self, plan: &Plan, _hash: Hash) -> Option<Box<dyn Contender>> {
        Some(boxed(1 << plan.slots_log2, plan.remainder_bits + 1))
    }

    fn growing(&self, plan: &Plan) -> Option<Box<dyn Contender>> {
        let start = GROW_FROM_LOG2.min(plan.slots_log2);
        // One doubling more, since it is never as full as the others.
        Some(boxed(1 << start, plan.remainder_bits + plan.slots_log2 - start + 1))
    }

    fn build_ways(&self) -> &'static [&'static str] {
        &["insert one by one"]
    }

    fn build(&self, plan: &Plan, hash: Hash, _way: usize, items: Vec<u64>) -> Box<dyn Contender> {
        insert_into_empty(self, plan, hash, &items)
    }
}

fn boxed(slots: usize, fingerprint_bits: u32) -> Box<dyn Contender> {
    Box::new(Table(AlephFilter::with_params(slots, fingerprint_bits)))
}

struct Table(AlephFilter);

impl Filter for Table {
    const REMOVES: bool = true;

    #[inline(always)]
    fn insert(&mut self, item: u64) {
        self.0.insert(&item.to_le_bytes());
    }

    #[inline(always)]
    fn contains(&self, item: u64) -> bool {
        self.0.contains(&item.to_le_bytes())
    }

    fn bytes(&self) -> usize {
        self.0.capacity() * (size_of::<Slot>() + size_of::<SlotMetadata>())
    }

    #[inline(always)]
    fn remove(&mut self, item: u64) -> bool {
        self.0.delete(&item.to_le_bytes())
    }
}
