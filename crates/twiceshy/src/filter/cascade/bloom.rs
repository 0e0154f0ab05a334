//! A Bloom filter some of whose cells may be dead.
//!
//! # The idea
//!
//! Every hash function has an array of cells of its own. That of function 0 is cut from the first 64 bits of the hash, by which
//! the map is ordered: a cell is a stretch of the map, so its keys are found with one scan. Only cells of function 0 die. So
//! there is one bit more per cell of one array, where the paper has one per cell of all of them, which would double the space.
//!
//! ```text
//! | function 0: set, dead, set, dead, … | function 1: set, set, … | function 2 … |
//! ```
//!
//! # Cost
//!
//! `(k + 1) m` bits for `k` functions of `m` cells. A key that is absent is found out after two cells on average, each a cache
//! line of its own.
//!
//! # Source
//!
//! Section 5 of *Bloom Filters, Adaptivity, and the Dictionary Problem*. There any of the cells is killed, and an oracle knows
//! its keys.

use std::ops::RangeInclusive;

use super::layer::{Layer, Probe, Seen};
use crate::error::{BuildError, Full};
use crate::mem::{self, Memory};
use crate::persist::{ReadError, expect};

/// More functions than this nobody needs: `2^-64` is the rate of a whole word.
const MOST_FUNCTIONS: f64 = 64.0;

/// A Bloom filter some of whose cells may be dead, as a layer of a [cascade](super::Cascade).
#[derive(Debug)]
pub struct BloomLayer {
    bits: Memory,
    /// Cells of every function.
    cells: u64,
    /// Functions beside function 0.
    functions: u32,
    /// Cells of function 0 that are set, and those that are dead.
    set: u64,
    dead: u64,
    /// Cells of all other functions that are set.
    others_set: u64,
}

/// The cells that an insertion has set.
#[derive(Debug, Default)]
pub struct SetCells(Vec<u64>);

impl Clone for BloomLayer {
    fn clone(&self) -> Self {
        let bits = Memory::copy_of(&self.bits).unwrap_or_else(|error| panic!("{error}"));
        Self { bits, ..*self }
    }
}

impl BloomLayer {
    /// Cells of a function, and functions beside function 0.
    fn shape(keys: u64, error_rate: f64, is_first: bool) -> (u64, u32) {
        let functions = error_rate.recip().log2().ceil().clamp(1.0, MOST_FUNCTIONS);
        // With so much of every array in use the rate is what was asked for.
        let fill = error_rate.powf(functions.recip());
        let cells = keys.max(1) as f64 / -(-fill).ln_1p();
        // Whoever reaches a later layer shares a cell of function 0 with one of its keys: that cell tells nothing.
        (cells.ceil().max(1.0) as u64, functions as u32 - u32::from(is_first))
    }

    fn bits_of((cells, functions): (u64, u32)) -> Option<u64> {
        cells.checked_mul(u64::from(functions) + 2)
    }

    #[inline(always)]
    fn bit(&self, at: u64) -> bool {
        self.bits[at as usize / 8] >> (at % 8) & 1 != 0
    }

    #[inline(always)]
    fn put(&mut self, at: u64, value: bool) {
        let byte = &mut self.bits[at as usize / 8];
        *byte = *byte & !(1 << (at % 8)) | u8::from(value) << (at % 8);
    }

    /// The cell of function 0, as the bit that says whether it is set; the next one says whether it is dead.
    #[inline(always)]
    fn cell(&self, probe: Probe) -> u64 {
        2 * scaled(probe.place, self.cells)
    }

    /// The bits of the cells of all other functions: any two keys have any two of them in common by chance only.
    #[inline(always)]
    fn others(&self, probe: Probe) -> impl Iterator<Item = u64> {
        let (cells, mut bits) = (self.cells, probe.bits);
        let step = bits.rotate_left(32) | 1;
        (0..u64::from(self.functions)).map(move |function| {
            bits = bits.wrapping_add(step.wrapping_mul(function + 1));
            (2 + function) * cells + scaled(bits, cells)
        })
    }

    #[inline(always)]
    fn own(&self, probe: Probe) -> Seen {
        let cell = self.cell(probe);
        match (self.bit(cell), self.bit(cell + 1)) {
            (false, false) => Seen::Absent,
            (true, false) => Seen::Present,
            (_, true) => Seen::Dead,
        }
    }

    /// Counts what is set.
    fn counted(mut self) -> Self {
        let cells = |bit| (0..self.cells).map(move |cell| 2 * cell + bit);
        (self.set, self.dead) = (
            cells(0).filter(|&at| self.bit(at)).count() as u64,
            cells(1).filter(|&at| self.bit(at)).count() as u64,
        );
        let all: u64 = self.bits.iter().map(|byte| u64::from(byte.count_ones())).sum();
        self.others_set = all - self.set - self.dead;
        self
    }
}

/// A number below `cells` that grows with the word.
#[inline(always)]
fn scaled(word: u64, cells: u64) -> u64 {
    ((u128::from(word) * u128::from(cells)) >> 64) as u64
}

