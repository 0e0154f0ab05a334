//! Where entries come in the order of their quotients, and more of them than there are slots: in a crowd.
//!
//! Whoever copies a set inserts it in the order of hashes, and a table that starts small and grows is then filled from
//! its front: everything lies in one cluster, thousands of slots after its home. Offsets do not count that far; to find
//! a run there means to walk from the front of the cluster, and every insert would take as long as the cluster is.
//!
//! So the table remembers a few spots in its crowds, those of the last inserts that reached far: the first own slot of a
//! block, and up to which block all offsets are saturated and stay so. The next insert in order begins there, and several
//! streams in order have a spot each. Only edits change them, and they are no part of the contents: without them everything
//! works the same, slowly. Who does not find a spot near by, because there are more streams, walks; the way is counted like
//! slots that are shifted, and is a reason to grow ([`room`](crate::filter)).

use super::{Full, Layout, Run, Table, split};
use crate::bits::cpu::{Cpu, Kernel, dispatch};
use crate::mem::Memory;

/// As many streams of entries in order find their way at the same time.
const SPOTS: usize = 3;

/// A stream goes on from its spot if it is at most as many blocks ahead; else it is another stream.
const NEAR_BLOCKS: u64 = 16;

/// What is known of crowds.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Crowd {
    spots: [Spot; SPOTS],
    /// How many of them there are, and which one is the next to be replaced.
    len: usize,
    next: usize,
    /// How many slots edits in a crowd have shifted, or gone over to find a run, beyond what is usual.
    pub(super) work: u64,
    /// How many slots had been taken when work was counted last, and how many were given back so far.
    counted_at: u64,
    pub(super) given_back: u64,
}

/// A place in a crowd: a block whose offset is saturated, its first own slot, and the first block after it whose offset is
/// not known to be.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Spot {
    pub(super) block: u64,
    pub(super) own: u64,
    saturated_to: u64,
}

impl Crowd {
    /// The nearest spot at or before a block; the front of the table, if there is none.
    #[inline(always)]
    pub(super) fn spot_before(&self, block: u64) -> Spot {
        let before = self.spots[..self.len].iter().filter(|spot| spot.block <= block);
        before.max_by_key(|spot| spot.block).copied().unwrap_or_default()
    }

    /// A slot was taken for a quotient of block `home`, in block `last`: everything in between moved one slot up.
    #[inline(always)]
    pub(super) fn moved_up(&mut self, home: u64, last: u64) {
        for spot in &mut self.spots[..self.len] {
            spot.own += u64::from(home < spot.block && spot.block <= last);
        }
    }

    /// A slot was given back by a quotient of block `home`, in block `last`: everything in between moved one slot down.
    #[inline(always)]
    pub(super) fn moved_down(&mut self, home: u64, last: u64) {
        for spot in &mut self.spots[..self.len] {
            spot.own -= u64::from(home < spot.block && spot.block <= last);
        }
    }

    /// The offset of a block is not saturated any more.
    #[cold]
    pub(super) fn is_not_saturated(&mut self, block: u64) {
        let mut kept = 0;
        for i in 0..self.len {
            let spot = self.spots[i];
            if spot.block != block {
                let ends = spot.block < block && block < spot.saturated_to;
                let saturated_to = if ends { block } else { spot.saturated_to };
                self.spots[kept] = Spot { saturated_to, ..spot };
                kept += 1;
            }
        }
        self.len = kept;
    }

    /// Puts a spot in the place of the one that its stream comes from.
    fn put(&mut self, from: Spot, new: Spot) {
        let is_near = new.block - from.block <= NEAR_BLOCKS;
        let known = self.spots[..self.len].iter().position(|spot| spot.block == from.block);
        let at = match known.filter(|_| is_near) {
            Some(at) => at,
            None if self.len < SPOTS => {
                self.len += 1;
                self.len - 1
            }
            None => {
                self.next = (self.next + 1) % SPOTS;
                self.next
            }
        };
        self.spots[at] = new;
    }

    #[cfg(test)]
    pub(super) fn is_known(&self) -> bool {
        self.len > 0
    }
}

/// What lies more slots than this after its home does so in a crowd, and so does an edit that shifts as many. With evenly
/// distributed hashes in no order that is one insert in millions at 90 % load, and none if a quarter of the table is free.
pub(super) const CROWDED_REACH: u64 = 128;

/// What it costs to append to a crowd, in slots that could be shifted in that time.
const APPENDING: u64 = 16;

impl<B, L> Table<B, L> {
    /// Whether inserts have made a crowd that is still there. With hashes in no order there is none.
    pub(crate) fn has_crowd(&self) -> bool {
        self.crowd.len > 0
    }
}

