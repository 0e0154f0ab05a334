//! Stores that are rebuilt, killed and opened again and again keep their filters as small as they were.

use crate::common::{Disk, key, stranger};
use twiceshy::Hasher;
use twiceshy::hash::HashKey;
use twiceshy_store::{AdaptiveStore, StoreBuilder};

fn builder() -> StoreBuilder {
    AdaptiveStore::builder().capacity(10).hasher(Hasher::keyed(HashKey::from_bytes([5; 16])))
}

fn bits_per_key(store: &AdaptiveStore) -> f64 {
    store.with_filter(|filter| filter.size_in_bytes()).unwrap() as f64 * 8.0 / store.len().unwrap() as f64
}

fn insert(store: &AdaptiveStore, numbers: std::ops::Range<u64>) {
    let rows: Vec<(Vec<u8>, &str)> = numbers.map(|number| (key(number), "v")).collect();
    store.insert_batch(&rows).unwrap();
}

/// Some keys stay while many come and go.
#[test]
fn rebuilding_in_cycles_does_not_make_the_filter_larger() {
    const LASTING: u64 = 3_000;
    let store = builder().in_memory().unwrap();
    insert(&store, 0..LASTING);
    let mut bits = Vec::new();
    for cycle in 1..=6 {
        let passing = cycle * 100_000..cycle * 100_000 + 7_000;
        insert(&store, passing.clone());
        for number in 0..500 {
            assert_eq!(store.get(&stranger(number)).unwrap(), None);
        }
        passing.for_each(|number| assert!(store.remove(&key(number)).unwrap()));
        assert_eq!(store.rebuild().unwrap(), LASTING);
        bits.push(bits_per_key(&store));
        assert!((0..LASTING).all(|number| store.contains_key(&key(number)).unwrap()));
    }
    assert!(bits[1..].iter().all(|now| *now <= bits[0] * 1.1), "{bits:?}");
    store.verify().unwrap();
}

/// No query is ever asked: there is nothing to learn, and nothing to pay for.
#[test]
fn crashes_alone_do_not_make_the_filter_larger() {
    let mut disk = Disk::new();
    let builder = || builder().save_after(300);
    let fresh = {
        let store = builder().in_memory().unwrap();
        insert(&store, 0..3_000);
        bits_per_key(&store)
    };
    for crash in 0..18 {
        let store = disk.open(builder()).unwrap();
        let first = crash * 170;
        for number in first..first + 170 {
            store.insert(&key(number), "v").unwrap();
        }
        let killed = disk.after_kill();
        drop(store);
        disk = killed;
    }
    let store = disk.open(builder()).unwrap();
    store.verify().unwrap();
    // A stop bit, and the size before the last doubling at most.
    let bits = bits_per_key(&store);
    assert!(bits <= fresh * 1.3, "{bits:.1} bits per key, {fresh:.1} without crashes");
}

/// A record does not tell whether its key was counted before; the journal tells how many there are.
#[test]
fn crashes_do_not_make_the_filter_count_keys_twice() {
    let mut disk = Disk::new();
    for crash in 0..4 {
        let store = disk.open(builder()).unwrap();
        if crash == 0 {
            insert(&store, 0..10);
        }
        assert_eq!(store.with_filter(|filter| filter.len()).unwrap(), 10);
        for _ in 0..200 {
            assert!(store.remove(&key(3)).unwrap());
            assert!(store.insert(&key(3), "v").unwrap());
        }
        let killed = disk.after_kill();
        drop(store);
        disk = killed;
    }
    let store = disk.open(builder()).unwrap();
    assert_eq!(store.with_filter(|filter| filter.len()).unwrap(), 10);
    let slots = store.with_filter(|filter| filter.slots()).unwrap();
    assert_eq!(store.rebuild().unwrap(), 10);
    assert!(store.with_filter(|filter| filter.slots()).unwrap() <= slots);
}
