//! Adaptive filters: what they learned comes back, and damage is refused.

use twiceshy::AdaptiveSet;
use twiceshy::adaptive::{Growth, Query};
use twiceshy::reverse_map::MemoryMap;
use twiceshy::reverse_map::Rows;

use super::*;

subject!(Adaptive(AdaptiveFilter), files, interrogate, {
    const SLOT_BITS: RangeInclusive<u8> = 1..=64;
    const BLOCK_WORDS: usize = SLOTS + 8;
    fn claim(bytes: &mut [u8]) {
        // New fingerprints may be as short as that.
        bytes[REMAINDER_BITS] = 1;
    }
});

// The fields that only this kind has.
const REMAINDER_BITS: usize = OWN;
const STOP: usize = OWN + 1;
const GROWTH: usize = OWN + 2;
const OWN_RESERVED: usize = OWN + 3;
const MAX_BYTES: usize = OWN + 8;

/// A small set that has learned, with tags.
fn learned(quotient_bits: u32, remainder_bits: u32, keys: u16) -> AdaptiveSet<MemoryMap> {
    let builder = AdaptiveSet::builder().hasher(hasher()).quotient_bits(quotient_bits);
    let mut set = builder.remainder_bits(remainder_bits).build_set(MemoryMap::new()).unwrap();
    for key in 0..keys {
        set.insert_tagged(&key, u64::from(key % 5)).unwrap();
    }
    for query in 1000..1100u16 {
        assert!(!set.contains_exactly(&query).unwrap());
    }
    set
}

/// Small files: never grown with adaptations and tags; the same with several blocks; grown; grown and
/// shrunk; empty.
fn files() -> Vec<Vec<u8>> {
    let mut shrunk = learned(3, 2, 30);
    for key in 0..25u16 {
        assert!(shrunk.remove(&key).unwrap());
    }
    shrunk.shrink_to_fit().unwrap();
    let sets = [learned(5, 2, 6), learned(7, 3, 50), learned(2, 3, 12), shrunk, learned(3, 4, 0)];
    let stops: Vec<u8> = sets.iter().map(|set| set.filter().to_bytes()[STOP]).collect();
    assert_eq!(stops, [0, 0, 1, 1, 0], "grown or not");
    assert!(sets[..4].iter().all(|set| set.filter().lengths().extended > 0), "all have learned");
    sets.iter().map(|set| set.filter().to_bytes()).collect()
}

/// Asks a view everything. Only that it ends without a panic counts.
fn interrogate(bytes: &[u8]) {
    let Ok(view) = AdaptiveFilter::view(bytes) else { return };
    let hashes: Vec<u64> = (0..200).map(|i| Random(i).next()).chain([0, u64::MAX]).collect();
    let mut found = vec![false; hashes.len()];
    view.contains_hash_batch(&hashes, &mut found);
    for (&hash, found) in hashes.iter().zip(found) {
        assert_eq!(view.contains_hash(hash), found);
        // On damaged bytes the short way and the complete one may differ.
        std::hint::black_box(view.query_hash(hash));
    }
    for key in 0..20u16 {
        std::hint::black_box((view.contains(&key), view.tag(&key), view.separate_record(&key)));
    }
    assert!(view.iter().count() <= 1 << 20, "more fingerprints than slots");
    std::hint::black_box((view.lengths(), view.stats(), format!("{view:?}")));
}

#[test]
fn what_was_learned_comes_back() {
    for bytes in files() {
        let filter = AdaptiveFilter::from_bytes(&bytes).unwrap();
        let view = AdaptiveFilter::view(&bytes).unwrap();
        assert!(view.iter().eq(filter.iter()));
        assert_eq!(view.lengths(), filter.lengths());
        assert!((1000..1100u16).all(|query| !filter.contains(&query) && !view.contains(&query)));
    }
}

#[test]
fn settings_come_back() {
    let growths =
        [Growth::Refuse, Growth::Grow { max_bytes: None }, Growth::Grow { max_bytes: Some(70_000) }];
    for growth in growths.into_iter().chain([Growth::Rotate { max_bytes: 70_000 }]) {
        for hasher in [hasher(), Hasher::fast_with_seed(9)] {
            let builder = AdaptiveFilter::builder().capacity(100).growth(growth).hasher(hasher.clone());
            let filter = AdaptiveFilter::from_bytes(&builder.build().unwrap().to_bytes()).unwrap();
            assert_eq!((filter.growth(), filter.hasher()), (growth, &hasher));
        }
    }
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("filter");
    let set = learned(3, 2, 30);
    set.filter().save(&path).unwrap();
    let loaded = AdaptiveFilter::load(&path).unwrap();
    assert_eq!(loaded.to_bytes(), set.filter().to_bytes());
    AdaptiveSet::from_parts(loaded, set.into_parts().1).validate().unwrap();
}

#[test]
fn most_flipped_bits_of_a_table_are_found_without_its_checksum() {
    let (accepted, all) = damage::flips_without_checksums::<AdaptiveFilter>(BODY);
    assert!(accepted < all / 4, "{accepted} of {all}");
}

