//! Taking in another store.

use std::sync::{Arc, Mutex};

use crate::common::{Disk, Model, key};
use crate::hooked::{Call, Hooked};
use twiceshy::Hasher;
use twiceshy::hash::HashKey;
use twiceshy_store::testing::MemoryFiles;
use twiceshy_store::{AdaptiveStore, Recovery, StoreBuilder, StoreError};

fn builder() -> StoreBuilder {
    AdaptiveStore::builder().error_rate(0.2).capacity(10)
}

/// A store that hashes as all of these do.
fn alike() -> StoreBuilder {
    builder().hasher(Hasher::keyed(HashKey::from_bytes([4; 16])))
}

fn rows(numbers: std::ops::Range<u64>, value: &str) -> Vec<(Vec<u8>, Vec<u8>)> {
    numbers.map(|number| (key(number), value.as_bytes().to_vec())).collect()
}

fn filter_bytes(store: &AdaptiveStore) -> usize {
    store.with_filter(|filter| filter.size_in_bytes()).unwrap()
}

#[test]
fn merging_takes_in_what_is_not_there() {
    let folder = tempfile::tempdir().unwrap();
    let mine = builder().open(folder.path().join("mine")).unwrap();
    // Another engine and another hash key.
    let theirs =
        builder().engine(twiceshy_store::EngineKind::Redb).open(folder.path().join("theirs")).unwrap();
    let mut model = Model::default();
    theirs.insert_batch(&rows(500..3_000, "theirs")).unwrap();
    mine.insert_batch(&rows(0..1_000, "mine")).unwrap();
    for (key, value) in rows(500..3_000, "theirs").into_iter().chain(rows(0..1_000, "mine")) {
        model.insert(key, value);
    }
    let merged = mine.merge_from(&theirs).unwrap();
    assert_eq!((merged.added, merged.kept), (2_000, 500));
    model.check(&mine);
    // Again, after an interruption.
    let merged = mine.merge_from(&theirs).unwrap();
    assert_eq!((merged.added, merged.kept), (0, 2_500));
    let merged = mine.merge_from(&mine).unwrap();
    assert_eq!((merged.added, merged.kept), (0, 3_000));
    model.check(&mine);
}

/// Rows that come in the order of the filter's slots must not push each other along in a filter that is too small for
/// them: it has its last size when the first of them have come.
#[test]
fn the_filter_has_its_last_size_early() {
    for already in [0, 10, 3_000, 20_000] {
        let mine = Arc::new(alike().in_memory().unwrap());
        mine.insert_batch(&rows(100_000..100_000 + already, "mine")).unwrap();
        // How large the filter is whenever rows of the other store are read.
        let sizes = Arc::new(Mutex::new(Vec::new()));
        let note = {
            let (mine, sizes) = (Arc::clone(&mine), Arc::clone(&sizes));
            move |call: Call| {
                if call == Call::Scan {
                    sizes.lock().unwrap().push(filter_bytes(&mine));
                }
                true
            }
        };
        let theirs = alike().open_with(Hooked::new(note), MemoryFiles::new()).unwrap();
        theirs.insert_batch(&rows(0..20_000, "theirs")).unwrap();
        sizes.lock().unwrap().clear();
        assert_eq!(mine.merge_from(&theirs).unwrap().added, 20_000);
        let sizes = sizes.lock().unwrap().clone();
        assert!(sizes.len() > 60, "rows were read {} times", sizes.len());
        let last = sizes[sizes.len() - 1];
        assert!(sizes[sizes.len() / 4..].iter().all(|&size| size == last), "{already} keys: {sizes:?}");
        assert_eq!(last, filter_bytes(&mine));
        mine.verify().unwrap();
        // And no larger than it would be without knowing what comes.
        let single = alike().in_memory().unwrap();
        single.insert_batch(&rows(100_000..100_000 + already, "mine")).unwrap();
        for rows in rows(0..20_000, "theirs").chunks(100) {
            single.insert_batch(rows).unwrap();
        }
        // Nearly: some keys share a fingerprint, which cannot be known.
        assert!(last <= filter_bytes(&single) * 4 / 3, "{already} keys");
    }
}

/// After a crash in the middle the rest is merged, and the filter is hardly larger for that.
#[test]
fn after_a_crash_the_rest_is_merged() {
    let disk = Disk::new();
    let mine = disk.open(alike()).unwrap();
    mine.insert_batch(&rows(100_000..160_000, "mine")).unwrap();
    let crashed = Arc::new(Mutex::new((0, None)));
    let crash = {
        let (disk, crashed) = (disk.clone(), Arc::clone(&crashed));
        move |_: Call| {
            let mut crashed = crashed.lock().unwrap();
            crashed.0 += 1;
            if crashed.0 == 40 {
                crashed.1 = Some(disk.copy());
            }
            true
        }
    };
    let theirs = alike().open_with(Hooked::new(crash), MemoryFiles::new()).unwrap();
    theirs.insert_batch(&rows(0..60_000, "theirs")).unwrap();
    *crashed.lock().unwrap() = (0, None);
    mine.merge_from(&theirs).unwrap();
    let crashed = crashed.lock().unwrap().1.take().unwrap().open(alike()).unwrap();
    assert!(matches!(crashed.recovery(), Recovery::Replayed { .. }), "{:?}", crashed.recovery());
    assert!((60_001..70_000).contains(&crashed.verify().unwrap().keys));
    crashed.merge_from(&theirs).unwrap();
    assert_eq!(crashed.verify().unwrap().keys, 120_000);
    // Rows that come in the order of its slots make a filter grow early: by some steps, not by doublings.
    let (rebuilt, grown) = (filter_bytes(&crashed), filter_bytes(&mine));
    assert!((2 * grown / 3..5 * grown / 3).contains(&rebuilt), "{rebuilt} bytes instead of {grown}");
}

/// There is no room for keys that are there already.
#[test]
fn a_filter_does_not_grow_for_what_it_has() {
    let mine = alike().in_memory().unwrap();
    mine.insert_batch(&rows(0..20_000, "mine")).unwrap();
    let theirs = alike().in_memory().unwrap();
    theirs.insert_batch(&rows(5_000..20_000, "theirs")).unwrap();
    let before = filter_bytes(&mine);
    assert_eq!(mine.merge_from(&theirs).unwrap().kept, 15_000);
    assert_eq!(mine.merge_from(&mine).unwrap().kept, 20_000);
    assert_eq!(filter_bytes(&mine), before);
}

/// A filter that may not grow takes in what it has room for.
#[test]
fn a_limit_holds_while_merging() {
    let theirs = alike().in_memory().unwrap();
    theirs.insert_batch(&rows(0..20_000, "theirs")).unwrap();
    let limit = filter_bytes(&theirs) as u64;
    for (max_bytes, fits) in [(limit, true), (limit / 2, false)] {
        let mine = alike().max_bytes(max_bytes).in_memory().unwrap();
        let merged = mine.merge_from(&theirs);
        assert!(filter_bytes(&mine) as u64 <= max_bytes);
        match merged {
            Ok(merged) => assert_eq!((merged.added, fits), (20_000, true)),
            Err(error) => assert!(matches!(error, StoreError::FilterFull { .. }) && !fits, "{error}"),
        }
        mine.verify().unwrap();
    }
}
