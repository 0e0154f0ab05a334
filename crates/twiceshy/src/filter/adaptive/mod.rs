//! The adaptive filter: a set of fingerprints that learn from their mistakes.
//!
//! # The idea
//!
//! The filter stores prefixes of hashes, its fingerprints, and none of them is a prefix of another, so every
//! key in the set has exactly one, and a query meets at most one. Keys whose hashes begin alike share it.
//! When a query turns out to be a false positive, the keys under the fingerprint that it met are looked up
//! in the [reverse map](crate::reverse_map), and the fingerprint is replaced by longer ones that still cover
//! each of those keys but not the query any more ([`cut`]). Fingerprints never get shorter again, not by
//! other adaptations, growth, shrinking, removals or merges, so the same stored key never causes the same
//! false positive twice.
//!
//! [`AdaptiveFilter`] leaves the keys with the caller: it hands out [tickets](Ticket) and takes the keys
//! under them back. [`AdaptiveSet`] does all that by itself, on any reverse map.
//!
//! # Growth
//!
//! Doubling the table moves one bit of every fingerprint from its slots to its position. New fingerprints
//! get fresh length, so old ones are shorter; those with no bit left are looked up in the map when the table
//! grows and get fresh length too. In a filter that grew for ever the rate of false positives is at most
//! `load · (r + 2) · 2^-(r + 1)`, and the builder chooses `r` for that.
//!
//! # Cost
//!
//! `(r + 3.125) / load` bits per key, and one slot more for a fingerprint that adapted; after the first
//! resize one bit more, the stop bit that fingerprints of different lengths need. A query touches one or two
//! cache lines.
//!
//! # Source
//!
//! Sections 3 and 4 of *Adaptive Quotient Filters*, growth from section 3.3 of *Aeris Filter*. We deviate in
//! the fingerprints: the papers allow equal and nested ones and tell their keys apart by rank, which breaks
//! when keys are removed or filters merged. Here keys share a fingerprint until a mistake parts them.

mod adapt;
mod batch;
mod builder;
mod cut;
mod fill;
mod insert;
mod iter;
mod journal;
mod merge;
mod persist;
mod rebuild;
mod resize;
mod set;
mod shapes;
mod stats;
#[cfg(test)]
mod tests;
mod ticket;

pub use adapt::Adapted;
pub use builder::{AdaptiveFilterBuilder, Growth};
pub use insert::Insertion;
pub use iter::{Fingerprint, FingerprintsInOrder};
pub use journal::{Record, RecordError};
pub use persist::AdaptiveFilterView;
pub use set::AdaptiveSet;
pub use stats::{AdaptiveStats, Lengths};
pub use ticket::Ticket;

use std::fmt;

use crate::bits::cpu::{Cpu, Kernel, dispatch};
use crate::codec::string::{Entry, Found, Strings, Table};
use crate::error::BuildError;
use crate::filter::{MAX_LOAD_PERCENT, slot_limit};
use crate::hash::{Hasher, KeyWords, RawWords, Words};
use crate::key::Key;
use crate::mem::{Memory, OutOfMemory};
use crate::table::Run;
use stats::Counters;
use ticket::Versions;

