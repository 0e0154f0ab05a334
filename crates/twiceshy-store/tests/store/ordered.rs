//! Ordered stores beside a `BTreeMap`: every range of a small universe, after every operation.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::{Bound, ControlFlow, RangeBounds};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::common::{Disk, SNAPSHOT};
use crate::hooked::{Call, Hooked};
use crate::tested::{Tested, under_the_fingerprint_of};
use twiceshy::hash::HashKey;
use twiceshy::{AdaptiveRangeFilter, Hasher};
use twiceshy_store::engine::{Batch, Durability, Engine, Keys, MemoryEngine, Space};
use twiceshy_store::ordered::{Milliseconds, OrderedBuilder, Seconds};
use twiceshy_store::testing::MemoryFiles;
use twiceshy_store::{
    AdaptiveStore, EngineKind, KeyType, OrderedKey, OrderedStore, Recovery, StoreError, StoreKind,
};
use twiceshy_testkit::Random;

fn builder<K: OrderedKey + ?Sized>(hash_key: u8) -> OrderedBuilder<K> {
    let hasher = Hasher::keyed(HashKey::from_bytes([hash_key; 16]));
    OrderedStore::builder().error_rate(0.95).capacity(1).hasher(hasher)
}

/// The keys of all rows in a space.
fn row_keys(engine: &dyn Engine, space: Space) -> BTreeSet<Vec<u8>> {
    let mut keys = BTreeSet::new();
    let visit = &mut |key: &[u8], _: &[u8]| {
        keys.insert(key.to_vec());
        ControlFlow::Continue(())
    };
    engine.scan(space, Keys::ALL, visit).unwrap();
    keys
}

/// A store of bytes, all ranges of which are asked for.
struct Bytes {
    engine: Hooked,
    files: MemoryFiles,
    max_range: u64,
    hash_key: u8,
    /// How often the engine was read.
    reads: Arc<AtomicU64>,
    rows: BTreeMap<u8, Vec<u8>>,
    /// When each key came, and when each mistake was fixed.
    since: BTreeMap<u8, u64>,
    fixed: BTreeMap<(u8, u8), u64>,
    time: u64,
    mistakes: u64,
}

impl Bytes {
    fn new(max_range: u64, hash_key: u8) -> Self {
        let reads = Arc::new(AtomicU64::new(0));
        let counted = Arc::clone(&reads);
        let engine = Hooked::new(move |call| {
            counted.fetch_add(u64::from(matches!(call, Call::Get | Call::Scan)), Ordering::SeqCst);
            true
        });
        let (rows, since, fixed) = (BTreeMap::new(), BTreeMap::new(), BTreeMap::new());
        let files = MemoryFiles::new();
        Self { engine, files, max_range, hash_key, reads, rows, since, fixed, time: 0, mistakes: 0 }
    }

    fn open(&self) -> OrderedStore<u8> {
        let builder = builder(self.hash_key).max_range(self.max_range).max_partitions(64);
        builder.open_with(self.engine.clone(), self.files.clone()).unwrap()
    }

    fn insert(&mut self, key: u8, value: Vec<u8>) {
        self.time += 1;
        if self.rows.insert(key, value).is_none() {
            self.since.insert(key, self.time);
        }
    }

    fn remove(&mut self, key: u8) -> bool {
        self.time += 1;
        self.since.remove(&key);
        self.rows.remove(&key).is_some()
    }

    /// The keys that a range without keys is mistaken for.
    fn culprits(&self, store: &OrderedStore<u8>, (first, last): (u8, u8)) -> Vec<u8> {
        let culprits = |filter: &AdaptiveRangeFilter<u8>| {
            let parts = filter.coded_parts(first..=last);
            let keys = |part| self.rows.keys().copied().filter(under_the_fingerprint_of(filter, &part));
            parts.flat_map(keys).collect()
        };
        store.with_filter(culprits).unwrap()
    }

