//! What is damaged is refused, and queries on it end.

use super::*;
use twiceshy::{AdaptiveFilter, ExpandableFilter, FilterKind, identify};

#[test]
fn every_truncation_is_refused() {
    for (quotient_bits, remainder_bits) in SMALL {
        let bytes = small(quotient_bits, remainder_bits);
        for len in 0..bytes.len() {
            let error = refused(&bytes[..len]);
            let ReadError::Length { expected, found } = error else { panic!("{len} bytes: {error}") };
            assert_eq!(expected, if len < BODY { BODY } else { bytes.len() } as u64);
            assert_eq!(found, len as u64);
            let error = QuotientFilter::read_from(&bytes[..len]).unwrap_err();
            assert!(matches!(error, ReadError::Length { .. }), "{len} bytes: {error}");
        }
    }
}

#[test]
fn no_input_and_nothing_but_a_header() {
    let bytes = small(3, 4);
    for len in [0, 127, 128] {
        let error = refused(&bytes[..len]).to_string();
        assert!(error.contains(&format!("found {len}")), "{error}");
        let error = refused(&vec![0; len]);
        assert!(matches!(error, ReadError::Length { .. } | ReadError::NotAFilter { .. }), "{error}");
    }
}

#[test]
fn every_flipped_bit_is_refused() {
    for (quotient_bits, remainder_bits) in SMALL {
        let mut bytes = small(quotient_bits, remainder_bits);
        for bit in 0..bytes.len() * 8 {
            bytes[bit / 8] ^= 1 << (bit % 8);
            refused(&bytes);
            assert_eq!(QuotientFilter::view(&bytes).is_ok(), bit / 8 >= BODY, "bit {bit}");
            bytes[bit / 8] ^= 1 << (bit % 8);
        }
        QuotientFilter::from_bytes(&bytes).unwrap();
    }
}

#[test]
fn queries_on_flipped_bits_end() {
    for (quotient_bits, remainder_bits) in SMALL {
        let mut bytes = small(quotient_bits, remainder_bits);
        for bit in BODY * 8..bytes.len() * 8 {
            bytes[bit / 8] ^= 1 << (bit % 8);
            interrogate(&bytes);
            bytes[bit / 8] ^= 1 << (bit % 8);
        }
    }
}

#[test]
fn queries_on_any_bytes_end() {
    let mut numbers = Numbers(1);
    for (quotient_bits, remainder_bits) in SMALL {
        let good = small(quotient_bits, remainder_bits);
        for round in 0..600 {
            let mut bytes = good.clone();
            // All ones, all zeros, noise, and noise in a good table.
            match round {
                0 => bytes[BODY..].fill(0xFF),
                1 => bytes[BODY..].fill(0),
                2..300 => bytes[BODY..].fill_with(|| numbers.next() as u8),
                _ => (0..8).for_each(|_| {
                    let at = BODY + numbers.below((good.len() - BODY) as u64) as usize;
                    bytes[at] = numbers.next() as u8;
                }),
            }
            interrogate(&bytes);
            // Also with a checksum that says that all is well.
            reseal(&mut bytes);
            interrogate(&bytes);
            if bytes[BODY..] != good[BODY..] {
                let error = refused(&bytes);
                assert!(matches!(error, ReadError::Inconsistent(_)), "{error}");
            }
        }
    }
}

#[test]
fn queries_on_any_bytes_end_with_any_spill_area() {
    let mut numbers = Numbers(2);
    for (quotient_bits, remainder_bits) in SMALL {
        let good = small(quotient_bits, remainder_bits);
        let blocks = (good.len() - BODY - 16) / (SLOTS + 8 * remainder_bits as usize);
        // The number of slots does not fill the last block.
        let most = blocks as u64 * 64 - (1 << quotient_bits);
        for spill in most.saturating_sub(63)..most {
            for _ in 0..20 {
                let mut bytes = with_field(good.clone(), SPILL, &(spill as u32).to_le_bytes());
                put(&mut bytes, OFFSET_MAX, &[1 + numbers.below(5) as u8]);
                bytes[BODY..].fill_with(|| numbers.next() as u8 & numbers.next() as u8);
                put(&mut bytes, USED, &0u64.to_le_bytes());
                put(&mut bytes, DISTINCT, &0u64.to_le_bytes());
                put(&mut bytes, LEN, &0u64.to_le_bytes());
                reseal(&mut bytes);
                assert!(QuotientFilter::view(&bytes).is_ok());
                interrogate(&bytes);
                refused(&bytes);
            }
        }
    }
}

