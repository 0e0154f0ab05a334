//! Maps that fail and memory that runs out: at every call and every allocation of every operation, filter and map stay as they
//! were. And maps that write although they say that they have failed: to do the same again, or to move or remove the key, puts
//! it right.

use std::ops::RangeInclusive;

use super::*;
use crate::filter::adaptive::tests::failures::{CouldNotLook, Failing};
use crate::mem::scarce::until_enough;
use crate::reverse_map::{Lookup, ReverseMap, Visit};

/// All that can be done with a key: its number, its name.
const OPERATIONS: [&str; 6] = ["add yes", "add no", "move to yes", "move to no", "remove", "ask"];

/// Carries out one of them. A key that is on the other list is no failure.
fn operate<M: ReverseMap>(
    list: &mut YesNoList<M>,
    operation: &str,
    key: u16,
) -> Result<(), SetError<M::Error>> {
    let done = match operation {
        "add yes" => list.add_yes(&key).map(drop),
        "add no" => list.add_no(&key).map(drop),
        "move to yes" => list.move_to_yes(&key).map(drop),
        "move to no" => list.move_to_no(&key).map(drop),
        "remove" => list.remove(&key).map(drop),
        "ask" => list.query_exactly(&key).map(drop),
        "grow" => list.grow(),
        "rejuvenate" => list.rejuvenate(),
        _ => unreachable!("no such operation"),
    };
    match done {
        Err(SetError::OnBothLists(_)) => Ok(()),
        done => done,
    }
}

/// Carries out an operation with a map that fails at the first call, at the second, and so on, until it works; after every
/// failure everything must be as before. Tells how often it failed.
fn fail_everywhere(
    list: &mut YesNoList<Failing>,
    what: &str,
    operation: impl Fn(&mut YesNoList<Failing>) -> Result<(), SetError<CouldNotLook>>,
) -> u64 {
    for calls in 0.. {
        let (before, rows) = (list.filter().to_bytes(), list.map().rows());
        list.map().fail_after(calls);
        let done = operation(list);
        list.map().fail_after(u64::MAX);
        list.validate().unwrap();
        match done {
            Ok(()) => return calls,
            Err(SetError::Map(CouldNotLook)) => {
                assert_eq!(list.filter().to_bytes(), before, "{what} failed at call {calls}");
                assert!(list.map().rows() == rows, "{what} failed at call {calls}");
            }
            Err(error) => panic!("{what}: {error}"),
        }
    }
    unreachable!()
}

#[test]
fn a_map_that_fails_at_any_call_leaves_everything_as_it_was() {
    let mut random = Random(3);
    let mut failures = BTreeMap::new();
    for (_, hasher) in hashers() {
        let builder = List::builder().hasher(hasher.clone()).quotient_bits(2).remainder_bits(2);
        let mut list = builder.clone().build_list(Failing::default()).unwrap();
        for step in 0..300 {
            let key = random.below(UNIVERSE.into()) as u16;
            let what = match random.below(20) {
                0 => "grow",
                1 => "rejuvenate",
                _ => OPERATIONS[random.below(6) as usize],
            };
            let calls = fail_everywhere(&mut list, what, |list| operate(list, what, key));
            *failures.entry(what).or_insert(0) += calls;
            if what == "grow" {
                list.shrink_to_fit().unwrap();
            }
            if step % 100 == 99 {
                let mut other = builder.clone().build_list(Failing::default()).unwrap();
                for key in 0..20u16 {
                    let on = list.lookup(&key).unwrap().unwrap_or(Answer::from(key % 2 == 0));
                    let added = if on.is_yes() { other.add_yes(&key) } else { other.add_no(&key) };
                    assert!(added.unwrap());
                }
                let calls = fail_everywhere(&mut list, "merge", |list| list.merge_from(&other));
                *failures.entry("merge").or_insert(0) += calls;
            }
        }
    }
    // To grow takes a look at the map only now and then.
    let is_often = |(what, count): (&&str, &u64)| *count > if *what == "grow" { 0 } else { 50 };
    assert!(failures.len() == 9 && failures.iter().all(is_often), "{failures:?}");
}

#[test]
fn memory_that_runs_out_at_any_allocation_leaves_everything_as_it_was() {
    let mut random = Random(4);
    let mut failures = BTreeMap::new();
    for (_, hasher) in hashers() {
        let builder = List::builder().hasher(hasher).quotient_bits(2).remainder_bits(2);
        let mut list = builder.build_list(MemoryMap::new()).unwrap();
        for _ in 0..300 {
            let key = random.below(UNIVERSE.into()) as u16;
            let what = match random.below(20) {
                0 => "grow",
                1 => "rejuvenate",
                _ => OPERATIONS[random.below(6) as usize],
            };
            let (before, rows) = (list.filter().to_bytes(), list.map().clone());
            let (done, failed) = until_enough(
                &mut list,
                |list| operate(list, what, key),
                |list| {
                    list.validate().unwrap();
                    list.filter().to_bytes() == before && *list.map() == rows
                },
            );
            done.unwrap_or_else(|error| panic!("{what}: {error}"));
            list.validate().unwrap();
            *failures.entry(what).or_insert(0) += failed;
            if what == "grow" {
                list.shrink_to_fit().unwrap();
            }
        }
    }
    // A key that is removed needs no table.
    assert!(
        failures.len() == 8 && failures.values().filter(|&&count| count > 0).count() == 7,
        "{failures:?}"
    );
}

/// A map that carries out every write, and says that some have failed.
#[derive(Default)]
struct Unsure {
    map: MemoryMap,
    says_so: bool,
}

impl Lookup for Unsure {
    type Error = CouldNotLook;

    fn visit(&self, hashes: RangeInclusive<u64>, visit: Visit<'_>) -> Result<(), CouldNotLook> {
        self.map.visit(hashes, visit).map_err(|never| match never {})
    }
}

impl ReverseMap for Unsure {
    fn insert(&mut self, hash: u64, key: &[u8], value: &[u8]) -> Result<bool, CouldNotLook> {
        let Ok(new) = self.map.insert(hash, key, value);
        if self.says_so { Ok(new) } else { Err(CouldNotLook) }
    }

    fn remove(&mut self, hash: u64, key: &[u8]) -> Result<bool, CouldNotLook> {
        let Ok(was) = self.map.remove(hash, key);
        if self.says_so { Ok(was) } else { Err(CouldNotLook) }
    }
}

#[test]
fn what_a_map_has_written_although_it_failed_is_put_right_by_what_comes_next() {
    let mut random = Random(5);
    let mut failures = 0;
    for (_, hasher) in hashers() {
        let builder = List::builder().hasher(hasher).quotient_bits(2).remainder_bits(2);
        let mut list = builder.build_list(Unsure { says_so: true, ..Unsure::default() }).unwrap();
        for _ in 0..400 {
            let key = random.below(UNIVERSE.into()) as u16;
            let operation = OPERATIONS[random.below(5) as usize];
            list.parts().1.says_so = random.below(2) == 0;
            let done = operate(&mut list, operation, key);
            list.parts().1.says_so = true;
            if done.is_err() {
                failures += 1;
                // The same again, or whatever else says where the key belongs.
                let again =
                    ["move to yes", "move to no", "remove", operation, operation][random.below(5) as usize];
                operate(&mut list, again, key).unwrap();
                // A key that was removed may have left its fingerprint, and is counted.
                list.recount().unwrap();
            }
            list.validate().unwrap_or_else(|error| panic!("{operation}: {error}"));
        }
    }
    assert!(failures > 100, "{failures}");
}
