//! The split set-up, beside a model.

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::common::{Disk, key, stranger};
use twiceshy_store::engine::MemoryEngine;
use twiceshy_store::testing::{Faults, FaultyEngine, MemoryFiles};
use twiceshy_store::{AdaptiveStore, Database, Durability, FilteredDb, FilteredError};
use twiceshy_testkit::Random;

/// Somebody's database, which can be made to fail.
#[derive(Default)]
struct Rows {
    rows: Mutex<BTreeMap<Vec<u8>, Vec<u8>>>,
    is_broken: AtomicBool,
    is_read_only: AtomicBool,
    reads: Mutex<u64>,
}

#[derive(Debug, thiserror::Error)]
#[error("broken")]
struct Broken;

impl Database for &Rows {
    type Error = Broken;

    fn read(&self, key: &[u8]) -> Result<Option<Vec<u8>>, Broken> {
        *self.reads.lock().unwrap() += 1;
        if self.is_broken.load(Ordering::Relaxed) {
            Err(Broken)
        } else {
            Ok(self.rows.lock().unwrap().get(key).cloned())
        }
    }

    fn write(&self, key: &[u8], value: Option<&[u8]>) -> Result<(), Broken> {
        if self.is_broken.load(Ordering::Relaxed) || self.is_read_only.load(Ordering::Relaxed) {
            return Err(Broken);
        }
        match value {
            Some(value) => self.rows.lock().unwrap().insert(key.to_vec(), value.to_vec()),
            None => self.rows.lock().unwrap().remove(key),
        };
        Ok(())
    }
}

fn filter() -> AdaptiveStore {
    AdaptiveStore::builder().error_rate(0.1).capacity(10).in_memory().unwrap()
}

#[test]
fn a_database_behind_a_filter_answers_as_before() {
    let rows = Rows::default();
    let db = FilteredDb::new(&rows, filter());
    let mut random = Random(1);
    for _ in 0..5_000 {
        let number = random.below(300);
        match random.below(4) {
            0 => db.insert(&key(number), number.to_string()).unwrap(),
            1 => {
                let was_there = rows.rows.lock().unwrap().contains_key(&key(number));
                assert_eq!(db.remove(&key(number)).unwrap(), was_there);
            }
            2 => assert_eq!(
                db.get(&key(number)).unwrap(),
                rows.rows.lock().unwrap().get(&key(number)).cloned()
            ),
            _ => assert!(!db.contains_key(&stranger(number)).unwrap()),
        }
    }
    assert_eq!(db.keys().verify().unwrap().keys, rows.rows.lock().unwrap().len() as u64);
    // Who is asked for the second time is not looked up again.
    let ask_all = || {
        let before = *rows.reads.lock().unwrap();
        for number in 0..300 {
            assert!(!db.contains_key(&stranger(number)).unwrap());
        }
        *rows.reads.lock().unwrap() - before
    };
    assert!(ask_all() < 100, "most were asked before");
    assert_eq!(ask_all(), 0);
}

#[test]
fn a_database_that_fails_in_between_leaves_no_lasting_mistake() {
    let rows = Rows::default();
    let db = FilteredDb::new(&rows, filter());
    db.insert("kept", "1").unwrap();
    rows.is_broken.store(true, Ordering::Relaxed);
    assert!(db.insert("lost", "1").is_err());
    assert!(db.remove("kept").is_err());
    rows.is_broken.store(false, Ordering::Relaxed);
    // The filter knows a key that the database does not have; the first query mends that.
    assert!(db.keys().may_contain("lost").unwrap());
    assert_eq!(db.get("lost").unwrap(), None);
    assert!(!db.keys().may_contain("lost").unwrap());
    assert_eq!(db.get("kept").unwrap(), Some(b"1".to_vec()));
    assert_eq!(db.keys().verify().unwrap().keys, 1);
}

