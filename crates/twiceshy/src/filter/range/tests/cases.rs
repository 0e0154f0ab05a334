//! Cases by construction: all kinds of bounds, boxes of every number of keys, memory that runs out.

use super::*;
use crate::mem::scarce::until_enough;

#[test]
fn every_kind_of_bound_is_understood() {
    let members = [0, 3, 17, 64, 255];
    let builder = RangeFilter::<u8>::builder().max_range(16).max_partitions(100).hasher(Hasher::fast());
    let filter = builder.quotient_bits(8).remainder_bits(40).from_keys(members).unwrap();
    super::every_kind_of_bound_is_understood(&members, |range| filter.contains_range(range));
}

/// Boxes of every number of suffixes, of one partition and of two that have the same hash: what is found is what is there, in
/// every form that a box can have.
#[test]
fn boxes_hold_any_number_of_suffixes() {
    for max_range in [1u64, 2, 4, 8, 16, 64] {
        let builder = RangeFilter::<u64>::builder().hasher(Hasher::chosen(|_, _| 0xabcd << 48));
        let builder = builder.quotient_bits(8).remainder_bits(4).max_range(max_range);
        for grown in [false, true] {
            let mut filter = builder.clone().build().unwrap();
            if grown {
                filter.grow().unwrap();
            }
            // All keys of the first partition, in some order, and then those of the second.
            let keys: Vec<u64> =
                (0..2 * max_range).map(|key| key / max_range * max_range + key * 7 % max_range).collect();
            let check = |filter: &RangeFilter<u64>, there: &[u64]| {
                filter.validate().unwrap();
                assert_eq!(filter.len(), there.len() as u64);
                let places: std::collections::BTreeSet<u64> =
                    there.iter().map(|key| key % max_range).collect();
                for place in 0..max_range {
                    let is_there = places.contains(&place);
                    // A partition that nobody has, but for its hash.
                    let other = 9 * max_range + place;
                    assert_eq!(
                        filter.contains(&place),
                        is_there,
                        "{place} of {max_range}, {} keys",
                        there.len()
                    );
                    assert_eq!(
                        filter.contains(&other),
                        is_there,
                        "{other} of {max_range}, {} keys",
                        there.len()
                    );
                    let rest = 9 * max_range + place..10 * max_range;
                    let any = places.range(place..).next().is_some();
                    assert_eq!(filter.contains_range(rest), any, "from {other} on, {} keys", there.len());
                }
            };
            for (number, key) in keys.iter().enumerate() {
                filter.insert(key).unwrap();
                check(&filter, &keys[..=number]);
            }
            assert_eq!(filter.iter().count() as u64, max_range);
            for (number, key) in keys.iter().enumerate() {
                assert!(filter.remove(key));
                check(&filter, &keys[number + 1..]);
            }
            assert_eq!(filter.used_slots(), 0);
        }
    }
}

/// Carries out an operation with no memory, a little, and so on, until it works; an error changes nothing. Tells how often it
/// did not.
fn run_out<T, E: std::error::Error>(
    filter: &mut RangeFilter<u64>,
    operation: impl Fn(&mut RangeFilter<u64>) -> Result<T, E>,
) -> u64 {
    let before = filter.to_bytes();
    let (_, failures) = until_enough(filter, operation, |filter| filter.to_bytes() == before);
    filter.validate().unwrap();
    failures
}

#[test]
fn memory_that_runs_out_at_any_allocation_leaves_everything_as_it_was() {
    let mut random = Random(6);
    let mut failures = [0; 6];
    for (_, hasher) in hashers() {
        let builder = RangeFilter::<u64>::builder().hasher(hasher).quotient_bits(2).remainder_bits(8);
        let mut filter = builder.clone().max_range(16).build().unwrap();
        let mut members = Vec::new();
        for _ in 0..60 {
            let keys: Vec<u64> = (0..random.below(20)).map(|_| random.below(2_000)).collect();
            match random.below(12) {
                0..=3 => {
                    for key in &keys {
                        let len = filter.len();
                        failures[0] += run_out(&mut filter, |filter| filter.insert(key));
                        members.extend((filter.len() > len).then_some(*key));
                    }
                }
                4..=6 => {
                    let len = filter.len();
                    failures[1] += run_out(&mut filter, |filter| filter.insert_batch(&keys));
                    members.extend(keys.iter().filter(|_| filter.len() > len));
                }
                7 if filter.quotient_bits() < 12 => failures[2] += run_out(&mut filter, RangeFilter::grow),
                8 => failures[3] += run_out(&mut filter, RangeFilter::shrink_to_fit),
                9 => {
                    let (len, mut other) = (filter.len(), filter.empty_like().unwrap());
                    let merged: Vec<u64> = keys.into_iter().filter(|key| other.insert(key).is_ok()).collect();
                    failures[4] += run_out(&mut filter, |filter| filter.merge_from(&other));
                    members.extend(merged.iter().filter(|_| filter.len() > len));
                }
                10 => failures[5] += run_out(&mut filter, |filter| filter.try_clone()),
                _ => members.drain(..members.len() / 2).for_each(|key| assert!(filter.remove(&key))),
            }
            assert_eq!(filter.len(), members.len() as u64);
            assert!(members.iter().all(|key| filter.contains(key)));
        }
    }
    assert!(failures.iter().all(|&count| count > 5), "{failures:?}");
}
