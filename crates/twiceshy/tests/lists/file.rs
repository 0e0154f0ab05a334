//! Lists in files: what is written is read back, and whatever else there is gives an error.

use std::fs;

use twiceshy::AdaptiveSet;
use twiceshy::any::{FilterKind, identify};
use twiceshy::error::ReadError;
use twiceshy::list::{Answer, ListFilter};
use twiceshy_testkit::file::field::{BODY, OWN};
use twiceshy_testkit::file::{reseal, rows_of_set};

use super::*;

/// Keys on both lists, short ones and long ones, some of which have moved; and it has learned.
fn some_list() -> List {
    let mut list = new_list();
    for number in 0..600u32 {
        let key = number.to_string();
        let _ = if number % 3 == 0 { list.add_yes(&key).unwrap() } else { list.add_no(&key).unwrap() };
        if number % 7 == 0 {
            list.move_to_yes(&key).unwrap();
        }
        if number % 21 == 0 {
            list.move_to_no(&key).unwrap();
        }
    }
    assert!(list.add_yes("").unwrap() && list.add_no(&"x".repeat(100_000)).unwrap());
    for absent in 1_000..20_000u32 {
        assert_eq!(list.query_exactly(&absent.to_string()).unwrap(), Answer::No);
    }
    list.validate().unwrap();
    list
}

#[test]
fn what_is_written_is_read_back() {
    for list in [new_list(), some_list()] {
        let bytes = bytes_of(&list);
        assert_eq!(identify(bytes.as_slice()).unwrap().kind, FilterKind::List);
        let mut after = &[bytes.as_slice(), b"and more"].concat()[..];
        let mut read = List::read_from(&mut after).unwrap();
        assert_eq!(after, b"and more", "nothing after its end is read");
        assert_eq!(read.map(), list.map());
        assert_eq!(bytes_of(&read), bytes);
        for absent in 0..20_000u32 {
            assert_eq!(read.query(&absent.to_string()), list.query(&absent.to_string()));
        }
        assert!(read.add_yes("one more").unwrap());
        read.validate().unwrap();
    }
}

/// The filter's bytes are pinned elsewhere; these are the rows'.
#[test]
fn rows_are_written_as_they_always_were() {
    let mut list = new_list();
    assert!(list.add_yes("ant").unwrap() && list.add_no("bee").unwrap());
    let bytes = bytes_of(&list);
    let rows = &bytes[list.filter().to_bytes().len()..];
    let mut expected =
        [(hasher().hash("ant"), &b"\x03ant\x01\x01"[..]), (hasher().hash("bee"), b"\x03bee\x00")];
    expected.sort();
    assert_eq!(rows, rows_of_set(2, &expected.map(|(_, row)| row).concat()));
}

#[test]
fn files_that_are_cut_off_or_damaged_are_refused() {
    let mut list = new_list();
    (0..40u32).for_each(|key| assert!(list.add_yes(&key).unwrap()));
    (40..100u32).for_each(|key| assert!(list.add_no(&key).unwrap()));
    let bytes = bytes_of(&list);
    for end in 0..bytes.len() {
        let error = List::read_from(&bytes[..end]).unwrap_err();
        assert!(matches!(error, ReadError::Length { .. }), "{end}: {error}");
    }
    for bit in 0..8 * bytes.len() {
        let mut damaged = bytes.clone();
        damaged[bit / 8] ^= 1 << (bit % 8);
        assert!(List::read_from(damaged.as_slice()).is_err(), "bit {bit}");
    }
}

/// Right checksums do not make a list of anything.
#[test]
fn rows_that_make_no_sense_are_refused() {
    let mut list = new_list();
    assert!(list.add_yes("a").unwrap());
    let with = |count, rows: &[u8]| {
        List::read_from([list.filter().to_bytes(), rows_of_set(count, rows)].concat().as_slice())
    };
    assert_eq!(with(1, b"\x01a\x01\x01").unwrap().map(), list.map());
    let wrong: [(u64, &[u8]); 7] = [
        // On the NO list, which the filter answers yes to; on none; missing; twice; another key; a value that says nothing.
        (1, b"\x01a\0"),
        (1, b"\x01a\x01\x02"),
        (0, b""),
        (2, b"\x01a\x01\x01\x01a\x01\x01"),
        (1, b"\x01b\x01\x01"),
        (1, b"\x01a\x02\x01\x01"),
        (2, b"\x01a\x01\x01"),
    ];
    for (count, rows) in wrong {
        assert!(with(count, rows).is_err(), "{rows:?}");
    }
    // A NO key that the filter does not answer yes to is all right, and one more.
    let (no, no_row) =
        (0..255u8).map(|no| ([no], [1, no, 0])).find(|(no, _)| list.query(no).is_no()).unwrap();
    let mut rows = [(hasher().hash("a"), &b"\x01a\x01\x01"[..]), (hasher().hash(&no), &no_row)];
    rows.sort();
    let rows = rows.map(|(_, row)| row).concat();
    assert_eq!(with(2, &rows).unwrap().lookup(&no).unwrap(), Some(Answer::No));
}

