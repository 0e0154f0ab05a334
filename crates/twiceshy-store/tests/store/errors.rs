//! An error changes nothing, or says what it left; and nothing that worked is reported as an error.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use crate::common::{Disk, key, stranger};
use crate::hooked::{Call, FullFiles, Hooked};
use twiceshy::Hasher;
use twiceshy::hash::HashKey;
use twiceshy_store::engine::MemoryEngine;
use twiceshy_store::testing::{Faults, FaultyEngine, MemoryFiles};
use twiceshy_store::{AdaptiveStore, Durability, EngineKind, Recovery, StoreBuilder, StoreError};

fn builder() -> StoreBuilder {
    let hasher = Hasher::keyed(HashKey::from_bytes([6; 16]));
    AdaptiveStore::builder().error_rate(0.01).capacity(10).hasher(hasher)
}

fn rows(numbers: std::ops::Range<u64>) -> Vec<(Vec<u8>, &'static str)> {
    numbers.map(|number| (key(number), "v")).collect()
}

/// Keys, fingerprints and slots of a filter.
fn measure(store: &AdaptiveStore) -> (u64, u64, u64) {
    store.with_filter(|filter| (filter.len(), filter.fingerprints(), filter.used_slots())).unwrap()
}

/// A batch that finds no room takes none.
#[test]
fn a_batch_that_does_not_fit_leaves_nothing_in_the_filter() {
    for (seed, rate) in [(1, 0.01), (2, 0.3), (3, 0.49), (4, 0.0001)] {
        let hasher = Hasher::keyed(HashKey::from_bytes([seed; 16]));
        let builder = builder().hasher(hasher).error_rate(rate).max_bytes(3_000);
        let store = builder.in_memory().unwrap();
        store.insert_batch(&rows(0..200)).unwrap();
        // Some are there already, some come twice.
        let mut batch = rows(100..5_000);
        batch.extend(rows(150..300));
        for _ in 0..2 {
            let error = store.insert_batch(&batch).unwrap_err();
            assert!(matches!(error, StoreError::FilterFull { .. }), "{error}");
            let verified = store.verify().unwrap();
            assert_eq!((verified.keys, verified.leftovers), (200, 0), "error rate {rate}");
            assert_eq!(measure(&store).0, 200, "the filter counts its keys");
        }
        // There is still room for others.
        assert_eq!(store.insert_batch(&rows(5_000..5_200)).unwrap(), 200);
        assert_eq!(store.verify().unwrap().keys, 400);
    }
}

/// An engine that fails while the batch enters the filter: some of it may stay there, and nothing else is lost.
#[test]
fn a_batch_that_fails_on_the_way_loses_nothing() {
    for calls in 0..60 {
        let faults = Faults::default();
        let engine = FaultyEngine::new(MemoryEngine::new(), faults.clone());
        let store = builder().error_rate(0.4).max_bytes(3_000).open_with(engine, MemoryFiles::new()).unwrap();
        store.insert_batch(&rows(0..200)).unwrap();
        faults.fail_after(calls);
        assert!(store.insert_batch(&rows(100..5_000)).is_err());
        faults.heal();
        assert_eq!(store.verify().unwrap().keys, 200, "after call {calls}");
        assert!(store.insert_batch(&rows(150..250)).is_ok());
        assert_eq!(store.verify().unwrap().keys, 250, "after call {calls}");
    }
}

