//! How a filter reads the rows of its map: which of them are its keys, what their hashes are, and what they bring along.

use std::fmt::Debug;

use crate::codec::string::{Payload, Tags};
use crate::filter::core::Neighbour;
use crate::hash::{Hasher, Hashes, KeyWords, RawKeyWords, Turn, Words};
use crate::prefix::Prefix;
use crate::reverse_map::{Row, Rows};

/// A reader that a filter has as its own: two filters with equal ones can be merged.
pub trait Keys: Reader + Clone + PartialEq + Debug {
    /// The same one, with hashes in the epochs of a turn.
    fn in_turn(&self, turn: Turn) -> Self;
}

/// What the keys that are read like this bring along.
pub(crate) type ValueOf<R> = <<R as Reader>::Payload as Payload>::Value;

/// How rows are read: the hash of a key, and what it brings along.
pub trait Reader: Hashes {
    /// What an entry carries.
    type Payload: Payload;

    /// A hash.
    type Words<'a>: Words + PartialEq
    where
        Self: 'a;

    /// One that does not need the row any more.
    type Owned<'a>: Words + PartialEq
    where
        Self: 'a;

    /// The hash of a row's key.
    fn words<'a>(&'a self, row: Row<'a>) -> Self::Words<'a>;

    /// The hash of a row's key, for longer than the row lives.
    fn owned<'a>(&'a self, row: Row<'_>) -> Self::Owned<'a>;

    /// What a row brings along.
    fn value(&self, row: Row<'_>) -> ValueOf<Self>;

    /// What a query asks for that is written as a row.
    fn query(&self, row: Row<'_>) -> <Self::Payload as Payload>::Query;

    /// The hash that the row of a key lies under; `None` if these bytes are no key, or nobody knows how it was hashed.
    fn row_hash(&self, _key: &[u8]) -> Option<u64> {
        None
    }

    /// How many fingerprints a query may meet.
    fn lookups(&self) -> u32 {
        1
    }

    /// What a row under a fingerprint brings along; `None` if it is what the fingerprint carries.
    fn value_under(&self, _row: Row<'_>) -> Option<ValueOf<Self>> {
        None
    }

    /// Whether a row is of a key that the filter covers. A map may have other rows, too.
    #[inline(always)]
    fn is_key(&self, _row: Row<'_>) -> bool {
        true
    }

    /// Whether a map may have rows that are [barred](Self::is_barred): then whoever makes a fingerprint that does not begin
    /// with one that was there looks for them.
    const BARS: bool = false;

    /// Whether a row is of a key that no fingerprint may cover, and which the filter so always says *no* to.
    #[inline(always)]
    fn is_barred(&self, _row: Row<'_>) -> bool {
        false
    }

    /// Whether a row is what a query asked for: then the query was no mistake.
    #[inline(always)]
    fn answers(&self, query: Row<'_>, row: Row<'_>) -> bool {
        self.is_key(row) && is_same_key(row, query)
    }

    /// How many of the first bits of every key's hash are those that its row is found by. What follows may be another hash than
    /// the one that the map is ordered by.
    #[inline(always)]
    fn ordered_bits(&self) -> u32 {
        self.hasher().turn().ordered_bits()
    }

    /// How many of the first bits of a fingerprint are those that the rows of its keys are found by.
    #[inline(always)]
    fn ordered_bits_of(&self, fingerprint: &Prefix) -> u32 {
        self.hasher().turn().epoch_of(fingerprint.word(0)).bits
    }

    /// Where in the map the keys under a fingerprint are: they begin like this, and some others may. Whoever looks for the keys
    /// under a fingerprint looks here: the rows that begin like the fingerprint itself are those of other keys, once the filter
    /// has rotated.
    #[inline(always)]
    fn listed(&self, fingerprint: &Prefix) -> Prefix {
        match self.ordered_bits_of(fingerprint) {
            64.. => fingerprint.clone(),
            bits => Prefix::of(fingerprint, bits.min(fingerprint.len())),
        }
    }

    /// How the fingerprints begin, or what they begin with, of all keys whose rows are stored under a hash.
    #[inline(always)]
    fn fingerprint_of(&self, hash: u64) -> Prefix {
        Prefix::from_bits(self.hasher().first_word(hash), 64)
    }

    /// Whether a row under a fingerprint must be told from a query that was mistaken for one of them.
    #[inline(always)]
    fn must_part(&self, _query: Row<'_>, _row: Row<'_>) -> bool {
        true
    }

    /// Those of some rows that are under a prefix.
    #[inline(always)]
    fn rows_under<'a>(
        &'a self,
        prefix: &'a Prefix,
        rows: &'a Rows,
    ) -> impl Iterator<Item = (Row<'a>, Self::Words<'a>)> {
        rows.iter().filter_map(move |row| {
            let words = self.words(row);
            (self.is_key(row) && prefix.is_prefix_of(&words)).then_some((row, words))
        })
    }

    /// Those of some rows that are under a prefix, as neighbours.
    fn neighbours<'a>(
        &'a self,
        prefix: &'a Prefix,
        rows: &'a Rows,
    ) -> impl Iterator<Item = Neighbour<Self::Words<'a>, ValueOf<Self>>> {
        let value = |row| self.value_under(row);
        self.rows_under(prefix, rows).map(move |(row, words)| Neighbour { words, value: value(row) })
    }
}

