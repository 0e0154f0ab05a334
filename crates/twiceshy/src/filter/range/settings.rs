//! What was chosen when a range filter was built, and which tables follow from it.
//!
//! # The idea
//!
//! Up to the size at the start all fingerprints have the same length, and slots have no stop bit. Beyond it, new ones have the
//! lengths of an [expandable filter](crate::filter::expandable), and old ones keep theirs.
//!
//! A range of up to a partition's keys meets two partitions, so a rate of `ε` is `ε / 2` for each of them: with fingerprints of
//! `r` bits after the quotient and a load of `α`, `2·α·2^-r <= ε`. A filter that may grow and whose size was given leaves the
//! keys up to that size half of the rate, and all later ones the other half. So it costs one bit per key to be able to grow, and
//! not three, as it would if the keys that come first were taken for one generation of many. Without a size, growth begins
//! at once, and they are.

use crate::codec::boxes::Boxes;
use crate::filter::expandable::lengths::Lengths;
use crate::filter::range::partition::Cut;
use crate::table::Shape;

/// Bits of a hash that fingerprints are cut from.
pub(super) const HASH_BITS: u32 = 64;

/// What was chosen.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Settings {
    pub(super) cut: Cut,
    /// What kind of key it is, as files say it.
    pub(super) key_type: u8,
    pub(super) grows: bool,
    /// Quotient bits at the start.
    pub(super) start: u32,
    /// Bits of every fingerprint up to that size.
    pub(super) first_bits: u32,
    /// How long those of new keys are beyond it.
    pub(super) lengths: Lengths,
    /// A shape with the internal limits of all tables.
    pub(super) template: Shape,
}

impl Settings {
    /// The table of a size, with or without stop bits, whose longest fingerprint has so many bits: its shape, and what its slots
    /// are. `None` if they would be too wide.
    pub(super) fn layout(&self, quotient_bits: u32, has_stops: bool, longest: u32) -> Option<(Shape, Boxes)> {
        let suffix_bits = self.cut.suffix_bits();
        let string_bits = if has_stops {
            let new = self.lengths.stored_bits(quotient_bits).min(HASH_BITS - quotient_bits);
            let fits = new.min(63 - suffix_bits);
            fits.max(longest.saturating_sub(quotient_bits)) + 1
        } else {
            self.first_bits.checked_sub(quotient_bits).filter(|bits| *bits > 0)?
        };
        let slot_bits = string_bits + suffix_bits;
        let is_possible = slot_bits <= 64 && (1..=Shape::MAX_QUOTIENT_BITS).contains(&quotient_bits);
        let codec = Boxes::new(suffix_bits, has_stops);
        is_possible.then(|| (self.template.resized(quotient_bits, slot_bits), codec))
    }

    /// The table at the start.
    pub(super) fn first_layout(&self) -> Option<(Shape, Boxes)> {
        self.layout(self.start, false, self.first_bits)
    }
}
