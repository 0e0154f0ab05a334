//! Learning from a mistake, and removing: both replace one entry by what the keys under it need.

use super::cut::{Member, Piece, cut};
use super::insert::Room;
use super::{AdaptiveFilter, Ticket};
use crate::bits::cpu::{Cpu, Kernel, dispatch};
use crate::codec::string::{Entry, Found, Strings, Table};
use crate::error::{AdaptError, InsertError, Stale};
use crate::filter::room::Effort;
use crate::hash::{Hasher, KeyWords, MAX_BITS, RawWords, Words};
use crate::key::Key;
use crate::prefix::Prefix;
use crate::table::{Edit, Full, Limits, Run, Slot};

/// What [`AdaptiveFilter::adapt`] did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
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

/// An entry and where it is.
#[derive(Clone, Copy)]
pub(super) struct Place {
    pub(super) quotient: u64,
    pub(super) run: Run,
    pub(super) entry: Entry,
}

impl AdaptiveFilter {
    /// Learns that a query was a false positive: `key` is not in the set although a fingerprint covers it.
    ///
    /// `keys` are all keys in the set whose hashes begin with the ticket's prefix; others are ignored. The
    /// fingerprint is replaced by longer ones that cover the keys and not the query. An error changes
    /// nothing; [`NeedsGrow`](AdaptError::NeedsGrow) asks for [`grow`](Self::grow).
    pub fn adapt<K: Key + ?Sized, Y: Key>(
        &mut self,
        ticket: &Ticket,
        key: &K,
        keys: impl IntoIterator<Item = Y>,
    ) -> Result<Adapted, AdaptError> {
        let hasher = self.hasher.clone();
        let members = keys_under(&hasher, &ticket.prefix, keys);
        let is_key = |member: &KeyWords<Y>| member.key().key_bytes().as_ref() == key.key_bytes().as_ref();
        if members.iter().any(is_key) {
            return Ok(Adapted::WasMember);
        }
        self.adapt_words(ticket, &KeyWords::new(&hasher, &key), members)
    }

    /// [`adapt`](Self::adapt) for callers who hash themselves; see
    /// [`contains_hash`](Self::contains_hash).
    pub fn adapt_hash(
        &mut self,
        ticket: &Ticket,
        hash: u64,
        hashes: impl IntoIterator<Item = u64>,
    ) -> Result<Adapted, AdaptError> {
        let under = |words: &RawWords| ticket.prefix.is_prefix_of(words);
        let members: Vec<RawWords> = hashes.into_iter().map(RawWords).filter(under).collect();
        if members.iter().any(|member| member.0 == hash) {
            return Ok(Adapted::WasMember);
        }
        self.adapt_words(ticket, &RawWords(hash), members)
    }

    fn adapt_words<W: Words>(
        &mut self,
        ticket: &Ticket,
        query: &impl Words,
        members: Vec<W>,
    ) -> Result<Adapted, AdaptError> {
        if !ticket.prefix.is_prefix_of(query) {
            return Ok(Adapted::NotPositive);
        }
        let place = self.redeem(ticket)?;
        let adapted = self.separate_at(&place, members, |words| words.common_bits(query, MAX_BITS) + 1);
        // With more room the caller will be back.
        self.counters.reported += u64::from(!matches!(adapted, Err(AdaptError::NeedsGrow { .. })));
        self.counters.fixed += u64::from(adapted.is_ok());
        adapted
    }

    /// Parts the keys under a fingerprint from a string that they are not to be mistaken for: what
    /// [`adapt`](Self::adapt) does, for the recovery from a [journal](super::Record). Keys that begin with
    /// the whole string are taken to be the query itself and stay as they are.
    ///
    /// Get the ticket from [`query_prefix`](Self::query_prefix).
    pub fn separate<Y: Key>(
        &mut self,
        ticket: &Ticket,
        apart: &Prefix,
        keys: impl IntoIterator<Item = Y>,
    ) -> Result<Adapted, AdaptError> {
        if ticket.prefix.len() > apart.len() || !ticket.prefix.is_prefix_of(apart) {
            return Ok(Adapted::NotPositive);
        }
        let place = self.redeem(ticket)?;
        let hasher = self.hasher.clone();
        let members = keys_under(&hasher, &ticket.prefix, keys);
        self.separate_at(&place, members, |words| match words.common_bits(apart, apart.len()) {
            all if all == apart.len() => 0,
            some => some + 1,
        })
    }

