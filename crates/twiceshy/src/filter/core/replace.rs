//! Putting something else in the place of an entry: what the keys under it need, or nothing.

use super::cut::{Member, cut};
use super::{Core, Neighbour, Room, Ticket};
use crate::bits::cpu::dispatch;
use crate::bits::word::low_mask;
use crate::codec::string::{Lengthen, Payload, Place, TakeOut, TakeOutAtGlance};
use crate::error::{AdaptError, Indistinguishable, InsertError, Stale};
use crate::filter::room::Effort;
use crate::hash::{MAX_BITS, Words};
use crate::prefix::Prefix;
use crate::table::Slot;

/// What [`adapt`](crate::AdaptiveFilter::adapt) did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Adapted {
    /// The query is not positive any more, and no key that was in the set makes it positive again.
    Fixed {
        /// Slots that it took, at least 0.
        slots: u64,
    },
    /// The query is one of the keys: it was no mistake, and nothing has changed.
    WasMember,
    /// The query is not positive: nothing to do.
    NotPositive,
    /// No key is under the fingerprint: a leftover of a crash, or of a key that was removed from the map
    /// only. The fingerprint was removed.
    Vanished,
}

/// A plan to put others in the place of an entry, for the keys under it: the slots of all of them.
pub(crate) struct Parted {
    pub(crate) place: Place,
    slots: Vec<Slot>,
    entries: u64,
}

impl<P: Payload> Core<P> {
    /// Learns that a query was a false positive. `neighbours` are all keys under the ticket's prefix, the query is none of
    /// them, and with each comes how many bits tell it from the query, 0 if it need not be told.
    pub(crate) fn adapt<W: Words>(
        &mut self,
        ticket: &Ticket<P::Value>,
        query: &impl Words,
        neighbours: impl IntoIterator<Item = (Neighbour<W, P::Value>, u32)>,
    ) -> Result<Adapted, AdaptError> {
        if !ticket.prefix.is_prefix_of(query) {
            return Ok(Adapted::NotPositive);
        }
        let place = self.redeem(ticket)?;
        let adapted = self.separate_at(&place, neighbours);
        // With more room the caller will be back.
        self.counters.reported += u64::from(!matches!(adapted, Err(AdaptError::NeedsGrow { .. })));
        self.counters.fixed += u64::from(adapted.is_ok());
        adapted
    }

    /// Parts the keys under a fingerprint from a string that they are not to be mistaken for. Keys that begin with the whole
    /// string are taken to be the query itself and stay as they are.
    pub(crate) fn separate<W: Words>(
        &mut self,
        ticket: &Ticket<P::Value>,
        apart: &Prefix,
        neighbours: impl IntoIterator<Item = Neighbour<W, P::Value>>,
    ) -> Result<Adapted, AdaptError> {
        if ticket.prefix.len() > apart.len() || !ticket.prefix.is_prefix_of(apart) {
            return Ok(Adapted::NotPositive);
        }
        let place = self.redeem(ticket)?;
        let needs = |words: &W| match words.common_bits(apart, apart.len()) {
            all if all == apart.len() => 0,
            some => some + 1,
        };
        let neighbours = neighbours.into_iter().map(|neighbour| {
            let needs = needs(&neighbour.words);
            (neighbour, needs)
        });
        self.separate_at(&place, neighbours)
    }

