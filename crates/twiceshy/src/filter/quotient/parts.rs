//! A filter as several ones, each for the hashes that begin with some bits, and back: what a shared filter is made of.

use std::borrow::Borrow;

use super::QuotientFilter;
use super::fill::{Filled, fill};
use super::iter::Fingerprint;
use super::merge::not_filled;
use crate::bits::word::low_mask;
use crate::error::MergeError;
use crate::table::{Part, Shape, Table};

impl QuotientFilter {
    #[inline(always)]
    pub(crate) fn table(&self) -> &Table {
        &self.table
    }

    #[inline(always)]
    pub(crate) fn table_mut(&mut self) -> &mut Table {
        &mut self.table
    }

    pub(crate) fn max_quotient_bits(&self) -> u32 {
        self.max_quotient_bits
    }

    /// Lets the filter become twice as large as it is, even if it was not built for that.
    pub(crate) fn allow_growth(&mut self) {
        self.max_quotient_bits = self.max_quotient_bits.max(self.quotient_bits() + 1);
    }

    /// The contents as `2^bits` filters, of which each is for a part of all hashes. There must be more bits in a fingerprint,
    /// and two more at least.
    pub(crate) fn parts(&self, bits: u32) -> Result<Vec<Self>, MergeError> {
        let fingerprint_bits = self.fingerprint_bits() - bits;
        let quotient_bits = self.quotient_bits().saturating_sub(bits).max(1);
        let shape = self.table.shape().resized(quotient_bits, fingerprint_bits - quotient_bits);
        let mut all = self.iter().peekable();
        let part = |number: u64| {
            let is_in = |entry: &Fingerprint| entry.fingerprint >> fingerprint_bits == number;
            let entries = std::iter::from_fn(|| all.next_if(is_in)).map(|entry| Fingerprint {
                fingerprint: entry.fingerprint & low_mask(fingerprint_bits),
                ..entry
            });
            let shape = shape.for_part(Part::new(number as u16, bits));
            let (table, Filled { len, distinct }) =
                fill(shape, most_quotient_bits(fingerprint_bits), entries).map_err(not_filled)?;
            let max_quotient_bits = self.max_quotient_bits.saturating_sub(bits).max(1);
            Ok(Self { table, hasher: self.hasher.clone(), len, distinct, max_quotient_bits })
        };
        (0..1 << bits).map(part).collect()
    }

    /// A filter with the contents of `2^bits` such parts, in order, which may grow to so many quotient bits by itself.
    pub(crate) fn joined<F: Borrow<Self>>(
        bits: u32,
        max_quotient_bits: u32,
        parts: &[F],
    ) -> Result<Self, MergeError> {
        let parts = || parts.iter().map(Borrow::borrow);
        let first = parts().next().ok_or(MergeError::Nothing)?;
        let fingerprint_bits = bits + first.fingerprint_bits();
        let used: u64 = parts().map(|part| part.used_slots()).sum();
        let least = bits + parts().map(|part| part.quotient_bits()).min().unwrap_or(1);
        let shape = |bits| first.table.shape().resized(bits, fingerprint_bits - bits).for_part(Part::ALL);
        let fits = |&bits: &u32| used <= shape(bits).slot_limit();
        let most = most_quotient_bits(fingerprint_bits);
        let not_enough = MergeError::NotEnoughBits { fingerprint_bits, needed_slots: used };
        let quotient_bits = (least..=most).find(fits).ok_or(not_enough)?;
        let entries = parts().enumerate().flat_map(|(number, part)| {
            let first = (number as u64).unbounded_shl(part.fingerprint_bits());
            part.iter().map(move |entry| Fingerprint { fingerprint: first | entry.fingerprint, ..entry })
        });
        let (table, Filled { len, distinct }) =
            fill(shape(quotient_bits), most, entries).map_err(not_filled)?;
        Ok(Self { table, hasher: first.hasher.clone(), len, distinct, max_quotient_bits })
    }
}

/// The most quotient bits that leave something to store.
fn most_quotient_bits(fingerprint_bits: u32) -> u32 {
    (fingerprint_bits - 1).min(Shape::MAX_QUOTIENT_BITS)
}