#[test]
fn what_follows_the_filter_is_refused_unless_it_is_a_stream() {
    let bytes = small(3, 4);
    for extra in [1, 7, 8, 100, 5000] {
        let long = [bytes.clone(), vec![0; extra]].concat();
        for error in [
            QuotientFilter::from_bytes(&long).unwrap_err(),
            QuotientFilter::view(&long).unwrap_err(),
            load(&long).unwrap_err(),
        ] {
            let ReadError::Length { expected, found } = error else { panic!("{error}") };
            assert_eq!((expected, found), (bytes.len() as u64, long.len() as u64));
        }
        assert_eq!(QuotientFilter::read_from(long.as_slice()).unwrap().to_bytes(), bytes);
    }
}

/// Loads bytes from a file.
fn load(bytes: &[u8]) -> Result<QuotientFilter, ReadError> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("filter");
    fs::write(&path, bytes).unwrap();
    QuotientFilter::load(path)
}

#[test]
fn other_files_are_refused() {
    let mut bytes = small(3, 4);
    bytes[..8].copy_from_slice(b"\x7fELF\x02\x01\x01\x00");
    let error = refused(&bytes);
    assert!(matches!(error, ReadError::NotAFilter { .. }), "{error}");
    let text = error.to_string();
    assert!(text.contains(&format!("{:?}", b"twiceshy")) && text.contains(&format!("{:?}", &bytes[..8])));
}

#[test]
fn other_versions_are_refused() {
    // A newer version may have another checksum, so it is told even if the checksum is wrong.
    for version in [2u16, 3, 256, u16::MAX] {
        let mut bytes = small(3, 4);
        put(&mut bytes, VERSION, &version.to_le_bytes());
        for _ in 0..2 {
            let error = refused(&bytes);
            let ReadError::NewerVersion { supported: 1, found } = error else { panic!("{error}") };
            assert_eq!(found, version);
            let text = error.to_string();
            assert!(text.contains(&format!("version {version}")) && text.contains("up to 1"), "{text}");
            reseal(&mut bytes);
        }
    }
    let error = refused(&with_field(small(3, 4), VERSION, &[0, 0]));
    assert!(matches!(error, ReadError::Field { field: "version", found: 0, .. }), "{error}");
}

#[test]
fn other_kinds_are_refused() {
    for kind in [0, 2, 255] {
        let error = refused(&with_field(small(3, 4), KIND, &[kind]));
        assert!(matches!(error, ReadError::WrongKind { expected: 1, .. }), "{error}");
        let text = error.to_string();
        assert!(text.contains("expected a filter of kind 1") && text.contains(&format!("found kind {kind}")));
    }
}

#[test]
fn the_kind_of_a_file_is_told_from_its_header() {
    let adaptive = AdaptiveFilter::new(0.01).unwrap().to_bytes();
    let expandable = ExpandableFilter::new(0.01).unwrap().to_bytes();
    let (quotient, last) = (FilterKind::Quotient, FilterKind::Expandable);
    for (bytes, kind) in [(small(3, 4), quotient), (adaptive, FilterKind::Adaptive), (expandable, last)] {
        let identity = identify(&bytes[..BODY]).unwrap();
        assert_eq!((identity.kind, identity.version), (kind, 1));
        let error = identify(&bytes[..BODY - 1]).unwrap_err();
        assert!(matches!(error, ReadError::Length { expected: 128, found: 127 }), "{error}");
        let mut damaged = bytes.clone();
        damaged[KIND] ^= 1;
        assert!(matches!(identify(damaged.as_slice()), Err(ReadError::Checksum { .. })));
        damaged[VERSION] = 2;
        assert!(matches!(identify(damaged.as_slice()), Err(ReadError::NewerVersion { .. })));
        damaged[0] = b'x';
        assert!(matches!(identify(damaged.as_slice()), Err(ReadError::NotAFilter { .. })));
    }
    for unknown in [0, 4, 255] {
        let error = identify(with_field(small(3, 4), KIND, &[unknown]).as_slice()).unwrap_err();
        assert!(matches!(error, ReadError::Field { field: "kind", .. }), "{error}");
        assert!(error.to_string().contains("1 (quotient) or 2 (adaptive) or 3 (expandable)"), "{error}");
    }
}