    /// Replaces the entry at `place` by entries for all keys under it, each of at least the length that it needs. A length
    /// that is learned takes what its slots hold.
    fn separate_at<W: Words>(
        &mut self,
        place: &Place,
        neighbours: impl IntoIterator<Item = (Neighbour<W, P::Value>, u32)>,
    ) -> Result<Adapted, AdaptError> {
        let before = self.used_slots();
        let least = self.least(place);
        let mut neighbours = neighbours.into_iter().map(|(neighbour, needed)| (neighbour, least(needed)));
        let Some(first) = neighbours.next() else {
            self.take_out(place);
            return Ok(Adapted::Vanished);
        };
        let second = neighbours.next();
        // The entry may carry what a key brought along that is gone: then it is written anew.
        let is_all = |value: &P::Value| *value == self.value(&place.entry);
        let carries_it = second.is_none() && first.0.value.as_ref().is_none_or(is_all);
        if carries_it && first.1 <= MAX_BITS && self.lengthen(place, &first.0.words, first.1) {
            return Ok(self.fixed(before));
        }
        let all = [first].into_iter().chain(second).chain(neighbours);
        self.replace(&self.parted(place, all)?)?;
        // After a crash the map may have keys that nobody told of.
        self.set_len(self.len);
        Ok(self.fixed(before))
    }

    /// The least length of the fingerprint of a key under an entry that needs so many bits.
    fn least(&self, place: &Place) -> impl Fn(u32) -> u32 + use<P> {
        let strings = self.strings;
        let fresh = self.length(&place.entry).max(strings.bits_in(1));
        move |needed| if needed > fresh { strings.round_up(needed) } else { fresh }
    }

    /// Plans to part the keys under the ticket's fingerprint from a hash that none may cover: those that stay keys, and with each
    /// how many bits tell it from the hash.
    pub(crate) fn apart<W: Words>(
        &self,
        ticket: &Ticket<P::Value>,
        neighbours: impl IntoIterator<Item = (Neighbour<W, P::Value>, u32)>,
    ) -> Result<Parted, AdaptError> {
        let place = self.redeem(ticket)?;
        let least = self.least(&place);
        Ok(self
            .parted(&place, neighbours.into_iter().map(|(neighbour, needed)| (neighbour, least(needed))))?)
    }

    /// The cut of the keys under an entry, with the least lengths of their fingerprints.
    fn parted<W: Words>(
        &self,
        place: &Place,
        neighbours: impl Iterator<Item = (Neighbour<W, P::Value>, u32)>,
    ) -> Result<Parted, Indistinguishable> {
        let of_entry = self.value(&place.entry);
        let member = |(Neighbour { words, value }, least)| Member {
            words,
            value: value.unwrap_or_else(|| of_entry.clone()),
            least,
        };
        let mut members: Vec<_> = neighbours.map(member).collect();
        let pieces = cut(&mut members, &self.strings, self.length(&place.entry))?;
        let mut slots = Vec::new();
        pieces.iter().for_each(|piece| piece.encode(&members, &self.strings, &mut slots));
        Ok(Parted { place: *place, slots, entries: pieces.len() as u64 })
    }

    /// Counts a query that was a mistake until the table grew to make room for learning it.
    pub(crate) fn fixed_by_growth(&mut self) -> Adapted {
        self.counters.reported += 1;
        self.counters.fixed += 1;
        self.fixed(self.used_slots())
    }

    /// Counts the slots that an adaptation took.
    fn fixed(&mut self, used_before: u64) -> Adapted {
        let slots = self.used_slots().saturating_sub(used_before);
        self.counters.adaptation_slots += slots;
        Adapted::Fixed { slots }
    }

    /// Makes the fingerprint at `place` as long as `len` bits of the only key under it, if that takes at most
    /// one slot more; the usual adaptation.
    fn lengthen(&mut self, place: &Place, words: &impl Words, len: u32) -> bool {
        let (strings, limits) = (self.strings, Effort::Usual.limits(self.used_slots(), self.capacity()));
        let done = dispatch(Lengthen { table: &mut self.table, strings, place, words, len, limits });
        if done {
            self.versions.bump(words.word(0));
        }
        done
    }

