//! Files of every format version that was ever released: they stay readable, and the present version is
//! written as it always was.
//!
//! `TWICESHY_WRITE_FIXTURES=1 cargo test -p twiceshy --test golden_files` writes files that are missing.
//! It never overwrites one.

use std::fs::{self, OpenOptions};
use std::io::Write;
use std::path::PathBuf;

use twiceshy::{
    AdaptiveFilter, AdaptiveFilterBuilder, AdaptiveSet, Growth, HashKey, Hasher, MemoryMap, QuotientFilter,
    QuotientFilterBuilder,
};

const ADVICE: &str = "Files in fixtures/ are never changed, since users have files like them. If the new \
    bytes are wanted, the format has changed: raise its version, keep reading the old one, and add files of \
    the new version beside the old ones.";

/// A file of format version 1 with a quotient filter: how to make it and what is in it.
struct Golden {
    name: &'static str,
    /// CRC-32 of the file, so that a changed file does not go unnoticed.
    sum: u32,
    build: fn() -> QuotientFilter,
    /// Keys with their copies.
    contents: fn() -> Vec<(String, u64)>,
    quotient_bits: u32,
    remainder_bits: u32,
    /// How many of the keys "absent 0" to "absent 999" are found. A hash or a layout that is read
    /// differently changes it.
    false_positives: usize,
}

const FILES: [Golden; 5] = [
    Golden {
        name: "keyed",
        sum: 0x1576_5fe5,
        build: || with(sized(6, 9).hasher(keyed()), once(50)),
        contents: || once(50),
        quotient_bits: 6,
        remainder_bits: 9,
        false_positives: 1,
    },
    Golden {
        name: "fast",
        sum: 0xdfed_cbba,
        build: || with(sized(8, 17).hasher(Hasher::fast_with_seed(0x1234_5678_9abc_def0)), once(200)),
        contents: || once(200),
        quotient_bits: 8,
        remainder_bits: 17,
        false_positives: 0,
    },
    Golden {
        name: "counts",
        sum: 0xe13d_7668,
        build: || with(sized(7, 8).hasher(keyed()), large_counts()),
        contents: large_counts,
        quotient_bits: 7,
        remainder_bits: 8,
        false_positives: 0,
    },
    Golden {
        name: "tiny",
        sum: 0x1460_7d73,
        build: || with(sized(3, 1).hasher(keyed()), tiny()),
        contents: tiny,
        quotient_bits: 3,
        remainder_bits: 1,
        false_positives: 124,
    },
    Golden {
        name: "grown",
        sum: 0x3e49_7d99,
        build: || {
            let builder = QuotientFilter::builder().capacity(10).grow_to(400).error_rate(0.01);
            with(builder.hasher(keyed()), once(220))
        },
        contents: || once(220),
        quotient_bits: 8,
        remainder_bits: 8,
        false_positives: 2,
    },
];

/// A file of format version 1 with an adaptive filter: how to make it and what is in it.
struct AdaptiveGolden {
    name: &'static str,
    sum: u32,
    build: fn() -> AdaptiveSet<MemoryMap>,
    /// Keys with their tags.
    contents: fn() -> Vec<(String, u64)>,
    quotient_bits: u32,
    slot_bits: u32,
    remainder_bits: u32,
    /// All fingerprints, and those of more than one slot.
    fingerprints: (u64, u64),
    /// How many of the keys "absent 0" to "absent 999" are found: none, where they have been asked for.
    false_positives: usize,
}

const ADAPTIVE_FILES: [AdaptiveGolden; 3] = [
    // Never resized: whole slots, with tags, and with what it learned from a thousand queries.
    AdaptiveGolden {
        name: "adaptive-learned",
        sum: 0x1af2_113f,
        build: || {
            let builder = AdaptiveSet::builder().quotient_bits(8).remainder_bits(4).growth(Growth::Refuse);
            learned(builder.hasher(keyed()), 40, 1000)
        },
        contents: || tagged(40),
        quotient_bits: 8,
        slot_bits: 4,
        remainder_bits: 4,
        fingerprints: (40, 8),
        false_positives: 0,
    },
    // Grown from eight slots: stop bits, fingerprints of every age, and a few that ran out of bits.
    AdaptiveGolden {
        name: "adaptive-grown",
        sum: 0x2bcf_75e2,
        build: || {
            learned(AdaptiveSet::builder().hasher(keyed()).quotient_bits(3).remainder_bits(3), 200, 500)
        },
        contents: || tagged(200),
        quotient_bits: 10,
        slot_bits: 4,
        remainder_bits: 3,
        fingerprints: (196, 12),
        false_positives: 29,
    },
    // Shrunk: wide slots. A limit in bytes, and a fast hash.
    AdaptiveGolden {
        name: "adaptive-shrunk",
        sum: 0x59d4_4363,
        build: || {
            let builder = AdaptiveSet::builder().quotient_bits(8).remainder_bits(5).max_bytes(1 << 20);
            let mut set = learned(builder.hasher(Hasher::fast_with_seed(7)), 30, 0);
            set.shrink_to_fit().unwrap();
            set
        },
        contents: || tagged(30),
        quotient_bits: 6,
        slot_bits: 8,
        remainder_bits: 5,
        fingerprints: (30, 0),
        false_positives: 5,
    },
];

