//! Merging: the union of two filters, without shortening a fingerprint.
//!
//! Both are read in order. A fingerprint of one filter that is a prefix of one of the other covers keys of
//! both; the keys under it are looked up and [cut](super::cut) anew, none of them shorter than before. All
//! others, nearly all, are copied.

use super::cut::Member;
use super::fill::Filler;
use super::resize::push_or_renew;
use super::{Core, Neighbour};
use crate::codec::string::Payload;
use crate::error::RebuildError;
use crate::filter::slot_limit;
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
        let fits = |size: &Size| needed <= slot_limit(&Shape::new(*size, 1));
        // Fingerprints that overlap may take fewer slots than they did apart.
        let first = smallest.from_here().find(|size| size.next().is_none_or(|next| fits(&next)));
        let first = first.unwrap_or(smallest);
        let merged = self.fill_from(
            first,
            |size| self.shape_for_union(other, size),
            |size| {
                let filler = self.filler(size)?;
                Union { filler, mine: &mut mine, theirs: &mut theirs }.fill(self, other)
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
struct Union<'a, P, F, G> {
    filler: Filler<P>,
    mine: &'a mut F,
    theirs: &'a mut G,
}

/// A fingerprint and what it carries.
type Carried<V> = (Prefix, V);

impl<P, W, E, F, G> Union<'_, P, F, G>
where
    P: Payload,
    W: Words + PartialEq,
    F: FnMut(&Prefix) -> Result<Vec<Neighbour<W, P::Value>>, E>,
    G: FnMut(&Prefix) -> Result<Vec<Neighbour<W, P::Value>>, E>,
{
    fn fill<A: AsRef<[u8]>, B: AsRef<[u8]>>(
        mut self,
        one: &Core<P, A>,
        other: &Core<P, B>,
    ) -> Result<Filler<P>, RebuildError<E>> {
        let payload = self.filler.strings.payload();
        let (mut one, mut other) = (one.iter().peekable(), other.iter().peekable());
        loop {
            match (one.peek_mut(), other.peek()) {
                (None, None) => break,
                (Some((a, mine)), Some((b, theirs))) if a.overlaps(b) => {
                    if a == b
                        && a.len() >= self.filler.strings.position_bits()
                        && payload.may_share(mine, theirs)
                    {
                        payload.unite(mine, theirs);
                        self.filler.push(a, a.len(), mine)?;
                        one.next();
                        other.next();
                    } else {
                        let root = if a.len() <= b.len() { &*a } else { b }.clone();
                        self.cut_anew(&root, under(&root, &mut one), under(&root, &mut other))?;
                    }
                }
                (Some((a, _)), b) if b.is_none_or(|(b, _)| &*a < b) => {
                    if let Some((prefix, value)) = one.next() {
                        push_or_renew(&mut self.filler, &prefix, &value, self.mine)?;
                    }
                }
                _ => {
                    if let Some((prefix, value)) = other.next() {
                        push_or_renew(&mut self.filler, &prefix, &value, self.theirs)?;
                    }
                }
            }
        }
        Ok(self.filler)
    }

    /// Writes new fingerprints for all keys under a root, at least as long as those they had.
    fn cut_anew(
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
fn under<V>(
    root: &Prefix,
    all: &mut std::iter::Peekable<impl Iterator<Item = Carried<V>>>,
) -> Vec<Carried<V>> {
    std::iter::from_fn(|| all.next_if(|(prefix, _)| root.overlaps(prefix))).collect()
}
