//! Growing and shrinking: moving bits between the slots and the position.
//!
//! Fingerprints stay as they are. Only those that are shorter than the new quotient, because they were made
//! many doublings ago, have no place in the new table: the keys under them are looked up and get fresh
//! length. That is a fraction of about `2^-r` of all fingerprints per doubling.

use super::fill::Filler;
use super::stream::Stream;
use super::{Core, Growth, Neighbour};
use crate::bits::cpu::{Cpu, Kernel, dispatch};
use crate::codec::string::Payload;
use crate::error::{OutOfMemory, RebuildError};
use crate::hash::Words;
use crate::prefix::Prefix;
use crate::table::{Shape, Size};

impl<P: Payload> Core<P> {
    /// This core with more slots: those of the next step with room for so many entries more, or twice as many if it is not
    /// nearly full. The keys under a fingerprint that ran out of bits are
    /// asked for.
    pub(crate) fn grown<W: Words, E>(
        &self,
        entries: u64,
        under: impl FnMut(&Prefix) -> Result<Vec<Neighbour<W, P::Value>>, E>,
    ) -> Result<Self, RebuildError<E>> {
        match self.respaced(entries)? {
            Some(larger) => Ok(larger),
            None => Ok(self.with_filled(self.refilled(entries, under)?)),
        }
    }

    /// [`grown`](Self::grown), if the next step has as many quotients: then everything stays as it is, and only lies elsewhere.
    fn respaced(&self, entries: u64) -> Result<Option<Self>, OutOfMemory> {
        let size = self.larger_size(entries).filter(|size| size.quotient_bits() == self.quotient_bits());
        let size = size.and_then(|size| self.shape_for(size)).filter(|(shape, _)| self.may_have(shape));
        let Some((shape, has_stop)) = size else { return Ok(None) };
        let Some(table) = self.table.respaced(shape)? else { return Ok(None) };
        let mut larger = self.with_table(table, has_stop);
        larger.counters.growths += 1;
        larger.versions.bump_all();
        Ok(Some(larger))
    }

    /// A larger table with all entries.
    pub(super) fn refilled<W: Words, E>(
        &self,
        entries: u64,
        mut under: impl FnMut(&Prefix) -> Result<Vec<Neighbour<W, P::Value>>, E>,
    ) -> Result<Filler<P>, RebuildError<E>> {
        let full = RebuildError::Full { slots: self.slots() };
        self.fill_from(
            self.larger_size(entries).ok_or(full)?.and_larger(),
            |size| self.shape_for(size),
            |size| self.repack(size, &mut under),
        )
    }

    /// Shrinks to the smallest number of slots that holds the contents, and whose positions have so many bits, unless it could
    /// not come back to its size.
    pub(crate) fn shrink_to_fit(&mut self, least_bits: u32) -> Result<(), OutOfMemory> {
        let back = self.shape_by_resizing(self.size());
        let may_come_back = self.growth != Growth::Refuse
            && (!self.may_have(self.table.shape()) || back.is_some_and(|(shape, _)| self.may_have(&shape)));
        if !may_come_back {
            return Ok(());
        }
        let smaller = Size::steps().take_while(|size| *size < self.size());
        let sizes = smaller.filter_map(|size| self.shape_for(size));
        let fits = |shape: &Shape| self.entries <= shape.slot_limit() && shape.position_bits() >= least_bits;
        for size in sizes.filter(|(shape, _)| fits(shape)) {
            // Quotients get shorter, so no fingerprint is too short for them.
            let mut nobody =
                |_: &Prefix| Ok::<Vec<Neighbour<Prefix, P::Value>>, std::convert::Infallible>(Vec::new());
            match self.repack(size, &mut nobody) {
                Ok(shrunk) => {
                    *self = self.with_filled(shrunk);
                    return Ok(());
                }
                Err(RebuildError::Memory(error)) => return Err(error),
                Err(_) => {}
            }
        }
        Ok(())
    }

    /// Writes all entries into a table of another size.
    pub(super) fn repack<W: Words, E>(
        &self,
        size: (Shape, bool),
        under: &mut impl FnMut(&Prefix) -> Result<Vec<Neighbour<W, P::Value>>, E>,
    ) -> Result<Filler<P>, RebuildError<E>> {
        let mut filler = self.filler(size)?;
        dispatch(MoveTo { core: self, filler: &mut filler, under, marker: std::marker::PhantomData })?;
        Ok(filler)
    }
}

/// Appends all entries to a table that is being filled.
struct MoveTo<'a, P: Payload, F, W, E> {
    core: &'a Core<P>,
    filler: &'a mut Filler<P>,
    under: &'a mut F,
    marker: std::marker::PhantomData<(W, E)>,
}

impl<P, W, E, F> Kernel for MoveTo<'_, P, F, W, E>
where
    P: Payload,
    W: Words,
    F: FnMut(&Prefix) -> Result<Vec<Neighbour<W, P::Value>>, E>,
{
    type Output = Result<(), RebuildError<E>>;
    #[inline(always)]
    fn run<C: Cpu>(self, cpu: C) -> Self::Output {
        let Self { core, filler, under, .. } = self;
        filler.push_all(cpu, &mut Stream::new(cpu, core), under)
    }
}
