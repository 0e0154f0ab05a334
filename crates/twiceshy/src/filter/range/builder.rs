//! Choosing the shape of a range filter.

use std::fmt;
use std::marker::PhantomData;

use super::boxed::Boxed;
use super::partition::{Cut, DEFAULT_MAX_PARTITIONS, default_max_range};
use super::settings::{HASH_BITS, Settings};
use super::{RangeFilter, RangeKey};
use crate::error::BuildError;
use crate::filter::expandable::Mode;
use crate::filter::expandable::lengths::Lengths;
use crate::filter::settings::{
    DEFAULT_ERROR_RATE, check_rate, hasher_or_random, in_range, not_both, quotient_bits_for, setters,
    with_limits,
};
use crate::hash::Hasher;
use crate::table::{MAX_LOAD_PERCENT, Shape};

/// The size at the start if none is given: 64 slots.
const DEFAULT_QUOTIENT_BITS: u32 = 6;

/// Settings for a [`RangeFilter`]. All of them may be left out.
///
/// ```
/// use twiceshy::RangeFilter;
///
/// // Ranges of up to 1,000 timestamps, one mistake in a hundred.
/// let filter = RangeFilter::<u64>::builder().max_range(1_000).error_rate(0.01).build()?;
/// assert_eq!(filter.max_range(), 1_024);
///
/// // A million keys and no more: the smallest.
/// let filter = RangeFilter::<u64>::builder().capacity(1_000_000).growth(false).build()?;
/// assert!(filter.capacity() >= 1_000_000 && !filter.grows());
///
/// // 2^16 slots with 9 bits of a fingerprint.
/// let filter = RangeFilter::<u64>::builder().quotient_bits(16).remainder_bits(9).build()?;
/// assert_eq!(filter.fingerprint_bits(), 25);
/// # Ok::<(), twiceshy::error::BuildError>(())
/// ```
#[must_use = "a builder does nothing until build() is called"]
pub struct Builder<K: ?Sized> {
    capacity: Option<u64>,
    error_rate: Option<f64>,
    max_range: Option<u64>,
    max_partitions: Option<u32>,
    quotient_bits: Option<u32>,
    remainder_bits: Option<u32>,
    growth: Option<bool>,
    hasher: Option<Hasher>,
    limits: Option<(u8, u32)>,
    key: PhantomData<fn(&K)>,
}

impl<K: ?Sized> Default for Builder<K> {
    fn default() -> Self {
        Self {
            capacity: None,
            error_rate: None,
            max_range: None,
            max_partitions: None,
            quotient_bits: None,
            remainder_bits: None,
            growth: None,
            hasher: None,
            limits: None,
            key: PhantomData,
        }
    }
}

impl<K: ?Sized> Clone for Builder<K> {
    fn clone(&self) -> Self {
        Self { hasher: self.hasher.clone(), ..*self }
    }
}

impl<K: ?Sized> fmt::Debug for Builder<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Builder")
            .field("capacity", &self.capacity)
            .field("error_rate", &self.error_rate)
            .field("max_range", &self.max_range)
            .field("max_partitions", &self.max_partitions)
            .field("quotient_bits", &self.quotient_bits)
            .field("remainder_bits", &self.remainder_bits)
            .field("growth", &self.growth)
            .field("hasher", &self.hasher)
            .finish()
    }
}

impl<K: RangeKey + ?Sized> Builder<K> {
    setters! {
        /// How many keys fit before the filter grows, or is full; 60 if this is left out.
        ///
        /// Up to this size fingerprints are as short as they can be. One that may grow takes one bit per key more than one
        /// that may not.
        capacity(keys: u64);

        /// The highest probability that a range of up to [`max_range`](Self::max_range) keys seems to have one, and has none. The
        /// default is 0.001. For single keys it is half of that.
        error_rate(rate: f64);

        /// The longest range for which the error rate holds, up to 65,536; the next power of two is taken. The default is 64.
        ///
        /// Every doubling takes a bit per key. A range of `n` times as many keys has `(n + 1) / 2` times the rate.
        max_range(keys: u64);

        /// How many partitions, of as many keys as the longest range has, a range may meet: beyond that it is not looked up, and
        /// the answer is `true`. From 2 to 65,535; the default is 64.
        max_partitions(partitions: u32);

        /// `2^bits` slots at the start, instead of a capacity.
        quotient_bits(bits: u32);

        /// Bits of a fingerprint that are stored at the size at the start, instead of an error rate: the rate is at most
        /// `2 * 2^-bits` before the filter grows. With one bit or two, keys that come first match so much that a table of any
        /// size may be full of them: give such a filter its size.
        remainder_bits(bits: u32);

        /// Whether the filter may grow by itself, which is the default. Else it is an error to insert more than fits.
        growth(may: bool);
    }

