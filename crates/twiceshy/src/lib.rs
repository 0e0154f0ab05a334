//! Membership filters you can trust under any workload.

mod bits;
mod codec;
pub mod error;
mod filter;
mod hash;
mod key;
mod mem;
mod persist;
mod table;

pub use filter::quotient::{
    FingerprintCount, Fingerprints, QuotientFilter, QuotientFilterBuilder, QuotientFilterView,
};
pub use hash::{HashKey, Hasher, RandomError};
pub use key::{Key, KeyBuffer};
pub use mem::Memory;
