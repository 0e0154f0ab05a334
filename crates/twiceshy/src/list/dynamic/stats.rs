//! What a list knows of itself.

use super::YesNoList;
use crate::filter::adaptive::{Lengths, Stats};
use crate::reverse_map::ReverseMap;

/// What a [`YesNoList`] holds, and what that takes. Made by [`YesNoList::stats`].
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct ListStats {
    /// Keys on the YES list.
    pub yes: u64,
    /// Keys on the NO list.
    pub no: u64,
    /// The bytes of the filter: all that is needed to ask.
    pub filter_bytes: u64,
    /// How long its fingerprints are, and the error rate for keys on neither list that follows.
    pub lengths: Lengths,
    /// What happened to the filter since it was made or read.
    pub filter: Stats,
}

impl ListStats {
    /// Bits of the filter for every key on the YES list. The NO list takes none, but for the length of the fingerprints that had to
    /// be told from it.
    pub fn bits_per_yes_key(&self) -> f64 {
        8.0 * self.filter_bytes as f64 / self.yes as f64
    }
}

impl<M: ReverseMap> YesNoList<M> {
    /// What the list holds, and what that takes. Reads the whole map, to count, and the whole filter.
    ///
    /// ```
    /// use twiceshy::YesNoList;
    ///
    /// let list = YesNoList::builder().error_rate(0.01).from_lists(0..10_000u32, 10_000..100_000)?;
    /// let stats = list.stats()?;
    /// assert_eq!((stats.yes, stats.no), (10_000, 90_000));
    /// assert!(stats.lengths.expected_error_rate < 0.01);
    /// assert!(stats.bits_per_yes_key() < 20.0);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn stats(&self) -> Result<ListStats, M::Error> {
        Ok(ListStats {
            yes: self.yes_len(),
            no: self.no_len()?,
            filter_bytes: self.filter().size_in_bytes() as u64,
            lengths: self.filter().lengths(),
            filter: self.filter().stats(),
        })
    }
}
