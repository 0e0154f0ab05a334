//! What growth must do, case by case.

use super::*;
use crate::error::MergeError;
use crate::table::Limits;

fn builder() -> Builder {
    ExpandableFilter::builder().hasher(Hasher::fast())
}

/// So many hashes, in order.
fn ascending(count: u64) -> Vec<u64> {
    let mut hashes: Vec<u64> = (0..count).map(|number| Random(number).next()).collect();
    hashes.sort_unstable();
    hashes
}

#[test]
fn a_million_copies_of_one_key_take_a_few_slots() {
    for mode in [Mode::Growing, Mode::Chained, Mode::Basic] {
        for spread in [false, true] {
            let mut filter = builder()
                .mode(mode)
                .fingerprint_bits(4)
                .quotient_bits(if mode == Mode::Basic { 4 } else { 2 })
                .spread_growth(spread)
                .build()
                .unwrap();
            for _ in 0..1_000_000 {
                filter.insert("again").unwrap();
            }
            filter.validate().unwrap();
            assert!(filter.slots() <= 64, "{mode:?}: {} slots", filter.slots());
            assert_eq!(filter.len(), 1_000_000);
            for _ in 0..1_000_000 {
                assert!(filter.contains("again") && filter.remove("again"));
            }
            assert!(filter.is_empty() && !filter.contains("again"));
            filter.validate().unwrap();
        }
    }
}

#[test]
fn a_million_copies_grow_old_like_a_single_one() {
    let mut filter = builder().mode(Mode::Chained).fingerprint_bits(3).build().unwrap();
    for _ in 0..1_000_000 {
        filter.insert("again").unwrap();
    }
    for key in 0..5_000u32 {
        filter.insert(&key).unwrap();
    }
    filter.validate().unwrap();
    assert!(filter.chain_len() >= 1, "the copies have moved to the chain");
    assert!(filter.rejuvenate("again").unwrap());
    for _ in 0..1_000_000 {
        assert!(filter.remove("again"));
    }
    filter.validate().unwrap();
    assert!((0..5_000u32).all(|key| filter.contains(&key)));
}

#[test]
fn a_chain_of_four_and_more_tables_loses_nothing() {
    for mode in [Mode::Chained, Mode::Growing] {
        for spread in [false, true] {
            let base = builder().mode(mode).fingerprint_bits(1).quotient_bits(1).spread_growth(spread);
            let mut filter = base.build().unwrap();
            for key in 0..20_000u64 {
                filter.insert(&key).unwrap();
                if key.is_power_of_two() {
                    filter.validate().unwrap();
                    assert!((0..=key).all(|key| filter.contains(&key)), "{mode:?} {spread}: {key}");
                }
            }
            filter.validate().unwrap();
            if mode == Mode::Chained {
                assert!(filter.chain_len() >= 4, "{mode:?}: {filter:?}");
            }
            // Rejuvenation empties the chain; removals in any order find all that is left.
            let every_other: Vec<u64> = (0..20_000).step_by(2).collect();
            filter.rejuvenate_batch(&every_other).unwrap();
            filter.validate().unwrap();
            assert!((0..20_000u64).all(|key| filter.contains(&key)));
            let mut random = Random(3);
            let mut left: Vec<u64> = (0..20_000).collect();
            while !left.is_empty() {
                let key = left.swap_remove(random.below(left.len() as u64) as usize);
                assert!(filter.remove(&key), "{key}");
                if left.len().is_multiple_of(2_000) {
                    filter.validate().unwrap();
                    assert!(left.iter().all(|key| filter.contains(key)));
                }
            }
            assert!(filter.is_empty() && filter.chain_len() == 0);
            if !spread {
                assert_eq!(filter.slots(), 2, "it got small again");
            }
        }
    }
}

#[test]
fn removing_takes_the_longest_of_the_whole_chain() {
    // An old key's string of 3 bits is void and in the chain; a new key shares those bits.
    let base = builder().mode(Mode::Chained).quotient_bits(2).fingerprint_bits(1).max_load(0.5);
    let mut filter = base.limits(255, 64).build().unwrap();
    let (old, new) = (0b101u64 << 61, 0b1011_1111u64 << 56);
    filter.insert_hash(old).unwrap();
    for other in 0..12u64 {
        filter.insert_hash(other << 57).unwrap();
    }
    assert!(filter.chain_len() >= 1);
    let chained = filter.longest(known(old)).unwrap();
    assert!(chained.0 >= 1 && chained.1.len() == 3, "{chained:?}");
    filter.insert_hash(new).unwrap();
    assert_eq!(filter.longest(known(new)).unwrap().0, 0);
    assert!(filter.remove_hash(new));
    assert!(filter.contains_hash(old), "the shorter one is still there");
    assert!(filter.remove_hash(old));
    assert!(!filter.contains_hash(old));
}

