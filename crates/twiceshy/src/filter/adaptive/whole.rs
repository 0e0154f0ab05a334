//! What concerns all keys of a filter: growing, shrinking, merging, loading, rebuilding.

use std::convert::Infallible;

use super::{AdaptiveFilter, Builder, Filter, Record};
use crate::error::{BuildError, OutOfMemory, RebuildError};
use crate::filter::core::Room;
use crate::filter::protocol::{self, Keys, MoreRoom, Raw};
use crate::hash::{KeyWords, RawWords};
use crate::key::Key;
use crate::prefix::Prefix;
use crate::reverse_map::Lookup;

impl<R: Keys> Filter<R> {
    /// Gets a larger table: with a fifth to a third more slots if it is nearly full, and twice as many if it is not. The keys
    /// of those fingerprints that ran out of bits are looked up. If that fails, nothing has changed.
    ///
    /// A filter that may not get larger and [rotates](super::Growth::Rotate) does so instead, until there is a slot more: the keys
    /// of some groups are looked up. If that fails, no key is lost, but the groups before have forgotten.
    ///
    /// ```
    /// use twiceshy::error::InsertError;
    /// use twiceshy::reverse_map::Rows;
    /// use twiceshy::AdaptiveFilter;
    ///
    /// let mut filter = AdaptiveFilter::builder().capacity(10).build()?;
    /// let mut keys: Vec<u64> = Vec::new();
    /// for key in 0..1_000u64 {
    ///     while let Err(InsertError::NeedsGrow { .. }) = filter.insert(&key) {
    ///         let rows = Rows::of(filter.hasher(), &keys);
    ///         filter.grow(&rows)?;
    ///     }
    ///     keys.push(key);
    /// }
    /// assert!((0..1_000u64).all(|key| filter.contains(&key)));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn grow<L: Lookup + ?Sized>(&mut self, lookup: &L) -> Result<(), RebuildError<L::Error>> {
        if self.must_forget() {
            return self.forget(lookup);
        }
        *self = self.grown(lookup)?;
        Ok(())
    }

    /// What [`grow`](Self::grow) would make of this filter, which others can go on asking meanwhile.
    pub fn grown<L: Lookup + ?Sized>(&self, lookup: &L) -> Result<Self, RebuildError<L::Error>> {
        self.grown_for(0, lookup)
    }

    /// This filter in a larger table, with room for so many keys more at least.
    pub fn grown_for<L: Lookup + ?Sized>(
        &self,
        keys: u64,
        lookup: &L,
    ) -> Result<Self, RebuildError<L::Error>> {
        match protocol::grown(&self.core, &self.reader, keys, lookup) {
            // It may not have a larger table, or none that helps.
            Err(RebuildError::Full { .. }) if keys == 0 && self.core.rotates() => {
                let mut forgetful = self.try_clone()?;
                forgetful.forget(lookup)?;
                Ok(forgetful)
            }
            grown => Ok(self.with_core(grown?)),
        }
    }

    /// This filter with the room that an [operation](protocol::Operation) needs.
    pub fn with_room<L: Lookup + ?Sized>(
        &self,
        more: &MoreRoom,
        lookup: &L,
    ) -> Result<Self, RebuildError<L::Error>> {
        match more.0 {
            Room::NeedsExtension(why) => Ok(self.with_core(self.core.extended(why)?)),
            Room::Enough | Room::AtGlance | Room::Covered(_) | Room::NeedsGrow => self.grown(lookup),
        }
    }

    /// Shrinks to the smallest number of slots that holds the contents, giving the bits back to the slots.
    /// Nothing is forgotten, and the filter can grow again.
    ///
    /// A filter that could not come back to its size stays as it is: one that [refuses](super::Growth::Refuse) to grow, and
    /// one with [`max_bytes`](super::Growth::Grow) that would be too large with the bit more for every slot that a filter
    /// needs once it was resized. Call [`set_growth`](Self::set_growth) first if that is what you want.
    pub fn shrink_to_fit(&mut self) -> Result<(), OutOfMemory> {
        self.core.shrink_to_fit(self.turn().least_bits())
    }

    /// Adds all keys of another filter that hashes in the same way. What either has learned stays learned.
    ///
    /// The keys of this set are looked up in `mine`, those of the other in `theirs`, where fingerprints overlap or ran out of
    /// bits. Where both sets have a key, this set's tag counts. Afterwards the map must hold the keys of both; keys
    /// that were in both sets count twice in [`len`](Self::len).
    ///
    /// Filters of which one has [rotated](super::Growth::Rotate) farther than the other have fingerprints that cannot be compared:
    /// then all keys are read from both maps, and what the other one has learned is forgotten.
    ///
    /// A new query is a false positive of the union if it is one of either part, so the error rates add up:
    /// see [`expected_error_rate`](Self::expected_error_rate), and [`rebuild`](Self::rebuild) to lower it.
    ///
    /// Whoever keeps a [journal](super::Record) saves the filter after a merge, of which there is no record: neither the keys
    /// that came with it nor what the other filter had learned could be had from an older filter and the records since.
    pub fn merge_from<B, L, M>(
        &mut self,
        other: &Filter<R, B>,
        mine: &L,
        theirs: &M,
    ) -> Result<(), RebuildError<L::Error>>
    where
        B: AsRef<[u8]>,
        L: Lookup + ?Sized,
        M: Lookup<Error = L::Error> + ?Sized,
    {
        let is_same_epoch = self.turn() == other.turn();
        if self.reader != other.reader.in_turn(self.turn()) {
            return Err(match self.hasher() == other.hasher() {
                true => RebuildError::DifferentPartitions,
                false => RebuildError::DifferentHash,
            });
        }
        other.core.check_view().map_err(RebuildError::Invalid)?;
        protocol::merge(&mut self.core, &other.core, is_same_epoch, &self.reader, mine, theirs)
    }
}

