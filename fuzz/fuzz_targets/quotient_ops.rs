//! Random operations on tiny quotient filters with badly distributed hashes, against a map from
//! fingerprints to counts. After every operation everything is compared: contents, counters, layout, and
//! that an error changed no byte.

#![no_main]

use arbitrary::Arbitrary;
use libfuzzer_sys::fuzz_target;
use twiceshy::error::{InsertError, MergeError, ResizeError};
use twiceshy::{Hasher, QuotientFilter};
use twiceshy_testkit::Multiset;
use twiceshy_testkit::file::{field, slots_of};

/// Larger tables are slow and show nothing new.
const MAX_QUOTIENT_BITS: u32 = 9;
const MAX_OPERATIONS: usize = 64;

#[derive(Arbitrary, Debug)]
struct Case {
    shape: Shape,
    spread: Spread,
    operations: Vec<Operation>,
}

#[derive(Arbitrary, Debug, Clone, Copy)]
struct Shape {
    quotient_bits: u8,
    remainder_bits: u8,
    /// Doublings that are automatic.
    growth: u8,
    limits: Option<(u8, u8)>,
}

/// How few bits of a hash differ.
#[derive(Arbitrary, Debug, Clone, Copy)]
enum Spread {
    /// The first bits: neighbouring quotients.
    First,
    /// The last bits of the fingerprint: few runs with many entries.
    Last,
    /// Two bits of the quotient and some of the remainder.
    Both,
    /// The last quotients: everything goes to the spill area.
    End,
    Even,
}

#[derive(Arbitrary, Debug)]
enum Operation {
    Insert(u8),
    InsertMany(u8, Copies),
    InsertBatch(Vec<u8>),
    Remove(u8),
    RemoveMany(u8, Copies),
    Grow,
    Shrink,
    Reserve(u8),
    MergeFrom(Shape, Vec<(u8, Copies)>),
    Merge(Shape, Vec<(u8, Copies)>),
    Bulk(Vec<u8>),
    SaveAndLoad,
    CloneIt,
    Clear,
}

#[derive(Arbitrary, Debug, Clone, Copy)]
enum Copies {
    Few(u8),
    Some(u16),
    Bits(u8),
    Any(u64),
}

impl Copies {
    fn number(self) -> u64 {
        match self {
            Self::Few(n) => u64::from(n % 8),
            Self::Some(n) => u64::from(n),
            Self::Bits(n) => 1 << (n % 64),
            Self::Any(n) => n,
        }
    }
}

impl Spread {
    fn hash(self, key: u8, fingerprint_bits: u32) -> u64 {
        let key = u64::from(key);
        let last = 64 - fingerprint_bits;
        // What follows the fingerprint must not matter: set all of it.
        let noise = if last == 0 { 0 } else { u64::MAX >> fingerprint_bits };
        let hash = match self {
            Self::First => key << 56,
            Self::Last => key << last,
            Self::Both => (key & 3) << 62 | (key >> 2) << last,
            Self::End => !(key << last),
            Self::Even => (key + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15),
        };
        if key & 1 == 1 { hash | noise } else { hash & !noise }
    }
}

impl Shape {
    fn build(self) -> QuotientFilter {
        let quotient_bits = 1 + u32::from(self.quotient_bits) % 7;
        let remainder_bits = 1 + u32::from(self.remainder_bits) % 8;
        let largest = (quotient_bits + u32::from(self.growth) % 4).min(quotient_bits + remainder_bits - 1);
        let mut builder = QuotientFilter::builder()
            .quotient_bits(quotient_bits)
            .remainder_bits(remainder_bits)
            .hasher(Hasher::fast());
        if largest > quotient_bits {
            builder = builder.grow_to((1 << largest) * 95 / 100);
        }
        if let Some((offset_max, spill)) = self.limits {
            builder = builder.limits(1 + offset_max % 8, u32::from(spill % 20));
        }
        builder.build().expect("a small filter")
    }
}

/// Spill slots of the standard shapes.
fn standard_spill(quotient_bits: u32) -> u64 {
    match quotient_bits {
        ..6 => 64 - (1 << quotient_bits),
        6..8 => 64,
        8..15 => 128,
        15.. => 256,
    }
}

/// Fingerprints with their counts.
type Contents = Multiset<u64>;