    /// Asks for every range, twice: the second time no empty one is read from the engine.
    fn check(&mut self, store: &OrderedStore<u8>) {
        let has_key = |first, last| self.rows.range(first..=last).next().is_some();
        let all = || (0..=255u8).flat_map(|first| (first..=255).map(move |last| (first, last)));
        let is_too_long =
            |first: u8, last: u8| u64::from(last) / self.max_range - u64::from(first) / self.max_range >= 64;
        let mistakes = RefCell::new(Vec::new());
        for (first, last) in all() {
            let is_there = has_key(first, last);
            let was_positive = store.may_contain_range(first..=last).unwrap();
            assert!(was_positive || !is_there, "the filter lost {first}..={last}");
            if was_positive && !is_there && !is_too_long(first, last) {
                let culprits = self.culprits(store, (first, last));
                assert!(!culprits.is_empty(), "{first}..={last} is mistaken for nothing");
                if let Some(time) = self.fixed.get(&(first, last)) {
                    let is_new = |key: &u8| self.since[key] > *time;
                    assert!(
                        culprits.iter().all(is_new),
                        "{first}..={last} is mistaken for {culprits:?} again"
                    );
                }
                mistakes.borrow_mut().push((first, last));
            }
            assert_eq!(store.contains_range(first..=last).unwrap(), is_there, "{first}..={last}");
        }
        store.settle();
        for (first, last) in all() {
            // All that are empty, and some of the others, each time other ones.
            let is_chosen = (u64::from(first) + u64::from(last) + self.time).is_multiple_of(16);
            if has_key(first, last) && !is_chosen {
                continue;
            }
            let before = self.reads.load(Ordering::SeqCst);
            let found: Vec<_> = store.range(first..=last).map(Result::unwrap).collect();
            let expected: Vec<_> =
                self.rows.range(first..=last).map(|(key, value)| (*key, value.clone())).collect();
            assert_eq!(found, expected, "{first}..={last}");
            let is_read = self.reads.load(Ordering::SeqCst) > before;
            assert_eq!(is_read, !expected.is_empty() || is_too_long(first, last), "{first}..={last} again");
        }
        let mistakes = mistakes.into_inner();
        self.mistakes += mistakes.len() as u64;
        self.time += 1;
        self.fixed.extend(mistakes.into_iter().map(|range| (range, self.time)));
        for key in 0..=255 {
            assert_eq!(store.get(&key).unwrap().as_ref(), self.rows.get(&key));
        }
        assert_eq!(store.verify().unwrap().keys, self.rows.len() as u64);
        assert_eq!(store.approximate_len(), self.rows.len() as u64);
        assert_eq!(store.len().unwrap(), self.rows.len() as u64);
        assert_eq!(store.with_filter(|filter| filter.len()).unwrap(), self.rows.len() as u64);
        // One row for every partition that has keys.
        let partitions: BTreeSet<_> = self.rows.keys().map(|key| u64::from(*key) / self.max_range).collect();
        assert_eq!(row_keys(&self.engine, Space::Partitions).len(), partitions.len());
    }

    /// Random ranges with all kinds of bounds.
    fn check_bounds(&self, store: &OrderedStore<u8>, random: &mut Random) {
        for _ in 0..300 {
            let mut bound = || match (random.below(5), random.next() as u8) {
                (0, _) => Bound::Unbounded,
                (1 | 2, key) => Bound::Included(key),
                (_, key) => Bound::Excluded(key),
            };
            let range = (bound(), bound());
            let found: Vec<_> = store.range(range).map(|row| row.unwrap().0).collect();
            let expected: Vec<_> = self.rows.keys().copied().filter(|key| range.contains(key)).collect();
            assert_eq!(found, expected, "{range:?}");
            assert_eq!(store.contains_range(range).unwrap(), !expected.is_empty(), "{range:?}");
        }
        let all: Vec<_> = store.iter().map(|row| row.unwrap().0).collect();
        assert!(all.iter().eq(self.rows.keys()));
    }
}

/// Random operations on a store of bytes, all ranges of which are asked for after each of them. Tells how many mistakes there
/// were.
fn operate(max_range: u64, hash_key: u8, operations: u64) -> u64 {
    let (mut model, mut random) = (Bytes::new(max_range, hash_key), Random(u64::from(hash_key)));
    let mut store = model.open();
    // Many at first, so that there is something to be mistaken for.
    let rows: Vec<_> = (0..50).map(|_| (random.next() as u8, vec![1])).collect();
    rows.iter().for_each(|(key, value)| model.insert(*key, value.clone()));
    assert_eq!(store.insert_batch(&rows).unwrap(), model.rows.len() as u64);
    for _ in 0..operations {
        // Some close together, some far apart, and both ends.
        let key = match random.below(4) {
            0 => 100 + random.below(12) as u8,
            1 => [0, 1, 254, 255][random.below(4) as usize],
            _ => random.next() as u8,
        };
        let value = vec![random.next() as u8; random.below(5) as usize];
        match random.below(12) {
            0..=3 => {
                assert_eq!(store.insert(&key, &value).unwrap(), !model.rows.contains_key(&key));
                model.insert(key, value);
            }
            4 | 5 => {
                let rows: Vec<_> =
                    (0..random.below(12)).map(|_| (random.next() as u8, value.clone())).collect();
                let before = model.rows.len();
                rows.iter().for_each(|(key, value)| model.insert(*key, value.clone()));
                assert_eq!(store.insert_batch(&rows).unwrap(), (model.rows.len() - before) as u64);
            }
            6 => assert_eq!(store.remove(&key).unwrap(), model.remove(key)),
            7 | 8 => {
                let keys: Vec<_> = model.rows.keys().copied().collect();
                for _ in 0..random.below(6).min(keys.len() as u64) {
                    let key = keys[random.below(keys.len() as u64) as usize];
                    assert_eq!(store.remove(&key).unwrap(), model.remove(key));
                }
            }
            9 => assert_eq!(store.rebuild().unwrap(), model.rows.len() as u64),
            10 => store.compact().unwrap(),
            _ => {
                store.close().unwrap();
                store = model.open();
                assert_eq!(*store.recovery(), Recovery::Clean);
            }
        }
        model.check_bounds(&store, &mut random);
        model.check(&store);
        let keys: Vec<u8> = (0..300).map(|_| random.next() as u8).collect();
        let values = store.get_batch(&keys).unwrap();
        assert!(keys.iter().zip(values).all(|(key, value)| value.as_ref() == model.rows.get(key)));
    }
    let stats = store.stats().unwrap();
    assert!(stats.ranges >= stats.ranges_answered + stats.range_false_positives, "{stats:?}");
    assert_eq!((stats.store.failed, stats.store.dropped), (0, 0));
    model.mistakes
}

