//! A string of bits of any length, with what it carries: entries of one or more slots.
//!
//! # The idea
//!
//! The quotient is the first `q` bits of a fingerprint. The bits after it fill the entry's head and as many
//! continuation slots as they need, `w` bits each, highest first:
//!
//! - **whole**: they fill their slots exactly. All that a filter needs that has never been resized.
//! - **stop**: they are followed by a stop bit, a 1, and zeros up to the end of the last slot (see
//!   [`stop`]). Any length is possible.
//!
//! After them are payload slots with what the entry carries. A [`Payload`] says what that is, and may also have some of the
//! lowest bits of the head; the string then has so many bits less there.
//!
//! In a run no fingerprint is a prefix of another, so entries have an order, that of their bits, and at most
//! one of them is a prefix of a given hash.
//!
//! # Cost
//!
//! `w + 3.125` bits per slot. Most entries have one slot.
//!
//! # Source
//!
//! Extensions and payload as in section 4.2 of *Adaptive Quotient Filters*, the stop bit as in section 4.1 of
//! *InfiniFilter*. The papers keep equal fingerprints side by side and tell them apart by rank; here there are
//! none.

mod edit;
pub(crate) mod mark;
mod payload;
pub(crate) mod suffixes;

pub(crate) use edit::{
    InsertNew, Lengthen, Outcome, Place, PlanNew, PlanReplace, Replace, TakeOut, TakeOutAtGlance,
};
pub(crate) use mark::Marks;
pub(crate) use payload::{Payload, Tags};

use std::cmp::Ordering;

use super::stop;
use crate::bits::cpu::Cpu;
use crate::bits::word::low_mask;
use crate::hash::Words;
use crate::mem::Memory;
use crate::prefix::Prefix;
use crate::table::{self, Extended, Glance, Home, Kind, Run, Shape, Slot, Source};

/// A table for strings.
pub(crate) type Table<B = Memory> = table::Table<B, Extended>;

/// How strings, and what they carry, lie in the slots of a table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Strings<P> {
    position_bits: u32,
    slot_bits: u32,
    /// All ones if strings end with a stop bit, else 0.
    stops: u64,
    /// The bits of a head that are not of its string.
    own: u64,
    payload: P,
}

/// An entry: slots from `start` on, first those of the string and then those of the payload.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Entry {
    pub(crate) start: u64,
    pub(crate) string_slots: u32,
    pub(crate) payload_slots: u32,
}

impl Entry {
    #[inline(always)]
    pub(crate) fn slots(&self) -> u64 {
        u64::from(self.string_slots + self.payload_slots)
    }

    #[inline(always)]
    pub(crate) fn end(&self) -> u64 {
        self.start + self.slots()
    }
}

/// What a run says of a hash.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Found {
    /// This entry is a prefix of it.
    Covered(Entry),
    /// None is. Where an entry for it would be inserted, and the most bits (quotient included) that it has
    /// in common with a neighbour.
    Between { at: u64, common_bits: u32 },
}

impl<P: Payload> Strings<P> {
    #[inline(always)]
    pub(crate) fn new(shape: &Shape, has_stop: bool, payload: P) -> Self {
        let stops = if has_stop { u64::MAX } else { 0 };
        let (position_bits, slot_bits) = (shape.position_bits(), shape.slot_bits());
        Self { position_bits, slot_bits, stops, own: low_mask(payload.head_bits()), payload }
    }

    #[inline(always)]
    pub(crate) fn payload(&self) -> P {
        self.payload
    }

    /// The bits of a head that are not of its string; known when it is compiled if there are none.
    #[inline(always)]
    fn own(&self) -> u64 {
        if P::IN_HEAD { self.own } else { 0 }
    }

    /// The part of a head that is not of the string.
    #[inline(always)]
    pub(crate) fn own_bits(&self, head: u64) -> u64 {
        head & self.own()
    }

    /// Bits of a fingerprint that follow from where it is.
    pub(crate) fn position_bits(&self) -> u32 {
        self.position_bits
    }

    pub(crate) fn slot_bits(&self) -> u32 {
        self.slot_bits
    }

    pub(crate) fn has_stop(&self) -> bool {
        self.stops != 0
    }

    /// The most bits, quotient included, of a fingerprint in this many slots.
    pub(crate) fn bits_in(&self, slots: u32) -> u32 {
        self.position_bits + slots * self.slot_bits - self.payload.head_bits() - u32::from(self.has_stop())
    }

    /// How many slots a fingerprint of `len` bits takes.
    pub(crate) fn slots_for(&self, len: u32) -> u32 {
        let stored =
            len.saturating_sub(self.position_bits) + self.payload.head_bits() + u32::from(self.has_stop());
        stored.div_ceil(self.slot_bits).max(1)
    }

