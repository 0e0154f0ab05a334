//! A filter and its reverse map, in step by themselves.

use std::ops::ControlFlow;

use super::{Adapted, AdaptiveFilter, Builder, Filter, Query, Record};
use crate::error::SetError;
use crate::filter::batch::{CHUNK, FAR};
use crate::filter::macros::delegated;
use crate::filter::protocol::{
    self, Adapt, Insert, Keys, Operation, Remove, row_value, set_error, tag_and_value,
};
use crate::hash::Hasher;
use crate::key::Key;
use crate::mem::OutOfMemory;
use crate::reverse_map::{MemoryMap, ReverseMap, Row};

/// A set of keys with an adaptive filter in front: grows by itself, and never makes the same mistake twice.
///
/// It keeps an [`AdaptiveFilter`] and a [`ReverseMap`] with all keys in step. Queries look at the filter
/// only; the map is written once per new key, and read when the filter says *maybe* to an insert, to adapt,
/// to remove, and for the few fingerprints that run out of bits when the filter grows.
///
/// ```
/// use twiceshy::reverse_map::MemoryMap;
/// use twiceshy::AdaptiveSet;
///
/// let mut set = AdaptiveSet::builder().error_rate(0.01).build_set(MemoryMap::new())?;
/// for word in ["ant", "bee", "cow"] {
///     assert!(set.insert(word)?);
/// }
/// assert!(!set.insert("ant")?);
///
/// // The filter alone: `false` is certain.
/// assert!(set.contains("bee"));
///
/// // With the map, and with learning: no query is ever wrong here, and none that was a false positive
/// // costs a look into the map again.
/// for number in 0..10_000u32 {
///     assert!(!set.contains_exactly(&number)?);
///     assert!(!set.contains(&number));
/// }
/// assert!(set.remove("bee")?);
/// assert_eq!(set.len(), 2);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// An error of the map leaves filter and map as they were; what the map did before it failed, only it knows.
pub type AdaptiveSet<M> = Set<Hasher, M>;

/// What all sets with an adaptive filter have in common, whatever their fingerprints carry. [`AdaptiveSet`] is the one of
/// keys.
#[derive(Debug, Clone)]
pub struct Set<R: Keys, M> {
    filter: Filter<R>,
    map: M,
}

impl AdaptiveSet<MemoryMap> {
    /// Chooses size, error rate, hash and growth; then call
    /// [`build_set`](Builder::build_set) with a map.
    pub fn builder() -> Builder {
        AdaptiveFilter::builder()
    }
}

impl<M: ReverseMap> AdaptiveSet<M> {
    /// Whether `key` may be in the set. `false` is certain. Asks the filter only.
    #[inline]
    pub fn contains<K: Key + ?Sized>(&self, key: &K) -> bool {
        self.filter.contains(key)
    }

    /// [`contains`](Self::contains) for every key, in order.
    ///
    /// # Panics
    ///
    /// If there are not as many answers as keys.
    pub fn contains_batch<K: Key>(&self, keys: &[K], found: &mut [bool]) {
        self.filter.contains_batch(keys, found);
    }

    /// Whether `key` may be in the set, and under which fingerprint. Asks the filter only.
    pub fn query<K: Key + ?Sized>(&self, key: &K) -> Query {
        self.filter.query(key)
    }

    /// The tag of the fingerprint that `key` meets, `None` if the key is certainly not in the set.
    pub fn tag<K: Key + ?Sized>(&self, key: &K) -> Option<u64> {
        self.filter.tag(key)
    }

    /// Whether `key` is in the set. Asks the map if the filter says *maybe*, and learns nothing from it.
    pub fn lookup<K: Key + ?Sized>(&self, key: &K) -> Result<bool, M::Error> {
        let bytes = key.key_bytes();
        let hash = self.filter.reader.hash_bytes(bytes.as_ref());
        Ok(self.filter.contains(key) && self.map.contains(hash, bytes.as_ref())?)
    }

    /// Whether `key` is in the set. Asks the map if the filter says *maybe*, and [adapts](Self::adapt) if
    /// that was a mistake.
    pub fn contains_exactly<K: Key + ?Sized>(&mut self, key: &K) -> Result<bool, SetError<M::Error>> {
        if !self.contains(key) {
            return Ok(false);
        }
        let is_member = self.lookup(key).map_err(SetError::Map)?;
        if !is_member {
            self.adapt(key)?;
        }
        Ok(is_member)
    }

