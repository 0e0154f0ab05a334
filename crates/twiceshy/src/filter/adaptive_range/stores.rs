//! For stores, which keep rows in an order of their own: partitions as numbers, records of a journal, and fingerprints that a
//! key meets.

use std::borrow::Borrow;
use std::ops::{RangeBounds, RangeInclusive};

use super::{AdaptiveRangeFilter, Coded, Partitions};
use crate::codec::string::suffixes::SuffixSet;
use crate::filter::adaptive::{Record, Ticket};
use crate::filter::protocol::{Insert, Reader};
use crate::filter::range::RangeKey;
use crate::filter::range::key::codes;
use crate::reverse_map::Row;

impl<K: RangeKey + ?Sized, B: AsRef<[u8]>> AdaptiveRangeFilter<K, B> {
    /// How keys are cut into partitions, and hashed.
    pub fn partitions(&self) -> &Partitions<K> {
        &self.reader
    }

    /// The fingerprint that a key, or a range in one partition, meets; `None` if the filter says *no*.
    ///
    /// ```
    /// use twiceshy::AdaptiveRangeFilter;
    ///
    /// let filter = AdaptiveRangeFilter::<u64>::builder().from_keys([7u64, 1_000])?;
    /// assert!(filter.query(&filter.coded(&7)).is_some());
    /// assert!(filter.query(&filter.coded(&8)).is_none());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn query(&self, part: &Coded) -> Option<Ticket<SuffixSet>> {
        let (words, query) = (self.reader.words(part.row()), self.reader.query(part.row()));
        self.core().query_for(&words, &query).map(|ticket| self.listed(ticket))
    }

    /// The record to write after a key that was a mistake was [fixed](crate::adaptive::Adapted::Fixed): as many bits of the hash of
    /// its partition as tell it from everything that it could be mistaken for. `None` if the filter says *maybe* to it.
    ///
    /// A range has [several](Self::separate_records).
    pub fn separate_record(&self, query: &Coded) -> Option<Record> {
        self.separate_record_of(query.row())
    }

    /// The records to write after a range that was a mistake was [fixed](crate::adaptive::Adapted::Fixed): one for each of its
    /// parts, also for those that were right all along. A filter that is recovered may have shorter fingerprints there, and
    /// without a record the range could be mistaken for a key that it was told from before.
    ///
    /// ```
    /// use twiceshy::AdaptiveRangeSet;
    /// use twiceshy::adaptive::Adapted;
    /// use twiceshy::reverse_map::MemoryMap;
    ///
    /// let mut set = AdaptiveRangeSet::<u64, _>::builder().max_range(8).error_rate(0.5).build_set(MemoryMap::new())?;
    /// let (snapshot, mut journal) = (set.filter().clone(), Vec::new());
    /// set.try_extend((0..1_000).map(|number| 100 * number))?;
    /// for start in (50..100_000).step_by(100) {
    ///     if let Adapted::Fixed { .. } = set.adapt_range(start..start + 8)? {
    ///         journal.extend(set.filter().separate_records(start..start + 8));
    ///     }
    /// }
    /// let (_, keys) = set.into_parts();
    /// let set = AdaptiveRangeSet::recover(&snapshot, keys, journal)?;
    /// # assert!((0..1_000).all(|number| set.contains(&(100 * number))));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn separate_records<Q: RangeKey + ?Sized, T: RangeBounds<Q>>(
        &self,
        range: T,
    ) -> impl Iterator<Item = Record> + use<'_, K, B, Q, T>
    where
        K: Borrow<Q>,
    {
        self.coded_parts(range).filter_map(|part| self.separate_record(&part))
    }
}

impl<K: RangeKey + ?Sized> Partitions<K> {
    /// The hash of the partition of the key with this code.
    pub fn hash_of(&self, code: u128) -> u64 {
        self.hash(self.cut().split(code).0)
    }

    /// All codes in the partition of the key with this code.
    ///
    /// ```
    /// use twiceshy::AdaptiveRangeFilter;
    ///
    /// let filter = AdaptiveRangeFilter::<u64>::builder().max_range(100).build()?;
    /// assert_eq!(filter.partitions().codes_beside(1_000), 896..=1023);
    /// # Ok::<(), twiceshy::error::BuildError>(())
    /// ```
    pub fn codes_beside(&self, code: u128) -> RangeInclusive<u128> {
        let (cut, (partition, _)) = (self.cut(), self.cut().split(code));
        cut.join(partition, 0)..=cut.join(partition, cut.last_suffix())
    }

    /// The codes that a range asks for; `None` if it is empty. See [`RangeKey`] for strings.
    pub fn codes_in<Q: RangeKey + ?Sized>(&self, range: &impl RangeBounds<Q>) -> Option<RangeInclusive<u128>>
    where
        K: Borrow<Q>,
    {
        codes(range)
    }

    /// Whether a range of codes meets more partitions than are looked up.
    pub fn is_too_long(&self, codes: &RangeInclusive<u128>) -> bool {
        self.cut().is_too_long(codes)
    }

    /// Has a filter cover the key of a row, which is not written yet: [`Coded::insert`] for callers who have its bytes.
    pub fn insert<'k>(&self, row: Row<'k>) -> Insert<'k, SuffixSet> {
        Insert::filter_first(row.hash, row.key, self.value(row))
    }
}
