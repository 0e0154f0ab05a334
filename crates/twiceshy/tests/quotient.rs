//! The quotient filter from outside: counts, sizes, merges and bulk loads. What it shares with all filters are laws, in
//! `src/filter/tests/laws/`.

use proptest::collection::vec;
use proptest::prelude::*;
use twiceshy::error::{BuildError, BulkError, MergeError};
use twiceshy::hash::HashKey;
use twiceshy::{Hasher, QuotientFilter};

fn filter(quotient_bits: u32, remainder_bits: u32) -> QuotientFilter {
    QuotientFilter::builder()
        .quotient_bits(quotient_bits)
        .remainder_bits(remainder_bits)
        .hasher(Hasher::fast())
        .build()
        .unwrap()
}

/// Few different keys, so that copies and shared quotients are common.
fn keys() -> impl Strategy<Value = Vec<u16>> {
    vec(0u16..400, 0..300)
}

fn with(mut filter: QuotientFilter, keys: &[u16]) -> QuotientFilter {
    filter.insert_batch(keys).unwrap();
    filter
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn a_count_is_never_too_small(keys in keys(), remainder_bits in 1u32..50) {
        let filter = with(filter(10, remainder_bits), &keys);
        for key in &keys {
            prop_assert!(filter.count(key) >= keys.iter().filter(|other| *other == key).count() as u64);
        }
        prop_assert_eq!(filter.len(), keys.len() as u64);
    }

    #[test]
    fn loading_sorted_hashes_is_inserting_keys(keys in keys()) {
        let inserted = with(filter(10, 6), &keys);
        let builder = QuotientFilter::builder().quotient_bits(10).remainder_bits(6).hasher(Hasher::fast());
        let mut hashes: Vec<u64> = keys.iter().map(|key| Hasher::fast().hash(key)).collect();
        hashes.sort_unstable();
        prop_assert_eq!(builder.from_sorted_hashes(hashes).unwrap().to_bytes(), inserted.to_bytes());
    }

    #[test]
    fn growing_and_shrinking_change_no_fingerprint(keys in keys(), steps in vec(any::<bool>(), 0..8)) {
        let original = with(filter(9, 20), &keys);
        let mut resized = original.clone();
        for grow in steps {
            if grow { resized.grow().unwrap() } else { resized.shrink_to_fit().unwrap() }
            prop_assert!(resized.iter().eq(original.iter()));
            prop_assert_eq!(resized.fingerprint_bits(), original.fingerprint_bits());
            prop_assert_eq!(resized.len(), original.len());
        }
    }

    #[test]
    fn merging_many_is_inserting_all(a in keys(), b in keys(), c in keys()) {
        let parts = [&a, &b, &c].map(|keys| with(filter(11, 6), keys));
        let all = with(filter(11, 6), &[a, b, c].concat());
        let mut merged = parts[0].clone();
        merged.merge_from(&parts[1]).unwrap();
        merged.merge_from(&parts[2]).unwrap();
        prop_assert_eq!(merged.to_bytes(), all.to_bytes());
        let together = QuotientFilter::merge(&parts).unwrap();
        prop_assert!(together.iter().eq(all.iter()));
        prop_assert_eq!(together.len(), all.len());
    }

    #[test]
    fn merging_different_widths_keeps_every_key(
        a in keys(), b in keys(), q in 9u32..12, r in 3u32..20, other_q in 9u32..12, other_r in 3u32..20,
    ) {
        let (one, other) = (with(filter(q, r), &a), with(filter(other_q, other_r), &b));
        let bits = one.fingerprint_bits().min(other.fingerprint_bits());
        let mut results = vec![QuotientFilter::merge([&one, &other]).unwrap()];
        let mut mine = one.clone();
        match mine.merge_from(&other) {
            Ok(()) => results.push(mine),
            Err(MergeError::Full { .. } | MergeError::NotEnoughBits { .. }) => {
                prop_assert_eq!(mine.to_bytes(), one.to_bytes());
            }
            Err(error) => prop_assert!(false, "{}", error),
        }
        for merged in results {
            prop_assert_eq!(merged.fingerprint_bits(), bits);
            prop_assert_eq!(merged.len(), (a.len() + b.len()) as u64);
            for key in a.iter().chain(&b) {
                let copies = a.iter().chain(&b).filter(|other| *other == key).count() as u64;
                prop_assert!(merged.count(key) >= copies);
            }
        }
    }

    #[test]
    fn an_error_leaves_the_bytes_as_they_were(keys in vec(any::<u32>(), 0..300), copies in vec(1u64..9, 300)) {
        let mut filter = filter(7, 4);
        for (key, copies) in keys.iter().zip(copies) {
            let before = filter.to_bytes();
            if filter.insert_many(key, copies).is_err() {
                prop_assert_eq!(filter.to_bytes(), before);
            }
        }
        let before = filter.to_bytes();
        if filter.insert_batch(&keys).is_err() {
            prop_assert_eq!(filter.to_bytes(), before);
        }
    }

    #[test]
    fn a_growing_batch_that_fails_is_taken_back(keys in vec(any::<u64>(), 0..400)) {
        let mut filter = QuotientFilter::builder()
            .capacity(10).grow_to(200).error_rate(0.01).hasher(Hasher::fast()).build().unwrap();
        filter.insert_batch(&[1u64, 2, 3]).unwrap();
        let before = filter.to_bytes();
        match filter.insert_batch(&keys) {
            Ok(_) => prop_assert!(keys.iter().all(|key| filter.contains(key))),
            Err(_) => prop_assert_eq!(filter.to_bytes(), before),
        }
    }
}

