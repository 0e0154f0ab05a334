//! Our adaptive filter, with either of its hashes, and after it has learned from mistakes.

use std::convert::Infallible;
use std::ops::{ControlFlow, RangeInclusive};

use twiceshy::adaptive::{Adapted, Growth, Insertion, Query};
use twiceshy::reverse_map::Lookup;
use twiceshy::reverse_map::{Row, Rows};
use twiceshy::{AdaptiveFilter, Hasher, adaptive};

use super::twiceshy_quotient::{GROW_FROM_LOG2, keyed};
use super::{Contender, Filter, Kind};
use crate::plan::{Hash, Plan};

/// With the hash for trusted keys.
pub(crate) static FAST: Adaptive = Adaptive {
    name: "twiceshy-adaptive-fast",
    about: "our adaptive filter; own hash: rapidhash",
    hasher: Hasher::fast,
    adapts: false,
    is_portable: false,
};

/// With the hash for keys that strangers choose.
pub(crate) static KEYED: Adaptive = Adaptive {
    name: "twiceshy-adaptive-keyed",
    about: "our adaptive filter; own hash: keyed, on AES",
    hasher: keyed,
    adapts: false,
    is_portable: false,
};

/// The same on a CPU without BMI2, AVX2 and AES; qfilter keeps what it has.
pub(crate) static PORTABLE: Adaptive = Adaptive {
    name: "twiceshy-adaptive-portable",
    about: "the same without BMI2, AVX2 and AES on our side",
    is_portable: true,
    ..KEYED
};

/// After one false positive for every hundredth item. The insert rows include adapting.
pub(crate) static ADAPTED: Adaptive = Adaptive {
    name: "twiceshy-adaptive-adapted",
    about: "our adaptive filter after adapting 1 % of its items",
    hasher: Hasher::fast,
    adapts: true,
    is_portable: false,
};

/// One item of so many causes a false positive.
const ADAPT_EVERY: u64 = 100;

pub(crate) struct Adaptive {
    name: &'static str,
    about: &'static str,
    hasher: fn() -> Hasher,
    adapts: bool,
    is_portable: bool,
}

impl Adaptive {
    fn builder(&self, plan: &Plan) -> adaptive::Builder {
        AdaptiveFilter::builder()
            .quotient_bits(plan.slots_log2)
            .remainder_bits(plan.remainder_bits)
            .growth(Growth::Refuse)
            .hasher((self.hasher)())
    }

    fn boxed(&self, plan: &Plan, filter: AdaptiveFilter, hash: Hash) -> Box<dyn Contender> {
        let (adapt_in, differs) = (ADAPT_EVERY, 1 << (63 - plan.fingerprint_bits()));
        match (self.adapts, hash) {
            (true, _) => Box::new(Adapting { filter, adapt_in, differs }),
            (false, Hash::Raw) => Box::new(Table::<false>(filter)),
            (false, Hash::Own) => Box::new(Table::<true>(filter)),
        }
    }
}

impl Kind for Adaptive {
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

