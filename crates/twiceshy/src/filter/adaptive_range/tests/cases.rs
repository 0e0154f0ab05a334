//! Cases by construction, strings, the ends of domains, rates and sizes.

use std::net::Ipv4Addr;
use std::ops::Bound::{Excluded, Included, Unbounded};
use std::ops::RangeBounds;

use super::*;
use crate::adaptive::Growth;
use crate::any::{FilterKind, identify};
use crate::error::{BuildError, ReadError, RebuildError, SetError};
use crate::filter::protocol::{Answers, Operation, Step};
use crate::hash::HashKey;
use crate::reverse_map::{ReverseMap, Rows};

/// All partitions have one hash, but for their later words.
fn crowded() -> Builder<u64> {
    let hasher = Hasher::chosen(|bytes, index| match index {
        0 => 0xabcd << 48,
        _ => Hasher::fast().word_bytes(bytes, index),
    });
    Builder::default().hasher(hasher).max_range(32).quotient_bits(4).remainder_bits(4)
}

/// The keys of the query's own partition outside of the range stay, and are told from it by their suffixes only.
#[test]
fn keys_of_the_querys_own_partition_stay() {
    let mut set = crowded().build_set(MemoryMap::new()).unwrap();
    // Partition 1 has the suffixes 0 and 31, partition 7 has 10.
    for key in [32, 63, 7 * 32 + 10] {
        set.insert(&key).unwrap();
    }
    assert_eq!(set.filter().fingerprints(), 1);
    assert!(set.contains_range(33..=62), "a mistake: suffix 10 is of another partition");
    assert!(matches!(set.adapt_range(33..=62).unwrap(), Adapted::Fixed { .. }));
    assert!(!set.contains_range(33..=62));
    assert!(set.contains_range(32..=62) && set.contains_range(33..=63) && set.contains(&(7 * 32 + 10)));
    set.validate().unwrap();
}

/// A partition whose suffixes are not in the range need not be told from the query.
#[test]
fn only_partitions_with_a_suffix_in_the_range_are_told_from_it() {
    let mut set = crowded().build_set(MemoryMap::new()).unwrap();
    set.insert(&(3 * 32 + 5)).unwrap();
    assert_eq!(set.adapt_range(6..=31).unwrap(), Adapted::NotPositive);
    assert_eq!(set.adapt(&5).unwrap(), Adapted::Fixed { slots: set.filter().used_slots() - 1 });
    assert!(!set.contains(&5) && set.contains(&(3 * 32 + 5)));
}

/// Such a partition gets no more bits than the others need, however much its hash has in common with that of the query.
#[test]
fn partitions_without_a_suffix_in_the_range_stay_short() {
    // Partition 3 differs from the query's, 0, in bit 20, and partition 4 in the second word.
    let hasher = Hasher::chosen(|bytes, index| match (bytes[0], index) {
        (3, 0) => 1 << 43,
        (4, 1) => 1 << 20,
        _ => 0,
    });
    let mut set = crowded().hasher(hasher).build_set(MemoryMap::new()).unwrap();
    for key in [3 * 32 + 5, 4 * 32 + 20] {
        set.insert(&key).unwrap();
    }
    assert_eq!(set.filter().fingerprints(), 1);
    assert!(matches!(set.adapt_range(0..=10).unwrap(), Adapted::Fixed { .. }));
    assert!(!set.contains_range(0..=10) && set.contains(&(3 * 32 + 5)) && set.contains(&(4 * 32 + 20)));
    let longest = set.filter().iter().map(|entry| entry.prefix.len()).max();
    assert!(longest.is_some_and(|bits| bits < 64), "{longest:?} bits");
}

