//! The quotient filter: a multiset of fingerprints, each with a count.
//!
//! # The idea
//!
//! A key's fingerprint is the first `q + r` bits of its hash: `q` quotient bits say where in the
//! [table](crate::table) it lies, `r` remainder bits are stored there. A query is positive iff the
//! fingerprint is stored, so a key that was inserted is always found, and another key is found with
//! probability `distinct fingerprints / 2^(q + r)`, which is at most `2^-r`.
//!
//! The table in memory, the file on disk and the mapped view are the same bytes, and equal multisets
//! in equal shapes are equal bytes.
//!
//! # Cost
//!
//! `(r + 2.125) / load` bits per distinct key; repeated keys are counted (see
//! [`codec::counted`](crate::codec::counted)). Queries and updates touch one or two cache lines at
//! usual loads.
//!
//! # Source
//!
//! Chapter 3 of the thesis *Practical Adaptive Quotient Filter* (the rank-and-select quotient filter)
//! and section 3.2 of *Adaptive Quotient Filters*. This filter does not adapt: it repeats a false
//! positive for as long as the key that caused it is in the set.

mod batch;
mod builder;
mod bulk;
mod fill;
mod iter;
mod merge;
mod parts;
mod persist;
mod resize;
#[cfg(test)]
mod tests;

pub use builder::Builder;
pub use iter::{Fingerprint, Iter};
pub use persist::View;

use crate::bits::cpu::dispatch;
use crate::codec::counted::{self, Change};
use crate::error::{self, BuildError, InsertError};
use crate::filter::macros::{cloned, hashing, kernel, shown};
use crate::filter::room::{Crowded, Effort, Remedy};
use crate::hash::{Hasher, hashed, tried};
use crate::key::Key;
use crate::mem::{Memory, OutOfMemory};
use crate::table::{Full, Limits, Table};
use fill::refill;

/// A quotient filter: answers whether a key *may* be in a multiset, and how many copies of it.
///
/// - `contains` never says `false` for a key that was inserted and not removed since.
/// - For any other key it says `true` with at most the error rate that the filter was built for.
/// - It counts: [`count`](Self::count) is never less than the number of copies inserted.
/// - It is full when 95 % of its slots are in use; then inserting is an error and nothing is lost. Up to
///   the size that it was [built](Self::builder) for it grows by itself.
///
/// The type parameter says where the bytes live: [`Memory`] for a filter that can be changed, `&[u8]`
/// in a [view](View) of a file.
///
/// ```
/// use twiceshy::QuotientFilter;
///
/// let mut seen = QuotientFilter::new(1_000, 0.001)?;
/// seen.insert("moth")?;
/// seen.insert("moth")?;
/// assert!(seen.contains("moth"));
/// assert_eq!(seen.count("moth"), 2);
/// assert!(seen.remove("moth"));
/// assert!(seen.contains("moth"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct QuotientFilter<B = Memory> {
    table: Table<B>,
    hasher: Hasher,
    /// Copies of all keys.
    len: u64,
    /// Different fingerprints.
    distinct: u64,
    /// The size that the filter was built for: up to it, growth is automatic.
    max_quotient_bits: u32,
}

impl QuotientFilter {
    /// A filter for `capacity` different keys with at most the given error rate, and a random hash key.
    ///
    /// See [`builder`](Self::builder) for everything that can be chosen.
    pub fn new(capacity: u64, error_rate: f64) -> Result<Self, BuildError> {
        Self::builder().capacity(capacity).error_rate(error_rate).build()
    }

    /// Chooses size, error rate, hash and growth.
    pub fn builder() -> Builder {
        Builder::default()
    }

    /// An empty filter of the same shape that hashes in the same way: the two can be merged.
    pub fn empty_like(&self) -> Result<Self, OutOfMemory> {
        let table = Table::new(*self.table.shape())?;
        Ok(Self { len: 0, distinct: 0, ..self.with_table(table) })
    }

    /// Inserts a copy of `key`. `true` if its fingerprint was not there before.
    ///
    /// An error changes nothing.
    #[inline]
    pub fn insert<K: Key + ?Sized>(&mut self, key: &K) -> Result<bool, InsertError> {
        let (hash, inserted) = tried(self.has_room(), &mut *self, key, |filter, hash| InsertAtGlance {
            table: &mut filter.table,
            hash,
        });
        self.count_new(inserted);
        if inserted { Ok(true) } else { self.insert_hash_many(hash, 1) }
    }

