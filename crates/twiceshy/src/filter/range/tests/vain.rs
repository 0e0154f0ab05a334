//! Growth that does not help: it ends with an error, or is not tried.

use super::*;
use crate::error::{InsertError, ResizeError};

/// With fingerprints of a bit, and boxes of many keys, what has no bits left takes most of a table of any size. The answer is an
/// error; nothing changes, and the table stays in proportion to the keys.
#[test]
fn a_table_that_is_full_at_every_size_says_so() {
    let mut refused = 0;
    for seed in 0..60 {
        let mut random = Random(seed);
        let max_range = random.pick(&[1, 4, 64, 1024, 65_536]);
        let builder = RangeFilter::<u64>::builder().max_range(max_range).hasher(Hasher::fast());
        let new = |random: &mut Random| {
            builder.clone().quotient_bits(1 + random.below(4) as u32).remainder_bits(1).build().unwrap()
        };
        let (mut filter, mut members, mut most) = (new(&mut random), Vec::new(), 64);
        let partitions = 1 + random.below(100);
        let key = |random: &mut Random| random.below(partitions) * max_range * 3 + random.below(max_range);
        for _ in 0..40 {
            let before = filter.to_bytes();
            match random.below(8) {
                0..=3 => {
                    let keys: Vec<u64> = (0..random.below(60)).map(|_| key(&mut random)).collect();
                    match filter.insert_batch(&keys) {
                        Ok(_) => members.extend(keys),
                        Err(InsertError::Full(_)) => {
                            refused += 1;
                            assert!(filter.to_bytes() == before);
                        }
                        Err(error) => panic!("{error}"),
                    }
                }
                4 => members.drain(..members.len() / 2).for_each(|key| assert!(filter.remove(&key))),
                5 if filter.quotient_bits() < 10 => match filter.grow() {
                    Ok(()) => (),
                    Err(ResizeError::Full { .. }) => assert!(filter.to_bytes() == before),
                    Err(error) => panic!("{error}"),
                },
                6 => filter.shrink_to_fit().unwrap(),
                _ => {
                    let mut other = new(&mut random);
                    let keys: Vec<u64> = (0..random.below(100)).map(|_| key(&mut random)).collect();
                    if other.insert_batch(&keys).is_ok() {
                        match filter.merge_from(&other) {
                            Ok(()) => members.extend(keys),
                            Err(_) => assert!(filter.to_bytes() == before),
                        }
                    }
                }
            }
            most = most.max(members.len() as u64);
            assert!(filter.slots() <= 64 * most, "{} slots for {most} keys", filter.slots());
            assert!(members.iter().all(|key| filter.contains(key)));
        }
        filter.validate().unwrap();
    }
    assert!(refused > 10, "{refused} inserts were refused");
}

/// A box of hundreds of slots lies in a cluster as long, at every size. No table is less crowded because it is larger.
#[test]
fn full_partitions_do_not_make_a_table_grow() {
    for max_range in [64, 1 << 10, 1 << 13] {
        let mut random = Random(max_range);
        let mut filter =
            RangeFilter::<u64>::builder().max_range(max_range).hasher(Hasher::fast()).build().unwrap();
        // Half of all keys, and as many partitions as make some hundred slots or more.
        let keys = (6 * max_range).max(20_000);
        (0..keys).for_each(|_| assert!(filter.insert(&random.below(2 * keys)).is_ok()));
        assert!(filter.load_factor() > 0.3, "{} of ranges of {max_range}", filter.load_factor());
        let bits = filter.size_in_bytes() as f64 * 8.0 / keys as f64;
        assert!(bits < 12.0, "{bits} bits per key with ranges of {max_range}");
    }
}

/// Fat boxes whose partitions came when the table was small: what comes later does not join their short fingerprints, or else these
/// would take all of a larger table.
#[test]
fn dense_keys_do_not_fill_every_size() {
    for (capacity, rate, max_range, step) in [
        (1, 0.1, 65_536, 100),
        (2, 0.1, 65_536, 7),
        (30, 0.1, 65_536, 7),
        (1, 0.02, 65_536, 7),
        (1, 0.3, 16_384, 7),
        (4, 0.3, 65_536, 7),
        (20, 0.5, 65_536, 7),
        (1, 0.3, 1_024, 1),
    ] {
        let builder = RangeFilter::<u64>::builder().capacity(capacity).error_rate(rate).max_range(max_range);
        let mut filter = builder.hasher(Hasher::fast()).build().unwrap();
        let keys = || (0..20_000u64).map(|number| number * step);
        for key in keys() {
            filter
                .insert(&key)
                .unwrap_or_else(|error| panic!("{capacity}, {rate}, {max_range}, {step}: {error}"));
        }
        assert!(keys().all(|key| filter.contains(&key)));
        let bits = filter.size_in_bytes() as f64 * 8.0 / 20_000.0;
        // Three fat boxes and half a table for what is too short; by default it is far less.
        assert!(bits < 100.0, "{bits} bits per key");
        let mut random = Random(1);
        let absent = |random: &mut Random| (1 << 40) + random.below(1 << 50);
        let found = (0..20_000).filter(|_| {
            let start = absent(&mut random);
            filter.contains_range(start..start + max_range)
        });
        let found = found.count() as f64 / 20_000.0;
        assert!(found <= rate * 1.05, "{found} instead of {rate}");
        filter.validate().unwrap();
    }
}
