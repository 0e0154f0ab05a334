//! Select: where is the k-th set bit of a word?
//!
//! With BMI2 this is one `pdep` and one count of trailing zeros: depositing the single bit `1 << k`
//! into the set positions of `word` leaves exactly the k-th of them (Pandey et al., *A general-purpose
//! counting filter*, section 3.3). Without BMI2, a word-parallel prefix sum of the byte counts finds
//! the byte, and one of its bits, a byte each, the bit (Vigna, *Broadword implementation of rank/select queries*): no branch
//! here, either, since which bit it is cannot be predicted.
//!
//! A run of the table lies between two neighbouring run ends, so the usual question is for two
//! neighbouring set bits at once; [`bmi2_two`] answers it with the same single `pdep` and no branch. A query asks for what is
//! [`Between`] them, or for nothing, if there is no run.

use std::hint::select_unpredictable;

/// The answer when there are not enough set bits.
pub(crate) const NONE: u32 = 64;

/// The answer for the second of two bits if there is none: -1, so that it lies before the first.
pub(crate) const BEFORE_ALL: u32 = u32::MAX;

const ONES: u64 = 0x0101_0101_0101_0101;
const HIGHS: u64 = 0x8080_8080_8080_8080;

/// Position of the set bit with `k` (at most 63) set bits below it, or [`NONE`].
#[inline]
pub(crate) fn portable(word: u64, k: u32) -> u32 {
    // Byte i of `sums` becomes the number of set bits in the bytes 0..=i.
    let pairs = word - (word >> 1 & 0x5555_5555_5555_5555);
    let fours = (pairs & 0x3333_3333_3333_3333) + (pairs >> 2 & 0x3333_3333_3333_3333);
    let sums = ((fours + (fours >> 4)) & 0x0f0f_0f0f_0f0f_0f0f).wrapping_mul(ONES);
    let byte_at = first_above(sums, k) & 56;
    let k_in_byte = k - (sums << 8 >> byte_at & 0xff) as u32;
    // Byte i has bit i of the byte, and then, for its part, the number of set bits up to there.
    let bits = (word >> byte_at & 0xff).wrapping_mul(ONES) & 0x8040_2010_0804_0201;
    let sums_in_byte = ((bits + !HIGHS) >> 7 & ONES).wrapping_mul(ONES);
    let found = byte_at + first_above(sums_in_byte, k_in_byte) / 8;
    select_unpredictable(u64::from(k) < sums >> 56, found, NONE)
}

/// The highest bit of the first byte that is more than `k`, of bytes of at most 64 in ascending order.
#[inline]
fn first_above(bytes: u64, k: u32) -> u32 {
    // The high bit of a byte tells whether it is at most `k`; none borrows from the next.
    let at_most = (ONES.wrapping_mul(u64::from(k)) | HIGHS).wrapping_sub(bytes);
    (!at_most & HIGHS).trailing_zeros()
}

/// [`portable`] for `k` (at most 63) and `k + 1` at once. What does not exist is [`NONE`] as the first
/// answer and [`BEFORE_ALL`] as the second.
#[inline]
pub(crate) fn portable_two(word: u64, k: u32) -> (u32, u32) {
    let first = portable(word, k);
    let above = if first >= 63 { 0 } else { word & (u64::MAX << (first + 1)) };
    (first, if above == 0 { BEFORE_ALL } else { above.trailing_zeros() })
}

/// [`portable`] with BMI2.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "bmi1,bmi2")]
#[inline]
pub(crate) fn bmi2(word: u64, k: u32) -> u32 {
    core::arch::x86_64::_pdep_u64(1 << k, word).trailing_zeros()
}

/// [`portable_two`] with BMI2: the two bits `0b11 << k` are deposited together, the lower one is
/// found from below and, without it, the upper one from above.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "bmi1,bmi2,lzcnt")]
#[inline]
pub(crate) fn bmi2_two(word: u64, k: u32) -> (u32, u32) {
    let both = core::arch::x86_64::_pdep_u64(3 << k, word);
    (both.trailing_zeros(), 63u32.wrapping_sub((both & both.wrapping_sub(1)).leading_zeros()))
}