    fn hashes(&self) -> &'static [Hash] {
        if self.adapts { &[Hash::Raw] } else { &[Hash::Raw, Hash::Own] }
    }

    fn agrees_with_yardstick(&self) -> bool {
        !self.adapts
    }

    fn empty(&self, plan: &Plan, hash: Hash) -> Option<Box<dyn Contender>> {
        let filter = self.builder(plan).build().expect("the shape is valid");
        assert_eq!(filter.slots(), plan.slots());
        Some(self.boxed(plan, filter, hash))
    }

    /// Keeps, at every size, the error rate of a full table of the yardstick. To grow it asks for the hashes
    /// under a few fingerprints: they are found in a list that is made beforehand, so that looking them up is
    /// part of the time and keeping them is not.
    fn growing(&self, plan: &Plan) -> Option<Box<dyn Contender>> {
        if self.adapts {
            return None;
        }
        let start = GROW_FROM_LOG2.min(plan.slots_log2);
        let builder = AdaptiveFilter::builder().quotient_bits(start).hasher((self.hasher)());
        let filter = builder.error_rate(0.5f64.powi(plan.remainder_bits as i32)).build();
        let mut all: Vec<_> =
            (0..plan.items() as u32).map(|number| (plan.present(Hash::Raw, number.into()), number)).collect();
        all.sort_unstable();
        Some(Box::new(Growing { filter: filter.expect("the shape is valid"), all, inserted: 0 }))
    }

    fn load_sorted(&self, plan: &Plan, sorted: &[u64]) -> Option<Box<dyn Contender>> {
        if self.adapts {
            return None;
        }
        let filter = self.builder(plan).from_sorted_hashes(sorted.iter().copied());
        Some(self.boxed(plan, filter.expect("sorted, and they fit"), Hash::Raw))
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

/// A table that is given keys (`true`) or raw hashes.
struct Table<const KEYS: bool>(AdaptiveFilter);

impl<const KEYS: bool> Filter for Table<KEYS> {
    const REMOVES: bool = true;
    const BATCHES: bool = true;
    const MERGES: bool = true;

    #[inline(always)]
    fn insert(&mut self, item: u64) {
        let inserted = if KEYS { self.0.insert(&item) } else { self.0.insert_hash(item) };
        if let Insertion::Covered(ticket) = inserted.expect("there is room") {
            self.0.insert_covered(&ticket).expect("nothing happened in between");
        }
    }

    #[inline(always)]
    fn contains(&self, item: u64) -> bool {
        if KEYS { self.0.contains(&item) } else { self.0.contains_hash(item) }
    }

    /// With the ticket of a query, as every removal begins, and as if the map had told that no other key has the fingerprint.
    /// Of two items that share one the second finds nothing then, which is no fault.
    #[inline(always)]
    fn remove(&mut self, item: u64) -> bool {
        let query = if KEYS { self.0.query(&item) } else { self.0.query_hash(item) };
        if let Query::Maybe(ticket) = query {
            self.0.remove(&ticket, false).expect("nothing happened in between");
        }
        true
    }

    fn bytes(&self) -> usize {
        self.0.size_in_bytes()
    }

    #[inline(always)]
    fn contains_batch(&self, items: &[u64], found: &mut [bool]) {
        if KEYS { self.0.contains_batch(items, found) } else { self.0.contains_hash_batch(items, found) }
    }

    fn copy(&self) -> Self {
        Self(self.0.clone())
    }

    fn merge(&mut self, other: &Self) {
        // Fingerprints of equal length never overlap without being equal.
        self.0.merge_from(&other.0, &Rows::new(), &Rows::new()).expect("same shape, same hash, and they fit");
    }
}

/// A table that grows.
struct Growing {
    filter: AdaptiveFilter,
    /// All hashes that will be inserted, in order, and when.
    all: Vec<(u64, u32)>,
    inserted: u32,
}

impl Growing {
    #[cold]
    fn grow(&mut self) {
        let inserted = Inserted { all: &self.all, inserted: self.inserted };
        self.filter.grow_hashes(&inserted).expect("there is memory");
    }
}

/// Those of all hashes that were inserted.
struct Inserted<'a> {
    all: &'a [(u64, u32)],
    inserted: u32,
}

impl Lookup for Inserted<'_> {
    type Error = Infallible;

    fn visit(
        &self,
        hashes: RangeInclusive<u64>,
        visit: &mut dyn FnMut(Row<'_>) -> ControlFlow<()>,
    ) -> Result<(), Infallible> {
        let first = self.all.partition_point(|(hash, _)| hash < hashes.start());
        let under = self.all[first..].iter().take_while(|(hash, _)| hash <= hashes.end());
        for (hash, _) in under.filter(|(_, number)| *number < self.inserted) {
            if visit(Row { hash: *hash, key: &[], value: &[] }).is_break() {
                break;
            }
        }
        Ok(())
    }
}

impl Filter for Growing {
    const BATCHES: bool = true;

    #[inline(always)]
    fn insert(&mut self, item: u64) {
        loop {
            match self.filter.insert_hash(item) {
                Ok(Insertion::Stored) => break,
                Ok(Insertion::Covered(ticket)) => {
                    break self.filter.insert_covered(&ticket).expect("nothing happened in between");
                }
                Err(_) => self.grow(),
            }
        }
        self.inserted += 1;
    }

    #[inline(always)]
    fn contains(&self, item: u64) -> bool {
        self.filter.contains_hash(item)
    }

    fn bytes(&self) -> usize {
        self.filter.size_in_bytes()
    }

    #[inline(always)]
    fn contains_batch(&self, items: &[u64], found: &mut [bool]) {
        self.filter.contains_hash_batch(items, found);
    }
}

/// A table in which every hundredth item causes a false positive, which is fixed.
struct Adapting {
    filter: AdaptiveFilter,
    adapt_in: u64,
    /// The first bit after a fingerprint.
    differs: u64,
}

impl Filter for Adapting {
    const BATCHES: bool = true;

    #[inline(always)]
    fn insert(&mut self, item: u64) {
        let inserted = self.filter.insert_hash(item).expect("there is room");
        if let Insertion::Covered(ticket) = inserted {
            return self.filter.insert_covered(&ticket).expect("nothing happened in between");
        }
        self.adapt_in -= 1;
        if self.adapt_in == 0 {
            self.adapt_in = ADAPT_EVERY;
            let query = item ^ self.differs;
            let Query::Maybe(ticket) = self.filter.query_hash(query) else { return };
            // The only key under its fingerprint, as it was just made for it.
            let adapted =
                self.filter.adapt_hash(&ticket, query, &Rows::of_hashes([item])).expect("there is room");
            assert!(matches!(adapted, Adapted::Fixed { .. }));
        }
    }

    #[inline(always)]
    fn contains(&self, item: u64) -> bool {
        self.filter.contains_hash(item)
    }

    fn bytes(&self) -> usize {
        self.filter.size_in_bytes()
    }

    #[inline(always)]
    fn contains_batch(&self, items: &[u64], found: &mut [bool]) {
        self.filter.contains_hash_batch(items, found);
    }
}
