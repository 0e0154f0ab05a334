//! Files of lists: those that were ever released stay readable, and are written as they always were.
//!
//! `TWICESHY_WRITE_FIXTURES=1 cargo test -p twiceshy --test lists golden` writes files that are missing.

use std::fs;
use std::path::PathBuf;

use twiceshy::hash::HashKey;
use twiceshy::list::Answer;
use twiceshy_testkit::golden::{ADVICE, write_if_asked};

use super::*;

/// A list: its name, the CRC-32 of the file, how many of "absent 0" to "absent 999" are answered yes, and how it is made.
type Golden = (&'static str, u32, usize, fn() -> List);

const FILES: [Golden; 3] = [
    // Never grown; some fingerprints are longer because of NO keys.
    ("list-small", 0x4f77_23dc, 53, || {
        let builder = YesNoList::builder().quotient_bits(6).remainder_bits(3).hasher(aes());
        builder.from_lists(keys(0..30), keys(30..100)).unwrap()
    }),
    // Grown from 64 slots, key by key, with keys that have moved, and that learned from the keys that are absent.
    ("list-grown", 0x4a34_c0e0, 30, || {
        let mut list =
            YesNoList::builder().error_rate(0.2).hasher(hasher()).build_list(MemoryMap::new()).unwrap();
        for (number, key) in keys(0..200).enumerate() {
            let _ = if number % 2 == 0 { list.add_yes(&key).unwrap() } else { list.add_no(&key).unwrap() };
        }
        keys(0..20).for_each(|key| assert!(list.move_to_no(&key).unwrap().is_some()));
        keys(10..30).for_each(|key| assert!(list.move_to_yes(&key).unwrap().is_some()));
        (0..500).for_each(|number| assert!(list.query_exactly(&absent(number)).unwrap().is_no()));
        list
    }),
    ("list-empty", 0x4a06_4fad, 0, || {
        YesNoList::builder().hasher(aes()).build_list(MemoryMap::new()).unwrap()
    }),
];

pub(super) fn aes() -> Hasher {
    Hasher::aes(HashKey::from_bytes(*b"twiceshy fixture"))
}

pub(super) fn keys(numbers: std::ops::Range<u32>) -> impl Iterator<Item = String> {
    numbers.map(|number| format!("key {number}"))
}

pub(super) fn absent(number: u32) -> String {
    format!("absent {number}")
}

pub(super) fn path(name: &str) -> PathBuf {
    let folder = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../fixtures/v2-lists"));
    folder.join(name).with_extension("list")
}

#[test]
fn golden_files_hold_what_was_put_in_and_are_written_as_they_were() {
    let mut wrong = Vec::new();
    for (name, sum, mistakes, build) in FILES {
        let built = build();
        write_if_asked(&path(name), || bytes_of(&built));
        let bytes = fs::read(path(name)).unwrap();
        let list = List::load(path(name)).unwrap_or_else(|error| panic!("{name}: {error}. {ADVICE}"));
        for (key, answer) in built.iter() {
            assert_eq!(
                (list.query(key), list.lookup(key).unwrap()),
                (answer, Some(answer)),
                "{name}. {ADVICE}"
            );
        }
        assert_eq!(list.iter().count(), built.iter().count(), "{name}. {ADVICE}");
        assert!(bytes_of(&built) == bytes, "{name} is written differently. {ADVICE}");
        assert!(bytes_of(&list) == bytes, "{name} is written differently when read. {ADVICE}");
        assert!(bytes.len() < 4096, "{name} is large: {} bytes", bytes.len());
        let found = (0..1_000).filter(|number| list.query(&absent(*number)) == Answer::Yes).count();
        if (sum, mistakes) != (crc32fast::hash(&bytes), found) {
            wrong.push(format!("{name}: checksum {:#010x} and {found} mistakes", crc32fast::hash(&bytes)));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}. {ADVICE}");
    let files = fs::read_dir(path("list-empty.list").parent().unwrap()).unwrap();
    let is_list = |name: &std::ffi::OsString| name.to_string_lossy().starts_with("list-");
    let files = files.map(|entry| entry.unwrap().file_name()).filter(is_list).count();
    assert_eq!(files, FILES.len(), "all are listed");
}
