//! Filters as bytes: what is written comes back, and what was not written by us is refused.

use std::fs::{self, File};
use std::io::{self, Cursor, ErrorKind, Read, Write};
use std::path::Path;

use twiceshy::error::{InsertError, ReadError};
use twiceshy::{HashKey, Hasher, QuotientFilter};

// Where the fields of the header are.
const VERSION: usize = 8;
const KIND: usize = 10;
const HASH: usize = 11;
const QUOTIENT_BITS: usize = 12;
const SLOT_BITS: usize = 13;
const FLAGS: usize = 14;
const OFFSET_MAX: usize = 15;
const SPILL: usize = 16;
const MAX_QUOTIENT_BITS: usize = 20;
const RESERVED: usize = 21;
const SECRET: usize = 24;
const USED: usize = 40;
const LEN: usize = 48;
const DISTINCT: usize = 56;
const BODY_BYTES: usize = 64;
const BODY_SUM: usize = 72;
const MORE_RESERVED: usize = 76;
const HEADER_SUM: usize = 124;
const BODY: usize = 128;

/// Bytes of a block: offset, occupied bits, run ends, slots.
const OFFSET: usize = 0;
const OCCUPIED: usize = 1;
const RUNEND: usize = 9;
const SLOTS: usize = 17;

/// SplitMix64: the same numbers in every run.
struct Numbers(u64);

impl Numbers {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ z >> 31
    }

    fn below(&mut self, bound: u64) -> u64 {
        self.next() % bound
    }
}

fn hasher() -> Hasher {
    Hasher::keyed(HashKey::from_bytes(*b"a key for tests!"))
}

fn empty(quotient_bits: u32, remainder_bits: u32) -> QuotientFilter {
    QuotientFilter::builder()
        .quotient_bits(quotient_bits)
        .remainder_bits(remainder_bits)
        .hasher(hasher())
        .build()
        .unwrap()
}

