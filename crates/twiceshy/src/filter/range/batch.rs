//! Many keys or ranges in one call: the memory of the next ones is on its way while the present one is worked on.

use std::borrow::Borrow;
use std::ops::RangeBounds;

use super::boxed::{Boxed, InsertAtGlance};
use super::key::codes;
use super::partition::Partition;
use super::{RangeFilter, RangeKey, query};
use crate::bits::cpu::dispatch;
use crate::error::InsertError;
use crate::filter::batch::{CHUNK, ask_ahead};

impl<K: RangeKey + ?Sized, B: AsRef<[u8]>> RangeFilter<K, B> {
    /// [`contains`](Self::contains) for every key, in order.
    ///
    /// ```
    /// # use twiceshy::RangeFilter;
    /// let filter: RangeFilter<u64> = [3, 900].into_iter().collect();
    /// let mut found = [false; 3];
    /// filter.contains_batch(&[3, 900, 901], &mut found);
    /// assert_eq!(found[..2], [true, true]);
    /// ```
    ///
    /// # Panics
    ///
    /// If there are not as many answers as keys.
    pub fn contains_batch<T: Borrow<K>>(&self, keys: &[T], found: &mut [bool]) {
        let point = |key: &T| Some(key.borrow().code()..=key.borrow().code());
        query::contains_all(self, keys.iter().map(point), found);
    }

    /// [`contains_range`](Self::contains_range) for every range, in order.
    ///
    /// ```
    /// # use twiceshy::RangeFilter;
    /// let filter: RangeFilter<u64> = [3, 900].into_iter().collect();
    /// let mut found = [false; 3];
    /// filter.contains_range_batch(&[0..10, 890..901, 7..7], &mut found);
    /// assert_eq!(found, [true, true, false]);
    /// ```
    ///
    /// # Panics
    ///
    /// If there are not as many answers as ranges.
    pub fn contains_range_batch<R: RangeBounds<K>>(&self, ranges: &[R], found: &mut [bool]) {
        query::contains_all(self, ranges.iter().map(|range| codes::<K>(range)), found);
    }
}

impl<K: RangeKey + ?Sized> RangeFilter<K> {
    /// Inserts a copy of every key, or none of them if there is an error; then the filter's bytes are as they were. Tells how
    /// many were not there before.
    pub fn insert_batch<T: Borrow<K>>(&mut self, keys: &[T]) -> Result<u64, InsertError> {
        let (mut new, mut done) = (0, 0);
        let mut start = Start { len: self.len, before_growth: None };
        let (mut partitions, mut hashes) = ([Partition::<K>::new(0); CHUNK], [0; CHUNK]);
        for chunk in keys.chunks(CHUNK) {
            let hashes = &mut hashes[..chunk.len()];
            for (partition, key) in partitions.iter_mut().zip(chunk) {
                *partition = Partition::new(self.settings.cut.split(key.borrow().code()).0);
            }
            self.hasher.hash_all(&partitions[..chunk.len()], hashes);
            for (i, key) in chunk.iter().enumerate() {
                ask_ahead(&self.boxes.table, hashes, i);
                let (hash, suffix) = (hashes[i], self.settings.cut.split(key.borrow().code()).1);
                let inserted =
                    self.has_room() && dispatch(InsertAtGlance { boxed: &mut self.boxes, hash, suffix });
                self.count_new(inserted);
                if !inserted {
                    match self.insert_slowly(hash, suffix, |old| start.keep(old, done)) {
                        Ok(is_new) => new += u64::from(is_new),
                        Err(error) => {
                            self.take_back(&keys[..done], start);
                            return Err(error);
                        }
                    }
                }
                new += u64::from(inserted);
                done += 1;
            }
        }
        Ok(new)
    }

    /// Removes what a batch has inserted so far, the last key first: so the table is again as it was before each of them. Equal
    /// contents are equal bytes, so this leaves no trace.
    #[cold]
    fn take_back<T: Borrow<K>>(&mut self, mut keys: &[T], start: Start) {
        if let Some((boxes, done)) = start.before_growth {
            (self.boxes, keys) = (boxes, &keys[..done]);
        }
        for key in keys.iter().rev() {
            let (partition, suffix) = self.settings.cut.split(key.borrow().code());
            let hash = self.hash(partition);
            self.boxes.remove(hash, suffix);
        }
        self.len = start.len;
    }
}

/// How a filter was when a batch began.
struct Start {
    len: u64,
    /// The table that the batch began with, once there is a larger one, and how many of the batch are in it.
    before_growth: Option<(Boxed, usize)>,
}

impl Start {
    fn keep(&mut self, boxes: Boxed, done: usize) {
        self.before_growth.get_or_insert((boxes, done));
    }
}