    /// Replaces the entry at `place` by entries for all members, each of at least the length that it needs. A length
    /// that is learned takes what its slots hold.
    fn separate_at<W: Words>(
        &mut self,
        place: &Place,
        members: Vec<W>,
        needs: impl Fn(&W) -> u32,
    ) -> Result<Adapted, AdaptError> {
        let strings = self.strings();
        let (from, tag) = (strings.len(&self.table, &place.entry), strings.tag(&self.table, &place.entry));
        let fresh = from.max(strings.bits_in(1));
        let before = self.used_slots();
        let least = |words: &W| match needs(words) {
            needed if needed > fresh => strings.round_up(needed),
            _ => fresh,
        };
        if let [words] = members.as_slice() {
            let len = least(words);
            if len <= MAX_BITS && self.lengthen(place, words, len) {
                return Ok(self.fixed(before));
            }
        }
        let mut members: Vec<Member<W>> =
            members.into_iter().map(|words| Member { least: least(&words), words, tag }).collect();
        if members.is_empty() {
            self.take_out(place);
            self.set_len(self.len.saturating_sub(1));
            return Ok(Adapted::Vanished);
        }
        let pieces = cut(&mut members, &strings, from)?;
        self.replace(place, &members, &pieces)?;
        // After a crash the map may have keys that nobody told of.
        self.set_len(self.len);
        Ok(self.fixed(before))
    }

    /// Counts a query that was a mistake until the filter grew to make room for learning it.
    pub(super) fn fixed_by_growth(&mut self) -> Adapted {
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
        let (strings, limits) = (self.strings(), Effort::Usual.limits(self.used_slots(), self.capacity()));
        let done = dispatch(Lengthen { table: &mut self.table, strings, place, words, len, limits });
        if done {
            self.versions.bump(words.word(0));
        }
        done
    }

    /// Inserts a key that the ticket's fingerprint covers under a fingerprint of its own, with another tag:
    /// call it when [`insert_tagged`](Self::insert_tagged) said
    /// [`Covered`](super::Insertion::Covered) and the tags differ.
    ///
    /// `others` are all other keys under the ticket's prefix. They keep its tag. If your map knows the key
    /// already, this changes its tag; `is_new` says so.
    pub fn insert_apart<K: Key + ?Sized, Y: Key>(
        &mut self,
        ticket: &Ticket,
        key: &K,
        tag: u64,
        is_new: bool,
        others: impl IntoIterator<Item = Y>,
    ) -> Result<(), AdaptError> {
        let place = self.redeem(ticket)?;
        let hasher = self.hasher.clone();
        let (strings, bytes) = (self.strings(), key.key_bytes());
        let bytes = bytes.as_ref();
        let from = strings.len(&self.table, &place.entry);
        let least = from.max(strings.bits_in(1));
        let own = KeyWords::new(&hasher, bytes.to_vec());
        if !ticket.prefix.is_prefix_of(&own) {
            return Err(AdaptError::Stale(Stale));
        }
        let mut members: Vec<_> = keys_under(&hasher, &ticket.prefix, others)
            .into_iter()
            .map(|member| KeyWords::new(&hasher, member.key().key_bytes().as_ref().to_vec()))
            .filter(|member| member.key() != bytes)
            .map(|words| Member { words, tag: ticket.tag, least })
            .collect();
        members.push(Member { words: own, tag, least });
        let pieces = cut(&mut members, &strings, from)?;
        self.replace(&place, &members, &pieces)?;
        self.set_len(self.len + u64::from(is_new));
        Ok(())
    }

