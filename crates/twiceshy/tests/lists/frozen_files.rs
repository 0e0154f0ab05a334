//! Frozen lists and deltas as bytes: what is written comes back, and what was not written by us is refused.

use std::fmt::Debug;
use std::io::Read;

use twiceshy::FrozenYesNoList;
use twiceshy::any::{FilterKind, identify};
use twiceshy::error::{ApplyError, ReadError};
use twiceshy::list::{Answer, Delta};
use twiceshy_testkit::Random;
use twiceshy_testkit::file::field::*;
use twiceshy_testkit::file::{get, put, reseal};

use super::*;

/// What both kinds have in common.
trait Subject: Sized + Debug {
    const KIND: FilterKind;
    /// Small files: empty and not, of one ribbon and of several, with deltas.
    fn files() -> Vec<Vec<u8>>;
    fn read(reader: impl Read) -> Result<Self, ReadError>;
    fn from_slice(bytes: &[u8]) -> Result<Self, ReadError>;
    fn bytes(&self) -> Vec<u8>;
    /// A view, asked everything. Whether it was valid, if it was one at all.
    fn interrogated(bytes: &[u8]) -> Result<bool, ReadError>;
    fn copied(bytes: &[u8]) -> Result<Self, ReadError>;
}

/// What has the same name for both.
macro_rules! ways_to_read {
    () => {
        fn read(reader: impl Read) -> Result<Self, ReadError> {
            Self::read_from(reader)
        }

        fn from_slice(bytes: &[u8]) -> Result<Self, ReadError> {
            Self::from_bytes(bytes)
        }

        fn bytes(&self) -> Vec<u8> {
            self.to_bytes()
        }

        fn copied(bytes: &[u8]) -> Result<Self, ReadError> {
            Self::view(bytes)?.to_filter()
        }
    };
}

impl Subject for FrozenYesNoList {
    const KIND: FilterKind = FilterKind::FrozenList;

    fn files() -> Vec<Vec<u8>> {
        let mut changed = list(600, 20, 0.1);
        changed.apply(changed.delta(0..700u64, 700..710u64).unwrap()).unwrap();
        changed.apply(changed.delta(0..9u64, 700..710u64).unwrap()).unwrap();
        let lists = [list(0, 0, 0.01), list(1, 1, 0.3), list(30, 90, 0.01), list(700, 50, 0.7), changed];
        lists.iter().map(|list| list.to_bytes()).collect()
    }

    ways_to_read! {}

    fn interrogated(bytes: &[u8]) -> Result<bool, ReadError> {
        let view = Self::view(bytes)?;
        let keys: Vec<u64> = (0..600).collect();
        let mut answers = vec![Answer::No; keys.len()];
        view.query_batch(&keys, &mut answers);
        for (key, answer) in keys.iter().zip(answers) {
            assert_eq!(view.query(key), answer);
        }
        let _ =
            (view.query_hash(u64::MAX), view.query_hash(0), view.expected_error_rate(), format!("{view:?}"));
        Ok(view.validate().is_ok())
    }
}

impl Subject for Delta {
    const KIND: FilterKind = FilterKind::ListDelta;

    fn files() -> Vec<Vec<u8>> {
        let list = base();
        let deltas = [
            list.delta(0..600u64, 600..620u64),
            list.delta(0..620u64, 620..640u64),
            list.delta(0..1_300u64, 1_300..1_310u64),
        ];
        deltas.into_iter().map(|delta| delta.unwrap().to_bytes()).collect()
    }

    ways_to_read! {}

