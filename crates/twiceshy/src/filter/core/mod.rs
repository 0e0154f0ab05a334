//! The adaptive core: fingerprints in a table, what each of them carries, and all that can be done with them.
//!
//! # The idea
//!
//! A set of prefixes of hashes, of which none is a prefix of another, each with a value that says something of the keys
//! under it. Keys are not known here, only their hashes ([`Words`]) and what they bring along ([`Payload`]); who needs the
//! keys under a fingerprint asks for them. Everything that changes fingerprints is a [`cut`] of the keys under one or more
//! of them: adapting, parting keys that may not share, giving fresh length when the table grows, merging, rebuilding.
//!
//! An adaptive filter is this core with tags and a hasher in front ([`adaptive`](crate::filter::adaptive)); another payload
//! is another filter.
//!
//! | file | what it does |
//! |---|---|
//! | [`cut`] | the primitive: from keys and the lengths they need to fingerprints of which none is a prefix of another |
//! | [`insert`] | a slot for a key that nothing covers, nothing for one that is covered |
//! | [`replace`] | put the cut of the keys under a fingerprint in its place; remove |
//! | [`room`](crate::filter::room), [`shapes`] | what to do without room; which tables there may be |
//! | [`resize`] | grow and shrink; keys are looked up only for fingerprints that ran out of bits |
//! | [`rotate`] | the fingerprints of a group of keys made anew, where it may not grow |
//! | [`merge`], [`rebuild`], [`fill`] | unions, bulk load and recovery: streams in order, cut where they meet |
//! | [`ticket`] | versions, so that whoever looked into the map in between notices what changed |
//! | [`stream`] | all fingerprints in order, for those three and for resizing |
//! | [`iter`], [`batch`], [`stats`] | all fingerprints in order; many queries at once; what it knows of itself |
//!
//! # Cost
//!
//! `(r + 3.125) / load` bits for a fingerprint, and one slot more for one that adapted; after the first resize one bit
//! more, the stop bit that fingerprints of different lengths need. A query touches one or two cache lines.

mod batch;
pub(crate) mod cut;
mod fill;
mod insert;
mod iter;
mod merge;
mod persist;
#[cfg(test)]
pub(crate) mod plain;
mod rebuild;
mod replace;
mod resize;
mod rotate;
mod shapes;
mod stats;
mod stream;
mod ticket;

pub use insert::Insertion;
pub use replace::Adapted;
pub use shapes::Growth;
pub use stats::{Lengths, Stats};
pub use ticket::Ticket;

pub(crate) use insert::{InsertAtGlance, Room};
pub(crate) use iter::Iter;
pub(crate) use persist::left_to_filter;
pub(crate) use rebuild::Filling;
pub(crate) use replace::Parted;
pub(crate) use rotate::NotRotated;
pub(crate) use shapes::{highest_rate, size_for};

use std::ops::RangeInclusive;

use crate::bits::cpu::{Cpu, Kernel, dispatch};
use crate::codec::string::{Entry, Found, Payload, Place, Strings, Table};
use crate::error::Full;
use crate::filter::macros::kernel;
use crate::filter::settings::with_limits;
use crate::hash::{MAX_BITS, Words};
use crate::mem::{Memory, OutOfMemory};
use crate::prefix::Prefix;
use crate::table::{Extended, Part, Run, Shape, Size};
use ticket::Versions;

/// Fingerprints, none of which is a prefix of another, in a table.
pub(crate) struct Core<P: Payload, B = Memory> {
    table: Table<B>,
    /// How they lie there. They end with a stop bit once the core was resized.
    strings: Strings<P>,
    entries: u64,
    /// Keys, as far as they are told of.
    len: u64,
    /// The least bits that a new fingerprint has after its quotient.
    remainder_bits: u32,
    growth: Growth,
    /// How many slots may be in use.
    capacity: u64,
    versions: Versions,
    counters: Stats,
}

