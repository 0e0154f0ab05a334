//! Files of expandable filters of every format version that was ever released: they stay readable, and the
//! present version is written as it always was. See `golden_files.rs`.
//!
//! `TWICESHY_WRITE_FIXTURES=1 cargo test -p twiceshy --test golden_expandable` writes files that are missing.
//! It never overwrites one.

use std::fs::{self, OpenOptions};
use std::io::Write;
use std::path::PathBuf;
use std::sync::Once;

use twiceshy::{ExpandableFilter, ExpandableFilterBuilder, HashKey, Hasher, Mode};

const ADVICE: &str = "Files in fixtures/ are never changed, since users have files like them. If the new \
    bytes are wanted, the format has changed: raise its version, keep reading the old one, and add files of \
    the new version beside the old ones.";

struct Golden {
    name: &'static str,
    /// CRC-32 of the file, so that a changed file does not go unnoticed.
    sum: u32,
    build: fn() -> ExpandableFilter,
    /// The keys "key 0" and so on are in it, each once.
    keys: u64,
    tables: usize,
    /// How many of the keys "absent 0" to "absent 999" are found.
    false_positives: usize,
}

const FILES: [Golden; 4] = [
    Golden {
        name: "expandable-growing",
        sum: 0xe083_ec6a,
        build: || filled(builder().error_rate(0.01), 300),
        keys: 300,
        tables: 1,
        false_positives: 0,
    },
    Golden {
        name: "expandable-chained",
        sum: 0x6cec_74e2,
        build: || filled(builder().mode(Mode::Chained).quotient_bits(3).fingerprint_bits(2), 400),
        keys: 400,
        tables: 3,
        false_positives: 581,
    },
    Golden {
        name: "expandable-basic",
        sum: 0xbefc_7d0b,
        build: || filled(builder().mode(Mode::Basic).quotient_bits(4).fingerprint_bits(7).max_load(0.8), 150),
        keys: 150,
        tables: 1,
        false_positives: 14,
    },
    Golden {
        name: "expandable-moving",
        sum: 0x05bf_c224,
        build: || {
            let builder = builder().mode(Mode::Chained).quotient_bits(3).fingerprint_bits(3);
            filled(builder.spread_growth(true).hasher(Hasher::fast_with_seed(7)), 249)
        },
        keys: 249,
        tables: 3,
        false_positives: 360,
    },
];

fn builder() -> ExpandableFilterBuilder {
    let key = HashKey::from_bytes([0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15]);
    ExpandableFilter::builder().hasher(Hasher::keyed(key))
}

fn filled(builder: ExpandableFilterBuilder, keys: u64) -> ExpandableFilter {
    let mut filter = builder.build().unwrap();
    filter.extend((0..keys).map(|key| format!("key {key}")));
    filter
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
        let sum = crc32fast::hash(&bytes);
        assert_eq!(sum, golden.sum, "{name}: the checksum of the file is {sum:#010x}. {ADVICE}");
        assert!(bytes.len() < 4096, "{name} is large: {} bytes", bytes.len());
        let filter = ExpandableFilter::load(path(golden)).unwrap_or_else(|e| panic!("{name}: {e}. {ADVICE}"));
        let view = ExpandableFilter::view(&bytes).unwrap();
        view.verify().unwrap_or_else(|error| panic!("{name}: {error}. {ADVICE}"));
        for key in (0..golden.keys).map(|key| format!("key {key}")) {
            assert!(filter.contains(&key) && view.contains(&key), "{name}: {key}. {ADVICE}");
        }
        assert_eq!(filter.len(), golden.keys, "{name}");
        let found = (0..1000).filter(|i| filter.contains(&format!("absent {i}"))).count();
        assert_eq!(found, golden.false_positives, "{name}: false positives. {ADVICE}");
        assert_eq!(filter.stats().tables.len(), golden.tables, "{name}");
    }
}

#[test]
fn the_same_history_is_the_same_bytes_for_ever() {
    write_if_asked();
    for golden in &FILES {
        let stored = fs::read(path(golden)).unwrap();
        let built = (golden.build)().to_bytes();
        let first = stored.iter().zip(&built).position(|(a, b)| a != b);
        assert!(stored == built, "{} is written differently from byte {first:?} on. {ADVICE}", golden.name);
    }
}

#[test]
fn all_files_of_this_kind_are_listed() {
    write_if_asked();
    let mut listed: Vec<_> = FILES.iter().map(path).collect();
    listed.sort();
    let mut found: Vec<_> = fs::read_dir(folder()).unwrap().map(|entry| entry.unwrap().path()).collect();
    found.retain(|path| path.file_name().unwrap().to_str().unwrap().starts_with("expandable-"));
    found.sort();
    assert_eq!(found, listed);
}

/// Writes the files that are missing, if the environment asks for it.
fn write_if_asked() {
    if std::env::var_os("TWICESHY_WRITE_FIXTURES").is_none_or(|value| value != "1") {
        return;
    }
    static WRITTEN: Once = Once::new();
    WRITTEN.call_once(|| {
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
