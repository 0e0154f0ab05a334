//! Inserting: a slot for a key that no fingerprint covers, and nothing for one that is covered.
//!
//! A key that no fingerprint covers is certainly new, and no map has to be asked. It gets the shortest
//! fingerprint of fresh length that is not a prefix of another: its neighbours in the run tell how long that
//! is. A covered key may be new or not; the filter already says *maybe* and does not change.

use super::adapt::Place;
use super::{AdaptiveFilter, Ticket, quotient_of};
use crate::bits::cpu::{Cpu, Kernel, dispatch};
use crate::codec::string::{Found, Strings, Table};
use crate::error::{Indistinguishable, InsertError, Stale};
use crate::filter::room::{Effort, Remedy};
use crate::hash::{KeyWords, MAX_BITS, RawWords, Words};
use crate::key::Key;
use crate::mem::OutOfMemory;
use crate::table::{Edit, Full, Limits, Slot};

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
        let (mut effort, mut before) = (Effort::Usual, None);
        loop {
            let (strings, limits) = (self.strings(), effort.limits(self.used_slots(), self.capacity()));
            let why = match dispatch(InsertNew { table: &mut self.table, strings, words, tag, limits }) {
                Outcome::Stored => {
                    self.stored(words.word(0));
                    return Ok(Insertion::Stored);
                }
                Outcome::Full(why) => why,
                outcome => return self.not_stored(outcome),
            };
            effort = self.make_room(why, effort, &mut before)?;
        }
    }

    /// Does what helps an edit that had no room, short of growing, and tells how hard to try next. A table that gets a larger
    /// spill area is kept in `before`, and comes back if that does not help.
    #[cold]
    pub(super) fn make_room(
        &mut self,
        why: Full,
        effort: Effort,
        before: &mut Option<Table>,
    ) -> Result<Effort, InsertError> {
        let (used, slots) = (self.used_slots(), self.slots());
        let error = match self.remedy(why, effort) {
            Remedy::TryHarder => {
                self.table.bear(why);
                return Ok(Effort::Utmost);
            }
            Remedy::Extend => match self.extended_table(why) {
                Ok(extended) => {
                    let old = std::mem::replace(&mut self.table, extended);
                    before.get_or_insert(old);
                    return Ok(effort);
                }
                Err(error) => error.into(),
            },
            Remedy::Grow => InsertError::NeedsGrow { used, slots },
            Remedy::None => InsertError::Full { used, slots },
        };
        if let Some(before) = before.take() {
            self.table = before;
        }
        Err(error)
    }

    /// A copy of the table with more room at its end.
    pub(super) fn extended_table(&self, why: Full) -> Result<Table, OutOfMemory> {
        let slots = if let Full::End { slots } = why { slots } else { 0 };
        self.table.extended(slots.into())
    }

    #[inline(always)]
    fn stored(&mut self, first_word: u64) {
        self.entries += 1;
        self.len += 1;
        self.versions.bump(first_word);
    }

    #[cold]
    fn not_stored(&self, outcome: Outcome) -> Result<Insertion, InsertError> {
        match outcome {
            Outcome::Covered(place) => Ok(Insertion::Covered(self.ticket(place.quotient, &place.entry))),
            Outcome::Indistinguishable => Err(Indistinguishable.into()),
            Outcome::Full(_) | Outcome::Stored => Err(self.full()),
        }
    }

    /// Counts a key that is under an existing fingerprint: call it when [`insert`](Self::insert) said
    /// [`Covered`](Insertion::Covered) and the key was new to your map.
    ///
    /// The ticket is not stale just because other keys came or went; it is if its fingerprint is not there
    /// any more, or has another tag. Then insert again.
    pub fn insert_covered(&mut self, ticket: &Ticket) -> Result<(), Stale> {
        let place = self.entry_of(&ticket.prefix).ok_or(Stale)?;
        if self.strings().tag(&self.table, &place.entry) != ticket.tag {
            return Err(Stale);
        }
        self.len += 1;
        self.versions.bump(ticket.prefix.word(0));
        Ok(())
    }

    /// Whether there is room for a fingerprint of a hash, if none covers it; an error if the filter can never have room.
    pub(super) fn room_for(&self, words: &impl Words, tag: u64) -> Result<Room, InsertError> {
        self.room(|limits| {
            match dispatch(PlanNew { table: &self.table, strings: self.strings(), words, tag, limits }) {
                Plan::Fits { .. } => Ok(Ok(Room::Enough)),
                Plan::Covered(place) => Ok(Ok(Room::Covered(place))),
                Plan::Indistinguishable => Err(Indistinguishable.into()),
                Plan::Full(why) => Ok(Err(why)),
            }
        })
    }

    /// Whether there is room, given a plan within limits.
    pub(super) fn room(
        &self,
        plan: impl Fn(Limits) -> Result<Result<Room, Full>, InsertError>,
    ) -> Result<Room, InsertError> {
        let mut effort = Effort::Usual;
        loop {
            let why = match plan(effort.limits(self.used_slots(), self.capacity()))? {
                Ok(room) => return Ok(room),
                Err(why) => why,
            };
            match self.remedy(why, effort) {
                Remedy::TryHarder => effort = Effort::Utmost,
                Remedy::Extend => return Ok(Room::NeedsExtension(why)),
                Remedy::Grow => return Ok(Room::NeedsGrow),
                Remedy::None => return Err(self.full()),
            }
        }
    }

    /// The error for a filter that may not grow, or that would not get more room by that.
    fn full(&self) -> InsertError {
        InsertError::Full { used: self.used_slots(), slots: self.slots() }
    }
}

