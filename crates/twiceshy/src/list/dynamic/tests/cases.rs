//! One test for every place where a fingerprint comes into being, with keys that meet there by construction.

use std::cell::Cell;
use std::ops::RangeInclusive;

use super::*;
use crate::adaptive::protocol::{Answers, Bar, Insert, Operation, Step};
use crate::error::{Indistinguishable, RebuildError};
use crate::hash::Hashes;
use crate::reverse_map::{Lookup, ReverseMap, Row, Visit};

/// The first eight bytes of a key are its first word.
fn hasher() -> Hasher {
    Hasher::chosen(|bytes, index| match index {
        0 => bytes.first_chunk().map_or(0, |first| u64::from_be_bytes(*first)),
        _ => Hasher::fast().word_bytes(bytes, index),
    })
}

/// A key whose hash begins with these bits.
fn key(bits: &str) -> Vec<u8> {
    let word = u64::from_str_radix(&format!("{bits:0<64}"), 2).unwrap();
    word.to_be_bytes().to_vec()
}

/// Fresh fingerprints have four bits.
fn list(yes: &[&str], no: &[&str]) -> List {
    let mut list = empty();
    yes.iter().for_each(|bits| assert!(list.add_yes(&key(bits)).unwrap()));
    no.iter().for_each(|bits| assert!(list.add_no(&key(bits)).unwrap()));
    list
}

fn empty() -> List {
    let builder = List::builder().hasher(hasher()).quotient_bits(2).remainder_bits(2);
    builder.build_list(MemoryMap::new()).unwrap()
}

/// All fingerprints, as digits.
fn fingerprints(list: &List) -> Vec<String> {
    list.filter().core().iter().map(|(prefix, _)| prefix.to_string()).collect()
}

/// Checks that there are as many fingerprints as this, each of which begins like this at least: slots may hold more.
#[track_caller]
fn check(list: &List, least: &[&str]) {
    list.validate().unwrap();
    let found = fingerprints(list);
    let are_long = found.iter().zip(least).all(|(found, least)| found.starts_with(least));
    assert!(found.len() == least.len() && are_long, "{found:?}, at least {least:?}");
}

#[test]
fn a_yes_key_is_cut_past_the_no_keys_that_were_there_first() {
    assert_eq!(fingerprints(&list(&["10110011"], &[])), ["1011"]);
    let mut late = list(&[], &["1011000", "1011011"]);
    assert!(late.add_yes(&key("10110011")).unwrap());
    check(&late, &["1011001"]);
    // Under a fingerprint that is there nothing is new.
    assert!(late.add_yes(&key("101100110001")).unwrap());
    check(&late, &["1011001"]);
}

#[test]
fn a_key_that_moves_to_the_yes_list_is_cut_past_the_others() {
    let mut list = list(&[], &["10110011", "10110100"]);
    assert_eq!(list.move_to_yes(&key("10110011")).unwrap(), Some(Answer::No));
    check(&list, &["101100"]);
}

#[test]
fn a_key_that_moves_to_the_no_list_is_parted_from_those_beside_it() {
    let mut list = list(&["10110011", "1011110000", "10111100110"], &[]);
    assert_eq!(fingerprints(&list), ["1011"], "they share one");
    assert_eq!(list.move_to_no(&key("10110011")).unwrap(), Some(Answer::Yes));
    check(&list, &["10111"]);
    // Those beside it stay together as long as they can.
    assert_eq!(list.move_to_no(&key("1011110000")).unwrap(), Some(Answer::Yes));
    check(&list, &["101111001"]);
    assert_eq!(list.move_to_no(&key("10111100110")).unwrap(), Some(Answer::Yes));
    check(&list, &[]);
    assert_eq!((list.yes_len(), list.no_len().unwrap()), (0, 3));
}

#[test]
fn a_no_key_that_comes_is_parted_from_the_yes_keys_that_were_there_first() {
    let mut list = list(&["10110011", "1011110000"], &[]);
    assert!(list.add_no(&key("1011001000")).unwrap());
    check(&list, &["10110011", "10111"]);
}

