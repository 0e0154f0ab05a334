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

use std::marker::PhantomData;
use std::ops::RangeInclusive;

use super::RangeKey;
use crate::bits::word::{in_two_registers, low_mask};
use crate::error::{BuildError, ReadError};
use crate::filter::settings::in_range;
use crate::key::Key;
use crate::persist::expect;

/// The most bits of a suffix: ranges of up to 65,536 keys lie in two partitions.
pub(crate) const MOST_SUFFIX_BITS: u32 = 16;

/// Ranges of this many keys if nothing else is said: 64, unless there are fewer keys.
pub(crate) const fn default_max_range<K: RangeKey + ?Sized>() -> u64 {
    if K::CODE_BITS < 6 { 1 << K::CODE_BITS } else { 64 }
}

/// Ranges that meet up to so many partitions are looked up if nothing else is said.
pub(crate) const DEFAULT_MAX_PARTITIONS: u32 = 64;

/// How codes are cut.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Cut {
    code_bits: u8,
    suffix_bits: u8,
    max_partitions: u16,
    /// All ones.
    last_suffix: u16,
}

/// Some neighbouring keys of one partition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Part {
    pub(crate) partition: u128,
    pub(crate) suffixes: RangeInclusive<u16>,
}

/// The number of a partition, as it is hashed: as eight bytes where codes have no more, and else as sixteen.
pub struct Partition<K: ?Sized> {
    number: u128,
    keys: PhantomData<fn(&K)>,
}

impl<K: ?Sized> Partition<K> {
    #[inline(always)]
    pub(crate) fn new(number: u128) -> Self {
        Self { number, keys: PhantomData }
    }

    #[inline(always)]
    pub(crate) fn number(self) -> u128 {
        self.number
    }
}

impl<K: ?Sized> Clone for Partition<K> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<K: ?Sized> Copy for Partition<K> {}

/// The bytes of a [`Partition`]; which of the two is known when it is compiled.
enum Bytes {
    Eight([u8; 8]),
    Sixteen([u8; 16]),
}

impl AsRef<[u8]> for Bytes {
    #[inline(always)]
    fn as_ref(&self) -> &[u8] {
        match self {
            Self::Eight(bytes) => bytes,
            Self::Sixteen(bytes) => bytes,
        }
    }
}

impl<K: RangeKey + ?Sized> Key for Partition<K> {
    #[inline(always)]
    fn key_bytes(&self) -> impl AsRef<[u8]> {
        match K::CODE_BITS {
            ..=64 => Bytes::Eight((self.number as u64).to_le_bytes()),
            _ => Bytes::Sixteen(in_two_registers(self.number).to_le_bytes()),
        }
    }
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
        Ok(Self::of(code_bits as u8, suffix_bits as u8, max_partitions as u16))
    }

    fn of(code_bits: u8, suffix_bits: u8, max_partitions: u16) -> Self {
        let last_suffix = low_mask(suffix_bits.into()) as u16;
        Self { code_bits, suffix_bits, max_partitions, last_suffix }
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
        is_sound.then(|| Self::of(code_bits, suffix_bits, max_partitions))
    }

    #[inline(always)]
    pub(crate) fn code_bits(self) -> u32 {
        self.code_bits.into()
    }

    #[inline(always)]
    pub(crate) fn suffix_bits(self) -> u32 {
        self.suffix_bits.into()
    }

    /// The last suffix of a partition.
    #[inline(always)]
    pub(crate) fn last_suffix(self) -> u16 {
        self.last_suffix
    }

    /// The longest range that meets two partitions at most.
    pub(crate) fn max_range(self) -> u64 {
        1 << self.suffix_bits
    }

    /// Ranges that meet more partitions are not looked up.
    pub(crate) fn max_partitions(self) -> u32 {
        self.max_partitions.into()
    }

    /// How far codes are shifted, as a number that the compiler knows to be small.
    #[inline(always)]
    fn shift(self) -> u32 {
        self.suffix_bits() % 32
    }

    /// Partition and suffix of a code.
    #[inline(always)]
    pub(crate) fn split(self, code: u128) -> (u128, u16) {
        (code >> self.shift(), code as u16 & self.last_suffix())
    }

    /// The code of a partition and a suffix.
    #[inline(always)]
    pub(crate) fn join(self, partition: u128, suffix: u16) -> u128 {
        partition << self.shift() | u128::from(suffix)
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
        let most = self.last_suffix();
        // Not up to `last + 1`, which may not be there.
        (first..=last).map(move |partition| {
            let from = if partition == first { from } else { 0 };
            let to = if partition == last { to } else { most };
            Part { partition, suffixes: from..=to }
        })
    }
}

/// The bytes of a file that say how keys are cut, and of [what type](RangeKey::TYPE) they are.
pub(crate) fn cut_bytes(cut: Cut, key_type: u8) -> [u8; 5] {
    let [a, b, c, d] = cut.to_bytes();
    [a, b, c, d, key_type]
}

/// What these bytes say; `Err` if they are of keys of another type.
pub(crate) fn expect_cut<K: RangeKey + ?Sized>([a, b, c, d, found]: [u8; 5]) -> Result<Cut, ReadError> {
    expect("bits of codes", u32::from(a) == K::CODE_BITS, K::CODE_BITS, a)?;
    expect("type of keys", found == 0 || K::TYPE == 0 || found == K::TYPE, K::TYPE, found)?;
    let cut = Cut::from_bytes([a, b, c, d]);
    let found = u32::from_le_bytes([b, c, d, 0]);
    cut.ok_or(ReadError::Field {
        field: "partitions",
        expected: "up to 16 bits, 2 or more".into(),
        found: found.into(),
    })
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
