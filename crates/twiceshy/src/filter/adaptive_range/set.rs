//! The filter and its reverse map, in step by themselves.

use std::borrow::Borrow;
use std::ops::{ControlFlow, RangeBounds, RangeInclusive};

use super::{AdaptiveRangeFilter, Builder, Partitions};
use crate::error::SetError;
use crate::filter::adaptive::{Adapted, Set};
use crate::filter::batch::{CHUNK, FAR};
use crate::filter::protocol::Insert;
use crate::filter::range::RangeKey;
use crate::filter::range::key::codes;
use crate::reverse_map::{MemoryMap, ReverseMap};

/// A set of keys that have an order, with an adaptive filter in front that answers ranges: grows by itself, and never makes the
/// same mistake twice.
///
/// It keeps an [`AdaptiveRangeFilter`] and a [`ReverseMap`] with all keys in step, as [`AdaptiveSet`](crate::AdaptiveSet) does for
/// keys without an order.
///
/// ```
/// use twiceshy::AdaptiveRangeSet;
/// use twiceshy::reverse_map::MemoryMap;
///
/// // At most one false positive in a hundred new ranges of up to 20 keys.
/// let mut visits = AdaptiveRangeSet::<u64, _>::builder().max_range(20).error_rate(0.01).build_set(MemoryMap::new())?;
/// for second in (0..100_000).step_by(100) {
///     visits.insert(&second)?;
/// }
/// // The filter alone: `false` is certain.
/// assert!(visits.contains_range(995..1_005));
/// assert!(visits.contains(&500));
///
/// // With the map, and with learning: no answer is ever wrong here, and no range that was a false positive costs a look
/// // into the map again.
/// for second in (0..100_000).step_by(100) {
///     assert!(!visits.contains_range_exactly(second + 1..second + 20)?);
///     assert!(!visits.contains_range(second + 1..second + 20));
/// }
/// assert!(visits.remove(&500)?);
/// assert_eq!(visits.len(), 999);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// An error of the map leaves filter and map as they were; what the map did before it failed, only it knows.
pub type AdaptiveRangeSet<K, M> = Set<Partitions<K>, M>;

impl<K: RangeKey + ?Sized> AdaptiveRangeSet<K, MemoryMap> {
    /// Chooses size, error rate, the longest range, hash and growth; then call [`build_set`](Builder::build_set) with a map.
    pub fn builder() -> Builder<K> {
        AdaptiveRangeFilter::builder()
    }
}

impl<K: RangeKey + ?Sized, M: ReverseMap> AdaptiveRangeSet<K, M> {
    /// Whether `key` may be in the set. `false` is certain. Asks the filter only.
    #[inline]
    pub fn contains<Q: RangeKey + ?Sized>(&self, key: &Q) -> bool
    where
        K: Borrow<Q>,
    {
        self.filter().contains(key)
    }

    /// Whether there may be a key in the range. `false` is certain. Asks the filter only; see
    /// [`AdaptiveRangeFilter::contains_range`].
    #[inline]
    pub fn contains_range<Q: RangeKey + ?Sized>(&self, range: impl RangeBounds<Q>) -> bool
    where
        K: Borrow<Q>,
    {
        self.filter().contains_range(range)
    }

    /// [`contains`](Self::contains) for every key, in order.
    ///
    /// # Panics
    ///
    /// If there are not as many answers as keys.
    pub fn contains_batch<Q: RangeKey>(&self, keys: &[Q], found: &mut [bool])
    where
        K: Borrow<Q>,
    {
        self.filter().contains_batch(keys, found);
    }

    /// [`contains_range`](Self::contains_range) for every range, in order.
    ///
    /// # Panics
    ///
    /// If there are not as many answers as ranges.
    pub fn contains_range_batch<Q: RangeKey + ?Sized, T: RangeBounds<Q>>(
        &self,
        ranges: &[T],
        found: &mut [bool],
    ) where
        K: Borrow<Q>,
    {
        self.filter().contains_range_batch(ranges, found);
    }

    /// Whether `key` is in the set. Asks the map if the filter says *maybe*, and learns nothing from it.
    pub fn lookup<Q: RangeKey + ?Sized>(&self, key: &Q) -> Result<bool, M::Error>
    where
        K: Borrow<Q>,
    {
        let coded = self.filter().reader.coded_row(key);
        Ok(self.filter().contains(key) && self.map().contains(coded.hash(), coded.bytes())?)
    }

