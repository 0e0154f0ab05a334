//! Our quotient filter, with either of its hashes.

use twiceshy::hash::HashKey;
use twiceshy::{Hasher, QuotientFilter, quotient};

use super::{Contender, Filter, Kind};
use crate::plan::{Hash, Plan};

/// With the hash for trusted keys.
pub(crate) static FAST: Quotient = Quotient {
    name: "twiceshy-quotient-fast",
    about: "our quotient filter; own hash: rapidhash",
    hasher: Hasher::fast,
    is_portable: false,
};

/// With the hash for keys that strangers choose.
pub(crate) static KEYED: Quotient = Quotient {
    name: "twiceshy-quotient-keyed",
    about: "our quotient filter; own hash: keyed, on AES",
    hasher: keyed,
    is_portable: false,
};

/// The same on a CPU without BMI2, AVX2 and AES; qfilter keeps what it has.
pub(crate) static PORTABLE: Quotient = Quotient {
    name: "twiceshy-quotient-portable",
    about: "the same without BMI2, AVX2 and AES on our side",
    is_portable: true,
    ..KEYED
};

/// The keyed hash with a constant key, so that runs can be repeated.
pub(super) fn keyed() -> Hasher {
    Hasher::keyed(HashKey::from_bytes(*b"twiceshy-versus!"))
}

pub(crate) struct Quotient {
    name: &'static str,
    about: &'static str,
    hasher: fn() -> Hasher,
    is_portable: bool,
}

impl Quotient {
    fn builder(&self, plan: &Plan) -> quotient::Builder {
        QuotientFilter::builder()
            .quotient_bits(plan.slots_log2)
            .remainder_bits(plan.remainder_bits)
            .hasher((self.hasher)())
    }
}

impl Kind for Quotient {
    fn name(&self) -> &'static str {
        self.name
    }

    fn about(&self) -> &'static str {
        self.about
    }

    fn is_ours(&self) -> bool {
        true
    }

    fn prepare_process(&self) {
        if self.is_portable {
            twiceshy::without_fast_instructions();
        }
    }

    fn agrees_with_yardstick(&self) -> bool {
        true
    }

    fn empty(&self, plan: &Plan, hash: Hash) -> Option<Box<dyn Contender>> {
        let filter = self.builder(plan).build().expect("the shape is valid");
        assert_eq!(filter.slots(), plan.slots());
        Some(boxed(filter, hash))
    }

    fn growing(&self, plan: &Plan) -> Option<Box<dyn Contender>> {
        let start = GROW_FROM_LOG2.min(plan.slots_log2);
        let filter = QuotientFilter::builder()
            .quotient_bits(start)
            .remainder_bits(plan.fingerprint_bits() - start)
            .grow_to(plan.items() as u64)
            .hasher((self.hasher)())
            .build()
            .expect("the shape is valid");
        Some(boxed(filter, Hash::Raw))
    }

    fn load_sorted(&self, plan: &Plan, sorted: &[u64]) -> Option<Box<dyn Contender>> {
        let filter = self.builder(plan).from_sorted_hashes(sorted.iter().copied());
        Some(boxed(filter.expect("sorted, and they fit"), Hash::Raw))
    }

    fn build_ways(&self) -> &'static [&'static str] {
        &["sort, then load"]
    }

    fn build(&self, plan: &Plan, hash: Hash, _way: usize, mut items: Vec<u64>) -> Box<dyn Contender> {
        let filter = match hash {
            Hash::Raw => {
                items.sort_unstable();
                self.builder(plan).from_sorted_hashes(items)
            }
            Hash::Own => self.builder(plan).from_keys(items),
        };
        boxed(filter.expect("they fit"), hash)
    }

    fn hash_keys(&self, keys: &[u64]) -> Option<u64> {
        let hasher = (self.hasher)();
        Some(keys.iter().fold(0, |all, key| all ^ hasher.hash(key)))
    }

    fn hash_texts(&self, texts: &[[u8; 16]]) -> Option<u64> {
        let hasher = (self.hasher)();
        Some(texts.iter().fold(0, |all, text| all ^ hasher.hash(text)))
    }
}

/// A filter that grows starts with this many slots.
pub(super) const GROW_FROM_LOG2: u32 = 10;

fn boxed(filter: QuotientFilter, hash: Hash) -> Box<dyn Contender> {
    match hash {
        Hash::Raw => Box::new(Table::<false>(filter)),
        Hash::Own => Box::new(Table::<true>(filter)),
    }
}

/// A table that is given keys (`true`) or raw hashes.
struct Table<const KEYS: bool>(QuotientFilter);

impl<const KEYS: bool> Filter for Table<KEYS> {
    const REMOVES: bool = true;
    const BATCHES: bool = true;
    const MERGES: bool = true;

    #[inline(always)]
    fn insert(&mut self, item: u64) {
        let new = if KEYS { self.0.insert(&item) } else { self.0.insert_hash(item) };
        new.expect("there is room");
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
        self.0.merge_from(&other.0).expect("same shape, same hash, and they fit");
    }
}
