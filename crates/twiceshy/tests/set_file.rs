//! Sets in files: what is written is read back, and whatever else there is gives an error.

use std::fs;

use twiceshy::error::ReadError;
use twiceshy::hash::HashKey;
use twiceshy::reverse_map::MemoryMap;
use twiceshy::{AdaptiveFilter, AdaptiveSet, Hasher};
use twiceshy_testkit::file::rows_of_set;

type Set = AdaptiveSet<MemoryMap>;

fn hasher() -> Hasher {
    Hasher::siphash(HashKey::from_bytes([7; 16]))
}

fn new_set() -> Set {
    AdaptiveSet::builder().error_rate(0.01).hasher(hasher()).build_set(MemoryMap::new()).unwrap()
}

/// Keys with tags, with values, with both, with neither, short ones and long ones; and it has learned.
fn some_set() -> Set {
    let mut set = new_set();
    for number in 0..300u32 {
        set.insert(&number.to_string()).unwrap();
        if number % 5 == 0 {
            set.insert_tagged(&number.to_string(), u64::from(number) << (number % 50)).unwrap();
        }
        if number % 7 == 0 {
            set.insert_with_value(&number.to_string(), &vec![number as u8; number as usize]).unwrap();
        }
    }
    set.insert("").unwrap();
    set.insert_with_value(&"x".repeat(100_000), b"long").unwrap();
    for absent in 1_000..20_000u32 {
        assert!(!set.contains_exactly(&absent.to_string()).unwrap());
    }
    set
}

fn bytes_of(set: &Set) -> Vec<u8> {
    let mut bytes = Vec::new();
    set.write_to(&mut bytes).unwrap();
    bytes
}

#[test]
fn tags_and_values_do_not_disturb_each_other() {
    let mut set = new_set();
    assert!(set.insert_with_value("ant", b"six").unwrap());
    assert!(!set.insert_tagged("ant", 300).unwrap());
    assert!(!set.insert("ant").unwrap(), "it stays as it is");
    assert_eq!((set.tag("ant"), set.get("ant").unwrap()), (Some(300), Some(b"six".to_vec())));
    assert!(!set.insert_with_value("ant", &[9, 9, 9]).unwrap());
    assert_eq!((set.tag("ant"), set.get("ant").unwrap()), (Some(300), Some(vec![9, 9, 9])));
    assert!(!set.insert_with_value("ant", b"").unwrap());
    assert_eq!((set.tag("ant"), set.get("ant").unwrap()), (Some(300), Some(Vec::new())));
    assert!(!set.insert_tagged("ant", 0).unwrap());
    assert_eq!((set.tag("ant"), set.get("ant").unwrap()), (Some(0), Some(Vec::new())));
    assert!(set.insert("bee").unwrap());
    assert_eq!(set.get("bee").unwrap(), Some(Vec::new()), "there, without a value");
    assert_eq!((set.get("cow").unwrap(), set.len()), (None, 2));
    set.rejuvenate().unwrap();
    set.validate().unwrap();
}

#[test]
fn a_set_extends_by_the_keys_of_an_iterator() {
    let mut set = new_set();
    assert_eq!(set.try_extend(0..1_000u32).unwrap(), 1_000);
    assert_eq!(set.try_extend((500..1_500u32).filter(|key| key % 2 == 0)).unwrap(), 250);
    assert_eq!(set.try_extend(Vec::<u32>::new()).unwrap(), 0);
    assert_eq!(set.len(), 1_250);
}

#[test]
fn what_is_written_is_read_back() {
    for set in [new_set(), some_set()] {
        let bytes = bytes_of(&set);
        let mut after = &[bytes.as_slice(), b"and more"].concat()[..];
        let mut read = Set::read_from(&mut after).unwrap();
        assert_eq!(after, b"and more", "nothing after its end is read");
        assert_eq!(read.map(), set.map());
        assert_eq!(bytes_of(&read), bytes);
        for absent in 1_000..20_000u32 {
            assert_eq!(read.contains(&absent.to_string()), set.contains(&absent.to_string()));
        }
        read.insert("one more").unwrap();
        read.validate().unwrap();
    }
}