#[test]
fn every_field_out_of_range_is_named() {
    let good = small(3, 4);
    let table = (good.len() - BODY) as u64;
    let used = get(&good, USED);
    let distinct = get(&good, DISTINCT);
    let long = |number: u64| number.to_le_bytes().to_vec();
    let cases: Vec<(&str, usize, Vec<u8>)> = vec![
        ("hash", HASH, vec![0]),
        ("hash", HASH, vec![3]),
        ("quotient bits", QUOTIENT_BITS, vec![0]),
        ("quotient bits", QUOTIENT_BITS, vec![49]),
        ("quotient bits", QUOTIENT_BITS, vec![255]),
        ("slot bits", SLOT_BITS, vec![0]),
        ("slot bits", SLOT_BITS, vec![65]),
        ("slot bits", SLOT_BITS, vec![255]),
        ("flags", FLAGS, vec![1]),
        ("flags", FLAGS, vec![128]),
        ("largest offset", OFFSET_MAX, vec![0]),
        // One block more or less than the table has.
        ("table bytes", SPILL, 57u32.to_le_bytes().to_vec()),
        ("table bytes", SPILL, u32::MAX.to_le_bytes().to_vec()),
        ("table bytes", QUOTIENT_BITS, vec![7]),
        ("table bytes", SLOT_BITS, vec![5]),
        ("table bytes", BODY_BYTES, long(0)),
        ("table bytes", BODY_BYTES, long(table - 1)),
        ("table bytes", BODY_BYTES, long(table + 1)),
        ("table bytes", BODY_BYTES, long(u64::MAX)),
        ("largest quotient bits", MAX_QUOTIENT_BITS, vec![0]),
        ("largest quotient bits", MAX_QUOTIENT_BITS, vec![49]),
        ("reserved bytes", RESERVED, vec![1]),
        ("reserved bytes", SECRET - 1, vec![0x80]),
        ("reserved bytes", MORE_RESERVED, vec![1]),
        ("reserved bytes", HEADER_SUM - 1, vec![1]),
        ("used slots", USED, long(65)),
        ("used slots", USED, long(u64::MAX)),
        ("fingerprints", DISTINCT, long(used + 1)),
        ("fingerprints", DISTINCT, long(u64::MAX)),
        ("keys", LEN, long(distinct - 1)),
        ("keys", LEN, long(0)),
    ];
    for (name, at, bytes) in cases {
        let error = refused(&with_field(good.clone(), at, &bytes));
        let ReadError::Field { field, ref expected, found } = error else { panic!("{name}: {error}") };
        assert_eq!(field, name, "{error}");
        let text = error.to_string();
        assert!(text.contains(&format!("{name} = {found}, expected {expected}")), "{text}");
        assert!(!expected.is_empty());
    }
    // Quotient and slot bits that together are more than a hash.
    let error = refused(&with_field(small(2, 58), QUOTIENT_BITS, &[7]));
    assert!(matches!(error, ReadError::Field { .. }), "{error}");
    let mut wide = small(2, 58);
    put(&mut wide, SLOT_BITS, &[63]);
    let block = SLOTS + 8 * 63 + 16;
    wide.resize(BODY + block, 0);
    let wide = with_field(wide, BODY_BYTES, &(block as u64).to_le_bytes());
    let error = refused(&wide).to_string();
    assert!(error.contains("slot bits = 63, expected at most 62"), "{error}");
    // No fingerprints, but keys.
    let none = with_field(empty(3, 4).to_bytes(), LEN, &1u64.to_le_bytes());
    assert!(matches!(refused(&none), ReadError::Field { field: "keys", found: 1, .. }));
}

