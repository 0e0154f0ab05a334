//! Rows in the order of their keys, and the partitions that have some in the order of their hashes.
//!
//! # The idea
//!
//! Values lie under their keys, in key order, so that a range of keys is a range of rows. The filter, which knows hashes of
//! partitions, asks which keys are under a fingerprint. So there is one more row for every *partition* that has keys, in the
//! space [`Partitions`](Space::Partitions): the head of its hash, four bytes as in [`rows`](crate::rows), and its number. The keys
//! of a partition are a short range of the rows themselves and are not written once more.
//!
//! The row of a partition is written, without a look, in the batch of every new key, and deleted in the batch that removes
//! the partition's last key. So there is no key without it; one without keys does no harm.
//!
//! # Cost
//!
//! Keys that are scattered have a partition each, and the second row is 4 bytes and the partition's number; where keys lie
//! close together there is next to nothing.
//!
//! # Source
//!
//! The reverse map of section 4.2 of *Adaptive Quotient Filters*, for the partitions of *Aeris Filter*, whose map has a row for
//! every key.

use std::ops::{ControlFlow, RangeInclusive};
use std::sync::Arc;

use twiceshy::adaptive::protocol::Wanted;
use twiceshy::adaptive_range::Partitions;
use twiceshy::reverse_map::{Lookup, Row, Rows, Visit};

use super::key::{OrderedKey, code_bytes, write_code};
use crate::engine::{Batch, Engine, Keys, Space};
use crate::error::StoreError;
use crate::rows::{HEAD_BYTES, KeyRows, NewRow, Sharing, head, heads};

/// How many partitions are read at a time, or a few more.
const PAGE_PARTITIONS: usize = 1_024;

/// A partition that has keys, or had some: its hash and its first code.
pub(super) type Partition = (u64, u128);

/// What is called with the key of a row, the code of its key, and the value.
type VisitRow<'a> = dyn FnMut(&[u8], u128, &[u8]) -> ControlFlow<()> + 'a;

/// The rows of a store, in the order of their keys.
pub(crate) struct OrderedRows<K: ?Sized> {
    pub(super) engine: Arc<dyn Engine>,
    pub(super) partitions: Partitions<K>,
    /// The bits of a code that are not in the number of its partition.
    suffix_bits: u32,
}

impl<K: OrderedKey + ?Sized> OrderedRows<K> {
    pub(super) fn new(engine: Arc<dyn Engine>, partitions: Partitions<K>) -> Self {
        let suffix_bits = partitions.codes_beside(0).end().count_ones();
        Self { engine, partitions, suffix_bits }
    }

    /// The code that is written at the front of some bytes.
    pub(super) fn code(key: &[u8]) -> u128 {
        key.iter().take(code_bytes::<K>()).fold(0, |code, &byte| code << 8 | u128::from(byte))
    }

    /// The bytes of a partition's number.
    fn number_bytes(&self) -> usize {
        (K::CODE_BITS - self.suffix_bits).div_ceil(8) as usize
    }

    /// The key of the row of the partition in which a code is.
    fn partition_key(&self, (hash, code): Partition) -> Vec<u8> {
        let number = code.unbounded_shr(self.suffix_bits).to_be_bytes();
        [&head(hash, false), &number[16 - self.number_bytes()..]].concat()
    }

    /// The partition that has a row with this key.
    fn partition(&self, row_key: &[u8]) -> Result<Partition, StoreError> {
        let number = row_key.get(HEAD_BYTES..).filter(|number| number.len() == self.number_bytes());
        let number = number
            .ok_or_else(|| StoreError::damaged("the row of a partition has a key of the wrong length"))?;
        let number = number.iter().fold(0, |number, &byte| number << 8 | u128::from(byte));
        let code = number.unbounded_shl(self.suffix_bits);
        let hash = self.partitions.hash_of(code);
        if !row_key.starts_with(&head(hash, false)) {
            return Err(StoreError::damaged("the row of a partition lies where that of another one belongs"));
        }
        Ok((hash, code))
    }

