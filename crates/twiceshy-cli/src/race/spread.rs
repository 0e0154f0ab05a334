//! Numbers as keys, and ranges between them that are certainly empty.
//!
//! # The idea
//!
//! With ranges of up to `R` keys (a power of two), all numbers are cut into blocks of `4R`. A block has one key or none, and the
//! key is never in its first or its last quarter. So what lies at most `R` from a key, and is not longer than `R`, has no other key
//! in it, and a range that begins in the middle of a block without a key has none. Which block is the next one follows from a
//! permutation: nothing is kept in memory, and the numbers lie anywhere, with any lowest bits.

use super::random::{Numbers, mix};

/// A range as it is asked for: its first and its last key, eight bytes each, highest byte first.
pub(super) type RangeQuery = [u8; 16];

/// Queries have their blocks behind those of keys, and every stream of queries has so many.
const FIRST_QUERY: u64 = 1 << 41;
const STREAM_BITS: u32 = 36;

/// The keys and the empty ranges of a race.
#[derive(Debug, Clone, Copy)]
pub(super) struct Spread {
    seed: u64,
    /// How many keys there are.
    keys: u64,
    /// The longest range that is asked for, and the power of two from there on.
    max_range: u64,
    quarter: u64,
}

impl Spread {
    pub(super) fn new(seed: u64, keys: u64, max_range: u64) -> Self {
        Self { seed, keys, max_range, quarter: max_range.next_power_of_two() }
    }

    pub(super) fn keys(&self) -> u64 {
        self.keys
    }

    /// The first number of a block. Different blocks for different numbers: every step can be undone.
    fn block(&self, number: u64) -> u64 {
        let bits = u64::BITS - self.quarter.trailing_zeros() - 2;
        let (mask, half) = (u64::MAX >> (u64::BITS - bits), bits / 2);
        let mut block = number & mask;
        for round in 0..3 {
            block = block.wrapping_mul(mix(self.seed ^ round) | 1) & mask;
            block ^= block >> half;
        }
        block * 4 * self.quarter
    }

    /// Somewhere in the middle of a block.
    fn middle(&self, random: u64) -> u64 {
        self.quarter + random % (2 * self.quarter)
    }

    /// The key with a number.
    pub(super) fn key(&self, number: u64) -> u64 {
        self.block(number) + self.middle(mix(number ^ mix(self.seed)))
    }

    /// A range in a block without a key, one per stream and number.
    pub(super) fn anywhere(&self, stream: u64, number: u64) -> RangeQuery {
        let number = FIRST_QUERY.wrapping_add(stream << STREAM_BITS).wrapping_add(number);
        let mut numbers = Numbers::new(self.seed, number);
        let first = self.block(number) + self.middle(numbers.next());
        query(first, first + numbers.next() % self.max_range)
    }

    /// A range beside one of the keys, before it or after it: the next key of the range is from 1 to as many away as the longest range has.
    pub(super) fn beside(&self, numbers: &mut Numbers) -> RangeQuery {
        let key = self.key(numbers.next() % self.keys);
        let (distance, more) = (1 + numbers.next() % self.max_range, numbers.next() % self.max_range);
        let after = || Some(query(key.checked_add(distance)?, key.checked_add(distance + more)?));
        let before = || Some(query(key.checked_sub(distance + more)?, key.checked_sub(distance)?));
        // At an end of all numbers there is one of them.
        let found =
            if numbers.next().is_multiple_of(2) { after().or_else(before) } else { before().or_else(after) };
        found.unwrap_or_else(|| self.anywhere(0, 0))
    }

    /// A range that has this key in it.
    pub(super) fn around(&self, key: u64) -> RangeQuery {
        let before = mix(key) % self.max_range;
        query(key.saturating_sub(before), key.saturating_add(self.max_range - 1 - before))
    }
}

fn query(first: u64, last: u64) -> RangeQuery {
    let mut query = [0; 16];
    query[..8].copy_from_slice(&first.to_be_bytes());
    query[8..].copy_from_slice(&last.to_be_bytes());
    query
}

/// The first and the last key of a range.
pub(super) fn bounds(query: &[u8]) -> Option<(u64, u64)> {
    let (first, last) = query.split_first_chunk::<8>()?;
    Some((u64::from_be_bytes(*first), u64::from_be_bytes(last.try_into().ok()?)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn ranges_are_empty_and_beside_keys_at_every_distance() {
        for max_range in [1, 2, 5, 32, 1_000, 65_536] {
            let spread = Spread::new(7, 20_000, max_range);
            let keys: BTreeSet<u64> = (0..20_000).map(|number| spread.key(number)).collect();
            assert_eq!(keys.len(), 20_000);
            let is_empty = |query: RangeQuery| {
                let (first, last) = bounds(&query).unwrap();
                assert!((first..=last).count() as u64 <= max_range);
                keys.range(first..=last).next().is_none()
            };
            let mut numbers = Numbers::new(1, 1);
            let mut met = BTreeSet::new();
            for number in 0..20_000 {
                assert!(is_empty(spread.anywhere(1, number)) && is_empty(spread.anywhere(900, number)));
                let query = spread.beside(&mut numbers);
                assert!(is_empty(query));
                let (first, last) = bounds(&query).unwrap();
                let before = keys.range(..first).next_back().map(|key| first - key);
                let after = keys.range(last..).next().map(|key| key - last);
                let distance = before.into_iter().chain(after).min().unwrap();
                assert!((1..=max_range).contains(&distance));
                met.insert(distance);
                let (first, last) = bounds(&spread.around(spread.key(number))).unwrap();
                assert!(
                    first <= spread.key(number) && spread.key(number) <= last && last - first < max_range
                );
            }
            assert!(met.len() as u64 >= max_range.min(10_000), "{max_range}: {}", met.len());
        }
    }

    /// No number has two blocks, wherever they are in the permutation.
    #[test]
    fn blocks_are_a_permutation() {
        // 2^64 / 2^56 blocks of 4 quarters are few enough to try all.
        let spread = Spread { quarter: 1 << 54, ..Spread::new(3, 1, 1) };
        let blocks: BTreeSet<u64> = (0..256).map(|number| spread.block(number)).collect();
        assert_eq!(blocks.len(), 256);
        assert!(blocks.iter().all(|block| block % (1 << 56) == 0));
    }
}
