//! Random operations on tiny expandable filters with badly distributed hashes, against a multiset of bit strings.
//! After every operation everything is compared: contents, counters, layout, and that an error changed no byte.

#![no_main]

use arbitrary::Arbitrary;
use libfuzzer_sys::fuzz_target;
use twiceshy::expandable::Mode;
use twiceshy::{ExpandableFilter, Hasher};
use twiceshy_testkit::{BitString, Strings};

const MAX_OPERATIONS: usize = 200;

#[derive(Arbitrary, Debug)]
struct Case {
    shape: Shape,
    spread: Spread,
    operations: Vec<Operation>,
}

#[derive(Arbitrary, Debug, Clone, Copy)]
struct Shape {
    mode: u8,
    quotient_bits: u8,
    fingerprint_bits: u8,
    max_load: u8,
    spread_growth: bool,
    limits: Option<(u8, u8)>,
}

/// Which bits of a hash differ.
#[derive(Arbitrary, Debug, Clone, Copy)]
enum Spread {
    First,
    /// Behind the first bits: few runs with many entries.
    Behind,
    /// The last quotients: everything goes to the spill area.
    End,
    /// Each hash begins with as many ones as its key says.
    Nested,
    Even,
}

#[derive(Arbitrary, Debug)]
enum Operation {
    Insert(u8),
    Remove(u8),
    Rejuvenate(u8),
    InsertBatch(Vec<u8>),
    RejuvenateBatch(Vec<u8>),
    Shrink,
    Merge(Vec<u8>),
    SaveAndLoad,
    CloneIt,
    Clear,
}

impl Spread {
    fn hash(self, key: u8) -> u64 {
        let key = u64::from(key);
        match self {
            Self::First => key << 56,
            Self::Behind => key << 48,
            Self::End => !(key << 50),
            Self::Nested => !(u64::MAX >> (key % 64)),
            Self::Even => (key + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15),
        }
    }
}

impl Shape {
    fn build(self) -> ExpandableFilter {
        let mode = [Mode::Growing, Mode::Chained, Mode::Basic][usize::from(self.mode % 3)];
        let mut builder = ExpandableFilter::builder()
            .mode(mode)
            .quotient_bits(1 + u32::from(self.quotient_bits % 5))
            .fingerprint_bits(1 + u32::from(self.fingerprint_bits % 10))
            .max_load(0.5 + f64::from(self.max_load % 46) / 100.0)
            .spread_growth(self.spread_growth)
            .hasher(Hasher::fast());
        if let Some((offset_max, spill)) = self.limits {
            builder = builder.limits(1 + offset_max % 8, u32::from(spill % 20));
        }
        builder.build().expect("a small filter")
    }
}

fn stored(filter: &ExpandableFilter) -> Strings {
    Strings(filter.iter().map(|entry| (BitString::parse(&entry.prefix.to_string()), entry.count)).collect())
}

struct Pair {
    filter: ExpandableFilter,
    strings: Strings,
    members: Vec<u64>,
}

impl Pair {
    fn longest(&self, hash: u64) -> Option<BitString> {
        self.strings.longest(BitString::of_hash(hash))
    }

    fn take(&mut self, string: BitString) {
        assert_eq!(self.strings.0.take(&string, 1), 1, "it is there");
    }

    fn add(&mut self, hash: u64) {
        self.strings.0.add(BitString::of_hash(hash).cut(self.filter.fingerprint_bits()), 1);
    }

    /// What the filter holds must be strings of the members, each of one.
    fn adopt(&mut self) {
        self.strings = stored(&self.filter);
        self.strings.belong_to(self.members.iter().map(|&hash| BitString::of_hash(hash))).unwrap();
    }

