//! A filter from keys in the order of their hashes: bulk loading, recovery and full rejuvenation.
//!
//! Keys whose hashes agree in the first bits of a fresh fingerprint form a group, almost always of one key.
//! Each key of a group says how long its fingerprint must be: fresh, as long as the one it had in the old
//! filter, and long enough to be apart from the queries of a list. Hashes that no fingerprint may cover come among the keys, in
//! order, and are cut past. The group is [cut](super::cut) and written. Nothing but one group is in memory at a time. Only the first 64 bits of the hashes must be in
//! order, or fewer, which makes groups larger; within a group the cut sorts.

use std::convert::Infallible;

use super::cut::Member;
use super::fill::Filler;
use super::{Core, Neighbour};
use crate::bits::cpu::{Cpu, Kernel, dispatch};
use crate::codec::string::{Payload, Table};
use crate::error::{OutOfMemory, RebuildError};
use crate::hash::{MAX_BITS, Words};
use crate::mem::Memory;
use crate::prefix::Prefix;
use crate::table::Size;

impl<P: Payload, B: AsRef<[u8]>> Core<P, B> {
    /// An empty one with the settings of this one and room for some keys with fingerprints as long as those here, of
    /// at least this size.
    pub(crate) fn empty_for<E>(&self, keys: u64, least: Size) -> Result<Core<P>, RebuildError<E>> {
        let full = RebuildError::Full { slots: self.slots() };
        let (shape, has_stop) = self.shape_for_rebuild(keys, least)?.ok_or(full)?;
        let mut empty = self.with_table(Table::new(shape)?, has_stop);
        (empty.len, empty.entries) = (0, 0);
        Ok(empty)
    }
}

impl<P: Payload> Core<P> {
    /// This empty core with all keys, which come in the order of their first words, with what they bring along.
    pub(crate) fn filled_with<W: Words>(
        self,
        keys: impl Iterator<Item = (W, P::Value)>,
    ) -> Result<Self, RebuildError<Infallible>> {
        let mut filling = Filling::new(self, None::<&Self>, &[], 64)?;
        dispatch(AddAll { filling: &mut filling, keys })?;
        filling.finish()
    }
}

/// Adds all keys to a core that is being filled.
struct AddAll<'a, 'b, P: Payload, W, I> {
    filling: &'a mut Filling<'b, P, Memory, W>,
    keys: I,
}

impl<P: Payload, W: Words, I: Iterator<Item = (W, P::Value)>> Kernel for AddAll<'_, '_, P, W, I> {
    type Output = Result<(), RebuildError<Infallible>>;
    #[inline(always)]
    fn run<C: Cpu>(self, _: C) -> Self::Output {
        for (words, value) in self.keys {
            self.filling.add(words, value)?;
        }
        Ok(())
    }
}

/// A core that is being filled with groups of keys.
pub(crate) struct Filling<'a, P: Payload, B, W> {
    filler: Filler<P>,
    /// An empty core with the settings.
    settings: Core<P>,
    old: Option<&'a Core<P, B>>,
    /// In order.
    apart: &'a [Prefix],
    /// How many of the first bits of the hashes are in order.
    ordered_bits: u32,
    /// Keys that agree in the first bits of a fresh fingerprint, as far as these are in order.
    group: Vec<Member<W, P::Value>>,
    keys: u64,
    /// The first word of the last key, as far as it is in order.
    last: u64,
}

impl<'a, P: Payload, B: AsRef<[u8]>, W: Words> Filling<'a, P, B, W> {
    /// Fills an empty core. Fingerprints are at least as long as those of the same keys in `old`, and apart from the queries
    /// that begin with the prefixes in `apart`, which are in order (unless a key begins with the whole prefix: it is the
    /// query itself). Keys come in the order of so many of the first 64 bits.
    pub(crate) fn new(
        empty: Core<P>,
        old: Option<&'a Core<P, B>>,
        apart: &'a [Prefix],
        ordered_bits: u32,
    ) -> Result<Self, OutOfMemory> {
        let filler = empty.filler(empty.shape())?;
        Ok(Self { filler, settings: empty, old, apart, ordered_bits, group: Vec::new(), keys: 0, last: 0 })
    }

