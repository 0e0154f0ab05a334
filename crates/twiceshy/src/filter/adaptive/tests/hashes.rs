//! Callers who hash themselves.

use super::*;
use crate::error::{AdaptError, InsertError};
use crate::filter::adaptive::{Growth, Insertion};
use crate::prefix::Prefix;
use crate::reverse_map::Rows;
use twiceshy_testkit::Random;

#[test]
fn hashes_are_found_through_growth_and_adaptation() {
    for seed in 0..20 {
        let mut random = Random(seed);
        let mut filter =
            AdaptiveFilter::builder().quotient_bits(2).remainder_bits(1 + seed as u32 % 5).build().unwrap();
        let mut members = BTreeSet::new();
        for _ in 0..400 {
            // Twelve bits, spread: many agree far.
            let hash = random.below(1 << 12) << 52;
            let insertion = loop {
                match filter.insert_hash(hash) {
                    Err(InsertError::NeedsGrow { .. }) => {
                        filter.grow_hashes(&Rows::of_hashes(members.iter().copied())).unwrap();
                    }
                    done => break done.unwrap(),
                }
            };
            if let Insertion::Covered(ticket) = insertion
                && !members.contains(&hash)
            {
                filter.insert_covered(&ticket).unwrap();
            }
            members.insert(hash);
            let query = random.below(1 << 12) << 52;
            if let Query::Maybe(ticket) = filter.query_hash(query) {
                match filter.adapt_hash(&ticket, query, &under(&members, ticket.prefix())) {
                    Ok(Adapted::Fixed { .. }) => assert!(!filter.contains_hash(query)),
                    Ok(adapted) => assert_eq!(adapted, Adapted::WasMember),
                    Err(error) => assert!(matches!(error, AdaptError::NeedsGrow { .. })),
                }
            }
            filter.validate().unwrap();
            assert_eq!(filter.len(), members.len() as u64);
            let all: Vec<u64> = members.iter().copied().collect();
            let mut found = vec![false; all.len()];
            filter.contains_hash_batch(&all, &mut found);
            assert!(found.iter().all(|&found| found));
        }
    }
}

fn under(members: &BTreeSet<u64>, prefix: &Prefix) -> Rows {
    Rows::of_hashes(members.range(prefix.first_words()).copied())
}

#[test]
fn loading_in_order_stores_what_inserting_does() {
    let mut random = Random(9);
    for round in 0..30u64 {
        let count = random.below(300);
        let mut hashes: Vec<u64> =
            (0..count).map(|_| random.next() & !(u64::MAX >> (4 + round % 20))).collect();
        hashes.sort();
        hashes.dedup();
        let builder = || AdaptiveFilter::builder().quotient_bits(9).remainder_bits(6);
        let loaded = builder().from_sorted_hashes(hashes.iter().copied()).unwrap();
        loaded.validate().unwrap();
        let mut inserted = builder().hasher(loaded.hasher().clone()).build().unwrap();
        for &hash in &hashes {
            if let Insertion::Covered(ticket) = inserted.insert_hash(hash).unwrap() {
                inserted.insert_covered(&ticket).unwrap();
            }
        }
        assert_eq!(inserted.to_bytes(), loaded.to_bytes());
        // Too small at first: grows on the way.
        let grown = AdaptiveFilter::builder()
            .quotient_bits(4)
            .remainder_bits(6)
            .from_sorted_hashes(hashes.iter().copied())
            .unwrap();
        grown.validate().unwrap();
        assert!(hashes.iter().all(|&hash| grown.contains_hash(hash)));
    }
}

/// Quotient and slot together have more bits than the first word of a hash: whatever is quick knows that word only.
#[test]
fn slots_that_reach_beyond_the_first_word_hold_the_bits_of_the_next() {
    for remainder_bits in [53, 54, 55, 58, 60] {
        let builder = || AdaptiveFilter::builder().quotient_bits(10).remainder_bits(remainder_bits);
        let mut hashes: Vec<u64> = (0..900).map(twiceshy_testkit::mix).collect();
        let mut filter = builder().build().unwrap();
        for &hash in &hashes {
            assert_eq!(filter.insert_hash(hash).unwrap(), Insertion::Stored);
        }
        assert!(hashes.iter().all(|&hash| filter.contains_hash(hash)), "{remainder_bits}");
        assert!(!(1_000..2_000).any(|other| filter.contains_hash(twiceshy_testkit::mix(other))));
        hashes.sort_unstable();
        let loaded = builder().from_sorted_hashes(hashes.iter().copied()).unwrap();
        assert!(loaded.core.table().bytes() == filter.core.table().bytes(), "{remainder_bits}");
    }
}

#[test]
fn loading_out_of_order_is_refused() {
    let error = AdaptiveFilter::builder().from_sorted_hashes([1, 3, 2]).unwrap_err();
    assert!(matches!(error, crate::error::RebuildError::Unsorted { index: 2 }));
}

#[test]
fn equal_hashes_cannot_be_told_apart() {
    let mut filter = AdaptiveFilter::builder().quotient_bits(4).build().unwrap();
    let _ = filter.insert_hash(5).unwrap();
    let Query::Maybe(ticket) = filter.query_hash(5) else { panic!() };
    assert_eq!(filter.adapt_hash(&ticket, 5, &Rows::of_hashes([5])).unwrap(), Adapted::WasMember);
}

