//! A filter from keys in the order of their hashes: bulk loading, recovery and full rejuvenation.
//!
//! Keys whose hashes agree in the first bits of a fresh fingerprint form a group, almost always of one key.
//! Each key of a group says how long its fingerprint must be: fresh, as long as the one it had in the old
//! filter, and long enough to be apart from the queries of a list. The group is [cut](super::cut) and
//! written. Nothing but one group is in memory at a time. Only the first 64 bits of the hashes must be in
//! order; within a group the cut sorts.

use std::convert::Infallible;

use super::builder::quotient_bits_for;
use super::cut::Member;
use super::fill::{FillError, Filler};
use super::resize::Grown;
use super::{AdaptiveFilter, AdaptiveFilterBuilder};
use crate::codec::string::{Found, Table};
use crate::error::{Indistinguishable, OutOfMemory, RebuildError};
use crate::hash::{KeyWords, MAX_BITS, RawWords, Words};
use crate::key::Key;
use crate::prefix::Prefix;

impl AdaptiveFilterBuilder {
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
    /// let filter = AdaptiveFilter::builder().hasher(hasher).load(&keys)?;
    /// assert!(keys.iter().all(|key| filter.contains(key)));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn load<K: Key>(
        self,
        keys: impl IntoIterator<Item = K>,
    ) -> Result<AdaptiveFilter, RebuildError<Infallible>> {
        let keys = keys.into_iter();
        let empty = self.sized(keys.size_hint().0)?.build()?;
        let hasher = empty.hasher.clone();
        empty.filled_with(None::<&AdaptiveFilter>, &[], keys.map(|key| Ok((KeyWords::new(&hasher, key), 0))))
    }

    /// [`load`](Self::load) for callers who hash themselves, from hashes in ascending order.
    pub fn load_hashes(
        self,
        hashes: impl IntoIterator<Item = u64>,
    ) -> Result<AdaptiveFilter, RebuildError<Infallible>> {
        let hashes = hashes.into_iter();
        let empty = self.sized(hashes.size_hint().0)?.build()?;
        empty.filled_with(None::<&AdaptiveFilter>, &[], hashes.map(|hash| Ok((RawWords(hash), 0))))
    }

    /// With a size for this many keys, unless there is one.
    fn sized(self, keys: usize) -> Result<Self, crate::error::BuildError> {
        if self.capacity.is_some() || self.quotient_bits.is_some() {
            return Ok(self);
        }
        // An iterator may promise anything.
        let most = quotient_bits_for(keys as u64).map_or(30, |bits| bits.min(30));
        Ok(self.quotient_bits(most.max(6)))
    }
}

impl<B: AsRef<[u8]>> AdaptiveFilter<B> {
    /// A new filter with the settings of this one, from all keys of the set and their tags, in the order of
    /// the first 64 bits of their hashes. Every fingerprint has fresh length or more: as long as the one
    /// that the key has here, and long enough to be apart from the queries that
    /// begin with the prefixes in `apart` (unless a key begins with the whole prefix: it is the query itself).
    ///
    /// This is how a store recovers: `self` is the last snapshot, `apart` comes from its
    /// [journal](super::Record), and the keys are read in one pass. Fingerprints without a key under them
    /// are left behind. An error of the keys ends it.
    pub fn rebuild<K: Key, E>(
        &self,
        keys: impl IntoIterator<Item = Result<(K, u64), E>>,
        apart: &[Prefix],
    ) -> Result<AdaptiveFilter, RebuildError<E>> {
        let mut apart = apart.to_vec();
        apart.sort();
        let hasher = &self.hasher;
        let keys = keys.into_iter().map(|row| row.map(|(key, tag)| (KeyWords::new(hasher, key), tag)));
        let len = self.entries.max(keys.size_hint().0 as u64);
        self.empty_for(len, 1)?.filled_with(Some(self), &apart, keys)
    }

    /// An empty filter with the settings of this one and room for some keys with fingerprints as long as those here, of
    /// at least so many quotient bits.
    pub(super) fn empty_for<E>(
        &self,
        keys: u64,
        quotient_bits: u32,
    ) -> Result<AdaptiveFilter, RebuildError<E>> {
        let full = RebuildError::Full { slots: self.slots() };
        let (shape, has_stop) = self.shape_for_rebuild(keys, quotient_bits)?.ok_or(full)?;
        let mut empty = self.with_table(Table::new(shape)?);
        (empty.len, empty.entries, empty.has_stop) = (0, 0, has_stop);
        Ok(empty)
    }
}

impl AdaptiveFilter {
    /// This empty filter with all keys, which come in the order of their first words, with their tags.
    /// `apart` is in order.
    fn filled_with<B: AsRef<[u8]>, W: Words, E>(
        self,
        old: Option<&AdaptiveFilter<B>>,
        apart: &[Prefix],
        keys: impl Iterator<Item = Result<(W, u64), E>>,
    ) -> Result<Self, RebuildError<E>> {
        let mut filling = Filling::new(self, old, apart)?;
        for row in keys {
            let (words, tag) = row.map_err(RebuildError::Lookup)?;
            filling.add(words, tag)?;
        }
        filling.finish()
    }
}

/// A filter that is being filled with groups of keys.
pub(super) struct Filling<'a, B, W> {
    filler: Filler,
    /// An empty filter with the settings.
    settings: AdaptiveFilter,
    old: Option<&'a AdaptiveFilter<B>>,
    /// In order.
    apart: &'a [Prefix],
    /// Keys that agree in the first bits of a fresh fingerprint.
    group: Vec<Member<W>>,
    keys: u64,
    /// The first word of the last key.
    last: u64,
}

