//! Masks and rank within one 64-bit word.

/// The lowest `n` bits set; `n` may be 64.
#[inline(always)]
pub(crate) const fn low_mask(n: u32) -> u64 {
    if n >= 64 { u64::MAX } else { (1 << n) - 1 }
}

/// The bits of a field of `width` bits (1 to 64): [`low_mask`] in fewer steps.
#[inline(always)]
pub(crate) const fn field_mask(width: u32) -> u64 {
    u64::MAX >> (64 - width)
}

/// The bits from `n` on set (`n < 64`).
#[inline(always)]
pub(crate) const fn high_mask(n: u32) -> u64 {
    u64::MAX << n
}

/// How many of the bits `0..n` are set.
#[inline(always)]
pub(crate) const fn rank(word: u64, n: u32) -> u32 {
    (word & low_mask(n)).count_ones()
}

/// [`rank`] for `n < 64`.
#[inline(always)]
pub(crate) const fn rank_below(word: u64, n: u32) -> u32 {
    (word & ((1 << n) - 1)).count_ones()
}

/// Whether bit `i` is set (`i < 64`).
#[inline(always)]
pub(crate) const fn bit(word: u64, i: u32) -> bool {
    word >> i & 1 == 1
}

/// `word` with bit `i` set to `value`.
#[inline(always)]
pub(crate) const fn with_bit(word: u64, i: u32, value: bool) -> u64 {
    word & !(1 << i) | (value as u64) << i
}

/// The same number, whose halves the compiler then has in registers. Left alone, it may read a number that was just written,
/// in two halves, as one vector. The CPU cannot give it that before both halves have left for the cache, which they do only after
/// everything that was written before: in a table that is not in the cache, one insert waits then for the other.
#[inline(always)]
pub(crate) fn in_two_registers(number: u128) -> u128 {
    #[cfg(target_arch = "x86_64")]
    {
        let (mut low, mut high) = (number as u64, (number >> 64) as u64);
        #[expect(unsafe_code, reason = "no instruction at all, but the compiler does not know that")]
        // SAFETY: nothing is done.
        unsafe {
            std::arch::asm!("/* {0} {1} */", inout(reg) low, inout(reg) high, options(pure, nomem, nostack, preserves_flags));
        }
        u128::from(high) << 64 | u128::from(low)
    }
    #[cfg(not(target_arch = "x86_64"))]
    number
}

#[cfg(test)]
mod tests {
    use super::*;

    const WORDS: [u64; 5] = [0, u64::MAX, 0x8000_0000_0000_0001, 0x0123_4567_89ab_cdef, 1 << 63];

    #[test]
    fn rank_counts_bits_below() {
        for word in WORDS {
            for n in 0..=64 {
                let naive = (0..n).filter(|&i| bit(word, i)).count() as u32;
                assert_eq!(rank(word, n), naive);
                if n < 64 {
                    assert_eq!(high_mask(n), !low_mask(n));
                    assert_eq!(rank_below(word, n), naive);
                }
                if n > 0 {
                    assert_eq!(field_mask(n), low_mask(n));
                }
            }
        }
    }
}
