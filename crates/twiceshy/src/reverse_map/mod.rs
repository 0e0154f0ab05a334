//! The reverse map: the keys themselves, in the order of their hashes.
//!
//! # The idea
//!
//! A filter stores prefixes of hashes. To adapt, to grow for ever or to remove a key for certain it must ask
//! now and then "which keys have a hash that begins like this?". If the keys lie in the order of their
//! hashes, that is a scan of a short range, and nothing that the filter does with its fingerprints ever has
//! to be written to the map.
//!
//! [`ReverseMap`] is what a filter asks of such a map: four operations, on `H(x) ‖ x`, the first 64 bits of
//! a key's hash followed by the key. Each row may carry a value, which the map keeps and never looks at.
//!
//! [`MemoryMap`] is one in memory. To put your own database behind a filter, implement the trait for it, and
//! let [`conformance::check`] try it.
//!
//! # Source
//!
//! Section 4.2 of *Adaptive Quotient Filters*. The paper keys its map by fingerprint and rank, and rewrites
//! it as fingerprints change; ours is keyed by what never changes.

pub mod conformance;
mod memory;

pub use memory::MemoryMap;

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

/// Keys in the order of their hashes, each with a value that may be empty.
///
/// A key is always given with the first 64 bits of its hash, so that a map need not hash. Different keys may
/// have the same hash; the same key always comes with the same one.
///
/// `Ok` means that the map looked: `Ok(false)` is "nothing there". `Err` means that it could not look, or
/// does not know whether it wrote. Filters never mistake one for the other, and after an `Err` they are as
/// they were.
///
/// Everything takes bytes and calls back, so that maps on disk or behind a network can hand out rows from
/// their own buffers. Maps that are shared implement the trait for a handle.
///
/// ```
/// use std::ops::ControlFlow;
/// use twiceshy::{MemoryMap, ReverseMap};
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
pub trait ReverseMap {
    /// Why the map could not look or write.
    type Error: std::error::Error + Send + Sync + 'static;

    /// Stores a row, in place of an older one of the same key. `true` if there was none.
    fn insert(&mut self, hash: u64, key: &[u8], value: &[u8]) -> Result<bool, Self::Error>;

    /// Removes a row. `false` if there was none.
    fn remove(&mut self, hash: u64, key: &[u8]) -> Result<bool, Self::Error>;

    /// Calls `visit` for every row whose hash is in the range, in ascending order of hashes (rows of equal
    /// hashes in any order), until it says `Break`.
    fn visit(
        &self,
        hashes: RangeInclusive<u64>,
        visit: &mut dyn FnMut(Row<'_>) -> ControlFlow<()>,
    ) -> Result<(), Self::Error>;

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

impl<M: ReverseMap + ?Sized> ReverseMap for &mut M {
    type Error = M::Error;

    fn insert(&mut self, hash: u64, key: &[u8], value: &[u8]) -> Result<bool, Self::Error> {
        (**self).insert(hash, key, value)
    }

    fn remove(&mut self, hash: u64, key: &[u8]) -> Result<bool, Self::Error> {
        (**self).remove(hash, key)
    }

    fn visit(
        &self,
        hashes: RangeInclusive<u64>,
        visit: &mut dyn FnMut(Row<'_>) -> ControlFlow<()>,
    ) -> Result<(), Self::Error> {
        (**self).visit(hashes, visit)
    }

    fn contains(&self, hash: u64, key: &[u8]) -> Result<bool, Self::Error> {
        (**self).contains(hash, key)
    }
}
