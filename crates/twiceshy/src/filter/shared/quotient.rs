//! A quotient filter that many threads share.

use super::{Frame, Shard, Shards, TRIES, bits_of, shard_bits};
use crate::bits::cpu::{Cpu, dispatch};
use crate::codec::counted;
use crate::error::{BuildError, InsertError, MergeError};
use crate::filter::batch::{CHUNK, Probe, contains_all, in_chunks};
use crate::filter::macros::kernel;
use crate::filter::quotient::{Builder, Fingerprint, QuotientFilter};
use crate::hash::{Hasher, Hashes, hashed};
use crate::key::Key;
use crate::mem::Memory;
use crate::table::{Plain, Shape};

/// A [`QuotientFilter`] that many threads share: all operations take `&self`.
///
/// It keeps the same promises. An insert that has returned is seen by every query that begins afterwards, in any thread;
/// what a query says that runs at the same time is in `docs/threads.md`. For one thread, [`QuotientFilter`] is faster and
/// smaller.
///
/// ```
/// use twiceshy::SharedQuotientFilter;
///
/// let seen = SharedQuotientFilter::new(100_000, 0.001)?;
/// std::thread::scope(|scope| {
///     for thread in 0..4u64 {
///         let seen = &seen;
///         scope.spawn(move || (0..1_000u64).try_for_each(|i| seen.insert(&(thread, i)).map(drop)));
///     }
/// });
/// assert!(seen.contains(&(3u64, 999u64)));
/// assert_eq!(seen.len(), 4_000);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct SharedQuotientFilter {
    pub(super) shards: Shards<QuotientFilter>,
    hasher: Hasher,
    /// Bits of a fingerprint after those of the shard.
    shard_fingerprint_bits: u32,
    /// The size that all shards together were built for.
    max_quotient_bits: u32,
}

impl Shard for QuotientFilter {
    type Frame = Frame<Plain, ()>;

    fn frame(&self) -> Self::Frame {
        Frame { table: self.table().frame(), codec: () }
    }

    #[inline(always)]
    fn memory(&mut self) -> &mut Memory {
        self.table_mut().memory()
    }
}

impl SharedQuotientFilter {
    /// A filter for `capacity` different keys with at most the given error rate, and a random hash key.
    ///
    /// [`quotient::Builder::build_shared`](Builder::build_shared) lets you choose more.
    pub fn new(capacity: u64, error_rate: f64) -> Result<Self, BuildError> {
        QuotientFilter::builder().capacity(capacity).error_rate(error_rate).build_shared()
    }

    /// The contents of a filter, to be shared. There are as many shards, rounded up to a power of two, and no more than slots;
    /// with 0, as many as usual for its size.
    pub fn from_filter(filter: &QuotientFilter, shards: usize) -> Result<Self, MergeError> {
        let most = filter.fingerprint_bits().saturating_sub(2).min(filter.max_quotient_bits());
        let bits = match shards {
            0 => shard_bits(filter.max_quotient_bits()),
            shards => bits_of(shards),
        }
        .min(most);
        Ok(Self {
            shards: Shards::new(bits, filter.parts(bits)?)?,
            hasher: filter.hasher().clone(),
            shard_fingerprint_bits: filter.fingerprint_bits() - bits,
            max_quotient_bits: filter.max_quotient_bits(),
        })
    }

    /// The contents as a filter that is not shared: to be saved, for example. Whoever changes this filter waits meanwhile.
    pub fn to_filter(&self) -> Result<QuotientFilter, MergeError> {
        let shards: Vec<_> = self.shards.numbers().map(|shard| self.shards.lock(shard)).collect();
        let shards: Vec<_> = shards.iter().map(|shard| &**shard).collect();
        QuotientFilter::joined(self.shards.bits(), self.max_quotient_bits, &shards)
    }

