//! Lists of many sizes.

use twiceshy_testkit::weak::WORDS;
use twiceshy_testkit::{Random, effort};

use super::*;
use crate::list::progress::{Phase, Progress};

fn numbers(from: u64, count: u64) -> Vec<u64> {
    (from..from + count).collect()
}

/// YES keys are small numbers, NO keys large ones.
fn lists(yes: u64, no: u64) -> (Vec<u64>, Vec<u64>) {
    (numbers(0, yes), numbers(1 << 32, no))
}

#[track_caller]
fn right(word: Word, rate: f64, yes: u64, no: u64) -> FrozenYesNoList {
    let (yes, no) = lists(yes, no);
    let list = list_of(word, rate, yes.iter().copied(), no.iter().copied()).unwrap();
    check(&list, &yes, &no);
    list
}

#[test]
fn lists_of_every_small_size_are_right() {
    for size in 0..140 {
        right(good, 0.01, size, 0);
        right(good, 0.01, 0, size);
        right(good, 0.01, size, 30);
        right(good, 0.3, 3, size);
    }
}

/// Where another ribbon begins, another byte of codes, another bucket.
#[test]
fn lists_around_every_limit_are_right() {
    let around = |size: u64| size - 3..size + 4;
    for size in [512, 520, 528, 600, 660, 1056, 1100, 2110].into_iter().flat_map(around) {
        right(good, 0.02, size, 100);
        right(good, 0.6, size / 2, size - size / 2);
    }
}

#[test]
fn lists_are_right_with_one_column_and_with_many() {
    for bits in [0.2, 1.0, 1.5, 2.0, 7.99, 8.0, 8.01, 9.0, 15.0, 16.5, 17.0, 18.0, 25.3, 33.0, 39.9] {
        let list = right(good, 0.5f64.powf(bits), 1_500, 1_500);
        assert!(list.expected_error_rate() > list.error_rate() * 0.49, "{bits}: {list:?}");
    }
}

#[test]
fn large_lists_of_random_sizes_are_right_under_weak_hashes_too() {
    let mut random = Random(7);
    for case in 0..effort::times("TWICESHY_CASES", 60) {
        let (_, word) = WORDS[(case % WORDS.len() as u64) as usize];
        let mut some = || {
            let most = 1 << (2 + random.below(12));
            random.below(most)
        };
        let (yes, no) = (some(), some());
        // `identity` tells 65,536 keys apart, by their lowest bytes.
        let (yes, no) = (yes.min(30_000), no.min(30_000));
        let rate = 0.5f64.powf(1.0 + random.below(140) as f64 / 10.0);
        let (yes, no): (Vec<u64>, Vec<u64>) = (numbers(0, yes), numbers(30_000, no));
        let list = list_of(word, rate, yes.iter().copied(), no.iter().copied()).unwrap();
        check(&list, &yes, &no);
    }
}

#[test]
fn many_deltas_in_a_row_keep_every_promise() {
    let mut random = Random(3);
    for (name, word) in WORDS {
        let (mut yes, mut no) = (numbers(0, 2_000), numbers(10_000, 3_000));
        let mut list = list_of(word, 0.01, yes.iter().copied(), no.iter().copied()).unwrap();
        for step in 0..12u64 {
            let mut keys = ListKeys::new(list.hasher().clone());
            // Some go, some come, some change sides.
            let mut gone = Vec::new();
            for _ in 0..random.below(40) {
                gone.push(yes.swap_remove(random.below(yes.len() as u64) as usize));
                gone.push(no.swap_remove(random.below(no.len() as u64) as usize));
                let other = no.swap_remove(random.below(no.len() as u64) as usize);
                yes.push(other);
            }
            yes.extend(numbers(20_000 + step * 1_000, random.below(300)));
            no.extend(numbers(40_000 + step * 1_000, random.below(300)));
            yes.iter().for_each(|key| keys.yes(key));
            no.iter().for_each(|key| keys.no(key));
            gone.iter().for_each(|key| keys.removed(key));
            let delta = list.delta_of(&keys, |_| ()).unwrap();
            list.apply(delta).unwrap();
            check(&list, &yes, &no);
            assert!(!answers(&list, &gone).contains(&true), "{name}: a removed key is a Yes");
            assert_eq!(list.deltas() as u64, step + 1);
            assert_eq!((list.yes_keys(), list.no_keys()), (yes.len() as u64, no.len() as u64));
        }
        let again = FrozenYesNoList::read_from(list.to_bytes().as_slice());
        // A hash of tests is not in files.
        assert!(again.is_ok_and(|again| again.to_bytes() == list.to_bytes()), "{name}");
    }
}

#[test]
fn there_is_an_end_to_deltas() {
    let mut list = list_of(good, 0.01, [1], [2]).unwrap();
    let mut rates = vec![list.expected_error_rate()];
    let refused = loop {
        let delta = match list.delta([1u64, 100 + list.deltas() as u64], [2u64]) {
            Ok(delta) => delta,
            Err(error) => break error.to_string(),
        };
        list.apply(delta).unwrap();
        rates.push(list.expected_error_rate());
    };
    assert_eq!(list.deltas(), 254, "{refused}");
    assert!(refused.contains("254 deltas"), "{refused}");
    assert!(rates.is_sorted() && *rates.last().unwrap() <= 0.01);
    let bytes = list.to_bytes();
    assert!(FrozenYesNoList::view(&bytes).unwrap().validate().is_ok());
}

