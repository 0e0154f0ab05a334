//! Adaptive filters and sets that many threads share.
//!
//! A shard of a set is an [`AdaptiveSet`] with a map of its own, or with a handle of one that all shards share: whoever holds
//! the shard's lock has filter and map of these keys for itself, and the protocol between the two is the one of a single
//! thread. There is no moment in which a key is in one and not in the other that anybody else could see who changes something;
//! and who only asks looks at the filter, which gets a fingerprint before the insert has returned, and loses one after the row
//! has gone.

use super::{Frame, Shard, Shards, TRIES};
use crate::bits::cpu::{Cpu, dispatch};
use crate::codec::string::{Found, Strings, Tags};
use crate::error::{AdaptError, BuildError, InsertError, RebuildError, SetError, Stale};
use crate::filter::adaptive::{
    Adapted, AdaptiveFilter, AdaptiveSet, Builder, Insertion, Query, Stats, Ticket,
};
use crate::filter::batch::{Probe, contains_all, in_chunks};
use crate::filter::core::Core;
use crate::filter::macros::kernel;
use crate::hash::{Hasher, Hashes, KeyWords, RawWords, Words, hashed};
use crate::key::Key;
use crate::mem::{Memory, OutOfMemory};
use crate::reverse_map::{Lookup, MemoryMap, ReverseMap, Rows};
use crate::table::Extended;

/// An [`AdaptiveFilter`] that many threads share: all operations take `&self`.
///
/// It keeps the same promises; what a query sees that runs at the same time as a change is in `docs/threads.md`. If your keys
/// fit behind a [`ReverseMap`], take [`SharedAdaptiveSet`]. With this type you keep the keys. Two ways:
///
/// - [`insert_with`](Self::insert_with), [`adapt_with`](Self::adapt_with) and [`remove_with`](Self::remove_with) look into
///   your database while they hold the lock of one shard. If the rows of a key are written in the order that their
///   documentation says, and by one thread at a time for each key, nothing is lost.
/// - [`insert`](Self::insert), [`adapt`](Self::adapt) and [`remove`](Self::remove) with [tickets](Ticket) hold the lock for a
///   moment only, and say [`Stale`] if something has changed since the ticket was given.
///
/// ```
/// use twiceshy::AdaptiveFilter;
///
/// let filter = AdaptiveFilter::builder().capacity(10_000).build_shared()?;
/// std::thread::scope(|scope| {
///     for thread in 0..2u64 {
///         let filter = &filter;
///         scope.spawn(move || (0..100u64).for_each(|i| drop(filter.insert(&(thread, i)).unwrap())));
///     }
/// });
/// assert!(filter.contains(&(1u64, 99u64)));
/// # Ok::<(), twiceshy::error::BuildError>(())
/// ```
pub struct SharedAdaptiveFilter {
    pub(super) shards: Shards<AdaptiveFilter>,
    hasher: Hasher,
}

/// An [`AdaptiveSet`] that many threads share: all operations take `&self`.
///
/// ```
/// use twiceshy::reverse_map::MemoryMap;
/// use twiceshy::AdaptiveSet;
///
/// let set = AdaptiveSet::builder().error_rate(0.01).build_shared_set(|_| MemoryMap::new())?;
/// std::thread::scope(|scope| {
///     for thread in 0..2u64 {
///         let set = &set;
///         scope.spawn(move || (0..100u64).for_each(|i| assert!(set.insert(&(thread, i)).unwrap())));
///     }
/// });
/// assert_eq!(set.len(), 200);
/// for number in 0..1_000u32 {
///     assert!(!set.contains_exactly(&number)?);
///     assert!(!set.contains(&number));
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct SharedAdaptiveSet<M: ReverseMap = MemoryMap> {
    pub(super) shards: Shards<AdaptiveSet<M>>,
    hasher: Hasher,
}

/// A shard with an adaptive core.
pub(crate) trait Adaptive: Shard<Frame = Frame<Extended, Strings<Tags>>> {
    fn core(&self) -> &Core<Tags>;
}

impl Shard for AdaptiveFilter {
    type Frame = Frame<Extended, Strings<Tags>>;

    fn frame(&self) -> Self::Frame {
        Frame {
            table: AdaptiveFilter::core(self).table().frame(),
            codec: AdaptiveFilter::core(self).strings(),
        }
    }

