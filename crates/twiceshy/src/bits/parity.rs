//! Sixteen sums of bits at once: what a query of a [ribbon](crate::list) comes down to.
//!
//! Eight *groups* lie in a slice, each some bytes after the one before. A mask has a byte for each of them. Byte `j` of every
//! group, restricted to the group's byte of the mask, gives 64 bits; wanted is whether the ones among them are odd, for
//! each `j` below 16.
//!
//! # Cost
//!
//! 30 instructions with AVX2, for all sixteen; 130 without.
//!
//! # Source
//!
//! None: the layout is ours. Bits of a byte are summed up by a table of the sums of four bits, a vector of them at a time
//! (Muła, Kurz and Lemire, *Faster Population Counts Using AVX2 Instructions*, 2018).

#[cfg(target_arch = "x86_64")]
use core::arch::x86_64::*;

use super::packed::load;

/// How many groups there are.
pub(crate) const GROUPS: usize = 8;

/// How many sums there are.
pub(crate) const SUMS: usize = 16;

/// The lowest bit of every byte.
const LOWEST_BITS: u64 = 0x0101_0101_0101_0101;

/// How many bytes a slice must have, of groups that begin `stride` bytes after each other.
#[inline(always)]
pub(crate) const fn reach(stride: usize) -> usize {
    (GROUPS - 1) * stride + SUMS
}

/// The sums as sixteen bits, the first in the lowest.
#[inline(always)]
pub(super) fn portable(bytes: &[u8], stride: usize, mask: u64) -> u64 {
    let mut sums = [0; 2];
    for (group, mask) in mask.to_le_bytes().into_iter().enumerate() {
        let mask = u64::from(mask) * LOWEST_BITS;
        for (word, sum) in sums.iter_mut().enumerate() {
            *sum ^= load(bytes, group * stride + 8 * word) & mask;
        }
    }
    let [low, high] = sums.map(|mut sum| {
        sum ^= sum >> 4;
        sum ^= sum >> 2;
        sum ^= sum >> 1;
        // The lowest bits of all bytes side by side, in the highest byte.
        (sum & LOWEST_BITS).wrapping_mul(0x0102_0408_1020_4080) >> 56
    });
    low | high << 8
}

#[cfg(target_arch = "x86_64")]
#[inline]
#[target_feature(enable = "avx2")]
pub(super) fn avx2(bytes: &[u8], stride: usize, mask: u64) -> u64 {
    assert!(bytes.len() >= reach(stride), "all groups");
    let mask = _mm256_set1_epi64x(mask.cast_signed());
    let two_groups = |group: usize| {
        #[expect(unsafe_code, reason = "loads without checks of their own")]
        // SAFETY: 16 bytes from the last group on are the last of `reach`.
        let (first, second) = unsafe {
            let place = bytes.as_ptr().add(group * stride);
            (_mm_loadu_si128(place.cast()), _mm_loadu_si128(place.add(stride).cast()))
        };
        let number = group as i8;
        let numbers = _mm256_set_m128i(_mm_set1_epi8(number + 1), _mm_set1_epi8(number));
        _mm256_and_si256(_mm256_set_m128i(second, first), _mm256_shuffle_epi8(mask, numbers))
    };
    let (low, high) =
        (_mm256_xor_si256(two_groups(0), two_groups(2)), _mm256_xor_si256(two_groups(4), two_groups(6)));
    let all = _mm256_xor_si256(low, high);
    let bytes = _mm_xor_si128(_mm256_castsi256_si128(all), _mm256_extracti128_si256::<1>(all));
    let halves = _mm_and_si128(_mm_xor_si128(bytes, _mm_srli_epi16::<4>(bytes)), _mm_set1_epi8(15));
    // The highest bit of a byte is what a mask is made of.
    let odd = i8::MIN;
    let sums = _mm_setr_epi8(0, odd, odd, 0, odd, 0, 0, odd, odd, 0, 0, odd, 0, odd, odd, 0);
    _mm_movemask_epi8(_mm_shuffle_epi8(sums, halves)).cast_unsigned().into()
}

#[cfg(test)]
mod tests {
    use twiceshy_testkit::Random;

    use super::*;

    /// One bit at a time.
    fn naive(bytes: &[u8], stride: usize, mask: u64) -> u64 {
        let mut sums = 0;
        for sum in 0..SUMS {
            let ones = (0..64)
                .filter(|bit| mask >> bit & 1 == 1 && bytes[bit / 8 * stride + sum] >> (bit % 8) & 1 == 1);
            sums |= (ones.count() as u64 & 1) << sum;
        }
        sums
    }

    #[test]
    fn sums_are_those_of_single_bits() {
        let mut random = Random(1);
        for stride in 1..40 {
            for case in 0..50 {
                let bytes: Vec<u8> = (0..reach(stride)).map(|_| random.next() as u8).collect();
                let mask = match case {
                    0 => 0,
                    1 => u64::MAX,
                    2..30 => 1 << random.below(64),
                    _ => random.next(),
                };
                let expected = naive(&bytes, stride, mask);
                assert_eq!(portable(&bytes, stride, mask), expected, "{stride}");
                #[cfg(target_arch = "x86_64")]
                if std::arch::is_x86_feature_detected!("avx2") {
                    #[expect(unsafe_code, reason = "calls a function compiled for AVX2")]
                    // SAFETY: the CPU has it.
                    let sums = unsafe { avx2(&bytes, stride, mask) };
                    assert_eq!(sums, expected, "{stride}");
                }
            }
        }
    }
}
