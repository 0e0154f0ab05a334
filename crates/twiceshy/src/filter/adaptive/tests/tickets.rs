//! Filters whose keys are kept by the caller.

use super::*;
use crate::error::{AdaptError, Full, InsertError, NeedsGrow, Stale};
use crate::filter::adaptive::{Growth, Insertion};
use crate::reverse_map::{Lookup, Row, Rows};

/// A filter in which every key of the same first byte meets one fingerprint.
fn coarse() -> AdaptiveFilter {
    let hasher = Hasher::chosen(|bytes, index| match index {
        0 => u64::from(bytes[0]) << 56 | u64::from(*bytes.get(1).unwrap_or(&0)) << 40,
        _ => 0,
    });
    AdaptiveFilter::builder().hasher(hasher).quotient_bits(4).remainder_bits(4).build().unwrap()
}

fn ticket(filter: &AdaptiveFilter, key: &[u8]) -> super::super::Ticket {
    match filter.query(key) {
        Query::Maybe(ticket) => ticket,
        Query::Absent => panic!("{key:?} is absent"),
    }
}

fn rows(filter: &AdaptiveFilter, keys: &[&str]) -> Rows {
    Rows::of(filter.hasher(), keys)
}

fn adapt(
    filter: &mut AdaptiveFilter,
    ticket: &super::super::Ticket,
    key: &[u8],
    keys: &[&str],
) -> Result<Adapted, AdaptError> {
    let rows = rows(filter, keys);
    filter.adapt(ticket, key, &rows)
}

/// A map that cannot be read.
struct NoMap;

impl Lookup for NoMap {
    type Error = std::io::Error;