    #[inline(always)]
    fn memory(&mut self) -> &mut Memory {
        self.core_mut().memory()
    }
}

impl Adaptive for AdaptiveFilter {
    fn core(&self) -> &Core<Tags> {
        AdaptiveFilter::core(self)
    }
}

impl<M: ReverseMap> Shard for AdaptiveSet<M> {
    type Frame = Frame<Extended, Strings<Tags>>;

    fn frame(&self) -> Self::Frame {
        Shard::frame(self.filter())
    }

    #[inline(always)]
    fn memory(&mut self) -> &mut Memory {
        self.parts().0.memory()
    }
}

impl<M: ReverseMap> Adaptive for AdaptiveSet<M> {
    fn core(&self) -> &Core<Tags> {
        self.filter().core()
    }
}

/// What both have in common.
macro_rules! shared_adaptive {
    ([$($generics:tt)*] $name:ident $(<$map:ident>)?, $filter:ident => $of:expr) => {
        impl<$($generics)*> $name$(<$map>)? {
            /// Whether `key` may be in the set. `false` is certain, but for inserts that have not returned yet.
            #[inline]
            pub fn contains<K: Key + ?Sized>(&self, key: &K) -> bool {
                hashed(self, key, |filter, key, hash| Contains {
                    shards: &filter.shards,
                    words: KeyWords::with_first(&filter.hasher, key, hash),
                })
            }

            /// [`contains`](Self::contains) for every key, in order.
            ///
            /// # Panics
            ///
            /// If there are not as many answers as keys.
            pub fn contains_batch<K: Key>(&self, keys: &[K], found: &mut [bool]) {
                in_chunks(&self.hasher, keys, found, |keys, hashes, found| {
                    let words = |number| KeyWords::with_first(&self.hasher, &keys[number], hashes[number]);
                    contains_all(OfShards { shards: &self.shards, words }, hashes, found);
                });
            }

            /// Whether `key` may be in the set, with a ticket if so. Holds the lock of a shard for a moment.
            pub fn query<K: Key + ?Sized>(&self, key: &K) -> Query {
                let $filter = self.shards.lock(self.shards.of(self.hasher.hash(key)));
                $of.query(key)
            }

            /// The tag of the fingerprint that `key` meets: `None` if the key is certainly not in the set, 0 if no
            /// tag was given. Holds the lock of a shard for a moment.
            pub fn tag<K: Key + ?Sized>(&self, key: &K) -> Option<u64> {
                let $filter = self.shards.lock(self.shards.of(self.hasher.hash(key)));
                $of.tag(key)
            }

            /// How many keys there are. Shards are asked one after the other: what is changed meanwhile counts or not.
            pub fn len(&self) -> u64 {
                self.shards.sum(|$filter| $of.len())
            }

            /// Whether no key is in the set.
            pub fn is_empty(&self) -> bool {
                self.len() == 0
            }

            /// How many fingerprints there are. Keys that share one count once.
            pub fn fingerprints(&self) -> u64 {
                self.shards.sum(|$filter| $of.fingerprints())
            }

            /// How many slots the present sizes have, without the spill areas.
            pub fn slots(&self) -> u64 {
                self.shards.sum(|$filter| $of.slots())
            }

            /// How many slots are in use.
            pub fn used_slots(&self) -> u64 {
                self.shards.sum(|$filter| $of.used_slots())
            }

            /// The bytes of all tables.
            pub fn size_in_bytes(&self) -> usize {
                self.shards.sum(|$filter| $of.size_in_bytes() as u64) as usize
            }

            /// Bytes of memory that the tables lie in: some was not touched yet, or was used by tables that are not there
            /// any more, and then takes none of the machine's memory.
            pub fn reserved_bytes(&self) -> usize {
                self.shards.reserved()
            }

            /// How many shards there are.
            pub fn shards(&self) -> usize {
                self.shards.numbers().len()
            }

            /// The probability that a key that is not in the set and was never asked for is found now, from the
            /// actual lengths of the fingerprints. Reads all tables, one after the other.
            pub fn expected_error_rate(&self) -> f64 {
                let rate = |shard| {
                    let $filter = self.shards.lock(shard);
                    $of.expected_error_rate()
                };
                self.shards.numbers().map(rate).sum::<f64>() / self.shards() as f64
            }

            /// What happened since the filter was made.
            pub fn stats(&self) -> Stats {
                self.shards.numbers().fold(Stats::default(), |sum, shard| {
                    let $filter = self.shards.lock(shard);
                    sum.and($of.stats())
                })
            }

            /// How this filter hashes its keys.
            pub fn hasher(&self) -> &Hasher {
                &self.hasher
            }

            /// Shrinks every shard to the smallest size that holds its contents. Nothing learned is lost.
            pub fn shrink_to_fit(&self) -> Result<(), OutOfMemory> {
                self.shards.numbers().try_for_each(|shard| self.shards.write(shard, |shard| shard.shrink_to_fit()))
            }
        }

        impl<$($generics)*> Hashes for $name$(<$map>)? {
            #[inline(always)]
            fn hasher(&self) -> &Hasher {
                &self.hasher
            }
        }

        impl<$($generics)*> std::fmt::Debug for $name$(<$map>)? {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.debug_struct(stringify!($name))
                    .field("len", &self.len())
                    .field("fingerprints", &self.fingerprints())
                    .field("shards", &self.shards())
                    .field("size_in_bytes", &self.size_in_bytes())
                    .field("hasher", &self.hasher)
                    .finish()
            }
        }
    };
}

