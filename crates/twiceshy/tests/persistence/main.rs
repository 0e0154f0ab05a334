//! Filters as bytes: what is written comes back, and what was not written by us is refused.

use std::fs::{self, File};
use std::io::{self, Cursor, ErrorKind, Read, Write};
use std::path::Path;

use numbers::Numbers;
use twiceshy::error::{InsertError, ReadError};
use twiceshy::{HashKey, Hasher, QuotientFilter};

mod adaptive;
mod damage;
mod files;
#[path = "../numbers/mod.rs"]
mod numbers;
mod round_trips;
mod streams;

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
    all_refuse([
        QuotientFilter::read_from(bytes).err(),
        QuotientFilter::view(bytes).and_then(|view| view.verify()).err(),
        QuotientFilter::view(bytes).and_then(|view| view.to_filter()).err(),
        QuotientFilter::from_bytes(bytes).err(),
    ])
}

/// The error of the last of the ways to read something, all of which must refuse it.
#[track_caller]
fn all_refuse([read, verified, copied, from_bytes]: [Option<ReadError>; 4]) -> ReadError {
    assert!(read.is_some(), "read_from accepts it");
    assert!(verified.is_some(), "view and verify accept it");
    assert!(copied.is_some(), "to_filter accepts it");
    from_bytes.expect("from_bytes accepts it")
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

/// Shapes of small files: one block, several blocks, the narrowest and a wide slot.
const SMALL: [(u32, u32); 4] = [(3, 1), (3, 4), (6, 5), (2, 58)];
