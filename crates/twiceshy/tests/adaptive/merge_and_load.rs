//! Table 5 of *Adaptive Quotient Filters*: merging two filters, and loading one from keys in order, next to
//! single inserts. The maps are asked only where fingerprints overlap. The times are printed, not judged: a
//! test shares its computer.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::convert::Infallible;
use std::ops::{ControlFlow, RangeInclusive};
use std::time::{Duration, Instant};

use twiceshy::AdaptiveFilter;
use twiceshy::adaptive::Insertion;
use twiceshy::reverse_map::Lookup;
use twiceshy::reverse_map::Row;

use super::*;

const KEYS: usize = 50_000;

/// The keys of a filter by their hashes: the caller's own map.
type Map = BTreeMap<u64, u64>;

fn empty() -> AdaptiveFilter {
    builder().capacity(2 * KEYS as u64).remainder_bits(9).build().unwrap()
}

/// A map that counts how often it is asked.
struct Asked<'a> {
    map: &'a Map,
    times: Cell<usize>,
}

impl<'a> Asked<'a> {
    fn new(map: &'a Map) -> Self {
        Self { map, times: Cell::new(0) }
    }
}

impl Lookup for Asked<'_> {
    type Error = Infallible;

    fn visit(
        &self,
        hashes: RangeInclusive<u64>,
        visit: &mut dyn FnMut(Row<'_>) -> ControlFlow<()>,
    ) -> Result<(), Infallible> {
        self.times.set(self.times.get() + 1);
        for (hash, key) in self.map.range(hashes) {
            if visit(Row { hash: *hash, key: &key.to_le_bytes(), value: &[] }).is_break() {
                break;
            }
        }
        Ok(())
    }
}

/// The shortest of a few times.
fn timed<T>(mut work: impl FnMut() -> T) -> (T, Duration) {
    let mut run = || {
        let start = Instant::now();
        (work(), start.elapsed())
    };
    let (done, first) = run();
    (done, (0..4).map(|_| run().1).fold(first, Duration::min))
}

fn insert_all(filter: &mut AdaptiveFilter, keys: &[u64]) {
    for key in keys {
        if let Insertion::Covered(ticket) = filter.insert(key).unwrap() {
            filter.insert_covered(&ticket).unwrap();
        }
    }
}

#[test]
fn merging_and_loading_store_what_single_inserts_do() {
    let mut numbers = Numbers(16);
    let mut keys = || -> Vec<u64> { (0..KEYS).map(|_| member(&mut numbers)).collect() };
    let (one, other) = (keys(), keys());
    let map = |keys: &[u64]| -> Map { keys.iter().map(|key| (hasher().hash(key), *key)).collect() };
    let (one_map, other_map) = (map(&one), map(&other));

    let (filter, inserting) = timed(|| {
        let mut filter = empty();
        insert_all(&mut filter, &one);
        filter
    });
    let builder = || builder().capacity(2 * KEYS as u64).remainder_bits(9);
    let (loaded, loading) = timed(|| builder().from_sorted(one_map.values()).unwrap());
    assert_eq!(loaded.to_bytes(), filter.to_bytes(), "loading stores what inserting does");

    let second = builder().from_sorted(other_map.values()).unwrap();
    let mut asked = 0;
    let (merged, merging) = timed(|| {
        let mut merged = filter.clone();
        let (mine, theirs) = (Asked::new(&one_map), Asked::new(&other_map));
        merged.merge_from(&second, &mine, &theirs).unwrap();
        asked = mine.times.get();
        merged
    });
    let (both, inserting_more) = timed(|| {
        let mut both = filter.clone();
        insert_all(&mut both, &other);
        both
    });
    assert!(one.iter().chain(&other).all(|key| merged.contains(key)));
    merged.validate().unwrap();
    assert_eq!(merged.len(), both.len());
    let times = |slow: Duration, fast: Duration| slow.as_secs_f64() / fast.as_secs_f64();
    println!(
        "{KEYS} keys: inserting {inserting:.1?}, loading {loading:.1?} ({:.1} times as fast); {KEYS} more: \
         inserting {inserting_more:.1?}, merging {merging:.1?} ({:.1} times), {asked} looks into the maps",
        times(inserting, loading),
        times(inserting_more, merging),
    );
    assert!(asked <= 2 * KEYS / 512, "{asked} looks");
}

/// The error rates of two filters add up, and small sets have short fingerprints.
#[test]
fn merging_many_small_sets_keeps_the_error_rate() {
    let mut numbers = Numbers(91);
    let mut all = builder().remainder_bits(4).build_set(MemoryMap::new()).unwrap();
    for _ in 0..30 {
        let mut some = builder().remainder_bits(4).build_set(MemoryMap::new()).unwrap();
        fill(&mut some, &mut numbers, 60);
        all.merge_from(&some).unwrap();
        let (rate, most) = (all.filter().expected_error_rate(), all.filter().highest_error_rate());
        assert!(rate <= most, "{rate} of {most}");
    }
    assert_eq!(all.len(), 1_800);
    all.validate().unwrap();
}
