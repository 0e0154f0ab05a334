//! Files of every format version: those that were ever released stay readable, version 1, which was not, is refused by name,
//! and the present version is written as it always was.
//!
//! `TWICESHY_WRITE_FIXTURES=1 cargo test -p twiceshy --test golden_files` writes files that are missing.
//! It never overwrites one.

use std::fs;
use std::path::PathBuf;

use twiceshy::adaptive::Growth;
use twiceshy::any::FilterKind;
use twiceshy::expandable::Mode;
use twiceshy::hash::HashKey;
use twiceshy::reverse_map::MemoryMap;
use twiceshy::{
    AdaptiveFilter, AdaptiveSet, AnyFilter, ExpandableFilter, Hasher, QuotientFilter, adaptive, expandable,
    quotient,
};
use twiceshy_testkit::golden::{self, ADVICE};

/// A file of format version 2: how to make it and what is in it.
struct Golden {
    name: &'static str,
    /// CRC-32 of the file, so that a changed file does not go unnoticed.
    sum: u32,
    /// How many of the keys "absent 0" to "absent 999" are found: none, where a filter has learned from them. A hash
    /// or a layout that is read differently changes it.
    false_positives: usize,
    holds: Holds,
}

/// What is in a file of each kind.
enum Holds {
    Quotient {
        build: fn() -> QuotientFilter,
        /// Keys with their copies.
        contents: fn() -> Vec<(String, u64)>,
        quotient_bits: u32,
        remainder_bits: u32,
    },
    Adaptive {
        build: fn() -> AdaptiveSet<MemoryMap>,
        /// How many keys, with their tags.
        keys: u64,
        /// Of the quotient, of a slot, of a remainder.
        bits: [u32; 3],
        /// All fingerprints, and those of more than one slot.
        fingerprints: (u64, u64),
    },
    Expandable {
        build: fn() -> ExpandableFilter,
        /// How many keys, each once.
        keys: u64,
        tables: usize,
    },
}

