//! The adaptive filter: a set of fingerprints that learn from their mistakes.
//!
//! # The idea
//!
//! The filter stores prefixes of hashes, its fingerprints, and none of them is a prefix of another, so every
//! key in the set has exactly one, and a query meets at most one. Keys whose hashes begin alike share it.
//! When a query turns out to be a false positive, the keys under the fingerprint that it met are looked up
//! in the [reverse map](crate::reverse_map), and the fingerprint is replaced by longer ones that still cover
//! each of those keys but not the query any more ([`cut`](super::core::cut)). Fingerprints never get shorter again, not by
//! other adaptations, growth, shrinking, removals or merges, so the same stored key never causes the same
//! false positive twice.
//!
//! [`AdaptiveFilter`] is the adaptive [core](super::core), with tags, and a hasher in front. It leaves the keys with the
//! caller: it hands out [tickets](Ticket) and takes the keys under them back, or is told where to look them up.
//! [`AdaptiveSet`] does all that by itself, on any reverse map. The [protocol](super::protocol) says in which order.
//!
//! # Growth
//!
//! A table that is full gets a fifth to a third more slots, and every third time twice as many quotients: that moves one
//! bit of every fingerprint from its slots to its position. New fingerprints get fresh length, so old ones are
//! shorter; those with no bit left are looked up in the map when the table grows and get fresh length too. In a
//! filter that grew for ever the rate of false positives is at most
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

mod builder;
mod insert;
mod iter;
mod journal;
mod learn;
mod persist;
mod replay;
mod rotate;
mod set;
pub(crate) mod set_file;
#[cfg(test)]
pub(crate) mod tests;
mod whole;

pub use super::core::{Adapted, Growth, Insertion, Lengths, Stats, Ticket};
pub use crate::hash::Turn;
pub use builder::Builder;
pub use iter::{Fingerprint, Iter};
pub use journal::{Record, RecordError};
pub use persist::View;
pub use set::{AdaptiveSet, Set};

use super::core::{Contains, Core};
use super::protocol::{Keys, ValueOf};
use crate::error::BuildError;
use crate::filter::batch::{CHUNK, in_chunks};
use crate::filter::macros::{cloned, delegated, shown};
use crate::hash::{Hasher, Hashes, KeyWords, RawKeyWords, RawWords, Words, hashed};
use crate::key::Key;
use crate::mem::{Memory, OutOfMemory};

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
/// [`AdaptiveSet`], which does everything below by itself. With this type *you* keep the keys, in any database that can
/// list those whose hashes begin alike ([`Lookup`](crate::reverse_map::Lookup)):
///
/// - [`insert_with`](Self::insert_with) before you store a key,
/// - [`adapt_with`](Self::adapt_with) when the filter said *maybe* to a key that is not there,
/// - [`remove_with`](Self::remove_with) after a key is gone.
///
/// ```
/// use twiceshy::reverse_map::{Lookup, MemoryMap};
/// use twiceshy::{AdaptiveFilter, ReverseMap};
///
/// let mut filter = AdaptiveFilter::builder().error_rate(0.01).build()?;
/// // Stands for your own database, which can list keys in the order of their hashes.
/// let mut database = MemoryMap::new();
///
/// for word in ["ant", "bee", "moth"] {
///     filter.insert_with(word, &database)?;
///     database.insert(filter.hasher().hash(word), word.as_bytes(), b"a value")?;
/// }
/// // Look where the filter says maybe, and tell it when it was wrong.
/// for number in 0..10_000u32 {
///     let word = number.to_string();
///     let hash = filter.hasher().hash(&word);
///     if filter.contains(&word) && !database.contains(hash, word.as_bytes())? {
///         filter.adapt_with(&word, &database)?;
///         assert!(!filter.contains(&word));
///     }
/// }
/// database.remove(filter.hasher().hash("bee"), b"bee")?;
/// filter.remove_with("bee", &database)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// These look into the database while they hold the filter. If that is not what you want, there are the single steps, with
/// your own reading in between:
///
/// - [`insert`](Self::insert) stores a key that is certainly new, or says that the key is
///   [covered](Insertion::Covered) already; then your map knows whether it is new.
/// - [`query`](Self::query) gives a [`Ticket`] for a key that may be there. If your map says that it is not,
///   hand the rows under the ticket's prefix to [`adapt`](Self::adapt).
/// - [`remove`](Self::remove) takes a ticket and whether other keys are under it.
/// - [`grow`](Self::grow) looks up the keys of those few fingerprints that ran out of bits.
///
/// The type parameter says where the bytes live: [`Memory`] for a filter that can be changed, `&[u8]` in a
/// [view](View) of a file.
pub type AdaptiveFilter<B = Memory> = Filter<Hasher, B>;

