//! What a store says and does if its files are not as it left them.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use crate::common::{Disk, Model, SNAPSHOT, key, stranger};
use twiceshy::Hasher;
use twiceshy::hash::HashKey;
use twiceshy_store::engine::{Batch, Engine, MemoryEngine, Space};
use twiceshy_store::testing::{Faults, FaultyEngine, MemoryFiles};
use twiceshy_store::{AdaptiveStore, Durability, EngineKind, Recovery, StoreBuilder, StoreError};

fn builder() -> StoreBuilder {
    let hasher = Hasher::keyed(HashKey::from_bytes([3; 16]));
    AdaptiveStore::builder().error_rate(0.1).capacity(10).hasher(hasher)
}

/// A store with some keys and fixed mistakes.
fn fill(store: &AdaptiveStore) -> Model {
    let mut model = Model::default();
    for number in 0..300 {
        store.insert(&key(number), number.to_string()).unwrap();
        model.insert(key(number), number.to_string().into_bytes());
    }
    for number in 0..500 {
        let query = stranger(number);
        if store.may_contain(&query).unwrap() {
            assert_eq!(store.get(&query).unwrap(), None);
            if !store.may_contain(&query).unwrap() {
                model.fix(query);
            }
        }
    }
    assert!(model.fixed.len() > 10);
    model
}