    /// The empty filter.
    pub fn build(self) -> Result<RangeFilter<K>, BuildError> {
        let settings = self.settings()?;
        let boxes = Boxed::new(layout(&settings)?)?;
        Ok(RangeFilter { boxes, hasher: hasher_or_random(self.hasher)?, settings, len: 0, key: PhantomData })
    }

    /// Whether the settings say how large the filter is.
    pub(super) fn has_size(&self) -> bool {
        self.capacity.is_some() || self.quotient_bits.is_some()
    }

    pub(super) fn given_hasher(&self) -> Option<Hasher> {
        self.hasher.clone()
    }

    /// With `2^bits` slots at the start.
    pub(super) fn enlarged(self, bits: u32) -> Self {
        Self { capacity: None, quotient_bits: Some(bits), ..self }
    }

    pub(super) fn settings(&self) -> Result<Settings, BuildError> {
        not_both(("error_rate", self.error_rate), ("remainder_bits", self.remainder_bits))?;
        not_both(("capacity", self.capacity), ("quotient_bits", self.quotient_bits))?;
        let (max_range, max_partitions) = (
            self.max_range.unwrap_or(default_max_range::<K>()),
            self.max_partitions.unwrap_or(DEFAULT_MAX_PARTITIONS),
        );
        let cut = Cut::new(K::CODE_BITS, max_range, max_partitions)?;
        let grows = self.growth.unwrap_or(true);
        let start = self.start()?;
        let (stored_bits, lengths) = self.lengths(start, grows)?;
        let (first_bits, slot_bits) = (start + stored_bits, stored_bits + cut.suffix_bits());
        if first_bits > HASH_BITS || slot_bits > 64 {
            return Err(BuildError::NotEnoughBits {
                needed: first_bits.max(slot_bits),
                available: HASH_BITS,
            });
        }
        let template = with_limits(Shape::new(1, 2), self.limits);
        Ok(Settings { cut, key_type: K::TYPE, grows, start, first_bits, lengths, template })
    }

    /// Quotient bits at the start.
    fn start(&self) -> Result<u32, BuildError> {
        let room = |bits| Shape::new(bits, 1).slot_limit();
        match (self.capacity, self.quotient_bits) {
            (_, Some(bits)) => in_range("quotient_bits", bits, 1, Shape::MAX_QUOTIENT_BITS),
            (Some(keys), None) => quotient_bits_for("capacity", keys, room),
            (None, None) => Ok(DEFAULT_QUOTIENT_BITS),
        }
    }

    /// How many bits fingerprints have after their quotient at the start, and how long they are later.
    fn lengths(&self, start: u32, grows: bool) -> Result<(u32, Lengths), BuildError> {
        if let Some(bits) = self.remainder_bits {
            in_range("remainder_bits", bits, 1, 48)?;
            return Ok((bits, Lengths::with_bits(Mode::Growing, bits, start)));
        }
        // Two partitions have a half each.
        let rate = check_rate(self.error_rate.unwrap_or(DEFAULT_ERROR_RATE))? / 2.0;
        let load = MAX_LOAD_PERCENT as f64 / 100.0;
        let bits_for = |rate: f64| (load / rate).log2().ceil().clamp(1.0, 9_999.0) as u32;
        if !grows {
            let bits = bits_for(rate);
            return Ok((bits, Lengths::with_bits(Mode::Growing, bits.min(48), start)));
        }
        if !self.has_size() {
            let lengths = Lengths::for_rate(Mode::Growing, rate, start, load)?;
            return Ok((lengths.stored_bits(start), lengths));
        }
        // Half of the rate for the keys up to this size, half for all others.
        Ok((bits_for(rate / 2.0), Lengths::for_rate(Mode::Growing, rate / 2.0, start, load)?))
    }
}

/// The table at the start.
pub(super) fn layout(settings: &Settings) -> Result<(Shape, crate::codec::boxes::Boxes), BuildError> {
    let needed = settings.first_bits;
    settings.first_layout().ok_or(BuildError::NotEnoughBits { needed, available: HASH_BITS })
}
