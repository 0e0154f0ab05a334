//! Filters: a table, a codec and a policy.
//!
//! | folder | filter |
//! |---|---|
//! | [`quotient`] | [`QuotientFilter`](quotient::QuotientFilter): a multiset with counts, growth by moving bits |
//! | [`expandable`] | [`ExpandableFilter`](expandable::ExpandableFilter): a multiset that doubles for ever, without keys |
//! | [`range`] | [`RangeFilter`](range::RangeFilter): a multiset of ordered keys that is asked for ranges, and doubles for ever |
//! | [`adaptive`] | [`AdaptiveFilter`](adaptive::AdaptiveFilter): a set whose fingerprints get longer where they erred |
//! | [`adaptive_range`] | [`AdaptiveRangeFilter`](adaptive_range::AdaptiveRangeFilter): the same for ranges of keys |
//! | [`cascade`] | [`Cascade`](cascade::Cascade): layers of filters that do not learn, which together do |
//!
//! [`range`] has what filters of ranges have in common, [`any`] lists them all and holds a filter of any kind.

pub(crate) mod adaptive;
pub(crate) mod adaptive_range;
pub(crate) mod any;
pub(crate) mod batch;
pub mod cascade;
pub(crate) mod core;
pub(crate) mod expandable;
pub(crate) mod macros;
pub mod protocol;
pub(crate) mod quotient;
pub(crate) mod range;
mod room;
pub(crate) mod settings;
pub(crate) mod shared;
#[cfg(test)]
mod tests;
mod union;
