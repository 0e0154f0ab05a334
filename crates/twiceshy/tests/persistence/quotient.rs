//! Quotient filters: every width and load, and what only they have.

use twiceshy::error::InsertError;

use super::*;

subject!(Quotient(QuotientFilter), files, interrogate, {
    const SLOT_BITS: RangeInclusive<u8> = 1..=16;
    const BLOCK_WORDS: usize = SLOTS;
    fn claim(bytes: &mut [u8]) {
        // It need not grow.
        bytes[MAX_QUOTIENT_BITS] = bytes[QUOTIENT_BITS];
    }
});

pub(super) fn empty(quotient_bits: u32, remainder_bits: u32) -> QuotientFilter {
    QuotientFilter::builder()
        .quotient_bits(quotient_bits)
        .remainder_bits(remainder_bits)
        .hasher(hasher())
        .build()
        .unwrap()
}

/// A filter whose slots are in use up to `load`, with counts of every size.
pub(super) fn filled(quotient_bits: u32, remainder_bits: u32, load: f64) -> QuotientFilter {
    let mut filter = empty(quotient_bits, remainder_bits);
    let mut random = Random(u64::from(quotient_bits * 100 + remainder_bits));
    let slots = (filter.capacity() as f64 * load) as u64;
    while filter.used_slots() < slots {
        let copies = match random.below(8) {
            0 => 1 + random.below(40),
            1 => 1 << random.below(40),
            _ => 1,
        };
        match filter.insert_hash_many(random.next(), copies) {
            Ok(_) => {}
            Err(InsertError::Full { .. }) => break,
            Err(error) => panic!("{error}"),
        }
    }
    filter
}

/// A small file with runs, counts and, with `quotient_bits` from 6 on, several blocks.
fn small(quotient_bits: u32, remainder_bits: u32) -> Vec<u8> {
    filled(quotient_bits, remainder_bits, 0.9).to_bytes()
}

/// Shapes of small files: one block, several blocks, the narrowest and a wide slot.
const SMALL: [(u32, u32); 4] = [(3, 1), (3, 4), (6, 5), (2, 58)];

fn files() -> Vec<Vec<u8>> {
    let small = SMALL.iter().map(|&(quotient_bits, remainder_bits)| small(quotient_bits, remainder_bits));
    small.chain([empty(5, 5).to_bytes()]).collect()
}

/// Asks a view everything. Only that it ends without a panic counts.
fn interrogate(bytes: &[u8]) {
    let Ok(view) = QuotientFilter::view(bytes) else { return };
    let hashes: Vec<u64> = match view.fingerprint_bits() {
        bits @ ..=10 => (0..1 << bits).map(|fingerprint| fingerprint << (64 - bits)).collect(),
        _ => (0..500).map(|i| Random(i).next()).collect(),
    };
    let mut found = vec![false; hashes.len()];
    view.contains_hash_batch(&hashes, &mut found);
    for (&hash, found) in hashes.iter().zip(found) {
        assert_eq!(view.contains_hash(hash), found);
        std::hint::black_box(view.count_hash(hash));
    }
    std::hint::black_box(view.contains("key"));
    assert!(view.iter().count() <= 1 << 20, "more fingerprints than slots");
    std::hint::black_box((view.longest_cluster(), view.expected_error_rate(), format!("{view:?}")));
}

#[test]
fn every_width_and_load_comes_back() {
    for quotient_bits in [1, 2, 3, 4, 5, 6, 7, 9] {
        for remainder_bits in (1..=20).chain([31, 32, 33, 47, 48, 54, 55, 56, 57, 58, 59, 62, 63]) {
            if quotient_bits + remainder_bits > 64 {
                continue;
            }
            for load in [0.0, 0.5, 1.0] {
                let filter = filled(quotient_bits, remainder_bits, load);
                comes_back(&filter, &format!("2^{quotient_bits} slots of {remainder_bits} bits at {load}"));
            }
        }
    }
}

