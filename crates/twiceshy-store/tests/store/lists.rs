//! What only a list promises: a key is on one list at most, and no listed key is answered wrongly, while others write and whatever
//! fails. (All that it has in common with other stores is tested with them: `tested.rs`.)

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::common::{Disk, key};
use crate::tested::Tested;
use twiceshy::Hasher;
use twiceshy::hash::HashKey;
use twiceshy::list::Answer;
use twiceshy_store::engine::{Batch, Durability, Engine, MemoryEngine, Space};
use twiceshy_store::list::YesNoStoreBuilder;
use twiceshy_store::testing::{Faults, FaultyEngine, MemoryFiles};
use twiceshy_store::{AdaptiveStore, EngineKind, Recovery, StoreError, StoreKind, YesNoStore};
use twiceshy_testkit::Random;

/// A filter that is wrong all the time, but for keys on the lists.
fn builder() -> YesNoStoreBuilder {
    YesNoStore::chosen(0.6, 3)
}

/// Checks that every key is on the list that it should be on, and answered so.
fn check(store: &YesNoStore, keys: &BTreeMap<Vec<u8>, Answer>) {
    for (key, list) in keys {
        assert_eq!(store.query(key).unwrap(), *list, "{}", key.escape_ascii());
        assert_eq!(store.lookup(key).unwrap(), Some(*list), "{}", key.escape_ascii());
    }
    assert_eq!(store.iter().map(Result::unwrap).collect::<BTreeMap<_, _>>(), *keys);
    assert_eq!(store.verify().unwrap().keys, keys.len() as u64);
    let count = |answer| keys.values().filter(|list| **list == answer).count() as u64;
    assert_eq!(
        (store.approximate_len(), store.approximate_no_len()),
        (count(Answer::Yes), count(Answer::No))
    );
}

fn keys(numbers: std::ops::Range<u64>) -> Vec<Vec<u8>> {
    numbers.map(key).collect()
}

#[test]
fn a_key_is_on_one_list_at_most() {
    let store = builder().in_memory().unwrap();
    assert_eq!(store.add_yes_batch(&keys(0..50)).unwrap(), 50);
    assert_eq!(store.add_no_batch(&keys(50..200)).unwrap(), 150);
    assert_eq!(store.add_no_batch(&keys(100..210)).unwrap(), 10);
    let on = |numbers: std::ops::Range<u64>, list| keys(numbers).into_iter().map(move |key| (key, list));
    let mut expected: BTreeMap<_, _> = on(0..50, Answer::Yes).chain(on(50..210, Answer::No)).collect();
    check(&store, &expected);

    for error in [
        store.add_no(&key(7)).unwrap_err(),
        store.add_yes(&key(77)).unwrap_err(),
        store.add_yes_batch(&keys(40..60)).unwrap_err(),
        store.add_no_batch(&keys(300..400).into_iter().chain([key(3)]).collect::<Vec<_>>()).unwrap_err(),
    ] {
        assert!(matches!(error, StoreError::OnBothLists(_)), "{error}");
        assert!(error.to_string().contains("move_to_yes"), "{error}");
    }
    check(&store, &expected);

    assert!(!store.add_yes(&key(7)).unwrap() && !store.add_no(&key(77)).unwrap());
    assert_eq!(store.move_to_no(&key(7)).unwrap(), Some(Answer::Yes));
    assert_eq!(store.move_to_yes(&key(77)).unwrap(), Some(Answer::No));
    assert_eq!(store.move_to_yes(&key(1_000)).unwrap(), None);
    assert_eq!(store.move_to_yes(&key(1_000)).unwrap(), Some(Answer::Yes));
    assert_eq!(store.remove(&key(8)).unwrap(), Some(Answer::Yes));
    assert_eq!(store.remove(&key(78)).unwrap(), Some(Answer::No));
    assert_eq!(store.remove(&key(78)).unwrap(), None);
    expected.extend([(key(7), Answer::No), (key(77), Answer::Yes), (key(1_000), Answer::Yes)]);
    expected.remove(&key(8));
    expected.remove(&key(78));
    check(&store, &expected);
}

