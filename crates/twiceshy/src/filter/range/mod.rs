//! Range filters: is there any key between two others?
//!
//! # The idea
//!
//! Keys are numbers in their order, cut into partitions of `2^m` neighbours ([`partition`]). A filter stores the fingerprint of
//! the hash of each partition that has a key, and beside it the suffixes of its keys, `m` bits each. A range of up to `2^m` keys
//! meets two partitions at most: it is looked up with two probes, and each is decided exactly, if the fingerprint is that of its
//! own partition. So a mistake is made only where the fingerprint is that of another one, however close to a key the range
//! lies, and whatever the keys have in common.
//!
//! | file | what |
//! |---|---|
//! | `key.rs`, `partition.rs`, `query.rs` | what may be a key, how it is cut, and queries: shared with the [adaptive](super::adaptive_range) one |
//! | `settings.rs`, `builder.rs` | lengths and sizes |
//! | `boxed.rs` | the table of boxes, and what is done with one key |
//! | `fill.rs` | a table from a stream of keys in order |
//! | `grow.rs`, `merge.rs`, `bulk.rs`, `batch.rs`, `iter.rs`, `stats.rs`, `persist.rs` | as they say |
//!
//! # Cost
//!
//! `(r + m + 2.125) / load` bits per key, with `r` bits of fingerprint after the quotient, and one more once it has grown; far
//! less where keys are neighbours ([`codec::boxes`](crate::codec::boxes)). A range of up to `2^m` keys takes two lookups of one
//! or two cache lines each.
//!
//! # Source
//!
//! Memento, as section 2.3 of *Aeris Filter* describes it; growth as in section 4 of *InfiniFilter*. The files say where we
//! deviate. This filter does not adapt: it repeats a mistake for as long as the key that caused it is in the set.

mod batch;
mod boxed;
mod builder;
mod bulk;
mod fill;
mod grow;
mod iter;
pub(crate) mod key;
mod merge;
pub(crate) mod partition;
mod persist;
pub(crate) mod query;
mod settings;
mod stats;
#[cfg(test)]
pub(crate) mod tests;

pub use builder::Builder;
pub use iter::{Fingerprint, Iter};
pub use key::RangeKey;
pub use persist::View;
pub use stats::{LengthStats, Stats};

use std::borrow::Borrow;
use std::marker::PhantomData;
use std::ops::RangeBounds;

use crate::bits::cpu::{Cpu, dispatch};
use crate::codec::boxes::{self, Probe};
use crate::error::{BuildError, InsertError};
use crate::filter::macros::{cloned, shown};
use crate::filter::room::{Crowded, Effort, Remedy};
use crate::hash::{Hasher, Hashes, tried};
use crate::mem::{Memory, OutOfMemory};
use crate::table::{Full, Home, Shape};
use boxed::{Boxed, Count, InsertAtGlance, RemoveAtGlance};
use key::codes;
use partition::{Cut, Partition};
use query::{Asked, Partitioned};
use settings::Settings;

/// Answers whether there *may* be a key in a range, or a single key, without keeping the keys.
///
/// - `contains_range` and `contains` never say `false` if there is a key that was inserted and not removed since.
/// - For a range of up to [`max_range`](Self::max_range) keys without any, they say `true` with at most the error rate that the
///   filter was built for, at every size it grows to, **wherever the range lies**: also next to keys, and between them.
/// - It is a multiset: a key that was inserted twice is there until it was removed twice.
/// - It grows by itself, unless it is [built](Self::builder) not to.
///
/// ```
/// use twiceshy::RangeFilter;
///
/// let mut events = RangeFilter::<u64>::new(0.001)?;
/// events.insert(&1_700_000_000)?;
/// assert!(events.contains_range(1_699_999_990..1_700_000_010));
/// assert!(!events.contains_range(1_700_000_001..=1_700_000_050)); // sure, or a mistake once in a thousand times
/// assert!(!events.contains_range(20..10));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Keys
///
/// A filter is for one type of keys: numbers, addresses, times, strings, or [your own](RangeKey). Strings best have a
/// `RangeFilter<str>`; only their first 16 bytes count.
///
/// # Long ranges
///
/// A longer range asks for one partition after the other, as long as they are not more than the builder's
/// [`max_partitions`](Builder::max_partitions): the rate rises in proportion. Beyond that the answer is `true`.
///
/// The type parameter `B` says where the bytes live: [`Memory`] for a filter that can be changed, `&[u8]` in a [view](View) of a
/// file.
pub struct RangeFilter<K: ?Sized, B = Memory> {
    boxes: Boxed<B>,
    hasher: Hasher,
    settings: Settings,
    /// Copies of all keys.
    len: u64,
    key: PhantomData<fn(&K)>,
}