#[test]
fn filters_with_different_hashes_do_not_merge() {
    let mut one = QuotientFilter::new(100, 0.01).unwrap();
    let other = QuotientFilter::new(100, 0.01).unwrap();
    let error = one.merge_from(&other).unwrap_err();
    assert!(matches!(error, MergeError::DifferentHash));
    assert!(error.to_string().contains("empty_like"), "the remedy is named: {error}");
    assert!(matches!(QuotientFilter::merge([&one, &other]), Err(MergeError::DifferentHash)));
    assert!(one.merge_from(&one.empty_like().unwrap()).is_ok());
    assert!(matches!(QuotientFilter::merge([] as [&QuotientFilter; 0]), Err(MergeError::Nothing)));
}

#[test]
fn a_merge_without_bits_says_so() {
    let mut wide = filter(12, 5);
    let mut narrow = filter(4, 5);
    wide.insert("a").unwrap();
    narrow.insert("b").unwrap();
    let before = wide.to_bytes();
    assert!(matches!(wide.merge_from(&narrow), Err(MergeError::NotEnoughBits { fingerprint_bits: 9, .. })));
    assert_eq!(wide.to_bytes(), before);
    let small = QuotientFilter::merge([&wide, &narrow]).unwrap();
    assert!(small.contains("a") && small.contains("b"));
    assert_eq!(small.fingerprint_bits(), 9);
}

#[test]
fn a_merge_finds_a_size_even_if_counts_take_more_slots() {
    let mut counts = filter(10, 50);
    for hash in 0..194u64 {
        counts.insert_hash_many(hash.wrapping_mul(0x9e37_79b9_7f4a_7c15), 1 << 55).unwrap();
    }
    let merged = QuotientFilter::merge([&counts, &filter(2, 14)]).unwrap();
    assert_eq!(merged.len(), 194 << 55);
    assert_eq!(merged.fingerprint_bits(), 16);
}

#[test]
fn many_filters_merge_at_once() {
    let parts: Vec<_> = (0..200u64)
        .map(|part| {
            let mut filter = filter(6, 24);
            for key in 0..40 {
                filter.insert(&(part % 50, key)).unwrap();
            }
            filter
        })
        .collect();
    let merged = QuotientFilter::merge(&parts).unwrap();
    assert_eq!(merged.len(), 8_000);
    for part in 0..50u64 {
        for key in 0..40 {
            assert!(merged.count(&(part, key)) >= 4);
        }
    }
    // Four copies take five slots each: the merged filter is larger than the sum, and found room.
    assert!(merged.used_slots() <= merged.capacity());
}

