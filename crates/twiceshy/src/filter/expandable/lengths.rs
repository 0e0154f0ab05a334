//! How long the fingerprints of new entries are: the policy that makes the three modes.
//!
//! # The idea
//!
//! A key that is absent is found with probability `Σ 2^-L`, summed over the lengths `L` of all stored
//! fingerprints. When a table of `2^q` slots is at its load limit `α`, at most `α·2^q` entries were inserted at
//! this size or a smaller one. If those of size `q` are `q + ℓ(q)` bits long, the sum is largest when every
//! size was filled to its limit; then half of the entries of each size are of that size, and
//!
//! ```text
//! rate <= α · (2^-ℓ(s) + 1/2 · Σ_{q > s} 2^-ℓ(q))        s: the size at the start
//! ```
//!
//! With a constant length `F` (chained, basic) every doubling adds `α·2^-(F + 1)`: the rate grows with the
//! logarithm of the size. With `ℓ(X) = ⌈F + 2·log2(X + 1)⌉` (growing) the terms fall as `1/X²` and the sum has
//! a limit. `F` is the smallest number for which the limit is at most the rate that was asked for.
//!
//! # Source
//!
//! Sections 4.1 to 4.3 of *InfiniFilter*. We deviate in four points.
//!
//! - The paper counts generations `X` from the first table; we count them from a table of one slot, so `X = q`.
//!   The lengths then rise by less in the sizes that matter.
//! - `F` is a multiple of an eighth, and what is rounded up is the sum, so that hardly anything is wasted.
//! - While the table is small, a fingerprint has at least [`MORE_BITS`]` + log2(1/ε)` bits together with its
//!   quotient. Bits are cheap there (some 8 KiB in all), the first keys then do no harm later, and no entry is
//!   void before the table has as many slots: until then, 2^29 for ε = 1/512, there is no chain to look into.
//! - The paper's sum (its equation 10) leaves out that the first generation fills its whole table, and that
//!   entries of the chain do not count as load of the active table; ours has both.
//!
//! From 2^6 slots at the start to 2^24, with ε = 1/512, this makes 12 bits for a new key instead of 19.

use crate::error::BuildError;
use crate::filter::settings::check_rate;
use crate::table::Shape;

/// How an [`ExpandableFilter`](super::ExpandableFilter) grows.
///
/// | mode | error rate | bits per key | lookups per query | grows |
/// |---|---|---|---|---|
/// | [`Growing`](Self::Growing) | at most the one asked for, at every size | rise with log log of the size | 1; 2 from `2^20 / ε` keys on | for ever |
/// | [`Chained`](Self::Chained) | rises with the logarithm of the size | constant, the fewest | one more every `F + 1` doublings | for ever |
/// | [`Basic`](Self::Basic) | rises with the logarithm of the size | constant, the fewest | 1 | `F` doublings |
///
/// `F` is the number of fingerprint bits that a new key gets in its slot.
///
/// Measured with 15 million keys after growth from 2^10 slots, for `F` = 12 or, growing, a rate of 2^-12:
///
/// | mode | error rate | bits per key | query, absent | insert |
/// |---|---|---|---|---|
/// | `Growing` | 0.014 % (asked for: 0.024 %) | 20.1 | 60 ns | 253 ns |
/// | `Chained` | 0.17 % | 16.8 | 112 ns | 259 ns |
/// | `Basic` (3.8 million keys, where it ends) | 0.15 % | 16.8 | 46 ns | 240 ns |
///
/// `docs/performance.md` in the repository has more, and the command that measures it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Mode {
    /// The error rate that was asked for holds at every size: new keys get longer fingerprints as the filter
    /// grows. The default.
    #[default]
    Growing,
    /// The smallest: all new keys get fingerprints of the same length, and those that have no bit left to
    /// grow with move to a chain of smaller tables. **The error rate grows with the logarithm of the number of
    /// keys**: after `d` doublings it is up to `1 + d / 2` times the one asked for.
    Chained,
    /// One table and no chain: when the oldest fingerprints have no bit left, growing is an error.
    Basic,
}

impl Mode {
    /// Its name in one word.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Growing => "growing",
            Self::Chained => "chained",
            Self::Basic => "basic",
        }
    }
}

/// Lengths of new fingerprints at every size.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::filter) struct Lengths {
    pub(in crate::filter) mode: Mode,
    /// The paper's `F`, in eighths of a bit. For growing it may be below 0.
    pub(in crate::filter) base: i16,
    /// The fewest bits of a new fingerprint with its quotient, as far as a slot can hold them.
    pub(in crate::filter) least_bits: u32,
}

/// How many bits more than the error rate asks for a new fingerprint of a growing filter has, with its quotient.
const MORE_BITS: u32 = 20;

/// The longest string that a slot may hold.
const MOST_STORED: u32 = 63;

/// `⌈16·log2(q + 1)⌉`: twice the logarithm, in eighths.
fn growth(quotient_bits: u32) -> i16 {
    let power = u128::from(quotient_bits + 1).pow(16);
    (128 - (power - 1).leading_zeros()) as i16
}

