//! The filter, for callers who keep the keys.

use std::borrow::Borrow;
use std::ops::RangeBounds;

use super::{Builder, Coded, Partitions};
use crate::bits::cpu::{Cpu, Kernel};
use crate::codec::string::suffixes::SuffixSet;
use crate::error::{InsertError, SetError, Stale};
use crate::filter::adaptive::{Adapted, Filter, Insertion, Ticket};
use crate::filter::core::InsertAtGlance;
use crate::filter::protocol::{ReadOnly, drive};
use crate::filter::range::RangeKey;
use crate::filter::range::key::codes;
use crate::filter::range::partition::{Cut, Partition};
use crate::filter::range::query::{self, Asked, Partitioned};
use crate::hash::tried;
use crate::mem::Memory;
use crate::prefix::Prefix;
use crate::reverse_map::{Lookup, ReverseMap};
use crate::table::Home;

/// An adaptive filter that answers ranges, whose keys are kept by the caller: whether there *may* be a key from here to there,
/// and never the same mistake twice.
///
/// It promises for ranges what [`AdaptiveFilter`](crate::AdaptiveFilter) promises for keys:
///
/// 1. **No false negatives**: a range with a key that was inserted and not removed since is found.
/// 2. **The same stored key never causes the same false positive twice.**
/// 3. **The rate**: a range of up to [`max_range`](Self::max_range) keys without a key, which was never asked for, is found with
///    at most the error rate that the filter was built for, at every size, however close to a key it lies.
///
/// Keys are of one type, which has an order: see [`RangeKey`]. If they fit behind a [`ReverseMap`], take
/// [`AdaptiveRangeSet`](super::AdaptiveRangeSet), which does everything below by itself. With this type *you* keep the keys, in
/// any database that can list them in the order of the hashes of their partitions, as [`row`](Coded::row)s
/// ([`Lookup`]):
///
/// ```
/// use twiceshy::reverse_map::{Lookup, MemoryMap};
/// use twiceshy::{AdaptiveRangeFilter, ReverseMap};
///
/// let mut filter = AdaptiveRangeFilter::<u64>::builder().error_rate(0.01).max_range(16).build()?;
/// // Stands for your own database.
/// let mut database = MemoryMap::new();
/// for key in (0..100_000u64).step_by(100) {
///     filter.insert_with(&key, &database)?;
///     let coded = filter.coded(&key);
///     database.insert(coded.hash(), coded.bytes(), b"")?;
/// }
/// // Ask the database where the filter says maybe, and tell the filter when it was wrong.
/// for key in (0..100_000u64).step_by(100) {
///     assert!(filter.contains_range(key..key + 10));
///     if filter.contains_range(key + 50..key + 60) {
///         filter.adapt_range_with(key + 50..key + 60, &database)?;
///         assert!(!filter.contains_range(key + 50..key + 60));
///     }
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// The type parameter `B` says where the bytes live: [`Memory`] for a filter that can be changed, `&[u8]` in a
/// [view](super::View) of a file.
pub type AdaptiveRangeFilter<K, B = Memory> = Filter<Partitions<K>, B>;

/// A fingerprint of an [`AdaptiveRangeFilter`], with the suffixes of the keys under it.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Fingerprint {
    /// The hashes of the partitions under it begin like this.
    pub prefix: Prefix,
    /// The places in their partitions of all those keys.
    pub suffixes: SuffixSet,
}

impl<K: RangeKey + ?Sized> AdaptiveRangeFilter<K> {
    /// Chooses size, error rate, the longest range, hash and growth.
    pub fn builder() -> Builder<K> {
        Builder::default()
    }

    /// Inserts a key that is about to be stored in a database; call this first. `true` if the key is not there yet.
    ///
    /// The database is asked only if the key seems to be there already, and for those few fingerprints that run out of bits if
    /// the filter grows. An error changes nothing.
    pub fn insert_with<L: Lookup + ?Sized>(
        &mut self,
        key: &K,
        database: &L,
    ) -> Result<bool, SetError<L::Error>> {
        let coded = self.reader.coded(key);
        drive(self, &mut ReadOnly(database), coded.insert())
    }

    /// Learns that the filter's *maybe* to a key was wrong, if the database says so too: it is asked for the keys under the
    /// fingerprint that the key has met. An error changes nothing.
    pub fn adapt_with<L: Lookup + ?Sized>(
        &mut self,
        key: &K,
        database: &L,
    ) -> Result<Adapted, SetError<L::Error>> {
        let coded = self.reader.coded(key);
        drive(self, &mut ReadOnly(database), coded.adapt())
    }

