//! The measured error rate is the promised one, within what chance allows.

use twiceshy::hash::HashKey;
use twiceshy::{Hasher, QuotientFilter};
use twiceshy_testkit::tolerance;

/// How many of `queries` absent keys a filter finds.
fn false_positives(filter: &QuotientFilter, queries: u64) -> f64 {
    tolerance::absent(queries).filter(|key| filter.contains(key)).count() as f64
}

fn hashers() -> [Hasher; 3] {
    [Hasher::keyed(HashKey::from_bytes([9; 16])), Hasher::fast(), Hasher::fast_with_seed(77)]
}

#[test]
fn the_expected_rate_is_the_measured_one_over_widths_and_loads() {
    for hasher in hashers() {
        for remainder_bits in [1, 2, 4, 7, 9, 12] {
            for percent in [10, 50, 90, 95] {
                let mut filter = QuotientFilter::builder()
                    .quotient_bits(14)
                    .remainder_bits(remainder_bits)
                    .hasher(hasher.clone())
                    .build()
                    .unwrap();
                let mut key = 0u64;
                while filter.used_slots() < filter.slots() * percent / 100 {
                    filter.insert(&key).unwrap();
                    key += 1;
                }
                let (queries, rate) = (200_000, filter.expected_error_rate());
                let found = false_positives(&filter, queries);
                let expected = queries as f64 * rate;
                assert!(
                    (found - expected).abs() <= tolerance::of_count(queries as f64, rate),
                    "{hasher:?} r {remainder_bits} load {percent} %: found {found}, expected {expected}"
                );
                assert!(rate <= 2f64.powi(-(remainder_bits as i32)));
            }
        }
    }
}

#[test]
fn the_rate_asked_for_holds_until_the_filter_is_full() {
    for rate in [0.3, 0.1, 0.01, 0.002, 0.0005] {
        for capacity in [900, 15_000] {
            let mut filter = QuotientFilter::builder()
                .capacity(capacity)
                .error_rate(rate)
                .hasher(Hasher::keyed(HashKey::from_bytes([1; 16])))
                .build()
                .unwrap();
            let mut key = 0u64;
            while filter.insert(&key).is_ok() {
                key += 1;
            }
            assert!(key >= capacity);
            assert!(filter.expected_error_rate() <= rate);
            let queries = 300_000;
            let found = false_positives(&filter, queries);
            let allowed = queries as f64 * rate + tolerance::of_count(queries as f64, rate);
            assert!(found <= allowed, "rate {rate} capacity {capacity}: {found} > {allowed}");
        }
    }
}

#[test]
fn the_rate_holds_at_every_size_of_a_growing_filter() {
    let mut filter = QuotientFilter::builder()
        .capacity(50)
        .grow_to(100_000)
        .error_rate(0.01)
        .hasher(Hasher::keyed(HashKey::from_bytes([2; 16])))
        .build()
        .unwrap();
    let mut size = filter.slots();
    for key in 0..100_000u64 {
        filter.insert(&key).unwrap();
        if filter.slots() != size || key == 99_999 {
            size = filter.slots();
            let found = false_positives(&filter, 50_000);
            assert!(found <= 500.0 + tolerance::of_count(50_000.0, 0.01), "{size} slots: {found}");
        }
    }
}