fn comes_back(filter: &QuotientFilter, what: &str) {
    round_trips::comes_back(filter, what);
    let bytes = filter.to_bytes();
    let view = QuotientFilter::view(&bytes).unwrap();
    assert_eq!(view.hasher(), filter.hasher(), "{what}");
    let copies =
        [QuotientFilter::read_from(bytes.as_slice()), QuotientFilter::from_bytes(&bytes), view.to_filter()];
    for copy in copies {
        let mut copy = copy.unwrap_or_else(|error| panic!("{what}: {error}"));
        assert_eq!(copy.hasher(), filter.hasher(), "{what}");
        assert_eq!((copy.len(), copy.distinct()), (filter.len(), filter.distinct()), "{what}");
        assert_eq!(copy.used_slots(), filter.used_slots(), "{what}");
        assert!(copy.iter().eq(filter.iter()) && view.iter().eq(filter.iter()), "{what}");
        for entry in filter {
            let hash = entry.fingerprint << (64 - filter.fingerprint_bits());
            assert_eq!(copy.count_hash(hash), entry.count, "{what}");
            assert_eq!(view.count_hash(hash), entry.count, "{what}");
            assert!(copy.contains_hash(hash) && view.contains_hash(hash), "{what}");
        }
        // It can be changed, and the change undone.
        if copy.insert_hash(0x0123_4567_89ab_cdef).is_ok() {
            assert_ne!(copy.to_bytes(), bytes, "{what}");
            assert!(copy.remove_hash(0x0123_4567_89ab_cdef));
        }
        assert_eq!(copy.to_bytes(), bytes, "{what}");
    }
}

#[test]
fn large_tables_come_back_too() {
    // Above 4 MiB tables lie in other memory, and reading them takes several pieces.
    let mut filter = empty(20, 40);
    assert!(filter.size_in_bytes() > 5 << 20);
    for key in 0..1000u64 {
        filter.insert_many(&key, key + 1).unwrap();
    }
    let bytes = filter.to_bytes();
    let copy = QuotientFilter::read_from(bytes.as_slice()).unwrap();
    assert!(copy.to_bytes() == bytes && QuotientFilter::from_bytes(&bytes).unwrap().to_bytes() == bytes);
    assert!((0..1000u64).all(|key| copy.count(&key) == key + 1));
    let error = QuotientFilter::read_from(&bytes[..bytes.len() - 1]).unwrap_err();
    assert!(matches!(error, ReadError::Length { .. }), "{error}");
}

#[test]
fn growth_is_kept() {
    let mut filter = QuotientFilter::builder()
        .capacity(10)
        .grow_to(1000)
        .error_rate(0.01)
        .hasher(hasher())
        .build()
        .unwrap();
    let mut copy = QuotientFilter::from_bytes(&filter.to_bytes()).unwrap();
    for key in 0..1000u64 {
        filter.insert(&key).unwrap();
        copy.insert(&key).unwrap();
    }
    assert_eq!(copy.to_bytes(), filter.to_bytes());
    comes_back(&filter, "grown");
}

#[test]
fn no_noise_is_a_filter() {
    assert_eq!(damage::any_bytes::<QuotientFilter>(), 0);
}

#[test]
fn queries_on_any_bytes_end_with_any_spill_area() {
    let mut random = Random(2);
    for (quotient_bits, remainder_bits) in SMALL {
        let good = small(quotient_bits, remainder_bits);
        let blocks = (good.len() - BODY - 16) / (SLOTS + 8 * remainder_bits as usize);
        // The number of slots does not fill the last block.
        let most = blocks as u64 * 64 - (1 << quotient_bits);
        for spill in most.saturating_sub(63)..most {
            for _ in 0..20 {
                let mut bytes = with_field(good.clone(), SPILL, &(spill as u32).to_le_bytes());
                put(&mut bytes, OFFSET_MAX, &[1 + random.below(5) as u8]);
                bytes[BODY..].fill_with(|| random.next() as u8 & random.next() as u8);
                put(&mut bytes, USED, &0u64.to_le_bytes());
                put(&mut bytes, DISTINCT, &0u64.to_le_bytes());
                put(&mut bytes, LEN, &0u64.to_le_bytes());
                reseal(&mut bytes);
                assert!(QuotientFilter::view(&bytes).is_ok());
                interrogate(&bytes);
                refused::<QuotientFilter>(&bytes);
            }
        }
    }
}

#[test]
fn every_field_out_of_range_is_named() {
    let good = small(3, 4);
    let (used, distinct) = (get(&good, USED), get(&good, DISTINCT));
    named::<QuotientFilter>(
        &good,
        &[
            // One block more or less than the table has.
            ("table bytes", SPILL, 57u32.to_le_bytes().to_vec()),
            ("table bytes", SPILL, u32::MAX.to_le_bytes().to_vec()),
            ("table bytes", QUOTIENT_BITS, vec![7]),
            ("table bytes", SLOT_BITS, vec![5]),
            ("reserved bytes", OWN, vec![1]),
            ("reserved bytes", OWN + 15, vec![1]),
            ("used slots", USED, long(65)),
            ("fingerprints", DISTINCT, long(used + 1)),
            ("fingerprints", DISTINCT, long(u64::MAX)),
            ("keys", LEN, long(distinct - 1)),
            ("keys", LEN, long(0)),
        ],
    );
    // Quotient and slot bits that together are more than a hash.
    let error = refused::<QuotientFilter>(&with_field(small(2, 58), QUOTIENT_BITS, &[7]));
    assert!(matches!(error, ReadError::Field { .. }), "{error}");
    let mut wide = small(2, 58);
    put(&mut wide, SLOT_BITS, &[63]);
    let block = SLOTS + 8 * 63 + 16;
    wide.resize(BODY + block, 0);
    let wide = with_field(wide, BODY_BYTES, &(block as u64).to_le_bytes());
    let error = refused::<QuotientFilter>(&wide).to_string();
    assert!(error.contains("slot bits = 63, expected at most 62"), "{error}");
    // No fingerprints, but keys.
    let none = with_field(empty(3, 4).to_bytes(), LEN, &1u64.to_le_bytes());
    assert!(matches!(refused::<QuotientFilter>(&none), ReadError::Field { field: "keys", found: 1, .. }));
}