/// A key under a fingerprint: its hash, and what it brings along, if that is not what the fingerprint carries.
pub struct Neighbour<W, V> {
    pub(crate) words: W,
    pub(crate) value: Option<V>,
}

impl<P: Payload> Core<P> {
    /// An empty one with remainders of at least so many bits.
    pub(crate) fn empty(
        payload: P,
        size: Size,
        remainder_bits: u32,
        growth: Growth,
        limits: Option<(u8, u32)>,
    ) -> Result<Self, OutOfMemory> {
        Self::empty_part(payload, size, remainder_bits, growth, limits, Part::ALL)
    }

    /// The same for a part of all hashes.
    pub(crate) fn empty_part(
        payload: P,
        size: Size,
        remainder_bits: u32,
        growth: Growth,
        limits: Option<(u8, u32)>,
        part: Part,
    ) -> Result<Self, OutOfMemory> {
        let shape = Shape::new(size, remainder_bits + payload.head_bits()).for_part(part);
        let table = Table::new(with_limits(shape.with_layout::<Extended>(), limits))?;
        Ok(Self::new(table, false, payload, remainder_bits, growth))
    }

    /// An empty one of the same shape.
    pub(crate) fn empty_like(&self) -> Result<Self, OutOfMemory> {
        let mut empty = self.with_table(Table::new(*self.table.shape())?, self.strings.has_stop());
        (empty.len, empty.entries) = (0, 0);
        empty.counters = Stats::default();
        Ok(empty)
    }

    /// Removes everything; the size stays. Tickets get stale.
    pub(crate) fn clear(&mut self) {
        self.table.clear();
        (self.len, self.entries) = (0, 0);
        self.versions.bump_all();
    }

    /// Says how many keys there are. Every fingerprint counts as a key at least, and without a fingerprint there is none.
    pub(crate) fn set_len(&mut self, len: u64) {
        self.len = if self.entries == 0 { 0 } else { len.max(self.entries) };
    }

    /// Something has changed for a hash that the fingerprints do not show.
    pub(crate) fn bump(&mut self, first_word: u64) {
        self.versions.bump(first_word);
    }

    pub(crate) fn set_growth(&mut self, growth: Growth) {
        (self.growth, self.capacity) = (growth, growth.capacity(self.table.shape()));
    }

    /// Where the table lies.
    #[inline(always)]
    pub(crate) fn memory(&mut self) -> &mut Memory {
        self.table.memory()
    }

    /// Another table with the same entries.
    #[cfg(test)]
    pub(crate) fn set_table(&mut self, table: Table) {
        *self = self.with_table(table, self.strings.has_stop());
    }
}

impl<P: Payload, B: AsRef<[u8]>> Core<P, B> {
    /// A core that counts no fingerprint yet.
    fn new(table: Table<B>, has_stop: bool, payload: P, remainder_bits: u32, growth: Growth) -> Self {
        let strings = Strings::new(table.shape(), has_stop, payload);
        let versions = Versions::new(table.shape().part().bits());
        let (counters, capacity) = (Stats::default(), growth.capacity(table.shape()));
        Self { table, strings, entries: 0, len: 0, remainder_bits, growth, capacity, versions, counters }
    }

    /// A copy, or an error if there is no memory for it.
    pub(crate) fn try_clone(&self) -> Result<Core<P>, OutOfMemory> {
        Ok(self.with_table(self.table.try_clone()?, self.strings.has_stop()))
    }

    /// This core with another table, whose strings may have stop bits.
    pub(super) fn with_table<C: AsRef<[u8]>>(&self, table: Table<C>, has_stop: bool) -> Core<P, C> {
        Core {
            strings: Strings::new(table.shape(), has_stop, self.strings.payload()),
            capacity: self.growth.capacity(table.shape()),
            table,
            entries: self.entries,
            len: self.len,
            remainder_bits: self.remainder_bits,
            growth: self.growth,
            versions: self.versions.clone(),
            counters: self.counters,
        }
    }

    #[inline(always)]
    pub(crate) fn table(&self) -> &Table<B> {
        &self.table
    }

