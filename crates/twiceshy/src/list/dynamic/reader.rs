//! Which list a row of the map is on.

use crate::codec::string::Tags;
use crate::filter::protocol::{Keys, Reader};
use crate::hash::{Hasher, Hashes, KeyWords, Turn};
use crate::list::Answer;
use crate::reverse_map::Row;

/// How the keys of a list are hashed, and which of its rows are on which list: what two lists must have in common to be merged.
#[derive(Debug, Clone, PartialEq)]
pub struct Lists {
    hasher: Hasher,
}

/// The value of a row on the YES list. On the NO list, which tends to be the longer one, it is empty.
const YES: &[u8] = &[1];

impl Answer {
    /// The value of a row on this list.
    pub const fn row_value(self) -> &'static [u8] {
        if self.is_yes() { YES } else { &[] }
    }

    /// The list that a row with this value is on; `None` if it is on none.
    pub fn of_row_value(value: &[u8]) -> Option<Self> {
        [Self::Yes, Self::No].into_iter().find(|list| list.row_value() == value)
    }
}

impl Lists {
    pub(crate) fn new(hasher: Hasher) -> Self {
        Self { hasher }
    }

    /// The row of a key on a list.
    pub(super) fn row<'k>(&self, key: &'k [u8], list: Answer) -> Row<'k> {
        Row { hash: self.hasher.hash_bytes(key), key, value: list.row_value() }
    }
}

impl Hashes for Lists {
    #[inline(always)]
    fn hasher(&self) -> &Hasher {
        &self.hasher
    }
}

impl Keys for Lists {
    fn in_turn(&self, turn: Turn) -> Self {
        Self::new(self.hasher.in_turn(turn))
    }
}

/// The filter's keys are those on the YES list; those on the NO list are barred.
impl Reader for Lists {
    type Payload = Tags;
    type Words<'a> = KeyWords<'a, &'a [u8]>;
    type Owned<'a> = KeyWords<'a, Vec<u8>>;

    const BARS: bool = true;

    fn words<'a>(&'a self, row: Row<'a>) -> Self::Words<'a> {
        self.hasher.words(row)
    }

    fn owned<'a>(&'a self, row: Row<'_>) -> Self::Owned<'a> {
        self.hasher.owned(row)
    }

    fn value(&self, _: Row<'_>) -> u64 {
        0
    }

    fn query(&self, _: Row<'_>) {}

    fn row_hash(&self, key: &[u8]) -> Option<u64> {
        self.hasher.row_hash(key)
    }

    fn is_key(&self, row: Row<'_>) -> bool {
        Answer::of_row_value(row.value) == Some(Answer::Yes)
    }

    fn is_barred(&self, row: Row<'_>) -> bool {
        Answer::of_row_value(row.value) == Some(Answer::No)
    }
}