    /// Whether there is a key in the range. Asks the map for those partitions to which the filter says *maybe*, and learns
    /// nothing from it.
    ///
    /// The map is in the order of hashes. So a range that meets more than [`max_partitions`](AdaptiveRangeFilter::max_partitions)
    /// is answered by looking through all keys.
    pub fn lookup_range<Q: RangeKey + ?Sized>(&self, range: impl RangeBounds<Q>) -> Result<bool, M::Error>
    where
        K: Borrow<Q>,
    {
        let (Some(codes), reader) = (codes(&range), &self.filter().reader) else { return Ok(false) };
        let bounds = reader.row_bounds(&range);
        let bounds = (bounds.0.as_ref().map(Vec::as_slice), bounds.1.as_ref().map(Vec::as_slice));
        let has_key = |hashes: RangeInclusive<u64>| {
            let mut found = false;
            self.map().visit(hashes, &mut |row| {
                found = RangeBounds::<[u8]>::contains(&bounds, row.key);
                if found { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
            })?;
            Ok(found)
        };
        if reader.cut().is_too_long(&codes) {
            return has_key(0..=u64::MAX);
        }
        for part in self.filter().positive_parts(&range) {
            if has_key(part.hash()..=part.hash())? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Whether `key` is in the set. Asks the map if the filter says *maybe*, and [adapts](Self::adapt) if that was a mistake.
    pub fn contains_exactly<Q: RangeKey + ?Sized>(&mut self, key: &Q) -> Result<bool, SetError<M::Error>>
    where
        K: Borrow<Q>,
    {
        if !self.contains(key) {
            return Ok(false);
        }
        let is_member = self.lookup(key).map_err(SetError::Map)?;
        if !is_member {
            self.adapt(key)?;
        }
        Ok(is_member)
    }

    /// Whether there is a key in the range. Asks the map if the filter says *maybe*, and [adapts](Self::adapt_range) if that was
    /// a mistake.
    pub fn contains_range_exactly<Q: RangeKey + ?Sized>(
        &mut self,
        range: impl RangeBounds<Q>,
    ) -> Result<bool, SetError<M::Error>>
    where
        K: Borrow<Q>,
    {
        let range = (range.start_bound(), range.end_bound());
        if !self.contains_range(range) {
            return Ok(false);
        }
        let is_member = self.lookup_range(range).map_err(SetError::Map)?;
        if !is_member {
            self.adapt_range(range)?;
        }
        Ok(is_member)
    }

    /// Inserts a key. `false` if it was there already.
    ///
    /// An error leaves the set as it was, as far as the map does.
    pub fn insert<Q: RangeKey + ?Sized>(&mut self, key: &Q) -> Result<bool, SetError<M::Error>>
    where
        K: Borrow<Q>,
    {
        let coded = self.filter().reader.coded_row(key);
        self.drive(Insert::map_first(coded.row(), coded.suffixes()))
    }

    /// Inserts every key and tells how many were new: many inserts in one call, whose memory is asked for in time.
    ///
    /// If there is an error, the keys before the one that failed are in, in the filter and in the map, and no other key is;
    /// the same batch again is right.
    pub fn insert_batch<Q: RangeKey>(&mut self, keys: &[Q]) -> Result<u64, SetError<M::Error>>
    where
        K: Borrow<Q>,
    {
        let ask_for = |filter: &AdaptiveRangeFilter<K>, key: &Q| filter.prefetch(filter.coded(key).hash());
        keys.iter().take(FAR).for_each(|key| ask_for(self.filter(), key));
        let mut new = 0;
        for (i, key) in keys.iter().enumerate() {
            if let Some(ahead) = keys.get(i + FAR) {
                ask_for(self.filter(), ahead);
            }
            new += u64::from(self.insert(key)?);
        }
        Ok(new)
    }

    /// Inserts all keys of an iterator and tells how many were new. An error leaves the keys before the one that failed in
    /// the set.
    pub fn try_extend<Q: RangeKey>(
        &mut self,
        keys: impl IntoIterator<Item = Q>,
    ) -> Result<u64, SetError<M::Error>>
    where
        K: Borrow<Q>,
    {
        let (mut keys, mut chunk, mut new) = (keys.into_iter(), Vec::with_capacity(CHUNK), 0);
        loop {
            chunk.extend(keys.by_ref().take(CHUNK));
            if chunk.is_empty() {
                return Ok(new);
            }
            new += self.insert_batch(&chunk)?;
            chunk.clear();
        }
    }

    /// Learns that the filter's *maybe* was wrong for `key`; asks the map whether it was.
    pub fn adapt<Q: RangeKey + ?Sized>(&mut self, key: &Q) -> Result<Adapted, SetError<M::Error>>
    where
        K: Borrow<Q>,
    {
        let coded = self.filter().coded(key);
        self.drive(coded.adapt())
    }

    /// Learns that the filter's *maybe* was wrong for a range; asks the map whether it was. All that is wrong with the range is
    /// mended, or nothing has changed: [`WasMember`](Adapted::WasMember) if a key is in it,
    /// [`NotPositive`](Adapted::NotPositive) if the filter did not say *maybe*, or the range is
    /// [too long](AdaptiveRangeFilter::max_partitions) to be looked up.
    pub fn adapt_range<Q: RangeKey + ?Sized>(
        &mut self,
        range: impl RangeBounds<Q>,
    ) -> Result<Adapted, SetError<M::Error>>
    where
        K: Borrow<Q>,
    {
        let parts = self.filter().positive_parts(&range);
        let (filter, map) = self.parts();
        filter.adapt_parts(&parts, map)
    }

    /// Removes a key. `false` if it was not there; the map is asked, so no other key is ever lost.
    pub fn remove<Q: RangeKey + ?Sized>(&mut self, key: &Q) -> Result<bool, SetError<M::Error>>
    where
        K: Borrow<Q>,
    {
        let coded = self.filter().reader.coded_row(key);
        self.drive(coded.remove())
    }

    /// Calls `visit` with the [code](RangeKey::code) of every key, also of those that have the same, in the order of the hashes of their partitions.
    pub fn for_each_code(&self, mut visit: impl FnMut(u128)) -> Result<(), M::Error> {
        self.map().visit(0..=u64::MAX, &mut |row| {
            visit(self.filter().reader.codes(row.key).0);
            ControlFlow::Continue(())
        })
    }
}