    /// Removes a key that is under the ticket's fingerprint. Remove it from your map first, and tell whether
    /// other keys are left under the fingerprint: it goes with the last one.
    ///
    /// ```
    /// use twiceshy::{AdaptiveFilter, Query};
    ///
    /// let mut filter = AdaptiveFilter::new(1e-9)?;
    /// let _ = filter.insert("ant")?;
    /// let Query::Maybe(ticket) = filter.query("ant") else { unreachable!() };
    /// filter.remove(&ticket, false)?;
    /// assert!(!filter.contains("ant"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn remove(&mut self, ticket: &Ticket, others_remain: bool) -> Result<(), Stale> {
        let place = self.redeem(ticket)?;
        if others_remain {
            self.versions.bump(ticket.prefix.word(0));
        } else {
            self.take_out(&place);
        }
        self.set_len(self.len.saturating_sub(1));
        Ok(())
    }

    /// Removes a fingerprint that no key is under, if it is there. It may have been counted as a key.
    pub(super) fn remove_leftover(&mut self, prefix: &Prefix) {
        if let Some(place) = self.entry_of(prefix) {
            self.take_out(&place);
            self.set_len(self.len.saturating_sub(1));
        }
    }

    /// Removes the entry at `place`.
    fn take_out(&mut self, place: &Place) {
        let limits = Limits::NONE;
        let taken = dispatch(Replace { table: &mut self.table, place, slots: &[], limits });
        debug_assert!(taken.is_ok(), "taking slots away cannot fail");
        self.replaced(place, 0);
    }

    /// The place of a ticket's fingerprint, unless something under it has changed.
    fn redeem(&self, ticket: &Ticket) -> Result<Place, Stale> {
        if self.versions.stamp(&ticket.prefix) != ticket.stamp {
            return Err(Stale);
        }
        self.entry_of(&ticket.prefix).ok_or(Stale)
    }

    /// The place of exactly this fingerprint.
    pub(super) fn entry_of(&self, prefix: &Prefix) -> Option<Place> {
        match self.find(prefix) {
            (quotient, run, Found::Covered(entry))
                if self.strings().len(&self.table, &entry) == prefix.len() =>
            {
                Some(Place { quotient, run, entry })
            }
            _ => None,
        }
    }

    /// Whether there is room to [`replace`](Self::replace).
    pub(super) fn room_to_replace<W: Words>(
        &self,
        place: &Place,
        members: &[Member<W>],
        pieces: &[Piece],
    ) -> Result<Room, InsertError> {
        let slots = self.encode(members, pieces).len() as u64;
        self.room(|limits| {
            let plan = dispatch(PlanReplace { table: &self.table, place, slots, limits });
            Ok(plan.map(|_| Room::Enough))
        })
    }

    /// The slots for some pieces.
    fn encode<W: Words>(&self, members: &[Member<W>], pieces: &[Piece]) -> Vec<Slot> {
        let strings = self.strings();
        let mut slots = Vec::new();
        for piece in pieces {
            let Member { words, tag, .. } = &members[piece.member];
            strings.encode(words, piece.len, *tag, &mut slots);
        }
        slots
    }

    /// Puts entries for the pieces in place of another entry of the same quotient.
    pub(super) fn replace<W: Words>(
        &mut self,
        place: &Place,
        members: &[Member<W>],
        pieces: &[Piece],
    ) -> Result<(), AdaptError> {
        let slots = self.encode(members, pieces);
        let (mut effort, mut before) = (Effort::Usual, None);
        loop {
            let limits = effort.limits(self.used_slots(), self.capacity());
            match dispatch(Replace { table: &mut self.table, place, slots: &slots, limits }) {
                Ok(()) => break,
                Err(why) => {
                    effort = self.make_room(why, effort, &mut before).map_err(AdaptError::from_no_room)?
                }
            }
        }
        self.replaced(place, pieces.len() as u64);
        Ok(())
    }

    /// Counts the entries that have taken the place of another one.
    fn replaced(&mut self, place: &Place, entries: u64) {
        self.entries = self.entries - 1 + entries;
        let shape = self.table.shape();
        self.versions.bump(shape.position(place.quotient) << (64 - shape.position_bits()));
    }
}

impl<B: AsRef<[u8]>> AdaptiveFilter<B> {
    /// The fingerprint that covers every hash that begins with `prefix`, if there is one: for the
    /// recovery from a journal.
    pub fn query_prefix(&self, prefix: &Prefix) -> Option<Ticket> {
        match self.find(prefix) {
            (quotient, _, Found::Covered(entry))
                if self.strings().len(&self.table, &entry) <= prefix.len() =>
            {
                Some(self.ticket(quotient, &entry))
            }
            _ => None,
        }
    }
}

/// Those of the keys that are under a prefix.
pub(super) fn keys_under<'a, Y: Key>(
    hasher: &'a Hasher,
    prefix: &Prefix,
    keys: impl IntoIterator<Item = Y>,
) -> Vec<KeyWords<'a, Y>> {
    let words = keys.into_iter().map(|key| KeyWords::new(hasher, key));
    words.filter(|words| prefix.is_prefix_of(words)).collect()
}

struct Lengthen<'a, W> {
    table: &'a mut Table,
    strings: Strings,
    place: &'a Place,
    words: &'a W,
    len: u32,
    limits: Limits,
}

impl<W: Words> Kernel for Lengthen<'_, W> {
    type Output = bool;
    #[inline(always)]
    fn run<C: Cpu>(self, cpu: C) -> bool {
        let Self { table, strings, place: Place { quotient, run, entry }, words, len, limits } = self;
        let (old, new) = (entry.string_slots, strings.slots_for(len));
        if new != old + 1 {
            return false;
        }
        let at = entry.start + u64::from(old);
        let last = strings.slot(words, len, old);
        if table.insert_continuation(cpu, *quotient, *run, at, last, limits).is_err() {
            return false;
        }
        // The stop bit was in the slot before.
        table.set_value(at - 1, strings.slot(words, len, old - 1));
        true
    }
}

struct PlanReplace<'a> {
    table: &'a Table,
    place: &'a Place,
    slots: u64,
    limits: Limits,
}

impl Kernel for PlanReplace<'_> {
    type Output = Result<Edit, Full>;
    #[inline(always)]
    fn run<C: Cpu>(self, cpu: C) -> Self::Output {
        let Self { table, place: Place { quotient, run, entry }, slots, limits } = self;
        table.plan(cpu, *quotient, *run, entry.start, entry.slots(), slots, limits)
    }
}

struct Replace<'a> {
    table: &'a mut Table,
    place: &'a Place,
    slots: &'a [Slot],
    limits: Limits,
}

impl Kernel for Replace<'_> {
    type Output = Result<(), Full>;
    #[inline(always)]
    fn run<C: Cpu>(self, cpu: C) -> Self::Output {
        let Self { table, place, slots, limits } = self;
        let edit = PlanReplace { table, place, slots: slots.len() as u64, limits }.run(cpu)?;
        table.commit(cpu, edit, slots);
        Ok(())
    }
}