fn why(store: &AdaptiveStore) -> String {
    match store.recovery() {
        Recovery::Rebuilt { why } => why.clone(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_closed_store_opens_with_all_it_has_learned() {
    let folder = tempfile::tempdir().unwrap();
    for &kind in EngineKind::ALL {
        let path = folder.path().join(kind.name());
        let store = builder().engine(kind).open(&path).unwrap();
        assert_eq!(*store.recovery(), Recovery::Created);
        let model = fill(&store);
        store.close().unwrap();
        for _ in 0..2 {
            let store = builder().open(&path).unwrap();
            assert_eq!(*store.recovery(), Recovery::Clean);
            model.check(&store);
        }
    }
}

/// However many rows the journal has had, nobody looks at what was cleared, whatever is left of it.
#[test]
fn what_was_cleared_is_not_read_again() {
    let (engine, files) = (Arc::new(MemoryEngine::new()), MemoryFiles::new());
    let store = builder().open_with(Arc::clone(&engine), files.clone()).unwrap();
    let model = fill(&store);
    store.close().unwrap();
    let put = |number: u64| {
        let mut batch = Batch::new();
        batch.put(Space::Journal, number.to_be_bytes().to_vec(), b"no row of a journal".to_vec());
        engine.write(batch, Durability::Process).unwrap();
    };
    put(7);
    let store = builder().open_with(Arc::clone(&engine), files.clone()).unwrap();
    assert_eq!(*store.recovery(), Recovery::Clean);
    model.check(&store);
    drop(store);
    put(100_000);
    let opened = builder().open_with(engine, files);
    assert!(matches!(opened, Err(StoreError::Damaged { .. })), "what is new is read");
}

#[test]
fn a_flushed_store_that_is_not_closed_is_replayed() {
    let disk = Disk::new();
    let store = disk.open(builder()).unwrap();
    let model = fill(&store);
    store.flush().unwrap();
    let after = disk.after_power_cut(0);
    let store = after.open(builder()).unwrap();
    assert!(
        matches!(store.recovery(), Recovery::Replayed { records } if *records > 300),
        "{:?}",
        store.recovery()
    );
    model.check(&store);
    store.close().unwrap();
    let store = after.open(builder()).unwrap();
    assert_eq!(*store.recovery(), Recovery::Clean);
    store.insert("one", "more").unwrap();
    store.remove(&key(7)).unwrap();
    let killed = after.after_kill();
    let store = killed.open(builder()).unwrap();
    assert_eq!(*store.recovery(), Recovery::Replayed { records: 2 });
    let verified = store.verify().unwrap();
    assert_eq!((verified.keys, verified.leftovers), (300, 0));
    assert_eq!(store.get("one").unwrap(), Some(b"more".to_vec()));
    assert_eq!(store.get(&key(7)).unwrap(), None);
}

/// A store in memory whose snapshot can be changed while it is closed.
fn with_snapshot(change: impl FnOnce(&MemoryFiles)) -> (AdaptiveStore, Model, MemoryFiles) {
    let (engine, files) = (Arc::new(MemoryEngine::new()), MemoryFiles::new());
    let open = || builder().open_with(Arc::clone(&engine), files.clone()).unwrap();
    let store = open();
    let model = fill(&store);
    store.close().unwrap();
    change(&files);
    (open(), model, files)
}

#[test]
fn a_snapshot_that_is_missing_or_damaged_is_made_anew_from_the_rows() {
    use twiceshy_store::files::Files;
    let (store, mut model, _) = with_snapshot(|files| files.remove(SNAPSHOT).unwrap());
    assert_eq!(why(&store), "there is no snapshot of the filter");
    // What was learned was in the snapshot.
    model.fixed.clear();
    model.check(&store);

    for (what, edit) in [
        ("empty", (|bytes| bytes.clear()) as fn(&mut Vec<u8>)),
        ("cut off in the header", |bytes| bytes.truncate(30)),
        ("cut off in the filter", |bytes| bytes.truncate(200)),
        ("cut off at the end", |bytes| bytes.truncate(bytes.len() - 1)),
        ("with something behind it", |bytes| bytes.push(0)),
        ("with another beginning", |bytes| bytes[0] ^= 1),
        ("of an older version", |bytes| bytes[8] = 1),
        ("with another store's id", |bytes| bytes[20] ^= 1),
        ("with another history", |bytes| bytes[33] ^= 1),
        ("with another number", |bytes| bytes[49] ^= 1),
        ("with a byte of the filter changed", |bytes| bytes[300] ^= 4),
        ("not a snapshot", |bytes| *bytes = b"hello".repeat(100)),
    ] {
        let (store, mut model, files) = with_snapshot(|files| assert!(files.edit(SNAPSHOT, edit)));
        assert!(why(&store).starts_with("the snapshot of the filter"), "{what}: {}", why(&store));
        model.fixed.clear();
        model.check(&store);
        store.close().unwrap();
        assert!(files.names().unwrap().contains(&SNAPSHOT.to_owned()));
    }
}

#[test]
fn a_snapshot_of_another_store_is_not_taken() {
    let (one, other) = ((Arc::new(MemoryEngine::new()), MemoryFiles::new()), MemoryFiles::new());
    let open = || builder().open_with(Arc::clone(&one.0), one.1.clone()).unwrap();
    let store = open();
    let mut model = fill(&store);
    store.close().unwrap();
    // The same settings and as many keys: only the store's own mark tells them apart.
    let stranger_store = builder().open_with(MemoryEngine::new(), other.clone()).unwrap();
    for number in 0..300 {
        stranger_store.insert(&key(number + 1_000), "").unwrap();
    }
    stranger_store.close().unwrap();
    let mut snapshot = Vec::new();
    assert!(other.edit(SNAPSHOT, |bytes| snapshot.clone_from(bytes)));
    assert!(one.1.edit(SNAPSHOT, |bytes| *bytes = snapshot));
    let store = open();
    assert!(why(&store).contains("another store"), "{}", why(&store));
    model.fixed.clear();
    model.check(&store);
}

#[test]
fn every_bit_of_a_snapshot_counts() {
    let mut bytes = 0;
    with_snapshot(|files| assert!(files.edit(SNAPSHOT, |snapshot| bytes = snapshot.len())));
    for bit in (0..bytes * 8).step_by(bytes * 8 / 300) {
        let flip = |snapshot: &mut Vec<u8>| snapshot[bit / 8] ^= 1 << (bit % 8);
        let (store, _, _) = with_snapshot(|files| assert!(files.edit(SNAPSHOT, flip)));
        assert!(matches!(store.recovery(), Recovery::Rebuilt { .. }), "bit {bit}: {:?}", store.recovery());
        store.verify().unwrap();
    }
}

#[test]
fn a_snapshot_of_a_newer_version_is_set_aside() {
    use twiceshy_store::files::Files;
    for (offset, version) in [(8, 3), (8, 99)] {
        let mut newer = Vec::new();
        let (store, _, files) = with_snapshot(|files| {
            files.edit(SNAPSHOT, |bytes| {
                bytes[offset] = version;
                newer = bytes.clone();
            });
        });
        assert!(why(&store).contains("newer version"), "{}", why(&store));
        store.close().unwrap();
        let names = files.names().unwrap();
        assert!(names.contains(&"filter.snapshot.of-newer-version".to_owned()), "{names:?}");
        let mut kept = Vec::new();
        files.edit("filter.snapshot.of-newer-version", |bytes| kept = bytes.clone());
        assert_eq!(kept, newer, "not one bit was changed");
    }
}

#[test]
fn a_snapshot_that_is_older_or_newer_than_the_rows_is_not_taken() {
    let disk = Disk::new();
    let store = disk.open(builder().durability(Durability::Power)).unwrap();
    let model = fill(&store);
    store.close().unwrap();
    let mut old = Vec::new();
    disk.files.edit(SNAPSHOT, |bytes| old = bytes.clone());
    let early = disk.after_kill();
    let store = disk.open(builder()).unwrap();
    store.insert("later", "1").unwrap();
    store.close().unwrap();
    let mut new = Vec::new();
    disk.files.edit(SNAPSHOT, |bytes| new = bytes.clone());

    // The journal does not reach back to this snapshot.
    disk.files.edit(SNAPSHOT, |bytes| *bytes = old);
    let store = disk.after_kill().open(builder()).unwrap();
    assert!(why(&store).contains("older"), "{}", why(&store));
    assert_eq!(store.get("later").unwrap(), Some(b"1".to_vec()));
    store.verify().unwrap();
    // But what it has learned is heeded.
    model.check_mistakes(&store, &model.fixed);

    // These rows are a backup from before the snapshot.
    early.files.edit(SNAPSHOT, |bytes| *bytes = new);
    let store = early.open(builder()).unwrap();
    assert!(why(&store).contains("newer than the rows"), "{}", why(&store));
    assert_eq!(store.get("later").unwrap(), None);
    store.verify().unwrap();
    model.check_mistakes(&store, &model.fixed);
    // What comes now has the numbers that the snapshot knows from another past: it must not be taken later, either.
    for number in 1_000..1_020 {
        store.insert(&key(number), "v").unwrap();
    }
    let store = early.after_kill().open(builder()).unwrap();
    assert!((1_000..1_020).all(|number| store.contains_key(&key(number)).unwrap()));
    store.verify().unwrap();
}

#[test]
fn opened_twice_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    for &kind in EngineKind::ALL {
        let path = folder.path().join(kind.name());
        let store = builder().engine(kind).open(&path).unwrap();
        store.insert("a", "1").unwrap();
        let error = builder().open(&path).unwrap_err();
        assert!(error.to_string().contains("open already"), "{error}");
        assert_eq!(store.get("a").unwrap(), Some(b"1".to_vec()));
        drop(store);
        assert_eq!(builder().open(&path).unwrap().get("a").unwrap(), Some(b"1".to_vec()));
    }
}

#[test]
fn another_engine_or_another_folder_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store");
    drop(builder().engine(EngineKind::Redb).open(&path).unwrap());
    let error = builder().engine(EngineKind::Fjall).open(&path).unwrap_err();
    assert!(error.to_string().contains("made with the engine redb"), "{error}");
    // It knows its engine.
    assert_eq!(builder().open(&path).unwrap().engine().name(), "redb");

    let other = folder.path().join("photos");
    fs::create_dir(&other).unwrap();
    fs::write(other.join("cat.jpeg"), "meow").unwrap();
    let error = builder().open(&other).unwrap_err();
    assert!(error.to_string().contains("is no store"), "{error}");
    assert_eq!(fs::read_dir(&other).unwrap().count(), 1, "nothing was put there");

    let error = builder().create(false).open(folder.path().join("nothing")).unwrap_err();
    assert!(matches!(error, StoreError::NoStore { .. }), "{error}");
    assert!(error.is_not_found());
    assert!(!folder.path().join("nothing").exists());
    let file = folder.path().join("file");
    fs::write(&file, "").unwrap();
    assert!(matches!(builder().open(&file).unwrap_err(), StoreError::File { .. }));
}

#[test]
fn a_store_of_another_format_is_left_alone() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store");
    drop(builder().open(&path).unwrap());
    let description = path.join("twiceshy-store");
    let text = fs::read_to_string(&description).unwrap();
    for other in [1, 3] {
        fs::write(&description, text.replace("format 2", &format!("format {other}"))).unwrap();
        let error = builder().open(&path).unwrap_err();
        assert!(matches!(error, StoreError::Version { found, supported: 2 } if found == other), "{error}");
    }
    fs::write(&description, "hello").unwrap();
    assert!(matches!(builder().open(&path).unwrap_err(), StoreError::Damaged { .. }));
    fs::write(&description, &text).unwrap();
    builder().open(&path).unwrap().verify().unwrap();
}

