//! Keys in orders that users have: ascending, descending, by their hashes, all in one place; and what they may not do.

use super::*;
use crate::error::{BulkError, InsertError, MergeError, ReadError};
use std::time::{Duration, Instant};

const KEYS: u64 = 60_000;

fn all_are_found(filter: &RangeFilter<u64>, keys: &[u64]) {
    filter.validate().unwrap();
    let mut found = vec![false; keys.len()];
    filter.contains_batch(keys, &mut found);
    assert!(found.iter().all(|found| *found));
    let (low, high) = (keys.iter().min().unwrap(), keys.iter().max().unwrap());
    assert!(filter.contains_range(..=*low) && filter.contains_range(*high..));
}

/// Ids that count up take a bit or two each, in any order.
#[test]
fn neighbouring_keys_take_few_bits_in_every_order() {
    let mut random = Random(1);
    let ascending: Vec<u64> = (1_000..1_000 + KEYS).collect();
    let descending = ascending.iter().rev().copied().collect();
    let mut any = ascending.clone();
    (1..any.len()).for_each(|i| any.swap(i, random.below(i as u64 + 1) as usize));
    let mut sizes = Vec::new();
    for keys in [ascending, descending, any] {
        let mut filter = RangeFilter::<u64>::new(0.001).unwrap();
        keys.iter().for_each(|key| assert!(filter.insert(key).is_ok()));
        all_are_found(&filter, &keys);
        assert!(!filter.contains_range(KEYS * 2..KEYS * 2 + 60) && !filter.contains_range(900..1_000));
        filter.shrink_to_fit().unwrap();
        sizes.push(filter.size_in_bytes() as f64 * 8.0 / KEYS as f64);
        keys.iter().for_each(|key| assert!(filter.remove(key)));
        assert!(filter.is_empty() && filter.used_slots() == 0);
    }
    assert!(sizes.iter().all(|bits| *bits < 3.0), "{sizes:?}");
}

/// Whoever copies a set inserts it in the order of hashes, or backwards. A small table that grows must not fill from its front.
#[test]
fn keys_in_the_order_of_their_hashes_do_not_take_longer() {
    let hasher = Hasher::fast();
    let empty = || RangeFilter::<u64>::builder().hasher(hasher.clone()).build().unwrap();
    let mut keys: Vec<u64> = (0..KEYS).map(|number| number.wrapping_mul(0x9e37_79b9_7f4a_7c15)).collect();
    let time = |keys: &[u64]| {
        let (mut filter, start) = (empty(), Instant::now());
        keys.iter().for_each(|key| assert!(filter.insert(key).is_ok()));
        let time = start.elapsed();
        all_are_found(&filter, keys);
        time
    };
    let usual = time(&keys);
    let twin = empty();
    keys.sort_by_key(|key| twin.partition_hash(key));
    let sorted = time(&keys);
    keys.reverse();
    let reversed = time(&keys);
    let most = 30 * usual + Duration::from_secs(2);
    assert!(sorted < most && reversed < most, "{usual:?}, {sorted:?}, {reversed:?}");
}

#[test]
fn a_million_copies_of_a_key_take_a_few_slots() {
    let mut filter =
        RangeFilter::<u64>::builder().quotient_bits(3).remainder_bits(5).growth(false).build().unwrap();
    for _ in 0..1_000_000 {
        assert!(filter.insert(&7).is_ok());
    }
    assert_eq!((filter.count(&7), filter.len()), (1_000_000, 1_000_000));
    assert!(filter.used_slots() <= 6, "{}", filter.used_slots());
    assert!(filter.insert(&8).unwrap() && filter.remove(&8));
    filter.validate().unwrap();
}

/// A batch grows the filter, and then there are more copies than can be counted: nothing of it is left.
#[test]
fn a_batch_that_fails_after_growth_leaves_no_trace() {
    let builder = RangeFilter::<u64>::builder().quotient_bits(4).remainder_bits(8).hasher(Hasher::fast());
    let mut filter = builder.build().unwrap();
    let layout = (*filter.boxes.table.shape(), filter.boxes.codec);
    let copies = Placed { place: (3, 200), suffix: 9, count: u64::MAX - 500 };
    filter.boxes = fill(layout, true, [Ok(copies)].into_iter()).unwrap();
    filter.len = filter.boxes.held;
    let before = filter.to_bytes();
    let keys: Vec<u64> = (0..501).map(|number| number * 1_000).collect();
    assert!(matches!(filter.insert_batch(&keys), Err(InsertError::TooManyCopies)));
    assert!(filter.to_bytes() == before);
    filter.insert_batch(&keys[..500]).unwrap();
    assert!(filter.quotient_bits() > 8 && filter.len() == u64::MAX);
    filter.validate().unwrap();
    let full = filter.to_bytes();
    assert!(matches!(filter.insert(&7), Err(InsertError::TooManyCopies)));
    assert!(matches!(filter.clone().merge_from(&filter), Err(MergeError::TooManyCopies)));
    assert!(filter.to_bytes() == full);
}

