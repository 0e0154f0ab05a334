//! What the builders of all filters have in common.

use crate::error::BuildError;
use crate::hash::Hasher;
use crate::table::Shape;

/// The error rate if none is given.
pub(crate) const DEFAULT_ERROR_RATE: f64 = 0.001;

/// Gives a builder a method for every setting, with its documentation, and those that every builder has.
macro_rules! setters {
    ($($(#[$documentation:meta])* $setting:ident($value:ident: $type:ty);)+) => {
        $(
            $(#[$documentation])*
            pub fn $setting(mut self, $value: $type) -> Self {
                self.$setting = $value.into();
                self
            }
        )+

        /// How to hash keys. The default is a keyed hash with a fresh random key.
        pub fn hasher(mut self, hasher: Hasher) -> Self {
            self.hasher = Some(hasher);
            self
        }

        /// Small internal limits make rare paths common.
        #[cfg(any(test, fuzzing))]
        pub fn limits(mut self, offset_max: u8, spill_slots: u32) -> Self {
            self.limits = Some((offset_max, spill_slots));
            self
        }
    };
}

pub(crate) use setters;

/// Gives a builder that has one of a filter of points, as `points`, settings of that, with its own documentation.
macro_rules! as_for_points {
    ($($(#[$documentation:meta])* $setting:ident($value:ident: $type:ty);)+) => {
        $(
            $(#[$documentation])*
            #[allow(clippy::needless_update, reason = "some have nothing else")]
            pub fn $setting(self, $value: $type) -> Self {
                Self { points: self.points.$setting($value), ..self }
            }
        )+

        /// Small internal limits make rare paths common.
        #[cfg(any(test, fuzzing))]
        #[allow(clippy::needless_update, reason = "some have nothing else")]
        pub fn limits(self, offset_max: u8, spill_slots: u32) -> Self {
            Self { points: self.points.limits(offset_max, spill_slots), ..self }
        }
    };
}

pub(crate) use as_for_points;

/// The hasher that was given, or one with a fresh random key.
pub(crate) fn hasher_or_random(given: Option<Hasher>) -> Result<Hasher, BuildError> {
    given.map_or_else(|| Ok(Hasher::random()?), Ok)
}

/// A shape with the limits that a test has given.
pub(crate) fn with_limits(shape: Shape, limits: Option<(u8, u32)>) -> Shape {
    let limited = limits.map(|(offset_max, spill)| shape.with_limits(offset_max, spill));
    limited.map_or(shape, |shape| shape.expect("sensible limits"))
}

/// `Err` if two settings that decide the same thing were both given.
pub(crate) fn not_both<A, B>(
    (first, one): (&'static str, Option<A>),
    (second, other): (&'static str, Option<B>),
) -> Result<(), BuildError> {
    match (one, other) {
        (Some(_), Some(_)) => Err(BuildError::Contradiction { first, second }),
        _ => Ok(()),
    }
}

/// `Err` unless a setting is in its range.
pub(crate) fn in_range(what: &'static str, found: u32, min: u32, max: u32) -> Result<u32, BuildError> {
    if (min..=max).contains(&found) {
        return Ok(found);
    }
    Err(BuildError::OutOfRange { what, min: min.into(), max: max.into(), found: found.into() })
}

/// `Err` unless an error rate is a probability that a filter can have.
pub(crate) fn check_rate(rate: f64) -> Result<f64, BuildError> {
    if rate > 0.0 && rate < 1.0 { Ok(rate) } else { Err(BuildError::ErrorRate { found: rate }) }
}

/// The fewest quotient bits with room for some keys, given how many a size has room for.
pub(crate) fn quotient_bits_for(
    what: &'static str,
    keys: u64,
    room: impl Fn(u32) -> u64,
) -> Result<u32, BuildError> {
    let (mut sizes, max) = (1..=Shape::MAX_QUOTIENT_BITS, room(Shape::MAX_QUOTIENT_BITS));
    let found = sizes.find(|&bits| keys <= room(bits));
    found.ok_or(BuildError::OutOfRange { what, min: 0, max, found: keys })
}
