//! Rotating: the fingerprints of a group of keys, made anew and as short as fresh ones.
//!
//! A filter that may not get larger has room for what it learns only if it forgets something. It goes through its groups in
//! order, again and again, and gives the keys of each fingerprints of the next [epoch](crate::hash::Turn). What the old ones had
//! learned is gone with them; but nothing that anybody knows of them says anything of the new ones, so the error rate is that of a
//! filter which was built just now. A group is the keys of one block of the table, unless the table was resized since the turn
//! began: so what is rewritten lies together, and where a query begins to look does not depend on the epoch.
//!
//! # Cost
//!
//! Reads the rows of a group, some 50 to 60, and edits each run of a block.

use super::cut::{Member, cut};
use super::{Core, Growth};
use crate::bits::cpu::{Cpu, Kernel, dispatch};
use crate::codec::string::{Payload, Strings, Table};
use crate::error::{Full, Indistinguishable};
use crate::hash::Words;
use crate::table::{BLOCK_QUOTIENTS, Limits, Slot};

/// Why the fingerprints of a group cannot be made anew. They are as they were.
#[derive(Debug)]
pub(crate) enum NotRotated {
    /// They need more slots than there are.
    Full(Full),
    Indistinguishable(Indistinguishable),
}

impl From<Indistinguishable> for NotRotated {
    fn from(error: Indistinguishable) -> Self {
        Self::Indistinguishable(error)
    }
}

impl<P: Payload, B: AsRef<[u8]>> Core<P, B> {
    /// Whether it forgets if it may not grow.
    pub(crate) fn rotates(&self) -> bool {
        matches!(self.growth, Growth::Rotate { .. })
    }

    /// Whether more room comes of forgetting only.
    pub(crate) fn must_forget(&self) -> bool {
        self.rotates() && !self.can_grow()
    }

    /// Whether there may be something to forget that takes slots.
    pub(super) fn can_forget(&self) -> bool {
        self.rotates() && self.used_slots() > self.entries
    }
}

impl<P: Payload> Core<P> {
    /// How many bits the hashes of a group have in common if a turn begins now: those that say which block they are in.
    pub(crate) fn group_bits(&self) -> u32 {
        self.position_bits().saturating_sub(BLOCK_QUOTIENTS.trailing_zeros())
    }

    /// How many bits of a fingerprint follow from where it is.
    pub(crate) fn position_bits(&self) -> u32 {
        self.table.shape().position_bits()
    }

    /// How long the shortest fingerprints are that a group gets.
    pub(crate) fn fresh_bits(&self) -> u32 {
        self.strings.bits_in(1)
    }

    /// Puts the fingerprints of all keys of a group in the place of those that it has. Their hashes agree in so many bits, and
    /// are between the first and the last of the group, as those were. An error changes nothing.
    pub(crate) fn rewrite_group<W: Words>(
        &mut self,
        (first, last): (u64, u64),
        common_bits: u32,
        members: &mut [Member<W, P::Value>],
    ) -> Result<(), NotRotated> {
        let own = self.hashes();
        if last < *own.start() || first > *own.end() {
            return Ok(());
        }
        let (strings, pieces) = (self.strings, cut(members, &self.strings, common_bits)?);
        let mut slots = Vec::new();
        let mut runs: Vec<NewRun> = Vec::new();
        for piece in &pieces {
            let quotient = self.table.address().quotient(piece.first(members).words.word(0));
            piece.encode(members, &strings, &mut slots);
            match runs.last_mut() {
                Some(run) if run.quotient == quotient => run.end = slots.len(),
                last => {
                    let start = last.map_or(0, |run| run.end);
                    runs.push(NewRun { quotient, start, end: slots.len() });
                }
            }
        }
        let (first_own, last_own) = (first.max(*own.start()), last.min(*own.end()));
        let quotients = [first_own, last_own].map(|hash| self.table.address().quotient(hash));
        let edit = Rewrite { table: &mut self.table, quotients, runs: &runs, slots: &slots };
        let mut before = 0;
        let rewritten = dispatch(CountEntries { edit, strings, entries: &mut before });
        if !rewritten {
            return Err(NotRotated::Full(self.full()));
        }
        self.entries = self.entries - before + pieces.len() as u64;
        self.versions.bump_range(first_own..=last_own);
        self.counters.rotated += 1;
        // After a crash the map may have keys that nobody told of, or not all that were counted.
        self.set_len(self.len);
        Ok(())
    }
}

