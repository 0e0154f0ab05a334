//! Writing a table in the order of its fingerprints: what growing, merging and rebuilding come down to.

use super::cut::{Member, Piece, cut};
use super::{AdaptiveFilter, is_clustered, slot_limit};
use crate::codec::string::Strings;
use crate::error::{Indistinguishable, RebuildError};
use crate::hash::Words;
use crate::mem::OutOfMemory;
use crate::table::{Full, Loader, Shape, Slot, Table};

/// A table that is being filled.
pub(super) struct Filler {
    loader: Loader,
    has_stop: bool,
    pub(super) strings: Strings,
    entries: u64,
    /// Room for the slots of one entry.
    slots: Vec<Slot>,
}

/// A filled table.
pub(super) struct Filled {
    pub(super) table: Table,
    pub(super) has_stop: bool,
    pub(super) entries: u64,
}

/// Why filling stopped.
#[derive(Debug)]
pub(super) enum FillError<E> {
    Full,
    Lookup(E),
    Indistinguishable,
    Memory(OutOfMemory),
}

impl<E> From<Full> for FillError<E> {
    fn from(_: Full) -> Self {
        Self::Full
    }
}

impl<E> From<Indistinguishable> for FillError<E> {
    fn from(_: Indistinguishable) -> Self {
        Self::Indistinguishable
    }
}

impl<E> From<OutOfMemory> for FillError<E> {
    fn from(error: OutOfMemory) -> Self {
        Self::Memory(error)
    }
}

impl Filler {
    pub(super) fn new((shape, has_stop): (Shape, bool)) -> Result<Self, OutOfMemory> {
        let strings = Strings::new(&shape, has_stop);
        let loader = Loader::new(shape, slot_limit(&shape))?;
        Ok(Self { loader, has_stop, strings, entries: 0, slots: Vec::new() })
    }

    /// Appends the first `len` bits of a hash, with a tag.
    #[inline(always)]
    pub(super) fn push(&mut self, words: &impl Words, len: u32, tag: u64) -> Result<(), Full> {
        let quotient = words.word(0) >> (64 - self.strings.quotient_bits());
        if tag == 0 && len == self.strings.bits_in(1) {
            let stop = u64::from(self.has_stop);
            let window = words.window(self.strings.quotient_bits(), self.strings.slot_bits());
            return self.push_head(quotient, window | stop);
        }
        self.slots.clear();
        self.strings.encode(words, len, tag, &mut self.slots);
        match self.slots.as_slice() {
            [head] => self.loader.push_head(quotient, head.value)?,
            slots => self.loader.push(quotient, slots)?,
        }
        self.entries += 1;
        Ok(())
    }

    /// Appends an entry of a single slot, given as it is stored.
    #[inline(always)]
    pub(super) fn push_head(&mut self, quotient: u64, value: u64) -> Result<(), Full> {
        self.loader.push_head(quotient, value)?;
        self.entries += 1;
        Ok(())
    }

    /// Cuts the hashes of keys that agree in their first `from` bits, and appends what comes out. If that
    /// does not fit, some of it may have been appended, unless the keys have the same quotient.
    pub(super) fn push_cut<W: Words, E>(
        &mut self,
        members: &mut [Member<W>],
        from: u32,
    ) -> Result<(), FillError<E>> {
        let pieces = cut(members, &self.strings, from)?;
        let quotient_of =
            |piece: &Piece| members[piece.member].words.word(0) >> (64 - self.strings.quotient_bits());
        for run in pieces.chunk_by(|one, other| quotient_of(one) == quotient_of(other)) {
            self.slots.clear();
            for piece in run {
                let Member { words, tag, .. } = &members[piece.member];
                self.strings.encode(words, piece.len, *tag, &mut self.slots);
            }
            self.loader.push(quotient_of(&run[0]), &self.slots)?;
            self.entries += run.len() as u64;
        }
        Ok(())
    }

    pub(super) fn finish(self) -> Filled {
        Filled { table: self.loader.finish(), has_stop: self.has_stop, entries: self.entries }
    }
}

impl AdaptiveFilter {
    /// Fills a table of the smallest size from `quotient_bits` on for which that works and which may be.
    /// About `used` slots are needed.
    pub(super) fn fill_from<T, E>(
        &self,
        quotient_bits: u32,
        used: u64,
        shape_for: impl Fn(u32) -> Option<(Shape, bool)>,
        mut fill: impl FnMut((Shape, bool)) -> Result<T, FillError<E>>,
    ) -> Result<T, RebuildError<E>> {
        let mut last = self.slots();
        for quotient_bits in quotient_bits..=Shape::MAX_QUOTIENT_BITS {
            let Some(size) = shape_for(quotient_bits).filter(|(shape, _)| self.may_have(shape)) else {
                break;
            };
            last = size.0.quotients();
            match fill(size) {
                Ok(filled) => return Ok(filled),
                Err(FillError::Full) if !is_clustered(&size.0, used) => {}
                Err(FillError::Full) => break,
                Err(FillError::Lookup(error)) => return Err(RebuildError::Lookup(error)),
                Err(FillError::Indistinguishable) => return Err(Indistinguishable.into()),
                Err(FillError::Memory(error)) => return Err(error.into()),
            }
        }
        Err(RebuildError::Full { slots: last })
    }
}
