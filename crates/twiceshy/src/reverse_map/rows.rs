//! Rows that were read from a map, and belong to whoever read them.

use std::convert::Infallible;
use std::ops::{ControlFlow, RangeInclusive};

use super::{Lookup, Row, Visit};
use crate::hash::Hasher;
use crate::key::Key;
use crate::prefix::Prefix;

/// Some rows, in memory: the answer to "which keys are under this prefix?".
///
/// A filter that is given rows takes only those that are under the fingerprint in question. They come with the hash that
/// they are stored under, so that nobody has to hash a key again.
///
/// ```
/// use twiceshy::adaptive::Query;
/// use twiceshy::reverse_map::Rows;
/// use twiceshy::AdaptiveFilter;
///
/// let mut filter = AdaptiveFilter::new(0.01)?;
/// let _ = filter.insert("moth")?;
/// if let Query::Maybe(ticket) = filter.query("bat") {
///     // In earnest they come from a database: `Rows::under(ticket.prefix(), &database)?`
///     let rows = Rows::of(filter.hasher(), ["moth"]);
///     filter.adapt(&ticket, "bat", &rows)?;
/// }
/// assert!(!filter.contains("bat"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Rows {
    len: usize,
    /// One row after the other: its hash, the lengths of key and value, key and value. Nearly always it is one row, and one
    /// piece of memory.
    bytes: Vec<u8>,
}

/// The bytes of a number.
const NUMBER: usize = 8;

impl Rows {
    /// No rows.
    pub fn new() -> Self {
        Self::default()
    }

    /// All rows under a prefix, or a few more: those whose first 64 bits could be.
    pub fn under<L: Lookup + ?Sized>(prefix: &Prefix, lookup: &L) -> Result<Self, L::Error> {
        Self::some_under(prefix, usize::MAX, lookup)
    }

    /// The first `enough` of them, if there are more.
    pub(crate) fn some_under<L: Lookup + ?Sized>(
        prefix: &Prefix,
        enough: usize,
        lookup: &L,
    ) -> Result<Self, L::Error> {
        let mut rows = Self::new();
        lookup.visit(prefix.first_words(), &mut |row| {
            rows.push(row);
            if rows.len() < enough { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        })?;
        Ok(rows)
    }

    /// Rows of keys that are at hand, without values.
    pub fn of<K: Key>(hasher: &Hasher, keys: impl IntoIterator<Item = K>) -> Self {
        let mut rows = Self::new();
        for key in keys {
            let bytes = key.key_bytes();
            let key = bytes.as_ref();
            rows.push(Row { hash: hasher.hash_bytes(key), key, value: &[] });
        }
        rows.sort();
        rows
    }

    /// Rows of hashes, for callers who hash themselves.
    pub fn of_hashes(hashes: impl IntoIterator<Item = u64>) -> Self {
        let mut rows = Self::new();
        hashes.into_iter().for_each(|hash| rows.push(Row { hash, key: &[], value: &[] }));
        rows.sort();
        rows
    }

    /// Adds a row.
    pub fn push(&mut self, row: Row<'_>) {
        let Row { hash, key, value } = row;
        if self.len == 0 {
            self.bytes = Vec::with_capacity(3 * NUMBER + key.len() + value.len());
        }
        let numbers = [hash, key.len() as u64, value.len() as u64].map(u64::to_le_bytes);
        self.bytes.extend_from_slice(numbers.as_flattened());
        self.bytes.extend_from_slice(key);
        self.bytes.extend_from_slice(value);
        self.len += 1;
    }

    /// Puts the rows into the order of their hashes.
    pub fn sort(&mut self) {
        if self.len <= 1 || self.iter().is_sorted_by_key(|row| row.hash) {
            return;
        }
        let mut rows: Vec<Row<'_>> = self.iter().collect();
        rows.sort_by_key(|row| row.hash);
        let mut sorted = Self { len: 0, bytes: Vec::with_capacity(self.bytes.len()) };
        rows.into_iter().for_each(|row| sorted.push(row));
        *self = sorted;
    }

    /// All rows, in the order in which they came.
    pub fn iter(&self) -> impl Iterator<Item = Row<'_>> {
        let mut rest = self.bytes.as_slice();
        std::iter::from_fn(move || {
            let mut number = || {
                let (bytes, after) = rest.split_first_chunk::<NUMBER>()?;
                rest = after;
                Some(u64::from_le_bytes(*bytes))
            };
            let (hash, key_len, value_len) = (number()?, number()? as usize, number()? as usize);
            let (key, after) = rest.split_at(key_len);
            let (value, after) = after.split_at(value_len);
            rest = after;
            Some(Row { hash, key, value })
        })
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }
}

/// Rows can be asked in turn, if they are sorted.
impl Lookup for Rows {
    type Error = Infallible;

    fn visit(&self, hashes: RangeInclusive<u64>, visit: Visit<'_>) -> Result<(), Infallible> {
        let _ = self.iter().filter(|row| hashes.contains(&row.hash)).try_for_each(visit);
        Ok(())
    }
}
