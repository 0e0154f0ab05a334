//! Does one operation many times, for callgrind to count the instructions it takes.
//!
//! On a machine that others use, times say little about a change of a few percent; the number of instructions is always the
//! same. The script `crates/twiceshy-versus/instructions` runs this program for every operation and prints a table, and the
//! ratio to an earlier one:
//!
//! ```sh
//! crates/twiceshy-versus/instructions > /tmp/before.md
//! crates/twiceshy-versus/instructions --against /tmp/before.md
//! ```
//!
//! Without an argument the program lists the operations. With the name of one it does it and prints how often; only what
//! happens in the function `measured` is meant to be counted. Where nothing else is said, filters have 2^16 slots with
//! 9-bit remainders, 90 % load, and hashes from a mixer. An operation on a whole filter counts once for each key in it.

#![allow(clippy::print_stdout, reason = "this is its output")]

use std::convert::Infallible;
use std::hint::black_box;
use std::ops::{ControlFlow, RangeInclusive};

use twiceshy::adaptive::{Adapted, Growth, Insertion, Query};
use twiceshy::hash::HashKey;
use twiceshy::reverse_map::{Lookup, MemoryMap};
use twiceshy::reverse_map::{Row, Rows};
use twiceshy::{
    AdaptiveFilter, AdaptiveRangeFilter, AdaptiveSet, ExpandableFilter, Hasher, Key, QuotientFilter,
    RangeFilter, adaptive, adaptive_range, quotient, range,
};

const SLOTS_LOG2: u32 = 16;
const REMAINDER_BITS: u32 = 9;

/// 90 % load, and how many of them are the last tenth of the fill.
const ITEMS: u64 = (1 << SLOTS_LOG2) * 9 / 10;
const TENTH: u64 = ITEMS / 10;

/// How often to ask, and how many mistakes to learn from.
const QUERIES: u64 = 1 << 16;
const MISTAKES: u64 = 2_000;

