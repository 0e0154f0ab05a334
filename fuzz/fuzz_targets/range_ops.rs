//! Random operations on tiny range filters with badly distributed hashes, against the keys that are in them. After every
//! operation every key of a small universe is looked for, in ranges, and the layout is checked, and that an error changed no byte.

#![no_main]

use std::ops::Bound;

use arbitrary::Arbitrary;
use libfuzzer_sys::fuzz_target;
use twiceshy::{Hasher, RangeFilter};

const MAX_OPERATIONS: usize = 100;

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
    range_bits: u8,
    growth: bool,
    limits: Option<(u8, u8)>,
}

/// Which bits of the hash of a partition differ.
#[derive(Arbitrary, Debug, Clone, Copy)]
enum Spread {
    First,
    Behind,
    End,
    Nested,
    Same,
    Even,
}

#[derive(Arbitrary, Debug)]
enum Operation {
    Insert(u8),
    InsertOften(u8, u8),
    Remove(u8),
    InsertBatch(Vec<u8>),
    Grow,
    Shrink,
    Merge(Shape, Vec<u8>),
    Load(bool),
    SaveAndLoad,
    Clear,
}

impl Spread {
    fn hasher(self) -> Hasher {
        Hasher::chosen(match self {
            Self::First => |key, _| u64::from(key[0]) << 56,
            Self::Behind => |key, _| u64::from(key[0]) << 48,
            Self::End => |key, _| !(u64::from(key[0]) << 50),
            Self::Nested => |key, _| !(u64::MAX >> (key[0] % 64)),
            Self::Same => |_, _| 0x5555_5555_5555_5555,
            Self::Even => |key, _| (u64::from(key[0]) + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15),
        })
    }
}

impl Shape {
    fn build(self, spread: Spread, range_bits: u8, growth: bool) -> RangeFilter<u8> {
        let mut builder = RangeFilter::builder()
            .quotient_bits(1 + u32::from(self.quotient_bits % 6))
            .remainder_bits(1 + u32::from(self.remainder_bits % 10))
            .max_range(1 << (range_bits % 9))
            .max_partitions(300)
            .growth(growth)
            .hasher(spread.hasher());
        if let Some((offset_max, spill)) = self.limits {
            builder = builder.limits(1 + offset_max % 8, u32::from(spill % 20));
        }
        builder.build().expect("a small filter")
    }
}

struct Pair {
    filter: RangeFilter<u8>,
    members: Vec<u8>,
}

impl Pair {
    fn check(&self) {
        self.filter.validate().expect("a valid table");
        assert_eq!(self.filter.len(), self.members.len() as u64);
        let found: Vec<bool> = (0..=255u8).map(|key| self.filter.contains(&key)).collect();
        assert!(self.members.iter().all(|&key| found[usize::from(key)]), "a member was lost");
        let ranges: Vec<_> = (0..=255u8)
            .map(|key| (Bound::Included(key), Bound::Included(key.saturating_add(key.wrapping_mul(7) % 40))))
            .collect();
        let mut batch = vec![false; 256];
        self.filter.contains_range_batch(&ranges, &mut batch);
        for ((first, last), batch) in ranges.into_iter().zip(batch) {
            let (Bound::Included(from), Bound::Included(to)) = (first, last) else { unreachable!() };
            let any = found[usize::from(from)..=usize::from(to)].contains(&true);
            assert_eq!((self.filter.contains_range((first, last)), batch), (any, any), "{from}..={to}");
        }
    }
}

fuzz_target!(|case: Case| {
    let Case { shape, spread, operations } = case;
    let filter = shape.build(spread, shape.range_bits, shape.growth);
    let mut pair = Pair { filter, members: Vec::new() };
    for operation in operations.into_iter().take(MAX_OPERATIONS) {
        let before = pair.filter.to_bytes();
        if !run(&mut pair, operation, shape, spread) {
            assert_eq!(pair.filter.to_bytes(), before, "an error changed something");
        }
        pair.check();
    }
});

/// Tells whether it worked.
fn run(pair: &mut Pair, operation: Operation, shape: Shape, spread: Spread) -> bool {
    match operation {
        Operation::Insert(key) => {
            let done = pair.filter.insert(&key).is_ok();
            pair.members.extend(done.then_some(key));
            return done;
        }
        Operation::InsertOften(key, copies) => {
            for _ in 0..copies {
                if pair.filter.insert(&key).is_ok() {
                    pair.members.push(key);
                }
            }
        }
        Operation::Remove(at) => {
            if !pair.members.is_empty() {
                let key = pair.members.swap_remove(usize::from(at) % pair.members.len());
                assert!(pair.filter.remove(&key), "a member is found");
            }
        }
        Operation::InsertBatch(keys) => {
            let done = pair.filter.insert_batch(&keys).is_ok();
            if done {
                pair.members.extend(keys);
            }
            return done;
        }
        Operation::Grow => return pair.filter.quotient_bits() > 9 || pair.filter.grow().is_ok(),
        Operation::Shrink => return pair.filter.shrink_to_fit().is_ok(),
        Operation::Merge(other, keys) => {
            if pair.filter.quotient_bits() > 9 {
                return true;
            }
            let mut other = other.build(spread, shape.range_bits, true);
            let inserted: Vec<u8> = keys.into_iter().filter(|key| other.insert(key).is_ok()).collect();
            let done = other.quotient_bits() <= 9 && pair.filter.merge_from(&other).is_ok();
            if done {
                pair.members.extend(inserted);
            }
            return done;
        }
        Operation::Load(sorted) => {
            let builder =
                RangeFilter::<u8>::builder().max_range(1 << (shape.range_bits % 9)).max_partitions(300);
            let builder = builder.hasher(spread.hasher());
            let mut keys = pair.members.clone();
            keys.sort_by_key(|key| pair.filter.partition_hash(key));
            let loaded = if sorted { builder.from_sorted(keys) } else { builder.from_keys(keys) };
            pair.filter = loaded.expect("it grows");
        }
        Operation::SaveAndLoad => {
            let bytes = pair.filter.to_bytes();
            let copy = RangeFilter::<u8>::from_bytes(&bytes).expect("its own bytes");
            assert_eq!(copy.to_bytes(), bytes);
        }
        Operation::Clear => {
            pair.filter.clear();
            pair.members.clear();
        }
    }
    true
}
