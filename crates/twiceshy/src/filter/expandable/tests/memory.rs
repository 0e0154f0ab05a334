//! Memory that runs out: at every single allocation of every operation the filter stays as it was, and goes on.

use super::*;
use crate::mem::scarce::until_enough;

/// Carries out an operation on the pair with too little memory first. The model must come to know of success only.
fn scarcely<T, E: std::error::Error>(
    pair: &mut Pair,
    items: &[Item],
    operation: impl Fn(&mut Pair) -> Result<T, E>,
    context: &str,
) -> (Result<T, E>, u64) {
    let before = pair.filter.to_bytes();
    let same = |pair: &mut Pair| {
        pair.check(items, context);
        pair.filter.to_bytes() == before
    };
    let done = until_enough(pair, operation, same);
    pair.check(items, context);
    done
}

/// Failed allocations by kind of operation: insert, a batch, rejuvenate, shrink, merge, and more than one in a single
/// insert.
fn drive(mode: Mode, bits: u32, spread_growth: bool) -> [u64; 6] {
    let mut failures = [0; 6];
    let spreads = SPREADS.iter().map(|(name, spread)| (*name, Some(*spread))).chain([("keys", None)]);
    for (seed, (name, spread)) in spreads.enumerate() {
        let mut random = Random(seed as u64 * 100 + u64::from(bits));
        let items = items(&mut random, spread, 200);
        let builder = ExpandableFilter::builder().mode(mode).quotient_bits(1).fingerprint_bits(bits);
        let builder = builder.spread_growth(spread_growth).hasher(Hasher::fast()).limits(3, 20);
        let mut pair = Pair::new(builder.build().unwrap());
        for number in 0..200 {
            let context = format!("{mode:?} bits {bits} spread {spread_growth} {name} step {number}");
            let item = random.pick(&items);
            match random.below(20) {
                0..=11 => {
                    let (_, failed) = scarcely(&mut pair, &items, |pair| pair.insert(item), &context);
                    failures[0] += failed;
                    failures[5] += u64::from(failed > 1);
                }
                12..=14 if !pair.members.is_empty() => {
                    // To be told from others of its length takes a slot more, and now and then there is none.
                    let is_full = |pair: &Pair| pair.filter.levels[0].used() >= pair.filter.levels[0].limit;
                    for _ in 0..100 {
                        if is_full(&pair) || pair.insert(random.pick(&items)).is_err() {
                            break;
                        }
                        pair.cut_all(); // inserting may have ended a shrink, and begun to grow again
                    }
                    let member = random.pick(&pair.members);
                    failures[2] += scarcely(&mut pair, &items, |pair| pair.rejuvenate(member), &context).1;
                }
                15 => {
                    let batch: Vec<Item> = (0..random.below(40)).map(|_| random.pick(&items)).collect();
                    let (result, failed) =
                        scarcely_unknown(&mut pair, |filter| model::insert_batch(filter, &batch), &context);
                    if result.is_ok() {
                        pair.members.extend(&batch);
                    }
                    failures[1] += failed;
                    model::adopt(&mut pair, &context);
                }
                16 => {
                    failures[3] += scarcely_unknown(&mut pair, ExpandableFilter::shrink_to_fit, &context).1;
                    pair.cut_all();
                }
                17 => {
                    let mut other = Pair::new(pair.filter.empty_like().unwrap());
                    for _ in 0..random.below(60) {
                        let _ = other.insert(random.pick(&items));
                    }
                    let (result, failed) =
                        scarcely_unknown(&mut pair, |filter| filter.merge_from(&other.filter), &context);
                    if result.is_ok() {
                        pair.members.append(&mut other.members);
                    }
                    failures[4] += failed;
                    model::adopt(&mut pair, &context);
                }
                _ => {
                    // Half of the members go, so that there is something to shrink.
                    for _ in 0..pair.members.len() / 2 {
                        let number = random.below(pair.members.len() as u64) as usize;
                        pair.remove(number);
                        pair.cut_all(); // removing may have made the filter smaller
                    }
                }
            }
            pair.check(&items, &context);
        }
    }
    failures
}

/// The same for operations that the model does not know beforehand: bytes decide alone.
fn scarcely_unknown<T, E: std::error::Error>(
    pair: &mut Pair,
    operation: impl Fn(&mut ExpandableFilter) -> Result<T, E>,
    context: &str,
) -> (Result<T, E>, u64) {
    let before = pair.filter.to_bytes();
    until_enough(&mut pair.filter, operation, |filter| {
        filter.validate().unwrap_or_else(|what| panic!("{context}: {what}"));
        filter.to_bytes() == before
    })
}

#[test]
fn memory_that_runs_out_at_any_allocation_leaves_the_filter_as_it_was() {
    let mut all = [0; 6];
    for mode in [Mode::Growing, Mode::Chained, Mode::Basic] {
        for bits in [2, 5, 12] {
            for spread_growth in [false, true] {
                let failures = drive(mode, bits, spread_growth);
                for (sum, count) in all.iter_mut().zip(failures) {
                    *sum += count;
                }
            }
        }
    }
    // Rejuvenation hardly ever needs a larger table.
    let least = [100, 100, 1, 100, 100, 20];
    assert!(all.iter().zip(least).all(|(&count, least)| count >= least), "too few failures: {all:?}");
}

#[test]
fn a_filter_that_got_no_memory_grows_when_there_is_some_again() {
    let mut filter = ExpandableFilter::builder().capacity(1_000).build().unwrap();
    let mut failed = 0;
    for key in 0..50_000u64 {
        let before = filter.size_in_bytes();
        let (result, times) = until_enough(
            &mut filter,
            |filter| filter.insert(&key),
            |filter| {
                filter.size_in_bytes() == before && (0..key).step_by(97).all(|key| filter.contains(&key))
            },
        );
        result.unwrap();
        failed += times;
    }
    assert!(failed >= 5, "{failed} doublings");
    assert!((0..50_000u64).all(|key| filter.contains(&key)));
}