#[test]
fn rejuvenation_never_takes_a_shorter_one_than_the_longest() {
    let mut filter = builder().mode(Mode::Chained).quotient_bits(2).fingerprint_bits(2).build().unwrap();
    let (old, twin) = (0b1010_0000u64 << 56, 0b1010_1111u64 << 56);
    filter.insert_hash(old).unwrap();
    for other in 0..8u64 {
        filter.insert_hash(other << 57).unwrap();
    }
    // Both match the old string; the twin has a full one besides.
    filter.insert_hash(twin).unwrap();
    assert!(!filter.rejuvenate_hash(twin).unwrap(), "its longest is full");
    assert!(filter.contains_hash(old));
    assert!(filter.rejuvenate_hash(old).unwrap());
    assert!(filter.contains_hash(old) && filter.contains_hash(twin));
    assert!(filter.remove_hash(old) && filter.contains_hash(twin));
}

#[test]
fn the_basic_mode_ends_with_an_error_that_changes_nothing() {
    for spread in [false, true] {
        let base = builder().mode(Mode::Basic).quotient_bits(4).fingerprint_bits(3).spread_growth(spread);
        let mut filter = base.build().unwrap();
        let mut kept = 0u64;
        let error = loop {
            let before = filter.to_bytes();
            match filter.insert(&kept) {
                Ok(_) => kept += 1,
                Err(error) => {
                    assert!(filter.to_bytes() == before);
                    break error;
                }
            }
            assert!(kept < 10_000);
        };
        assert!(matches!(error, ExpandError::Exhausted { .. }), "{error}");
        assert!(error.to_string().contains("rejuvenate"), "{error}");
        // Three doublings, each filled to the limit.
        assert!(kept >= 16 * 8 * 9 / 10, "{kept}");
        assert_eq!(filter.chain_len(), 0);
        filter.validate().unwrap();
        assert!((0..kept).all(|key| filter.contains(&key)));
        if spread {
            continue;
        }
        // Without the oldest keys it goes on, with the others rejuvenated all the more.
        for key in 0..16u64 {
            assert!(filter.remove(&key));
        }
        filter.rejuvenate_batch(&(16..kept).collect::<Vec<u64>>()).unwrap();
        for key in kept..kept + 60 {
            filter.insert(&key).unwrap();
        }
        filter.validate().unwrap();
        assert!((16..kept + 60).all(|key| filter.contains(&key)));
    }
}

#[test]
fn growth_goes_past_the_first_word_of_the_hash() {
    // Words of 8 bits: after a few doublings every string needs two of them, or three.
    for mode in [Mode::Growing, Mode::Chained] {
        for spread in [false, true] {
            let base = builder().mode(mode).quotient_bits(3).fingerprint_bits(4).spread_growth(spread);
            let mut filter = base.block_bits(8).build().unwrap();
            for key in 0..3_000u64 {
                filter.insert(&key).unwrap();
            }
            filter.validate().unwrap();
            assert!(filter.fingerprint_bits() > 12);
            assert!((0..3_000u64).all(|key| filter.contains(&key)));
            let wrong = (10_000..20_000u64).filter(|key| filter.contains(key)).count();
            assert!((wrong as f64) < 10_000.0 * filter.expected_error_rate() * 1.3 + 50.0, "{wrong}");
            filter.rejuvenate_batch(&(0..3_000u64).collect::<Vec<_>>()).unwrap();
            for key in 0..3_000u64 {
                assert!(filter.remove(&key));
            }
            assert!(filter.is_empty());
            filter.validate().unwrap();
        }
    }
}

#[test]
fn raw_hashes_that_run_out_of_bits_are_kept_in_the_chain() {
    // 8 bits and no more: fingerprints cannot get longer, and void ones are still found.
    let mut filter = builder().quotient_bits(3).fingerprint_bits(4).block_bits(8).build().unwrap();
    let mut kept = Vec::new();
    for number in 0..2_000u64 {
        let hash = Random(number).next();
        if filter.insert_hash(hash).is_ok() {
            kept.push(hash);
        }
        if number % 100 == 0 {
            filter.validate().unwrap();
        }
    }
    assert!(kept.len() > 150, "{}", kept.len());
    assert!(kept.iter().all(|&hash| filter.contains_hash(hash)));
    for hash in kept {
        assert!(filter.remove_hash(hash));
    }
    assert!(filter.is_empty());
}