const FILES: [Golden; 15] = [
    Golden {
        name: "keyed",
        sum: 0x1576_c4ba,
        false_positives: 1,
        holds: Holds::Quotient {
            build: || with(sized(6, 9).hasher(sip()), once(50)),
            contents: || once(50),
            quotient_bits: 6,
            remainder_bits: 9,
        },
    },
    Golden {
        name: "fast",
        sum: 0xe586_89f2,
        false_positives: 0,
        holds: Holds::Quotient {
            build: || with(sized(8, 17).hasher(Hasher::fast_with_seed(0x1234_5678_9abc_def0)), once(200)),
            contents: || once(200),
            quotient_bits: 8,
            remainder_bits: 17,
        },
    },
    Golden {
        name: "aes",
        sum: 0x8fbc_cc64,
        false_positives: 2,
        holds: Holds::Quotient {
            build: || with(sized(8, 8).hasher(aes()), short_and_long()),
            contents: short_and_long,
            quotient_bits: 8,
            remainder_bits: 8,
        },
    },
    Golden {
        name: "counts",
        sum: 0x3ac6_6eb4,
        false_positives: 0,
        holds: Holds::Quotient {
            build: || with(sized(7, 8).hasher(sip()), large_counts()),
            contents: large_counts,
            quotient_bits: 7,
            remainder_bits: 8,
        },
    },
    Golden {
        name: "tiny",
        sum: 0xc58f_b5be,
        false_positives: 124,
        holds: Holds::Quotient {
            build: || with(sized(3, 1).hasher(sip()), tiny()),
            contents: tiny,
            quotient_bits: 3,
            remainder_bits: 1,
        },
    },
    Golden {
        name: "grown",
        sum: 0x64b8_22cd,
        false_positives: 2,
        holds: Holds::Quotient {
            build: || {
                let builder = QuotientFilter::builder().capacity(10).grow_to(400).error_rate(0.01);
                with(builder.hasher(sip()), once(220))
            },
            contents: || once(220),
            quotient_bits: 8,
            remainder_bits: 8,
        },
    },
    // Never resized: whole slots, with tags, and with what it learned from a thousand queries.
    Golden {
        name: "adaptive-learned",
        sum: 0x23e2_a7c1,
        false_positives: 0,
        holds: Holds::Adaptive {
            build: || {
                let builder =
                    AdaptiveSet::builder().quotient_bits(8).remainder_bits(4).growth(Growth::Refuse);
                learned(builder.hasher(sip()), 40, 1000)
            },
            keys: 40,
            bits: [8, 4, 4],
            fingerprints: (40, 8),
        },
    },
    // The same under AES.
    Golden {
        name: "adaptive-aes",
        sum: 0xc79c_b987,
        false_positives: 0,
        holds: Holds::Adaptive {
            build: || {
                let builder =
                    AdaptiveSet::builder().quotient_bits(8).remainder_bits(4).growth(Growth::Refuse);
                learned(builder.hasher(aes()), 40, 1000)
            },
            keys: 40,
            bits: [8, 4, 4],
            fingerprints: (40, 9),
        },
    },
    // Grown from eight slots: stop bits, fingerprints of every age, and a few that ran out of bits.
    Golden {
        name: "adaptive-grown",
        sum: 0x1550_08eb,
        false_positives: 29,
        holds: Holds::Adaptive {
            build: || {
                learned(AdaptiveSet::builder().hasher(sip()).quotient_bits(3).remainder_bits(3), 200, 500)
            },
            keys: 200,
            bits: [10, 4, 3],
            fingerprints: (196, 12),
        },
    },
    // Shrunk: wide slots. A limit in bytes, and a fast hash.
    Golden {
        name: "adaptive-shrunk",
        sum: 0x5523_5b06,
        false_positives: 5,
        holds: Holds::Adaptive {
            build: || {
                let builder = AdaptiveSet::builder().quotient_bits(8).remainder_bits(5).max_bytes(1 << 20);
                let mut set = learned(builder.hasher(Hasher::fast_with_seed(7)), 30, 0);
                set.shrink_to_fit().unwrap();
                set
            },
            keys: 30,
            bits: [6, 8, 5],
            fingerprints: (30, 0),
        },
    },
    Golden {
        name: "expandable-growing",
        sum: 0x65fb_ccd4,
        false_positives: 0,
        holds: Holds::Expandable {
            build: || filled(expandable().error_rate(0.01), 300),
            keys: 300,
            tables: 1,
        },
    },
    Golden {
        name: "expandable-aes",
        sum: 0x69ca_f768,
        false_positives: 0,
        holds: Holds::Expandable {
            build: || filled(expandable().error_rate(0.01).hasher(aes()), 300),
            keys: 300,
            tables: 1,
        },
    },
    Golden {
        name: "expandable-chained",
        sum: 0x1e6a_16b3,
        false_positives: 581,
        holds: Holds::Expandable {
            build: || filled(expandable().mode(Mode::Chained).quotient_bits(3).fingerprint_bits(2), 400),
            keys: 400,
            tables: 3,
        },
    },
    Golden {
        name: "expandable-basic",
        sum: 0x946a_2b65,
        false_positives: 14,
        holds: Holds::Expandable {
            build: || {
                let builder = expandable().mode(Mode::Basic).quotient_bits(4).fingerprint_bits(7);
                filled(builder.max_load(0.8), 150)
            },
            keys: 150,
            tables: 1,
        },
    },
    Golden {
        name: "expandable-moving",
        sum: 0x5377_7618,
        false_positives: 360,
        holds: Holds::Expandable {
            build: || {
                let builder = expandable().mode(Mode::Chained).quotient_bits(3).fingerprint_bits(3);
                filled(builder.spread_growth(true).hasher(Hasher::fast_with_seed(7)), 249)
            },
            keys: 249,
            tables: 3,
        },
    },
];

impl Golden {
    fn path(&self) -> PathBuf {
        folder().join(self.name).with_extension("twiceshy")
    }

    fn stored(&self) -> Vec<u8> {
        fs::read(self.path()).unwrap()
    }

    fn build(&self) -> AnyFilter {
        match self.holds {
            Holds::Quotient { build, .. } => build().into(),
            Holds::Adaptive { build, .. } => build().into_parts().0.into(),
            Holds::Expandable { build, .. } => build().into(),
        }
    }

