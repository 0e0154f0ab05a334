//! A logical journal: what to remember between two snapshots.
//!
//! A store saves its filter now and then and writes a record for every change in between. The records say
//! what happened, not how the table changed: replayed against a map that is newer than the snapshot, "this
//! fingerprint became those two" would lose keys, while "this hash was inserted" and "this query was a
//! mistake" can be replayed in any state, and more than once.
//!
//! | byte | size | |
//! |---|---|---|
//! | 0 | 1 | kind: 1 inserted, 2 separate, 3 removed |
//! | 1 | 2 | how many bits follow, little-endian |
//! | 3 | | the bits, highest first, in as few bytes as they need; what is left of the last one is 0 |

use super::{AdaptiveFilter, Filter};
use crate::filter::protocol::Keys;
use crate::hash::{MAX_BITS, Words};
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
}

/// Bytes that are no [`Record`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("these bytes are no journal record: the journal is cut off or damaged here")]
pub struct RecordError;

const INSERTED: u8 = 1;
const SEPARATE: u8 = 2;
const REMOVED: u8 = 3;
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
        if len > MAX_BITS {
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
            SEPARATE => Self::Separate(prefix),
            _ => return Err(RecordError),
        };
        *journal = rest;
        Ok(record)
    }
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
        prefix.map(Record::Separate)
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

    #[test]
    fn damaged_records_are_refused() {
        assert_eq!(Record::read_from(&mut [4, 8, 0, 1].as_slice()), Err(RecordError), "unknown kind");
        assert_eq!(Record::read_from(&mut [1, 8, 0, 1].as_slice()), Err(RecordError), "short hash");
        assert_eq!(Record::read_from(&mut [2, 7, 0, 1].as_slice()), Err(RecordError), "bits behind the end");
        assert_eq!(Record::read_from(&mut [2, 1, 4].repeat(100).as_slice()), Err(RecordError), "too long");
    }
}
