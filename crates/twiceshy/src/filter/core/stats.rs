//! What a filter knows of itself.

use super::Core;
use super::shapes::highest_rate;
use crate::codec::string::Payload;

/// What happened to an [`AdaptiveFilter`](crate::AdaptiveFilter) since it was made or read. Queries are not counted: they change
/// nothing.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Stats {
    /// False positives that were reported.
    pub reported: u64,
    /// Those of them that were fixed.
    pub fixed: u64,
    /// Slots that adaptations took.
    pub adaptation_slots: u64,
    /// How often the filter got a larger table.
    pub growths: u64,
    /// Fingerprints that ran out of bits and were given fresh length.
    pub rejuvenated: u64,
    /// Groups of keys that got fingerprints of another epoch.
    pub rotated: u64,
}

impl Stats {
    /// What happened to two filters.
    pub(crate) fn and(self, other: Self) -> Self {
        Self {
            reported: self.reported + other.reported,
            fixed: self.fixed + other.fixed,
            adaptation_slots: self.adaptation_slots + other.adaptation_slots,
            growths: self.growths + other.growths,
            rejuvenated: self.rejuvenated + other.rejuvenated,
            rotated: self.rotated + other.rotated,
        }
    }
}

/// How long the fingerprints of an [`AdaptiveFilter`](crate::AdaptiveFilter) are. Made by
/// [`lengths`](crate::AdaptiveFilter::lengths).
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Lengths {
    /// `bits[n]` fingerprints have `n` bits.
    pub bits: Vec<u64>,
    /// `ages[n]` fingerprints in a single slot are `n` bits shorter than a new one: about as many growths
    /// ago they were made.
    pub ages: Vec<u64>,
    /// Fingerprints that take more than one slot: they have adapted.
    pub extended: u64,
    /// The probability that a key that is not in the set and was never asked for is found now.
    pub expected_error_rate: f64,
}

impl<P: Payload, B: AsRef<[u8]>> Core<P, B> {
    pub(crate) fn stats(&self) -> Stats {
        self.counters
    }

    /// How long the fingerprints are, and which error rate follows. Reads the whole table.
    pub(crate) fn lengths(&self) -> Lengths {
        let (strings, table) = (self.strings, &self.table);
        let mut lengths =
            Lengths { bits: Vec::new(), ages: Vec::new(), extended: 0, expected_error_rate: 0.0 };
        // Nearly all are in a single slot, and lack up to as many bits as it has.
        let mut ages = [0; 64];
        for (_, run) in table.runs() {
            for entry in strings.entries(table, run) {
                let len = strings.len(table, &entry);
                match strings.bits_in(1).checked_sub(len) {
                    Some(age) if entry.string_slots == 1 => ages[age as usize % 64] += 1,
                    _ => {
                        lengths.extended += 1;
                        count(&mut lengths.bits, len, 1);
                    }
                }
            }
        }
        for (age, &entries) in (0..).zip(&ages).filter(|(_, entries)| **entries > 0) {
            count(&mut lengths.ages, age, entries);
            count(&mut lengths.bits, strings.bits_in(1) - age, entries);
        }
        let shares = (0..).zip(&lengths.bits).map(|(len, &count)| count as f64 * (-f64::from(len)).exp2());
        // An empty sum is -0.
        lengths.expected_error_rate = shares.sum::<f64>() + 0.0;
        lengths
    }

    /// The error rate that is kept at every size, as long as nothing is merged.
    pub(crate) fn highest_error_rate(&self) -> f64 {
        highest_rate(self.remainder_bits, self.growth)
    }
}

fn count(histogram: &mut Vec<u64>, at: u32, entries: u64) {
    let at = at as usize;
    if histogram.len() <= at {
        histogram.resize(at + 1, 0);
    }
    histogram[at] += entries;
}
