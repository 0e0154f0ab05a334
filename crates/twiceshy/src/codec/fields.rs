//! Fields of bits side by side in slots: how codecs write what is no multiple of a slot.

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