/// Whether there is room for something.
pub(super) enum Room {
    Enough,
    /// None is needed: this entry covers the key.
    Covered(Place),
    /// In a larger spill area.
    NeedsExtension(Full),
    /// In a table of twice as many slots.
    NeedsGrow,
}

/// What became of a hash.
enum Outcome {
    Stored,
    Covered(Place),
    Full(Full),
    Indistinguishable,
}

/// What could become of a hash.
enum Plan {
    Fits { edit: Edit, slots: Vec<Slot> },
    Covered(Place),
    Full(Full),
    Indistinguishable,
}

/// Plans a fingerprint for a hash that no other covers.
struct PlanNew<'a, W> {
    table: &'a Table,
    strings: Strings,
    words: &'a W,
    tag: u64,
    limits: Limits,
}

impl<W: Words> Kernel for PlanNew<'_, W> {
    type Output = Plan;
    #[inline(always)]
    fn run<C: Cpu>(self, cpu: C) -> Plan {
        let Self { table, strings, words, tag, limits } = self;
        let quotient = quotient_of(table, words);
        let run = table.run(cpu, quotient);
        let (at, common_bits) = match strings.find(table, run, words) {
            Found::Covered(entry) => return Plan::Covered(Place { quotient, run, entry }),
            Found::Between { at, common_bits } => (at, common_bits),
        };
        if common_bits >= MAX_BITS {
            return Plan::Indistinguishable;
        }
        let mut slots = Vec::new();
        strings.encode(words, strings.round_up(common_bits + 1), tag, &mut slots);
        match table.plan(cpu, quotient, run, at, 0, slots.len() as u64, limits) {
            Ok(edit) => Plan::Fits { edit, slots },
            Err(why) => Plan::Full(why),
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
    limits: Limits,
}

impl<W: Words> Kernel for InsertNew<'_, W> {
    type Output = Outcome;
    #[inline(always)]
    fn run<C: Cpu>(self, cpu: C) -> Outcome {
        let Self { table, strings, words, tag, limits } = self;
        match (PlanNew { table, strings, words, tag, limits }).run(cpu) {
            Plan::Fits { edit, slots } => {
                table.commit(cpu, edit, &slots);
                Outcome::Stored
            }
            Plan::Covered(place) => Outcome::Covered(place),
            Plan::Full(why) => Outcome::Full(why),
            Plan::Indistinguishable => Outcome::Indistinguishable,
        }
    }
}