impl<K: RangeKey + ?Sized> RangeFilter<K> {
    /// A small filter that grows, keeps the error rate at every size, and has a random hash key.
    ///
    /// See [`builder`](Self::builder) for everything that can be chosen.
    pub fn new(error_rate: f64) -> Result<Self, BuildError> {
        Self::builder().error_rate(error_rate).build()
    }

    /// Chooses size, error rate, ranges, hash and growth.
    pub fn builder() -> Builder<K> {
        Builder::default()
    }

    /// An empty filter of the size at the start that hashes, cuts and grows in the same way: the two can be merged.
    pub fn empty_like(&self) -> Result<Self, OutOfMemory> {
        let layout = self.settings.first_layout().expect("it had this size at the start");
        Ok(self.with_boxes(Boxed::new(layout)?, 0))
    }

    /// Inserts a copy of `key`. `true` if it certainly was not there before: if [`contains`](Self::contains) said `false`.
    ///
    /// An error changes nothing.
    #[inline]
    pub fn insert<Q: RangeKey + ?Sized>(&mut self, key: &Q) -> Result<bool, InsertError>
    where
        K: Borrow<Q>,
    {
        let (partition, suffix) = self.settings.cut.split(key.code());
        let (hash, inserted) =
            tried(self.has_room(), &mut *self, &Partition::<K>::new(partition), move |filter, hash| {
                InsertAtGlance { boxed: &mut filter.boxes, hash, suffix }
            });
        self.count_new(inserted);
        if inserted { Ok(true) } else { self.insert_slowly(hash, suffix, drop) }
    }

    /// Whether one more copy fits without further ado.
    #[inline(always)]
    fn has_room(&self) -> bool {
        self.boxes.table.used() < self.boxes.limit && self.boxes.held < u64::MAX
    }

    /// Counts a key, if one came.
    #[inline(always)]
    fn count_new(&mut self, came: bool) {
        self.len += u64::from(came);
        self.boxes.held += u64::from(came);
    }

    /// Inserts a key. If the table had to be replaced by a larger one, `replaced` gets the old one.
    #[inline(never)]
    fn insert_slowly(
        &mut self,
        hash: u64,
        suffix: u16,
        replaced: impl FnOnce(Boxed),
    ) -> Result<bool, InsertError> {
        if self.boxes.held == u64::MAX {
            return Err(InsertError::TooManyCopies);
        }
        let is_new = match self.boxes.add(hash, suffix, Effort::Usual) {
            Ok(is_new) => is_new,
            Err(why) => {
                let (is_new, old) = self.insert_crowded(hash, suffix, why)?;
                old.map(replaced);
                is_new
            }
        };
        self.len += 1;
        Ok(is_new)
    }

    /// Inserts where there was no room: with more effort, or into a larger table that is taken over once that worked.
    /// Tells whether the key was not there before, and gives the old table if there is another one.
    #[cold]
    fn insert_crowded(
        &mut self,
        hash: u64,
        suffix: u16,
        mut why: Full,
    ) -> Result<(bool, Option<Boxed>), InsertError> {
        let (mut larger, mut effort) = (None::<Boxed>, Effort::Usual);
        loop {
            let boxed = larger.as_ref().unwrap_or(&self.boxes);
            let crowded = Crowded { why, effort, used: boxed.table.used(), limit: boxed.limit };
            let may_grow =
                self.settings.grows && boxed.table.shape().quotient_bits() < Shape::MAX_QUOTIENT_BITS;
            match crowded.remedy(|| may_grow, || may_grow && (why == Full::Slots || boxed.gets_thinner())) {
                Remedy::TryHarder => {
                    larger.as_mut().unwrap_or(&mut self.boxes).table.bear(why);
                    effort = Effort::Utmost;
                }
                Remedy::Extend => larger = Some(boxed.extended(crowded.slots())?),
                Remedy::Grow => {
                    let doubled = self.settings.doubled(boxed);
                    larger = Some(doubled.map_err(|error| error.into_insert_error(self.full()))?);
                    effort = Effort::Usual;
                }
                Remedy::None => return Err(self.full().into()),
            }
            let boxed = larger.as_mut().unwrap_or(&mut self.boxes);
            if boxed.held == u64::MAX {
                return Err(InsertError::TooManyCopies);
            }
            match boxed.add(hash, suffix, effort) {
                Ok(is_new) => {
                    let old = larger.map(|larger| std::mem::replace(&mut self.boxes, larger));
                    return Ok((is_new, old));
                }
                Err(still) => why = still,
            }
        }
    }

