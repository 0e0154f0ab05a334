//! Merging: the union of two filters, without shortening a fingerprint.
//!
//! Both are read in order. A fingerprint of one filter that is a prefix of one of the other covers keys of
//! both; the keys under it are looked up and [cut](super::cut) anew, none of them shorter than before. All
//! others, nearly all, are copied.

use super::cut::Member;
use super::fill::Filler;
use super::stream::{Carried, Stream};
use super::{Core, Neighbour};
use crate::bits::cpu::{Cpu, Kernel, dispatch};
use crate::codec::string::{Payload, mark};
use crate::error::RebuildError;
use crate::hash::Words;
use crate::prefix::Prefix;
use crate::table::{Shape, Size};

impl<P: Payload> Core<P> {
    /// Adds all fingerprints of another core. `mine` and `theirs` are asked for the keys of this one and of the other one
    /// that are under a prefix, where fingerprints overlap or ran out of bits. Keys that both know count twice in `len`; what
    /// they bring along here counts, if they may not share it.
    pub(crate) fn merge_from<B, W, E>(
        &mut self,
        other: &Core<P, B>,
        mut mine: impl FnMut(&Prefix) -> Result<Vec<Neighbour<W, P::Value>>, E>,
        mut theirs: impl FnMut(&Prefix) -> Result<Vec<Neighbour<W, P::Value>>, E>,
    ) -> Result<(), RebuildError<E>>
    where
        B: AsRef<[u8]>,
        W: Words + PartialEq,
    {
        let needed = self.used_slots() + other.used_slots();
        let smallest = self.size().max(other.size());
        let fits = |size: &Size| needed <= Shape::new(*size, 1).slot_limit();
        let fitting = smallest.and_larger().find(fits).unwrap_or(Shape::MAX_QUOTIENT_BITS.into());
        // Fingerprints that overlap take fewer slots than they did apart: two filters of the same keys fit where each did.
        let is_near = |size: &Size| *size < fitting && fitting.quotient_bits() <= size.quotient_bits() + 1;
        let merged = self.fill_from(
            Some(smallest).filter(is_near).into_iter().chain(fitting.and_larger()),
            |size| self.shape_for_union(other, size),
            |size| {
                let filler = self.filler(size)?;
                dispatch(Union { one: &*self, other, filler, mine: &mut mine, theirs: &mut theirs })
            },
        )?;
        let len = self.len + other.len;
        *self = self.with_filled(merged);
        self.set_len(len);
        self.remainder_bits = self.remainder_bits.max(other.remainder_bits);
        Ok(())
    }
}

/// A union that is being written.
pub(super) struct Union<'a, P, A, B, F, G> {
    pub(super) one: &'a A,
    pub(super) other: &'a B,
    pub(super) filler: Filler<P>,
    pub(super) mine: &'a mut F,
    pub(super) theirs: &'a mut G,
}

impl<P, A, B, W, E, F, G> Kernel for Union<'_, P, Core<P, A>, Core<P, B>, F, G>
where
    P: Payload,
    A: AsRef<[u8]>,
    B: AsRef<[u8]>,
    W: Words + PartialEq,
    F: FnMut(&Prefix) -> Result<Vec<Neighbour<W, P::Value>>, E>,
    G: FnMut(&Prefix) -> Result<Vec<Neighbour<W, P::Value>>, E>,
{
    type Output = Result<Filler<P>, RebuildError<E>>;
    #[inline(always)]
    fn run<C: Cpu>(mut self, cpu: C) -> Self::Output {
        let (mut one, mut other) = (Stream::new(cpu, self.one), Stream::new(cpu, self.other));
        while let (Some(a), Some(b)) = (one.mark(), other.mark()) {
            if mark::overlap(a, b) {
                self.meet(cpu, &mut one, &mut other)?;
                continue;
            }
            // Which comes first is a coin toss, so there is no branch on it where both are heads.
            let is_first = a < b;
            let is_head = if is_first { one.is_head() } else { other.is_head() };
            let own = if is_first { one.own_bits() } else { other.own_bits() };
            if !(is_head && self.filler.push_mark(a.min(b), own)?) {
                match is_first {
                    true => self.filler.push_next(&one, self.mine)?,
                    false => self.filler.push_next(&other, self.theirs)?,
                }
            }
            one.advance(cpu, usize::from(is_first));
            other.advance(cpu, usize::from(!is_first));
        }
        self.filler.push_all(cpu, &mut one, self.mine)?;
        self.filler.push_all(cpu, &mut other, self.theirs)?;
        Ok(self.filler)
    }
}

