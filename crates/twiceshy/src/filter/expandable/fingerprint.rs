//! Fingerprints of any length, apart from the table that holds them.
//!
//! A fingerprint is the first bits of a hash. Quotient and slot of a table, put one after the other, are that
//! string with a stop bit after it; here it stands at the top of 128 bits, the same for tables of every size.
//! Doubling a table, halving it, or moving an entry to another one is writing the same number with another
//! quotient. Ascending numbers are ascending entries of every table.

use crate::filter::union::Ascending;
use crate::hash::{Hasher, Words};
use crate::prefix::Prefix;
use crate::table::Shape;

/// Bits of the longest fingerprint: 48 of a quotient, 63 of a slot.
const MOST_BITS: u32 = Shape::MAX_QUOTIENT_BITS + 63;

/// A string of up to 127 bits, highest first, a 1 after it, then zeros.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::filter) struct Fingerprint(u128);

impl Fingerprint {
    /// Not before any other.
    pub(in crate::filter) const LAST: Self = Self(u128::MAX);

    /// The entry that a table of this shape holds in `slot` in the run of `quotient`.
    #[inline(always)]
    pub(in crate::filter) fn from_table(shape: &Shape, quotient: u64, slot: u64) -> Self {
        let (position, slot_bits) = (u128::from(shape.position(quotient)), shape.slot_bits());
        Self((position << slot_bits | u128::from(slot)) << (128 - shape.position_bits() - slot_bits))
    }

    /// Quotient and slot in a table with no more quotient bits than this has bits. What does not fit the slot
    /// is cut off.
    #[inline(always)]
    pub(in crate::filter) fn in_table(self, shape: &Shape) -> (u64, u64) {
        let (position_bits, slot_bits) = (shape.position_bits(), shape.slot_bits());
        debug_assert!(position_bits <= self.len());
        let (quotient, slot) = shape.split(self.0);
        let is_cut = self.len() >= position_bits + slot_bits;
        (quotient, slot | u64::from(is_cut))
    }

    /// How many bits it has; 0 for bytes that no codec wrote, without a stop bit.
    #[inline(always)]
    pub(in crate::filter) fn len(self) -> u32 {
        127u32.saturating_sub(self.0.trailing_zeros())
    }

    /// Its first bits as a number; if it has fewer, with the stop bit and zeros after them. Ascending entries
    /// have ascending numbers.
    pub(super) fn first_bits(self, bits: u32) -> u64 {
        (self.0 >> (128 - bits)) as u64
    }

    /// Its first `len` bits, if it has as many.
    #[inline(always)]
    pub(in crate::filter) fn first(self, len: u32) -> Self {
        let stop = 1 << (127 - len);
        Self(self.0 & !(stop - 1) | stop)
    }

    /// All strings of `len` bits, no fewer than it has, that begin with it, in order.
    pub(in crate::filter) fn continued(self, len: u32) -> impl Iterator<Item = Self> {
        let (begin, more) = (self.0 & (self.0 - 1), len - self.len());
        let stop = 1 << (127 - len);
        (0..1u128 << more).map(move |number| Self(begin | number.unbounded_shl(128 - len) | stop))
    }

    /// The string, written out.
    pub(in crate::filter) fn to_prefix(self) -> Prefix {
        Prefix::of(&self, self.len())
    }
}

/// What follows the last bit does not matter.
impl Words for Fingerprint {
    fn word(&self, index: u32) -> u64 {
        match index {
            0 => (self.0 >> 64) as u64,
            1 => self.0 as u64,
            _ => 0,
        }
    }
}

/// A fingerprint and how often it occurs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Entry {
    pub(super) fingerprint: Fingerprint,
    pub(super) count: u64,
}

/// For unions of streams.
impl Ascending for Entry {
    const END: Self = Self { fingerprint: Fingerprint::LAST, count: 0 };

    #[inline(always)]
    fn is_end(&self) -> bool {
        self.count == 0
    }

    #[inline(always)]
    fn is_before(&self, other: &Self) -> bool {
        self.fingerprint < other.fingerprint
    }
}

/// As much of a key's hash as an operation needs.
#[derive(Debug, Clone, Copy)]
pub(super) struct Hash {
    /// At the top; zeros after `known` bits.
    bits: u128,
    known: u32,
}

/// A hash in the eyes of a table.
pub(super) struct Window {
    pub(super) quotient: u64,
    /// The bits after the quotient, as many as a slot has, and which of them are known.
    pub(super) bits: u64,
    pub(super) known: u64,
}

impl Hash {
    /// A hash of which there is no more than its first `block_bits` bits.
    pub(super) fn raw(first: u64, block_bits: u32) -> Self {
        Self { bits: u128::from(first >> (64 - block_bits)) << (128 - block_bits), known: block_bits }
    }