    fn check(&mut self) {
        self.strings = std::mem::take(&mut self.strings).cut(self.filter.fingerprint_bits());
        assert_eq!(stored(&self.filter), self.strings, "contents");
        assert_eq!(self.filter.len(), self.members.len() as u64);
        for key in 0..=255u8 {
            for spread in [Spread::First, Spread::Nested, Spread::Even] {
                let hash = spread.hash(key);
                assert_eq!(self.filter.contains_hash(hash), self.longest(hash).is_some(), "{hash:x}");
            }
        }
        let mut found = vec![false; self.members.len()];
        self.filter.contains_hash_batch(&self.members, &mut found);
        assert!(found.iter().all(|&found| found), "a member was lost");
        let bytes = self.filter.to_bytes();
        ExpandableFilter::view(&bytes).expect("a header that reads back").validate().expect("valid tables");
    }
}

fuzz_target!(|case: Case| {
    let Case { shape, spread, operations } = case;
    let mut pair = Pair { filter: shape.build(), strings: Strings::default(), members: Vec::new() };
    for operation in operations.into_iter().take(MAX_OPERATIONS) {
        run(&mut pair, operation, spread);
        pair.check();
    }
});

fn run(pair: &mut Pair, operation: Operation, spread: Spread) {
    let before = pair.filter.to_bytes();
    let mut failed = false;
    match operation {
        Operation::Insert(key) => {
            let hash = spread.hash(key);
            match pair.filter.insert_hash(hash) {
                Ok(_) => {
                    pair.add(hash);
                    pair.members.push(hash);
                }
                Err(_) => failed = true,
            }
        }
        Operation::Remove(at) => {
            if pair.members.is_empty() {
                return;
            }
            let hash = pair.members.swap_remove(usize::from(at) % pair.members.len());
            assert!(pair.filter.remove_hash(hash), "a member is found");
            let string = pair.longest(hash).expect("a member has a string");
            pair.take(string);
        }
        Operation::Rejuvenate(at) => {
            if pair.members.is_empty() {
                return;
            }
            let hash = pair.members[usize::from(at) % pair.members.len()];
            let string = pair.longest(hash).expect("a member has a string");
            let full = pair.filter.fingerprint_bits();
            match pair.filter.rejuvenate_hash(hash) {
                Ok(longer) => {
                    assert_eq!(longer, string.len < full);
                    if longer {
                        pair.take(string);
                        pair.add(hash);
                    }
                }
                Err(_) => failed = true,
            }
        }
        Operation::InsertBatch(keys) => {
            let hashes: Vec<u64> = keys.iter().map(|&key| spread.hash(key)).collect();
            match pair.filter.insert_hash_batch(&hashes) {
                Ok(_) => {
                    pair.members.extend(hashes);
                    pair.adopt();
                }
                Err(_) => failed = true,
            }
        }
        Operation::RejuvenateBatch(all) => {
            if pair.members.is_empty() {
                return;
            }
            let hashes: Vec<u64> =
                all.iter().map(|&at| pair.members[usize::from(at) % pair.members.len()]).collect();
            match pair.filter.rejuvenate_hash_batch(&hashes) {
                Ok(_) => pair.adopt(),
                Err(_) => failed = true,
            }
        }
        Operation::Shrink => pair.filter.shrink_to_fit().expect("memory for a small filter"),
        Operation::Merge(keys) => {
            let mut other = pair.filter.empty_like().expect("memory for a small filter");
            let hashes = keys.iter().map(|&key| spread.hash(key));
            let inserted: Vec<u64> = hashes.filter(|&hash| other.insert_hash(hash).is_ok()).collect();
            match pair.filter.merge_from(&other) {
                Ok(()) => {
                    pair.members.extend(inserted);
                    pair.adopt();
                }
                Err(_) => failed = true,
            }
        }
        Operation::SaveAndLoad => {
            pair.filter = ExpandableFilter::read_from(before.as_slice()).expect("its own bytes");
            assert_eq!(pair.filter.to_bytes(), before);
        }
        Operation::CloneIt => pair.filter = pair.filter.clone(),
        Operation::Clear => {
            pair.filter.clear();
            pair.strings = Strings::default();
            pair.members.clear();
        }
    }
    if failed {
        assert_eq!(pair.filter.to_bytes(), before, "an error changed bytes");
    }
}