impl Layer for BloomLayer {
    type Undo = SetCells;
    const NUMBER: u8 = 9;
    const NAME: &'static str = "bloom-cascade";

    fn new(keys: u64, error_rate: f64, is_first: bool) -> Result<Self, BuildError> {
        let shape = Self::shape(keys, error_rate, is_first);
        let too_large = crate::error::OutOfMemory::too_large;
        let bytes = Self::bits_of(shape).and_then(|bits| usize::try_from(bits.div_ceil(8)).ok());
        let bits = Memory::zeroed(bytes.ok_or_else(too_large)?)?;
        let (cells, functions) = shape;
        Ok(Self { bits, cells, functions, set: 0, dead: 0, others_set: 0 })
    }

    fn look_among(&self, probe: Probe, others: &[Probe]) -> Seen {
        let seen = match self.own(probe) {
            Seen::Absent if others.iter().any(|&other| self.is_same_cell(probe, other)) => Seen::Present,
            seen => seen,
        };
        let mut cells = self.others(probe).enumerate();
        let is_set = |(function, at)| {
            self.bit(at) || others.iter().any(|&other| self.others(other).nth(function) == Some(at))
        };
        if cells.all(is_set) { seen } else { Seen::Absent }
    }

    #[inline]
    fn look(&self, probe: Probe) -> Seen {
        if self.others(probe).all(|at| self.bit(at)) { self.own(probe) } else { Seen::Absent }
    }

    fn is_dead(&self, probe: Probe) -> bool {
        self.bit(self.cell(probe) + 1)
    }

    fn places(&self, probe: Probe) -> RangeInclusive<u64> {
        let cell = u128::from(scaled(probe.place, self.cells));
        let first = |cell: u128| (cell << 64).div_ceil(u128::from(self.cells));
        first(cell) as u64..=(first(cell + 1) - 1) as u64
    }

    fn is_same_cell(&self, one: Probe, other: Probe) -> bool {
        self.cell(one) == self.cell(other)
    }

    fn insert(&mut self, probe: Probe) -> Result<SetCells, Full> {
        let mut new = SetCells::default();
        let others: Vec<u64> = self.others(probe).collect();
        for at in others.into_iter().chain([self.cell(probe)]) {
            if !self.bit(at) {
                self.put(at, true);
                new.0.push(at);
                *if at < 2 * self.cells { &mut self.set } else { &mut self.others_set } += 1;
            }
        }
        Ok(new)
    }

    fn undo(&mut self, _: Probe, undo: SetCells) {
        for at in undo.0 {
            self.put(at, false);
            *if at < 2 * self.cells { &mut self.set } else { &mut self.others_set } -= 1;
        }
    }

    /// Another key may have the same cells, so they stay.
    fn remove(&mut self, _: Probe) -> bool {
        false
    }

    fn kill(&mut self, probe: Probe) -> Result<(), Full> {
        self.put(self.cell(probe) + 1, true);
        self.dead += 1;
        Ok(())
    }

    fn revive(&mut self, probe: Probe, _: u64) {
        self.put(self.cell(probe) + 1, false);
        self.dead -= 1;
    }

    fn prefetch(&self, probe: Probe) {
        // Half of all keys are found out by the first, and three quarters by the first two.
        let first = self.others(probe).chain([self.cell(probe)]).take(2);
        first.for_each(|at| mem::prefetch(self.bits.as_ptr(), at as usize / 8));
    }

    fn rates(&self) -> (f64, f64) {
        let cells = self.cells as f64;
        let others = self.others_set as f64 / (cells * f64::from(self.functions)).max(1.0);
        let others = others.powi(self.functions as i32);
        let dead = self.dead as f64 / cells;
        (others * (self.set as f64 / cells - dead), others * dead)
    }

    fn dead(&self) -> u64 {
        self.dead
    }

    fn size_in_bytes(&self) -> usize {
        self.bits.len()
    }

    fn to_bytes(&self) -> Vec<u8> {
        self.bits.to_vec()
    }

    fn from_bytes(bytes: &[u8], keys: u64, error_rate: f64, is_first: bool) -> Result<Self, ReadError> {
        let shape = Self::shape(keys, error_rate, is_first);
        let bits = Self::bits_of(shape).unwrap_or(u64::MAX);
        let (expected, found) = (bits.div_ceil(8), bytes.len() as u64);
        expect("bytes of a layer", found == expected, expected, found)?;
        let (cells, functions) = shape;
        let bits = Memory::copy_of(bytes)?;
        let layer = Self { bits, cells, functions, set: 0, dead: 0, others_set: 0 }.counted();
        let is_dead_and_not_set = |cell: u64| layer.bit(2 * cell + 1) && !layer.bit(2 * cell);
        if (0..cells).any(is_dead_and_not_set) {
            return Err(ReadError::Inconsistent("a cell is dead that no key has".into()));
        }
        Ok(layer)
    }
}
