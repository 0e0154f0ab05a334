//! What can happen to an expandable filter.

use super::{Random, Spread, Subject};
use crate::filter::expandable::{ExpandableFilter, Mode};
use crate::hash::Hasher;

pub(super) const OPERATIONS: [&str; 10] = [
    "insert",
    "remove",
    "rejuvenate",
    "insert batch",
    "rejuvenate batch",
    "remove most",
    "shrink",
    "merge",
    "clear",
    "copy",
];

pub(super) struct Expanding {
    filter: ExpandableFilter,
    spread: Spread,
    /// What was inserted, and may have been removed since: whoever removes a key twice gets no readable answers, but
    /// a readable file all the same.
    hashes: Vec<u64>,
}

impl Expanding {
    fn some(&self, random: &mut Random, most: u64) -> Vec<u64> {
        (0..random.below(most)).map(|_| self.old_or_new(random)).collect()
    }

    fn old_or_new(&self, random: &mut Random) -> u64 {
        match self.hashes.as_slice() {
            hashes if !hashes.is_empty() && random.below(3) > 0 => {
                hashes[random.below(hashes.len() as u64) as usize]
            }
            _ => (self.spread)(random.next()),
        }
    }
}

impl Subject for Expanding {
    type Filter = ExpandableFilter;

    fn new(random: &mut Random, spread: Spread) -> Self {
        let builder = ExpandableFilter::builder()
            .mode([Mode::Growing, Mode::Chained, Mode::Basic][random.below(3) as usize])
            .quotient_bits(1 + random.below(4) as u32)
            .fingerprint_bits(1 + random.below(4) as u32)
            .spread_growth(random.below(2) == 0)
            .block_bits([64, 64, 9, 3][random.below(4) as usize])
            .hasher(Hasher::fast());
        let builder = if random.below(2) == 0 { builder.limits(3, 20) } else { builder };
        Self { filter: builder.build().unwrap(), spread, hashes: Vec::new() }
    }

    fn change(&mut self, random: &mut Random) -> &'static str {
        let hash = self.old_or_new(random);
        let some = self.some(random, 40);
        let filter = &mut self.filter;
        match random.below(24) {
            0..=7 => {
                if filter.insert_hash(hash).is_ok() {
                    self.hashes.push(hash);
                }
                "insert"
            }
            8..=12 => {
                filter.remove_hash(hash);
                "remove"
            }
            13 => {
                let _ = filter.rejuvenate_hash(hash);
                "rejuvenate"
            }
            14..=16 => {
                if filter.insert_hash_batch(&some).is_ok() {
                    self.hashes.extend(some);
                }
                "insert batch"
            }
            17 => {
                let _ = filter.rejuvenate_hash_batch(&some);
                "rejuvenate batch"
            }
            18 => {
                let keep = self.hashes.len() / 8;
                for hash in self.hashes.drain(keep..) {
                    filter.remove_hash(hash);
                }
                "remove most"
            }
            19 => {
                let _ = filter.shrink_to_fit();
                "shrink"
            }
            20..=21 => {
                let mut other = filter.empty_like().unwrap();
                some.iter().for_each(|&hash| drop(other.insert_hash(hash)));
                if filter.merge_from(&other).is_ok() {
                    self.hashes.extend(some);
                }
                "merge"
            }
            22 => {
                if random.below(4) == 0 {
                    filter.clear();
                    self.hashes.clear();
                    return "clear";
                }
                *filter = filter.clone();
                "copy"
            }
            _ => {
                *filter = ExpandableFilter::from_bytes(&filter.to_bytes()).unwrap();
                "copy"
            }
        }
    }

    fn filter(&self) -> &ExpandableFilter {
        &self.filter
    }
}
