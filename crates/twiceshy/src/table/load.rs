//! Filling a table from the front: bulk loading, merging and resizing are one sequential pass.
//!
//! Entries come in the order of their quotients and are written one behind the other; nothing is
//! shifted, and every block is touched once.

use super::{BLOCK_SLOTS, EXTENSION_AT, Full, Kind, OCCUPIED_AT, RUNEND_AT, Shape, Slot, Table, split};
use crate::mem::OutOfMemory;

/// A table that is being filled.
pub(crate) struct Loader {
    table: Table,
    /// The first slot behind what was written.
    free: u64,
    /// The quotient of the run that is being written and the head of its last entry.
    open: Option<(u64, u64)>,
    /// The last block whose offset is known.
    block: u64,
}

impl Loader {
    pub(crate) fn new(shape: Shape) -> Result<Self, OutOfMemory> {
        Ok(Self { table: Table::new(shape)?, free: 0, open: None, block: 0 })
    }

    pub(crate) fn shape(&self) -> &Shape {
        &self.table.shape
    }

    /// Appends an entry, or nothing if it does not fit. Quotients must not decrease; within a run the
    /// order is the caller's.
    #[inline]
    pub(crate) fn push(&mut self, quotient: u64, slots: &[Slot]) -> Result<(), Full> {
        let continues = self.open.is_some_and(|(open, _)| open == quotient);
        let start = if continues { self.free } else { self.free.max(quotient) };
        if start + slots.len() as u64 > self.table.shape.total_slots() {
            return Err(Full);
        }
        if !continues {
            debug_assert!(self.open.is_none_or(|(open, _)| open < quotient), "quotients out of order");
            self.close_run();
            self.set_offsets(split(quotient).0);
            self.free = start;
            self.table.set_bit(quotient, OCCUPIED_AT, true);
        }
        for slot in slots {
            match slot.kind {
                Kind::Head => self.open = Some((quotient, self.free)),
                kind => {
                    self.table.set_bit(self.free, EXTENSION_AT, true);
                    self.table.set_bit(self.free, RUNEND_AT, kind == Kind::Payload);
                }
            }
            self.table.set_slot(self.free, slot.value);
            self.free += 1;
        }
        self.table.used += slots.len() as u64;
        Ok(())
    }

    pub(crate) fn finish(mut self) -> Table {
        self.close_run();
        self.set_offsets(self.table.shape.blocks() - 1);
        self.table
    }

    #[inline]
    fn close_run(&mut self) {
        if let Some((_, head)) = self.open {
            self.table.set_bit(head, RUNEND_AT, true);
        }
    }

    /// All runs of earlier blocks are written: the offsets up to `block` are known.
    #[inline]
    fn set_offsets(&mut self, block: u64) {
        while self.block < block {
            self.block += 1;
            let taken = self.free.saturating_sub(self.block * BLOCK_SLOTS);
            self.table.set_offset(self.block, taken);
        }
    }
}