impl<P, A, B, W, E, F, G> Union<'_, P, Core<P, A>, Core<P, B>, F, G>
where
    P: Payload,
    A: AsRef<[u8]>,
    B: AsRef<[u8]>,
    W: Words + PartialEq,
    F: FnMut(&Prefix) -> Result<Vec<Neighbour<W, P::Value>>, E>,
    G: FnMut(&Prefix) -> Result<Vec<Neighbour<W, P::Value>>, E>,
{
    /// Writes the next fingerprints of both, whose marks overlap.
    #[cold]
    #[inline(never)]
    fn meet<C: Cpu>(
        &mut self,
        cpu: C,
        one: &mut Stream<'_, P, A>,
        other: &mut Stream<'_, P, B>,
    ) -> Result<(), RebuildError<E>> {
        let (Some((a, mut mine)), Some((b, theirs))) = (one.carried(), other.carried()) else {
            return Ok(());
        };
        let payload = self.filler.strings.payload();
        if !a.overlaps(&b) {
            // They are longer than marks, and part behind them.
            if a < b {
                self.filler.push_or_renew(&a, &mine, self.mine)?;
                one.advance(cpu, 1);
            } else {
                self.filler.push_or_renew(&b, &theirs, self.theirs)?;
                other.advance(cpu, 1);
            }
        } else if a == b
            && a.len() >= self.filler.strings.position_bits()
            && payload.may_share(&mine, &theirs)
        {
            payload.unite(&mut mine, &theirs);
            self.filler.push(&a, a.len(), &mine)?;
            one.advance(cpu, 1);
            other.advance(cpu, 1);
        } else {
            let root = if a.len() <= b.len() { a } else { b };
            self.cut_anew(&root, under(cpu, &root, one), under(cpu, &root, other))?;
        }
        Ok(())
    }

    /// Writes new fingerprints for all keys under a root, at least as long as those they had.
    pub(super) fn cut_anew(
        &mut self,
        root: &Prefix,
        mine: Vec<Carried<P::Value>>,
        theirs: Vec<Carried<P::Value>>,
    ) -> Result<(), RebuildError<E>> {
        let fresh = self.filler.strings.bits_in(1);
        let member = |Neighbour { words, value }: Neighbour<W, P::Value>, carried: &[Carried<P::Value>]| {
            let own = carried.iter().find(|(prefix, _)| prefix.is_prefix_of(&words));
            let len = own.map_or(0, |(prefix, _)| prefix.len());
            let value = value.or_else(|| own.map(|(_, value)| value.clone())).unwrap_or_default();
            Member { words, value, least: fresh.max(len) }
        };
        let my_keys = (self.mine)(root).map_err(RebuildError::Lookup)?;
        let their_keys = (self.theirs)(root).map_err(RebuildError::Lookup)?;
        let mut members: Vec<_> = my_keys.into_iter().map(|key| member(key, &mine)).collect();
        let payload = self.filler.strings.payload();
        for their in their_keys.into_iter().map(|key| member(key, &theirs)) {
            match members.iter_mut().find(|my| my.words == their.words) {
                Some(both) => {
                    both.least = both.least.max(their.least);
                    if payload.may_share(&both.value, &their.value) {
                        payload.unite(&mut both.value, &their.value);
                    }
                }
                None => members.push(their),
            }
        }
        self.filler.push_cut(&mut members, root.len())
    }
}

/// The next fingerprints, as long as they are under a root.
fn under<C: Cpu, P: Payload, B: AsRef<[u8]>>(
    cpu: C,
    root: &Prefix,
    all: &mut Stream<'_, P, B>,
) -> Vec<Carried<P::Value>> {
    let mut under = Vec::new();
    while let Some(next) = all.carried().filter(|(prefix, _)| root.overlaps(prefix)) {
        under.push(next);
        all.advance(cpu, 1);
    }
    under
}