shared_adaptive!([] SharedAdaptiveFilter, filter => filter);
shared_adaptive!([M: ReverseMap] SharedAdaptiveSet<M>, set => set.filter());

impl SharedAdaptiveFilter {
    /// [`contains`](Self::contains) for callers who hash themselves; see [`AdaptiveFilter::contains_hash`].
    #[inline]
    pub fn contains_hash(&self, hash: u64) -> bool {
        dispatch(Contains { shards: &self.shards, words: RawWords(hash) })
    }

    /// [`contains_batch`](Self::contains_batch) for callers who hash themselves.
    ///
    /// # Panics
    ///
    /// If there are not as many answers as hashes.
    pub fn contains_hash_batch(&self, hashes: &[u64], found: &mut [bool]) {
        let words = |number: usize| RawWords(hashes[number]);
        contains_all(OfShards { shards: &self.shards, words }, hashes, found);
    }

    /// Changes the shard of a key.
    fn change<K: Key + ?Sized, R>(&self, key: &K, change: impl FnOnce(&mut AdaptiveFilter) -> R) -> R {
        self.shards.write(self.shards.of(self.hasher.hash(key)), change)
    }

    /// Inserts a key, unless a fingerprint covers it already; see [`AdaptiveFilter::insert`].
    /// [`NeedsGrow`](InsertError::NeedsGrow) asks for [`grow`](Self::grow).
    #[inline]
    pub fn insert<K: Key + ?Sized>(&self, key: &K) -> Result<Insertion, InsertError> {
        self.change(key, |filter| filter.insert(key))
    }

    /// [`insert`](Self::insert) with a tag; see [`AdaptiveFilter::insert_tagged`].
    pub fn insert_tagged<K: Key + ?Sized>(&self, key: &K, tag: u64) -> Result<Insertion, InsertError> {
        self.change(key, |filter| filter.insert_tagged(key, tag))
    }

    /// [`insert`](Self::insert) for callers who hash themselves.
    #[inline]
    pub fn insert_hash(&self, hash: u64) -> Result<Insertion, InsertError> {
        self.shards.ask_to_change(hash);
        self.shards.write(self.shards.of(hash), |filter| filter.insert_hash(hash))
    }

    /// Counts a key that is under an existing fingerprint; see [`AdaptiveFilter::insert_covered`].
    pub fn insert_covered(&self, ticket: &Ticket) -> Result<(), Stale> {
        self.shards.write(self.shards.of(ticket.prefix().word(0)), |filter| filter.insert_covered(ticket))
    }

    /// Inserts a key that is about to be stored in a database; see [`AdaptiveFilter::insert_with`]. The database is looked
    /// into while the lock of a shard is held.
    pub fn insert_with<K: Key + ?Sized, L: Lookup + ?Sized>(
        &self,
        key: &K,
        database: &L,
    ) -> Result<bool, SetError<L::Error>> {
        self.change(key, |filter| filter.insert_with(key, database))
    }