impl AdaptiveFilter {
    /// [`grow`](Self::grow) for callers who hash themselves; see
    /// [`contains_hash`](Self::contains_hash). The keys of the rows do not matter.
    pub fn grow_hashes<L: Lookup + ?Sized>(&mut self, lookup: &L) -> Result<(), RebuildError<L::Error>> {
        if self.must_forget() {
            return self.forget_hashes(lookup);
        }
        self.core = protocol::grown(&self.core, &Raw(&self.reader), 0, lookup)?;
        Ok(())
    }
}

impl<R: Keys, B: AsRef<[u8]>> Filter<R, B> {
    /// A new filter with the settings of this one, from all rows of a map. A row has an empty value or, for a key with a tag,
    /// a byte that says how many bytes the tag has, and these from the lowest to the highest that is not 0. Every
    /// fingerprint has fresh length or more: as long as the one
    /// that the key has here, and long enough to be apart from the queries that
    /// begin with the prefixes in `apart` (unless a key begins with the whole prefix: it is the query itself).
    ///
    /// This is how a store recovers: `self` is the last snapshot, `apart` comes from its
    /// [journal](super::Record), and the rows are read in one pass. Fingerprints without a key under them
    /// are left out. If the rows cannot be read, that ends it.
    pub fn rebuild<L: Lookup + ?Sized>(
        &self,
        rows: &L,
        apart: &[Prefix],
    ) -> Result<Filter<R>, RebuildError<L::Error>> {
        let mut apart = apart.to_vec();
        apart.sort();
        Ok(self.with_core(protocol::rebuilt(&self.core, &self.reader, &apart, rows)?))
    }

    /// [`rebuild`](Self::rebuild), apart from all that the records of a journal say, and rotated as far as they say.
    pub fn recovered<L: Lookup + ?Sized>(
        &self,
        rows: &L,
        journal: impl IntoIterator<Item = Record>,
    ) -> Result<Filter<R>, RebuildError<L::Error>> {
        let journal: Vec<Record> = journal.into_iter().collect();
        let turns = journal.iter().filter_map(|record| match record {
            Record::Rotated(turn) if turn.is_after(&self.turn()) => Some(turn),
            _ => None,
        });
        if let Some(turn) = turns.reduce(|one, other| if one.is_after(other) { one } else { other }) {
            // All keys first: it may have to grow for them.
            let mut rotated = self.rebuild(rows, &[])?;
            rotated.rotate_to(turn, rows)?;
            return rotated.recovered(rows, journal);
        }
        let lessons: Vec<Prefix> = journal.iter().filter_map(|record| self.lesson(record)).cloned().collect();
        match self.rebuild(rows, &lessons) {
            // There is less room than there was.
            Err(RebuildError::Full { .. }) if self.core.must_forget() => self.rebuild(rows, &[]),
            done => done,
        }
    }
}

impl Builder {
    /// A filter of keys that come in the order of the first 64 bits of their hashes, each once. Give the
    /// [`hasher`](Self::hasher) that orders them. One pass, many times as fast as single inserts.
    ///
    /// Without a [`capacity`](Self::capacity) the iterator's lower size bound is taken.
    ///
    /// ```
    /// use twiceshy::{AdaptiveFilter, Hasher};
    ///
    /// let hasher = Hasher::random()?;
    /// let mut keys: Vec<u64> = (0..1_000).collect();
    /// keys.sort_by_key(|key| hasher.hash(key));
    /// let filter = AdaptiveFilter::builder().hasher(hasher).from_sorted(&keys)?;
    /// assert!(keys.iter().all(|key| filter.contains(key)));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn from_sorted<K: Key>(
        self,
        keys: impl IntoIterator<Item = K>,
    ) -> Result<AdaptiveFilter, RebuildError<Infallible>> {
        let keys = keys.into_iter();
        let AdaptiveFilter { core, reader } = self.sized(keys.size_hint().0)?.build()?;
        let core = core.filled_with(keys.map(|key| (KeyWords::new(&reader, key), 0)))?;
        Ok(Filter::from_core(core, reader))
    }

    /// [`from_sorted`](Self::from_sorted) for callers who hash themselves, from hashes in ascending order.
    pub fn from_sorted_hashes(
        self,
        hashes: impl IntoIterator<Item = u64>,
    ) -> Result<AdaptiveFilter, RebuildError<Infallible>> {
        let hashes = hashes.into_iter();
        let AdaptiveFilter { core, reader } = self.sized(hashes.size_hint().0)?.build()?;
        let core = core.filled_with(hashes.map(|hash| (RawWords(hash), 0)))?;
        Ok(Filter::from_core(core, reader))
    }

    /// With a size for this many keys, unless there is one.
    pub(crate) fn sized(self, keys: usize) -> Result<Self, BuildError> {
        if self.capacity.is_some() || self.quotient_bits.is_some() {
            return Ok(self);
        }
        // An iterator may promise anything.
        Ok(self.capacity((keys as u64).clamp(1 << 5, 1 << 30)))
    }
}
