//! A reverse map in memory.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::fmt;
use std::ops::RangeInclusive;

use super::{Lookup, ReverseMap, Row, Visit};

/// A [`ReverseMap`] in memory, on the standard library's B-tree.
///
/// For sets whose keys fit into memory, for tests, and as an example of an implementation. It cannot fail.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct MemoryMap {
    /// Values by hash and key.
    rows: BTreeMap<RowKey, Box<[u8]>>,
}

/// The hash of a key, and the key.
type RowKey = (u64, Box<[u8]>);

impl MemoryMap {
    /// An empty map.
    pub fn new() -> Self {
        Self::default()
    }

    /// How many rows there are.
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Whether there are no rows.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// The value of a key, given with its hash.
    pub fn get(&self, hash: u64, key: &[u8]) -> Option<&[u8]> {
        self.rows.get(&(hash, key.into())).map(|value| &**value)
    }

    /// All rows in the order of their hashes.
    pub fn iter(&self) -> impl Iterator<Item = Row<'_>> {
        self.rows.iter().map(|((hash, key), value)| Row { hash: *hash, key, value })
    }
}

/// A map of hashes, keys and values, which is faster to make than by inserting them, and smaller. Of equal keys the last one
/// counts.
impl FromIterator<(u64, Box<[u8]>, Box<[u8]>)> for MemoryMap {
    fn from_iter<I: IntoIterator<Item = (u64, Box<[u8]>, Box<[u8]>)>>(rows: I) -> Self {
        Self { rows: rows.into_iter().map(|(hash, key, value)| ((hash, key), value)).collect() }
    }
}

impl Lookup for MemoryMap {
    type Error = Infallible;

    fn visit(&self, hashes: RangeInclusive<u64>, visit: Visit<'_>) -> Result<(), Infallible> {
        let (first, last) = hashes.into_inner();
        let from_first = self.rows.range((first, Box::default())..);
        let mut rows = from_first.take_while(|((hash, _), _)| *hash <= last);
        let _ = rows.try_for_each(|((hash, key), value)| visit(Row { hash: *hash, key, value }));
        Ok(())
    }

    fn contains(&self, hash: u64, key: &[u8]) -> Result<bool, Infallible> {
        Ok(self.rows.contains_key(&(hash, key.into())))
    }
}

impl ReverseMap for MemoryMap {
    fn insert(&mut self, hash: u64, key: &[u8], value: &[u8]) -> Result<bool, Infallible> {
        Ok(self.rows.insert((hash, key.into()), value.into()).is_none())
    }

    fn remove(&mut self, hash: u64, key: &[u8]) -> Result<bool, Infallible> {
        Ok(self.rows.remove(&(hash, key.into())).is_some())
    }
}

/// A summary, without the contents.
impl fmt::Debug for MemoryMap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MemoryMap").field("len", &self.len()).finish_non_exhaustive()
    }
}