/// A range that is true in one partition and a mistake in the other is no mistake, and nothing is learned.
#[test]
fn a_range_that_is_true_in_one_partition_is_no_mistake() {
    let mut set = crowded().build_set(MemoryMap::new()).unwrap();
    set.insert(&40).unwrap(); // partition 1, suffix 8
    set.insert(&(9 * 32 + 30)).unwrap(); // suffix 30 elsewhere
    let before = set.filter().to_bytes();
    // In partition 0, suffix 30 is a mistake; in partition 1 there is 40.
    assert_eq!(set.adapt_range(25..=45).unwrap(), Adapted::WasMember);
    assert!(set.filter().to_bytes() == before);
    assert!(matches!(set.adapt_range(25..=31).unwrap(), Adapted::Fixed { .. }));
}

/// Both partitions of a range are mistakes: both are mended, in one go.
#[test]
fn two_mistakes_in_one_range_are_mended_together() {
    let mut set = crowded().build_set(MemoryMap::new()).unwrap();
    for key in [9 * 32 + 30, 11 * 32 + 2] {
        set.insert(&key).unwrap();
    }
    assert!(set.contains_range(28..=36) && set.contains_range(28..=31) && set.contains_range(32..=36));
    assert!(matches!(set.adapt_range(28..=36).unwrap(), Adapted::Fixed { .. }));
    assert!(!set.contains_range(28..=36));
    assert!(set.contains(&(9 * 32 + 30)) && set.contains(&(11 * 32 + 2)));

    // With no room for the second one, the first is not learned either.
    let builder = crowded().quotient_bits(2).growth(Growth::Refuse);
    let mut tight = builder.limits(3, 2).build_set(MemoryMap::new()).unwrap();
    for key in [9 * 32 + 30, 11 * 32 + 2] {
        tight.insert(&key).unwrap();
    }
    let before = tight.filter().to_bytes();
    assert!(tight.adapt_range(28..=36).is_err());
    assert!(tight.filter().to_bytes() == before);
    assert!(tight.contains(&(9 * 32 + 30)) && tight.contains(&(11 * 32 + 2)));
}

/// A suffix whose key went without the filter being told, as after a crash, is cleared away by the first mistake.
#[test]
fn a_suffix_without_a_key_is_cleared_away() {
    for others in [vec![], vec![70u64], vec![70, 71]] {
        let mut set = crowded().build_set(MemoryMap::new()).unwrap();
        set.insert(&64).unwrap();
        others.iter().for_each(|key| assert!(set.insert(key).unwrap()));
        let gone = set.filter().coded(&64u64);
        let (filter, mut map) = set.into_parts();
        assert!(map.remove(gone.hash(), gone.bytes()).unwrap());
        let mut set = AdaptiveRangeSet::from_parts(filter, map);
        assert!(set.contains(&64));
        assert!(matches!(set.adapt(&64).unwrap(), Adapted::Fixed { .. } | Adapted::Vanished));
        assert!(!set.contains(&64), "{others:?}");
        assert!(others.iter().all(|key| set.contains(key)));
    }
}

/// A removal that is replayed may meet keys that came after it, for which there is no room yet. The suffix goes all the same.
#[test]
fn a_removal_is_replayed_where_there_is_no_room_for_what_came_later() {
    for others in 0..40 {
        let builder = AdaptiveRangeFilter::<u64>::builder().hasher(Hasher::fast()).max_range(64);
        let mut set = builder.quotient_bits(2).remainder_bits(4).build_set(MemoryMap::new()).unwrap();
        set.insert(&20).unwrap();
        (1..=others).for_each(|partition| _ = set.insert(&(64 * partition)).unwrap());
        let (snapshot, hash) = (set.filter().clone(), set.filter().coded(&20u64).hash());
        assert!(set.remove(&20).unwrap());
        [4, 36, 60].iter().for_each(|key| assert!(set.insert(key).unwrap()));
        let mut set = AdaptiveRangeSet::from_parts(snapshot, set.into_parts().1);
        set.replay(&Record::Removed(hash)).unwrap();
        set.replay(&Record::Inserted(hash)).unwrap();
        assert!([4, 36, 60].iter().all(|key| set.contains(key)), "{others}");
        assert!(!set.contains(&20), "{others}: a suffix that no key has");
    }
}

