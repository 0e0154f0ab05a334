//! Hashes that are bad on purpose: few different bits, and those in the wrong places. With them long runs, full spill
//! areas, nested fingerprints and keys that can hardly be told apart come up all the time.
//!
//! [`SPREADS`] are for whoever hashes himself, [`WORDS`] for filters that hash their keys.

use crate::random::scatter;

/// How a number becomes a raw hash.
pub type Spread = fn(u64) -> u64;

const EVEN: u64 = 0x9e37_79b9_7f4a_7c15;

/// Ways to make raw hashes of random numbers, with their names.
pub const SPREADS: [(&str, Spread); 7] = [
    ("even", |n| n.wrapping_mul(EVEN)),
    ("constant quotient", |n| n.wrapping_mul(EVEN) >> 6),
    ("last quotients", |n| !(n.wrapping_mul(EVEN) >> 7)),
    ("six bits", |n| n << 58),
    ("three hashes", |n| (n % 3) << 62),
    ("nested", |n| u64::MAX << (n % 64)),
    ("sparse", |n| (n & 7) << 61 | (n >> 3 & 3) << 55),
];

/// A hash function: the word with this index, of 64 bits, of the endless string of bits that a key hashes to.
pub type Word = fn(key: &[u8], index: u32) -> u64;

/// Hash functions with their names. In all but [`identity`] only the first word is bad: keys can be told apart, if one
/// looks far enough.
pub const WORDS: [(&str, Word); 7] = [
    ("good", good),
    ("eight bits", eight_bits),
    ("three bits", three_bits),
    ("constant", constant),
    ("identity", identity),
    ("six bits at the end of the first word", six_bits_at_the_end),
    ("last quotients", last_quotients),
];

/// Good enough for tests, in all words.
pub fn good(key: &[u8], index: u32) -> u64 {
    let start = scatter(u64::from(index) << 32 | key.len() as u64);
    key.iter().fold(start, |hash, &byte| scatter(hash ^ u64::from(byte) << 56))
}

fn first(key: &[u8], index: u32, word: impl FnOnce() -> u64) -> u64 {
    if index == 0 { word() } else { good(key, index) }
}

/// The first word differs in its first eight bits only.
pub fn eight_bits(key: &[u8], index: u32) -> u64 {
    first(key, index, || good(key, 0) & 0xff << 56)
}

/// The first word differs in its first three bits only.
pub fn three_bits(key: &[u8], index: u32) -> u64 {
    first(key, index, || good(key, 0) & 0b111 << 61)
}

/// The first word is always the same.
pub fn constant(key: &[u8], index: u32) -> u64 {
    first(key, index, || 0x5555_5555_5555_5555)
}

/// The first two bytes of the key, and nothing else ever.
pub fn identity(key: &[u8], index: u32) -> u64 {
    let byte = |at: usize| u64::from(key.get(at).copied().unwrap_or(0));
    if index == 0 { byte(0) << 56 | byte(1) << 48 } else { 0 }
}

/// The first word differs in its last six bits only.
pub fn six_bits_at_the_end(key: &[u8], index: u32) -> u64 {
    first(key, index, || good(key, 0) >> 58)
}

/// The first word begins with seven ones: everything belongs to the end of a table.
pub fn last_quotients(key: &[u8], index: u32) -> u64 {
    first(key, index, || !(good(key, 0) >> 7))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    fn first_words(word: Word) -> BTreeSet<u64> {
        (0..400u16).map(|key| word(&key.to_le_bytes(), 0)).collect()
    }

    #[test]
    fn hash_functions_are_as_weak_as_they_say() {
        let different =
            [good as Word, eight_bits, three_bits, constant, identity].map(|word| first_words(word).len());
        assert!(different[0] == 400 && (150..=256).contains(&different[1]), "{different:?}");
        assert_eq!(different[2..], [8, 1, 400]);
        assert!(first_words(six_bits_at_the_end).iter().all(|word| word >> 6 == 0));
        assert!(first_words(last_quotients).iter().all(|word| word >> 57 == 0x7f));
    }

    #[test]
    fn keys_of_any_length_hash_and_can_be_told_apart_later_on() {
        for (name, word) in WORDS {
            let keys = [&b""[..], b"\0", b"\0\0", b"\0\0\0", b"a", &[7; 1000]];
            let later: BTreeSet<u64> = keys.iter().map(|key| word(key, 1)).collect();
            assert_eq!(later.len(), if name == "identity" { 1 } else { 6 }, "{name}");
        }
    }
}
