//! Filling a filter from a stream of fingerprints in ascending order.
//!
//! Bulk loading, merging, growing and shrinking all come down to this. Equal fingerprints that follow
//! each other are counted together, and if the table gets full and may grow, what was written so far is
//! moved to the next size and the stream goes on.

use super::iter::{Fingerprint, Iter};
use crate::bits::cpu::{Cpu, Kernel, dispatch};
use crate::bits::word::field_mask;
use crate::codec::counted;
use crate::mem::OutOfMemory;
use crate::table::{Loader, NoRoom, Shape, Table};

/// Fills a table with all entries, which come in ascending order. Starts with `shape` and grows to
/// `max_quotient_bits` at most, as long as there are remainder bits to move.
pub(super) fn fill(
    shape: Shape,
    max_quotient_bits: u32,
    entries: impl Iterator<Item = Fingerprint>,
) -> Result<(Table, Filled), FillError> {
    let filler =
        Filler { loader: loader(shape, shape.quotient_bits() < max_quotient_bits)?, max_quotient_bits };
    dispatch(FillFrom { filler, entries })
}

/// The entries of a whole table in another shape; `None` if they do not fit.
pub(super) fn refill(table: &Table, shape: Shape) -> Result<Option<Table>, OutOfMemory> {
    let filler = Filler { loader: loader(shape, true)?, max_quotient_bits: shape.quotient_bits() };
    match dispatch(FillFrom { filler, entries: Iter::new(table) }) {
        Ok((table, _)) => Ok(Some(table)),
        Err(FillError::Memory(error)) => Err(error),
        Err(_) => Ok(None),
    }
}

/// What was filled in.
#[derive(Default, Clone, Copy)]
pub(super) struct Filled {
    pub(super) len: u64,
    pub(super) distinct: u64,
}

/// Why filling stopped.
pub(super) enum FillError {
    /// The table is full and must not grow, or cannot.
    Full(Shape),
    /// A fingerprint was smaller than the one before it.
    Unsorted,
    TooManyCopies,
    Memory(OutOfMemory),
}

impl From<OutOfMemory> for FillError {
    fn from(error: OutOfMemory) -> Self {
        Self::Memory(error)
    }
}

struct FillFrom<I> {
    filler: Filler,
    entries: I,
}

impl<I: Iterator<Item = Fingerprint>> Kernel for FillFrom<I> {
    type Output = Result<(Table, Filled), FillError>;
    #[inline(always)]
    fn run<C: Cpu>(self, _: C) -> Self::Output {
        let Self { mut filler, mut entries } = self;
        let mut filled = Filled::default();
        // The last entry may get more copies; it is written when another one follows.
        let Some(mut last) = entries.next() else {
            return Ok((filler.loader.finish(), filled));
        };
        for entry in entries {
            if entry.fingerprint == last.fingerprint {
                last.count = last.count.checked_add(entry.count).ok_or(FillError::TooManyCopies)?;
                continue;
            }
            if entry.fingerprint < last.fingerprint {
                return Err(FillError::Unsorted);
            }
            filler.write(last, &mut filled)?;
            last = entry;
        }
        filler.write(last, &mut filled)?;
        Ok((filler.loader.finish(), filled))
    }
}

/// A table under construction.
struct Filler {
    loader: Loader,
    max_quotient_bits: u32,
}

impl Filler {
    #[inline(always)]
    fn write(&mut self, entry: Fingerprint, filled: &mut Filled) -> Result<(), FillError> {
        filled.len = filled.len.checked_add(entry.count).ok_or(FillError::TooManyCopies)?;
        filled.distinct += 1;
        match write(&mut self.loader, entry) {
            Ok(()) => Ok(()),
            Err(NoRoom) => self.grow_and_write(entry),
        }
    }

    /// Moves all entries to a larger table, and goes on there.
    #[cold]
    fn grow_and_write(&mut self, entry: Fingerprint) -> Result<(), FillError> {
        let larger = self.next_loader()?;
        let old = std::mem::replace(&mut self.loader, larger).finish();
        loop {
            let mut all = Iter::new(&old).chain([entry]);
            if all.all(|entry| write(&mut self.loader, entry).is_ok()) {
                return Ok(());
            }
            self.loader = self.next_loader()?;
        }
    }

    /// An empty table of twice as many slots, if there may be as many.
    fn next_loader(&self) -> Result<Loader, FillError> {
        let shape = self.loader.shape();
        let quotient_bits = shape.quotient_bits() + 1;
        let allowed = quotient_bits <= self.max_quotient_bits && shape.slot_bits() > 1;
        if !allowed {
            return Err(FillError::Full(*shape));
        }
        let larger = shape.resized(quotient_bits, shape.slot_bits() - 1);
        Ok(loader(larger, true)?)
    }
}

/// An empty table, with a larger spill area if need be and the filter may grow.
fn loader(shape: Shape, may_extend: bool) -> Result<Loader, OutOfMemory> {
    Ok(Loader::new(shape, shape.slot_limit())?.extending(if may_extend { u64::MAX } else { 0 }))
}

/// Appends an entry to a table, or nothing if it does not fit.
#[inline(always)]
fn write(loader: &mut Loader, Fingerprint { fingerprint, count }: Fingerprint) -> Result<(), NoRoom> {
    let slot_bits = loader.shape().slot_bits();
    counted::push(loader, fingerprint >> slot_bits, fingerprint & field_mask(slot_bits), count)
}
