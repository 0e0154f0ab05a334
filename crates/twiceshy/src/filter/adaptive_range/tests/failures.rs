//! Maps that fail at every call: filter and map stay as they were.

use super::*;
use crate::error::SetError;
use crate::filter::adaptive::tests::failures::{CouldNotLook, Failing};

/// Carries out an operation with a map that fails at the first call, at the second, and so on, until it works.
fn fail_everywhere<T>(
    set: &mut AdaptiveRangeSet<u8, Failing>,
    operation: impl Fn(&mut AdaptiveRangeSet<u8, Failing>) -> Result<T, SetError<CouldNotLook>>,
) -> u64 {
    for calls in 0.. {
        let (before, rows) = (set.filter().to_bytes(), set.map().rows());
        set.map().fail_after(calls);
        let done = operation(set);
        set.map().fail_after(u64::MAX);
        set.validate().unwrap();
        match done {
            Ok(_) => return calls,
            Err(SetError::Map(CouldNotLook)) => {
                assert!(set.filter().to_bytes() == before, "failed at call {calls}");
                assert!(set.map().rows() == rows, "failed at call {calls}");
            }
            Err(error) => panic!("{error}"),
        }
    }
    unreachable!()
}

#[test]
fn a_map_that_fails_at_any_call_leaves_everything_as_it_was() {
    let mut random = Random(7);
    let mut failures = [0; 5];
    for hasher in hashers() {
        let builder = Builder::<u8>::default().hasher(hasher).max_range(8).quotient_bits(2).remainder_bits(2);
        let mut set = builder.build_set(Failing::default()).unwrap();
        for _ in 0..300 {
            let (key, kind) = (random.next() as u8, random.below(20) as usize);
            let (kind, calls) = match kind {
                0..=7 => (0, fail_everywhere(&mut set, |set| set.insert(&key))),
                8..=10 => (1, fail_everywhere(&mut set, |set| set.remove(&key))),
                11..=16 => {
                    let end = key.saturating_add(random.below(20) as u8);
                    (2, fail_everywhere(&mut set, |set| set.adapt_range(key..=end)))
                }
                17 => (3, fail_everywhere(&mut set, |set| set.grow())),
                18 => (3, fail_everywhere(&mut set, |set| set.rejuvenate())),
                _ => (
                    4,
                    fail_everywhere(&mut set, |set| set.contains_range_exactly(key..=key.saturating_add(9))),
                ),
            };
            failures[kind] += calls;
        }
    }
    assert!(failures.iter().all(|&count| count > 20), "{failures:?}");
}