    /// Adds the row of a partition to a batch, unless that is what the batch did last.
    pub(super) fn put_partition(&self, batch: &mut Batch, partition: Partition) {
        let row_key = self.partition_key(partition);
        if !batch.ends_with_put(Space::Partitions, &row_key) {
            batch.put(Space::Partitions, row_key, Vec::new());
        }
    }

    /// Adds the removal of the row of a partition to a batch.
    pub(super) fn delete_partition(&self, batch: &mut Batch, partition: Partition) {
        batch.delete(Space::Partitions, self.partition_key(partition));
    }

    /// The value of a row.
    pub(super) fn get(&self, row: &[u8]) -> Result<Option<Vec<u8>>, StoreError> {
        // Longer ones are not there, and an engine must not be asked.
        if row.len() > self.engine.max_key_len() {
            return Ok(None);
        }
        Ok(self.engine.get(Space::Rows, row)?)
    }

    /// Calls `visit` with all rows in a range, in the order of their keys.
    pub(super) fn rows_in(&self, keys: Keys<'_>, visit: &mut VisitRow<'_>) -> Result<(), StoreError> {
        let mut failed = None;
        self.engine.scan(Space::Rows, keys, &mut |row_key, value| match K::row_code(row_key) {
            Some(code) => visit(row_key, code, value),
            None => {
                failed =
                    Some(StoreError::damaged(format!("a row has the key {row_key:02x?}, which is none")));
                ControlFlow::Break(())
            }
        })?;
        failed.map_or(Ok(()), Err)
    }

    /// Calls `visit` with all rows whose keys have codes in a range, in the order of their keys.
    fn rows_with(&self, codes: &RangeInclusive<u128>, visit: &mut VisitRow<'_>) -> Result<(), StoreError> {
        let first_row_key = |code| {
            let mut row_key = Vec::new();
            K::write_first_row_key(code, &mut row_key);
            row_key
        };
        let last_code = u128::MAX >> (128 - K::CODE_BITS);
        let until = (*codes.end() < last_code).then(|| first_row_key(codes.end() + 1));
        self.rows_in(Keys { from: &first_row_key(*codes.start()), until: until.as_deref() }, visit)
    }

