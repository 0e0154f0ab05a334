//! Queries of which few are popular: rank `k` is asked with a probability in proportion to `k^-1.5`.

use super::Numbers;

/// The exponent is 1.5, so `x^(s - 1)` is a square root.
const TOTAL: f64 = 2.612_375_348_685_488; // zeta(1.5)

/// A rank, by rejection from the continuous distribution (Devroye, *Non-Uniform Random Variate Generation*,
/// section X.6.1).
pub(crate) fn rank(numbers: &mut Numbers) -> u64 {
    let uniform = |numbers: &mut Numbers| (numbers.next() >> 11) as f64 / (1u64 << 53) as f64;
    let b = 2f64.sqrt();
    loop {
        let (u, v) = (1.0 - uniform(numbers), uniform(numbers));
        let x = (1.0 / (u * u)).floor();
        let t = (1.0 + 1.0 / x).sqrt();
        if x < 1e9 && v * x * (t - 1.0) / (b - 1.0) <= t / b {
            return x as u64;
        }
    }
}

/// The probability of a rank.
pub(crate) fn probability(rank: u64) -> f64 {
    (rank as f64).powf(-1.5) / TOTAL
}

/// The probability of all ranks after this one, nearly.
pub(crate) fn probability_behind(rank: u64) -> f64 {
    2.0 / (rank as f64 + 0.5).sqrt() / TOTAL
}

#[test]
fn ranks_come_as_often_as_they_should() {
    let (mut numbers, draws) = (Numbers(5), 400_000);
    let mut counts = [0u64; 20];
    let mut behind = 0u64;
    for _ in 0..draws {
        match rank(&mut numbers) {
            rank @ 1..=20 => counts[rank as usize - 1] += 1,
            _ => behind += 1,
        }
    }
    let check = |count: u64, probability: f64| {
        let (mean, draws) = (probability * f64::from(draws), f64::from(draws));
        let deviation = (draws * probability * (1.0 - probability)).sqrt();
        assert!((count as f64 - mean).abs() < 5.0 * deviation, "{count} instead of {mean}");
    };
    (1..).zip(counts).for_each(|(rank, count)| check(count, probability(rank)));
    check(behind, probability_behind(20));
}
