//! Files of every format version that was ever released: they stay readable, and the present version is
//! written as it always was.
//!
//! `TWICESHY_WRITE_FIXTURES=1 cargo test -p twiceshy --test golden_files` writes files that are missing.
//! It never overwrites one.

use std::fs::{self, OpenOptions};
use std::io::Write;
use std::path::PathBuf;

use twiceshy::{HashKey, Hasher, QuotientFilter, QuotientFilterBuilder};

const ADVICE: &str = "Files in fixtures/ are never changed, since users have files like them. If the new \
    bytes are wanted, the format has changed: raise its version, keep reading the old one, and add files of \
    the new version beside the old ones.";

/// A file of format version 1: how to make it and what is in it.
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

fn path(golden: &Golden) -> PathBuf {
    folder().join(golden.name).with_extension("twiceshy")
}

#[test]
fn golden_files_hold_what_was_put_in() {
    write_if_asked();
    for golden in &FILES {
        let name = golden.name;
        let bytes = fs::read(path(golden)).unwrap();
        let filter = QuotientFilter::load(path(golden)).unwrap_or_else(|e| panic!("{name}: {e}. {ADVICE}"));
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
        let stored = fs::read(path(golden)).unwrap();
        let built = (golden.build)().to_bytes();
        let first = stored.iter().zip(&built).position(|(a, b)| a != b);
        let (name, lens) = (golden.name, (stored.len(), built.len()));
        assert!(
            stored == built,
            "{name} is written differently (lengths {lens:?}, byte {first:?}). {ADVICE}"
        );
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
fn golden_files_are_as_they_were_and_all_are_listed() {
    write_if_asked();
    let mut listed: Vec<_> = FILES.iter().map(path).collect();
    listed.sort();
    let mut found: Vec<_> = fs::read_dir(folder()).unwrap().map(|entry| entry.unwrap().path()).collect();
    // Files of other kinds begin with the kind and are listed by tests of their own.
    found.retain(|path| !path.file_name().unwrap().to_str().unwrap().contains('-'));
    found.sort();
    assert_eq!(found, listed);
    for golden in &FILES {
        let bytes = fs::read(path(golden)).unwrap();
        assert!(bytes.len() < 4096, "{} is large: {} bytes", golden.name, bytes.len());
        let sum = crc32fast::hash(&bytes);
        assert_eq!(sum, golden.sum, "{}: the checksum of the file is {sum:#010x}. {ADVICE}", golden.name);
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
        for golden in &FILES {
            match OpenOptions::new().write(true).create_new(true).open(path(golden)) {
                Ok(mut file) => file.write_all(&(golden.build)().to_bytes()).unwrap(),
                Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {
                    eprintln!("{} exists and is left as it is", path(golden).display());
                }
                Err(error) => panic!("{}: {error}", path(golden).display()),
            }
        }
    });
}
