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
    string_mask: u64,
    /// Bits behind those of a head, and the highest of them if it is the stop bit, else 0.
    behind: u32,
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
            Self { position_bits, own_bits, string_mask: low_mask(string_bits), behind, stop }
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
        let is_head = mark << self.position_bits != 0 && mark & low_mask(self.behind) == self.stop;
        is_head.then(|| (mark >> self.behind & self.string_mask) << self.own_bits)
    }
}