    /// Learns that a query was a false positive; see [`AdaptiveFilter::adapt`]. [`Stale`](AdaptError::Stale) if anything under
    /// the ticket's fingerprint has changed since it was given: then ask again.
    pub fn adapt<K: Key + ?Sized>(
        &self,
        ticket: &Ticket,
        key: &K,
        rows: &Rows,
    ) -> Result<Adapted, AdaptError> {
        self.change(key, |filter| filter.adapt(ticket, key, rows))
    }

    /// Learns that the filter's *maybe* to a key was wrong, if the database says so too; see [`AdaptiveFilter::adapt_with`].
    /// The database is looked into while the lock of a shard is held.
    pub fn adapt_with<K: Key + ?Sized, L: Lookup + ?Sized>(
        &self,
        key: &K,
        database: &L,
    ) -> Result<Adapted, SetError<L::Error>> {
        self.change(key, |filter| filter.adapt_with(key, database))
    }

    /// Removes a key that is under the ticket's fingerprint; see [`AdaptiveFilter::remove`].
    pub fn remove(&self, ticket: &Ticket, others_remain: bool) -> Result<(), Stale> {
        self.shards
            .write(self.shards.of(ticket.prefix().word(0)), |filter| filter.remove(ticket, others_remain))
    }

    /// Removes a key whose row has been removed from the database; see [`AdaptiveFilter::remove_with`]. The database is looked
    /// into while the lock of a shard is held.
    pub fn remove_with<K: Key + ?Sized, L: Lookup + ?Sized>(
        &self,
        key: &K,
        database: &L,
    ) -> Result<(), SetError<L::Error>> {
        self.change(key, |filter| filter.remove_with(key, database))
    }

    /// Gives the shard of a hash a larger table; see [`AdaptiveFilter::grow`]. Others go on asking meanwhile.
    pub fn grow<L: Lookup + ?Sized>(&self, hash: u64, lookup: &L) -> Result<(), RebuildError<L::Error>> {
        self.shards.write(self.shards.of(hash), |filter| filter.grow(lookup))
    }

    /// Removes everything, shard by shard; size and hash stay. Tickets get stale.
    pub fn clear(&self) {
        self.shards.numbers().for_each(|shard| self.shards.write(shard, AdaptiveFilter::clear));
    }
}

impl<M: ReverseMap> SharedAdaptiveSet<M> {
    /// Changes the shard of a key.
    #[inline(always)]
    fn change<K: Key + ?Sized, R>(&self, key: &K, change: impl FnOnce(&mut AdaptiveSet<M>) -> R) -> R {
        self.shards.write(self.shards.of(self.hasher.hash(key)), change)
    }

    /// Inserts a key. `false` if it was there already; then it stays as it is.
    pub fn insert<K: Key + ?Sized>(&self, key: &K) -> Result<bool, SetError<M::Error>> {
        self.change(key, |set| set.insert(key))
    }

    /// Inserts a key with a tag; see [`AdaptiveSet::insert_tagged`].
    pub fn insert_tagged<K: Key + ?Sized>(&self, key: &K, tag: u64) -> Result<bool, SetError<M::Error>> {
        self.change(key, |set| set.insert_tagged(key, tag))
    }

    /// Inserts a key with a value; see [`AdaptiveSet::insert_with_value`].
    pub fn insert_with_value<K: Key + ?Sized>(
        &self,
        key: &K,
        value: &[u8],
    ) -> Result<bool, SetError<M::Error>> {
        self.change(key, |set| set.insert_with_value(key, value))
    }

    /// Whether `key` is in the set. Asks the map if the filter says *maybe*, and [adapts](Self::adapt) if
    /// that was a mistake.
    pub fn contains_exactly<K: Key + ?Sized>(&self, key: &K) -> Result<bool, SetError<M::Error>> {
        if !self.contains(key) {
            return Ok(false);
        }
        self.change(key, |set| set.contains_exactly(key))
    }

    /// The value of a key; see [`AdaptiveSet::get`].
    pub fn get<K: Key + ?Sized>(&self, key: &K) -> Result<Option<Vec<u8>>, SetError<M::Error>> {
        if !self.contains(key) {
            return Ok(None);
        }
        self.change(key, |set| set.get(key))
    }

    /// Learns that the filter's *maybe* was wrong for `key`; asks the map whether it was.
    pub fn adapt<K: Key + ?Sized>(&self, key: &K) -> Result<Adapted, SetError<M::Error>> {
        self.change(key, |set| set.adapt(key))
    }

