//! Equal contents are equal filters, whatever the history.

use super::case::UNIVERSE;
use super::kept::{bytes_of, slices};
use super::*;

for_every_filter! {
    the_order_of_inserts_leaves_no_trace
    a_batch_is_the_sum_of_its_parts
    loading_is_inserting
    merging_is_inserting_both
    removing_undoes_inserting
    removing_all_leaves_nothing
}

/// Expects that two filters with the same keys are the same. Where hashes are weak, keys may have found no room, or only in
/// a larger table; then there is nothing to expect.
fn expect_same<F: Lawful>(case: &Case, one: &Kept<F>, other: &Kept<F>) {
    let quotient_bits = |kept: &Kept<F>| kept.filter.bytes()[twiceshy_testkit::file::field::QUOTIENT_BITS];
    let empty = case.empty::<F>(Size::Roomy);
    if [one, other].iter().any(|kept| quotient_bits(kept) != quotient_bits(&empty)) {
        assert!(!case.is_good(), "a roomy filter has grown");
    } else if one.members != other.members {
        assert!(!case.is_good(), "a roomy filter is full");
    } else {
        assert_eq!(one.filter.entries(), other.filter.entries());
        // Weak hashes may have asked for a larger spill area, in one order and not in another.
        let same_shape = one.filter.bytes().len() == other.filter.bytes().len();
        assert!(same_shape || !case.is_good());
        assert!(!same_shape || one.filter.bytes() == other.filter.bytes(), "the same keys, other bytes");
    }
}

fn the_order_of_inserts_leaves_no_trace<F: Lawful>() {
    hold(&|case| {
        let (mut one, mut other) = (case.empty::<F>(Size::Roomy), case.empty::<F>(Size::Roomy));
        one.insert_all(&case.keys);
        let mut keys = case.keys.clone();
        keys.sort_by_key(|&key| twiceshy_testkit::mix(u64::from(key) + case.more.len() as u64));
        other.insert_all(&keys);
        expect_same(case, &one, &other);
    });
}

fn a_batch_is_the_sum_of_its_parts<F: Lawful>() {
    hold(&|case| {
        let (mut one, mut other) = (case.empty::<F>(Size::Roomy), case.empty::<F>(Size::Roomy));
        one.insert_all(&case.keys);
        other.insert_batch(&case.keys);
        expect_same(case, &one, &other);
        // In other sizes the way that a filter grows may be another one.
        let mut any = case.empty::<F>(case.size);
        any.insert_batch(&case.keys);
        any.check();
    });
}

fn loading_is_inserting<F: Lawful>() {
    hold(&|case| {
        let mut inserted = case.empty::<F>(Size::Roomy);
        let keys = bytes_of(&case.keys);
        let Some(loaded) = inserted.filter.load(&slices(&keys)) else { return };
        let all = inserted.insert_all(&case.keys);
        match loaded {
            Ok(filter) => {
                let loaded = Kept { filter, members: case.keys.iter().map(|&key| (key, 1)).collect() };
                let members = if F::COUNTS { loaded.members } else { inserted.members.clone() };
                expect_same(case, &inserted, &Kept { members, ..loaded });
            }
            Err(error) => assert!(!case.is_good() && !all, "{error}"),
        }
    });
}

fn merging_is_inserting_both<F: Lawful>() {
    hold(&|case| {
        let (mut one, mut other) = (case.empty::<F>(Size::Roomy), case.empty::<F>(Size::Roomy));
        let mut both = one.clone();
        one.insert_all(&case.keys);
        other.insert_all(&case.more);
        both.insert_all(&case.keys);
        both.insert_all(&case.more);
        if one.merge(&other) {
            one.check();
            expect_same(case, &one, &both);
        }
        // Nothing comes of nothing, and everything into nothing is a copy.
        let (before, mut nothing) = (one.filter.entries(), case.empty::<F>(Size::Roomy));
        if one.merge(&nothing) {
            assert_eq!(one.filter.entries(), before);
        }
        if nothing.merge(&other) {
            nothing.check();
            expect_same(case, &nothing, &other);
        }
        // Filters of other sizes and ages.
        let mut any = case.filled::<F>();
        any.merge(&other);
        any.check();
    });
}

fn removing_undoes_inserting<F: Lawful>() {
    hold(&|case| {
        let mut kept = case.empty::<F>(Size::Roomy);
        kept.insert_all(&case.keys);
        let before = kept.clone();
        // Who does not count does not notice that a key comes a second time.
        let more: Vec<u16> = match F::COUNTS {
            true => case.more.clone(),
            false => case.more.iter().map(|key| key + UNIVERSE).collect(),
        };
        let mut added: Vec<u16> = more.into_iter().filter(|&key| kept.insert(key)).collect();
        if !F::COUNTS {
            added.sort_unstable();
            added.dedup();
        }
        if added.iter().all(|&key| kept.remove(key).is_some()) {
            expect_same(case, &kept, &before);
        }
    });
}

fn removing_all_leaves_nothing<F: Lawful>() {
    hold(&|case| {
        let mut kept = case.filled::<F>();
        let members: Vec<u16> =
            kept.members.iter().flat_map(|(&key, copies)| (0..copies).map(move |_| key)).collect();
        for (removed, &key) in members.iter().enumerate() {
            if kept.remove(key).is_none() {
                return;
            }
            if removed % 32 == 0 {
                kept.check();
            }
        }
        kept.check();
        assert_eq!((kept.filter.len(), kept.filter.entries().len(), kept.found().len()), (0, 0, 0));
    });
}