impl<L: Layout> Table<Memory, L> {
    /// Counts the slots that an edit at `at` shifts up to `free`, if that is in a crowd: for each slot that the edited entry has.
    /// Where entries are long, everything lies as many times as far from home, at every size of the table.
    #[cold]
    pub(super) fn count_edit(&mut self, home: u64, at: u64, free: u64, entry_slots: u64) {
        let (distance, shifted) = ((at - home) / entry_slots, (free - at) / entry_slots);
        // The way from home to the free slot had to be found, too; at the end of a crowd there is a spot near by.
        let found = match distance > CROWDED_REACH {
            true if shifted > self.shape.block_slots() => distance / 4,
            true => APPENDING,
            false => 0,
        };
        if found > 0 || shifted > CROWDED_REACH {
            self.count_work(found + shifted);
        }
    }

    /// Counts slots that an edit in a crowd shifts or goes over. In a table that is nearly full this also happens with hashes
    /// in no order: to insert and remove a key shifts `1 / (1 - load)²` slots on average. There, twice as much is forgotten
    /// for every slot that was taken since.
    #[cold]
    pub(super) fn count_work(&mut self, slots: u64) {
        let (slots_in_all, taken) = (self.shape.slots(), self.used + self.crowd.given_back);
        let crowding = slots_in_all / slots_in_all.saturating_sub(self.used).max(1);
        let usual = if crowding < 4 { 0 } else { crowding.saturating_mul(crowding).saturating_mul(2) };
        let forgotten = usual.saturating_mul(taken - self.crowd.counted_at);
        self.crowd.work = self.crowd.work.saturating_sub(forgotten) + slots;
        self.crowd.counted_at = taken;
    }

    /// How many slots edits in a crowd have shifted, or gone over.
    pub(crate) fn crowd_work(&self) -> u64 {
        self.crowd.work
    }

    /// If it was the work of all edits that was too much, and nothing helps, it is counted from now on.
    pub(crate) fn bear(&mut self, why: Full) {
        if why == Full::Work {
            self.forget_work();
        }
    }

    /// The work of edits in a crowd is counted from now on.
    pub(crate) fn forget_work(&mut self) {
        self.crowd.work = 0;
    }

    /// Whether an edit that took a slot in block `last` for a quotient of block `home` reached far, which is where offsets
    /// are saturated.
    #[inline(always)]
    pub(super) fn is_far(&self, home: u64, last: u64) -> bool {
        (last - home) * self.shape.block_slots() > u64::from(self.shape.offset_max())
    }

    /// Remembers where the run of a quotient is, for whoever reads one run after the other.
    pub(crate) fn remember_run(&mut self, quotient: u64, run: Run) {
        let (home, last) = (split(quotient).0, self.shape.place(run.end).0);
        if self.is_far(home, last) {
            self.remember_crowd(home, last, 1);
        }
    }

    /// Remembers the block of a quotient, from which an edit of an entry of so many slots reached as far as block `last`.
    #[cold]
    pub(super) fn remember_crowd(&mut self, home: u64, last: u64, entry_slots: u64) {
        // Its first own slot is easy to find, and edits that see no crowd may change it.
        if self.offset(home).is_some() {
            return;
        }
        let from = self.crowd.spot_before(home);
        let (own, gone_over) = match from.block == home {
            true => (from.own, 0),
            false => dispatch(FirstOwnSlot { table: self, block: home }),
        };
        let gone_over = gone_over * self.shape.block_slots() / entry_slots;
        if gone_over > CROWDED_REACH {
            self.count_work(gone_over);
        }
        let mut saturated_to = from.saturated_to.max(home + 1);
        while saturated_to <= last && self.offset(saturated_to).is_none() {
            saturated_to += 1;
        }
        self.crowd.put(from, Spot { block: home, own, saturated_to });
    }

    /// The first block after `home` whose offset may have to be counted up.
    #[inline(always)]
    pub(super) fn first_unsaturated(&self, home: u64) -> u64 {
        self.crowd.spot_before(home).saturated_to.max(home + 1)
    }
}

struct FirstOwnSlot<'a, L> {
    table: &'a Table<Memory, L>,
    block: u64,
}

impl<L: Layout> Kernel for FirstOwnSlot<'_, L> {
    /// And how many blocks it took to find it.
    type Output = (u64, u64);
    #[inline(always)]
    fn run<C: Cpu>(self, cpu: C) -> Self::Output {
        self.table.first_own_slot_in_crowd(cpu, self.block, (0, 0))
    }
}