#[test]
fn every_range_of_bytes_in_small_partitions() {
    let mistakes: u64 = (0..6).map(|hash_key| operate(1, hash_key, 12) + operate(2, hash_key, 12)).sum();
    assert!(mistakes > 100, "only {mistakes} mistakes");
    let mistakes: u64 = (10..16).map(|hash_key| operate(4, hash_key, 12)).sum();
    assert!(mistakes > 15, "only {mistakes} mistakes");
}

#[test]
fn every_range_of_bytes_in_large_partitions() {
    let mistakes: u64 = (0..6).map(|hash_key| operate(16, hash_key, 10)).sum();
    println!("{mistakes} mistakes in partitions of 16");
    operate(64, 4, 20);
    operate(256, 5, 12);
}

/// Strings that look alike to the filter, and others.
fn strings() -> Vec<String> {
    let long = "0123456789abcdef";
    let mut all: Vec<String> =
        ["", "\0", "\0\0", "\0a", "a", "a\0", "a\0b", "ab", "b", "ÿ", "zz"].map(str::to_owned).into();
    all.extend(["", "\0", "0", "00", "a", "z"].map(|end| format!("{long}{end}")));
    all.extend(["0123456789abcdee", "0123456789abcdeg", "0123456789abcde"].map(str::to_owned));
    all.sort();
    all
}

/// Random operations on strings, with every pair of bounds after each of them, on engines that are opened again.
fn operate_on_strings(seed: u64, mut open: impl FnMut() -> OrderedStore<str>, operations: u64) {
    let (all, mut random) = (strings(), Random(seed));
    let mut rows: BTreeMap<String, Vec<u8>> = BTreeMap::new();
    let mut store = open();
    for _ in 0..operations {
        let key = &all[random.below(all.len() as u64) as usize];
        let value = vec![random.next() as u8; 3];
        match random.below(8) {
            0..=3 => {
                let is_new = rows.insert(key.clone(), value.clone()).is_none();
                assert_eq!(store.insert(key.as_str(), &value).unwrap(), is_new, "{key:?}");
            }
            4 => {
                let batch: Vec<_> =
                    (0..6).map(|_| (&*all[random.below(all.len() as u64) as usize], &value)).collect();
                let before = rows.len();
                rows.extend(batch.iter().map(|(key, value)| ((*key).to_owned(), (*value).clone())));
                assert_eq!(store.insert_batch(&batch).unwrap(), (rows.len() - before) as u64);
            }
            5 | 6 => assert_eq!(store.remove(key.as_str()).unwrap(), rows.remove(key).is_some(), "{key:?}"),
            _ => match random.below(3) {
                0 => assert_eq!(store.rebuild().unwrap(), rows.len() as u64),
                1 => store.flush().unwrap(),
                _ => {
                    drop(store);
                    store = open();
                }
            },
        }
        let all_bounds = || {
            let both = |key: &'_ String| [Bound::Included(key.clone()), Bound::Excluded(key.clone())];
            all.iter().flat_map(both).chain([Bound::Unbounded])
        };
        for start in all_bounds() {
            for end in all_bounds() {
                let range = (start.as_ref().map(String::as_str), end.as_ref().map(String::as_str));
                let expected: Vec<_> = rows
                    .iter()
                    .filter(|(key, _)| RangeBounds::<str>::contains(&range, key.as_str()))
                    .collect();
                let found: Vec<_> = store.range::<str>(range).map(Result::unwrap).collect();
                assert!(
                    found.iter().map(|(key, value)| (key, value)).eq(expected.iter().copied()),
                    "{range:?}: {found:?}"
                );
                assert_eq!(store.contains_range::<str>(range).unwrap(), !expected.is_empty());
            }
        }
        for key in &all {
            assert_eq!(store.get(key.as_str()).unwrap().as_ref(), rows.get(key), "{key:?}");
        }
        assert_eq!(store.verify().unwrap().keys, rows.len() as u64);
        assert_eq!(store.approximate_len(), rows.len() as u64);
        assert_eq!(store.with_filter(|filter| filter.len()).unwrap(), rows.len() as u64);
        assert_eq!(store.verify().unwrap().leftovers, 0);
    }
}