    /// Removes a key. `false` if it was not there; the map is asked, so no other key is ever lost.
    pub fn remove<K: Key + ?Sized>(&self, key: &K) -> Result<bool, SetError<M::Error>> {
        self.change(key, |set| set.remove(key))
    }

    /// Calls `visit` with the bytes and the tag of every key, in the order of their hashes. The lock of a shard is held while
    /// its keys are visited.
    pub fn for_each(&self, mut visit: impl FnMut(&[u8], u64)) -> Result<(), M::Error> {
        self.shards.numbers().try_for_each(|shard| self.shards.lock(shard).for_each(&mut visit))
    }

    /// Checks every shard; see [`AdaptiveSet::validate`].
    pub fn validate(&self) -> Result<(), SetError<M::Error>> {
        self.shards.numbers().try_for_each(|shard| self.shards.lock(shard).validate())
    }
}

impl Builder {
    /// The empty filter, to be shared by many threads.
    pub fn build_shared(self) -> Result<SharedAdaptiveFilter, BuildError> {
        let (bits, filters, hasher) = self.build_parts()?;
        Ok(SharedAdaptiveFilter { shards: Shards::new(bits, filters)?, hasher })
    }

    /// The empty set, to be shared by many threads, on empty reverse maps: `map` is called with the number of every shard, and
    /// gives a map of its own, or a handle of one that all share.
    pub fn build_shared_set<M: ReverseMap>(
        self,
        mut map: impl FnMut(usize) -> M,
    ) -> Result<SharedAdaptiveSet<M>, BuildError> {
        let (bits, filters, hasher) = self.build_parts()?;
        let sets = filters
            .into_iter()
            .enumerate()
            .map(|(shard, filter)| AdaptiveSet::from_parts(filter, map(shard)));
        Ok(SharedAdaptiveSet { shards: Shards::new(bits, sets.collect())?, hasher })
    }
}

kernel! {
    Contains<'a, S: Adaptive, W: Words> { shards: &'a Shards<S>, words: W } -> bool
    |cpu| {
        let hash = words.word(0);
        if let Some((frame, reading)) = shards.begin(shards.of(hash)) {
            let table = frame.table.with_bytes(reading.words);
            let home = table.home_now(cpu, hash);
            if let Some(found) = frame.codec.contains_at_glance(cpu, &table, home, hash) && reading.is_good() {
                return found;
            }
        }
        cpu.outlined(LookCloser { shards, words })
    }
}

kernel! {
    /// [`Contains`] for all runs, and while somebody changes the shard.
    LookCloser<'a, S: Adaptive, W: Words> { shards: &'a Shards<S>, words: W } -> bool
    |cpu| {
        let hash = words.word(0);
        for _ in 0..TRIES {
            if let Some((frame, reading)) = shards.begin(shards.of(hash)) {
                let table = frame.table.with_bytes(reading.words);
                let run = table.run(cpu, table.address().quotient(hash));
                let found = frame.codec.find(&table, run, &words);
                if reading.is_good() {
                    return matches!(found, Found::Covered(_));
                }
            }
            std::hint::spin_loop();
        }
        shards.lock(shards.of(hash)).core().cover(&words).is_some()
    }
}

/// Shards, and the words of every hash of a batch.
struct OfShards<'a, S: Shard, F> {
    shards: &'a Shards<S>,
    words: F,
}

impl<S: Adaptive, W: Words, F: Fn(usize) -> W> Probe for OfShards<'_, S, F> {
    #[inline(always)]
    fn ask_far<C: Cpu>(&self, cpu: C, hash: u64) {
        self.shards.ask_far(cpu, hash);
    }

    #[inline(always)]
    fn ask_near<C: Cpu>(&self, cpu: C, hash: u64) {
        self.shards.ask_near(cpu, hash);
    }

    #[inline(always)]
    fn contains<C: Cpu>(&self, cpu: C, number: usize, hash: u64) -> bool {
        if let Some((frame, reading)) = self.shards.begin(self.shards.of(hash)) {
            let table = frame.table.with_bytes(reading.words);
            let home = table.address().home(cpu, hash);
            if let Some(found) = frame.codec.contains_at_glance(cpu, &table, home, hash)
                && reading.is_good()
            {
                return found;
            }
        }
        cpu.outlined(LookCloser { shards: self.shards, words: (self.words)(number) })
    }
}
