//! The least space that any list can do with.

/// How many bits per YES key every YES/NO list needs at least that answers all other keys with Yes at most at a rate.
///
/// This is theorem 7 of *Adaptive Quotient Filters* without its constant: `log2(max(1/ε, m/n)) + log2(e) · min(εm/n, 1)` for
/// `n` YES keys, `m` NO keys and the rate `ε`. It is 0 without YES keys.
///
/// ```
/// use twiceshy::list::least_bits;
///
/// assert_eq!(least_bits(1_000, 0, 1.0 / 256.0), 8.0);
/// assert!((least_bits(1_000, 64_000, 1.0 / 128.0) - 7.72).abs() < 0.01);
/// assert!((least_bits(1_000, 1_000_000, 1.0 / 128.0) - 11.41).abs() < 0.01);
/// ```
pub fn least_bits(yes: u64, no: u64, error_rate: f64) -> f64 {
    if yes == 0 {
        return 0.0;
    }
    let others = no as f64 / yes as f64;
    error_rate.recip().max(others).log2() + std::f64::consts::LOG2_E * (error_rate * others).min(1.0)
}
