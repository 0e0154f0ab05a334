//! Filters that rotate: all ways to ask, files, tickets, failing maps, constant space.

use super::failures::{CouldNotLook, Failing};
use super::*;
use crate::error::{RebuildError, SetError, Stale};
use crate::filter::adaptive::{Growth, Insertion};
use crate::hash::HashKey;
use crate::reverse_map::Rows;
use twiceshy_testkit::Random;

fn hashers() -> [Hasher; 3] {
    let key = || HashKey::from_bytes(*b"sixteen secret b");
    [Hasher::aes(key()), Hasher::siphash(key()), Hasher::fast()]
}

/// A set of some keys in a table of more than one group, rotated so many times.
fn rotated(hasher: &Hasher, keys: u64, rotations: u32) -> Set {
    let builder = AdaptiveFilter::builder().hasher(hasher.clone()).capacity(400).remainder_bits(4);
    let mut set = builder.build_set(MemoryMap::new()).unwrap();
    (0..keys).for_each(|key| assert!(set.insert(&key).unwrap()));
    for _ in 0..rotations {
        rotate(&mut set).unwrap();
    }
    set
}

fn rotate(set: &mut Set) -> Result<(), RebuildError<std::convert::Infallible>> {
    let (filter, map) = set.parts();
    filter.rotate(map)
}

#[test]
fn all_ways_to_ask_agree_wherever_the_frontier_is() {
    for hasher in hashers() {
        for rotations in 0..20 {
            let mut set = rotated(&hasher, 300, rotations);
            for query in 300..1_000u64 {
                set.contains_exactly(&query).unwrap();
            }
            set.validate().unwrap();
            let keys: Vec<u64> = (0..3_000).collect();
            let hashes: Vec<u64> = keys.iter().map(|key| hasher.hash(key)).collect();
            let (mut found, mut found_hashes) = (vec![false; keys.len()], vec![false; keys.len()]);
            set.contains_batch(&keys, &mut found);
            set.filter().contains_hash_batch(&hashes, &mut found_hashes);
            let bytes = set.filter().to_bytes();
            let (view, read) =
                (AdaptiveFilter::view(&bytes).unwrap(), AdaptiveFilter::from_bytes(&bytes).unwrap());
            assert_eq!((view.turn(), read.turn()), (set.filter().turn(), set.filter().turn()));
            assert_eq!(read.to_bytes(), bytes);
            for ((key, hash), (found, of_hash)) in
                keys.iter().zip(&hashes).zip(found.into_iter().zip(found_hashes))
            {
                assert_eq!(set.contains(key), found);
                assert_eq!(set.tag(key).is_some(), found);
                assert_eq!(matches!(set.query(key), Query::Maybe(_)), found);
                assert_eq!((view.contains(key), read.contains(key)), (found, found));
                // A fingerprint of more than 64 bits needs the key; there is none here.
                assert_eq!((set.filter().contains_hash(*hash), of_hash), (found, found));
                assert!(found || *key >= 300, "key {key} is lost");
            }
            assert_eq!(set.filter().hasher(), &hasher);
        }
    }
}

/// The rows that begin like a fingerprint are not those of its keys; a ticket says where these are.
#[test]
fn a_ticket_says_where_its_keys_are() {
    for rotations in [0, 3, 8, 11] {
        let set = rotated(&hashers()[0], 300, rotations);
        for key in 0..300u64 {
            let Query::Maybe(ticket) = set.query(&key) else { panic!("key {key} is lost") };
            let rows = Rows::under(ticket.prefix(), set.map()).unwrap();
            assert!(rows.iter().any(|row| row.key == key.to_le_bytes()), "after {rotations}");
            assert!(rotations > 0 || rows.len() < 5, "some others");
        }
    }
}