/// A filter whose slots are in use up to `load`, with counts of every size.
fn filled(quotient_bits: u32, remainder_bits: u32, load: f64) -> QuotientFilter {
    let mut filter = empty(quotient_bits, remainder_bits);
    let mut numbers = Numbers(u64::from(quotient_bits * 100 + remainder_bits));
    let slots = (filter.capacity() as f64 * load) as u64;
    while filter.used_slots() < slots {
        let copies = match numbers.below(8) {
            0 => 1 + numbers.below(40),
            1 => 1 << numbers.below(40),
            _ => 1,
        };
        match filter.insert_hash_many(numbers.next(), copies) {
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

fn put(bytes: &mut [u8], at: usize, field: &[u8]) {
    bytes[at..at + field.len()].copy_from_slice(field);
}

fn get(bytes: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(bytes[at..at + 8].try_into().unwrap())
}

/// Makes both checksums right again.
fn reseal(bytes: &mut [u8]) {
    let sum = crc32fast::hash(&bytes[BODY..]);
    put(bytes, BODY_SUM, &sum.to_le_bytes());
    let sum = crc32fast::hash(&bytes[..HEADER_SUM]);
    put(bytes, HEADER_SUM, &sum.to_le_bytes());
}

/// The file with a field of its header changed and the checksums right.
fn with_field(mut bytes: Vec<u8>, at: usize, field: &[u8]) -> Vec<u8> {
    put(&mut bytes, at, field);
    reseal(&mut bytes);
    bytes
}

/// The error that all ways of reading `bytes` completely agree on.
#[track_caller]
fn refused(bytes: &[u8]) -> ReadError {
    let read = QuotientFilter::read_from(bytes);
    let viewed = QuotientFilter::view(bytes).and_then(|view| view.verify());
    let copied = QuotientFilter::view(bytes).and_then(|view| view.to_filter());
    assert!(read.is_err(), "read_from accepts it");
    assert!(viewed.is_err(), "view and verify accept it");
    assert!(copied.is_err(), "to_filter accepts it");
    QuotientFilter::from_bytes(bytes).expect_err("from_bytes accepts it")
}

/// Asks a view everything. Only that it ends without a panic counts.
fn interrogate(bytes: &[u8]) {
    let Ok(view) = QuotientFilter::view(bytes) else { return };
    let hashes: Vec<u64> = match view.fingerprint_bits() {
        bits @ ..=10 => (0..1 << bits).map(|fingerprint| fingerprint << (64 - bits)).collect(),
        _ => (0..500).map(|i| Numbers(i).next()).collect(),
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

// What is written comes back.

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
    let bytes = filter.to_bytes();
    let mut written = Vec::new();
    filter.write_to(&mut written).unwrap();
    assert_eq!(written, bytes, "{what}");
    assert_eq!(bytes.len(), BODY + filter.size_in_bytes(), "{what}");
    let view = QuotientFilter::view(&bytes).unwrap();
    view.verify().unwrap_or_else(|error| panic!("{what}: {error}"));
    assert_eq!(view.to_bytes(), bytes, "{what}");
    assert_eq!(view.hasher(), filter.hasher(), "{what}");
    let copies =
        [QuotientFilter::read_from(bytes.as_slice()), QuotientFilter::from_bytes(&bytes), view.to_filter()];
    for copy in copies {
        let mut copy = copy.unwrap_or_else(|error| panic!("{what}: {error}"));
        assert_eq!(copy.to_bytes(), bytes, "{what}");
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
fn a_view_needs_no_alignment() {
    for (quotient_bits, remainder_bits) in [(3, 1), (6, 9), (7, 33), (5, 59)] {
        let bytes = small(quotient_bits, remainder_bits);
        for shift in 0..8 {
            let mut buffer = vec![0xAA; shift];
            buffer.extend_from_slice(&bytes);
            let view = QuotientFilter::view(&buffer[shift..]).unwrap();
            view.verify().unwrap();
            let filter = QuotientFilter::from_bytes(&bytes).unwrap();
            assert!(view.iter().eq(filter.iter()));
            for entry in &filter {
                let hash = entry.fingerprint << (64 - filter.fingerprint_bits());
                assert_eq!(view.count_hash(hash), entry.count);
            }
            assert_eq!(view.to_filter().unwrap().to_bytes(), bytes);
        }
    }
}

// What is damaged is refused.

/// Shapes of small files: one block, several blocks, the narrowest and a wide slot.
const SMALL: [(u32, u32); 4] = [(3, 1), (3, 4), (6, 5), (2, 58)];

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

// Readers and writers that behave badly.

/// Counts what it is asked for and what it gives.
struct Counting<R> {
    inner: R,
    given: usize,
    largest: usize,
}

impl<R> Counting<R> {
    fn new(inner: R) -> Self {
        Self { inner, given: 0, largest: 0 }
    }
}

impl<R: Read> Read for Counting<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.largest = self.largest.max(buffer.len());
        let read = self.inner.read(buffer)?;
        self.given += read;
        Ok(read)
    }
}

#[test]
fn a_header_that_claims_a_huge_table_costs_nothing() {
    for (quotient_bits, slot_bits) in [(48u32, 1), (48, 9), (48, 16), (40, 24), (33, 8)] {
        let mut bytes = empty(3, 4).to_bytes();
        let (total, block) = ((1u64 << quotient_bits) + 256, SLOTS as u64 + 8 * slot_bits);
        let table = total / 64 * block + 16;
        put(&mut bytes, QUOTIENT_BITS, &[quotient_bits as u8]);
        put(&mut bytes, SLOT_BITS, &[slot_bits as u8]);
        put(&mut bytes, MAX_QUOTIENT_BITS, &[quotient_bits as u8]);
        put(&mut bytes, SPILL, &256u32.to_le_bytes());
        put(&mut bytes, BODY_BYTES, &table.to_le_bytes());
        bytes.resize(BODY + 1000, 0);
        reseal(&mut bytes);
        let mut reader = Counting::new(bytes.as_slice());
        let started = std::time::Instant::now();
        let error = QuotientFilter::read_from(&mut reader).unwrap_err();
        assert!(started.elapsed().as_secs() < 5, "took {:?}", started.elapsed());
        let ReadError::Length { expected, found } = error else { panic!("{error}") };
        assert!(expected >= table && found <= bytes.len() as u64, "{error}");
        assert_eq!(reader.given, bytes.len());
        assert!(reader.largest <= 4 << 20, "asked for {} bytes at once", reader.largest);
        assert!(matches!(refused(&bytes), ReadError::Length { .. }));
    }
    // A table that cannot be addressed.
    let mut bytes = with_field(empty(3, 4).to_bytes(), QUOTIENT_BITS, &[48]);
    put(&mut bytes, SPILL, &u32::MAX.to_le_bytes());
    put(&mut bytes, BODY_BYTES, &u64::MAX.to_le_bytes());
    reseal(&mut bytes);
    assert!(matches!(refused(&bytes), ReadError::Field { field: "table bytes", found: u64::MAX, .. }));
}

/// Gives one byte at a time, and is interrupted before each.
struct Trickle<R> {
    inner: R,
    interrupted: bool,
}

impl<R: Read> Read for Trickle<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.interrupted = !self.interrupted;
        if self.interrupted {
            return Err(ErrorKind::Interrupted.into());
        }
        let len = buffer.len().min(1);
        self.inner.read(&mut buffer[..len])
    }
}

#[test]
fn a_reader_may_be_slow() {
    for (quotient_bits, remainder_bits) in [(3, 1), (10, 9)] {
        let bytes = small(quotient_bits, remainder_bits);
        let trickle = Trickle { inner: bytes.as_slice(), interrupted: false };
        assert_eq!(QuotientFilter::read_from(trickle).unwrap().to_bytes(), bytes);
        let cut = Trickle { inner: &bytes[..bytes.len() - 1], interrupted: false };
        assert!(matches!(QuotientFilter::read_from(cut), Err(ReadError::Length { .. })));
    }
}

/// Gives some bytes and then an error.
struct Failing<'a>(&'a [u8]);

impl Read for Failing<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self.0.read(buffer)? {
            0 => Err(io::Error::other("the cable was pulled")),
            read => Ok(read),
        }
    }
}

