//! Fields of bits side by side in slots: how codecs write and read what is no multiple of a slot.

use crate::bits::word::low_mask;
use crate::table::{Kind, Slot};

/// Writes fields of bits into slots, side by side, the lowest bits first.
pub(super) struct Fields<'a> {
    slots: &'a mut Vec<Slot>,
    slot_bits: u32,
    kind: Kind,
    /// What is written of the next slot, and how many bits that are.
    slot: u64,
    filled: u32,
}

impl<'a> Fields<'a> {
    /// Appends slots of this kind.
    pub(super) fn new(slot_bits: u32, kind: Kind, slots: &'a mut Vec<Slot>) -> Self {
        Self { slots, slot_bits, kind, slot: 0, filled: 0 }
    }

    /// Appends the lowest `bits` bits of `value`.
    pub(super) fn push(&mut self, mut value: u64, mut bits: u32) {
        while bits > 0 {
            let fit = bits.min(self.slot_bits - self.filled);
            self.slot |= (value & low_mask(fit)) << self.filled;
            (value, bits) = (value.unbounded_shr(fit), bits - fit);
            self.filled += fit;
            if self.filled == self.slot_bits {
                self.finish();
            }
        }
    }

    /// Zeros up to the end of the slot.
    pub(super) fn finish(&mut self) {
        if self.filled > 0 {
            self.slots.push(Slot { kind: self.kind, value: self.slot });
            (self.slot, self.filled) = (0, 0);
        }
    }
}

/// The `len` bits (at most 64) from bit `at` on, in slots of so many bits. Where there is no slot there are zeros.
#[inline(always)]
pub(super) fn read(slot: impl Fn(u64) -> Option<u64>, slot_bits: u32, at: u64, len: u32) -> u64 {
    let (mut number, mut skip) = (at / u64::from(slot_bits), (at % u64::from(slot_bits)) as u32);
    let (mut bits, mut read) = (0, 0);
    while read < len
        && let Some(slot) = slot(number)
    {
        let more = (slot_bits - skip).min(len - read);
        bits |= (slot >> skip & low_mask(more)) << read;
        (number, skip, read) = (number + 1, 0, read + more);
    }
    bits
}