    /// Inserts a key. `false` if it was there already; then it stays as it is.
    pub fn insert<K: Key + ?Sized>(&mut self, key: &K) -> Result<bool, SetError<M::Error>> {
        let bytes = key.key_bytes();
        self.drive(Insert::if_new(self.row(bytes.as_ref()), 0))
    }

    /// Inserts a key with a tag that [`tag`](Self::tag) tells, or gives a key that is there already another
    /// tag. `false` if it was there already; it keeps its value.
    ///
    /// All keys under a fingerprint have the same tag, so keys whose tags differ never share one.
    pub fn insert_tagged<K: Key + ?Sized>(&mut self, key: &K, tag: u64) -> Result<bool, SetError<M::Error>> {
        let bytes = key.key_bytes();
        let row = self.row(bytes.as_ref());
        let has_another = self.filter.tag(key).is_some_and(|other| other != tag);
        let known = if has_another { self.stored(row).map_err(SetError::Map)? } else { None };
        let value = row_value(tag, known.as_ref().map_or(&[], |(_, value)| value));
        self.drive(Insert::map_first(Row { value: &value, ..row }, tag))
    }

    /// Inserts a key with a value, which the map keeps beside it, or gives a key that is there already another value. `false`
    /// if it was there already; it keeps its tag.
    ///
    /// ```
    /// use twiceshy::reverse_map::MemoryMap;
    /// use twiceshy::AdaptiveSet;
    ///
    /// let mut legs = AdaptiveSet::builder().build_set(MemoryMap::new())?;
    /// legs.insert_with_value("spider", b"eight")?;
    /// assert_eq!(legs.get("spider")?, Some(b"eight".to_vec()));
    /// assert_eq!(legs.get("snake")?, None);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn insert_with_value<K: Key + ?Sized>(
        &mut self,
        key: &K,
        value: &[u8],
    ) -> Result<bool, SetError<M::Error>> {
        let bytes = key.key_bytes();
        let row = self.row(bytes.as_ref());
        let known = if self.contains(key) { self.stored(row).map_err(SetError::Map)? } else { None };
        let tag = known.as_ref().map_or(0, |(tag, _)| *tag);
        let value = row_value(tag, value);
        if known.is_some() {
            return self.map.insert(row.hash, row.key, &value).map_err(SetError::Map);
        }
        self.drive(Insert::map_first(Row { value: &value, ..row }, tag))
    }

    /// The value of a key, empty if it was inserted without one; `None` if the key is not in the set. Asks the map if the
    /// filter says *maybe*, and [adapts](Self::adapt) if that was a mistake.
    pub fn get<K: Key + ?Sized>(&mut self, key: &K) -> Result<Option<Vec<u8>>, SetError<M::Error>> {
        if !self.contains(key) {
            return Ok(None);
        }
        let bytes = key.key_bytes();
        let known = self.stored(self.row(bytes.as_ref())).map_err(SetError::Map)?;
        if known.is_none() {
            self.adapt(key)?;
        }
        Ok(known.map(|(_, value)| value))
    }

    /// The tag and the value that the map has for a key.
    fn stored(&self, key: Row<'_>) -> Result<Option<(u64, Vec<u8>)>, M::Error> {
        let known = self.stored_value(key)?;
        Ok(known.map(|known| {
            let (tag, value) = tag_and_value(&known);
            (tag, value.to_vec())
        }))
    }

    /// The row of a key, without a value.
    #[inline(always)]
    fn row<'k>(&self, key: &'k [u8]) -> Row<'k> {
        Row { hash: self.filter.reader.hash_bytes(key), key, value: &[] }
    }

    /// Inserts every key and tells how many were new: many inserts in one call, whose memory is asked for in time.
    ///
    /// If there is an error, the keys before the one that failed are in, in the filter and in the map, and no other key is;
    /// the same batch again is right. To have all or none, insert into a copy, or into a store.
    pub fn insert_batch<K: Key>(&mut self, keys: &[K]) -> Result<u64, SetError<M::Error>> {
        let ask_for = |filter: &AdaptiveFilter, key: &K| filter.prefetch(filter.reader.hash(key));
        keys.iter().take(FAR).for_each(|key| ask_for(&self.filter, key));
        let mut new = 0;
        for (i, key) in keys.iter().enumerate() {
            if let Some(ahead) = keys.get(i + FAR) {
                ask_for(&self.filter, ahead);
            }
            new += u64::from(self.insert(key)?);
        }
        Ok(new)
    }

    /// Inserts all keys of an iterator and tells how many were new. An error leaves the keys before the one that failed in
    /// the set.
    pub fn try_extend<K: Key>(
        &mut self,
        keys: impl IntoIterator<Item = K>,
    ) -> Result<u64, SetError<M::Error>> {
        let (mut keys, mut chunk, mut new) = (keys.into_iter(), Vec::with_capacity(CHUNK), 0);
        loop {
            chunk.extend(keys.by_ref().take(CHUNK));
            if chunk.is_empty() {
                return Ok(new);
            }
            new += self.insert_batch(&chunk)?;
            chunk.clear();
        }
    }

    /// Learns that the filter's *maybe* was wrong for `key`; asks the map whether it was.
    pub fn adapt<K: Key + ?Sized>(&mut self, key: &K) -> Result<Adapted, SetError<M::Error>> {
        let bytes = key.key_bytes();
        let Row { hash, key, .. } = self.row(bytes.as_ref());
        self.drive(Adapt::new(hash, key))
    }

    /// Removes a key. `false` if it was not there; the map is asked, so no other key is ever lost.
    pub fn remove<K: Key + ?Sized>(&mut self, key: &K) -> Result<bool, SetError<M::Error>> {
        let bytes = key.key_bytes();
        let Row { hash, key, .. } = self.row(bytes.as_ref());
        self.drive(Remove::new(hash, key))
    }

    /// Gives a key that is in the map a fingerprint with its tag, if it has none: what [`replay`](Self::replay) does for
    /// [`Inserted`](Record::Inserted), for callers who know the key.
    pub fn cover<K: Key + ?Sized>(&mut self, key: &K, tag: u64) -> Result<(), SetError<M::Error>> {
        let bytes = key.key_bytes();
        self.drive(Insert::recovered(self.row(bytes.as_ref()), tag)).map(drop)
    }

    /// Calls `visit` with the bytes and the tag of every key, in the order of their hashes.
    pub fn for_each(&self, mut visit: impl FnMut(&[u8], u64)) -> Result<(), M::Error> {
        self.map.visit(self.filter.core.hashes(), &mut |row| {
            visit(row.key, tag_and_value(row.value).0);
            ControlFlow::Continue(())
        })
    }
}