#[test]
fn strings_that_look_alike_are_different_rows() {
    for seed in 0..4 {
        let (engine, files) = (Arc::new(MemoryEngine::new()), MemoryFiles::new());
        let open = || builder::<str>(seed as u8).open_with(Arc::clone(&engine), files.clone()).unwrap();
        operate_on_strings(seed, open, 60);
    }
}

#[test]
fn strings_on_fjall_and_redb() {
    let folder = tempfile::tempdir().unwrap();
    for &kind in EngineKind::ALL {
        let path = folder.path().join(kind.name());
        operate_on_strings(9, || builder::<str>(7).engine(kind).open(&path).unwrap(), 15);
    }
}

/// What a filter cannot tell from a key is asked of the engine, and is never lost by learning.
#[test]
fn what_begins_like_a_string_is_not_learned() {
    let store = builder::<str>(1).error_rate(0.001).in_memory().unwrap();
    let (stored, other) = ("0123456789abcdef one", "0123456789abcdef two");
    store.insert(stored, "1").unwrap();
    for _ in 0..3 {
        assert_eq!(store.get(other).unwrap(), None);
        assert!(
            store
                .range::<str>((Bound::Included(other), Bound::Included("0123456789abcdef zzz")))
                .next()
                .is_none()
        );
        assert_eq!(store.get(stored).unwrap(), Some(b"1".to_vec()));
    }
    let stats = store.stats().unwrap();
    assert_eq!((stats.store.false_positives, stats.store.fixed, stats.range_false_positives), (6, 0, 3));
    assert!(store.insert(other, "2").unwrap(), "it is another row");
    assert!(store.remove(stored).unwrap());
    assert!(!store.remove(stored).unwrap());
    assert_eq!(store.get(other).unwrap(), Some(b"2".to_vec()), "the filter still knows its code");
    assert!(store.remove(other).unwrap());
    assert!(!store.may_contain(other).unwrap());
}

#[test]
fn keys_that_are_too_long_are_an_error() {
    let folder = tempfile::tempdir().unwrap();
    for &kind in EngineKind::ALL {
        let store = builder::<[u8]>(1).engine(kind).open(folder.path().join(kind.name())).unwrap();
        let most = store.engine().max_key_len();
        let (longest, longer) = (vec![7; most], vec![7; most + 1]);
        assert!(store.insert(longest.as_slice(), "v").unwrap());
        assert!(matches!(store.insert(longer.as_slice(), "v"), Err(StoreError::KeyTooLong { .. })));
        let batch = [(vec![1], "v"), (longer.clone(), "v")];
        assert!(matches!(store.insert_batch(&batch), Err(StoreError::KeyTooLong { .. })));
        assert_eq!(store.get(longer.as_slice()).unwrap(), None);
        assert!(!store.remove(longer.as_slice()).unwrap());
        assert_eq!(store.get(longest.as_slice()).unwrap(), Some(b"v".to_vec()));
        let found =
            |range: (Bound<&[u8]>, Bound<&[u8]>)| store.range::<[u8]>(range).map(Result::unwrap).count();
        assert_eq!(found((Bound::Included(&longest), Bound::Included(&longest))), 1);
        assert_eq!(found((Bound::Excluded(&longest), Bound::Unbounded)), 0);
        assert_eq!(found((Bound::Included(&longer), Bound::Unbounded)), 0);
        assert_eq!(found((Bound::Unbounded, Bound::Excluded(&longer))), 1);
        assert_eq!(found((Bound::Unbounded, Bound::Included(&longer))), 1);
        assert_eq!(found((Bound::Unbounded, Bound::Excluded(&longest))), 0);
        assert_eq!(store.verify().unwrap().keys, 1);
    }
}

