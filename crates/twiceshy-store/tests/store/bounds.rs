//! What must stay small whatever is asked of a store: batches, queues, the time that a reader spends for others.

use std::cell::Cell;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::Duration;

use crate::common::{key, stranger};
use crate::hooked::FullFiles;
use twiceshy_store::AdaptiveStore;
use twiceshy_store::engine::{
    Batch, Change, Durability, Engine, EngineError, Keys, MemoryEngine, Space, Visit,
};
use twiceshy_store::testing::MemoryFiles;

thread_local! {
    /// What this thread has asked of engines that are watched.
    static SCANS: Cell<u64> = const { Cell::new(0) };
}

/// An engine that notes the largest batch, and takes its time for scans if it is told so.
#[derive(Clone)]
struct Watched(Arc<State>);

struct State {
    inner: MemoryEngine,
    scan_time: Duration,
    most_changes: AtomicUsize,
    most_bytes: AtomicUsize,
}

impl Watched {
    fn new(scan_time: Duration) -> Self {
        let (most_changes, most_bytes) = (AtomicUsize::new(0), AtomicUsize::new(0));
        Self(Arc::new(State { inner: MemoryEngine::new(), scan_time, most_changes, most_bytes }))
    }
}

impl Engine for Watched {
    fn name(&self) -> &'static str {
        "watched"
    }

    fn max_key_len(&self) -> usize {
        self.0.inner.max_key_len()
    }

    fn max_value_len(&self) -> usize {
        self.0.inner.max_value_len()
    }

    fn get(&self, space: Space, key: &[u8]) -> Result<Option<Vec<u8>>, EngineError> {
        self.0.inner.get(space, key)
    }

    fn scan(&self, space: Space, keys: Keys<'_>, visit: &mut Visit<'_>) -> Result<(), EngineError> {
        SCANS.set(SCANS.get() + 1);
        if !self.0.scan_time.is_zero() {
            thread::sleep(self.0.scan_time);
        }
        self.0.inner.scan(space, keys, visit)
    }

    fn write(&self, batch: Batch, durability: Durability) -> Result<(), EngineError> {
        let bytes = |change: &Change| match change {
            Change::Put { key, value, .. } => key.len() + value.len(),
            Change::Delete { key, .. } => key.len(),
        };
        self.0.most_changes.fetch_max(batch.len(), Ordering::SeqCst);
        self.0.most_bytes.fetch_max(batch.clone().into_changes().iter().map(bytes).sum(), Ordering::SeqCst);
        self.0.inner.write(batch, durability)
    }

    fn sync(&self) -> Result<(), EngineError> {
        self.0.inner.sync()
    }
}

#[test]
fn large_values_are_merged_in_small_batches() {
    let theirs = AdaptiveStore::builder().in_memory().unwrap();
    for number in 0..50 {
        theirs.insert(&key(number), vec![0; 1 << 19]).unwrap();
    }
    let engine = Watched::new(Duration::ZERO);
    let mine = AdaptiveStore::builder().open_with(engine.clone(), MemoryFiles::new()).unwrap();
    assert_eq!(mine.merge_from(&theirs).unwrap().added, 50);
    assert!(engine.0.most_bytes.load(Ordering::SeqCst) < 2 << 20);
}

#[test]
fn a_long_journal_is_cleared_in_small_batches() {
    let (engine, files) = (Watched::new(Duration::ZERO), MemoryFiles::new());
    let store = AdaptiveStore::builder().open_with(engine.clone(), files.clone()).unwrap();
    for number in 0..25_000 {
        store.insert(&key(number), "").unwrap();
    }
    store.close().unwrap();
    assert!(engine.0.most_changes.load(Ordering::SeqCst) < 11_000);
    let mut left = 0;
    let all = &mut |_: &[u8], _: &[u8]| {
        left += 1;
        std::ops::ControlFlow::Continue(())
    };
    engine.scan(Space::Journal, Keys::ALL, all).unwrap();
    assert_eq!(left, 0, "rows of the journal");
}

/// The row with the settings is read whenever the store is opened.
#[test]
fn the_settings_of_a_large_filter_are_small() {
    let engine = Watched::new(Duration::ZERO);
    let builder = AdaptiveStore::builder().capacity(1_000_000);
    let store = builder.open_with(engine.clone(), MemoryFiles::new()).unwrap();
    assert!(store.with_filter(|filter| filter.size_in_bytes()).unwrap() > 1 << 20);
    assert!(engine.0.most_bytes.load(Ordering::SeqCst) < 1 << 10);
}