    /// Adds all keys of `other`, shard by shard: queries may find some of them before others. After an error some shards have
    /// them, and others do not.
    ///
    /// Both must hash in the same way. The fingerprints of `other` must be as long as those of this filter, or longer: to
    /// merge with shorter ones, [turn it around](QuotientFilter::merge_from).
    pub fn merge_from(&self, other: &QuotientFilter) -> Result<(), MergeError> {
        if other.hasher() != &self.hasher {
            return Err(MergeError::DifferentHash);
        }
        let needed = self.fingerprint_bits();
        if other.fingerprint_bits() < needed {
            let needed_slots = other.used_slots();
            return Err(MergeError::NotEnoughBits {
                fingerprint_bits: other.fingerprint_bits(),
                needed_slots,
            });
        }
        // By chance some shards get more than others.
        let may_grow = self.used_slots() + other.used_slots() <= self.capacity();
        for (shard, part) in self.shards.numbers().zip(other.parts(self.shards.bits())?) {
            if !part.is_empty() {
                self.shards.write(shard, |shard| match shard.merge_from(&part) {
                    Err(MergeError::Full { .. }) if may_grow => {
                        shard.allow_growth();
                        shard.merge_from(&part)
                    }
                    merged => merged,
                })?;
            }
        }
        Ok(())
    }

    /// Inserts a copy of `key`. `true` if its fingerprint was not there before.
    ///
    /// An error changes nothing.
    #[inline]
    pub fn insert<K: Key + ?Sized>(&self, key: &K) -> Result<bool, InsertError> {
        self.insert_hash(self.hasher.hash(key))
    }

    /// [`insert`](Self::insert) for callers who hash themselves. The first bits of the hash count most;
    /// all of the first [`fingerprint_bits`](Self::fingerprint_bits) must be evenly distributed.
    #[inline]
    pub fn insert_hash(&self, hash: u64) -> Result<bool, InsertError> {
        self.shards.ask_to_change(hash);
        let shard = self.shards.of(hash);
        self.shards
            .write(shard, |filter| filter.insert_hash(hash))
            .or_else(|error| self.insert_beyond(hash, error))
    }

    /// Inserts where a shard is full. By chance some get more than others, so that may be before the filter is full, and then
    /// the shard grows beyond what was planned: that takes room, and the error rate stays as it is.
    #[cold]
    fn insert_beyond(&self, hash: u64, error: InsertError) -> Result<bool, InsertError> {
        if !matches!(error, InsertError::Full { .. }) || self.used_slots() >= self.capacity() {
            return Err(error);
        }
        self.shards.write(self.shards.of(hash), |filter| {
            filter.allow_growth();
            filter.insert_hash(hash)
        })
    }

    /// Inserts a copy of every key, and tells how many fingerprints were not there before.
    ///
    /// Keys are inserted shard by shard. After an error some of them are in the filter, and others are not.
    pub fn insert_batch<K: Key>(&self, keys: &[K]) -> Result<u64, InsertError> {
        let mut hashes = [0; CHUNK];
        keys.chunks(CHUNK).try_fold(0, |new, keys| {
            let hashes = &mut hashes[..keys.len()];
            self.hasher.hash_all(keys, hashes);
            Ok(new + self.insert_hash_batch(hashes)?)
        })
    }

    /// [`insert_batch`](Self::insert_batch) for callers who hash themselves.
    pub fn insert_hash_batch(&self, hashes: &[u64]) -> Result<u64, InsertError> {
        hashes.iter().try_fold(0, |new, &hash| Ok(new + u64::from(self.insert_hash(hash)?)))
    }

    /// Removes a copy of `key`. `false` if its fingerprint is not there.
    ///
    /// Remove only keys that were inserted: a key that merely looks present shares its fingerprint with
    /// another key, and removing it removes that one.
    #[inline]
    pub fn remove<K: Key + ?Sized>(&self, key: &K) -> bool {
        self.remove_hash(self.hasher.hash(key))
    }