struct Pair {
    filter: QuotientFilter,
    model: Contents,
    /// `None`: the standard one of every size.
    spill: Option<u64>,
    /// Automatic growth up to here.
    largest: u32,
    spread: Spread,
}

impl Pair {
    fn new(shape: Shape, spread: Spread) -> Self {
        let filter = shape.build();
        let spill = shape.limits.map(|(_, spill)| u64::from(spill % 20));
        let largest = u32::from(filter.to_bytes()[field::MAX_QUOTIENT_BITS]);
        Self { filter, model: Contents::new(), spill, largest, spread }
    }

    fn hash(&self, key: u8) -> u64 {
        self.spread.hash(key, self.filter.fingerprint_bits())
    }

    fn fingerprint(&self, hash: u64) -> u64 {
        hash >> (64 - self.filter.fingerprint_bits())
    }

    fn len(&self) -> u64 {
        self.model.total()
    }

    /// Whether `contents` fit a table of so many quotient bits, by laying them out one by one.
    fn fits(&self, contents: &Contents, quotient_bits: u32) -> bool {
        // Merging may have cut the fingerprints below what growth was planned with.
        let Some(slot_bits @ 1..) = self.filter.fingerprint_bits().checked_sub(quotient_bits) else {
            return false;
        };
        let total = (1 << quotient_bits) + self.spill.unwrap_or_else(|| standard_spill(quotient_bits));
        let (mut free, mut used) = (0, 0);
        for (&fingerprint, count) in contents.iter() {
            let slots = slots_of(count, slot_bits);
            free = (fingerprint >> slot_bits).max(free) + slots;
            used += slots;
            if free > total {
                return false;
            }
        }
        used <= (1u64 << quotient_bits) * 95 / 100
    }

    /// Whether inserting must succeed: at the present size, or at one that it may grow to.
    fn fits_growing(&self, contents: &Contents) -> bool {
        let bits = self.filter.quotient_bits();
        (bits..=self.largest.max(bits)).any(|bits| self.fits(contents, bits))
    }

    fn apply(&mut self, operation: &Operation) {
        let before = self.filter.to_bytes();
        let changed = self.try_apply(operation);
        if !changed {
            assert_eq!(self.filter.to_bytes(), before, "an error left a trace: {operation:?}");
        }
        self.check();
    }

    /// `false` after an error.
    fn try_apply(&mut self, operation: &Operation) -> bool {
        match *operation {
            Operation::Insert(key) => self.insert(key, 1),
            Operation::InsertMany(key, copies) => self.insert(key, copies.number()),
            Operation::InsertBatch(ref keys) => self.insert_batch(&keys[..keys.len().min(100)]),
            Operation::Remove(key) => self.remove(key, 1),
            Operation::RemoveMany(key, copies) => self.remove(key, copies.number()),
            Operation::Grow => self.grow(),
            Operation::Shrink => self.shrink(),
            Operation::Reserve(keys) => self.reserve(u64::from(keys)),
            Operation::MergeFrom(shape, ref contents) => self.merge_from(shape, contents),
            Operation::Merge(shape, ref contents) => self.merge(shape, contents),
            Operation::Bulk(ref keys) => self.bulk(&keys[..keys.len().min(100)]),
            Operation::SaveAndLoad => self.save_and_load(),
            Operation::CloneIt => {
                self.filter = self.filter.clone();
                true
            }
            Operation::Clear => {
                self.filter.clear();
                self.model.clear();
                true
            }
        }
    }

    fn insert(&mut self, key: u8, copies: u64) -> bool {
        let hash = self.hash(key);
        let fingerprint = self.fingerprint(hash);
        let result = self.filter.insert_hash_many(hash, copies);
        if self.len().checked_add(copies).is_none() {
            assert!(matches!(result, Err(InsertError::TooManyCopies)), "{result:?}");
            return false;
        }
        let mut new = self.model.clone();
        new.add(fingerprint, copies);
        match result {
            Ok(first) => {
                assert_eq!(first, copies > 0 && self.model.count(&fingerprint) == 0);
                self.model = new;
                true
            }
            Err(InsertError::Full { .. }) => {
                assert!(!self.fits_growing(&new), "there was room");
                false
            }
            Err(error) => panic!("{error}"),
        }
    }

