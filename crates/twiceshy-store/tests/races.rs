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
use twiceshy::list::Answer;
use twiceshy_store::engine::{Batch, Durability, Engine, EngineError, Keys, MemoryEngine, Space, Visit};
use twiceshy_store::testing::MemoryFiles;
use twiceshy_store::{AdaptiveStore, OrderedStore, Recovery, StoreError, Verified, YesNoStore};

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
struct Case<Q> {
    old: Q,
    new: Q,
    query: Q,
    other: Q,
}

fn hasher() -> Hasher {
    Hasher::keyed(HashKey::from_bytes([5; 16]))
}

/// A store of any kind, and how its keys and queries are made.
trait Raced: Sized + Send + Sync + 'static {
    type Query: Clone + Send + Sync + 'static;

    fn open(engine: &Arc<Slow>, files: &MemoryFiles) -> Arc<Self>;
    fn case() -> Case<Self::Query>;
    fn put(&self, key: &Self::Query, value: &str) -> bool;
    fn take_out(&self, key: &Self::Query);
    fn has(&self, key: &Self::Query) -> bool;
    fn ask(&self, query: &Self::Query);
    fn is_positive(&self, query: &Self::Query) -> bool;
    fn verified(&self) -> Result<Verified, StoreError>;
    fn counted(&self) -> (u64, u64);
    fn recovered(&self) -> &Recovery;
    fn save(&self);
    fn rebuilt(&self);
    fn compacted(&self);
}

macro_rules! same_names {
    () => {
        fn verified(&self) -> Result<Verified, StoreError> {
            self.verify()
        }

        fn recovered(&self) -> &Recovery {
            self.recovery()
        }

        fn save(&self) {
            self.flush().unwrap();
        }

        fn rebuilt(&self) {
            self.rebuild().unwrap();
        }

        fn compacted(&self) {
            self.compact().unwrap();
        }
    };
}

macro_rules! counting {
    () => {
        fn counted(&self) -> (u64, u64) {
            (self.len().unwrap(), self.approximate_len())
        }
    };
}

impl Raced for AdaptiveStore {
    type Query = String;

    fn open(engine: &Arc<Slow>, files: &MemoryFiles) -> Arc<Self> {
        let builder = AdaptiveStore::builder().error_rate(0.4).capacity(20).hasher(hasher());
        Arc::new(builder.open_with(Arc::clone(engine), files.clone()).unwrap())
    }

    fn case() -> Case<String> {
        let builder = twiceshy::AdaptiveFilter::builder().error_rate(0.4).capacity(20);
        let mut filter = builder.hasher(hasher()).build().unwrap();
        let _ = filter.insert("old").unwrap();
        let mut met = (0..).map(|number| format!("key {number}")).filter(|key| filter.contains(key));
        let mut next = || met.next().unwrap();
        Case { old: "old".into(), new: next(), query: next(), other: next() }
    }

    fn put(&self, key: &String, value: &str) -> bool {
        self.insert(key, value).unwrap()
    }

    fn take_out(&self, key: &String) {
        self.remove(key).unwrap();
    }

    fn has(&self, key: &String) -> bool {
        self.get(key).unwrap().is_some()
    }

    fn ask(&self, query: &String) {
        assert_eq!(self.get(query).unwrap(), None);
    }

    fn is_positive(&self, query: &String) -> bool {
        self.with_filter(|filter| filter.query(query) != Query::Absent).unwrap()
    }

    same_names! {}
    counting! {}
}

/// Keys are ranges of one, queries are longer: they lie in one partition, or in two.
impl Raced for OrderedStore<u32> {
    type Query = (u32, u32);

    fn open(engine: &Arc<Slow>, files: &MemoryFiles) -> Arc<Self> {
        let builder = OrderedStore::builder().error_rate(0.4).capacity(20).hasher(hasher()).max_range(16);
        Arc::new(builder.open_with(Arc::clone(engine), files.clone()).unwrap())
    }