#[test]
fn the_seed_of_a_fast_hash_has_eight_bytes() {
    let filter =
        QuotientFilter::builder().quotient_bits(3).remainder_bits(4).hasher(Hasher::fast_with_seed(7));
    let bytes = filter.build().unwrap().to_bytes();
    assert_eq!(get(&bytes, SECRET), 7);
    for at in SECRET + 8..SECRET + 16 {
        let error = refused(&with_field(bytes.clone(), at, &[1]));
        assert!(matches!(error, ReadError::Field { field: "hash", .. }), "{error}");
    }
}

#[test]
fn tables_that_contradict_themselves_are_refused() {
    // Two blocks; block 0 has runs of several entries and pushes slots into block 1.
    let mut filter = empty(6, 8);
    for quotient in 50..64u64 {
        for remainder in [10, 20, 30] {
            filter.insert_hash(quotient << 58 | remainder << 50).unwrap();
        }
    }
    let good = filter.to_bytes();
    let block = SLOTS + 8 * 8;
    assert_eq!(good[BODY + block + OFFSET], 14 * 3 - 14, "slots of block 1 that belong to block 0");
    let slot = |i: usize| BODY + SLOTS + i;
    let edits: Vec<(&str, Vec<(usize, u8)>)> = vec![
        ("offset of the first block", vec![(BODY + OFFSET, 1)]),
        ("offset too small", vec![(BODY + block + OFFSET, 27)]),
        ("offset too large", vec![(BODY + block + OFFSET, 29)]),
        ("offset saturated", vec![(BODY + block + OFFSET, 255)]),
        ("occupied bit without a run", vec![(BODY + OCCUPIED, 1)]),
        ("run without an occupied bit", vec![(BODY + OCCUPIED + 6, 0b1111_1000)]),
        ("occupied bit behind the last quotient", vec![(BODY + block + OCCUPIED, 1)]),
        ("run end in a free slot", vec![(BODY + RUNEND, 1)]),
        ("value in a free slot", vec![(slot(0), 1)]),
        ("padding", vec![(good.len() - 1, 1)]),
        ("padding", vec![(good.len() - 16, 1)]),
        ("entries of a run out of order", vec![(slot(50), 25)]),
        ("count that no encoder writes", vec![(slot(50), 20), (slot(52), 20)]),
    ];
    for (what, edit) in edits {
        let mut bytes = good.clone();
        for (at, byte) in edit {
            assert_ne!(bytes[at], byte, "{what}: nothing changes");
            bytes[at] = byte;
        }
        assert!(matches!(refused(&bytes), ReadError::Checksum { part: "table", .. }), "{what}");
        reseal(&mut bytes);
        let error = refused(&bytes);
        assert!(matches!(error, ReadError::Inconsistent(_)), "{what}: {error}");
    }
    // The counts in the header.
    for at in [USED, LEN, DISTINCT] {
        let number = get(&good, at);
        for wrong in [number - 1, number + 1] {
            let error = refused(&with_field(good.clone(), at, &wrong.to_le_bytes()));
            assert!(matches!(error, ReadError::Inconsistent(_) | ReadError::Field { .. }), "{error}");
        }
    }
    let error = refused(&with_field(good.clone(), LEN, &(filter.len() + 1).to_le_bytes())).to_string();
    assert!(error.contains("expected 42 fingerprints and 43 copies, found 42 and 42"), "{error}");
    let error = refused(&with_field(good, USED, &43u64.to_le_bytes())).to_string();
    assert!(error.contains("used slots at 0: expected 42, found 43"), "{error}");
}

#[test]
fn checksum_errors_tell_both_sums() {
    let good = small(3, 4);
    for (at, part) in [(LEN, "header"), (BODY + 5, "table")] {
        let mut bytes = good.clone();
        bytes[at] ^= 1;
        let error = refused(&bytes);
        let ReadError::Checksum { part: found_part, expected, found } = error else { panic!("{error}") };
        assert_eq!(found_part, part);
        let range = if part == "header" { 0..HEADER_SUM } else { BODY..good.len() };
        assert_eq!(expected, crc32fast::hash(&good[range.clone()]));
        assert_eq!(found, crc32fast::hash(&bytes[range]));
        let text = error.to_string();
        assert!(
            text.contains(&format!("{expected:08x}")) && text.contains(&format!("{found:08x}")),
            "{text}"
        );
    }
}