#[test]
fn rows_that_are_gone_are_noticed() {
    let folder = tempfile::tempdir().unwrap();
    for (kind, rows) in [(EngineKind::Fjall, "rows.fjall"), (EngineKind::Redb, "rows.redb")] {
        let path = folder.path().join(kind.name());
        let store = builder().engine(kind).open(&path).unwrap();
        store.insert("a", "1").unwrap();
        drop(store);
        remove(&path.join(rows));
        let error = builder().open(&path).unwrap_err();
        assert!(error.to_string().contains("gone"), "{error}");
    }
}

fn remove(path: &Path) {
    if path.is_dir() { fs::remove_dir_all(path).unwrap() } else { fs::remove_file(path).unwrap() }
}

#[test]
fn damaged_rows_are_an_error_and_not_a_panic() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store");
    let store = builder().engine(EngineKind::Redb).open(&path).unwrap();
    store.insert("a", "1").unwrap();
    drop(store);
    fs::write(path.join("rows.redb"), b"not a database").unwrap();
    let error = builder().open(&path).unwrap_err();
    assert!(matches!(error, StoreError::Engine(_)), "{error}");
}

/// Others may not read the hash key.
#[cfg(unix)]
#[test]
fn only_the_owner_may_read_a_store() {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store");
    drop(builder().open(&path).unwrap());
    assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o700);
    assert_eq!(fs::metadata(path.join(SNAPSHOT)).unwrap().permissions().mode() & 0o777, 0o600);
    // In a folder that others may read, the rows are closed to them, too: the key is among them.
    for (kind, rows) in [(EngineKind::Fjall, "rows.fjall"), (EngineKind::Redb, "rows.redb")] {
        let path = folder.path().join(kind.name());
        fs::create_dir(&path).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        drop(builder().engine(kind).open(&path).unwrap());
        assert_eq!(fs::metadata(path.join(rows)).unwrap().permissions().mode() & 0o077, 0, "{rows}");
    }
}