#[test]
fn an_error_of_the_reader_comes_out() {
    let bytes = small(6, 5);
    for len in 0..bytes.len() {
        let error = QuotientFilter::read_from(Failing(&bytes[..len])).unwrap_err();
        let ReadError::Io(ref cause) = error else { panic!("after {len} bytes: {error}") };
        assert_eq!(cause.to_string(), "the cable was pulled");
        assert!(error.to_string().contains("the cable was pulled"), "{error}");
        assert!(std::error::Error::source(&error).is_some());
    }
    // All bytes came, so the reader is not asked again.
    QuotientFilter::read_from(Failing(&bytes)).unwrap();
}

#[test]
fn filters_follow_each_other_in_a_stream() {
    let filters = [filled(3, 1, 0.9), filled(7, 9, 0.9), empty(5, 5), filled(2, 58, 0.9)];
    let mut stream = b"before".to_vec();
    for filter in &filters {
        filter.write_to(&mut stream).unwrap();
    }
    stream.extend_from_slice(b"behind");
    let mut reader = Cursor::new(&stream);
    reader.set_position(6);
    for filter in &filters {
        assert_eq!(QuotientFilter::read_from(&mut reader).unwrap().to_bytes(), filter.to_bytes());
    }
    let mut rest = String::new();
    reader.read_to_string(&mut rest).unwrap();
    assert_eq!(rest, "behind");
}

/// Takes so many bytes and then has no room, or fails when it is flushed.
struct Narrow {
    room: usize,
    flushes: bool,
}

impl Write for Narrow {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let taken = bytes.len().min(self.room);
        self.room -= taken;
        if taken == 0 { Err(ErrorKind::StorageFull.into()) } else { Ok(taken) }
    }
    fn flush(&mut self) -> io::Result<()> {
        if self.flushes { Ok(()) } else { Err(io::Error::other("nothing arrived")) }
    }
}

#[test]
fn an_error_of_the_writer_comes_out() {
    let filter = filled(6, 5, 0.9);
    let len = filter.to_bytes().len();
    for room in 0..len {
        let error = filter.write_to(Narrow { room, flushes: true }).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::StorageFull);
    }
    filter.write_to(Narrow { room: len, flushes: true }).unwrap();
    assert!(filter.write_to(Narrow { room: len, flushes: false }).is_err());
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_is_an_error() {
    let full = fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
    let error = filled(6, 5, 0.9).write_to(full).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::StorageFull);
}

