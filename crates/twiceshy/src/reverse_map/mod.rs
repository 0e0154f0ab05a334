//! The reverse map: the keys themselves, in the order of their hashes.
//!
//! # The idea
//!
//! A filter stores prefixes of hashes. To adapt, to grow for ever or to remove a key for certain it must ask
//! now and then "which keys have a hash that begins like this?". If the keys lie in the order of their
//! hashes, that is a scan of a short range, and nothing that the filter does with its fingerprints ever has
//! to be written to the map.
//!
//! [`Lookup`] is that question, and the only way in which filters ask it. [`ReverseMap`] adds what a set needs that also
//! writes its keys there. Both speak of rows `H(x) ‖ x`, the first 64 bits of a key's hash followed by the key. Each row may
//! carry a value, which the map keeps and never looks at. [`Rows`] are rows that were read.
//!
//! [`MemoryMap`] is a map in memory. To put your own database behind a filter, implement the traits for it, and
//! let [`conformance::check`] try it.
//!
//! # Source
//!
//! Section 4.2 of *Adaptive Quotient Filters*. The paper keys its map by fingerprint and rank, and rewrites
//! it as fingerprints change; ours is keyed by what never changes.

pub mod conformance;
mod memory;
mod rows;

pub use memory::MemoryMap;
pub use rows::Rows;

use std::ops::{ControlFlow, RangeInclusive};

/// A row of a [`ReverseMap`], borrowed for the time of a visit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Row<'a> {
    /// The first 64 bits of the key's hash.
    pub hash: u64,
    /// The key's canonical bytes.
    pub key: &'a [u8],
    /// What was stored with it.
    pub value: &'a [u8],
}

/// What rows are given to, until it says `Break`.
pub type Visit<'a> = &'a mut dyn FnMut(Row<'_>) -> ControlFlow<()>;

/// Where keys can be looked up by how their hashes begin.
///
/// `Ok` means that it looked, and gave all there is. `Err` means that it could not look. Filters never mistake one for the
/// other, and after an `Err` they are as they were.
///
/// Rows are handed out one by one, so that maps on disk or behind a network can do so from their own buffers.
///
/// ```
/// use std::convert::Infallible;
/// use std::ops::RangeInclusive;
/// use twiceshy::reverse_map::{Lookup, Row, Visit};
/// use twiceshy::{AdaptiveFilter, Hasher};
///
/// /// All that a filter needs to know of a database.
/// struct Words(Vec<(u64, &'static str)>);
///
/// impl Lookup for Words {
///     type Error = Infallible;
///     fn visit(&self, hashes: RangeInclusive<u64>, visit: Visit<'_>) -> Result<(), Infallible> {
///         for (hash, word) in self.0.iter().filter(|(hash, _)| hashes.contains(hash)) {
///             if visit(Row { hash: *hash, key: word.as_bytes(), value: &[] }).is_break() {
///                 break;
///             }
///         }
///         Ok(())
///     }
/// }
///
/// let hasher = Hasher::random()?;
/// let mut words: Vec<_> = ["ant", "bee", "cow"].map(|word| (hasher.hash(word), word)).into();
/// words.sort();
/// let filter = AdaptiveFilter::builder().hasher(hasher).build()?.rebuild(&Words(words), &[])?;
/// assert!(filter.contains("bee"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub trait Lookup {
    /// Why it could not look.
    type Error: std::error::Error + Send + Sync + 'static;

    /// Calls `visit` for every row whose hash is in the range, in ascending order of hashes (rows of equal
    /// hashes in any order), until it says `Break`.
    fn visit(&self, hashes: RangeInclusive<u64>, visit: Visit<'_>) -> Result<(), Self::Error>;

    /// Whether there is a row of this key.
    ///
    /// Most maps can do better than this scan of all keys with the same hash.
    fn contains(&self, hash: u64, key: &[u8]) -> Result<bool, Self::Error> {
        let mut found = false;
        self.visit(hash..=hash, &mut |row| {
            found = row.key == key;
            if found { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        })?;
        Ok(found)
    }
}

/// Keys in the order of their hashes, each with a value that may be empty.
///
/// A key is always given with the first 64 bits of its hash, so that a map need not hash. Different keys may
/// have the same hash; the same key always comes with the same one.
///
/// After an `Err` nobody knows whether the map has written. Maps that are shared implement the trait for a handle.
///
/// ```
/// use std::ops::ControlFlow;
/// use twiceshy::reverse_map::{Lookup, MemoryMap};
/// use twiceshy::ReverseMap;
///
/// let mut map = MemoryMap::new();
/// assert!(map.insert(7, b"ant", b"six legs")?);
/// assert!(!map.insert(7, b"ant", b"")?);
/// assert!(map.contains(7, b"ant")?);
///
/// let mut keys = Vec::new();
/// map.visit(0..=99, &mut |row| {
///     keys.push(row.key.to_vec());
///     ControlFlow::Continue(())
/// })?;
/// assert_eq!(keys, [b"ant"]);
/// # Ok::<(), std::convert::Infallible>(())
/// ```
pub trait ReverseMap: Lookup {
    /// Stores a row, in place of an older one of the same key. `true` if there was none.
    fn insert(&mut self, hash: u64, key: &[u8], value: &[u8]) -> Result<bool, Self::Error>;

    /// Removes a row. `false` if there was none.
    fn remove(&mut self, hash: u64, key: &[u8]) -> Result<bool, Self::Error>;
}

/// Both traits for references, as far as they allow it.
macro_rules! for_references {
    ($($reference:ty),*) => {$(
        impl<M: Lookup + ?Sized> Lookup for $reference {
            type Error = M::Error;

            fn visit(&self, hashes: RangeInclusive<u64>, visit: Visit<'_>) -> Result<(), Self::Error> {
                (**self).visit(hashes, visit)
            }

            fn contains(&self, hash: u64, key: &[u8]) -> Result<bool, Self::Error> {
                (**self).contains(hash, key)
            }
        }
    )*};
}

for_references!(&M, &mut M);

impl<M: ReverseMap + ?Sized> ReverseMap for &mut M {
    fn insert(&mut self, hash: u64, key: &[u8], value: &[u8]) -> Result<bool, Self::Error> {
        (**self).insert(hash, key, value)
    }

    fn remove(&mut self, hash: u64, key: &[u8]) -> Result<bool, Self::Error> {
        (**self).remove(hash, key)
    }
}
