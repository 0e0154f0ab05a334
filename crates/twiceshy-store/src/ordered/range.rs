//! Asking for ranges.

use std::borrow::Borrow;
use std::fmt;
use std::ops::{Bound, ControlFlow, RangeBounds, RangeInclusive};

use super::{OrderedKey, OrderedStore};
use crate::engine::Keys;
use crate::error::StoreError;
use crate::shared::{Count, Pages};

/// The keys of rows from one on, and up to another one, which is none of them.
type RowKeys = (Vec<u8>, Option<Vec<u8>>);

impl<K: OrderedKey + ?Sized> OrderedStore<K> {
    /// The keys and values in a range, in the order of the keys.
    ///
    /// The filter is asked at once, and if it says *no*, which is certain, the engine is not asked at all. Else rows are read a
    /// page at a time: keys that come or go meanwhile may be met or not, all others are met once. A range that turns out to have
    /// no rows was a mistake, from which the filter learns: what goes wrong then fails nobody, and shows in the
    /// [statistics](Self::stats). A range that meets more than [`max_partitions`](super::OrderedBuilder::max_partitions) is
    /// read from the engine in any case.
    ///
    /// ```
    /// use std::ops::Bound;
    /// use twiceshy_store::OrderedStore;
    ///
    /// let words = OrderedStore::<str>::builder().in_memory()?;
    /// words.insert_batch(&[("ant", "6"), ("bee", "6"), ("cow", "4")])?;
    /// // `"b".."c"` is no range of strings in Rust; `"b".to_owned()..` is one for a store of `String`s.
    /// let from_b = (Bound::Included("b"), Bound::Excluded("c"));
    /// let found: Vec<_> = words.range::<str>(from_b).collect::<Result<_, _>>()?;
    /// assert_eq!(found, [("bee".to_owned(), b"6".to_vec())]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn range<Q: OrderedKey + ?Sized>(&self, range: impl RangeBounds<Q>) -> Range<'_, K>
    where
        K: Borrow<Q>,
    {
        match self.ask(&range) {
            Ok(Asked::Empty) => Range { store: self, pages: Pages::none(), unsure: None, failed: None },
            Ok(Asked::Maybe(codes)) => {
                let (from, until) = row_keys(&range);
                Range { store: self, pages: Pages::new(from, until), unsure: codes, failed: None }
            }
            Err(error) => Range { store: self, pages: Pages::none(), unsure: None, failed: Some(error) },
        }
    }

    /// Whether there is a key in a range. Like [`range`](Self::range), but reads one row at most.
    ///
    /// ```
    /// use twiceshy_store::OrderedStore;
    ///
    /// let visits = OrderedStore::<u64>::builder().in_memory()?;
    /// visits.insert(&1_000, "ann")?;
    /// assert!(visits.contains_range(950..=1_049)?);
    /// assert!(!visits.contains_range(1_001..1_050)?);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn contains_range<Q: OrderedKey + ?Sized>(
        &self,
        range: impl RangeBounds<Q>,
    ) -> Result<bool, StoreError>
    where
        K: Borrow<Q>,
    {
        let Asked::Maybe(codes) = self.ask(&range)? else { return Ok(false) };
        let (from, until) = row_keys(&range);
        let mut found = false;
        self.shared.durable.rows.rows_in(Keys { from: &from, until: until.as_deref() }, &mut |_, _, _| {
            found = true;
            ControlFlow::Break(())
        })?;
        if let Some(codes) = codes.filter(|_| !found) {
            self.learn_range(codes);
        }
        Ok(found)
    }

    /// Whether there may be a key in a range. `false` is certain. Asks the filter only, and learns nothing.
    pub fn may_contain_range<Q: OrderedKey + ?Sized>(
        &self,
        range: impl RangeBounds<Q>,
    ) -> Result<bool, StoreError>
    where
        K: Borrow<Q>,
    {
        Ok(matches!(self.ask(&range)?, Asked::Maybe(_)))
    }

    /// All keys and values, in the order of the keys.
    ///
    /// It reads a page at a time: keys that come or go meanwhile may be met or not, all others are met once.
    pub fn iter(&self) -> Range<'_, K> {
        Range { store: self, pages: Pages::new(Vec::new(), None), unsure: None, failed: None }
    }

    /// Asks the filter for a range.
    fn ask<Q: OrderedKey + ?Sized>(&self, range: &impl RangeBounds<Q>) -> Result<Asked, StoreError>
    where
        K: Borrow<Q>,
    {
        let counters = &self.shared.counters;
        counters.add(Count::Ranges, 1);
        let filter = self.shared.durable.filter()?;
        let codes = filter.partitions().codes_in(range);
        if codes.is_none() || !filter.contains_range((range.start_bound(), range.end_bound())) {
            counters.add(Count::RangesAnswered, 1);
            return Ok(Asked::Empty);
        }
        Ok(Asked::Maybe(codes.filter(|codes| !filter.partitions().is_too_long(codes))))
    }

    /// The filter said *maybe* to codes in which there is no row.
    fn learn_range(&self, codes: RangeInclusive<u128>) {
        self.shared.counters.add(Count::RangeMistakes, 1);
        let parts: Vec<_> = {
            let Ok(filter) = self.shared.durable.filter() else { return };
            let parts = filter.partitions().coded_parts(Some(codes));
            parts.map(|part| (filter.is_positive(&part), part)).collect()
        };
        for (is_mistake, part) in parts {
            match is_mistake {
                true => self.learn(&self.shared.durable.rows.partitions.part_codes(&part), part.bytes()),
                // A filter that is built from the rows may be smaller, and mistaken here.
                false => self.shared.remember(part.bytes()),
            }
        }
    }

    /// The filter said *maybe* to a key or to some codes in one partition, and there is no such row. Strings that begin like
    /// others cannot be told from them.
    pub(super) fn learn(&self, codes: &RangeInclusive<u128>, query: &[u8]) {
        if K::EXACT || !matches!(self.shared.durable.rows.has_other(codes, None), Ok(true)) {
            self.shared.learn(query);
        } else {
            self.shared.counters.add(Count::Mistakes, 1);
        }
    }
}

