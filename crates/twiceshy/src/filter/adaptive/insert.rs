//! Inserting: a slot for a key that no fingerprint covers, and nothing for one that is covered.
//!
//! A key that no fingerprint covers is certainly new, and no map has to be asked. It gets the shortest
//! fingerprint of fresh length that is not a prefix of another: its neighbours in the run tell how long that
//! is. A covered key may be new or not; the filter already says *maybe* and does not change.

use super::{AdaptiveFilter, Ticket, quotient_of, slot_limit};
use crate::bits::cpu::{Cpu, Kernel, dispatch};
use crate::codec::string::{Entry, Found, Strings};
use crate::error::{Indistinguishable, InsertError, Stale};
use crate::hash::{KeyWords, MAX_BITS, RawWords, Words};
use crate::key::Key;
use crate::table::{Edit, Full, Slot, Table};

/// What [`AdaptiveFilter::insert`] did.
#[derive(Debug, Clone, PartialEq, Eq)]
#[must_use = "a covered key must be looked up in the map"]
pub enum Insertion {
    /// The key was certainly not in the set; it is now.
    Stored,
    /// A fingerprint covers the key already, and nothing has changed: only the map knows whether the key is
    /// new. If it is, put it there and call [`insert_covered`](AdaptiveFilter::insert_covered), or, if the
    /// ticket's tag is not that of the key, [`insert_apart`](AdaptiveFilter::insert_apart).
    Covered(Ticket),
}

impl AdaptiveFilter {
    /// Inserts a key, unless a fingerprint covers it already.
    ///
    /// An error changes nothing. [`NeedsGrow`](InsertError::NeedsGrow) asks for [`grow`](Self::grow).
    #[inline]
    pub fn insert<K: Key + ?Sized>(&mut self, key: &K) -> Result<Insertion, InsertError> {
        self.insert_tagged(key, 0)
    }

    /// [`insert`](Self::insert) for a key whose hash is known: `hash` is what [`hasher`](Self::hasher) makes of the
    /// key.
    #[inline]
    pub fn insert_hashed<K: Key + ?Sized>(&mut self, key: &K, hash: u64) -> Result<Insertion, InsertError> {
        if self.insert_at_glance(hash) {
            return Ok(Insertion::Stored);
        }
        let hasher = self.hasher.clone();
        self.insert_words(&KeyWords::with_first(&hasher, &key, hash), 0)
    }

    /// [`insert`](Self::insert) with a tag: a small number that [`tag`](Self::tag) tells for this key, and for
    /// any key that is mistaken for it. The tag 0 costs nothing, others a slot or more.
    #[inline]
    pub fn insert_tagged<K: Key + ?Sized>(&mut self, key: &K, tag: u64) -> Result<Insertion, InsertError> {
        let first = self.hasher.hash(key);
        if tag == 0 && self.insert_at_glance(first) {
            return Ok(Insertion::Stored);
        }
        let hasher = self.hasher.clone();
        self.insert_words(&KeyWords::with_first(&hasher, &key, first), tag)
    }

    /// [`insert`](Self::insert) for callers who hash themselves; see
    /// [`contains_hash`](Self::contains_hash).
    #[inline]
    pub fn insert_hash(&mut self, hash: u64) -> Result<Insertion, InsertError> {
        if self.insert_at_glance(hash) {
            return Ok(Insertion::Stored);
        }
        self.insert_words(&RawWords(hash), 0)
    }

    /// The usual insert of a hash, given its first word. `false` if it is an unusual one.
    #[inline(always)]
    fn insert_at_glance(&mut self, first_word: u64) -> bool {
        let stored =
            self.used_slots() < self.capacity() && dispatch(InsertAtGlance { filter: self, first_word });
        if stored {
            self.stored(first_word);
        }
        stored
    }

    /// Any insert.
    pub(super) fn insert_words(&mut self, words: &impl Words, tag: u64) -> Result<Insertion, InsertError> {
        let strings = self.strings();
        match dispatch(InsertNew { table: &mut self.table, strings, words, tag }) {
            Outcome::Stored => {
                self.stored(words.word(0));
                Ok(Insertion::Stored)
            }
            outcome => self.not_stored(words, outcome),
        }
    }

    #[inline(always)]
    fn stored(&mut self, first_word: u64) {
        self.entries += 1;
        self.len += 1;
        self.versions.bump(first_word);
    }

