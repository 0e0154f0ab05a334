//! Random operations.

use super::*;
use crate::table::Part;
use twiceshy_testkit::Random;

fn drive(hasher: &Hasher, seed: u64, steps: u32, tags: u64, part: Part) {
    let mut random = Random(seed);
    let quotient_bits = 1 + random.below(5) as u32;
    let remainder_bits = 1 + random.below(6) as u32;
    let (offset_max, spill) = if random.below(2) == 0 { (3, 5 + random.below(30) as u32) } else { (255, 64) };
    let make = |quotient_bits| {
        let builder = AdaptiveFilter::builder().hasher(hasher.clone()).quotient_bits(quotient_bits);
        let builder = builder.remainder_bits(remainder_bits).limits(offset_max, spill);
        let mut filter = builder.build().unwrap();
        filter.core.set_table(Table::new(filter.core.table().shape().for_part(part)).unwrap());
        let mut map = MemoryMap::new();
        if part != Part::ALL {
            // The rows of other parts may lie beside it.
            for key in 0..UNIVERSE {
                let elsewhere = hasher.hash(&key) ^ 1 << (61 + key % 3);
                let _ = map.insert(elsewhere, &key.to_le_bytes(), &[]).unwrap();
            }
        }
        Checked::new(AdaptiveSet::from_parts(filter, map))
    };
    let mut checked = make(quotient_bits);
    let key = |random: &mut Random| random.below(UNIVERSE.into()) as u16;
    for _ in 0..steps {
        match random.below(44) {
            0..=13 => checked.insert(key(&mut random), random.below(tags)),
            14..=18 => checked.remove(key(&mut random), random.below(2) == 0),
            19 => checked.remove_from_map(key(&mut random)),
            20..=27 => checked.adapt(key(&mut random)),
            28..=31 => checked.ask(key(&mut random)),
            32 => {
                // Not for ever: every doubling takes memory, and fingerprints that adapted get no shorter.
                for _ in 0..random.below(3) {
                    if checked.set.filter().quotient_bits() < 12 {
                        checked.set.grow().unwrap();
                        checked.check(false);
                    }
                }
            }
            33 => {
                checked.set.shrink_to_fit().unwrap();
                checked.check(false);
            }
            34 => checked.save_and_load(),
            35 => {
                checked.set.rejuvenate().unwrap();
                checked.check(false);
            }
            36 => checked.take_snapshot(),
            37 | 38 => checked.recover(random.below(2) == 0),
            39 => checked.recover_from_nothing(),
            40 => {
                // A set of its own age and size, which has learned things of its own.
                let mut other = make(1 + random.below(6) as u32);
                for _ in 0..random.below(30) {
                    other.insert(key(&mut random), random.below(tags));
                    other.adapt(key(&mut random));
                }
                checked.merge(other);
            }
            _ => {
                // A whole round of an adversary who asks everything, twice.
                (0..UNIVERSE).for_each(|query| checked.ask_unchecked(query));
                checked.check(false);
                assert_eq!(checked.positives.len(), checked.members.len(), "everything was learned");
            }
        }
    }
}

#[test]
fn nothing_is_lost_and_no_mistake_is_made_twice() {
    for (i, (name, hasher)) in (0..).zip(hashers()) {
        for seed in 0..if name == "good" { 25 } else { 10 } {
            println!("{name}, seed {seed}");
            drive(&hasher, 1000 * i + seed, 100, 1, Part::ALL);
        }
    }
}

#[test]
fn tags_never_mix() {
    for (i, (name, hasher)) in (0..).zip(hashers()) {
        for seed in 0..8 {
            println!("{name}, seed {seed}");
            drive(&hasher, 100_000 + 1000 * i + seed, 80, 3, Part::ALL);
        }
    }
}

/// A table may be for hashes that begin alike: then these bits take no space, and nothing else is different.
#[test]
fn a_table_for_a_part_of_all_hashes_agrees_with_the_model() {
    let one_in_eight = Hasher::chosen(|bytes, index| match index {
        0 => 0b101 << 61 | Hasher::fast().word_bytes(bytes, 0) >> 3,
        _ => Hasher::fast().word_bytes(bytes, index),
    });
    for seed in 0..25 {
        drive(&one_in_eight, 300_000 + seed, 100, 1 + seed % 3, Part::new(0b101, 3));
    }
}

/// How many steps a soak takes: `TWICESHY_STEPS`, or a few.
fn soak_steps() -> u64 {
    std::env::var("TWICESHY_STEPS").ok().and_then(|steps| steps.parse().ok()).unwrap_or(2_000)
}

/// `TWICESHY_STEPS=1000000 cargo test --release -p twiceshy --lib soak` takes a while.
#[test]
fn a_soak_of_short_remainders_keeps_every_promise() {
    const STEPS: u64 = 100;
    let hashers = hashers();
    for round in 0..soak_steps() / STEPS {
        let (name, hasher) = &hashers[round as usize % hashers.len()];
        let seed = 200_000 + round;
        println!("{name}, seed {seed}");
        drive(hasher, seed, STEPS as u32, 1 + seed / 7 % 3, Part::ALL);
    }
}