    /// The shortest length from `len` on that fills its slots.
    #[inline(always)]
    pub(crate) fn round_up(&self, len: u32) -> u32 {
        self.bits_in(self.slots_for(len))
    }

    /// The shortest length from `len` on that can be stored.
    #[inline(always)]
    pub(crate) fn fit(&self, len: u32) -> u32 {
        // Nearly always.
        if len == self.bits_in(1) {
            return len;
        }
        if self.has_stop() { len.max(self.position_bits) } else { self.round_up(len) }
    }

    /// The entry whose head is at `start`, in a run that ends at `end`.
    #[inline(always)]
    pub(crate) fn entry<B: Source>(&self, table: &Table<B>, start: u64, end: u64) -> Entry {
        let mut slot = start + 1;
        if slot >= end || table.kind(slot) == Kind::Head {
            return Entry { start, string_slots: 1, payload_slots: 0 };
        }
        let count = |kind, slot: &mut u64| {
            let from = *slot;
            while *slot < end && table.kind(*slot) == kind {
                *slot += 1;
            }
            (*slot - from) as u32
        };
        let string_slots = 1 + count(Kind::Continuation, &mut slot);
        let payload_slots = count(Kind::Payload, &mut slot);
        Entry { start, string_slots, payload_slots }
    }

    /// All entries of a run.
    #[inline(always)]
    pub(crate) fn entries<B: Source>(&self, table: &Table<B>, run: Run) -> impl Iterator<Item = Entry> {
        let mut slot = run.start;
        std::iter::from_fn(move || {
            let entry = (slot < run.end).then(|| self.entry(table, slot, run.end))?;
            slot = entry.end();
            Some(entry)
        })
    }

    /// Slot `i` of the string of an entry, without what is not of the string, and how many bits it has.
    #[inline(always)]
    fn string_slot<B: Source>(&self, table: &Table<B>, entry: &Entry, i: u32) -> (u64, u32) {
        let slot = table.slot(entry.start + u64::from(i));
        let own = if i == 0 { self.payload.head_bits() } else { 0 };
        (slot >> own, self.slot_bits - own)
    }

    /// The fingerprint of an entry of `quotient`.
    pub(crate) fn prefix<B: Source>(&self, table: &Table<B>, quotient: u64, entry: &Entry) -> Prefix {
        let mut prefix = Prefix::from_bits(table.shape().position(quotient), self.position_bits);
        let last = entry.string_slots - 1;
        for i in 0..last {
            let (slot, bits) = self.string_slot(table, entry, i);
            prefix.push(slot, bits);
        }
        let (slot, bits) = self.string_slot(table, entry, last);
        match (self.has_stop(), slot) {
            (false, _) => prefix.push(slot, bits),
            // No encoder wrote that.
            (true, 0) => {}
            (true, _) => prefix.push(stop::bits(slot), stop::len(slot, bits)),
        }
        prefix
    }

    /// How many bits, quotient included, the fingerprint of an entry has.
    #[inline(always)]
    pub(crate) fn len<B: Source>(&self, table: &Table<B>, entry: &Entry) -> u32 {
        let full = self.bits_in(entry.string_slots);
        if !self.has_stop() {
            return full;
        }
        let (last, bits) = self.string_slot(table, entry, entry.string_slots - 1);
        full - last.trailing_zeros().min(bits - 1)
    }

    /// What an entry carries.
    #[inline(always)]
    pub(crate) fn value<B: Source>(&self, table: &Table<B>, entry: &Entry) -> P::Value {
        let head = if self.payload.head_bits() == 0 { 0 } else { self.own_bits(table.slot(entry.start)) };
        // Nearly always.
        if entry.payload_slots == 0 {
            return self.payload.decode(head, std::iter::empty(), self.slot_bits);
        }
        let slots = entry.end() - u64::from(entry.payload_slots)..entry.end();
        self.payload.decode(head, slots.map(|slot| table.slot(slot)), self.slot_bits)
    }

    /// Whether the fingerprint of an entry of the hash's own quotient is a prefix of it, and if not, which
    /// of the two comes first, with the number of bits that they have in common.
    #[inline(always)]
    fn compare<B: Source>(
        &self,
        table: &Table<B>,
        entry: &Entry,
        words: &impl Words,
    ) -> Result<(), (Ordering, u32)> {
        let mut at = self.position_bits;
        for i in 0..entry.string_slots {
            let (slot, bits) = self.string_slot(table, entry, i);
            let window = words.window(at, bits);
            let same = if self.has_stop() && i + 1 == entry.string_slots {
                stop::matches(slot, window)
            } else {
                slot == window
            };
            if !same {
                let common = (slot ^ window).leading_zeros() - (64 - bits);
                return Err((slot.cmp(&window), at + common));
            }
            at += bits;
        }
        Ok(())
    }