#[test]
fn a_very_long_key_is_learned_from() {
    let store = AdaptiveStore::builder().error_rate(0.4).capacity(20).in_memory().unwrap();
    for number in 0..20 {
        store.insert(&key(number), "").unwrap();
    }
    let mut query = vec![7; 17 << 20];
    while !store.may_contain(query.as_slice()).unwrap() {
        query[0] += 1;
    }
    assert_eq!(store.get(query.as_slice()).unwrap(), None);
    assert!(!store.may_contain(query.as_slice()).unwrap());
}

#[test]
fn a_key_that_comes_twice_in_a_batch_is_one_mistake() {
    let store = AdaptiveStore::builder().error_rate(0.4).capacity(1_000).in_memory().unwrap();
    for number in 0..1_000 {
        store.insert(&key(number), "").unwrap();
    }
    let query = (0..).map(stranger).find(|query| store.may_contain(query).unwrap()).unwrap();
    assert_eq!(store.get_batch(&[query.clone(), query.clone(), query]).unwrap(), [None, None, None]);
    assert_eq!(store.stats().unwrap().false_positives, 1);
}

/// Fingerprints that run out of bits find their keys in a batch that is not written yet without a look at all of them,
/// which would take minutes.
#[test]
fn a_large_batch_comes_to_an_end() {
    in_time(|| {
        let rows: Vec<_> = (0..300_000).map(|number| (key(number), "")).collect();
        let store = AdaptiveStore::builder().error_rate(0.4).capacity(10).in_memory().unwrap();
        assert_eq!(store.insert_batch(&rows).unwrap(), rows.len() as u64);
        assert_eq!(store.verify().unwrap().keys, rows.len() as u64);
    });
}

/// Others make mistakes as fast as one thread learns from them: that thread's `get` learns from a few and no more.
#[test]
fn no_reader_does_all_the_work_of_others() {
    let builder = AdaptiveStore::builder().error_rate(0.4).capacity(50_000);
    let store = builder.open_with(Watched::new(Duration::from_millis(1)), MemoryFiles::new()).unwrap();
    let rows: Vec<_> = (0..30_000).map(|number| (key(number), "")).collect();
    store.insert_batch(&rows).unwrap();
    let most = AtomicU64::new(0);
    thread::scope(|scope| {
        for reader in 0..4u64 {
            let (store, most) = (&store, &most);
            scope.spawn(move || {
                for number in 0..1_000 {
                    let before = SCANS.get();
                    store.get(&stranger(reader << 40 | number)).unwrap();
                    most.fetch_max(SCANS.get() - before, Ordering::SeqCst);
                }
            });
        }
    });
    // Left to one reader, it would be most of the thousand mistakes of all.
    let most = most.load(Ordering::SeqCst);
    assert!((1..=20).contains(&most), "a get made {most} scans");
}

/// Runs something that must come to an end.
fn in_time(work: impl FnOnce() + Send + 'static) {
    let (done, is_done) = mpsc::channel();
    thread::spawn(move || {
        work();
        let _ = done.send(());
    });
    assert!(is_done.recv_timeout(Duration::from_secs(60)).is_ok(), "it does not end");
}

#[test]
fn a_store_that_is_always_saved_can_be_closed() {
    in_time(|| {
        let store = AdaptiveStore::builder().save_after(0).in_memory().unwrap();
        store.insert("ant", "six legs").unwrap();
        store.close().unwrap();
    });
}

#[test]
fn a_filter_that_cannot_be_saved_is_not_copied_after_every_write() {
    let (engine, files) = (Arc::new(MemoryEngine::new()), FullFiles::new(MemoryFiles::new()));
    let FullFiles { is_full, tried, .. } = &files;
    let store =
        AdaptiveStore::builder().save_after(10).open_with(Arc::clone(&engine), files.clone()).unwrap();
    is_full.store(true, Ordering::SeqCst);
    tried.store(0, Ordering::SeqCst);
    for number in 0..2_000 {
        store.insert(&key(number), "v").unwrap();
        store.settle();
    }
    let in_vain = tried.load(Ordering::SeqCst);
    assert!((2..20).contains(&in_vain), "{in_vain} tries");
    assert!(store.rebuild().is_err(), "whoever asks for it is told");
    // It goes on by itself when there is room again.
    is_full.store(false, Ordering::SeqCst);
    for number in 2_000..8_200 {
        store.insert(&key(number), "v").unwrap();
    }
    store.settle();
    assert!(tried.load(Ordering::SeqCst) > in_vain + 1);
    assert!(store.stats().unwrap().journal_records < 6_000, "{:?}", store.stats());
    assert_eq!(store.verify().unwrap().keys, 8_200);
}