/// A batch is one change: keys come, go and move, some twice, and the filter is cut past the NO keys of afterwards.
#[test]
fn batches_of_all_kinds_agree_with_a_model() {
    for seed in 0..20 {
        let mut random = Random(seed);
        let disk = Disk::new();
        let mut store = disk.open(builder()).unwrap();
        let mut expected = BTreeMap::new();
        for _ in 0..30 {
            let changes: Vec<(Vec<u8>, Option<Answer>)> = (0..random.below(60))
                .map(|_| {
                    let to = [Some(Answer::Yes), Some(Answer::No), None][random.below(3) as usize];
                    (key(random.below(120)), to)
                })
                .collect();
            let before = expected.clone();
            for (key, to) in &changes {
                match to {
                    Some(list) => drop(expected.insert(key.clone(), *list)),
                    None => drop(expected.remove(key)),
                }
            }
            let all: std::collections::BTreeSet<_> = before.keys().chain(expected.keys()).collect();
            let changed = all.into_iter().filter(|key| before.get(*key) != expected.get(*key)).count();
            assert_eq!(store.change_batch(&changes).unwrap(), changed as u64);
            check(&store, &expected);
            assert_eq!(store.verify().unwrap().leftovers, 0);
            if random.below(4) == 0 {
                drop(store);
                store = disk.open(builder()).unwrap();
                check(&store, &expected);
            }
        }
    }
}

#[test]
fn lists_are_merged_unless_a_key_would_be_on_both() {
    let (one, other) = (builder().in_memory().unwrap(), YesNoStore::chosen(0.3, 4).in_memory().unwrap());
    one.add_yes_batch(&keys(0..300)).unwrap();
    one.add_no_batch(&keys(300..900)).unwrap();
    other.add_yes_batch(&keys(200..300)).unwrap();
    other.add_yes_batch(&keys(2_000..6_000)).unwrap();
    other.add_no_batch(&keys(800..1_500)).unwrap();
    other.add_yes(&key(500)).unwrap();
    let before: BTreeMap<_, _> = one.iter().map(Result::unwrap).collect();
    let error = one.merge_from(&other).unwrap_err();
    assert!(matches!(&error, StoreError::OnBothLists(both) if both.key == key(500)), "{error}");
    check(&one, &before);

    other.remove(&key(500)).unwrap();
    let merged = one.merge_from(&other).unwrap();
    assert_eq!((merged.added, merged.kept), (4_000 + 600, 100 + 100));
    let all: BTreeMap<_, _> = before.into_iter().chain(other.iter().map(Result::unwrap)).collect();
    check(&one, &all);
    let again = one.merge_from(&other).unwrap();
    assert_eq!((again.added, again.kept), (0, merged.added + merged.kept));
    let with_itself = one.merge_from(&one).unwrap();
    assert_eq!((with_itself.added, with_itself.kept), (0, all.len() as u64));
}

/// Keys that stay on their list are answered rightly at every moment, however many others come, go and move beside them.
#[test]
fn no_listed_key_is_answered_wrongly_while_others_write() {
    let store = builder().durability(Durability::Relaxed).in_memory().unwrap();
    let (yes, no) = (keys(0..300), keys(300..900));
    store.add_yes_batch(&yes).unwrap();
    store.add_no_batch(&no).unwrap();
    let is_over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                let mut answers = vec![Answer::No; no.len()];
                while !is_over.load(Ordering::Relaxed) {
                    assert!(yes.iter().all(|key| store.query(key).unwrap().is_yes()));
                    store.query_batch(&no, &mut answers).unwrap();
                    assert!(answers.iter().all(|answer| answer.is_no()));
                    store.query_exactly(&key(1_000)).unwrap();
                }
            });
        }
        let writer = scope.spawn(|| {
            let mut random = Random(1);
            for _ in 0..4_000 {
                let key = key(1_000 + random.below(2_000));
                match random.below(5) {
                    0 => drop(store.move_to_yes(&key).unwrap()),
                    1 => drop(store.move_to_no(&key).unwrap()),
                    2 => drop(store.remove(&key).unwrap()),
                    3 => store.report(&key),
                    _ => {
                        let list = [Some(Answer::Yes), Some(Answer::No), None][random.below(3) as usize];
                        store.change_batch(&[(key, list), (self::key(999), list)]).map(drop).unwrap();
                    }
                }
            }
        });
        writer.join().unwrap();
        is_over.store(true, Ordering::Relaxed);
    });
    store.verify().unwrap();
}