    fn kind(&self) -> FilterKind {
        match self.holds {
            Holds::Quotient { .. } => FilterKind::Quotient,
            Holds::Adaptive { .. } => FilterKind::Adaptive,
            Holds::Expandable { .. } => FilterKind::Expandable,
        }
    }

    /// All keys, and how often each is in it.
    fn contents(&self) -> Vec<(String, u64)> {
        match self.holds {
            Holds::Quotient { contents, .. } => contents(),
            Holds::Adaptive { keys, .. } | Holds::Expandable { keys, .. } => once(keys),
        }
    }

    /// Checks what only this kind has.
    fn check_own(&self) {
        let (name, path, bytes) = (self.name, self.path(), self.stored());
        match self.holds {
            Holds::Quotient { contents, quotient_bits, remainder_bits, .. } => {
                let filter = QuotientFilter::load(path).unwrap();
                let view = QuotientFilter::view(&bytes).unwrap();
                view.validate().unwrap();
                assert_eq!(filter.quotient_bits(), quotient_bits, "{name}");
                assert_eq!(filter.remainder_bits(), remainder_bits, "{name}");
                for (key, copies) in contents() {
                    assert_eq!(filter.count(&key), copies, "{name}: {key}. {ADVICE}");
                    assert_eq!(view.count(&key), copies, "{name}: {key}. {ADVICE}");
                }
                assert_eq!(filter.distinct(), contents().len() as u64, "{name}");
            }
            Holds::Adaptive { build, keys, bits, fingerprints } => {
                let filter = AdaptiveFilter::load(path).unwrap();
                let view = AdaptiveFilter::view(&bytes).unwrap();
                view.validate().unwrap();
                let found = [filter.quotient_bits(), filter.slot_bits(), filter.remainder_bits()];
                assert_eq!(found, bits, "{name}");
                for (key, tag) in tagged(keys) {
                    assert_eq!(filter.tag(&key), Some(tag), "{name}: {key}. {ADVICE}");
                    assert_eq!(view.tag(&key), Some(tag), "{name}: {key}. {ADVICE}");
                }
                let found = (filter.fingerprints(), filter.lengths().extended);
                assert_eq!(found, fingerprints, "{name}. {ADVICE}");
                // A set that works.
                AdaptiveSet::from_parts(filter, build().into_parts().1).validate().unwrap();
            }
            Holds::Expandable { tables, .. } => {
                let filter = ExpandableFilter::load(path).unwrap();
                ExpandableFilter::view(&bytes).unwrap().validate().unwrap();
                assert_eq!(filter.stats().tables.len(), tables, "{name}");
            }
        }
    }
}

/// What the files that are called keyed, and many others, are hashed with.
fn sip() -> Hasher {
    Hasher::siphash(hash_key())
}

fn aes() -> Hasher {
    Hasher::aes(hash_key())
}

fn hash_key() -> HashKey {
    HashKey::from_bytes([0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15])
}

fn sized(quotient_bits: u32, remainder_bits: u32) -> quotient::Builder {
    QuotientFilter::builder().quotient_bits(quotient_bits).remainder_bits(remainder_bits)
}

fn with(builder: quotient::Builder, contents: Vec<(String, u64)>) -> QuotientFilter {
    let mut filter = builder.build().unwrap();
    for (key, copies) in contents {
        filter.insert_many(&key, copies).unwrap();
    }
    filter
}

fn once(keys: u64) -> Vec<(String, u64)> {
    (0..keys).map(|i| (format!("key {i}"), 1)).collect()
}

