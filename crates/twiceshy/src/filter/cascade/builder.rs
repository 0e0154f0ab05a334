//! Choosing the size of a cascade.

use std::marker::PhantomData;

use super::{Cascade, CascadeSet, Layer};
use crate::error::BuildError;
use crate::filter::settings::{DEFAULT_ERROR_RATE, check_rate, hasher_or_random};
use crate::hash::Hasher;
use crate::reverse_map::ReverseMap;

/// The largest capacity: no table has more cells than can be counted.
const MOST_KEYS: u64 = 1 << 40;

/// Settings for a [`Cascade`].
///
/// ```
/// use twiceshy::cascade::BloomCascade;
///
/// let filter = BloomCascade::builder().capacity(1_000_000).error_rate(0.01).build()?;
/// assert!(filter.size_in_bytes() < 1_500_000);
/// # Ok::<(), twiceshy::error::BuildError>(())
/// ```
#[derive(Debug, Clone)]
#[must_use = "a builder does nothing until build() is called"]
pub struct Builder<L> {
    capacity: Option<u64>,
    error_rate: Option<f64>,
    hasher: Option<Hasher>,
    layers: PhantomData<L>,
}

impl<L> Default for Builder<L> {
    fn default() -> Self {
        Self { capacity: None, error_rate: None, hasher: None, layers: PhantomData }
    }
}

impl<L: Layer> Builder<L> {
    /// How many keys must fit. A [set](CascadeSet) begins with room for so many, and with little if nothing is said.
    pub fn capacity(self, keys: u64) -> Self {
        Self { capacity: Some(keys), ..self }
    }

    /// The highest probability that a query that was never asked before is a mistake. The default is 0.001.
    pub fn error_rate(self, rate: f64) -> Self {
        Self { error_rate: Some(rate), ..self }
    }

    /// How to hash keys. The default is a keyed hash with a fresh random key.
    pub fn hasher(self, hasher: Hasher) -> Self {
        Self { hasher: Some(hasher), ..self }
    }

    /// The empty cascade, for keys that the caller keeps.
    pub fn build(self) -> Result<Cascade<L>, BuildError> {
        let capacity = self.capacity.ok_or(BuildError::NoSize)?;
        if capacity > MOST_KEYS {
            return Err(BuildError::OutOfRange { what: "capacity", min: 0, max: MOST_KEYS, found: capacity });
        }
        let rate = check_rate(self.error_rate.unwrap_or(DEFAULT_ERROR_RATE))?;
        Cascade::empty(hasher_or_random(self.hasher)?, 0, capacity, rate)
    }

    /// The empty cascade with a map for its keys, which has none yet.
    pub fn build_set<M: ReverseMap>(self, map: M) -> Result<CascadeSet<L, M>, BuildError> {
        let capacity = self.capacity.unwrap_or(super::LEAST_KEYS);
        Ok(CascadeSet::from_parts(Self { capacity: Some(capacity), ..self }.build()?, map))
    }
}
