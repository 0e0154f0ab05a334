//! The adaptive range filter: "is there any key from a to b?", and never the same mistake twice.
//!
//! # The idea
//!
//! Keys are cut into partitions and suffixes ([`range::partition`](super::range::partition)). The partitions are the keys of an
//! [adaptive filter](super::adaptive), and every fingerprint carries the suffixes of the keys under it
//! ([`suffixes`](crate::codec::string::suffixes)): keys that share a fingerprint unite. A range is answered by the fingerprints
//! of the partitions that it meets, two if it is not longer than [`max_range`](Builder::max_range), by whether any of their
//! suffixes is in the range. Ranges next to a key are told from it by the suffix, exactly, so they are no worse than others.
//!
//! A mistake is mended as that of a point: the partitions under the fingerprint that have brought a suffix into the range get
//! longer fingerprints, which the query's partition does not begin with. Keys of the query's own partition stay as they are.
//!
//! There is no code here for that, nor for growth, merging, rebuilding, recovery, journals and files: an [`AdaptiveRangeFilter`] is
//! the adaptive filter of a [`Partitions`] reader, an [`AdaptiveRangeSet`] the adaptive set of it. What is here is what keys
//! look like, and queries.
//!
//! | file | what it does |
//! |---|---|
//! | `reader.rs` | how rows of a map become hashes and suffixes |
//! | `coded.rs` | keys and ranges as the protocol knows them |
//! | `builder.rs` | size, error rate, longest range; bulk load |
//! | `filter.rs`, `set.rs` | operations, with keys that the caller keeps, and with a map |
//! | `stores.rs` | what stores ask for that keep their rows in an order of their own |
//! | `persist.rs` | files |
//!
//! # Cost
//!
//! `(r + m + 3.125) / load` bits per key for suffixes of `m` bits, if no two keys share a partition; a further key in a
//! partition takes about `m` bits, and never more than `2^m` bits for all of them together. A query touches one or two cache
//! lines for each of its partitions, and both are on their way before the first is looked at.
//!
//! # Source
//!
//! Sections 3 and 4 of *Aeris Filter*. We deviate as the adaptive filter does: no fingerprint is a prefix of another, and the
//! map is ordered by hashes. The paper marks the ends of boxes with the run-end bit; here slots of suffixes are payload slots.

mod builder;
mod coded;
mod filter;
mod persist;
mod reader;
mod set;
mod stores;
#[cfg(test)]
mod tests;

pub use crate::codec::string::suffixes::SuffixSet;
pub use builder::Builder;
pub use coded::Coded;
pub use filter::{AdaptiveRangeFilter, Fingerprint};
pub use persist::View;
pub use reader::Partitions;
pub use set::AdaptiveRangeSet;
