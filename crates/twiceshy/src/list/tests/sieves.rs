//! What sieves are made of.

use twiceshy_testkit::{Random, scatter};

use super::*;
use crate::list::keys::Pair;
use crate::list::progress::Watch;
use crate::list::sieve::{Plan, Sieve, first_in_both};
use crate::mem::Memory;

fn pairs(numbers: impl Iterator<Item = u64>) -> Vec<Pair> {
    numbers.map(|number| [scatter(number), scatter(number ^ 1 << 60)]).collect()
}

fn sieve(yes: &[Pair], no: &[Pair], rate: f64) -> Sieve<Memory> {
    Sieve::build(yes, no, rate, &mut Watch(&mut |_| ())).unwrap()
}

#[track_caller]
fn tells_apart(sieve: &Sieve<Memory>, yes: &[Pair], no: &[Pair]) {
    assert!(yes.iter().all(|pair| sieve.passes(Portable, pair)));
    assert!(!no.iter().any(|pair| sieve.passes(Portable, pair)));
}

/// Bits per YES key and the rate of a plan, by the formulas at the top of `sieve.rs`.
fn cost(plan: Plan, others: f64) -> (f64, f64) {
    let (columns, share) = (f64::from(plan.columns), f64::from(plan.share) / 65_536.0);
    (columns + 1.0 + share + others * 0.5f64.powf(columns), 0.5f64.powf(columns + 1.0) * (1.0 - share / 2.0))
}

#[test]
fn plans_keep_the_rate_and_no_other_takes_less() {
    for (yes, no) in [(1, 0), (1_000, 0), (1_000, 60), (1_000, 64_000), (10, 1_000_000), (1_000_000, 1)] {
        let others = no as f64 / yes as f64;
        for tenths in 1..200 {
            let rate = 0.5f64.powf(f64::from(tenths) / 10.0);
            let plan = Plan::new(yes, no, rate).unwrap();
            let (bits, reached) = cost(plan, others);
            assert!(reached <= rate, "{plan:?}");
            // Half of a step of the share less is too little, unless there is none.
            let finer = 2.0f64.powf(f64::from(plan.columns) + 1.0) * (rate - reached);
            assert!(plan.share == 0 || finer < 1.0 / 65_536.0, "{plan:?}");
            for columns in 0..40 {
                for share in [0, 1, 1 << 10, 1 << 14, 1 << 15, 3 << 14, u16::MAX] {
                    let (other, reached) = cost(Plan { columns, share }, others);
                    assert!(
                        reached > rate || other > bits - 1e-4,
                        "{plan:?}, but {columns} {share} take less"
                    );
                }
            }
        }
    }
    assert_eq!(Plan::new(10, 10, 0.5f64.powi(70)), None);
    assert_eq!(Plan::new(10, 10, 0.0), None);
    assert_eq!(Plan::new(10, 10, -1.0), None);
}

/// The space of ideal ribbons is within the bounds that `sieve.rs` names.
#[test]
fn two_stages_are_near_the_bound() {
    for tenths in 70..200 {
        let rate = 0.5f64.powf(f64::from(tenths) / 10.0);
        for sixteenths in -100..250 {
            let others = 2f64.powf(f64::from(sixteenths) / 16.0);
            let yes = 1_000_000;
            let no = (others * f64::from(yes)) as u64;
            let (bits, _) = cost(Plan::new(yes as usize, no as usize, rate).unwrap(), others);
            let ratio = bits / super::super::least_bits(yes as u64, no, rate);
            let few = others * rate <= 0.5;
            let is_power_of_two = tenths % 10 == 0;
            let most = match (few, is_power_of_two) {
                (true, true) => 1.0363,
                (false, true) => 1.0662,
                (_, false) => 1.0751,
            };
            assert!((0.9999..=most).contains(&ratio), "2^-{tenths}/10, {others}: {ratio}");
        }
    }
}

