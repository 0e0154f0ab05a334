//! Random operations.

use super::*;
use crate::random::Random;

fn drive(hasher: &Hasher, seed: u64, steps: u32, tags: u64) {
    let mut random = Random(seed);
    let quotient_bits = 1 + random.below(5) as u32;
    let remainder_bits = 1 + random.below(6) as u32;
    let (offset_max, spill) = if random.below(2) == 0 { (3, 5 + random.below(30) as u32) } else { (255, 64) };
    let make = |quotient_bits| {
        let builder = AdaptiveFilter::builder().hasher(hasher.clone()).quotient_bits(quotient_bits);
        let builder = builder.remainder_bits(remainder_bits).limits(offset_max, spill);
        Checked::new(builder.build_set(MemoryMap::new()).unwrap())
    };
    let mut checked = make(quotient_bits);
    let key = |random: &mut Random| random.below(UNIVERSE.into()) as u16;
    for _ in 0..steps {
        match random.below(40) {
            0..=13 => checked.insert(key(&mut random), random.below(tags)),
            14..=19 => checked.remove(key(&mut random)),
            20..=27 => checked.adapt(key(&mut random)),
            28..=31 => checked.ask(key(&mut random)),
            32 => {
                checked.set.grow().unwrap();
                checked.check(false);
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
            37 => checked.recover(random.below(2) == 0),
            38 => {
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
            drive(&hasher, 1000 * i + seed, 100, 1);
        }
    }
}

#[test]
fn tags_never_mix() {
    for (i, (name, hasher)) in (0..).zip(hashers()) {
        for seed in 0..8 {
            println!("{name}, seed {seed}");
            drive(&hasher, 100_000 + 1000 * i + seed, 80, 3);
        }
    }
}
