//! Growing and shrinking: moving bits between the slots and the position.
//!
//! Fingerprints stay as they are. Only those that are shorter than the new quotient, because they were made
//! many doublings ago, have no place in the new table: the keys under them are looked up and get fresh
//! length. That is a fraction of about `2^-r` of all fingerprints per doubling.

use super::adapt::keys_under;
use super::cut::Member;
use super::fill::{FillError, Filled, Filler};
use super::iter::Fingerprint;
use super::{AdaptiveFilter, Growth, slot_limit};
use crate::bits::cpu::{Cpu, Kernel, dispatch};
use crate::bits::word::low_mask;
use crate::error::{OutOfMemory, RebuildError};
use crate::hash::Words;
use crate::key::Key;
use crate::prefix::Prefix;
use crate::table::Shape;

impl AdaptiveFilter {
    /// Doubles the number of slots. `keys_under` is asked for the keys of those fingerprints that ran out of
    /// bits: all keys in the set whose hashes begin with the prefix; others that it gives are ignored. If it
    /// fails, nothing has changed.
    ///
    /// ```
    /// use twiceshy::{AdaptiveFilter, error::InsertError};
    ///
    /// let mut filter = AdaptiveFilter::builder().capacity(10).build()?;
    /// let mut keys: Vec<u64> = Vec::new();
    /// for key in 0..1_000u64 {
    ///     while let Err(InsertError::NeedsGrow { .. }) = filter.insert(&key) {
    ///         let hasher = filter.hasher().clone();
    ///         filter.grow(|prefix| {
    ///             Ok::<_, std::io::Error>(keys.iter().filter(|key| prefix.covers(&hasher, *key)).collect::<Vec<_>>())
    ///         })?;
    ///     }
    ///     keys.push(key);
    /// }
    /// assert!((0..1_000u64).all(|key| filter.contains(&key)));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn grow<Y: Key, I: IntoIterator<Item = Y>, E>(
        &mut self,
        keys_under: impl FnMut(&Prefix) -> Result<I, E>,
    ) -> Result<(), RebuildError<E>> {
        *self = self.grown(keys_under)?;
        Ok(())
    }

    /// What [`grow`](Self::grow) would make of this filter, which others can go on asking meanwhile.
    pub fn grown<Y: Key, I: IntoIterator<Item = Y>, E>(
        &self,
        mut keys_under: impl FnMut(&Prefix) -> Result<I, E>,
    ) -> Result<Self, RebuildError<E>> {
        let grown = self.larger_table(|filter, prefix| {
            Ok(self::keys_under(&filter.hasher, prefix, keys_under(prefix)?))
        })?;
        Ok(self.with_grown(grown))
    }

    /// [`grow`](Self::grow) for callers who hash themselves; see
    /// [`contains_hash`](Self::contains_hash).
    pub fn grow_hashes<I: IntoIterator<Item = u64>, E>(
        &mut self,
        mut hashes_under: impl FnMut(&Prefix) -> Result<I, E>,
    ) -> Result<(), RebuildError<E>> {
        let grown = self.larger_table(|_, prefix| {
            let words = hashes_under(prefix)?.into_iter().map(crate::hash::RawWords);
            Ok(words.filter(|words| prefix.is_prefix_of(words)).collect::<Vec<_>>())
        })?;
        *self = self.with_grown(grown);
        Ok(())
    }

    /// A larger table with the same contents.
    pub(super) fn larger_table<'a, W: Words + 'a, E>(
        &'a self,
        mut words_under: impl FnMut(&'a Self, &Prefix) -> Result<Vec<W>, E>,
    ) -> Result<Grown, RebuildError<E>> {
        self.fill_from(
            self.quotient_bits() + 1,
            |bits| self.shape_for(bits),
            |size| self.repack(size, |prefix| words_under(self, prefix)),
        )
    }

    /// This filter with another table that holds the same keys.
    pub(super) fn with_grown(&self, Grown { filled, rejuvenated }: Grown) -> Self {
        let mut counters = self.counters;
        let bits = filled.table.shape().quotient_bits();
        counters.growths += u64::from(bits.saturating_sub(self.quotient_bits()));
        counters.rejuvenated += rejuvenated;
        let mut grown = self.with_table(filled.table);
        (grown.has_stop, grown.entries, grown.counters) = (filled.has_stop, filled.entries, counters);
        grown.set_len(grown.len);
        grown.versions.bump_all();
        grown
    }

    /// Shrinks to the smallest number of slots that holds the contents, giving the bits back to the slots.
    /// Nothing is forgotten, and the filter can grow again.
    ///
    /// A filter that could not come back to its size stays as it is: one that [refuses](Growth::Refuse) to grow, and one
    /// with [`max_bytes`](Growth::Grow) that would be too large with the bit more for every slot that a filter needs once it
    /// was resized. Call [`set_growth`](Self::set_growth) first if that is what you want.
    pub fn shrink_to_fit(&mut self) -> Result<(), OutOfMemory> {
        let back = self.shape_for(self.quotient_bits());
        let may_come_back = self.growth != Growth::Refuse
            && (!self.may_have(self.table.shape()) || back.is_some_and(|(shape, _)| self.may_have(&shape)));
        if !may_come_back {
            return Ok(());
        }
        let fits =
            |bits: &u32| self.shape_for(*bits).is_some_and(|(shape, _)| self.entries <= slot_limit(&shape));
        for quotient_bits in (1..self.quotient_bits()).filter(fits).collect::<Vec<_>>() {
            let Some(size) = self.shape_for(quotient_bits) else { continue };
            // Quotients get shorter, so no fingerprint is too short for them.
            let nobody = |_: &Prefix| Ok::<Vec<Prefix>, std::convert::Infallible>(Vec::new());
            match self.repack(size, nobody) {
                Ok(shrunk) => {
                    *self = self.with_grown(shrunk);
                    return Ok(());
                }
                Err(FillError::Memory(error)) => return Err(error),
                Err(_) => {}
            }
        }
        Ok(())
    }

    /// Writes all entries into a table of another size.
    fn repack<W: Words, E>(
        &self,
        size: (Shape, bool),
        mut words_under: impl FnMut(&Prefix) -> Result<Vec<W>, E>,
    ) -> Result<Grown, FillError<E>> {
        let mut filler = Filler::new(size, self.most_bytes())?;
        let rejuvenated = self.move_to(&mut filler, &mut words_under)?;
        Ok(Grown { filled: filler.finish(), rejuvenated })
    }

    /// Appends all entries to a table that is being filled. Tells how many got fresh length.
    pub(super) fn move_to<W: Words, E>(
        &self,
        filler: &mut Filler,
        words_under: &mut impl FnMut(&Prefix) -> Result<Vec<W>, E>,
    ) -> Result<u64, FillError<E>> {
        dispatch(MoveTo { filter: self, filler, words_under, marker: std::marker::PhantomData })
    }
}

