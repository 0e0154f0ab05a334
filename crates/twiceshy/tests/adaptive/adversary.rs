//! The adversary of section 6.2.3 of the thesis *Practical Adaptive Quotient Filters*: it remembers what was
//! a false positive and asks it again.
//!
//! Its queue begins with random queries. In a round it asks all of them several times and then forgets those
//! that were never a false positive. A filter has won when the queue is empty.

use twiceshy::QuotientFilter;

use super::*;

const KEYS: u64 = 3_000;
const ROUNDS: usize = 4;
const SUBROUNDS: usize = 3;

/// Sizes of the queue before each round and at the end, if `ask` says whether a query is a false positive.
fn attack(mut queue: Vec<u64>, mut ask: impl FnMut(&u64) -> bool) -> Vec<usize> {
    let mut sizes = vec![queue.len()];
    for _ in 0..ROUNDS {
        let mut wrong = vec![false; queue.len()];
        for _ in 0..SUBROUNDS {
            queue.iter().zip(&mut wrong).for_each(|(query, wrong)| *wrong |= ask(query));
        }
        let mut wrong = wrong.iter();
        queue.retain(|_| *wrong.next().unwrap());
        sizes.push(queue.len());
    }
    sizes
}

/// A Bloom filter with `k` hashes in `bits`.
struct Bloom {
    bits: Vec<bool>,
    k: u32,
}

impl Bloom {
    fn places(&self, key: u64) -> impl Iterator<Item = usize> {
        let len = self.bits.len() as u64;
        (0..self.k).map(move |i| (hasher().word(&key, i) % len) as usize)
    }

    fn insert(&mut self, key: u64) {
        self.places(key).collect::<Vec<_>>().into_iter().for_each(|place| self.bits[place] = true);
    }

    fn contains(&self, key: u64) -> bool {
        self.places(key).all(|place| self.bits[place])
    }
}

#[test]
fn the_adversary_runs_out_of_queries() {
    for ratio in [10, 15, 20, 30, 50] {
        let mut numbers = Numbers(ratio);
        // Remainders of six bits, and a Bloom filter of as many bits per key.
        let mut set = builder().quotient_bits(12).remainder_bits(6).build_set(MemoryMap::new()).unwrap();
        let mut quotient = QuotientFilter::builder().quotient_bits(12).remainder_bits(6);
        quotient = quotient.hasher(hasher());
        let mut quotient = quotient.build().unwrap();
        let mut bloom = Bloom { bits: vec![false; 8 * set.filter().size_in_bytes()], k: 6 };
        for key in fill(&mut set, &mut numbers, KEYS) {
            quotient.insert(&key).unwrap();
            bloom.insert(key);
        }
        let queue: Vec<u64> = (0..ratio * KEYS).map(|_| stranger(&mut numbers)).collect();
        let slots = set.filter().used_slots();

        let ours = attack(queue.clone(), |query| {
            let positive = set.contains(query);
            assert!(!set.contains_exactly(query).unwrap());
            positive
        });
        let plain = attack(queue.clone(), |query| quotient.contains(query));
        let blooms = attack(queue, |query| bloom.contains(*query));
        println!(
            "Q/S {ratio}: adaptive {ours:?} with {:.2} slots more per key, quotient {plain:?}, Bloom {blooms:?}",
            (set.filter().used_slots() - slots) as f64 / KEYS as f64,
        );
        assert!(ours[1] > 0, "there was something to learn");
        assert_eq!(ours[2..], [0; ROUNDS - 1], "every query is a false positive once");
        for stuck in [plain, blooms] {
            assert!(stuck[1] > 50 && stuck[1..].iter().all(|&size| size == stuck[1]), "{stuck:?}");
        }
        set.validate().unwrap();
        assert_eq!(set.filter().stats().fixed, ours[1] as u64);
    }
}