/// The first keys of a recovery do not fit the table that was planned, and those that follow share their first bits: their
/// fingerprints may not be shorter than what the first ones were told apart by.
#[test]
fn a_recovery_that_grows_before_anything_is_written_keeps_fingerprints_apart() {
    let mut random = Random(1);
    for round in 0..2000 {
        let hasher = Hasher::siphash(HashKey::from_bytes([round as u8; 16]));
        let builder = AdaptiveRangeFilter::<u32>::builder().hasher(hasher).max_range(8).remainder_bits(1);
        let builder = builder.quotient_bits(1 + random.below(6) as u32);
        let mut set = builder.build_set(MemoryMap::new()).unwrap();
        let mut keys: Vec<u32> = (0..2 + random.below(6)).map(|_| random.below(20_000) as u32).collect();
        set.insert(&keys[0]).unwrap();
        let snapshot = set.filter().clone();
        keys[1..].iter().for_each(|key| _ = set.insert(key).unwrap());
        let (_, map) = set.into_parts();
        let set = AdaptiveRangeSet::recover(&snapshot, map, []).unwrap();
        set.validate().unwrap_or_else(|error| panic!("round {round}: {error}"));
        keys.retain(|key| !set.contains(key));
        assert_eq!(keys, [], "round {round}");
    }
}

/// Boxes of every number of keys, in one partition and in several that share a fingerprint.
#[test]
fn boxes_hold_any_number_of_suffixes() {
    for max_range in [1u64, 2, 4, 32, 128] {
        let mut set = crowded().max_range(max_range).build_set(MemoryMap::new()).unwrap();
        let keys: Vec<u64> = (0..2 * max_range).map(|key| key * 7 % (2 * max_range)).collect();
        for (count, key) in keys.iter().enumerate() {
            assert_eq!(set.insert(key).unwrap(), !keys[..count].contains(key));
            assert!(keys[..=count].iter().all(|key| set.contains(key)), "{count} of {max_range}");
        }
        set.validate().unwrap();
        for (count, key) in keys.iter().enumerate() {
            let is_first = !keys[..count].contains(key);
            assert_eq!(set.remove(key).unwrap(), is_first);
            let left = keys.iter().filter(|other| !keys[..=count].contains(other));
            left.for_each(|other| assert!(set.contains(other), "{other} after {key} was removed"));
        }
        assert_eq!((set.len(), set.filter().used_slots()), (0, 0));
    }
}

#[test]
fn the_ends_of_the_domain_are_keys_like_others() {
    let mut set = Builder::<u64>::default().max_range(32).build_set(MemoryMap::new()).unwrap();
    for key in [0, u64::MAX] {
        set.insert(&key).unwrap();
        assert!(set.contains(&key));
    }
    assert!(
        set.contains_range(u64::MAX - 40..) && set.contains_range(..=3) && set.contains_range(u64::MAX..)
    );
    assert!(set.contains_range::<u64>(..), "too long to be looked up");
    assert!(!set.contains_range_exactly(100..=u64::MAX - 100).unwrap(), "found by looking through all keys");
    assert!(!set.contains_range((Excluded(u64::MAX), Unbounded)));
}

#[test]
fn strings_are_known_by_their_first_bytes() {
    let mut set = Builder::<String>::default().error_rate(1e-9).build_set(MemoryMap::new()).unwrap();
    assert!(set.insert("0123456789abcdef").unwrap());
    assert!(set.insert("0123456789abcdef, and more").unwrap());
    assert_eq!((set.len(), set.filter().used_slots()), (2, 1), "one key to the filter");
    assert!(set.contains("0123456789abcdef, and else"));
    assert!(set.contains_range::<str>((Included("0123456789abcdee"), Included("0123456789abcdeg"))));
    assert!(set.contains_range::<str>((Excluded("0123456789abcdef"), Included("0123456789abcdef1"))));
    assert!(!set.contains_range::<str>((Included("b"), Excluded("b"))), "nothing but b, which is not there");
    assert!(!set.contains_range::<str>((Included("c"), Included("b"))));
}