    /// The entry in the run of its quotient that is a prefix of a hash, or where there could be one.
    #[inline(always)]
    pub(crate) fn find<B: Source>(&self, table: &Table<B>, run: Run, words: &impl Words) -> Found {
        let mut common_bits = self.position_bits;
        let mut at = run.start;
        while at < run.end {
            let entry = self.entry(table, at, run.end);
            match self.compare(table, &entry, words) {
                Ok(()) => return Found::Covered(entry),
                // Common bits rise up to the hash's place in the order and fall after it.
                Err((order, common)) => {
                    common_bits = common_bits.max(common);
                    if order == Ordering::Greater {
                        break;
                    }
                }
            }
            at = entry.end();
        }
        Found::Between { at, common_bits }
    }

    /// Whether an entry of the run of its quotient is a prefix of a hash, given its first word; `None` if that takes more than
    /// a glance.
    #[inline(always)]
    pub(crate) fn contains_at_glance<C: Cpu, B: Source>(
        &self,
        cpu: C,
        table: &Table<B>,
        home: Home,
        first_word: u64,
    ) -> Option<bool> {
        let glance = table.look_at(cpu, home)?;
        Some(self.matches_at_glance(table, &glance, table.address().window(cpu, first_word)))
    }

    /// The own bits of the head of the entry that is a prefix of a hash, given its first word, if they are all that it carries,
    /// and, XORed with `flipped`, less than `below`: whether there is such an entry, and the bits, which mean nothing if there is
    /// not. `None` if that takes more than a glance.
    #[inline(always)]
    pub(crate) fn own_at_glance<C: Cpu, B: Source>(
        &self,
        cpu: C,
        table: &Table<B>,
        home: Home,
        first_word: u64,
        (flipped, below): (u64, u64),
    ) -> Option<(bool, u64)> {
        let glance = table.look_at(cpu, home)?;
        let window = table.address().window(cpu, first_word) & !self.own() | flipped;
        let found = table.prefixes_below_at_glance(&glance, window, self.own(), self.stops, below);
        // The highest bit of its slot says that it was found.
        let slot = table.slots_at_glance(&glance).wrapping_shr(found.trailing_zeros() + 1 - self.slot_bits);
        Some((found != 0, self.own_bits(slot)))
    }

    /// The entry that is a prefix of a hash, if there is one, given its first word; `None` if that takes more than a glance.
    #[inline(always)]
    pub(crate) fn cover_at_glance<C: Cpu, B: Source>(
        &self,
        cpu: C,
        table: &Table<B>,
        first_word: u64,
    ) -> Option<Option<Place>> {
        let (quotient, window) = table.address().split(first_word);
        let glance = table.glance(cpu, quotient)?;
        let found = self.prefixes_at_glance(table, &glance, window);
        Some((found != 0).then(|| {
            let (run, rank) = (table.run_at_glance(&glance), found.trailing_zeros() / self.slot_bits);
            let entry = Entry { start: run.start + u64::from(rank), string_slots: 1, payload_slots: 0 };
            Place { quotient, run, entry }
        }))
    }

    /// Stores an entry of one slot for a hash, given its first word and the own bits of its head, if none is a prefix of it
    /// and that takes no more than a glance; the usual insert.
    #[inline(always)]
    pub(crate) fn insert_at_glance<C: Cpu>(
        self,
        cpu: C,
        table: &mut Table,
        first_word: u64,
        own: u64,
    ) -> bool {
        let (home, window) = table.address().home_and_window(cpu, first_word);
        table.prefetch_block(home);
        let (own_bits, window) = (self.payload.head_bits(), window & !self.own());
        let value = window | u64::from(self.has_stop()) << own_bits | own;
        table.insert_at_glance(cpu, home, value, |table, glance| {
            // All entries have one slot and are as long or shorter, so the new one is no prefix of them.
            (!self.matches_at_glance(table, glance, window)).then(|| table.rank_at_glance(glance, value))
        })
    }

    /// Whether [`insert_at_glance`](Self::insert_at_glance) would store an entry.
    #[inline(always)]
    pub(crate) fn has_room_at_glance<C: Cpu>(self, cpu: C, table: &Table, first_word: u64) -> bool {
        let (home, window) = table.address().home_and_window(cpu, first_word);
        table.glance_at(cpu, home).is_some_and(|glance| {
            !self.matches_at_glance(table, &glance, window) && table.has_room_at_glance(&glance)
        })
    }