    /// To ask a delta is to apply it, which must find every damage of it.
    fn interrogated(bytes: &[u8]) -> Result<bool, ReadError> {
        let view = Self::view(bytes)?;
        let valid = view.validate().is_ok();
        let before = base().to_bytes();
        let mut list = FrozenYesNoList::view(&before)?.into_list();
        let applied = list.apply(Delta::view(bytes)?.into_delta());
        match applied {
            Ok(()) => assert!(valid, "a delta that is not valid was applied"),
            Err(ApplyError::WrongList { .. } | ApplyError::DifferentHash) => {
                assert_eq!(list.to_bytes(), before)
            }
            Err(ApplyError::Damaged) => assert!(!valid && list.to_bytes() == before),
            Err(error) => panic!("{error}"),
        }
        let _ = (0..600u64).filter(|key| list.query(key).is_yes()).count();
        Ok(valid)
    }
}

fn list(yes: u64, no: u64, rate: f64) -> FrozenYesNoList {
    let builder = FrozenYesNoList::builder().error_rate(rate).hasher(hasher());
    builder.build(0..yes, yes..yes + no).unwrap()
}

fn base() -> FrozenYesNoList {
    list(600, 20, 0.1)
}

/// Runs tests for both.
macro_rules! for_both {
    ($($test:ident)+) => {
        mod frozen { $(#[test] fn $test() { super::$test::<twiceshy::FrozenYesNoList>(); })+ }
        mod delta { $(#[test] fn $test() { super::$test::<twiceshy::list::Delta>(); })+ }
    };
}

for_both! {
    files_come_back_at_any_alignment
    files_that_are_cut_off_or_go_on_are_refused
    every_flipped_bit_is_refused_and_queries_on_it_end
    every_flipped_bit_is_refused_or_a_count_without_the_checksums
    noise_is_refused_and_queries_on_it_end
    other_kinds_and_versions_are_refused
    fields_out_of_range_are_named
}

fn files_come_back_at_any_alignment<S: Subject>() {
    for bytes in S::files() {
        assert_eq!(identify(bytes.as_slice()).unwrap().kind, S::KIND);
        for shift in 0..8 {
            let buffer = [vec![0xAA; shift], bytes.clone()].concat();
            assert!(S::interrogated(&buffer[shift..]).unwrap());
            assert_eq!(S::copied(&buffer[shift..]).unwrap().bytes(), bytes);
        }
        assert_eq!(S::from_slice(&bytes).unwrap().bytes(), bytes);
        let mut stream = &[&bytes[..], b"and more"].concat()[..];
        assert_eq!(S::read(&mut stream).unwrap().bytes(), bytes);
        assert_eq!(stream, b"and more", "nothing after its end is read");
    }
}

fn files_that_are_cut_off_or_go_on_are_refused<S: Subject>() {
    for bytes in S::files() {
        for end in 0..bytes.len() {
            for error in [S::read(&bytes[..end]).unwrap_err(), S::from_slice(&bytes[..end]).unwrap_err()] {
                assert!(
                    matches!(error, ReadError::Length { .. } | ReadError::NotAFilter { .. }),
                    "{end}: {error}"
                );
            }
            assert!(S::interrogated(&bytes[..end]).is_err());
        }
        let long = [&bytes[..], &[0]].concat();
        assert!(matches!(S::from_slice(&long), Err(ReadError::Length { .. })));
        assert!(S::interrogated(&long).is_err());
    }
}

fn every_flipped_bit_is_refused_and_queries_on_it_end<S: Subject>() {
    for mut bytes in S::files() {
        for bit in 0..bytes.len() * 8 {
            bytes[bit / 8] ^= 1 << (bit % 8);
            assert!(S::from_slice(&bytes).is_err() && S::read(&bytes[..]).is_err(), "bit {bit}");
            assert!(S::copied(&bytes).is_err(), "bit {bit}");
            // A view looks at the header and the directory only.
            assert!(!S::interrogated(&bytes).unwrap_or(false), "bit {bit}");
            bytes[bit / 8] ^= 1 << (bit % 8);
        }
    }
}

/// Every bit of the directory and of the sieves is in the name; what is left are the counts of keys, the hash key, and an error rate
/// that is still above the one that follows from the sieves.
fn every_flipped_bit_is_refused_or_a_count_without_the_checksums<S: Subject>() {
    for good in S::files() {
        for bit in 0..good.len() * 8 {
            let (at, mut bytes) = (bit / 8, good.clone());
            bytes[at] ^= 1 << (bit % 8);
            reseal(&mut bytes);
            let valid = S::interrogated(&bytes).unwrap_or(false);
            match S::from_slice(&bytes) {
                Ok(read) => {
                    assert_eq!(read.bytes(), bytes);
                    assert!((HASH..BODY).contains(&at), "byte {at}");
                    assert!(valid && S::read(&bytes[..]).is_ok() && S::copied(&bytes).is_ok());
                }
                Err(error) => {
                    assert!(
                        !valid && S::read(&bytes[..]).is_err() && S::copied(&bytes).is_err(),
                        "{at}: {error}"
                    );
                    let of_rows = at >= BODY + get(&good, USED) as usize;
                    assert!(!of_rows || matches!(error, ReadError::Inconsistent(_)), "{at}: {error}");
                }
            }
        }
    }
}

fn noise_is_refused_and_queries_on_it_end<S: Subject>() {
    let mut random = Random(1);
    for good in S::files() {
        for round in 0..300 {
            let mut bytes = good.clone();
            let sieves_at = BODY + get(&good, USED) as usize;
            let from = if round % 3 == 0 { BODY } else { sieves_at };
            match round {
                0..3 => bytes[from..].fill(0xFF),
                3..6 => bytes[from..].fill(0),
                6..150 => bytes[from..].fill_with(|| random.next() as u8),
                _ => (0..8).for_each(|_| {
                    let at = from + random.below((bytes.len() - from) as u64) as usize;
                    bytes[at] = random.next() as u8;
                }),
            }
            if bytes == good {
                continue;
            }
            for _ in 0..2 {
                assert!(!S::interrogated(&bytes).unwrap_or(false));
                assert!(S::from_slice(&bytes).is_err() && S::read(&bytes[..]).is_err());
                reseal(&mut bytes);
            }
        }
    }
}

fn other_kinds_and_versions_are_refused<S: Subject>() {
    for good in S::files() {
        let with = |at, value| {
            let mut bytes = good.clone();
            bytes[at] = value;
            reseal(&mut bytes);
            S::from_slice(&bytes).unwrap_err()
        };
        for kind in [1, 2, 3, 4, 5, 8, 9, 13 - S::KIND as u8] {
            let error = with(KIND, kind);
            let ReadError::WrongKind { expected, found } = error else { panic!("{error}") };
            assert_eq!((expected, found), (S::KIND as u8, kind));
        }
        assert!(matches!(with(VERSION, 3), ReadError::NewerVersion { .. }));
        assert!(matches!(with(VERSION, 1), ReadError::OlderVersion { .. }));
    }
}

fn fields_out_of_range_are_named<S: Subject>() {
    // The last file has two stages of two ribbons in its first sieve, or more.
    let good = S::files().pop().unwrap();
    let columns = BODY + 5;
    let ribbons = usize::from(good[columns + 1]);
    let first_groups = columns + 2;
    assert!(ribbons >= 2);
    let exact = first_groups + 4 * ribbons;
    let cases: [(&str, usize, &[u8]); 16] = [
        ("hash", HASH, &[0]),
        ("reserved bytes", QUOTIENT_BITS, &[1]),
        ("reserved bytes", SPILL, &[1]),
        ("reserved bytes", MAX_QUOTIENT_BITS, &[1]),
        ("reserved bytes", MORE_RESERVED, &[1]),
        ("directory bytes", USED, &[0; 8]),
        ("directory bytes", USED, &[0xFF; 8]),
        ("columns", columns, &[64]),
        ("ribbons", columns + 1, &[17]),
        ("ribbons", columns, &[0]),
        ("groups of a ribbon", first_groups, &[7, 0, 0, 0]),
        ("table bytes", first_groups + 4, &[0xFF; 4]),
        ("columns of the exact stage", exact, &[2]),
        ("ribbons", exact + 1, &[1]),
        ("groups of a ribbon beside another", exact + 2, &[0xFF; 4]),
        ("table bytes", BODY_BYTES, &[0xFF; 8]),
    ];
    for (name, at, value) in cases {
        let mut bytes = good.clone();
        put(&mut bytes, at, value);
        reseal(&mut bytes);
        for error in [S::from_slice(&bytes).unwrap_err(), S::interrogated(&bytes).unwrap_err()] {
            match error {
                ReadError::Field { field, ref expected, .. } => {
                    assert!(field == name && !expected.is_empty(), "at {at}: {error}, expected {name}");
                }
                error => panic!("{name} at {at}: {error}"),
            }
        }
        assert!(S::read(&bytes[..]).is_err());
    }
}

#[test]
fn error_rates_of_lists_are_checked() {
    let good = list(30, 90, 0.01).to_bytes();
    for rate in [0.0, 1.0, -0.01, 2.0, 1e-13, f64::NAN, f64::INFINITY] {
        let mut bytes = good.clone();
        put(&mut bytes, OWN, &rate.to_bits().to_le_bytes());
        reseal(&mut bytes);
        let error = FrozenYesNoList::from_bytes(&bytes).unwrap_err();
        assert!(matches!(error, ReadError::Field { field: "error rate", .. }), "{rate}: {error}");
    }
    // One that the sieves do not keep.
    let mut bytes = good;
    put(&mut bytes, OWN, &0.005f64.to_bits().to_le_bytes());
    reseal(&mut bytes);
    let error = FrozenYesNoList::from_bytes(&bytes).unwrap_err();
    assert!(error.to_string().contains("an error rate of at most 0.005"), "{error}");
}

/// A delta that was made for a list of the same bytes, but with a higher error rate, would break that of this one.
#[test]
fn a_delta_that_breaks_the_error_rate_is_refused() {
    let mut list = list(600, 20, 0.3);
    let before = list.to_bytes();
    let mut lax = before.clone();
    put(&mut lax, OWN, &0.9f64.to_bits().to_le_bytes());
    reseal(&mut lax);
    let lax = FrozenYesNoList::from_bytes(&lax).unwrap();
    assert_eq!(lax.name(), list.name());
    let delta = lax.delta(0..650u64, 650..660u64).unwrap();
    assert_eq!(list.apply(delta), Err(ApplyError::Damaged));
    assert_eq!(list.to_bytes(), before);
}

/// A list has as many sieves as it has deltas, and one; a delta has one.
#[test]
fn a_delta_has_one_sieve() {
    let mut list = base();
    list.apply(list.delta(0..700u64, 700..710u64).unwrap()).unwrap();
    let mut bytes = list.to_bytes();
    bytes[KIND] = FilterKind::ListDelta as u8;
    reseal(&mut bytes);
    let error = Delta::from_bytes(&bytes).unwrap_err();
    assert!(matches!(error, ReadError::Field { field: "sieves", found: 2, .. }), "{error}");
}

#[test]
fn files_are_saved_and_loaded() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("shipped.list");
    assert!(FrozenYesNoList::load(&path).unwrap_err().is_not_found());
    let mut list = base();
    list.save(&path).unwrap();
    let delta = list.delta(0..600u64, 1_000..1_010u64).unwrap();
    let delta_path = folder.path().join("next.delta");
    delta.save(&delta_path).unwrap();
    let mut loaded = FrozenYesNoList::load(&path).unwrap();
    loaded.apply(Delta::load(&delta_path).unwrap()).unwrap();
    list.apply(delta).unwrap();
    assert_eq!(loaded.to_bytes(), list.to_bytes());
    assert!(matches!(Delta::load(&path), Err(ReadError::WrongKind { .. })));
    assert!(List::load(&path).is_err(), "a frozen list is no list that changes");
}
