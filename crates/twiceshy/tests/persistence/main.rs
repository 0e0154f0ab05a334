//! Filters as bytes: what is written comes back, and what was not written by us is refused.
//!
//! What is the same for all kinds of filters is tested for all of them: `round_trips.rs`, `damage.rs`, `streams.rs` and
//! `files.rs` have the tests, [`for_every_kind`] the kinds. `quotient.rs`, `adaptive.rs` and `expandable.rs` make a
//! [`Subject`] of a kind, and test what only this kind has.

use std::fs::{self, File};
use std::io::{self, Cursor, ErrorKind, Read, Write};
use std::ops::RangeInclusive;
use std::path::Path;

use twiceshy::any::{FilterKind, identify};
use twiceshy::error::ReadError;
use twiceshy::hash::HashKey;
use twiceshy::{AdaptiveFilter, AnyFilter, ExpandableFilter, Hasher, QuotientFilter};
use twiceshy_testkit::Random;
use twiceshy_testkit::file::block::*;
use twiceshy_testkit::file::field::*;
use twiceshy_testkit::file::{get, put, reseal};

/// Runs tests for every kind of filter, or gives what a function says of each. A new kind is two lines here.
macro_rules! for_every_kind {
    (array $what:ident) => {
        [
            $what::<twiceshy::QuotientFilter>(),
            $what::<twiceshy::AdaptiveFilter>(),
            $what::<twiceshy::ExpandableFilter>(),
        ]
    };
    ($($test:ident)+) => {
        mod quotient { $(#[test] fn $test() { super::$test::<twiceshy::QuotientFilter>(); })+ }
        mod adaptive { $(#[test] fn $test() { super::$test::<twiceshy::AdaptiveFilter>(); })+ }
        mod expandable { $(#[test] fn $test() { super::$test::<twiceshy::ExpandableFilter>(); })+ }
    };
}

/// A kind of filter, as tests see it that are the same for all kinds.
trait Subject: Sized {
    const KIND: FilterKind;
    /// Small files: of one block and of several, empty and nearly full, young and old.
    fn files() -> Vec<Vec<u8>>;
    /// Asks a view everything. Only that it ends without a panic counts.
    fn interrogate(bytes: &[u8]);

    /// Bytes of the directory of a file, between the header and the tables, if there is one.
    fn directory_bytes(_bytes: &[u8]) -> usize {
        0
    }
    /// The fewest and the most bits that a slot can have in a table of 2^48 slots.
    const SLOT_BITS: RangeInclusive<u8>;
    /// Bytes of a block before its slots.
    const BLOCK_WORDS: usize;
    /// Makes a file with one table right again whose header claims that this table is of another size.
    fn claim(bytes: &mut [u8]);

    fn read_from(reader: impl Read) -> Result<Self, ReadError>;
    fn from_bytes(bytes: &[u8]) -> Result<Self, ReadError>;
    fn load(path: &Path) -> Result<Self, ReadError>;
    fn from_any(filter: AnyFilter) -> Option<Self>;
    fn into_any(self) -> AnyFilter;
    /// A view and a verified copy of it.
    fn copied(bytes: &[u8]) -> Result<Self, ReadError>;
    /// A view, of which only the header and the directory are checked.
    fn viewed(bytes: &[u8]) -> Result<(), ReadError>;
    /// A view that was verified.
    fn verified(bytes: &[u8]) -> Result<(), ReadError>;
    /// What is in a view, and its bytes.
    fn view_contents(bytes: &[u8]) -> (String, Vec<u8>);
    fn write_to(&self, writer: impl Write) -> io::Result<()>;
    fn to_bytes(&self) -> Vec<u8>;
    fn save(&self, path: &Path);
    fn validate(&self) -> Result<(), String>;
    /// What there is to know of a filter without a key, with all fingerprints.
    fn contents(&self) -> String;
    /// Bytes of all tables.
    fn table_bytes(&self) -> usize;
}

/// Makes a [`Subject`] of a kind that has `files`, a way to `interrogate` one, and more to say of its own.
macro_rules! subject {
    ($kind:ident($filter:ident), $files:ident, $interrogate:ident, { $($own:item)+ }) => {
        impl Subject for $filter {
            const KIND: FilterKind = FilterKind::$kind;
            fn files() -> Vec<Vec<u8>> {
                $files()
            }
            fn interrogate(bytes: &[u8]) {
                $interrogate(bytes)
            }
            $($own)+
            fn read_from(reader: impl Read) -> Result<Self, ReadError> {
                $filter::read_from(reader)
            }
            fn from_bytes(bytes: &[u8]) -> Result<Self, ReadError> {
                $filter::from_bytes(bytes)
            }
            fn load(path: &Path) -> Result<Self, ReadError> {
                $filter::load(path)
            }
            fn from_any(filter: AnyFilter) -> Option<Self> {
                if let AnyFilter::$kind(filter) = filter { Some(filter) } else { None }
            }
            fn into_any(self) -> AnyFilter {
                self.into()
            }
            fn copied(bytes: &[u8]) -> Result<Self, ReadError> {
                $filter::view(bytes)?.to_filter()
            }
            fn viewed(bytes: &[u8]) -> Result<(), ReadError> {
                $filter::view(bytes).map(drop)
            }
            fn verified(bytes: &[u8]) -> Result<(), ReadError> {
                $filter::view(bytes)?.validate()
            }
            fn view_contents(bytes: &[u8]) -> (String, Vec<u8>) {
                let view = $filter::view(bytes).unwrap();
                (format!("{view:?} {:?}", view.iter().collect::<Vec<_>>()), view.to_bytes())
            }
            fn write_to(&self, writer: impl Write) -> io::Result<()> {
                self.write_to(writer)
            }
            fn to_bytes(&self) -> Vec<u8> {
                self.to_bytes()
            }
            fn save(&self, path: &Path) {
                self.save(path).unwrap()
            }
            fn validate(&self) -> Result<(), String> {
                self.validate()
            }
            fn contents(&self) -> String {
                format!("{self:?} {:?}", self.iter().collect::<Vec<_>>())
            }
            fn table_bytes(&self) -> usize {
                self.size_in_bytes()
            }
        }
    };
}

mod adaptive;
mod damage;
mod expandable;
mod files;
mod quotient;
mod round_trips;
mod streams;

fn hasher() -> Hasher {
    Hasher::aes(HashKey::from_bytes(*b"a key for tests!"))
}

fn long(number: u64) -> Vec<u8> {
    number.to_le_bytes().to_vec()
}

/// Where the tables of a file begin: after the directory, if there is one.
fn tables_at<S: Subject>(bytes: &[u8]) -> usize {
    BODY + S::directory_bytes(bytes)
}

/// The file with a field of its header changed and the checksums right.
fn with_field(mut bytes: Vec<u8>, at: usize, field: &[u8]) -> Vec<u8> {
    put(&mut bytes, at, field);
    reseal(&mut bytes);
    bytes
}

/// The error of bytes that all ways to read them completely must refuse, as a filter of their kind and as one of any.
#[track_caller]
fn refused<S: Subject>(bytes: &[u8]) -> ReadError {
    assert!(S::read_from(bytes).is_err(), "read_from accepts it");
    assert!(S::verified(bytes).is_err(), "view and validate accept it");
    assert!(S::copied(bytes).is_err(), "to_filter accepts it");
    let error = S::from_bytes(bytes).err().expect("from_bytes accepts it");
    let any = AnyFilter::from_bytes(bytes).err().map(|error| error.to_string());
    let is_wrong_kind = matches!(error, ReadError::WrongKind { .. });
    assert!(is_wrong_kind || any == Some(error.to_string()), "of any kind it is {any:?} and not {error}");
    error
}

/// Checks that each of these fields, changed in a good file, is named.
#[track_caller]
fn named<S: Subject>(good: &[u8], cases: &[(&str, usize, Vec<u8>)]) {
    for (name, at, bytes) in cases {
        let error = refused::<S>(&with_field(good.to_vec(), *at, bytes));
        let ReadError::Field { field, ref expected, found } = error else {
            panic!("{name} at {at}: {error}")
        };
        assert_eq!(field, *name, "at {at}: {error}");
        let text = error.to_string();
        assert!(text.contains(&format!("{name} = {found}, expected {expected}")), "{text}");
        assert!(!expected.is_empty());
    }
}
