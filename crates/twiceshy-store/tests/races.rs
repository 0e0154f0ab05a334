//! Pairs of operations on the same fingerprint, in the orders that a model checker comes up with.
//!
//! ```sh
//! RUSTFLAGS='--cfg shuttle' cargo test -p twiceshy-store --test races
//! ```
//!
//! The store's own thread does all it can: it grows small filters, too, and writes every lesson down at once. (It must not
//! call itself and then wait for its own end, as it once did.)
//!
//! Every use of the engine is a point where another thread may go on, and so is every lock.
#![cfg(shuttle)]
#![allow(missing_docs, reason = "these are tests")]

use std::sync::Arc;

use shuttle::thread;
use twiceshy::Hasher;
use twiceshy::adaptive::Query;
use twiceshy::hash::HashKey;
use twiceshy_store::engine::{Batch, Durability, Engine, EngineError, Keys, MemoryEngine, Space, Visit};
use twiceshy_store::testing::MemoryFiles;
use twiceshy_store::{AdaptiveStore, Recovery};

/// An engine that lets other threads go on before and after everything it does.
struct Slow(MemoryEngine);

fn slowly<T>(work: impl FnOnce() -> T) -> T {
    thread::yield_now();
    let done = work();
    thread::yield_now();
    done
}

impl Engine for Slow {
    fn name(&self) -> &'static str {
        "slow"
    }

    fn max_key_len(&self) -> usize {
        self.0.max_key_len()
    }

    fn max_value_len(&self) -> usize {
        self.0.max_value_len()
    }

    fn get(&self, space: Space, key: &[u8]) -> Result<Option<Vec<u8>>, EngineError> {
        slowly(|| self.0.get(space, key))
    }

    fn scan(&self, space: Space, keys: Keys<'_>, visit: &mut Visit<'_>) -> Result<(), EngineError> {
        slowly(|| self.0.scan(space, keys, visit))
    }

    fn write(&self, batch: Batch, durability: Durability) -> Result<(), EngineError> {
        slowly(|| self.0.write(batch, durability))
    }

    fn sync(&self) -> Result<(), EngineError> {
        slowly(|| self.0.sync())
    }
}

/// Keys and queries that all meet one fingerprint: `old` is in the store, `new` comes, `query` and `other` are mistakes.
#[derive(Clone)]
struct Case {
    old: String,
    new: String,
    query: String,
    other: String,
}

fn hasher() -> Hasher {
    Hasher::keyed(HashKey::from_bytes([5; 16]))
}

fn open(engine: &Arc<Slow>, files: &MemoryFiles) -> Arc<AdaptiveStore> {
    let builder = AdaptiveStore::builder().error_rate(0.4).capacity(20).hasher(hasher());
    Arc::new(builder.open_with(Arc::clone(engine), files.clone()).unwrap())
}

