//! Where entries come in the order of their quotients, and more of them than there are home slots: in a crowd.
//!
//! Whoever copies a set inserts it in the order of hashes, and a table that starts small and grows is then filled from
//! its front: everything lies in one cluster, thousands of slots behind its home. Offsets do not count that far; to find
//! a run there means to walk from the front of the cluster, and every insert would take as long as the cluster is.
//!
//! So the table remembers one place in its crowd, that of the last insert which reached far: the first own slot of a
//! block, and up to which block all offsets are saturated and stay so. The next insert in order begins there. Only edits
//! change it, and it is no part of the contents: without it everything works the same, slowly.

use super::Table;
use crate::bits::cpu::{Cpu, Kernel, dispatch};

/// A place in a crowd.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Crowd {
    /// A block whose offset is saturated, its first own slot, and the first block behind it whose offset is not known to
    /// be. All 0 if nothing is known: then the place is the front of the table.
    pub(super) block: u64,
    pub(super) own: u64,
    pub(super) saturated_to: u64,
    /// How many slots edits in a crowd have shifted.
    pub(super) work: u64,
}

impl Crowd {
    /// Something was removed: the place may be another one.
    pub(super) fn forget_place(&mut self) {
        *self = Self { work: self.work, ..Self::default() };
    }

    /// A slot was taken for a quotient of block `home`, in block `last`: everything in between moved one slot up.
    pub(super) fn moved_up(&mut self, home: u64, last: u64) {
        if home < self.block && self.block <= last {
            self.own += 1;
        }
    }
}

/// An edit that shifts more slots than this does so in a crowd, if a quarter of the table is free: with evenly distributed
/// hashes in no order it is one in a million.
pub(super) const CROWDED_REACH: u64 = 256;

impl Table {
    /// Counts the slots that an edit shifts, if that is in a crowd.
    #[inline(always)]
    pub(super) fn count_work(&mut self, slots: u64) {
        if slots > CROWDED_REACH && self.used < self.shape.quotients() / 4 * 3 {
            self.crowd.work += slots;
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
        last - home > u64::from(self.shape.offset_max()) / 32
    }

    /// Remembers the block of a quotient, from which an edit reached as far as block `last`.
    #[cold]
    pub(super) fn remember_crowd(&mut self, home: u64, last: u64) {
        // Its first own slot is easy to find, and edits that see no crowd may change it.
        if self.offset(home).is_some() {
            return;
        }
        if home > self.crowd.block {
            self.crowd.own = dispatch(FirstOwnSlot { table: self, block: home });
            self.crowd.block = home;
        }
        if home == self.crowd.block {
            let mut block = self.crowd.saturated_to.max(home + 1);
            while block <= last && self.offset(block).is_none() {
                block += 1;
            }
            self.crowd.saturated_to = block;
        }
    }

    /// The first block behind `home` whose offset may have to be counted up.
    #[inline(always)]
    pub(super) fn first_unsaturated(&self, home: u64) -> u64 {
        let known = if home >= self.crowd.block { self.crowd.saturated_to } else { 0 };
        known.max(home + 1)
    }
}

struct FirstOwnSlot<'a> {
    table: &'a Table,
    block: u64,
}

impl Kernel for FirstOwnSlot<'_> {
    type Output = u64;
    #[inline(always)]
    fn run<C: Cpu>(self, cpu: C) -> u64 {
        self.table.first_own_slot(cpu, self.block)
    }
}