/// An adaptive filter whose keys are kept by the caller: answers whether a key *may* be in a set, and never
/// makes the same mistake twice.
///
/// 1. **No false negatives**: a key that was inserted and not removed since is found.
/// 2. **The same stored key never causes the same false positive twice**: once
///    [`adapt`](Self::adapt) said [`Fixed`](Adapted::Fixed), the query can be positive again only because of
///    a key that is inserted, re-inserted or merged in later.
/// 3. **The rate**: a query that was never asked before is a false positive with at most the error rate
///    that the filter was built for, at every size, whatever was asked before.
///
/// It is a set: a key is in it once. If your keys fit behind a [`ReverseMap`](crate::ReverseMap), take
/// [`AdaptiveSet`], which does everything below by itself. With this type *you* keep the keys, in any map
/// that can list those whose hashes begin alike:
///
/// - [`insert`](Self::insert) stores a key that is certainly new, or says that the key is
///   [covered](Insertion::Covered) already; then your map knows whether it is new.
/// - [`query`](Self::query) gives a [`Ticket`] for a key that may be there. If your map says that it is not,
///   hand the keys under the ticket's prefix to [`adapt`](Self::adapt).
/// - [`remove`](Self::remove) takes a ticket and whether other keys are under it.
/// - [`grow`](Self::grow) asks for the keys of those few fingerprints that ran out of bits.
///
/// ```
/// use std::collections::BTreeMap;
/// use twiceshy::{Adapted, AdaptiveFilter, Insertion, Query, Ticket};
///
/// let mut filter = AdaptiveFilter::builder().capacity(1_000).error_rate(0.01).build()?;
/// // Your own database, which can list keys in the order of their hashes.
/// let mut rows: BTreeMap<(u64, String), &str> = BTreeMap::new();
///
/// let (key, hash) = ("moth".to_string(), filter.hasher().hash("moth"));
/// rows.insert((hash, key.clone()), "a value");
/// match filter.insert(&key)? {
///     Insertion::Stored => {}
///     Insertion::Covered(ticket) => filter.insert_covered(&ticket)?,
/// }
///
/// // The feedback loop: look where the filter says maybe, and tell it when it was wrong.
/// for key in ["moth", "bat", "owl"] {
///     let Query::Maybe(ticket) = filter.query(key) else { continue };
///     if rows.contains_key(&(filter.hasher().hash(key), key.to_string())) {
///         continue; // a member
///     }
///     let hashes = ticket.prefix().first_words();
///     let (first, last) = ((*hashes.start(), String::new()), *hashes.end());
///     let under = rows.range(first..).take_while(|((hash, _), _)| *hash <= last).map(|((_, key), _)| key);
///     assert!(matches!(filter.adapt(&ticket, key, under)?, Adapted::Fixed { .. }));
///     assert!(!filter.contains(key));
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// The type parameter says where the bytes live: [`Memory`] for a filter that can be changed, `&[u8]` in a
/// [view](AdaptiveFilterView) of a file.
pub struct AdaptiveFilter<B = Memory> {
    table: Table<B>,
    /// Whether fingerprints end with a stop bit; they do once the filter was resized.
    has_stop: bool,
    hasher: Hasher,
    /// Keys.
    len: u64,
    /// Fingerprints.
    entries: u64,
    /// The least bits that a new fingerprint has behind its quotient.
    remainder_bits: u32,
    growth: Growth,
    versions: Versions,
    counters: Counters,
}

/// What a filter says of a key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Query {
    /// The key is certainly not in the set.
    Absent,
    /// It may be. If it is not, [`adapt`](AdaptiveFilter::adapt) with this ticket.
    Maybe(Ticket),
}

impl AdaptiveFilter {
    /// A filter with at most the given error rate, which starts small, says when it must grow, and takes a
    /// random hash key.
    pub fn new(error_rate: f64) -> Result<Self, BuildError> {
        Self::builder().error_rate(error_rate).build()
    }

    /// Chooses size, error rate, hash and growth.
    pub fn builder() -> AdaptiveFilterBuilder {
        AdaptiveFilterBuilder::new()
    }

    /// An empty filter of the same shape that hashes in the same way: the two can be merged.
    pub fn empty_like(&self) -> Result<Self, OutOfMemory> {
        let mut empty = self.with_table(Table::new(*self.table.shape())?);
        (empty.len, empty.entries) = (0, 0);
        empty.counters = Counters::default();
        Ok(empty)
    }

    /// A copy, or an error if there is no memory for it.
    pub fn try_clone(&self) -> Result<Self, OutOfMemory> {
        Ok(self.with_table(self.table.try_clone()?))
    }