/// A set is no list, and the other way round; a list has no tags.
#[test]
fn what_is_no_list_is_refused_by_name() {
    let list = some_list();
    let mut set = AdaptiveSet::builder().hasher(hasher()).build_set(MemoryMap::new()).unwrap();
    assert!(set.insert_tagged("a", 3).unwrap());
    let mut bytes = Vec::new();
    set.write_to(&mut bytes).unwrap();
    assert!(matches!(List::read_from(bytes.as_slice()), Err(ReadError::WrongKind { .. })));
    assert!(matches!(AdaptiveSet::read_from(&bytes_of(&list)[..]), Err(ReadError::WrongKind { .. })));
    let mut tagged = set.filter().to_bytes();
    tagged[10] = FilterKind::List as u8;
    reseal(&mut tagged);
    let error = ListFilter::from_bytes(&tagged).unwrap_err();
    assert!(error.to_string().contains("has the tag 3"), "{error}");
    // What the adaptive filter has in reserve is 0 here, too.
    let mut reserved = list.filter().to_bytes();
    reserved[OWN + 3] = 1;
    reseal(&mut reserved);
    assert!(matches!(ListFilter::from_bytes(&reserved), Err(ReadError::Field { .. })));
}

/// The filter alone answers as the list does, in place as well.
#[test]
fn a_filter_is_read_in_place() {
    let list = some_list();
    let bytes = [&[0], &list.filter().to_bytes()[..]].concat();
    let view = ListFilter::view(&bytes[1..]).unwrap();
    view.validate().unwrap();
    assert_eq!(view.to_filter().unwrap().to_bytes(), &bytes[1..]);
    let keys: Vec<String> = (0..5_000u32).map(|number| number.to_string()).collect();
    let mut answers = vec![Answer::Yes; keys.len()];
    view.query_batch(&keys, &mut answers);
    for (key, answer) in keys.iter().zip(answers) {
        assert_eq!((list.query(key), view.query(key)), (answer, answer));
    }
    let mut damaged = bytes[1..].to_vec();
    damaged[BODY + 3] ^= 1;
    assert!(ListFilter::view(&damaged).unwrap().validate().is_err());
}

/// Of the rows only the length is known.
#[test]
fn the_filter_of_a_file_is_read_without_the_rows() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("list");
    let list = some_list();
    list.save(&path).unwrap();
    let good = fs::read(&path).unwrap();
    let filter_bytes = list.filter().to_bytes();
    assert_eq!(List::load_filter(&path).unwrap().to_bytes(), filter_bytes);
    let end = good.len();
    for len in [0, 8, 127, filter_bytes.len() - 1, filter_bytes.len(), filter_bytes.len() + 31, end - 1] {
        fs::write(&path, &good[..len]).unwrap();
        assert!(matches!(List::load_filter(&path), Err(ReadError::Length { .. })), "{len}");
    }
    fs::write(&path, [&good[..], b"x"].concat()).unwrap();
    assert!(matches!(List::load_filter(&path), Err(ReadError::Length { .. })));
    for at in (0..filter_bytes.len() + 32).step_by(7) {
        let mut bad = good.clone();
        bad[at] ^= 1;
        fs::write(&path, &bad).unwrap();
        assert!(List::load_filter(&path).is_err(), "byte {at}");
    }
}

#[test]
fn files_are_saved_and_loaded() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("blocked.list");
    assert!(List::load(&path).unwrap_err().is_not_found());
    let list = some_list();
    list.save(&path).unwrap();
    assert_eq!(List::load(&path).unwrap().map(), list.map());
    new_list().save(&path).unwrap();
    assert!(List::load(&path).unwrap().is_empty());
    assert!(ListFilter::load(&path).is_err(), "a list is no filter");
    fs::write(&path, [bytes_of(&list), vec![0]].concat()).unwrap();
    assert!(matches!(List::load(&path), Err(ReadError::Length { .. })));
}
