//! Choosing the shape of an adaptive range filter, and building one from many keys.

use std::borrow::Borrow;
use std::convert::Infallible;
use std::marker::PhantomData;

use super::{AdaptiveRangeFilter, AdaptiveRangeSet, Partitions};
use crate::codec::string::suffixes::SuffixSet;
use crate::error::{BuildError, RebuildError};
use crate::filter::adaptive::{self, Growth};
use crate::filter::range::RangeKey;
use crate::filter::range::partition::{Cut, DEFAULT_MAX_PARTITIONS, Partition, default_max_range};
use crate::filter::settings::as_for_points;
use crate::hash::{Hasher, Hashes, KeyWords};
use crate::reverse_map::ReverseMap;

/// Settings for an [`AdaptiveRangeFilter`] or an [`AdaptiveRangeSet`]. All have defaults.
///
/// ```
/// use twiceshy::AdaptiveRangeFilter;
///
/// let filter = AdaptiveRangeFilter::<u64>::builder().max_range(32).error_rate(0.01).build()?;
/// assert_eq!(filter.max_range(), 32);
/// assert!(filter.highest_error_rate() <= 0.01);
/// # Ok::<(), twiceshy::error::BuildError>(())
/// ```
#[must_use = "a builder does nothing until build() is called"]
pub struct Builder<K: ?Sized> {
    points: adaptive::Builder,
    max_range: Option<u64>,
    max_partitions: u32,
    keys: PhantomData<fn(&K)>,
}

impl<K: ?Sized> Default for Builder<K> {
    fn default() -> Self {
        let (points, max_partitions) = (adaptive::Builder::default(), DEFAULT_MAX_PARTITIONS);
        Self { points, max_range: None, max_partitions, keys: PhantomData }
    }
}

impl<K: ?Sized> Clone for Builder<K> {
    fn clone(&self) -> Self {
        Self { points: self.points.clone(), keys: PhantomData, ..*self }
    }
}

impl<K: ?Sized> std::fmt::Debug for Builder<K> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { points, max_range, max_partitions, keys: _ } = self;
        f.debug_struct("Builder")
            .field("points", points)
            .field("max_range", max_range)
            .field("max_partitions", max_partitions)
            .finish()
    }
}

impl<K: RangeKey + ?Sized> Builder<K> {
    as_for_points! {
        /// How many partitions with keys must fit before the filter grows, with room for adaptations: as many as keys, if
        /// these are scattered. The default is a few dozen.
        capacity(partitions: u64);

        /// The highest probability that a range of up to [`max_range`](Self::max_range) keys, none of which is in the set, and
        /// which was never asked for, is found, at every size. The default is 0.001.
        error_rate(rate: f64);

        /// `2^bits` slots, instead of a capacity.
        quotient_bits(bits: u32);

        /// At least `bits` bits of every new fingerprint after its quotient, instead of an error rate. The rate is then at most
        /// `2 · 2^-bits` as long as the filter does not grow, and `(bits + 2) · 2^-bits` when it does.
        remainder_bits(bits: u32);

        /// What to do when the filter is full. The default is to grow without a limit.
        growth(growth: Growth);

        /// Lets the table grow to this many bytes at most.
        max_bytes(bytes: u64);

        /// How to hash partitions. The default is a keyed hash with a fresh random key.
        hasher(hasher: Hasher);
    }

    /// The longest range, as a number of keys, for which the error rate holds: from 1 to 65,536. It is rounded up to a power of
    /// two, and every doubling costs a bit per key. The default is 64.
    pub fn max_range(self, keys: u64) -> Self {
        Self { max_range: Some(keys), ..self }
    }

    /// Longer ranges are looked up, too, as long as they meet no more than so many partitions of
    /// [`max_range`](Self::max_range) keys; the answer to those that do is *maybe*. At least 2, at most 65,535; the default is
    /// 64. A range that meets `n` is mistaken with up to `n / 2` times the error rate.
    pub fn max_partitions(self, partitions: u32) -> Self {
        Self { max_partitions: partitions, ..self }
    }

    /// The empty filter.
    pub fn build(self) -> Result<AdaptiveRangeFilter<K>, BuildError> {
        let max_range = self.max_range.unwrap_or(default_max_range::<K>());
        let cut = Cut::new(K::CODE_BITS, max_range, self.max_partitions)?;
        let (core, hasher) =
            self.points.build_core(Partitions::<K>::payload(cut), Partitions::<K>::LOOKUPS)?;
        Ok(AdaptiveRangeFilter::from_core(core, Partitions::new(hasher, cut)))
    }

    /// The empty set, on an empty reverse map.
    pub fn build_set<M: ReverseMap>(self, map: M) -> Result<AdaptiveRangeSet<K, M>, BuildError> {
        Ok(AdaptiveRangeSet::from_parts(self.build()?, map))
    }

    /// A filter of keys that come in the order of the hashes of their partitions, each once: the order of
    /// [`row`](super::Coded::row)s. Give the [`hasher`](Self::hasher) that orders them. One pass, many times as fast as single
    /// inserts.
    ///
    /// Without a [`capacity`](Self::capacity) the iterator's lower size bound is taken.
    ///
    /// ```
    /// use twiceshy::{AdaptiveRangeFilter, Hasher};
    ///
    /// let builder = AdaptiveRangeFilter::<u64>::builder().hasher(Hasher::random()?).max_range(32);
    /// let filter = builder.clone().build()?;
    /// let mut keys: Vec<u64> = (0..1_000).map(|number| number * number).collect();
    /// keys.sort_by_key(|key| filter.coded(key).hash());
    /// let filter = builder.from_sorted(&keys)?;
    /// assert!(keys.iter().all(|key| filter.contains(key)));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn from_sorted<T: Borrow<K>>(
        self,
        keys: impl IntoIterator<Item = T>,
    ) -> Result<AdaptiveRangeFilter<K>, RebuildError<Infallible>> {
        self.filled_with_codes(keys.into_iter().map(|key| key.borrow().code()))
    }

    fn filled_with_codes(
        self,
        codes: impl Iterator<Item = u128>,
    ) -> Result<AdaptiveRangeFilter<K>, RebuildError<Infallible>> {
        let points = self.points.clone().sized(codes.size_hint().0)?;
        let (core, reader) = Self { points, ..self }.build()?.into_core();
        let cut = reader.cut();
        let core = core.filled_with(codes.map(|code| {
            let (partition, suffix) = cut.split(code);
            (KeyWords::new(reader.hasher(), Partition::<K>::new(partition)), SuffixSet::of(suffix))
        }))?;
        Ok(AdaptiveRangeFilter::from_core(core, reader))
    }

    /// A filter of keys in any order, each any number of times, which are sorted first.
    pub fn from_keys<T: Borrow<K>>(
        self,
        keys: impl IntoIterator<Item = T>,
    ) -> Result<AdaptiveRangeFilter<K>, RebuildError<Infallible>> {
        let (core, reader) = self.clone().build()?.into_core();
        drop(core);
        let cut = reader.cut();
        let code = |key: T| key.borrow().code();
        let coded = keys.into_iter().map(code).map(|code| (reader.hash(cut.split(code).0), code));
        let mut coded: Vec<(u64, u128)> = coded.collect();
        coded.sort_unstable();
        coded.dedup();
        let builder = self.hasher(reader.hasher().clone());
        builder.filled_with_codes(coded.into_iter().map(|(_, code)| code))
    }
}
