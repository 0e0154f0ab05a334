//! Filters in formats of `serde`: a text format without byte strings, and a binary one with them.

use std::fmt::Display;

use serde::de::DeserializeOwned;
use serde::de::value::{BorrowedBytesDeserializer, BytesDeserializer, Error, SeqDeserializer};
use serde::{Deserialize, Serialize};
use twiceshy::any::FilterKind;
use twiceshy::hash::HashKey;
use twiceshy::{AdaptiveFilter, AnyFilter, ExpandableFilter, Hasher, QuotientFilter};

const BODY_AT: usize = 128;

fn filter() -> QuotientFilter {
    let hasher = Hasher::keyed(HashKey::from_bytes([7; 16]));
    let mut filter =
        QuotientFilter::builder().quotient_bits(8).remainder_bits(9).hasher(hasher).build().unwrap();
    for key in 0..40u64 {
        filter.insert_many(&key, key * key + 1).unwrap();
    }
    filter
}

fn assert_same(copy: &QuotientFilter) {
    let filter = filter();
    assert_eq!(copy.to_bytes(), filter.to_bytes());
    for key in 0..40u64 {
        assert!(copy.count(&key) > key * key);
    }
}

/// What the library itself says about these bytes.
fn message(bytes: &[u8]) -> String {
    QuotientFilter::from_bytes(bytes).expect_err("bytes are damaged").to_string()
}

/// Bytes that are no filter, each damaged in another way.
fn damaged() -> Vec<Vec<u8>> {
    let good = filter().to_bytes();
    let mut flipped = good.clone();
    flipped[BODY_AT + 3] ^= 1;
    let mut appended = good.clone();
    appended.push(0);
    vec![flipped, appended, good[..good.len() - 1].to_vec(), good[..100].to_vec(), Vec::new()]
}

fn assert_fails_alike<E: Display>(result: Result<QuotientFilter, E>, bytes: &[u8]) {
    let error = result.expect_err("bytes are damaged").to_string();
    assert!(error.contains(&message(bytes)), "{error:?} does not say {:?}", message(bytes));
}

#[test]
fn json_carries_the_bytes_as_numbers() {
    let text = serde_json::to_string(&filter()).unwrap();
    assert_eq!(serde_json::from_str::<Vec<u8>>(&text).unwrap(), filter().to_bytes());
    assert_same(&serde_json::from_str(&text).unwrap());
    assert_same(&serde_json::from_reader(text.as_bytes()).unwrap());
}

#[test]
fn json_of_damaged_bytes_is_an_error() {
    for bytes in damaged() {
        let text = serde_json::to_string(&bytes).unwrap();
        assert_fails_alike(serde_json::from_str(&text), &bytes);
    }
    for other in ["{}", "7", "[1, 2, 300]", "[\"a\"]", "null", "[116, 119"] {
        assert!(serde_json::from_str::<QuotientFilter>(other).is_err(), "{other}");
    }
    let error = serde_json::from_str::<QuotientFilter>("7").unwrap_err().to_string();
    assert!(error.contains("expected the bytes of a quotient filter"), "{error}");
}

#[test]
fn postcard_carries_the_bytes_as_they_are() {
    let bytes = postcard::to_allocvec(&filter()).unwrap();
    assert!(bytes.ends_with(&filter().to_bytes()));
    assert!(bytes.len() <= filter().to_bytes().len() + 4);
    assert_same(&postcard::from_bytes(&bytes).unwrap());
    for bytes in damaged() {
        // The format keeps no messages.
        let packed = postcard::to_allocvec(&bytes).unwrap();
        assert!(postcard::from_bytes::<QuotientFilter>(&packed).is_err());
    }
}

#[test]
fn a_view_serializes_like_the_filter() {
    let bytes = filter().to_bytes();
    let view = QuotientFilter::view(&bytes).unwrap();
    assert_eq!(serde_json::to_string(&*view).unwrap(), serde_json::to_string(&filter()).unwrap());
}

