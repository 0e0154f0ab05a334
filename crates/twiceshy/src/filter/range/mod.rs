//! Range filters: what they ask of keys, how keys are cut, and how they are asked.

pub(crate) mod key;
pub(crate) mod partition;
pub(crate) mod query;

pub use key::RangeKey;
