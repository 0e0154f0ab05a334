//! Keys and values of every length, on every engine.

use std::sync::Arc;

use twiceshy::Hasher;
use twiceshy::hash::HashKey;
use twiceshy_store::engine::{Engine, FjallEngine, MemoryEngine, RedbEngine};
use twiceshy_store::testing::MemoryFiles;
use twiceshy_store::{AdaptiveStore, StoreError};

/// What the store puts in front of a key.
const HEAD: usize = 4;

fn engines(folder: &std::path::Path) -> [Arc<dyn Engine>; 4] {
    [
        Arc::new(FjallEngine::open(&folder.join("fjall"), None).unwrap()),
        Arc::new(RedbEngine::open(&folder.join("redb"), None).unwrap()),
        Arc::new(MemoryEngine::new()),
        Arc::new(MemoryEngine::with_max_key_len(200)),
    ]
}

#[test]
fn keys_from_0_bytes_to_10_mb() {
    let folder = tempfile::tempdir().unwrap();
    for engine in engines(folder.path()) {
        let limit = engine.max_key_len() - HEAD;
        let files = MemoryFiles::new();
        let open = || AdaptiveStore::builder().open_with(Arc::clone(&engine), files.clone()).unwrap();
        let key = |len: usize| -> Vec<u8> { (0..len).map(|i| (i * 7 + len) as u8).collect() };
        let lengths = [0, 1, 100, limit - 1, limit, limit + 1, 10_000_000];
        let store = open();
        for len in lengths {
            assert!(store.insert(&key(len), len.to_string()).unwrap(), "{} {len}", engine.name());
            assert!(!store.insert(&key(len), format!("{len}!")).unwrap());
            // Another key with the same beginning.
            let mut other = key(len);
            other.push(1);
            assert_eq!(store.get(&other).unwrap(), None);
        }
        drop(store);
        let store = open();
        for len in lengths {
            assert_eq!(
                store.get(&key(len)).unwrap(),
                Some(format!("{len}!").into_bytes()),
                "{} {len}",
                engine.name()
            );
        }
        assert_eq!(store.verify().unwrap().keys, lengths.len() as u64);
        let mut found: Vec<_> = store.iter().map(|row| row.unwrap().0.len()).collect();
        found.sort_unstable();
        assert_eq!(found, lengths);
        for len in lengths {
            assert!(store.remove(&key(len)).unwrap());
            assert!(!store.remove(&key(len)).unwrap());
        }
        assert!(store.is_empty().unwrap());
    }
}

#[test]
fn values_from_0_bytes_to_10_mb() {
    let folder = tempfile::tempdir().unwrap();
    for engine in engines(folder.path()) {
        let store = AdaptiveStore::builder().open_with(engine, MemoryFiles::new()).unwrap();
        for len in [0, 1, 4_096, 65_536, 10_000_000] {
            let value = vec![len as u8; len];
            store.insert("key", &value).unwrap();
            assert_eq!(store.get("key").unwrap(), Some(value));
        }
    }
}

#[test]
fn keys_that_fit_in_no_way_are_refused() {
    // No room for a digest.
    let store =
        AdaptiveStore::builder().open_with(MemoryEngine::with_max_key_len(25), MemoryFiles::new()).unwrap();
    store.insert(&[1; 21][..], "the longest").unwrap();
    let error = store.insert(&[1; 22][..], "too long").unwrap_err();
    assert!(matches!(error, StoreError::KeyTooLong { len: 22, max: 21 }), "{error}");
    assert_eq!(store.get(&[1; 22][..]).unwrap(), None);
    assert!(!store.remove(&[1; 22][..]).unwrap());
    // Nothing of a batch is stored.
    let rows = [(vec![2; 3], "fine"), (vec![2; 99], "too long")];
    assert!(store.insert_batch(&rows).is_err());
    assert_eq!(store.get(&[2; 3][..]).unwrap(), None);
    assert_eq!(store.verify().unwrap().keys, 1);
}

#[test]
fn an_engine_without_room_for_any_key_is_no_panic() {
    for max in 0..8 {
        let engine = MemoryEngine::with_max_key_len(max);
        let store = AdaptiveStore::builder().open_with(engine, MemoryFiles::new()).unwrap();
        // Stored or refused, and not something in between.
        assert_eq!(store.insert("", "v").is_ok(), store.get("").unwrap().is_some(), "{max} bytes");
        assert!(matches!(store.insert("too long", "v"), Err(StoreError::KeyTooLong { len: 8, .. })));
    }
}

#[test]
fn numbers_and_text_are_keys() {
    let store = AdaptiveStore::builder().in_memory().unwrap();
    store.insert(&7u64, "number").unwrap();
    store.insert("7", "text").unwrap();
    assert_eq!(store.get(&7u64).unwrap(), Some(b"number".to_vec()));
    assert_eq!(store.get(&7u32).unwrap(), None);
    assert_eq!(store.get("7").unwrap(), Some(b"text".to_vec()));
    assert_eq!(store.get(&b"7"[..]).unwrap(), Some(b"text".to_vec()));
    assert_eq!(store.get_batch(&[7u64, 8]).unwrap(), [Some(b"number".to_vec()), None]);
}

/// Keys whose hashes begin alike lie side by side in the order of the keys, and the filter wants that of the hashes.
#[test]
fn keys_with_the_same_head_are_sorted_by_their_hashes() {
    let hasher = Hasher::keyed(HashKey::from_bytes([1; 16]));
    let mut hashes: Vec<(u64, u64)> = (0..400_000u64).map(|key| (hasher.hash(&key), key)).collect();
    hashes.sort_unstable();
    let twins: Vec<_> = hashes.windows(2).filter(|pair| pair[0].0 >> 33 == pair[1].0 >> 33).collect();
    // In the other order as keys, as bytes.
    let is_swapped = |pair: &&&[(u64, u64)]| pair[0].1.to_le_bytes() > pair[1].1.to_le_bytes();
    let swapped: Vec<_> = twins.iter().filter(is_swapped).collect();
    assert!(!swapped.is_empty(), "{} pairs", twins.len());
    let store = AdaptiveStore::builder().hasher(hasher).in_memory().unwrap();
    for (_, key) in twins.iter().copied().flatten() {
        store.insert(key, "v").unwrap();
    }
    // This reads all rows in the order of their hashes, and fails if they are not.
    assert_eq!(store.rebuild().unwrap(), store.len().unwrap());
    let verified = store.verify().unwrap();
    assert_eq!((verified.keys, verified.leftovers), (store.len().unwrap(), 0));
    assert!(twins.iter().copied().flatten().all(|(_, key)| store.contains_key(key).unwrap()));
}