    fn insert_batch(&mut self, keys: &[u8]) -> bool {
        let hashes: Vec<u64> = keys.iter().map(|&key| self.hash(key)).collect();
        let mut new = self.model.clone();
        let mut first = 0;
        for &hash in &hashes {
            if new.count(&self.fingerprint(hash)) == u64::MAX {
                return true;
            }
            first += u64::from(new.add(self.fingerprint(hash), 1) == 1);
        }
        match self.filter.insert_hash_batch(&hashes) {
            Ok(inserted) => {
                assert_eq!(inserted, first);
                self.model = new;
                true
            }
            Err(InsertError::TooManyCopies) => {
                assert!(self.len().checked_add(keys.len() as u64).is_none());
                false
            }
            Err(InsertError::Full { .. }) => {
                assert!(!self.fits_growing(&new), "there was room");
                false
            }
            Err(error) => panic!("{error}"),
        }
    }

    fn remove(&mut self, key: u8, copies: u64) -> bool {
        let hash = self.hash(key);
        let fingerprint = self.fingerprint(hash);
        let removed = self.model.take(&fingerprint, copies);
        match copies {
            1 => assert_eq!(self.filter.remove_hash(hash), removed == 1),
            _ => assert_eq!(self.filter.remove_hash_many(hash, copies), removed),
        }
        true
    }

    fn grow(&mut self) -> bool {
        let bits = self.filter.quotient_bits() + 1;
        if bits > MAX_QUOTIENT_BITS {
            return true;
        }
        match self.filter.grow() {
            Ok(()) => assert_eq!(self.filter.quotient_bits(), bits),
            Err(ResizeError::NotEnoughBits) => assert_eq!(self.filter.remainder_bits(), 1),
            Err(ResizeError::Full { .. }) => assert!(!self.fits(&self.model, bits), "there was room"),
            Err(error) => panic!("{error}"),
        }
        self.filter.quotient_bits() == bits
    }

    fn shrink(&mut self) -> bool {
        let bits = self.filter.quotient_bits();
        self.filter.shrink_to_fit().expect("nothing in the way");
        let now = self.filter.quotient_bits();
        assert!(now <= bits);
        for smaller in 1..now {
            assert!(!self.fits(&self.model, smaller), "it could be smaller");
        }
        now != bits
    }

    fn reserve(&mut self, keys: u64) -> bool {
        match self.filter.reserve(keys) {
            Ok(()) => {
                assert!(self.filter.capacity() >= self.filter.used_slots() + keys);
                true
            }
            Err(ResizeError::NotEnoughBits | ResizeError::Full { .. }) => false,
            Err(error) => panic!("{error}"),
        }
    }

    /// Another filter with as much of `contents` as fits, and its contents.
    fn other(&self, shape: Shape, contents: &[(u8, Copies)]) -> Pair {
        let mut other = Pair::new(shape, self.spread);
        for &(key, copies) in contents.iter().take(50) {
            other.insert(key, copies.number());
        }
        other.check();
        other
    }

    /// The contents of both, cut to the shorter fingerprint. `None` if the counts overflow.
    fn union(&self, other: &Pair) -> Option<Contents> {
        let bits = self.filter.fingerprint_bits().min(other.filter.fingerprint_bits());
        let mut union = Contents::new();
        self.len().checked_add(other.len())?;
        for pair in [self, other] {
            let cut = pair.filter.fingerprint_bits() - bits;
            union.extend(pair.model.iter().map(|(&fingerprint, count)| (fingerprint >> cut, count)));
        }
        Some(union)
    }

    fn merge_from(&mut self, shape: Shape, contents: &[(u8, Copies)]) -> bool {
        let other = self.other(shape, contents);
        let bytes = other.filter.to_bytes();
        let view = QuotientFilter::view(&bytes).expect("just written");
        let union = self.union(&other);
        match self.filter.merge_from(&view) {
            Ok(()) => {
                self.model = union.expect("the sum of the counts fits");
                true
            }
            Err(MergeError::TooManyCopies) => {
                assert!(union.is_none(), "the sum of the counts fits");
                false
            }
            Err(MergeError::Full { .. } | MergeError::NotEnoughBits { .. }) => false,
            Err(error) => panic!("{error}"),
        }
    }

