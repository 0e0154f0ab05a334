//! Inserting: a slot for a key that no fingerprint covers, and nothing for one that is covered.
//!
//! A key that no fingerprint covers is certainly new, and no map has to be asked. It gets the shortest
//! fingerprint of fresh length that is not a prefix of another: its neighbours in the run tell how long that
//! is. A key that is covered, and brings nothing along that the entry does not carry, may be new or not; the core already
//! says *maybe* and does not change. If it brings something along and may share the entry, it is certainly new, and the
//! entry carries that, too, from now on. If it may not share, only the keys under the entry tell how they part.

use super::{Core, Ticket};
use crate::bits::cpu::dispatch;
use crate::codec::string::{Found, InsertNew, Outcome, Payload, Place, PlanNew, PlanReplace, Replace, Table};
use crate::error::{Indistinguishable, InsertError, NeedsGrow, Stale};
use crate::filter::macros::kernel;
use crate::filter::room::{Effort, Remedy};
use crate::hash::Words;
use crate::mem::OutOfMemory;
use crate::table::{Full, Limits, Slot};

/// What [`insert`](crate::AdaptiveFilter::insert) did.
#[derive(Debug, Clone, PartialEq, Eq)]
#[must_use = "a covered key must be looked up in the map"]
pub enum Insertion<V = u64> {
    /// The key was certainly not in the set; it is now.
    Stored,
    /// A fingerprint covers the key already, and nothing has changed: only the map knows whether the key is
    /// new. If it is, put it there and call [`insert_covered`](crate::AdaptiveFilter::insert_covered), or, if the
    /// ticket's tag is not that of the key, [`insert_apart`](crate::AdaptiveFilter::insert_apart).
    Covered(Ticket<V>),
}

/// Whether there is room for something.
#[derive(Debug)]
pub(crate) enum Room {
    Enough,
    /// For a fingerprint of its own, and the usual insert stores it.
    AtGlance,
    /// None is needed: this entry covers the key, or the key must part from it.
    Covered(Place),
    /// In a larger spill area.
    NeedsExtension(Full),
    /// In a table of twice as many slots.
    NeedsGrow,
}

impl<P: Payload> Core<P> {
    /// The usual insert of a hash, given its first word. `false` if it is an unusual one, with nothing changed.
    #[inline(always)]
    pub(crate) fn insert_at_glance(&mut self, first_word: u64, value: &P::Value) -> bool {
        let Some(own) = self.at_glance(value) else { return false };
        let stored = dispatch(InsertAtGlance { core: self, first_word, own });
        if stored {
            self.stored(first_word);
        }
        stored
    }

    /// Whether the usual insert would store a hash.
    #[inline(always)]
    fn has_room_at_glance(&self, first_word: u64, value: &P::Value) -> bool {
        self.at_glance(value).is_some() && dispatch(HasRoomAtGlance { core: self, first_word })
    }

    /// What a head has of a value, if the usual insert may be tried.
    #[inline(always)]
    pub(crate) fn at_glance(&self, value: &P::Value) -> Option<u64> {
        self.strings.payload().in_head(value).filter(|_| self.used_slots() < self.capacity())
    }

    /// Any insert; a new fingerprint has at least so many bits. An error changes nothing.
    #[inline(never)]
    pub(crate) fn insert(
        &mut self,
        words: &impl Words,
        value: &P::Value,
        least: u32,
    ) -> Result<Insertion<P::Value>, InsertError> {
        let (mut effort, mut before) = (Effort::Usual, None);
        loop {
            let (strings, limits) = (self.strings, effort.limits(self.used_slots(), self.capacity()));
            let table = &mut self.table;
            let why = match dispatch(InsertNew { table, strings, words, value, least, limits }) {
                Outcome::Stored => {
                    self.stored(words.word(0));
                    return Ok(Insertion::Stored);
                }
                Outcome::Full(why) => why,
                Outcome::Covered(place) => return self.insert_under(place, words, value),
                Outcome::Indistinguishable => return Err(Indistinguishable.into()),
            };
            effort = self.make_room(why, effort, &mut before)?;
        }
    }

    /// Inserts a key that a fingerprint covers.
    #[cold]
    fn insert_under(
        &mut self,
        place: Place,
        words: &impl Words,
        value: &P::Value,
    ) -> Result<Insertion<P::Value>, InsertError> {
        let Some(slots) = self.united(&place, words, value) else {
            return Ok(Insertion::Covered(self.ticket(&place)));
        };
        self.put(&place, &slots)?;
        self.len += 1;
        self.versions.bump(words.word(0));
        Ok(Insertion::Stored)
    }

    /// The slots of an entry that also carries what a key under it brings along; `None` if that changes nothing, or they may
    /// not share it.
    fn united(&self, place: &Place, words: &impl Words, value: &P::Value) -> Option<Vec<Slot>> {
        let (payload, mut all) = (self.strings.payload(), self.value(&place.entry));
        if payload.covers(&all, value) || !payload.may_share(&all, value) {
            return None;
        }
        payload.unite(&mut all, value);
        let mut slots = Vec::new();
        self.strings.encode(words, self.length(&place.entry), &all, &mut slots);
        Some(slots)
    }

