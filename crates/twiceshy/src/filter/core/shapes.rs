//! Which tables a filter may have: the slots for fingerprints of given lengths, and the limits of growth.
//!
//! A table of another size moves bits between position and slots, and no fingerprint may get shorter by that: what it
//! learned is in its length. Nor may it get longer, or filters that are rebuilt again and again would grow without
//! having learned anything. So slots are as wide as the lengths ask for, and a stop bit ends each string where it ended
//! before.

use super::Core;
use crate::codec::string::Payload;
use crate::error::BuildError;
use crate::filter::room::{Crowded, Effort, Remedy};
use crate::table::{Full, MAX_LOAD_PERCENT, Shape, Size};

/// The share of the slots, in percent, that a capacity leaves free for adaptations.
const ADAPTATION_PERCENT: u64 = 5;

/// What a filter does when it is full of keys or adaptations.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Growth {
    /// It gets a larger table, so that nothing it learned is ever lost.
    Grow {
        /// The most bytes that the table may have, if there is a limit.
        max_bytes: Option<u64>,
    },
    /// It gets a larger table, and once that would have too many bytes it rotates: what was learned longest ago is forgotten, a
    /// few keys at a time, so that there is room for what is learned now.
    ///
    /// Until then this is [`Grow`](Self::Grow). From then on a query that was a mistake may be one again, when the keys that it was
    /// mistaken for were given new fingerprints; but that is as improbable as for a query that was never asked, whatever was asked
    /// before. See [`AdaptiveFilter::rotate`](crate::AdaptiveFilter::rotate).
    Rotate {
        /// The most bytes that the table may have.
        max_bytes: u64,
    },
    /// It refuses the operation with an error.
    Refuse,
}

impl Growth {
    /// How many slots of a table may be in use. Where there may be no larger one, some are left to rotating: the keys of a group
    /// may need a few more than before, until the next groups need fewer.
    pub(super) fn capacity(self, shape: &Shape) -> u64 {
        let most = shape.slot_limit();
        match self {
            Self::Rotate { .. } => most - (most / ROTATION_SHARE + 1).min(most / 2),
            Self::Grow { .. } | Self::Refuse => most,
        }
    }
}

/// One slot of so many is left to rotating.
const ROTATION_SHARE: u64 = 64;

/// Without a limit.
impl Default for Growth {
    fn default() -> Self {
        Self::Grow { max_bytes: None }
    }
}

/// The highest error rate of a filter with remainders of at least this many bits: when it is as full as can
/// be and, if it grows, has fingerprints of every age.
pub(crate) fn highest_rate(remainder_bits: u32, growth: Growth) -> f64 {
    let (load, bits) = (MAX_LOAD_PERCENT as f64 / 100.0, f64::from(remainder_bits));
    match growth {
        Growth::Refuse => load * (-bits).exp2(),
        // Of a filter that rotates all fingerprints are fresh after a turn, which leaves a factor of 1.5 at least for what
        // anybody knows of groups.
        Growth::Grow { .. } | Growth::Rotate { .. } => load * (bits + 2.0) * (-bits - 1.0).exp2(),
    }
}

/// The smallest size with room for `keys` keys and some adaptations.
pub(crate) fn size_for(keys: u64) -> Result<Size, BuildError> {
    let room = |size: Size| Shape::new(size, 1).slot_limit() - size.slots() * ADAPTATION_PERCENT / 100;
    let max = room(Shape::MAX_QUOTIENT_BITS.into());
    let found = Size::steps().find(|size| keys <= room(*size));
    found.ok_or(BuildError::OutOfRange { what: "capacity", min: 0, max, found: keys })
}

impl<P: Payload, B: AsRef<[u8]>> Core<P, B> {
    /// The shape of this core with another size, and whether it has stop bits. `None` if there is none.
    pub(super) fn shape_for(&self, size: Size) -> Option<(Shape, bool)> {
        if self.entries == 0 {
            let fresh = self.remainder_bits + self.own_bits();
            return Some((self.table.shape().resized(size, fresh), false));
        }
        self.shape_as_long(size)
    }

    /// A shape of another size in which a single slot holds no shorter fingerprint than here.
    pub(super) fn shape_as_long(&self, size: Size) -> Option<(Shape, bool)> {
        if size.quotient_bits() == self.quotient_bits() {
            return Some((self.table.shape().resized(size, self.slot_bits()), self.has_stop()));
        }
        self.shape_by_resizing(size)
    }

    /// The shape of this core after it had tables with other quotients.
    pub(super) fn shape_by_resizing(&self, size: Size) -> Option<(Shape, bool)> {
        // The bits of a string that fit one slot: what single slots hold now must fit again.
        let now = self.strings.bits_in(1);
        let bits = now.saturating_sub(self.position_bits_in(size)).max(self.remainder_bits);
        self.with_stop(size, bits)
    }