    fn merge(&mut self, shape: Shape, contents: &[(u8, Copies)]) -> bool {
        let other = self.other(shape, contents);
        let union = self.union(&other);
        match QuotientFilter::merge([&self.filter, &other.filter]) {
            Ok(merged) if merged.quotient_bits() <= MAX_QUOTIENT_BITS => {
                self.model = union.expect("the sum of the counts fits");
                self.largest = self.largest.max(other.largest);
                self.filter = merged;
                true
            }
            Ok(_) | Err(MergeError::Full { .. } | MergeError::NotEnoughBits { .. }) => false,
            Err(MergeError::TooManyCopies) => {
                assert!(union.is_none(), "the sum of the counts fits");
                false
            }
            Err(error) => panic!("{error}"),
        }
    }

    /// Builds from sorted hashes, and compares with inserting them.
    fn bulk(&mut self, keys: &[u8]) -> bool {
        let mut hashes: Vec<u64> = keys.iter().map(|&key| self.hash(key)).collect();
        hashes.sort_unstable();
        let built = QuotientFilter::builder()
            .quotient_bits(self.filter.quotient_bits())
            .remainder_bits(self.filter.remainder_bits())
            .hasher(Hasher::fast());
        let mut one_by_one = built.clone().build().expect("a small filter");
        let inserted = one_by_one.insert_hash_batch(&hashes);
        match built.from_sorted_hashes(hashes) {
            Ok(built) => assert_eq!(built.to_bytes(), one_by_one.to_bytes()),
            Err(_) => assert!(inserted.is_err(), "inserting fits, bulk loading does not"),
        }
        true
    }

    fn save_and_load(&mut self) -> bool {
        let bytes = self.filter.to_bytes();
        self.filter = QuotientFilter::read_from(bytes.as_slice()).expect("just written");
        assert_eq!(QuotientFilter::from_bytes(&bytes).expect("just written").to_bytes(), bytes);
        assert_eq!(self.filter.to_bytes(), bytes);
        true
    }

    fn check(&self) {
        let filter = &self.filter;
        let bytes = filter.to_bytes();
        let view = QuotientFilter::view(&bytes).expect("a header that reads back");
        view.validate().expect("a valid table");
        assert_eq!(filter.len(), self.len());
        assert_eq!(filter.distinct(), self.model.distinct());
        let slots = self.model.iter().map(|(_, count)| slots_of(count, filter.remainder_bits()));
        assert_eq!(filter.used_slots(), slots.sum::<u64>());
        assert!(filter.used_slots() <= filter.capacity());
        assert!(filter.iter().map(|e| (e.fingerprint, e.count)).eq(self.model.iter().map(|(&f, c)| (f, c))));
        let shift = 64 - filter.fingerprint_bits();
        let near = self.model.things().flat_map(|&f| [f.wrapping_sub(1), f, f + 1]);
        let hashes: Vec<u64> = near.chain([0, 1, u64::MAX]).map(|fingerprint| fingerprint << shift).collect();
        let mut found = vec![false; hashes.len()];
        filter.contains_hash_batch(&hashes, &mut found);
        for (&hash, found) in hashes.iter().zip(found) {
            let count = self.model.count(&self.fingerprint(hash));
            assert_eq!(filter.count_hash(hash), count);
            assert_eq!(view.count_hash(hash), count);
            assert_eq!((filter.contains_hash(hash), found), (count > 0, count > 0));
        }
    }

    /// The same contents inserted in order are the same bytes, unless that crowds one place so that a filter which may grow does so
    /// early: then slots are narrower, and there may be too few of them for counts.
    fn check_canonical(&self) {
        let mut again = self.filter.empty_like().expect("memory");
        let (bits, shift) = (self.filter.quotient_bits(), 64 - self.filter.fingerprint_bits());
        for (&fingerprint, count) in self.model.iter() {
            let inserted = again.insert_hash_many(fingerprint << shift, count);
            assert!(inserted.is_ok() || again.quotient_bits() > bits, "it fitted before: {inserted:?}");
            if inserted.is_err() {
                return;
            }
        }
        if again.quotient_bits() > bits {
            assert!(again.quotient_bits() <= self.largest, "it may not grow as far");
            assert!(again.iter().eq(self.filter.iter()));
        } else {
            assert_eq!(again.to_bytes(), self.filter.to_bytes());
        }
    }
}

fuzz_target!(|case: Case| {
    let mut pair = Pair::new(case.shape, case.spread);
    for operation in case.operations.iter().take(MAX_OPERATIONS) {
        pair.apply(operation);
    }
    pair.check_canonical();
});
