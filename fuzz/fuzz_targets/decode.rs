//! Any bytes as a filter. Nothing may panic, loop or allocate much; what is accepted must be a filter that
//! works.
//!
//! The first byte says of which kind the filter is and how far the bytes are led: from "as they are" to "a
//! header that fits, with right checksums and counts", so that the fuzzer gets past the checks.

#![no_main]

use libfuzzer_sys::fuzz_target;
use twiceshy::adaptive::{Insertion, Query};
use twiceshy::any::FilterKind;
use twiceshy::list::{Answer, Delta, ListFilter};
use twiceshy::reverse_map::{MemoryMap, Rows};
use twiceshy::{
    AdaptiveFilter, AdaptiveRangeFilter, AdaptiveRangeSet, AdaptiveSet, AnyFilter, ExpandableFilter,
    FrozenYesNoList, Hasher, QuotientFilter, RangeFilter, YesNoList,
};
use twiceshy_testkit::file::field::*;
use twiceshy_testkit::file::{put, reseal, rows_of_set, slots_of};

// The kinds of filters.
const QUOTIENT: u8 = FilterKind::Quotient as u8;
const ADAPTIVE: u8 = FilterKind::Adaptive as u8;
const EXPANDABLE: u8 = FilterKind::Expandable as u8;
const ADAPTIVE_RANGE: u8 = FilterKind::AdaptiveRange as u8;
const RANGE: u8 = FilterKind::Range as u8;
const LIST: u8 = FilterKind::List as u8;
const FROZEN: u8 = FilterKind::FrozenList as u8;
const DELTA: u8 = FilterKind::ListDelta as u8;

fuzz_target!(|data: &[u8]| {
    let Some((&mode, rest)) = data.split_first() else { return };
    let kind = if mode / 4 % 2 == 0 { QUOTIENT } else { ADAPTIVE };
    match mode % 4 {
        // As they are, with the first byte: a filter's file is led here by its first letter.
        0 => examine_all(data),
        1 => {
            let mut bytes = rest.to_vec();
            // A file of an expandable filter, of one of ranges, or of a list, stays one.
            let kind = match bytes.get(KIND) {
                Some(&kept @ (EXPANDABLE | ADAPTIVE_RANGE | RANGE | LIST | FROZEN | DELTA)) => kept,
                _ => kind,
            };
            seal(&mut bytes, kind);
            examine_all(&bytes);
        }
        2 => examine_all(&shaped(rest, kind)),
        _ => {
            let mut bytes = shaped(rest, kind);
            set_counts(&mut bytes, kind);
            examine_all(&bytes);
        }
    }
});

/// All that is the same for every kind: bytes are a filter in every way of reading, or in none; queries on anything end;
/// and a filter that was read works. Tells whether the bytes can be viewed as a filter of this kind.
macro_rules! examine {
    ($filter:ident, $bytes:ident, $interrogate:ident, $use_it:ident) => {{
        let (read, view) = ($filter::read_from($bytes), $filter::view($bytes));
        match &view {
            Err(_) => {
                assert!($filter::from_bytes($bytes).is_err());
                // Only what follows the filter may be the difference.
                if let Ok(filter) = read {
                    assert!(filter.to_bytes().len() < $bytes.len());
                }
            }
            Ok(view) => {
                let hashes: Vec<u64> = hashes().collect();
                let mut found = vec![false; hashes.len()];
                view.contains_hash_batch(&hashes, &mut found);
                for (&hash, found) in hashes.iter().zip(found) {
                    assert_eq!(view.contains_hash(hash), found);
                }
                let slots = view.size_in_bytes() * 8;
                assert!(view.iter().take(slots + 1).count() <= slots, "more fingerprints than slots");
                std::hint::black_box((view.contains("key"), view.expected_error_rate(), format!("{view:?}")));
                $interrogate(view, &hashes);
                let valid = view.validate().is_ok();
                assert_eq!(read.is_ok(), valid, "read_from and validate disagree");
                assert_eq!($filter::from_bytes($bytes).is_ok(), valid, "from_bytes and validate disagree");
                if let Ok(filter) = read {
                    assert_eq!(filter.to_bytes(), $bytes, "reading and writing changes bytes");
                    $use_it(filter, &hashes);
                }
            }
        }
        view.is_ok()
    }};
}

