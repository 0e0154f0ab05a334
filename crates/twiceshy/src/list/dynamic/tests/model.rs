//! Random operations.

use super::*;

fn drive(hasher: &Hasher, seed: u64, steps: u64) {
    let mut random = Random(seed);
    let remainder_bits = 1 + random.below(6) as u32;
    let limits = if random.below(2) == 0 { (3, 5 + random.below(30) as u32) } else { (255, 64) };
    let make = |quotient_bits| {
        let builder = List::builder().hasher(hasher.clone()).quotient_bits(quotient_bits);
        let builder = builder.remainder_bits(remainder_bits).limits(limits.0, limits.1);
        Checked::new(builder.build_list(MemoryMap::new()).unwrap())
    };
    let key = |random: &mut Random| random.below(UNIVERSE.into()) as u16;
    let side = |random: &mut Random| Answer::from(random.below(2) == 0);
    let mut checked = make(1 + random.below(5) as u32);
    for _ in 0..steps {
        let (key, list) = (key(&mut random), side(&mut random));
        match random.below(50) {
            0..=15 => checked.add(key, list),
            16..=20 => checked.remove(key, random.below(2) == 0),
            21..=27 => checked.move_to(key, list),
            28..=32 => checked.adapt(key),
            33..=36 => checked.ask(key),
            37..=38 => {
                if checked.list.filter().quotient_bits() < 12 {
                    checked.list.grow().unwrap();
                    checked.check(false);
                }
            }
            39 => {
                checked.list.shrink_to_fit().unwrap();
                checked.check(false);
            }
            40 => checked.save_and_load(),
            41 => {
                checked.list.rejuvenate().unwrap();
                checked.check(false);
            }
            42 => checked.take_snapshot(),
            43..=45 => checked.recover(random.below(2) == 0),
            46..=47 => {
                let mut other = make(1 + random.below(6) as u32);
                let is_against = random.below(4) == 0;
                for _ in 0..random.below(30) {
                    let key = random.below(UNIVERSE.into()) as u16;
                    // Mostly on the list that it is on here, too.
                    let list = match checked.keys.get(&key) {
                        Some(list) if !is_against => *list,
                        _ => side(&mut random),
                    };
                    if !other.keys.contains_key(&key) {
                        other.add(key, list);
                    }
                    other.adapt(random.below(UNIVERSE.into()) as u16);
                }
                checked.merge(other);
            }
            _ => {
                // A whole round of an adversary who asks everything.
                (0..UNIVERSE).for_each(|query| {
                    assert_eq!(checked.list.query_exactly(&query).unwrap().is_yes(), checked.is_yes(query))
                });
                checked.check(false);
                let yes = checked.keys.values().filter(|list| list.is_yes()).count();
                assert_eq!(checked.positives.len(), yes, "everything was learned");
                // What was learned so is in no journal.
                checked.take_snapshot();
            }
        }
    }
}

/// `TWICESHY_STEPS=1000000 cargo test --release -p twiceshy --lib list::` takes a while.
#[test]
fn no_listed_key_is_ever_wrong_and_no_mistake_is_made_twice() {
    const STEPS: u64 = 100;
    let rounds = twiceshy_testkit::effort::times("TWICESHY_STEPS", 7_000) / STEPS;
    let hashers: Vec<_> = hashers().collect();
    for round in 0..rounds {
        let (name, hasher) = &hashers[round as usize % hashers.len()];
        println!("{name}, seed {round}");
        drive(hasher, round, STEPS);
    }
}
