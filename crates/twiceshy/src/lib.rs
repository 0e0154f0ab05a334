//! Membership filters you can trust under any workload, on one shared quotient table.
//!
//! A filter answers "may this key be in the set?" from a few bits per key. `false` is certain; `true` is
//! wrong with a small probability that you choose.
//!
//! ```
//! use twiceshy::AdaptiveSet;
//! use twiceshy::reverse_map::MemoryMap;
//!
//! // At most one false positive in a hundred new queries, and no size to guess.
//! let mut seen = AdaptiveSet::builder().error_rate(0.01).build_set(MemoryMap::new())?;
//! assert!(seen.insert("moth")?);
//! assert!(!seen.insert("moth")?); // it is there already
//! assert!(seen.contains("moth")); // asks the filter: true may be wrong, false is certain
//! assert!(!seen.contains_exactly("bat")?); // asks the keys if need be, and learns from a mistake
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Which type
//!
//! | you want | use |
//! |---|---|
//! | a set that never makes the same mistake twice, and grows by itself | [`AdaptiveSet`] |
//! | the same on disk, or in front of your own database | `AdaptiveStore` or `FilteredDb`, in the crate `twiceshy-store` |
//! | the same with keys in a database that can list them in the order of their hashes | [`AdaptiveFilter`], or [`ReverseMap`] for your database |
//! | a filter whose size you cannot guess, without keys to read again | [`ExpandableFilter`] |
//! | to know whether there is a key between two others | [`RangeFilter`] |
//! | a blocklist that is never wrong about the keys of a second list | [`YesNoList`] |
//! | a filter that counts, removes and merges | [`QuotientFilter`] |
//! | to query a file in place | [`QuotientFilter::view`] |
//! | to open a file of any kind | [`AnyFilter`]; to know what it holds, [`any::identify`] |
//! | keys of your own type | implement [`Key`], or [`RangeKey`] where ranges are asked for |
//! | filters that can be merged | one [`Hasher`] for all, or [`QuotientFilter::empty_like`] |
//! | to hash yourself | the `_hash` variants, such as [`QuotientFilter::insert_hash`] |
//!
//! # Conventions
//!
//! Queries take `&self` and change nothing. Whatever returns an error has changed nothing either, but for two things: of
//! [`AdaptiveSet::insert_batch`] the keys before the one that failed are in, and what a [`ReverseMap`] does that fails to
//! write is its own affair. The hash key is a secret: it is in no `Debug` output, and in files that only their owner can read.
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
pub mod hash;
pub mod key;
pub mod list;
pub mod mem;
mod persist;
mod prefix;
pub mod reverse_map;
mod table;
mod words;

pub mod adaptive {
    //! What belongs to [`AdaptiveFilter`] and [`AdaptiveSet`]: how they are built, what they answer, what they know of
    //! themselves, and the [protocol] between a filter and its map.
    pub use crate::filter::adaptive::{
        Adapted, AdaptiveFilter, AdaptiveSet, Builder, Filter, Fingerprint, Growth, Insertion, Iter, Lengths,
        Query, Record, RecordError, Set, Stats, Ticket, Turn, View,
    };
    pub use crate::filter::protocol;
}

pub mod any {
    //! Files and filters of any kind.
    pub use crate::filter::any::{AnyFilter, FilterKind, Identity, View, identify};
}

pub use crate::filter::cascade;

pub mod expandable {
    //! What belongs to [`ExpandableFilter`]: how it is built, in which modes, and what it knows of itself.
    pub use crate::filter::expandable::{
        AgeStats, Builder, ExpandableFilter, Iter, Mode, PrefixCount, Stats, TableStats, View,
    };
}

pub mod adaptive_range {
    //! What belongs to [`AdaptiveRangeFilter`] and [`AdaptiveRangeSet`]: how they are built, and keys as their
    //! [protocol](crate::adaptive::protocol) knows them.
    pub use crate::filter::adaptive_range::{
        AdaptiveRangeFilter, AdaptiveRangeSet, Builder, Coded, Fingerprint, Partitions, SuffixSet, View,
    };
}

pub mod quotient {
    //! What belongs to [`QuotientFilter`].
    pub use crate::filter::quotient::{Builder, Fingerprint, Iter, QuotientFilter, View};
}

pub mod shared {
    //! Filters that many threads share.
    pub use crate::filter::shared::{SharedAdaptiveFilter, SharedAdaptiveSet, SharedQuotientFilter};
}

pub mod range {
    //! What belongs to [`RangeFilter`]: what may be a key, how it is built, and what it knows of itself.
    pub use crate::filter::range::{
        Builder, Fingerprint, Iter, LengthStats, RangeFilter, RangeKey, Stats, View,
    };
}

// For the comparison with peers only.
#[doc(hidden)]
pub use bits::cpu::without_fast_instructions;

pub use adaptive::{AdaptiveFilter, AdaptiveSet};
pub use adaptive_range::{AdaptiveRangeFilter, AdaptiveRangeSet};
pub use any::AnyFilter;
pub use expandable::ExpandableFilter;
pub use hash::Hasher;
pub use key::Key;
pub use list::{FrozenYesNoList, YesNoList};
pub use prefix::Prefix;
pub use quotient::QuotientFilter;
pub use range::{RangeFilter, RangeKey};
pub use reverse_map::ReverseMap;
pub use shared::{SharedAdaptiveFilter, SharedAdaptiveSet, SharedQuotientFilter};