    /// The core with all keys that came.
    pub(crate) fn finish<E>(mut self) -> Result<Core<P>, RebuildError<E>> {
        self.write()?;
        let mut core = self.settings.with_filled(self.filler);
        core.counters = self.settings.counters;
        core.set_len(self.keys);
        Ok(core)
    }

    /// How many of the first 64 bits the hashes of a group have in common.
    #[inline(always)]
    fn group_bits(&self) -> u32 {
        self.filler.strings.bits_in(1).min(self.ordered_bits)
    }

    /// The next key, and what it brings along.
    #[inline(always)]
    pub(crate) fn add<E>(&mut self, words: W, value: P::Value) -> Result<(), RebuildError<E>> {
        self.go_on_to(&words)?;
        self.keys += 1;
        let least = self.length_of(&words);
        self.group.push(Member { words, value, least });
        Ok(())
    }

    /// The next hash, which no fingerprint may cover.
    pub(crate) fn bar<E>(&mut self, words: W) -> Result<(), RebuildError<E>> {
        self.go_on_to(&words)?;
        self.group.push(Member::barred(words));
        Ok(())
    }

    /// Writes the group, if the next hash is not one of it.
    #[inline(always)]
    fn go_on_to<E>(&mut self, words: &W) -> Result<(), RebuildError<E>> {
        let first = words.word(0).unbounded_shr(64 - self.ordered_bits);
        if first < self.last {
            return Err(RebuildError::Unsorted { index: self.keys });
        }
        self.last = first;
        let bits = self.group_bits();
        if let Some(first) = self.group.first()
            && first.words.common_bits(words, bits) < bits
        {
            self.write()?;
        }
        Ok(())
    }

    /// The least length of a key's fingerprint: the one that it had, exactly, unless it needs a longer one.
    #[inline(always)]
    fn length_of(&self, words: &W) -> u32 {
        let old = self.old.and_then(|old| Some(old.length(&old.cover(words)?.entry))).unwrap_or(0);
        let strings = &self.filler.strings;
        let known = strings.bits_in(1).max(old);
        if self.apart.is_empty() {
            return known;
        }
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
        if let [Member { words, value, least }] = self.group.as_slice()
            && *least <= MAX_BITS
            && self.filler.push(words, self.filler.strings.fit(*least), value).is_ok()
        {
            self.group.clear();
            return Ok(());
        }
        self.write_slowly()
    }

    /// Writes groups of several keys, and where there is no room.
    #[cold]
    fn write_slowly<E>(&mut self) -> Result<(), RebuildError<E>> {
        let mut group = std::mem::take(&mut self.group);
        if group.iter().all(Member::is_barred) {
            group.clear();
        }
        // What they have in common now; in a larger table fresh fingerprints have more.
        let from = self.group_bits();
        loop {
            match self.filler.push_cut(&mut group, from) {
                Ok(()) => break,
                Err(RebuildError::Full { .. }) => self.grow()?,
                Err(error) => return Err(error),
            }
            let fresh = self.filler.strings.bits_in(1);
            group.iter_mut().for_each(|member| member.least = member.least.max(fresh));
        }
        group.clear();
        self.group = group;
        Ok(())
    }

    /// Moves what was written to a larger table.
    ///
    /// Fresh fingerprints never get shorter by that: groups that were written differ from those to come in the bits of a
    /// fresh one of then, and shorter ones to come could be prefixes of theirs.
    fn grow<E>(&mut self) -> Result<(), RebuildError<E>> {
        let nothing = self.settings.filler(self.settings.shape())?;
        let written = self.settings.with_filled(std::mem::replace(&mut self.filler, nothing));
        if written.entries() == 0 {
            let full = RebuildError::Full { slots: written.slots() };
            let shape = written.size().next().and_then(|size| written.shape_as_long(size));
            self.filler = written.filler(shape.filter(|(shape, _)| written.may_have(shape)).ok_or(full)?)?;
            return Ok(());
        }
        let capacity = self.settings.capacity();
        let filler = written.refilled(0, |_| Err::<Vec<Neighbour<Prefix, P::Value>>, ()>(()));
        self.filler = filler.map_err(|error| match error {
            RebuildError::Lookup(()) => RebuildError::Capacity { capacity },
            RebuildError::Memory(error) => RebuildError::Memory(error),
            RebuildError::Indistinguishable(error) => RebuildError::Indistinguishable(error),
            _ => RebuildError::Full { slots: written.slots() },
        })?;
        Ok(())
    }
}