    /// The first `needed` bits, or a few more, of a key's hash, `block_bits` from each of its words.
    pub(super) fn of(hasher: &Hasher, key: &[u8], first: u64, block_bits: u32, needed: u32) -> Self {
        let mut hash = Self::raw(first, block_bits);
        let mut index = 1;
        while hash.known < needed {
            let word = Self::raw(hasher.word_bytes(key, index), block_bits);
            hash.bits |= word.bits >> hash.known;
            hash.known = (hash.known + block_bits).min(128);
            index += 1;
        }
        hash
    }

    /// How many bits there are.
    pub(super) fn known(self) -> u32 {
        self.known
    }

    /// The fingerprint of `len` bits, or of as many as are known.
    pub(super) fn fingerprint(self, len: u32) -> Fingerprint {
        let len = len.min(self.known).min(MOST_BITS);
        let stop = 1 << (127 - len);
        Fingerprint(self.bits & !(stop - 1) | stop)
    }

    /// What a table of this shape compares. `None` if not even the quotient is known.
    pub(super) fn in_table(self, shape: &Shape) -> Option<Window> {
        let behind = self.known.checked_sub(shape.position_bits())?;
        let (quotient, bits) = shape.split(self.bits);
        let known = u64::MAX.unbounded_shl(shape.slot_bits().saturating_sub(behind));
        Some(Window { quotient, bits, known })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::codec::stop;

    #[test]
    fn a_fingerprint_is_the_same_in_every_table() {
        let hash = Hash::of(&Hasher::fast(), b"key", Hasher::fast().hash(b"key"), 64, 128);
        for len in 1..=MOST_BITS {
            let fingerprint = hash.fingerprint(len);
            assert_eq!(fingerprint.len(), len);
            for quotient_bits in len.saturating_sub(63).max(1)..=len.min(48) {
                let shape = Shape::new(quotient_bits, (len - quotient_bits + 1).max(1));
                let (quotient, slot) = fingerprint.in_table(&shape);
                assert_eq!(stop::len(slot, shape.slot_bits()), len - quotient_bits);
                assert_eq!(Fingerprint::from_table(&shape, quotient, slot), fingerprint);
                let window = hash.in_table(&shape).unwrap();
                assert_eq!(window.quotient, quotient);
                assert!(stop::matches(slot, window.bits));
                if shape.slot_bits() > 1 {
                    // A narrower slot holds what fits.
                    let narrow = Shape::new(quotient_bits, shape.slot_bits() - 1);
                    let (quotient, slot) = fingerprint.in_table(&narrow);
                    assert_eq!(Fingerprint::from_table(&narrow, quotient, slot), hash.fingerprint(len - 1));
                }
            }
        }
    }

    #[test]
    fn a_fingerprint_goes_on_in_every_way() {
        let hash = Hash::raw(0xb7 << 56, 64);
        for len in 0..9 {
            for more in 0..4 {
                let all: Vec<String> = hash
                    .fingerprint(len)
                    .continued(len + more)
                    .map(|one| one.to_prefix().to_string())
                    .collect();
                let begin = hash.fingerprint(len).to_prefix().to_string();
                assert!(all.is_sorted() && all.len() == 1 << more);
                assert!(all.iter().all(|one| one.starts_with(&begin) && one.len() as u32 == len + more));
            }
        }
    }

    #[test]
    fn short_blocks_follow_each_other() {
        let hasher = Hasher::fast();
        let first = hasher.hash(b"key");
        for block_bits in [1, 3, 8, 20, 63, 64] {
            let hash = Hash::of(&hasher, b"key", first, block_bits, 128);
            for bit in 0..127 {
                let word = hasher.word_bytes(b"key", bit / block_bits);
                let expected = word >> (63 - bit % block_bits) & 1;
                assert_eq!(
                    (hash.bits >> (127 - bit)) as u64 & 1,
                    expected,
                    "bit {bit} of blocks of {block_bits}"
                );
            }
            assert_eq!(Hash::raw(first, block_bits).fingerprint(100).len(), block_bits);
        }
    }

    #[test]
    fn what_is_not_known_is_not_compared() {
        let shape = Shape::new(5, 8);
        let window = Hash::raw(u64::MAX, 9).in_table(&shape).unwrap();
        assert_eq!((window.quotient, window.bits & 0xff, window.known & 0xff), (31, 0xf0, 0xf0));
        assert!(Hash::raw(u64::MAX, 4).in_table(&shape).is_none());
        assert_eq!(Hash::raw(u64::MAX, 64).in_table(&shape).unwrap().known, u64::MAX);
    }
}
