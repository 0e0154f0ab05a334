//! Files of cascades: those that were ever released stay readable, and are written as they always were.
//!
//! `TWICESHY_WRITE_FIXTURES=1 cargo test -p twiceshy --test golden_cascades` writes files that are missing.

#![allow(missing_docs, reason = "these are tests")]

use std::fs;
use std::path::{Path, PathBuf};

use twiceshy::Hasher;
use twiceshy::cascade::{BloomLayer, Cascade, Layer, QuotientLayer};
use twiceshy::hash::HashKey;
use twiceshy::reverse_map::MemoryMap;
use twiceshy_testkit::golden::{ADVICE, write_if_asked};

fn path(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/v2-cascades").join(name)
}

/// A cascade of 60 keys that has learned from some mistakes, and was rebuilt before.
fn cascade<L: Layer>() -> Cascade<L> {
    let builder = Cascade::<L>::builder().capacity(60).error_rate(0.1);
    let hasher = Hasher::aes(HashKey::from_bytes(*b"golden cascades!"));
    let mut set = builder.hasher(hasher).build_set(MemoryMap::new()).unwrap();
    (0..60u32).for_each(|key| assert!(set.insert(&key).unwrap()));
    set.rebuild().unwrap();
    (1_000..1_150u32).for_each(|query| assert!(!set.contains_exactly(&query).unwrap()));
    set.into_parts().0
}

fn check<L: Layer>(name: &str, sum: u32, mistakes: usize) {
    let built = cascade::<L>();
    assert!(built.layers().len() > 1 && built.rebuilds() == 1, "{name} has something of everything");
    write_if_asked(&path(name), || built.to_bytes());
    let stored = fs::read(path(name)).unwrap();
    assert!(stored == built.to_bytes(), "{name} is written differently. {ADVICE}");
    assert!(stored.len() < 4096, "{name} is large: {} bytes", stored.len());
    let read = Cascade::<L>::load(path(name)).unwrap_or_else(|error| panic!("{name}: {error}. {ADVICE}"));
    assert!((0..60u32).all(|key| read.contains(&key)), "{name}. {ADVICE}");
    let found = (1_000..3_000u32).filter(|query| read.contains(query)).count();
    assert_eq!((crc32fast::hash(&stored), found), (sum, mistakes), "{name}. {ADVICE}");
}

#[test]
fn golden_files_hold_what_was_put_in_and_are_written_as_they_were() {
    check::<BloomLayer>("bloom.cascade", 642_113_110, 125);
    check::<QuotientLayer>("quotient.cascade", 3_113_569_654, 106);
    assert_eq!(fs::read_dir(path("")).unwrap().count(), 2, "all are listed");
}