#[test]
fn sieves_of_colliding_hashes_use_other_hashes() {
    // The first words are the same for all keys, or for many.
    for different in [1, 3, 500] {
        let of = |from: u64| -> Vec<Pair> {
            (from..from + 900).map(|number| [scatter(number % different), scatter(number)]).collect()
        };
        let (yes, no) = (of(0), of(1 << 20));
        tells_apart(&sieve(&yes, &no, 0.01), &yes, &no);
    }
    // The second ones are, or there is no pattern.
    let (yes, no) = (pairs(0..900), pairs(1_000..3_000));
    tells_apart(&sieve(&yes, &no, 0.01), &yes, &no);
    let no: Vec<Pair> = no.iter().map(|pair| [pair[0], yes[0][1]]).collect();
    tells_apart(&sieve(&yes, &no, 0.01), &yes, &no);
}

#[test]
fn what_two_slices_have_in_common_is_found() {
    let mut random = Random(2);
    for _ in 0..2_000 {
        let mut some = || {
            let mut some: Vec<u64> = (0..random.below(8)).map(|_| random.below(12)).collect();
            some.sort_unstable();
            some.dedup();
            some
        };
        let (one, other) = (some(), some());
        let expected = one.iter().find(|thing| other.contains(thing));
        assert_eq!(first_in_both(&one, &other), expected);
    }
}

/// Building ends with asking for every key; a list that is wrong about some does not get out.
#[test]
fn a_list_that_is_wrong_is_noticed() {
    let list = list_of(good, 0.001, 0..1_000, 1_000..3_000).unwrap();
    let pairs = |numbers: std::ops::Range<u64>| -> Vec<Pair> {
        numbers.map(|number| [0, 1].map(|index| good(&number.to_le_bytes(), index))).collect()
    };
    let (yes, no) = (pairs(0..1_000), pairs(1_000..3_000));
    let verify = |keys: &[(&[Pair], bool)]| list.verify(keys, &mut Watch(&mut |_| ()));
    verify(&[(&yes, true), (&no, false)]).unwrap();
    let wrong = verify(&[(&yes, true), (&no[..7], true), (&yes[..5], false)]);
    assert!(matches!(wrong, Err(ListError::Unverified { wrong: 12 })), "{wrong:?}");
}

/// What is read from a description is the sieve that it describes.
#[test]
fn descriptions_come_back() {
    for (yes, no, rate) in
        [(0, 0, 0.1), (1, 0, 0.9), (0, 9, 0.1), (700, 100, 0.01), (40_000, 9_000, 0.5f64.powi(30))]
    {
        let (yes, no) = (pairs(0..yes), pairs(1 << 30..(1 << 30) + no));
        let sieve = sieve(&yes, &no, rate);
        let mut directory = Vec::new();
        sieve.describe(&mut directory);
        assert!(directory.len() <= Sieve::MOST_DESCRIBED);
        directory.push(7);
        let mut rest = &directory[..];
        let (read, bytes) = Sieve::read(&mut rest).unwrap();
        assert_eq!(rest, [7]);
        assert_eq!(bytes, sieve.bytes().len());
        let again = read.over(sieve.bytes().to_vec());
        assert_eq!(format!("{:?}", again.over(())), format!("{:?}", sieve.over(())));
        for end in 0..directory.len() - 1 {
            assert!(Sieve::read(&mut &directory[..end]).is_err(), "cut off after {end} bytes");
        }
    }
}

/// Nearly all keys are in the first ribbon, and nearly all rows are used: else the space that is promised is not reached.
#[test]
fn ribbons_are_full() {
    for (yes, rate, most) in
        [(200_000, 0.5f64.powi(9), 1.008), (20_000, 0.5f64.powi(9), 1.013), (200_000, 0.5, 1.021)]
    {
        let sieve = sieve(&pairs(0..yes), &[], rate);
        let ratio = sieve.bytes().len() as f64 * 8.0 / (yes as f64 * -rate.log2());
        assert!((1.0..most).contains(&ratio), "{yes} {rate}: {ratio}");
    }
}
