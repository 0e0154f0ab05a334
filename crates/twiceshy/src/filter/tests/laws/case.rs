//! What a law is held against: a filter to begin with, and keys.

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use twiceshy_testkit::{effort, weak};

use super::{HashKey, Hasher, Kept, Lawful, Size};

/// Keys are numbers below this one: so few that copies, shared quotients and shared fingerprints are common.
pub(super) const UNIVERSE: u16 = 400;

/// A random case.
#[derive(Debug, Clone)]
pub(super) struct Case {
    pub(super) size: Size,
    /// What all other settings of a filter follow from.
    number: u64,
    /// Which hash.
    hash: usize,
    pub(super) keys: Vec<u16>,
    pub(super) more: Vec<u16>,
    /// Operations, whatever a law takes for one.
    pub(super) steps: Vec<(u8, u16)>,
}

fn hasher(hash: usize) -> Hasher {
    match hash {
        0 => Hasher::fast(),
        1 => Hasher::keyed(HashKey::from_bytes([7; 16])),
        _ => Hasher::chosen(weak::WORDS[(hash - 2) % weak::WORDS.len()].1),
    }
}

impl Case {
    /// An empty filter of a size.
    pub(super) fn empty<F: Lawful>(&self, size: Size) -> Kept<F> {
        Kept::new(F::make(size, self.number, hasher(self.hash)))
    }

    /// A filter of the case's size, with its keys.
    pub(super) fn filled<F: Lawful>(&self) -> Kept<F> {
        let mut kept = self.empty(self.size);
        kept.insert_all(&self.keys);
        kept
    }

    /// Whether the hash is good and in the file, so that a filter that was read again can be asked.
    pub(super) fn is_good(&self) -> bool {
        self.hash < 2
    }
}

fn cases() -> impl Strategy<Value = Case> {
    let sizes = prop_oneof![Just(Size::Roomy), Just(Size::Growing), Just(Size::Cramped)];
    let keys = || vec(0..UNIVERSE, 0..300);
    let hashes = prop_oneof![0..2usize, 2..2 + weak::WORDS.len()];
    let parts = (sizes, 0..10_000u64, hashes, keys(), keys(), vec((any::<u8>(), 0..UNIVERSE), 0..40));
    parts.prop_map(|(size, number, hash, keys, more, steps)| Case { size, number, hash, keys, more, steps })
}

pub(super) fn cases_to_try() -> u32 {
    effort::times("TWICESHY_CASES", 200) as u32
}

/// Holds a law against many cases, and looks for a small one if it is broken.
#[track_caller]
pub(super) fn hold(law: &dyn Fn(&Case)) {
    let config = Config { cases: cases_to_try(), failure_persistence: None, ..Config::default() };
    let held = TestRunner::new(config).run(&cases(), |case| {
        law(&case);
        Ok(())
    });
    held.unwrap_or_else(|broken| panic!("{broken}"));
}
