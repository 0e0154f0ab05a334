//! Stores beside a model: after every operation on small stores, on every engine, and with failures at every call.

use crate::common::{Model, key};
use crate::tested::{Choose, Tested};
use twiceshy_store::engine::{Engine, FjallEngine, MemoryEngine, RedbEngine};
use twiceshy_store::testing::{Faults, FaultyEngine, MemoryFiles};
use twiceshy_store::{AdaptiveStore, Durability, OrderedStore, StoreBuilder, YesNoStore};
use twiceshy_testkit::Random;

fn builder() -> StoreBuilder {
    AdaptiveStore::builder().error_rate(0.2).capacity(10)
}

/// Random operations beside a model, which is compared after each of them.
fn operate<S: Tested>(store: &S, model: &mut Model, operations: u64, seed: u64) {
    let mut random = Random(seed);
    for _ in 0..operations {
        let (number, value) =
            (random.below(60), S::kept(vec![random.next() as u8; random.below(20) as usize]));
        match random.below(12) {
            0..=2 => {
                let is_new = !model.rows.contains_key(&S::key(number));
                assert_eq!(store.put(&S::key(number), &value).unwrap(), is_new);
                model.insert(S::key(number), value);
            }
            3 => {
                // Some of them twice.
                let rows: Vec<_> = (0..random.below(12))
                    .map(|_| (S::key(random.below(60)), S::kept(random.next().to_le_bytes().to_vec())))
                    .collect();
                let before = model.rows.len();
                rows.iter().for_each(|(key, value)| model.insert(key.clone(), value.clone()));
                let new = (model.rows.len() - before) as u64;
                assert_eq!(store.put_all(&rows).unwrap(), new);
            }
            4 | 5 => {
                let was_there = model.rows.contains_key(&S::key(number));
                assert_eq!(store.take_out(&S::key(number)).unwrap(), was_there);
                model.remove(&S::key(number));
            }
            6..=8 => {
                for _ in 0..S::AT_A_TIME / 8 {
                    let query = S::stranger(random.below(300));
                    let was_positive = store.is_positive(&query);
                    store.ask(&query).unwrap();
                    if was_positive && !store.is_positive(&query) {
                        model.fix(query);
                    }
                }
            }
            9 => {
                let keys: Vec<_> = (0..300).map(|number| S::key(number % 90)).collect();
                let values = store.values(&keys);
                for (key, value) in keys.iter().zip(values) {
                    assert_eq!(value.as_ref(), model.rows.get(key));
                }
            }
            10 => match random.below(5) {
                0 => store.flushed().unwrap(),
                1 => assert_eq!(store.rebuilt().unwrap(), model.rows.len() as u64),
                2 => store.compacted().unwrap(),
                _ => assert_eq!(store.counted(), model.rows.len() as u64),
            },
            _ => store.ask_all(&[S::stranger(number)]).unwrap(),
        }
        model.check(store);
    }
}

#[test]
fn in_memory() {
    let mut fixed = 0;
    for seed in 0..10 {
        operate(&builder().in_memory().unwrap(), &mut Model::default(), 200, seed);
        let (store, mut model) = (OrderedStore::<u32>::chosen(0.2, seed as u8), Model::default());
        operate(&store.in_memory().unwrap(), &mut model, 200, seed);
        fixed += model.fixed.len();
        let (list, mut model) = (YesNoStore::chosen(0.2, seed as u8), Model::default());
        operate(&list.in_memory().unwrap(), &mut model, 200, seed);
        fixed += model.fixed.len();
    }
    assert!(fixed > 50, "only {fixed} mistakes were fixed");
}

/// Closed and opened again now and then.
fn reopen<S: Tested>(mut open: impl FnMut() -> S, seed: u64) {
    let mut model = Model::default();
    for round in 0..6 {
        let store = open();
        model.check(&store);
        operate(&store, &mut model, 30, seed + round);
    }
}

#[test]
fn on_fjall_and_redb() {
    let folder = tempfile::tempdir().unwrap();
    for kind in twiceshy_store::EngineKind::ALL {
        let path = folder.path().join(kind.name());
        reopen(|| builder().engine(*kind).open(&path).unwrap(), 1);
        let path = folder.path().join(format!("{} ordered", kind.name()));
        reopen(|| OrderedStore::<u32>::chosen(0.2, 1).engine(*kind).open(&path).unwrap(), 1);
        let path = folder.path().join(format!("{} list", kind.name()));
        reopen(|| YesNoStore::chosen(0.2, 1).engine(*kind).open(&path).unwrap(), 1);
    }
}

#[test]
fn long_keys_lie_under_a_digest() {
    // All keys are longer than the engine's.
    let engine = std::sync::Arc::new(MemoryEngine::with_max_key_len(4 + 32));
    let files = MemoryFiles::new();
    let long = |text: &str| text.repeat(20);
    let open = || builder().open_with(std::sync::Arc::clone(&engine), files.clone()).unwrap();
    let store = open();
    for number in 0..50 {
        assert!(store.insert(&long(&format!("{number} ")), number.to_string()).unwrap());
    }
    drop(store);
    let store = open();
    for number in 0..50 {
        assert_eq!(store.get(&long(&format!("{number} "))).unwrap(), Some(number.to_string().into_bytes()));
        assert!(store.iter().any(|row| row.unwrap().0 == long(&format!("{number} ")).into_bytes()));
    }
    assert!(store.remove(&long("7 ")).unwrap());
    assert_eq!(store.verify().unwrap().keys, 49);
}