#[test]
fn files_are_read_as_filters_of_the_same_keys_only() {
    let filter = Builder::<u64>::default().max_range(32).from_keys([1u64, 2, 3]).unwrap();
    let bytes = filter.to_bytes();
    assert!(AdaptiveRangeFilter::<u64>::from_bytes(&bytes).unwrap().contains(&2));
    assert_eq!(AdaptiveRangeFilter::<u64>::from_bytes(&bytes).unwrap().max_range(), 32);
    assert!(matches!(
        AdaptiveRangeFilter::<i64>::from_bytes(&bytes),
        Err(ReadError::Field { field: "type of keys", .. })
    ));
    assert!(matches!(
        AdaptiveRangeFilter::<u32>::from_bytes(&bytes),
        Err(ReadError::Field { field: "bits of codes", .. })
    ));
    let addresses = Builder::<Ipv4Addr>::default().from_keys([Ipv4Addr::LOCALHOST]).unwrap().to_bytes();
    assert!(AdaptiveRangeFilter::<u32>::from_bytes(&addresses).is_err());
    assert!(matches!(
        crate::AdaptiveFilter::from_bytes(&bytes),
        Err(ReadError::WrongKind { expected: 2, found: 4 })
    ));
}

/// What a file of ranges holds can be told, but only who knows the type of its keys can ask it.
#[test]
fn files_of_ranges_are_known_and_not_taken_for_others() {
    let adaptive = Builder::<u64>::default().from_keys([1u64, 2, 3]).unwrap().to_bytes();
    let plain = crate::RangeFilter::<u64>::builder().from_keys([1u64, 2, 3]).unwrap().to_bytes();
    for (bytes, kind) in [(adaptive, FilterKind::AdaptiveRange), (plain, FilterKind::Range)] {
        assert_eq!(identify(bytes.as_slice()).unwrap().kind, kind);
        let error = crate::AnyFilter::from_bytes(&bytes).unwrap_err();
        assert!(matches!(error, ReadError::Field { field: "kind", found: 4..=5, .. }), "{error}");
    }
}

#[test]
fn settings_that_make_no_sense_are_refused() {
    let range = |keys| Builder::<u64>::default().max_range(keys).build().map(|filter| filter.max_range());
    assert!(matches!(range(0), Err(BuildError::OutOfRange { what: "max_range", .. })));
    assert!(matches!(range(65_537), Err(BuildError::OutOfRange { .. })));
    assert_eq!((range(1).unwrap(), range(33).unwrap(), range(65_536).unwrap()), (1, 64, 65_536));
    let partitions = |most| Builder::<u64>::default().max_partitions(most).build().is_ok();
    assert_eq!([1, 2, 65_535, 65_536].map(partitions), [false, true, true, false]);
    let bits = |bits| Builder::<u64>::default().max_range(65_536).remainder_bits(bits).build().is_ok();
    assert_eq!([0, 1, 44, 45].map(bits), [false, true, true, false]);
    assert!(Builder::<u8>::default().max_range(512).build().is_err(), "more than there are keys");
}