/// At most one of the kinds takes it, and a filter of any kind takes it then.
fn examine_all(bytes: &[u8]) {
    let taken = [
        examine!(QuotientFilter, bytes, interrogate_quotient, use_quotient),
        examine!(AdaptiveFilter, bytes, interrogate_adaptive, use_adaptive),
        examine!(ExpandableFilter, bytes, interrogate_expandable, use_expandable),
    ];
    let taken = taken.into_iter().filter(|&taken| taken).count();
    assert_eq!(
        taken,
        usize::from(AnyFilter::view(bytes).is_ok()),
        "taken as a filter of some kind, and of any"
    );
    if let Ok(filter) = AnyFilter::from_bytes(bytes) {
        assert_eq!(filter.to_bytes(), bytes, "reading and writing changes bytes");
    }
    examine_range(bytes);
    examine_adaptive_range(bytes);
    examine_set(bytes);
    examine_list(bytes);
    examine_frozen(bytes);
    examine_delta(bytes);
    // What is an adaptive filter is that of a list, if it has no tags.
    if bytes.get(KIND) == Some(&ADAPTIVE) {
        let mut list = bytes.to_vec();
        seal(&mut list, LIST);
        let is_one =
            AdaptiveFilter::from_bytes(bytes).is_ok_and(|filter| filter.iter().all(|entry| entry.tag == 0));
        assert_eq!(ListFilter::from_bytes(&list).is_ok(), is_one);
    }
    // The rows of a set of a few keys, and of a list, with right checksums.
    if let Some((keys, rows)) = bytes.split_first_chunk::<3>() {
        let mut set =
            AdaptiveSet::builder().hasher(Hasher::fast()).build_set(MemoryMap::new()).expect("small");
        set.insert_batch(&keys.map(|key| [key])).expect("small");
        examine_set(&[set.filter().to_bytes(), rows_of_set(set.len(), rows)].concat());
        let [yes, no, count] = keys;
        let builder = YesNoList::builder().hasher(Hasher::fast());
        if let Ok(list) = builder.from_lists([[*yes]], [[*no]]) {
            examine_list(&[list.filter().to_bytes(), rows_of_set(u64::from(*count), rows)].concat());
        }
    }
}

/// What is read as a list is one, is written as it was, and answers every listed key rightly.
fn examine_list(bytes: &[u8]) {
    if let Ok(list) = YesNoList::read_from(bytes) {
        list.validate().expect("what was read is valid");
        list.iter().for_each(|(key, answer)| assert_eq!(list.query(key), answer));
        let mut written = Vec::new();
        list.write_to(&mut written).expect("memory can be written");
        assert_eq!(written, bytes[..written.len()], "reading and writing changes bytes");
    }
    let Ok(view) = ListFilter::view(bytes) else {
        assert!(ListFilter::from_bytes(bytes).is_err());
        return;
    };
    let keys: Vec<u64> = hashes().collect();
    let mut answers = vec![Answer::No; keys.len()];
    view.query_batch(&keys, &mut answers);
    keys.iter().zip(answers).for_each(|(key, answer)| assert_eq!(view.query(key), answer));
    std::hint::black_box((
        view.ticket("key"),
        view.separate_record("key"),
        view.lengths(),
        format!("{view:?}"),
    ));
    let valid = view.validate().is_ok();
    assert_eq!(ListFilter::from_bytes(bytes).is_ok(), valid, "from_bytes and validate disagree");
}

/// Any bytes as a frozen list: queries end, all ways to read it agree, and it is written as it was.
fn examine_frozen(bytes: &[u8]) {
    let Ok(view) = FrozenYesNoList::view(bytes) else {
        assert!(FrozenYesNoList::from_bytes(bytes).is_err());
        return;
    };
    let keys: Vec<u64> = hashes().collect();
    let (mut answers, mut by_hash) = (vec![Answer::No; keys.len()], vec![Answer::No; keys.len()]);
    view.query_batch(&keys, &mut answers);
    view.query_hash_batch(&keys, &mut by_hash);
    for ((key, answer), by_hash) in keys.iter().zip(answers).zip(by_hash) {
        assert_eq!((view.query(key), view.query_hash(*key)), (answer, by_hash));
    }
    std::hint::black_box((view.expected_error_rate(), view.least_bits(), format!("{view:?}")));
    let valid = view.validate().is_ok();
    assert_eq!(FrozenYesNoList::read_from(bytes).is_ok(), valid, "read_from and validate disagree");
    if let Ok(list) = FrozenYesNoList::from_bytes(bytes) {
        assert!(valid && list.expected_error_rate() <= list.error_rate());
        assert_eq!(list.to_bytes(), bytes, "reading and writing changes bytes");
    }
}

