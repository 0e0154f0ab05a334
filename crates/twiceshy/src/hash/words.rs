//! Hashes as endless strings of bits, read a window at a time.
//!
//! Nearly every operation looks at the first 64 bits only, so those are at hand and the others are computed
//! when they are asked for.

use super::Hasher;
use crate::key::Key;

/// The most bits of a fingerprint. Different keys never agree that far, unless something is wrong with their
/// hashes.
pub(crate) const MAX_BITS: u32 = 1024;

/// An endless string of bits, in words of 64, each with its highest bit first.
pub trait Words {
    /// The bits `64 * index .. 64 * index + 64`.
    fn word(&self, index: u32) -> u64;

    /// The `len` bits (at most 64) from bit `at` on, as a number.
    #[inline(always)]
    fn window(&self, at: u32, len: u32) -> u64 {
        if len == 0 {
            return 0;
        }
        let (index, skip) = (at / 64, at % 64);
        let mut bits = self.word(index) << skip;
        if skip + len > 64 {
            bits |= self.word(index + 1) >> (64 - skip);
        }
        bits >> (64 - len)
    }

    /// How many bits, up to `limit`, two strings have in common before they differ.
    #[inline(always)]
    fn common_bits(&self, other: &impl Words, limit: u32) -> u32 {
        for index in 0..limit.div_ceil(64) {
            let differ = self.word(index) ^ other.word(index);
            if differ != 0 {
                return limit.min(64 * index + differ.leading_zeros());
            }
        }
        limit
    }
}

/// The hash of a key, which may be a reference, in the epoch that it is in.
pub struct KeyWords<'a, K> {
    hasher: &'a Hasher,
    key: K,
    first: u64,
}

impl<'a, K: Key> KeyWords<'a, K> {
    #[inline(always)]
    pub(crate) fn new(hasher: &'a Hasher, key: K) -> Self {
        let first = hasher.first_word_of(&key);
        Self { hasher, key, first }
    }

    /// For a key whose row is stored under this hash.
    #[inline(always)]
    pub(crate) fn stored_under(hasher: &'a Hasher, key: K, hash: u64) -> Self {
        Self::with_first(hasher, key, hasher.first_word(hash))
    }

    /// For a key whose first word in its epoch is known.
    #[inline(always)]
    pub(crate) fn with_first(hasher: &'a Hasher, key: K, first: u64) -> Self {
        Self { hasher, key, first }
    }
}

impl<K: Key> Words for KeyWords<'_, K> {
    #[inline(always)]
    fn word(&self, index: u32) -> u64 {
        if index == 0 {
            return self.first;
        }
        let word = self.hasher.word_bytes(self.key.key_bytes().as_ref(), index);
        self.hasher.fingerprint_word(self.first, index, word)
    }
}

/// Whether it is the same key.
impl<K: Key> PartialEq for KeyWords<'_, K> {
    fn eq(&self, other: &Self) -> bool {
        self.first == other.first && self.key.key_bytes().as_ref() == other.key.key_bytes().as_ref()
    }
}

/// A hash that a caller computed: its first 64 bits are given, and the others follow from them.
#[derive(Clone, Copy, PartialEq)]
pub(crate) struct RawWords(pub(crate) u64);

/// A hash that a caller computed, in the epoch that it is in.
#[derive(Clone, Copy)]
pub(crate) struct RawKeyWords<'a> {
    hasher: &'a Hasher,
    hash: u64,
    first: u64,
}

impl<'a> RawKeyWords<'a> {
    #[inline(always)]
    pub(crate) fn new(hasher: &'a Hasher, hash: u64) -> Self {
        Self { hasher, hash, first: hasher.first_word(hash) }
    }

    /// For a hash whose first word in its epoch is known.
    #[inline(always)]
    pub(crate) fn with_first(hasher: &'a Hasher, hash: u64, first: u64) -> Self {
        Self { hasher, hash, first }
    }
}

impl PartialEq for RawKeyWords<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.hash == other.hash
    }
}

impl Words for RawKeyWords<'_> {
    #[inline(always)]
    fn word(&self, index: u32) -> u64 {
        if index == 0 {
            return self.first;
        }
        self.hasher.fingerprint_word(self.first, index, RawWords(self.hash).word(index))
    }
}

impl<W: Words> Words for &W {
    #[inline(always)]
    fn word(&self, index: u32) -> u64 {
        (**self).word(index)
    }
}

impl Words for RawWords {
    #[inline(always)]
    fn word(&self, index: u32) -> u64 {
        if index == 0 { self.0 } else { super::word_seed(self.0, index) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn windows_are_the_bits_of_the_words() {
        let words = RawWords(0x0123_4567_89ab_cdef);
        let bit = |i: u32| words.word(i / 64) >> (63 - i % 64) & 1;
        for at in 0..200 {
            for len in 0..=64 {
                let expected = (at..at + len).fold(0, |bits, i| bits << 1 | bit(i));
                assert_eq!(words.window(at, len), expected, "{len} bits at {at}");
            }
        }
    }

    #[test]
    fn common_bits_end_where_strings_differ_or_at_the_limit() {
        let words = RawWords(7);
        assert_eq!(words.common_bits(&RawWords(7), 200), 200);
        assert_eq!(words.common_bits(&RawWords(7 | 1 << 63), 200), 0);
        assert_eq!(words.common_bits(&RawWords(6), 200), 63);
        assert_eq!(words.common_bits(&RawWords(6), 20), 20);
        assert_eq!(words.common_bits(&RawWords(6), 0), 0);
    }

    #[test]
    fn the_words_of_a_key_are_its_hash() {
        let hasher = Hasher::fast();
        let words = KeyWords::new(&hasher, "cat");
        for index in 0..5 {
            assert_eq!(words.word(index), hasher.word("cat", index));
        }
    }
}