/// `remove` says what the database says, whatever the filter's own store knows.
#[test]
fn removing_says_what_the_database_says() {
    let rows = Rows::default();
    let db = FilteredDb::new(&rows, filter());
    let put = |key: &str| drop(rows.rows.lock().unwrap().insert(key.into(), b"1".to_vec()));
    let has = |key: &str| rows.rows.lock().unwrap().contains_key(key.as_bytes());
    // Both have it.
    db.insert("both", "1").unwrap();
    assert!(db.remove("both").unwrap());
    assert!(!has("both") && !db.keys().contains_key("both").unwrap());
    assert!(!db.remove("both").unwrap());
    // Only the filter's store has it, as a crash leaves it.
    db.keys().insert("filter", []).unwrap();
    assert!(!db.remove("filter").unwrap());
    assert!(!db.keys().may_contain("filter").unwrap());
    // Only the database has it, because somebody wrote past the filter. It is not there for `get` either.
    put("database");
    assert!(!db.keys().may_contain("database").unwrap());
    assert_eq!(db.get("database").unwrap(), None);
    assert!(!db.remove("database").unwrap());
    assert!(has("database"));
    // Neither has it.
    assert!(!db.remove("neither").unwrap());
    // The filter says *maybe* by mistake: the database is asked, once.
    (0..30).for_each(|number| db.insert(&key(number), "1").unwrap());
    let mistake =
        || (0..).map(|number| format!("nobody {number}")).find(|key| db.keys().may_contain(key).unwrap());
    let (first, reads) = (mistake().unwrap(), *rows.reads.lock().unwrap());
    assert!(!db.remove(&first).unwrap());
    assert!(!db.remove(&first).unwrap());
    assert_eq!(*rows.reads.lock().unwrap(), reads + 1, "the filter has learned");
    let second = mistake().unwrap();
    put(&second);
    assert!(db.remove(&second).unwrap());
    assert!(!has(&second));
}

/// An error of the database changes nothing in the filter; an error of the filter after that fails nobody.
#[test]
fn removing_from_what_fails() {
    let (rows, faults) = (Rows::default(), Faults::default());
    let engine = FaultyEngine::new(MemoryEngine::new(), faults.clone());
    let db = FilteredDb::new(&rows, AdaptiveStore::builder().open_with(engine, MemoryFiles::new()).unwrap());
    for key in ["ant", "bee", "cow"] {
        db.insert(key, "1").unwrap();
    }
    rows.rows.lock().unwrap().remove(&b"cow"[..]);
    rows.is_broken.store(true, Ordering::Relaxed);
    for key in ["ant", "cow"] {
        assert!(matches!(db.remove(key), Err(FilteredError::Database(Broken))));
        assert!(db.keys().may_contain(key).unwrap());
    }
    rows.is_broken.store(false, Ordering::Relaxed);
    assert_eq!(db.get("ant").unwrap(), Some(b"1".to_vec()));
    // It can be read, but not written.
    rows.is_read_only.store(true, Ordering::Relaxed);
    assert!(matches!(db.remove("ant"), Err(FilteredError::Database(Broken))));
    assert!(!db.remove("cow").unwrap(), "there is nothing to write");
    rows.is_read_only.store(false, Ordering::Relaxed);
    assert_eq!(db.get("ant").unwrap(), Some(b"1".to_vec()));
    // The filter's own store fails at every call, one after the other.
    for calls in 0..4 {
        db.insert("ant", "1").unwrap();
        db.keys().insert("dog", []).unwrap();
        faults.fail_after(calls);
        assert!(db.remove("ant").unwrap());
        assert!(!db.remove("dog").unwrap());
        faults.heal();
        for key in ["ant", "dog"] {
            assert_eq!(db.get(key).unwrap(), None);
            assert!(!db.keys().may_contain(key).unwrap(), "the next query mends it");
        }
    }
    assert_eq!(db.get("bee").unwrap(), Some(b"1".to_vec()));
    assert_eq!(db.keys().verify().unwrap().keys, 1);
}

