use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use twiceshy::quotient::Builder;
use twiceshy::{Hasher, QuotientFilter, SharedQuotientFilter};

use crate::numbers;

fn builder(quotient_bits: u32, remainder_bits: u32) -> Builder {
    QuotientFilter::builder()
        .quotient_bits(quotient_bits)
        .remainder_bits(remainder_bits)
        .hasher(Hasher::fast())
}

/// What is in it, put together, is a file that makes sense.
fn check(filter: &SharedQuotientFilter) {
    let joined = filter.to_filter().unwrap();
    let read = QuotientFilter::from_bytes(&joined.to_bytes()).unwrap();
    assert!(read.iter().eq(filter.iter()));
    assert_eq!((read.len(), read.distinct()), (filter.len(), filter.distinct()));
}

#[test]
fn a_shared_filter_says_what_one_says_that_is_not() {
    for (bits, remainder_bits) in [(0, 5), (2, 1), (3, 5), (4, 12)] {
        let mut plain = builder(9, remainder_bits).build().unwrap();
        let shared = SharedQuotientFilter::from_filter(&plain, 1 << bits).unwrap();
        // Few different hashes, so that all is there that can be.
        let universe: Vec<u64> = numbers(bits as u64).take(300).collect();
        for (step, number) in numbers(7).take(6_000).enumerate() {
            let hash = universe[(number % 300) as usize];
            if number >> 40 & 3 == 0 {
                assert_eq!(plain.remove_hash(hash), shared.remove_hash(hash), "step {step}");
            } else if plain.len() < 170 {
                assert_eq!(
                    plain.insert_hash(hash).unwrap(),
                    shared.insert_hash(hash).unwrap(),
                    "step {step}"
                );
            }
            assert_eq!(plain.contains_hash(number), shared.contains_hash(number));
            if step % 50 == 0 {
                let mut found = vec![false; universe.len()];
                shared.contains_hash_batch(&universe, &mut found);
                for (&hash, found) in universe.iter().zip(found) {
                    assert_eq!(plain.contains_hash(hash), shared.contains_hash(hash), "step {step}");
                    assert_eq!(plain.count_hash(hash), shared.count_hash(hash), "step {step}");
                    assert_eq!(plain.contains_hash(hash), found, "step {step}");
                }
                assert!(plain.iter().eq(shared.iter()), "step {step}");
                assert_eq!((plain.len(), plain.distinct()), (shared.len(), shared.distinct()));
                if number % 3 == 0 {
                    shared.shrink_to_fit().unwrap();
                }
            }
        }
        let joined = shared.to_filter().unwrap();
        assert!(joined.iter().eq(plain.iter()));
        let again = SharedQuotientFilter::from_filter(&joined, 1 << bits).unwrap();
        assert!(again.iter().eq(plain.iter()));
        // With single bits there is nothing that a fuller shard could grow with.
        if remainder_bits > 1 {
            shared.merge_from(&plain).unwrap();
            plain.merge_from(&joined).unwrap();
            assert!(shared.iter().eq(plain.iter()));
        }
        shared.clear();
        assert!(shared.is_empty() && shared.iter().next().is_none());
    }
}

#[test]
fn a_filter_that_is_split_and_joined_has_the_same_bytes() {
    let mut plain = builder(10, 9).build().unwrap();
    numbers(1).take(900).for_each(|hash| assert!(plain.insert_hash(hash).is_ok()));
    for bits in 0..8 {
        let joined = SharedQuotientFilter::from_filter(&plain, 1 << bits).unwrap().to_filter().unwrap();
        assert_eq!(joined.to_bytes(), plain.to_bytes(), "2^{bits} shards");
    }
}

#[test]
fn all_keys_that_were_planned_for_fit_and_not_many_more() {
    let filter = builder(10, 12).shards(32).build_shared().unwrap();
    let mut inserted = 0;
    for hash in numbers(3).take(4_000) {
        match filter.insert_hash(hash) {
            Ok(_) => inserted += 1,
            Err(error) => assert!(error.to_string().contains("full"), "{error}"),
        }
        assert_eq!(filter.len(), inserted);
    }
    assert!(filter.capacity() <= inserted && inserted < 2 * filter.capacity(), "{inserted}");
    check(&filter);
}

#[test]
fn growing_and_shrinking_for_ever_takes_no_more_memory() {
    let filter = builder(6, 20).grow_to(20_000).shards(8).build_shared().unwrap();
    let mut most = 0;
    for round in 0..20 {
        let hashes: Vec<u64> = numbers(round).take(15_000).collect();
        hashes.iter().for_each(|&hash| assert!(filter.insert_hash(hash).is_ok()));
        assert!(hashes.iter().all(|&hash| filter.contains_hash(hash)));
        hashes.iter().for_each(|&hash| assert!(filter.remove_hash(hash)));
        assert!(filter.is_empty());
        filter.shrink_to_fit().unwrap();
        if round == 2 {
            most = filter.reserved_bytes();
        }
    }
    assert!(filter.reserved_bytes() <= most + most / 4, "{most} and {}", filter.reserved_bytes());
}

/// Threads insert, remove, ask and shrink, each with keys of its own, and every answer is checked: a key that a thread has
/// inserted and not removed is there. Keys that stay are asked for by all.
#[test]
fn many_threads_lose_nothing() {
    for (bits, remainder_bits) in [(0, 22), (1, 22), (4, 18)] {
        let plan = builder(6, remainder_bits).grow_to(100_000).build().unwrap();
        let filter = SharedQuotientFilter::from_filter(&plan, 1 << bits).unwrap();
        let (stop, stayed) = (AtomicBool::new(false), AtomicU64::new(0));
        let staying = |i: u64| i.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        std::thread::scope(|scope| {
            let readers: Vec<_> = (0..2)
                .map(|_| {
                    scope.spawn(|| {
                        let mut asked = 0u64;
                        while !stop.load(Ordering::Relaxed) {
                            let there = stayed.load(Ordering::Acquire);
                            if there > 0 {
                                let hash = staying(asked % there);
                                assert!(filter.contains_hash(hash), "lost one of {there}");
                                let mut found = [false; 3];
                                filter.contains_hash_batch(&[hash, asked, hash], &mut found);
                                assert!(found[0] && found[2], "lost one of {there}");
                            }
                            asked = asked.wrapping_add(1);
                        }
                    })
                })
                .collect();
            let writers: Vec<_> = (0..2u64)
                .map(|thread| {
                    let filter = &filter;
                    scope.spawn(move || {
                        for round in 0..10 {
                            let own: Vec<u64> = numbers(thread << 32 | round << 8).take(2_000).collect();
                            for &hash in &own {
                                filter.insert_hash(hash).unwrap();
                                assert!(filter.contains_hash(hash));
                            }
                            assert!(own.iter().all(|&hash| filter.contains_hash(hash)));
                            own.iter().for_each(|&hash| assert!(filter.remove_hash(hash)));
                            if round % 3 == thread {
                                filter.shrink_to_fit().unwrap();
                            }
                        }
                    })
                })
                .collect();
            for i in 0..5_000 {
                filter.insert_hash(staying(i)).unwrap();
                stayed.store(i + 1, Ordering::Release);
            }
            writers.into_iter().for_each(|writer| writer.join().unwrap());
            stop.store(true, Ordering::Relaxed);
            readers.into_iter().for_each(|reader| reader.join().unwrap());
        });
        check(&filter);
        assert_eq!(filter.len(), 5_000);
    }
}