/// From keys in any order it is the same filter as from keys in the order of their hashes, and as from single inserts.
#[test]
fn a_filter_that_is_loaded_is_the_one_that_is_filled() {
    let builder =
        Builder::<u64>::default().hasher(Hasher::fast()).max_range(32).quotient_bits(9).remainder_bits(9);
    let mut random = Random(5);
    // Some in one partition, some alone, one twice.
    let mut keys: Vec<u64> = (0..200).map(|_| random.next()).collect();
    keys.extend(7_000..7_020);
    keys.push(7_000);
    let loaded = builder.clone().from_keys(&keys).unwrap();
    let mut set = builder.build_set(MemoryMap::new()).unwrap();
    assert_eq!(set.insert_batch(&keys).unwrap(), 220);
    assert!(loaded.to_bytes() == set.filter().to_bytes());
    assert_eq!(set.try_extend(keys.iter().copied()).unwrap(), 0);
    let mut codes = Vec::new();
    set.for_each_code(|code| codes.push(code as u64)).unwrap();
    codes.sort_unstable();
    keys.pop();
    keys.sort_unstable();
    assert_eq!(codes, keys);
    let suffixes: usize = loaded.iter().map(|fingerprint| fingerprint.suffixes.iter().count()).sum();
    assert_eq!(suffixes, 220);
}

/// The rate that was asked for holds for ranges far from keys and next to them, fresh and grown.
#[test]
fn the_error_rate_holds_next_to_keys_too() {
    let (rate, keys) = (0.02, 20_000u64);
    let mut random = Random(11);
    let mut set = Builder::<u64>::default().error_rate(rate).max_range(32).hasher(Hasher::fast());
    set = set.quotient_bits(6);
    let mut set = set.build_set(MemoryMap::new()).unwrap();
    // Far enough from each other that ranges between them are empty.
    let keys: Vec<u64> = (0..keys).map(|number| number << 20 | random.below(1 << 10)).collect();
    set.insert_batch(&keys).unwrap();
    assert!(set.filter().expected_error_rate() <= rate && set.filter().highest_error_rate() <= rate);
    let count = |wrong: &dyn Fn(u64) -> bool| keys.iter().filter(|key| wrong(**key)).count() as f64;
    for distance in [1u64, 2, 5, 16, 31, 32, 33, 1 << 15] {
        let wrong = count(&|key| set.contains_range(key + distance..key + distance + 32));
        // Four standard deviations above.
        let most = rate * 20_000.0 + 4.0 * (rate * 20_000.0).sqrt();
        assert!(
            wrong <= most,
            "{wrong} of 20,000 at {distance}, expected {}",
            set.filter().expected_error_rate()
        );
    }
}

/// Strings that agree in all bytes that count are one key to the filter, and several to the set.
#[test]
fn a_set_of_strings_knows_each_of_them() {
    let texts = ["0123456789abcdef", "0123456789abcdefX", "0123456789abcdefY", "a", "a\0", "a\0\0", "", "\0"];
    let mut set = AdaptiveRangeSet::<str, _>::builder().build_set(MemoryMap::new()).unwrap();
    for (count, text) in (1..).zip(texts) {
        assert!(!set.contains_exactly(text).unwrap());
        assert!(set.insert(text).unwrap());
        assert!(!set.insert(text).unwrap());
        assert_eq!(set.len(), count);
    }
    let mut bytes = Vec::new();
    set.write_to(&mut bytes).unwrap();
    let mut set = AdaptiveRangeSet::<str, MemoryMap>::read_from(bytes.as_slice()).unwrap();
    set.validate().unwrap();
    assert!(!set.contains_exactly("0123456789abcdefZ").unwrap() && !set.remove("0123456789abcdefZ").unwrap());
    assert!(!set.contains_exactly("a\0\0\0").unwrap(), "it is not learned, since it looks like another");
    for (gone, text) in texts.iter().enumerate() {
        assert!(set.remove(*text).unwrap());
        assert!(!set.contains_exactly(*text).unwrap());
        set.validate().unwrap();
        for left in &texts[gone + 1..] {
            assert!(set.contains(*left) && set.contains_exactly(*left).unwrap(), "{left:?} after {text:?}");
            assert!(set.contains_range::<str>((Included(*left), Included(*left))));
        }
        let recovered = AdaptiveRangeSet::recover(set.filter(), set.map().clone(), []).unwrap();
        assert_eq!(
            (recovered.len(), recovered.filter().fingerprints()),
            (set.len(), set.filter().fingerprints())
        );
    }
    assert_eq!((set.len(), set.filter().used_slots()), (0, 0));
}