    /// Removes a copy of `key`. `false` if there is none.
    ///
    /// **Remove only keys that were inserted.** A key that merely looks present shares its fingerprint and its suffix with another
    /// one, and removing it removes that one: it may then be missing, although it was inserted.
    #[inline]
    pub fn remove<Q: RangeKey + ?Sized>(&mut self, key: &Q) -> bool
    where
        K: Borrow<Q>,
    {
        let (partition, suffix) = self.settings.cut.split(key.code());
        let (hash, removed) =
            tried(true, &mut *self, &Partition::<K>::new(partition), move |filter, hash| RemoveAtGlance {
                boxed: &mut filter.boxes,
                hash,
                suffix,
            });
        self.boxes.held -= u64::from(removed);
        if !removed && !self.boxes.remove(hash, suffix) {
            return false;
        }
        self.len -= 1;
        if self.len == 0 && self.boxes.held > 0 {
            // What is left belongs to nobody.
            self.boxes.table.clear();
            self.boxes.held = 0;
        }
        true
    }

    /// Removes everything, and takes the size at the start again if there is memory for it.
    pub fn clear(&mut self) {
        match self.empty_like() {
            Ok(empty) => *self = empty,
            Err(_) => {
                self.boxes.table.clear();
                (self.boxes.held, self.len) = (0, 0);
            }
        }
    }
}

impl<K: ?Sized, B: AsRef<[u8]>> RangeFilter<K, B> {
    /// A copy, or an error if there is no memory for it.
    pub fn try_clone(&self) -> Result<RangeFilter<K>, OutOfMemory> {
        Ok(self.with_boxes(self.boxes.try_clone()?, self.len))
    }

    /// This filter with another table.
    fn with_boxes<C>(&self, boxes: Boxed<C>, len: u64) -> RangeFilter<K, C> {
        let Self { hasher, settings, .. } = self;
        RangeFilter { boxes, hasher: hasher.clone(), settings: *settings, len, key: PhantomData }
    }
}

impl<K: RangeKey + ?Sized, B: AsRef<[u8]>> RangeFilter<K, B> {
    /// Whether `key` may have been inserted. `false` is certain.
    #[inline]
    pub fn contains<Q: RangeKey + ?Sized>(&self, key: &Q) -> bool
    where
        K: Borrow<Q>,
    {
        query::contains(self, key.code())
    }

    /// Whether there may be a key in the range. `false` is certain; it is the answer for a range that is empty.
    ///
    /// ```
    /// # use twiceshy::RangeFilter;
    /// use std::ops::Bound::{Excluded, Unbounded};
    ///
    /// let mut filter = RangeFilter::<i64>::new(1e-6)?;
    /// filter.insert(&-3)?;
    /// assert!(filter.contains_range(-10..10) && filter.contains_range(-3..=-3));
    /// assert!(!filter.contains_range((Excluded(-3), Excluded(20))));
    /// // Far more keys than the filter looks for.
    /// assert!(filter.contains_range((Excluded(-3), Unbounded)));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[inline]
    pub fn contains_range<Q, R>(&self, range: R) -> bool
    where
        K: Borrow<Q>,
        Q: RangeKey + ?Sized,
        R: RangeBounds<Q>,
    {
        codes::<Q>(&range).is_some_and(|codes| query::contains_any(self, codes))
    }

    /// How many copies of `key` there may be: never fewer than were inserted, and more only if other keys share its suffix and
    /// a fingerprint.
    pub fn count<Q: RangeKey + ?Sized>(&self, key: &Q) -> u64
    where
        K: Borrow<Q>,
    {
        let (partition, suffix) = self.settings.cut.split(key.code());
        dispatch(Count { boxed: &self.boxes, hash: self.hash(partition), suffix })
    }

    /// The hash of the partition of a key: the order in which [`from_sorted`](Builder::from_sorted) takes keys.
    pub fn partition_hash<Q: RangeKey + ?Sized>(&self, key: &Q) -> u64
    where
        K: Borrow<Q>,
    {
        self.hash(self.settings.cut.split(key.code()).0)
    }

    /// The hash of a partition.
    fn hash(&self, partition: u128) -> u64 {
        self.hasher.hash(&Partition::<K>::new(partition))
    }

    /// How many copies of keys were inserted and not removed since.
    pub fn len(&self) -> u64 {
        self.len
    }

    /// Whether nothing is in the filter.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// How many slots there are, without the spill area.
    pub fn slots(&self) -> u64 {
        self.boxes.table.shape().slots()
    }

    /// How many slots are in use: one for each key, unless keys are neighbours or copies.
    pub fn used_slots(&self) -> u64 {
        self.boxes.table.used()
    }

