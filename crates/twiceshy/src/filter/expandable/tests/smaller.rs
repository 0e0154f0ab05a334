//! Getting smaller little by little: cycles of growing and shrinking, against the model and case by case.

use super::model::{Setup, adopt, step};
use super::*;
use crate::filter::expandable::spread::{Pace, USUAL_PACE, slow};
use crate::mem::scarce::until_enough;

/// What cycles have come to see.
#[derive(Debug, Default)]
struct Seen {
    /// Steps with a copy on the way, and those of them with a chain.
    copying: u32,
    copying_chains: u32,
    /// Steps that ended with a smaller table, and steps that dropped a copy.
    halved: u32,
    dropped: u32,
    longest_chain: usize,
}

/// Lets a filter grow and shrink several times. While it shrinks, one step in five is any operation.
fn cycle(setup: &Setup, pace: Pace, seen: &mut Seen) {
    for (number, (name, spread)) in setup.spreads().enumerate() {
        let mut random = Random(number as u64 + u64::from(setup.bits * 100 + setup.start));
        let items = items(&mut random, spread, 80);
        let mut pair = Pair::new(setup.build());
        for round in 0..3 {
            for _ in 0..100 {
                // What does not fit is left out.
                let _ = slow::at(pace, || pair.insert(random.pick(&items)));
                pair.cut_all();
            }
            adopt(&mut pair, "grown");
            let mut number = 0;
            while pair.members.len() > 2 && number < 250 {
                number += 1;
                let context = format!("{setup:?} {pace:?} {name} round {round} step {number}");
                let before = (pair.filter.smaller.is_some(), pair.filter.quotient_bits());
                slow::at(pace, || {
                    if random.below(5) == 0 {
                        step(&mut pair, &mut random, &items, &context);
                    } else if !pair.members.is_empty() {
                        let member = random.below(pair.members.len() as u64) as usize;
                        pair.remove(member);
                    }
                });
                pair.check(&items, &context);
                let filter = &pair.filter;
                seen.copying += u32::from(filter.smaller.is_some());
                seen.copying_chains += u32::from(filter.smaller.is_some() && filter.chain_len() > 0);
                let halved = filter.quotient_bits() < before.1;
                seen.halved += u32::from(halved);
                seen.dropped += u32::from(before.0 && filter.smaller.is_none() && !halved);
                seen.longest_chain = seen.longest_chain.max(filter.chain_len());
            }
        }
    }
}

#[test]
fn cycles_of_growing_and_shrinking_agree_with_the_model() {
    let slowest = Pace { slots: 1, quotients: 1 };
    let paces = [USUAL_PACE, Pace { slots: 2, quotients: 5 }, slowest];
    let mut seen = Seen::default();
    for mode in [Mode::Growing, Mode::Chained, Mode::Basic] {
        for (bits, pace) in [1, 2, 3, 5, 9].into_iter().zip(paces.into_iter().cycle()) {
            let limits = if bits % 2 == 0 { (3, 20) } else { (255, 64) };
            let setup = Setup { mode, start: 1, bits, spread_growth: true, block_bits: 64, limits };
            cycle(&setup, pace, &mut seen);
        }
        if mode != Mode::Basic {
            let setup =
                Setup { mode, start: 2, bits: 3, spread_growth: true, block_bits: 8, limits: (3, 20) };
            cycle(&setup, slowest, &mut seen);
        }
    }
    let Seen { copying, copying_chains, halved, dropped, longest_chain } = seen;
    let enough = copying > 3_000 && copying_chains > 1_000 && halved > 200 && dropped > 50;
    assert!(enough && longest_chain >= 2, "too little was tried: {seen:?}");
}

fn spread_filter() -> ExpandableFilter {
    ExpandableFilter::builder().spread_growth(true).hasher(Hasher::fast()).build().unwrap()
}

#[test]
fn a_filter_that_spreads_its_growth_shrinks_again_a_few_slots_at_a_time() {
    let mut filter = spread_filter();
    let mut at_once = ExpandableFilter::builder().hasher(Hasher::fast()).build().unwrap();
    for key in 0..100_000u64 {
        filter.insert(&key).unwrap();
        at_once.insert(&key).unwrap();
    }
    let (large, mut copying) = (filter.size_in_bytes(), 0);
    for key in 0..99_000u64 {
        assert!(filter.remove(&key) && at_once.remove(&key));
        copying += u64::from(filter.smaller.is_some());
        assert!(filter.contains(&99_500u64) && filter.contains(&(key + 1)));
    }
    filter.validate().unwrap();
    assert!((99_000..100_000u64).all(|key| filter.contains(&key)));
    assert_eq!(filter.quotient_bits(), at_once.quotient_bits());
    assert!(filter.size_in_bytes() < large / 20, "{filter:?}");
    // Once settled, both have the same contents.
    assert!(filter.smaller.is_none() && filter.iter().eq(at_once.iter()));
    let most = filter.stats().most_slots_moved;
    assert!((10..200).contains(&most), "{most}");
    assert!(at_once.stats().most_slots_moved > 10_000);
    // 2^17 slots and less: a 32nd of all of them.
    assert!((1 << 11..1 << 13).contains(&copying), "{copying} operations");
    // And up again.
    for key in 0..99_000u64 {
        filter.insert(&key).unwrap();
    }
    assert!((0..100_000u64).all(|key| filter.contains(&key)));
    assert!(filter.expected_error_rate() <= 1.0 / 512.0);
}

