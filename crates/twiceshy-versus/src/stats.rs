//! Medians and percentiles.
//!
//! Every number that a run prints is one of these: a mean would let a single interrupted chunk speak for
//! all the others.

/// The value below which the share `share` of `values` lies, interpolated linearly between neighbours;
/// `None` of nothing.
pub(crate) fn percentile(values: &[f64], share: f64) -> Option<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    let last = sorted.len().checked_sub(1)?;
    let at = share.clamp(0.0, 1.0) * last as f64;
    let (low, high) = (sorted[at.floor() as usize], sorted[at.ceil() as usize]);
    Some(low + (high - low) * at.fract())
}

/// The middle of `values`; `None` of nothing.
pub(crate) fn median(values: &[f64]) -> Option<f64> {
    percentile(values, 0.5)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_has_no_median() {
        assert_eq!(median(&[]), None);
        assert_eq!(percentile(&[], 0.1), None);
    }

    #[test]
    fn the_median_is_the_middle_or_half_way_between_two_middles() {
        assert_eq!(median(&[7.0]), Some(7.0));
        assert_eq!(median(&[3.0, 1.0, 2.0]), Some(2.0));
        assert_eq!(median(&[4.0, 1.0, 3.0, 2.0]), Some(2.5));
        assert_eq!(median(&[1.0, 1.0, 1.0, 1e9]), Some(1.0));
    }

    #[test]
    fn percentiles_interpolate_and_reach_both_ends() {
        let values: Vec<f64> = (0..=10).rev().map(f64::from).collect();
        assert_eq!(percentile(&values, 0.0), Some(0.0));
        assert_eq!(percentile(&values, 0.1), Some(1.0));
        assert_eq!(percentile(&values, 0.25), Some(2.5));
        assert_eq!(percentile(&values, 0.9), Some(9.0));
        assert_eq!(percentile(&values, 1.0), Some(10.0));
        assert_eq!(percentile(&values, 7.0), Some(10.0));
    }
}