    #[inline(always)]
    pub(crate) fn strings(&self) -> Strings<P> {
        self.strings
    }

    pub(crate) fn len(&self) -> u64 {
        self.len
    }

    pub(crate) fn entries(&self) -> u64 {
        self.entries
    }

    pub(crate) fn remainder_bits(&self) -> u32 {
        self.remainder_bits
    }

    pub(crate) fn growth(&self) -> Growth {
        self.growth
    }

    pub(crate) fn quotient_bits(&self) -> u32 {
        self.table.shape().quotient_bits()
    }

    pub(crate) fn slot_bits(&self) -> u32 {
        self.table.shape().slot_bits()
    }

    /// The first words of all hashes that may be here.
    pub(crate) fn hashes(&self) -> RangeInclusive<u64> {
        self.table.shape().part().hashes()
    }

    /// How many slots the present size has, without the spill area.
    pub(crate) fn slots(&self) -> u64 {
        self.table.shape().slots()
    }

    pub(crate) fn used_slots(&self) -> u64 {
        self.table.used()
    }

    /// The error if nothing helps.
    pub(crate) fn full(&self) -> Full {
        Full { used: self.used_slots(), slots: self.slots() }
    }

    /// How many slots may be in use at the present size.
    #[inline(always)]
    pub(crate) fn capacity(&self) -> u64 {
        self.capacity
    }

    /// Whether a fingerprint is a prefix of a hash.
    #[inline(always)]
    pub(crate) fn contains(&self, words: impl Words) -> bool {
        dispatch(Contains { core: self, words })
    }

    /// The entry whose fingerprint is a prefix of a hash.
    #[inline(always)]
    pub(crate) fn cover(&self, words: &impl Words) -> Option<Place> {
        dispatch(Cover { core: self, words })
    }

    /// The fingerprint that is a prefix of a hash, with a ticket.
    pub(crate) fn query(&self, words: &impl Words) -> Option<Ticket<P::Value>> {
        let place = self.cover(words)?;
        let prefix = Prefix::of(words, self.length(&place.entry));
        Some(self.ticket_of(prefix, &place.entry))
    }

    /// The fingerprint that a query meets which asks for something, with a ticket.
    pub(crate) fn query_for(&self, words: &impl Words, query: &P::Query) -> Option<Ticket<P::Value>> {
        self.query(words).filter(|ticket| self.strings.payload().meets(&ticket.value, query))
    }

    /// Whether a query that asks for something meets a fingerprint. Complete, for all runs.
    #[inline(always)]
    pub(crate) fn meets<C: Cpu>(&self, cpu: C, words: &impl Words, query: &P::Query) -> bool {
        match (Find { core: self, words }).run(cpu) {
            (_, _, Found::Covered(entry)) => self.strings.payload().meets(&self.value(&entry), query),
            (_, _, Found::Between { .. }) => false,
        }
    }

    /// The fingerprint that is a prefix of another string, as a whole.
    pub(crate) fn query_prefix(&self, prefix: &Prefix) -> Option<Ticket<P::Value>> {
        let place = self.cover(prefix)?;
        (self.length(&place.entry) <= prefix.len()).then(|| self.ticket(&place))
    }

    /// As many bits of a query's hash as tell it from everything that it could be mistaken for; `None` if it is positive.
    pub(crate) fn separating_prefix(&self, words: &impl Words, query: &P::Query) -> Option<Prefix> {
        let len = match self.find(words) {
            // Only keys that it is not mistaken for are under this fingerprint.
            (_, _, Found::Covered(entry)) => {
                let is_met = self.strings.payload().meets(&self.value(&entry), query);
                (!is_met).then(|| self.length(&entry))?
            }
            (_, _, Found::Between { common_bits, .. }) => (common_bits + 1).min(MAX_BITS),
        };
        Some(Prefix::of(words, len))
    }

