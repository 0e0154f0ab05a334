//! Files of range filters: those that were ever released stay readable, and are written as they always were.
//!
//! `TWICESHY_WRITE_FIXTURES=1 cargo test -p twiceshy --test golden_ranges` writes files that are missing.
//! It never overwrites one.

use std::fs;
use std::path::PathBuf;

use twiceshy::hash::HashKey;
use twiceshy::range::Builder;
use twiceshy::reverse_map::MemoryMap;
use twiceshy::{AdaptiveRangeFilter, AdaptiveRangeSet, Hasher, RangeFilter, adaptive_range};
use twiceshy_testkit::golden::{ADVICE, write_if_asked};

/// A file of format version 2: how to make it and what is in it.
struct Golden {
    name: &'static str,
    /// CRC-32 of the file, so that a changed file does not go unnoticed.
    sum: u32,
    build: fn() -> RangeFilter<u64>,
    /// Keys with their copies.
    contents: fn() -> Vec<(u64, u64)>,
    /// Of the quotient, and of a new fingerprint.
    bits: [u32; 2],
    /// How many of the ranges from `(1 << 40) + 1000 i` on, of `max_range` keys, seem to have a key, of 1,000.
    false_positives: usize,
}

const FILES: [Golden; 4] = [
    // Never grown: boxes of one key, two, three, a full partition, and copies.
    Golden {
        name: "range-boxes",
        sum: 0x1355_f90f,
        build: || with(sized(7, 9).max_range(32).growth(false), boxes()),
        contents: boxes,
        bits: [7, 16],
        false_positives: 0,
    },
    // Strings of several lengths, with stop bits, after growth from 64 slots.
    Golden {
        name: "range-grown",
        sum: 0xcfa7_a334,
        build: || with(RangeFilter::builder().error_rate(0.05).capacity(50), spread(300)),
        contents: || spread(300),
        bits: [9, 26],
        false_positives: 10,
    },
    // Fingerprints that were too short for the quotient and lie in several places; some were removed.
    Golden {
        name: "range-short",
        sum: 0x4902_940e,
        build: || {
            let mut filter = with(sized(2, 3).max_range(4), spread(60));
            for (key, copies) in &spread(60)[40..] {
                (0..*copies).for_each(|_| assert!(filter.remove(key)));
            }
            filter
        },
        contents: || spread(40),
        bits: [7, 13],
        false_positives: 83,
    },
    // No suffixes, and smaller than it was at the start.
    Golden {
        name: "range-points",
        sum: 0xc30b_12ee,
        build: || {
            let mut filter = with(sized(8, 12).max_range(1).hasher(Hasher::fast_with_seed(9)), spread(20));
            filter.shrink_to_fit().unwrap();
            filter
        },
        contents: || spread(20),
        bits: [5, 20],
        false_positives: 0,
    },
];

fn sized(quotient_bits: u32, remainder_bits: u32) -> Builder<u64> {
    RangeFilter::builder().quotient_bits(quotient_bits).remainder_bits(remainder_bits)
}

fn with(builder: Builder<u64>, contents: Vec<(u64, u64)>) -> RangeFilter<u64> {
    let hasher = Hasher::siphash(HashKey::from_bytes([0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15]));
    let builder =
        if format!("{builder:?}").contains("hasher: None") { builder.hasher(hasher) } else { builder };
    let mut filter = builder.build().unwrap();
    for (key, copies) in contents {
        (0..copies).for_each(|_| assert!(filter.insert(&key).is_ok()));
    }
    filter
}

fn spread(keys: u64) -> Vec<(u64, u64)> {
    (0..keys).map(|number| (number * number * 1_009, 1 + u64::from(number % 17 == 0))).collect()
}

fn boxes() -> Vec<(u64, u64)> {
    let sizes = (0..33u64).flat_map(|size| (0..size).map(move |key| ((size << 20) + key * 31 / size, 1)));
    let copies = [2, 3, 5, 1_000].into_iter().map(|copies| ((7 << 30) + copies, copies));
    sizes.filter(|(key, _)| [1, 2, 3, 4, 9, 16, 30, 31, 32].contains(&(key >> 20))).chain(copies).collect()
}

impl Golden {
    fn path(&self) -> PathBuf {
        path(self.name)
    }

    fn stored(&self) -> Vec<u8> {
        fs::read(self.path()).unwrap()
    }
}

