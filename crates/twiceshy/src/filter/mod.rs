//! Filters: a table, a codec and a policy.
//!
//! | folder | filter |
//! |---|---|
//! | [`quotient`] | [`QuotientFilter`](quotient::QuotientFilter): a multiset with counts, growth by moving bits |
//! | [`expandable`] | [`ExpandableFilter`](expandable::ExpandableFilter): a multiset that doubles for ever, without keys |
//! | [`adaptive`] | [`AdaptiveFilter`](adaptive::AdaptiveFilter): a set whose fingerprints get longer where they erred |
//!
//! [`any`] lists them all and holds a filter of any kind.

pub(crate) mod adaptive;
pub(crate) mod any;
mod batch;
pub(crate) mod core;
pub(crate) mod expandable;
pub mod protocol;
pub(crate) mod quotient;
mod room;
#[cfg(test)]
mod tests;
mod union;

use crate::error::BuildError;
use crate::table::Shape;

/// The largest share of the slots that may be in use, in percent: beyond it, clusters get so long that
/// every update is slow.
const MAX_LOAD_PERCENT: u64 = 95;

/// How many slots may be in use.
fn slot_limit(shape: &Shape) -> u64 {
    // There are at most 2^48 quotients, so this does not overflow.
    shape.quotients() * MAX_LOAD_PERCENT / 100
}

/// `Err` unless a setting is in its range.
fn in_range(what: &'static str, found: u32, min: u32, max: u32) -> Result<u32, BuildError> {
    if (min..=max).contains(&found) {
        return Ok(found);
    }
    Err(BuildError::OutOfRange { what, min: min.into(), max: max.into(), found: found.into() })
}

/// `Err` unless an error rate is a probability that a filter can have.
fn check_rate(rate: f64) -> Result<f64, BuildError> {
    if rate > 0.0 && rate < 1.0 { Ok(rate) } else { Err(BuildError::ErrorRate { found: rate }) }
}
