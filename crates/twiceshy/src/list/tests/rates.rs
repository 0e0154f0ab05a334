//! How often keys of no list are a Yes.

use twiceshy_testkit::{Random, scatter, tolerance};

use super::*;

/// A list of random hashes.
fn raw(error_rate: f64, yes: u64, no: u64) -> FrozenYesNoList {
    let mut keys = ListKeys::new(Hasher::fast());
    (0..yes).for_each(|number| keys.yes_hash(scatter(number)));
    (0..no).for_each(|number| keys.no_hash(scatter(1 << 40 | number)));
    FrozenYesNoList::builder().error_rate(error_rate).build_keys(&keys, |_| ()).unwrap()
}

/// Checks that so many of these hashes, which are on no list, are a Yes as the list itself expects.
#[track_caller]
fn as_expected(list: &FrozenYesNoList, hashes: impl Iterator<Item = u64>) {
    let (mut asked, mut found) = (0.0, 0.0);
    for hash in hashes {
        asked += 1.0;
        found += f64::from(u8::from(list.query_hash(hash).is_yes()));
    }
    let rate = list.expected_error_rate();
    let off = found - asked * rate;
    assert!(
        off.abs() <= tolerance::of_count(asked, rate),
        "{found} of {asked} at a rate of {rate}: {list:?}"
    );
}

fn unlisted(count: u64) -> impl Iterator<Item = u64> {
    (0..count).map(|number| scatter(1 << 50 | number))
}

#[test]
fn the_rate_is_the_expected_one_and_at_most_what_was_asked_for() {
    for (yes, no) in [(60_000, 0), (50_000, 50_000), (4_000, 90_000), (600, 5), (30, 100), (1, 0)] {
        for error_rate in [0.9, 0.4, 0.13, 0.01, 0.5f64.powi(7), 0.5f64.powi(9), 0.0011] {
            let list = raw(error_rate, yes, no);
            assert!(list.expected_error_rate() <= error_rate);
            as_expected(&list, unlisted(300_000));
        }
    }
}

/// Rates do not depend on where in a ribbon a hash lies: not on the first rows, not on the last ones, which hardly any equation
/// reaches, nor on the lowest bits of a hash.
#[test]
fn the_rate_is_the_same_everywhere() {
    for error_rate in [0.1, 0.02, 0.5f64.powi(7)] {
        let list = raw(error_rate, 100_000, 20_000);
        for part in [0u64, 1, 100, 127] {
            as_expected(&list, unlisted(1_000_000).map(|hash| hash >> 7 | part << 57));
            as_expected(&list, unlisted(200_000).map(|hash| hash << 7 | part));
        }
    }
}

#[test]
fn all_columns_refuse_half_of_the_keys_that_others_let_pass() {
    // The more columns, the fewer pass; every one of up to twelve.
    for columns in 1..12 {
        let error_rate = 0.5f64.powi(columns);
        as_expected(&raw(error_rate, 20_000, 0), unlisted(1 << 18));
    }
}

#[test]
fn deltas_keep_the_rate() {
    for error_rate in [0.3, 0.01] {
        let mut list = raw(error_rate, 20_000, 5_000);
        let mut random = Random(5);
        for step in 1..=10u64 {
            let mut keys = ListKeys::new(Hasher::fast());
            // A new list every time, more or less.
            let (from, to) = (random.below(1_000) * step, 20_000 + 700 * step);
            (from..to).for_each(|number| keys.yes_hash(scatter(number)));
            (0..5_000).for_each(|number| keys.no_hash(scatter(1 << 40 | number)));
            (0..from).for_each(|number| keys.removed_hash(scatter(number)));
            let before = list.expected_error_rate();
            list.apply(list.delta_of(&keys, |_| ()).unwrap()).unwrap();
            let now = list.expected_error_rate();
            assert!(before < now && now <= error_rate, "{before} {now} {error_rate}");
            assert!(error_rate - now > (error_rate - before) * 0.93, "a sixteenth of the rest");
        }
        as_expected(&list, unlisted(1 << 20));
    }
}

#[test]
fn a_key_that_left_the_yes_list_unnamed_stays_a_yes_and_one_that_was_named_does_not() {
    let list = raw(0.01, 10_000, 10);
    for named in [false, true] {
        let mut keys = ListKeys::new(Hasher::fast());
        (100..10_000).for_each(|number| keys.yes_hash(scatter(number)));
        if named {
            (0..100).for_each(|number| keys.removed_hash(scatter(number)));
        }
        let mut next = list.clone();
        next.apply(list.delta_of(&keys, |_| ()).unwrap()).unwrap();
        let yes = (0..100).filter(|&number| next.query_hash(scatter(number)).is_yes()).count();
        assert!(if named { yes == 0 } else { yes >= 95 }, "{yes}");
    }
}
