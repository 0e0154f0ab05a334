//! A logical journal: what to remember between two snapshots.
//!
//! A store saves its filter now and then and writes a record for every change in between. The records say
//! what happened, not how the table changed: replayed against a map that is newer than the snapshot, "this
//! fingerprint became those two" would lose keys, while "this hash was inserted" and "this query was a
//! mistake" can be replayed in any state, and more than once: in the order in which they were written, or first what came and
//! went and then the mistakes. More records than those since the snapshot do no harm.
//!
//! There is no record of a merge: the keys of the other filter would have to be in it, with all that was learned of them.
//!
//! | byte | size | |
//! |---|---|---|
//! | 0 | 1 | kind: 1 inserted, 2 separate, 3 removed, 4 separate in an epoch, 5 rotated |
//! | 1 | 2 | how many bits follow, little-endian |
//! | 3 | | the bits, highest first, in as few bytes as they need; what is left of the last one is 0 |
//!
//! The bits of kind 4 are those of the epoch as a number of 32 bits, and then those of the string. Those of kind 5 are the numbers
//! of a turn: the epoch (32 bits), how many bits stay in it and in the next one (8 bits each), and the frontier (64 bits).

use super::{AdaptiveFilter, Filter};
use crate::filter::protocol::Keys;
use crate::hash::{MAX_BITS, Turn, Words};
use crate::key::Key;
use crate::prefix::Prefix;
use crate::reverse_map::Row;

/// A change of a filter, for a journal. See [`AdaptiveSet::replay`](super::AdaptiveSet::replay).
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Record {
    /// A key with this hash was inserted. Write it together with the key.
    Inserted(u64),
    /// A query that begins like this was a false positive and was fixed.
    Separate(Prefix),
    /// A key with this hash was removed. Write it together with the removal of the key.
    Removed(u64),
    /// A query that begins like this in an epoch was a false positive and was fixed. It is forgotten in every later one.
    SeparateIn {
        /// The epoch, not 0.
        epoch: u32,
        /// How the query begins in it.
        prefix: Prefix,
    },
    /// The filter has rotated as far as this. It may be written at any time after; only the last one counts. Do it again after all
    /// keys that were inserted, and before what was learned.
    Rotated(Turn),
}

/// Bytes that are no [`Record`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("these bytes are no journal record: the journal is cut off or damaged here")]
pub struct RecordError;

const INSERTED: u8 = 1;
const SEPARATE: u8 = 2;
const REMOVED: u8 = 3;
const SEPARATE_IN: u8 = 4;
const ROTATED: u8 = 5;
const HEAD_BYTES: usize = 3;

impl Record {
    /// Appends the record to a journal.
    ///
    /// ```
    /// use twiceshy::adaptive::Record;
    /// use twiceshy::Prefix;
    ///
    /// let mut journal = Vec::new();
    /// Record::Inserted(0xab).write_to(&mut journal);
    /// Record::Separate(Prefix::from_bits(0b101, 3)).write_to(&mut journal);
    ///
    /// let mut rest = journal.as_slice();
    /// assert_eq!(Record::read_from(&mut rest)?, Record::Inserted(0xab));
    /// assert_eq!(Record::read_from(&mut rest)?, Record::Separate(Prefix::from_bits(0b101, 3)));
    /// assert!(rest.is_empty());
    /// # Ok::<(), twiceshy::adaptive::RecordError>(())
    /// ```
    pub fn write_to(&self, journal: &mut Vec<u8>) {
        let (kind, prefix) = match self {
            Self::Inserted(hash) => (INSERTED, &Prefix::from_bits(*hash, 64)),
            Self::Separate(prefix) => (SEPARATE, prefix),
            Self::Removed(hash) => (REMOVED, &Prefix::from_bits(*hash, 64)),
            Self::SeparateIn { epoch, prefix } => (SEPARATE_IN, &joined(&[(u64::from(*epoch), 32)], prefix)),
            Self::Rotated(turn) => {
                let (epoch, old_bits, new_bits, frontier) = turn.parts();
                let numbers = [(epoch, 32), (old_bits, 8), (new_bits, 8)].map(|(it, bits)| (it.into(), bits));
                (ROTATED, &joined(&numbers, &Prefix::from_bits(frontier, 64)))
            }
        };
        journal.push(kind);
        journal.extend((prefix.len() as u16).to_le_bytes());
        let bytes = prefix.words().flat_map(u64::to_be_bytes);
        journal.extend(bytes.take(prefix.len().div_ceil(8) as usize));
    }

    /// Reads the record at the front and moves after it. An error moves nothing.
    pub fn read_from(journal: &mut &[u8]) -> Result<Self, RecordError> {
        let (&[kind, low, high], rest) = journal.split_first_chunk::<HEAD_BYTES>().ok_or(RecordError)?;
        let len = u32::from(u16::from_le_bytes([low, high]));
        if len > MAX_BITS + EPOCH_BITS {
            return Err(RecordError);
        }
        let (bytes, rest) = rest.split_at_checked(len.div_ceil(8) as usize).ok_or(RecordError)?;
        let mut prefix = Prefix::from_bits(0, 0);
        for (i, &byte) in (0..).zip(bytes) {
            let bits = (len - 8 * i).min(8);
            if byte.trailing_zeros() < 8 - bits {
                return Err(RecordError);
            }
            prefix.push(u64::from(byte >> (8 - bits)), bits);
        }
        let record = match kind {
            INSERTED if len == 64 => Self::Inserted(prefix.word(0)),
            REMOVED if len == 64 => Self::Removed(prefix.word(0)),
            SEPARATE if len <= MAX_BITS => Self::Separate(prefix),
            SEPARATE_IN if len >= EPOCH_BITS => {
                let (epoch, prefix) = (prefix.window(0, EPOCH_BITS) as u32, prefix.after(EPOCH_BITS));
                Self::SeparateIn { epoch: Some(epoch).filter(|epoch| *epoch > 0).ok_or(RecordError)?, prefix }
            }
            ROTATED if len == 112 => {
                let number = |at, len| prefix.window(at, len) as u32;
                let turn =
                    Turn::from_parts(number(0, 32), number(32, 8), number(40, 8), prefix.window(48, 64));
                Self::Rotated(turn.ok_or(RecordError)?)
            }
            _ => return Err(RecordError),
        };
        *journal = rest;
        Ok(record)
    }
}

