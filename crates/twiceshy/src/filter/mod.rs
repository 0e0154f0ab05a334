//! Filters: a table, a codec and a policy.
//!
//! | folder | filter |
//! |---|---|
//! | [`quotient`] | [`QuotientFilter`](quotient::QuotientFilter): a multiset with counts, growth by moving bits |

pub(crate) mod quotient;