    /// How many slots may be in use before the filter grows, or is full: as many keys fit, if they are no neighbours.
    pub fn capacity(&self) -> u64 {
        self.boxes.limit
    }

    /// The share of the slots that is in use.
    pub fn load_factor(&self) -> f64 {
        self.used_slots() as f64 / self.slots() as f64
    }

    /// The bytes of the table.
    pub fn size_in_bytes(&self) -> usize {
        self.boxes.table.bytes().len()
    }

    /// The longest range for which the error rate holds: a power of two. It lies in two partitions at most.
    pub fn max_range(&self) -> u64 {
        self.settings.cut.max_range()
    }

    /// Ranges that meet more partitions than this are not looked up.
    pub fn max_partitions(&self) -> u32 {
        self.settings.cut.max_partitions()
    }

    /// Bits of a fingerprint that its position implies: there are two to their power slots.
    pub fn quotient_bits(&self) -> u32 {
        self.boxes.table.shape().quotient_bits()
    }

    /// Bits of the fingerprint that a new key gets.
    pub fn fingerprint_bits(&self) -> u32 {
        self.boxes.full_bits()
    }

    /// Whether the filter grows by itself.
    pub fn grows(&self) -> bool {
        self.settings.grows
    }

    /// How this filter hashes the partitions of its keys.
    pub fn hasher(&self) -> &Hasher {
        &self.hasher
    }
}

impl<K: RangeKey + ?Sized, B: AsRef<[u8]>> Partitioned for RangeFilter<K, B> {
    type Key = K;

    #[inline(always)]
    fn cut(&self) -> Cut {
        self.settings.cut
    }

    #[inline(always)]
    fn home<C: Cpu>(&self, cpu: C, hash: u64) -> Home {
        self.boxes.table.address().home(cpu, hash)
    }

    #[inline(always)]
    fn home_now<C: Cpu>(&self, cpu: C, hash: u64) -> Home {
        self.boxes.table.home_now(cpu, hash)
    }

    #[inline(always)]
    fn ask_far<C: Cpu>(&self, cpu: C, hash: u64) {
        self.boxes.table.prefetch_far(cpu, hash);
    }

    #[inline(always)]
    fn ask_near<C: Cpu>(&self, cpu: C, hash: u64) {
        self.boxes.table.prefetch(cpu, hash);
    }

    #[inline(always)]
    fn ask_header<C: Cpu>(&self, cpu: C, hash: u64) {
        self.boxes.table.prefetch_header(cpu, hash);
    }

    #[inline(always)]
    fn meets_at_glance<C: Cpu>(&self, cpu: C, home: Home, asked: Asked) -> Option<bool> {
        Some(self.meets(cpu, home, asked))
    }

    #[inline(always)]
    fn meets<C: Cpu>(&self, cpu: C, home: Home, asked: Asked) -> bool {
        let Asked { hash, from, to, .. } = asked;
        boxes::meets(cpu, &self.boxes.table, self.boxes.codec, home, Probe { hash, from, to })
    }
}

impl<K: ?Sized, B> Hashes for RangeFilter<K, B> {
    #[inline(always)]
    fn hasher(&self) -> &Hasher {
        &self.hasher
    }
}

cloned!([K: ?Sized] RangeFilter<K>);
shown! {
    [K: RangeKey + ?Sized, B: AsRef<[u8]>] RangeFilter<K, B>:
    len, max_range, quotient_bits, fingerprint_bits, load_factor, size_in_bytes, grows, hasher
}

/// Inserts all keys.
///
/// # Panics
///
/// If a key cannot be inserted; [`insert_batch`](RangeFilter::insert_batch) returns an error then.
impl<K: RangeKey, T: Borrow<K>> Extend<T> for RangeFilter<K> {
    fn extend<I: IntoIterator<Item = T>>(&mut self, keys: I) {
        for key in keys {
            if let Err(error) = self.insert(key.borrow()) {
                panic!("{error}");
            }
        }
    }
}

/// A filter with the default settings and all keys.
///
/// ```
/// use twiceshy::RangeFilter;
///
/// let seen: RangeFilter<u32> = [3, 9, 200].into_iter().collect();
/// assert!(seen.contains_range(5..10));
/// ```
///
/// # Panics
///
/// If there is no memory, or no random hash key.
impl<K: RangeKey> FromIterator<K> for RangeFilter<K> {
    fn from_iter<I: IntoIterator<Item = K>>(keys: I) -> Self {
        let mut filter = Self::builder().build().unwrap_or_else(|error| panic!("{error}"));
        filter.extend(keys);
        filter
    }
}
