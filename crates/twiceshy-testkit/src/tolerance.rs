//! How far from its mean a count may be that chance decides.

/// As many standard deviations: a count that is what it should be is out of bounds once in two million times, and seeds
/// are fixed.
const DEVIATIONS: f64 = 5.0;

/// How far the number of successes of so many trials may be from its mean, if each succeeds with this probability.
pub fn of_count(trials: f64, probability: f64) -> f64 {
    DEVIATIONS * (trials * probability * (1.0 - probability)).sqrt() + 1.0
}

/// Keys that no test inserts that only inserts numbers below 2^40.
pub fn absent(count: u64) -> impl Iterator<Item = u64> {
    (0..count).map(|number| (1 << 40) + number)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Random;

    #[test]
    fn counts_are_within_bounds_and_those_of_other_probabilities_are_not() {
        let mut random = Random(1);
        for probability in [0.01, 0.1, 0.3, 0.9] {
            let trials = 200_000;
            let limit = (probability * 2f64.powi(64)) as u64;
            let found = (0..trials).filter(|_| random.next() < limit).count() as f64;
            let trials = f64::from(trials);
            assert!((found - trials * probability).abs() <= of_count(trials, probability));
            let other = probability * 0.7;
            assert!((found - trials * other).abs() > of_count(trials, other), "{probability}");
        }
    }
}
