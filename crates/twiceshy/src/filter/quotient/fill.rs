//! Filling a filter from a stream of fingerprints in ascending order.
//!
//! Bulk loading, merging, growing and shrinking all come down to this. Equal fingerprints that follow
//! each other are counted together, and if the table gets full and may grow, what was written so far is
//! moved to the next size and the stream goes on.

use super::iter::{FingerprintCount, Fingerprints};
use super::{is_clustered, slot_limit};
use crate::bits::cpu::{Cpu, Kernel, dispatch};
use crate::bits::word::low_mask;
use crate::codec::counted;
use crate::mem::OutOfMemory;
use crate::table::{Full, Loader, Shape, Table};

/// A table under construction.
pub(super) struct Filler {
    loader: Loader,
    /// The entry that may still get more copies.
    last: Option<FingerprintCount>,
    max_quotient_bits: u32,
    /// Slots in use, and how many may be.
    used: u64,
    limit: u64,
    filled: Filled,
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

impl Filler {
    /// Starts with `shape` and grows to `max_quotient_bits` at most, as long as there are remainder
    /// bits to move.
    pub(super) fn new(shape: Shape, max_quotient_bits: u32) -> Result<Self, OutOfMemory> {
        let (loader, limit) = (Loader::new(shape)?, slot_limit(&shape));
        Ok(Self { loader, last: None, max_quotient_bits, used: 0, limit, filled: Filled::default() })
    }

    pub(super) fn shape(&self) -> &Shape {
        self.loader.shape()
    }

    /// Appends copies of a fingerprint that must not be smaller than the last one.
    #[inline(always)]
    pub(super) fn push(&mut self, fingerprint: u64, count: u64) -> Result<(), FillError> {
        self.filled.len = self.filled.len.checked_add(count).ok_or(FillError::TooManyCopies)?;
        if let Some(last) = &mut self.last {
            if last.fingerprint == fingerprint {
                // No overflow: a count is part of the checked sum.
                last.count += count;
                return Ok(());
            }
            if last.fingerprint > fingerprint {
                return Err(FillError::Unsorted);
            }
            let done = *last;
            *last = FingerprintCount { fingerprint, count };
            return self.write(done);
        }
        self.last = Some(FingerprintCount { fingerprint, count });
        Ok(())
    }

    #[inline(always)]
    fn write(&mut self, entry: FingerprintCount) -> Result<(), FillError> {
        self.filled.distinct += 1;
        match self.try_write(entry) {
            Ok(()) => Ok(()),
            Err(Full) => self.grow_and_write(entry),
        }
    }

    #[cold]
    fn grow_and_write(&mut self, entry: FingerprintCount) -> Result<(), FillError> {
        loop {
            self.grow()?;
            if self.try_write(entry).is_ok() {
                return Ok(());
            }
        }
    }

    #[inline(always)]
    fn try_write(&mut self, entry: FingerprintCount) -> Result<(), Full> {
        let slot_bits = self.shape().slot_bits();
        let FingerprintCount { fingerprint, count } = entry;
        let (quotient, remainder) = (fingerprint >> slot_bits, fingerprint & low_mask(slot_bits));
        if count > 1 {
            return self.write_counted(quotient, remainder, count);
        }
        if self.used >= self.limit {
            return Err(Full);
        }
        self.loader.push_head(quotient, remainder)?;
        self.used += 1;
        Ok(())
    }

    #[inline(never)]
    fn write_counted(&mut self, quotient: u64, remainder: u64, count: u64) -> Result<(), Full> {
        let encoded = counted::encode(remainder, count, self.shape().slot_bits());
        let used = self.used + encoded.as_ref().len() as u64;
        if used > self.limit {
            return Err(Full);
        }
        self.loader.push(quotient, encoded.as_ref())?;
        self.used = used;
        Ok(())
    }

    /// Moves all entries to a larger table.
    #[cold]
    fn grow(&mut self) -> Result<(), FillError> {
        let mut larger = self.next_shape()?;
        let old = std::mem::replace(&mut self.loader, Loader::new(larger)?).finish();
        loop {
            (self.used, self.limit) = (0, slot_limit(&larger));
            if Fingerprints::new(&old).all(|entry| self.try_write(entry).is_ok()) {
                return Ok(());
            }
            larger = self.next_shape()?;
            self.loader = Loader::new(larger)?;
        }
    }

    /// The shape of twice as many slots, if there may be as many.
    fn next_shape(&self) -> Result<Shape, FillError> {
        let shape = self.shape();
        let quotient_bits = shape.quotient_bits() + 1;
        let allowed = quotient_bits <= self.max_quotient_bits && shape.slot_bits() > 1;
        if !allowed || is_clustered(shape, self.used) {
            return Err(FillError::Full(*shape));
        }
        Ok(shape.resized(quotient_bits, shape.slot_bits() - 1))
    }

    pub(super) fn finish(mut self) -> Result<(Table, Filled), FillError> {
        if let Some(last) = self.last.take() {
            self.write(last)?;
        }
        Ok((self.loader.finish(), self.filled))
    }
}

/// Fills in all entries and finishes.
pub(super) fn fill_from(
    filler: Filler,
    entries: impl Iterator<Item = FingerprintCount>,
) -> Result<(Table, Filled), FillError> {
    dispatch(FillFrom { filler, entries })
}

struct FillFrom<I> {
    filler: Filler,
    entries: I,
}

impl<I: Iterator<Item = FingerprintCount>> Kernel for FillFrom<I> {
    type Output = Result<(Table, Filled), FillError>;
    #[inline(always)]
    fn run<C: Cpu>(self, _: C) -> Self::Output {
        let Self { mut filler, entries } = self;
        for entry in entries {
            filler.push(entry.fingerprint, entry.count)?;
        }
        filler.finish()
    }
}

/// Fills the entries of a whole table into another shape.
pub(super) fn refill<B: AsRef<[u8]>>(table: &Table<B>, shape: Shape) -> Result<(Table, Filled), FillError> {
    fill_from(Filler::new(shape, shape.quotient_bits())?, Fingerprints::new(table))
}
