//! Mistakes: no more than were asked for, wherever a range lies, at every size.

use super::*;
use twiceshy_testkit::{scatter, tolerance};

fn key(number: u64) -> u64 {
    scatter(number)
}

/// The share of ranges without a key that seem to have one: anywhere, and next to keys. Some ranges have a key by chance, but
/// hardly any.
fn rates(filter: &RangeFilter<u64>, keys: u64, queries: u64) -> [f64; 2] {
    let most = filter.max_range();
    let uniform = (0..queries).filter(|number| {
        let first = scatter(1 << 40 | number) & !(1 << 63);
        filter.contains_range(first..first + most)
    });
    let uniform = uniform.count();
    let correlated = (0..queries).filter(|number| {
        // All distances from 1 to the length of the range.
        let first = key(number % keys).wrapping_add(1 + number / 7 % most).min(u64::MAX - most);
        filter.contains_range(first..=first + (most - 1))
    });
    let correlated = correlated.count();
    [uniform, correlated].map(|found| found as f64 / queries as f64)
}

fn check(filter: &RangeFilter<u64>, keys: u64, rate: f64) {
    const QUERIES: u64 = 120_000;
    let expected = filter.expected_error_rate();
    assert!(expected <= rate, "{expected} of {rate} at {} keys", keys);
    let tolerance = tolerance::of_count(QUERIES as f64, expected) / QUERIES as f64;
    for found in rates(filter, keys, QUERIES) {
        assert!(found <= expected + tolerance, "{found}, expected {expected}, with {keys} keys");
        // Where a partition has one key, half of them do not meet it.
        assert!(found >= expected / 2.0 - tolerance, "{found}, expected {expected}: the tests see too few");
    }
}

#[test]
fn a_filter_that_never_grew_makes_no_more_mistakes_than_its_bits_say() {
    for max_range in [1, 32, 1024] {
        let builder = RangeFilter::<u64>::builder().quotient_bits(14).max_range(max_range).growth(false);
        let keys = (1 << 14) * 9 / 10;
        let filter = builder.remainder_bits(9).hasher(Hasher::fast()).from_keys((0..keys).map(key)).unwrap();
        assert!(!filter.boxes.codec.has_stops());
        let rate = 2.0 * 0.9 / 512.0;
        if max_range > 1 {
            check(&filter, keys, rate);
        } else {
            let wrong = (0..100_000).filter(|number| filter.contains(&key(1 << 40 | number))).count() as f64;
            assert!((wrong / 1e5 - rate / 2.0).abs() < 0.0006, "{wrong}");
        }
    }
}

/// Over eight doublings, from a small start and from a size that was given.
#[test]
fn the_rate_that_was_asked_for_holds_at_every_size() {
    const RATE: f64 = 0.02;
    for builder in [
        RangeFilter::<u64>::builder().error_rate(RATE),
        RangeFilter::<u64>::builder().error_rate(RATE).capacity(60).max_range(32),
        RangeFilter::<u64>::builder().error_rate(RATE).capacity(900).max_range(1),
    ] {
        let mut filter = builder.hasher(Hasher::fast()).build().unwrap();
        let (start, mut number, mut worst) = (filter.quotient_bits(), 0, 0.0f64);
        for doubling in 0..=8 {
            while filter.used_slots() < filter.capacity() {
                filter.insert(&key(number)).unwrap();
                number += 1;
            }
            assert_eq!(filter.quotient_bits(), start + doubling);
            let expected = filter.expected_error_rate();
            assert!(expected <= RATE, "{expected} after {doubling} doublings");
            worst = worst.max(expected);
            filter.insert(&key(number)).unwrap();
            number += 1;
        }
        check(&filter, number, RATE);
        assert!(filter.boxes.codec.has_stops() && worst > RATE / 100.0);
    }
}

/// A filter of a given size that may grow takes one bit more than one that may not, up to there.
#[test]
fn to_be_able_to_grow_costs_one_bit() {
    let bits = |grows| {
        let builder = RangeFilter::<u64>::builder().capacity(900_000).error_rate(0.001).growth(grows);
        builder.build().unwrap().fingerprint_bits()
    };
    assert_eq!(bits(true) - bits(false), 1);
}

/// In tables of many keys and wide slots, what is found is what has a fingerprint: whatever a filter looks at, or not.
#[test]
fn answers_follow_from_the_fingerprints() {
    use std::collections::HashSet;
    for (quotient_bits, remainder_bits, max_range) in [(6, 12, 64), (6, 3, 8), (10, 20, 1024), (12, 5, 1)] {
        let builder =
            RangeFilter::<u64>::builder().quotient_bits(quotient_bits).remainder_bits(remainder_bits);
        let mut filter = builder.max_range(max_range).hasher(Hasher::fast()).build().unwrap();
        (0..9_000).for_each(|number| assert!(filter.insert(&key(number)).is_ok()));
        let all: HashSet<(u32, u64, u16)> = filter
            .iter()
            .map(|entry| (entry.prefix.len(), *entry.prefix.first_words().start(), entry.suffix))
            .collect();
        let lengths: HashSet<u32> = all.iter().map(|(len, ..)| *len).collect();
        let mut positives = 0;
        for number in 0..200_000u64 {
            // Close to what is there, in the first bits of the hash, or anywhere.
            let query = if number % 2 == 0 {
                key(1 << 40 | number)
            } else {
                key(number % 9_000).wrapping_add(number % 97)
            };
            let (hash, suffix) = (filter.partition_hash(&query), filter.settings.cut.split(query.into()).1);
            let begins = |len: &u32| all.contains(&(*len, hash & u64::MAX.unbounded_shl(64 - len), suffix));
            let expected = lengths.iter().any(begins);
            assert_eq!(filter.contains(&query), expected);
            positives += u64::from(expected);
        }
        assert!(positives > 1_000);
    }
}
