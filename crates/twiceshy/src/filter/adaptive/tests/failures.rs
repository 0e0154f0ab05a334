//! Maps that fail and memory that runs out: at every call and every allocation of every operation, filter and map
//! stay as they were.

use std::cell::Cell;
use std::ops::{ControlFlow, RangeInclusive};

use super::*;
use crate::error::SetError;
use crate::filter::adaptive::{Filter, Growth, Set};
use crate::filter::protocol::Keys;
use crate::mem::scarce::until_enough;
use crate::persist::{Stored, to_bytes};
use crate::reverse_map::{Lookup, ReverseMap, Row, Visit};
use twiceshy_testkit::Random;

/// A map that fails at a call chosen beforehand.
#[derive(Clone)]
pub(crate) struct Failing {
    map: MemoryMap,
    /// How many calls work before one does not.
    left: Cell<u64>,
}

#[derive(Debug, thiserror::Error)]
#[error("could not look")]
pub(crate) struct CouldNotLook;

/// One that does not fail yet.
impl Default for Failing {
    fn default() -> Self {
        Self { map: MemoryMap::new(), left: Cell::new(u64::MAX) }
    }
}

impl Failing {
    /// So many calls work from now on.
    pub(crate) fn fail_after(&self, calls: u64) {
        self.left.set(calls);
    }

    /// A copy of the rows.
    pub(crate) fn rows(&self) -> MemoryMap {
        self.map.clone()
    }

    fn call(&self) -> Result<(), CouldNotLook> {
        let left = self.left.get();
        self.left.set(left.wrapping_sub(1));
        if left == 0 { Err(CouldNotLook) } else { Ok(()) }
    }
}

impl Lookup for Failing {
    type Error = CouldNotLook;

    fn visit(
        &self,
        hashes: RangeInclusive<u64>,
        visit: &mut dyn FnMut(Row<'_>) -> ControlFlow<()>,
    ) -> Result<(), CouldNotLook> {
        self.call()?;
        self.map.visit(hashes, visit).unwrap();
        // Some rows came before the connection broke.
        self.call()
    }

    fn contains(&self, hash: u64, key: &[u8]) -> Result<bool, CouldNotLook> {
        self.call()?;
        Ok(self.map.contains(hash, key).unwrap())
    }
}

impl ReverseMap for Failing {
    fn insert(&mut self, hash: u64, key: &[u8], value: &[u8]) -> Result<bool, CouldNotLook> {
        self.call()?;
        Ok(self.map.insert(hash, key, value).unwrap())
    }

