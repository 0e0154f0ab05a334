//! Building a filter from many keys at once, several times faster than inserting them one by one.

use std::borrow::Borrow;
use std::marker::PhantomData;

use super::boxed::Boxed;
use super::builder::layout;
use super::fill::{NoPlace, Placed, fill};
use super::partition::{Cut, Partition};
use super::{Builder, RangeFilter, RangeKey};
use crate::codec::boxes::Boxes;
use crate::error::BulkError;
use crate::filter::settings::hasher_or_random;
use crate::hash::Hasher;
use crate::table::Shape;

/// A key, as far as a filter knows it: the hash of its partition, and its suffix.
type Hashed = (u64, u16);

impl<K: RangeKey + ?Sized> Builder<K> {
    /// A filter with all `keys`, which may come in any order and more than once.
    ///
    /// Their hashes are collected and sorted (16 bytes per key). Without a size the filter is made just large enough.
    ///
    /// ```
    /// # use twiceshy::RangeFilter;
    /// let filter = RangeFilter::<u64>::builder().from_keys([17, 4, 17])?;
    /// assert_eq!(filter.count(&17), 2);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn from_keys<T: Borrow<K>>(
        self,
        keys: impl IntoIterator<Item = T>,
    ) -> Result<RangeFilter<K>, BulkError> {
        let (cut, hasher) = (self.settings()?.cut, hasher_or_random(self.given_hasher())?);
        let mut hashed: Vec<Hashed> = hashed::<K, T>(cut, &hasher, keys.into_iter()).collect();
        hashed.sort_unstable();
        self.load_all(hasher, &hashed)
    }

    /// A filter with all `keys`, which must come in the order of the hashes of their partitions
    /// ([`partition_hash`](RangeFilter::partition_hash)): one pass. Keys of one partition may come in any order.
    ///
    /// If the size is given and the filter may not grow, the keys stream through; else their hashes are collected first (16
    /// bytes per key).
    ///
    /// ```
    /// # use twiceshy::RangeFilter;
    /// let twin = RangeFilter::<u64>::builder().build()?;
    /// let mut keys: Vec<u64> = (0..1_000).map(|number| number * number).collect();
    /// keys.sort_by_key(|key| twin.partition_hash(key));
    /// let builder = RangeFilter::<u64>::builder().capacity(1_000).hasher(twin.hasher().clone());
    /// assert!(builder.from_sorted(keys)?.contains(&81));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn from_sorted<T: Borrow<K>>(
        self,
        keys: impl IntoIterator<Item = T>,
    ) -> Result<RangeFilter<K>, BulkError> {
        let (settings, hasher) = (self.settings()?, hasher_or_random(self.given_hasher())?);
        let hashed = hashed::<K, T>(settings.cut, &hasher, keys.into_iter());
        if settings.grows || !self.has_size() {
            let hashed: Vec<Hashed> = hashed.collect();
            return self.load_all(hasher, &hashed);
        }
        let boxes = load(layout(&settings)?, false, hashed)?;
        Ok(RangeFilter { len: boxes.held, boxes, hasher, settings, key: PhantomData })
    }

    /// A filter with keys in order: of the first size that has room, from the one of the settings on, if it may grow.
    fn load_all(self, hasher: Hasher, hashed: &[Hashed]) -> Result<RangeFilter<K>, BulkError> {
        let mut builder = if self.has_size() { self } else { self.capacity(hashed.len() as u64) };
        loop {
            let settings = builder.settings()?;
            match load(layout(&settings)?, settings.grows, hashed.iter().copied()) {
                Ok(boxes) => {
                    return Ok(RangeFilter { len: boxes.held, boxes, hasher, settings, key: PhantomData });
                }
                // Copies may take more slots than keys.
                Err(BulkError::Full { .. }) if settings.grows => {
                    builder = builder.enlarged(settings.start + 1)
                }
                Err(error) => return Err(error),
            }
        }
    }
}

/// Keys as a filter knows them.
#[inline(always)]
fn hashed<K: RangeKey + ?Sized, T: Borrow<K>>(
    cut: Cut,
    hasher: &Hasher,
    keys: impl Iterator<Item = T>,
) -> impl Iterator<Item = Hashed> {
    keys.map(move |key| {
        let (partition, suffix) = cut.split(key.borrow().code());
        (hasher.hash(&Partition::<K>::new(partition)), suffix)
    })
}

/// A table with all these keys.
fn load(
    (shape, codec): (Shape, Boxes),
    may_extend: bool,
    hashed: impl Iterator<Item = Hashed>,
) -> Result<Boxed, BulkError> {
    let string_bits = shape.slot_bits() - codec.suffix_bits();
    let mut keys = Ascending { hashed, quotient_bits: shape.quotient_bits(), string_bits, last: 0, taken: 0 };
    fill((shape, codec), may_extend, &mut keys).map_err(|error| match error {
        NoPlace::Unsorted => BulkError::Unsorted { index: keys.taken },
        NoPlace::TooManyCopies => BulkError::TooManyCopies,
        NoPlace::Memory(error) => error.into(),
        NoPlace::Full | NoPlace::FullAtEverySize | NoPlace::Short => {
            BulkError::Full { inserted: keys.taken.saturating_sub(1), slots: shape.slots() }
        }
    })
}

/// Hashes as places in a table without stop bits, up to the first one that is smaller than its predecessor.
struct Ascending<I> {
    hashed: I,
    quotient_bits: u32,
    string_bits: u32,
    last: u64,
    /// How many were in order.
    taken: u64,
}

impl<I: Iterator<Item = Hashed>> Iterator for Ascending<I> {
    type Item = Result<Placed, NoPlace>;
    #[inline(always)]
    fn next(&mut self) -> Option<Self::Item> {
        let (hash, suffix) = self.hashed.next()?;
        if hash < self.last {
            return Some(Err(NoPlace::Unsorted));
        }
        self.last = hash;
        self.taken += 1;
        let place =
            (hash >> (64 - self.quotient_bits), hash << self.quotient_bits >> (64 - self.string_bits));
        Some(Ok(Placed { place, suffix, count: 1 }))
    }
}