/// What all adaptive filters have in common, whatever their fingerprints carry. [`AdaptiveFilter`] is the one of keys.
pub struct Filter<R: Keys, B = Memory> {
    core: Core<R::Payload, B>,
    pub(crate) reader: R,
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
    pub fn builder() -> Builder {
        Builder::default()
    }
}

impl<R: Keys> Filter<R> {
    /// An empty filter of the same shape that hashes in the same way: the two can be merged.
    pub fn empty_like(&self) -> Result<Self, OutOfMemory> {
        Ok(self.with_core(self.core.empty_like()?))
    }

    /// A copy, or an error if there is no memory for it. Tickets of the one are good for the other as long as neither changes.
    pub fn try_clone(&self) -> Result<Self, OutOfMemory> {
        Ok(self.with_core(self.core.try_clone()?))
    }

    /// Removes everything; size and hash stay. Tickets get stale.
    pub fn clear(&mut self) {
        self.core.clear();
    }

    /// Says how many keys your map has, if you have counted them: [`len`](Self::len) may be too high after a journal was
    /// replayed, which does not tell whether a key that is covered was counted before.
    ///
    /// Every fingerprint counts as a key at least, and without a fingerprint there is none.
    pub fn set_len(&mut self, len: u64) {
        self.core.set_len(len);
    }

    /// Changes whether, and how far, the filter may grow. It does not get smaller by this.
    pub fn set_growth(&mut self, growth: Growth) {
        self.core.set_growth(growth);
    }

    pub(crate) fn into_core(self) -> (Core<R::Payload>, R) {
        (self.core, self.reader)
    }

    /// The core, to be changed.
    #[inline(always)]
    pub(crate) fn core_mut(&mut self) -> &mut Core<R::Payload> {
        &mut self.core
    }

    /// What an operation works on, and how it reads rows.
    pub(crate) fn parts(&mut self) -> (&mut Core<R::Payload>, &R) {
        (&mut self.core, &self.reader)
    }
}

impl<B: AsRef<[u8]>> AdaptiveFilter<B> {
    /// Whether `key` may be in the set. `false` is certain.
    #[inline]
    pub fn contains<K: Key + ?Sized>(&self, key: &K) -> bool {
        hashed(self, key, |filter, key, hash| Contains {
            core: &filter.core,
            words: KeyWords::with_first(&filter.reader, key, hash),
        })
    }

    /// [`contains`](Self::contains) for callers who hash themselves.
    ///
    /// A hash is the first 64 bits of an endless string; if a fingerprint needs more, they are derived from
    /// it. So a filter is fed either with keys or with hashes, never with both.
    #[inline]
    pub fn contains_hash(&self, hash: u64) -> bool {
        match self.reader.is_turned() {
            false => self.core.contains(RawWords(hash)),
            true => self.core.contains(RawKeyWords::new(&self.reader, hash)),
        }
    }

    /// [`contains`](Self::contains) for every key, in order.
    ///
    /// # Panics
    ///
    /// If there are not as many answers as keys.
    pub fn contains_batch<K: Key>(&self, keys: &[K], found: &mut [bool]) {
        in_chunks(&self.reader, keys, found, |keys, hashes, found| {
            let words = |number| KeyWords::with_first(&self.reader, &keys[number], hashes[number]);
            self.core.contains_all(hashes, words, found);
        });
    }

    /// [`contains_batch`](Self::contains_batch) for callers who hash themselves; see
    /// [`contains_hash`](Self::contains_hash).
    ///
    /// # Panics
    ///
    /// If there are not as many answers as hashes.
    pub fn contains_hash_batch(&self, hashes: &[u64], found: &mut [bool]) {
        assert_eq!(hashes.len(), found.len(), "as many answers as hashes");
        let mut first = [0; CHUNK];
        for (hashes, found) in hashes.chunks(CHUNK).zip(found.chunks_mut(CHUNK)) {
            let first = &mut first[..hashes.len()];
            first.copy_from_slice(hashes);
            self.reader.first_words(first);
            let words = |number| RawKeyWords::with_first(&self.reader, hashes[number], first[number]);
            self.core.contains_all(first, words, found);
        }
    }

    /// Whether `key` may be in the set, with a ticket if so.
    pub fn query<K: Key + ?Sized>(&self, key: &K) -> Query {
        self.query_words(&KeyWords::new(&self.reader, &key))
    }

    /// [`query`](Self::query) for callers who hash themselves.
    pub fn query_hash(&self, hash: u64) -> Query {
        self.query_words(&RawKeyWords::new(&self.reader, hash))
    }

    fn query_words(&self, words: &impl Words) -> Query {
        self.core.query(words).map_or(Query::Absent, |ticket| Query::Maybe(self.listed(ticket)))
    }

