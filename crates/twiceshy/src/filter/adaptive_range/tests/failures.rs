//! Maps that fail and memory that runs out: at every call and every allocation of every operation, filter and map stay as they
//! were.

use super::*;
use crate::filter::adaptive::tests::failures::{Failing, fail_everywhere, fail_to_merge, run_out};

#[test]
fn a_map_that_fails_at_any_call_leaves_everything_as_it_was() {
    let mut random = Random(7);
    let mut failures = [0; 5];
    for hasher in hashers() {
        let builder = Builder::<u8>::default().hasher(hasher).max_range(8).quotient_bits(2).remainder_bits(2);
        let mut set = builder.build_set(Failing::default()).unwrap();
        for _ in 0..300 {
            let (key, kind) = (random.next() as u8, random.below(20) as usize);
            let end = key.saturating_add(random.below(20) as u8);
            let (kind, calls) = match kind {
                0..=7 => (0, fail_everywhere(&mut set, "insert", |set| set.insert(&key))),
                8..=10 => (1, fail_everywhere(&mut set, "remove", |set| set.remove(&key))),
                11..=16 => (2, fail_everywhere(&mut set, "adapt", |set| set.adapt_range(key..=end))),
                17 => (3, fail_everywhere(&mut set, "grow", |set| set.grow())),
                18 => (3, fail_everywhere(&mut set, "rejuvenate", |set| set.rejuvenate())),
                _ => (4, fail_everywhere(&mut set, "ask", |set| set.contains_range_exactly(key..=end))),
            };
            failures[kind] += calls;
        }
    }
    assert!(failures.iter().all(|&count| count > 20), "{failures:?}");
}

#[test]
fn memory_that_runs_out_at_any_allocation_leaves_everything_as_it_was() {
    let mut random = Random(8);
    let mut failures = [0; 5];
    for hasher in hashers() {
        let builder = Builder::<u8>::default().hasher(hasher).max_range(8).quotient_bits(2).remainder_bits(2);
        let mut set = builder.build_set(MemoryMap::new()).unwrap();
        for _ in 0..300 {
            let key = random.next() as u8;
            let range = key..=key.saturating_add(random.below(20) as u8);
            match random.below(20) {
                0..=7 => failures[0] += run_out(&mut set, |set| set.insert(&key)),
                8 => failures[1] += run_out(&mut set, |set| set.remove(&key)),
                9..=12 => failures[1] += run_out(&mut set, |set| set.contains_exactly(&key)),
                13..=16 => failures[1] += run_out(&mut set, |set| set.adapt_range(range.clone())),
                17 => failures[2] += run_out(&mut set, Checking::grow),
                18 => failures[3] += run_out(&mut set, Checking::shrink_to_fit),
                _ => failures[4] += run_out(&mut set, Checking::rejuvenate),
            }
        }
    }
    assert!(failures.iter().all(|&count| count > 5), "{failures:?}");
}

#[test]
fn a_merge_that_fails_loses_nothing() {
    for hasher in hashers() {
        let build = |keys: std::ops::Range<u8>| {
            let builder = Builder::<u8>::default().hasher(hasher.clone()).max_range(8);
            let builder = builder.quotient_bits(3).remainder_bits(2);
            let mut set = builder.build_set(Failing::default()).unwrap();
            keys.for_each(|key| assert!(set.insert(&key).unwrap()));
            (100..250u8).for_each(|key| assert!(!set.contains_range_exactly(key..=key + 4).unwrap()));
            set
        };
        let (mut one, other) = (build(0..60), build(40..100));
        fail_to_merge(&mut one, &other, |one| assert!((0..60).all(|key: u8| one.contains(&key))));
        one.recount().unwrap();
        one.validate().unwrap();
        assert_eq!(one.len(), 100);
        assert!((0..100).all(|key: u8| one.contains(&key)));
        assert!((100..250).all(|key: u8| !one.contains_range(key..=key + 4)), "both had learned that");
    }
}
