//! Frozen lists of many keys, and deltas between them.

use std::collections::BTreeMap;

use twiceshy::FrozenYesNoList;
use twiceshy::error::{ApplyError, FreezeError, ListError};
use twiceshy::list::{Answer, Delta, ListKeys, least_bits};
use twiceshy_testkit::Random;
use twiceshy_testkit::effort::times;
use twiceshy_testkit::tolerance;

use super::*;

/// Which list every key is on.
type Model = BTreeMap<u64, Answer>;

fn on(model: &Model, list: Answer) -> impl Iterator<Item = u64> + Clone {
    model.iter().filter(move |(_, is_on)| **is_on == list).map(|(key, _)| *key)
}

fn frozen(model: &Model, rate: f64) -> FrozenYesNoList {
    let builder = FrozenYesNoList::builder().error_rate(rate).hasher(hasher());
    builder.build(on(model, Answer::Yes), on(model, Answer::No)).unwrap()
}

/// Asks for every key that is on a list, in every way, of the list and of a view of its bytes.
#[track_caller]
fn check(list: &FrozenYesNoList, model: &Model) {
    list.validate().unwrap();
    let bytes = [&[0; 3][..], &list.to_bytes()].concat();
    let view = FrozenYesNoList::view(&bytes[3..]).unwrap();
    view.validate().unwrap();
    let keys: Vec<u64> = model.keys().copied().collect();
    let (mut answers, mut viewed) = (vec![Answer::No; keys.len()], vec![Answer::Yes; keys.len()]);
    list.query_batch(&keys, &mut answers);
    view.query_batch(&keys, &mut viewed);
    for ((key, is_on), (answer, viewed)) in model.iter().zip(answers.into_iter().zip(viewed)) {
        let all = [answer, viewed, list.query(key), view.query(key)];
        assert_eq!(all, [*is_on; 4], "{key}: {list:?}");
    }
    let yes = on(model, Answer::Yes).count() as u64;
    assert_eq!((list.yes_keys(), list.no_keys()), (yes, model.len() as u64 - yes));
}

fn model(yes: u64, no: u64) -> Model {
    let (yes, no) = ((0..yes).map(|key| (key, Answer::Yes)), (0..no).map(|key| (1 << 32 | key, Answer::No)));
    yes.chain(no).collect()
}

/// From sixteen YES keys for a NO key to 64 NO keys for a YES key: all are right, keep the rate, and take hardly more than they
/// must.
#[test]
fn lists_of_all_ratios_are_right_keep_their_rate_and_are_near_the_bound() {
    let keys = 60_000.0;
    for ratio in -4..=6 {
        let yes = (keys / (1.0 + 2f64.powi(ratio))) as u64;
        let model = model(yes, keys as u64 - yes);
        for bits in [7.0, 9.5, 12.0] {
            let rate = 0.5f64.powf(bits);
            let list = frozen(&model, rate);
            check(&list, &model);
            let asked = 1 << 18;
            let found =
                (0..asked).filter(|number| list.query(&(1u64 << 40 | number)).is_yes()).count() as f64;
            let (asked, expected) = (asked as f64, list.expected_error_rate());
            assert!((found - asked * expected).abs() <= tolerance::of_count(asked, expected), "{list:?}");
            assert!(expected <= rate);
            let least = least_bits(yes, keys as u64 - yes, rate);
            assert_eq!(list.least_bits(), least);
            let bits = 8.0 * list.to_bytes().len() as f64 / yes as f64;
            // The header counts where there are few YES keys.
            let header = 8.0 * 300.0 / yes as f64;
            assert!((least..least * 1.08 + header).contains(&bits), "{ratio} {bits} {least}");
        }
    }
}

/// A model of random lists that change step by step: after every delta every key is right, those that were removed are a No, and
/// the list is the one that a client gets from the bytes of the deltas. `TWICESHY_STEPS` says how many there are.
#[test]
fn clients_that_apply_every_delta_have_the_list_of_now() {
    for seed in 0..3 {
        let mut random = Random(seed);
        let mut model = model(random.below(4_000), random.below(9_000));
        let rate = 0.5f64.powf(2.0 + random.below(90) as f64 / 10.0);
        let mut server = frozen(&model, rate);
        let first = server.to_bytes();
        let mut sent = Vec::new();
        for _ in 0..times("TWICESHY_STEPS", 15) {
            let mut keys = ListKeys::new(server.hasher().clone());
            let mut removed = Vec::new();
            for _ in 0..random.below(120) {
                let key = random.below(2) << 32 | random.below(12_000);
                match random.below(3) {
                    0 => removed.extend(model.remove(&key).map(|_| key)),
                    _ => drop(model.insert(key, Answer::from(random.below(2) == 0))),
                }
            }
            on(&model, Answer::Yes).for_each(|key| keys.yes(&key));
            on(&model, Answer::No).for_each(|key| keys.no(&key));
            removed.iter().for_each(|key| keys.removed(key));
            let delta = server.delta_of(&keys, |_| ()).unwrap();
            assert_eq!(delta.before(), server.name());
            sent.push(delta.to_bytes());
            server.apply(delta).unwrap();
            check(&server, &model);
            removed.retain(|key| !model.contains_key(key));
            assert!(removed.iter().all(|key| server.query(key).is_no()), "a removed key is a Yes");
            assert!(server.expected_error_rate() <= rate);
        }
        // In place, one after the other; none can be left out.
        let mut client = FrozenYesNoList::view(&first).unwrap().into_list();
        let late = Delta::view(&sent[1]).unwrap().into_delta();
        assert!(matches!(client.apply(late), Err(ApplyError::WrongList { .. })));
        sent.iter().for_each(|delta| client.apply(Delta::view(delta).unwrap().into_delta()).unwrap());
        assert_eq!((client.name(), client.to_bytes()), (server.name(), server.to_bytes()));
    }
}