/// A range with a row in one partition was no mistake, whatever the filter says of the other.
#[test]
fn a_range_with_a_row_teaches_nothing() {
    let store = builder::<u32>(3).max_range(8).in_memory().unwrap();
    for number in 0..400 {
        store.insert(&(number * 16), "v").unwrap();
    }
    // Positive and empty before, where the key is.
    let is_half_wrong = |number: &u32| store.may_contain_range(number * 16 + 8..=number * 16 + 15).unwrap();
    let half_wrong: Vec<_> = (0..400).filter(is_half_wrong).collect();
    assert!(!half_wrong.is_empty());
    for number in &half_wrong {
        assert_eq!(store.range(number * 16 + 8..=number * 16 + 16).count(), usize::from(*number < 399));
    }
    let stats = store.stats().unwrap();
    assert_eq!(stats.store.false_positives, u64::from(half_wrong.contains(&399)));
    assert!(half_wrong.iter().filter(|number| **number < 399).all(is_half_wrong));
}

/// A range that is mistaken in two partitions is right after it was asked for once.
#[test]
fn all_parts_of_a_range_are_learned() {
    let store = builder::<u32>(3).max_range(8).in_memory().unwrap();
    for number in 0..2_000 {
        store.insert(&(number * 32 + number % 8), "v").unwrap();
    }
    // The second and the third quarter of the numbers between two keys.
    let range = |number: u32| number * 32 + 8..=number * 32 + 23;
    let is_wrong_twice = |number: &u32| {
        let wrong = |filter: &AdaptiveRangeFilter<u32>| {
            filter.coded_parts(range(*number)).filter(|part| filter.is_positive(part)).count()
        };
        store.with_filter(wrong).unwrap() == 2
    };
    let wrong_twice: Vec<_> = (0..2_000).filter(is_wrong_twice).collect();
    assert!(wrong_twice.len() > 3, "only {}", wrong_twice.len());
    for &number in &wrong_twice {
        assert!(store.range(range(number)).next().is_none());
        store.settle();
        assert!(!store.may_contain_range(range(number)).unwrap(), "{:?}", range(number));
    }
}

/// Ranges that meet too many partitions are read, and nothing is learned from them.
#[test]
fn long_ranges_are_scanned() {
    let store = builder::<u64>(3).max_range(8).max_partitions(2).in_memory().unwrap();
    store.insert(&1_000_000, "v").unwrap();
    assert!(!store.contains_range(..1_000_000).unwrap());
    assert!(store.contains_range(5..).unwrap());
    assert_eq!(store.range(100..2_000_000).count(), 1);
    let stats = store.stats().unwrap();
    assert_eq!((stats.ranges, stats.ranges_answered, stats.range_false_positives), (3, 0, 0));
    assert_eq!(store.stats().unwrap().store.false_positives, 0);
}

#[test]
fn stores_are_opened_as_what_they_are() {
    let folder = tempfile::tempdir().unwrap();
    for &kind in EngineKind::ALL {
        let path = |name: &str| folder.path().join(format!("{name} {}", kind.name()));
        let (ordered, adaptive) = (path("ordered"), path("adaptive"));
        let store = OrderedStore::<u64>::builder().engine(kind).max_range(20).open(&ordered).unwrap();
        store.insert(&7, "v").unwrap();
        store.close().unwrap();
        AdaptiveStore::builder().engine(kind).open(&adaptive).unwrap().insert("ant", "six").unwrap();
        let is_other = |error: StoreError| matches!(error, StoreError::OtherKind { .. });
        let check = || {
            assert!(is_other(AdaptiveStore::builder().open(&ordered).unwrap_err()));
            assert!(is_other(OrderedStore::<u64>::builder().open(&adaptive).unwrap_err()));
        };
        check();
        assert_eq!(StoreKind::in_folder(&ordered).unwrap(), Some(StoreKind::Ordered));
        assert_eq!(StoreKind::in_folder(&adaptive).unwrap(), Some(StoreKind::Adaptive));
        assert_eq!(StoreKind::in_folder(path("nothing")).unwrap(), None);
        assert_eq!(KeyType::in_folder(&ordered).unwrap(), Some(KeyType::of::<u64>()));
        assert_eq!(KeyType::in_folder(&adaptive).unwrap(), None);
        assert_eq!(KeyType::in_folder(path("nothing")).unwrap(), None);
        assert!(
            OrderedStore::<u64>::is_in(&ordered).unwrap() && !OrderedStore::<u64>::is_in(&adaptive).unwrap()
        );
        assert!(AdaptiveStore::is_in(&adaptive).unwrap() && !AdaptiveStore::is_in(&ordered).unwrap());
        let message = |error: StoreError| {
            assert!(matches!(error, StoreError::OtherKeys { .. }), "{error}");
            error.to_string()
        };
        let found = message(OrderedStore::<u32>::builder().open(&ordered).unwrap_err());
        assert!(found.contains("bits: expected 32, found 64"), "{found}");
        let found = message(OrderedStore::<i64>::builder().open(&ordered).unwrap_err());
        assert!(
            found.contains("type: expected numbers with a sign, found numbers without a sign"),
            "{found}"
        );
        let found = message(OrderedStore::<u64>::builder().max_range(64).open(&ordered).unwrap_err());
        assert!(found.contains("max_range: expected 64, found 32"), "{found}");
        // Also if nothing says what it is but its rows.
        std::fs::remove_file(ordered.join("twiceshy-store")).unwrap();
        std::fs::remove_file(adaptive.join("twiceshy-store")).unwrap();
        check();
        assert_eq!(KeyType::in_folder(&ordered).unwrap(), None);
        for max_range in [None, Some(32), Some(17)] {
            let builder = OrderedStore::<u64>::builder();
            let builder = if let Some(keys) = max_range { builder.max_range(keys) } else { builder };
            assert_eq!(builder.open(&ordered).unwrap().get(&7).unwrap(), Some(b"v".to_vec()));
        }
        assert_eq!(KeyType::in_folder(&ordered).unwrap(), Some(KeyType::of::<u64>()));
        assert_eq!(AdaptiveStore::builder().open(&adaptive).unwrap().len().unwrap(), 1);
    }
}