/// Whoever keeps the keys learns, inserts and removes with tickets as before.
#[test]
fn a_caller_who_keeps_the_keys_needs_no_other_steps() {
    let builder = AdaptiveFilter::builder().hasher(hashers()[0].clone()).capacity(200).remainder_bits(3);
    let mut filter = builder.growth(Growth::Rotate { max_bytes: 0 }).build().unwrap();
    let mut map = MemoryMap::new();
    let hasher = filter.hasher().clone();
    for key in 0..150u64 {
        if let Insertion::Covered(ticket) = filter.insert(&key).unwrap() {
            filter.insert_covered(&ticket).unwrap();
        }
        let _ = map.insert(hasher.hash(&key), &key.to_le_bytes(), &[]).unwrap();
    }
    let (bytes, mut fixed) = (filter.size_in_bytes(), 0);
    for query in 150..20_000u64 {
        while let Query::Maybe(ticket) = filter.query(&query) {
            let rows = Rows::under(ticket.prefix(), &map).unwrap();
            match filter.adapt(&ticket, &query, &rows) {
                Ok(Adapted::Fixed { .. }) => fixed += 1,
                Ok(other) => panic!("{other:?}"),
                Err(_) => filter.grow(&map).unwrap(),
            }
        }
    }
    assert!(fixed > 500 && filter.turn().epoch() > 3, "{fixed} fixed, {:?}", filter.turn());
    assert_eq!(filter.size_in_bytes(), bytes);
    for key in 0..150u64 {
        let Query::Maybe(ticket) = filter.query(&key) else { panic!("key {key} is lost") };
        let rows = Rows::under(ticket.prefix(), &map).unwrap();
        let others = rows.iter().any(|row| {
            row.key != key.to_le_bytes()
                && matches!(filter.query(row.key), Query::Maybe(other) if other == ticket)
        });
        let _ = map.remove(hasher.hash(&key), &key.to_le_bytes()).unwrap();
        filter.remove(&ticket, others).unwrap();
    }
    assert_eq!((filter.len(), filter.fingerprints()), (0, 0));
}

#[test]
fn callers_who_hash_rotate_too() {
    let builder = AdaptiveFilter::builder().hasher(hashers()[0].clone()).capacity(200).remainder_bits(3);
    let mut filter = builder.growth(Growth::Rotate { max_bytes: 0 }).build().unwrap();
    let mut random = Random(5);
    let hashes: Vec<u64> = (0..150).map(|_| random.next()).collect();
    for hash in &hashes {
        if let Insertion::Covered(ticket) = filter.insert_hash(*hash).unwrap() {
            filter.insert_covered(&ticket).unwrap();
        }
    }
    let rows = Rows::of_hashes(hashes.iter().copied());
    for _ in 0..20_000 {
        let query = random.next();
        while let Query::Maybe(ticket) = filter.query_hash(query) {
            if filter.adapt_hash(&ticket, query, &rows).is_err() {
                filter.grow_hashes(&rows).unwrap();
            }
        }
        assert!(hashes.iter().all(|hash| filter.contains_hash(*hash)) || !query.is_multiple_of(64));
    }
    assert!(filter.turn().epoch() > 3);
    assert!(hashes.iter().all(|hash| filter.contains_hash(*hash)), "a key is lost");
}

/// What was read before a rotation is out of date after it, also if nothing seems to have changed.
#[test]
fn tickets_of_a_group_that_has_turned_are_stale() {
    let mut set = rotated(&hashers()[0], 300, 0);
    let groups = 1 << set.filter().core().group_bits();
    let tickets: Vec<_> = (0..300u64)
        .map(|key| match set.query(&key) {
            Query::Maybe(ticket) => ticket,
            Query::Absent => panic!("key {key} is lost"),
        })
        .collect();
    for _ in 0..groups {
        rotate(&mut set).unwrap();
    }
    let mut filter = set.filter().try_clone().unwrap();
    for ticket in tickets {
        assert_eq!(filter.remove(&ticket, false), Err(Stale));
    }
    set.validate().unwrap();
}