    fn remove(&mut self, hash: u64, key: &[u8]) -> Result<bool, CouldNotLook> {
        self.call()?;
        Ok(self.map.remove(hash, key).unwrap())
    }
}

/// Carries out an operation with a map that fails at the first call, at the second, and so on, until it
/// works; after every failure everything must be as before.
pub(crate) fn fail_everywhere<R: Keys, T>(
    set: &mut Set<R, Failing>,
    what: &str,
    operation: impl Fn(&mut Set<R, Failing>) -> Result<T, SetError<CouldNotLook>>,
) -> u64
where
    Filter<R>: Stored,
{
    for calls in 0.. {
        let (before, rows) = (to_bytes(set.filter()), set.map().map.clone());
        set.map().left.set(calls);
        match operation(set) {
            Ok(_) => {
                set.map().left.set(u64::MAX);
                set.validate().unwrap();
                return calls;
            }
            Err(SetError::Map(CouldNotLook)) => {
                assert!(to_bytes(set.filter()) == before, "{what} failed at call {calls}");
                assert!(set.map().map == rows, "{what} failed at call {calls}");
                set.map().left.set(u64::MAX);
                set.validate().unwrap();
            }
            Err(error) => panic!("{what}: {error}"),
        }
    }
    unreachable!()
}

#[test]
fn a_map_that_fails_at_any_call_leaves_everything_as_it_was() {
    let mut random = Random(3);
    let mut failures = [0; 6];
    for (name, hasher) in hashers() {
        let builder = AdaptiveFilter::builder().hasher(hasher).quotient_bits(2).remainder_bits(2);
        let map = Failing::default();
        let mut set = builder.build_set(map).unwrap();
        for _ in 0..250 {
            let key = random.below(UNIVERSE.into()) as u16;
            let kind = random.below(20) as usize;
            let (kind, calls) = match kind {
                0..=8 => (
                    0,
                    fail_everywhere(&mut set, "insert", |set| set.insert_tagged(&key, u64::from(key) % 2)),
                ),
                9..=12 => (1, fail_everywhere(&mut set, "remove", |set| set.remove(&key))),
                13..=16 => (2, fail_everywhere(&mut set, "adapt", |set| set.adapt(&key))),
                17..=18 => (3, fail_everywhere(&mut set, "ask", |set| set.contains_exactly(&key))),
                _ => {
                    let calls = fail_everywhere(&mut set, "grow", AdaptiveSet::grow);
                    set.shrink_to_fit().unwrap();
                    (4, calls + fail_everywhere(&mut set, "rejuvenate", AdaptiveSet::rejuvenate))
                }
            };
            failures[kind] += calls;
        }
        println!("{name}: {failures:?}");
    }
    assert!(failures[..5].iter().all(|&count| count > 50), "{failures:?}");
}

/// Carries out an operation with no memory, a little, and so on, until it works. Tells how often it did not.
pub(crate) fn run_out<R: Keys, T, E: std::error::Error>(
    set: &mut Set<R, MemoryMap>,
    operation: impl Fn(&mut Set<R, MemoryMap>) -> Result<T, E>,
) -> u64
where
    Filter<R>: Stored,
{
    let (before, rows) = (to_bytes(set.filter()), set.map().clone());
    let (result, failures) = until_enough(set, operation, |set| {
        set.validate().unwrap();
        to_bytes(set.filter()) == before && *set.map() == rows
    });
    result.unwrap_or_else(|error| panic!("{error}"));
    set.validate().unwrap();
    failures
}

#[test]
fn memory_that_runs_out_at_any_allocation_leaves_everything_as_it_was() {
    let mut random = Random(4);
    let mut failures = [0; 5];
    for (_, hasher) in hashers() {
        let builder = AdaptiveFilter::builder().hasher(hasher).quotient_bits(2).remainder_bits(2);
        let mut set = builder.build_set(MemoryMap::new()).unwrap();
        for _ in 0..250 {
            let key = random.below(UNIVERSE.into()) as u16;
            match random.below(20) {
                0..=9 => failures[0] += run_out(&mut set, |set| set.insert_tagged(&key, u64::from(key) % 2)),
                10..=11 => failures[1] += run_out(&mut set, |set| set.remove(&key)),
                12..=16 => failures[1] += run_out(&mut set, |set| set.contains_exactly(&key)),
                17 => failures[2] += run_out(&mut set, AdaptiveSet::grow),
                18 => failures[3] += run_out(&mut set, AdaptiveSet::shrink_to_fit),
                _ => failures[4] += run_out(&mut set, AdaptiveSet::rejuvenate),
            }
        }
    }
    assert!(failures.iter().all(|&count| count > 5), "{failures:?}");
}

/// Merges a set into another one, whose map fails at the first call, at the second, and so on, until it works. Nothing is lost
/// meanwhile, and `check` says what else must be so.
pub(crate) fn fail_to_merge<R: Keys>(
    one: &mut Set<R, Failing>,
    other: &Set<R, Failing>,
    check: impl Fn(&Set<R, Failing>),
) where
    Filter<R>: Stored,
{
    for calls in 0.. {
        let (before, rows) = (to_bytes(one.filter()), one.map().map.len());
        one.map().left.set(calls);
        let merged = one.merge_from(other);
        one.map().left.set(u64::MAX);
        match merged {
            Ok(()) => return assert!(calls > 0),
            Err(SetError::Map(CouldNotLook)) => {
                assert!(to_bytes(one.filter()) == before && one.map().map.len() == rows, "call {calls}");
                one.validate().unwrap_or_else(|what| panic!("call {calls}: {what}"));
                check(one);
            }
            Err(error) => panic!("{error}"),
        }
    }
}

#[test]
fn a_merge_that_fails_loses_nothing() {
    let build = |keys: std::ops::Range<u16>| {
        let map = Failing::default();
        let builder = AdaptiveFilter::builder().hasher(Hasher::fast()).quotient_bits(4).remainder_bits(3);
        let mut set = builder.build_set(map).unwrap();
        keys.for_each(|key| assert!(set.insert(&key).unwrap()));
        (500..700u16).for_each(|query| assert!(!set.contains_exactly(&query).unwrap()));
        set
    };
    let (mut one, other) = (build(0..60), build(40..100));
    fail_to_merge(&mut one, &other, |one| {
        assert!((0..60u16).all(|key| one.contains(&key) && one.lookup(&key).unwrap()));
    });
    one.recount().unwrap();
    one.validate().unwrap();
    assert_eq!(one.len(), 100);
    assert!((500..700u16).all(|query| !one.contains(&query)), "both had learned that");
}

#[test]
fn sets_of_different_hashes_do_not_merge() {
    let set = |seed| {
        AdaptiveSet::builder().hasher(Hasher::fast_with_seed(seed)).build_set(MemoryMap::new()).unwrap()
    };
    assert!(matches!(set(1).merge_from(&set(2)), Err(SetError::DifferentHash)));
}

/// A map that counts the rows that it hands out.
struct Counting(MemoryMap, Cell<u64>);

impl Lookup for Counting {
    type Error = std::convert::Infallible;