/// Keys of up to 16 bytes and of more.
fn short_and_long() -> Vec<(String, u64)> {
    once(100).into_iter().chain((0..100).map(|i| (format!("a longer key, number {i}"), 1))).collect()
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

/// Some keys with tags, in a set that was asked for the first `queries` absent keys.
fn learned(builder: adaptive::Builder, keys: u64, queries: u64) -> AdaptiveSet<MemoryMap> {
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

fn expandable() -> expandable::Builder {
    ExpandableFilter::builder().hasher(sip())
}

fn filled(builder: expandable::Builder, keys: u64) -> ExpandableFilter {
    let mut filter = builder.build().unwrap();
    filter.extend(once(keys).into_iter().map(|(key, _)| key));
    filter
}

fn folder() -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../fixtures/v2"))
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
        let (name, bytes) = (golden.name, golden.stored());
        let filter = AnyFilter::load(golden.path()).unwrap_or_else(|e| panic!("{name}: {e}. {ADVICE}"));
        let view = AnyFilter::view(&bytes).unwrap_or_else(|e| panic!("{name}: {e}. {ADVICE}"));
        view.validate().unwrap_or_else(|error| panic!("{name}: {error}. {ADVICE}"));
        assert_eq!((filter.kind(), view.kind()), (golden.kind(), golden.kind()), "{name}");
        let contents = golden.contents();
        for (key, _) in &contents {
            assert!(filter.contains(key) && view.contains(key), "{name}: {key}. {ADVICE}");
        }
        assert_eq!(filter.len(), contents.iter().map(|(_, copies)| copies).sum::<u64>(), "{name}");
        let found = (0..1000).filter(|i| filter.contains(&format!("absent {i}"))).count();
        assert_eq!(found, golden.false_positives, "{name}: false positives. {ADVICE}");
        golden.check_own();
    }
}

#[test]
fn the_same_history_is_the_same_bytes_for_ever() {
    write_if_asked();
    for golden in &FILES {
        let stored = golden.stored();
        expect_same(golden.name, &stored, &golden.build().to_bytes());
        // As it was read.
        expect_same(golden.name, &stored, &AnyFilter::from_bytes(&stored).unwrap().to_bytes());
    }
}

#[test]
fn the_same_contents_of_a_quotient_filter_are_the_same_bytes_whatever_the_history() {
    write_if_asked();
    for golden in &FILES {
        let Holds::Quotient { build, contents, .. } = golden.holds else { continue };
        let name = golden.name;
        // In another order, and over a detour.
        let mut again = build();
        again.clear();
        for (key, copies) in contents().into_iter().rev() {
            again.insert_many(&key, copies).unwrap();
        }
        assert!(again.insert("detour").is_err() || again.remove("detour"), "{name}");
        assert_eq!(
            again.to_bytes(),
            golden.stored(),
            "{name}: the order of the keys leaves a trace. {ADVICE}"
        );
    }
}

#[test]
fn files_of_version_1_are_refused_by_name() {
    let files = fs::read_dir(folder().with_file_name("v1")).unwrap();
    let refused = files.map(|entry| AnyFilter::load(entry.unwrap().path()).unwrap_err());
    let count =
        refused.inspect(|error| assert!(error.to_string().contains("format version 1"), "{error}")).count();
    assert_eq!(count, 12);
}

#[test]
fn golden_files_are_as_they_were_and_all_are_listed() {
    write_if_asked();
    let mut listed: Vec<_> = FILES.iter().map(Golden::path).collect();
    listed.sort();
    let mut found: Vec<_> = fs::read_dir(folder()).unwrap().map(|entry| entry.unwrap().path()).collect();
    found.sort();
    assert_eq!(found, listed);
    for golden in &FILES {
        let (name, bytes) = (golden.name, golden.stored());
        assert!(bytes.len() < 4096, "{name} is large: {} bytes", bytes.len());
        let sum = crc32fast::hash(&bytes);
        assert_eq!(sum, golden.sum, "{name}: the checksum of the file is {sum:#010x}. {ADVICE}");
    }
    // Of every kind.
    for kind in FilterKind::POINTS {
        assert!(FILES.iter().any(|golden| golden.kind() == *kind), "{}", kind.name());
    }
}

/// Writes the files that are missing, if the environment asks for it.
fn write_if_asked() {
    // The tests of this file run at once: one of them writes, the others wait.
    static WRITTEN: std::sync::Once = std::sync::Once::new();
    WRITTEN.call_once(|| {
        fs::create_dir_all(folder()).unwrap();
        for golden in &FILES {
            golden::write_if_asked(&golden.path(), || golden.build().to_bytes());
        }
    });
}
