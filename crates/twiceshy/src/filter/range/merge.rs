//! Merging: both filters are read in order at once, and the union is written in order.

use super::fill::{NoPlace, place};
use super::{RangeFilter, RangeKey};
use crate::error::MergeError;
use crate::table::Shape;

/// How many sizes are tried if the first is not enough: two tables that are full, short fingerprints, and slots of another
/// width ask for more than one doubling together, but not for many.
const MOST_TRIES: u32 = 4;

impl<K: RangeKey + ?Sized> RangeFilter<K> {
    /// Adds all keys of `other` to this filter, which grows if need be and it may.
    ///
    /// Both must hash in the same way and have the same [`max_range`](Self::max_range); sizes, ages and other settings may differ,
    /// and this filter's stay. An error changes nothing.
    ///
    /// Fingerprints keep the length that they had. **The error rate of the result is the sum of both**, and can be above the one
    /// asked for; [`expected_error_rate`](Self::expected_error_rate) tells it.
    ///
    /// ```
    /// # use twiceshy::RangeFilter;
    /// let mut monday = RangeFilter::<u64>::new(0.01)?;
    /// let mut tuesday = monday.empty_like()?;
    /// monday.insert(&17)?;
    /// tuesday.insert(&4)?;
    /// monday.merge_from(&tuesday)?;
    /// assert!(monday.contains(&17) && monday.contains_range(1..10));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn merge_from<B: AsRef<[u8]>>(&mut self, other: &RangeFilter<K, B>) -> Result<(), MergeError> {
        if self.hasher != other.hasher {
            return Err(MergeError::DifferentHash);
        }
        let (ours, theirs) = (self.max_range(), other.max_range());
        if ours != theirs {
            return Err(MergeError::DifferentPartitions { ours, theirs });
        }
        // Counted, and not taken from the other filter's word: it may be a view that nobody has verified.
        let counted = other.boxes.entries().try_fold(0u64, |sum, entry| sum.checked_add(entry.count));
        if counted != Some(other.boxes.held) || other.len > other.boxes.held {
            return Err(MergeError::Invalid);
        }
        let len = self.len.checked_add(other.len).ok_or(MergeError::TooManyCopies)?;
        let (one, two) = (self.boxes.borrowed(), other.boxes.borrowed());
        let longest = one.full_bits().max(two.full_bits());
        let differ = one.full_bits() != two.full_bits() || one.codec.has_stops() || two.codec.has_stops();
        let least = one.table.shape().quotient_bits();
        let most = if self.settings.grows { Shape::MAX_QUOTIENT_BITS } else { least };
        let used = one.table.used().max(two.table.used());
        let mut tries = 0;
        for quotient_bits in least..=most {
            let has_stops = differ || quotient_bits > self.settings.start;
            let Some(layout) = self.settings.layout(quotient_bits, has_stops, longest) else { continue };
            // Boxes may unite, but not more than those of the other filter.
            if used / 2 > layout.0.slot_limit() {
                continue;
            }
            match place(layout, &one, Some(&two)) {
                Ok(boxes) => {
                    (self.boxes, self.len) = (boxes, len);
                    return Ok(());
                }
                Err(NoPlace::Full) if tries < MOST_TRIES => tries += 1,
                Err(NoPlace::Full | NoPlace::FullAtEverySize | NoPlace::Short) => break,
                Err(NoPlace::Unsorted) => return Err(MergeError::Invalid),
                Err(NoPlace::TooManyCopies) => return Err(MergeError::TooManyCopies),
                Err(NoPlace::Memory(error)) => return Err(error.into()),
            }
        }
        Err(MergeError::Full { slots: self.slots() })
    }
}