/// Any bytes as a delta: to a list that it names it is applied or not, and queries end.
fn examine_delta(bytes: &[u8]) {
    let Ok(view) = Delta::view(bytes) else {
        assert!(Delta::from_bytes(bytes).is_err());
        return;
    };
    let valid = view.validate().is_ok();
    let list = FrozenYesNoList::builder().hasher(Hasher::fast()).build(0..40u64, 40..90u64).expect("small");
    // Bytes that name this list, and what it becomes.
    let mut named = bytes.to_vec();
    put(&mut named, OWN, &list.name().to_le_bytes());
    seal(&mut named, DELTA);
    let list = list.to_bytes();
    for bytes in [bytes, &named] {
        let mut list = FrozenYesNoList::view(&list).expect("what was written").into_list();
        if let Ok(view) = Delta::view(bytes) {
            std::hint::black_box(list.apply(view.into_delta()).is_ok());
        }
        let _ = hashes().filter(|hash| list.query_hash(*hash).is_yes()).count();
    }
    assert_eq!(Delta::from_bytes(bytes).is_ok(), valid, "from_bytes and validate disagree");
    if let Ok(delta) = Delta::from_bytes(bytes) {
        assert_eq!(delta.to_bytes(), bytes, "reading and writing changes bytes");
    }
}

/// Any bytes as a range filter: queries end, and what was read works.
fn examine_range(bytes: &[u8]) {
    let Ok(view) = RangeFilter::<u64>::view(bytes) else {
        assert!(RangeFilter::<u64>::from_bytes(bytes).is_err());
        return;
    };
    let keys: Vec<u64> = hashes().collect();
    for &key in &keys {
        let range = (view.contains_range(key..key.saturating_add(view.max_range())), view.contains(&key));
        std::hint::black_box((range, view.count(&key)));
    }
    std::hint::black_box((view.iter().take(100_000).count(), format!("{view:?}")));
    let valid = view.validate().is_ok();
    assert_eq!(RangeFilter::<u64>::from_bytes(bytes).is_ok(), valid, "from_bytes and validate disagree");
    if let Ok(mut filter) = view.to_filter() {
        assert_eq!(filter.to_bytes(), bytes, "reading and writing changes bytes");
        let inserted: Vec<u64> = keys.into_iter().filter(|key| filter.insert(key).is_ok()).collect();
        assert!(inserted.iter().all(|key| filter.contains(key)));
        inserted.iter().for_each(|key| assert!(filter.remove(key)));
        filter.validate().expect("a valid table");
    }
}

/// Any bytes as an adaptive range filter, and as a set of one.
fn examine_adaptive_range(bytes: &[u8]) {
    if let Ok(set) = AdaptiveRangeSet::<u64, _>::read_from(bytes) {
        set.validate().expect("what was read was checked");
    }
    let Ok(view) = AdaptiveRangeFilter::<u64>::view(bytes) else {
        assert!(AdaptiveRangeFilter::<u64>::from_bytes(bytes).is_err());
        return;
    };
    let keys: Vec<u64> = hashes().collect();
    let ranges: Vec<_> = keys.iter().map(|key| *key..key.saturating_add(view.max_range())).collect();
    let mut found = vec![false; ranges.len()];
    view.contains_range_batch(&ranges, &mut found);
    for ((key, range), found) in keys.iter().zip(&ranges).zip(found) {
        assert_eq!(view.contains_range(range.clone()), found);
        std::hint::black_box(view.contains(key));
    }
    std::hint::black_box((view.iter().take(100_000).count(), format!("{view:?}")));
    let valid = view.validate().is_ok();
    assert_eq!(
        AdaptiveRangeFilter::<u64>::from_bytes(bytes).is_ok(),
        valid,
        "from_bytes and validate disagree"
    );
    if let Ok(mut filter) = view.to_filter() {
        assert_eq!(filter.to_bytes(), bytes, "reading and writing changes bytes");
        let inserted = keys.into_iter().filter(|key| matches!(filter.insert(key), Ok(Insertion::Stored)));
        let inserted: Vec<u64> = inserted.collect();
        assert!(inserted.iter().all(|key| filter.contains(key)));
        filter.validate().expect("a valid table");
    }
}

