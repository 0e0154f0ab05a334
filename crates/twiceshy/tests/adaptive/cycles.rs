//! Sets that grow, shrink, are rebuilt and recovered again and again get no larger by that.

use super::*;
use twiceshy::adaptive::Query;

const LASTING: u64 = 3_000;
const PASSING: u64 = 7_000;

/// The bits per slot of a fresh filter, and what lengths from a larger size may add to them: a bit for each bit that
/// quotients had more.
fn most_bits_per_slot(set: &AdaptiveSet<MemoryMap>, peak_slots: u64) -> f64 {
    let filter = set.filter();
    let quotients = filter.slots().next_power_of_two() as f64;
    let larger = (peak_slots.next_power_of_two() as f64 / quotients).log2().max(0.0);
    let header = 3.125 * quotients / filter.slots() as f64;
    f64::from(filter.remainder_bits()) + header + larger + 1.0
}

fn bits_per_slot(set: &AdaptiveSet<MemoryMap>) -> f64 {
    let slots = set.filter().slots();
    // There are two blocks of spill slots, and some bytes at the end.
    let spill = 128 * slots / slots.next_power_of_two();
    (set.filter().size_in_bytes() - 16) as f64 * 8.0 / (slots + spill) as f64
}

/// The slots of a filter that was never larger.
fn fresh_slots(keys: u64) -> u64 {
    builder().capacity(keys).build().unwrap().slots()
}

/// Many keys come and go while others stay; some of those that stay come when there are most, and get the lengths of
/// that size. Then the set is made small in one way or another. Tells how many slots it had at its peak.
fn cycle(
    set: &mut AdaptiveSet<MemoryMap>,
    keys: &mut Vec<u64>,
    numbers: &mut Numbers,
    number: u64,
    queries: &[u64],
) -> u64 {
    let mut passing = fill(set, numbers, PASSING);
    passing.extend(keys.drain(..LASTING as usize / 3));
    keys.extend(fill(set, numbers, LASTING / 3));
    for query in queries {
        set.contains_exactly(query).unwrap();
    }
    let peak = set.filter().slots();
    for key in &passing {
        assert!(set.remove(key).unwrap());
    }
    match number % 4 {
        0 => set.shrink_to_fit().unwrap(),
        1 => set.rejuvenate().unwrap(),
        2 => *set = AdaptiveSet::recover(set.filter(), set.map().clone(), []).unwrap(),
        _ => {
            // As a store does: the filter as it was saved, in a process of another time.
            let saved = twiceshy::AdaptiveFilter::from_bytes(&set.filter().to_bytes()).unwrap();
            *set = AdaptiveSet::recover(&saved, set.map().clone(), []).unwrap();
            set.shrink_to_fit().unwrap();
        }
    }
    peak
}

#[test]
fn lengths_that_were_not_learned_do_not_add_up() {
    for remainder_bits in [2, 5, 12] {
        let mut numbers = Numbers(31 + u64::from(remainder_bits));
        let mut set = builder().remainder_bits(remainder_bits).build_set(MemoryMap::new()).unwrap();
        let mut keys = fill(&mut set, &mut numbers, LASTING);
        let mut peak = 0;
        for number in 0..16 {
            peak = peak.max(cycle(&mut set, &mut keys, &mut numbers, number, &[]));
            let (bits, most) = (bits_per_slot(&set), most_bits_per_slot(&set, peak));
            println!("{remainder_bits} bits, cycle {number}: {bits:.2} bits per slot of {most:.2}");
            assert!(bits <= most, "cycle {number}: {bits:.2} bits per slot, at most {most:.2}");
            // Keys that share a fingerprint with few bits may part in a larger filter, and stay apart.
            let most_slots = if remainder_bits > 2 { fresh_slots(LASTING) } else { 2 * fresh_slots(LASTING) };
            assert!(set.filter().slots() <= most_slots, "cycle {number}: {} slots", set.filter().slots());
        }
        assert!(keys.iter().all(|key| set.contains(key)));
        set.validate().unwrap();
    }
}

