//! All keys in the order of the hashes of their partitions, from the rows, which are in another one.
//!
//! # The idea
//!
//! To build a filter takes all keys in the order of hashes. The rows of the partitions are in that order, but to read the keys of
//! each would be a disk access for every partition. So all rows are read in their own order, in one sequence, and the codes of
//! their keys are sorted. Not more than a few million codes are in memory at a time: if there are more, only those with the
//! lowest hashes are kept, and the rows are read again for those that follow.
//!
//! # Cost
//!
//! 32 bytes of memory for each of 4 million codes at most, and a pass over all rows for every 4 million keys or fewer.

use std::cell::Cell;
use std::ops::{ControlFlow, RangeInclusive};

use twiceshy::reverse_map::{Lookup, Row, Visit};

use super::key::{OrderedKey, write_code};
use super::rows::{OrderedRows, Partition};
use crate::engine::Keys;
use crate::error::StoreError;

/// How many codes are in memory at a time.
const CODES_AT_ONCE: usize = 1 << 22;

/// The codes of all keys, in the order of their hashes.
pub(super) struct Sorted<'a, K: ?Sized> {
    rows: &'a OrderedRows<K>,
    at_once: usize,
    /// How many rows there were in the last pass.
    keys: Cell<u64>,
}

impl<'a, K: OrderedKey + ?Sized> Sorted<'a, K> {
    pub(super) fn new(rows: &'a OrderedRows<K>) -> Self {
        Self { rows, at_once: CODES_AT_ONCE, keys: Cell::new(0) }
    }

    /// How many rows there are, once they were read.
    pub(super) fn keys(&self) -> u64 {
        self.keys.get()
    }

    /// Calls `each` with codes and the hashes of their partitions, in the order of hashes, some at a time, and with the hashes
    /// that all codes are there of.
    pub(super) fn parts(
        &self,
        hashes: &RangeInclusive<u64>,
        mut each: impl FnMut(&[Partition], RangeInclusive<u64>) -> Result<ControlFlow<()>, StoreError>,
    ) -> Result<(), StoreError> {
        let (mut first, end) = (*hashes.start(), *hashes.end());
        while first <= end {
            let (codes, last) = self.read(first, end)?;
            if each(&codes, first..=last)?.is_break() {
                break;
            }
            let Some(next) = last.checked_add(1) else { break };
            first = next;
        }
        Ok(())
    }

    /// The codes with hashes from the first one on, up to a hash that is not higher than the last one.
    fn read(&self, first: u64, mut last: u64) -> Result<(Vec<Partition>, u64), StoreError> {
        let (mut codes, mut keys): (Vec<Partition>, _) = (Vec::new(), 0);
        let (mut code_before, mut partition) = (None, None::<(RangeInclusive<u128>, u64)>);
        self.rows.rows_in(Keys::ALL, &mut |_, code, _| {
            keys += 1;
            if code_before.replace(code) == Some(code) {
                return ControlFlow::Continue(());
            }
            let partitions = &self.rows.partitions;
            let known = partition.take().filter(|(beside, _)| beside.contains(&code));
            let (_, hash) = partition
                .insert(known.unwrap_or_else(|| (partitions.codes_beside(code), partitions.hash_of(code))));
            let hash = *hash;
            if (first..=last).contains(&hash) {
                codes.push((hash, code));
            }
            while codes.len() > self.at_once && first < last {
                last = first + (last - first) / 2;
                codes.retain(|(hash, _)| *hash <= last);
            }
            ControlFlow::Continue(())
        })?;
        self.keys.set(keys);
        codes.sort_unstable();
        Ok((codes, last))
    }
}

impl<K: OrderedKey + ?Sized> Lookup for Sorted<'_, K> {
    type Error = StoreError;

    fn visit(&self, hashes: RangeInclusive<u64>, visit: Visit<'_>) -> Result<(), StoreError> {
        let mut key = Vec::new();
        self.parts(&hashes, |codes, _| {
            Ok(codes.iter().try_for_each(|&(hash, code)| {
                key.clear();
                write_code::<K>(code, &mut key);
                visit(Row { hash, key: &key, value: &[] })
            }))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::{Batch, Durability, Engine, MemoryEngine};
    use crate::rows::{KeyRows, NewRow};
    use std::sync::Arc;
    use twiceshy::AdaptiveRangeFilter;
    use twiceshy::reverse_map::Rows;

    /// However few codes are in memory at a time, all come, in order, and so they do from the rows of the partitions.
    #[test]
    fn codes_come_in_the_order_of_hashes() {
        let engine: Arc<dyn Engine> = Arc::new(MemoryEngine::new());
        let filter = AdaptiveRangeFilter::<u32>::builder().max_range(16).build().unwrap();
        let rows = OrderedRows::new(engine, filter.partitions().clone());
        let mut batch = Batch::new();
        // Some close together, some far apart.
        let numbers: Vec<u32> = (0..300).chain((1..500).map(|number| number * 7_919)).collect();
        for number in &numbers {
            let (row, hash) = (number.to_be_bytes(), filter.coded(number).hash());
            rows.put(&mut batch, &NewRow { hash, key: &row, row: &row, value: &[] }, true);
        }
        rows.engine.write(batch, Durability::Process).unwrap();
        let read = |lookup: &dyn Lookup<Error = StoreError>, hashes| {
            let mut all = Rows::new();
            let visit = &mut |row: Row<'_>| {
                all.push(row);
                ControlFlow::Continue(())
            };
            lookup.visit(hashes, visit).unwrap();
            all
        };
        let all = read(&rows, 0..=u64::MAX);
        assert_eq!(all.len(), 799);
        assert!(all.iter().is_sorted_by_key(|row| row.hash));
        for at_once in [1, 2, 7, 16, 100, 1_000] {
            let sorted = Sorted { at_once, ..Sorted::new(&rows) };
            assert!(read(&sorted, 0..=u64::MAX) == all, "{at_once}");
            assert_eq!(sorted.keys(), 799);
            let middle = u64::MAX / 3..=u64::MAX / 2;
            assert!(read(&sorted, middle.clone()) == read(&rows, middle), "{at_once}");
            let mut first = None;
            let stop = &mut |row: Row<'_>| {
                assert!(first.replace(row.hash).is_none());
                ControlFlow::Break(())
            };
            sorted.visit(0..=u64::MAX, stop).unwrap();
        }
    }
}