#[test]
fn lists_that_are_merged_are_cut_past_each_others_no_keys() {
    let (yes, no) = (list(&["10110011"], &[]), list(&[], &["101100"]));
    for (one, other) in [(&yes, &no), (&no, &yes)] {
        let mut merged = one.clone();
        merged.merge_from(other).unwrap();
        check(&merged, &["1011001"]);
        assert_eq!((merged.yes_len(), merged.no_len().unwrap()), (1, 1));
        // The filter alone, for those who keep the keys.
        let mut filter = one.filter().clone();
        filter.merge_from(other.filter(), one.map(), other.map()).unwrap();
        assert_eq!(filter.to_bytes(), merged.filter().to_bytes());
    }
    let mut against = list(&["10110011", "0"], &[]);
    let (filter, map) = (against.filter().to_bytes(), against.map().clone());
    let other = list(&["1"], &["10110011"]);
    let error = against.merge_from(&other).unwrap_err();
    assert!(matches!(&error, SetError::OnBothLists(both) if both.key == key("10110011")), "{error}");
    assert!(against.filter().to_bytes() == filter && *against.map() == map);
    let mut filter = against.filter().clone();
    let error = filter.merge_from(other.filter(), against.map(), other.map()).unwrap_err();
    assert!(matches!(error, RebuildError::OnBothLists(_)), "{error}");
    assert_eq!(filter.to_bytes(), against.filter().to_bytes());
}

/// A fingerprint that gets fresh length begins with the one that was there, so nothing has to be looked for.
#[test]
fn fingerprints_that_get_fresh_length_are_still_clear_of_the_no_keys() {
    let mut list = list(&["10110011", "10111100"], &["1010"]);
    assert_eq!(fingerprints(&list), ["1011"]);
    let no = ["0011", "1010001", "1010111", "1100", "1000"];
    no.iter().for_each(|bits| assert!(list.add_no(&key(bits)).unwrap()));
    while list.filter().quotient_bits() < 6 {
        list.grow().unwrap();
        list.validate().unwrap();
    }
    assert!(list.filter().stats().rejuvenated > 0);
    assert_eq!(fingerprints(&list).len(), 2);
}

#[test]
fn a_rebuild_cuts_past_all_no_keys() {
    // The filter knows nothing of what is in the map.
    let known = list(&["10110011", "0101"], &["101100", "0100"]);
    let recovered = List::recover(empty().filter(), known.map().clone(), []).unwrap();
    check(&recovered, &["0101", "1011001"]);
    // A NO key that has come since, and one that has come before.
    let older = list(&["10110011", "0101"], &["0100"]);
    let recovered = List::recover(older.filter(), known.map().clone(), []).unwrap();
    check(&recovered, &["0101", "1011001"]);
    let (yes, no) = (["10110011", "0101"].map(key), ["101100", "0100"].map(key));
    let builder = List::builder().hasher(hasher()).quotient_bits(2).remainder_bits(2);
    let loaded = builder.from_lists(&yes, &no).unwrap();
    check(&loaded, &["0101", "1011001"]);
    assert_eq!(loaded.map(), known.map());
    let both = List::builder().hasher(hasher()).from_lists(&yes, no.iter().chain([&yes[0]]));
    assert!(matches!(both, Err(RebuildError::OnBothLists(both)) if both.key == yes[0]));
}

/// The map is that of now, the filter older.
#[test]
fn what_is_replayed_is_cut_past_the_no_keys_of_now() {
    let known = list(&["10110011"], &["101100"]);
    let record = |bits| Record::Inserted(hasher().hash(&key(bits)));
    // Both have come since, in either order; and only the NO key has.
    let both = [vec![record("10110011"), record("101100")], vec![record("101100"), record("10110011")]];
    let cases = [(empty(), both[0].clone()), (empty(), both[1].clone())];
    let later = (list(&["10110011"], &[]), vec![record("101100")]);
    let sooner = (list(&[], &["101100"]), vec![record("10110011")]);
    for (snapshot, journal) in cases.into_iter().chain([later, sooner]) {
        let (filter, map) = (snapshot.filter().clone(), known.map().clone());
        let mut replayed = List::from_parts(filter, map);
        journal.iter().for_each(|record| replayed.replay(record).unwrap());
        check(&replayed, &["1011001"]);
    }
    // A YES key that has moved to the NO list since.
    let moved = list(&[], &["10110011"]);
    let mut replayed = List::from_parts(known.filter().clone(), moved.map().clone());
    replayed.replay(&record("10110011")).unwrap();
    replayed.recount().unwrap();
    check(&replayed, &[]);
}

