//! The filter against a map from fingerprints to counts, after every operation.
//!
//! Tiny tables, hashes with few different bits and small internal limits make every rare path common.

use twiceshy_testkit::weak::SPREADS;
use twiceshy_testkit::{Multiset, Random, mix};

use super::*;
use crate::error::MergeError;
use crate::mem::scarce::until_enough;

#[derive(Clone)]
struct Pair {
    filter: QuotientFilter,
    model: Multiset<u64>,
}

impl Pair {
    fn new(quotient_bits: u32, remainder_bits: u32, limits: (u8, u32)) -> Self {
        let filter = QuotientFilter::builder()
            .quotient_bits(quotient_bits)
            .remainder_bits(remainder_bits)
            .hasher(Hasher::fast())
            .limits(limits.0, limits.1)
            .build()
            .unwrap();
        Self { filter, model: Multiset::new() }
    }

    fn fingerprint(&self, hash: u64) -> u64 {
        hash >> (64 - self.filter.fingerprint_bits())
    }

    /// Everything that can be asked, against the model.
    fn check(&self, hashes: &[u64], context: &str) {
        let Self { filter, model } = self;
        filter.validate().unwrap_or_else(|what| panic!("{context}: {what}"));
        assert_eq!(filter.len(), model.total(), "{context}: len");
        assert_eq!(filter.distinct(), model.distinct(), "{context}: distinct");
        assert_eq!(filter.is_empty(), model.is_empty(), "{context}");
        assert!(filter.used_slots() <= filter.capacity(), "{context}: too full");
        assert!(filter.longest_cluster() <= filter.used_slots(), "{context}");
        let entries = filter.iter().map(|entry| (entry.fingerprint, entry.count));
        assert!(entries.eq(model.iter().map(|(&f, c)| (f, c))), "{context}: iteration");
        let mut found = vec![false; hashes.len()];
        filter.contains_hash_batch(hashes, &mut found);
        for (&hash, found) in hashes.iter().zip(found) {
            let count = model.count(&self.fingerprint(hash));
            assert_eq!(filter.count_hash(hash), count, "{context}: count of {hash:#x}");
            assert_eq!(filter.contains_hash(hash), count > 0, "{context}: contains {hash:#x}");
            assert_eq!(found, count > 0, "{context}: batch {hash:#x}");
        }
    }

    /// The same contents, loaded in order: equal bytes.
    fn check_bytes(&self, context: &str) {
        let shape = *self.filter.table.shape();
        let entries = self.model.iter().map(|(&fingerprint, count)| Fingerprint { fingerprint, count });
        let loaded = fill::fill(shape, shape.quotient_bits(), entries);
        let Ok((table, _)) = loaded else { panic!("{context}: does not fit when loaded") };
        assert!(table.bytes() == self.filter.table.bytes(), "{context}: bytes depend on history");
    }
}

fn state(filter: &QuotientFilter) -> Vec<u8> {
    filter.to_bytes()
}