/// Fails at every call of the engine, one after the other; nothing that was acknowledged is lost.
fn fail_everywhere<S: Tested>(fail: fn(&Faults, u64), make: &mut dyn FnMut() -> Box<dyn Engine>) {
    for call in 0..400 {
        let faults = Faults::default();
        let engine = std::sync::Arc::new(FaultyEngine::new(
            std::sync::Arc::<dyn Engine>::from(make()),
            faults.clone(),
        ));
        let files = MemoryFiles::new();
        let open = || {
            S::chosen(0.2, 1)
                .with_durability(Durability::Process)
                .open_on(std::sync::Arc::clone(&engine), files.clone())
        };
        let store = open().unwrap();
        let mut model = Model::default();
        let mut random = Random(3);
        fail(&faults, call);
        let mut failed = None;
        for _ in 0..80 {
            let (number, value) = (random.below(40), S::kept(vec![random.next() as u8]));
            let outcome = match random.below(6) {
                0..=2 => {
                    let done = store.put(&S::key(number), &value).map(|_| ());
                    if done.is_ok() {
                        model.insert(S::key(number), value);
                    }
                    done
                }
                3 => {
                    let done = store.take_out(&S::key(number)).map(|_| ());
                    if done.is_ok() {
                        model.remove(&S::key(number));
                    }
                    done
                }
                4 => store.ask(&S::stranger(number)),
                _ => store.flushed(),
            };
            if outcome.is_err() {
                failed = Some(S::key(number));
                break;
            }
        }
        faults.heal();
        let check = |store: &S| {
            for (known, value) in &model.rows {
                if failed.as_ref() != Some(known) {
                    assert_eq!(store.value(known).as_ref(), Some(value), "after call {call}");
                }
            }
            for (found, _) in store.rows() {
                assert!(
                    model.rows.contains_key(&found) || failed.as_ref() == Some(&found),
                    "after call {call}"
                );
                assert!(store.may_have(&found));
            }
            store.verified().unwrap();
        };
        check(&store);
        // It goes on, and what follows the failure is safe, too.
        let all = S::kept(b"all".to_vec());
        store.put(&S::key(1_000), &all).unwrap();
        drop(store);
        let store = open().unwrap();
        assert_eq!(store.value(&S::key(1_000)).as_ref(), Some(&all));
        model.insert(S::key(1_000), all);
        check_again(&store, &model, failed.as_ref(), call);
        if failed.is_none() {
            assert!(call > 50, "only {call} calls");
            return;
        }
    }
    panic!("the run never ends");
}

fn check_again<S: Tested>(store: &S, model: &Model, failed: Option<&Vec<u8>>, call: u64) {
    for (known, value) in &model.rows {
        if failed != Some(known) {
            assert_eq!(store.value(known).as_ref(), Some(value), "opened after call {call}");
        }
    }
    store.verified().unwrap();
}

#[test]
fn an_engine_that_fails_at_any_call_loses_nothing() {
    for fail in [Faults::fail_after, Faults::lose_answer_after] {
        fail_everywhere::<AdaptiveStore>(fail, &mut || Box::new(MemoryEngine::new()));
        fail_everywhere::<OrderedStore<u32>>(fail, &mut || Box::new(MemoryEngine::new()));
        fail_everywhere::<YesNoStore>(fail, &mut || Box::new(MemoryEngine::new()));
    }
}

#[test]
fn real_engines_behind_failures() {
    let folder = tempfile::tempdir().unwrap();
    let mut number = 0;
    let mut path = || {
        number += 1;
        folder.path().join(number.to_string())
    };
    // A call now and then, because opening them takes time.
    for call in [3, 17, 40] {
        for engine in [
            Box::new(FjallEngine::open(&path(), None).unwrap()) as Box<dyn Engine>,
            Box::new(RedbEngine::open(&path(), None).unwrap()),
        ] {
            let faults = Faults::default();
            let engine = std::sync::Arc::new(FaultyEngine::new(
                std::sync::Arc::<dyn Engine>::from(engine),
                faults.clone(),
            ));
            let files = MemoryFiles::new();
            let store = builder().open_with(std::sync::Arc::clone(&engine), files.clone()).unwrap();
            faults.fail_after(call);
            let stored: Vec<u64> =
                (0..100).filter(|number| store.insert(&key(*number), "v").is_ok()).collect();
            assert!(stored.len() < 100);
            drop(store);
            faults.heal();
            let store = builder().open_with(engine, files).unwrap();
            assert!(stored.iter().all(|number| store.contains_key(&key(*number)).unwrap()));
            store.verify().unwrap();
        }
    }
}
