//! All lists of a few keys, and all deltas between them.

use std::collections::BTreeSet;

use twiceshy_testkit::weak::{WORDS, Word};

use super::*;
use crate::error::{ApplyError, Indistinguishable};

/// Every way to put so many keys on the YES list, on the NO list, or on none.
fn all_lists(keys: u32) -> impl Iterator<Item = Vec<Option<bool>>> {
    (0..3u32.pow(keys)).map(move |number| {
        (0..keys).map(|key| [None, Some(true), Some(false)][(number / 3u32.pow(key) % 3) as usize]).collect()
    })
}

fn on(list: &[Option<bool>], yes: bool) -> Vec<u64> {
    (0..).zip(list).filter(|(_, place)| **place == Some(yes)).map(|(key, _)| key).collect()
}

/// Whether two words of a hash tell all YES keys from all NO keys.
fn can_be_told_apart(word: Word, yes: &[u64], no: &[u64]) -> bool {
    let words = |key: &u64| [0, 1].map(|index| word(&key.to_le_bytes(), index));
    let yes: BTreeSet<_> = yes.iter().map(words).collect();
    !no.iter().map(words).any(|words| yes.contains(&words))
}

#[test]
fn all_lists_of_six_keys_are_right_under_every_weak_hash() {
    for (name, word) in WORDS {
        for error_rate in [0.9, 0.3, 0.004] {
            for list in all_lists(6) {
                let (yes, no) = (on(&list, true), on(&list, false));
                match list_of(word, error_rate, yes.iter().copied(), no.iter().copied()) {
                    Ok(frozen) => {
                        check(&frozen, &yes, &no);
                        assert_eq!(
                            (frozen.yes_keys(), frozen.no_keys()),
                            (yes.len() as u64, no.len() as u64)
                        );
                        // Without YES keys nothing is a Yes.
                        assert!(!yes.is_empty() || answers(&frozen, &[6u64, 7, 8, 9]) == [false; 4]);
                    }
                    Err(error) => {
                        assert!(!can_be_told_apart(word, &yes, &no), "{name}: {list:?}: {error}");
                        assert!(matches!(error, ListError::OnBothLists { .. }), "{error}");
                    }
                }
            }
        }
    }
}

/// Two steps from every list of four keys to every other, and back. Keys that left a list are named, or not.
#[test]
fn all_deltas_between_lists_of_four_keys_are_right_under_every_weak_hash() {
    for (name, word) in WORDS {
        if !can_be_told_apart(word, &[0, 1], &[2, 3]) {
            continue;
        }
        let lists: Vec<_> = all_lists(4).collect();
        let built = |list: &[Option<bool>]| list_of(word, 0.1, on(list, true), on(list, false)).unwrap();
        let frozen: Vec<_> = lists.iter().map(|list| built(list)).collect();
        for (from, start) in lists.iter().zip(&frozen) {
            for (number, to) in lists.iter().enumerate() {
                let mut list = start.clone();
                for to in [to, from] {
                    let (yes, no) = (on(to, true), on(to, false));
                    let mut keys = ListKeys::new(list.hasher().clone());
                    yes.iter().for_each(|key| keys.yes(key));
                    no.iter().for_each(|key| keys.no(key));
                    let names_removed = number % 2 == 0;
                    if names_removed {
                        (0..4u64).for_each(|key| keys.removed(&key));
                    }
                    let delta =
                        list.delta_of(&keys, |_| ()).unwrap_or_else(|error| panic!("{name}: {error}"));
                    delta.validate().unwrap();
                    list.apply(delta).unwrap();
                    check(&list, &yes, &no);
                    if names_removed {
                        let gone: Vec<u64> = (0..4).filter(|key| to[*key as usize].is_none()).collect();
                        assert_eq!(answers(&list, &gone), vec![false; gone.len()], "{name}: removed");
                    }
                }
                assert_eq!(list.deltas(), 2);
            }
        }
    }
}

#[test]
fn a_delta_is_for_one_list_only() {
    let lists: Vec<_> = (0..4u64).map(|key| list_of(good, 0.1, [key], [9]).unwrap()).collect();
    let delta = lists[0].delta([0u64, 1], [9u64]).unwrap();
    for (number, list) in lists.iter().enumerate() {
        let (mut next, before) = (list.clone(), list.to_bytes());
        match next.apply(delta.clone()) {
            Ok(()) => assert_eq!(number, 0),
            Err(error) => {
                let expected = ApplyError::WrongList { expected: lists[0].name(), found: list.name() };
                assert_eq!(error, expected);
                assert_eq!(next.to_bytes(), before, "an error changes nothing");
            }
        }
        // Twice is not once.
        assert!(next.apply(delta.clone()).is_err());
    }
}

#[test]
fn a_delta_under_another_hash_is_refused() {
    let list = list_of(good, 0.1, [1], [2]).unwrap();
    let other = ListKeys::new(Hasher::fast());
    assert!(matches!(list.delta_of(&other, |_| ()), Err(ListError::DifferentHash)));
    // Built from the same words, the two have the same name.
    fn same(key: &[u8], index: u32) -> u64 {
        good(key, index)
    }
    let mut twin = list_of(same, 0.1, [1], [2]).unwrap();
    let delta = list.delta([1u64, 3], [2u64]).unwrap();
    if twin.hasher() != list.hasher() {
        assert_eq!(twin.name(), list.name());
        assert_eq!(twin.apply(delta), Err(ApplyError::DifferentHash));
    }
}

#[test]
fn a_key_on_both_lists_is_named_by_its_numbers() {
    let both = list_of(good, 0.1, [5, 6, 7, 5, 8], [1, 2, 7, 3, 7]);
    assert!(matches!(both, Err(ListError::OnBothLists { yes: 2, no: 2 })), "{both:?}");
    let text = both.unwrap_err().to_string();
    assert!(text.contains("key 2 of the YES list") && text.contains("as key 2"), "{text}");
    let list = list_of(good, 0.1, [1], [2]).unwrap();
    assert!(matches!(list.delta([3u64, 1], [1u64]), Err(ListError::OnBothLists { yes: 1, no: 0 })));
}

#[test]
fn lists_that_two_words_do_not_tell_apart_are_refused() {
    // `identity` looks at two bytes.
    let both = list_of(twiceshy_testkit::weak::identity, 0.1, [1 << 20], [1 << 21]);
    assert!(matches!(both, Err(ListError::OnBothLists { yes: 0, no: 0 })));
    assert!(Indistinguishable.to_string().contains("the same hash"));
}

#[test]
fn error_rates_that_are_none_are_refused() {
    for rate in [0.0, 1.0, -0.5, 2.0, f64::NAN, f64::INFINITY] {
        let list = list_of(good, rate, [1], [2]);
        assert!(matches!(list, Err(ListError::Build(crate::error::BuildError::ErrorRate { .. }))), "{rate}");
    }
    let least = 0.5f64.powi(40);
    list_of(good, least, [1], [2]).unwrap();
    let list = list_of(good, least * 0.99, [1], [2]);
    assert!(matches!(list, Err(ListError::ErrorRate { .. })), "{list:?}");
}
