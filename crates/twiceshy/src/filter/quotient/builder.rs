//! Choosing the shape of a quotient filter.

use super::QuotientFilter;
use crate::error::BuildError;
use crate::filter::settings::{
    self, DEFAULT_ERROR_RATE, check_rate, in_range, not_both, setters, with_limits,
};
use crate::hash::Hasher;
use crate::table::{Shape, Table};

/// Bits of the hash that fingerprints are cut from.
const HASH_BITS: u32 = 64;

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
    pub(crate) shards: Option<usize>,
    hasher: Option<Hasher>,
    limits: Option<(u8, u32)>,
}

/// What the settings come down to.
pub(super) struct Sizes {
    pub(super) shape: Shape,
    pub(super) max_quotient_bits: u32,
}

impl Builder {
    setters! {
        /// How many different keys must fit. A second copy of a key takes a slot like another key, three copies
        /// take four slots, and a billion copies seven of 9 bits.
        capacity(keys: u64);

        /// The highest probability that a key that was never inserted is found, up to the point where the
        /// filter is full. The default is 0.001.
        error_rate(rate: f64);

        /// `2^bits` slots, instead of a capacity.
        quotient_bits(bits: u32);

        /// `bits` bits per slot, instead of an error rate: the rate is at most `2^-bits`.
        remainder_bits(bits: u32);

        /// Lets the filter grow by itself until it has room for `keys` different keys.
        ///
        /// Growth takes bits from the remainders. With an [`error_rate`](Self::error_rate) the builder adds
        /// the bits that growth will need, so that the rate holds at every size; with explicit
        /// [`remainder_bits`](Self::remainder_bits) they are the bits at the start.
        grow_to(keys: u64);

        /// How many shards a [shared](Self::build_shared) filter has, rounded up to a power of two, at most 65,536. By default
        /// that follows from its size. Threads that change the same shard wait for each other.
        shards(shards: usize);
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
        settings::hasher_or_random(self.hasher)
    }

    pub(super) fn plan(&self) -> Result<Sizes, BuildError> {
        not_both(("error_rate", self.error_rate), ("remainder_bits", self.remainder_bits))?;
        not_both(("capacity", self.capacity), ("quotient_bits", self.quotient_bits))?;
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
        Ok(Sizes { shape: with_limits(shape, self.limits), max_quotient_bits: largest })
    }

    fn plan_quotient_bits(&self) -> Result<u32, BuildError> {
        match (self.capacity, self.quotient_bits) {
            (None, None) => Err(BuildError::NoSize),
            (Some(keys), _) => quotient_bits_for(keys, "capacity"),
            (None, Some(bits)) => in_range("quotient_bits", bits, 1, Shape::MAX_QUOTIENT_BITS),
        }
    }

    /// The fewest remainder bits that keep the rate when the table is as full as it may be.
    fn remainder_bits_for_rate(&self) -> Result<u32, BuildError> {
        let rate = check_rate(self.error_rate.unwrap_or(DEFAULT_ERROR_RATE))?;
        let load = crate::table::MAX_LOAD_PERCENT as f64 / 100.0;
        // The smallest rates make this infinite; any number beyond the hash will do for them.
        Ok((load / rate).log2().ceil().clamp(1.0, 9_999.0) as u32)
    }
}

/// The fewest quotient bits with room for `keys` keys.
fn quotient_bits_for(keys: u64, what: &'static str) -> Result<u32, BuildError> {
    settings::quotient_bits_for(what, keys, |bits| Shape::new(bits, 1).slot_limit())
}