    /// Learns that the filter's *maybe* to a range was wrong, if the database says so too. All that is wrong with the range is
    /// mended, or nothing has changed: [`WasMember`](Adapted::WasMember) if a key is in it,
    /// [`NotPositive`](Adapted::NotPositive) if the filter did not say *maybe*, or the range is
    /// [too long](Self::max_partitions) to be looked up.
    pub fn adapt_range_with<Q: RangeKey + ?Sized, L: Lookup + ?Sized>(
        &mut self,
        range: impl RangeBounds<Q>,
        database: &L,
    ) -> Result<Adapted, SetError<L::Error>>
    where
        K: Borrow<Q>,
    {
        let parts = self.positive_parts(&range);
        self.adapt_parts(&parts, &mut ReadOnly(database))
    }

    /// Learns that the filter's *maybe* to the parts of a range was wrong, if it was for all of them; all or nothing.
    pub(super) fn adapt_parts<M: ReverseMap>(
        &mut self,
        parts: &[Coded],
        map: &mut M,
    ) -> Result<Adapted, SetError<M::Error>> {
        let [first, others @ ..] = parts else { return Ok(Adapted::NotPositive) };
        if others.is_empty() {
            return drive(self, map, first.adapt());
        }
        for part in parts {
            if self.reader.has_key(part, map).map_err(SetError::Map)? {
                return Ok(Adapted::WasMember);
            }
        }
        // What is learned for one part must not stay if another fails. Two mistakes in one range are rare.
        let (mut learned, mut adapted) = (self.try_clone()?, Adapted::NotPositive);
        for part in parts {
            adapted = match (adapted, drive(&mut learned, map, part.adapt())?) {
                (Adapted::Fixed { slots: before }, Adapted::Fixed { slots }) => {
                    Adapted::Fixed { slots: before + slots }
                }
                (fixed @ Adapted::Fixed { .. }, _) => fixed,
                (_, adapted) => adapted,
            };
        }
        *self = learned;
        Ok(adapted)
    }

    /// Removes a key whose row has been removed from the database; call this afterwards. An error changes nothing.
    ///
    /// The filter believes that the key was there: to remove another one makes [`len`](Self::len) wrong, but no key is lost.
    pub fn remove_with<L: Lookup + ?Sized>(
        &mut self,
        key: &K,
        database: &L,
    ) -> Result<(), SetError<L::Error>> {
        let coded = self.reader.coded(key);
        drive(self, &mut ReadOnly(database), coded.remove_after_its_row()).map(drop)
    }

    /// Inserts a key, unless it seems to be there already.
    ///
    /// An error changes nothing. [`NeedsGrow`](InsertError::NeedsGrow) asks for [`grow`](Self::grow).
    #[inline]
    pub fn insert(&mut self, key: &K) -> Result<Insertion<SuffixSet>, InsertError> {
        let (partition, suffix) = self.reader.cut().split(key.code());
        let may_try = self.core().used_slots() < self.core().capacity();
        let key = Partition::<K>::new(partition);
        let (hash, inserted) = tried(may_try, &mut *self, &key, move |filter, first_word| InsertAtGlance {
            core: filter.core_mut(),
            first_word,
            own: suffix.into(),
        });
        if inserted {
            self.core_mut().stored(hash);
            return Ok(Insertion::Stored);
        }
        let (core, reader) = self.parts();
        let insertion = core.insert(&reader.words_of(partition, hash), &SuffixSet::of(suffix), 0)?;
        Ok(self.inserted(insertion))
    }

    /// Counts a key that seemed to be there: call it when [`insert`](Self::insert) said
    /// [`Covered`](Insertion::Covered) and the key was new to your map.
    pub fn insert_covered(&mut self, ticket: &Ticket<SuffixSet>) -> Result<(), Stale> {
        self.core_mut().insert_covered(ticket)
    }
}

impl<K: RangeKey + ?Sized, B: AsRef<[u8]>> AdaptiveRangeFilter<K, B> {
    /// Whether `key` may be in the set. `false` is certain.
    #[inline]
    pub fn contains<Q: RangeKey + ?Sized>(&self, key: &Q) -> bool
    where
        K: Borrow<Q>,
    {
        query::contains(self, key.code())
    }

    /// Whether there may be a key in the range. `false` is certain.
    ///
    /// An empty range, or one that ends before it begins, has no keys. A range of up to [`max_range`](Self::max_range) keys is
    /// mistaken with at most the error rate that the filter was built for; one that meets `n` partitions with up to `n / 2`
    /// times that rate. One that meets more than [`max_partitions`](Self::max_partitions) is not looked up: `true`.
    ///
    /// ```
    /// use twiceshy::AdaptiveRangeSet;
    /// use twiceshy::reverse_map::MemoryMap;
    ///
    /// let mut set = AdaptiveRangeSet::<u64, _>::builder().max_range(100).build_set(MemoryMap::new())?;
    /// set.insert(&1_000)?;
    /// assert!(set.contains_range(950..=1_049));
    /// assert!(set.contains_range(1_000..));
    /// assert!(!set.contains_range(1_000..1_000));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[inline]
    pub fn contains_range<Q: RangeKey + ?Sized>(&self, range: impl RangeBounds<Q>) -> bool
    where
        K: Borrow<Q>,
    {
        codes(&range).is_some_and(|codes| query::contains_any(self, codes))
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
        let point = |key: &Q| Some(key.code()..=key.code());
        query::contains_all(self, keys.iter().map(point), found);
    }

