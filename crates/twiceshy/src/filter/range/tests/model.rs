//! Random operations, and all short sequences of them, against the model.

use super::*;
use twiceshy_testkit::effort;

/// Says what was tried, if that fails.
struct Told(String);

impl Drop for Told {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("{}", self.0);
        }
    }
}

fn drive(name: &str, hasher: &Hasher, seed: u64, steps: u32) {
    let _told = Told(format!("hashes {name}, seed {seed}"));
    let mut random = Random(seed);
    let ranges = [1, 2, 4, 8, 16, 64];
    let max_range = ranges[random.below(6) as usize];
    let max_partitions = [2, 3, 64][random.below(3) as usize];
    let limits = if random.below(2) == 0 { (3, 5 + random.below(30) as u32) } else { (255, 64) };
    let grows = random.below(3) > 0;
    let builder = |random: &mut Random| {
        let builder = RangeFilter::<Small>::builder().max_range(max_range).max_partitions(max_partitions);
        let builder = builder.growth(grows).hasher(hasher.clone()).limits(limits.0, limits.1);
        let builder = match random.below(4) {
            0 => builder.error_rate([0.5, 0.1, 0.001][random.below(3) as usize]),
            _ => builder.remainder_bits(1 + random.below(6) as u32),
        };
        let bits = 1 + random.below(if grows { 5 } else { 7 }) as u32;
        if random.below(8) == 0 { builder } else { builder.quotient_bits(bits) }
    };
    let mut checked = Checked::new(builder(&mut random).build().unwrap());
    let key = |random: &mut Random| random.below(UNIVERSE.into()) as u8;
    for _ in 0..steps {
        match random.below(30) {
            0..=9 => checked.insert(key(&mut random)),
            10..=14 => checked.remove(random.next() as usize),
            15 => (0..UNIVERSE).for_each(|key| checked.remove_absent(key)),
            16 => {
                // Copies of one key, and all keys of a partition.
                let (first, copies) = (key(&mut random), random.below(20));
                (0..copies).for_each(|_| checked.insert(first));
            }
            17 => {
                let first = key(&mut random) / max_range as u8 * max_range as u8;
                let all: Vec<u8> = (first..first.saturating_add(max_range as u8)).collect();
                checked.insert_batch(&all);
            }
            18 => {
                let keys: Vec<u8> = (0..random.below(60)).map(|_| key(&mut random)).collect();
                checked.insert_batch(&keys);
            }
            19 | 20 => {
                if checked.filter.quotient_bits() < 9 {
                    checked.grow();
                }
            }
            21 | 22 => checked.shrink(),
            23 => checked.save_and_load(),
            24 => {
                let mut other = Checked::new(builder(&mut random).build().unwrap());
                (0..random.below(40)).for_each(|_| other.insert(key(&mut random)));
                if random.below(2) == 0 && other.filter.quotient_bits() < 8 {
                    other.grow();
                }
                if checked.filter.quotient_bits() < 9 {
                    checked.merge(&other);
                }
            }
            25 => {
                let builder = builder(&mut random);
                checked.rebuild(builder, random.below(2) == 0);
            }
            26 => {
                let keep = random.below(4) as usize;
                while checked.members.len() > keep {
                    checked.remove(random.next() as usize);
                }
            }
            27 => {
                if random.below(4) == 0 {
                    checked.filter.clear();
                    checked.members.clear();
                    checked.held.clear();
                    checked.check(false);
                }
            }
            _ => {
                checked.filter = checked.filter.clone();
                checked.check(false);
            }
        }
    }
}

#[test]
fn nothing_is_lost_and_everything_is_as_the_model_says() {
    for (i, (name, hasher)) in (0..).zip(hashers()) {
        for seed in 0..effort::times("TWICESHY_CASES", if name == "good" { 24 } else { 12 }) {
            drive(name, &hasher, 1000 * i + seed, 60);
        }
    }
}

/// Every sequence of up to four operations on keys of two partitions, with hashes of a bit or two.
#[test]
fn all_short_sequences_agree_with_the_model() {
    fn step(checked: &Checked, left: u32) {
        for operation in 0..7 {
            let mut next = checked.clone();
            match operation {
                0..=2 => next.insert([0, 1, 2][operation]),
                3 | 4 => {
                    let key = [0, 2][operation - 3];
                    let Some(number) = next.members.iter().position(|member| *member == key) else {
                        continue;
                    };
                    next.remove(number);
                }
                5 if next.filter.quotient_bits() < 4 => next.grow(),
                5 => continue,
                _ => next.shrink(),
            }
            if left > 1 {
                step(&next, left - 1);
            }
        }
    }
    for word in
        [|_: &[u8], _| 0u64, |key: &[u8], _| u64::from(key[0]) << 63, |key: &[u8], _| u64::from(key[0]) << 61]
    {
        let builder = RangeFilter::<Small>::builder().max_range(2).quotient_bits(1).remainder_bits(1);
        let filter = builder.hasher(Hasher::chosen(word)).limits(3, 5).build().unwrap();
        step(&Checked::new(filter), 4);
    }
}