/// What was acknowledged is safe; that the filter cannot be saved, too, is no reason to say otherwise.
#[test]
fn flushing_does_not_fail_because_the_filter_cannot_be_saved() {
    let (disk, files) = (Disk::new(), FullFiles::new(MemoryFiles::new()));
    let builder = || builder().error_rate(0.4);
    let store = builder().save_after(101).open_with(disk.clone(), files.clone()).unwrap();
    files.is_full.store(true, Ordering::SeqCst);
    files.tried.store(0, Ordering::SeqCst);
    store.insert_batch(&rows(0..100)).unwrap();
    // What was learned makes the journal long.
    (0..100).for_each(|number| assert_eq!(store.get(&stranger(number)).unwrap(), None));
    store.flush().unwrap();
    assert_eq!(disk.unsafe_batches(), 0);
    assert_eq!(files.tried.load(Ordering::SeqCst), 1);
    store.flush().unwrap();
    assert_eq!(files.tried.load(Ordering::SeqCst), 1, "it is not tried in vain again and again");
    assert!(matches!(store.close(), Err(StoreError::File { .. })), "here it is said");
    let store = builder().open_with(disk.after_power_cut(0), files).unwrap();
    assert_eq!(store.verify().unwrap().keys, 100);
}

/// Closing syncs the engine, also if it cannot write what was learned and so does not save the filter.
#[test]
fn closing_syncs_whatever_else_fails() {
    let (is_bad, synced) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicU64::new(0)));
    let hook = {
        let (is_bad, synced) = (Arc::clone(&is_bad), Arc::clone(&synced));
        move |call: Call| {
            synced.fetch_add(u64::from(call == Call::Sync), Ordering::SeqCst);
            !(call == Call::Write && is_bad.load(Ordering::SeqCst))
        }
    };
    let builder = builder().error_rate(0.4).durability(Durability::Relaxed);
    let store = builder.open_with(Hooked::new(hook), MemoryFiles::new()).unwrap();
    store.insert_batch(&rows(0..100)).unwrap();
    (0..100).for_each(|number| assert_eq!(store.get(&stranger(number)).unwrap(), None));
    assert!(store.stats().unwrap().fixed > 0);
    is_bad.store(true, Ordering::SeqCst);
    synced.store(0, Ordering::SeqCst);
    assert!(store.close().is_err());
    assert!(synced.load(Ordering::SeqCst) > 0);
}

/// A filter that was built anew, or made smaller, and could not be saved then, is saved by closing.
#[test]
fn what_could_not_be_saved_is_saved_later() {
    type Work = fn(&AdaptiveStore) -> Result<(), StoreError>;
    for work in [(|store| store.rebuild().map(|_| ())) as Work, AdaptiveStore::compact] {
        let (engine, files) = (Arc::new(MemoryEngine::new()), FullFiles::new(MemoryFiles::new()));
        let faults = Faults::default();
        let open = || {
            let engine = FaultyEngine::new(Arc::clone(&engine), faults.clone());
            builder().open_with(engine, files.clone()).unwrap()
        };
        let store = open();
        // A write that fails leaves a thousand fingerprints in a filter that has grown for them.
        faults.fail_after(0);
        assert!(store.insert_batch(&rows(0..1_000)).is_err());
        faults.heal();
        store.insert("kept", "v").unwrap();
        store.close().unwrap();
        let store = open();
        let before = measure(&store);
        let bytes = |store: &AdaptiveStore| store.with_filter(|filter| filter.size_in_bytes()).unwrap();
        let large = bytes(&store);
        (1..1_000).for_each(|number| assert_eq!(store.get(&key(number)).unwrap(), None));
        store.close().unwrap();

        let store = open();
        assert_ne!(measure(&store), before);
        files.is_full.store(true, Ordering::SeqCst);
        assert!(matches!(work(&store), Err(StoreError::File { .. })));
        let after = (measure(&store), bytes(&store));
        assert!(after.1 < large);
        files.is_full.store(false, Ordering::SeqCst);
        store.close().unwrap();
        let store = open();
        assert_eq!(*store.recovery(), Recovery::Clean);
        assert_eq!((measure(&store), bytes(&store)), after);
        assert_eq!(store.get("kept").unwrap(), Some(b"v".to_vec()));
    }
}