#[test]
fn golden_files_hold_what_was_put_in_and_are_written_as_they_were() {
    let mut wrong = Vec::new();
    for golden in &FILES {
        write_if_asked(&golden.path(), || (golden.build)().to_bytes());
        let (name, bytes) = (golden.name, golden.stored());
        let filter =
            RangeFilter::<u64>::load(golden.path()).unwrap_or_else(|e| panic!("{name}: {e}. {ADVICE}"));
        RangeFilter::<u64>::view(&bytes).unwrap().validate().unwrap();
        let contents = (golden.contents)();
        for (key, copies) in &contents {
            assert!(
                filter.count(key) >= *copies && filter.contains_range(key..=key),
                "{name}: {key}. {ADVICE}"
            );
        }
        assert_eq!(filter.len(), contents.iter().map(|(_, copies)| copies).sum::<u64>(), "{name}");
        assert_eq!([filter.quotient_bits(), filter.fingerprint_bits()], golden.bits, "{name}");
        assert!((golden.build)().to_bytes() == bytes, "{name} is written differently. {ADVICE}");
        assert!(filter.to_bytes() == bytes, "{name} is written differently when read. {ADVICE}");
        let mistakes = mistakes(|range| filter.contains_range(range), filter.max_range());
        compare(name, &bytes, (golden.sum, golden.false_positives), mistakes, &mut wrong);
    }
    assert!(wrong.is_empty(), "{wrong:#?}. {ADVICE}");
}

/// An adaptive one: its sum, how many of the ranges seem to have a key, and how it is made.
type Adaptive = (&'static str, u32, usize, fn() -> AdaptiveRangeSet<u64, MemoryMap>);

const ADAPTIVE: [Adaptive; 2] = [
    // Boxes of every form, never grown; some mistakes were learned.
    ("adaptive-range-boxes", 0x7058_d152, 4, || {
        learned(AdaptiveRangeSet::builder().quotient_bits(8).remainder_bits(3), &boxes())
    }),
    // Grown from 64 slots, with stop bits.
    ("adaptive-range-grown", 0xfc90_d426, 13, || {
        learned(AdaptiveRangeSet::builder().error_rate(0.2), &spread(200))
    }),
];

fn learned(
    builder: adaptive_range::Builder<u64>,
    contents: &[(u64, u64)],
) -> AdaptiveRangeSet<u64, MemoryMap> {
    let hasher = Hasher::keyed(HashKey::from_bytes(*b"twiceshy fixture"));
    let mut set = builder.max_range(32).hasher(hasher).build_set(MemoryMap::new()).unwrap();
    contents.iter().for_each(|(key, _)| _ = set.insert(key).unwrap());
    (0..500)
        .for_each(|number| assert!(!set.contains_range_exactly(start(number)..start(number) + 32).unwrap()));
    set
}

#[test]
fn golden_files_of_adaptive_filters_hold_what_was_put_in_and_are_written_as_they_were() {
    let mut wrong = Vec::new();
    for (name, sum, false_positives, build) in ADAPTIVE {
        let (path, set) = (path(name), build());
        write_if_asked(&path, || set.filter().to_bytes());
        let bytes = fs::read(&path).unwrap();
        let filter =
            AdaptiveRangeFilter::<u64>::load(&path).unwrap_or_else(|e| panic!("{name}: {e}. {ADVICE}"));
        AdaptiveRangeFilter::<u64>::view(&bytes).unwrap().validate().unwrap();
        set.for_each_code(|code| assert!(filter.contains(&(code as u64)), "{name}: {code}. {ADVICE}"))
            .unwrap();
        assert!(set.filter().to_bytes() == bytes, "{name} is written differently. {ADVICE}");
        assert!(filter.to_bytes() == bytes, "{name} is written differently when read. {ADVICE}");
        AdaptiveRangeSet::from_parts(filter.clone(), set.map().clone()).validate().unwrap();
        let mistakes = mistakes(|range| filter.contains_range(range), filter.max_range());
        compare(name, &bytes, (sum, false_positives), mistakes, &mut wrong);
    }
    assert!(wrong.is_empty(), "{wrong:#?}. {ADVICE}");
}

/// Where ranges begin that have no key.
fn start(number: u64) -> u64 {
    (1 << 40) + 1_000 * number
}

/// How many of 1,000 ranges without a key seem to have one.
fn mistakes(is_found: impl Fn(std::ops::Range<u64>) -> bool, keys: u64) -> usize {
    (0..1_000).filter(|number| is_found(start(*number)..start(*number) + keys)).count()
}

/// Notes what is not as it was: checksum and mistakes.
fn compare(name: &str, bytes: &[u8], (sum, then): (u32, usize), mistakes: usize, wrong: &mut Vec<String>) {
    assert!(bytes.len() < 4096, "{name} is large: {} bytes", bytes.len());
    let found = crc32fast::hash(bytes);
    if (sum, then) != (found, mistakes) {
        wrong.push(format!("{name}: checksum {found:#010x} and {mistakes} mistakes"));
    }
}

fn path(name: &str) -> PathBuf {
    let folder = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../fixtures/v2-ranges"));
    folder.join(name).with_extension("twiceshy")
}
