//! Keys, and the parts of ranges, as the protocol and the map know them.

use std::ops::{Bound, ControlFlow, RangeBounds, RangeInclusive};

use super::Partitions;
use crate::codec::string::suffixes::SuffixSet;
use crate::filter::protocol::{Adapt, Insert, Reader, Remove};
use crate::filter::range::RangeKey;
use crate::filter::range::partition::Part;
use crate::reverse_map::{Lookup, Row};

/// A key, or what a range asks for in one partition, as the [protocol](crate::adaptive::protocol) and a map know it: under the
/// hash of the partition, the bytes of a code, or of the first and the last code.
///
/// Made by [`AdaptiveRangeFilter::coded`](super::AdaptiveRangeFilter::coded) and
/// [`coded_parts`](super::AdaptiveRangeFilter::coded_parts). Stores drive the operations that it makes; sets do so by themselves.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Coded {
    hash: u64,
    bytes: Vec<u8>,
    /// The suffix of a key.
    suffix: u16,
}

impl Coded {
    /// The hash of its partition.
    pub fn hash(&self) -> u64 {
        self.hash
    }

    /// The code, highest byte first; two of them for a range of several keys.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// As a row, without a value.
    pub fn row(&self) -> Row<'_> {
        Row { hash: self.hash, key: &self.bytes, value: &[] }
    }

    /// Has a filter cover the key, of which there is no row yet; see [`Insert::filter_first`].
    pub fn insert(&self) -> Insert<'_, SuffixSet> {
        Insert::filter_first(self.hash, &self.bytes, self.suffixes())
    }

    /// Learns that the filter's *maybe* was wrong, if it was.
    pub fn adapt(&self) -> Adapt<'_, SuffixSet> {
        Adapt::new(self.hash, &self.bytes)
    }

    /// Removes the key.
    pub fn remove(&self) -> Remove<'_, SuffixSet> {
        Remove::new(self.hash, &self.bytes)
    }

    /// Removes the key, whose row is gone already.
    pub fn remove_after_its_row(&self) -> Remove<'_, SuffixSet> {
        Remove::after_its_row(self.hash, &self.bytes)
    }

    /// What the key brings along.
    pub(super) fn suffixes(&self) -> SuffixSet {
        SuffixSet::of(self.suffix)
    }
}

impl<K: RangeKey + ?Sized> Partitions<K> {
    pub(super) fn coded<Q: RangeKey + ?Sized>(&self, key: &Q) -> Coded {
        self.coded_code(key.code())
    }

    /// The row of a key in the map of a set: code, and what that does not tell.
    pub(super) fn coded_row<Q: RangeKey + ?Sized>(&self, key: &Q) -> Coded {
        let mut coded = self.coded(key);
        if !Q::EXACT {
            key.write_rest(&mut coded.bytes);
        }
        coded
    }

    /// The bounds of a range as rows in the map of a set, which are in the order of their keys.
    pub(super) fn row_bounds<Q: RangeKey + ?Sized>(
        &self,
        range: &impl RangeBounds<Q>,
    ) -> (Bound<Vec<u8>>, Bound<Vec<u8>>) {
        let row = |key: &Q| self.coded_row(key).bytes;
        (range.start_bound().map(row), range.end_bound().map(row))
    }

    /// The key with this code, as the protocol knows it.
    pub fn coded_code(&self, code: u128) -> Coded {
        let (partition, suffix) = self.cut().split(code);
        let mut bytes = Vec::new();
        self.write(code, &mut bytes);
        Coded { hash: self.hash(partition), bytes, suffix }
    }

    fn coded_part(&self, part: Part) -> Coded {
        let (from, to) = part.suffixes.into_inner();
        let mut bytes = Vec::new();
        self.write(self.cut().join(part.partition, from), &mut bytes);
        if from < to {
            self.write(self.cut().join(part.partition, to), &mut bytes);
        }
        Coded { hash: self.hash(part.partition), bytes, suffix: from }
    }

    /// A key, or a range in one partition, that is written as [`Coded::bytes`].
    pub fn coded_bytes(&self, bytes: &[u8]) -> Coded {
        let (partition, suffix) = self.cut().split(self.codes(bytes).0);
        Coded { hash: self.hash(partition), bytes: bytes.to_vec(), suffix }
    }

    /// The codes of a key, or of a part of a range.
    pub fn part_codes(&self, part: &Coded) -> RangeInclusive<u128> {
        let (first, last) = self.codes(&part.bytes);
        first..=last
    }

    /// Whether a map has a key that a query asks for, which is a key or a part of a range.
    pub(super) fn has_key<L: Lookup + ?Sized>(&self, query: &Coded, map: &L) -> Result<bool, L::Error> {
        let mut found = false;
        map.visit(query.hash..=query.hash, &mut |row| {
            found = self.answers(query.row(), row);
            if found { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        })?;
        Ok(found)
    }

    /// The parts of a range of codes; none if it is empty or too long to be looked up.
    pub fn coded_parts(&self, codes: Option<RangeInclusive<u128>>) -> impl Iterator<Item = Coded> {
        let codes = codes.filter(|codes| !self.cut().is_too_long(codes));
        let parts = codes.map(|codes| self.cut().parts(&codes));
        parts.into_iter().flatten().map(|part| self.coded_part(part))
    }
}