/// Keys with equal hashes, to the last bit, are errors on different lists and change nothing.
#[test]
fn keys_that_cannot_be_told_apart_are_refused() {
    let hasher = Hasher::chosen(|bytes, _| u64::from(bytes[0]));
    let builder = List::builder().hasher(hasher);
    let mut list = builder.clone().build_list(MemoryMap::new()).unwrap();
    let (one, same, same_again) = ([1, 1], [1, 2], [1, 3]);
    assert!(list.add_yes(&one).unwrap() && list.add_yes(&same_again).unwrap());
    let error = list.add_no(&same).unwrap_err();
    assert!(matches!(error, SetError::Indistinguishable(Indistinguishable)), "{error}");
    assert!(matches!(list.move_to_no(&one), Err(SetError::Indistinguishable(_))));
    list.validate().unwrap();
    assert_eq!((list.yes_len(), list.lookup(&one).unwrap()), (2, Some(Answer::Yes)));
    // Alone it can move.
    assert_eq!(list.remove(&same_again).unwrap(), Some(Answer::Yes));
    assert_eq!(list.move_to_no(&one).unwrap(), Some(Answer::Yes));
    let other = {
        let mut other = builder.clone().build_list(MemoryMap::new()).unwrap();
        assert!(other.add_yes(&same).unwrap());
        other
    };
    assert!(matches!(list.add_yes(&same), Err(SetError::Indistinguishable(_))));
    let (filter, map) = (list.filter().to_bytes(), list.map().clone());
    assert!(matches!(list.merge_from(&other), Err(SetError::Indistinguishable(_))));
    assert!(list.filter().to_bytes() == filter && *list.map() == map);
    list.validate().unwrap();
    assert!(matches!(builder.from_lists([one], [same]), Err(RebuildError::Indistinguishable(_))));
}

#[test]
fn a_filter_that_may_not_grow_refuses_what_it_cannot_cut() {
    let builder = List::builder().hasher(Hasher::fast()).capacity(40).growth(crate::adaptive::Growth::Refuse);
    let mut list = builder.remainder_bits(1).build_list(MemoryMap::new()).unwrap();
    let yes = (0..u16::MAX).take_while(|key| list.add_yes(key).is_ok()).count() as u16;
    assert!(yes > 30);
    let mut refused = 0;
    for key in 1_000..2_000u16 {
        let (filter, map) = (list.filter().to_bytes(), list.map().clone());
        match list.add_no(&key) {
            Ok(new) => assert!(new),
            Err(SetError::Full(_)) => {
                assert!(list.filter().to_bytes() == filter && *list.map() == map);
                refused += 1;
            }
            Err(error) => panic!("{error}"),
        }
    }
    assert!(refused > 10, "{refused}");
    list.validate().unwrap();
    assert!((0..yes).all(|key| list.query(&key).is_yes()));
}

/// A map that counts how often it is asked, and how many rows it hands out.
#[derive(Default)]
struct Counting {
    map: MemoryMap,
    scans: Cell<u64>,
    rows: Cell<u64>,
}

impl Lookup for Counting {
    type Error = std::convert::Infallible;

    fn visit(&self, hashes: RangeInclusive<u64>, visit: Visit<'_>) -> Result<(), Self::Error> {
        self.scans.update(|scans| scans + 1);
        self.map.visit(hashes, &mut |row| {
            self.rows.update(|rows| rows + 1);
            visit(row)
        })
    }
}

impl ReverseMap for Counting {
    fn insert(&mut self, hash: u64, key: &[u8], value: &[u8]) -> Result<bool, Self::Error> {
        self.map.insert(hash, key, value)
    }

    fn remove(&mut self, hash: u64, key: &[u8]) -> Result<bool, Self::Error> {
        self.map.remove(hash, key)
    }
}

/// What the documentation says that operations cost: a lookup of the key, a scan for a YES key that nothing covers, and a scan
/// for a NO key that is answered yes.
/// What does not help is not advised: a key on both lists is named, also where there is no room for the union.
#[test]
fn a_key_on_both_lists_is_named_before_room_that_is_missing() {
    let builder = List::builder().hasher(Hasher::fast()).capacity(40).growth(crate::adaptive::Growth::Refuse);
    let keys = |numbers: std::ops::Range<u32>| numbers.map(|number| number.to_string());
    for (no, is_on_both) in [("39", true), ("absent", false)] {
        let mut list = builder.clone().from_lists(keys(0..40), ["other"]).unwrap();
        let other = builder.clone().from_lists(keys(100..140), [no]).unwrap();
        let before = (list.filter().to_bytes(), list.map().clone());
        match list.merge_from(&other) {
            Err(SetError::OnBothLists(both)) => assert!(is_on_both && both.key == b"39"),
            Err(SetError::Full(_)) => assert!(!is_on_both),
            result => panic!("{result:?}"),
        }
        assert!(before == (list.filter().to_bytes(), list.map().clone()), "an error left a trace");
    }
}