    /// Plans to part a key from the others under the ticket's fingerprint, with which it may not share it: an entry for each.
    pub(crate) fn part<W: Words>(
        &self,
        ticket: &Ticket<P::Value>,
        key: Neighbour<W, P::Value>,
        others: impl IntoIterator<Item = Neighbour<W, P::Value>>,
    ) -> Result<Parted, AdaptError> {
        let place = self.redeem(ticket)?;
        if !ticket.prefix.is_prefix_of(&key.words) {
            return Err(AdaptError::Stale(Stale));
        }
        let least = ticket.prefix.len().max(self.strings.bits_in(1));
        Ok(self.parted(&place, others.into_iter().chain([key]).map(|key| (key, least)))?)
    }

    /// Whether there is room to [`replace`](Self::replace).
    pub(crate) fn room_to_part(&self, parted: &Parted) -> Result<Room, InsertError> {
        self.room_to_put(&parted.place, parted.slots.len() as u64)
    }

    /// Carries out a plan that was made since the core last changed. An error changes nothing.
    pub(crate) fn replace(&mut self, parted: &Parted) -> Result<(), AdaptError> {
        self.put(&parted.place, &parted.slots)?;
        self.replaced(&parted.place, parted.entries);
        Ok(())
    }

    /// Removes a key that is under the ticket's fingerprint. `left` is what the others under it bring along together, `None`
    /// if there are none: then it goes.
    pub(crate) fn remove(&mut self, ticket: &Ticket<P::Value>, left: Option<&P::Value>) -> Result<(), Stale> {
        if left.is_none() && self.take_out_at_glance(ticket) {
            return Ok(());
        }
        let place = self.redeem(ticket)?;
        match left {
            None => self.take_out(&place),
            Some(left) => {
                if *left != ticket.value {
                    let mut slots = Vec::new();
                    self.strings.encode(&ticket.prefix, ticket.prefix.len(), left, &mut slots);
                    // If it cannot be done, the entry carries more than it must: no key is lost by that.
                    let _ = self.put(&place, &slots);
                }
                self.versions.bump(ticket.prefix.word(0));
                self.set_len(self.len.saturating_sub(1));
            }
        }
        Ok(())
    }

    /// Removes a ticket's fingerprint and counts a key less: the usual removal. `false` if it is an unusual one, or the ticket
    /// is out of date.
    fn take_out_at_glance(&mut self, ticket: &Ticket<P::Value>) -> bool {
        let (strings, prefix) = (self.strings, &ticket.prefix);
        let Some(own) = strings.payload().in_head(&ticket.value) else { return false };
        if self.versions.stamp(prefix) != ticket.stamp
            || !dispatch(TakeOutAtGlance { table: &mut self.table, strings, prefix, own })
        {
            return false;
        }
        self.entries -= 1;
        self.versions.bump(prefix.word(0));
        self.set_len(self.len.saturating_sub(1));
        true
    }

    /// Removes a fingerprint that no key is under, if it is there. It may have been counted as a key.
    pub(crate) fn remove_leftover(&mut self, prefix: &Prefix) {
        if let Some(place) = self.place_of(prefix) {
            self.take_out(&place);
        }
    }

    /// Removes the entry at `place`, and counts a key less.
    fn take_out(&mut self, place: &Place) {
        dispatch(TakeOut { table: &mut self.table, place });
        self.replaced(place, 0);
        self.set_len(self.len.saturating_sub(1));
    }

    /// The place of a ticket's fingerprint, unless something under it has changed.
    pub(super) fn redeem(&self, ticket: &Ticket<P::Value>) -> Result<Place, Stale> {
        if self.versions.stamp(&ticket.prefix) != ticket.stamp {
            return Err(Stale);
        }
        self.place_of(&ticket.prefix).ok_or(Stale)
    }

    /// Counts the entries that have taken the place of another one.
    fn replaced(&mut self, place: &Place, entries: u64) {
        self.entries = self.entries - 1 + entries;
        // All hashes with this quotient: in a small table they have several versions.
        let (shape, free_bits) = (self.table.shape(), 64 - self.table.shape().position_bits());
        let first = shape.position(place.quotient) << free_bits;
        self.versions.bump_range(first..=first | low_mask(free_bits));
    }
}