/// What the filter says of a range.
enum Asked {
    /// There are no rows.
    Empty,
    /// There may be some; a mistake if there are none in these codes, unless there are too many to be looked up.
    Maybe(Option<RangeInclusive<u128>>),
}

/// The keys of the rows of a range.
fn row_keys<Q: OrderedKey + ?Sized>(range: &impl RangeBounds<Q>) -> RowKeys {
    let row_key = |key: &Q, and_after: bool| {
        let mut bytes = Vec::new();
        key.write_row_key(&mut bytes);
        // The least row after this one.
        if and_after {
            bytes.push(0);
        }
        bytes
    };
    let from = match range.start_bound() {
        Bound::Unbounded => Vec::new(),
        Bound::Included(key) => row_key(key, false),
        Bound::Excluded(key) => row_key(key, true),
    };
    let until = match range.end_bound() {
        Bound::Unbounded => None,
        Bound::Included(key) => Some(row_key(key, true)),
        Bound::Excluded(key) => Some(row_key(key, false)),
    };
    (from, until)
}

/// The keys and values in a range; see [`OrderedStore::range`].
pub struct Range<'a, K: OrderedKey + ?Sized> {
    store: &'a OrderedStore<K>,
    pages: Pages<(K::Owned, Vec<u8>)>,
    /// The codes that the filter said *maybe* to, as long as there was no row.
    unsure: Option<RangeInclusive<u128>>,
    /// Why the filter could not be asked.
    failed: Option<StoreError>,
}

impl<K: OrderedKey + ?Sized> Iterator for Range<'_, K> {
    type Item = Result<(K::Owned, Vec<u8>), StoreError>;

    fn next(&mut self) -> Option<Self::Item> {
        if let Some(error) = self.failed.take() {
            return Some(Err(error));
        }
        let rows = &self.store.shared.durable.rows;
        let next = self.pages.next(|keys, take| {
            let mut failed = Ok(());
            rows.rows_in(keys, &mut |row_key, _, value| match K::from_row_key(row_key) {
                Some(key) => take(row_key, (key, value.to_vec()), row_key.len() + value.len()),
                None => {
                    failed = Err(StoreError::OtherKey { row_key: row_key.to_vec() });
                    ControlFlow::Break(())
                }
            })?;
            failed
        });
        if let Some(codes) = self.unsure.take()
            && next.is_none()
        {
            self.store.learn_range(codes);
        }
        next
    }
}

impl<K: OrderedKey + ?Sized> fmt::Debug for Range<'_, K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Range").field("store", &self.store).finish_non_exhaustive()
    }
}
