//! Many threads at once, compared with a model at the end.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::tested::{Choose, Tested};
use twiceshy_store::engine::{Engine, FjallEngine, MemoryEngine, RedbEngine};
use twiceshy_store::testing::MemoryFiles;
use twiceshy_store::{AdaptiveStore, Durability, OrderedStore, YesNoStore};
use twiceshy_testkit::Random;

/// Each thread has keys of its own, so that it knows what must be there.
fn writer<S: Tested>(store: &S, thread: u64, operations: u64) -> BTreeMap<Vec<u8>, Vec<u8>> {
    let mut random = Random(thread);
    let mut rows = BTreeMap::new();
    for _ in 0..operations {
        let own = |number: u64| S::key(number * 8 + thread);
        let (number, value) = (random.below(400), S::kept(random.next().to_le_bytes().to_vec()));
        match random.below(10) {
            0..=3 => {
                let is_new = rows.insert(own(number), value.clone()).is_none();
                assert_eq!(store.put(&own(number), &value).unwrap(), is_new);
            }
            4 => {
                let batch: Vec<_> =
                    (number..number + 10).map(|number| (own(number), value.clone())).collect();
                rows.extend(batch.iter().cloned());
                store.put_all(&batch).unwrap();
            }
            5 | 6 => assert_eq!(store.take_out(&own(number)).unwrap(), rows.remove(&own(number)).is_some()),
            7 => assert_eq!(store.value(&own(number)), rows.get(&own(number)).cloned()),
            _ => store.ask(&S::stranger(random.below(2_000))).unwrap(),
        }
    }
    rows
}

fn all_at_once<S: Tested>(engine: impl Engine, operations: u64) {
    let builder = S::chosen(0.05, 2).with_durability(Durability::Relaxed);
    let store = builder.open_on(engine, MemoryFiles::new()).unwrap();
    let is_over = AtomicBool::new(false);
    let rows: BTreeMap<_, _> = std::thread::scope(|scope| {
        let (store, is_over) = (&store, &is_over);
        let reader = |seed: u64| {
            move || {
                let mut random = Random(seed);
                while !is_over.load(Ordering::Relaxed) {
                    let queries: Vec<_> = (0..20).map(|_| S::stranger(random.below(5_000))).collect();
                    store.ask_all(&queries).unwrap();
                    store.get_one(&S::key(random.below(3_200))).unwrap();
                }
            }
        };
        let readers = [scope.spawn(reader(100)), scope.spawn(reader(101))];
        let keeper = scope.spawn(move || {
            while !is_over.load(Ordering::Relaxed) {
                store.flushed().unwrap();
                store.rebuilt().unwrap();
                store.verified().unwrap();
                store.rows();
                store.statistics();
            }
        });
        let writers: Vec<_> =
            (0..4).map(|thread| scope.spawn(move || writer(store, thread, operations))).collect();
        let rows = writers.into_iter().flat_map(|writer| writer.join().unwrap()).collect();
        is_over.store(true, Ordering::Relaxed);
        readers.into_iter().for_each(|reader| reader.join().unwrap());
        keeper.join().unwrap();
        rows
    });
    assert_eq!(store.rows(), rows);
    assert_eq!(store.approximate(), rows.len() as u64);
    assert_eq!(store.verified().unwrap().keys, rows.len() as u64);
    for (key, value) in &rows {
        assert_eq!(store.value(key).as_ref(), Some(value));
    }
    let stats = store.statistics();
    assert!(stats.false_positives > 0 && stats.fixed > 0, "{stats:?}");
    assert_eq!((stats.failed, stats.dropped), (0, 0), "{stats:?}");
    // Whatever was asked is not asked of the engine again.
    for number in 0..5_000 {
        store.ask(&S::stranger(number)).unwrap();
    }
    // A lesson that needs a larger filter is learned by a thread of its own.
    let end = std::time::Instant::now() + std::time::Duration::from_secs(20);
    while (0..5_000).any(|number| store.is_positive(&S::stranger(number))) {
        assert!(std::time::Instant::now() < end, "lessons were left lying");
        std::thread::yield_now();
    }
}

#[test]
fn in_memory() {
    all_at_once::<AdaptiveStore>(MemoryEngine::new(), 3_000);
    all_at_once::<OrderedStore<u32>>(MemoryEngine::new(), 3_000);
    all_at_once::<YesNoStore>(MemoryEngine::new(), 3_000);
}

#[test]
fn on_fjall() {
    let folder = tempfile::tempdir().unwrap();
    let open = |name: &str| FjallEngine::open(&folder.path().join(name), None).unwrap();
    all_at_once::<AdaptiveStore>(open("by hash"), 1_000);
    all_at_once::<OrderedStore<u32>>(open("ordered"), 1_000);
    all_at_once::<YesNoStore>(open("list"), 1_000);
}

#[test]
fn on_redb() {
    let folder = tempfile::tempdir().unwrap();
    let open = |name: &str| RedbEngine::open(&folder.path().join(name), None).unwrap();
    all_at_once::<AdaptiveStore>(open("by hash"), 300);
    all_at_once::<OrderedStore<u32>>(open("ordered"), 300);
    all_at_once::<YesNoStore>(open("list"), 300);
}

/// A value that was acknowledged while another store is taken in stays, whichever of the two came first.
#[test]
fn merging_overwrites_nothing() {
    let theirs = AdaptiveStore::builder().in_memory().unwrap();
    let rows: Vec<_> = (0..50_000u32).map(|number| (number, "theirs")).collect();
    theirs.insert_batch(&rows).unwrap();
    let keys: Vec<_> = theirs.iter().map(|row| row.unwrap().0).collect();
    let mine = AdaptiveStore::builder().in_memory().unwrap();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for key in &keys {
                mine.insert(key.as_slice(), "mine").unwrap();
            }
        });
        scope.spawn(|| mine.merge_from(&theirs).unwrap());
    });
    let is_lost = |key: &&Vec<u8>| mine.get(key.as_slice()).unwrap().unwrap() != b"mine";
    assert_eq!(keys.iter().filter(is_lost).count(), 0);
}
