//! An adversary who replays the false positives that were found (figure 6 of *Adaptive Quotient Filters*): counts of
//! engine lookups, which do not depend on the machine.

use crate::common::{key, stranger};
use twiceshy_store::AdaptiveStore;

const KEYS: u64 = 20_000;
const QUERIES: u64 = 40_000;
const RATE: f64 = 0.01;

/// Lookups of the engine per query, with these shares of queries that replay false positives.
fn lookups(store: &AdaptiveStore, shares: [f64; 4]) -> [f64; 4] {
    let rows: Vec<_> = (0..KEYS).map(|number| (key(number), number.to_string())).collect();
    rows.chunks(1_000).for_each(|rows| assert_eq!(store.insert_batch(rows).unwrap(), 1_000));
    let count = || store.stats().unwrap().engine_lookups;
    let mut found = Vec::new();
    for number in 0..QUERIES {
        let before = count();
        assert_eq!(store.get(&stranger(number)).unwrap(), None);
        if count() > before {
            found.push(stranger(number));
        }
    }
    assert!(!found.is_empty());
    let mut start = QUERIES;
    shares.map(|share| {
        let before = count();
        for number in 0..QUERIES {
            // Evenly spread, so that the share is exact.
            let replays = (number as f64 * share).floor() != ((number + 1) as f64 * share).floor();
            let query =
                if replays { found[number as usize % found.len()].clone() } else { stranger(start + number) };
            assert_eq!(store.get(&query).unwrap(), None);
        }
        start += QUERIES;
        (count() - before) as f64 / QUERIES as f64
    })
}

#[test]
fn an_adversary_gains_nothing() {
    let shares = [0.0, 0.01, 0.03, 0.1];
    let adaptive = lookups(&AdaptiveStore::builder().error_rate(RATE).in_memory().unwrap(), shares);
    // Five standard deviations of a rate of 1 % over 40,000 queries.
    let slack = 5.0 * (RATE / QUERIES as f64).sqrt();
    for found in adaptive {
        assert!(found <= RATE + slack, "{adaptive:?}");
    }
    assert!(adaptive[3] <= adaptive[0] + slack, "{adaptive:?}");
}

/// Filter bytes per key are those of the formula: slots of `w` bits, and for every quotient 3 bits and an eighth of one.
#[test]
fn the_filter_is_as_large_as_the_formula_says() {
    let store = AdaptiveStore::builder().error_rate(RATE).in_memory().unwrap();
    for number in 0..KEYS {
        store.insert(&key(number), "").unwrap();
    }
    let (slots, slot_bits) = store.with_filter(|filter| (filter.slots(), filter.slot_bits())).unwrap();
    let quotients = slots.next_power_of_two() as f64;
    let formula = (slots as f64 * f64::from(slot_bits) + quotients * 3.125) / 8.0;
    let bytes = store.stats().unwrap().filter_bytes as f64;
    // The spill area after the last slot.
    assert!(bytes >= formula && bytes < formula * 1.05 + 500.0, "{bytes} bytes, formula {formula}");
}