    /// [`remove`](Self::remove) for callers who hash themselves.
    #[inline]
    pub fn remove_hash(&self, hash: u64) -> bool {
        self.shards.write(self.shards.of(hash), |filter| filter.remove_hash(hash))
    }

    /// Shrinks every shard to the smallest table that holds its contents.
    pub fn shrink_to_fit(&self) -> Result<(), crate::error::ResizeError> {
        self.shards.numbers().try_for_each(|shard| self.shards.write(shard, QuotientFilter::shrink_to_fit))
    }

    /// Removes everything, shard by shard; size and hash stay.
    pub fn clear(&self) {
        self.shards.numbers().for_each(|shard| self.shards.write(shard, QuotientFilter::clear));
    }

    /// Whether `key` may have been inserted. `false` is certain, but for inserts that have not returned yet.
    #[inline]
    pub fn contains<K: Key + ?Sized>(&self, key: &K) -> bool {
        hashed(self, key, |filter, _, hash| Contains { shards: &filter.shards, hash })
    }

    /// [`contains`](Self::contains) for callers who hash themselves.
    #[inline]
    pub fn contains_hash(&self, hash: u64) -> bool {
        dispatch(Contains { shards: &self.shards, hash })
    }

    /// [`contains`](Self::contains) for every key, in order.
    ///
    /// # Panics
    ///
    /// If there are not as many answers as keys.
    pub fn contains_batch<K: Key>(&self, keys: &[K], found: &mut [bool]) {
        in_chunks(&self.hasher, keys, found, |_, hashes, found| self.contains_hash_batch(hashes, found));
    }

    /// [`contains_batch`](Self::contains_batch) for callers who hash themselves.
    ///
    /// # Panics
    ///
    /// If there are not as many answers as hashes.
    pub fn contains_hash_batch(&self, hashes: &[u64], found: &mut [bool]) {
        contains_all(&self.shards, hashes, found);
    }

    /// How many copies of `key` there may be: never fewer than were inserted, and more only if other
    /// keys share its fingerprint.
    pub fn count<K: Key + ?Sized>(&self, key: &K) -> u64 {
        self.count_hash(self.hasher.hash(key))
    }

    /// [`count`](Self::count) for callers who hash themselves.
    pub fn count_hash(&self, hash: u64) -> u64 {
        self.shards.lock(self.shards.of(hash)).count_hash(hash)
    }

    /// How many copies of keys were inserted and not removed since.
    pub fn len(&self) -> u64 {
        self.shards.sum(QuotientFilter::len)
    }

    /// Whether nothing is in the filter.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// How many different fingerprints there are. Keys that share one count once.
    pub fn distinct(&self) -> u64 {
        self.shards.sum(QuotientFilter::distinct)
    }

    /// How many slots the present sizes have, without the spill areas.
    pub fn slots(&self) -> u64 {
        self.shards.sum(QuotientFilter::slots)
    }

    /// How many slots are in use.
    pub fn used_slots(&self) -> u64 {
        self.shards.sum(QuotientFilter::used_slots)
    }

    /// How many different keys the filter was planned for.
    pub fn capacity(&self) -> u64 {
        Shape::new(self.max_quotient_bits, 1).slot_limit()
    }

    /// The bytes of all tables.
    pub fn size_in_bytes(&self) -> usize {
        self.shards.sum(|shard| shard.size_in_bytes() as u64) as usize
    }

    /// Bytes of memory that the tables lie in: some was not touched yet, or was used by tables that are not there any more,
    /// and then takes none of the machine's memory.
    pub fn reserved_bytes(&self) -> usize {
        self.shards.reserved()
    }

    /// How many shards there are.
    pub fn shards(&self) -> usize {
        self.shards.numbers().len()
    }

    /// Bits of a fingerprint.
    pub fn fingerprint_bits(&self) -> u32 {
        self.shards.bits() + self.shard_fingerprint_bits
    }

    /// The probability that a key that was never inserted is found, at the present load.
    pub fn expected_error_rate(&self) -> f64 {
        self.distinct() as f64 / 2f64.powi(self.fingerprint_bits() as i32)
    }

