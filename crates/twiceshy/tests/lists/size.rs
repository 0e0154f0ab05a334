//! Lists of many keys: after thousands of changes no listed key is wrong, the error rate holds, and nothing is larger than it
//! must be.

use std::collections::BTreeMap;

use twiceshy::adaptive::Growth;
use twiceshy::list::Answer;
use twiceshy_testkit::Random;
use twiceshy_testkit::effort::times;

use super::*;

/// Asks for every key that is on a list, and checks everything.
fn check(list: &List, keys: &BTreeMap<u64, Answer>) {
    list.validate().unwrap();
    let all: Vec<u64> = keys.keys().copied().collect();
    let mut answers = vec![Answer::No; all.len()];
    list.query_batch(&all, &mut answers);
    let wrong = keys.values().zip(&answers).filter(|(is_on, answer)| is_on != answer).count();
    assert_eq!(wrong, 0, "listed keys that are answered wrongly");
    let yes = keys.values().filter(|list| list.is_yes()).count() as u64;
    assert_eq!((list.yes_len(), list.no_len().unwrap()), (yes, keys.len() as u64 - yes));
}

/// Thousands of changes, with few bits, so that the lists meet all the time. `TWICESHY_STEPS` says how many.
#[test]
fn no_listed_key_is_wrong_after_thousands_of_changes() {
    for seed in 0..4 {
        let mut random = Random(seed);
        let builder = YesNoList::builder().remainder_bits(1 + seed as u32).hasher(hasher());
        let mut list = builder.clone().build_list(MemoryMap::new()).unwrap();
        let mut keys = BTreeMap::new();
        let steps = times("TWICESHY_STEPS", 20_000);
        for step in 1..=steps {
            let (key, side) = (random.below(steps / 2), Answer::from(random.below(3) == 0));
            match random.below(10) {
                0..=4 => {
                    let added = if side.is_yes() { list.add_yes(&key) } else { list.add_no(&key) };
                    match keys.get(&key) {
                        Some(other) if *other != side => assert!(added.is_err()),
                        known => assert_eq!(added.unwrap(), known.is_none()),
                    }
                    keys.entry(key).or_insert(side);
                }
                5..=6 => {
                    let was = if side.is_yes() { list.move_to_yes(&key) } else { list.move_to_no(&key) };
                    assert_eq!(was.unwrap(), keys.insert(key, side));
                }
                7..=8 => assert_eq!(list.remove(&key).unwrap(), keys.remove(&key)),
                _ => {
                    let is_on = keys.get(&key).copied().unwrap_or(Answer::No);
                    assert_eq!(list.query_exactly(&key).unwrap(), is_on);
                }
            }
            if step % (steps / 8) == 0 {
                check(&list, &keys);
            }
            match step * 4 / steps {
                1 if step % (steps / 4) == 0 => list.rejuvenate().unwrap(),
                2 if step % (steps / 4) == 0 => list.shrink_to_fit().unwrap(),
                3 if step % (steps / 4) == 0 => {
                    let mut other = builder.clone().build_list(MemoryMap::new()).unwrap();
                    for key in steps / 4..steps * 3 / 4 {
                        let side = *keys.entry(key).or_insert(Answer::from(key % 2 == 0));
                        let added = if side.is_yes() { other.add_yes(&key) } else { other.add_no(&key) };
                        assert!(added.unwrap());
                    }
                    list.merge_from(&other).unwrap();
                }
                _ => continue,
            }
            check(&list, &keys);
        }
    }
}

/// Made at once or key by key, merged or not: the same keys, the same answers, and the error rate for all others.
#[test]
fn the_error_rate_holds_however_a_list_was_made() {
    let (yes, no) = (0..20_000u64, 1 << 20..(1 << 20) + 60_000);
    let rate = 0.01;
    let builder = YesNoList::builder().error_rate(rate).hasher(hasher());
    let loaded = builder.clone().from_lists(yes.clone(), no.clone()).unwrap();
    let mut added = new_list();
    no.clone().for_each(|key| assert!(added.add_no(&key).unwrap()));
    yes.clone().for_each(|key| assert!(added.add_yes(&key).unwrap()));
    let mut mixed = new_list();
    yes.clone().for_each(|key| assert!(mixed.add_yes(&key).unwrap()));
    no.clone().for_each(|key| assert!(mixed.add_no(&key).unwrap()));
    let mut merged =
        builder.clone().from_lists(yes.clone().skip(1).step_by(2), no.clone().step_by(2)).unwrap();
    let other = builder.from_lists(yes.clone().step_by(2), no.clone().skip(1).step_by(2)).unwrap();
    merged.merge_from(&other).unwrap();
    let keys: BTreeMap<u64, Answer> =
        yes.map(|key| (key, Answer::Yes)).chain(no.map(|key| (key, Answer::No))).collect();
    for (name, list) in [("loaded", loaded), ("NO first", added), ("YES first", mixed), ("merged", merged)] {
        check(&list, &keys);
        let asked = 200_000;
        let mistakes = (0..asked).filter(|number| list.query(&((1u64 << 40) + number)).is_yes()).count();
        let found = mistakes as f64 / asked as f64;
        assert!(found < rate, "{name}: {found}");
        // And the filter knows.
        let expected = list.stats().unwrap().lengths.expected_error_rate;
        assert!((found - expected).abs() < 0.002, "{name}: {found}, expected {expected}");
        let bits = list.stats().unwrap().bits_per_yes_key();
        assert!(bits < 24.0, "{name}: {bits} bits per YES key");
    }
}

/// A list that was made at once takes no more than the keys and the error rate ask for, and one that was made key by key not
/// much more.
#[test]
fn a_no_list_takes_no_room_in_the_filter() {
    let bits = |no: u64| {
        let builder = YesNoList::builder().error_rate(1.0 / 512.0).growth(Growth::Refuse).hasher(hasher());
        let list = builder.from_lists(0..20_000u64, 1u64 << 32..(1 << 32) + no).unwrap();
        list.stats().unwrap().bits_per_yes_key()
    };
    let (without, with) = (bits(0), bits(100_000));
    assert!(with < without * 1.3, "{without} bits per YES key, and {with} with five times as many NO keys");
}

/// NO keys that come and go leave longer fingerprints behind, as reported mistakes do: rejuvenating does not make them longer
/// again and again.
#[test]
fn rebuilding_does_not_make_a_list_larger_and_larger() {
    let builder = YesNoList::builder().error_rate(0.01).hasher(hasher());
    let mut list = builder.from_lists(0..5_000u64, 1u64 << 32..(1 << 32) + 50_000).unwrap();
    let mut sizes = Vec::new();
    for round in 0..6 {
        if round % 2 == 0 {
            list.grow().unwrap()
        } else {
            list.shrink_to_fit().unwrap()
        }
        list.rejuvenate().unwrap();
        sizes.push((list.filter().size_in_bytes(), list.filter().lengths().bits.len()));
    }
    list.validate().unwrap();
    assert_eq!(sizes[1], sizes[5], "{sizes:?}");
}