    /// A shape with stop bits whose single slots hold strings of so many bits.
    fn with_stop(&self, size: Size, bits: u32) -> Option<(Shape, bool)> {
        let slot_bits = bits + 1 + self.own_bits();
        (slot_bits <= 64).then(|| (self.table.shape().resized(size, slot_bits), true))
    }

    /// How many bits of a head are not of its string.
    fn own_bits(&self) -> u32 {
        self.strings.payload().head_bits()
    }

    /// A shape for the fingerprints of two filters, and whether it has stop bits.
    pub(super) fn shape_for_union<C: AsRef<[u8]>>(
        &self,
        other: &Core<P, C>,
        size: Size,
    ) -> Option<(Shape, bool)> {
        let same = self.quotient_bits() == other.quotient_bits() && self.slot_bits() == other.slot_bits();
        if same && size.quotient_bits() == self.quotient_bits() && !self.has_stop() && !other.has_stop() {
            return Some((self.table.shape().resized(size, self.slot_bits()), false));
        }
        // What a single slot holds in either filter must fit a single slot.
        let longest = self.strings.bits_in(1).max(other.strings.bits_in(1));
        let least = self.remainder_bits.max(other.remainder_bits);
        let bits = longest.saturating_sub(self.position_bits_in(size)).max(least);
        self.with_stop(size, bits)
    }

    /// The shape of the table, and whether it has stop bits.
    pub(super) fn shape(&self) -> (Shape, bool) {
        (*self.table.shape(), self.has_stop())
    }

    pub(crate) fn size(&self) -> Size {
        self.table.shape().size()
    }

    /// The size to grow to: the next step with room for so many slots more, or one twice as large if the table is crowded, or
    /// not nearly full, and may be as large. A step does little for a crowd.
    pub(super) fn larger_size(&self, slots: u64) -> Option<Size> {
        let (used, next) = (self.used_slots(), self.size().next()?);
        let may_have = |size: &Size| self.shape_for(*size).is_some_and(|(shape, _)| self.may_have(&shape));
        let is_enough = slots > 0 || used >= self.capacity() / 8 * 7 && !self.table.has_crowd();
        if !is_enough && let Some(doubled) = self.size().doubled().filter(may_have) {
            return Some(doubled);
        }
        next.and_larger().find(|size| used.saturating_add(slots) <= Shape::new(*size, 1).slot_limit())
    }

    fn has_stop(&self) -> bool {
        self.strings.has_stop()
    }

    /// A shape of at least the size `least` for some keys whose fingerprints are as long as those here, and whether it has
    /// stop bits.
    ///
    /// If the size is limited, that is the shape of this filter: a larger one may not be allowed, and a smaller one
    /// could not grow back.
    pub(super) fn shape_for_rebuild(
        &self,
        keys: u64,
        least: Size,
    ) -> Result<Option<(Shape, bool)>, BuildError> {
        if !matches!(self.growth, Growth::Grow { max_bytes: None }) {
            return Ok(match least <= self.size() {
                true => Some(self.shape()),
                false => self.shape_for(least).filter(|(shape, _)| self.may_have(shape)),
            });
        }
        let lengths = self.lengths().bits;
        for size in size_for(keys)?.max(least).and_larger() {
            // What is longer than a single slot holds now was learned, and takes several slots again: keys that come later
            // must not get fingerprints as long as that, or the next rebuild would take those for learned.
            let position_bits = self.position_bits_in(size);
            let fresh = self.strings.bits_in(1).saturating_sub(position_bits).max(self.remainder_bits);
            let slots =
                Slots::for_lengths(&lengths, position_bits, self.own_bits(), self.remainder_bits, fresh);
            let needed = (keys as f64 * slots.per_entry).ceil() as u64;
            // With more quotient bits a fingerprint takes fewer slots.
            if size_for(needed)? <= size {
                let shape = self.table.shape().resized(size, slots.bits);
                return Ok(Some((shape, slots.have_stop)));
            }
        }
        Ok(None)
    }

    /// The smallest size in which so many bits of a fingerprint follow from where it is.
    pub(crate) fn least_size(&self, position_bits: u32) -> Size {
        Size::from(position_bits.saturating_sub(self.table.shape().part().bits()).max(1))
    }

    /// Bits of a fingerprint that follow from where it is in a table of another size.
    fn position_bits_in(&self, size: Size) -> u32 {
        self.table.shape().part().bits() + size.quotient_bits()
    }

    /// Whether the filter may have a table of this shape.
    pub(super) fn may_have(&self, shape: &Shape) -> bool {
        match self.growth {
            Growth::Refuse => shape.size() <= self.size(),
            Growth::Grow { max_bytes: None } => true,
            Growth::Grow { max_bytes: Some(most) } | Growth::Rotate { max_bytes: most } => {
                shape.body_bytes().is_some_and(|bytes| bytes as u64 <= most)
            }
        }
    }

    /// Whether the filter could get a larger table.
    pub(crate) fn can_grow(&self) -> bool {
        let larger = self.larger_size(0).and_then(|size| self.shape_for(size));
        larger.is_some_and(|(shape, _)| self.may_have(&shape))
    }