/// The file that says what a store is must say what its keys are.
#[test]
fn a_store_that_does_not_say_what_its_keys_are_is_damaged() {
    let folder = tempfile::tempdir().unwrap();
    let (path, description) = (folder.path().join("store"), folder.path().join("store/twiceshy-store"));
    drop(OrderedStore::<Seconds>::builder().open(&path).unwrap());
    let text = std::fs::read_to_string(&description).unwrap();
    assert!(text.ends_with("\nkeys 7 64\n"), "{text}");
    for wrong in ["", "keys\n", "keys 7\n", "keys seconds 64\n"] {
        std::fs::write(&description, text.replace("keys 7 64\n", wrong)).unwrap();
        for error in [
            KeyType::in_folder(&path).unwrap_err(),
            OrderedStore::<Seconds>::builder().open(&path).unwrap_err(),
        ] {
            assert!(
                matches!(&error, StoreError::Damaged { what } if what.contains("what keys are")),
                "{error}"
            );
        }
    }
    // What the rows say counts.
    std::fs::write(&description, text.replace("keys 7", "keys 8")).unwrap();
    assert!(matches!(
        OrderedStore::<Milliseconds>::builder().open(&path).unwrap_err(),
        StoreError::OtherKeys { .. }
    ));
    OrderedStore::<Seconds>::builder().open(&path).unwrap().verify().unwrap();
}

/// A partition without its row is noticed and put right; one without keys does no harm.
#[test]
fn rows_of_partitions_are_checked_and_mended() {
    let (engine, files) = (Arc::new(MemoryEngine::new()), MemoryFiles::new());
    let open = || builder::<u32>(5).max_range(16).open_with(Arc::clone(&engine), files.clone());
    let store = open().unwrap();
    for number in 0..100 {
        store.insert(&(number * 8), "v").unwrap();
    }
    let partitions = row_keys(&*engine, Space::Partitions);
    assert_eq!(partitions.len(), 50);
    assert!(partitions.iter().all(|key| key.len() == 8), "a head of 4 bytes, and 28 bits in 4 bytes");
    let write = |change: &dyn Fn(&mut Batch)| {
        let mut batch = Batch::new();
        change(&mut batch);
        engine.write(batch, Durability::Process).unwrap();
    };
    // A row of a partition that has no keys any more.
    store.insert(&80_000, "v").unwrap();
    let empty = row_keys(&*engine, Space::Partitions).difference(&partitions).next().unwrap().clone();
    assert!(store.remove(&80_000).unwrap());
    assert_eq!(row_keys(&*engine, Space::Partitions), partitions);
    write(&|batch| batch.put(Space::Partitions, empty.clone(), vec![]));
    assert_eq!(store.verify().unwrap().keys, 100);
    for number in 0..100 {
        assert!(store.range(number * 8 + 1..=number * 8 + 7).next().is_none());
    }
    let lost = partitions.first().unwrap();
    write(&|batch| batch.delete(Space::Partitions, lost.clone()));
    assert!(matches!(store.verify(), Err(StoreError::Disagree { what }) if what.contains("partition")));
    assert_eq!(store.rebuild().unwrap(), 100);
    assert_eq!(store.verify().unwrap().keys, 100);
    assert_eq!(row_keys(&*engine, Space::Partitions), partitions);
    store.close().unwrap();
    write(&|batch| partitions.iter().for_each(|key| batch.delete(Space::Partitions, key.clone())));
    assert!(matches!(open(), Err(StoreError::Damaged { what }) if what.contains("partitions")));
    // In another place.
    write(&|batch| batch.put(Space::Partitions, [&[7; 4][..], &[0; 4]].concat(), vec![]));
    let store = open().unwrap();
    assert!(matches!(store.verify(), Err(StoreError::Damaged { what }) if what.contains("partition")));
}