impl Lengths {
    /// Bits that a new entry stores in a table of `2^quotient_bits` slots.
    pub(in crate::filter) fn stored_bits(&self, quotient_bits: u32) -> u32 {
        let eighths = match self.mode {
            Mode::Growing => self.base.saturating_add(growth(quotient_bits)),
            Mode::Chained | Mode::Basic => self.base,
        };
        let bits = eighths.div_euclid(8) + i16::from(eighths.rem_euclid(8) > 0);
        let least = self.least_bits.saturating_sub(quotient_bits);
        (bits.max(1) as u32).max(least).min(MOST_STORED)
    }

    /// Bits of the fingerprint of a new entry.
    pub(super) fn full_bits(&self, quotient_bits: u32) -> u32 {
        quotient_bits + self.stored_bits(quotient_bits)
    }

    /// How many doublings ago a fingerprint of this length was new, in a table of `2^quotient_bits` slots: the
    /// fewest, where new fingerprints of several sizes have the same length.
    pub(super) fn age(&self, bits: u32, quotient_bits: u32) -> u32 {
        let born = (1..=quotient_bits).rev().find(|&size| self.full_bits(size) <= bits);
        quotient_bits - born.unwrap_or(0)
    }

    /// The lengths for which `stored_bits` are those at the start.
    pub(in crate::filter) fn with_bits(mode: Mode, stored_bits: u32, start: u32) -> Self {
        let more = if mode == Mode::Growing { growth(start) } else { 0 };
        Self { mode, base: 8 * stored_bits as i16 - more, least_bits: 0 }
    }

    /// The shortest lengths that keep the error rate: growing at every size, the others at the start.
    pub(in crate::filter) fn for_rate(
        mode: Mode,
        rate: f64,
        start: u32,
        load: f64,
    ) -> Result<Self, BuildError> {
        check_rate(rate)?;
        let (shortest, longest) =
            (Self::with_bits(mode, 1, start), Self::with_bits(mode, MOST_STORED, start));
        let (steps, least_bits) = match mode {
            Mode::Growing => (1, MORE_BITS + (1.0 / rate).log2().min(99.0) as u32),
            Mode::Chained | Mode::Basic => (8, 0),
        };
        (shortest.base..=longest.base)
            .step_by(steps)
            .map(|base| Self { mode, base, least_bits })
            .find(|lengths| lengths.worst_rate(start, load) <= rate)
            .ok_or(BuildError::NotEnoughBits {
                needed: (load / rate).log2().ceil().min(9_999.0) as u32,
                available: MOST_STORED,
            })
    }

    /// The largest error rate: of a growing filter at any size, of the others when they are full for the first
    /// time.
    pub(super) fn worst_rate(&self, start: u32, load: f64) -> f64 {
        let rate = |size: u32| 2f64.powi(-(self.stored_bits(size) as i32));
        let first = rate(start);
        match self.mode {
            Mode::Growing => {
                let later: f64 = (start + 1..=Shape::MAX_QUOTIENT_BITS).map(rate).sum();
                // Entries in the chain are no load of the active table: a part of all, and a part of that.
                let with_chain = 1.0 / (1.0 - first);
                load * with_chain * (first + later / 2.0)
            }
            Mode::Chained | Mode::Basic => load * first,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn growth_is_twice_the_logarithm_rounded_up() {
        for quotient_bits in 0..=48 {
            let exact = 16.0 * f64::from(quotient_bits + 1).log2();
            assert!((f64::from(growth(quotient_bits)) - exact - 0.5).abs() <= 0.5 + 1e-9, "{quotient_bits}");
        }
        assert_eq!([growth(0), growth(1), growth(3), growth(15)], [0, 16, 32, 64]);
    }

    #[test]
    fn lengths_are_the_shortest_that_keep_the_rate() {
        for rate in [0.9, 0.1, 0.01, 1.0 / 512.0, 1e-6] {
            for start in [1, 6, 10, 30] {
                let lengths = Lengths::for_rate(Mode::Growing, rate, start, 0.9).unwrap();
                assert!(lengths.worst_rate(start, 0.9) <= rate);
                let shorter = Lengths { base: lengths.base - 1, ..lengths };
                let shortest = Lengths::with_bits(Mode::Growing, 1, start);
                assert!(shorter.worst_rate(start, 0.9) > rate || lengths.base == shortest.base);
                // Total lengths never fall with the size, so no entry has more bits than a new one.
                assert!((1..48).all(|size| lengths.full_bits(size) <= lengths.full_bits(size + 1)));
            }
        }
        let usual = Lengths::for_rate(Mode::Growing, 1.0 / 512.0, 6, 0.9).unwrap();
        assert_eq!([6, 16, 24, 32].map(|size| usual.stored_bits(size)), [23, 13, 12, 13]);
        assert_eq!(Lengths::for_rate(Mode::Chained, 1.0 / 512.0, 6, 0.9).unwrap().stored_bits(30), 9);
        assert!(Lengths::for_rate(Mode::Growing, 1e-30, 6, 0.9).is_err());
    }

    #[test]
    fn the_age_of_a_fingerprint_follows_from_its_length() {
        for mode in [Mode::Growing, Mode::Chained] {
            let lengths = Lengths::with_bits(mode, 9, 6);
            for born in 6..20 {
                for now in born..25 {
                    assert_eq!(lengths.age(lengths.full_bits(born), now), now - born);
                }
            }
        }
    }
}