#[test]
fn bad_hashes_do_not_make_a_filter_explode() {
    for spread in [false, true] {
        let mut filter = builder().spread_growth(spread).build().unwrap();
        let mut kept = Vec::new();
        for low in 0..5_000u64 {
            // The first 50 bits are equal.
            let hash = 3 << 62 | low;
            if filter.insert_hash(hash).is_ok() {
                kept.push(hash);
            }
        }
        assert!(kept.len() > 100);
        assert!(filter.size_in_bytes() < 1 << 20, "{}", filter.size_in_bytes());
        assert!(kept.iter().all(|&hash| filter.contains_hash(hash)));
    }
}

#[test]
fn counters_do_not_overflow() {
    let mut filter = builder().build().unwrap();
    filter.insert_hash(0).unwrap();
    let mut other = filter.clone();
    filter.levels[0]
        .change(Which::Table, known(0).fingerprint(17), Change::Add(u64::MAX - 1), Limits::NONE)
        .unwrap();
    filter.len = u64::MAX;
    filter.validate().unwrap();
    let before = filter.to_bytes();
    assert!(matches!(filter.insert_hash(0), Err(ExpandError::TooManyCopies)));
    assert!(matches!(filter.insert_hash(1 << 63), Err(ExpandError::TooManyCopies)));
    assert!(matches!(filter.insert_hash_batch(&[5, 6]), Err(ExpandError::TooManyCopies)));
    assert!(matches!(filter.merge_from(&other), Err(MergeError::TooManyCopies)));
    assert!(filter.to_bytes() == before);
    assert!(matches!(other.merge_from(&filter), Err(MergeError::TooManyCopies)));
    assert!(filter.remove_hash(0));
    assert_eq!(filter.len(), u64::MAX - 1);
}

#[test]
fn spread_growth_moves_a_few_slots_at_a_time_and_ends_in_time() {
    let mut filter = builder().spread_growth(true).build().unwrap();
    let mut at_once = builder().build().unwrap();
    let (mut moving, mut total) = (0u64, 0u64);
    for key in 0..200_000u64 {
        filter.insert(&key).unwrap();
        at_once.insert(&key).unwrap();
        total += 1;
        moving += u64::from(filter.levels[0].old.is_some());
        assert!(filter.contains(&key));
        if key % 10_000 == 0 {
            filter.validate().unwrap();
            assert!((0..=key).all(|key| filter.contains(&key)));
        }
    }
    let most = filter.stats().most_slots_moved;
    assert!((10..200).contains(&most), "{most}");
    assert!(at_once.stats().most_slots_moved > 50_000);
    assert!(moving > 0 && moving < total / 5, "{moving} of {total} operations");
    // Once settled, both have the same contents.
    filter.shrink_to_fit().unwrap();
    at_once.shrink_to_fit().unwrap();
    assert_eq!(filter.iter().map(|prefix| prefix.count).sum::<u64>(), 200_000);
    let difference = filter.expected_error_rate() / at_once.expected_error_rate();
    assert!((0.8..1.25).contains(&difference), "{difference}");
}

#[test]
fn spread_growth_in_the_order_of_hashes_moves_at_once_what_costs_too_much() {
    let mut filter = builder().spread_growth(true).build().unwrap();
    let hashes = ascending(100_000);
    let mut shifted = 0;
    for &hash in &hashes {
        filter.insert_hash(hash).unwrap();
        let level = &filter.levels[0];
        shifted = shifted.max(level.table.crowd_work() / level.limit);
        assert!(level.old.is_none() || !level.is_crowded());
    }
    // Without an end to it, every slot is shifted hundreds of times.
    assert!((1..=8).contains(&shifted), "{shifted}");
    assert!(hashes.iter().all(|&hash| filter.contains_hash(hash)));
    filter.validate().unwrap();
}

/// More streams than the table remembers spots for: to find the way costs more with every key, and is a reason to grow.
#[test]
fn many_streams_of_hashes_in_order_make_a_filter_grow_early() {
    let hashes = ascending(96_000);
    let mut filter = builder().build().unwrap();
    for i in 0..24_000 {
        filter.insert_hash(hashes[i % 8 * 12_000 + i / 8]).unwrap();
        let level = &filter.levels[0];
        assert!(level.table.crowd_work() <= 5 * level.limit, "{i} keys");
    }
    assert!(filter.slots() >= 1 << 16, "{} slots", filter.slots());
    assert!((0..24_000).all(|i| filter.contains_hash(hashes[i % 8 * 12_000 + i / 8])));
}

