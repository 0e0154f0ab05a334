//! A finite string of bits: how a hash begins.

use std::cmp::Ordering;
use std::fmt;

use crate::bits::word::low_mask;
use crate::hash::Words;

/// The first bits of a hash: a fingerprint, written out.
///
/// A filter that adapts stores prefixes of hashes, and [`query`](crate::AdaptiveFilter::query) tells which
/// one a key has met. The keys under it are those with [`first_words`](Self::first_words) in the reverse map
/// for which [`covers`](Self::covers) holds.
///
/// Prefixes are in the order of their bits; a prefix comes before its continuations.
///
/// ```
/// use twiceshy::Prefix;
///
/// let prefix = Prefix::from_bits(0b1011, 4);
/// assert_eq!(prefix.len(), 4);
/// assert_eq!(prefix.to_string(), "1011");
/// assert_eq!(prefix.first_words(), 0xb000_0000_0000_0000..=0xbfff_ffff_ffff_ffff);
/// ```
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Prefix {
    /// Bits after the end are 0.
    first: u64,
    /// The words after the first, for prefixes of more than 64 bits.
    rest: Vec<u64>,
    len: u32,
}

impl Prefix {
    /// The prefix of the lowest `len` (at most 64) bits of `bits`, highest first.
    pub fn from_bits(bits: u64, len: u32) -> Self {
        let len = len.min(64);
        let first = if len == 0 { 0 } else { bits << (64 - len) };
        Self { first, rest: Vec::new(), len }
    }

    /// The first `len` bits of a string.
    #[inline(always)]
    pub(crate) fn of(words: &impl Words, len: u32) -> Self {
        if len <= 64 {
            return Self { first: words.word(0) & !low_mask(64 - len), rest: Vec::new(), len };
        }
        let mut rest: Vec<u64> = (1..len.div_ceil(64)).map(|index| words.word(index)).collect();
        if let (Some(last), 1..) = (rest.last_mut(), len % 64) {
            *last &= !low_mask(64 - len % 64);
        }
        Self { first: words.word(0), rest, len }
    }

    /// How many bits it has.
    #[allow(clippy::len_without_is_empty, reason = "an empty prefix is nothing special")]
    pub fn len(&self) -> u32 {
        self.len
    }

    /// The words of its bits, highest first; those after the end are 0.
    pub fn words(&self) -> impl Iterator<Item = u64> {
        std::iter::once(self.first).chain(self.rest.iter().copied())
    }

    /// The first words that hashes with this prefix have: where to look in a reverse map.
    pub fn first_words(&self) -> std::ops::RangeInclusive<u64> {
        self.first..=self.first | low_mask(64 - self.len.min(64))
    }

    /// Whether the hash of a key begins like this, given the hasher that made the prefix.
    pub fn covers<K: crate::Key + ?Sized>(&self, hasher: &crate::Hasher, key: &K) -> bool {
        self.is_prefix_of(&crate::hash::KeyWords::new(hasher, key))
    }

    /// Whether a string begins like this.
    #[inline(always)]
    pub(crate) fn is_prefix_of(&self, words: &impl Words) -> bool {
        self.common_bits(words, self.len) == self.len
    }

    /// Whether one of two prefixes is a prefix of the other.
    #[inline(always)]
    pub(crate) fn overlaps(&self, other: &Self) -> bool {
        let len = self.len.min(other.len);
        self.common_bits(other, len) == len
    }

    /// What follows its first `len` bits, of which it has at least as many.
    pub(crate) fn after(&self, len: u32) -> Self {
        let mut rest = Self::from_bits(0, 0);
        (len..self.len).step_by(64).for_each(|at| {
            let bits = (self.len - at).min(64);
            rest.push(self.window(at, bits), bits);
        });
        rest
    }

    /// Appends the lowest `len` bits of `bits`, all others of which are 0.
    pub(crate) fn push(&mut self, bits: u64, len: u32) {
        if len == 0 {
            return;
        }
        let (skip, bits) = (self.len % 64, bits << (64 - len));
        if self.len < 64 {
            self.first |= bits >> skip;
        } else if skip == 0 {
            self.rest.push(bits);
        } else if let Some(last) = self.rest.last_mut() {
            *last |= bits >> skip;
        }
        if skip + len > 64 {
            self.rest.push(bits << (64 - skip));
        }
        self.len += len;
    }
}

/// Behind its end a prefix goes on with zeros.
impl Words for Prefix {
    #[inline(always)]
    fn word(&self, index: u32) -> u64 {
        match index {
            0 => self.first,
            _ => self.rest.get(index as usize - 1).copied().unwrap_or(0),
        }
    }
}

impl Ord for Prefix {
    fn cmp(&self, other: &Self) -> Ordering {
        let words = self.first.cmp(&other.first).then_with(|| self.rest.cmp(&other.rest));
        words.then(self.len.cmp(&other.len))
    }
}

impl PartialOrd for Prefix {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// The bits as zeros and ones.
impl fmt::Display for Prefix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (0..self.len).try_for_each(|at| write!(f, "{}", self.window(at, 1)))
    }
}

impl fmt::Debug for Prefix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Prefix({self})")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hash::RawWords;

    #[test]
    fn prefixes_have_the_bits_of_their_string() {
        let words = RawWords(0x9e37_79b9_7f4a_7c15);
        for len in 0..300 {
            let prefix = Prefix::of(&words, len);
            let bits: String = (0..len).map(|at| words.window(at, 1).to_string()).collect();
            assert_eq!((prefix.to_string(), prefix.len()), (bits, len));
            assert!(prefix.is_prefix_of(&words));
            assert_eq!(prefix.words().count() as u32, len.div_ceil(64).max(1));
        }
    }

    #[test]
    fn pushed_bits_come_behind_the_others() {
        let words = RawWords(0x0123_4567_89ab_cdef);
        for step in 1..=64 {
            let mut prefix = Prefix::from_bits(0, 0);
            for at in (0..260).step_by(step as usize) {
                prefix.push(words.window(at, step), step);
                assert_eq!(prefix, Prefix::of(&words, at + step), "steps of {step}");
            }
        }
    }

    #[test]
    fn the_order_is_that_of_the_bits() {
        let all: Vec<Prefix> = ["", "0", "00", "000", "001", "01", "1", "10", "11"]
            .iter()
            .map(|bits| Prefix::from_bits(u64::from_str_radix(bits, 2).unwrap_or(0), bits.len() as u32))
            .collect();
        assert!(all.is_sorted_by(|one, other| one < other));
        let long = |len| Prefix::of(&Prefix::from_bits(1, 1), len);
        assert!(long(63) < long(64) && long(64) < long(65) && long(65) < long(129));
    }

    #[test]
    fn a_prefix_covers_the_hashes_that_begin_like_it() {
        for len in [0, 1, 8, 63, 64] {
            let (low, high) = Prefix::of(&RawWords(u64::MAX / 3), len).first_words().into_inner();
            let size = u128::from(high) - u128::from(low) + 1;
            assert_eq!(size, 1 << (64 - len), "{len} bits");
        }
        let (low, high) = Prefix::of(&RawWords(5), 100).first_words().into_inner();
        assert_eq!((low, high), (5, 5));
    }
}