/// A name, and what does it and tells how often.
type Operation = (&'static str, fn() -> u64);

const OPERATIONS: &[Operation] = &[
    ("quotient insert, whole fill", || quotient_insert(0)),
    ("quotient insert, last tenth", || quotient_insert(ITEMS - TENTH)),
    ("quotient contains, absent", || asked(absent(), &full_quotient(), QuotientFilter::contains_hash)),
    ("quotient contains, present", || asked(present(), &full_quotient(), QuotientFilter::contains_hash)),
    ("quotient contains_batch, absent", || {
        asked_at_once(absent(), &full_quotient(), QuotientFilter::contains_hash_batch)
    }),
    ("quotient remove", quotient_remove),
    ("quotient merge of two halves", quotient_merge),
    ("quotient bulk load, sorted", quotient_load),
    ("quotient grow", quotient_grow),
    ("adaptive insert, whole fill", || adaptive_insert(0)),
    ("adaptive insert, last tenth", || adaptive_insert(ITEMS - TENTH)),
    ("adaptive contains, absent", || asked(absent(), &full_adaptive(), AdaptiveFilter::contains_hash)),
    ("adaptive contains, present", || asked(present(), &full_adaptive(), AdaptiveFilter::contains_hash)),
    ("adaptive contains_batch, absent", || {
        asked_at_once(absent(), &full_adaptive(), AdaptiveFilter::contains_hash_batch)
    }),
    ("adaptive contains, absent, keyed hash", || {
        asked(absent(), &full_keyed(), |filter, key| filter.contains(&key))
    }),
    ("adaptive contains, present, keyed hash", || {
        asked(present(), &full_keyed(), |filter, key| filter.contains(&key))
    }),
    ("adaptive contains, absent, keyed hash, texts", adaptive_texts),
    ("adaptive contains, absent, fast hash", || {
        let filter = adaptive_of_keys(Hasher::fast(), &items(0..ITEMS));
        asked(absent(), &filter, |filter, key| filter.contains(&key))
    }),
    ("adaptive contains_batch, absent, keyed hash", || {
        asked_at_once(absent(), &full_keyed(), AdaptiveFilter::contains_batch)
    }),
    ("adaptive insert, whole fill, keyed hash", adaptive_insert_keyed),
    ("quotient contains, absent, keyed hash", || {
        asked(absent(), &quotient_of_keys(), |filter, key| filter.contains(&key))
    }),
    ("quotient contains_batch, absent, keyed hash", || {
        asked_at_once(absent(), &quotient_of_keys(), QuotientFilter::contains_batch)
    }),
    ("adaptive query and adapt", adaptive_adapt),
    ("adaptive query and remove", adaptive_remove),
    ("adaptive merge of two halves", adaptive_merge),
    ("adaptive bulk load, sorted", adaptive_load),
    ("adaptive grow", adaptive_grow),
    ("set insert, last tenth", set_insert),
    ("set insert, from 64 slots", set_insert_growing),
    ("set remove", set_remove),
    ("set adapt", set_adapt),
    ("set rejuvenate, after adapting", set_rejuvenate),
    ("adaptive range insert, whole fill", adaptive_range_insert),
    ("adaptive range contains_range, absent", || asked(absent(), &full_adaptive_range(), in_range)),
    ("adaptive range contains_range, next to a key", || {
        let starts =
            (0..QUERIES).map(|number| item(number % ITEMS).wrapping_add(1 + number % RANGE)).collect();
        asked(starts, &full_adaptive_range(), in_range)
    }),
    ("adaptive range contains_range_batch, absent", adaptive_range_batch),
    ("adaptive range bulk load, sorted", adaptive_range_load),
    ("expandable insert, whole fill", || expandable_insert(0)),
    ("expandable insert, last tenth", || expandable_insert(ITEMS - TENTH)),
    ("expandable contains, absent", || asked(absent(), &full_expandable(), ExpandableFilter::contains_hash)),
    ("expandable contains, present", || {
        asked(present(), &full_expandable(), ExpandableFilter::contains_hash)
    }),
    ("expandable contains_batch, absent", || {
        asked_at_once(absent(), &full_expandable(), ExpandableFilter::contains_hash_batch)
    }),
    ("expandable remove", expandable_remove),
    ("expandable merge of two halves", expandable_merge),
    ("expandable insert, from 64 slots", || expandable_grow(false)),
    ("expandable insert, from 64 slots, spread growth", || expandable_grow(true)),
    ("expandable contains, absent, grown", || {
        asked(absent(), &grown_expandable(false), ExpandableFilter::contains_hash)
    }),
    ("expandable contains, present, grown", || {
        asked(present(), &grown_expandable(false), ExpandableFilter::contains_hash)
    }),
    ("range insert, whole fill", || range_insert(0)),
    ("range insert, last tenth", || range_insert(ITEMS - TENTH)),
    ("range contains_range, absent", || range_absent(absent(), &full_range())),
    ("range contains_range, absent, correlated", || range_absent(beside(), &full_range())),
    ("range contains_range, absent, grown", || range_absent(absent(), &grown_range())),
    ("range contains, absent", || asked(absent(), &full_range(), |filter, key| filter.contains(&key))),
    ("range contains_range_batch, absent", range_batch),
    ("range remove", range_remove),
    ("range bulk load, sorted", range_load),
    ("range grow", range_grow),
];

fn main() -> Result<(), String> {
    let Some(name) = std::env::args().nth(1) else {
        OPERATIONS.iter().for_each(|(name, _)| println!("{name}"));
        return Ok(());
    };
    let operation = OPERATIONS.iter().find(|(other, _)| *other == name);
    let (_, operation) = operation.ok_or(format!("there is no operation '{name}'"))?;
    println!("{}", operation());
    Ok(())
}

/// The script tells callgrind to count what happens in here.
#[inline(never)]
fn measured<R>(work: impl FnOnce() -> R) -> R {
    black_box(work())
}

/// Hash (or key) number `number`: the finaliser of SplitMix64.
fn item(number: u64) -> u64 {
    let mut z = number.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

fn items(numbers: std::ops::Range<u64>) -> Vec<u64> {
    numbers.map(item).collect()
}

fn sorted_items() -> Vec<u64> {
    let mut sorted = items(0..ITEMS);
    sorted.sort_unstable();
    sorted
}

/// Items that were never inserted.
fn absent() -> Vec<u64> {
    items(1 << 40..(1 << 40) + QUERIES)
}

/// Items that were, not in the order of their insertion.
fn present() -> Vec<u64> {
    (0..QUERIES).map(|number| item(item(number) % ITEMS)).collect()
}

/// Asks for one item after the other.
fn asked<F>(queries: Vec<u64>, filter: &F, contains: impl Fn(&F, u64) -> bool) -> u64 {
    let found = measured(|| queries.iter().filter(|item| contains(filter, **item)).count());
    assert!(found == queries.len() || found < queries.len() / 100);
    queries.len() as u64
}

fn asked_at_once<F>(queries: Vec<u64>, filter: &F, contains: impl Fn(&F, &[u64], &mut [bool])) -> u64 {
    let mut found = vec![false; queries.len()];
    measured(|| contains(filter, &queries, &mut found));
    assert!(found.iter().filter(|found| **found).count() < queries.len() / 100);
    queries.len() as u64
}

// The range filter, of ranges of 32 keys and with a keyed hash.

const RANGE: u64 = 32;

fn range() -> range::Builder<u64> {
    let builder = RangeFilter::builder().quotient_bits(SLOTS_LOG2).remainder_bits(REMAINDER_BITS);
    builder.max_range(RANGE).hasher(keyed())
}

#[inline(always)]
fn insert_range(filter: &mut RangeFilter<u64>, items: &[u64]) {
    for item in items {
        let _ = filter.insert(item).expect("there is room");
    }
}

fn range_of(items: &[u64]) -> RangeFilter<u64> {
    let mut filter = range().build().expect("a valid shape");
    insert_range(&mut filter, items);
    filter
}

fn full_range() -> RangeFilter<u64> {
    range_of(&items(0..ITEMS))
}

/// From 64 slots.
fn grown_range() -> RangeFilter<u64> {
    let mut filter = range().quotient_bits(6).build().expect("a valid shape");
    insert_range(&mut filter, &items(0..ITEMS));
    filter
}

/// Items next to those that were inserted.
fn beside() -> Vec<u64> {
    (0..QUERIES).map(|number| item(number % ITEMS).wrapping_add(1 + number % 8)).collect()
}

fn range_insert(first: u64) -> u64 {
    let (mut filter, rest) = (range_of(&items(0..first)), items(first..ITEMS));
    measured(|| insert_range(&mut filter, &rest));
    rest.len() as u64
}

fn range_absent(queries: Vec<u64>, filter: &RangeFilter<u64>) -> u64 {
    let is_found = |first: &&u64| filter.contains_range(**first..first.saturating_add(RANGE));
    let found = measured(|| queries.iter().filter(is_found).count());
    assert!(found < queries.len() / 50, "{found}");
    queries.len() as u64
}

fn range_batch() -> u64 {
    let (filter, mut found) = (full_range(), vec![false; QUERIES as usize]);
    let ranges: Vec<_> = absent().into_iter().map(|first| first..first.saturating_add(RANGE)).collect();
    measured(|| filter.contains_range_batch(&ranges, &mut found));
    assert!(found.iter().filter(|found| **found).count() < ranges.len() / 50);
    QUERIES
}

fn range_remove() -> u64 {
    let (mut filter, gone) = (full_range(), items(0..TENTH));
    let removed = measured(|| gone.iter().filter(|item| filter.remove(*item)).count());
    assert_eq!(removed, gone.len());
    TENTH
}

fn range_load() -> u64 {
    let (twin, mut sorted) = (range().build().expect("a valid shape"), items(0..ITEMS));
    sorted.sort_by_key(|item| twin.partition_hash(item));
    let filter = measured(|| range().growth(false).from_sorted(sorted.iter().copied()));
    filter.expect("sorted, and they fit").len()
}

fn range_grow() -> u64 {
    let mut filter = full_range();
    measured(|| filter.grow()).expect("there is memory");
    filter.len()
}

// The quotient filter.

fn quotient() -> quotient::Builder {
    let builder = QuotientFilter::builder().quotient_bits(SLOTS_LOG2).remainder_bits(REMAINDER_BITS);
    builder.hasher(Hasher::fast())
}

fn quotient_of(items: &[u64]) -> QuotientFilter {
    let mut filter = quotient().build().expect("a valid shape");
    insert_quotient(&mut filter, items);
    filter
}

fn full_quotient() -> QuotientFilter {
    quotient_of(&items(0..ITEMS))
}

/// With keys and a keyed hash.
fn quotient_of_keys() -> QuotientFilter {
    let mut filter = quotient().hasher(keyed()).build().expect("a valid shape");
    let _ = filter.insert_batch(&items(0..ITEMS)).expect("there is room");
    filter
}

#[inline(always)]
fn insert_quotient(filter: &mut QuotientFilter, items: &[u64]) {
    for &item in items {
        let _ = filter.insert_hash(item).expect("there is room");
    }
}

fn quotient_insert(first: u64) -> u64 {
    let (mut filter, rest) = (quotient_of(&items(0..first)), items(first..ITEMS));
    measured(|| insert_quotient(&mut filter, &rest));
    rest.len() as u64
}

fn quotient_remove() -> u64 {
    let (mut filter, gone) = (full_quotient(), items(0..TENTH));
    let removed = measured(|| gone.iter().filter(|item| filter.remove_hash(**item)).count());
    assert_eq!(removed, gone.len());
    TENTH
}

fn quotient_merge() -> u64 {
    let (mut one, other) = (quotient_of(&items(0..ITEMS / 2)), quotient_of(&items(ITEMS / 2..ITEMS)));
    measured(|| one.merge_from(&other)).expect("they fit");
    ITEMS
}

fn quotient_load() -> u64 {
    let sorted = sorted_items();
    let filter = measured(|| quotient().from_sorted_hashes(sorted.iter().copied()));
    filter.expect("sorted, and they fit").len()
}

fn quotient_grow() -> u64 {
    let mut filter = full_quotient();
    measured(|| filter.grow()).expect("there is memory");
    filter.len()
}

// The adaptive filter.

fn adaptive(hasher: Hasher) -> adaptive::Builder {
    let builder = AdaptiveFilter::builder().quotient_bits(SLOTS_LOG2).remainder_bits(REMAINDER_BITS);
    builder.growth(Growth::Refuse).hasher(hasher)
}

fn keyed() -> Hasher {
    Hasher::keyed(HashKey::from_bytes(*b"twiceshy-versus!"))
}

#[inline(always)]
fn insert_adaptive(filter: &mut AdaptiveFilter, items: &[u64]) {
    for &item in items {
        if let Insertion::Covered(ticket) = filter.insert_hash(item).expect("there is room") {
            filter.insert_covered(&ticket).expect("nothing happened in between");
        }
    }
}

fn adaptive_of(items: &[u64]) -> AdaptiveFilter {
    let mut filter = adaptive(Hasher::fast()).build().expect("a valid shape");
    insert_adaptive(&mut filter, items);
    filter
}

fn full_adaptive() -> AdaptiveFilter {
    adaptive_of(&items(0..ITEMS))
}

/// With keys and their hashes, not with raw hashes.
fn adaptive_of_keys(hasher: Hasher, keys: &[u64]) -> AdaptiveFilter {
    let mut filter = adaptive(hasher).build().expect("a valid shape");
    insert_adaptive_keys(&mut filter, keys);
    filter
}

#[inline(always)]
fn insert_adaptive_keys(filter: &mut AdaptiveFilter, keys: &[impl Key]) {
    for key in keys {
        if let Insertion::Covered(ticket) = filter.insert(key).expect("there is room") {
            filter.insert_covered(&ticket).expect("nothing happened in between");
        }
    }
}

fn adaptive_insert_keyed() -> u64 {
    let (mut filter, keys) = (adaptive(keyed()).build().expect("a valid shape"), items(0..ITEMS));
    measured(|| insert_adaptive_keys(&mut filter, &keys));
    ITEMS
}

/// Texts of 6 to 16 bytes.
fn texts(numbers: std::ops::Range<u64>) -> Vec<String> {
    numbers.map(|number| format!("{:x}", item(number) >> (number % 11 * 4) | 1 << 20)).collect()
}

fn adaptive_texts() -> u64 {
    let mut filter = adaptive(keyed()).build().expect("a valid shape");
    insert_adaptive_keys(&mut filter, &texts(0..ITEMS));
    let queries = texts(1 << 40..(1 << 40) + QUERIES);
    let found = measured(|| queries.iter().filter(|text| filter.contains(text.as_str())).count());
    assert!(found < queries.len() / 50);
    QUERIES
}

fn full_keyed() -> AdaptiveFilter {
    adaptive_of_keys(keyed(), &items(0..ITEMS))
}

fn adaptive_insert(first: u64) -> u64 {
    let (mut filter, rest) = (adaptive_of(&items(0..first)), items(first..ITEMS));
    measured(|| insert_adaptive(&mut filter, &rest));
    rest.len() as u64
}

/// The hashes in a range.
fn under(sorted: &[u64], range: RangeInclusive<u64>) -> &[u64] {
    let first = sorted.partition_point(|hash| hash < range.start());
    let len = sorted[first..].partition_point(|hash| hash <= range.end());
    &sorted[first..first + len]
}

/// Keys with their hashes, in order.
struct Keys(Vec<(u64, u64)>);

impl Lookup for Keys {
    type Error = Infallible;

    fn visit(
        &self,
        hashes: RangeInclusive<u64>,
        visit: &mut dyn FnMut(Row<'_>) -> ControlFlow<()>,
    ) -> Result<(), Infallible> {
        let first = self.0.partition_point(|(hash, _)| hash < hashes.start());
        for (hash, key) in self.0[first..].iter().take_while(|(hash, _)| hash <= hashes.end()) {
            if visit(Row { hash: *hash, key: &key.to_le_bytes(), value: &[] }).is_break() {
                break;
            }
        }
        Ok(())
    }
}

fn adaptive_adapt() -> u64 {
    let (mut filter, sorted) = (full_adaptive(), sorted_items());
    // Whatever has the fingerprint of an item and goes on differently is a false positive.
    let below = u64::MAX >> (SLOTS_LOG2 + REMAINDER_BITS);
    let mistake = |number| item(number * 7 % ITEMS) & !below | item(number + (1 << 40)) & below;
    let mistakes: Vec<u64> = (0..MISTAKES).map(mistake).collect();
    assert!(mistakes.iter().all(|hash| filter.contains_hash(*hash) && sorted.binary_search(hash).is_err()));
    let fixed = measured(|| {
        let mut fixed = 0;
        for &hash in &mistakes {
            let Query::Maybe(ticket) = filter.query_hash(hash) else { continue };
            let rows = Rows::of_hashes(under(&sorted, ticket.prefix().first_words()).iter().copied());
            let adapted = filter.adapt_hash(&ticket, hash, &rows).expect("there is room");
            fixed += u64::from(matches!(adapted, Adapted::Fixed { .. }));
        }
        fixed
    });
    assert!(fixed > MISTAKES * 9 / 10);
    MISTAKES
}

fn adaptive_remove() -> u64 {
    let (mut filter, gone) = (full_adaptive(), items(0..TENTH));
    measured(|| {
        for &hash in &gone {
            let Query::Maybe(ticket) = filter.query_hash(hash) else { continue };
            filter.remove(&ticket, false).expect("nothing happened in between");
        }
    });
    TENTH
}

fn adaptive_merge() -> u64 {
    let halves = [items(0..ITEMS / 2), items(ITEMS / 2..ITEMS)];
    let [mut one, other] = [0, 1].map(|half: usize| adaptive_of_keys(Hasher::fast(), &halves[half]));
    let hasher = Hasher::fast();
    let [mine, theirs] = halves.map(|half| {
        let mut keys: Vec<(u64, u64)> = half.iter().map(|key| (hasher.hash(key), *key)).collect();
        keys.sort_unstable();
        Keys(keys)
    });
    measured(|| one.merge_from(&other, &mine, &theirs)).expect("they fit");
    ITEMS
}

fn adaptive_load() -> u64 {
    let sorted = sorted_items();
    let filter = measured(|| adaptive(Hasher::fast()).from_sorted_hashes(sorted.iter().copied()));
    filter.expect("sorted, and they fit").len()
}

fn adaptive_grow() -> u64 {
    let (mut filter, sorted) = (full_adaptive(), sorted_items());
    filter.set_growth(Growth::Grow { max_bytes: None });
    let keys = Keys(sorted.iter().map(|hash| (*hash, 0)).collect());
    measured(|| filter.grow_hashes(&keys)).expect("there is memory");
    filter.len()
}

// The adaptive range filter, with the keyed hash.

fn adaptive_range() -> adaptive_range::Builder<u64> {
    let builder = AdaptiveRangeFilter::builder().quotient_bits(SLOTS_LOG2).remainder_bits(REMAINDER_BITS);
    builder.max_range(RANGE).growth(Growth::Refuse).hasher(keyed())
}

fn insert_adaptive_range(filter: &mut AdaptiveRangeFilter<u64>, keys: &[u64]) {
    for key in keys {
        if let Insertion::Covered(ticket) = filter.insert(key).expect("there is room") {
            filter.insert_covered(&ticket).expect("nothing happened in between");
        }
    }
}

fn adaptive_range_insert() -> u64 {
    let (mut filter, keys) = (adaptive_range().build().expect("a valid shape"), items(0..ITEMS));
    measured(|| insert_adaptive_range(&mut filter, &keys));
    ITEMS
}

fn full_adaptive_range() -> AdaptiveRangeFilter<u64> {
    let mut filter = adaptive_range().build().expect("a valid shape");
    insert_adaptive_range(&mut filter, &items(0..ITEMS));
    filter
}

fn in_range(filter: &AdaptiveRangeFilter<u64>, start: u64) -> bool {
    filter.contains_range(start..start.saturating_add(RANGE))
}

fn adaptive_range_batch() -> u64 {
    let (filter, mut found) = (full_adaptive_range(), vec![false; QUERIES as usize]);
    let ranges: Vec<_> = absent().iter().map(|start| *start..start.saturating_add(RANGE)).collect();
    measured(|| filter.contains_range_batch(&ranges, &mut found));
    QUERIES
}

fn adaptive_range_load() -> u64 {
    let (filter, mut keys) = (adaptive_range().build().expect("a valid shape"), items(0..ITEMS));
    keys.sort_by_key(|key| filter.coded(key).hash());
    let filter = measured(|| adaptive_range().from_sorted(&keys));
    filter.expect("sorted, and they fit").len()
}

// The adaptive set. What its map in memory does is counted, too.

fn set_of(keys: &[u64]) -> AdaptiveSet<MemoryMap> {
    let builder = adaptive(Hasher::fast()).growth(Growth::Grow { max_bytes: None });
    let mut set = builder.build_set(MemoryMap::new()).expect("a valid shape");
    insert_set(&mut set, keys);
    set
}

fn full_set() -> AdaptiveSet<MemoryMap> {
    set_of(&items(0..ITEMS))
}

#[inline(always)]
fn insert_set(set: &mut AdaptiveSet<MemoryMap>, keys: &[u64]) {
    for key in keys {
        let _ = set.insert(key).expect("it grows");
    }
}

fn set_insert() -> u64 {
    let (mut set, rest) = (set_of(&items(0..ITEMS - TENTH)), items(ITEMS - TENTH..ITEMS));
    measured(|| insert_set(&mut set, &rest));
    assert_eq!(set.filter().slots(), 1 << SLOTS_LOG2);
    TENTH
}

fn set_insert_growing() -> u64 {
    let builder = AdaptiveSet::builder().quotient_bits(6).error_rate(1.0 / 512.0).hasher(Hasher::fast());
    let (mut set, keys) = (builder.build_set(MemoryMap::new()).expect("a valid shape"), items(0..ITEMS));
    measured(|| insert_set(&mut set, &keys));
    ITEMS
}

fn set_remove() -> u64 {
    let (mut set, gone) = (full_set(), items(0..TENTH));
    measured(|| gone.iter().for_each(|key| assert!(set.remove(key).expect("memory does not fail"))));
    TENTH
}

/// Keys that a full set takes for its own.
fn mistakes_of(set: &AdaptiveSet<MemoryMap>) -> Vec<u64> {
    (1 << 40..).map(item).filter(|key| set.contains(key)).take(MISTAKES as usize).collect()
}

#[inline(always)]
fn adapt_set(set: &mut AdaptiveSet<MemoryMap>, mistakes: &[u64]) {
    for key in mistakes {
        let _ = set.adapt(key).expect("it grows");
    }
}

fn set_adapt() -> u64 {
    let mut set = full_set();
    let mistakes = mistakes_of(&set);
    measured(|| adapt_set(&mut set, &mistakes));
    assert!(set.filter().slots() == 1 << SLOTS_LOG2 && !mistakes.iter().any(|key| set.contains(key)));
    MISTAKES
}

fn set_rejuvenate() -> u64 {
    let mut set = full_set();
    let mistakes = mistakes_of(&set);
    adapt_set(&mut set, &mistakes);
    measured(|| set.rejuvenate()).expect("there is memory");
    ITEMS
}

// The expandable filter.

fn expandable_of(items: &[u64]) -> ExpandableFilter {
    let builder = ExpandableFilter::builder().quotient_bits(SLOTS_LOG2).fingerprint_bits(REMAINDER_BITS);
    let mut filter = builder.max_load(0.95).hasher(Hasher::fast()).build().expect("valid settings");
    insert_expandable(&mut filter, items);
    filter
}

fn full_expandable() -> ExpandableFilter {
    expandable_of(&items(0..ITEMS))
}

#[inline(always)]
fn insert_expandable(filter: &mut ExpandableFilter, items: &[u64]) {
    for &item in items {
        let _ = filter.insert_hash(item).expect("it grows");
    }
}

fn expandable_insert(first: u64) -> u64 {
    let (mut filter, rest) = (expandable_of(&items(0..first)), items(first..ITEMS));
    measured(|| insert_expandable(&mut filter, &rest));
    assert_eq!(filter.slots(), 1 << SLOTS_LOG2);
    rest.len() as u64
}

fn expandable_remove() -> u64 {
    let (mut filter, gone) = (full_expandable(), items(0..TENTH));
    let removed = measured(|| gone.iter().filter(|item| filter.remove_hash(**item)).count());
    assert_eq!(removed, gone.len());
    TENTH
}

fn expandable_merge() -> u64 {
    let (mut one, other) = (expandable_of(&items(0..ITEMS / 2)), expandable_of(&items(ITEMS / 2..ITEMS)));
    measured(|| one.merge_from(&other)).expect("they fit");
    ITEMS
}

/// An empty filter of 64 slots.
fn small_expandable(spread: bool) -> ExpandableFilter {
    let builder = ExpandableFilter::builder().quotient_bits(6).error_rate(1.0 / 512.0);
    builder.spread_growth(spread).hasher(Hasher::fast()).build().expect("valid settings")
}

fn grown_expandable(spread: bool) -> ExpandableFilter {
    let mut filter = small_expandable(spread);
    insert_expandable(&mut filter, &items(0..ITEMS));
    filter
}

fn expandable_grow(spread: bool) -> u64 {
    let (mut filter, items) = (small_expandable(spread), items(0..ITEMS));
    measured(|| insert_expandable(&mut filter, &items));
    ITEMS
}
