//! The suffixes of a box, apart from its slots: a bit for each that there can be, and how many copies those have that have
//! more than one.
//!
//! All that is done with a box of many keys is done a word at a time, so that a box of thousands is no slower to read and to
//! write than its bits.

use crate::bits::word::{high_mask, low_mask};

/// Suffixes with their copies.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Multiset {
    /// A bit for each suffix.
    words: Vec<u64>,
    /// Suffixes with more than one copy, in ascending order, and how many more.
    more: Vec<(u16, u64)>,
}

impl Multiset {
    /// No suffixes, of so many bits.
    pub(crate) fn new(suffix_bits: u32) -> Self {
        Self { words: vec![0; (1usize << suffix_bits).div_ceil(64)], more: Vec::new() }
    }

    pub(crate) fn clear(&mut self) {
        self.words.fill(0);
        self.more.clear();
    }

    pub(super) fn contains(&self, suffix: u16) -> bool {
        self.words[usize::from(suffix) / 64] >> (suffix % 64) & 1 == 1
    }

    /// How many copies there are.
    pub(crate) fn count(&self, suffix: u16) -> u64 {
        let more = self.more.binary_search_by_key(&suffix, |(suffix, _)| *suffix);
        u64::from(self.contains(suffix)) + more.map_or(0, |at| self.more[at].1)
    }

    /// Adds copies, at least one; of one suffix there are never more than fit 64 bits. Tells whether there were none.
    pub(crate) fn add(&mut self, suffix: u16, copies: u64) -> bool {
        let is_new = !self.contains(suffix);
        self.words[usize::from(suffix) / 64] |= 1 << (suffix % 64);
        let more = copies - u64::from(is_new);
        if more > 0 {
            match self.more.binary_search_by_key(&suffix, |(suffix, _)| *suffix) {
                Ok(at) => self.more[at].1 = self.more[at].1.saturating_add(more).min(u64::MAX - 1),
                Err(at) => self.more.insert(at, (suffix, more)),
            }
        }
        is_new
    }

    /// Takes a copy away; `false` if there is none.
    pub(crate) fn take(&mut self, suffix: u16) -> bool {
        if !self.contains(suffix) {
            return false;
        }
        match self.more.binary_search_by_key(&suffix, |(suffix, _)| *suffix) {
            Ok(at) if self.more[at].1 == 1 => drop(self.more.remove(at)),
            Ok(at) => self.more[at].1 -= 1,
            Err(_) => self.words[usize::from(suffix) / 64] &= !(1 << (suffix % 64)),
        }
        true
    }

    /// How many different suffixes there are.
    pub(super) fn distinct(&self) -> u32 {
        self.words.iter().map(|word| word.count_ones()).sum()
    }

    pub(super) fn has_copies(&self) -> bool {
        !self.more.is_empty()
    }

    /// All copies of all suffixes; `None` if they do not fit 64 bits.
    pub(crate) fn len(&self) -> Option<u64> {
        let more = self.more.iter().try_fold(0u64, |sum, (_, more)| sum.checked_add(*more));
        more?.checked_add(self.distinct().into())
    }

    /// The first suffix from `from` on that is there, or, without `is_member`, that is not.
    pub(crate) fn next(&self, from: u32, is_member: bool) -> Option<u16> {
        let flip = if is_member { 0 } else { u64::MAX };
        let mut at = from as usize / 64;
        let mut word = (self.words.get(at)? ^ flip) & high_mask(from % 64);
        while word == 0 {
            at += 1;
            word = self.words.get(at)? ^ flip;
        }
        Some((at * 64) as u16 + word.trailing_zeros() as u16)
    }

    /// The smallest and the largest.
    pub(super) fn ends(&self) -> Option<(u16, u16)> {
        let last = self.words.iter().rposition(|word| *word != 0)?;
        let high = last as u32 * 64 + self.words[last].ilog2();
        Some((self.next(0, true)?, high as u16))
    }

    /// The bits of up to 64 suffixes from `from` on, the lowest first.
    pub(super) fn bits(&self, from: u32, len: u32) -> u64 {
        let (at, skip) = (from as usize / 64, from % 64);
        let word = |at: usize| self.words.get(at).copied().unwrap_or(0);
        (word(at) >> skip | word(at + 1).unbounded_shl(64 - skip)) & low_mask(len)
    }

    /// Adds the suffixes from `from` on whose bits are set.
    pub(super) fn set_bits(&mut self, from: u32, bits: u64) {
        let (at, skip) = (from as usize / 64, from % 64);
        self.words[at] |= bits << skip;
        let above = bits.unbounded_shr(64 - skip);
        if above != 0 {
            self.words[at + 1] |= above;
        }
    }

    /// Takes out a suffix that has one copy.
    pub(super) fn unset(&mut self, suffix: u16) {
        self.words[usize::from(suffix) / 64] &= !(1 << (suffix % 64));
    }

    /// All suffixes in ascending order, with their copies.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (u16, u64)> {
        let mut more = self.more.iter().peekable();
        let mut from = 0;
        std::iter::from_fn(move || {
            let suffix = self.next(from, true)?;
            from = u32::from(suffix) + 1;
            let copies = more.next_if(|(other, _)| *other == suffix).map_or(0, |(_, more)| *more);
            Some((suffix, 1 + copies))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;
    use twiceshy_testkit::Random;

    #[test]
    fn a_multiset_is_a_map_of_counts() {
        let mut random = Random(1);
        for suffix_bits in [0, 1, 5, 6, 7, 10, 16] {
            let (mut set, mut model) = (Multiset::new(suffix_bits), BTreeMap::<u16, u64>::new());
            for _ in 0..400 {
                let suffix = random.below(1 << suffix_bits) as u16;
                if random.below(3) == 0 {
                    let had = model.contains_key(&suffix);
                    assert_eq!(set.take(suffix), had);
                    if let Some(count) = model.get_mut(&suffix) {
                        *count -= 1;
                    }
                    model.retain(|_, count| *count > 0);
                } else {
                    let copies = 1 + random.below(4) / 3 * random.below(1 << 40);
                    assert_eq!(set.add(suffix, copies), !model.contains_key(&suffix));
                    *model.entry(suffix).or_insert(0) += copies;
                }
                assert!(set.iter().eq(model.iter().map(|(&suffix, &count)| (suffix, count))));
                assert_eq!(set.len(), Some(model.values().sum()));
                assert_eq!(set.count(suffix), model.get(&suffix).copied().unwrap_or(0));
                let ends = model.keys().next().zip(model.keys().next_back());
                assert_eq!(set.ends(), ends.map(|(low, high)| (*low, *high)));
                let from = random.below(1 << suffix_bits) as u32;
                for len in [1, 7, 64] {
                    let bits = (0..len).rev().fold(0, |bits, i| {
                        let suffix = u16::try_from(from + i).ok();
                        bits << 1 | u64::from(suffix.is_some_and(|suffix| model.contains_key(&suffix)))
                    });
                    assert_eq!(set.bits(from, len), bits);
                }
            }
        }
    }
}
