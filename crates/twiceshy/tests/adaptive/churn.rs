//! Figure 8 of *Adaptive Quotient Filters*: a fifth of the keys is replaced again and again. New keys may
//! meet popular queries: the rate jumps, and falls as soon as these are asked.

use super::skew::{query, rate_now};
use super::*;

const RANKS: u64 = 20_000;

#[test]
fn the_rate_recovers_from_replacing_a_fifth_of_the_keys() {
    let mut numbers = Numbers(8);
    let mut set = fixed(13, 5).build_set(MemoryMap::new()).unwrap();
    let mut keys = fill(&mut set, &mut numbers, 6_500);
    let uniform = set.filter().expected_error_rate();
    let learn = |set: &mut AdaptiveSet<MemoryMap>, numbers: &mut Numbers| {
        (0..50_000).for_each(|_| {
            set.contains_exactly(&query(9, zipf::rank(numbers))).unwrap();
        });
        rate_now(set, 9, RANKS)
    };
    let first = rate_now(&set, 9, RANKS);
    let mut recovered = learn(&mut set, &mut numbers);
    println!("uniform {uniform:.2e}; at first {first:.2e}, learned {recovered:.2e}");
    let (mut worst_jump, mut jumps, mut rests) = (0f64, 0.0, 0.0);
    for round in 0..30 {
        let fifth = keys.len() / 5;
        for at in 0..fifth {
            // The oldest go.
            let at = (round * fifth + at) % keys.len();
            assert!(set.remove(&keys[at]).unwrap());
            keys[at] = member(&mut numbers);
            assert!(set.insert(&keys[at]).unwrap());
        }
        let jumped = rate_now(&set, 9, RANKS);
        let before = recovered;
        recovered = learn(&mut set, &mut numbers);
        println!("round {round}: {before:.2e}, replaced {jumped:.2e}, learned {recovered:.2e}");
        worst_jump = worst_jump.max(jumped / before);
        (jumps, rests) = (jumps + jumped, rests + recovered);
        assert!(recovered < uniform / 10.0, "round {round}: {recovered:.2e} is not recovered");
        assert!(keys.iter().all(|key| set.contains(key)), "round {round}");
    }
    println!("worst jump {worst_jump:.1} times; means {:.2e} and {:.2e}", jumps / 30.0, rests / 30.0);
    assert!(worst_jump > 5.0, "{worst_jump}");
    assert!(jumps > 3.0 * rests, "{jumps} {rests}");
    set.validate().unwrap();
}