#[test]
fn the_seed_of_a_fast_hash_has_eight_bytes() {
    let filter =
        QuotientFilter::builder().quotient_bits(3).remainder_bits(4).hasher(Hasher::fast_with_seed(7));
    let bytes = filter.build().unwrap().to_bytes();
    assert_eq!(get(&bytes, SECRET), 7);
    for at in SECRET + 8..SECRET + 16 {
        let error = refused::<QuotientFilter>(&with_field(bytes.clone(), at, &[1]));
        assert!(matches!(error, ReadError::Field { field: "hash", .. }), "{error}");
    }
}

#[test]
fn tables_that_contradict_themselves_are_refused() {
    // Block 0 has runs of several entries and pushes slots into block 1; block 2 is the spill area.
    let mut filter = empty(7, 8);
    for quotient in 40..64u64 {
        for remainder in [10, 20, 30] {
            filter.insert_hash(quotient << 57 | remainder << 49).unwrap();
        }
    }
    let good = filter.to_bytes();
    let block = SLOTS + 8 * 8;
    assert_eq!(good[BODY + block + OFFSET], 24 * 3 - 64, "slots of block 1 that belong to block 0");
    let slot = |i: usize| BODY + SLOTS + i;
    let edits: Vec<(&str, Vec<(usize, u8)>)> = vec![
        ("offset of the first block", vec![(BODY + OFFSET, 1)]),
        ("offset too small", vec![(BODY + block + OFFSET, 7)]),
        ("offset too large", vec![(BODY + block + OFFSET, 9)]),
        ("offset saturated", vec![(BODY + block + OFFSET, 255)]),
        ("occupied bit without a run", vec![(BODY + OCCUPIED, 1)]),
        ("run without an occupied bit", vec![(BODY + OCCUPIED + 5, 0b1111_1110)]),
        ("occupied bit behind the last quotient", vec![(BODY + 2 * block + OCCUPIED, 1)]),
        ("run end in a free slot", vec![(BODY + block + RUNEND + 1, 1)]),
        ("value in a free slot", vec![(BODY + block + SLOTS + 8, 1)]),
        ("padding", vec![(good.len() - 1, 1)]),
        ("padding", vec![(good.len() - 16, 1)]),
        ("entries of a run out of order", vec![(slot(0), 25)]),
        ("count that no encoder writes", vec![(slot(0), 20), (slot(2), 20)]),
    ];
    for (what, edit) in edits {
        let mut bytes = good.clone();
        for (at, byte) in edit {
            assert_ne!(bytes[at], byte, "{what}: nothing changes");
            bytes[at] = byte;
        }
        assert!(
            matches!(refused::<QuotientFilter>(&bytes), ReadError::Checksum { part: "table", .. }),
            "{what}"
        );
        reseal(&mut bytes);
        let error = refused::<QuotientFilter>(&bytes);
        assert!(matches!(error, ReadError::Inconsistent(_)), "{what}: {error}");
    }
    // The counts in the header.
    for at in [USED, LEN, DISTINCT] {
        let number = get(&good, at);
        for wrong in [number - 1, number + 1] {
            let error = refused::<QuotientFilter>(&with_field(good.clone(), at, &wrong.to_le_bytes()));
            assert!(matches!(error, ReadError::Inconsistent(_) | ReadError::Field { .. }), "{error}");
        }
    }
    let error = refused::<QuotientFilter>(&with_field(good.clone(), LEN, &(filter.len() + 1).to_le_bytes()))
        .to_string();
    assert!(error.contains("expected 72 fingerprints and 73 copies, found 72 and 72"), "{error}");
    let error = refused::<QuotientFilter>(&with_field(good, USED, &73u64.to_le_bytes())).to_string();
    assert!(error.contains("used slots at 0: expected 72, found 73"), "{error}");
}