#[test]
fn a_billion_copies_of_one_key_take_a_few_slots() {
    let mut filter = QuotientFilter::builder().capacity(1000).remainder_bits(9).build().unwrap();
    filter.insert_many("popular", 1_000_000_000).unwrap();
    assert_eq!(filter.count("popular"), 1_000_000_000);
    assert_eq!(filter.len(), 1_000_000_000);
    assert_eq!(filter.distinct(), 1);
    assert_eq!(filter.used_slots(), 7);
    for _ in 0..1000 {
        filter.insert("popular").unwrap();
        assert!(filter.remove("popular"));
    }
    assert_eq!(filter.remove_many("popular", u64::MAX), 1_000_000_000);
    assert!(filter.is_empty());
    assert_eq!(filter.used_slots(), 0);
}

#[test]
fn a_tiny_filter_grows_for_one_large_count() {
    let builder =
        || QuotientFilter::builder().capacity(1).grow_to(500).error_rate(0.1).hasher(Hasher::fast());
    let mut filter = builder().build().unwrap();
    filter.insert_many("popular", 1 << 60).unwrap();
    assert_eq!(filter.count("popular"), 1 << 60);
    let mut merged = builder().build().unwrap();
    merged.merge_from(&filter).unwrap();
    assert_eq!(merged.count("popular"), 1 << 60);
    let loaded = builder().from_keys(std::iter::repeat_n("popular", 100_000)).unwrap();
    assert_eq!(loaded.count("popular"), 100_000);
}

#[test]
fn reserving_makes_the_room_even_if_counts_take_more_slots() {
    for remainder_bits in 3..12 {
        for additional in (100..1000).step_by(43) {
            let mut filter = filter(6, remainder_bits);
            filter.insert_hash_many(0, 10_344_644_715_844_964_183).unwrap();
            let before = filter.to_bytes();
            match filter.reserve(additional) {
                Ok(()) => assert!(filter.capacity() - filter.used_slots() >= additional, "{filter:?}"),
                Err(_) => assert_eq!(filter.to_bytes(), before),
            }
            assert_eq!(filter.count_hash(0), 10_344_644_715_844_964_183);
        }
    }
}

#[test]
fn shrinking_finds_the_smallest_size_at_once() {
    let mut filter = filter(8, 2);
    filter.insert_hash_many(0, u64::MAX).unwrap();
    filter.shrink_to_fit().unwrap();
    let bytes = filter.to_bytes();
    filter.shrink_to_fit().unwrap();
    assert_eq!(filter.to_bytes(), bytes);
    assert_eq!(filter.count_hash(0), u64::MAX);
}

#[test]
fn merging_a_damaged_view_makes_no_damaged_filter() {
    let empty = filter(3, 4);
    for bit in 0..8 * (empty.size_in_bytes() - 16) {
        for other in [None, Some(bit + 64)] {
            let mut bytes = empty.to_bytes();
            for bit in [Some(bit), other]
                .into_iter()
                .flatten()
                .filter(|bit| bit / 8 + 128 < bytes.len())
                .collect::<Vec<_>>()
            {
                bytes[128 + bit / 8] ^= 1 << (bit % 8);
            }
            let mut merged = empty.clone();
            if merged.merge_from(&QuotientFilter::view(&bytes).unwrap()).is_ok() {
                QuotientFilter::view(&merged.to_bytes()).unwrap().validate().unwrap();
            } else {
                assert_eq!(merged.to_bytes(), empty.to_bytes());
            }
        }
    }
}

#[test]
fn a_filter_holds_its_capacity_at_every_size() {
    for quotient_bits in 1..=16 {
        for seed in 0..40 {
            let mut filter = QuotientFilter::builder()
                .quotient_bits(quotient_bits)
                .remainder_bits(32)
                .hasher(Hasher::fast_with_seed(seed))
                .build()
                .unwrap();
            for key in 0..filter.capacity() {
                filter.insert(&key).unwrap_or_else(|error| panic!("2^{quotient_bits} seed {seed}: {error}"));
            }
            assert_eq!(filter.used_slots(), filter.capacity());
            assert!(filter.insert(&u64::MAX).is_err());
            if quotient_bits > 12 && seed > 2 {
                break;
            }
        }
    }
}