    /// Inserts `copies` copies of `key`. `true` if its fingerprint was not there before and there is
    /// at least one copy.
    ///
    /// ```
    /// # use twiceshy::QuotientFilter;
    /// let mut filter = QuotientFilter::new(100, 0.01)?;
    /// filter.insert_many(&7u64, 1_000_000_000)?;
    /// assert_eq!(filter.count(&7u64), 1_000_000_000);
    /// assert!(filter.used_slots() < 10);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn insert_many<K: Key + ?Sized>(&mut self, key: &K, copies: u64) -> Result<bool, InsertError> {
        self.insert_hash_many(self.hasher.hash(key), copies)
    }

    /// [`insert`](Self::insert) for callers who hash themselves. The first bits of the hash count most;
    /// all of the first [`fingerprint_bits`](Self::fingerprint_bits) must be evenly distributed.
    #[inline]
    pub fn insert_hash(&mut self, hash: u64) -> Result<bool, InsertError> {
        if self.insert_at_glance(hash) { Ok(true) } else { self.insert_hash_many(hash, 1) }
    }

    /// Inserts a fingerprint that is not there, in the most frequent cases. `false` if nothing was done.
    #[inline]
    fn insert_at_glance(&mut self, hash: u64) -> bool {
        let inserted = self.has_room() && dispatch(InsertAtGlance { table: &mut self.table, hash });
        if inserted {
            self.count_new(true);
        }
        inserted
    }

    /// Whether one more copy fits without further ado.
    #[inline(always)]
    fn has_room(&self) -> bool {
        self.used_slots() < self.capacity() && self.len < u64::MAX
    }

    /// Counts a new fingerprint, if one came.
    #[inline(always)]
    fn count_new(&mut self, came: bool) {
        self.len += u64::from(came);
        self.distinct += u64::from(came);
    }

    /// [`insert_many`](Self::insert_many) for callers who hash themselves.
    pub fn insert_hash_many(&mut self, hash: u64, copies: u64) -> Result<bool, InsertError> {
        self.insert_copies(hash, copies, drop)
    }

    /// Inserts a fingerprint. If the table had to be replaced by a larger one, `replaced` gets the old one.
    fn insert_copies(
        &mut self,
        hash: u64,
        copies: u64,
        replaced: impl FnOnce(Table<Memory>),
    ) -> Result<bool, InsertError> {
        let len = self.len.checked_add(copies).ok_or(InsertError::TooManyCopies)?;
        if copies == 0 {
            return Ok(false);
        }
        let before =
            match dispatch(ChangeCount::new(&mut self.table, hash, Change::Add(copies), Effort::Usual)) {
                Ok(before) => before,
                Err(why) => {
                    let (before, old) = self.insert_crowded(hash, copies, why)?;
                    old.map(replaced);
                    before
                }
            };
        self.len = len;
        self.distinct += u64::from(before == 0);
        Ok(before == 0)
    }

    /// Inserts where there was no room: with more effort, or into a larger table that is taken over once that worked.
    /// Tells how many copies there were before, and gives the old table if there is another one.
    #[cold]
    fn insert_crowded(
        &mut self,
        hash: u64,
        copies: u64,
        mut why: Full,
    ) -> Result<(u64, Option<Table<Memory>>), InsertError> {
        let full = error::Full { used: self.used_slots(), slots: self.slots() };
        let (own_bits, mut largest) = (self.quotient_bits(), self.max_quotient_bits);
        let (mut larger, mut effort) = (None::<Table>, Effort::Usual);
        loop {
            let table = larger.as_ref().unwrap_or(&self.table);
            let (bits, limit) = (table.shape().quotient_bits(), table.shape().slot_limit());
            let crowded = Crowded { why, effort, used: table.used(), limit };
            let (helps, grown) = match crowded.remedy(|| bits < self.max_quotient_bits, || bits < largest) {
                Remedy::Grow => match self.refilled(bits + 1)? {
                    Some(table) => (Remedy::Grow, Some(table)),
                    None => (Remedy::None, None),
                },
                helps => (helps, None),
            };
            match helps {
                Remedy::TryHarder => {
                    larger.as_mut().unwrap_or(&mut self.table).bear(why);
                    effort = Effort::Utmost;
                }
                Remedy::Extend => larger = Some(table.extended(crowded.slots())?),
                Remedy::Grow => (larger, effort) = (grown, Effort::Usual),
                // Slots of a larger table are narrower, so that counts may need more of them, and a merge may have cut
                // fingerprints so short that nothing would be left of them: there may be room without growing.
                Remedy::None if largest > own_bits => {
                    (larger, effort, largest) = (None, Effort::Usual, own_bits)
                }
                Remedy::None => return Err(full.into()),
            }
            let table = larger.as_mut().unwrap_or(&mut self.table);
            match dispatch(ChangeCount::new(table, hash, Change::Add(copies), effort)) {
                Ok(before) => {
                    let old = larger.map(|larger| std::mem::replace(&mut self.table, larger));
                    return Ok((before, old));
                }
                Err(still) => why = still,
            }
        }
    }

    /// The contents in the smallest table that holds them, with at least so many quotient bits. `None` if it may not be
    /// so large.
    fn refilled(&self, least: u32) -> Result<Option<Table>, OutOfMemory> {
        for quotient_bits in least..=self.max_quotient_bits {
            let Ok(shape) = self.shape_for(quotient_bits) else { break };
            // Narrower slots may need more of them for counts.
            if let Some(table) = refill(&self.table, shape)? {
                return Ok(Some(table));
            }
        }
        Ok(None)
    }

    /// Removes a copy of `key`. `false` if its fingerprint is not there.
    ///
    /// Remove only keys that were inserted: a key that merely looks present shares its fingerprint with
    /// another key, and removing it removes that one.
    #[inline]
    pub fn remove<K: Key + ?Sized>(&mut self, key: &K) -> bool {
        let (hash, removed) =
            tried(true, &mut *self, key, |filter, hash| RemoveAtGlance { table: &mut filter.table, hash });
        self.remove_unless(removed, hash)
    }

    /// [`remove`](Self::remove) for callers who hash themselves.
    #[inline]
    pub fn remove_hash(&mut self, hash: u64) -> bool {
        let removed = dispatch(RemoveAtGlance { table: &mut self.table, hash });
        self.remove_unless(removed, hash)
    }

    /// Removes a copy, unless that has been done at a glance.
    #[inline(always)]
    fn remove_unless(&mut self, removed: bool, hash: u64) -> bool {
        if removed {
            self.len -= 1;
            self.distinct -= 1;
            return true;
        }
        self.remove_hash_many(hash, 1) > 0
    }

    /// Removes up to `copies` copies of `key` and tells how many there were to remove. The warning at
    /// [`remove`](Self::remove) applies.
    pub fn remove_many<K: Key + ?Sized>(&mut self, key: &K, copies: u64) -> u64 {
        self.remove_hash_many(self.hasher.hash(key), copies)
    }

    /// [`remove_many`](Self::remove_many) for callers who hash themselves.
    pub fn remove_hash_many(&mut self, hash: u64, copies: u64) -> u64 {
        let before = dispatch(ChangeCount::new(&mut self.table, hash, Change::Remove(copies), Effort::Usual))
            .unwrap_or_else(|_| unreachable!("fewer copies never take more slots"));
        self.len -= copies.min(before);
        self.distinct -= u64::from(before > 0 && copies >= before);
        copies.min(before)
    }

    /// A copy, or an error if there is no memory for it.
    pub fn try_clone(&self) -> Result<Self, OutOfMemory> {
        Ok(self.with_table(self.table.try_clone()?))
    }

    /// Removes everything; size and hash stay.
    pub fn clear(&mut self) {
        self.table.clear();
        self.len = 0;
        self.distinct = 0;
    }
}