    /// What an entry carries.
    #[inline(always)]
    pub(crate) fn value(&self, entry: &Entry) -> P::Value {
        self.strings.value(&self.table, entry)
    }

    /// The length of an entry's fingerprint.
    #[inline(always)]
    pub(super) fn length(&self, entry: &Entry) -> u32 {
        self.strings.len(&self.table, entry)
    }

    /// The quotient of a hash, its run, and what the run says of the hash.
    fn find(&self, words: &impl Words) -> (u64, Run, Found) {
        dispatch(Find { core: self, words })
    }

    /// The place of exactly this fingerprint.
    fn place_of(&self, prefix: &Prefix) -> Option<Place> {
        self.cover(prefix).filter(|place| self.length(&place.entry) == prefix.len())
    }

    pub(super) fn ticket(&self, place: &Place) -> Ticket<P::Value> {
        self.ticket_of(self.strings.prefix(&self.table, place.quotient, &place.entry), &place.entry)
    }

    /// A ticket for an entry, given its fingerprint.
    #[inline(always)]
    fn ticket_of(&self, prefix: Prefix, entry: &Entry) -> Ticket<P::Value> {
        Ticket { stamp: self.versions.stamp(&prefix), value: self.value(entry), prefix, listed: None }
    }

    /// [`check`](Self::check) and the table's own, if nobody has done that yet.
    pub(crate) fn check_view(&self) -> Result<(), String> {
        if !self.table.is_view() {
            return Ok(());
        }
        self.table.validate().map_err(|invalid| invalid.to_string())?;
        self.check()
    }

    /// A number that changes when anything under a prefix does.
    pub(crate) fn stamp(&self, prefix: &Prefix) -> u64 {
        self.versions.stamp(prefix)
    }

    /// Checks everything that a table alone can tell.
    pub(crate) fn check(&self) -> Result<(), String> {
        let mut entries = 0;
        for (quotient, run) in self.table.runs() {
            let found = self.strings.check_run(&self.table, quotient, run);
            entries += found.map_err(|what| format!("the run of quotient {quotient}: {what}"))?;
        }
        if entries != self.entries {
            return Err(format!("expected {} fingerprints, found {entries}", self.entries));
        }
        if self.len < entries {
            return Err(format!("{} keys cannot have {entries} fingerprints", self.len));
        }
        Ok(())
    }
}

kernel! {
    Find<'a, P: Payload, B: AsRef<[u8]>, W: Words> { core: &'a Core<P, B>, words: &'a W } -> (u64, Run, Found)
    |cpu| {
        let Core { table, strings, .. } = core;
        let quotient = table.address().quotient(words.word(0));
        let run = table.run(cpu, quotient);
        (quotient, run, strings.find(table, run, words))
    }
}

kernel! {
    Cover<'a, P: Payload, B: AsRef<[u8]>, W: Words> { core: &'a Core<P, B>, words: &'a W } -> Option<Place>
    |cpu| match core.strings.cover_at_glance(cpu, &core.table, words.word(0)) {
        Some(found) => found,
        None => match cpu.outlined(Find { core, words }) {
            (quotient, run, Found::Covered(entry)) => Some(Place { quotient, run, entry }),
            (_, _, Found::Between { .. }) => None,
        },
    }
}

kernel! {
    /// Small enough for registers, if the words are.
    pub(crate) Contains<'a, P: Payload, B: AsRef<[u8]>, W: Words> { core: &'a Core<P, B>, words: W } -> bool
    |cpu| {
        let home = core.table.home_now(cpu, words.word(0));
        match core.strings.contains_at_glance(cpu, &core.table, home, words.word(0)) {
            Some(found) => found,
            None => cpu.outlined(LookCloser { core, words }),
        }
    }
}

kernel! {
    /// [`Contains`] for all runs.
    LookCloser<'a, P: Payload, B: AsRef<[u8]>, W: Words> { core: &'a Core<P, B>, words: W } -> bool
    |cpu| matches!(Find { core, words: &words }.run(cpu).2, Found::Covered(_))
}