#[test]
fn growth_holds_every_key_and_the_rate() {
    let mut filter = QuotientFilter::builder()
        .capacity(10)
        .grow_to(200_000)
        .error_rate(0.01)
        .hasher(Hasher::keyed(HashKey::from_bytes([3; 16])))
        .build()
        .unwrap();
    let start = filter.size_in_bytes();
    let mut doublings = 0;
    for key in 0..200_000u64 {
        let bits = filter.quotient_bits();
        filter.insert(&key).unwrap();
        if filter.quotient_bits() != bits {
            doublings += 1;
            assert!((0..=key).all(|key| filter.contains(&key)), "lost a key when growing at {key}");
            assert!(filter.expected_error_rate() <= 0.01);
        }
    }
    assert!(doublings >= 12 && filter.size_in_bytes() > 1000 * start);
    assert!((0..200_000u64).all(|key| filter.contains(&key)));
    assert!(filter.expected_error_rate() <= 0.01);
}

#[test]
fn bulk_loading_needs_no_size_and_can_grow() {
    let filter = QuotientFilter::builder().error_rate(0.001).from_keys(0..10_000u64).unwrap();
    assert!((0..10_000u64).all(|key| filter.contains(&key)));
    assert!(filter.expected_error_rate() <= 0.001);

    let small = || QuotientFilter::builder().capacity(100).error_rate(0.001).hasher(Hasher::fast());
    assert!(matches!(small().from_keys(0..10_000u64), Err(BulkError::Full { .. })));
    let grown = small().grow_to(10_000).from_keys(0..10_000u64).unwrap();
    assert!((0..10_000u64).all(|key| grown.contains(&key)));
    assert!(grown.slots() >= 10_000);
    assert!(matches!(small().from_sorted_hashes([3, 5, 4]), Err(BulkError::Unsorted { index: 2 })));
    for copies in [1, 2, 3, 5, 1000] {
        for keys in [1, 2, 5, 300] {
            let repeated = (0..keys).flat_map(|key: u32| std::iter::repeat_n(key, copies));
            let filter = QuotientFilter::builder().from_keys(repeated).unwrap();
            assert!((0..keys).all(|key| filter.count(&key) >= copies as u64));
        }
    }
    assert!(small().from_keys([] as [u64; 0]).unwrap().is_empty());
    assert!(QuotientFilter::builder().from_keys([] as [u64; 0]).unwrap().is_empty());
}

#[test]
fn impossible_settings_are_named() {
    let build = |builder: twiceshy::quotient::Builder| builder.build().unwrap_err().to_string();
    let builder = QuotientFilter::builder;
    assert!(build(builder()).contains("capacity"));
    for rate in [0.0, 1.0, -0.5, f64::NAN, f64::INFINITY] {
        assert!(matches!(
            builder().capacity(10).error_rate(rate).build(),
            Err(BuildError::ErrorRate { found }) if found.to_bits() == rate.to_bits()
        ));
    }
    assert!(build(builder().capacity(10).quotient_bits(4)).contains("contradict"));
    assert!(build(builder().capacity(10).error_rate(0.1).remainder_bits(4)).contains("contradict"));
    assert!(build(builder().quotient_bits(0).remainder_bits(4)).contains("1..=48"));
    assert!(build(builder().quotient_bits(49).remainder_bits(4)).contains("49"));
    assert!(build(builder().quotient_bits(4).remainder_bits(0)).contains("remainder_bits"));
    assert!(build(builder().quotient_bits(4).remainder_bits(61)).contains("65 bits"));
    assert!(build(builder().capacity(u64::MAX)).contains("capacity"));
    assert!(build(builder().capacity(1 << 40).error_rate(1e-12)).contains("64"));
    assert!(build(builder().quotient_bits(4).remainder_bits(4).grow_to(1 << 20)).contains("remainder_bits"));
    for rate in [1e-20, 1e-300, 1e-310, f64::from_bits(1)] {
        assert!(build(builder().capacity(1000).error_rate(rate)).contains("the hash has 64"));
    }
    assert!(build(builder().quotient_bits(47).remainder_bits(16)).contains("cannot allocate"));
    assert!(builder().capacity(0).build().is_ok());
    assert!(builder().capacity(10).error_rate(0.999).build().is_ok());
}

#[test]
fn errors_can_be_sent_and_shared() {
    fn check<T: Send + Sync + 'static>() {}
    check::<twiceshy::error::InsertError>();
    check::<MergeError>();
    check::<twiceshy::error::ReadError>();
}
