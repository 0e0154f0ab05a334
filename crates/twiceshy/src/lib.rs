//! Membership filters you can trust under any workload, on one shared quotient table.
//!
//! A filter answers "may this key be in the set?" from a few bits per key. `false` is certain; `true` is
//! wrong with a small probability that you choose.
//!
//! ```
//! use twiceshy::QuotientFilter;
//!
//! // A thousand keys, at most one false positive in a hundred queries.
//! let mut seen = QuotientFilter::new(1_000, 0.01)?;
//! assert!(seen.insert("moth")?);
//! assert!(seen.contains("moth"));
//! assert_eq!(seen.count("moth"), 1);
//!
//! // Save, load, or query the bytes where they are.
//! let bytes = seen.to_bytes();
//! assert!(QuotientFilter::view(&bytes)?.contains("moth"));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Which type
//!
//! | you want | take |
//! |---|---|
//! | a set that never makes the same mistake twice, and grows by itself | [`AdaptiveSet`] |
//! | the same with keys in your own database | [`AdaptiveFilter`], or [`ReverseMap`] for your database |
//! | a filter whose size you cannot guess, without keys to read again | [`ExpandableFilter`] |
//! | a filter that counts, removes and merges | [`QuotientFilter`] |
//! | to query a file in place | [`QuotientFilter::view`] |
//! | to open a file of any kind | [`AnyFilter`]; to know what it holds, [`identify`] |
//! | keys of your own type | implement [`Key`] |
//! | filters that can be merged | one [`Hasher`] for all, or [`QuotientFilter::empty_like`] |
//! | to hash yourself | the `_hash` variants, such as [`QuotientFilter::insert_hash`] |
//!
//! # Conventions
//!
//! Queries take `&self` and change nothing. Whatever returns an error has changed nothing either. The
//! hash key is a secret: it is in no `Debug` output, and in files that only their owner can read.
//!
//! Keys may come in any order, also sorted by their hashes, as copying a set gives them. The hashes themselves must be
//! evenly distributed, which the [`Hasher`]s see to: if a million of your own hashes agree in their first bits, single
//! operations take up to a millisecond, and are refused with a typed error when that is not enough.
//!
//! # Features
//!
//! - `serde`: `Serialize` and `Deserialize` for filters, as the bytes of their file format.
//!
//! The library needs `std`.

mod bits;
mod codec;
pub mod error;
mod filter;
mod hash;
mod key;
mod mem;
mod persist;
mod prefix;
pub mod reverse_map;
mod table;

// The unit tests of adaptive filters know it by this name.
#[cfg(test)]
use twiceshy_testkit as random;

pub use filter::adaptive::{
    Adapted, AdaptiveFilter, AdaptiveFilterBuilder, AdaptiveFilterView, AdaptiveSet, AdaptiveStats,
    Fingerprint, FingerprintsInOrder, Growth, Insertion, Lengths, Query, Record, RecordError, Ticket,
};
pub use filter::any::{AnyFilter, AnyFilterView, FilterKind, Identity, identify};
pub use filter::expandable::{
    AgeStats, ExpandableFilter, ExpandableFilterBuilder, ExpandableFilterView, ExpandableStats, Mode,
    PrefixCount, Prefixes, TableStats,
};
pub use filter::protocol;
pub use filter::quotient::{
    FingerprintCount, Fingerprints, QuotientFilter, QuotientFilterBuilder, QuotientFilterView,
};
pub use hash::{HashKey, Hasher, RandomError};
pub use key::{Key, KeyBuffer};
pub use mem::Memory;
pub use prefix::Prefix;
pub use reverse_map::{Lookup, MemoryMap, ReverseMap};