/// A table of another size.
pub(super) struct Grown {
    pub(super) filled: Filled,
    /// How many fingerprints got fresh length.
    pub(super) rejuvenated: u64,
}

struct MoveTo<'a, F, W, E> {
    filter: &'a AdaptiveFilter,
    filler: &'a mut Filler,
    words_under: &'a mut F,
    marker: std::marker::PhantomData<(W, E)>,
}

impl<W: Words, E, F: FnMut(&Prefix) -> Result<Vec<W>, E>> Kernel for MoveTo<'_, F, W, E> {
    type Output = Result<u64, FillError<E>>;
    #[inline(always)]
    fn run<C: Cpu>(self, _: C) -> Self::Output {
        let Self { filter, filler, words_under, .. } = self;
        let (table, strings) = (&filter.table, filter.strings());
        let single = Single::new(filter, filler);
        let mut rejuvenated = 0;
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
                let (prefix, tag) = (strings.prefix(table, quotient, &entry), strings.tag(table, &entry));
                rejuvenated += u64::from(push_or_renew(filler, Fingerprint { prefix, tag }, words_under)?);
            }
        }
        Ok(rejuvenated)
    }
}

/// Appends a fingerprint. If it is too short for the quotients of the new table, the keys under it get new
/// ones, and the answer is `true`.
pub(super) fn push_or_renew<W: Words, E>(
    filler: &mut Filler,
    Fingerprint { prefix, tag }: Fingerprint,
    words_under: &mut impl FnMut(&Prefix) -> Result<Vec<W>, E>,
) -> Result<bool, FillError<E>> {
    let fresh = filler.strings.bits_in(1);
    if prefix.len() >= filler.strings.position_bits() {
        filler.push(&prefix, prefix.len(), tag)?;
        return Ok(false);
    }
    let words = words_under(&prefix).map_err(FillError::Lookup)?;
    let mut members: Vec<_> = words.into_iter().map(|words| Member { words, tag, least: fresh }).collect();
    filler.push_cut(&mut members, prefix.len())?;
    Ok(true)
}

/// How an entry of a single slot moves to another table: some arithmetic, for speed.
struct Single {
    /// Bits that the old quotient lacks; none if the new quotient is not longer.
    more: u32,
    has_stop: bool,
    slot_bits: u32,
    new_slot_bits: u32,
    /// Whether the new table has stop bits.
    possible: bool,
}

impl Single {
    fn new(filter: &AdaptiveFilter, filler: &Filler) -> Self {
        let (old, new) = (filter.strings().position_bits(), filler.strings.position_bits());
        Self {
            more: new.saturating_sub(old),
            has_stop: filter.has_stop,
            slot_bits: filter.slot_bits(),
            new_slot_bits: filler.strings.slot_bits(),
            possible: new >= old && filler.strings.has_stop() && filter.slot_bits() < 63,
        }
    }

    /// The new quotient and slot; `None` if it is not as simple as that.
    #[inline(always)]
    fn moved(&self, quotient: u64, slot: u64) -> Option<(u64, u64)> {
        // The string with its stop bit, in as many bits as a slot has with one.
        let (string, bits) =
            if self.has_stop { (slot, self.slot_bits) } else { (slot << 1 | 1, self.slot_bits + 1) };
        let rest_bits = bits.checked_sub(self.more)?;
        let rest = string & low_mask(rest_bits);
        if !self.possible || rest == 0 {
            return None;
        }
        let value = match self.new_slot_bits.checked_sub(rest_bits) {
            Some(shift) => rest << shift,
            // Only zeros behind the stop bit may fall off.
            None if rest.trailing_zeros() >= rest_bits - self.new_slot_bits => {
                rest >> (rest_bits - self.new_slot_bits)
            }
            None => return None,
        };
        Some((quotient << self.more | string >> rest_bits, value))
    }
}
