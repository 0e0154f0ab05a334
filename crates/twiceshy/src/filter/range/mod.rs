//! Range filters: what they ask of keys, and how keys are cut.

pub(crate) mod key;
pub(crate) mod partition;

pub use key::RangeKey;
