//! What can happen to a quotient filter.

use super::{Random, Spread, Subject};
use crate::filter::quotient::QuotientFilter;
use crate::hash::Hasher;

pub(super) const OPERATIONS: [&str; 13] = [
    "insert",
    "insert many",
    "remove",
    "remove many",
    "insert batch",
    "grow",
    "shrink",
    "reserve",
    "merge from",
    "merge",
    "clear",
    "copy",
    "bulk load",
];

pub(super) struct Counting {
    filter: QuotientFilter,
    spread: Spread,
}

fn filter(random: &mut Random) -> QuotientFilter {
    let (quotient_bits, remainder_bits) = (1 + random.below(4) as u32, 1 + random.below(4) as u32);
    let builder = QuotientFilter::builder().quotient_bits(quotient_bits).remainder_bits(remainder_bits);
    let builder = builder.hasher(Hasher::fast());
    let builder = if random.below(2) == 0 { builder.limits(3, 20) } else { builder };
    // With as many remainder bits the filter can grow by itself, once or more.
    let growing = builder.clone().grow_to(1 << (quotient_bits + remainder_bits - 1)).build();
    growing.or_else(|_| builder.build()).unwrap()
}

impl Counting {
    fn hashes(&self, random: &mut Random, most: u64) -> Vec<u64> {
        (0..random.below(most)).map(|_| (self.spread)(random.next())).collect()
    }
}

impl Subject for Counting {
    type Filter = QuotientFilter;

    fn new(random: &mut Random, spread: Spread) -> Self {
        Self { filter: filter(random), spread }
    }

    fn change(&mut self, random: &mut Random) -> &'static str {
        let hash = (self.spread)(random.next());
        let copies = [0, 1, 2, 3, 5, 100, 1 << 40, u64::MAX][random.below(8) as usize];
        let hashes = self.hashes(random, 40);
        let filter = &mut self.filter;
        match random.below(24) {
            0..=6 => {
                let _ = filter.insert_hash(hash);
                "insert"
            }
            7 => {
                let _ = filter.insert_hash_many(hash, copies);
                "insert many"
            }
            8..=11 => {
                filter.remove_hash(hash);
                "remove"
            }
            12 => {
                filter.remove_hash_many(hash, copies);
                "remove many"
            }
            13..=14 => {
                let _ = filter.insert_hash_batch(&hashes);
                "insert batch"
            }
            15 => {
                let _ = filter.grow();
                "grow"
            }
            16 => {
                let _ = filter.shrink_to_fit();
                "shrink"
            }
            17 => {
                let _ = filter.reserve(random.below(60));
                "reserve"
            }
            18..=19 => {
                let mut other = self::filter(random);
                hashes.iter().for_each(|&hash| drop(other.insert_hash(hash)));
                let _ = filter.merge_from(&other);
                "merge from"
            }
            20 => {
                let mut other = self::filter(random);
                hashes.iter().for_each(|&hash| drop(other.insert_hash(hash)));
                if let Ok(merged) = QuotientFilter::merge([&*filter, &other]) {
                    *filter = merged;
                }
                "merge"
            }
            21 => {
                if random.below(4) == 0 {
                    filter.clear();
                    return "clear";
                }
                *filter = filter.clone();
                "copy"
            }
            22 => {
                *filter = QuotientFilter::from_bytes(&filter.to_bytes()).unwrap();
                "copy"
            }
            _ => {
                let mut sorted = hashes;
                sorted.sort_unstable();
                let builder = QuotientFilter::builder().quotient_bits(2).remainder_bits(4).grow_to(30);
                if let Ok(loaded) = builder.hasher(Hasher::fast()).from_sorted_hashes(sorted) {
                    *filter = loaded;
                }
                "bulk load"
            }
        }
    }

    fn filter(&self) -> &QuotientFilter {
        &self.filter
    }
}
