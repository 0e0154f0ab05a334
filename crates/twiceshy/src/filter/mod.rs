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
mod macros;
pub mod protocol;
pub(crate) mod quotient;
mod room;
mod settings;
#[cfg(test)]
mod tests;
mod union;

use crate::table::Shape;

/// The largest share of the slots that may be in use, in percent: beyond it, clusters get so long that
/// every update is slow.
const MAX_LOAD_PERCENT: u64 = 95;

/// How many slots may be in use.
fn slot_limit(shape: &Shape) -> u64 {
    // There are at most 2^48 quotients, so this does not overflow.
    shape.slots() * MAX_LOAD_PERCENT / 100
}