impl<B: AsRef<[u8]>> QuotientFilter<B> {
    /// Whether `key` may have been inserted. `false` is certain.
    #[inline]
    pub fn contains<K: Key + ?Sized>(&self, key: &K) -> bool {
        hashed(self, key, |filter, _, hash| Contains { table: &filter.table, hash })
    }

    /// [`contains`](Self::contains) for callers who hash themselves.
    #[inline]
    pub fn contains_hash(&self, hash: u64) -> bool {
        dispatch(Contains { table: &self.table, hash })
    }

    /// How many copies of `key` there may be: never fewer than were inserted, and more only if other
    /// keys share its fingerprint.
    #[inline]
    pub fn count<K: Key + ?Sized>(&self, key: &K) -> u64 {
        hashed(self, key, |filter, _, hash| Count { table: &filter.table, hash })
    }

    /// [`count`](Self::count) for callers who hash themselves.
    #[inline]
    pub fn count_hash(&self, hash: u64) -> u64 {
        dispatch(Count { table: &self.table, hash })
    }

    /// How many copies of keys were inserted and not removed since.
    pub fn len(&self) -> u64 {
        self.len
    }

    /// Whether nothing is in the filter.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// How many different fingerprints there are. Keys that share one count once.
    pub fn distinct(&self) -> u64 {
        self.distinct
    }

    /// How many slots the present size has, without the spill area.
    pub fn slots(&self) -> u64 {
        self.table.shape().slots()
    }

    /// How many slots are in use.
    pub fn used_slots(&self) -> u64 {
        self.table.used()
    }

