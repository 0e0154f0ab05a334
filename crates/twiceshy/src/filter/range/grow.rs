//! Growing and shrinking, without a key being read.
//!
//! Every fingerprint gives the first of its stored bits to the quotient, or gets one back; the string of bits stays as it is, and
//! none is ever cut. One that has no bit left to give goes to *both* quotients that begin with it. That doubles it with every
//! further doubling of the table, so that it takes the same share of it for ever: `2^-l`, if it had `l` stored bits when it came.
//! All of them together take a share that is no larger than the error rate; where that is most of the table, because
//! fingerprints have a bit or two, it is full at every size, which is an error. So there is no chain of tables, and nothing is
//! lost; but when such a key is removed, its other copies stay, and find what they found before.
//!
//! Slots have no stop bit up to the size at the start, and one beyond it, where lengths differ.
//!
//! # Source
//!
//! Section 4 of *InfiniFilter* moves what has no bits left to a chain of tables. There fingerprints of single keys would
//! otherwise be lost to the error rate; here they are as few, and a query looks into one table only.

use super::boxed::Boxed;
use super::fill::{NoPlace, place};
use super::settings::Settings;
use super::{RangeFilter, RangeKey};
use crate::error::{Full, ResizeError};
use crate::table::Shape;

/// How many doublings are tried if the first is not enough: slots of another width may be more of them.
const DOUBLINGS: u32 = 3;

impl Settings {
    /// The same keys in a table of twice as many slots, or more if these are too few.
    pub(super) fn doubled(&self, boxed: &Boxed) -> Result<Boxed, NoPlace> {
        let (old, now) = (boxed.borrowed(), boxed.table.shape().quotient_bits());
        if boxed.is_void(1) {
            return Err(NoPlace::FullAtEverySize);
        }
        for quotient_bits in now + 1..=(now + DOUBLINGS).min(Shape::MAX_QUOTIENT_BITS) {
            let has_stops = boxed.codec.has_stops() || quotient_bits > self.start;
            let Some(layout) = self.layout(quotient_bits, has_stops, boxed.full_bits()) else { break };
            match place(layout, &old, None) {
                Err(NoPlace::Full) => continue,
                done => return done,
            }
        }
        Err(NoPlace::Full)
    }
}

impl<K: RangeKey + ?Sized> RangeFilter<K> {
    /// Doubles the number of slots. A filter that may grow does that by itself.
    ///
    /// The probability of a mistake stays the same for the same contents.
    pub fn grow(&mut self) -> Result<(), ResizeError> {
        let full = ResizeError::Full { used: self.used_slots(), slots: self.slots().saturating_mul(2) };
        if self.boxes.table.shape().quotient_bits() >= Shape::MAX_QUOTIENT_BITS {
            return Err(ResizeError::NotEnoughBits);
        }
        self.boxes = self.settings.doubled(&self.boxes).map_err(|error| match error {
            NoPlace::Memory(error) => ResizeError::Memory(error),
            _ => full,
        })?;
        Ok(())
    }

    /// Makes the filter as small as its contents allow. Fingerprints stay as long as they are, so nothing is found that was
    /// not found before.
    ///
    /// ```
    /// # use twiceshy::RangeFilter;
    /// let mut filter = RangeFilter::<u64>::builder().capacity(100_000).build()?;
    /// filter.insert(&7)?;
    /// filter.shrink_to_fit()?;
    /// assert!(filter.slots() < 10 && filter.contains(&7));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn shrink_to_fit(&mut self) -> Result<(), ResizeError> {
        let has_stops = self.boxes.codec.has_stops();
        let longest = match has_stops {
            true => self.boxes.fingerprints().map(|fingerprint| fingerprint.len()).max().unwrap_or(0),
            false => self.settings.first_bits,
        };
        let old = self.boxes.borrowed();
        for quotient_bits in 1..self.boxes.table.shape().quotient_bits() {
            let Some(layout) = self.settings.layout(quotient_bits, has_stops, longest) else { continue };
            match place(layout, &old, None) {
                Ok(boxes) => {
                    self.boxes = boxes;
                    return Ok(());
                }
                Err(NoPlace::Memory(error)) => return Err(error.into()),
                Err(_) => continue,
            }
        }
        Ok(())
    }

    /// What an error says of the present size.
    pub(super) fn full(&self) -> Full {
        Full { used: self.used_slots(), slots: self.slots() }
    }
}
