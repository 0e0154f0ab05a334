//! Range filters: only what the tests use yet.

pub(crate) mod key;
pub(crate) mod partition;