    /// Puts slots in the place of an entry. An error changes nothing.
    pub(super) fn put(&mut self, place: &Place, slots: &[Slot]) -> Result<(), InsertError> {
        let (mut effort, mut before) = (Effort::Usual, None);
        loop {
            let limits = effort.limits(self.used_slots(), self.capacity());
            match dispatch(Replace { table: &mut self.table, place, slots, limits }) {
                Ok(()) => return Ok(()),
                Err(why) => effort = self.make_room(why, effort, &mut before)?,
            }
        }
    }

    /// Does what helps an edit that had no room, short of growing, and tells how hard to try next. A table that gets a larger
    /// spill area is kept in `before`, and comes back if that does not help.
    #[cold]
    fn make_room(
        &mut self,
        why: Full,
        effort: Effort,
        before: &mut Option<Table>,
    ) -> Result<Effort, InsertError> {
        let full = self.full();
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
            Remedy::Grow => NeedsGrow { used: full.used, slots: full.slots }.into(),
            Remedy::None => full.into(),
        };
        if let Some(before) = before.take() {
            self.table = before;
        }
        Err(error)
    }

    /// A copy of the table with more room at its end.
    fn extended_table(&self, why: Full) -> Result<Table, OutOfMemory> {
        let slots = if let Full::End { slots } = why { slots } else { 0 };
        self.table.extended(slots.into())
    }

    /// A copy with more room at the end of the table.
    pub(crate) fn extended(&self, why: Full) -> Result<Self, OutOfMemory> {
        Ok(self.with_table(self.extended_table(why)?, self.strings.has_stop()))
    }

    /// Counts a new fingerprint.
    #[inline(always)]
    pub(crate) fn stored(&mut self, first_word: u64) {
        self.entries += 1;
        self.len += 1;
        self.versions.bump(first_word);
    }

    /// Counts a key that a fingerprint covers. The ticket is not stale just because other keys came or went; it is if its
    /// fingerprint is not there any more, or carries something else.
    pub(crate) fn insert_covered(&mut self, ticket: &Ticket<P::Value>) -> Result<(), Stale> {
        let place = self.place_of(&ticket.prefix).ok_or(Stale)?;
        if self.value(&place.entry) != ticket.value {
            return Err(Stale);
        }
        self.len += 1;
        self.versions.bump(ticket.prefix.word(0));
        Ok(())
    }

    /// Confirms what a map has said of a key that a fingerprint covers, and counts it if it is new; [`Stale`] if anything
    /// under the fingerprint has changed since. Whoever is about to remove the fingerprint asks again then.
    pub(crate) fn confirm_covered(&mut self, ticket: &Ticket<P::Value>, is_new: bool) -> Result<(), Stale> {
        self.redeem(ticket)?;
        self.len += u64::from(is_new);
        self.versions.bump(ticket.prefix.word(0));
        Ok(())
    }

    /// How long the fingerprint of a hash would be that nothing else is asked of; `None` if one covers it.
    pub(crate) fn new_length(&self, words: &impl Words) -> Option<u32> {
        match self.find(words) {
            (_, _, Found::Covered(_)) => None,
            (_, _, Found::Between { common_bits, .. }) => Some(self.strings.round_up(common_bits + 1)),
        }
    }

    /// Whether there is room for a key, whose fingerprint has at least so many bits if it is a new one; an error if there can
    /// never be.
    pub(crate) fn room_for(
        &self,
        words: &impl Words,
        value: &P::Value,
        least: u32,
    ) -> Result<Room, InsertError> {
        if least == 0 && self.has_room_at_glance(words.word(0), value) {
            return Ok(Room::AtGlance);
        }
        let strings = self.strings;
        let room = self.room(|limits| {
            match dispatch(PlanNew { table: &self.table, strings, words, value, least, limits }) {
                Outcome::Stored => Ok(Ok(Room::Enough)),
                Outcome::Covered(place) => Ok(Ok(Room::Covered(place))),
                Outcome::Indistinguishable => Err(Indistinguishable.into()),
                Outcome::Full(why) => Ok(Err(why)),
            }
        })?;
        match room {
            Room::Covered(place) => match self.united(&place, words, value) {
                Some(slots) => self.room_to_put(&place, slots.len() as u64),
                None => Ok(Room::Covered(place)),
            },
            room => Ok(room),
        }
    }

    /// Whether there is room for so many slots in the place of an entry.
    pub(super) fn room_to_put(&self, place: &Place, slots: u64) -> Result<Room, InsertError> {
        self.room(|limits| {
            let plan = dispatch(PlanReplace { table: &self.table, place, slots, limits });
            Ok(plan.map(|_| Room::Enough))
        })
    }

    /// Whether there is room, given a plan within limits.
    fn room(
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
                Remedy::None => {
                    return Err(self.full().into());
                }
            }
        }
    }
}

kernel! {
    /// The usual insert.
    pub(crate) InsertAtGlance<'a, P: Payload> { core: &'a mut Core<P>, first_word: u64, own: u64 } -> bool
    |cpu| core.strings.insert_at_glance(cpu, &mut core.table, first_word, own)
}

kernel! {
    HasRoomAtGlance<'a, P: Payload> { core: &'a Core<P>, first_word: u64 } -> bool
    |cpu| core.strings.has_room_at_glance(cpu, &core.table, first_word)
}