impl<R: Keys, M: ReverseMap> Set<R, M> {
    /// A set from a filter and the map that holds exactly its keys.
    pub fn from_parts(filter: Filter<R>, map: M) -> Self {
        Self { filter, map }
    }

    /// The filter and the map.
    pub fn into_parts(self) -> (Filter<R>, M) {
        (self.filter, self.map)
    }

    /// The filter: size, statistics, fingerprints, bytes.
    pub fn filter(&self) -> &Filter<R> {
        &self.filter
    }

    /// The map.
    pub fn map(&self) -> &M {
        &self.map
    }

    delegated! {
        filter:

        /// How many keys there are.
        len -> u64;

        /// Whether there are no keys.
        is_empty -> bool;
    }

    /// The value of the row that the map has for a key.
    pub(crate) fn stored_value(&self, key: Row<'_>) -> Result<Option<Vec<u8>>, M::Error> {
        let mut found = None;
        self.map.visit(key.hash..=key.hash, &mut |row| match row.key == key.key {
            true => {
                found = Some(row.value.to_vec());
                ControlFlow::Break(())
            }
            false => ControlFlow::Continue(()),
        })?;
        Ok(found)
    }

    /// Both, to be changed.
    pub(crate) fn parts(&mut self) -> (&mut Filter<R>, &mut M) {
        (&mut self.filter, &mut self.map)
    }

    /// Carries out an operation.
    pub(crate) fn drive<'k, O: Operation<'k, Filter<R>>>(
        &mut self,
        operation: O,
    ) -> Result<O::Output, SetError<M::Error>> {
        protocol::drive(&mut self.filter, &mut self.map, operation)
    }

    /// Shrinks the filter to the smallest size that holds its contents. Nothing learned is lost.
    pub fn shrink_to_fit(&mut self) -> Result<(), OutOfMemory> {
        self.filter.shrink_to_fit()
    }