/// The filter's bytes are pinned elsewhere; these are the rows'.
#[test]
fn rows_are_written_as_they_always_were() {
    let mut set = new_set();
    set.insert("ant").unwrap();
    set.insert_tagged("bee", 0x102).unwrap();
    set.insert_with_value("cow", b"moo").unwrap();
    let bytes = bytes_of(&set);
    let rows = &bytes[set.filter().to_bytes().len()..];
    let mut expected = vec![(hasher().hash("ant"), b"\x03ant\x00".to_vec())];
    expected.push((hasher().hash("bee"), b"\x03bee\x03\x02\x02\x01".to_vec()));
    expected.push((hasher().hash("cow"), b"\x03cow\x04\x00moo".to_vec()));
    expected.sort();
    let expected: Vec<u8> = expected.into_iter().flat_map(|(_, row)| row).collect();
    assert_eq!(rows, rows_of_set(3, &expected));
}

#[test]
fn files_that_are_cut_off_or_damaged_are_refused() {
    let mut set = new_set();
    set.try_extend(0..40u32).unwrap();
    let bytes = bytes_of(&set);
    for end in 0..bytes.len() {
        let error = Set::read_from(&bytes[..end]).unwrap_err();
        assert!(matches!(error, ReadError::Length { .. }), "{end}: {error}");
    }
    for bit in 0..8 * bytes.len() {
        let mut damaged = bytes.clone();
        damaged[bit / 8] ^= 1 << (bit % 8);
        assert!(Set::read_from(damaged.as_slice()).is_err(), "bit {bit}");
    }
}

/// Right checksums do not make rows of anything.
#[test]
fn rows_that_make_no_sense_are_refused() {
    let mut set = new_set();
    set.insert("a").unwrap();
    let with =
        |rows: &[u8]| Set::read_from([set.filter().to_bytes(), rows_of_set(1, rows)].concat().as_slice());
    assert_eq!(with(b"\x01a\0").unwrap().map(), set.map());
    let wrong: [&[u8]; 9] = [
        b"\x81\x00a\0",
        b"",
        b"\x01a",
        b"\x01b\0",
        b"\x01a\0\x01a\0",
        b"\x01a\x01\0\0",
        b"\x81\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80a\0",
        b"\xff\xff\xff\xff\xff\xff\xff\xff\xffa\0",
        b"\x01a\x02\x01\x07",
    ];
    for rows in wrong {
        assert!(with(rows).is_err(), "{rows:?}");
    }
}

/// Right checksums do not make keys of another set its own.
#[test]
fn rows_of_another_set_are_refused() {
    let (mut one, mut other) = (new_set(), new_set());
    one.try_extend(0..40u32).unwrap();
    other.try_extend(20..60u32).unwrap();
    let (one_filter, other_filter) = (one.filter().to_bytes(), other.filter().to_bytes());
    let mixed = [&one_filter, &bytes_of(&other)[other_filter.len()..]].concat();
    assert!(matches!(Set::read_from(mixed.as_slice()), Err(ReadError::Inconsistent(_))));
    let fewer = [new_set().filter().to_bytes(), bytes_of(&one)[one_filter.len()..].to_vec()].concat();
    assert!(matches!(Set::read_from(fewer.as_slice()), Err(ReadError::Field { .. })));
    assert!(Set::read_from(one_filter.as_slice()).is_err(), "a filter is no set");
}

#[test]
fn files_are_saved_and_loaded() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("seen.set");
    assert!(Set::load(&path).unwrap_err().is_not_found());
    assert!(!Set::load(folder.path()).unwrap_err().is_not_found());
    let set = some_set();
    set.save(&path).unwrap();
    assert_eq!(Set::load(&path).unwrap().map(), set.map());
    new_set().save(&path).unwrap();
    assert!(Set::load(&path).unwrap().is_empty());
    assert!(AdaptiveFilter::load(&path).is_err(), "a set is no filter");
    fs::write(&path, [bytes_of(&set), vec![0]].concat()).unwrap();
    assert!(matches!(Set::load(&path), Err(ReadError::Length { .. })));
}