/// The last `count` quotients of a filter of `2^13`, whole blocks of them, each with one slot, and the spill area full.
fn full_at_its_end(count: u64) -> (AdaptiveFilter, impl Fn(u64, u64) -> u64) {
    let hash = |quotient: u64, remainder: u64| quotient << 51 | remainder << 43;
    let mut filter = AdaptiveFilter::builder().quotient_bits(13).remainder_bits(8).build().unwrap();
    for quotient in (1 << 13) - count..1 << 13 {
        let _ = filter.insert_hash(hash(quotient, 1)).unwrap();
    }
    for remainder in 2..2 + u64::from(filter.core.table().shape().spill_slots()) {
        let _ = filter.insert_hash(hash((1 << 13) - 1, remainder)).unwrap();
    }
    (filter, hash)
}

/// A larger spill area is no help if what must be shifted is too far away.
#[test]
fn an_edit_that_needs_more_than_a_larger_spill_area_changes_nothing() {
    let (mut filter, hash) = full_at_its_end(4096);
    let (before, front) = (filter.to_bytes(), (1 << 13) - 4096);
    assert!(matches!(filter.insert_hash(hash(front, 2)), Err(InsertError::NeedsGrow { .. })));
    assert!(filter.to_bytes() == before);
    let (key, query) = (hash(front, 1), hash(front, 1) | 1 << 20);
    let Query::Maybe(ticket) = filter.query_hash(query) else { panic!() };
    assert!(matches!(
        filter.adapt_hash(&ticket, query, &Rows::of_hashes([key])),
        Err(AdaptError::NeedsGrow { .. })
    ));
    assert!(filter.to_bytes() == before);
    // With less to shift it does help.
    let (mut filter, hash) = full_at_its_end(512);
    let size = filter.size_in_bytes();
    assert_eq!(filter.insert_hash(hash((1 << 13) - 512, 2)).unwrap(), Insertion::Stored);
    assert!(filter.size_in_bytes() > size);
    filter.validate().unwrap();
}

/// Growing would part hashes that agree in so many bits only after many doublings: that is no remedy.
#[test]
fn a_run_beyond_all_measure_is_an_error_and_no_reason_to_grow() {
    let hashes = (0..(1u64 << 18) + 10).map(|i| 0xabcd_ef00_0000_0000 | i << 16);
    let builder = AdaptiveFilter::builder().quotient_bits(26).remainder_bits(22);
    let mut filter = builder.from_sorted_hashes(hashes).unwrap();
    let (len, slots) = (filter.len(), filter.slots());
    let again = filter.insert_hash(0xabcd_ef00_0000_0000 | len << 16);
    assert!(matches!(again, Err(InsertError::Full { .. })), "{again:?}");
    assert_eq!((filter.len(), filter.slots()), (len, slots));
}

/// Nothing helps a crowd in a table that may not grow. Its work is borne, and counted anew: else every edit from then on
/// would fail at first, and be tried twice.
#[test]
fn work_that_must_be_borne_is_counted_anew() {
    let builder = AdaptiveFilter::builder().quotient_bits(13).remainder_bits(12).growth(Growth::Refuse);
    let (mut filter, mut turns) = (builder.build().unwrap(), 0);
    for i in (0..5_000u64).rev() {
        let before = filter.core.table().crowd_work();
        // Descending, in the first quarter of all hashes.
        assert!(matches!(filter.insert_hash(i * ((1 << 62) / 5_000)), Ok(Insertion::Stored)));
        let work = filter.core.table().crowd_work();
        assert!(work <= 3 * filter.slots(), "{work}, {i} keys to come");
        turns += u32::from(work < before);
    }
    assert!(turns > 10, "{turns}");
}

/// A record has 64 bits of a hash, and fingerprints may have more.
#[test]
fn a_record_of_a_removal_clears_away_what_is_longer_than_it() {
    let hasher = Hasher::chosen(|bytes, index| match index {
        0 => 0x5555_5555_5555_5555,
        _ => Hasher::fast().word_bytes(bytes, index),
    });
    let mut set = AdaptiveFilter::builder().hasher(hasher).build_set(MemoryMap::new()).unwrap();
    for key in 0..3u16 {
        assert!(set.insert(&key).unwrap());
    }
    for query in 100..200u16 {
        assert!(!set.contains_exactly(&query).unwrap());
    }
    assert!(set.filter().iter().all(|fingerprint| fingerprint.prefix.len() > 64));
    let before = set.filter().fingerprints();
    let (filter, mut map) = set.into_parts();
    assert!(map.remove(0x5555_5555_5555_5555, &1u16.to_le_bytes()).unwrap());
    let mut set = Set::from_parts(filter, map);
    set.replay(&Record::Removed(0x5555_5555_5555_5555)).unwrap();
    assert_eq!(set.filter().fingerprints(), before - 1);
    assert!(set.contains(&0u16) && !set.contains(&1u16) && set.contains(&2u16));
}
