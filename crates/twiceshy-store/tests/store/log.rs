//! The journal of fjall, which it reads whenever it is opened: little is left of it, and never too little.
#![cfg(feature = "fjall")]

use std::collections::BTreeMap;
use std::fs;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use crate::common::key;
use twiceshy_store::engine::{Batch, Engine, FjallEngine, Keys, Space};
use twiceshy_store::{AdaptiveStore, Durability, Recovery};
use twiceshy_testkit::{Random, copy_folder};

/// The journals below a folder and their lengths, the oldest first.
fn logs(folder: &Path) -> Vec<(PathBuf, u64)> {
    let mut logs: Vec<_> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "jnl"))
        .collect();
    logs.sort_by_key(|path| path.file_stem().unwrap().to_str().unwrap().parse::<u64>().unwrap());
    logs.into_iter().map(|path| (path.clone(), fs::metadata(path).unwrap().len())).collect()
}

fn log_bytes(folder: &Path) -> u64 {
    logs(folder).iter().map(|(_, bytes)| bytes).sum()
}

/// What does not compress.
fn noise(random: &mut Random, bytes: usize) -> Vec<u8> {
    (0..bytes.div_ceil(8)).flat_map(|_| random.next().to_le_bytes()).take(bytes).collect()
}

fn rows(engine: &FjallEngine) -> BTreeMap<Vec<u8>, Vec<u8>> {
    let mut rows = BTreeMap::new();
    let mut visit = |key: &[u8], value: &[u8]| {
        rows.insert(key.to_vec(), value.to_vec());
        ControlFlow::Continue(())
    };
    engine.scan(Space::Rows, Keys::ALL, &mut visit).unwrap();
    rows
}

/// Puts and removes rows in many small batches, some 3 MB of them.
fn change(engine: &FjallEngine, model: &mut BTreeMap<Vec<u8>, Vec<u8>>, random: &mut Random) {
    for _ in 0..300 {
        let mut batch = Batch::new();
        for _ in 0..4 {
            let key = key(random.below(200));
            if random.below(3) == 0 {
                batch.delete(Space::Rows, key.clone());
                model.remove(&key);
            } else {
                let value = noise(random, 4_000);
                batch.put(Space::Rows, key.clone(), value.clone());
                model.insert(key, value);
            }
        }
        engine.write(batch, Durability::Process).unwrap();
    }
}

/// Whether it was closed, was killed, or is opened with all of a journal that was about to be emptied.
#[test]
fn what_was_written_is_there_whatever_is_left_of_the_journal() {
    let folder = tempfile::tempdir().unwrap();
    let [path, killed, mixed] = ["rows", "killed", "mixed"].map(|name| folder.path().join(name));
    let (mut model, mut random) = (BTreeMap::new(), Random(1));
    for round in 0..5 {
        let engine = FjallEngine::open(&path, None).unwrap();
        assert!(rows(&engine) == model, "round {round}");
        change(&engine, &mut model, &mut random);
        if round == 3 {
            // Tables that hold nothing but removed rows vanish, and with them the highest number of a write.
            let mut batch = Batch::new();
            model.keys().for_each(|key| batch.delete(Space::Rows, key.clone()));
            model.clear();
            engine.write(batch, Durability::Process).unwrap();
            engine.compact().unwrap();
        }
        copy_folder(&path, &killed);
        assert!(log_bytes(&killed) > 1 << 20);
        drop(engine);
        assert_eq!(log_bytes(&path), 0, "round {round}: {:?}", logs(&path));

        assert!(rows(&FjallEngine::open(&killed, None).unwrap()) == model, "round {round}, killed");
        copy_folder(&path, &mixed);
        for (log, _) in logs(&killed) {
            fs::copy(&log, mixed.join(log.file_name().unwrap())).unwrap();
        }
        assert!(rows(&FjallEngine::open(&mixed, None).unwrap()) == model, "round {round}, not emptied");
        for copy in [&killed, &mixed] {
            fs::remove_dir_all(copy).unwrap();
        }
    }
}

#[test]
fn a_short_journal_stays() {
    let folder = tempfile::tempdir().unwrap();
    for number in 0..3 {
        let engine = FjallEngine::open(folder.path(), None).unwrap();
        assert_eq!(rows(&engine).len(), number);
        let mut batch = Batch::new();
        batch.put(Space::Rows, key(number as u64), b"value".to_vec());
        engine.write(batch, Durability::Process).unwrap();
    }
    assert!(log_bytes(folder.path()) > 0);
}

/// The journal of the store is hardly ever written, and `Meta` is written once.
#[test]
fn a_space_that_is_hardly_written_keeps_no_old_journals() {
    let folder = tempfile::tempdir().unwrap();
    let engine = FjallEngine::open(folder.path(), None).unwrap();
    let mut random = Random(2);
    let value = noise(&mut random, 1 << 20);
    let mut most = 0;
    for number in 0..400u64 {
        let mut batch = Batch::new();
        if number == 0 {
            batch.put(Space::Meta, b"once".to_vec(), b"and never again".to_vec());
        }
        batch.put(Space::Rows, key(number % 50), value.clone());
        engine.write(batch, Durability::Process).unwrap();
        most = most.max(logs(folder.path()).len());
    }
    println!("at most {most} journals");
    assert!(most <= 4, "{most} journals");
    assert_eq!(engine.get(Space::Meta, b"once").unwrap().unwrap(), b"and never again");
}

/// Key by key: the journal of the store has as many rows, all of which are removed when it is closed.
#[test]
fn a_store_that_was_closed_opens_clean_and_goes_on() {
    let folder = tempfile::tempdir().unwrap();
    for round in 0..3 {
        let store = AdaptiveStore::open(folder.path()).unwrap();
        assert_eq!(store.approximate_len(), round * 5_000);
        assert!(*store.recovery() == if round == 0 { Recovery::Created } else { Recovery::Clean });
        for number in round * 5_000..(round + 1) * 5_000 {
            store.insert(&key(number), [7; 400]).unwrap();
        }
        store.close().unwrap();
        assert_eq!(log_bytes(&folder.path().join("rows.fjall")), 0);
    }
    AdaptiveStore::open(folder.path()).unwrap().verify().unwrap();
}

#[test]
fn whether_there_is_a_store_is_found_out_without_opening_it() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store");
    assert!(!AdaptiveStore::is_in(&path).unwrap());
    assert!(!path.exists(), "nothing is made");
    assert!(!AdaptiveStore::is_in(folder.path()).unwrap());
    let store = AdaptiveStore::open(&path).unwrap();
    assert!(AdaptiveStore::is_in(&path).unwrap(), "although it is open");
    drop(store);
    assert!(!AdaptiveStore::is_in(folder.path()).unwrap(), "other things are in it");
    fs::write(path.join("twiceshy-store"), "something else").unwrap();
    assert!(AdaptiveStore::is_in(&path).unwrap_err().to_string().contains("damaged"));
}
