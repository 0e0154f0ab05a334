//! A store on the engine.

use std::path::Path;

use twiceshy_rocksdb::RocksEngine;
use twiceshy_store::engine::EngineErrorKind;
use twiceshy_store::files::Folder;
use twiceshy_store::{AdaptiveStore, Durability, Recovery, StoreError};

fn open(path: &Path, durability: Durability) -> Result<AdaptiveStore, StoreError> {
    let files = Folder::create(path).unwrap();
    let engine = RocksEngine::open(&path.join("rows.rocksdb"), Some(1 << 20))?;
    AdaptiveStore::builder().durability(durability).open_with(engine, files)
}

#[test]
fn rows_come_back_after_opening_again() {
    for durability in [Durability::Relaxed, Durability::Process, Durability::Power] {
        let folder = tempfile::tempdir().unwrap();
        let store = open(folder.path(), durability).unwrap();
        assert_eq!(store.recovery(), &Recovery::Created);
        let rows: Vec<_> = (0..500u64).map(|number| (number, number.to_string())).collect();
        assert_eq!(store.insert_batch(&rows).unwrap(), 500);
        for number in 0..50u64 {
            assert!(!store.insert(&number, "new").unwrap());
            assert!(store.remove(&(number + 50)).unwrap());
        }
        store.close().unwrap();

        let store = open(folder.path(), durability).unwrap();
        assert_eq!(store.recovery(), &Recovery::Clean);
        for number in 0..1_000u64 {
            let expected = match number {
                0..50 => Some(b"new".to_vec()),
                100..500 => Some(number.to_string().into_bytes()),
                _ => None,
            };
            assert_eq!(store.get(&number).unwrap(), expected, "{number}");
        }
        assert_eq!(store.verify().unwrap().keys, 450);
        store.compact().unwrap();
        assert_eq!(store.len().unwrap(), 450);
    }
}

#[test]
fn long_keys() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(folder.path(), Durability::Process).unwrap();
    let limit = store.engine().max_key_len();
    let lengths = [0, 1, limit - 6, limit - 5, limit - 4, limit, limit + 1, 10_000_000];
    let key = |len: usize| -> Vec<u8> { (0..len).map(|i| (i * 7 + len) as u8).collect() };
    for len in lengths {
        assert!(store.insert(&key(len), len.to_string()).unwrap());
    }
    store.close().unwrap();
    let store = open(folder.path(), Durability::Process).unwrap();
    for len in lengths {
        assert_eq!(store.get(&key(len)).unwrap(), Some(len.to_string().into_bytes()), "{len}");
        let mut other = key(len);
        other.push(2);
        assert_eq!(store.get(&other).unwrap(), None);
    }
    assert_eq!(store.verify().unwrap().keys, lengths.len() as u64);
}

#[test]
fn opened_twice_it_is_in_use() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(folder.path(), Durability::Process).unwrap();
    match open(folder.path(), Durability::Process).map(|_| ()) {
        Err(StoreError::Engine(error)) => assert_eq!(error.kind(), EngineErrorKind::InUse, "{error}"),
        other => panic!("{other:?}"),
    }
    store.insert("key", "value").unwrap();
}