/// A crowd in a table that is nearly empty is no reason to grow. Its work is borne, and counted anew: else every edit from
/// then on would fail at first, and be tried twice.
#[test]
fn work_that_must_be_borne_is_counted_anew() {
    let mut filter = builder().quotient_bits(16).build().unwrap();
    let mut turns = 0;
    for i in (0..900u64).rev() {
        let before = filter.levels[0].table.crowd_work();
        // Descending, in the first thousandth of all hashes.
        filter.insert_hash(i * ((1 << 54) / 900)).unwrap();
        let work = filter.levels[0].table.crowd_work();
        assert!(work <= filter.levels[0].limit + 2_000, "{work}, {i} keys to come");
        turns += u32::from(work < before);
    }
    assert!(turns > 2, "{turns}");
    assert_eq!(filter.slots(), 1 << 16);
    filter.validate().unwrap();
}

/// In a filter that may grow, nothing lies so far from its home that to find it takes long.
#[test]
fn entries_in_the_order_of_hashes_lie_close_enough_to_their_homes() {
    let hashes = ascending(400_000);
    let mut filter = builder().build().unwrap();
    let mut farthest = 0;
    for (i, &hash) in hashes.iter().enumerate() {
        filter.insert_hash(hash).unwrap();
        if i % 1000 == 999 {
            farthest = farthest.max(filter.levels[0].table.farthest_from_home());
        }
    }
    assert!((1_000..70_000).contains(&farthest), "{farthest}");
}

#[test]
fn an_error_in_a_batch_takes_everything_back() {
    for spread in [false, true] {
        let base = builder().mode(Mode::Basic).quotient_bits(3).fingerprint_bits(2).spread_growth(spread);
        let mut filter = base.build().unwrap();
        for key in 0..3u64 {
            filter.insert(&key).unwrap();
        }
        let before = filter.to_bytes();
        let keys: Vec<u64> = (100..1_000).collect();
        assert!(matches!(filter.insert_batch(&keys), Err(ExpandError::Exhausted { .. })));
        assert!(filter.to_bytes() == before, "spread {spread}");
        filter.validate().unwrap();
        assert_eq!(filter.stats().most_slots_moved, 0);
        filter.insert_batch(&keys[..5]).unwrap();
        assert_eq!(filter.len(), 8);
    }
}

#[test]
fn halving_cuts_to_the_length_of_the_smaller_size() {
    let mut filter = builder().error_rate(0.01).build().unwrap();
    for key in 0..100_000u64 {
        filter.insert(&key).unwrap();
    }
    let large = filter.size_in_bytes();
    for key in 0..99_000u64 {
        assert!(filter.remove(&key));
        assert!(filter.levels[0].table.used() >= filter.shrink_below, "{filter:?}");
    }
    filter.validate().unwrap();
    assert!(filter.size_in_bytes() < large / 20, "{filter:?}");
    assert!((99_000..100_000u64).all(|key| filter.contains(&key)));
    assert!(filter.expected_error_rate() <= 0.01);
    // And up again.
    for key in 0..99_000u64 {
        filter.insert(&key).unwrap();
    }
    assert!(filter.expected_error_rate() <= 0.01, "{}", filter.expected_error_rate());
}

/// Keys that go in the order of their hashes leave the others crowded together at the end of the table. A table of half the
/// size would have them in one cluster, and every removal would shift all of it: time that grows with the square.
#[test]
fn removals_in_the_order_of_hashes_do_not_crowd_the_rest() {
    let mut sorted: Vec<u64> = (0..60_000).map(twiceshy_testkit::mix).collect();
    sorted.sort_unstable();
    for (spread, streams) in [(false, 1), (false, 16), (true, 1), (true, 16)] {
        let mut filter = builder().spread_growth(spread).build().unwrap();
        (0..60_000).for_each(|i| assert!(filter.insert_hash(twiceshy_testkit::mix(i)).is_ok()));
        let mut farthest = 0;
        for i in 0..sorted.len() {
            let part = sorted.len() / streams;
            assert!(filter.remove_hash(sorted[i % streams * part + i / streams]));
            if i % 500 == 0 {
                farthest = farthest.max(filter.levels[0].table.farthest_from_home());
                filter.validate().unwrap();
            }
        }
        assert!(farthest <= 300, "{farthest} slots from home, spread {spread}, {streams} streams");
        assert!(filter.is_empty() && filter.slots() <= 1 << 12, "{} slots, spread {spread}", filter.slots());
    }
}
