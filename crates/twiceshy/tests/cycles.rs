//! What filters cost after many cycles of growing, removing, shrinking, rejuvenating and merging: no more than after the
//! first. A length or a size that is kept, rounded up and kept again would show here.
//!
//! `cargo test -p twiceshy --test cycles -- --nocapture` prints the figures.
#![allow(clippy::print_stdout, reason = "figures for people who ask for them")]

use twiceshy::expandable::Mode;
use twiceshy::{ExpandableFilter, Hasher, QuotientFilter};

const CYCLES: usize = 12;

/// Bits per key and the error rate, at the end of a cycle.
type Cost = (f64, f64);

/// Expects that no cycle costs more than the first two, but for chance: different keys need a little more or less.
fn assert_no_creep(what: &str, costs: &[Cost]) {
    let text: Vec<_> = costs.iter().map(|(bits, rate)| format!("{bits:.2} ({rate:.5})")).collect();
    println!("{what}: bits per key (error rate) after each cycle: {}", text.join(", "));
    let most = |costs: &[Cost]| {
        costs.iter().fold((0f64, 0f64), |most, cost| (most.0.max(cost.0), most.1.max(cost.1)))
    };
    let (first, later) = costs.split_at(2);
    let (first, later) = (most(first), most(later));
    assert!(later.0 <= first.0 * 1.02 && later.1 <= first.1 * 1.25, "{what}: {text:?}");
}

/// How a filter gets smaller, if not by itself.
type Shrink = fn(&mut ExpandableFilter);

/// A cycle: many keys come, most of them go, some of the others get full length again, and those of another filter come.
/// `smaller` is called where the filter may get smaller.
fn cycle(filter: &mut ExpandableFilter, number: u64, smaller: Shrink) -> Cost {
    let first = number * 100_000;
    filter.extend(first..first + 20_000);
    for key in first + 500..first + 20_000 {
        assert!(filter.remove(&key));
    }
    smaller(filter);
    filter.rejuvenate_batch(&(first..first + 250).collect::<Vec<_>>()).unwrap();
    let mut other = filter.empty_like().unwrap();
    other.extend(first + 50_000..first + 53_000);
    for key in first + 50_500..first + 53_000 {
        assert!(other.remove(&key));
    }
    filter.merge_from(&other).unwrap();
    // What stays is as much after every cycle: a thousand keys.
    assert!((first..first + 500).chain(first + 50_000..first + 50_500).all(|key| filter.contains(&key)));
    if let Some(before) = number.checked_sub(1) {
        let first = before * 100_000;
        for key in (first..first + 500).chain(first + 50_000..first + 50_500) {
            assert!(filter.remove(&key));
        }
    }
    smaller(filter);
    assert_eq!(filter.len(), 1_000);
    (filter.size_in_bytes() as f64 * 8.0 / 1_000.0, filter.expected_error_rate())
}

#[test]
fn expandable_filters_do_not_creep_up() {
    for mode in [Mode::Growing, Mode::Chained] {
        for spread in [false, true] {
            let ways: [(&str, Shrink); 2] =
                [("by itself", |_| ()), ("to fit", |filter| filter.shrink_to_fit().unwrap())];
            for (name, smaller) in ways {
                let builder = ExpandableFilter::builder().mode(mode).error_rate(0.001).spread_growth(spread);
                let mut filter = builder.hasher(Hasher::fast()).build().unwrap();
                let costs: Vec<Cost> =
                    (0..CYCLES as u64).map(|number| cycle(&mut filter, number, smaller)).collect();
                assert_no_creep(&format!("expandable {mode:?}, spread {spread}, shrinks {name}"), &costs);
            }
        }
    }
}

#[test]
fn the_same_keys_do_not_creep_up_through_sizes_copies_and_merges() {
    for mode in [Mode::Growing, Mode::Chained] {
        let builder = ExpandableFilter::builder().mode(mode).error_rate(0.001).hasher(Hasher::fast());
        let mut filter = builder.build().unwrap();
        let kept: Vec<u32> = (0..1_000).collect();
        filter.extend(kept.iter().copied());
        let mut costs = Vec::new();
        for number in 0..CYCLES as u32 {
            // The same thousand keys all the time, and others that make the filter grow and shrink again.
            filter.extend(1_000_000..1_030_000u32);
            for key in 1_000_000..1_030_000u32 {
                assert!(filter.remove(&key));
            }
            if number % 2 == 0 {
                filter.rejuvenate_batch(&kept).unwrap();
            }
            let mut merged = filter.empty_like().unwrap();
            merged.merge_from(&filter).unwrap();
            filter = ExpandableFilter::from_bytes(&merged.to_bytes()).unwrap();
            filter.shrink_to_fit().unwrap();
            assert!(filter.len() == 1_000 && kept.iter().all(|key| filter.contains(key)));
            costs.push((filter.size_in_bytes() as f64 * 8.0 / 1_000.0, filter.expected_error_rate()));
        }
        assert_no_creep(&format!("expandable {mode:?}, the same keys"), &costs);
    }
}

#[test]
fn quotient_filters_do_not_creep_up() {
    let builder =
        || QuotientFilter::builder().capacity(50).grow_to(50_000).error_rate(0.001).hasher(Hasher::fast());
    let mut filter = builder().build().unwrap();
    let bits = filter.fingerprint_bits();
    let mut costs = Vec::new();
    for number in 0..CYCLES as u64 {
        let first = number * 100_000;
        filter.insert_batch(&(first..first + 20_000).collect::<Vec<_>>()).unwrap();
        for key in first + 500..first + 20_000 {
            assert!(filter.remove(&key));
        }
        filter.shrink_to_fit().unwrap();
        filter.grow().unwrap();
        filter.reserve(3_000).unwrap();
        let other = builder().from_keys(first + 50_000..first + 50_500).unwrap();
        filter.merge_from(&other).unwrap();
        if let Some(before) = number.checked_sub(1) {
            let first = before * 100_000;
            for key in (first..first + 500).chain(first + 50_000..first + 50_500) {
                assert!(filter.remove(&key));
            }
        }
        filter = QuotientFilter::merge([&filter, &filter.empty_like().unwrap()]).unwrap();
        filter.shrink_to_fit().unwrap();
        assert_eq!((filter.len(), filter.fingerprint_bits()), (1_000, bits));
        costs.push((filter.size_in_bytes() as f64 * 8.0 / 1_000.0, filter.expected_error_rate()));
    }
    assert_no_creep("quotient", &costs);
}