    fn case() -> Case<(u32, u32)> {
        let builder = twiceshy::AdaptiveRangeFilter::<u32>::builder().error_rate(0.4).capacity(20);
        let mut filter = builder.hasher(hasher()).max_range(16).build().unwrap();
        let _ = filter.insert(&8).unwrap();
        let mut keys = (16..).filter(|number| filter.contains(number));
        let new = keys.next().unwrap();
        let after = new / 16 * 16 + 16;
        let meets = |(first, last): &(u32, u32)| filter.contains_range(*first..=*last);
        let query = (after..).step_by(16).map(|start| (start + 7, start + 10)).find(meets).unwrap();
        // From the partition before on.
        let mut others = (query.1 / 16 * 16 + 32..).step_by(16).map(|start| (start - 3, start + 8));
        let other = others.find(meets).unwrap();
        Case { old: (8, 8), new: (new, new), query, other }
    }

    fn put(&self, key: &(u32, u32), value: &str) -> bool {
        self.insert(&key.0, value).unwrap()
    }

    fn take_out(&self, key: &(u32, u32)) {
        self.remove(&key.0).unwrap();
    }

    fn has(&self, key: &(u32, u32)) -> bool {
        let found = self.range(key.0..=key.0).map(Result::unwrap).count() == 1;
        assert_eq!(self.get(&key.0).unwrap().is_some(), found);
        found
    }

    fn ask(&self, query: &(u32, u32)) {
        assert!(self.range(query.0..=query.1).next().is_none());
    }

    fn is_positive(&self, query: &(u32, u32)) -> bool {
        self.may_contain_range(query.0..=query.1).unwrap()
    }

    same_names! {}
    counting! {}
}

/// Keys that meet one fingerprint, of which the last one is on the NO list all the time.
fn colliding() -> [String; 4] {
    let builder = twiceshy::YesNoList::builder().error_rate(0.4).capacity(20).hasher(hasher());
    let list = builder.from_lists(["old"], ["never asked"]).unwrap();
    let met = (0..).map(|number| format!("key {number}")).filter(|key| list.query(key).is_yes());
    met.take(4).collect::<Vec<_>>().try_into().unwrap()
}

/// The key that is there already moves to the NO list when it is put there again.
impl Raced for YesNoStore {
    type Query = String;

    fn open(engine: &Arc<Slow>, files: &MemoryFiles) -> Arc<Self> {
        let builder = YesNoStore::builder().error_rate(0.4).capacity(20).hasher(hasher());
        let store = builder.open_with(Arc::clone(engine), files.clone()).unwrap();
        store.add_no(&colliding()[3]).unwrap();
        Arc::new(store)
    }

    fn case() -> Case<String> {
        let [new, query, other, _] = colliding();
        Case { old: "old".into(), new, query, other }
    }

    fn put(&self, key: &String, value: &str) -> bool {
        let was = if value == "again" { self.move_to_no(key) } else { self.move_to_yes(key) };
        was.unwrap().is_none()
    }

    fn take_out(&self, key: &String) {
        self.remove(key).unwrap();
    }

    fn has(&self, key: &String) -> bool {
        let is_on = self.lookup(key).unwrap();
        assert!(is_on.is_none_or(|list| self.query(key).unwrap() == list));
        is_on.is_some()
    }

    fn ask(&self, query: &String) {
        assert_eq!(self.query(&colliding()[3]).unwrap(), Answer::No, "it is on the NO list all the time");
        assert_eq!(self.query_exactly(query).unwrap(), Answer::No);
    }

    fn is_positive(&self, query: &String) -> bool {
        self.with_filter(|filter| filter.query(query).is_yes()).unwrap()
    }

    fn counted(&self) -> (u64, u64) {
        let count = self.count().unwrap();
        (count.yes + count.no, self.approximate_len() + self.approximate_no_len())
    }