/// A filter in the middle of shrinking, with keys from 0 up to the number that is returned removed.
fn shrinking(keys: u64) -> (ExpandableFilter, u64) {
    let mut filter = spread_filter();
    filter.extend(0..keys);
    for key in 0..keys {
        assert!(filter.remove(&key));
        if filter.smaller.as_ref().is_some_and(|smaller| smaller.copied > filter.slots() / 2) {
            return (filter, key + 1);
        }
    }
    panic!("it never shrinks");
}

#[test]
fn a_file_knows_nothing_of_a_copy_and_the_reader_begins_anew() {
    let (filter, removed) = shrinking(5_000);
    let bytes = filter.to_bytes();
    for mut copy in [
        ExpandableFilter::from_bytes(&bytes).unwrap(),
        ExpandableFilter::read_from(bytes.as_slice()).unwrap(),
        filter.try_clone().unwrap(),
    ] {
        assert!(copy.to_bytes() == bytes && copy.smaller.is_none());
        let bits = copy.quotient_bits();
        for key in removed..removed + 400 {
            assert!(copy.remove(&key));
        }
        assert!(copy.quotient_bits() < bits, "{copy:?}");
        assert!((removed + 400..5_000).all(|key| copy.contains(&key)));
        copy.validate().unwrap();
    }
}

#[test]
fn what_changes_the_tables_drops_the_copy_and_nothing_else() {
    let (filter, removed) = shrinking(5_000);
    type Operation = fn(&mut ExpandableFilter);
    let operations: [(&str, Operation); 4] = [
        ("grow", |filter| filter.extend(10_000..20_000u64)),
        ("batch", |filter| {
            filter.insert_batch(&(10_000..20_000u64).collect::<Vec<_>>()).unwrap();
        }),
        ("merge", |filter| filter.merge_from(&filter.clone()).unwrap()),
        ("shrink", |filter| filter.shrink_to_fit().unwrap()),
    ];
    for (name, operation) in operations {
        // A clone would have no copy.
        let (mut filter, _) = shrinking(5_000);
        operation(&mut filter);
        filter.validate().unwrap();
        assert!((removed..5_000).all(|key| filter.contains(&key)), "{name}");
        // Growth may come after the copy was complete.
        assert!(filter.smaller.is_none(), "{name}");
    }
    let (mut cleared, _) = shrinking(5_000);
    cleared.clear();
    assert!(cleared.smaller.is_none() && cleared.is_empty());
    assert_eq!(cleared.to_bytes(), filter.empty_like().unwrap().to_bytes());
}

#[test]
fn without_memory_a_removal_works_and_the_filter_stays_as_large_as_it_is() {
    let mut filter = spread_filter();
    filter.extend(0..5_000u64);
    let large = filter.quotient_bits();
    let mut key = 0u64;
    while filter.levels[0].table.used() > filter.shrink_below {
        assert!(filter.remove(&key));
        key += 1;
    }
    // This one begins to shrink, if it can.
    let (removed, pieces) =
        until_enough(&mut filter, |filter| Ok::<_, ExpandError>(filter.remove(&key)), |_| true);
    assert!(removed.unwrap() && pieces == 0, "there was no error");
    assert!(filter.smaller.is_none());
    assert_eq!(
        filter.shrink_below,
        filter.levels[0].table.used().div_ceil(2),
        "it does not try again at once"
    );
    filter.validate().unwrap();
    // With half as many keys it tries again, and succeeds.
    for key in key + 1..4_900 {
        assert!(filter.remove(&key));
    }
    assert!(filter.quotient_bits() < large);
    assert!((4_900..5_000u64).all(|key| filter.contains(&key)));
    filter.validate().unwrap();
}

#[test]
fn a_table_of_the_chain_that_is_on_the_move_arrives_before_the_filter_shrinks() {
    let builder = ExpandableFilter::builder().mode(Mode::Chained).quotient_bits(2).fingerprint_bits(2);
    let mut pair = Pair::new(builder.spread_growth(true).hasher(Hasher::fast()).build().unwrap());
    let mut random = Random(1);
    let items = items(&mut random, Some(SPREADS[0].1), 400);
    for &item in &items {
        pair.insert(item).unwrap();
    }
    adopt(&mut pair, "grown");
    let (active, chain) = pair.filter.levels.split_first().unwrap();
    assert!(active.old.is_none() && chain[0].old.is_none());
    pair.filter.grow_level(1, &mut Vec::new()).unwrap();
    let bits = pair.filter.quotient_bits();
    slow::at(Pace { slots: 0, quotients: 0 }, || {
        while pair.members.len() > 20 {
            pair.remove(0);
        }
    });
    assert!(pair.filter.levels[1].old.is_some() && pair.filter.smaller.is_none());
    pair.check(&items, "on the move");
    while pair.members.len() > 5 {
        pair.remove(0);
        pair.check(&items, "shrinking");
    }
    assert!(pair.filter.quotient_bits() < bits, "{:?}", pair.filter);
}