// Files.

/// Names in a folder, sorted.
fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap();
    let mut names: Vec<_> = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[test]
fn a_saved_file_is_loaded_and_replaced() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.twiceshy");
    for filter in [filled(3, 1, 0.9), filled(9, 9, 0.9), empty(3, 3)] {
        filter.save(&path).unwrap();
        assert_eq!(fs::read(&path).unwrap(), filter.to_bytes());
        assert_eq!(QuotientFilter::load(&path).unwrap().to_bytes(), filter.to_bytes());
        assert_eq!(names(folder.path()), ["a.twiceshy"]);
    }
    let bytes = fs::read(&path).unwrap();
    fs::write(&path, &bytes[..bytes.len() - 1]).unwrap();
    assert!(matches!(QuotientFilter::load(&path), Err(ReadError::Length { .. })));
}

#[cfg(unix)]
#[test]
fn only_the_owner_can_read_a_saved_file() {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("secret");
    let mode = || fs::metadata(&path).unwrap().permissions().mode() & 0o777;
    empty(3, 4).save(&path).unwrap();
    assert_eq!(mode(), 0o600);
    // Also if the file that is replaced was open to all.
    fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).unwrap();
    empty(3, 4).save(&path).unwrap();
    assert_eq!(mode(), 0o600);
}

#[test]
fn a_failed_save_changes_nothing_and_leaves_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let filter = filled(6, 5, 0.9);

    let missing = folder.path().join("nowhere").join("filter");
    let error = filter.save(&missing).unwrap_err();
    assert_eq!(error.source.kind(), ErrorKind::NotFound);
    let text = error.to_string();
    assert!(text.contains("cannot write") && text.contains("nowhere"), "{text}");
    assert!(std::error::Error::source(&error).is_some());
    assert!(names(folder.path()).is_empty());

    // A folder with something in it cannot be replaced by a file.
    let taken = folder.path().join("taken");
    fs::create_dir(&taken).unwrap();
    fs::write(taken.join("content"), "kept").unwrap();
    let error = filter.save(&taken).unwrap_err().to_string();
    assert!(error.contains("rename") && error.contains("taken"), "{error}");
    assert_eq!(names(folder.path()), ["taken"]);
    assert_eq!(names(&taken), ["content"]);

    // A path that goes through a file, and no path at all.
    let file = folder.path().join("file");
    filter.save(&file).unwrap();
    assert!(empty(3, 4).save(file.join("filter")).is_err());
    assert_eq!(fs::read(&file).unwrap(), filter.to_bytes());
    assert_eq!(names(folder.path()), ["file", "taken"]);
    assert!(filter.save(folder.path().join("..")).is_err());
    assert_eq!(names(folder.path()), ["file", "taken"]);
}

#[cfg(unix)]
#[test]
fn a_folder_without_write_permission_keeps_the_old_file() {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("filter");
    let old = filled(6, 5, 0.9);
    old.save(&path).unwrap();
    let allow = |mode| fs::set_permissions(folder.path(), fs::Permissions::from_mode(mode)).unwrap();
    allow(0o500);
    let stopped = File::create(folder.path().join("probe")).is_err();
    let saved = empty(3, 4).save(&path);
    allow(0o700);
    if stopped {
        assert_eq!(saved.unwrap_err().source.kind(), ErrorKind::PermissionDenied);
        assert_eq!(fs::read(&path).unwrap(), old.to_bytes());
        assert_eq!(names(folder.path()), ["filter"]);
    } else {
        // Permissions do not stop a superuser: then the new file is there, complete.
        saved.unwrap();
        assert_eq!(fs::read(&path).unwrap(), empty(3, 4).to_bytes());
    }
}

#[test]
fn files_that_cannot_be_opened_are_named() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("missing.twiceshy");
    let error = QuotientFilter::load(&path).unwrap_err();
    assert!(matches!(error, ReadError::Open { .. }), "{error}");
    assert!(error.to_string().contains("missing.twiceshy"), "{error}");
    assert!(std::error::Error::source(&error).is_some());
    assert!(QuotientFilter::load(folder.path()).is_err(), "a folder is no filter");
}
