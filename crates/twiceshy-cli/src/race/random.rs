//! Random numbers that are the same on every machine for the same seed, and ranks of which few are popular.

/// Mixes the bits of a number. Different numbers stay different (the finaliser of SplitMix64).
pub(super) fn mix(number: u64) -> u64 {
    let mixed = (number ^ (number >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    mixed ^ (mixed >> 31)
}

/// A sequence of random numbers (SplitMix64).
#[derive(Debug, Clone)]
pub(super) struct Numbers(u64);

impl Numbers {
    /// One sequence per seed and purpose.
    pub(super) fn new(seed: u64, purpose: u64) -> Self {
        Self(mix(mix(seed) ^ purpose))
    }

    pub(super) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        mix(self.0)
    }

    /// From 0 up to, but not, 1.
    pub(super) fn fraction(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1u64 << 53) as f64
    }
}

/// Ranks from 1 to some number, rank `k` with a probability in proportion to `k^-skew`.
///
/// # The idea
///
/// Rejection-inversion (Hörmann and Derflinger, *Rejection-inversion to generate variates from monotone discrete
/// distributions*, 1996): draw from under the curve `x^-skew` by the inverse of its integral, round to the next rank, and
/// take it if the point lies in the last stretch before the rank's right border that is as large as its probability. No
/// table, any number of ranks, and fewer than two draws per rank. We leave out the paper's quick acceptance, which saves
/// time only.
#[derive(Debug, Clone)]
pub(super) struct Zipf {
    skew: f64,
    ranks: f64,
    /// The integral at the left border of the first rank and at the right border of the last one.
    from: f64,
    to: f64,
}

impl Zipf {
    pub(super) fn new(ranks: u64, skew: f64) -> Self {
        let ranks = ranks.max(1) as f64;
        let from = integral(1.5, skew) - 1.0;
        Self { skew, ranks, from, to: integral(ranks + 0.5, skew) }
    }

    /// The probability of the first rank.
    pub(super) fn share_of_first(&self) -> f64 {
        // Beyond some ranks the sum is the integral, as near as anyone wants to know.
        let exact = self.ranks.min(1_000.0);
        let sum: f64 = (1..=exact as u32).map(|rank| f64::from(rank).powf(-self.skew)).sum();
        1.0 / (sum + self.to - integral(exact + 0.5, self.skew))
    }

    pub(super) fn rank(&self, numbers: &mut Numbers) -> u64 {
        loop {
            let area = self.to + numbers.fraction() * (self.from - self.to);
            let rank = inverse(area, self.skew).round().clamp(1.0, self.ranks);
            if area >= integral(rank + 0.5, self.skew) - rank.powf(-self.skew) {
                return rank as u64;
            }
        }
    }
}

/// The integral of `t^-skew` from 1 to `x`.
fn integral(x: f64, skew: f64) -> f64 {
    // Near 1 the formula divides nothing by nothing; its limit is the logarithm.
    let log = x.ln();
    let exponent = (1.0 - skew) * log;
    if exponent.abs() < 1e-8 { log } else { exponent.exp_m1() / (1.0 - skew) }
}

/// Where the integral has this value.
fn inverse(area: f64, skew: f64) -> f64 {
    let product = (1.0 - skew) * area;
    // It has a limit for large `x` if the skew is above 1.
    if product.abs() < 1e-8 { area.exp() } else { (product.max(-1.0).ln_1p() / (1.0 - skew)).exp() }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every rank as often as it should be, within five standard deviations.
    #[test]
    fn ranks_come_as_often_as_they_should() {
        let draws = 200_000;
        for (ranks, skew) in
            [(1, 1.0), (7, 0.0), (50, 0.5), (1_000, 0.99), (1_000, 1.0), (100_000, 1.1), (30, 3.0)]
        {
            let (zipf, mut numbers) = (Zipf::new(ranks, skew), Numbers::new(5, 0));
            let shown = ranks.min(20) as usize;
            let mut counts = vec![0u64; shown + 1];
            for _ in 0..draws {
                let rank = zipf.rank(&mut numbers);
                assert!((1..=ranks).contains(&rank));
                counts[(rank as usize - 1).min(shown)] += 1;
            }
            let weight = |rank: u64| (rank as f64).powf(-skew);
            let total: f64 = (1..=ranks).map(weight).sum();
            let mut expected: Vec<_> = (1..=shown as u64).map(|rank| weight(rank) / total).collect();
            assert!((zipf.share_of_first() / expected[0] - 1.0).abs() < 1e-6, "{skew} {ranks}");
            expected.push(1.0 - expected.iter().sum::<f64>());
            for (count, probability) in counts.into_iter().zip(expected) {
                let (mean, probability) = (probability * f64::from(draws), probability.clamp(0.0, 1.0));
                let deviation = (f64::from(draws) * probability * (1.0 - probability)).sqrt();
                assert!(
                    (count as f64 - mean).abs() <= 5.0 * deviation + 1e-6,
                    "{skew} {ranks}: {count} for {mean}"
                );
            }
        }
    }

    #[test]
    fn sequences_differ_by_seed_and_purpose() {
        let first = |seed, purpose| Numbers::new(seed, purpose).next();
        assert_eq!(first(1, 2), first(1, 2));
        assert!(first(1, 2) != first(2, 1) && first(1, 2) != first(1, 3));
    }
}