    /// How many slots may be in use at the present size, which is how many different keys fit.
    pub fn capacity(&self) -> u64 {
        self.table.shape().slot_limit()
    }

    /// The share of the slots that is in use.
    pub fn load_factor(&self) -> f64 {
        self.used_slots() as f64 / self.slots() as f64
    }

    /// The longest stretch of slots without a free one. Reads the whole table.
    ///
    /// An update takes time in proportion to the length of its cluster. With evenly distributed hashes
    /// the longest one has a few hundred slots at 90 % load; much longer ones mean that the hashes given
    /// to [`insert_hash`](Self::insert_hash) are not.
    pub fn longest_cluster(&self) -> u64 {
        self.table.clusters().map(|cluster| cluster.end - cluster.start).max().unwrap_or(0)
    }

    /// The bytes of the table.
    pub fn size_in_bytes(&self) -> usize {
        self.table.bytes().len()
    }

    /// Bits of a fingerprint that its position implies.
    pub fn quotient_bits(&self) -> u32 {
        self.table.shape().quotient_bits()
    }

    /// Bits of a fingerprint that are stored.
    pub fn remainder_bits(&self) -> u32 {
        self.table.shape().slot_bits()
    }

    /// Bits of a fingerprint.
    pub fn fingerprint_bits(&self) -> u32 {
        self.quotient_bits() + self.remainder_bits()
    }

    /// The probability that a key that was never inserted is found, at the present load.
    pub fn expected_error_rate(&self) -> f64 {
        self.distinct as f64 / 2f64.powi(self.fingerprint_bits() as i32)
    }

    /// How this filter hashes its keys.
    pub fn hasher(&self) -> &Hasher {
        &self.hasher
    }

    /// All fingerprints in ascending order, with their counts.
    ///
    /// ```
    /// # use twiceshy::QuotientFilter;
    /// let mut filter = QuotientFilter::builder().quotient_bits(8).remainder_bits(8).build()?;
    /// filter.insert_hash_many(0xabcd << 48, 3)?;
    /// let all: Vec<_> = filter.iter().map(|entry| (entry.fingerprint, entry.count)).collect();
    /// assert_eq!(all, [(0xabcd, 3)]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn iter(&self) -> Iter<'_, B> {
        Iter::new(&self.table)
    }

    /// This filter with its table in another place.
    fn with_table<C>(&self, table: Table<C>) -> QuotientFilter<C> {
        QuotientFilter {
            table,
            hasher: self.hasher.clone(),
            len: self.len,
            distinct: self.distinct,
            max_quotient_bits: self.max_quotient_bits,
        }
    }
}

hashing!(QuotientFilter);
cloned!(QuotientFilter);
shown! {
    [B: AsRef<[u8]>] QuotientFilter<B>:
    len, distinct, quotient_bits, remainder_bits, load_factor, size_in_bytes, expected_error_rate, hasher
}

impl<'a, B: AsRef<[u8]>> IntoIterator for &'a QuotientFilter<B> {
    type Item = Fingerprint;
    type IntoIter = Iter<'a, B>;
    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

kernel! {
    Contains<'a, B: AsRef<[u8]>> { table: &'a Table<B>, hash: u64 } -> bool
    |cpu| counted::contains(cpu, table, table.home_now(cpu, hash), hash)
}

kernel! {
    Count<'a, B: AsRef<[u8]>> { table: &'a Table<B>, hash: u64 } -> u64
    |cpu| {
        let (quotient, remainder) = table.address().split(hash);
        let run = table.run(cpu, quotient);
        counted::find(table, run, remainder).map_or(0, |entry| entry.count)
    }
}

kernel! {
    InsertAtGlance<'a> { table: &'a mut Table, hash: u64 } -> bool
    |cpu| {
        let (home, remainder) = table.address().home_and_window(cpu, hash);
        counted::insert_at_glance(cpu, table, home, remainder)
    }
}

kernel! {
    RemoveAtGlance<'a> { table: &'a mut Table, hash: u64 } -> bool
    |cpu| {
        let (home, remainder) = table.address().home_and_window(cpu, hash);
        counted::remove_at_glance(cpu, table, home, remainder)
    }
}

kernel! {
    ChangeCount<'a> { table: &'a mut Table, hash: u64, change: Change, limits: Limits } -> Result<u64, Full>
    |cpu| {
        let (quotient, remainder) = table.address().split(hash);
        counted::change(cpu, table, quotient, remainder, change, limits)
    }
}

impl<'a> ChangeCount<'a> {
    fn new(table: &'a mut Table, hash: u64, change: Change, effort: Effort) -> Self {
        Self { limits: effort.limits(table.used(), table.shape().slot_limit()), table, hash, change }
    }
}