    /// How this filter hashes its keys.
    pub fn hasher(&self) -> &Hasher {
        &self.hasher
    }

    /// All fingerprints in ascending order, with their counts. A shard is copied when its turn comes, and is given as it was
    /// then.
    ///
    /// # Panics
    ///
    /// If there is no memory for a copy of a shard.
    pub fn iter(&self) -> impl Iterator<Item = Fingerprint> {
        self.shards.numbers().flat_map(move |shard| {
            let copy = self.shards.lock(shard).try_clone().unwrap_or_else(|error| panic!("{error}"));
            let first = (shard as u64).unbounded_shl(self.shard_fingerprint_bits);
            let all: Vec<_> = copy.iter().collect();
            all.into_iter().map(move |Fingerprint { fingerprint, count }| Fingerprint {
                fingerprint: first | fingerprint,
                count,
            })
        })
    }
}

impl Builder {
    /// The empty filter, to be shared by many threads.
    pub fn build_shared(self) -> Result<SharedQuotientFilter, BuildError> {
        let shards = self.shards.unwrap_or(0);
        SharedQuotientFilter::from_filter(&self.build()?, shards).map_err(|error| match error {
            MergeError::Memory(error) => error.into(),
            error => unreachable!("nothing at all fits every shard: {error}"),
        })
    }
}

impl Hashes for SharedQuotientFilter {
    #[inline(always)]
    fn hasher(&self) -> &Hasher {
        &self.hasher
    }
}

impl std::fmt::Debug for SharedQuotientFilter {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SharedQuotientFilter")
            .field("len", &self.len())
            .field("distinct", &self.distinct())
            .field("shards", &self.shards())
            .field("size_in_bytes", &self.size_in_bytes())
            .field("hasher", &self.hasher)
            .finish()
    }
}

kernel! {
    Contains<'a,> { shards: &'a Shards<QuotientFilter>, hash: u64 } -> bool
    |cpu| {
        if let Some((frame, reading)) = shards.begin(shards.of(hash)) {
            let table = frame.table.with_bytes(reading.words);
            let found = counted::contains_at_glance(cpu, &table, table.home_now(cpu, hash), hash);
            if let Some(found) = found && reading.is_good() {
                return found;
            }
        }
        cpu.outlined(LookCloser { shards, hash })
    }
}

kernel! {
    /// [`Contains`] for all runs, and while somebody changes the shard.
    LookCloser<'a,> { shards: &'a Shards<QuotientFilter>, hash: u64 } -> bool
    |cpu| {
        for _ in 0..TRIES {
            if let Some((frame, reading)) = shards.begin(shards.of(hash)) {
                let table = &frame.table.with_bytes(reading.words);
                let found = counted::LookCloser { table, hash }.run(cpu);
                if reading.is_good() {
                    return found;
                }
            }
            std::hint::spin_loop();
        }
        shards.lock(shards.of(hash)).contains_hash(hash)
    }
}

impl Probe for &Shards<QuotientFilter> {
    #[inline(always)]
    fn ask_far<C: Cpu>(&self, cpu: C, hash: u64) {
        Shards::ask_far(self, cpu, hash);
    }

    #[inline(always)]
    fn ask_near<C: Cpu>(&self, cpu: C, hash: u64) {
        Shards::ask_near(self, cpu, hash);
    }

    #[inline(always)]
    fn contains<C: Cpu>(&self, cpu: C, _: usize, hash: u64) -> bool {
        if let Some((frame, reading)) = self.begin(self.of(hash)) {
            let table = frame.table.with_bytes(reading.words);
            let home = table.address().home(cpu, hash);
            if let Some(found) = counted::contains_at_glance(cpu, &table, home, hash)
                && reading.is_good()
            {
                return found;
            }
        }
        cpu.outlined(LookCloser { shards: self, hash })
    }
}
