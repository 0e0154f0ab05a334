//! Choosing the shape of an adaptive filter.

use super::{AdaptiveFilter, AdaptiveSet, Growth};
use crate::codec::string::{Payload, Tags};
use crate::error::BuildError;
use crate::filter::core::{Core, highest_rate, size_for};
use crate::filter::settings::{
    DEFAULT_ERROR_RATE, check_rate, hasher_or_random, in_range, not_both, setters,
};
use crate::filter::shared::{bits_of, shard_bits};
use crate::hash::Hasher;
use crate::reverse_map::ReverseMap;
use crate::table::{Part, Shape, Size};

/// The size if none is given: 64 slots, one block.
const DEFAULT_QUOTIENT_BITS: u32 = 6;

/// As many bits of a hash say which shard it is in if nothing is known of the size.
const GROWING_SHARD_BITS: u32 = 6;

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
    shards: Option<usize>,
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

        /// How many shards a [shared](Self::build_shared) filter has, rounded up to a power of two, at most 65,536. By default
        /// that follows from its size. Threads that change the same shard wait for each other.
        shards(shards: usize);
    }

    /// Lets the table grow to this many bytes at most.
    pub fn max_bytes(self, bytes: u64) -> Self {
        self.growth(Growth::Grow { max_bytes: Some(bytes) })
    }

    /// Lets the table grow to this many bytes at most, and from then on [forget](Growth::Rotate) what it learned longest ago.
    ///
    /// ```
    /// use twiceshy::reverse_map::MemoryMap;
    /// use twiceshy::AdaptiveSet;
    ///
    /// let mut set = AdaptiveSet::builder().error_rate(0.1).rotate_at(2_000).build_set(MemoryMap::new())?;
    /// for key in 0..900u32 {
    ///     set.insert(&key)?;
    /// }
    /// // However many mistakes are found: there is always room to learn.
    /// for query in 900..100_000u32 {
    ///     assert!(!set.contains_exactly(&query)?);
    /// }
    /// assert!(set.filter().size_in_bytes() <= 2_000 && set.filter().turn().epoch() > 0);
    /// assert!((0..900u32).all(|key| set.contains(&key)));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn rotate_at(self, max_bytes: u64) -> Self {
        self.growth(Growth::Rotate { max_bytes })
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

    /// Empty filters for `2^bits` parts of all hashes, which together are as large as one; `bits`, and their hasher.
    pub(crate) fn build_parts(self) -> Result<(u32, Vec<AdaptiveFilter>, Hasher), BuildError> {
        if let Growth::Rotate { .. } = self.growth {
            // Each shard would hash its keys in a turn of its own.
            return Err(BuildError::Contradiction { first: "Growth::Rotate", second: "a shared filter" });
        }
        let bits = match (self.shards, self.capacity, self.quotient_bits) {
            (Some(shards), ..) => bits_of(shards),
            (None, None, None) => GROWING_SHARD_BITS,
            _ => shard_bits(self.plan_size()?.quotient_bits()),
        };
        let remainder_bits = self.plan_remainder_bits(Tags.head_bits(), 1)?;
        let size = match (self.capacity, self.plan_size()?) {
            (Some(keys), _) => {
                let each = keys >> bits;
                // By chance some get more than others. Those that may grow do.
                let more = if self.growth == Growth::Refuse { 6 * each.isqrt() + 6 } else { 0 };
                size_for(each + more)?
            }
            (None, size) => size.quotient_bits().saturating_sub(bits).max(1).into(),
        };
        let growth = match self.growth {
            Growth::Grow { max_bytes: Some(bytes) } => Growth::Grow { max_bytes: Some(bytes >> bits) },
            growth => growth,
        };
        let hasher = hasher_or_random(self.hasher)?;
        let part = |number| {
            let part = Part::new(number, bits);
            let core = Core::empty_part(Tags, size, remainder_bits, growth, self.limits, part)?;
            Ok(AdaptiveFilter::from_core(core, hasher.clone()))
        };
        let filters = (0..1 << bits).map(part).collect::<Result<_, BuildError>>()?;
        Ok((bits, filters, hasher))
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
