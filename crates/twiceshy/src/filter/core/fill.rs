//! Writing a table in the order of its fingerprints: what growing, merging and rebuilding come down to.

use super::Core;
use super::cut::{Member, Piece, cut};
use crate::codec::string::{Payload, Strings};
use crate::error::RebuildError;
use crate::filter::slot_limit;
use crate::hash::Words;
use crate::mem::OutOfMemory;
use crate::table::{Extended, Loader, NoRoom, Shape, Size, Slot};

/// A table that is being filled.
pub(super) struct Filler<P> {
    loader: Loader<Extended>,
    pub(super) strings: Strings<P>,
    entries: u64,
    /// How many fingerprints got fresh length.
    pub(super) rejuvenated: u64,
    /// Room for the slots of one entry.
    slots: Vec<Slot>,
}

/// Whoever fills knows how many slots there are.
impl<E> From<NoRoom> for RebuildError<E> {
    fn from(NoRoom: NoRoom) -> Self {
        Self::Full { slots: 0 }
    }
}

impl<P: Payload> Filler<P> {
    /// An empty table, which may get a larger spill area as long as it has no more than so many bytes.
    pub(super) fn new(
        (shape, has_stop): (Shape, bool),
        payload: P,
        most_bytes: u64,
    ) -> Result<Self, OutOfMemory> {
        let strings = Strings::new(&shape, has_stop, payload);
        let loader = Loader::new(shape, slot_limit(&shape))?.extending(most_bytes);
        Ok(Self { loader, strings, entries: 0, rejuvenated: 0, slots: Vec::new() })
    }

    /// Appends the first `len` bits of a hash, with what they carry.
    #[inline(always)]
    pub(super) fn push(&mut self, words: &impl Words, len: u32, value: &P::Value) -> Result<(), NoRoom> {
        let quotient = self.loader.address().quotient(words.word(0));
        if len == self.strings.bits_in(1)
            && let Some(own) = self.strings.payload().in_head(value)
        {
            return self.push_head(quotient, self.strings.full_head(words) | own);
        }
        self.slots.clear();
        self.strings.encode(words, len, value, &mut self.slots);
        match self.slots.as_slice() {
            [head] => self.loader.push_head(quotient, head.value)?,
            slots => self.loader.push(quotient, slots)?,
        }
        self.entries += 1;
        Ok(())
    }

    /// Appends an entry of a single slot, given as it is stored.
    #[inline(always)]
    pub(super) fn push_head(&mut self, quotient: u64, value: u64) -> Result<(), NoRoom> {
        self.loader.push_head(quotient, value)?;
        self.entries += 1;
        Ok(())
    }

    /// Cuts the hashes of keys that agree in their first `from` bits, and appends what comes out, or nothing if that
    /// does not fit.
    pub(super) fn push_cut<W: Words, E>(
        &mut self,
        members: &mut [Member<W, P::Value>],
        from: u32,
    ) -> Result<(), RebuildError<E>> {
        let pieces = cut(members, &self.strings, from)?;
        self.slots.clear();
        let quotient = |piece: &Piece| self.loader.address().quotient(piece.first(members).words.word(0));
        let mut runs = Vec::new();
        for run in pieces.chunk_by(|one, other| quotient(one) == quotient(other)) {
            let start = self.slots.len();
            run.iter().for_each(|piece| piece.encode(members, &self.strings, &mut self.slots));
            runs.push((quotient(&run[0]), start..self.slots.len()));
        }
        self.loader.make_room(runs.iter().map(|(quotient, slots)| (*quotient, slots.len() as u64)))?;
        for (quotient, slots) in runs {
            self.loader.push(quotient, &self.slots[slots])?;
        }
        self.entries += pieces.len() as u64;
        Ok(())
    }
}

impl<P: Payload> Core<P> {
    /// An empty table to be filled.
    pub(super) fn filler(&self, size: (Shape, bool)) -> Result<Filler<P>, OutOfMemory> {
        Filler::new(size, self.strings.payload(), self.most_bytes())
    }

    /// Fills a table of the smallest size from `first` on for which that works and which may be.
    pub(super) fn fill_from<E>(
        &self,
        first: Size,
        shape_for: impl Fn(Size) -> Option<(Shape, bool)>,
        mut fill: impl FnMut((Shape, bool)) -> Result<Filler<P>, RebuildError<E>>,
    ) -> Result<Filler<P>, RebuildError<E>> {
        let mut last = self.slots();
        for size in first.from_here() {
            let Some(size) = shape_for(size).filter(|(shape, _)| self.may_have(shape)) else { break };
            last = size.0.slots();
            match fill(size) {
                Err(RebuildError::Full { .. }) => {}
                done => return done,
            }
        }
        Err(RebuildError::Full { slots: last })
    }

    /// This core with the table that was filled, which holds the same keys.
    pub(super) fn with_filled(&self, filler: Filler<P>) -> Self {
        let mut filled = self.with_table(filler.loader.finish(), filler.strings.has_stop());
        filled.counters.growths += u64::from(filled.size() > self.size());
        filled.counters.rejuvenated += filler.rejuvenated;
        filled.entries = filler.entries;
        filled.set_len(self.len);
        filled.versions.bump_all();
        filled
    }
}