/// Some keys with tags, in a set that was asked for the first `queries` absent keys.
fn learned(builder: AdaptiveFilterBuilder, keys: u64, queries: u64) -> AdaptiveSet<MemoryMap> {
    let mut set = builder.build_set(MemoryMap::new()).unwrap();
    for (key, tag) in tagged(keys) {
        assert!(set.insert_tagged(&key, tag).unwrap());
    }
    for i in 0..queries {
        assert!(!set.contains_exactly(&format!("absent {i}")).unwrap());
    }
    set
}

/// Tags of no, one and many slots.
fn tagged(keys: u64) -> Vec<(String, u64)> {
    (0..keys).map(|i| (format!("key {i}"), [0, 0, 0, 1, 0, 0, 300, 0, 0, 1 << 40][i as usize % 10])).collect()
}

fn keyed() -> Hasher {
    Hasher::keyed(HashKey::from_bytes([0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15]))
}

fn sized(quotient_bits: u32, remainder_bits: u32) -> QuotientFilterBuilder {
    QuotientFilter::builder().quotient_bits(quotient_bits).remainder_bits(remainder_bits)
}

fn with(builder: QuotientFilterBuilder, contents: Vec<(String, u64)>) -> QuotientFilter {
    let mut filter = builder.build().unwrap();
    for (key, copies) in contents {
        filter.insert_many(&key, copies).unwrap();
    }
    filter
}

fn once(keys: u64) -> Vec<(String, u64)> {
    (0..keys).map(|i| (format!("key {i}"), 1)).collect()
}

/// Counts around every border of the encoding.
fn large_counts() -> Vec<(String, u64)> {
    let counts = [1, 2, 3, 4, 130, 131, 16_386, 16_387, 1_000_000_000, 1 << 62];
    counts.iter().map(|&copies| (format!("{copies} times"), copies)).collect()
}

/// Two keys that fill seven slots of one bit.
fn tiny() -> Vec<(String, u64)> {
    [("key 0", 4), ("key 1", 1)].map(|(key, copies)| (key.into(), copies)).into()
}

fn folder() -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../fixtures/v1"))
}

fn path(name: &str) -> PathBuf {
    folder().join(name).with_extension("twiceshy")
}

/// Every file: its name, its sum, and how to make its bytes.
fn all_files() -> Vec<(&'static str, u32, Vec<u8>)> {
    let quotient = FILES.iter().map(|golden| (golden.name, golden.sum, (golden.build)().to_bytes()));
    let adaptive = ADAPTIVE_FILES.iter();
    let adaptive = adaptive.map(|golden| (golden.name, golden.sum, (golden.build)().filter().to_bytes()));
    quotient.chain(adaptive).collect()
}

/// Fails unless a filter is written as it was stored.
fn expect_same(name: &str, stored: &[u8], built: &[u8]) {
    let first = stored.iter().zip(built).position(|(a, b)| a != b);
    let lens = (stored.len(), built.len());
    assert!(stored == built, "{name} is written differently (lengths {lens:?}, byte {first:?}). {ADVICE}");
}

#[test]
fn golden_files_hold_what_was_put_in() {
    write_if_asked();
    for golden in &FILES {
        let name = golden.name;
        let bytes = fs::read(path(golden.name)).unwrap();
        let filter =
            QuotientFilter::load(path(golden.name)).unwrap_or_else(|e| panic!("{name}: {e}. {ADVICE}"));
        let view = QuotientFilter::view(&bytes).unwrap();
        view.verify().unwrap_or_else(|error| panic!("{name}: {error}. {ADVICE}"));
        assert_eq!(filter.quotient_bits(), golden.quotient_bits, "{name}");
        assert_eq!(filter.remainder_bits(), golden.remainder_bits, "{name}");
        let contents = (golden.contents)();
        for (key, copies) in &contents {
            assert_eq!(filter.count(key), *copies, "{name}: {key}. {ADVICE}");
            assert_eq!(view.count(key), *copies, "{name}: {key}. {ADVICE}");
        }
        assert_eq!(filter.distinct(), contents.len() as u64, "{name}");
        assert_eq!(filter.len(), contents.iter().map(|(_, copies)| copies).sum::<u64>(), "{name}");
        let found = (0..1000).filter(|i| filter.contains(&format!("absent {i}"))).count();
        assert_eq!(found, golden.false_positives, "{name}: false positives. {ADVICE}");
    }
}