/// A filter of keys: a row may have a tag as its value. All rows under a fingerprint have the same, so nobody has to tell.
impl Reader for Hasher {
    type Payload = Tags;
    type Words<'a> = KeyWords<'a, &'a [u8]>;
    type Owned<'a> = KeyWords<'a, Vec<u8>>;

    #[inline(always)]
    fn words<'a>(&'a self, row: Row<'a>) -> Self::Words<'a> {
        KeyWords::stored_under(self, row.key, row.hash)
    }

    #[inline(always)]
    fn owned<'a>(&'a self, row: Row<'_>) -> Self::Owned<'a> {
        KeyWords::stored_under(self, row.key.to_vec(), row.hash)
    }

    fn value(&self, row: Row<'_>) -> u64 {
        tag_and_value(row.value).0
    }

    fn query(&self, _: Row<'_>) {}

    fn row_hash(&self, key: &[u8]) -> Option<u64> {
        Some(self.hash_bytes(key))
    }
}

impl Keys for Hasher {
    fn in_turn(&self, turn: Turn) -> Self {
        self.in_turn(turn)
    }
}

/// A filter of hashes that the caller has made. The filter's own hasher knows which epochs it is in.
pub(crate) struct Raw<'h>(pub(crate) &'h Hasher);

impl Hashes for Raw<'_> {
    #[inline(always)]
    fn hasher(&self) -> &Hasher {
        self.0
    }
}

impl Reader for Raw<'_> {
    type Payload = Tags;
    type Words<'a>
        = RawKeyWords<'a>
    where
        Self: 'a;
    type Owned<'a>
        = RawKeyWords<'a>
    where
        Self: 'a;

    #[inline(always)]
    fn words<'a>(&'a self, row: Row<'a>) -> RawKeyWords<'a> {
        RawKeyWords::new(self.0, row.hash)
    }

    #[inline(always)]
    fn owned<'a>(&'a self, row: Row<'_>) -> RawKeyWords<'a> {
        RawKeyWords::new(self.0, row.hash)
    }

    fn value(&self, row: Row<'_>) -> u64 {
        tag_and_value(row.value).0
    }

    fn query(&self, _: Row<'_>) {}
}

/// What the row of a key with a tag and a value holds: nothing if it has neither; else how many bytes the tag has, these from
/// the lowest to the highest that is not 0, and the value.
pub(crate) fn row_value(tag: u64, value: &[u8]) -> Vec<u8> {
    let len = 8 - tag.leading_zeros() as usize / 8;
    match (len, value) {
        (0, []) => Vec::new(),
        _ => [&[len as u8], &tag.to_le_bytes()[..len], value].concat(),
    }
}

/// The tag and the value in a row. What nobody here has written is a value.
pub(crate) fn tag_and_value(row_value: &[u8]) -> (u64, &[u8]) {
    let parts = row_value.split_first().and_then(|(&len, rest)| rest.split_at_checked(len.into()));
    match parts {
        Some((tag, value)) if tag.len() <= 8 => {
            (tag.iter().rev().fold(0, |tag, &byte| tag << 8 | u64::from(byte)), value)
        }
        _ => (0, row_value),
    }
}

/// Whether two rows are of the same key.
pub(super) fn is_same_key(one: Row<'_>, other: Row<'_>) -> bool {
    one.hash == other.hash && one.key == other.key
}
