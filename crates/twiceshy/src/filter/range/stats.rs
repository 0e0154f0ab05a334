//! What a filter has to tell about itself.

use super::{RangeFilter, RangeKey};

/// What [`RangeFilter::stats`] tells.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Stats {
    /// How many fingerprints there are of each length, the longest first. Lengths that do not occur are left out.
    pub lengths: Vec<LengthStats>,
    /// The probability of a mistake, as [`RangeFilter::expected_error_rate`] tells it.
    pub expected_error_rate: f64,
}

/// The fingerprints of one length.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct LengthStats {
    /// Bits of the fingerprint.
    pub fingerprint_bits: u32,
    /// How many different ones there are, or places where one lies.
    pub fingerprints: u64,
    /// How many copies of keys they have.
    pub copies: u64,
}

impl<K: RangeKey + ?Sized, B: AsRef<[u8]>> RangeFilter<K, B> {
    /// Lengths of fingerprints, and the error rate that follows from them. Reads the whole table.
    ///
    /// ```
    /// # use twiceshy::RangeFilter;
    /// let filter: RangeFilter<u64> = (0..10_000).map(|number| number * 1_000_003).collect();
    /// let stats = filter.stats();
    /// assert_eq!(stats.lengths[0].fingerprint_bits, filter.fingerprint_bits());
    /// assert!(stats.expected_error_rate <= 0.001);
    /// ```
    pub fn stats(&self) -> Stats {
        let mut by_length = [(0, 0); 128];
        let mut last = None;
        for entry in self.boxes.entries() {
            let (fingerprints, copies): &mut (u64, u64) = &mut by_length[entry.fingerprint.len() as usize];
            *fingerprints += u64::from(last.replace(entry.fingerprint) != Some(entry.fingerprint));
            *copies = copies.saturating_add(entry.count);
        }
        let lengths = (0..128).zip(by_length).filter(|(_, (fingerprints, _))| *fingerprints > 0).rev();
        let lengths = lengths.map(|(fingerprint_bits, (fingerprints, copies))| LengthStats {
            fingerprint_bits,
            fingerprints,
            copies,
        });
        Stats { lengths: lengths.collect(), expected_error_rate: self.expected_error_rate() }
    }

    /// The probability that a range of up to [`max_range`](Self::max_range) keys that has none seems to have one: twice the sum of
    /// `2^-length` over all fingerprints, since such a range meets two partitions. It is that high only where partitions are full
    /// of keys; with one key in each, half of it is seen. For a single key it is at most half of that, for a longer range as many
    /// halves as it meets partitions. Reads the whole table.
    pub fn expected_error_rate(&self) -> f64 {
        let sum: f64 = self.boxes.fingerprints().map(|one| 2f64.powi(-(one.len() as i32))).sum();
        (2.0 * sum).min(1.0)
    }
}