fn case() -> Case {
    let mut filter =
        twiceshy::AdaptiveFilter::builder().error_rate(0.4).capacity(20).hasher(hasher()).build().unwrap();
    let _ = filter.insert("old").unwrap();
    let mut met = (0..).map(|number| format!("key {number}")).filter(|key| filter.contains(key));
    let mut next = || met.next().unwrap();
    Case { old: "old".into(), new: next(), query: next(), other: next() }
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Operation {
    InsertNew,
    InsertOld,
    RemoveOld,
    AdaptQuery,
    AdaptOther,
    Save,
    Rebuild,
    Compact,
}

use Operation::{AdaptOther, AdaptQuery, Compact, InsertNew, InsertOld, Rebuild, RemoveOld, Save};
const OPERATIONS: [Operation; 8] =
    [InsertNew, InsertOld, RemoveOld, AdaptQuery, AdaptOther, Save, Rebuild, Compact];

fn carry_out(store: &AdaptiveStore, case: &Case, operation: Operation) {
    match operation {
        InsertNew => assert!(store.insert(&case.new, "new").unwrap()),
        InsertOld => assert!(store.insert(&case.old, "again").is_ok()),
        RemoveOld => drop(store.remove(&case.old).unwrap()),
        AdaptQuery => assert_eq!(store.get(&case.query).unwrap(), None),
        AdaptOther => assert_eq!(store.get(&case.other).unwrap(), None),
        Save => store.flush().unwrap(),
        Rebuild => drop(store.rebuild().unwrap()),
        Compact => store.compact().unwrap(),
    }
}

fn race(case: &Case, operations: &[Operation]) {
    let (engine, files) = (Arc::new(Slow(MemoryEngine::new())), MemoryFiles::new());
    let store = open(&engine, &files);
    store.insert(&case.old, "old").unwrap();
    let threads: Vec<_> = operations
        .iter()
        .map(|&operation| {
            let (store, case) = (Arc::clone(&store), case.clone());
            thread::spawn(move || carry_out(&store, &case, operation))
        })
        .collect();
    threads.into_iter().for_each(|thread| thread.join().unwrap());

    // A mistake that was noticed has been learned from when nobody works any more, unless keys came meanwhile.
    let keys_came = operations.contains(&InsertNew) || operations.contains(&InsertOld);
    let check_lessons = |store: &AdaptiveStore| {
        for (operation, query) in [(AdaptQuery, &case.query), (AdaptOther, &case.other)] {
            if operations.contains(&operation) && !keys_came {
                let is_absent = store.with_filter(|filter| filter.query(query) == Query::Absent).unwrap();
                assert!(is_absent, "{operations:?}: {query} is still a mistake");
            }
        }
    };
    // A filter that was made as small as its keys allow may have to grow for that, which another thread does.
    if !operations.contains(&Compact) && !operations.contains(&Rebuild) {
        check_lessons(&store);
    }
    let verified = store.verify().unwrap_or_else(|error| panic!("{operations:?}: {error}"));
    let has = |key: &str| store.get(key).unwrap().is_some();
    let inserted = operations.contains(&InsertNew);
    assert_eq!(has(&case.new), inserted, "{operations:?}");
    if !operations.contains(&RemoveOld) {
        assert!(has(&case.old), "{operations:?}");
    } else if !operations.contains(&InsertOld) {
        assert!(!has(&case.old), "{operations:?}");
    }
    assert_eq!(verified.keys, store.len().unwrap());
    assert_eq!(store.approximate_len(), verified.keys, "{operations:?}");
    // Now its own thread is done, too, which grows the filter.
    drop(store);
    let store = open(&engine, &files);
    assert_eq!(*store.recovery(), Recovery::Clean);
    assert_eq!(store.verify().unwrap().keys, verified.keys);
    check_lessons(&store);
}

#[test]
fn pairs() {
    let case = case();
    for first in OPERATIONS {
        for second in OPERATIONS {
            let case = case.clone();
            if first == second && first == InsertNew {
                continue;
            }
            shuttle::check_random(move || race(&case, &[first, second]), 300);
        }
    }
}

#[test]
fn three_at_once() {
    let case = case();
    for operations in [
        [InsertNew, RemoveOld, AdaptQuery],
        [InsertNew, AdaptOther, AdaptQuery],
        [InsertOld, RemoveOld, AdaptQuery],
        [AdaptOther, AdaptQuery, RemoveOld],
        [AdaptOther, AdaptQuery, Save],
        [InsertNew, AdaptQuery, Rebuild],
        [RemoveOld, AdaptQuery, Compact],
        [Rebuild, Compact, Save],
    ] {
        let case = case.clone();
        shuttle::check_pct(move || race(&case, &operations), 1_000, 3);
    }
}

/// Mistakes that need a larger filter are left to a thread of the store's own, which may be called again at any moment.
#[test]
fn readers_and_the_thread_that_helps_them() {
    let keys: Vec<_> = (0..).map(|number| format!("old {number}")).take(100).collect();
    shuttle::check_pct(
        move || {
            let store = open(&Arc::new(Slow(MemoryEngine::new())), &MemoryFiles::new());
            let is_full = || store.with_filter(|filter| filter.used_slots() >= filter.capacity()).unwrap();
            keys.iter().take_while(|_| !is_full()).for_each(|key| assert!(store.insert(key, "").unwrap()));
            let mistakes = (0..).map(|number| format!("key {number}"));
            let mistakes: Vec<_> = mistakes.filter(|key| store.may_contain(key).unwrap()).take(3).collect();
            let threads: Vec<_> = mistakes
                .iter()
                .map(|query| {
                    let (store, query) = (Arc::clone(&store), query.clone());
                    thread::spawn(move || assert_eq!(store.get(&query).unwrap(), None))
                })
                .collect();
            threads.into_iter().for_each(|thread| thread.join().unwrap());
            // Waits for the thread.
            drop(store);
        },
        2_000,
        3,
    );
}