/// One random operation on both; errors must change nothing.
fn step(pair: &mut Pair, random: &mut Random, hashes: &[u64], context: &str) {
    let hash = random.pick(hashes);
    let fingerprint = pair.fingerprint(hash);
    let before = state(&pair.filter);
    let unchanged =
        |filter: &QuotientFilter| assert!(state(filter) == before, "{context}: an error changed bytes");
    match random.below(40) {
        0..=15 => match pair.filter.insert_hash(hash) {
            Ok(new) => {
                let count = pair.model.add(fingerprint, 1);
                assert_eq!(new, count == 1, "{context}");
            }
            Err(error) => {
                assert!(matches!(error, InsertError::Full { .. }), "{context}: {error}");
                unchanged(&pair.filter);
            }
        },
        16..=19 => {
            let copies = [0, 1, 2, 3, 5, 100, 1 << 20, 1 << 40][random.below(8) as usize];
            match pair.filter.insert_hash_many(hash, copies) {
                Ok(_) => {
                    pair.model.add(fingerprint, copies);
                }
                Err(_) => unchanged(&pair.filter),
            }
        }
        20..=29 => {
            let copies = [1, 1, 1, 1, 2, 3, 50, u64::MAX][random.below(8) as usize];
            let removed = match copies {
                1 => u64::from(pair.filter.remove_hash(hash)),
                _ => pair.filter.remove_hash_many(hash, copies),
            };
            assert_eq!(removed, pair.model.take(&fingerprint, copies), "{context}");
        }
        30..=31 => {
            let batch: Vec<u64> = (0..random.below(50)).map(|_| random.pick(hashes)).collect();
            match pair.filter.insert_hash_batch(&batch) {
                Ok(new) => {
                    let known = pair.model.distinct();
                    for &hash in &batch {
                        pair.model.add(pair.fingerprint(hash), 1);
                    }
                    assert_eq!(new, pair.model.distinct() - known, "{context}");
                }
                Err(_) => unchanged(&pair.filter),
            }
        }
        32 => match pair.filter.grow() {
            Ok(()) => {}
            Err(_) => unchanged(&pair.filter),
        },
        33 => match pair.filter.shrink_to_fit() {
            Ok(()) => {}
            Err(_) => unchanged(&pair.filter),
        },
        34 => match pair.filter.reserve(random.below(100)) {
            Ok(()) => {}
            Err(_) => unchanged(&pair.filter),
        },
        35..=36 => {
            let mut other = pair.filter.empty_like().unwrap();
            let mut added = Vec::new();
            for _ in 0..random.below(30) {
                let hash = random.pick(hashes);
                if other.insert_hash(hash).is_ok() {
                    added.push(pair.fingerprint(hash));
                }
            }
            match pair.filter.merge_from(&other) {
                Ok(()) => pair.model.extend(added.into_iter().map(|fingerprint| (fingerprint, 1))),
                Err(error) => {
                    assert!(matches!(error, MergeError::Full { .. }), "{context}: {error}");
                    unchanged(&pair.filter);
                }
            }
        }
        37 => pair.filter = QuotientFilter::from_bytes(&before).unwrap(),
        38 => pair.filter = pair.filter.clone(),
        _ => {
            if random.below(10) == 0 {
                pair.filter.clear();
                pair.model.clear();
            }
        }
    }
}

fn drive(quotient_bits: u32, remainder_bits: u32, limits: (u8, u32), steps: u32) {
    for (seed, (name, spread)) in SPREADS.iter().enumerate() {
        let mut random = Random(seed as u64 + u64::from(remainder_bits) * 100);
        let hashes: Vec<u64> = (0..200).map(|_| spread(random.next())).collect();
        let mut pair = Pair::new(quotient_bits, remainder_bits, limits);
        for number in 0..steps {
            let context = format!("q {quotient_bits} r {remainder_bits} {limits:?} {name} step {number}");
            step(&mut pair, &mut random, &hashes, &context);
            pair.check(&hashes, &context);
            pair.check_bytes(&context);
        }
    }
}

/// Carries out an operation with no memory, a little, and so on, until it works or fails for another reason. Tells how
/// often memory ran out.
fn run_out<T, E: std::error::Error>(
    filter: &mut QuotientFilter,
    operation: impl Fn(&mut QuotientFilter) -> Result<T, E>,
) -> u64 {
    let before = state(filter);
    let (_, failures) = until_enough(filter, operation, |filter| {
        filter.validate().unwrap();
        state(filter) == before
    });
    filter.validate().unwrap();
    failures
}

