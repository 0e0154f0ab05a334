//! Expandable filters: their chain and their settings come back, and a directory that is wrong is refused.

use twiceshy::expandable;
use twiceshy::expandable::Mode;

use super::*;

subject!(Expandable(ExpandableFilter), files, interrogate, {
    fn directory_bytes(bytes: &[u8]) -> usize {
        usize::from(bytes[TABLES]) * RECORD
    }
    // One for the stop bit.
    const SLOT_BITS: RangeInclusive<u8> = 2..=64;
    const BLOCK_WORDS: usize = SLOTS;
    fn claim(bytes: &mut [u8]) {
        // The directory says the same.
        bytes.copy_within(QUOTIENT_BITS..QUOTIENT_BITS + 8, BODY);
    }
});

// The fields that only this kind has.
const MODE: usize = OWN;
const MAX_LOAD: usize = OWN + 1;
const LEAST_QUOTIENT_BITS: usize = OWN + 5;
const SPREAD: usize = OWN + 6;
const WORD_BITS: usize = OWN + 7;
const TABLES: usize = OWN + 8;

/// Bytes of a record of the directory, and where its fields are.
const RECORD: usize = 32;
const RECORD_USED: usize = 8;
const RECORD_MOVED: usize = 16;
const RECORD_ROLE: usize = 24;

fn builder() -> expandable::Builder {
    ExpandableFilter::builder().hasher(hasher())
}

/// A filter of several tables, one of them on the move.
fn several_tables() -> ExpandableFilter {
    let builder = builder().mode(Mode::Chained).fingerprint_bits(2).quotient_bits(2).spread_growth(true);
    let mut filter = builder.build().unwrap();
    let mut key = 0u64;
    loop {
        filter.insert(&(key / 2)).unwrap();
        key += 1;
        let moving = filter.stats().tables.iter().any(|table| table.is_moving);
        if key > 300 && moving && filter.chain_len() >= 2 {
            return filter;
        }
    }
}

/// Small files: of several tables; of one, with counts, and in the other modes; empty.
fn files() -> Vec<Vec<u8>> {
    let filled = |builder: expandable::Builder, keys: u64| {
        let mut filter = builder.build().unwrap();
        filter.extend((0..keys).map(|key| key / 2 * (key % 3)));
        filter.to_bytes()
    };
    vec![
        several_tables().to_bytes(),
        filled(builder().quotient_bits(3), 60),
        filled(builder().mode(Mode::Basic).quotient_bits(2).fingerprint_bits(7).max_load(0.8), 30),
        filled(builder().error_rate(1e-9).hasher(Hasher::fast_with_seed(9)), 20),
        filled(builder().quotient_bits(3), 0),
    ]
}

/// Asks a view everything. Only that it ends without a panic counts.
fn interrogate(bytes: &[u8]) {
    let Ok(view) = ExpandableFilter::view(bytes) else { return };
    let hashes: Vec<u64> = (0..100).map(|i| Random(i).next()).chain([0, u64::MAX]).collect();
    let mut found = vec![false; hashes.len()];
    view.contains_hash_batch(&hashes, &mut found);
    for (&hash, found) in hashes.iter().zip(found) {
        assert_eq!(view.contains_hash(hash), found);
    }
    for key in 0..20u64 {
        std::hint::black_box(view.contains(&key));
    }
    assert!(view.iter().count() <= 1 << 20, "more fingerprints than slots");
    std::hint::black_box((view.stats(), format!("{view:?}")));
}

#[test]
fn all_keys_and_the_chain_come_back() {
    let filter = several_tables();
    let bytes = filter.to_bytes();
    let copy = ExpandableFilter::from_bytes(&bytes).unwrap();
    let view = ExpandableFilter::view(&bytes).unwrap();
    assert!((0..150u64).all(|key| view.contains(&key) && copy.contains(&key)));
    for tables in [copy.stats().tables, view.stats().tables] {
        assert_eq!(tables, filter.stats().tables);
    }
    assert!(copy.iter().eq(filter.iter()) && view.iter().eq(filter.iter()));
    assert_eq!((copy.len(), copy.mode()), (filter.len(), filter.mode()));
}

#[test]
fn settings_come_back() {
    for mode in [Mode::Growing, Mode::Chained, Mode::Basic] {
        for hasher in [hasher(), Hasher::fast_with_seed(9)] {
            let builder = builder().mode(mode).capacity(100).max_load(0.7).hasher(hasher.clone());
            let filter = builder.spread_growth(true).build().unwrap();
            let mut copy = ExpandableFilter::from_bytes(&filter.to_bytes()).unwrap();
            assert_eq!((copy.mode(), copy.hasher()), (mode, &hasher));
            assert_eq!(copy.capacity(), filter.capacity());
            // Both go on in the same way.
            let mut filter = filter;
            for key in 0..2_000u64 {
                assert_eq!(copy.insert(&key).unwrap(), filter.insert(&key).unwrap());
            }
            assert_eq!(copy.to_bytes(), filter.to_bytes());
        }
    }
}

