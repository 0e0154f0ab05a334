//! Growing and shrinking: moving bits between remainder and quotient.
//!
//! The fingerprints stay as they are, only the border between the bits that the position implies and
//! the bits that are stored moves. That is one sequential pass into a new table; the old one stays
//! until the new one is complete.

use super::QuotientFilter;
use super::fill::refill;
use crate::error::ResizeError;
use crate::table::{Shape, Table};

impl QuotientFilter {
    /// Doubles the number of slots. Each remainder gives one bit to the quotient.
    ///
    /// The probability of a false positive stays the same for the same contents, but the room for more
    /// contents is room for more of them: to hold an error rate through growth, build the filter with
    /// [`grow_to`](super::Builder::grow_to).
    pub fn grow(&mut self) -> Result<(), ResizeError> {
        self.resize(self.quotient_bits() + 1)
    }

    /// Makes room for `additional` more different keys, by [growing](Self::grow) if need be, also beyond
    /// the size that the filter was built for.
    pub fn reserve(&mut self, additional: u64) -> Result<(), ResizeError> {
        if self.used_slots().saturating_add(additional) <= self.capacity() {
            return Ok(());
        }
        // Narrower slots may need more of them for counts: look before taking a size.
        for quotient_bits in self.quotient_bits() + 1.. {
            let shape = self.shape_for(quotient_bits)?;
            if self.distinct().saturating_add(additional) > shape.slot_limit() {
                continue;
            }
            let has_room = |table: &Table| table.used().saturating_add(additional) <= shape.slot_limit();
            if let Some(table) = refill(&self.table, shape)?.filter(has_room) {
                self.table = table;
                return Ok(());
            }
        }
        unreachable!("shape_for ends the loop")
    }

    /// Shrinks to the smallest number of slots that holds the contents, giving the bits back to the
    /// remainders. Nothing is lost, and the filter grows again by itself up to the size it was built for.
    pub fn shrink_to_fit(&mut self) -> Result<(), ResizeError> {
        // Wider slots may need fewer of them for counts, but one for each fingerprint.
        let fits =
            |bits: &u32| self.shape_for(*bits).is_ok_and(|shape| self.distinct() <= shape.slot_limit());
        for quotient_bits in (1..self.quotient_bits()).filter(fits).collect::<Vec<_>>() {
            match self.resize(quotient_bits) {
                Err(ResizeError::Full { .. }) => continue,
                done => return done,
            }
        }
        Ok(())
    }

    /// The shape of this filter's fingerprints with another number of quotient bits.
    pub(super) fn shape_for(&self, quotient_bits: u32) -> Result<Shape, ResizeError> {
        if quotient_bits >= self.fingerprint_bits() || quotient_bits > Shape::MAX_QUOTIENT_BITS {
            return Err(ResizeError::NotEnoughBits);
        }
        Ok(self.table.shape().resized(quotient_bits, self.fingerprint_bits() - quotient_bits))
    }

    pub(super) fn resize(&mut self, quotient_bits: u32) -> Result<(), ResizeError> {
        let shape = self.shape_for(quotient_bits)?;
        let full = ResizeError::Full { used: self.used_slots(), slots: shape.slots() };
        self.table = refill(&self.table, shape)?.ok_or(full)?;
        Ok(())
    }
}
