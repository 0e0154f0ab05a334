//! What a filter answers.

use std::collections::BTreeSet;

use super::case::{UNIVERSE, cases_to_try};
use super::kept::{bytes_of, slices};
use super::*;

for_every_filter! {
    no_false_negatives
    what_fits_finds_room
    an_error_changes_no_bytes
    a_batch_of_queries_is_the_sum_of_its_parts;
    of_points:
    the_fingerprints_are_in_order_and_tell_every_answer
    keys_of_all_kinds_are_found
}

/// Whatever happens to it, in whatever order.
fn no_false_negatives<F: Lawful>() {
    hold(&|case| {
        let mut kept = case.filled::<F>();
        kept.check();
        for &(step, key) in &case.steps {
            any_operation(&mut kept, case, step, key);
            kept.check();
        }
    });
}

fn any_operation<F: Lawful>(kept: &mut Kept<F>, case: &Case, step: u8, key: u16) {
    let some = &case.more[..case.more.len().min(usize::from(key) / 8)];
    match step % 32 {
        0..10 => _ = kept.insert(key),
        10..17 => {
            let member = kept.members.things().copied().find(|&member| member >= key);
            member.map(|member| kept.remove(member));
        }
        17..20 => _ = kept.insert_batch(some),
        20..22 => {
            let mut other = case.empty::<F>(case.size);
            other.insert_all(some);
            kept.merge(&other);
        }
        // Not for ever: every time takes as much memory as all before.
        22..24 if kept.filter.bytes().len() < 1 << 15 => _ = kept.attempt_if_any(F::grow),
        24..26 => _ = kept.attempt_if_any(F::shrink),
        26..28 => {
            let members: Vec<u16> = kept.members.things().copied().collect();
            let members = bytes_of(&members);
            kept.attempt_if_any(|filter| filter.rejuvenate(&slices(&members)));
        }
        28 => kept.clear(),
        29 => kept.filter = kept.filter.clone(),
        30 if case.is_good() => kept.filter = kept.filter.reread(),
        _ => {
            // Half of the members go.
            let members: Vec<u16> = kept.members.things().copied().collect();
            for &member in members.iter().step_by(2) {
                kept.remove(member);
            }
        }
    }
}

fn what_fits_finds_room<F: Lawful>() {
    hold(&|case| {
        for size in [Size::Roomy, Size::Growing] {
            let mut kept = case.empty::<F>(size);
            let found_room = kept.insert_all(&case.keys) && kept.insert_all(&case.more);
            assert!(found_room || !case.is_good(), "{size:?}");
        }
    });
}

/// The filter is full sooner or later; what is too much is refused, one by one, in batches and from another filter.
fn an_error_changes_no_bytes<F: Lawful>() {
    let errors = std::cell::Cell::new([0; 3]);
    hold(&|case| {
        let mut kept = case.empty::<F>(Size::Cramped);
        let mut other = case.empty::<F>(Size::Cramped);
        other.insert_all(&case.more);
        let all: Vec<u16> = (0..UNIVERSE).collect();
        let mut failed = errors.get();
        failed[0] += u32::from(!kept.insert_all(&case.keys));
        failed[1] += u32::from(!kept.insert_batch(&all));
        failed[2] += u32::from(!kept.merge(&other));
        errors.set(failed);
        kept.check();
    });
    let enough = cases_to_try() / 10;
    assert!(errors.get().iter().all(|&failed| failed > enough), "too few errors to tell: {errors:?}");
}

fn a_batch_of_queries_is_the_sum_of_its_parts<F: Lawful>() {
    hold(&|case| {
        let kept = case.filled::<F>();
        let all: Vec<u16> = case.more.iter().copied().chain(0..UNIVERSE).collect();
        let keys = bytes_of(&all);
        let mut found = vec![false; keys.len()];
        kept.filter.contains_batch(&slices(&keys), &mut found);
        for (key, found) in keys.iter().zip(found) {
            assert_eq!(kept.filter.contains(key), found, "{key:?}");
        }
    });
}

/// A key is found if, and only if, one of the fingerprints is a prefix of its hash.
fn the_fingerprints_are_in_order_and_tell_every_answer<F: Lawful>() {
    hold(&|case| {
        let mut kept = case.filled::<F>();
        case.more.iter().for_each(|key| {
            if kept.members.count(key) > 0 {
                kept.remove(*key);
            }
        });
        let entries = kept.filter.entries();
        // A fingerprint comes after those that go on with a zero, and before those that go on with a one.
        let places: Vec<String> = entries.iter().map(|(digits, _)| format!("{digits}1")).collect();
        assert!(places.is_sorted(), "{entries:?}");
        let copies: u64 = entries.iter().map(|(_, count)| count).sum();
        assert!(if F::COUNTS { copies == kept.filter.len() } else { copies <= kept.filter.len() });
        let digits: BTreeSet<&str> = entries.iter().map(|(digits, _)| digits.as_str()).collect();
        let lengths: BTreeSet<usize> = digits.iter().map(|digits| digits.len()).collect();
        let hasher = kept.filter.stored().hasher();
        for key in 0..UNIVERSE {
            let hash: String = (0..4).map(|index| format!("{:064b}", hasher.word(&key, index))).collect();
            let is_told = lengths.iter().any(|&len| digits.contains(&hash[..len]));
            assert_eq!(kept.filter.contains(&key.to_le_bytes()), is_told, "{key}: {hash}");
        }
    });
}

/// No byte, one, some, very many; and they are kept apart.
fn keys_of_all_kinds_are_found<F: Lawful>() {
    for size in [Size::Roomy, Size::Growing] {
        // Long fingerprints, so that there is no mistake.
        let mut filter = F::make(size, 49 * 15 - 1, Hasher::keyed(HashKey::from_bytes([3; 16])));
        let large = vec![7u8; 10 << 20];
        let mut larger = large.clone();
        larger.push(0);
        let keys: [&[u8]; 7] = [b"", b"\0", b"\0\0", b"a", &[9; 1000], &large, &larger];
        for key in keys {
            filter.insert(key).unwrap();
        }
        assert!(keys.iter().all(|key| filter.contains(key)));
        assert_eq!(filter.len(), 7);
        assert!(!filter.contains(&large[1..]) && !filter.contains(b"\0\0\0"));
        filter.validate().unwrap();
        let mut found = [false; 7];
        filter.contains_batch(&keys, &mut found);
        assert_eq!(found, [true; 7]);
        for (removed, key) in (1..).zip(keys) {
            if filter.remove(key).is_some_and(|was_there| was_there) {
                assert!(keys[removed..].iter().all(|key| filter.contains(key)));
                assert_eq!(filter.len(), 7 - removed as u64);
            }
        }
    }
}
