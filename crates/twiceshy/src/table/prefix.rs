//! Which slots of a glance are prefixes of a value: the match of strings that end with a stop bit.
//!
//! A slot `s` holds a string, a 1 after it and zeros ([`codec::stop`](crate::codec::stop)). It is a prefix of
//! a window `v` iff the two agree above the lowest 1 of `s`, that is, iff `(s ^ v) & !(s ^ (s - 1))` is 0. All
//! lanes are computed at once. A lane of 0, which holds no string but may be a digit of a count, borrows from the
//! lanes above it and makes them wrong, but it seems to match everything itself, and what is below it is right: the
//! lowest match is a match or a digit, and there is none only if there is none.

use super::glance::{Glance, MASKS};
use super::{Layout, Source, Table};
use crate::bits::word::field_mask;

impl<B: Source, L: Layout> Table<B, L> {
    /// What keeps each slot, but for its lowest bits that are set in `ignored`, from being a prefix of `window`, in which these
    /// are 0: 0 in the lanes that are one. With `stops` set to 0 instead of all ones, slots have no stop bits, and must be equal.
    #[inline(always)]
    fn contradictions(&self, glance: &Glance, window: u64, ignored: u64, stops: u64) -> u64 {
        let ones = self.lanes.ones;
        let slots = glance.slots & !ones.wrapping_mul(ignored);
        let through_stop = slots ^ slots.wrapping_sub(ones);
        (slots ^ window.wrapping_mul(ones)) & !(through_stop & stops)
    }

    /// The first slot of the run that is a prefix of `window`, as a bit: 0 if there is none. A digit may be taken for one.
    #[inline(always)]
    pub(crate) fn find_prefix_at_glance(&self, glance: &Glance, window: u64) -> u64 {
        let found = self.prefixes_at_glance(glance, window, 0, u64::MAX);
        found & found.wrapping_neg()
    }

    /// Slots of the run that are prefixes of `window`, as bits. Only the lowest one is certain: 0 if there is none. The lowest
    /// bits of a slot that are set in `ignored` are something else, and 0 in the window; `stops` is all ones, or 0 if slots have
    /// no stop bits.
    #[inline(always)]
    pub(crate) fn prefixes_at_glance(&self, glance: &Glance, window: u64, ignored: u64, stops: u64) -> u64 {
        // The lowest lane that is 0 is found for certain.
        let wrong = self.contradictions(glance, window, ignored, stops);
        wrong.wrapping_sub(self.lanes.ones) & !wrong & self.lanes_of(glance)
    }

    /// The same for slots whose ignored bits, XORed with those of `window`, are less than `below`, which is at most one more than
    /// all of them: lanes that are less than it, instead of those that are 0, which takes no more steps that wait for memory.
    #[inline(always)]
    pub(crate) fn prefixes_below_at_glance(
        &self,
        glance: &Glance,
        window: u64,
        ignored: u64,
        stops: u64,
        below: u64,
    ) -> u64 {
        let ones = self.lanes.ones;
        let mut wrong = glance.slots ^ window.wrapping_mul(ones);
        // The same in all queries.
        if stops != 0 {
            let ignored = ones.wrapping_mul(ignored);
            let strings = glance.slots & !ignored;
            wrong &= !(strings ^ strings.wrapping_sub(ones)) | ignored;
        }
        wrong.wrapping_sub(below.wrapping_mul(ones)) & !wrong & self.lanes_of(glance)
    }

    /// The slot that was found, if it is the only one: what a slot of the run is that is a bit of `found`.
    #[inline(always)]
    pub(crate) fn only_found_at_glance(&self, glance: &Glance, found: u64) -> Option<u64> {
        let width = self.shape.slot_bits();
        let lane = || glance.slots >> (found.trailing_zeros() + 1 - width) & field_mask(width);
        found.is_power_of_two().then(lane)
    }

    /// The rank in the run, which holds no digits, of the only slot that is a prefix of `window`; `None` if there
    /// are several or none. What is ignored and whether there are stop bits is as for
    /// [`prefixes_at_glance`](Self::prefixes_at_glance).
    #[inline(always)]
    pub(crate) fn only_prefix_at_glance(
        &self,
        glance: &Glance,
        window: u64,
        ignored: u64,
        stops: u64,
    ) -> Option<u32> {
        let highs = self.lanes.highs[MASKS - 1];
        let wrong = self.contradictions(glance, window, ignored, stops);
        // Here every lane counts: see `count_at_glance`.
        let differs = (wrong | highs).wrapping_sub(self.lanes.ones) | wrong;
        let found = !differs & self.lanes_of(glance);
        (found.is_power_of_two()).then(|| found.trailing_zeros() / self.shape.slot_bits())
    }
}