/// What is read as a set is one, and is written as it was.
fn examine_set(bytes: &[u8]) {
    if let Ok(set) = AdaptiveSet::read_from(bytes) {
        set.validate().expect("what was read is valid");
        let mut written = Vec::new();
        set.write_to(&mut written).expect("memory can be written");
        assert_eq!(written, bytes[..written.len()], "reading and writing changes bytes");
    }
}

fn hashes() -> impl Iterator<Item = u64> {
    let even = (0..40u64).map(|i| i.wrapping_mul(0x9e37_79b9_7f4a_7c15));
    even.chain((0..64).map(|i| 1 << i)).chain([0, u64::MAX, u64::MAX << 32])
}

/// What a filter writes can be read.
fn check(bytes: &[u8]) {
    let view = AnyFilter::view(bytes).expect("a header that reads back");
    view.validate().expect("a valid table");
}

/// Magic, version, kind and checksums.
fn seal(bytes: &mut [u8], kind: u8) {
    if bytes.len() < BODY {
        return;
    }
    put(bytes, 0, b"twiceshy\x02\x00");
    put(bytes, KIND, &[kind]);
    reseal(bytes);
}

/// A header with a small shape from the first bytes, the rest as its table.
fn shaped(data: &[u8], kind: u8) -> Vec<u8> {
    let byte = |i: usize| data.get(i).copied().unwrap_or(0);
    let quotient_bits = 1 + byte(0) % 8;
    let slot_bits = 1 + byte(1) % (64 - quotient_bits).min(20);
    let spill = u32::from(byte(2)) % 140;
    let total = (1u64 << quotient_bits) + u64::from(spill);
    let words = if kind == ADAPTIVE { 25 } else { 17 };
    let table = total.div_ceil(64) * (words + 8 * u64::from(slot_bits)) + 16;
    let mut bytes = vec![0; BODY];
    put(&mut bytes, HASH, &[1 + byte(3) % 2, quotient_bits, slot_bits, kind - 1, 1 + byte(4) % 255]);
    if kind == ADAPTIVE {
        let stop = byte(5) / 4 % 2;
        put(
            &mut bytes,
            OWN,
            &[1 + byte(5) / 8 % slot_bits.saturating_sub(stop).max(1), stop, byte(3) / 2 % 3],
        );
    }
    put(&mut bytes, SPILL, &spill.to_le_bytes());
    let largest = (quotient_bits + byte(5) % 4).min(quotient_bits + slot_bits - 1);
    put(&mut bytes, MAX_QUOTIENT_BITS, &[if kind == ADAPTIVE { 48 } else { largest }]);
    for (at, i) in [(USED, 6), (LEN, 7), (DISTINCT, 8)] {
        put(&mut bytes, at, &u64::from(byte(i)).to_le_bytes());
    }
    put(&mut bytes, BODY_BYTES, &table.to_le_bytes());
    bytes.extend(data.iter().skip(9).take(table as usize));
    bytes.resize(BODY + table as usize, 0);
    // The padding is 0: there is nothing to be learned from other bytes.
    let end = bytes.len() - 16;
    bytes[end..].fill(0);
    seal(&mut bytes, kind);
    bytes
}

/// Sets the counters of the header to what is in the table, if it can be read that way.
fn set_counts(bytes: &mut [u8], kind: u8) {
    // The header may claim more than there are slots: begin with none.
    for at in [USED, LEN, DISTINCT] {
        put(bytes, at, &0u64.to_le_bytes());
    }
    seal(bytes, kind);
    let (mut used, mut len, mut distinct) = (0u64, 0u64, 0u64);
    if let Ok(view) = QuotientFilter::view(bytes) {
        for entry in view.iter() {
            distinct += 1;
            len = len.saturating_add(entry.count);
            used += slots_of(entry.count, view.remainder_bits());
        }
    } else if let Ok(view) = AdaptiveFilter::view(bytes) {
        let stop = u32::from(bytes[OWN + 1]);
        for entry in view.iter() {
            let stored = entry.prefix.len() - view.quotient_bits() + stop;
            let tag_bits = 64 - entry.tag.leading_zeros();
            used += u64::from(stored.div_ceil(view.slot_bits()).max(1) + tag_bits.div_ceil(view.slot_bits()));
            (distinct, len) = (distinct + 1, len + 1);
        }
    }
    for (at, number) in [(USED, used), (LEN, len), (DISTINCT, distinct)] {
        put(bytes, at, &number.to_le_bytes());
    }
    seal(bytes, kind);
}