    /// Gives the filter a larger table; see [`AdaptiveFilter::grow`].
    pub fn grow(&mut self) -> Result<(), SetError<M::Error>> {
        self.filter.grow(&self.map).map_err(set_error(&self.filter.core))
    }

    /// Gives every key a fingerprint of fresh length, or as long as it has. Reads the whole map, once, and
    /// counts the keys.
    pub fn rejuvenate(&mut self) -> Result<(), SetError<M::Error>> {
        self.filter = self.filter.rebuild(&self.map, &[]).map_err(set_error(&self.filter.core))?;
        Ok(())
    }

    /// A set from a map that may have changed since the filter was saved: reads the whole map, once. Keys
    /// that the filter does not know get fingerprints, fingerprints without a key go, and what the filter
    /// and the records have learned stays learned. The records may be in any order, and older than the filter.
    ///
    /// There is no record of a [merge](Self::merge_from). If there was one since the filter was saved, no key is lost, but
    /// what the other filter had learned is not known any more.
    pub fn recover<B: AsRef<[u8]>>(
        filter: &Filter<R, B>,
        map: M,
        journal: impl IntoIterator<Item = Record>,
    ) -> Result<Self, SetError<M::Error>> {
        let filter = filter.recovered(&map, journal).map_err(set_error(&filter.core))?;
        Ok(Self { filter, map })
    }

    /// Does again what a record of a journal says, on a filter that was saved before. May be done more than
    /// once, in the order in which the records were written, or with those of mistakes last. Much cheaper than [`recover`](Self::recover) for few records. Keys that were removed without a record
    /// leave fingerprints, which the first false positive clears away; [`recount`](Self::recount)
    /// counts the keys.
    ///
    /// There is no record of a [merge](Self::merge_from). If there was one since the filter was saved, this does not find the
    /// keys that came with it; [`recover`](Self::recover) does.
    pub fn replay(&mut self, record: &Record) -> Result<(), SetError<M::Error>> {
        self.filter.replay_with(record, &self.map)
    }

    /// Counts the keys of the map, which it reads as a whole, and removes fingerprints without a key: those of keys that
    /// were removed from the map only.
    pub fn recount(&mut self) -> Result<u64, SetError<M::Error>> {
        let (core, reader) = self.filter.parts();
        protocol::recount(core, reader, &self.map)
    }

    /// Adds all keys of another set that hashes in the same way. What either filter has learned stays
    /// learned. Where both have a key, this set's tag counts. If the error rate would get too high, all keys get
    /// fingerprints of fresh length.
    ///
    /// If the map fails, the rows that were copied are removed again, as far as it lets us, and the filter is as it was; to
    /// merge again finishes the work.
    ///
    /// Whoever keeps a [journal](Record) saves the filter after a merge, of which there is no record: a filter from before
    /// with the records since does not know the keys that came with it, if it is [replayed](Self::replay), nor what the other filter had learned, if it is
    /// [recovered](Self::recover).
    pub fn merge_from<N: ReverseMap<Error = M::Error>>(
        &mut self,
        other: &Set<R, N>,
    ) -> Result<(), SetError<M::Error>> {
        let mut merged = self.filter.try_clone()?;
        merged.merge_from(&other.filter, &self.map, &other.map).map_err(set_error(&self.filter.core))?;
        // Whatever can fail comes before the first row is copied.
        if merged.expected_error_rate() > merged.highest_error_rate() {
            let (mine, theirs, rows) = (&self.map, &other.map, merged.len());
            let union = protocol::Union { mine, theirs, rows, met: &|_, _| {} };
            merged = merged.rebuild(&union, &[]).map_err(set_error(&self.filter.core))?;
        }
        let Filter { core, reader } = &self.filter;
        let new = protocol::copy_rows(core, reader, &mut self.map, &other.map).map_err(SetError::Map)?;
        merged.set_len(self.filter.len() + new);
        self.filter = merged;
        Ok(())
    }

    /// Checks the filter, that every key of the map has a fingerprint with its tag, and that every
    /// fingerprint has a key. Reads everything. [`Inconsistent`](SetError::Inconsistent) says what is wrong.
    pub fn validate(&self) -> Result<(), SetError<M::Error>> {
        protocol::check(&self.filter.core, &self.filter.reader, &self.map)
    }
}