    same_names! {}
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

fn carry_out<S: Raced>(store: &S, case: &Case<S::Query>, operation: Operation) {
    match operation {
        InsertNew => assert!(store.put(&case.new, "new")),
        InsertOld => drop(store.put(&case.old, "again")),
        RemoveOld => store.take_out(&case.old),
        AdaptQuery => store.ask(&case.query),
        AdaptOther => store.ask(&case.other),
        Save => store.save(),
        Rebuild => store.rebuilt(),
        Compact => store.compacted(),
    }
}

fn race<S: Raced>(case: &Case<S::Query>, operations: &[Operation]) {
    let (engine, files) = (Arc::new(Slow(MemoryEngine::new())), MemoryFiles::new());
    let store = <S as Raced>::open(&engine, &files);
    store.put(&case.old, "old");
    let threads: Vec<_> = operations
        .iter()
        .map(|&operation| {
            let (store, case) = (Arc::clone(&store), case.clone());
            thread::spawn(move || carry_out(&*store, &case, operation))
        })
        .collect();
    threads.into_iter().for_each(|thread| thread.join().unwrap());

    // A mistake that was noticed is learned from before long, also if nobody calls the store again, unless keys came
    // meanwhile: the store's own thread may have had the lock when somebody wanted to learn, and does it then.
    let keys_came = operations.contains(&InsertNew) || operations.contains(&InsertOld);
    let check_lessons = |store: &S| {
        for (operation, query) in [(AdaptQuery, &case.query), (AdaptOther, &case.other)] {
            if operations.contains(&operation) && !keys_came {
                let is_learned = (0..1_000).any(|_| {
                    thread::yield_now();
                    !store.is_positive(query)
                });
                assert!(is_learned, "{operations:?}: {operation:?} is still a mistake");
            }
        }
    };
    // A filter that was made as small as its keys allow may have to grow for that, which another thread does.
    if !operations.contains(&Compact) && !operations.contains(&Rebuild) {
        check_lessons(&*store);
    }
    let verified = store.verified().unwrap_or_else(|error| panic!("{operations:?}: {error}"));
    let has = |key: &S::Query| store.has(key);
    let inserted = operations.contains(&InsertNew);
    assert_eq!(has(&case.new), inserted, "{operations:?}");
    if !operations.contains(&RemoveOld) {
        assert!(has(&case.old), "{operations:?}");
    } else if !operations.contains(&InsertOld) {
        assert!(!has(&case.old), "{operations:?}");
    }
    assert_eq!(store.counted(), (verified.keys, verified.keys), "{operations:?}");
    // Now its own thread is done, too, which grows the filter.
    drop(store);
    let store = <S as Raced>::open(&engine, &files);
    assert_eq!(*store.recovered(), Recovery::Clean);
    assert_eq!(store.verified().unwrap().keys, verified.keys);
    check_lessons(&*store);
}

#[test]
fn pairs() {
    all_pairs::<AdaptiveStore>();
}

#[test]
fn pairs_in_order() {
    all_pairs::<OrderedStore<u32>>();
}

#[test]
fn pairs_on_lists() {
    all_pairs::<YesNoStore>();
}

fn all_pairs<S: Raced>() {
    let case = S::case();
    for first in OPERATIONS {
        for second in OPERATIONS {
            let case = case.clone();
            if first == second && first == InsertNew {
                continue;
            }
            shuttle::check_random(move || race::<S>(&case, &[first, second]), 300);
        }
    }
}

#[test]
fn three_at_once() {
    all_threes::<AdaptiveStore>();
}

#[test]
fn three_at_once_in_order() {
    all_threes::<OrderedStore<u32>>();
}

#[test]
fn three_at_once_on_lists() {
    all_threes::<YesNoStore>();
}

fn all_threes<S: Raced>() {
    let case = S::case();
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
        shuttle::check_pct(move || race::<S>(&case, &operations), 1_000, 3);
    }
}

/// Mistakes that need a larger filter are left to a thread of the store's own, which may be called again at any moment.
#[test]
fn readers_and_the_thread_that_helps_them() {
    let keys: Vec<_> = (0..).map(|number| format!("old {number}")).take(100).collect();
    shuttle::check_pct(
        move || {
            let store =
                <AdaptiveStore as Raced>::open(&Arc::new(Slow(MemoryEngine::new())), &MemoryFiles::new());
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