/// What a key that is gone brought along goes with it, if its removal is done again on an older filter.
#[test]
fn a_replayed_removal_leaves_no_suffix_behind() {
    let mut set = crowded().build_set(MemoryMap::new()).unwrap();
    // Partitions 1 and 7, under one fingerprint.
    for key in [32, 7 * 32 + 10] {
        set.insert(&key).unwrap();
    }
    assert_eq!(set.filter().fingerprints(), 1);
    let old = set.filter().clone();
    let gone = set.filter().coded(&(7 * 32 + 10u64)).hash();
    set.remove(&(7 * 32 + 10)).unwrap();
    assert!(!set.contains(&42));
    let (_, map) = set.into_parts();
    let mut set = AdaptiveRangeSet::from_parts(old, map);
    assert!(set.contains(&42));
    for _ in 0..2 {
        set.replay(&Record::Removed(gone)).unwrap();
        assert!(!set.contains(&42) && set.contains(&32));
        assert_eq!(set.len(), 1);
        set.validate().unwrap();
    }
}

/// Integers without a type are those of the filter.
#[test]
fn bulk_loads_take_keys_of_the_filters_type() {
    let filter = AdaptiveRangeFilter::<u64>::builder().from_keys([7, 1000]).unwrap();
    assert!(filter.contains(&7) && filter.contains_range(990..=1000) && !filter.contains_range(10..=20));
    let texts = AdaptiveRangeFilter::<str>::builder().from_keys(["moth".to_owned(), "bat".into()]).unwrap();
    assert!(texts.contains("moth") && texts.contains("bat"));
}

/// Sets that cut keys differently say so.
#[test]
fn sets_of_other_partitions_are_not_merged() {
    let set = |max_range| crowded().max_range(max_range).build_set(MemoryMap::new()).unwrap();
    let (mut one, other) = (set(32), set(64));
    let error = one.merge_from(&other).unwrap_err();
    assert!(matches!(error, SetError::DifferentPartitions), "{error}");
}

/// Any bit of a view may be wrong: it is not merged, and nothing else happens.
#[test]
fn a_damaged_view_is_not_merged() {
    let builder = crowded().hasher(Hasher::fast()).quotient_bits(3).remainder_bits(2);
    let mut set = builder.build_set(MemoryMap::new()).unwrap();
    (0..60u64).for_each(|key| _ = set.insert(&(key * 37)).unwrap());
    let good = set.filter().to_bytes();
    let mut damaged = 0;
    for at in 128..good.len() {
        for bit in 0..8 {
            let mut bytes = good.clone();
            bytes[at] ^= 1 << bit;
            let Ok(view) = AdaptiveRangeFilter::<u64>::view(&bytes) else { continue };
            let mut merged = set.filter().clone();
            let before = merged.to_bytes();
            if let Err(error) = merged.merge_from(&view, set.map(), set.map()) {
                assert!(matches!(error, RebuildError::Invalid(_)), "{error}");
                assert!(merged.to_bytes() == before);
                damaged += 1;
            }
        }
    }
    assert!(damaged > 100, "{damaged}");
}