#[test]
fn memory_that_runs_out_at_any_allocation_leaves_the_filter_as_it_was() {
    let mut failures = [0; 5];
    for (seed, (_, spread)) in SPREADS.iter().enumerate() {
        let mut random = Random(seed as u64);
        let builder = QuotientFilter::builder().capacity(8).error_rate(0.01).grow_to(500);
        let mut filter = builder.hasher(Hasher::fast()).build().unwrap();
        for _ in 0..300 {
            let hash = spread(random.next());
            match random.below(20) {
                0..=9 => failures[0] += run_out(&mut filter, |filter| filter.insert_hash(hash)),
                10..=12 => {
                    let batch: Vec<u64> = (0..random.below(20)).map(|_| spread(random.next())).collect();
                    failures[1] += run_out(&mut filter, |filter| filter.insert_hash_batch(&batch));
                }
                13..=14 => failures[2] += run_out(&mut filter, |filter| filter.reserve(100)),
                15..=16 => failures[3] += run_out(&mut filter, QuotientFilter::shrink_to_fit),
                17..=18 => {
                    let mut other = filter.empty_like().unwrap();
                    for _ in 0..random.below(20) {
                        let _ = other.insert_hash(spread(random.next()));
                    }
                    failures[4] += run_out(&mut filter, |filter| filter.merge_from(&other));
                }
                _ => filter.clear(),
            }
        }
    }
    assert!(failures.iter().all(|&count| count > 10), "{failures:?}");
}

#[test]
fn every_operation_agrees_with_the_model_at_every_width() {
    for remainder_bits in 1..=60 {
        drive(4, remainder_bits, (3, 40), 60);
    }
    for remainder_bits in [1, 2, 3, 5, 9, 30, 56, 57] {
        drive(7, remainder_bits, (2, 20), 200);
    }
}

#[test]
fn every_operation_agrees_with_the_model_for_small_limits() {
    for offset_max in [1, 3, 63, 64, 255] {
        for spill in [1, 7, 64, 200] {
            drive(6, 4, (offset_max, spill), 100);
            drive(8, 3, (offset_max, spill), 100);
        }
    }
}

#[test]
fn all_histories_of_four_fingerprints() {
    // Every sequence of up to 6 inserts and removals of 4 fingerprints, two of which share a quotient;
    // then every filter that came out is merged with every other of a sample.
    let hashes = [0, 1 << 62, 1 << 63, 3 << 62].map(|hash: u64| hash | 1 << 61);
    let mut level = vec![Pair::new(2, 1, (1, 3))];
    for depth in 0..6 {
        let mut next = Vec::new();
        for pair in &level {
            for &hash in &hashes {
                let fingerprint = pair.fingerprint(hash);
                let mut more = pair.clone();
                if more.filter.insert_hash(hash).is_ok() {
                    more.model.add(fingerprint, 1);
                }
                more.check(&hashes, "exhaustive insert");
                more.check_bytes("exhaustive insert");
                next.push(more);
                let mut less = pair.clone();
                if less.filter.remove_hash(hash) {
                    assert_eq!(less.model.take(&fingerprint, 1), 1, "it was there");
                }
                less.check(&hashes, "exhaustive removal");
                less.check_bytes("exhaustive removal");
                next.push(less);
            }
        }
        // Equal contents are equal bytes, so equal states continue as one.
        next.sort_by_key(|pair| state(&pair.filter));
        next.dedup_by_key(|pair| state(&pair.filter));
        level = next;
        assert!(!level.is_empty(), "depth {depth}");
    }
    assert!(level.len() > 20, "{}", level.len());
    for one in &level {
        for other in &level {
            let mut merged = one.clone();
            if merged.filter.merge_from(&other.filter).is_ok() {
                merged.model.extend(other.model.clone());
            }
            merged.check(&hashes, "exhaustive merge");
        }
    }
}

