//! Writing a table in the order of its fingerprints: what growing, merging and rebuilding come down to.

use super::cut::{Member, Piece, cut};
use super::stream::Stream;
use super::{Core, Neighbour};
use crate::bits::cpu::Cpu;
use crate::codec::string::{Marks, Payload, Strings};
use crate::error::RebuildError;
use crate::hash::Words;
use crate::mem::OutOfMemory;
use crate::prefix::Prefix;
use crate::table::{Extended, Loader, NoRoom, Shape, Size, Slot};

/// A table that is being filled.
pub(super) struct Filler<P> {
    loader: Loader<Extended>,
    pub(super) strings: Strings<P>,
    /// How the heads here are marked, if they are short enough.
    heads: Option<Marks>,
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
        let loader = Loader::new(shape, shape.slot_limit())?.extending(most_bytes);
        Ok(Self {
            loader,
            strings,
            heads: Marks::new(&strings),
            entries: 0,
            rejuvenated: 0,
            slots: Vec::new(),
        })
    }

    /// Appends the first `len` bits of a hash, with what they carry.
    #[inline(always)]
    pub(super) fn push(&mut self, words: &impl Words, len: u32, value: &P::Value) -> Result<(), NoRoom> {
        let quotient = self.loader.address().quotient(words.word(0));
        if len == self.strings.bits_in(1)
            && let Some(own) = self.strings.payload().in_head(value)
        {
            self.loader.push_head(quotient, self.strings.full_head(words) | own)?;
            self.entries += 1;
            return Ok(());
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

    /// Appends an entry of a single slot, given its mark and its own bits. `false` if it would not be one here.
    #[inline(always)]
    pub(super) fn push_mark(&mut self, mark: u64, own: u64) -> Result<bool, NoRoom> {
        let Some(head) = self.heads.and_then(|heads| heads.head(mark)) else { return Ok(false) };
        self.loader.push_head(self.loader.address().quotient(mark), head | own)?;
        self.entries += 1;
        Ok(true)
    }

    /// Appends all that is to come of a stream.
    #[inline(always)]
    pub(super) fn push_all<C: Cpu, B: AsRef<[u8]>, W: Words, E>(
        &mut self,
        cpu: C,
        stream: &mut Stream<'_, P, B>,
        under: &mut impl FnMut(&Prefix) -> Result<Vec<Neighbour<W, P::Value>>, E>,
    ) -> Result<(), RebuildError<E>> {
        while let Some(mark) = stream.mark() {
            if !(stream.is_head() && self.push_mark(mark, stream.own_bits())?) {
                self.push_next(stream, under)?;
            }
            stream.advance(cpu, 1);
        }
        Ok(())
    }

    /// Appends the next fingerprint of a stream. If it is too short for the quotients of this table, the keys under it get new
    /// ones.
    #[cold]
    #[inline(never)]
    pub(super) fn push_next<B: AsRef<[u8]>, W: Words, E>(
        &mut self,
        stream: &Stream<'_, P, B>,
        under: &mut impl FnMut(&Prefix) -> Result<Vec<Neighbour<W, P::Value>>, E>,
    ) -> Result<(), RebuildError<E>> {
        match stream.carried() {
            Some((prefix, value)) => self.push_or_renew(&prefix, &value, under),
            None => Ok(()),
        }
    }

    /// Appends a fingerprint, or new ones for the keys under it.
    pub(super) fn push_or_renew<W: Words, E>(
        &mut self,
        prefix: &Prefix,
        value: &P::Value,
        under: &mut impl FnMut(&Prefix) -> Result<Vec<Neighbour<W, P::Value>>, E>,
    ) -> Result<(), RebuildError<E>> {
        let least = self.strings.bits_in(1);
        if prefix.len() >= self.strings.position_bits() {
            return Ok(self.push(prefix, prefix.len(), value)?);
        }
        let neighbours = under(prefix).map_err(RebuildError::Lookup)?;
        let member = |Neighbour { words, value: own }| Member {
            words,
            value: own.unwrap_or_else(|| value.clone()),
            least,
        };
        let mut members: Vec<_> = neighbours.into_iter().map(member).collect();
        self.rejuvenated += 1;
        self.push_cut(&mut members, prefix.len())
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

    /// Fills a table of the first of some sizes, which get larger, for which that works and which may be.
    pub(super) fn fill_from<E>(
        &self,
        sizes: impl Iterator<Item = Size>,
        shape_for: impl Fn(Size) -> Option<(Shape, bool)>,
        mut fill: impl FnMut((Shape, bool)) -> Result<Filler<P>, RebuildError<E>>,
    ) -> Result<Filler<P>, RebuildError<E>> {
        let mut last = self.slots();
        for size in sizes {
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
