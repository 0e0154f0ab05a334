//! Merging: all tables of both filters are read in order at once, and the union is written in order.

use super::ExpandableFilter;
use super::level::Level;
use super::place::NoPlace;
use crate::error::MergeError;
use crate::filter::union::union_of;

impl ExpandableFilter {
    /// Adds all keys of `other` to this filter.
    ///
    /// Both must hash in the same way; sizes, ages and settings may differ, and this filter's settings stay. An
    /// error changes nothing.
    ///
    /// Fingerprints keep the length that they had, up to that of a new key here. **The error rate of the result
    /// is the sum of both**, and can be above the one asked for: two filters of a million keys have shorter
    /// fingerprints than one that grew to two million.
    /// [`expected_error_rate`](Self::expected_error_rate) tells it, and
    /// [rejuvenation](Self::rejuvenate_batch) lowers it.
    ///
    /// ```
    /// # use twiceshy::ExpandableFilter;
    /// let mut monday = ExpandableFilter::new(0.01)?;
    /// let mut tuesday = monday.empty_like()?;
    /// monday.insert("cat")?;
    /// tuesday.insert("dog")?;
    /// monday.merge_from(&tuesday)?;
    /// assert!(monday.contains("cat") && monday.contains("dog"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn merge_from<B: AsRef<[u8]>>(&mut self, other: &ExpandableFilter<B>) -> Result<(), MergeError> {
        if self.hasher != other.hasher || self.settings.block_bits != other.settings.block_bits {
            return Err(MergeError::DifferentHash);
        }
        let ours: Vec<_> = self.levels.iter().map(Level::borrowed).collect();
        let theirs: Vec<_> = other.levels.iter().map(Level::borrowed).collect();
        let levels = || ours.iter().chain(&theirs);
        let all = || union_of(levels().map(Level::entries).collect());
        // Counted, and not taken from the other filter's word: it may be a view that nobody has verified.
        let (mut used, mut len) = (0, 0u64);
        for entry in levels().flat_map(Level::entries) {
            used += 1;
            len = len.checked_add(entry.count).ok_or_else(|| MergeError::TooManyCopies)?;
        }
        let placed = self.settings.place(None, self.quotient_bits(), used, all, &[]);
        self.levels = placed.map_err(|error| match error {
            NoPlace::TooManyCopies => MergeError::TooManyCopies,
            NoPlace::Unsorted => MergeError::Invalid,
            NoPlace::Memory(error) => MergeError::Memory(error),
            other => MergeError::NoRoom(self.no_place(other)),
        })?;
        self.len = len;
        self.sum_up_levels();
        Ok(())
    }
}