/// Moves whose write fails, carried out or not, with rows that can be read at once or only later: the answer is the one for the
/// list that the row says, here and after the store was opened again.
#[test]
fn a_key_in_doubt_is_answered_for_the_list_that_its_row_is_on() {
    type Fail = fn(&Faults, u64);
    for fail in [Faults::fail_after as Fail, Faults::lose_answer_after] {
        for calls in 0..12 {
            for batch in [false, true] {
                let (engine, files) = (Arc::new(MemoryEngine::new()), MemoryFiles::new());
                let faults = Faults::default();
                let open = || {
                    let engine = FaultyEngine::new(Arc::clone(&engine), faults.clone());
                    builder().open_with(engine, files.clone()).unwrap()
                };
                let store = open();
                store.add_yes_batch(&keys(0..20)).unwrap();
                store.add_no_batch(&keys(20..60)).unwrap();
                let moves = [(3, Answer::No), (30, Answer::Yes)];
                for (number, list) in moves {
                    fail(&faults, calls);
                    let done = match batch {
                        true => store.change_batch(&[(key(number), Some(list)), (key(99), None)]).map(drop),
                        false if list.is_yes() => store.move_to_yes(&key(number)).map(drop),
                        false => store.move_to_no(&key(number)).map(drop),
                    };
                    faults.heal();
                    let is_on = store.lookup(&key(number)).unwrap().unwrap();
                    assert!(done.is_err() || is_on == list);
                    assert_eq!(store.query(&key(number)).unwrap(), is_on, "{calls} calls, {number}");
                }
                store.verify().unwrap();
                store.close().unwrap();
                let store = open();
                // A batch whose answer was lost is in the journal, and no snapshot knows it.
                assert!(matches!(store.recovery(), Recovery::Clean | Recovery::Replayed { .. }));
                for row in store.iter() {
                    let (key, list) = row.unwrap();
                    assert_eq!(store.query(&key).unwrap(), list);
                }
                store.verify().unwrap();
            }
        }
    }
}

/// A filter that is in doubt is not saved: the next opening makes one that agrees with the rows.
#[test]
fn what_is_in_doubt_is_not_saved() {
    for fail in [Faults::fail_after as fn(&Faults, u64), Faults::lose_answer_after] {
        let (engine, files) = (Arc::new(MemoryEngine::new()), MemoryFiles::new());
        let faults = Faults::default();
        let open = || {
            let engine = FaultyEngine::new(Arc::clone(&engine), faults.clone());
            builder().open_with(engine, files.clone()).unwrap()
        };
        let store = open();
        store.add_yes_batch(&keys(0..20)).unwrap();
        store.add_no_batch(&keys(20..60)).unwrap();
        store.flush().unwrap();
        // The reads of the move work, its write does not, nor does anything after it.
        let reads = (0..20).find(|&reads| {
            fail(&faults, reads);
            store.move_to_yes(&key(30)).is_err() && {
                faults.heal();
                store.lookup(&key(30)).unwrap() == Some(Answer::Yes) || reads > 1
            }
        });
        fail(&faults, reads.unwrap_or(2));
        let _ = store.move_to_yes(&key(31));
        assert!(store.close().is_err());
        faults.heal();
        let store = open();
        store.verify().unwrap();
        for row in store.iter() {
            let (key, list) = row.unwrap();
            assert_eq!(store.query(&key).unwrap(), list);
        }
    }
}