    #[cold]
    fn not_stored(&self, words: &impl Words, outcome: Outcome) -> Result<Insertion, InsertError> {
        match outcome {
            Outcome::Covered(entry) => {
                Ok(Insertion::Covered(self.ticket(quotient_of(&self.table, words), &entry)))
            }
            Outcome::Indistinguishable => Err(Indistinguishable.into()),
            Outcome::Full | Outcome::Stored => Err(self.no_room()),
        }
    }

    /// Counts a key that is under an existing fingerprint: call it when [`insert`](Self::insert) said
    /// [`Covered`](Insertion::Covered) and the key was new to your map.
    ///
    /// The ticket is not stale just because other keys came or went; it is if its fingerprint is not there
    /// any more. Then insert again.
    pub fn insert_covered(&mut self, ticket: &Ticket) -> Result<(), Stale> {
        // The fingerprint itself may have been replaced.
        if self.entry_of(&ticket.prefix).is_none() {
            return Err(Stale);
        }
        self.len += 1;
        self.versions.bump(ticket.prefix.word(0));
        Ok(())
    }

    /// Whether there is room for a fingerprint of a hash that none covers; an error if the filter can never
    /// have room.
    pub(super) fn has_room_for(&self, words: &impl Words, tag: u64) -> Result<bool, InsertError> {
        match dispatch(PlanNew { table: &self.table, strings: self.strings(), words, tag }) {
            Plan::Fits { .. } => Ok(true),
            Plan::Covered(_) => Ok(true),
            Plan::Indistinguishable => Err(Indistinguishable.into()),
            Plan::Full => match self.no_room() {
                InsertError::NeedsGrow { .. } => Ok(false),
                error => Err(error),
            },
        }
    }

    /// The error for a table without room.
    pub(super) fn no_room(&self) -> InsertError {
        let (used, slots) = (self.used_slots(), self.slots());
        match self.can_grow() {
            true => InsertError::NeedsGrow { used, slots },
            false => InsertError::Full { used, slots },
        }
    }
}

/// What became of a hash.
enum Outcome {
    Stored,
    Covered(Entry),
    Full,
    Indistinguishable,
}

/// What could become of a hash.
enum Plan {
    Fits { edit: Edit, slots: Vec<Slot> },
    Covered(Entry),
    Full,
    Indistinguishable,
}

/// Plans a fingerprint for a hash that no other covers.
struct PlanNew<'a, W> {
    table: &'a Table,
    strings: Strings,
    words: &'a W,
    tag: u64,
}

impl<W: Words> Kernel for PlanNew<'_, W> {
    type Output = Plan;
    #[inline(always)]
    fn run<C: Cpu>(self, cpu: C) -> Plan {
        let Self { table, strings, words, tag } = self;
        let quotient = quotient_of(table, words);
        let run = table.run(cpu, quotient);
        let (at, common_bits) = match strings.find(table, run, words) {
            Found::Covered(entry) => return Plan::Covered(entry),
            Found::Between { at, common_bits } => (at, common_bits),
        };
        if common_bits >= MAX_BITS {
            return Plan::Indistinguishable;
        }
        let mut slots = Vec::new();
        strings.encode(words, strings.round_up(common_bits + 1), tag, &mut slots);
        let needed = slots.len() as u64;
        if table.used() + needed > slot_limit(table.shape()) {
            return Plan::Full;
        }
        match table.plan(cpu, quotient, run, at, 0, needed) {
            Ok(edit) => Plan::Fits { edit, slots },
            Err(Full) => Plan::Full,
        }
    }
}

/// The usual insert.
struct InsertAtGlance<'a> {
    filter: &'a mut AdaptiveFilter,
    first_word: u64,
}

impl Kernel for InsertAtGlance<'_> {
    type Output = bool;
    #[inline(always)]
    fn run<C: Cpu>(self, cpu: C) -> bool {
        self.filter.strings().insert_at_glance(cpu, &mut self.filter.table, self.first_word)
    }
}

/// Stores a fingerprint for a hash that no other covers.
struct InsertNew<'a, W> {
    table: &'a mut Table,
    strings: Strings,
    words: &'a W,
    tag: u64,
}

impl<W: Words> Kernel for InsertNew<'_, W> {
    type Output = Outcome;
    #[inline(always)]
    fn run<C: Cpu>(self, cpu: C) -> Outcome {
        let Self { table, strings, words, tag } = self;
        match (PlanNew { table, strings, words, tag }).run(cpu) {
            Plan::Fits { edit, slots } => {
                table.commit(cpu, edit, &slots);
                Outcome::Stored
            }
            Plan::Covered(entry) => Outcome::Covered(entry),
            Plan::Full => Outcome::Full,
            Plan::Indistinguishable => Outcome::Indistinguishable,
        }
    }
}