    /// Removes everything; size and hash stay. Tickets get stale.
    pub fn clear(&mut self) {
        self.table.clear();
        (self.len, self.entries) = (0, 0);
        self.versions.bump_all();
    }

    /// Says how many keys your map has, if you have counted them: [`len`](Self::len) may be too high after a journal was
    /// replayed, which does not tell whether a key that is covered was counted before.
    ///
    /// Every fingerprint counts as a key at least, and without a fingerprint there is none.
    pub fn set_len(&mut self, len: u64) {
        self.len = if self.entries == 0 { 0 } else { len.max(self.entries) };
    }

    /// Changes whether, and how far, the filter may grow. It does not get smaller by this.
    pub fn set_growth(&mut self, growth: Growth) {
        self.growth = growth;
    }
}

impl<B: AsRef<[u8]>> AdaptiveFilter<B> {
    /// Whether `key` may be in the set. `false` is certain.
    #[inline]
    pub fn contains<K: Key + ?Sized>(&self, key: &K) -> bool {
        self.contains_words(KeyWords::new(&self.hasher, &key))
    }

    /// [`contains`](Self::contains) for callers who hash themselves.
    ///
    /// A hash is the first 64 bits of an endless string; if a fingerprint needs more, they are derived from
    /// it. So a filter is fed either with keys or with hashes, never with both.
    #[inline]
    pub fn contains_hash(&self, hash: u64) -> bool {
        self.contains_words(RawWords(hash))
    }

    #[inline(always)]
    fn contains_words(&self, words: impl Words) -> bool {
        dispatch(Contains { filter: self, words })
    }

    /// Whether `key` may be in the set, with a ticket if so.
    pub fn query<K: Key + ?Sized>(&self, key: &K) -> Query {
        self.query_words(&KeyWords::new(&self.hasher, &key))
    }

    /// [`query`](Self::query) for callers who hash themselves.
    pub fn query_hash(&self, hash: u64) -> Query {
        self.query_words(&RawWords(hash))
    }

    fn query_words(&self, words: &impl Words) -> Query {
        match self.find(words) {
            (_, _, Found::Between { .. }) => Query::Absent,
            (quotient, _, Found::Covered(entry)) => Query::Maybe(self.ticket(quotient, &entry)),
        }
    }

    /// The tag of the fingerprint that `key` meets: `None` if the key is certainly not in the set, 0 if no
    /// tag was given.
    pub fn tag<K: Key + ?Sized>(&self, key: &K) -> Option<u64> {
        match self.find(&KeyWords::new(&self.hasher, &key)) {
            (_, _, Found::Covered(entry)) => Some(self.strings().tag(&self.table, &entry)),
            (_, _, Found::Between { .. }) => None,
        }
    }

    /// How many keys were inserted and not removed since.
    pub fn len(&self) -> u64 {
        self.len
    }

    /// Whether no key is in the set.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// How many fingerprints there are. Keys that share one count once.
    pub fn fingerprints(&self) -> u64 {
        self.entries
    }

    /// How many slots the present size has, without the spill area.
    pub fn slots(&self) -> u64 {
        self.table.shape().quotients()
    }

    /// How many slots are in use.
    pub fn used_slots(&self) -> u64 {
        self.table.used()
    }

    /// How many slots may be in use at the present size.
    pub fn capacity(&self) -> u64 {
        slot_limit(self.table.shape())
    }

    /// The share of the slots that is in use.
    pub fn load_factor(&self) -> f64 {
        self.used_slots() as f64 / self.slots() as f64
    }

    /// The bytes of the table.
    pub fn size_in_bytes(&self) -> usize {
        self.table.bytes().len()
    }

    /// Bits of a fingerprint that its position implies.
    pub fn quotient_bits(&self) -> u32 {
        self.table.shape().quotient_bits()
    }