/// A list that may not grow refuses what does not fit, and nothing has changed.
#[test]
fn what_does_not_fit_changes_nothing() {
    let store = builder().max_bytes(1_200).in_memory().unwrap();
    let mut expected = BTreeMap::new();
    let mut refused = 0;
    let mut random = Random(1);
    for _ in 0..3_000 {
        let (key, list) = (key(random.below(4_000)), Answer::from(random.below(2) == 0));
        let done = if list.is_yes() { store.move_to_yes(&key) } else { store.move_to_no(&key) };
        match done {
            Ok(_) => drop(expected.insert(key, list)),
            Err(StoreError::FilterFull { .. }) => refused += 1,
            Err(error) => panic!("{error}"),
        }
    }
    assert!(refused > 100 && expected.len() > 500, "{refused}, {}", expected.len());
    check(&store, &expected);
    let many: Vec<_> = keys(5_000..6_000).into_iter().map(|key| (key, Some(Answer::Yes))).collect();
    assert!(matches!(store.change_batch(&many), Err(StoreError::FilterFull { .. })));
    check(&store, &expected);
}

/// Without its description, and as another kind of store, it is still refused.
#[test]
fn a_list_is_no_other_store() {
    let folder = tempfile::tempdir().unwrap();
    let (list, store) = (folder.path().join("list"), folder.path().join("store"));
    YesNoStore::builder().engine(EngineKind::Redb).open(&list).unwrap().add_yes("ant").unwrap();
    AdaptiveStore::builder().engine(EngineKind::Redb).open(&store).unwrap().insert("ant", "six").unwrap();
    assert_eq!(StoreKind::in_folder(&list).unwrap(), Some(StoreKind::List));
    assert!(YesNoStore::is_in(&list).unwrap() && !YesNoStore::is_in(&store).unwrap());
    for _ in 0..2 {
        let error = AdaptiveStore::builder().open(&list).unwrap_err();
        assert!(error.to_string().contains("this is a list, not a store"), "{error}");
        let error = YesNoStore::builder().open(&store).unwrap_err();
        assert!(error.to_string().contains("this is a store, not a list"), "{error}");
        for path in [&list, &store] {
            let _ = std::fs::remove_file(path.join("twiceshy-store"));
        }
    }
    assert_eq!(YesNoStore::open(&list).unwrap().lookup("ant").unwrap(), Some(Answer::Yes));
}

/// Rows that say something else than a list, and counts that are none.
#[test]
fn damage_is_found() {
    let engine = Arc::new(MemoryEngine::new());
    let hasher = Hasher::keyed(HashKey::from_bytes([3; 16]));
    let open = || builder().hasher(hasher.clone()).open_with(Arc::clone(&engine), MemoryFiles::new());
    let store = open().unwrap();
    store.add_yes("ant").unwrap();
    store.add_no("bee").unwrap();
    let mut rows = Vec::new();
    engine
        .scan(Space::Rows, twiceshy_store::engine::Keys::ALL, &mut |key, value| {
            rows.push((key.to_vec(), value.to_vec()));
            std::ops::ControlFlow::Continue(())
        })
        .unwrap();
    let put = |space, key: &[u8], value: &[u8]| {
        let mut batch = Batch::new();
        batch.put(space, key.to_vec(), value.to_vec());
        engine.write(batch, Durability::Relaxed).unwrap();
    };
    let ant = rows.iter().find(|(key, _)| key.ends_with(b"ant")).unwrap();
    assert_eq!(ant.1, Answer::Yes.row_value());
    put(Space::Rows, &ant.0, b"?");
    assert!(matches!(store.lookup("ant"), Err(StoreError::Damaged { .. })));
    assert!(matches!(store.verify(), Err(StoreError::Disagree { .. })));
    assert!(store.iter().any(|row| matches!(row, Err(StoreError::Damaged { .. }))));
    // On the NO list, behind the store's back.
    put(Space::Rows, &ant.0, Answer::No.row_value());
    assert!(matches!(store.verify(), Err(StoreError::Disagree { what }) if what.contains("\"ant\"")));
    assert_eq!(store.rebuild().unwrap(), 0);
    assert_eq!(store.query("ant").unwrap(), Answer::No);
    assert_eq!(store.verify().unwrap().keys, 2);
    assert_eq!((store.approximate_len(), store.approximate_no_len()), (0, 2));
    drop(store);
    put(Space::Meta, b"no", b"?");
    assert!(matches!(open(), Err(StoreError::Damaged { .. })));
}