    /// [`contains_range`](Self::contains_range) for every range, in order.
    ///
    /// ```
    /// use twiceshy::AdaptiveRangeFilter;
    ///
    /// let filter = AdaptiveRangeFilter::<u64>::builder().max_range(100).from_keys([7u64, 1_000])?;
    /// let mut found = [false; 2];
    /// filter.contains_range_batch(&[0..=50, 990..=1_010], &mut found);
    /// assert_eq!(found, [true, true]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
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
        query::contains_all(self, ranges.iter().map(|range| codes(range)), found);
    }

    /// All fingerprints in ascending order.
    pub fn iter(&self) -> impl Iterator<Item = Fingerprint> {
        self.core().iter().map(|(prefix, suffixes)| Fingerprint { prefix, suffixes })
    }

    /// The longest range for which the error rate holds.
    pub fn max_range(&self) -> u64 {
        self.reader.cut().max_range()
    }

    /// Ranges that meet more partitions of [`max_range`](Self::max_range) keys are not looked up.
    pub fn max_partitions(&self) -> u32 {
        self.reader.cut().max_partitions()
    }

    /// A key as the protocol and the map know it.
    pub fn coded<Q: RangeKey + ?Sized>(&self, key: &Q) -> Coded
    where
        K: Borrow<Q>,
    {
        self.reader.coded(key)
    }

    /// What a range asks for in each partition that it meets, as the protocol knows it; nothing if the range is empty or
    /// [too long](Self::max_partitions) to be looked up.
    pub fn coded_parts<Q: RangeKey + ?Sized, T: RangeBounds<Q>>(
        &self,
        range: T,
    ) -> impl Iterator<Item = Coded> + use<'_, K, B, Q, T>
    where
        K: Borrow<Q>,
    {
        self.reader.coded_parts(codes(&range))
    }

    /// Those of the parts of a range to which the filter says *maybe*.
    pub(super) fn positive_parts<Q: RangeKey + ?Sized>(&self, range: &impl RangeBounds<Q>) -> Vec<Coded> {
        self.reader.coded_parts(codes(range)).filter(|part| self.is_positive(part)).collect()
    }

    /// Whether the filter says *maybe* to a key, or to a range in one partition.
    pub fn is_positive(&self, part: &Coded) -> bool {
        query::contains_any(self, self.reader.part_codes(part))
    }
}

impl<K: RangeKey + ?Sized, B: AsRef<[u8]>> Partitioned for AdaptiveRangeFilter<K, B> {
    type Key = K;

    #[inline(always)]
    fn cut(&self) -> Cut {
        self.reader.cut()
    }

    #[inline(always)]
    fn home<C: Cpu>(&self, cpu: C, hash: u64) -> Home {
        self.core().table().address().home(cpu, hash)
    }

    #[inline(always)]
    fn home_now<C: Cpu>(&self, cpu: C, hash: u64) -> Home {
        self.core().table().home_now(cpu, hash)
    }

    #[inline(always)]
    fn ask_far<C: Cpu>(&self, cpu: C, hash: u64) {
        self.core().table().prefetch_far(cpu, hash);
    }

    #[inline(always)]
    fn ask_near<C: Cpu>(&self, cpu: C, hash: u64) {
        self.core().table().prefetch(cpu, hash);
    }

    #[inline(always)]
    fn ask_header<C: Cpu>(&self, cpu: C, hash: u64) {
        self.core().table().prefetch_header(cpu, hash);
    }

    #[inline(always)]
    fn meets_at_glance<C: Cpu>(&self, cpu: C, home: Home, asked: Asked) -> Option<bool> {
        let (core, nearly) = (self.core(), asked.nearly(self.cut().last_suffix()));
        let (is_there, suffix) = core.strings().own_at_glance(cpu, core.table(), home, asked.hash, nearly)?;
        Some(is_there && asked.has(suffix))
    }

    #[inline(always)]
    fn meets<C: Cpu>(&self, cpu: C, home: Home, asked: Asked) -> bool {
        match self.meets_at_glance(cpu, home, asked) {
            Some(found) => found,
            None => cpu.outlined(LookCloser { filter: self, asked }),
        }
    }
}

/// [`meets`](Partitioned::meets) for all runs.
struct LookCloser<'a, K: RangeKey + ?Sized, B> {
    filter: &'a AdaptiveRangeFilter<K, B>,
    asked: Asked,
}

impl<K: RangeKey + ?Sized, B: AsRef<[u8]>> Kernel for LookCloser<'_, K, B> {
    type Output = bool;
    #[inline(always)]
    fn run<C: Cpu>(self, cpu: C) -> bool {
        let Self { filter, asked } = self;
        let core = filter.core();
        let words = filter.reader.words_of(asked.partition, asked.hash);
        core.meets(cpu, &words, &asked.suffixes())
    }
}