#[test]
fn the_filter_may_not_grow_for_ever_if_it_is_told_so() {
    let (engine, files) = (Arc::new(MemoryEngine::new()), MemoryFiles::new());
    let store = builder().max_bytes(1_000).open_with(Arc::clone(&engine), files.clone()).unwrap();
    let full =
        (0..10_000).find_map(|number| store.insert(&key(number), "v").err().map(|error| (number, error)));
    let (number, error) = full.unwrap();
    assert!(matches!(error, StoreError::FilterFull { .. }), "{error}");
    assert!(store.with_filter(|filter| filter.size_in_bytes()).unwrap() <= 1_000);
    assert!((0..number).all(|number| store.contains_key(&key(number)).unwrap()));
    // Mistakes that there is no room for do not fail anybody.
    for number in 0..1_000 {
        assert_eq!(store.get(&stranger(number)).unwrap(), None);
    }
    store.verify().unwrap();
    drop(store);
    let store = builder().max_bytes(1 << 20).open_with(engine, files).unwrap();
    assert!(store.insert(&key(number), "v").unwrap());
}

#[test]
fn a_long_journal_is_done_again_in_one_pass() {
    let disk = Disk::new();
    let store = disk.open(builder()).unwrap();
    let mut model = fill(&store);
    for number in 1_000..6_000 {
        store.insert(&key(number), "v").unwrap();
        model.insert(key(number), b"v".to_vec());
    }
    for number in 1_000..2_000 {
        store.remove(&key(number)).unwrap();
        model.remove(&key(number));
    }
    store.flush().unwrap();
    let store = disk.after_power_cut(0).open(builder()).unwrap();
    assert!(
        matches!(store.recovery(), Recovery::Replayed { records } if *records > 6_000),
        "{:?}",
        store.recovery()
    );
    model.check(&store);
    assert_eq!(store.verify().unwrap().leftovers, 0);
}

