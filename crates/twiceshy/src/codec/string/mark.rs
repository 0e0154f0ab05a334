//! A fingerprint as one word, for merging and resizing.
//!
//! # The idea
//!
//! What [`stop`](crate::codec::stop) does for a slot is done for a whole fingerprint, quotient included: its bits from the
//! highest of a word on, a 1, and zeros. In this form it does not matter which table it came from: the order is that of
//! numbers, one is a prefix of another if they agree above the higher stop bit, and a head moves to another table by being
//! read at another place. Nearly all fingerprints are as short as that. Of others the first 63 bits are marked.
//!
//! # Cost
//!
//! A handful of instructions.

use super::{Payload, Strings};
use crate::bits::word::low_mask;
use crate::hash::Words;
use crate::prefix::Prefix;
use crate::table::WIDEST;

/// The longest fingerprint that a mark tells all of.
const LONGEST: u32 = 63;

/// Whether one of two marked fingerprints may be a prefix of the other. If not, their order is that of the marks.
#[inline(always)]
pub(crate) fn overlap(one: u64, other: u64) -> bool {
    let lowest = |mark: u64| mark & mark.wrapping_neg();
    // They agree in all bits above the higher stop bit.
    (one ^ other) >> 1 < lowest(one).max(lowest(other))
}

/// The mark of any fingerprint.
pub(crate) fn of(prefix: &Prefix) -> u64 {
    let len = prefix.len().min(LONGEST);
    let stop = 1 << (LONGEST - len);
    prefix.word(0) & !low_mask(64 - len) | stop
}

/// How entries of one slot in a table are marked.
#[derive(Clone, Copy)]
pub(crate) struct Marks {
    position_bits: u32,
    own_bits: u32,
    /// How many bits are behind those of a head, and which.
    behind: u32,
    behind_mask: u64,
    string_mask: u64,
    /// The highest of them if heads have no stop bit of their own, else 0.
    stop: u64,
}

impl Marks {
    /// `None` if they can be too long for it.
    pub(crate) fn new<P: Payload>(strings: &Strings<P>) -> Option<Self> {
        let (position_bits, own_bits) = (strings.position_bits(), strings.payload().head_bits());
        let string_bits = strings.slot_bits() - own_bits;
        let is_short = strings.bits_in(1) <= LONGEST && strings.slot_bits() <= WIDEST;
        is_short.then(|| {
            let behind = 64 - position_bits - string_bits;
            let stop = if strings.has_stop() { 0 } else { 1 << (behind - 1) };
            let (behind_mask, string_mask) = (low_mask(behind), low_mask(string_bits));
            Self { position_bits, own_bits, behind, behind_mask, string_mask, stop }
        })
    }

    /// The mark of a head, given its position. What no encoder wrote has some mark, too.
    #[inline(always)]
    pub(crate) fn of_head(&self, position: u64, head: u64) -> u64 {
        position << (64 - self.position_bits) | head >> self.own_bits << self.behind | self.stop
    }

    /// The head of a marked fingerprint, its own bits 0; `None` if it is too short for a position, or does not end in a head.
    #[inline(always)]
    pub(crate) fn head(&self, mark: u64) -> Option<u64> {
        let string = mark >> self.behind & self.string_mask;
        let is_head = mark & self.behind_mask == self.stop && string | self.stop != 0;
        is_head.then_some(string << self.own_bits)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::codec::string::Tags;
    use crate::hash::RawWords;
    use crate::table::Shape;
    use twiceshy_testkit::Random;

    #[test]
    fn marks_order_and_overlap_as_fingerprints_do() {
        let mut random = Random(1);
        for _ in 0..20_000 {
            let mut prefix = || {
                let word = [random.next(), random.below(4) << 62, random.below(4)][random.below(3) as usize];
                Prefix::of(&RawWords(word), [3, 4, 70][random.below(3) as usize] + random.below(4) as u32)
            };
            let (one, other) = (prefix(), prefix());
            let overlap = overlap(of(&one), of(&other));
            assert!(overlap || !one.overlaps(&other));
            if one.len() <= LONGEST && other.len() <= LONGEST {
                assert_eq!(overlap, one.overlaps(&other), "{one} {other}");
            }
            if !overlap {
                assert_eq!(of(&one) < of(&other), one < other, "{one} {other}");
            }
        }
    }

    #[test]
    fn heads_are_those_of_the_encoder() {
        let mut random = Random(2);
        for round in 0..20_000 {
            let shape = Shape::new(1 + random.below(30) as u32, 2 + random.below(34) as u32);
            let (strings, words) = (Strings::new(&shape, round % 2 == 0, Tags), RawWords(random.next()));
            let Some(marks) = Marks::new(&strings) else {
                assert!(strings.bits_in(1) > LONGEST);
                continue;
            };
            let len = random.below(u64::from(strings.bits_in(2)) + 1) as u32;
            let prefix = Prefix::of(&words, len);
            let fits =
                len >= strings.position_bits() && strings.fit(len) == len && strings.slots_for(len) == 1;
            let head = fits.then(|| strings.slot(&words, len, 0));
            if len <= LONGEST {
                assert_eq!(marks.head(of(&prefix)), head, "{len} bits");
            }
            if let Some(head) = head {
                let position = words.0 >> (64 - strings.position_bits());
                assert_eq!(marks.of_head(position, head), of(&prefix));
            }
        }
    }
}