#[test]
fn the_same_contents_are_the_same_bytes_for_ever() {
    write_if_asked();
    for golden in &FILES {
        let stored = fs::read(path(golden.name)).unwrap();
        let name = golden.name;
        expect_same(name, &stored, &(golden.build)().to_bytes());
        // In another order, and over a detour.
        let mut again = (golden.build)();
        again.clear();
        for (key, copies) in (golden.contents)().into_iter().rev() {
            again.insert_many(&key, copies).unwrap();
        }
        assert!(again.insert("detour").is_err() || again.remove("detour"), "{name}");
        assert_eq!(again.to_bytes(), stored, "{name}: the order of the keys leaves a trace. {ADVICE}");
    }
}

#[test]
fn golden_adaptive_files_hold_what_was_put_in_and_learned() {
    write_if_asked();
    for golden in &ADAPTIVE_FILES {
        let name = golden.name;
        let bytes = fs::read(path(name)).unwrap();
        let filter = AdaptiveFilter::load(path(name)).unwrap_or_else(|e| panic!("{name}: {e}. {ADVICE}"));
        let view = AdaptiveFilter::view(&bytes).unwrap();
        view.verify().unwrap_or_else(|error| panic!("{name}: {error}. {ADVICE}"));
        let bits = (filter.quotient_bits(), filter.slot_bits(), filter.remainder_bits());
        assert_eq!(bits, (golden.quotient_bits, golden.slot_bits, golden.remainder_bits), "{name}");
        let contents = (golden.contents)();
        assert_eq!(filter.len(), contents.len() as u64, "{name}");
        for (key, tag) in &contents {
            assert_eq!(filter.tag(key), Some(*tag), "{name}: {key}. {ADVICE}");
            assert_eq!(view.tag(key), Some(*tag), "{name}: {key}. {ADVICE}");
        }
        let fingerprints = (filter.fingerprints(), filter.lengths().extended);
        assert_eq!(fingerprints, golden.fingerprints, "{name}. {ADVICE}");
        let found = (0..1000).filter(|i| filter.contains(&format!("absent {i}"))).count();
        assert_eq!(found, golden.false_positives, "{name}: false positives. {ADVICE}");
        expect_same(name, &bytes, &filter.to_bytes());
        // Written as it always was, and a set that works.
        let built = (golden.build)();
        expect_same(name, &bytes, &built.filter().to_bytes());
        AdaptiveSet::from_parts(filter, built.into_parts().1).validate().unwrap().unwrap();
    }
}

#[test]
fn golden_files_are_as_they_were_and_all_are_listed() {
    write_if_asked();
    let mut listed: Vec<_> = all_files().iter().map(|(name, ..)| path(name)).collect();
    listed.sort();
    let mut found: Vec<_> = fs::read_dir(folder()).unwrap().map(|entry| entry.unwrap().path()).collect();
    // Those of expandable filters are listed in golden_expandable.rs.
    found.retain(|path| !path.file_name().unwrap().to_str().unwrap().starts_with("expandable-"));
    found.sort();
    assert_eq!(found, listed);
    for (name, expected, _) in all_files() {
        let bytes = fs::read(path(name)).unwrap();
        assert!(bytes.len() < 4096, "{name} is large: {} bytes", bytes.len());
        let sum = crc32fast::hash(&bytes);
        assert_eq!(sum, expected, "{name}: the checksum of the file is {sum:#010x}. {ADVICE}");
    }
}

/// Writes the files that are missing, if the environment asks for it.
fn write_if_asked() {
    if std::env::var_os("TWICESHY_WRITE_FIXTURES").is_none_or(|value| value != "1") {
        return;
    }
    // The tests of this file run at once: one of them writes, the others wait.
    static WRITTEN: std::sync::Once = std::sync::Once::new();
    WRITTEN.call_once(|| {
        fs::create_dir_all(folder()).unwrap();
        for (name, _, bytes) in all_files() {
            match OpenOptions::new().write(true).create_new(true).open(path(name)) {
                Ok(mut file) => file.write_all(&bytes).unwrap(),
                Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {
                    eprintln!("{} exists and is left as it is", path(name).display());
                }
                Err(error) => panic!("{}: {error}", path(name).display()),
            }
        }
    });
}
