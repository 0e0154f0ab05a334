//! The expandable filter from outside: its error rate at every size.

use twiceshy::expandable::Mode;
use twiceshy::hash::HashKey;
use twiceshy::{ExpandableFilter, Hasher, expandable};
use twiceshy_testkit::tolerance;

fn builder() -> expandable::Builder {
    ExpandableFilter::builder().hasher(Hasher::keyed(HashKey::from_bytes([5; 16])))
}

/// How many of `queries` absent keys a filter finds.
fn false_positives(filter: &ExpandableFilter, queries: u64) -> f64 {
    tolerance::absent(queries).filter(|key| filter.contains(key)).count() as f64
}

/// The ends of the phases, from 64 slots on.
fn phases(filter: &mut ExpandableFilter, most_log2: u32, check: impl Fn(&ExpandableFilter, u64)) {
    let mut keys = 0u64;
    while filter.slots() < 1 << most_log2 {
        let slots = filter.slots();
        while filter.slots() == slots {
            if filter.used_slots() >= filter.capacity() {
                check(filter, keys);
            }
            filter.insert(&keys).unwrap();
            keys += 1;
        }
    }
}

#[test]
fn a_growing_filter_keeps_its_rate_at_every_size() {
    for rate in [0.3, 0.05, 1.0 / 512.0] {
        for start in [3, 6, 12] {
            let mut filter = builder().error_rate(rate).quotient_bits(start).build().unwrap();
            phases(&mut filter, 18, |filter, keys| {
                let expected = filter.expected_error_rate();
                assert!(expected <= rate, "{keys} keys: {expected} expected, {rate} asked for");
                let queries = 20_000;
                let found = false_positives(filter, queries);
                let allowed = queries as f64 * expected + tolerance::of_count(queries as f64, expected);
                assert!(found <= allowed, "{keys} keys, rate {rate}: {found} > {allowed}");
            });
        }
    }
}

#[test]
fn a_growing_filter_keeps_its_rate_while_keys_come_and_go() {
    let rate = 0.02;
    let mut filter = builder().error_rate(rate).build().unwrap();
    let (mut oldest, mut next) = (0u64, 0u64);
    for (insert, remove) in [(50_000, 49_000), (3_000, 3_900), (100_000, 60_000), (0, 40_000), (80_000, 0)] {
        for _ in 0..insert {
            filter.insert(&next).unwrap();
            next += 1;
        }
        assert!(filter.expected_error_rate() <= rate);
        for _ in 0..remove {
            assert!(filter.remove(&oldest));
            oldest += 1;
        }
        assert!(filter.expected_error_rate() <= rate);
        assert!((oldest..next).all(|key| filter.contains(&key)));
        assert_eq!(filter.len(), next - oldest);
    }
}

#[test]
fn a_chained_filter_stays_below_the_model() {
    for bits in [4, 8, 12] {
        let mut filter = builder().mode(Mode::Chained).fingerprint_bits(bits).build().unwrap();
        phases(&mut filter, 17, |filter, keys| {
            // Equation 5 of the paper.
            let model = ((keys as f64).log2() + 2.0) * 0.5f64.powi(bits as i32 + 1) * 0.9;
            let queries = 20_000;
            let found = false_positives(filter, queries);
            let allowed = queries as f64 * model + tolerance::of_count(queries as f64, model.min(0.9));
            assert!(found <= allowed, "{keys} keys, {bits} bits: {found} > {allowed}");
        });
    }
}

#[test]
fn the_expected_rate_is_the_measured_one() {
    for (mode, rejuvenated) in [(Mode::Growing, 0), (Mode::Chained, 0), (Mode::Chained, 10_000)] {
        let mut filter = builder().mode(mode).fingerprint_bits(5).build().unwrap();
        filter.extend(0..20_000u64);
        let again: Vec<u64> = (0..rejuvenated).collect();
        filter.rejuvenate_batch(&again).unwrap();
        let (queries, rate) = (100_000.0, filter.expected_error_rate());
        let found = false_positives(&filter, queries as u64);
        // The sum counts fingerprints that cover each other twice, so it is an upper bound and nearly exact.
        let (low, high) = (queries * rate * 0.85 - tolerance::of_count(queries, rate), queries * rate);
        assert!(
            found >= low && found <= high + tolerance::of_count(queries, rate),
            "{mode:?}: {found}, {rate}"
        );
    }
}

#[test]
fn rejuvenation_lowers_the_rate() {
    let mut filter = builder().mode(Mode::Chained).fingerprint_bits(8).build().unwrap();
    filter.extend(0..50_000u64);
    let before = filter.expected_error_rate();
    let keys: Vec<u64> = (0..50_000).collect();
    assert!(filter.rejuvenate_batch(&keys).unwrap() > 20_000);
    let after = filter.expected_error_rate();
    assert!(after < before / 3.0, "{before} {after}");
    assert!(keys.iter().all(|key| filter.contains(key)));
    assert_eq!(filter.len(), 50_000);
}

#[test]
fn merging_old_and_young_large_and_small_loses_nothing() {
    for mode in [Mode::Growing, Mode::Chained] {
        let mut old = builder().mode(mode).fingerprint_bits(3).build().unwrap();
        old.extend(0..30_000u64);
        for key in 2_000..30_000u64 {
            assert!(old.remove(&key));
        }
        let mut large = old.empty_like().unwrap();
        large.extend(100_000..110_000u64);
        for (mut into, from) in [(old.clone(), &large), (large.clone(), &old)] {
            into.merge_from(from).unwrap();
            assert_eq!(into.len(), 12_000);
            assert!((0..2_000).chain(100_000..110_000u64).all(|key| into.contains(&key)));
            ExpandableFilter::from_bytes(&into.to_bytes()).unwrap();
            for key in (0..2_000).chain(100_000..110_000u64) {
                assert!(into.remove(&key));
            }
            assert!(into.is_empty());
        }
    }
}

#[test]
fn settings_that_make_no_sense_are_refused() {
    let refused = |builder: expandable::Builder| builder.build().expect_err("refused").to_string();
    assert!(refused(builder().error_rate(0.0)).contains("error rate"));
    assert!(refused(builder().error_rate(0.01).fingerprint_bits(9)).contains("contradict"));
    assert!(refused(builder().capacity(9).quotient_bits(9)).contains("contradict"));
    assert!(refused(builder().max_load(0.99)).contains("0.95"));
    assert!(refused(builder().fingerprint_bits(0)).contains("fingerprint_bits"));
    assert!(refused(builder().quotient_bits(60)).contains("quotient_bits"));
    assert!(refused(builder().error_rate(1e-40)).contains("bits"));
    assert!(refused(builder().capacity(u64::MAX)).contains("capacity"));
}

#[test]
fn a_table_that_cannot_be_had_is_an_error() {
    let error = builder().quotient_bits(45).build().expect_err("64 TiB");
    assert!(error.to_string().contains("allocate"), "{error}");
}