#[test]
fn queries_on_any_bytes_end_with_and_without_stop_bits() {
    let mut random = Random(3);
    for good in files() {
        for round in 0..300 {
            let mut bytes = good.clone();
            damage::spoil(&mut bytes[BODY..], round, [100, 150], &mut random);
            // With and without stop bits.
            if round % 2 == 0 {
                bytes[STOP] ^= 1;
                bytes[REMAINDER_BITS] = 1;
            }
            reseal(&mut bytes);
            interrogate(&bytes);
            if let Ok(filter) = AdaptiveFilter::from_bytes(&bytes) {
                filter.validate().unwrap();
                assert_eq!(filter.to_bytes(), bytes);
            }
        }
    }
}

#[test]
fn every_field_out_of_range_is_named() {
    let good = learned(5, 2, 6).filter().to_bytes();
    let (used, distinct) = (get(&good, USED), get(&good, DISTINCT));
    named::<AdaptiveFilter>(
        &good,
        &[
            ("flags", FLAGS, vec![0]),
            ("flags", FLAGS, vec![3]),
            ("table bytes", SPILL, u32::MAX.to_le_bytes().to_vec()),
            ("table bytes", QUOTIENT_BITS, vec![48]),
            ("table bytes", SLOT_BITS, vec![64]),
            ("largest quotient bits", MAX_QUOTIENT_BITS, vec![47]),
            ("remainder bits", REMAINDER_BITS, vec![0]),
            ("remainder bits", REMAINDER_BITS, vec![61]),
            ("remainder bits", REMAINDER_BITS, vec![255]),
            ("slot bits", REMAINDER_BITS, vec![3]),
            // With a stop bit there is no room for the remainder.
            ("slot bits", STOP, vec![1]),
            ("stop bits", STOP, vec![2]),
            ("growth", GROWTH, vec![4]),
            ("growth", GROWTH, vec![255]),
            ("reserved bytes", OWN_RESERVED, vec![1]),
            ("reserved bytes", MAX_BYTES - 1, vec![1]),
            // A limit, but growth without one.
            ("reserved bytes", MAX_BYTES, vec![1]),
            // Epoch 0 keeps all bits, a group begins where its hashes do, and has one place in the table.
            ("frontier of the epoch", EPOCH, vec![0, 0, 0, 0, 3, 3]),
            ("frontier of the epoch", FRONTIER, long(1 << 63)),
            ("frontier of the epoch", EPOCH, [vec![1, 0, 0, 0, 2, 2], long(1 << 61)].concat()),
            ("bits of a group", EPOCH, vec![1, 0, 0, 0, 6, 6]),
            ("fingerprints", DISTINCT, long(used + 1)),
            ("keys", LEN, long(distinct - 1)),
        ],
    );
    for (at, number) in [(USED, used), (DISTINCT, distinct)] {
        let error = refused::<AdaptiveFilter>(&with_field(good.clone(), at, &(number - 1).to_le_bytes()));
        assert!(matches!(error, ReadError::Inconsistent(_) | ReadError::Field { .. }), "{error}");
    }
    // Keys may share fingerprints, so there may be more of them.
    let more = with_field(good.clone(), LEN, &long(get(&good, LEN) + 1));
    assert_eq!(AdaptiveFilter::from_bytes(&more).unwrap().len(), get(&good, LEN) + 1);
}

#[test]
fn nested_and_disordered_fingerprints_are_refused() {
    // Entries of one quotient in slots of eight bits: 0x10, and 0x20 continued by 0x33.
    let builder = AdaptiveFilter::builder().hasher(hasher()).quotient_bits(6).remainder_bits(8);
    let mut filter = builder.build().unwrap();
    let hash = |remainder: u64| 7u64 << 58 | remainder << 42;
    let _ = filter.insert_hash(hash(0x1000)).unwrap();
    let _ = filter.insert_hash(hash(0x2033)).unwrap();
    let Query::Maybe(ticket) = filter.query_hash(hash(0x2044)) else { panic!("they begin alike") };
    filter.adapt_hash(&ticket, hash(0x2044), &Rows::of_hashes([hash(0x2033)])).unwrap();
    let good = filter.to_bytes();
    AdaptiveFilter::from_bytes(&good).unwrap();
    // The extension word follows the run ends.
    let slot = |i: usize| BODY + SLOTS + 8 + i;
    assert_eq!(good[slot(0)..slot(3)], [0x10, 0x20, 0x33]);
    for (what, edits, message) in [
        ("nested", vec![(slot(0), 0x20)], "prefix of another"),
        ("out of order", vec![(slot(0), 0x30)], "not in order"),
    ] {
        let mut bytes = good.clone();
        edits.into_iter().for_each(|(at, byte)| bytes[at] = byte);
        reseal(&mut bytes);
        let error = refused::<AdaptiveFilter>(&bytes).to_string();
        assert!(error.contains(message), "{what}: {error}");
    }
}