/// Everything in one quotient, and beyond what 64 bits of a hash tell apart.
#[test]
fn keys_that_hash_alike_find_room_or_an_error() {
    for word in [
        |_: &[u8], _| 0u64,
        |_: &[u8], _| u64::MAX,
        |key: &[u8], _| u64::from(key[0]) << 8 | u64::from(key[1]),
    ] {
        let mut filter =
            RangeFilter::<u64>::builder().max_range(16).hasher(Hasher::chosen(word)).build().unwrap();
        let keys: Vec<u64> = (0..20_000).map(|number| number * 37).collect();
        for key in &keys {
            filter.insert(key).unwrap();
        }
        all_are_found(&filter, &keys);
        assert!(filter.quotient_bits() <= 22, "{}", filter.quotient_bits());
    }
}

#[test]
fn the_size_that_was_promised() {
    let builder = RangeFilter::<u64>::builder().quotient_bits(18).remainder_bits(9).max_range(32);
    let mut filter = builder.clone().hasher(Hasher::fast()).build().unwrap();
    let keys: Vec<u64> =
        (0..(1 << 18) * 9 / 10).map(|n: u64| n.wrapping_mul(0x9e37_79b9_7f4a_7c15)).collect();
    filter.insert_batch(&keys).unwrap();
    let bits = filter.size_in_bytes() as f64 * 8.0 / keys.len() as f64;
    assert!(filter.quotient_bits() == 18 && bits <= 18.0, "{bits} bits per key");
    // The same keys at once are the same bytes.
    let loaded = builder.hasher(Hasher::fast()).from_keys(keys).unwrap();
    assert!(loaded.to_bytes() == filter.to_bytes());
}

#[test]
fn a_filter_that_may_not_grow_refuses_and_stays_as_it_was() {
    let builder = || RangeFilter::<u64>::builder().capacity(100).growth(false).hasher(Hasher::fast());
    let mut filter = builder().build().unwrap();
    let full = (0..).map(|number| number * 1_000).find(|key| filter.insert(key).is_err()).unwrap();
    assert!(filter.len() >= 100);
    let before = filter.to_bytes();
    assert!(matches!(filter.insert(&full), Err(InsertError::Full(_))));
    assert!(filter.insert_batch(&[1, 2, 3, 900_001, 900_500]).is_err());
    let mut other = filter.empty_like().unwrap();
    (0..50).for_each(|number| drop(other.insert(&(number * 777 + 1))));
    assert!(matches!(filter.merge_from(&other), Err(MergeError::Full { .. })));
    assert!(filter.to_bytes() == before);
    assert!(matches!(builder().from_keys((0..1_000).map(|n| n * 500)), Err(BulkError::Full { .. })));
    filter.grow().unwrap();
    filter.insert(&full).unwrap();
    filter.validate().unwrap();
}

#[test]
fn filters_that_have_nothing_in_common_are_told_apart() {
    let filter: RangeFilter<u64> = [1, 2, 3].into_iter().collect();
    let file = filter.to_bytes();
    let field = |error: ReadError| match error {
        ReadError::Field { field, .. } => field,
        other => panic!("{other}"),
    };
    assert_eq!(field(RangeFilter::<u32>::from_bytes(&file).unwrap_err()), "bits of codes");
    assert_eq!(field(RangeFilter::<i64>::from_bytes(&file).unwrap_err()), "type of keys");
    let mut short =
        RangeFilter::<u64>::builder().max_range(8).hasher(filter.hasher().clone()).build().unwrap();
    let error = short.merge_from(&filter).unwrap_err();
    assert!(matches!(error, MergeError::DifferentPartitions { ours: 8, theirs: 64 }));
    let mut stranger = RangeFilter::<u64>::new(0.01).unwrap();
    assert!(matches!(stranger.merge_from(&filter), Err(MergeError::DifferentHash)));
    let unsorted =
        RangeFilter::<u64>::builder().hasher(Hasher::fast()).from_sorted((0..1_000).map(|n| n * 99));
    assert!(matches!(unsorted, Err(BulkError::Unsorted { .. })));
}

#[test]
fn keys_of_every_type_have_ranges() {
    use std::net::Ipv4Addr;
    let mut names = RangeFilter::<str>::new(1e-6).unwrap();
    names.insert("moth").unwrap();
    assert!(names.contains("moth") && !names.contains("bat"));
    assert!(names.contains_range::<str, _>((Bound::Included("mote"), Bound::Excluded("moths"))));
    let mut found = [false; 2];
    names.contains_batch(&["moth".to_owned(), "cow".to_owned()], &mut found);
    assert_eq!(found, [true, false]);
    let mut owned = RangeFilter::<String>::new(1e-6).unwrap();
    owned.insert("moth").unwrap();
    assert!(owned.contains("moth") && owned.contains(&"moth".to_owned()));
    let filter: RangeFilter<Ipv4Addr> = [Ipv4Addr::new(10, 0, 0, 7)].into_iter().collect();
    assert!(filter.contains_range(Ipv4Addr::new(10, 0, 0, 0)..=Ipv4Addr::new(10, 0, 0, 63)));
    let mut ends = RangeFilter::<u128>::new(1e-6).unwrap();
    ends.insert(&u128::MAX).unwrap();
    ends.insert(&0).unwrap();
    assert!(ends.contains_range(u128::MAX - 70..) && ends.contains_range(..3) && !ends.contains_range(1..70));
    assert!(ends.contains_range(..) && !ends.contains_range(u128::MAX - 70..u128::MAX));
    let bytes = RangeFilter::<u8>::builder().max_range(256).build().unwrap();
    assert!(!bytes.contains_range(..));
}