/// Text is bytes, too, but not all bytes are text. Nothing is damaged then.
#[test]
fn bytes_that_are_no_text_say_so() {
    let folder = tempfile::tempdir().unwrap();
    let bytes = OrderedStore::<[u8]>::open(folder.path()).unwrap();
    bytes.insert(&b"ab"[..], "1").unwrap();
    bytes.insert(&[0xff, 0xfe][..], "2").unwrap();
    bytes.close().unwrap();
    let text = OrderedStore::<str>::open(folder.path()).unwrap();
    assert_eq!(text.get("ab").unwrap(), Some(b"1".to_vec()));
    let error = text.iter().find_map(Result::err).expect("one is no text");
    assert!(matches!(error, StoreError::OtherKey { .. }), "{error}");
    text.close().unwrap();
    assert_eq!(OrderedStore::<[u8]>::open(folder.path()).unwrap().iter().filter(Result::is_ok).count(), 2);
}

/// Keys of rows that nobody here has written.
#[test]
fn damaged_rows_are_an_error() {
    let engine = Arc::new(MemoryEngine::new());
    let store = builder::<u32>(5).open_with(Arc::clone(&engine), MemoryFiles::new()).unwrap();
    store.insert(&7, "v").unwrap();
    let mut batch = Batch::new();
    batch.put(Space::Rows, b"no number".to_vec(), vec![]);
    engine.write(batch, Durability::Process).unwrap();
    assert!(store.range(..).any(|row| matches!(row, Err(StoreError::Damaged { .. }))));
    assert!(matches!(store.verify(), Err(StoreError::Damaged { .. })));
    assert!(store.rebuild().is_err());
    assert_eq!(store.get(&7).unwrap(), Some(b"v".to_vec()));
}

/// A filter that was saved before some rows came and went, or not at all, becomes the filter of the rows.
#[test]
fn snapshots_older_than_the_rows() {
    type Store = OrderedStore<u32>;
    let disk = Disk::new();
    let store = disk.open(Store::chosen(0.2, 8)).unwrap();
    let rows: Vec<_> = (0..300).map(|number| (Store::key(number), b"v".to_vec())).collect();
    store.put_all(&rows).unwrap();
    store.rebuild().unwrap();
    let old = crate::common::read_file(&disk.files, SNAPSHOT).unwrap();
    // Some go, some come, many mistakes are made.
    (0..50).for_each(|number| assert!(store.take_out(&Store::key(number * 3)).unwrap()));
    (300..350).for_each(|number| assert!(store.put(&Store::key(number), b"w").unwrap()));
    let mistakes: Vec<_> = (0..3_000).map(Store::stranger).filter(|query| store.is_positive(query)).collect();
    mistakes.iter().for_each(|query| store.ask(query).unwrap());
    let fixed: Vec<_> = mistakes.into_iter().filter(|query| !store.is_positive(query)).collect();
    assert!(fixed.len() > 30);
    store.flush().unwrap();
    let expected = store.rows();
    for case in ["replayed", "gone", "older"] {
        let copy = disk.copy();
        match case {
            "gone" => assert!(copy.files.edit(SNAPSHOT, Vec::clear)),
            "older" => {
                let store = copy.open(Store::chosen(0.2, 8)).unwrap();
                store.closed().unwrap();
                crate::common::write_file(&copy.files, SNAPSHOT, &old);
            }
            _ => (),
        }
        let store = copy.open(Store::chosen(0.2, 8)).unwrap();
        match case {
            "replayed" => {
                assert!(matches!(store.recovery(), Recovery::Replayed { .. }), "{:?}", store.recovery())
            }
            _ => assert!(
                matches!(store.recovery(), Recovery::Rebuilt { .. }),
                "{case}: {:?}",
                store.recovery()
            ),
        }
        assert_eq!(store.rows(), expected);
        assert_eq!(store.verified().unwrap().keys, expected.len() as u64);
        expected.iter().for_each(|(key, value)| assert_eq!(store.value(key).as_ref(), Some(value)));
        // What went is a mistake once at most, also where a neighbour in its partition stays.
        for number in 0..50u32 {
            assert_eq!(store.get(&(number * 60)).unwrap(), None);
        }
        store.settle();
        assert!((0..50u32).all(|number| !store.may_contain(&(number * 60)).unwrap()), "{case}");
        if case != "older" {
            for query in &fixed {
                let culprits = store.culprits(query, &expected);
                assert!(culprits.is_empty(), "{case}: {query:?} is mistaken for {culprits:?} again");
            }
        }
    }
}

