//! Choosing the shape of an adaptive filter.

use super::{AdaptiveFilter, AdaptiveSet, Growth};
use crate::codec::string::{Payload, Tags};
use crate::error::BuildError;
use crate::filter::core::{Core, highest_rate, size_for};
use crate::filter::settings::{
    DEFAULT_ERROR_RATE, check_rate, hasher_or_random, in_range, not_both, setters,
};
use crate::hash::Hasher;
use crate::reverse_map::ReverseMap;
use crate::table::{Shape, Size};

/// The size if none is given: 64 slots, one block.
const DEFAULT_QUOTIENT_BITS: u32 = 6;

/// The most remainder bits: a stop bit and a bit of a smaller quotient must fit a slot too.
const MAX_REMAINDER_BITS: u32 = 60;

/// Settings for an [`AdaptiveFilter`] or an [`AdaptiveSet`]. All have defaults.
///
/// With growth (the default) the filter starts small, and the remainders get the few bits more that growth
/// for ever takes: 12 instead of 9 for an error rate of 1/512.
///
/// ```
/// use twiceshy::adaptive::Growth;
/// use twiceshy::AdaptiveFilter;
///
/// let growing = AdaptiveFilter::builder().error_rate(1.0 / 512.0).build()?;
/// assert_eq!(growing.remainder_bits(), 12);
///
/// let fixed = AdaptiveFilter::builder()
///     .capacity(1_000_000)
///     .error_rate(1.0 / 512.0)
///     .growth(Growth::Refuse)
///     .build()?;
/// assert_eq!(fixed.remainder_bits(), 9);
/// # Ok::<(), twiceshy::error::BuildError>(())
/// ```
#[derive(Debug, Clone, Default)]
#[must_use = "a builder does nothing until build() is called"]
pub struct Builder {
    pub(super) capacity: Option<u64>,
    error_rate: Option<f64>,
    pub(super) quotient_bits: Option<u32>,
    remainder_bits: Option<u32>,
    growth: Growth,
    hasher: Option<Hasher>,
    limits: Option<(u8, u32)>,
}

impl Builder {
    setters! {
        /// How many keys must fit before the filter grows, with room for adaptations. The default is a few
        /// dozen.
        capacity(keys: u64);

        /// The highest probability that a key that is not in the set and was never asked for is found, at every
        /// size. The default is 0.001.
        error_rate(rate: f64);

        /// `2^bits` slots, instead of a capacity.
        quotient_bits(bits: u32);

        /// At least `bits` bits of every new fingerprint after its quotient, instead of an error rate. The rate
        /// is then at most `2^-bits` as long as the filter does not grow, and `(bits + 2) · 2^-(bits + 1)` when
        /// it does.
        remainder_bits(bits: u32);

        /// What to do when the filter is full. The default is to grow without a limit.
        growth(growth: Growth);
    }

    /// Lets the table grow to this many bytes at most.
    pub fn max_bytes(self, bytes: u64) -> Self {
        self.growth(Growth::Grow { max_bytes: Some(bytes) })
    }

    /// The empty filter.
    pub fn build(self) -> Result<AdaptiveFilter, BuildError> {
        let (core, hasher) = self.build_core(Tags, 1)?;
        Ok(AdaptiveFilter::from_core(core, hasher))
    }

    /// An empty core for queries that meet so many fingerprints, and a hasher.
    pub(crate) fn build_core<P: Payload>(
        self,
        payload: P,
        lookups: u32,
    ) -> Result<(Core<P>, Hasher), BuildError> {
        let remainder_bits = self.plan_remainder_bits(payload.head_bits(), lookups)?;
        let size = self.plan_size()?;
        let core = Core::empty(payload, size, remainder_bits, self.growth, self.limits)?;
        Ok((core, hasher_or_random(self.hasher)?))
    }

    /// The hasher that was chosen, or a random one.
    pub(crate) fn chosen_hasher(&self) -> Result<Hasher, BuildError> {
        hasher_or_random(self.hasher.clone())
    }

    /// The empty set, on an empty reverse map.
    pub fn build_set<M: ReverseMap>(self, map: M) -> Result<AdaptiveSet<M>, BuildError> {
        Ok(AdaptiveSet::from_parts(self.build()?, map))
    }

    fn plan_size(&self) -> Result<Size, BuildError> {
        not_both(("capacity", self.capacity), ("quotient_bits", self.quotient_bits))?;
        match (self.capacity, self.quotient_bits) {
            (Some(keys), _) => size_for(keys),
            (None, Some(bits)) => Ok(in_range("quotient_bits", bits, 1, Shape::MAX_QUOTIENT_BITS)?.into()),
            (None, None) if self.growth == Growth::Refuse => Err(BuildError::NoSize),
            (None, None) => Ok(DEFAULT_QUOTIENT_BITS.into()),
        }
    }

    /// For heads with some bits of their own, and queries that meet so many fingerprints.
    fn plan_remainder_bits(&self, own_bits: u32, lookups: u32) -> Result<u32, BuildError> {
        not_both(("error_rate", self.error_rate), ("remainder_bits", self.remainder_bits))?;
        let available = MAX_REMAINDER_BITS - own_bits;
        match (self.error_rate, self.remainder_bits) {
            (_, Some(bits)) => in_range("remainder_bits", bits, 1, available),
            (rate, None) => {
                let rate = check_rate(rate.unwrap_or(DEFAULT_ERROR_RATE))? / f64::from(lookups);
                let enough = |bits: &u32| highest_rate(*bits, self.growth) <= rate;
                let needed = (1.0 / rate).log2().ceil() as u32;
                (1..=available).find(enough).ok_or(BuildError::NotEnoughBits { needed, available })
            }
        }
    }
}