/// Who removes a key needs to know only of those that have the same place in another partition under its fingerprint.
#[test]
fn a_key_is_removed_by_those_that_are_alike() {
    let mut set = crowded().build_set(MemoryMap::new()).unwrap();
    // Place 10 in partitions 1 and 7, and others.
    let mut keys = vec![32 + 10, 32 + 11, 7 * 32 + 10, 9 * 32 + 31];
    keys.iter().for_each(|key| assert!(set.insert(key).unwrap()));
    assert_eq!(set.filter().fingerprints(), 1);
    let (mut filter, partitions) = (set.filter().clone(), set.filter().partitions().clone());
    let rows_like = |keys: &[u64], place: u64| {
        let mut rows = Rows::new();
        for key in keys.iter().filter(|key| *key % 32 == place) {
            rows.push(partitions.coded(key).row());
        }
        rows
    };
    while let Some(key) = keys.first().copied() {
        let coded = partitions.coded(&key);
        let mut remove = coded.remove().among_alike();
        loop {
            match remove.step(&mut filter).unwrap() {
                Step::Rows(wanted) => {
                    assert_eq!(wanted.like(), Some(coded.bytes()));
                    remove.rows(rows_like(&keys, key % 32));
                }
                Step::Delete(row) => {
                    assert_eq!(row.key, coded.bytes());
                    remove.answer(true);
                }
                Step::Done(was_there) => break assert!(was_there),
                step => panic!("{step:?}"),
            }
        }
        keys.remove(0);
        assert!(keys.iter().all(|key| filter.contains(key)), "{keys:?} after {key}");
        let places: BTreeSet<u64> = keys.iter().map(|key| key % 32).collect();
        assert!((0..32).all(|place| filter.contains(&place) == places.contains(&place)), "{places:?}");
        assert_eq!((filter.len(), filter.fingerprints()), (keys.len() as u64, u64::from(!keys.is_empty())));
    }
}

/// An entry of hundreds of slots lies in a cluster as long, at every size. No table is less crowded because it is larger.
#[test]
fn full_partitions_do_not_make_a_table_grow() {
    for max_range in [64, 1 << 10, 1 << 12] {
        let mut random = Random(max_range);
        let builder = Builder::<u64>::default().hasher(Hasher::fast()).max_range(max_range);
        let mut set = builder.build_set(MemoryMap::new()).unwrap();
        let keys = (6 * max_range).max(20_000);
        (0..keys).for_each(|_| assert!(set.insert(&random.below(2 * keys)).is_ok()));
        let bits = set.filter().size_in_bytes() as f64 * 8.0 / keys as f64;
        assert!(bits < 12.0, "{bits} bits per key with ranges of {max_range}");
        set.validate().unwrap();
    }
}

/// A set of strings keeps them whole, so it knows every range exactly, however its bounds look to the filter.
#[test]
fn a_set_of_strings_knows_ranges_exactly() {
    let texts = [
        "",
        "\0",
        "a",
        "a\0",
        "a\0\0",
        "ab",
        "abcdefghijklmnop",
        "abcdefghijklmnopA",
        "abcdefghijklmnopB",
        "b",
    ];
    let bounds = || {
        let of_text = |text| [Included(text), Excluded(text)];
        texts.into_iter().flat_map(of_text).chain([Unbounded])
    };
    let mut random = Random(17);
    for _ in 0..40 {
        let members: BTreeSet<&str> = texts.into_iter().filter(|_| random.below(3) == 0).collect();
        let mut set = AdaptiveRangeSet::<str, _>::builder().build_set(MemoryMap::new()).unwrap();
        let mut filter = crate::RangeFilter::<str>::new(0.001).unwrap();
        members.iter().for_each(|text| assert!(set.insert(*text).unwrap() && filter.insert(*text).is_ok()));
        for range in bounds().flat_map(|start| bounds().map(move |end| (start, end))) {
            let expected = members.iter().any(|text| RangeBounds::<str>::contains(&range, *text));
            assert_eq!(set.lookup_range::<str>(range).unwrap(), expected, "{range:?} of {members:?}");
            assert_eq!(
                set.contains_range_exactly::<str>(range).unwrap(),
                expected,
                "{range:?} of {members:?}"
            );
            assert!(!expected || set.contains_range::<str>(range) && filter.contains_range::<str, _>(range));
            let is_empty = match range {
                (Included(start), Included(end)) => start > end,
                (Included(start) | Excluded(start), Included(end) | Excluded(end)) => start >= end,
                _ => false,
            };
            assert!(
                !is_empty || !set.contains_range::<str>(range) && !filter.contains_range::<str, _>(range)
            );
        }
        set.validate().unwrap();
    }
}
