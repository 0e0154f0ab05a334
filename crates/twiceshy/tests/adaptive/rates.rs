//! The rate of false positives for queries that were never asked: at every size, after any adaptation, and
//! the space that it takes.

use super::*;

/// How many of fresh random queries are positive, and that this is what the filter expects, within five
/// standard deviations.
#[track_caller]
fn check_rate(set: &AdaptiveSet<MemoryMap>, numbers: &mut Numbers, queries: u64, most: f64) -> Vec<u64> {
    let positive: Vec<u64> =
        (0..queries).map(|_| stranger(numbers)).filter(|query| set.contains(query)).collect();
    let (found, rate) = (positive.len() as f64, set.filter().expected_error_rate());
    let mean = queries as f64 * rate;
    let tolerance = 5.0 * (mean * (1.0 - rate)).sqrt() + 1.0;
    assert!((found - mean).abs() <= tolerance, "{} keys: found {found}, expected {mean}", set.len());
    assert!(rate <= most, "{} keys: {rate} is more than {most}", set.len());
    positive
}

#[test]
fn the_rate_holds_at_every_size_of_a_growing_set() {
    for (error_rate, remainder_bits) in [(1.0 / 64.0, 9), (1.0 / 512.0, 12)] {
        let mut numbers = Numbers(13);
        let mut set = builder().error_rate(error_rate).build_set(MemoryMap::new()).unwrap();
        assert_eq!(set.filter().remainder_bits(), remainder_bits, "three bits more than without growth");
        assert!(set.filter().highest_error_rate() <= error_rate);
        let mut highest = 0f64;
        let mut next = 100;
        while next < 300_000 {
            // Full just before it grows, and a few sizes in between.
            while set.len() < next {
                set.insert(&member(&mut numbers)).unwrap();
            }
            next += next / 3;
            let queries = if set.len() < 1000 { 50_000 } else { 20_000 };
            let positive = check_rate(&set, &mut numbers, queries, error_rate);
            highest = highest.max(set.filter().expected_error_rate());
            // Learning changes nothing for what was not asked.
            for query in positive {
                assert!(!set.contains_exactly(&query).unwrap());
            }
        }
        check_rate(&set, &mut numbers, 200_000, error_rate);
        let (filter, stats) = (set.filter(), set.filter().stats());
        println!(
            "rate {error_rate:.5}: {} keys, {} growths, {} rejuvenated, highest rate {highest:.6}, \
             now {:.6}, {:.1} bits per key at {:.0} % load",
            set.len(),
            stats.growths,
            stats.rejuvenated,
            filter.expected_error_rate(),
            8.0 * filter.size_in_bytes() as f64 / set.len() as f64,
            100.0 * filter.load_factor(),
        );
        assert!(stats.growths >= 12 && stats.fixed > 100);
        assert!(highest > error_rate / 4.0, "the bits are not wasted");
        set.validate().unwrap();
    }
}

#[test]
fn the_rate_holds_after_very_many_adaptations() {
    let mut numbers = Numbers(14);
    let mut set = builder().error_rate(1.0 / 64.0).build_set(MemoryMap::new()).unwrap();
    fill(&mut set, &mut numbers, 20_000);
    for _ in 0..5 {
        for _ in 0..200_000 {
            set.contains_exactly(&stranger(&mut numbers)).unwrap();
        }
        check_rate(&set, &mut numbers, 200_000, 1.0 / 64.0);
    }
    let (stats, lengths) = (set.filter().stats(), set.filter().lengths());
    println!("{} fixed with {} slots; {} extended", stats.fixed, stats.adaptation_slots, lengths.extended);
    assert!(stats.fixed > 4_000 && lengths.extended > 1_000);
    assert_eq!(lengths.bits.iter().sum::<u64>(), set.filter().fingerprints());
    assert_eq!(lengths.ages.iter().sum::<u64>() + lengths.extended, set.filter().fingerprints());
}

#[test]
fn a_set_that_never_grew_takes_few_bits() {
    let mut numbers = Numbers(15);
    for quotient_bits in [14, 17] {
        let mut set = fixed(quotient_bits, 9).build_set(MemoryMap::new()).unwrap();
        let keys = set.filter().slots() * 9 / 10;
        fill(&mut set, &mut numbers, keys);
        let bits = 8.0 * set.filter().size_in_bytes() as f64 / keys as f64;
        println!("2^{quotient_bits} slots, 90 % load: {bits:.2} bits per key");
        assert!(bits <= 13.6, "{bits}");
        check_rate(&set, &mut numbers, 200_000, 1.0 / 512.0);
        assert!(set.filter().highest_error_rate() <= 1.0 / 512.0);
    }
}

#[test]
fn what_was_asked_for_is_what_is_promised() {
    for rate in [0.9, 0.5, 0.1, 0.03, 0.01, 1.0 / 512.0, 1e-4, 1e-9, 1e-15] {
        let growing = builder().error_rate(rate).build().unwrap();
        let fixed = builder().error_rate(rate).capacity(100).growth(Growth::Refuse).build().unwrap();
        for filter in [&growing, &fixed] {
            assert!(filter.highest_error_rate() <= rate, "{rate}");
        }
        let more = growing.remainder_bits() - fixed.remainder_bits();
        assert!(more <= 6, "{rate}: {more} bits for growth");
        // One bit less would not do.
        for (filter, growth) in [(growing, Growth::Grow { max_bytes: None }), (fixed, Growth::Refuse)] {
            if let bits @ 1.. = filter.remainder_bits() - 1 {
                let less = builder().remainder_bits(bits).capacity(100).growth(growth).build().unwrap();
                assert!(less.highest_error_rate() > rate, "{rate}");
            }
        }
    }
}