/// The slots that the run of a quotient is to have, of those of all runs.
struct NewRun {
    quotient: u64,
    start: usize,
    end: usize,
}

/// Puts other runs in the place of those of neighbouring quotients, if there is room for all of them.
struct Rewrite<'a> {
    table: &'a mut Table,
    /// The first and the last.
    quotients: [u64; 2],
    /// In order.
    runs: &'a [NewRun],
    slots: &'a [Slot],
}

/// Counts the entries that there are, and does it.
struct CountEntries<'a, P: Payload> {
    edit: Rewrite<'a>,
    strings: Strings<P>,
    entries: &'a mut u64,
}

impl<P: Payload> Kernel for CountEntries<'_, P> {
    type Output = bool;
    #[inline(always)]
    fn run<C: Cpu>(self, cpu: C) -> bool {
        let Self { edit, strings, entries } = self;
        let [first, last] = edit.quotients;
        let mut next = edit.table.next_quotient(first).filter(|quotient| *quotient <= last);
        while let Some(quotient) = next {
            let run = edit.table.run(cpu, quotient);
            *entries += strings.entries(&*edit.table, run).count() as u64;
            next = edit.table.next_quotient(quotient + 1).filter(|quotient| *quotient <= last);
        }
        edit.run(cpu)
    }
}

impl Kernel for Rewrite<'_> {
    type Output = bool;
    #[inline(always)]
    fn run<C: Cpu>(self, cpu: C) -> bool {
        if !self.has_room(cpu) {
            return false;
        }
        // What gets shorter comes first: then every state in between has no more slots before any place than the last one.
        for is_longer in [false, true] {
            let mut runs = self.runs.iter().peekable();
            let [first, last] = self.quotients;
            for quotient in first..=last {
                let new = runs.next_if(|run| run.quotient == quotient);
                let slots = new.map_or(&[][..], |run| &self.slots[run.start..run.end]);
                let run = self.table.run(cpu, quotient);
                let (old, new) = (run.end - run.start, slots.len() as u64);
                if (new > old) != is_longer || old == 0 && new == 0 {
                    continue;
                }
                match self.table.plan(cpu, quotient, run, run.start, old, new, Limits::NONE) {
                    Ok(edit) => self.table.commit(cpu, edit, slots),
                    Err(_) => unreachable!("there is room for all of them"),
                }
            }
        }
        true
    }
}

impl Rewrite<'_> {
    /// Whether there is room for all runs: as many free slots after them as the blocks need more than they have. If there are
    /// not too many in use afterwards, a table of the same size can be filled with them, too.
    fn has_room<C: Cpu>(&self, cpu: C) -> bool {
        let [first, last] = self.quotients;
        let (mut runs, mut more, mut block_more) = (self.runs.iter().peekable(), 0u64, 0i64);
        for quotient in first..=last {
            let run = self.table.run(cpu, quotient);
            let new = runs.next_if(|run| run.quotient == quotient).map_or(0, |run| run.end - run.start);
            block_more += new as i64 - (run.end - run.start) as i64;
            if quotient == last || (quotient + 1).is_multiple_of(BLOCK_QUOTIENTS) {
                more += block_more.max(0) as u64;
                block_more = 0;
            }
        }
        let run = self.table.run(cpu, last);
        let limits = Limits { slots: self.table.shape().slot_limit(), ..Limits::NONE };
        more == 0 || self.table.plan(cpu, last, run, run.end, 0, more, limits).is_ok()
    }
}
