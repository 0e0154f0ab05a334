//! Our expandable filter. Where the others have a size, it starts with that size and has no need to grow.

use twiceshy::{ExpandableFilter, Hasher, expandable};

use super::twiceshy_quotient::GROW_FROM_LOG2;
use super::{Contender, Filter, Kind, insert_into_empty};
use crate::plan::{Hash, Plan};

/// With the hash for trusted keys.
pub(crate) static FAST: Expandable = Expandable;

pub(crate) struct Expandable;

fn builder() -> expandable::Builder {
    ExpandableFilter::builder().hasher(Hasher::fast())
}

impl Kind for Expandable {
    fn name(&self) -> &'static str {
        "twiceshy-expandable-fast"
    }

    fn about(&self) -> &'static str {
        "our expandable filter; own hash: rapidhash"
    }

    fn is_ours(&self) -> bool {
        true
    }

    fn empty(&self, plan: &Plan, hash: Hash) -> Option<Box<dyn Contender>> {
        let sized = builder().quotient_bits(plan.slots_log2).fingerprint_bits(plan.remainder_bits);
        Some(boxed(sized.max_load(0.95).build().expect("valid settings"), hash))
    }

    /// Keeps, at every size, the error rate of a full table of the yardstick. The rate at the planned size is
    /// lower than that of the yardstick; that of all sizes to come is in it.
    fn growing(&self, plan: &Plan) -> Option<Box<dyn Contender>> {
        let start = GROW_FROM_LOG2.min(plan.slots_log2);
        let growing = builder().quotient_bits(start).error_rate(0.5f64.powi(plan.remainder_bits as i32));
        Some(boxed(growing.build().expect("valid settings"), Hash::Raw))
    }

    fn build_ways(&self) -> &'static [&'static str] {
        &["insert one by one"]
    }

    fn build(&self, plan: &Plan, hash: Hash, _way: usize, items: Vec<u64>) -> Box<dyn Contender> {
        insert_into_empty(self, plan, hash, &items)
    }
}

fn boxed(filter: ExpandableFilter, hash: Hash) -> Box<dyn Contender> {
    match hash {
        Hash::Raw => Box::new(Table::<false>(filter)),
        Hash::Own => Box::new(Table::<true>(filter)),
    }
}

/// A table that is given keys (`true`) or raw hashes.
struct Table<const KEYS: bool>(ExpandableFilter);

impl<const KEYS: bool> Filter for Table<KEYS> {
    const REMOVES: bool = true;
    const BATCHES: bool = true;
    const MERGES: bool = true;

    #[inline(always)]
    fn insert(&mut self, item: u64) {
        let new = if KEYS { self.0.insert(&item) } else { self.0.insert_hash(item) };
        new.expect("it grows");
    }

    #[inline(always)]
    fn contains(&self, item: u64) -> bool {
        if KEYS { self.0.contains(&item) } else { self.0.contains_hash(item) }
    }

    fn bytes(&self) -> usize {
        self.0.size_in_bytes()
    }

    #[inline(always)]
    fn remove(&mut self, item: u64) -> bool {
        if KEYS { self.0.remove(&item) } else { self.0.remove_hash(item) }
    }

    #[inline(always)]
    fn contains_batch(&self, items: &[u64], found: &mut [bool]) {
        if KEYS { self.0.contains_batch(items, found) } else { self.0.contains_hash_batch(items, found) }
    }

    fn copy(&self) -> Self {
        Self(self.0.clone())
    }

    fn merge(&mut self, other: &Self) {
        self.0.merge_from(&other.0).expect("same hash");
    }
}