#[test]
fn neither_the_order_of_keys_nor_copies_of_them_matter() {
    let (yes, no) = lists(3_000, 2_000);
    let list = list_of(good, 0.01, yes.iter().copied(), no.iter().copied()).unwrap().to_bytes();
    let backwards = list_of(good, 0.01, yes.iter().rev().copied(), no.iter().rev().copied()).unwrap();
    assert!(backwards.to_bytes() == list);
    let twice =
        list_of(good, 0.01, yes.iter().chain(&yes).copied(), no.iter().chain(&no[..7]).copied()).unwrap();
    assert!(twice.to_bytes() == list);
    let other = list_of(good, 0.01, yes[1..].iter().copied(), no.iter().copied()).unwrap();
    assert!(other.to_bytes() != list);
}

#[test]
fn raw_hashes_make_lists_like_keys() {
    let mut random = Random(1);
    let hashes: Vec<u64> = (0..5_000).map(|_| random.next()).collect();
    let (yes, no) = hashes.split_at(2_000);
    let mut keys = ListKeys::new(Hasher::fast());
    yes.iter().for_each(|&hash| keys.yes_hash(hash));
    no.iter().for_each(|&hash| keys.no_hash(hash));
    let mut list = FrozenYesNoList::builder().build_keys(&keys, |_| ()).unwrap();
    let ask = |list: &FrozenYesNoList, hashes: &[u64], yes: bool| {
        let mut batch = vec![Answer::No; hashes.len()];
        list.query_hash_batch(hashes, &mut batch);
        let right = Answer::from(yes);
        assert!(batch.iter().all(|&answer| answer == right));
        assert!(hashes.iter().all(|&hash| list.query_hash(hash) == right));
    };
    ask(&list, yes, true);
    ask(&list, no, false);
    // All change sides, and the last one goes.
    let mut keys = ListKeys::new(Hasher::fast());
    no[1..].iter().for_each(|&hash| keys.yes_hash(hash));
    yes[1..].iter().for_each(|&hash| keys.no_hash(hash));
    keys.removed_hash(yes[0]);
    list.apply(list.delta_of(&keys, |_| ()).unwrap()).unwrap();
    ask(&list, &no[1..], true);
    ask(&list, yes, false);
    keys.yes_hash(yes[5]);
    assert!(matches!(list.delta_of(&keys, |_| ()), Err(ListError::OnBothLists { no: 4, .. })));
}

#[test]
fn progress_is_told_in_order_and_to_the_end() {
    let mut keys = ListKeys::new(Hasher::fast());
    (0..200_000u64).for_each(|key| keys.yes(&key));
    (1 << 32..(1u64 << 32) + 100_000).for_each(|key| keys.no(&key));
    let mut reports: Vec<Progress> = Vec::new();
    let list = FrozenYesNoList::builder().build_keys(&keys, |progress| reports.push(progress)).unwrap();
    whole(&reports, &[Phase::Approximate, Phase::Survivors, Phase::Exact, Phase::Verify]);
    assert!(reports.len() > 10, "{}", reports.len());
    reports.clear();
    list.delta_of(&keys, |progress| reports.push(progress)).unwrap();
    let phases = [Phase::Compare, Phase::Approximate, Phase::Survivors, Phase::Exact, Phase::Verify];
    whole(&reports, &phases);
}

#[track_caller]
fn whole(reports: &[Progress], phases: &[Phase]) {
    let mut reports = reports.chunk_by(|one, other| one.phase == other.phase);
    for &phase in phases {
        let reports = reports.next().unwrap();
        assert_eq!(reports[0].phase, phase);
        assert_eq!(reports[0].done, 0);
        assert!(reports.is_sorted_by_key(|report| report.done));
        let last = reports.last().unwrap();
        assert_eq!(last.done, last.of, "{phase:?}");
    }
    assert!(reports.next().is_none());
}

#[test]
fn a_list_that_gets_no_memory_is_an_error() {
    use crate::mem::scarce;
    let (yes, no) = lists(300_000, 10);
    let build = |_: &mut ()| list_of(good, 0.5f64.powi(39), yes.iter().copied(), no.iter().copied());
    let (list, failures) = scarce::until_enough(&mut (), build, |_| true);
    assert!(failures <= 1, "{failures}");
    check(&list.unwrap(), &yes[..100], &no);
}

#[test]
fn what_is_shown_is_no_secret() {
    let list = FrozenYesNoList::builder()
        .hasher(Hasher::keyed(crate::hash::HashKey::from_bytes(*b"0123456789abcdef")));
    let list = list.build(["a"], ["b"]).unwrap();
    let delta = list.delta(["c"], ["b"]).unwrap();
    for text in
        [format!("{list:?}"), format!("{delta:?}"), format!("{:?}", ListKeys::new(list.hasher().clone()))]
    {
        assert!(!text.contains("0123") && !text.contains("3031"), "{text}");
    }
    assert!(format!("{list:?}").contains("yes_keys: 1"));
}