/// A store whose partitions have many keys is done again from its journal in no time.
#[test]
fn dense_partitions_are_replayed_quickly() {
    let disk = Disk::new();
    let builder = || builder::<u32>(2).max_range(512);
    let store = builder().open_with(disk.clone(), disk.files.clone()).unwrap();
    let rows: Vec<_> = (0..30_000u32).map(|number| (number, [])).collect();
    rows.chunks(1_000).for_each(|rows| assert_eq!(store.insert_batch(rows).unwrap(), 1_000));
    store.rebuild().unwrap();
    assert_eq!(row_keys(&disk, Space::Partitions).len(), 59);
    for number in 0..2_900u32 {
        assert!(store.insert(&(100_000 + number), []).unwrap());
    }
    let start = std::time::Instant::now();
    let copy = disk.copy();
    let again = builder().open_with(copy.clone(), copy.files.clone()).unwrap();
    assert_eq!(*again.recovery(), Recovery::Replayed { records: 2_900 });
    assert_eq!(again.verify().unwrap().keys, 32_900);
    assert!(start.elapsed().as_secs() < 20, "{:?}", start.elapsed());
}

/// To remove a key of a full partition does not read the others.
#[test]
fn a_key_of_a_full_partition_is_removed_by_a_few_reads() {
    let engine = Hooked::new(|_| true);
    let store = builder::<u32>(2).max_range(1_024).open_with(engine.clone(), MemoryFiles::new()).unwrap();
    let rows: Vec<_> = (0..4_096u32).map(|number| (number, [])).collect();
    assert_eq!(store.insert_batch(&rows).unwrap(), 4_096);
    engine.scanned.store(0, Ordering::Relaxed);
    (0..1_000).for_each(|number| assert!(store.remove(&number).unwrap()));
    let scanned = engine.scanned.load(Ordering::Relaxed);
    assert!(scanned <= 10_000, "{scanned} rows were read");
    assert_eq!(store.verify().unwrap().keys, 3_096);
    assert_eq!(store.range(..1_024).count(), 24);
    (1_000..1_024).for_each(|number| assert!(store.remove(&number).unwrap()));
    assert_eq!(store.verify().unwrap().leftovers, 0, "what it had is gone");
}

/// An adversary who replays the ranges that were mistakes: counts of ranges that the engine is asked for, which do not depend on
/// the machine.
#[test]
fn an_adversary_gains_nothing_by_ranges() {
    const RATE: f64 = 0.01;
    const QUERIES: u64 = 20_000;
    for max_range in [1, 32, 1_024] {
        let store = builder::<u64>(6).error_rate(RATE).max_range(max_range).in_memory().unwrap();
        let mut random = Random(max_range);
        let rows: Vec<_> = (0..20_000).map(|_| (random.next(), [])).collect();
        rows.chunks(1_000).for_each(|rows| assert_eq!(store.insert_batch(rows).unwrap(), 1_000));
        let mut fresh = || {
            let first = random.next() >> 1;
            first..first + max_range
        };
        let is_read = |range: &std::ops::Range<u64>| {
            let read = |stats: twiceshy_store::ordered::OrderedStats| stats.ranges - stats.ranges_answered;
            let before = read(store.stats().unwrap());
            assert!(store.range(range.clone()).next().is_none());
            read(store.stats().unwrap()) > before
        };
        let found: Vec<_> = (0..QUERIES).map(|_| fresh()).filter(is_read).collect();
        assert!(!found.is_empty());
        // Five standard deviations.
        let slack = 5.0 * (RATE / QUERIES as f64).sqrt();
        for share in [0, 1, 3, 10] {
            let replayed = |number: u64| number % 100 < share;
            let ask = |number: u64| {
                is_read(&if replayed(number) {
                    found[number as usize % found.len()].clone()
                } else {
                    fresh()
                })
            };
            let read = (0..QUERIES).map(ask).filter(|&is_read| is_read).count() as f64 / QUERIES as f64;
            assert!(read <= RATE + slack, "{read} of the ranges of {max_range}, {share} % replayed");
        }
        store.settle();
        assert!(!found.iter().any(|range| store.may_contain_range(range.clone()).unwrap()));
    }
}