/// The database has answered; that the filter cannot learn from it is not the reader's concern.
#[test]
fn a_filter_that_cannot_learn_fails_nobody() {
    let (rows, faults) = (Rows::default(), Faults::default());
    let engine = FaultyEngine::new(MemoryEngine::new(), faults.clone());
    let keys = AdaptiveStore::builder().error_rate(0.4).capacity(10);
    let db = FilteredDb::new(&rows, keys.open_with(engine, MemoryFiles::new()).unwrap());
    for number in 0..100 {
        db.insert(&key(number), "v").unwrap();
    }
    faults.fail_after(0);
    for number in 0..100 {
        assert_eq!(db.get(&stranger(number)).unwrap(), None);
        assert_eq!(db.get(&key(number)).unwrap(), Some(b"v".to_vec()));
    }
    assert!(*rows.reads.lock().unwrap() > 110, "there were mistakes");
}

/// The database here loses nothing in a power cut, so the filter's store must not, either.
#[test]
fn a_power_cut_parts_a_database_from_a_filter_that_is_less_durable() {
    for (level, is_found) in [(Durability::Power, true), (Durability::Process, false)] {
        let (rows, disk) = (Rows::default(), Disk::new());
        let db = FilteredDb::new(&rows, disk.open(AdaptiveStore::builder().durability(level)).unwrap());
        db.insert("ant", "six legs").unwrap();
        let keys = disk.after_power_cut(0).open(AdaptiveStore::builder()).unwrap();
        let db = FilteredDb::new(&rows, keys);
        assert_eq!(db.contains_key("ant").unwrap(), is_found, "{level:?}");
        // What the documentation says to do.
        db.import(rows.rows.lock().unwrap().keys()).unwrap();
        assert!(db.contains_key("ant").unwrap());
    }
}

#[test]
fn a_database_with_keys_is_taken_in() {
    let rows = Rows::default();
    for number in 0..2_500 {
        rows.rows.lock().unwrap().insert(key(number), b"old".to_vec());
    }
    let db = FilteredDb::new(&rows, filter());
    let keys: Vec<_> = rows.rows.lock().unwrap().keys().cloned().collect();
    assert_eq!(db.import(&keys[..1_700]).unwrap(), 1_700);
    // Again, from the start, after an interruption.
    assert_eq!(db.import(&keys).unwrap(), 800);
    assert!(keys.iter().all(|key| db.contains_key(key).unwrap()));
}

/// A database that had keys before the filter came: they are imported once, as a whole, or again.
#[test]
fn keys_that_are_there_already_are_imported_once() {
    let folder = tempfile::tempdir().unwrap();
    let rows: Mutex<BTreeMap<Vec<u8>, Vec<u8>>> = Mutex::default();
    rows.lock().unwrap().extend((0..3_000u32).map(|number| (number.to_le_bytes().to_vec(), Vec::new())));
    let open = || {
        let read = |key: &[u8]| Ok::<_, std::io::Error>(rows.lock().unwrap().get(key).cloned());
        let write = |_: &[u8], _: Option<&[u8]>| Ok(());
        FilteredDb::new((read, write), AdaptiveStore::open(folder.path()).unwrap())
    };
    let keys = || rows.lock().unwrap().keys().cloned().collect::<Vec<_>>();
    let failing = || Err::<Vec<Vec<u8>>, _>(std::io::Error::other("it cannot be read"));
    assert!(matches!(open().import_once(failing), Err(FilteredError::Database(_))));
    // As far as it came when it was interrupted.
    open().import(keys().into_iter().take(1_500)).unwrap();
    assert!(open().import_once(|| Ok(keys())).unwrap());
    let db = open();
    assert!((0..3_000u32).all(|number| db.contains_key(&number).unwrap()));
    assert!(!db.import_once(failing).unwrap(), "nobody is asked again");
}
