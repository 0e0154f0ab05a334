//! Growing and shrinking: moving bits between the slots and the position.
//!
//! Fingerprints stay as they are. Only those that are shorter than the new quotient, because they were made
//! many doublings ago, have no place in the new table: the keys under them are looked up and get fresh
//! length. That is a fraction of about `2^-r` of all fingerprints per doubling.

use super::cut::Member;
use super::fill::Filler;
use super::{Core, Growth, Neighbour};
use crate::bits::cpu::{Cpu, Kernel, dispatch};
use crate::bits::word::low_mask;
use crate::codec::string::{Payload, Strings};
use crate::error::{OutOfMemory, RebuildError};
use crate::filter::slot_limit;
use crate::hash::Words;
use crate::prefix::Prefix;
use crate::table::Shape;

impl<P: Payload> Core<P> {
    /// This core with twice as many slots, or more if it takes them. The keys under a fingerprint that ran out of bits are
    /// asked for.
    pub(crate) fn grown<W: Words, E>(
        &self,
        under: impl FnMut(&Prefix) -> Result<Vec<Neighbour<W, P::Value>>, E>,
    ) -> Result<Self, RebuildError<E>> {
        Ok(self.with_filled(self.refilled(under)?))
    }

    /// A larger table with all entries.
    pub(super) fn refilled<W: Words, E>(
        &self,
        mut under: impl FnMut(&Prefix) -> Result<Vec<Neighbour<W, P::Value>>, E>,
    ) -> Result<Filler<P>, RebuildError<E>> {
        self.fill_from(
            self.quotient_bits() + 1,
            |bits| self.shape_for(bits),
            |size| self.repack(size, &mut under),
        )
    }

    /// Shrinks to the smallest number of slots that holds the contents, unless it could not come back to its size.
    pub(crate) fn shrink_to_fit(&mut self) -> Result<(), OutOfMemory> {
        let back = self.shape_for(self.quotient_bits());
        let may_come_back = self.growth != Growth::Refuse
            && (!self.may_have(self.table.shape()) || back.is_some_and(|(shape, _)| self.may_have(&shape)));
        if !may_come_back {
            return Ok(());
        }
        let sizes = (1..self.quotient_bits()).filter_map(|bits| self.shape_for(bits));
        for size in sizes.filter(|(shape, _)| self.entries <= slot_limit(shape)) {
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
    fn repack<W: Words, E>(
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
    fn run<C: Cpu>(self, _: C) -> Self::Output {
        let Self { core, filler, under, .. } = self;
        let (table, strings) = (&core.table, core.strings);
        let single = Single::new(&strings, &filler.strings);
        for (quotient, run) in table.runs() {
            let mut slot = run.start;
            while slot < run.end {
                let entry = strings.entry(table, slot, run.end);
                slot = entry.end();
                if entry.slots() == 1
                    && let Some((quotient, value)) = single.moved(quotient, table.slot(entry.start))
                {
                    filler.push_head(quotient, value)?;
                    continue;
                }
                let (prefix, value) = (strings.prefix(table, quotient, &entry), strings.value(table, &entry));
                push_or_renew(filler, &prefix, &value, under)?;
            }
        }
        Ok(())
    }
}

/// Appends a fingerprint. If it is too short for the quotients of the new table, the keys under it get new ones.
#[inline(always)]
pub(super) fn push_or_renew<P: Payload, W: Words, E>(
    filler: &mut Filler<P>,
    prefix: &Prefix,
    value: &P::Value,
    under: &mut impl FnMut(&Prefix) -> Result<Vec<Neighbour<W, P::Value>>, E>,
) -> Result<(), RebuildError<E>> {
    let least = filler.strings.bits_in(1);
    if prefix.len() >= filler.strings.position_bits() {
        return Ok(filler.push(prefix, prefix.len(), value)?);
    }
    let neighbours = under(prefix).map_err(RebuildError::Lookup)?;
    let member = |Neighbour { words, value: own }| Member {
        words,
        value: own.unwrap_or_else(|| value.clone()),
        least,
    };
    let mut members: Vec<_> = neighbours.into_iter().map(member).collect();
    filler.rejuvenated += 1;
    filler.push_cut(&mut members, prefix.len())
}

/// How an entry of a single slot moves to another table: some arithmetic, for speed.
struct Single {
    /// Bits that the old quotient lacks; none if the new quotient is not longer.
    more: u32,
    has_stop: bool,
    /// The bits of a slot that are of the string, and those that are not.
    string_bits: u32,
    new_string_bits: u32,
    own_bits: u32,
    /// Whether the new table has stop bits.
    possible: bool,
}

impl Single {
    fn new<P: Payload>(old: &Strings<P>, new: &Strings<P>) -> Self {
        let own_bits = old.payload().head_bits();
        Self {
            more: new.position_bits().saturating_sub(old.position_bits()),
            has_stop: old.has_stop(),
            string_bits: old.slot_bits() - own_bits,
            new_string_bits: new.slot_bits() - own_bits,
            own_bits,
            possible: new.position_bits() >= old.position_bits() && new.has_stop() && old.slot_bits() < 63,
        }
    }

    /// The new quotient and slot; `None` if it is not as simple as that.
    #[inline(always)]
    fn moved(&self, quotient: u64, slot: u64) -> Option<(u64, u64)> {
        let (slot, own) = (slot >> self.own_bits, slot & low_mask(self.own_bits));
        // The string with its stop bit, in as many bits as a slot has with one.
        let (string, bits) =
            if self.has_stop { (slot, self.string_bits) } else { (slot << 1 | 1, self.string_bits + 1) };
        let rest_bits = bits.checked_sub(self.more)?;
        let rest = string & low_mask(rest_bits);
        if !self.possible || rest == 0 {
            return None;
        }
        let value = match self.new_string_bits.checked_sub(rest_bits) {
            Some(shift) => rest << shift,
            // Only zeros after the stop bit may fall off.
            None if rest.trailing_zeros() >= rest_bits - self.new_string_bits => {
                rest >> (rest_bits - self.new_string_bits)
            }
            None => return None,
        };
        Some((quotient << self.more | string >> rest_bits, value << self.own_bits | own))
    }
}