fn interrogate_quotient(view: &QuotientFilter<&[u8]>, hashes: &[u64]) {
    for &hash in hashes {
        std::hint::black_box(view.count_hash(hash));
    }
    std::hint::black_box(view.longest_cluster());
    if let Ok(merged) = QuotientFilter::merge([view, view]) {
        check(&merged.to_bytes());
    }
}

fn use_quotient(mut filter: QuotientFilter, hashes: &[u64]) {
    let stored: Vec<_> = filter.iter().collect();
    let shift = 64 - filter.fingerprint_bits();
    assert_eq!(stored.len() as u64, filter.distinct());
    for entry in &stored {
        assert_eq!(filter.count_hash(entry.fingerprint << shift), entry.count);
    }
    let before = filter.to_bytes();
    let inserted: Vec<u64> =
        hashes.iter().copied().filter(|&hash| filter.insert_hash(hash).is_ok()).collect();
    check(&filter.to_bytes());
    assert!(inserted.iter().all(|&hash| filter.contains_hash(hash)));
    // More quotient bits, or more spill slots.
    let shape = QUOTIENT_BITS..MAX_QUOTIENT_BITS;
    let grown = filter.to_bytes()[shape.clone()] != before[shape];
    for &hash in &inserted {
        assert!(filter.remove_hash(hash));
    }
    check(&filter.to_bytes());
    if !grown {
        assert_eq!(filter.to_bytes(), before, "inserting and removing leaves a trace");
    }
    for entry in &stored {
        assert_eq!(filter.remove_hash_many(entry.fingerprint << shift, u64::MAX), entry.count);
    }
    assert!(filter.is_empty() && filter.used_slots() == 0);
    check(&filter.to_bytes());
}

fn interrogate_adaptive(view: &AdaptiveFilter<&[u8]>, hashes: &[u64]) {
    for &hash in hashes {
        // On damaged bytes the short way and the complete one may differ.
        std::hint::black_box(view.query_hash(hash));
    }
    std::hint::black_box((view.tag("key"), view.separate_record("key"), view.lengths(), view.stats()));
}

fn use_adaptive(mut filter: AdaptiveFilter, hashes: &[u64]) {
    let stored: Vec<_> = filter.iter().collect();
    assert_eq!(stored.len() as u64, filter.fingerprints());
    let all_found = |filter: &AdaptiveFilter| {
        let mut short = stored.iter().filter(|entry| entry.prefix.len() <= 64);
        assert!(short.all(|entry| filter.contains_hash(*entry.prefix.first_words().start())));
    };
    all_found(&filter);
    filter.shrink_to_fit().expect("memory");
    check(&filter.to_bytes());
    all_found(&filter);
    let is_stored = |hash: &u64| matches!(filter.insert_hash(*hash), Ok(Insertion::Stored));
    let inserted: Vec<u64> = hashes.iter().copied().filter(is_stored).collect();
    check(&filter.to_bytes());
    assert!(inserted.iter().all(|&hash| filter.contains_hash(hash)));
    all_found(&filter);
    // Part every inserted hash from one that differs in its last bit.
    for &hash in &inserted {
        let Query::Maybe(ticket) = filter.query_hash(hash ^ 1) else { continue };
        let under = inserted.iter().copied().filter(|hash| ticket.prefix().first_words().contains(hash));
        if filter.adapt_hash(&ticket, hash ^ 1, &Rows::of_hashes(under)).is_ok() {
            assert!(inserted.contains(&(hash ^ 1)) || !filter.contains_hash(hash ^ 1));
        }
        assert!(filter.contains_hash(hash));
    }
    check(&filter.to_bytes());
}

fn interrogate_expandable(view: &ExpandableFilter<&[u8]>, _: &[u64]) {
    std::hint::black_box(view.stats());
}

fn use_expandable(mut filter: ExpandableFilter, hashes: &[u64]) {
    let inserted: Vec<u64> =
        hashes.iter().copied().filter(|&hash| filter.insert_hash(hash).is_ok()).collect();
    assert!(inserted.iter().all(|&hash| filter.contains_hash(hash)));
    inserted.iter().for_each(|&hash| assert!(filter.remove_hash(hash)));
    check(&filter.to_bytes());
}
