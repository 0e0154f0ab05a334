//! Keys in the order of their hashes, backwards, and one range after the other, into filters that start small.
//!
//! No time is measured here. What took so long was work that grows with the contents for every single insert; the slots
//! that a table has while it fills tell whether it found its way in all orders, and nothing is refused.

use twiceshy::{ExpandableFilter, QuotientFilter};

use super::*;

const KEYS: u64 = 60_000;

/// Orders with a name, and how many times as many slots as usual a table may have in between.
fn orders() -> Vec<(&'static str, Vec<u64>, u64)> {
    let mut numbers = Numbers(71);
    let random: Vec<u64> = (0..KEYS).map(|_| member(&mut numbers)).collect();
    let hash = |key: &u64| hasher().hash(key);
    let mut ascending = random.clone();
    ascending.sort_by_key(hash);
    let descending: Vec<u64> = ascending.iter().rev().copied().collect();
    // One sixteenth of all hashes after the other, each in no order.
    let mut ranges = random.clone();
    ranges.sort_by_key(|key| hash(key) >> 60);
    let mut from_the_middle = ascending.clone();
    from_the_middle.rotate_left(KEYS as usize / 2 + 17);
    let (mut both_ends, mut inner) = (Vec::new(), ascending.iter());
    while let Some(&first) = inner.next() {
        both_ends.push(first);
        both_ends.extend(inner.next_back());
    }
    // What several threads do that copy a part of a set each.
    let part = KEYS as usize / 8;
    let eight_streams: Vec<u64> = (0..KEYS as usize).map(|i| ascending[i % 8 * part + i / 8]).collect();
    let mut nearly_ascending = ascending.clone();
    nearly_ascending.chunks_mut(300).for_each(|chunk| chunk.sort_unstable());
    let mut some_first = random[..100].to_vec();
    some_first.extend(ascending.iter().filter(|key| !random[..100].contains(key)));
    vec![
        ("in no order", random, 1),
        ("ascending", ascending, 4),
        ("eight streams, each ascending", eight_streams, 64),
        ("nearly ascending", nearly_ascending, 64),
        ("descending", descending, 64),
        ("one range after the other", ranges, 64),
        ("from the middle", from_the_middle, 2),
        ("from both ends", both_ends, 64),
        ("some, then ascending", some_first, 4),
    ]
}

#[test]
fn adaptive_sets_take_keys_in_any_order() {
    let mut end = None;
    for (name, keys, times) in orders() {
        let mut set = builder().build_set(MemoryMap::new()).unwrap();
        for (i, key) in (1u64..).zip(&keys) {
            assert!(set.insert(key).unwrap(), "{name}");
            let usual = (i * 2).next_power_of_two().max(64);
            assert!(
                set.filter().slots() <= 2 * times * usual,
                "{name}: {} slots for {i} keys",
                set.filter().slots()
            );
        }
        set.validate().unwrap_or_else(|what| panic!("{name}: {what}"));
        assert!(keys.iter().all(|key| set.contains(key)), "{name}");
        // Those that grew early may be some steps larger.
        let (slots, first) = (set.filter().slots(), *end.get_or_insert(set.filter().slots()));
        assert!((first..=first * 2).contains(&slots), "{name}: {slots} slots in the end, and {first} before");
    }
}

#[test]
fn quotient_filters_that_grow_take_keys_in_any_order() {
    for (name, keys, _) in orders() {
        let builder = QuotientFilter::builder().capacity(64).grow_to(KEYS).error_rate(0.001);
        let mut filter = builder.hasher(hasher()).build().unwrap();
        for key in &keys {
            filter.insert(key).unwrap_or_else(|error| panic!("{name}: {error}"));
        }
        assert!(keys.iter().all(|key| filter.contains(key)), "{name}");
        assert_eq!(filter.slots(), 1 << 16, "{name}");
        QuotientFilter::from_bytes(&filter.to_bytes()).unwrap();
    }
}

#[test]
fn expandable_filters_take_keys_in_any_order() {
    for spread in [false, true] {
        for (name, keys, _) in orders() {
            let builder = ExpandableFilter::builder().error_rate(0.001).spread_growth(spread);
            let mut filter = builder.hasher(hasher()).build().unwrap();
            for key in &keys {
                filter.insert(key).unwrap_or_else(|error| panic!("{name}: {error}"));
            }
            assert!(keys.iter().all(|key| filter.contains(key)), "{name}");
            ExpandableFilter::from_bytes(&filter.to_bytes()).unwrap();
            // And out again, in the same order: what remains is found all the time.
            for (i, key) in keys.iter().enumerate() {
                assert!(filter.remove(key), "{name}");
                if i % 1000 == 0 {
                    assert!(keys[i + 1..].iter().all(|key| filter.contains(key)), "{name}");
                }
            }
            assert_eq!(filter.len(), 0);
        }
    }
}
