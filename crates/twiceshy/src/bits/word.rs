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

/// The bits `from..to` set (`from <= to <= 64`).
#[inline(always)]
pub(crate) const fn range_mask(from: u32, to: u32) -> u64 {
    low_mask(to) & !low_mask(from)
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

/// How many of the bits `0..=i` are set (`i < 64`).
#[inline(always)]
pub(crate) const fn rank_through(word: u64, i: u32) -> u32 {
    (word << (63 - i)).count_ones()
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

/// Moves the bits `from..to` one place up, to `from + 1..=to`, and clears bit `from`.
/// Bits outside `from..=to` stay (`from <= to < 64`).
#[inline(always)]
pub(crate) const fn shift_up_one(word: u64, from: u32, to: u32) -> u64 {
    let (moved, above) = (word & (high_mask(from) & !high_mask(to)), high_mask(to) << 1);
    word & (!high_mask(from) | above) | moved << 1
}

/// Moves the bits `from..to` one place down, to `from - 1..to - 1`, and clears bit `to - 1`.
/// Bits outside `from - 1..to` stay (`0 < from <= to <= 64`).
#[inline(always)]
pub(crate) const fn shift_down_one(word: u64, from: u32, to: u32) -> u64 {
    let moved = word & range_mask(from, to);
    word & !range_mask(from - 1, to) | moved >> 1
}

#[cfg(test)]
mod tests {
    use super::*;

    const WORDS: [u64; 5] = [0, u64::MAX, 0x8000_0000_0000_0001, 0x0123_4567_89ab_cdef, 1 << 63];

    #[test]
    fn masks_cover_exactly_their_range() {
        for from in 0..=64 {
            for to in from..=64 {
                let mask = range_mask(from, to);
                for i in 0..64 {
                    assert_eq!(bit(mask, i), (from..to).contains(&i), "{from}..{to} bit {i}");
                }
            }
        }
    }

    #[test]
    fn rank_counts_bits_below() {
        for word in WORDS {
            for n in 0..=64 {
                let naive = (0..n).filter(|&i| bit(word, i)).count() as u32;
                assert_eq!(rank(word, n), naive);
                if n > 0 {
                    assert_eq!(rank_through(word, n - 1), naive);
                }
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

    #[test]
    fn shifts_move_only_their_range() {
        for word in WORDS {
            for from in 0..64 {
                for to in from..64 {
                    let up = shift_up_one(word, from, to);
                    for i in 0..64 {
                        let want = match i {
                            _ if i < from || i > to => bit(word, i),
                            _ if i == from => false,
                            _ => bit(word, i - 1),
                        };
                        assert_eq!(bit(up, i), want, "up {from}..{to} bit {i}");
                    }
                }
            }
            for from in 1..64 {
                for to in from..=64 {
                    let down = shift_down_one(word, from, to);
                    for i in 0..64 {
                        let want = match i {
                            _ if i + 1 < from || i >= to => bit(word, i),
                            _ if i == to - 1 => false,
                            _ => bit(word, i + 1),
                        };
                        assert_eq!(bit(down, i), want, "down {from}..{to} bit {i}");
                    }
                }
            }
        }
    }
}
