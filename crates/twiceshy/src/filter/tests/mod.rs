//! What every filter promises: the laws are in `laws/`. Here is one that looks at more histories than the others:
//! **whatever can be written can be read.**
//!
//! After every operation of a random history, whether it worked or not, the filter's bytes are read in every way
//! there is, and what was read is the same filter: the same bytes again, the same contents, the same answers.
//!
//! Each kind has a file with all that can happen to it; tiny tables, short fingerprints and bad hashes make rare states
//! common. What a history must be right about besides, the tests of each kind say.

mod adaptive;
mod expandable;
mod laws;
mod quotient;

use std::collections::BTreeMap;
use std::fmt::Debug;

use twiceshy_testkit::Random;
use twiceshy_testkit::weak::{SPREADS, Spread};

use crate::error::ReadError;
use crate::filter::adaptive::AdaptiveFilter;
use crate::filter::adaptive_range::AdaptiveRangeFilter;
use crate::filter::expandable::ExpandableFilter;
use crate::filter::quotient::QuotientFilter;
use crate::filter::range::RangeFilter;
use crate::hash::Hasher;

/// A filter that can be written and read.
trait Written: Sized + Send + Sync + 'static {
    fn write(&self) -> Vec<u8>;
    /// What every way to read these bytes gives.
    fn read(bytes: &[u8]) -> [Result<Self, ReadError>; 3];
    /// What can be asked without a key.
    fn contents(&self) -> impl Debug + PartialEq;
    fn has(&self, hash: u64) -> bool;
    fn hasher(&self) -> &Hasher;
}

macro_rules! written {
    ($filter:ty) => {
        written!($filter, |filter, hash| filter.contains_hash(hash));
    };
    ($filter:ty, |$asked:ident, $hash:ident| $has:expr) => {
        impl Written for $filter {
            fn write(&self) -> Vec<u8> {
                let mut bytes = Vec::new();
                self.write_to(&mut bytes).unwrap();
                assert!(self.to_bytes() == bytes, "two ways to write");
                bytes
            }

            fn read(bytes: &[u8]) -> [Result<Self, ReadError>; 3] {
                let viewed =
                    Self::view(bytes).and_then(|view| view.validate().and_then(|()| view.to_filter()));
                [Self::from_bytes(bytes), Self::read_from(bytes), viewed]
            }

            fn contents(&self) -> impl Debug + PartialEq {
                (self.len(), self.used_slots(), self.iter().collect::<Vec<_>>())
            }

            fn has(&self, $hash: u64) -> bool {
                let $asked = self;
                $has
            }

            fn hasher(&self) -> &Hasher {
                self.hasher()
            }
        }
    };
}

written!(QuotientFilter);
written!(AdaptiveFilter);
written!(ExpandableFilter);
// They are asked for keys, and files do not know the hashes of tests.
written!(RangeFilter<u16>, |filter, hash| filter
    .iter()
    .any(|entry| entry.prefix.first_words().contains(&hash)));
written!(AdaptiveRangeFilter<u16>, |filter, hash| filter
    .iter()
    .any(|entry| entry.prefix.first_words().contains(&hash)));

/// A filter, and all that can happen to it.
trait Subject {
    type Filter: Written;

    /// A filter to begin with, which follows from the numbers.
    fn new(random: &mut Random, spread: Spread) -> Self;

    /// One operation, which may fail. Tells its name.
    fn change(&mut self, random: &mut Random) -> &'static str;

    fn filter(&self) -> &Self::Filter;
}

/// Checks the law for some histories of one kind, and that all operations were among them.
fn check<S: Subject>(histories: u64, steps: u32, operations: &[&str]) {
    let mut done = BTreeMap::new();
    for (number, (name, spread)) in (0..).zip(SPREADS) {
        for seed in (0..histories).map(|seed| 1_000 * number + seed) {
            let mut random = Random(seed);
            let mut subject = S::new(&mut random, spread);
            let mut last = Vec::new();
            for _ in 0..steps {
                let operation = subject.change(&mut random);
                *done.entry(operation).or_insert(0) += 1;
                last.push(operation);
                let told = &last[last.len().saturating_sub(6)..];
                comes_back(subject.filter(), || format!("hashes {name}, seed {seed}, after {told:?}"));
            }
        }
    }
    for operation in operations {
        assert!(done.contains_key(operation), "{operation} never happened: {done:?}");
    }
    assert_eq!(done.len(), operations.len(), "{done:?}");
}

fn comes_back<F: Written>(filter: &F, context: impl Fn() -> String) {
    let bytes = filter.write();
    let hashes: Vec<u64> = (0..64).map(|number: u64| (number << 58) | (number * 0x0123_4567_89ab)).collect();
    for copy in F::read(&bytes) {
        let copy = copy.unwrap_or_else(|error| panic!("{}: {error}", context()));
        assert!(copy.write() == bytes, "{}: other bytes", context());
        assert_eq!(copy.contents(), filter.contents(), "{}", context());
        for &hash in &hashes {
            assert_eq!(copy.has(hash), filter.has(hash), "{}: {hash:x}", context());
        }
    }
}

#[test]
fn whatever_a_quotient_filter_writes_can_be_read() {
    check::<quotient::Counting>(40, 80, &quotient::OPERATIONS);
}

#[test]
fn whatever_an_expandable_filter_writes_can_be_read() {
    check::<expandable::Expanding>(40, 80, &expandable::OPERATIONS);
}

#[test]
fn whatever_an_adaptive_set_writes_can_be_read() {
    check::<adaptive::Set>(40, 80, &adaptive::SET_OPERATIONS);
}

#[test]
fn whatever_an_adaptive_filter_of_hashes_writes_can_be_read() {
    check::<adaptive::Hashes>(40, 80, &adaptive::HASH_OPERATIONS);
}