#[test]
fn a_filter_that_is_built_from_the_rows_heeds_the_journal() {
    let disk = Disk::new();
    let store = disk.open(builder()).unwrap();
    let model = fill(&store);
    store.flush().unwrap();
    let after = disk.after_power_cut(0);
    after.files.edit(SNAPSHOT, |bytes| bytes.clear());
    let store = after.open(builder()).unwrap();
    assert!(why(&store).contains("cut off"), "{}", why(&store));
    model.check(&store);
}

/// A lesson that needs a larger filter may be learned by growing alone. The filter that is built from the rows may be
/// smaller, and must know it all the same.
#[test]
fn what_growth_has_learned_stays_learned() {
    for seed in 0..200 {
        let hasher = || Hasher::keyed(HashKey::from_bytes([seed; 16]));
        let builder = || AdaptiveStore::builder().error_rate(0.4).capacity(10).hasher(hasher());
        let disk = Disk::new();
        let store = disk.open(builder()).unwrap();
        let mut model = Model::default();
        for number in 0..20 + u64::from(seed) {
            store.insert(&key(number), "v").unwrap();
            model.insert(key(number), b"v".to_vec());
        }
        for query in (0..200).map(stranger) {
            if store.may_contain(&query).unwrap() {
                assert_eq!(store.get(&query).unwrap(), None);
                assert!(!store.may_contain(&query).unwrap());
                model.fix(query);
            }
        }
        store.flush().unwrap();
        let after = disk.after_power_cut(0);
        after.files.edit(SNAPSHOT, Vec::clear);
        model.check(&after.open(builder()).unwrap());
    }
}

/// A store at its limit takes no more keys, but it can be opened, however it was left.
#[test]
fn a_store_at_its_limit_is_mended() {
    for is_damaged in [false, true] {
        let disk = Disk::new();
        let builder = || builder().max_bytes(4_000);
        let store = disk.open(builder()).unwrap();
        let full = (0..10_000).find(|&number| store.insert(&key(number), "v").is_err()).unwrap();
        store.flush().unwrap();
        let after = disk.after_power_cut(0);
        if is_damaged {
            after.files.edit(SNAPSHOT, Vec::clear);
        }
        let store = after.open(builder()).unwrap();
        assert_eq!(store.verify().unwrap().keys, full);
        assert!((full..100_000).any(|number| store.insert(&key(number), "v").is_err()), "there is no limit");
    }
}

