//! The model of a filter whose fingerprints have different lengths: a multiset of strings of bits. A key is found if one
//! of the strings is a prefix of its hash.

use std::cmp::Reverse;

use crate::Multiset;

/// Up to 128 bits at the top of a number, and how many they are. Strings with equal bits sort the shorter one first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct BitString {
    /// Below the string there are zeros.
    pub bits: u128,
    /// At most 128.
    pub len: u32,
}

impl BitString {
    /// The first `len` bits of a number.
    #[inline]
    pub fn new(bits: u128, len: u32) -> Self {
        let bits = if len == 0 { 0 } else { bits >> (128 - len) << (128 - len) };
        Self { bits, len }
    }

    /// A hash of 64 bits.
    #[inline]
    pub fn of_hash(hash: u64) -> Self {
        Self { bits: u128::from(hash) << 64, len: 64 }
    }

    /// What is written with the digits 0 and 1.
    ///
    /// # Panics
    ///
    /// If it is not, or has more than 128 digits.
    pub fn parse(digits: &str) -> Self {
        let len = digits.len() as u32;
        let number = if len == 0 { 0 } else { u128::from_str_radix(digits, 2).expect("digits 0 and 1") };
        Self { bits: number.unbounded_shl(128 - len), len }
    }

    /// Its first `len` bits, or all that it has.
    #[inline]
    pub fn cut(self, len: u32) -> Self {
        Self::new(self.bits, len.min(self.len))
    }

    /// Whether the other one begins with it.
    #[inline]
    pub fn is_prefix_of(self, other: Self) -> bool {
        self.len <= other.len && (self.bits ^ other.bits).leading_zeros() >= self.len
    }

    /// Filters sort strings as if each was followed by a one: after all that go on with a zero, and before all that go on
    /// with a one.
    #[inline]
    pub fn in_order(self) -> u128 {
        self.bits | (1u128 << 127).unbounded_shr(self.len)
    }
}

/// Strings of bits with their counts.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Strings(pub Multiset<BitString>);

impl Strings {
    /// The longest string that a hash begins with.
    pub fn longest(&self, hash: BitString) -> Option<BitString> {
        let matching = self.0.things().filter(|string| string.is_prefix_of(hash));
        matching.max_by_key(|string| string.len).copied()
    }

    /// Cuts whatever is longer.
    #[must_use]
    pub fn cut(self, len: u32) -> Self {
        Self(self.0.into_iter().map(|(string, count)| (string.cut(len), count)).collect())
    }

    /// Whether each of the hashes can have a string of its own that it begins with, and none is left over: the longest
    /// strings are given away first. Says what is wrong.
    pub fn belong_to(&self, hashes: impl IntoIterator<Item = BitString>) -> Result<(), String> {
        let mut free: Vec<_> = hashes.into_iter().collect();
        let mut strings: Vec<_> = self.0.iter().collect();
        strings.sort_by_key(|(string, _)| Reverse(string.len));
        for (string, count) in strings {
            for _ in 0..count {
                let owner = free.iter().position(|hash| string.is_prefix_of(*hash));
                let owner = owner.ok_or_else(|| format!("{string:x?} belongs to nobody"))?;
                free.swap_remove(owner);
            }
        }
        if free.is_empty() { Ok(()) } else { Err(format!("{} hashes have no string", free.len())) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn strings(digits: &[&str]) -> Strings {
        Strings(digits.iter().map(|digits| (BitString::parse(digits), 1)).collect())
    }

    #[test]
    fn a_string_is_its_digits() {
        let string = BitString::parse("101");
        assert_eq!(string, BitString::of_hash(0b1011 << 60).cut(3));
        assert_eq!((string.cut(0), string.cut(9)), (BitString::parse(""), string));
        assert!(BitString::parse("10").is_prefix_of(string) && BitString::parse("").is_prefix_of(string));
        assert!(
            !BitString::parse("11").is_prefix_of(string) && !BitString::parse("1010").is_prefix_of(string)
        );
        let full = BitString::parse(&"1".repeat(128));
        assert_eq!((full.bits, full.len, full.in_order()), (u128::MAX, 128, u128::MAX));
        let mut sorted = ["1", "", "01", "0", "00", "10", "11"].map(BitString::parse);
        sorted.sort_by_key(|string| string.in_order());
        assert_eq!(sorted, ["00", "0", "01", "", "10", "1", "11"].map(BitString::parse));
    }

    #[test]
    fn the_longest_prefix_is_found_and_cutting_adds_counts_up() {
        let all = strings(&["1", "101", "10", "0"]);
        assert_eq!(all.longest(BitString::of_hash(0b1010 << 60)), Some(BitString::parse("101")));
        assert_eq!(all.longest(BitString::of_hash(0b1100 << 60)), Some(BitString::parse("1")));
        assert_eq!(strings(&["1"]).longest(BitString::of_hash(0)), None);
        let cut = all.cut(1).0;
        assert_eq!((cut.total(), cut.distinct(), cut.count(&BitString::parse("1"))), (4, 2, 3));
    }

    #[test]
    fn every_string_belongs_to_somebody_or_it_is_told() {
        let hashes = || [0b1010u64, 0b1011, 0b0111].map(|hash| BitString::of_hash(hash << 60));
        assert_eq!(strings(&["1", "101", "0"]).belong_to(hashes()), Ok(()));
        assert!(strings(&["1", "101"]).belong_to(hashes()).unwrap_err().contains("1 hashes"));
        assert!(strings(&["1", "100", "0"]).belong_to(hashes()).unwrap_err().contains("nobody"));
    }
}
