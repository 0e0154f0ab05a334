//! Checking every invariant of a table from its bytes alone.

use std::fmt;

use super::{BLOCK_QUOTIENTS, Layout, OFFSET_AT, RUNEND_AT, Table};
use crate::bits::packed::PADDING;
use crate::bits::word::{bit, low_mask};

/// What is wrong with a table, and where.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Invalid {
    pub(crate) what: &'static str,
    pub(crate) at: u64,
    pub(crate) expected: u64,
    pub(crate) found: u64,
}

impl fmt::Display for Invalid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} at {}: expected {}, found {}", self.what, self.at, self.expected, self.found)
    }
}

/// `Err` unless `found` is what is `expected`.
fn check(what: &'static str, at: u64, expected: u64, found: u64) -> Result<(), Invalid> {
    if expected == found { Ok(()) } else { Err(Invalid { what, at, expected, found }) }
}

impl<B: AsRef<[u8]>, L: Layout> Table<B, L> {
    /// Checks that the bytes are exactly what loading the same runs in order would have written.
    ///
    /// One pass; any bytes are safe to check.
    pub(crate) fn validate(&self) -> Result<(), Invalid> {
        let shape = &self.shape;
        let (blocks, total) = (shape.blocks(), shape.total_slots());
        let (mut free, mut used) = (0u64, 0u64);
        for block in 0..blocks {
            let first = shape.first_slot(block);
            let taken = free.saturating_sub(first).min(u64::from(shape.offset_max()));
            let offset = self.bytes()[shape.block_at(block) + OFFSET_AT];
            check("offset of block", block, taken, u64::from(offset))?;
            let mut occupied = self.occupied(block);
            let homes = shape.quotients().saturating_sub(block * BLOCK_QUOTIENTS).min(BLOCK_QUOTIENTS) as u32;
            check("occupied bits behind the last quotient, block", block, 0, occupied & !low_mask(homes))?;
            let marked = (self.word(block, RUNEND_AT) | self.extension(block)) & !shape.slots_of_word();
            check("bits behind the last slot of block", block, 0, marked)?;
            self.check_unused(free, first)?;
            free = free.max(first);
            while occupied != 0 {
                occupied &= occupied - 1;
                let start = free;
                free = self.check_run(start)?;
                used += free - start;
            }
        }
        self.check_unused(free, shape.first_slot(blocks))?;
        check("end of the last run", total, free.min(total), free)?;
        check("used slots", 0, used, self.used)?;
        let body = self.bytes().len() - PADDING;
        match self.bytes()[body..].iter().find(|&&byte| byte != 0) {
            Some(&byte) => check("padding", body as u64, 0, u64::from(byte)),
            None => Ok(()),
        }
    }

    /// Checks the run that starts at `start` and gives the slot after it.
    fn check_run(&self, start: u64) -> Result<u64, Invalid> {
        let limit = self.shape.first_slot(self.shape.blocks());
        let mut slot = start;
        check(
            "extension bit of the first slot of a run",
            slot,
            0,
            u64::from(slot < limit && self.is_extension(slot)),
        )?;
        while slot < limit {
            let (block, i) = self.shape.place(slot);
            slot += 1;
            if bit(self.run_ends(block), i) {
                while slot < limit && self.is_extension(slot) {
                    slot += 1;
                }
                return Ok(slot);
            }
        }
        check("run end for the run that starts", start, 1, 0)?;
        Ok(slot)
    }

    /// Checks that the slots `from..to` are free: all 0.
    fn check_unused(&self, from: u64, to: u64) -> Result<(), Invalid> {
        for slot in from..to {
            let (block, i) = self.shape.place(slot);
            check("run end of the free slot", slot, 0, u64::from(bit(self.word(block, RUNEND_AT), i)))?;
            check("extension bit of the free slot", slot, 0, u64::from(bit(self.extension(block), i)))?;
            check("value of the free slot", slot, 0, self.slot(slot))?;
        }
        Ok(())
    }
}