/// Bits of the number of an epoch.
const EPOCH_BITS: u32 = 32;

/// Numbers of so many bits, and a string after them.
fn joined(numbers: &[(u64, u32)], prefix: &Prefix) -> Prefix {
    let mut all = Prefix::from_bits(0, 0);
    numbers.iter().for_each(|(number, bits)| all.push(*number, *bits));
    (0..prefix.len()).step_by(64).for_each(|at| {
        let bits = (prefix.len() - at).min(64);
        all.push(prefix.window(at, bits), bits);
    });
    all
}

impl<B: AsRef<[u8]>> AdaptiveFilter<B> {
    /// The record to write after [`adapt`](Self::adapt) said [`Fixed`](super::Adapted::Fixed) for a key: as
    /// many bits of its hash as tell it from everything stored. `None` if the filter says *maybe* to the key.
    pub fn separate_record<K: Key + ?Sized>(&self, key: &K) -> Option<Record> {
        let bytes = key.key_bytes();
        let key = bytes.as_ref();
        self.separate_record_of(Row { hash: self.reader.hash_bytes(key), key, value: &[] })
    }
}

impl<R: Keys, B: AsRef<[u8]>> Filter<R, B> {
    /// The record to write after a query that is written as a row was fixed.
    pub(crate) fn separate_record_of(&self, query: Row<'_>) -> Option<Record> {
        let prefix = self.core.separating_prefix(&self.reader.words(query), &self.reader.query(query));
        prefix.map(|prefix| match self.turn().epoch_of(prefix.word(0)).number {
            0 => Record::Separate(prefix),
            epoch => Record::SeparateIn { epoch, prefix },
        })
    }

    /// The string that a record of this filter says to be apart from, unless the epoch that it is of has passed, or has not come.
    pub(crate) fn lesson<'r>(&self, record: &'r Record) -> Option<&'r Prefix> {
        let (epoch, prefix) = match record {
            Record::Separate(prefix) => (0, prefix),
            Record::SeparateIn { epoch, prefix } => (*epoch, prefix),
            Record::Inserted(_) | Record::Removed(_) | Record::Rotated(_) => return None,
        };
        (self.turn().epoch_of(prefix.word(0)).number == epoch).then_some(prefix)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hash::RawWords;

    #[test]
    fn records_read_back_and_cut_off_ones_are_refused() {
        let separate = (0..200).map(|len| Record::Separate(Prefix::of(&RawWords(u64::MAX / 7), len)));
        for record in separate
            .chain([0, 1, u64::MAX].map(Record::Inserted))
            .chain([0, 1, u64::MAX].map(Record::Removed))
            .chain((0..200).map(|len| Record::SeparateIn {
                epoch: len + 1,
                prefix: Prefix::of(&RawWords(u64::MAX / 7), len),
            }))
            .chain(turns().map(Record::Rotated))
        {
            let mut bytes = Vec::new();
            record.write_to(&mut bytes);
            for end in 0..bytes.len() {
                assert_eq!(Record::read_from(&mut &bytes[..end]), Err(RecordError));
            }
            bytes.push(9);
            let mut rest = bytes.as_slice();
            assert_eq!(Record::read_from(&mut rest), Ok(record));
            assert_eq!(rest, [9]);
        }
    }

    /// Turns of filters of several sizes, from the first group on.
    fn turns() -> impl Iterator<Item = Turn> {
        let advanced = |bits| move |turn: &Turn| Some(turn.advanced(bits)?.0);
        [0, 3, 40]
            .into_iter()
            .flat_map(move |bits| std::iter::successors(Some(Turn::NONE), advanced(bits)).take(20))
    }

    #[test]
    fn damaged_records_are_refused() {
        let epoch_0 = [4, 32, 0, 0, 0, 0, 0];
        assert_eq!(Record::read_from(&mut epoch_0.as_slice()), Err(RecordError), "has a record of its own");
        let odd_frontier = [5, 112, 0, 0, 0, 0, 1, 5, 5, 0, 0, 0, 0, 0, 0, 0, 1];
        assert_eq!(Record::read_from(&mut odd_frontier.as_slice()), Err(RecordError), "inside a group");
        assert_eq!(Record::read_from(&mut [6, 8, 0, 1].as_slice()), Err(RecordError), "unknown kind");
        assert_eq!(Record::read_from(&mut [1, 8, 0, 1].as_slice()), Err(RecordError), "short hash");
        assert_eq!(Record::read_from(&mut [2, 7, 0, 1].as_slice()), Err(RecordError), "bits behind the end");
        assert_eq!(Record::read_from(&mut [2, 1, 4].repeat(100).as_slice()), Err(RecordError), "too long");
    }
}
