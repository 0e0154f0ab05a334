//! Choosing the shape of a quotient filter.

use super::QuotientFilter;
use crate::error::BuildError;
use crate::filter::slot_limit;
use crate::filter::{check_rate, in_range};
use crate::hash::Hasher;
use crate::table::{Shape, Table};

/// Bits of the hash that fingerprints are cut from.
const HASH_BITS: u32 = 64;

/// The error rate if none is given: 9 remainder bits.
const DEFAULT_ERROR_RATE: f64 = 1.0 / 512.0;

/// Settings for a [`QuotientFilter`].
///
/// Give a [`capacity`](Self::capacity) and an [`error_rate`](Self::error_rate), or the two widths
/// themselves.
///
/// ```
/// use twiceshy::{Hasher, QuotientFilter};
///
/// // A million keys, one false positive in a thousand queries.
/// let filter = QuotientFilter::builder().capacity(1_000_000).error_rate(0.001).build()?;
/// assert!(filter.capacity() >= 1_000_000);
///
/// // Starts small, grows to a million keys, and holds the error rate all the way.
/// let filter = QuotientFilter::builder().capacity(100).grow_to(1_000_000).error_rate(0.001).build()?;
/// assert!(filter.size_in_bytes() < 1_000);
///
/// // 2^16 slots of 9 bits, and a fast hash because the keys are trusted.
/// let filter = QuotientFilter::builder().quotient_bits(16).remainder_bits(9).hasher(Hasher::fast()).build()?;
/// assert_eq!(filter.slots(), 65_536);
/// # Ok::<(), twiceshy::error::BuildError>(())
/// ```
#[derive(Debug, Clone, Default)]
#[must_use = "a builder does nothing until build() is called"]
pub struct Builder {
    capacity: Option<u64>,
    error_rate: Option<f64>,
    quotient_bits: Option<u32>,
    remainder_bits: Option<u32>,
    grow_to: Option<u64>,
    hasher: Option<Hasher>,
    #[cfg(any(test, fuzzing))]
    limits: Option<(u8, u32)>,
}

/// What the settings come down to.
pub(super) struct Plan {
    pub(super) shape: Shape,
    pub(super) max_quotient_bits: u32,
}

impl Builder {
    pub(super) fn new() -> Self {
        Self::default()
    }

    /// How many different keys must fit. A second copy of a key takes a slot like another key, three copies
    /// take four slots, and a billion copies seven of 9 bits.
    pub fn capacity(mut self, keys: u64) -> Self {
        self.capacity = Some(keys);
        self
    }

    /// The highest probability that a key that was never inserted is found, up to the point where the
    /// filter is full. The default is 1/512.
    pub fn error_rate(mut self, rate: f64) -> Self {
        self.error_rate = Some(rate);
        self
    }

    /// `2^bits` slots, instead of a capacity.
    pub fn quotient_bits(mut self, bits: u32) -> Self {
        self.quotient_bits = Some(bits);
        self
    }

    /// `bits` bits per slot, instead of an error rate: the rate is at most `2^-bits`.
    pub fn remainder_bits(mut self, bits: u32) -> Self {
        self.remainder_bits = Some(bits);
        self
    }

    /// Lets the filter grow by itself until it has room for `keys` different keys.
    ///
    /// Growth takes bits from the remainders. With an [`error_rate`](Self::error_rate) the builder adds
    /// the bits that growth will need, so that the rate holds at every size; with explicit
    /// [`remainder_bits`](Self::remainder_bits) they are the bits at the start.
    pub fn grow_to(mut self, keys: u64) -> Self {
        self.grow_to = Some(keys);
        self
    }

    /// How to hash keys. The default is a keyed hash with a fresh random key.
    pub fn hasher(mut self, hasher: Hasher) -> Self {
        self.hasher = Some(hasher);
        self
    }