    /// How many bytes a table may have with a larger spill area than its shape says.
    pub(super) fn most_bytes(&self) -> u64 {
        match self.growth {
            Growth::Refuse => 0,
            Growth::Grow { max_bytes } => max_bytes.unwrap_or(u64::MAX),
            Growth::Rotate { max_bytes } => max_bytes,
        }
    }

    /// What helps if there is no room for an edit.
    pub(super) fn remedy(&self, why: Full, effort: Effort) -> Remedy {
        let crowded = Crowded { why, effort, used: self.used_slots(), limit: self.capacity() };
        let extended = || self.table.shape().extended(crowded.slots()).body_bytes();
        let can_extend = || extended().is_some_and(|bytes| bytes as u64 <= self.most_bytes());
        match crowded.remedy(can_extend, || self.can_grow()) {
            Remedy::None if self.can_forget() => Remedy::Grow,
            remedy => remedy,
        }
    }
}

/// How strings lie in the slots of a table that is planned.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Slots {
    bits: u32,
    have_stop: bool,
    /// How many an entry takes on average.
    per_entry: f64,
}

impl Slots {
    /// The slots that take the least space for fingerprints of which `lengths[n]` have `n` bits, and hold strings of no more
    /// than `most` bits. All get fresh length at least. `own_bits` of a head are not of the string.
    fn for_lengths(
        lengths: &[u64],
        position_bits: u32,
        own_bits: u32,
        remainder_bits: u32,
        most: u32,
    ) -> Self {
        // How many entries have so many bits to be stored.
        let stored = || {
            let all = (0..).zip(lengths).filter(|(_, count)| **count > 0);
            let stored = |len: u32| len.saturating_sub(position_bits).max(remainder_bits) + own_bits;
            all.map(move |(len, &count)| (stored(len), count))
        };
        let (entries, fresh): (u64, _) = (lengths.iter().sum(), remainder_bits + own_bits);
        let taking = |bits: u32, stop: u32| {
            let slots: u64 =
                stored().map(|(len, count)| u64::from((len + stop).div_ceil(bits)) * count).sum();
            Self { bits, have_stop: stop == 1, per_entry: slots as f64 / entries as f64 }
        };
        if entries == 0 {
            return Self { bits: fresh, have_stop: false, per_entry: 1.0 };
        }
        // Beside its bits a slot has those of its block.
        let space = |slots: &Self| slots.per_entry * f64::from(8 * slots.bits + 25);
        // Without a stop bit only lengths that fill their slots can be held.
        let fills_slots = stored().all(|(len, _)| len % fresh == 0);
        let whole = fills_slots.then(|| taking(fresh, 0));
        let widths =
            whole.into_iter().chain((fresh + 1..=(most + own_bits).min(62) + 1).map(|bits| taking(bits, 1)));
        widths.min_by(|one, other| space(one).total_cmp(&space(other))).unwrap_or(taking(63, 1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lengths(of: &[(usize, u64)]) -> Vec<u64> {
        let mut lengths = vec![0; 100];
        of.iter().for_each(|&(len, count)| lengths[len] += count);
        lengths
    }

    #[test]
    fn fresh_lengths_fill_their_slots() {
        for none in [lengths(&[]), lengths(&[(3, 5)]), lengths(&[(22, 5)])] {
            let slots = Slots::for_lengths(&none, 10, 0, 12, 60);
            assert_eq!(slots, Slots { bits: 12, have_stop: false, per_entry: 1.0 });
        }
    }

    #[test]
    fn what_was_learned_on_this_grid_stays_on_it() {
        let slots = Slots::for_lengths(&lengths(&[(22, 75), (34, 25)]), 10, 0, 12, 60);
        assert_eq!(slots, Slots { bits: 12, have_stop: false, per_entry: 1.25 });
    }

    #[test]
    fn slots_are_as_wide_as_most_lengths_ask_for() {
        // From 2^13 slots to 2^10: three bits more, and one for the stop bit.
        let slots = Slots::for_lengths(&lengths(&[(25, 99), (24, 50), (49, 1)]), 10, 0, 12, 60);
        assert_eq!((slots.bits, slots.have_stop), (16, true));
        // Also if they happen to fill narrower slots: two of 4 bits take more than one of 9.
        let slots = Slots::for_lengths(&lengths(&[(20, 100)]), 12, 0, 4, 60);
        assert_eq!(slots, Slots { bits: 9, have_stop: true, per_entry: 1.0 });
        // Not wider than what fresh ones hold.
        let slots = Slots::for_lengths(&lengths(&[(20, 100)]), 12, 0, 4, 5);
        assert_eq!((slots.bits, slots.have_stop, slots.per_entry), (4, false, 2.0));
        // Not as wide as a few long ones ask for.
        let slots = Slots::for_lengths(&lengths(&[(23, 9), (60, 1)]), 10, 0, 12, 60);
        assert_eq!((slots.bits, slots.have_stop, slots.per_entry), (14, true, 1.3));
    }
}
