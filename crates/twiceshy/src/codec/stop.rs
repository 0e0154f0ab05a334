//! A string of bits in a slot, ended by a stop bit.
//!
//! # The idea
//!
//! A slot of `w` bits holds a string of `0..w` bits: the string, highest bit first, then a 1, then zeros.
//! The lowest 1 of a slot therefore says where the string ends, and no slot is 0.
//!
//! ```text
//! w = 6     string 0110  ->  0110 1 0        length = w - 1 - trailing zeros
//!           string 01101 ->  01101 1         the longest: w - 1 bits
//!           the empty one -> 1 00000         void: matches every hash
//! ```
//!
//! Ascending slots are ascending strings; a string stands after those of its continuations that go on
//! with a 0 and before those that go on with a 1.
//!
//! # Cost
//!
//! One bit per slot, for strings of different lengths in one table.
//!
//! # Source
//!
//! Section 4.1 of *InfiniFilter* has the same code with the fingerprint's bits in the other order (there the
//! age is a unary counter in the high bits). We keep the hash's order, so that a slot sorts as its string.

use crate::bits::word::low_mask;

/// The slot for the string of the lowest `len` bits of `bits`, all others of which are 0.
#[inline(always)]
pub(crate) fn encode(bits: u64, len: u32, slot_bits: u32) -> u64 {
    debug_assert!(len < slot_bits && bits <= low_mask(len));
    (bits << 1 | 1) << (slot_bits - 1 - len)
}

/// The length of the string in a slot, which is not 0.
#[inline(always)]
pub(crate) fn len(slot: u64, slot_bits: u32) -> u32 {
    debug_assert!(slot != 0);
    (slot_bits - 1).saturating_sub(slot.trailing_zeros())
}

/// The string in a slot, which is not 0, as a number of [`len`] bits.
#[inline(always)]
pub(crate) fn bits(slot: u64) -> u64 {
    debug_assert!(slot != 0);
    slot.unbounded_shr(slot.trailing_zeros() + 1)
}

/// Whether the string in a slot is a prefix of `window`, as many bits as a slot has.
#[inline(always)]
pub(crate) fn matches(slot: u64, window: u64) -> bool {
    // They agree in all bits above the stop bit.
    (slot ^ window) >> 1 < slot & slot.wrapping_neg()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strings_read_back_and_match_their_continuations_only() {
        for slot_bits in 1..=8u32 {
            for length in 0..slot_bits {
                for string in 0..1u64 << length {
                    let slot = encode(string, length, slot_bits);
                    assert!(slot > 0 && slot <= low_mask(slot_bits));
                    assert_eq!((bits(slot), len(slot, slot_bits)), (string, length));
                    for window in 0..1u64 << slot_bits {
                        let is_prefix = window >> (slot_bits - length) == string;
                        assert_eq!(matches(slot, window), is_prefix, "{slot:b} {window:b}");
                    }
                }
            }
        }
    }

    #[test]
    fn the_widest_slots_work() {
        assert_eq!(encode(0, 0, 64), 1 << 63);
        assert!(matches(1 << 63, u64::MAX) && matches(1 << 63, 0));
        let longest = encode(u64::MAX >> 1, 63, 64);
        assert_eq!((longest, len(longest, 64), bits(longest)), (u64::MAX, 63, u64::MAX >> 1));
        assert!(
            matches(longest, u64::MAX) && matches(longest, u64::MAX - 1) && !matches(longest, u64::MAX - 2)
        );
    }

    #[test]
    fn an_empty_slot_matches_nothing() {
        assert!(!matches(0, 0) && !matches(0, u64::MAX));
    }
}