/// Keys that were counted stay counted.
#[test]
fn a_count_that_was_put_right_is_saved() {
    let (engine, files, faults) = (Arc::new(MemoryEngine::new()), MemoryFiles::new(), Faults::default());
    let open = || {
        let engine = FaultyEngine::new(Arc::clone(&engine), faults.clone());
        builder().open_with(engine, files.clone()).unwrap()
    };
    let store = open();
    faults.lose_answer_after(0);
    assert!(store.insert(&key(0), "v").is_err());
    faults.heal();
    store.insert(&key(1), "v").unwrap();
    store.close().unwrap();
    let store = open();
    assert_eq!(store.approximate_len(), 1, "nobody knows of the first key");
    assert_eq!(store.verify().unwrap().keys, 2);
    store.close().unwrap();
    assert_eq!(open().approximate_len(), 2);
}

/// Settings that cannot be are refused before anything is made.
#[test]
fn wrong_settings_make_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store");
    let wrong = || AdaptiveStore::builder().engine(EngineKind::Fjall).error_rate(2.0);
    assert!(matches!(wrong().open(&path), Err(StoreError::Build(_))));
    assert!(!path.exists());
    std::fs::create_dir(&path).unwrap();
    assert!(matches!(wrong().open(&path), Err(StoreError::Build(_))));
    assert_eq!(std::fs::read_dir(&path).unwrap().count(), 0);
    let store = builder().engine(EngineKind::Redb).open(&path).unwrap();
    assert_eq!(*store.recovery(), Recovery::Created);
}

/// Making a store failed at some step: the next try makes it, with the settings of that try.
#[test]
fn a_store_that_was_not_made_is_made_by_the_next_try() {
    for steps in 0.. {
        let disk = Disk::new();
        disk.power.cut_after(steps);
        let first = disk.open(builder().error_rate(0.4));
        let is_made = first.is_ok();
        drop(first);
        let store = disk.after_kill().open(builder().error_rate(0.01)).unwrap();
        let rate = store.with_filter(|filter| filter.highest_error_rate()).unwrap();
        if is_made {
            assert!(steps > 4, "it took {steps} steps");
            assert!(rate > 0.1, "the store keeps its settings");
            return;
        }
        // The description is its last step: with it, the store is there.
        let is_described = rate > 0.1;
        assert!(
            !is_described || matches!(store.recovery(), Recovery::Clean),
            "{steps}: {:?}",
            store.recovery()
        );
        assert!(is_described || *store.recovery() == Recovery::Created, "{steps}: {:?}", store.recovery());
        store.insert("ant", "six legs").unwrap();
        store.verify().unwrap();
    }
}

/// fjall was killed after it had begun its journal and before it had written its version: nothing was ever stored.
#[test]
fn a_store_whose_making_was_killed_is_made_by_the_next_try() {
    for bytes in [0, 100_000] {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("store");
        let rows = path.join("rows.fjall");
        std::fs::create_dir_all(rows.join("keyspaces")).unwrap();
        std::fs::write(rows.join("0.jnl"), vec![0; bytes]).unwrap();
        let store = AdaptiveStore::builder().engine(EngineKind::Fjall).open(&path).unwrap();
        store.insert("moth", "four").unwrap();
        store.close().unwrap();
        assert_eq!(AdaptiveStore::open(&path).unwrap().get("moth").unwrap(), Some(b"four".to_vec()));
    }
    // A journal that has a word, and a space that has files, are nobody's to remove.
    for left in ["0.jnl", "keyspaces/1"] {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("store");
        let rows = path.join("rows.fjall");
        std::fs::create_dir_all(rows.join("keyspaces")).unwrap();
        std::fs::write(rows.join("0.jnl"), []).unwrap();
        std::fs::write(rows.join(left), [0, 0, 7]).unwrap();
        assert!(AdaptiveStore::builder().engine(EngineKind::Fjall).open(&path).is_err());
        assert_eq!(std::fs::read(rows.join(left)).unwrap(), [0, 0, 7]);
        assert!(rows.join("0.jnl").exists());
    }
}