#[test]
fn what_was_learned_is_learned_once() {
    let mut numbers = Numbers(41);
    let mut set = builder().error_rate(0.02).build_set(MemoryMap::new()).unwrap();
    let mut keys = fill(&mut set, &mut numbers, LASTING);
    let queries: Vec<u64> = (0..20_000).map(|_| stranger(&mut numbers)).collect();
    let mut sizes = Vec::new();
    for number in 0..24 {
        cycle(&mut set, &mut keys, &mut numbers, number, &queries);
        sizes.push(set.filter().size_in_bytes());
        assert!(!queries.iter().any(|query| set.contains(query)), "a mistake is repeated");
    }
    println!("bytes after every cycle: {sizes:?}");
    // Every cycle ends with the same contents, made small in one of four ways.
    let largest = |cycles: &[usize]| cycles.iter().copied().max().unwrap_or(0);
    assert!(largest(&sizes[20..]) <= largest(&sizes[4..8]) * 21 / 20, "{sizes:?}");
    assert!(keys.iter().all(|key| set.contains(key)));
    set.validate().unwrap();
}

/// No pair of query and key repeats: what an aged fingerprint learned is not taken for the fresh length of a larger table.
#[test]
fn what_an_aged_fingerprint_learned_survives_a_small_rebuild() {
    for remainder_bits in 1..=6 {
        let mut numbers = Numbers(51 + u64::from(remainder_bits));
        let mut set = builder().remainder_bits(remainder_bits).build_set(MemoryMap::new()).unwrap();
        fill(&mut set, &mut numbers, 50);
        // All fingerprints are aged now, with the last of their bits in the quotient.
        for _ in 0..remainder_bits {
            set.grow().unwrap();
        }
        let queries: Vec<u64> = (0..20_000).map(|_| stranger(&mut numbers)).collect();
        let fixed: Vec<u64> = queries.into_iter().filter(|query| set.contains(query)).collect();
        fixed.iter().for_each(|query| assert!(!set.contains_exactly(query).unwrap()));
        assert!(fixed.len() > 10);
        for _ in 0..3 {
            set.rejuvenate().unwrap();
            assert!(!fixed.iter().any(|query| set.contains(query)), "{remainder_bits} bits");
            set.shrink_to_fit().unwrap();
            assert!(!fixed.iter().any(|query| set.contains(query)), "{remainder_bits} bits");
        }
    }
}

/// The other way round: it learned first, then the table grew until nothing showed it any more.
#[test]
fn what_was_learned_before_many_doublings_survives_a_small_rebuild() {
    for remainder_bits in 1..=6 {
        let mut numbers = Numbers(61 + u64::from(remainder_bits));
        let mut set = builder().remainder_bits(remainder_bits).build_set(MemoryMap::new()).unwrap();
        fill(&mut set, &mut numbers, 50);
        let queries: Vec<u64> = (0..3_000).map(|_| stranger(&mut numbers)).collect();
        queries.iter().for_each(|query| assert!(!set.contains_exactly(query).unwrap()));
        for _ in 0..remainder_bits + 2 {
            set.grow().unwrap();
        }
        assert!(!queries.iter().any(|query| set.contains(query)));
        set.rejuvenate().unwrap();
        assert!(set.filter().slots() <= 1024, "small again");
        assert!(!queries.iter().any(|query| set.contains(query)), "{remainder_bits} bits");
    }
}