/// 0.1 % of all keys replaced: the delta has at most one percent of the list's bytes.
#[test]
fn a_delta_of_few_changes_is_small() {
    for (yes, no) in [(120_000, 20_000), (110_000, 110_000), (100_000, 600_000)] {
        let model = model(yes, no);
        let list = frozen(&model, 1.0 / 128.0);
        let size = list.to_bytes().len();
        assert!(size > 80_000);
        let mut keys = ListKeys::new(list.hasher().clone());
        for (&key, &is_on) in &model {
            let key = match key % 1_000 {
                0 => {
                    keys.removed(&key);
                    key | 1 << 48
                }
                _ => key,
            };
            if is_on.is_yes() { keys.yes(&key) } else { keys.no(&key) }
        }
        let delta = list.delta_of(&keys, |_| ()).unwrap().to_bytes().len();
        assert!(delta * 100 <= size, "{delta} of {size} bytes");
    }
}

/// A snapshot of a list that changes, and deltas that follow it.
#[test]
fn a_dynamic_list_is_frozen_and_followed() {
    let mut list = new_list();
    (0..3_000u64).for_each(|key| assert!(list.add_yes(&key).unwrap()));
    (3_000..9_000u64).for_each(|key| assert!(list.add_no(&key).unwrap()));
    let mut shipped = FrozenYesNoList::builder().error_rate(0.01).freeze(&list).unwrap();
    assert_ne!(shipped.hasher(), list.filter().hasher(), "a hash key of its own");
    let now = |list: &List| -> Model {
        let mut model = Model::new();
        list.for_each(|key, is_on| {
            model.insert(u64::from_le_bytes(key.try_into().unwrap()), is_on);
        })
        .unwrap();
        model
    };
    check(&shipped, &now(&list));
    for round in 0..4u64 {
        for key in (round * 10..9_000).step_by(100) {
            match key % 3 {
                0 => drop(list.move_to_yes(&key).unwrap()),
                1 => drop(list.move_to_no(&key).unwrap()),
                _ => drop(list.remove(&key).unwrap()),
            }
        }
        (0..20).for_each(|key| assert!(list.add_yes(&(10_000 + round * 100 + key)).unwrap()));
        shipped.apply(shipped.delta_to(&list).unwrap()).unwrap();
        check(&shipped, &now(&list));
    }
    // The same with the keys collected, and the removed ones named.
    let mut keys = ListKeys::new(shipped.hasher().clone());
    assert_eq!(list.remove(&10_000u64).unwrap(), Some(Answer::Yes));
    keys.add_list(&list).unwrap();
    keys.removed(&10_000u64);
    shipped.apply(shipped.delta_of(&keys, |_| ()).unwrap()).unwrap();
    check(&shipped, &now(&list));
    assert_eq!(shipped.query(&10_000u64), Answer::No);
    // With a chosen hash it is the list of the same keys.
    let frozen = FrozenYesNoList::builder().hasher(hasher()).freeze(&list).unwrap();
    let built = FrozenYesNoList::builder().hasher(hasher());
    let built = built.build(on(&now(&list), Answer::Yes), on(&now(&list), Answer::No)).unwrap();
    assert_eq!(frozen.to_bytes(), built.to_bytes());
    let wrong = FrozenYesNoList::builder().error_rate(2.0).freeze(&list);
    assert!(matches!(wrong, Err(FreezeError::List(ListError::Build(_)))));
}

/// Lists without keys on one side or on both, or with one key, and all deltas between them.
#[test]
fn the_smallest_lists_are_right() {
    let models: Vec<Model> = [(0, 0), (1, 0), (0, 1), (1, 1), (2, 0), (0, 2), (600, 0), (0, 600), (1, 600)]
        .map(|(yes, no)| model(yes, no))
        .to_vec();
    for from in &models {
        let list = frozen(from, 0.01);
        check(&list, from);
        for to in &models {
            let mut next = list.clone();
            let delta = list.delta(on(to, Answer::Yes), on(to, Answer::No)).unwrap();
            next.apply(Delta::from_bytes(&delta.to_bytes()).unwrap()).unwrap();
            check(&next, to);
        }
    }
    let empty = frozen(&Model::new(), 0.01);
    assert!((0..100_000u64).all(|key| empty.query(&key).is_no()), "nothing is a Yes");
    assert_eq!((empty.expected_error_rate(), empty.least_bits()), (0.0, 0.0));
}