#[test]
fn every_way_to_hand_over_bytes_works() {
    let good = filter().to_bytes();
    let read = |bytes: &[u8]| {
        let owned = serde_json::Value::from(bytes.to_vec());
        [
            QuotientFilter::deserialize(BytesDeserializer::<Error>::new(bytes)),
            QuotientFilter::deserialize(BorrowedBytesDeserializer::<Error>::new(bytes)),
            QuotientFilter::deserialize(SeqDeserializer::<_, Error>::new(bytes.iter().copied())),
            QuotientFilter::deserialize(owned).map_err(serde::de::Error::custom),
        ]
    };
    for copy in read(&good) {
        assert_same(&copy.unwrap());
    }
    for bytes in damaged() {
        for result in read(&bytes) {
            assert_fails_alike(result, &bytes);
        }
    }
}

/// Numbers that lie about how many they are.
struct Liar(std::vec::IntoIter<u8>);

impl Iterator for Liar {
    type Item = u8;
    fn next(&mut self) -> Option<u8> {
        self.0.next()
    }
    fn size_hint(&self) -> (usize, Option<usize>) {
        (isize::MAX as usize, Some(isize::MAX as usize))
    }
}

#[test]
fn a_sequence_that_claims_to_be_huge_allocates_nothing_for_it() {
    let liar = Liar(filter().to_bytes().into_iter());
    let copy = QuotientFilter::deserialize(SeqDeserializer::<_, Error>::new(liar));
    assert_same(&copy.unwrap());
}

/// A filter of each kind.
fn all_kinds() -> [AnyFilter; 3] {
    let hasher = Hasher::keyed(HashKey::from_bytes([7; 16]));
    let mut expandable = ExpandableFilter::builder().hasher(hasher.clone()).build().unwrap();
    expandable.extend(0..500u64);
    let mut adaptive = AdaptiveFilter::builder().hasher(hasher).capacity(500).build().unwrap();
    for key in 0..500u64 {
        let _ = adaptive.insert(&key).unwrap();
    }
    [filter().into(), adaptive.into(), expandable.into()]
}

#[test]
fn filters_of_all_kinds_travel_in_the_same_way() {
    fn travels<F: Serialize + DeserializeOwned>(filter: &F, to_bytes: impl Fn(&F) -> Vec<u8>, what: &str) {
        let text = serde_json::to_string(filter).unwrap();
        let packed = postcard::to_allocvec(filter).unwrap();
        for copy in [serde_json::from_str::<F>(&text).unwrap(), postcard::from_bytes::<F>(&packed).unwrap()] {
            assert!(to_bytes(&copy) == to_bytes(filter), "{what}");
        }
        let error = serde_json::from_str::<F>("7").err().unwrap().to_string();
        assert!(error.contains(&format!("expected the bytes of {what}")), "{error}");
    }
    assert!(all_kinds().iter().map(AnyFilter::kind).eq(FilterKind::POINTS.iter().copied()));
    for any in all_kinds() {
        travels(&any, AnyFilter::to_bytes, "a filter");
        match any {
            AnyFilter::Quotient(filter) => travels(&filter, QuotientFilter::to_bytes, "a quotient filter"),
            AnyFilter::Adaptive(filter) => travels(&filter, AdaptiveFilter::to_bytes, "an adaptive filter"),
            AnyFilter::Expandable(filter) => {
                assert!((0..500u64).all(|key| filter.contains(&key)));
                travels(&filter, ExpandableFilter::to_bytes, "an expandable filter");
            }
            other => panic!("{other:?} does not travel"),
        }
    }
}

#[test]
fn another_kind_is_an_error() {
    let quotient = serde_json::to_string(&filter()).unwrap();
    let error = serde_json::from_str::<ExpandableFilter>(&quotient).unwrap_err().to_string();
    assert!(error.contains("kind"), "{error}");
    let error = serde_json::from_str::<AdaptiveFilter>(&quotient).unwrap_err().to_string();
    assert!(error.contains("kind"), "{error}");
    assert_eq!(serde_json::from_str::<AnyFilter>(&quotient).unwrap().kind(), FilterKind::Quotient);
}
