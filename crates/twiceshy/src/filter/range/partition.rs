//! Keys as partitions and suffixes.
//!
//! # The idea
//!
//! The codes of keys are cut into partitions of `2^m`. What is hashed is the number of the partition, and what is stored beside
//! the fingerprint are the suffixes of its keys, the lowest `m` bits of their codes. A query for a range asks for the fingerprint
//! of each partition that the range meets: two, if it is no longer than a partition. A point is a range of one.
//!
//! # Cost
//!
//! A hash and a lookup for every partition that a range meets.
//!
//! # Source
//!
//! Section 2.3 of *Aeris Filter*, after *Memento Filter*.

use std::ops::RangeInclusive;

use crate::bits::word::low_mask;
use crate::error::BuildError;
use crate::filter::range::RangeKey;
use crate::filter::settings::in_range;

/// The most bits of a suffix: ranges of up to 65,536 keys lie in two partitions.
pub(crate) const MOST_SUFFIX_BITS: u32 = 16;

/// Ranges of this many keys if nothing else is said.
pub(crate) const DEFAULT_MAX_RANGE: u64 = 64;

/// Ranges that meet up to so many partitions are looked up if nothing else is said.
pub(crate) const DEFAULT_MAX_PARTITIONS: u32 = 64;

/// How codes are cut.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Cut {
    code_bits: u8,
    suffix_bits: u8,
    max_partitions: u16,
}

/// Some neighbouring keys of one partition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Part {
    pub(crate) partition: u128,
    pub(crate) suffixes: RangeInclusive<u16>,
}

impl Cut {
    /// For codes of so many bits: ranges of up to `max_range` keys meet two partitions at most, and those that meet more than
    /// `max_partitions` are not looked up.
    pub(crate) fn new(code_bits: u32, max_range: u64, max_partitions: u32) -> Result<Self, BuildError> {
        let (min, max) = (1, 1 << MOST_SUFFIX_BITS.min(code_bits));
        if !(min..=max).contains(&max_range) {
            return Err(BuildError::OutOfRange { what: "max_range", min, max, found: max_range });
        }
        let suffix_bits = max_range.next_power_of_two().trailing_zeros();
        let max_partitions = in_range("max_partitions", max_partitions, 2, u16::MAX.into())?;
        Ok(Self {
            code_bits: code_bits as u8,
            suffix_bits: suffix_bits as u8,
            max_partitions: max_partitions as u16,
        })
    }

    /// The bytes of a file that say how codes are cut.
    pub(crate) fn to_bytes(self) -> [u8; 4] {
        let [low, high] = self.max_partitions.to_le_bytes();
        [self.code_bits, self.suffix_bits, low, high]
    }

    /// What these bytes say; `None` if they make no sense.
    pub(crate) fn from_bytes([code_bits, suffix_bits, low, high]: [u8; 4]) -> Option<Self> {
        let max_partitions = u16::from_le_bytes([low, high]);
        let is_sound = (1..=128).contains(&code_bits)
            && suffix_bits <= code_bits.min(MOST_SUFFIX_BITS as u8)
            && max_partitions >= 2;
        is_sound.then_some(Self { code_bits, suffix_bits, max_partitions })
    }

    #[inline(always)]
    pub(crate) fn code_bits(self) -> u32 {
        self.code_bits.into()
    }

    #[inline(always)]
    pub(crate) fn suffix_bits(self) -> u32 {
        self.suffix_bits.into()
    }

    /// The longest range that meets two partitions at most.
    pub(crate) fn max_range(self) -> u64 {
        1 << self.suffix_bits
    }

    /// Ranges that meet more partitions are not looked up.
    pub(crate) fn max_partitions(self) -> u32 {
        self.max_partitions.into()
    }

    /// Partition and suffix of a code.
    #[inline(always)]
    pub(crate) fn split(self, code: u128) -> (u128, u16) {
        let bits = self.suffix_bits();
        (code >> bits, (code as u64 & low_mask(bits)) as u16)
    }