#[test]
fn a_yes_key_costs_a_scan_and_a_no_key_none() {
    let builder = List::builder().hasher(Hasher::fast()).capacity(4_000).error_rate(0.01);
    let mut list = builder.build_list(Counting::default()).unwrap();
    let scans = |list: &mut YesNoList<Counting>, change: &dyn Fn(&mut YesNoList<Counting>)| {
        list.map().scans.set(0);
        change(list);
        list.map().scans.get()
    };
    let (mut yes, mut no) = (0, 0);
    for key in 0..3_000u32 {
        let before = list.query(&key);
        let cost = scans(&mut list, &|list| assert!(list.add_yes(&key).unwrap()));
        assert_eq!(cost, if before.is_yes() { 1 } else { 2 });
        yes += cost;
        let key = key + 1_000_000;
        let before = list.query(&key);
        let cost = scans(&mut list, &|list| assert!(list.add_no(&key).unwrap()));
        assert_eq!(cost, if before.is_yes() { 2 } else { 1 });
        no += cost;
    }
    assert!(yes > 5_950 && no < 3_050, "{yes}, {no}");
    assert!(list.map().rows.get() < 100, "the scans find next to nothing: {}", list.map().rows.get());
    list.validate().unwrap();
}

/// A NO key that comes between the scan and the fingerprint is not overlooked.
#[test]
fn an_insert_notices_that_a_no_key_has_come_meanwhile() {
    let mut list = list(&[], &[]);
    let (yes, no) = (key("10110011"), key("101100"));
    let hash = hasher().hash(&yes);
    let mut insert = Insert::filter_first(hash, &yes, 0);
    let mut filter = list.filter().clone();
    let Step::Rows(wanted) = insert.step(&mut filter).unwrap() else { panic!() };
    let old = wanted.read(list.map()).unwrap();
    assert!(old.is_empty());
    // As a driver does that shares the filter with others.
    let mut bar = Bar::filter_only(hasher().hash(&no), &no);
    let Step::Done(false) = bar.step(&mut filter).unwrap() else { panic!() };
    assert!(list.add_no(&no).unwrap());
    insert.rows(old);
    let Step::Rows(wanted) = insert.step(&mut filter).unwrap() else {
        panic!("it believes what is out of date")
    };
    insert.rows(wanted.read(list.map()).unwrap());
    let Step::Done(true) = insert.step(&mut filter).unwrap() else { panic!() };
    assert!(filter.query(&yes).is_yes() && !filter.query(&no).is_yes());
}

/// Rows that say something else than a list are found, and a NO key that is covered is.
#[test]
fn lists_that_are_wrong_are_found() {
    let list = list(&["10110011"], &["0"]);
    let with = |value: &[u8]| {
        let (filter, mut map) = (list.filter().clone(), list.map().clone());
        let row = Row { hash: hasher().hash(&key("1011")), key: &key("1011"), value };
        let _ = map.insert(row.hash, row.key, row.value).unwrap();
        List::from_parts(filter, map).validate().map_err(|error| error.to_string())
    };
    assert!(with(Answer::No.row_value()).unwrap_err().contains("which none may cover"));
    assert!(with(b"?").unwrap_err().contains("is on no list"));
    assert!(with(Answer::Yes.row_value()).unwrap_err().contains("2 keys, expected 1"));
    list.validate().unwrap();
}

/// The sides that a list may have as values of rows.
#[test]
fn rows_say_which_list_they_are_on() {
    for answer in [Answer::Yes, Answer::No] {
        assert_eq!(Answer::of_row_value(answer.row_value()), Some(answer));
    }
    for value in [&[0][..], &[2], &[1, 0]] {
        assert_eq!(Answer::of_row_value(value), None);
    }
    assert_eq!(format!("{} {}", Answer::Yes, Answer::No), "yes no");
    assert_eq!(super::super::Lists::new(Hasher::fast()).hasher(), &Hasher::fast());
}