/// A length that takes more than one slot is written as it is. If it were rounded up to whole slots, it would get longer
/// with every rebuild at another size.
#[test]
fn a_rebuild_keeps_lengths_to_the_bit() {
    let mut kept = 0;
    for remainder_bits in 2..=8 {
        let mut numbers = Numbers(71 + u64::from(remainder_bits));
        let mut set = builder().remainder_bits(remainder_bits).build_set(MemoryMap::new()).unwrap();
        let mut keys = fill(&mut set, &mut numbers, 2_000);
        for _ in 0..20_000 {
            set.contains_exactly(&stranger(&mut numbers)).unwrap();
        }
        let len_of = |set: &AdaptiveSet<MemoryMap>, key: &u64| match set.query(key) {
            Query::Maybe(ticket) => ticket.prefix().len(),
            Query::Absent => panic!("{key} is lost"),
        };
        while keys.len() > 20 {
            // Smaller by two thirds every time.
            for key in keys.drain(keys.len() / 3..) {
                assert!(set.remove(&key).unwrap());
            }
            let before: Vec<u32> = keys.iter().map(|key| len_of(&set, key)).collect();
            set.rejuvenate().unwrap();
            let filter = set.filter();
            let one_slot = filter.quotient_bits() + filter.slot_bits();
            for (key, before) in keys.iter().zip(before) {
                let len = len_of(&set, key);
                assert!(len >= before, "{remainder_bits} bits: {before} to {len}");
                // Keys that share a fingerprint may part.
                if len > one_slot && filter.len() == filter.fingerprints() {
                    assert_eq!(len, before, "{remainder_bits} bits");
                    kept += 1;
                }
            }
        }
    }
    assert!(kept > 200, "{kept}");
}

/// Nearly all fingerprints learn, then all keys are replaced: what the others had learned goes with them.
#[test]
fn new_keys_are_not_as_long_as_what_others_have_learned() {
    let mut numbers = Numbers(81);
    let mut set = builder().remainder_bits(4).build_set(MemoryMap::new()).unwrap();
    let mut keys = fill(&mut set, &mut numbers, 2_000);
    let mut peak = set.filter().slots();
    for cycle in 0..3 {
        while set.filter().lengths().extended * 10 < set.filter().fingerprints() * 9 {
            for _ in 0..5_000 {
                set.contains_exactly(&stranger(&mut numbers)).unwrap();
            }
        }
        set.rejuvenate().unwrap();
        peak = peak.max(set.filter().slots());
        for key in keys.drain(..) {
            assert!(set.remove(&key).unwrap());
        }
        keys = fill(&mut set, &mut numbers, 2_000);
        set.rejuvenate().unwrap();
        let (bits, most) = (bits_per_slot(&set), most_bits_per_slot(&set, peak));
        assert!(bits <= most, "cycle {cycle}: {bits:.2} bits per slot, at most {most:.2}");
    }
}

/// Replicas of one set are no larger together.
#[test]
fn the_union_of_equal_sets_is_as_large_as_one() {
    for keys in [100, 1_000, 3_000, 4_000] {
        let mut numbers = Numbers(7);
        let mut one = builder().remainder_bits(9).build_set(MemoryMap::new()).unwrap();
        let keys = fill(&mut one, &mut numbers, keys);
        let (before, other) = (one.filter().slots(), one.clone());
        one.merge_from(&other).unwrap();
        assert_eq!(one.filter().slots(), before, "{} keys", keys.len());
        assert!(keys.iter().all(|key| one.contains(key)));
    }
}

/// A set with a limit uses all of it, also if its keys are crowded: in order, and all in an eighth of the hashes.
#[test]
fn a_limit_is_used_up_in_a_crowd() {
    // Room for 48 slots in each block of 2^13 quotients, but not for 64.
    let mut set = builder().remainder_bits(9).max_bytes(12_000).build_set(MemoryMap::new()).unwrap();
    let hasher = set.filter().hasher().clone();
    let mut keys: Vec<u64> = (0..80_000).filter(|key| hasher.hash(key) < 1 << 61).collect();
    keys.sort_by_key(|key| hasher.hash(key));
    let full = keys.iter().position(|key| set.insert(key).is_err()).unwrap();
    assert!(full > 5_800, "{full} keys in {} slots", set.filter().slots());
}