    /// [`split`](Self::split) of a key of a type whose codes may have few bits: in fewer steps.
    #[inline(always)]
    pub(crate) fn split_of<K: RangeKey + ?Sized>(self, code: u128) -> (u128, u16) {
        if K::CODE_BITS > 64 {
            return self.split(code);
        }
        let code = code as u64;
        ((code >> self.suffix_bits()).into(), (code & low_mask(self.suffix_bits())) as u16)
    }

    /// The code of a partition and a suffix.
    #[cfg(test)]
    #[inline(always)]
    pub(crate) fn join(self, partition: u128, suffix: u16) -> u128 {
        partition.unbounded_shl(self.suffix_bits()) | u128::from(suffix)
    }

    /// Whether a range of codes meets more partitions than are looked up.
    #[inline(always)]
    pub(crate) fn is_too_long(self, codes: &RangeInclusive<u128>) -> bool {
        self.split(*codes.end()).0 - self.split(*codes.start()).0 >= self.max_partitions.into()
    }

    /// What a range of codes, which has some, is in each partition that it meets.
    #[inline(always)]
    pub(crate) fn parts(self, codes: &RangeInclusive<u128>) -> impl Iterator<Item = Part> + Clone + use<> {
        let ((first, from), (last, to)) = (self.split(*codes.start()), self.split(*codes.end()));
        let most = low_mask(self.suffix_bits()) as u16;
        // Not up to `last + 1`, which may not be there.
        (first..=last).map(move |partition| {
            let from = if partition == first { from } else { 0 };
            let to = if partition == last { to } else { most };
            Part { partition, suffixes: from..=to }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_the_range_without_gaps() {
        for suffix_bits in 0..=8 {
            let cut = Cut::new(8, 1 << suffix_bits, 300).unwrap();
            assert_eq!(cut.suffix_bits(), suffix_bits);
            for start in 0..=255u128 {
                for end in start..=255 {
                    let parts: Vec<Part> = cut.parts(&(start..=end)).collect();
                    let all = parts.iter().flat_map(|part| {
                        part.suffixes.clone().map(move |suffix| cut.join(part.partition, suffix))
                    });
                    assert!(all.eq(start..=end), "{start}..={end}: {parts:?}");
                    let limited = Cut { max_partitions: 3, ..cut };
                    assert_eq!(limited.is_too_long(&(start..=end)), parts.len() > 3);
                    assert!(end - start >= cut.max_range().into() || parts.len() <= 2);
                }
            }
        }
    }

    #[test]
    fn the_ends_of_the_largest_domain_are_parts() {
        let cut = Cut::new(128, 32, 2).unwrap();
        let end = u128::MAX - 40..=u128::MAX;
        assert_eq!(cut.parts(&end).map(|part| part.suffixes.len()).sum::<usize>(), 41);
        assert!(!cut.is_too_long(&end));
        assert!(cut.is_too_long(&(0..=u128::MAX)));
        assert!(Cut::new(128, 1, 65_535).unwrap().is_too_long(&(0..=u128::MAX)));
    }

    #[test]
    fn a_cut_is_read_as_it_was_written_and_nonsense_is_refused() {
        for (range, suffix_bits) in [(1, 0), (2, 1), (3, 2), (32, 5), (33, 6), (65_536, 16)] {
            let cut = Cut::new(64, range, 64).unwrap();
            assert_eq!(cut.suffix_bits(), suffix_bits);
            assert_eq!(Cut::from_bytes(cut.to_bytes()), Some(cut));
        }
        for (range, partitions) in [(0, 64), (65_537, 64), (32, 1), (32, 65_536)] {
            assert!(Cut::new(64, range, partitions).is_err());
        }
        assert!(Cut::new(8, 512, 64).is_err());
        for bytes in [[0, 0, 2, 0], [129, 0, 2, 0], [8, 9, 2, 0], [64, 17, 2, 0], [64, 5, 1, 0]] {
            assert_eq!(Cut::from_bytes(bytes), None);
        }
    }
}