#[test]
fn a_snapshot_that_was_made_anew_knows_the_journal() {
    let disk = Disk::new();
    let store = disk.open(builder()).unwrap();
    for number in 0..3_000 {
        store.insert(&key(number), "v").unwrap();
    }
    store.flush().unwrap();
    let disk = disk.after_power_cut(0);
    disk.files.edit(SNAPSHOT, Vec::clear);
    let store = disk.open(builder()).unwrap();
    assert!(why(&store).contains("cut off"), "{}", why(&store));
    store.close().unwrap();
    assert_eq!(*disk.open(builder()).unwrap().recovery(), Recovery::Clean);
}

/// A leftover that was cleared away does not come back with an older snapshot.
#[test]
fn leftovers_that_were_cleared_away_stay_away() {
    let (engine, files) = (Arc::new(MemoryEngine::new()), MemoryFiles::new());
    let faults = Faults::default();
    let open = || {
        builder().open_with(FaultyEngine::new(Arc::clone(&engine), faults.clone()), files.clone()).unwrap()
    };
    let store = open();
    store.insert("kept", "v").unwrap();
    faults.fail_after(0);
    assert!(store.insert("lost", "v").is_err());
    faults.heal();
    store.close().unwrap();

    let store = open();
    assert_eq!(store.get("lost").unwrap(), None);
    assert!(!store.may_contain("lost").unwrap());
    store.flush().unwrap();
    // The process is killed.
    std::mem::forget(store);
    let store = open();
    assert!(!store.may_contain("lost").unwrap(), "{:?}", store.recovery());
    assert_eq!(store.verify().unwrap().leftovers, 0);
}

#[test]
fn a_store_without_its_description_is_still_a_store() {
    let folder = tempfile::tempdir().unwrap();
    for (kind, other) in [(EngineKind::Fjall, EngineKind::Redb), (EngineKind::Redb, EngineKind::Fjall)] {
        let path = folder.path().join(kind.name());
        let store = builder().engine(kind).open(&path).unwrap();
        store.insert("ant", "six legs").unwrap();
        store.close().unwrap();
        remove(&path.join("twiceshy-store"));
        let error = builder().engine(other).open(&path).unwrap_err();
        assert!(matches!(error, StoreError::OtherEngine { .. }), "{error}");
        let store = builder().create(false).open(&path).unwrap();
        assert_eq!(store.get("ant").unwrap(), Some(b"six legs".to_vec()), "{kind:?}");
    }
}

/// The engine would make anew what is missing, and the store would be empty.
#[test]
fn files_of_the_engine_that_are_gone_are_noticed() {
    let folder = tempfile::tempdir().unwrap();
    let files =
        ["rows.fjall/0.jnl", "rows.fjall/keyspaces/1", "rows.fjall/keyspaces/2", "rows.fjall/keyspaces/3"];
    for (number, file) in files.into_iter().enumerate() {
        let path = folder.path().join(number.to_string());
        let store = builder().engine(EngineKind::Fjall).open(&path).unwrap();
        store.insert("ant", "six legs").unwrap();
        store.compact().unwrap();
        store.close().unwrap();
        remove(&path.join(file));
        let error = builder().open(&path).expect_err(file);
        assert!(matches!(error, StoreError::Engine(_) | StoreError::Damaged { .. }), "{file}: {error}");
    }
}

#[test]
fn compacting_does_not_lower_the_limit() {
    let builder = || builder().capacity(1_000);
    let bytes = builder().in_memory().unwrap().with_filter(|filter| filter.size_in_bytes()).unwrap();
    let store = builder().max_bytes(bytes as u64).in_memory().unwrap();
    let fill = || (0..10_000).find(|&number| store.insert(&key(number), "v").is_err()).unwrap();
    let full = fill();
    for number in 1..full {
        store.remove(&key(number)).unwrap();
    }
    store.compact().unwrap();
    assert!(fill() >= full * 9 / 10);
}