#[test]
fn a_full_spill_area_is_full_and_nothing_is_lost() {
    // All fingerprints belong to the last quotient: its block and the spill area fill up while the table is empty.
    let mut pair = Pair::new(8, 8, (255, 64));
    let hashes: Vec<u64> = (0..256u64).map(|remainder| 0xff << 56 | remainder << 48).collect();
    let mut refused = 0;
    for &hash in &hashes {
        match pair.filter.insert_hash(hash) {
            Ok(_) => {
                pair.model.add(pair.fingerprint(hash), 1);
            }
            Err(error) => {
                refused += 1;
                assert!(error.to_string().contains("full"), "{error}");
            }
        }
    }
    assert_eq!((pair.model.distinct(), pair.model.total()), (128, 128));
    assert_eq!(refused, 256 - 128);
    pair.check(&hashes, "full spill");
}

#[test]
fn bad_hashes_do_not_make_a_growing_filter_explode() {
    let mut filter = QuotientFilter::builder()
        .quotient_bits(10)
        .remainder_bits(40)
        .grow_to(1 << 40)
        .hasher(Hasher::fast())
        .build()
        .unwrap();
    let mut kept = Vec::new();
    for low in 0..5_000u64 {
        // The first 38 bits are equal.
        let hash = low << 14 | 3 << 62;
        if filter.insert_hash(hash).is_ok() {
            kept.push(hash);
        }
    }
    assert!(kept.len() > 100);
    assert!(filter.size_in_bytes() < 1 << 20, "{}", filter.size_in_bytes());
    assert!(kept.iter().all(|&hash| filter.contains_hash(hash)));
}

/// Nothing helps a crowd in a table that may not grow. Its work is borne, and counted anew: else every edit from then on
/// would fail at first, and be tried twice.
#[test]
fn work_that_must_be_borne_is_counted_anew() {
    let mut filter = Pair::new(13, 9, (255, 4096)).filter;
    let mut turns = 0;
    for i in (0..5_000u64).rev() {
        let before = filter.table.crowd_work();
        // Descending, in the first quarter of all hashes.
        filter.insert_hash(i * ((1 << 62) / 5_000)).unwrap();
        let work = filter.table.crowd_work();
        assert!(work <= 3 * filter.slots(), "{work}, {i} keys to come");
        turns += u32::from(work < before);
    }
    assert!(turns > 10, "{turns}");
    filter.validate().unwrap();
}

/// A filter that may have 64 times as many slots.
fn growing(quotient_bits: u32) -> QuotientFilter {
    let builder = QuotientFilter::builder().quotient_bits(quotient_bits).remainder_bits(16);
    builder.grow_to(32 << quotient_bits).hasher(Hasher::fast()).build().unwrap()
}

/// In a table that is nearly full, edits reach far now and then. That is no crowd, however long it goes on.
#[test]
fn hashes_in_no_order_never_make_a_filter_grow_early() {
    for (quotient_bits, turns) in [(6, 20_000), (8, 40_000), (10, 80_000), (13, 200_000), (16, 300_000)] {
        for percent in [80, 90, 94] {
            let mut filter = growing(quotient_bits);
            let slots = filter.slots();
            let keys = slots * percent / 100 - 1;
            for i in 0..turns {
                filter.insert_hash(mix(i)).unwrap();
                if i >= keys {
                    assert!(filter.remove_hash(mix(i - keys)));
                }
            }
            assert_eq!(filter.slots(), slots, "{quotient_bits} quotient bits, {percent} %");
        }
    }
}

/// Whoever copies several sets into one gives their keys list by list, each in the order of hashes. Then a part of the
/// table is over full before the table is.
#[test]
fn sorted_lists_one_after_the_other_make_a_filter_grow_early() {
    let mut filter = growing(16);
    let slots = filter.slots();
    let mut grown_at = 0;
    for list in 0..10u64 {
        // Each list has 21 % of the slots, so that the fifth does not fit.
        let mut hashes: Vec<u64> = (0..slots * 21 / 100).map(|i| mix(list << 32 | i)).collect();
        hashes.sort_unstable();
        for hash in hashes {
            filter.insert_hash(hash).unwrap();
            if filter.slots() > slots && grown_at == 0 {
                grown_at = filter.used_slots() * 100 / slots;
            }
        }
    }
    assert!((84..=90).contains(&grown_at), "grown at {grown_at} %");
    filter.validate().unwrap();
}