impl<'a, B: AsRef<[u8]>, W: Words> Filling<'a, B, W> {
    pub(super) fn new(
        settings: AdaptiveFilter,
        old: Option<&'a AdaptiveFilter<B>>,
        apart: &'a [Prefix],
    ) -> Result<Self, OutOfMemory> {
        let filler = Filler::new((*settings.table.shape(), settings.has_stop), settings.most_bytes())?;
        Ok(Self { filler, settings, old, apart, group: Vec::new(), keys: 0, last: 0 })
    }

    pub(super) fn finish<E>(mut self) -> Result<AdaptiveFilter, RebuildError<E>> {
        self.write()?;
        let filled = self.filler.finish();
        let mut filter = self.settings.with_grown(Grown { filled, rejuvenated: 0 });
        filter.counters = self.settings.counters;
        filter.set_len(self.keys);
        Ok(filter)
    }

    /// How many of the first 64 bits the hashes of a group have in common.
    #[inline(always)]
    fn group_bits(&self) -> u32 {
        self.filler.strings.bits_in(1).min(64)
    }

    #[inline(always)]
    pub(super) fn add<E>(&mut self, words: W, tag: u64) -> Result<(), RebuildError<E>> {
        let first = words.word(0);
        if first < self.last {
            return Err(RebuildError::Unsorted { index: self.keys });
        }
        self.last = first;
        let bits = self.group_bits();
        if let Some(first) = self.group.first()
            && first.words.common_bits(&words, bits) < bits
        {
            self.write()?;
        }
        self.keys += 1;
        let least = self.length_of(&words);
        self.group.push(Member { words, tag, least });
        Ok(())
    }

    /// The least length of a key's fingerprint: the one that it had, exactly, unless it needs a longer one.
    #[inline(always)]
    fn length_of(&self, words: &W) -> u32 {
        let old = self.old.map_or(0, |old| match old.find(words) {
            (_, _, Found::Covered(entry)) => old.strings().len(&old.table, &entry),
            (_, _, Found::Between { .. }) => 0,
        });
        let strings = &self.filler.strings;
        let known = strings.bits_in(1).max(old);
        match self.apart_from(words) {
            apart if apart > known => strings.round_up(apart),
            _ => known,
        }
    }

    /// The least bits that tell a hash from all the queries in the list that are not itself.
    ///
    /// The strings that have most in common with a hash are its neighbours in the order; those that are
    /// prefixes of the hash are skipped.
    fn apart_from(&self, words: &W) -> u32 {
        if self.apart.is_empty() {
            return 0;
        }
        let place = self.apart.partition_point(|query| {
            let common = query.common_bits(words, query.len());
            common == query.len() || query.window(common, 1) < words.window(common, 1)
        });
        let bits = |query: &Prefix| {
            let common = query.common_bits(words, query.len());
            (common < query.len()).then_some(common + 1)
        };
        let before = self.apart[..place].iter().rev().find_map(bits);
        let behind = self.apart[place..].iter().find_map(bits);
        before.max(behind).unwrap_or(0)
    }

    /// Writes the group, in a larger table if need be.
    #[inline(always)]
    fn write<E>(&mut self) -> Result<(), RebuildError<E>> {
        if let [Member { words, tag, least }] = self.group.as_slice()
            && *least <= MAX_BITS
            && self.filler.push(words, self.filler.strings.fit(*least), *tag).is_ok()
        {
            self.group.clear();
            return Ok(());
        }
        self.write_slowly()
    }

    /// The same for groups of several keys, and where there is no room.
    #[cold]
    fn write_slowly<E>(&mut self) -> Result<(), RebuildError<E>> {
        let mut group = std::mem::take(&mut self.group);
        // What they have in common now; in a larger table fresh fingerprints have more.
        let from = self.group_bits();
        loop {
            match self.filler.push_cut::<_, Infallible>(&mut group, from) {
                Ok(()) => break,
                Err(FillError::Full) => self.grow()?,
                Err(FillError::Indistinguishable) => return Err(Indistinguishable.into()),
                Err(FillError::Memory(error)) => return Err(error.into()),
                Err(FillError::Lookup(never)) => match never {},
            }
            let fresh = self.filler.strings.bits_in(1);
            group.iter_mut().for_each(|member| member.least = member.least.max(fresh));
        }
        group.clear();
        self.group = group;
        Ok(())
    }

    /// Moves what was written to a larger table.
    fn grow<E>(&mut self) -> Result<(), RebuildError<E>> {
        let size = (*self.settings.table.shape(), self.settings.has_stop);
        let filled = std::mem::replace(&mut self.filler, Filler::new(size, 0)?).finish();
        let written = self.settings.with_grown(Grown { filled, rejuvenated: 0 });
        let capacity = self.settings.capacity();
        let mut nobody = |_: &Prefix| Err::<Vec<Prefix>, ()>(());
        let filler = written.fill_from(
            written.quotient_bits() + 1,
            |bits| written.shape_for(bits),
            |size| {
                let mut filler = Filler::new(size, written.most_bytes())?;
                written.move_to(&mut filler, &mut nobody).map(|_| filler)
            },
        );
        self.filler = filler.map_err(|error| match error {
            RebuildError::Lookup(()) => RebuildError::Capacity { capacity },
            RebuildError::Memory(error) => RebuildError::Memory(error),
            RebuildError::Indistinguishable(error) => RebuildError::Indistinguishable(error),
            _ => RebuildError::Full { slots: written.slots() },
        })?;
        Ok(())
    }
}
