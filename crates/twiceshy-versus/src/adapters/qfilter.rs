//! The yardstick: the rank-and-select quotient filter of the crate `qfilter`.
//!
//! It stores the same table as ours, with one byte of offset per 64 slots. A fingerprint is the *low* bits
//! of a hash here, quotient above remainder, so a raw hash is shifted down beforehand: then quotient and
//! remainder are the same on both sides. It is used as a multiset, as ours is one. Batches do not exist;
//! against ours, it answers one by one.

use std::hash::BuildHasher;

use qfilter::{Builder, Filter as Inner, StableBuildHasher, compute_fingerprint_with_hasher};

use super::twiceshy_quotient::GROW_FROM_LOG2;
use super::{Contender, Filter, Kind, insert_into_empty};
use crate::plan::{Hash, Plan};

pub(crate) struct Qfilter;

/// The number of slots that qfilter chooses follows from a capacity: 95 % of them.
fn inner(slots_log2: u32, fingerprint_bits: u32) -> Inner {
    let slots = 1u64 << slots_log2;
    let filter = Inner::with_fingerprint_size(slots * 19 / 20, fingerprint_bits as u8).expect("valid shape");
    let block_bytes = 17 + 8 * u64::from(fingerprint_bits - slots_log2);
    assert_eq!(filter.memory_usage() as u64, slots / 64 * block_bytes + 8, "as many slots as ours");
    assert_eq!(u32::from(filter.fingerprint_size()), fingerprint_bits);
    filter
}

fn planned(plan: &Plan) -> Inner {
    inner(plan.slots_log2, plan.fingerprint_bits())
}

fn load(plan: &Plan, sorted: &[u64]) -> Inner {
    let mut builder = Builder::new(planned(plan));
    for &fingerprint in sorted {
        builder.insert_fingerprint(true, fingerprint).expect("there is room");
    }
    builder.into_filter()
}

impl Kind for Qfilter {
    fn name(&self) -> &'static str {
        "qfilter"
    }

    fn about(&self) -> &'static str {
        "the yardstick, a quotient filter; compared with itself, every ratio should be 1"
    }

    fn prepare(&self, plan: &Plan, hash: u64) -> u64 {
        hash >> (64 - plan.fingerprint_bits())
    }

    fn agrees_with_yardstick(&self) -> bool {
        true
    }

    fn empty(&self, plan: &Plan, hash: Hash) -> Option<Box<dyn Contender>> {
        Some(boxed(planned(plan), hash))
    }

    fn growing(&self, plan: &Plan) -> Option<Box<dyn Contender>> {
        let start = GROW_FROM_LOG2.min(plan.slots_log2);
        Some(boxed(inner(start, plan.fingerprint_bits()), Hash::Raw))
    }

    fn load_sorted(&self, plan: &Plan, sorted: &[u64]) -> Option<Box<dyn Contender>> {
        Some(boxed(load(plan, sorted), Hash::Raw))
    }

    fn build_ways(&self) -> &'static [&'static str] {
        &["sort, then Builder", "insert one by one"]
    }

    fn build(&self, plan: &Plan, hash: Hash, way: usize, mut items: Vec<u64>) -> Box<dyn Contender> {
        if way == 1 {
            return insert_into_empty(self, plan, hash, &items);
        }
        if hash == Hash::Own {
            let bits = plan.fingerprint_bits() as u8;
            for item in &mut items {
                *item = compute_fingerprint_with_hasher(&StableBuildHasher, *item, bits);
            }
        }
        items.sort_unstable();
        boxed(load(plan, &items), hash)
    }

    fn hash_keys(&self, keys: &[u64]) -> Option<u64> {
        Some(keys.iter().fold(0, |all, key| all ^ StableBuildHasher.hash_one(key)))
    }

    fn hash_texts(&self, texts: &[[u8; 16]]) -> Option<u64> {
        Some(texts.iter().fold(0, |all, text| all ^ StableBuildHasher.hash_one(text)))
    }
}

fn boxed(filter: Inner, hash: Hash) -> Box<dyn Contender> {
    match hash {
        Hash::Raw => Box::new(Table::<false>(filter)),
        Hash::Own => Box::new(Table::<true>(filter)),
    }
}

/// A table that is given keys (`true`) or fingerprints.
struct Table<const KEYS: bool>(Inner);

impl<const KEYS: bool> Filter for Table<KEYS> {
    const REMOVES: bool = true;
    const MERGES: bool = true;

    #[inline(always)]
    fn insert(&mut self, item: u64) {
        if KEYS {
            self.0.insert_duplicated(item).expect("there is room");
        } else {
            self.0.insert_fingerprint(true, item).expect("there is room");
        }
    }

    #[inline(always)]
    fn contains(&self, item: u64) -> bool {
        if KEYS { self.0.contains(item) } else { self.0.contains_fingerprint(item) }
    }

    fn bytes(&self) -> usize {
        self.0.memory_usage()
    }

    #[inline(always)]
    fn remove(&mut self, item: u64) -> bool {
        if KEYS { self.0.remove(item) } else { self.0.remove_fingerprint(item) }
    }

    fn copy(&self) -> Self {
        Self(self.0.clone())
    }

    fn merge(&mut self, other: &Self) {
        self.0.merge(true, &other.0).expect("same shape, and they fit");
    }
}