#[test]
fn every_field_out_of_range_is_named() {
    let good = several_tables().to_bytes();
    named::<ExpandableFilter>(
        &good,
        &[
            ("largest quotient bits", MAX_QUOTIENT_BITS, vec![47]),
            ("largest quotient bits", MAX_QUOTIENT_BITS, vec![1]),
            ("fingerprints", DISTINCT, long(1)),
            ("mode", MODE, vec![3]),
            ("mode", MODE, vec![255]),
            ("load limit", MAX_LOAD, vec![49]),
            ("load limit", MAX_LOAD, vec![96]),
            ("least quotient bits", LEAST_QUOTIENT_BITS, vec![0]),
            ("least quotient bits", LEAST_QUOTIENT_BITS, vec![good[QUOTIENT_BITS] + 1]),
            ("spread growth", SPREAD, vec![2]),
            ("bits of a hash word", WORD_BITS, vec![0]),
            ("bits of a hash word", WORD_BITS, vec![65]),
            ("tables", TABLES, vec![0]),
            ("tables", TABLES, vec![97]),
            ("tables", TABLES, vec![255]),
            ("reserved bytes", TABLES + 1, vec![1]),
            ("reserved bytes", OWN + 15, vec![1]),
        ],
    );
    let moving = (0..usize::from(good[TABLES])).find(|table| good[BODY + table * RECORD + RECORD_ROLE] == 1);
    let moving = BODY + moving.unwrap() * RECORD;
    let quotients = 1u64 << good[moving];
    // As in the header, and what only records have.
    for (record, moved) in [(BODY, 1), (moving, quotients + 1), (moving, u64::MAX)] {
        named::<ExpandableFilter>(
            &good,
            &[
                ("quotient bits", record, vec![0]),
                ("quotient bits", record, vec![49]),
                ("slot bits", record + 1, vec![0]),
                ("slot bits", record + 1, vec![1]),
                ("slot bits", record + 1, vec![65]),
                ("flags", record + 2, vec![1]),
                ("largest offset", record + 3, vec![0]),
                ("used slots", record + RECORD_USED, long(u64::MAX)),
                ("moved quotients", record + RECORD_MOVED, long(moved)),
                ("role of a table", record + RECORD_ROLE, vec![2]),
                ("reserved bytes", record + RECORD_ROLE + 1, vec![1]),
                ("reserved bytes", record + RECORD - 1, vec![1]),
            ],
        );
    }
    // Another size than the header has room for.
    named::<ExpandableFilter>(&good, &[("table bytes", moving + 4, u32::MAX.to_le_bytes().to_vec())]);
}

#[test]
fn directories_that_contradict_themselves_are_refused() {
    let good = several_tables().to_bytes();
    let role = |table: usize| BODY + table * RECORD + RECORD_ROLE;
    let roles: Vec<u8> = (0..usize::from(good[TABLES])).map(|table| good[role(table)]).collect();
    let moving = roles.iter().position(|&role| role == 1).unwrap();
    assert!(roles.len() >= 4, "{roles:?}");
    let refuse = |edits: &[(usize, u8)], message: &str| {
        let mut bytes = good.clone();
        edits.iter().for_each(|&(at, byte)| bytes[at] = byte);
        reseal(&mut bytes);
        let error = refused::<ExpandableFilter>(&bytes);
        assert!(matches!(error, ReadError::Inconsistent(_)), "{error}");
        assert!(error.to_string().contains(message), "{error}");
    };
    refuse(&[(BODY + RECORD_USED, good[BODY + RECORD_USED] - 1)], "not the one of the header");
    refuse(&[(role(0), 1)], "not the one of the header");
    refuse(&[(BODY + 3, 7)], "not the one of the header");
    let beside = if moving + 1 < roles.len() { moving + 1 } else { moving - 1 };
    refuse(&[(role(beside), 1)], if beside == 0 { "header" } else { "two tables move to the same one" });
    refuse(&[(MODE, 2)], "a basic filter has a chain");
    refuse(&[(LEN, good[LEN] ^ 1)], "copies, found");
    refuse(&[(OWN + 2, 200)], "expected slots of");
    let used = BODY + (roles.len() - 1) * RECORD + RECORD_USED;
    refuse(&[(used, good[used] - 1)], &format!("table {}: used slots", roles.len() - 1));
}

#[test]
fn damaged_views_can_be_merged_and_what_is_accepted_works() {
    let bytes = several_tables().to_bytes();
    for at in 0..bytes.len() {
        for flip in [1, 0x80] {
            let mut damaged = bytes.clone();
            damaged[at] ^= flip;
            reseal(&mut damaged);
            let Ok(view) = ExpandableFilter::view(&damaged) else { continue };
            let mut other = ExpandableFilter::builder().hasher(view.hasher().clone()).build().unwrap();
            let empty = other.to_bytes();
            match other.merge_from(&view) {
                // Whatever it made of the view, it is a filter.
                Ok(()) => {
                    let read = ExpandableFilter::from_bytes(&other.to_bytes());
                    assert_eq!(read.unwrap().len(), other.len(), "byte {at}");
                }
                Err(_) => assert_eq!(other.to_bytes(), empty, "byte {at}"),
            }
            if let Ok(mut filter) = view.to_filter() {
                assert_eq!(filter.to_bytes(), damaged);
                for key in 0..50u64 {
                    if filter.insert(&key).is_ok() {
                        assert!(filter.contains(&key));
                    }
                }
                ExpandableFilter::from_bytes(&filter.to_bytes()).unwrap();
            }
        }
    }
}
