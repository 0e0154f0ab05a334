//! Work on the whole store: checking it, making its filter and the rows of its partitions anew.

use std::ops::ControlFlow;

use super::rows::Partition;
use super::sorted::Sorted;
use super::{OrderedKey, OrderedStore};
use crate::engine::{Batch, Durability};
use crate::error::StoreError;
use crate::shared::{Met, Verified};

impl<K: OrderedKey + ?Sized> OrderedStore<K> {
    /// Checks the filter, every row, that the filter covers every key, and that every partition with keys has its row. Reads
    /// everything; writers wait.
    pub fn verify(&self) -> Result<Verified, StoreError> {
        let shared = &self.shared;
        let mut writer = shared.writer()?;
        let filter = shared.durable.filter()?;
        filter.validate().map_err(|what| StoreError::Disagree { what })?;
        let disagree = |what: String| Err(StoreError::Disagree { what });
        let sorted = Sorted::new(&shared.durable.rows);
        let mut met = Met::default();
        self.compare_partitions(&sorted, |codes, missing, _| {
            // Those of a partition have the same hash, and meet the same fingerprint.
            let mut last = None;
            for &(hash, code) in codes {
                let coded = filter.partitions().coded_code(code);
                let is_known = match last.replace(hash) == Some(hash) {
                    true => filter.is_positive(&coded),
                    false => filter.query(&coded).inspect(|ticket| met.add(ticket.fingerprint())).is_some(),
                };
                if !is_known {
                    return disagree(format!("the filter does not know the key with code {code:#x}"));
                }
            }
            match missing.first() {
                Some((_, code)) => {
                    disagree(format!("the partition of the key with code {code:#x} has no row"))
                }
                None => Ok(()),
            }
        })?;
        // They were counted now.
        let keys = sorted.keys();
        writer.journal.is_saved &= writer.journal.keys() == keys;
        shared.durable.set_keys(&mut writer.journal, keys);
        Ok(met.verified(keys, filter.fingerprints()))
    }

    /// Builds the filter anew from all rows: every key gets a fingerprint of fresh length, leftovers go, and what was
    /// learned stays. The rows of the partitions are put right first. Readers go on meanwhile, writers wait. Tells how many keys
    /// there are.
    ///
    /// The keys are sorted by hash, with up to 128 MiB of memory: if there are more than some 4 million, the rows are read
    /// several times.
    ///
    /// If the new filter cannot be saved, that is an error; it is in use all the same, and [`close`](Self::close) tries
    /// again to save it. Any other error leaves everything as it was.
    pub fn rebuild(&self) -> Result<u64, StoreError> {
        self.mend_partitions()?;
        self.shared.rebuild()
    }

    /// Writes rows of partitions that are missing, and removes those of partitions without keys.
    fn mend_partitions(&self) -> Result<(), StoreError> {
        let shared = &self.shared;
        let _writer = shared.writer()?;
        let rows = &shared.durable.rows;
        self.compare_partitions(&Sorted::new(rows), |_, missing, empty| {
            let mut batch = Batch::new();
            missing.iter().for_each(|&partition| rows.put_partition(&mut batch, partition));
            empty.iter().for_each(|&partition| rows.delete_partition(&mut batch, partition));
            if !batch.is_empty() {
                shared.durable.engine.write(batch, Durability::Relaxed)?;
            }
            Ok(())
        })
    }

    /// Calls `each` with all codes in the order of hashes, some at a time, with those partitions that have keys and no row, and
    /// with those that have a row and no keys.
    fn compare_partitions(
        &self,
        sorted: &Sorted<'_, K>,
        mut each: impl FnMut(&[Partition], &[Partition], &[Partition]) -> Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        let rows = &self.shared.durable.rows;
        sorted.parts(&(0..=u64::MAX), |codes, hashes| {
            let first_code = |&(hash, code): &Partition| (hash, *rows.partitions.codes_beside(code).start());
            let mut with_keys: Vec<_> = codes.iter().map(first_code).collect();
            with_keys.dedup();
            let mut with_row = Vec::new();
            rows.partitions_in(&hashes, |page| {
                with_row.extend_from_slice(page);
                Ok(ControlFlow::Continue(()))
            })?;
            each(codes, &without(&with_keys, &with_row), &without(&with_row, &with_keys))?;
            Ok(ControlFlow::Continue(()))
        })
    }
}

/// Those that are not among others; both are in order.
fn without(some: &[Partition], others: &[Partition]) -> Vec<Partition> {
    some.iter().filter(|partition| others.binary_search(partition).is_err()).copied().collect()
}
