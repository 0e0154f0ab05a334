//! Where entries go: the active table, and the chain of smaller ones after it.
//!
//! An entry belongs to the first table that has no more quotient bits than the entry has bits. So every entry
//! of a table is longer than all entries of the tables after it, and tables get smaller along the chain.

use super::fill::{Filled, fill};
use super::fingerprint::Entry;
use super::lengths::{Lengths, Mode};
use super::level::Level;
use crate::filter::union::Union;
use crate::mem::OutOfMemory;
use crate::table::{NoRoom, Shape, Table};

/// What was chosen when the filter was built.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Settings {
    pub(super) lengths: Lengths,
    /// The share of slots, in percent, at which a table grows.
    pub(super) max_load: u32,
    /// Whether growth is spread over many operations.
    pub(super) spread_growth: bool,
    /// The active table never gets smaller than at the start.
    pub(super) least_quotient_bits: u32,
    /// Bits of the hash that a word of it gives. 64, except in tests of what happens when they run out.
    pub(super) block_bits: u32,
    /// A shape with the internal limits of all tables.
    pub(super) template: Shape,
}

/// Why entries could not be placed.
#[derive(Debug)]
pub(super) enum NoPlace {
    /// Doubling does not help.
    Crowded,
    /// The basic mode has no chain.
    Exhausted,
    TooManyCopies,
    /// The entries are not in order: a view of bytes that no filter wrote.
    Unsorted,
    Memory(OutOfMemory),
}

impl From<NoRoom> for NoPlace {
    fn from(NoRoom: NoRoom) -> Self {
        Self::Crowded
    }
}

impl Settings {
    /// How many slots may be in use before a table of this shape grows.
    pub(super) fn slot_limit(&self, shape: &Shape) -> u64 {
        // There are at most 2^48 quotients, so this does not overflow.
        shape.slots() * u64::from(self.max_load) / 100
    }

    /// A table of a chain.
    pub(super) fn level<B: AsRef<[u8]>>(&self, table: Table<B>) -> Level<B> {
        Level { limit: self.slot_limit(table.shape()), table, old: None }
    }

    /// The shape of a table of `2^quotient_bits` slots after one with `above` quotient bits; of the active
    /// one, if there is none above.
    pub(super) fn shape(&self, above: Option<u32>, quotient_bits: u32) -> Shape {
        let slot_bits = match above {
            None => self.lengths.stored_bits(quotient_bits) + 1,
            // The longest entry has a bit less than the table above has quotient bits, and one more when that
            // grows.
            Some(above) => (above + 1 - quotient_bits).max(2),
        };
        self.template.resized(quotient_bits, slot_bits)
    }

    /// The tables for a stream of entries and for those of the levels after it, of which only as many get a
    /// new table as have to. The first one has at least `least` quotient bits; `used` slots will do for it.
    pub(super) fn place<I: Iterator<Item = Entry>>(
        &self,
        above: Option<u32>,
        least: u32,
        used: u64,
        entries: impl Fn() -> I,
        mut behind: &[Level],
    ) -> Result<Vec<Level>, NoPlace> {
        let mut levels = Vec::new();
        let mut filled = self.fill(above, least, used, entries)?;
        loop {
            let Filled { table, too_short } = filled;
            let above = table.shape().quotient_bits();
            levels.push(self.level(table));
            if too_short.is_empty() {
                return Ok(levels);
            }
            if self.lengths.mode == Mode::Basic {
                return Err(NoPlace::Exhausted);
            }
            let (short, above) = (|| too_short.iter().copied(), Some(above));
            filled = match behind.split_first() {
                Some((next, others)) => {
                    behind = others;
                    let used = next.used() + too_short.len() as u64;
                    let both = || Union::new(next.entries(), short());
                    self.fill(above, next.table.shape().quotient_bits(), used, both)?
                }
                None => self.fill(above, 1, too_short.len() as u64, short)?,
            };
        }
    }

    /// A table of the smallest size that holds the entries.
    fn fill<I: Iterator<Item = Entry>>(
        &self,
        above: Option<u32>,
        least: u32,
        used: u64,
        entries: impl Fn() -> I,
    ) -> Result<Filled, NoPlace> {
        let sizes = least..above.unwrap_or(Shape::MAX_QUOTIENT_BITS + 1);
        for shape in sizes.map(|quotient_bits| self.shape(above, quotient_bits)) {
            let limit = self.slot_limit(&shape);
            if used > limit {
                continue;
            }
            match fill(shape, limit, entries()) {
                // All entries went on to the next table: that could go on for ever.
                Ok(filled) if above.is_some() && filled.table.used() == 0 => return Err(NoPlace::Crowded),
                Err(NoPlace::Crowded) => continue,
                done => return done,
            }
        }
        Err(NoPlace::Crowded)
    }
}