    /// Removes the entry of exactly the first `len` bits of a string, with these own bits of its head and no other payload,
    /// if it has one slot and that takes no more than a glance; the usual removal.
    #[inline(always)]
    pub(crate) fn remove_at_glance<C: Cpu>(
        self,
        cpu: C,
        table: &mut Table,
        words: &impl Words,
        len: u32,
        own: u64,
    ) -> bool {
        if self.slots_for(len) > 1 {
            return false;
        }
        let Some(glance) = table.glance(cpu, table.address().quotient(words.word(0))) else { return false };
        match table.find_at_glance(&glance, self.slot(words, len, 0) | own, 0) {
            0 => false,
            found => table.remove_at_glance(cpu, &glance, found.trailing_zeros() / self.slot_bits),
        }
    }

    #[inline(always)]
    fn matches_at_glance<B: Source>(&self, table: &Table<B>, glance: &Glance, window: u64) -> bool {
        self.prefixes_at_glance(table, glance, window) != 0
    }

    /// Slots of the run that are prefixes of the window, as bits, of which the lowest is certain: 0 if there is none.
    #[inline(always)]
    fn prefixes_at_glance<B: Source>(&self, table: &Table<B>, glance: &Glance, window: u64) -> u64 {
        table.prefixes_at_glance(glance, window & !self.own(), self.own(), self.stops)
    }

    /// Slot `i` of the string of the first `len` bits of a hash; the own bits of a head are 0.
    #[inline(always)]
    pub(crate) fn slot(&self, words: &impl Words, len: u32, i: u32) -> u64 {
        let own = self.payload.head_bits();
        let at = self.position_bits + i * self.slot_bits - if i == 0 { 0 } else { own };
        let own = if i == 0 { own } else { 0 };
        let (rest, bits) = (len - at.min(len), self.slot_bits - own);
        let string = if self.has_stop() && rest < bits {
            stop::encode(words.window(at, rest), rest, bits)
        } else {
            words.window(at, bits)
        };
        string << own
    }

    /// The head of an entry of one slot that the bits of a hash fill; its own bits are 0.
    #[inline(always)]
    pub(crate) fn full_head(&self, words: &impl Words) -> u64 {
        let own = self.payload.head_bits();
        let window = words.window(self.position_bits, self.slot_bits - own);
        (window | u64::from(self.has_stop())) << own
    }

    /// The slots of an entry for the first `len` bits of a hash, with what it carries.
    pub(crate) fn encode(&self, words: &impl Words, len: u32, value: &P::Value, slots: &mut Vec<Slot>) {
        let head = slots.len();
        for i in 0..self.slots_for(len) {
            let kind = if i == 0 { Kind::Head } else { Kind::Continuation };
            slots.push(Slot { kind, value: self.slot(words, len, i) });
        }
        let own = self.payload.encode(value, self.slot_bits, slots);
        if self.payload.head_bits() > 0 {
            slots[head].value |= own;
        }
    }

    /// How many slots an entry has for the first `len` bits of a hash, with what it carries.
    #[inline(always)]
    pub(crate) fn slots_with(&self, len: u32, value: &P::Value) -> u64 {
        let mut beside = Vec::new();
        if self.payload.in_head(value).is_none() {
            self.payload.encode(value, self.slot_bits, &mut beside);
        }
        u64::from(self.slots_for(len)) + beside.len() as u64
    }

    /// Checks that the entries of a run are as the encoder writes them and that none is a prefix of
    /// another. Gives their number.
    pub(crate) fn check_run<B: Source>(
        &self,
        table: &Table<B>,
        quotient: u64,
        run: Run,
    ) -> Result<u64, &'static str> {
        let (mut count, mut last) = (0, None::<Prefix>);
        for entry in self.entries(table, run) {
            let (prefix, value) = (self.prefix(table, quotient, &entry), self.value(table, &entry));
            let mut slots = Vec::new();
            self.encode(&prefix, prefix.len(), &value, &mut slots);
            let found = (entry.start..entry.end())
                .map(|slot| Slot { kind: table.kind(slot), value: table.slot(slot) });
            if !slots.iter().copied().eq(found) {
                return Err("an entry is not encoded as it should be");
            }
            if let Some(last) = last {
                if last.is_prefix_of(&prefix) && last.len() <= prefix.len() {
                    return Err("a fingerprint is a prefix of another");
                }
                if last > prefix {
                    return Err("fingerprints are not in order");
                }
            }
            last = Some(prefix);
            count += 1;
        }
        Ok(count)
    }
}