    /// Small internal limits make rare paths common.
    #[cfg(any(test, fuzzing))]
    pub fn limits(mut self, offset_max: u8, spill_slots: u32) -> Self {
        self.limits = Some((offset_max, spill_slots));
        self
    }

    /// The empty filter.
    pub fn build(self) -> Result<QuotientFilter, BuildError> {
        let plan = self.plan()?;
        let table = Table::new(plan.shape)?;
        Ok(QuotientFilter {
            table,
            hasher: self.into_hasher()?,
            len: 0,
            distinct: 0,
            max_quotient_bits: plan.max_quotient_bits,
        })
    }

    /// Whether the settings say how large the filter is.
    pub(super) fn has_size(&self) -> bool {
        self.capacity.is_some() || self.quotient_bits.is_some()
    }

    pub(super) fn into_hasher(self) -> Result<Hasher, BuildError> {
        match self.hasher {
            Some(hasher) => Ok(hasher),
            None => Ok(Hasher::random()?),
        }
    }

    pub(super) fn plan(&self) -> Result<Plan, BuildError> {
        if self.error_rate.is_some() && self.remainder_bits.is_some() {
            return Err(BuildError::Contradiction { first: "error_rate", second: "remainder_bits" });
        }
        let quotient_bits = self.plan_quotient_bits()?;
        let largest = match self.grow_to {
            Some(keys) => quotient_bits.max(quotient_bits_for(keys, "grow_to")?),
            None => quotient_bits,
        };
        // Explicit remainder bits are those at the start, an error rate must hold at the end.
        let fingerprint_bits = match self.remainder_bits {
            Some(bits) => quotient_bits + in_range("remainder_bits", bits, 1, HASH_BITS - 1)?,
            None => largest + self.remainder_bits_for_rate()?,
        };
        if fingerprint_bits > HASH_BITS {
            return Err(BuildError::NotEnoughBits { needed: fingerprint_bits, available: HASH_BITS });
        }
        if fingerprint_bits <= largest {
            let missing = largest + 1 - fingerprint_bits;
            return Err(BuildError::CannotGrow { missing });
        }
        let shape = Shape::new(quotient_bits, fingerprint_bits - quotient_bits);
        #[cfg(any(test, fuzzing))]
        let shape = match self.limits {
            Some((offset_max, spill)) => shape.with_limits(offset_max, spill).expect("sensible limits"),
            None => shape,
        };
        Ok(Plan { shape, max_quotient_bits: largest })
    }

    fn plan_quotient_bits(&self) -> Result<u32, BuildError> {
        match (self.capacity, self.quotient_bits) {
            (None, None) => Err(BuildError::NoSize),
            (Some(_), Some(_)) => {
                Err(BuildError::Contradiction { first: "capacity", second: "quotient_bits" })
            }
            (Some(keys), None) => quotient_bits_for(keys, "capacity"),
            (None, Some(bits)) => in_range("quotient_bits", bits, 1, Shape::MAX_QUOTIENT_BITS),
        }
    }

    /// The fewest remainder bits that keep the rate when the table is as full as it may be.
    fn remainder_bits_for_rate(&self) -> Result<u32, BuildError> {
        let rate = check_rate(self.error_rate.unwrap_or(DEFAULT_ERROR_RATE))?;
        let load = crate::filter::MAX_LOAD_PERCENT as f64 / 100.0;
        // The smallest rates make this infinite; any number beyond the hash will do for them.
        Ok((load / rate).log2().ceil().clamp(1.0, 9_999.0) as u32)
    }
}

/// The fewest quotient bits with room for `keys` keys.
fn quotient_bits_for(keys: u64, what: &'static str) -> Result<u32, BuildError> {
    (1..=Shape::MAX_QUOTIENT_BITS).find(|&bits| keys <= slot_limit(&Shape::new(bits, 1))).ok_or_else(|| {
        let max = slot_limit(&Shape::new(Shape::MAX_QUOTIENT_BITS, 1));
        BuildError::OutOfRange { what, min: 0, max, found: keys }
    })
}