    fn visit(&self, hashes: RangeInclusive<u64>, visit: Visit<'_>) -> Result<(), Self::Error> {
        self.0.visit(hashes, &mut |row| {
            self.1.update(|rows| rows + 1);
            visit(row)
        })
    }
}

/// A filter that may not grow has thousands of keys under a fingerprint. To remove one of them it matters whether there is
/// another, not which ones.
#[test]
fn a_removal_reads_few_rows_however_many_are_under_the_fingerprint() {
    let hasher = Hasher::fast_with_seed(3);
    let builder = AdaptiveFilter::builder().quotient_bits(2).remainder_bits(1).hasher(hasher.clone());
    let mut filter = builder.growth(Growth::Refuse).build().unwrap();
    let mut map = Counting(MemoryMap::new(), Cell::new(0));
    for key in 0..3_000u32 {
        let hash = hasher.hash(&key);
        if filter.insert_with(&key, &map).is_ok() {
            map.0.insert(hash, &key.to_le_bytes(), &[]).unwrap();
        }
    }
    let keys = map.0.len() as u64;
    assert!(keys > 1_000 && filter.used_slots() < 8, "{keys} keys, {} slots", filter.used_slots());
    map.1.set(0);
    for key in 0..3_000u32 {
        if map.0.remove(hasher.hash(&key), &key.to_le_bytes()).unwrap() {
            filter.remove_with(&key, &map).unwrap();
        }
    }
    assert!(filter.is_empty() && filter.used_slots() == 0);
    assert!(map.1.get() <= 2 * keys, "{} rows for {keys} keys", map.1.get());
}

#[test]
fn a_batch_that_fails_keeps_the_keys_before_the_one_that_failed() {
    let builder = AdaptiveFilter::builder().hasher(Hasher::fast()).quotient_bits(5).growth(Growth::Refuse);
    let mut set = builder.build_set(MemoryMap::new()).unwrap();
    let keys: Vec<u16> = (0..100).collect();
    assert!(matches!(set.insert_batch(&keys), Err(SetError::Full(_))));
    let len = set.len() as usize;
    assert!(len > 20 && set.map().len() == len, "{len}");
    assert!(keys[..len].iter().all(|key| set.lookup(key).unwrap()));
    assert!(!keys[len..].iter().any(|key| set.lookup(key).unwrap()));
    set.validate().unwrap();
}

#[test]
fn a_set_whose_map_has_other_keys_is_inconsistent() {
    let mut set = AdaptiveFilter::builder().build_set(MemoryMap::new()).unwrap();
    set.insert("ant").unwrap();
    let (filter, map) = set.into_parts();
    let empty = filter.empty_like().unwrap();
    let wrong = |filter, map| match AdaptiveSet::from_parts(filter, map).validate() {
        Err(SetError::Inconsistent(what)) => what,
        other => panic!("{other:?}"),
    };
    assert_eq!(wrong(filter, MemoryMap::new()), "0 of 1 fingerprints have a key");
    assert_eq!(wrong(empty, map), "key [97, 110, 116] has no fingerprint");
}