    /// Bits of a slot.
    pub fn slot_bits(&self) -> u32 {
        self.table.shape().slot_bits()
    }

    /// The least bits that a new fingerprint has behind its quotient. The builder chose them so that the
    /// error rate holds at every size.
    pub fn remainder_bits(&self) -> u32 {
        self.remainder_bits
    }

    /// What the filter does when it is full.
    pub fn growth(&self) -> Growth {
        self.growth
    }

    /// How this filter hashes its keys.
    pub fn hasher(&self) -> &Hasher {
        &self.hasher
    }

    /// How fingerprints lie in the table.
    #[inline(always)]
    fn strings(&self) -> Strings {
        Strings::new(self.table.shape(), self.has_stop)
    }

    /// The quotient of a hash, its run, and what the run says of the hash.
    fn find(&self, words: &impl Words) -> (u64, Run, Found) {
        dispatch(Find { table: &self.table, strings: self.strings(), words })
    }

    fn ticket(&self, quotient: u64, entry: &Entry) -> Ticket {
        let strings = self.strings();
        let prefix = strings.prefix(&self.table, quotient, entry);
        let tag = strings.tag(&self.table, entry);
        Ticket { stamp: self.versions.stamp(&prefix), tag, prefix }
    }

    /// The same filter with the same table in another place.
    fn with_table<C>(&self, table: Table<C>) -> AdaptiveFilter<C> {
        AdaptiveFilter {
            table,
            has_stop: self.has_stop,
            hasher: self.hasher.clone(),
            len: self.len,
            entries: self.entries,
            remainder_bits: self.remainder_bits,
            growth: self.growth,
            versions: self.versions.clone(),
            counters: self.counters,
        }
    }
}

/// Copies the filter. Tickets of the one are good for the other as long as neither changes.
///
/// # Panics
///
/// If there is no memory for the copy; [`try_clone`](AdaptiveFilter::try_clone) returns an error then.
impl Clone for AdaptiveFilter {
    fn clone(&self) -> Self {
        self.try_clone().unwrap_or_else(|error| panic!("{error}"))
    }
}

/// A summary, without the hash key and without the contents.
impl<B: AsRef<[u8]>> fmt::Debug for AdaptiveFilter<B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AdaptiveFilter")
            .field("len", &self.len)
            .field("fingerprints", &self.entries)
            .field("quotient_bits", &self.quotient_bits())
            .field("slot_bits", &self.slot_bits())
            .field("remainder_bits", &self.remainder_bits)
            .field("growth", &self.growth)
            .field("load_factor", &self.load_factor())
            .field("size_in_bytes", &self.size_in_bytes())
            .field("hasher", &self.hasher)
            .finish()
    }
}

/// The quotient of a hash.
#[inline(always)]
fn quotient_of<B: AsRef<[u8]>>(table: &Table<B>, words: &impl Words) -> u64 {
    table.address().quotient(words.word(0))
}

struct Find<'a, B, W> {
    table: &'a Table<B>,
    strings: Strings,
    words: &'a W,
}

impl<B: AsRef<[u8]>, W: Words> Kernel for Find<'_, B, W> {
    type Output = (u64, Run, Found);
    #[inline(always)]
    fn run<C: Cpu>(self, cpu: C) -> Self::Output {
        let quotient = quotient_of(self.table, self.words);
        let run = self.table.run(cpu, quotient);
        (quotient, run, self.strings.find(self.table, run, self.words))
    }
}

/// Small enough for registers, if the words are.
struct Contains<'a, B, W> {
    filter: &'a AdaptiveFilter<B>,
    words: W,
}

impl<B: AsRef<[u8]>, W: Words> Kernel for Contains<'_, B, W> {
    type Output = bool;
    #[inline(always)]
    fn run<C: Cpu>(self, cpu: C) -> bool {
        self.filter.strings().contains(cpu, &self.filter.table, &self.words)
    }
}
