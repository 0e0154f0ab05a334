//! Choosing how an expandable filter grows.

use super::ExpandableFilter;
use super::lengths::{Lengths, Mode};
use super::place::Settings;
use crate::error::BuildError;
use crate::filter::settings::{
    DEFAULT_ERROR_RATE, hasher_or_random, in_range, not_both, quotient_bits_for, setters, with_limits,
};
use crate::hash::Hasher;
use crate::table::Shape;

/// The load, in percent, at which a table grows, if none is given.
const DEFAULT_MAX_LOAD: u32 = 90;

/// The size at the start if none is given: 64 slots.
const DEFAULT_QUOTIENT_BITS: u32 = 6;

/// Settings for an [`ExpandableFilter`]. All of them may be left out.
///
/// ```
/// use twiceshy::expandable::Mode;
/// use twiceshy::ExpandableFilter;
///
/// // One false positive in a thousand queries, at every size.
/// let filter = ExpandableFilter::builder().error_rate(0.001).build()?;
/// assert_eq!(filter.mode(), Mode::Growing);
///
/// // The smallest, with growth in many small steps.
/// let filter = ExpandableFilter::builder().mode(Mode::Chained).spread_growth(true).build()?;
/// assert!(filter.size_in_bytes() < 500);
/// # Ok::<(), twiceshy::error::BuildError>(())
/// ```
#[derive(Debug, Clone, Default)]
#[must_use = "a builder does nothing until build() is called"]
pub struct Builder {
    mode: Mode,
    error_rate: Option<f64>,
    fingerprint_bits: Option<u32>,
    capacity: Option<u64>,
    quotient_bits: Option<u32>,
    max_load: Option<f64>,
    spread_growth: bool,
    hasher: Option<Hasher>,
    limits: Option<(u8, u32)>,
    block_bits: Option<u32>,
}

impl Builder {
    setters! {
        /// What to give up for endless growth: space (the default), the constant error rate, or the growth itself.
        mode(mode: Mode);

        /// The highest probability that a key that was never inserted is found. The default is 0.001.
        ///
        /// It holds at every size with [`Mode::Growing`]. The other modes have it when they are full for the first
        /// time, and up to `1 + d / 2` times of it after `d` doublings.
        error_rate(rate: f64);

        /// Bits of a fingerprint that a new key stores in its slot at the size at the start, instead of an error
        /// rate. A slot takes 3.1 bits more.
        fingerprint_bits(bits: u32);

        /// How many different keys fit before the filter grows for the first time, 57 if this is left out.
        ///
        /// A filter that starts large has fewer sizes to come, and keeps the same error rate with shorter
        /// fingerprints. It never gets smaller than this.
        capacity(keys: u64);

        /// `2^bits` slots at the start, instead of a capacity.
        quotient_bits(bits: u32);

        /// The share of slots in use at which the filter grows, from 0.5 to 0.95; 0.9 if this is left out.
        ///
        /// A higher one saves space, a lower one time.
        max_load(share: f64);

        /// Spreads growth over the operations that follow, so that no single insert takes long; and shrinking in the
        /// same way, so that no single removal does.
        ///
        /// While the filter grows (for about a tenth of the inserts between two doublings), the old and the new table
        /// are both in memory, and queries take up to twice as long. While it shrinks (for about one operation per 32
        /// slots), both are in memory, too; queries take no longer. Keys in the order of their hashes lie close together, and
        /// whatever moves shifts those that came since: if that costs too much, the rest moves at once.
        spread_growth(spread: bool);

        /// Only so many bits of every word of a hash, so that fingerprints soon need the next word. Such a filter
        /// is for keys or for raw hashes, not for both.
        #[cfg(any(test, fuzzing))]
        block_bits(bits: u32);
    }

    /// The empty filter.
    pub fn build(self) -> Result<ExpandableFilter, BuildError> {
        let settings = self.settings()?;
        Ok(ExpandableFilter::from_settings(settings, hasher_or_random(self.hasher)?)?)
    }

    fn settings(&self) -> Result<Settings, BuildError> {
        not_both(("error_rate", self.error_rate), ("fingerprint_bits", self.fingerprint_bits))?;
        not_both(("capacity", self.capacity), ("quotient_bits", self.quotient_bits))?;
        let max_load = match self.max_load {
            None => DEFAULT_MAX_LOAD,
            Some(share) if (0.5..=0.95).contains(&share) => (share * 100.0).round() as u32,
            Some(found) => return Err(BuildError::MaxLoad { found }),
        };
        let mut settings = Settings {
            lengths: Lengths::with_bits(self.mode, 1, 1),
            max_load,
            spread_growth: self.spread_growth,
            least_quotient_bits: DEFAULT_QUOTIENT_BITS,
            block_bits: self.block_bits.unwrap_or(64),
            template: with_limits(Shape::new(1, 2), self.limits),
        };
        let start = self.start(&settings)?;
        settings.least_quotient_bits = start;
        settings.lengths = match self.fingerprint_bits {
            Some(bits) => {
                in_range("fingerprint_bits", bits, 1, 40)?;
                Lengths::with_bits(self.mode, bits, start)
            }
            None => {
                let rate = self.error_rate.unwrap_or(DEFAULT_ERROR_RATE);
                Lengths::for_rate(self.mode, rate, start, f64::from(max_load) / 100.0)?
            }
        };
        Ok(settings)
    }

    /// Quotient bits at the start.
    fn start(&self, settings: &Settings) -> Result<u32, BuildError> {
        match (self.capacity, self.quotient_bits) {
            (_, Some(bits)) => in_range("quotient_bits", bits, 1, Shape::MAX_QUOTIENT_BITS),
            (None, None) => Ok(DEFAULT_QUOTIENT_BITS),
            (Some(keys), None) => {
                quotient_bits_for("capacity", keys, |bits| settings.slot_limit(&Shape::new(bits, 2)))
            }
        }
    }
}
