use std::collections::HashSet;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use twiceshy::adaptive::{Adapted, Builder, Growth};
use twiceshy::reverse_map::MemoryMap;
use twiceshy::{AdaptiveFilter, AdaptiveSet, Hasher, SharedAdaptiveSet};

use crate::numbers;

fn shared(builder: Builder, shards: usize) -> SharedAdaptiveSet {
    builder.hasher(Hasher::fast()).shards(shards).build_shared_set(|_| MemoryMap::new()).unwrap()
}

/// Short fingerprints, so that there are many mistakes to learn from.
fn small() -> Builder {
    AdaptiveSet::builder().remainder_bits(3)
}

#[test]
fn a_shared_set_is_a_set_and_never_errs_twice() {
    for shards in [1, 2, 16] {
        let (set, mut model) = (shared(small(), shards), HashSet::new());
        let mut fixed = HashSet::new();
        for (step, number) in numbers(shards as u64).take(8_000).enumerate() {
            let key = number % 1_500;
            match number >> 40 & 3 {
                0 => {
                    assert_eq!(set.remove(&key).unwrap(), model.remove(&key), "step {step}");
                    // A key that comes again may err again.
                }
                1 => {
                    assert_eq!(set.insert(&key).unwrap(), model.insert(key), "step {step}");
                    fixed.clear();
                }
                _ => {
                    let absent = number | 1 << 63;
                    if set.contains(&absent) {
                        assert!(!fixed.contains(&absent), "the same mistake again");
                        let adapted = set.adapt(&absent).unwrap();
                        assert!(matches!(adapted, Adapted::Fixed { .. } | Adapted::Vanished), "{adapted:?}");
                        assert!(!set.contains(&absent));
                    }
                    fixed.insert(absent);
                    assert!(fixed.iter().all(|key| !set.contains(key)), "step {step}");
                }
            }
            if step % 100 == 0 {
                set.validate().unwrap();
                assert_eq!(set.len(), model.len() as u64);
                let keys: Vec<u64> = (0..1_500).collect();
                let mut found = vec![false; keys.len()];
                set.contains_batch(&keys, &mut found);
                assert!(keys.iter().zip(&found).all(|(key, found)| *found == set.contains(key)));
                for (key, found) in keys.iter().zip(found) {
                    assert!(found || !model.contains(key), "lost {key} in step {step}");
                    assert_eq!(set.contains_exactly(key).unwrap(), model.contains(key));
                }
                let mut listed = 0;
                set.for_each(|_, _| listed += 1).unwrap();
                assert_eq!(listed, model.len());
            }
            if step % 1_000 == 999 {
                set.shrink_to_fit().unwrap();
            }
        }
        assert!(set.stats().growths > 0 && set.stats().fixed > 0);
    }
}

#[test]
fn a_filter_that_refuses_to_grow_has_room_for_what_was_asked_for() {
    let filter = AdaptiveFilter::builder().capacity(20_000).growth(Growth::Refuse).build_shared().unwrap();
    assert!(filter.shards() > 1);
    for hash in numbers(5).take(20_000) {
        filter.insert_hash(hash).map(drop).unwrap();
        assert!(filter.contains_hash(hash));
    }
}

/// Threads insert, remove, ask and learn, each with keys of its own, and every answer is checked.
#[test]
fn many_threads_lose_nothing_and_learn() {
    for shards in [1, 4] {
        let set = shared(small(), shards);
        let (stop, stayed) = (AtomicBool::new(false), AtomicU64::new(0));
        std::thread::scope(|scope| {
            let readers: Vec<_> = (0..2u64)
                .map(|thread| {
                    let (set, stop, stayed) = (&set, &stop, &stayed);
                    scope.spawn(move || {
                        let mut asked = 0u64;
                        while !stop.load(Ordering::Relaxed) {
                            let there = stayed.load(Ordering::Acquire);
                            if there > 0 {
                                assert!(set.contains(&(asked % there)), "lost one of {there}");
                                let mut found = [false; 2];
                                set.contains_batch(&[asked % there, asked], &mut found);
                                assert!(found[0], "lost one of {there}");
                            }
                            let absent = 1 << 60 | thread << 50 | asked;
                            if set.contains(&absent) {
                                assert!(!set.contains_exactly(&absent).unwrap());
                            }
                            asked += 1;
                        }
                    })
                })
                .collect();
            let writers: Vec<_> = (0..2u64)
                .map(|thread| {
                    let set = &set;
                    scope.spawn(move || {
                        for round in 0..6u64 {
                            let own = |i: u64| 1 << 61 | thread << 50 | round << 40 | i;
                            for i in 0..1_000 {
                                assert!(set.insert(&own(i)).unwrap());
                                assert!(set.contains(&own(i)));
                            }
                            for i in 0..1_000 {
                                assert!(set.contains_exactly(&own(i)).unwrap());
                                assert!(set.remove(&own(i)).unwrap());
                            }
                            if round % 3 == thread {
                                set.shrink_to_fit().unwrap();
                            }
                        }
                    })
                })
                .collect();
            for i in 0..3_000 {
                assert!(set.insert(&i).unwrap());
                stayed.store(i + 1, Ordering::Release);
            }
            writers.into_iter().for_each(|writer| writer.join().unwrap());
            stop.store(true, Ordering::Relaxed);
            readers.into_iter().for_each(|reader| reader.join().unwrap());
        });
        set.validate().unwrap();
        assert_eq!(set.len(), 3_000);
    }
}

/// Every shard would be in an epoch of its own, and nobody who asks without its lock would know which.
#[test]
fn a_shared_filter_does_not_rotate() {
    let error = AdaptiveFilter::builder().rotate_at(10_000).build_shared().unwrap_err();
    assert!(matches!(error, twiceshy::error::BuildError::Contradiction { .. }), "{error}");
    AdaptiveSet::builder().rotate_at(10_000).build_shared_set(|_| MemoryMap::new()).unwrap_err();
}
