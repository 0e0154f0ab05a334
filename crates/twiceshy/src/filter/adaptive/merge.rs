//! Merging: the union of two filters, without shortening a fingerprint.
//!
//! Both are read in order. A fingerprint of one filter that is a prefix of one of the other covers keys of
//! both; the keys under it are looked up and [cut](super::cut) anew, none of them shorter than before. All
//! others, nearly all, are copied.

use std::iter::Peekable;

use super::AdaptiveFilter;
use super::adapt::keys_under;
use super::cut::Member;
use super::fill::{FillError, Filler};
use super::iter::Fingerprint;
use super::resize::{Grown, push_or_renew};
use crate::error::RebuildError;
use crate::hash::{Hasher, KeyWords};
use crate::key::Key;
use crate::prefix::Prefix;
use crate::table::Shape;

impl AdaptiveFilter {
    /// Adds all keys of another filter that hashes in the same way. What either has learned stays learned.
    ///
    /// `mine` and `theirs` are asked for the keys of this and of the other set whose hashes begin with a
    /// prefix, where fingerprints overlap or ran out of bits; other keys that they give are ignored. Where
    /// both sets have a key, this set's tag counts. Afterwards the map must hold the keys of both; keys
    /// that were in both sets count twice in [`len`](Self::len).
    ///
    /// A new query is a false positive of the union if it is one of either part, so the error rates add up:
    /// see [`expected_error_rate`](Self::expected_error_rate), and [`rebuild`](Self::rebuild) to lower it.
    pub fn merge_from<B, Y, I, J, E>(
        &mut self,
        other: &AdaptiveFilter<B>,
        mut mine: impl FnMut(&Prefix) -> Result<I, E>,
        mut theirs: impl FnMut(&Prefix) -> Result<J, E>,
    ) -> Result<(), RebuildError<E>>
    where
        B: AsRef<[u8]>,
        Y: Key,
        I: IntoIterator<Item = Y>,
        J: IntoIterator<Item = Y>,
    {
        if self.hasher != other.hasher {
            return Err(RebuildError::DifferentHash);
        }
        let needed = self.used_slots() + other.used_slots();
        let smallest = self.quotient_bits().max(other.quotient_bits());
        let fits = |bits: &u32| needed <= super::slot_limit(&Shape::new(*bits, 1));
        let first = (smallest..=Shape::MAX_QUOTIENT_BITS).find(fits).unwrap_or(Shape::MAX_QUOTIENT_BITS);
        // Fingerprints that overlap may take fewer slots than they did apart.
        let first = if first == smallest + 1 { smallest } else { first };
        let merged = self.fill_from(
            first,
            |bits| self.shape_for_union(other, bits),
            |size| {
                let filler = Filler::new(size, self.most_bytes())?;
                let hasher = &self.hasher;
                let mine = |prefix: &Prefix| mine(prefix).map(|keys| words(hasher, prefix, keys));
                let theirs = |prefix: &Prefix| theirs(prefix).map(|keys| words(hasher, prefix, keys));
                Union { filler, mine, theirs, rejuvenated: 0 }.fill(self, other)
            },
        )?;
        let len = self.len + other.len;
        *self = self.with_grown(merged);
        self.set_len(len);
        self.remainder_bits = self.remainder_bits.max(other.remainder_bits);
        Ok(())
    }
}

/// Those of the keys that are under a prefix.
fn words<'a, Y: Key>(
    hasher: &'a Hasher,
    prefix: &Prefix,
    keys: impl IntoIterator<Item = Y>,
) -> Vec<KeyWords<'a, Vec<u8>>> {
    let bytes = keys.into_iter().map(|key| key.key_bytes().as_ref().to_vec());
    keys_under(hasher, prefix, bytes)
}

/// A union that is being written.
struct Union<F, G> {
    filler: Filler,
    mine: F,
    theirs: G,
    rejuvenated: u64,
}

impl<'a, E, F, G> Union<F, G>
where
    F: FnMut(&Prefix) -> Result<Vec<KeyWords<'a, Vec<u8>>>, E>,
    G: FnMut(&Prefix) -> Result<Vec<KeyWords<'a, Vec<u8>>>, E>,
{
    fn fill<A: AsRef<[u8]>, B: AsRef<[u8]>>(
        mut self,
        one: &AdaptiveFilter<A>,
        other: &AdaptiveFilter<B>,
    ) -> Result<Grown, FillError<E>> {
        let (mut one, mut other) = (one.iter().peekable(), other.iter().peekable());
        loop {
            match (one.peek(), other.peek()) {
                (None, None) => break,
                (Some(a), Some(b)) if a.prefix.overlaps(&b.prefix) => {
                    if a == b && a.prefix.len() >= self.filler.strings.position_bits() {
                        self.filler.push(&a.prefix, a.prefix.len(), a.tag)?;
                        one.next();
                        other.next();
                    } else {
                        let root =
                            if a.prefix.len() <= b.prefix.len() { &a.prefix } else { &b.prefix }.clone();
                        self.cut_anew(&root, under(&root, &mut one), under(&root, &mut other))?;
                    }
                }
                (Some(a), b) if b.is_none_or(|b| a.prefix < b.prefix) => {
                    let renewed =
                        one.next().map(|next| push_or_renew(&mut self.filler, next, &mut self.mine));
                    self.rejuvenated += u64::from(renewed.transpose()?.unwrap_or(false));
                }
                _ => {
                    let renewed =
                        other.next().map(|next| push_or_renew(&mut self.filler, next, &mut self.theirs));
                    self.rejuvenated += u64::from(renewed.transpose()?.unwrap_or(false));
                }
            }
        }
        Ok(Grown { filled: self.filler.finish(), rejuvenated: self.rejuvenated })
    }

    /// Writes new fingerprints for all keys under a root, at least as long as those they had.
    fn cut_anew(
        &mut self,
        root: &Prefix,
        mine: Vec<Fingerprint>,
        theirs: Vec<Fingerprint>,
    ) -> Result<(), FillError<E>> {
        let fresh = self.filler.strings.bits_in(1);
        let member = |words: KeyWords<'a, Vec<u8>>, fingerprints: &[Fingerprint]| {
            let own = fingerprints.iter().find(|own| own.prefix.is_prefix_of(&words));
            let (len, tag) = own.map_or((0, 0), |own| (own.prefix.len(), own.tag));
            Member { words, tag, least: fresh.max(len) }
        };
        let my_keys = (self.mine)(root).map_err(FillError::Lookup)?;
        let their_keys = (self.theirs)(root).map_err(FillError::Lookup)?;
        let mut members: Vec<_> = my_keys.into_iter().map(|words| member(words, &mine)).collect();
        for words in their_keys {
            let their = member(words, &theirs);
            match members.iter_mut().find(|my| my.words.key() == their.words.key()) {
                Some(both) => both.least = both.least.max(their.least),
                None => members.push(their),
            }
        }
        self.filler.push_cut(&mut members, root.len())
    }
}

/// The next fingerprints, as long as they are under a root.
fn under(root: &Prefix, fingerprints: &mut Peekable<impl Iterator<Item = Fingerprint>>) -> Vec<Fingerprint> {
    std::iter::from_fn(|| fingerprints.next_if(|next| root.overlaps(&next.prefix))).collect()
}
