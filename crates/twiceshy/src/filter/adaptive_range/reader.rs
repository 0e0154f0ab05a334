//! How a filter of ranges reads the rows of its map.
//!
//! In the map a key is its code, highest byte first, under the hash of its partition; in that of a set followed by what the code
//! does not tell. So rows of one partition lie together, in
//! the order of their keys. A query is written like a row: one code for a point, two for the ends of a range in one partition.

use std::fmt;
use std::marker::PhantomData;
use std::ops::RangeInclusive;

use crate::codec::string::suffixes::{SuffixSet, Suffixes};
use crate::filter::protocol::{Keys, Reader};
use crate::filter::range::RangeKey;
use crate::filter::range::partition::{Cut, Part, Partition};
use crate::hash::{Hasher, Hashes, KeyWords, Turn};
use crate::reverse_map::Row;

/// How keys of type `K` are cut into partitions and suffixes, and hashed: what two filters must have in common to be merged.
pub struct Partitions<K: ?Sized> {
    hasher: Hasher,
    cut: Cut,
    keys: PhantomData<fn(&K)>,
}

impl<K: ?Sized> Clone for Partitions<K> {
    fn clone(&self) -> Self {
        Self::new(self.hasher.clone(), self.cut)
    }
}

impl<K: ?Sized> PartialEq for Partitions<K> {
    fn eq(&self, other: &Self) -> bool {
        self.hasher == other.hasher && self.cut == other.cut
    }
}

impl<K: ?Sized> fmt::Debug for Partitions<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Partitions").field("hasher", &self.hasher).field("cut", &self.cut).finish()
    }
}

impl<K: ?Sized> Partitions<K> {
    pub(crate) fn new(hasher: Hasher, cut: Cut) -> Self {
        Self { hasher, cut, keys: PhantomData }
    }

    #[inline(always)]
    pub(crate) fn cut(&self) -> Cut {
        self.cut
    }

    /// A range that is not longer than a partition meets two.
    pub(super) const LOOKUPS: u32 = 2;

    pub(super) fn payload(cut: Cut) -> Suffixes {
        Suffixes::new(cut.suffix_bits())
    }

    /// How many bytes a code has in a row.
    fn code_bytes(&self) -> usize {
        self.cut.code_bits().div_ceil(8) as usize
    }

    /// Appends a code as it is in a row.
    pub(super) fn write(&self, code: u128, bytes: &mut Vec<u8>) {
        bytes.extend_from_slice(&code.to_be_bytes()[16 - self.code_bytes()..]);
    }

    /// The codes that the key of a row says: that of a key is a range of one. Any bytes are some codes.
    pub(super) fn codes(&self, key: &[u8]) -> (u128, u128) {
        let (start, end) = key.split_at(self.code_bytes().min(key.len()));
        let code = |bytes: &[u8]| bytes.iter().fold(0, |code, &byte| code << 8 | u128::from(byte));
        let start = code(start);
        (start, if end.is_empty() { start } else { code(end) })
    }

    /// What a query in one partition that is written as the key of a row says.
    fn part(&self, key: &[u8]) -> Part {
        let (start, end) = self.codes(key);
        let ((partition, from), (_, to)) = (self.cut.split(start), self.cut.split(end));
        Part { partition, suffixes: from..=to }
    }

    /// Partition and suffix of a row's key.
    fn key(&self, row: Row<'_>) -> (u128, u16) {
        self.cut.split(self.codes(row.key).0)
    }
}

impl<K: RangeKey + ?Sized> Partitions<K> {
    /// The hash of a partition.
    pub(super) fn hash(&self, partition: u128) -> u64 {
        self.hasher.hash(&Partition::<K>::new(partition))
    }

    /// All of the hash of a partition, given how it begins in its epoch.
    #[inline(always)]
    pub(super) fn words_of(&self, partition: u128, first: u64) -> KeyWords<'_, Partition<K>> {
        KeyWords::with_first(&self.hasher, Partition::new(partition), first)
    }
}

impl<K: ?Sized> Hashes for Partitions<K> {
    #[inline(always)]
    fn hasher(&self) -> &Hasher {
        &self.hasher
    }
}

impl<K: RangeKey + ?Sized> Keys for Partitions<K> {
    fn in_turn(&self, turn: Turn) -> Self {
        Self::new(self.hasher.in_turn(turn), self.cut)
    }
}

impl<K: RangeKey + ?Sized> Reader for Partitions<K> {
    type Payload = Suffixes;
    type Words<'a>
        = KeyWords<'a, Partition<K>>
    where
        K: 'a;
    type Owned<'a>
        = KeyWords<'a, Partition<K>>
    where
        K: 'a;

    fn words<'a>(&'a self, row: Row<'a>) -> Self::Words<'a> {
        self.owned(row)
    }

    fn owned<'a>(&'a self, row: Row<'_>) -> Self::Owned<'a> {
        KeyWords::stored_under(&self.hasher, Partition::new(self.key(row).0), row.hash)
    }

    fn value(&self, row: Row<'_>) -> SuffixSet {
        SuffixSet::of(self.key(row).1)
    }

    fn query(&self, row: Row<'_>) -> RangeInclusive<u16> {
        self.part(row.key).suffixes
    }

    fn value_under(&self, row: Row<'_>) -> Option<SuffixSet> {
        Some(self.value(row))
    }

    fn row_hash(&self, key: &[u8]) -> Option<u64> {
        let is_key = if K::EXACT { key.len() == self.code_bytes() } else { key.len() >= self.code_bytes() };
        is_key.then(|| self.hash(self.cut.split(self.codes(key).0).0))
    }

    fn lookups(&self) -> u32 {
        Self::LOOKUPS
    }

    fn answers(&self, query: Row<'_>, row: Row<'_>) -> bool {
        let (query, (partition, suffix)) = (self.part(query.key), self.key(row));
        query.partition == partition && query.suffixes.contains(&suffix)
    }

    /// Keys of the query's own partition are told from it by their suffixes, and others need not be if theirs are not asked for.
    fn must_part(&self, query: Row<'_>, row: Row<'_>) -> bool {
        let (query, (partition, suffix)) = (self.part(query.key), self.key(row));
        query.partition != partition && query.suffixes.contains(&suffix)
    }
}