    /// Whether there is a row, other than this one, whose key has a code in a range.
    pub(super) fn has_other(
        &self,
        codes: &RangeInclusive<u128>,
        row: Option<&[u8]>,
    ) -> Result<bool, StoreError> {
        let mut found = false;
        self.rows_with(codes, &mut |other, _, _| {
            found = row != Some(other);
            if found { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        })?;
        Ok(found)
    }

    /// Calls `visit` for every code in a range that a key has, with the hash of their partition, until it says `Break`.
    fn codes_of(
        &self,
        hash: u64,
        codes: &RangeInclusive<u128>,
        visit: Visit<'_>,
    ) -> Result<ControlFlow<()>, StoreError> {
        let (mut last, mut flow, mut key) = (None, ControlFlow::Continue(()), Vec::new());
        self.rows_with(codes, &mut |_, code, _| {
            // Keys that have the same code come one after the other.
            if last.replace(code) != Some(code) {
                key.clear();
                write_code::<K>(code, &mut key);
                flow = visit(Row { hash, key: &key, value: &[] });
            }
            flow
        })?;
        Ok(flow)
    }

    /// Calls `each` with the partitions whose hashes are in a range, in the order of their hashes, some at a time.
    pub(super) fn partitions_in(
        &self,
        hashes: &RangeInclusive<u64>,
        mut each: impl FnMut(&[Partition]) -> Result<ControlFlow<()>, StoreError>,
    ) -> Result<(), StoreError> {
        let (from, until) = heads(hashes);
        let mut next = Some(from.to_vec());
        while let Some(from) = next.take() {
            let (mut page, mut failed) = (Vec::new(), None);
            let mut last = None;
            let keys = Keys { from: &from, until: until.as_ref().map(<[u8; HEAD_BYTES]>::as_slice) };
            self.engine.scan(Space::Partitions, keys, &mut |row_key, _| {
                // Those with the same head are put in order together.
                let head = row_key.first_chunk::<HEAD_BYTES>().copied();
                if page.len() >= PAGE_PARTITIONS && last != head {
                    next = Some(row_key.to_vec());
                    return ControlFlow::Break(());
                }
                last = head;
                match self.partition(row_key) {
                    Ok(partition) => page.push(partition),
                    Err(error) => failed = Some(error),
                }
                if failed.is_none() { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
            })?;
            if let Some(error) = failed {
                return Err(error);
            }
            page.retain(|(hash, _)| hashes.contains(hash));
            page.sort_unstable();
            if each(&page)?.is_break() {
                return Ok(());
            }
        }
        Ok(())
    }
}

/// The rows as a filter's reverse map: every code that a key has, under the hash of its partition.
impl<K: OrderedKey + ?Sized> Lookup for OrderedRows<K> {
    type Error = StoreError;

    fn visit(&self, hashes: RangeInclusive<u64>, visit: Visit<'_>) -> Result<(), StoreError> {
        self.partitions_in(&hashes, |partitions| {
            for &(hash, code) in partitions {
                if self.codes_of(hash, &self.partitions.codes_beside(code), visit)?.is_break() {
                    return Ok(ControlFlow::Break(()));
                }
            }
            Ok(ControlFlow::Continue(()))
        })
    }

    fn contains(&self, _: u64, key: &[u8]) -> Result<bool, StoreError> {
        let code = Self::code(key);
        self.has_other(&(code..=code), None)
    }
}

impl<K: OrderedKey + ?Sized> KeyRows for OrderedRows<K> {
    fn hash(&self, key: &[u8]) -> u64 {
        self.partitions.hash_of(Self::code(key))
    }

    fn check(&self, row: &[u8], value: &[u8]) -> Result<(), StoreError> {
        let (max_key, max_value) = (self.engine.max_key_len(), self.engine.max_value_len());
        if row.len() > max_key {
            return Err(StoreError::KeyTooLong { len: row.len(), max: max_key });
        }
        if value.len() > max_value {
            return Err(StoreError::ValueTooLong { len: value.len(), max: max_value });
        }
        Ok(())
    }

    fn has(&self, row: &[u8]) -> Result<bool, StoreError> {
        Ok(self.get(row)?.is_some())
    }

    /// In each partition there is one code with a given place, and the others are not read.
    fn wanted(&self, wanted: &Wanted) -> Result<Rows, StoreError> {
        let Some(key) = wanted.like() else { return wanted.read(self) };
        let (code, mut rows) = (Self::code(key), Rows::new());
        let place = code - self.partitions.codes_beside(code).start();
        self.partitions_in(&wanted.prefix().first_words(), |partitions| {
            for &(hash, first) in partitions {
                let code = first + place;
                let _ = self.codes_of(hash, &(code..=code), &mut |row| {
                    rows.push(row);
                    ControlFlow::Break(())
                })?;
            }
            Ok(ControlFlow::Continue(()))
        })?;
        Ok(rows)
    }

    fn sharing(&self, key: &[u8], row: &[u8]) -> Result<Sharing, StoreError> {
        if K::EXACT {
            return Ok(Sharing::Alone);
        }
        let code = Self::code(key);
        Ok(match (self.has(row)?, self.has_other(&(code..=code), Some(row))?) {
            (false, _) => Sharing::NotThere,
            (true, false) => Sharing::Alone,
            (true, true) => Sharing::WithOthers,
        })
    }

    fn put(&self, batch: &mut Batch, row: &NewRow<'_>, is_new: bool) {
        batch.put(Space::Rows, row.row.to_vec(), row.value.to_vec());
        if is_new {
            self.put_partition(batch, (row.hash, Self::code(row.key)));
        }
    }

    fn delete(&self, batch: &mut Batch, hash: u64, row: &[u8]) -> Result<(), StoreError> {
        batch.delete(Space::Rows, row.to_vec());
        let Some(code) = K::row_code(row) else { return Ok(()) };
        if !self.has_other(&self.partitions.codes_beside(code), Some(row))? {
            self.delete_partition(batch, (hash, code));
        }
        Ok(())
    }
}