    fn visit(
        &self,
        _: std::ops::RangeInclusive<u64>,
        _: &mut dyn FnMut(Row<'_>) -> std::ops::ControlFlow<()>,
    ) -> Result<(), std::io::Error> {
        Err(std::io::Error::other("no map"))
    }
}

#[test]
fn a_ticket_is_stale_after_any_change_under_its_prefix() {
    let mut filter = coarse();
    assert_eq!(filter.insert(b"a1").unwrap(), Insertion::Stored);
    let old = ticket(&filter, b"a9");
    // A covered insert changes no byte, and makes the ticket stale all the same.
    let before = filter.to_bytes();
    let Insertion::Covered(covered) = filter.insert(b"a2").unwrap() else { panic!() };
    assert_eq!(filter.to_bytes(), before);
    filter.insert_covered(&covered).unwrap();
    let unchanged = filter.to_bytes();
    assert!(matches!(adapt(&mut filter, &old, b"a9", &["a1"]), Err(AdaptError::Stale(Stale))));
    assert!(matches!(filter.remove(&old, false), Err(Stale)));
    assert_eq!(filter.to_bytes(), unchanged);
    let fresh = ticket(&filter, b"a9");
    // What happens elsewhere does not matter.
    let _ = filter.insert([0xf0, 0].as_slice()).unwrap();
    assert!(matches!(adapt(&mut filter, &fresh, b"a9", &["a1", "a2"]), Ok(Adapted::Fixed { .. })));
    assert!(filter.contains("a1") && filter.contains("a2") && !filter.contains("a9"));
    assert!(matches!(adapt(&mut filter, &fresh, b"a9", &["a1", "a2"]), Err(AdaptError::Stale(Stale))));
}

#[test]
fn a_fingerprint_that_has_got_another_tag_covers_nothing_for_an_old_ticket() {
    let mut filter = coarse();
    let _ = filter.insert_tagged(b"a1", 3).unwrap();
    let Insertion::Covered(old) = filter.insert_tagged(b"a2", 3).unwrap() else { panic!() };
    // Meanwhile the same fingerprint comes back with another tag.
    let own = ticket(&filter, b"a1");
    filter.remove(&own, false).unwrap();
    assert_eq!(filter.insert_tagged(b"a1", 5).unwrap(), Insertion::Stored);
    let before = filter.to_bytes();
    assert!(matches!(filter.insert_covered(&old), Err(Stale)));
    assert_eq!(filter.to_bytes(), before);
    let fresh = ticket(&filter, b"a2");
    assert_eq!(fresh.tag(), 5);
    filter.insert_covered(&fresh).unwrap();
    assert_eq!(filter.len(), 2);
}

#[test]
fn growth_makes_every_ticket_stale() {
    let mut filter = coarse();
    let _ = filter.insert(b"a1").unwrap();
    let old = ticket(&filter, b"a1");
    let rows = rows(&filter, &["a1"]);
    filter.grow(&rows).unwrap();
    assert!(matches!(filter.remove(&old, false), Err(Stale)));
    assert!(matches!(filter.insert_covered(&old), Ok(())), "the fingerprint is still there");
}

#[test]
fn keys_that_are_not_under_the_prefix_are_ignored() {
    let mut filter = coarse();
    let _ = filter.insert(b"a1").unwrap();
    let _ = filter.insert(b"z1").unwrap();
    let ticket = ticket(&filter, b"a9");
    assert!(matches!(adapt(&mut filter, &ticket, b"a9", &["z1", "a1", "m1"]), Ok(Adapted::Fixed { .. })));
    filter.validate().unwrap();
    assert_eq!(filter.fingerprints(), 2);
    assert!(filter.contains("a1") && filter.contains("z1") && !filter.contains("m1"));
}

#[test]
fn a_fingerprint_without_keys_goes_and_a_failed_lookup_changes_nothing() {
    let mut filter = coarse();
    let _ = filter.insert(b"a1").unwrap();
    let before = filter.to_bytes();
    // Old enough to need its keys at the next growth.
    while filter.grow(&NoMap).is_ok() {}
    assert!(filter.contains("a1"));
    assert!(filter.lengths().ages.last() == Some(&1), "it has no bit left");
    let stuck = filter.to_bytes();
    assert!(filter.grow(&NoMap).is_err());
    assert_eq!(filter.to_bytes(), stuck);
    // "Nothing there" is something else: then the fingerprint goes.
    filter.grow(&Rows::new()).unwrap();
    assert_eq!((filter.fingerprints(), filter.contains("a1")), (0, false));

    let mut filter = AdaptiveFilter::from_bytes(&before).unwrap();
    filter.reader = coarse().reader;
    let ticket = ticket(&filter, b"a9");
    assert_eq!(adapt(&mut filter, &ticket, b"a9", &[]).unwrap(), Adapted::Vanished);
    assert_eq!((filter.len(), filter.fingerprints(), filter.used_slots()), (0, 0, 0));
}

#[test]
fn a_key_goes_with_its_fingerprint_only_if_it_is_the_last() {
    let mut filter = coarse();
    for key in ["a1", "a2"] {
        if let Insertion::Covered(ticket) = filter.insert(key).unwrap() {
            filter.insert_covered(&ticket).unwrap();
        }
    }
    assert_eq!((filter.len(), filter.fingerprints()), (2, 1));
    let first = ticket(&filter, b"a1");
    filter.remove(&first, true).unwrap();
    assert!(filter.contains("a2"));
    assert!(matches!(filter.remove(&first, false), Err(Stale)));
    let second = ticket(&filter, b"a2");
    filter.remove(&second, false).unwrap();
    assert_eq!((filter.len(), filter.fingerprints(), filter.contains("a2")), (0, 0, false));
}

#[test]
fn replaying_a_mistake_leaves_the_key_alone_that_the_query_has_become() {
    let mut filter = coarse();
    for key in ["a1", "a9"] {
        if let Insertion::Covered(ticket) = filter.insert(key).unwrap() {
            filter.insert_covered(&ticket).unwrap();
        }
    }
    // A query like "a9" was a mistake once. Now it is a key, and "a1" must be parted from it all the same.
    let hash = filter.hasher().hash("a9");
    let apart = crate::Prefix::from_bits(hash >> 36, 28);
    let ticket = filter.core.query_prefix(&apart).unwrap();
    let both = rows(&filter, &["a1", "a9"]);
    assert!(matches!(filter.separate(&ticket, &apart, &both), Ok(Adapted::Fixed { .. })));
    filter.validate().unwrap();
    let lengths: Vec<u32> = filter.iter().map(|fingerprint| fingerprint.prefix.len()).collect();
    assert_eq!((lengths.as_slice(), filter.contains("a1")), ([24, 24].as_slice(), true));
    // Once more, with everything parted already: nothing gets longer.
    let ticket = filter.core.query_prefix(&apart).unwrap();
    let before = filter.to_bytes();
    let one = rows(&filter, &["a9"]);
    assert!(matches!(filter.separate(&ticket, &apart, &one), Ok(Adapted::Fixed { slots: 0 })));
    assert_eq!(filter.to_bytes(), before);
}

#[test]
fn a_full_filter_says_what_it_needs_and_stays_as_it_is() {
    let build = |growth| {
        AdaptiveFilter::builder().hasher(Hasher::fast()).quotient_bits(5).growth(growth).build().unwrap()
    };
    let fill = |filter: &mut AdaptiveFilter| {
        for key in 0u64.. {
            match filter.insert(&key) {
                Ok(_) => assert!(key < 1000),
                Err(error) => return error,
            }
        }
        unreachable!()
    };
    let mut grows = build(Growth::Grow { max_bytes: None });
    assert!(matches!(fill(&mut grows), InsertError::NeedsGrow(NeedsGrow { used: 30, slots: 32 })));
    let before = grows.to_bytes();
    assert!(matches!(fill(&mut grows), InsertError::NeedsGrow { .. }));
    assert_eq!(grows.to_bytes(), before);

    assert!(matches!(fill(&mut build(Growth::Refuse)), InsertError::Full(Full { used: 30, slots: 32 })));
    let limit = before.len() as u64;
    let mut limited = build(Growth::Grow { max_bytes: Some(limit) });
    assert!(matches!(fill(&mut limited), InsertError::Full { .. }));
    let mut roomy = build(Growth::Grow { max_bytes: Some(4 * limit) });
    assert!(matches!(fill(&mut roomy), InsertError::NeedsGrow { .. }));

    // Adaptations need room as well.
    let query = (1000u64..).find(|query| grows.contains(query)).unwrap();
    let Query::Maybe(ticket) = grows.query(&query) else { panic!() };
    let keys = Rows::of(grows.hasher(), 0..40u64);
    let adapted = grows.adapt(&ticket, &query, &keys);
    assert!(matches!(adapted, Err(AdaptError::NeedsGrow { .. })), "{adapted:?}");
    assert_eq!(grows.to_bytes(), before);
    assert_eq!((grows.stats().reported, grows.stats().fixed), (0, 0));
}

#[test]
fn settings_that_make_no_sense_are_refused() {
    use crate::error::BuildError;
    let builder = AdaptiveFilter::builder;
    assert!(matches!(builder().error_rate(0.0).build(), Err(BuildError::ErrorRate { .. })));
    assert!(matches!(builder().error_rate(f64::NAN).build(), Err(BuildError::ErrorRate { .. })));
    assert!(matches!(builder().error_rate(1e-30).build(), Err(BuildError::NotEnoughBits { .. })));
    assert!(matches!(builder().remainder_bits(0).build(), Err(BuildError::OutOfRange { .. })));
    assert!(matches!(builder().remainder_bits(61).build(), Err(BuildError::OutOfRange { .. })));
    assert!(matches!(builder().quotient_bits(49).build(), Err(BuildError::OutOfRange { .. })));
    assert!(matches!(builder().growth(Growth::Refuse).build(), Err(BuildError::NoSize)));
    assert!(matches!(builder().capacity(1).quotient_bits(1).build(), Err(BuildError::Contradiction { .. })));
    assert!(matches!(
        builder().error_rate(0.1).remainder_bits(1).build(),
        Err(BuildError::Contradiction { .. })
    ));
}

#[test]
fn a_clone_is_a_filter_of_its_own() {
    let mut filter = coarse();
    let _ = filter.insert(b"a1").unwrap();
    let mut copy = filter.clone();
    let ticket = ticket(&copy, b"a1");
    copy.remove(&ticket, false).unwrap();
    assert!(filter.contains(b"a1") && !copy.contains(b"a1"));
    copy.clear();
    assert!(filter.empty_like().unwrap().is_empty());
    assert!(!format!("{filter:?}").contains("seed"), "a summary keeps secrets");
}

/// Whoever removes a key from the filter before its row is gone has a wrong count, but does not lose the key.
#[test]
fn a_key_whose_row_is_still_there_is_not_lost() {
    use crate::reverse_map::{MemoryMap, ReverseMap};
    let (mut filter, mut database) = (coarse(), MemoryMap::new());
    for key in ["a1", "z1"] {
        assert!(filter.insert_with(key, &database).unwrap());
        assert!(database.insert(filter.hasher().hash(key), key.as_bytes(), &[]).unwrap());
    }
    filter.remove_with("a1", &database).unwrap();
    assert!(filter.contains("a1") && filter.contains("z1"));
    assert!(database.remove(filter.hasher().hash("a1"), b"a1").unwrap());
    filter.remove_with("a1", &database).unwrap();
    assert!(!filter.contains("a1") && filter.contains("z1"));
    filter.validate().unwrap();
}

#[test]
fn a_covered_key_with_another_tag_is_inserted_apart() {
    let mut filter = coarse();
    let _ = filter.insert_tagged("aa", 1).unwrap();
    let _ = filter.insert_tagged("ab", 1).unwrap();
    for (count, is_new) in [(3, true), (3, false)] {
        let tag = if is_new { 7 } else { 9 };
        let Insertion::Covered(covering) = filter.insert_tagged("a ", tag).unwrap() else {
            panic!("covered")
        };
        let keys: &[&str] = if is_new { &["aa", "ab"] } else { &["aa", "ab", "a "] };
        filter.insert_apart(&covering, "a ", tag, &rows(&filter, keys)).unwrap();
        assert_eq!((filter.tag("aa"), filter.tag("ab"), filter.tag("a ")), (Some(1), Some(1), Some(tag)));
        let stale = filter.insert_apart(&covering, "a ", tag, &rows(&filter, keys));
        assert!(matches!(stale, Err(AdaptError::Stale(Stale))));
        if is_new {
            filter.insert_covered(&ticket(&filter, b"aa")).unwrap();
        }
        assert_eq!(filter.len(), count);
        filter.validate().unwrap();
    }
}