    /// The tag of the fingerprint that `key` meets: `None` if the key is certainly not in the set, 0 if no
    /// tag was given.
    pub fn tag<K: Key + ?Sized>(&self, key: &K) -> Option<u64> {
        let place = self.core.cover(&KeyWords::new(&self.reader, &key))?;
        Some(self.core.value(&place.entry))
    }
}

impl<R: Keys, B: AsRef<[u8]>> Filter<R, B> {
    /// Asks the CPU for the memory that a key with this hash will need: call it for keys that are still some keys
    /// ahead.
    #[inline]
    pub fn prefetch(&self, hash: u64) {
        self.core.prefetch(hash);
    }

    delegated! {
        core:

        /// How many keys were inserted and not removed since.
        len -> u64;

        /// How many slots the present size has, without the spill area.
        slots -> u64;

        /// How many slots are in use.
        used_slots -> u64;

        /// How many slots may be in use at the present size.
        capacity -> u64;

        /// Bits of a fingerprint that its position implies.
        quotient_bits -> u32;

        /// Bits of a slot.
        slot_bits -> u32;

        /// The least bits that a new fingerprint has after its quotient. The builder chose them so that the
        /// error rate holds at every size.
        remainder_bits -> u32;

        /// What the filter does when it is full.
        growth -> Growth;

        /// What happened since the filter was made or read.
        stats -> Stats;

    }

    /// How long the fingerprints are, and which error rate follows. Reads the whole table.
    pub fn lengths(&self) -> Lengths {
        let lengths = self.core.lengths();
        let expected_error_rate = (lengths.expected_error_rate * f64::from(self.reader.lookups())).min(1.0);
        Lengths { expected_error_rate, ..lengths }
    }

    /// The error rate that the filter keeps at every size, as long as nothing is merged into it.
    pub fn highest_error_rate(&self) -> f64 {
        self.core.highest_error_rate() * f64::from(self.reader.lookups())
    }

    /// Whether no key is in the set.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// How many fingerprints there are. Keys that share one count once.
    pub fn fingerprints(&self) -> u64 {
        self.core.entries()
    }

    /// The share of the slots that is in use.
    pub fn load_factor(&self) -> f64 {
        self.used_slots() as f64 / self.slots() as f64
    }

    /// The bytes of the table.
    pub fn size_in_bytes(&self) -> usize {
        self.core.table().bytes().len()
    }

    /// How this filter hashes its keys, and maps are ordered. A filter that [rotates](Growth::Rotate) makes its fingerprints of
    /// these hashes; they stay as they are.
    pub fn hasher(&self) -> &Hasher {
        self.reader.hasher().plain()
    }

    /// The probability that a key that is not in the set and was never asked for is found now, from the
    /// actual lengths of the fingerprints; for ranges, that any range of the longest length is. Reads the whole table.
    pub fn expected_error_rate(&self) -> f64 {
        self.lengths().expected_error_rate
    }

    /// The filter of a core whose rows are read like this.
    pub(crate) fn from_core(core: Core<R::Payload, B>, reader: R) -> Self {
        Self { core, reader }
    }

    #[inline(always)]
    pub(crate) fn core(&self) -> &Core<R::Payload, B> {
        &self.core
    }

    #[cfg(test)]
    pub(crate) fn reader(&self) -> &R {
        &self.reader
    }

    /// A ticket for a caller, who looks for the keys under it.
    #[inline(always)]
    pub(crate) fn listed(&self, mut ticket: Ticket<ValueOf<R>>) -> Ticket<ValueOf<R>> {
        if self.reader.ordered_bits_of(ticket.fingerprint()) < u64::BITS {
            ticket.listed = Some(Box::new(self.reader.listed(ticket.fingerprint())));
        }
        ticket
    }

    /// What became of a key, for a caller.
    #[inline(always)]
    pub(crate) fn inserted(&self, insertion: Insertion<ValueOf<R>>) -> Insertion<ValueOf<R>> {
        match insertion {
            Insertion::Covered(ticket) => Insertion::Covered(self.listed(ticket)),
            Insertion::Stored => Insertion::Stored,
        }
    }

    /// This filter with another core.
    fn with_core<C>(&self, core: Core<R::Payload, C>) -> Filter<R, C> {
        Filter { core, reader: self.reader.clone() }
    }
}

impl<R: Keys, B> Hashes for Filter<R, B> {
    #[inline(always)]
    fn hasher(&self) -> &Hasher {
        self.reader.hasher()
    }
}

cloned!([R: Keys] Filter<R>);
shown! {
    [R: Keys, B: AsRef<[u8]>] Filter<R, B>:
    len, fingerprints, quotient_bits, slot_bits, remainder_bits, growth, load_factor, size_in_bytes, hasher
}