/// Keys that come in order and go in order: every removal closes a gap over the whole crowd.
#[test]
fn a_window_that_slides_over_the_hashes_makes_a_filter_grow_early() {
    let mut filter = growing(14);
    let hashes: Vec<u64> = (0..200_000).map(|i| i * (u64::MAX / 220_000)).collect();
    // As many keys as half of the slots, in a twenty-seventh of them.
    let window = 8_000;
    let mut far = 0;
    for (i, &hash) in hashes.iter().enumerate() {
        filter.insert_hash(hash).unwrap();
        if i >= window {
            assert!(filter.remove_hash(hashes[i - window]));
        }
        if i % 100 == 0 {
            far += u32::from(filter.table.farthest_from_home() > 1_000);
        }
    }
    assert!(far < 200, "crowded {far} times of 2,000");
}

#[test]
fn counters_do_not_overflow() {
    let mut filter = Pair::new(6, 5, (255, 64)).filter;
    filter.insert_hash_many(0, u64::MAX - 1).unwrap();
    filter.insert_hash(1 << 63).unwrap();
    let before = state(&filter);
    assert!(matches!(filter.insert_hash(0), Err(InsertError::TooManyCopies)));
    assert!(matches!(filter.insert_hash_many(5 << 60, u64::MAX), Err(InsertError::TooManyCopies)));
    let other = filter.clone();
    assert!(matches!(filter.merge_from(&other), Err(MergeError::TooManyCopies)));
    assert!(matches!(QuotientFilter::merge([&filter, &other]), Err(MergeError::TooManyCopies)));
    assert!(state(&filter) == before);
    assert_eq!(filter.remove_hash_many(0, u64::MAX), u64::MAX - 1);
    assert_eq!(filter.len(), 1);
}

#[test]
fn a_small_filter_that_is_filled_in_order_is_hardly_ever_crowded() {
    for keys in [1_000, 3_000, 10_000u64] {
        let mut filter = QuotientFilter::builder().capacity(1).grow_to(keys).build().unwrap();
        let mut hashes: Vec<u64> = (0..keys).map(mix).collect();
        hashes.sort_unstable();
        let mut crowded = 0;
        for hash in hashes {
            filter.insert_hash(hash).unwrap();
            crowded += u64::from(filter.table.farthest_from_home() > 128);
        }
        assert!(crowded < keys / 8, "{keys} keys: {crowded} times");
    }
}

/// A larger table has narrower slots, and needs more of them for counts; and a merge may have cut fingerprints so short that
/// nothing would be left of them. (Fuzzing found that edits in a crowd were then refused, as if the table were full.)
#[test]
fn growth_that_does_not_help_is_no_reason_to_refuse() {
    // So many copies of fingerprints near the end of the table that each takes many slots.
    let cases = [
        (9, 10, vec![(896, u64::MAX >> 1), (902, 1 << 53), (933, 1 << 35), (974, u64::MAX >> 2)]),
        (
            8,
            9,
            vec![
                (847, 1 << 43),
                (852, 65_289),
                (856, 1 << 41),
                (901, 12_327_217_577_688_503_059),
                (959, 1 << 41),
            ],
        ),
    ];
    for (quotient_bits, may_grow_to, entries) in cases {
        let builder = QuotientFilter::builder().quotient_bits(quotient_bits);
        let mut filter = builder.remainder_bits(10 - quotient_bits).limits(7, 7).build().unwrap();
        filter.max_quotient_bits = may_grow_to;
        for (fingerprint, count) in entries {
            filter.insert_hash_many(fingerprint << 54, count).unwrap();
            assert_eq!(filter.count_hash(fingerprint << 54), count);
        }
    }
}