/// Maps that fail at any call: groups that have turned are right, and the others as they were.
#[test]
fn a_map_that_fails_loses_nothing() {
    let builder = AdaptiveFilter::builder().hasher(hashers()[2].clone()).quotient_bits(7).remainder_bits(1);
    let mut set = builder.growth(Growth::Rotate { max_bytes: 0 }).build_set(Failing::default()).unwrap();
    for key in 0..90u64 {
        set.insert(&key).unwrap();
    }
    let mut failed = 0;
    for query in 90..700u64 {
        for calls in 0.. {
            set.map().fail_after(calls);
            let asked = set.contains_exactly(&query);
            set.map().fail_after(u64::MAX);
            let whole = AdaptiveSet::from_parts(set.filter().try_clone().unwrap(), set.map().rows());
            whole.validate().unwrap();
            match asked {
                Ok(found) => {
                    assert!(!found);
                    break;
                }
                Err(SetError::Map(CouldNotLook)) => failed += 1,
                Err(error) => panic!("{error}"),
            }
        }
    }
    assert!(failed > 200 && set.filter().turn().epoch() > 1, "{failed}, {:?}", set.filter().turn());
}

#[test]
fn space_is_constant_over_a_hundred_rotations() {
    for remainder_bits in [1, 2, 3] {
        let mut random = Random(remainder_bits.into());
        let builder = AdaptiveFilter::builder().hasher(hashers()[2].clone()).remainder_bits(remainder_bits);
        let builder = builder.growth(Growth::Rotate { max_bytes: 600 });
        let mut set = builder.build_set(MemoryMap::new()).unwrap();
        let keys = 250;
        (0..keys).for_each(|key: u64| assert!(set.insert(&key).unwrap()));
        while !set.filter().core().must_forget() {
            set.contains_exactly(&(random.next() | 1 << 63)).unwrap();
        }
        let (bytes, mut asked) = (set.filter().to_bytes().len(), 0u64);
        while set.filter().turn().epoch() < 100 {
            asked += 1;
            set.contains_exactly(&(random.next() | 1 << 63)).unwrap();
            if asked % 16_384 == 0 {
                set.validate().unwrap();
                assert_eq!(set.filter().to_bytes().len(), bytes);
            }
        }
        set.validate().unwrap();
        assert_eq!(set.filter().to_bytes().len(), bytes);
        assert!((0..keys).all(|key| set.contains(&key)), "a key is lost");
    }
}

/// Keys fill the table up to its end: then there is nothing to forget, and the filter is full, with all its keys.
#[test]
fn a_filter_with_nothing_to_forget_is_full() {
    let builder = AdaptiveFilter::builder().hasher(hashers()[0].clone()).remainder_bits(8);
    let mut set = builder.rotate_at(2_000).build_set(MemoryMap::new()).unwrap();
    let keys = (0..).find(|key: &u64| set.insert(key).is_err()).unwrap();
    assert!(matches!(set.insert(&keys), Err(SetError::Full(_))));
    set.validate().unwrap();
    assert_eq!(set.len(), keys);
    assert!(set.filter().load_factor() > 0.9, "{}", set.filter().load_factor());
    // With a few keys less there is room to learn, for ever.
    (0..40).for_each(|key: u64| assert!(set.remove(&key).unwrap()));
    for query in keys + 1..keys + 50_000 {
        set.contains_exactly(&query).unwrap();
    }
    assert!((40..keys).all(|key| set.contains(&key)));
    set.validate().unwrap();
}

/// A larger limit lets it grow again, and its epochs go on.
#[test]
fn a_filter_that_has_rotated_grows_and_shrinks() {
    let mut set = rotated(&hashers()[1], 350, 13);
    let turn = set.filter().turn();
    for key in 350..3_000u64 {
        set.insert(&key).unwrap();
    }
    set.validate().unwrap();
    assert!(set.filter().stats().growths > 0 && set.filter().turn() == turn);
    for _ in 0..100 {
        // Keys that have shared short fingerprints since it was small need more slots than there are.
        while rotate(&mut set).is_err() {
            set.grow().unwrap();
        }
        set.validate().unwrap();
    }
    (10..3_000u64).for_each(|key| assert!(set.remove(&key).unwrap()));
    set.shrink_to_fit().unwrap();
    set.validate().unwrap();
    set.rejuvenate().unwrap();
    set.validate().unwrap();
    assert!(set.filter().quotient_bits() >= set.filter().turn().least_bits());
    for _ in 0..100 {
        rotate(&mut set).unwrap();
        set.validate().unwrap();
    }
}