/// What lies between two neighbouring set bits of a word.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Between {
    /// The lower one; meaningless if there is nothing.
    pub(crate) start: u32,
    /// How far the upper one is above it, and the bits from the lower one up to it, without the upper one.
    pub(crate) len: u32,
    pub(crate) bits: u64,
    /// Whether there is an upper one. If not, the others mean nothing.
    pub(crate) is_whole: bool,
}

/// What lies between the set bits with `k` (at most 63) and `k + 1` set bits below them; nothing, and that is whole, unless
/// it is `wanted`.
#[inline]
pub(crate) fn portable_between(word: u64, k: u32, wanted: bool) -> Between {
    let (start, end) = portable_two(word, k);
    let is_whole = !wanted | (end != BEFORE_ALL);
    let bits = 1u64.wrapping_shl(end).wrapping_sub(1u64.wrapping_shl(start));
    let (len, bits) = select_unpredictable(wanted, (end.wrapping_sub(start), bits), (0, 0));
    Between { start, len, bits, is_whole }
}

/// [`portable_between`] with BMI2: no bits are deposited if nothing is wanted.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "bmi1,bmi2,popcnt")]
#[inline]
pub(crate) fn bmi2_between(word: u64, k: u32, wanted: u64) -> Between {
    let both = core::arch::x86_64::_pdep_u64((wanted * 3) << k, word);
    let (lower, upper) = (both & both.wrapping_neg(), both & both.wrapping_sub(1));
    let bits = upper.wrapping_sub(lower);
    let is_whole = upper >= wanted;
    Between { start: both.trailing_zeros(), len: bits.count_ones(), bits, is_whole }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn naive(word: u64, k: u32) -> u32 {
        (0..64).filter(|&i| word >> i & 1 == 1).nth(k as usize).unwrap_or(NONE)
    }

    fn assert_two((first, second): (u32, u32), word: u64, k: u32) {
        let (one, two) = (naive(word, k), naive(word, k + 1));
        let two = if two == NONE { BEFORE_ALL } else { two };
        assert_eq!((first, second), (one, two), "{word:#x} {k}");
    }

    fn assert_between(between: impl Fn(bool) -> Between, word: u64, k: u32) {
        let nothing = between(false);
        assert_eq!((nothing.len, nothing.bits, nothing.is_whole), (0, 0, true), "{word:#x} {k}");
        let (start, end) = (naive(word, k), naive(word, k + 1));
        let found = between(true);
        assert_eq!(found.is_whole, end != NONE, "{word:#x} {k}");
        if end != NONE {
            let bits = (start..end).fold(0, |bits, i| bits | 1 << i);
            assert_eq!(found, Between { start, len: end - start, bits, is_whole: true }, "{word:#x} {k}");
        }
    }

    fn words() -> impl Iterator<Item = u64> {
        let mut state = 0x9e37_79b9_7f4a_7c15u64;
        let random = (0..2000).map(move |i| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let other = state.rotate_left(31).wrapping_mul(0xd6e8_feb8_6659_fd93);
            match i % 3 {
                0 => state,
                1 => state & other,
                _ => state | other,
            }
        });
        let single = (0..64).map(|i| 1u64 << i);
        let holes = (0..64).map(|i| !(1u64 << i));
        random.chain(single).chain(holes).chain([0, u64::MAX])
    }

    #[test]
    fn portable_select_agrees_with_the_naive_one() {
        for word in words() {
            for k in 0..64 {
                assert_eq!(portable(word, k), naive(word, k), "{word:#x} {k}");
                assert_two(portable_two(word, k), word, k);
                assert_between(|wanted| portable_between(word, k, wanted), word, k);
            }
        }
    }

    #[cfg(target_arch = "x86_64")]
    #[test]
    #[expect(unsafe_code, reason = "calls functions that need BMI2, after checking for it")]
    fn bmi2_select_agrees_with_the_naive_one() {
        if !super::super::cpu::is_fast() {
            eprintln!("this CPU has not all that fast kernels need: only the portable select was tested");
            return;
        }
        for word in words() {
            for k in 0..64 {
                // SAFETY: `is_fast` checked every feature that these functions enable.
                let (one, two) = unsafe { (bmi2(word, k), bmi2_two(word, k)) };
                assert_eq!(one, naive(word, k), "{word:#x} {k}");
                assert_two(two, word, k);
                // SAFETY: as above.
                assert_between(|wanted| unsafe { bmi2_between(word, k, wanted.into()) }, word, k);
            }
        }
    }
}
