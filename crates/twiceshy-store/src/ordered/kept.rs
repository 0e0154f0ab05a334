//! An adaptive range filter as one that is kept, and that a store serves its keys with.

use std::ops::ControlFlow;
use std::sync::Arc;

use twiceshy::AdaptiveRangeFilter;
use twiceshy::adaptive::Record;
use twiceshy::adaptive_range::SuffixSet;
use twiceshy::reverse_map::Row;

use super::key::OrderedKey;
use super::rows::OrderedRows;
use super::sorted::Sorted;
use crate::durable::{apart, kept, rebuild_error};
use crate::engine::{Engine, Keys, Space};
use crate::error::StoreError;
use crate::key_type::KeyType;
use crate::settings::StoreKind;
use crate::shared::served;

kept! {
    impl [<K: OrderedKey + ?Sized>] for AdaptiveRangeFilter<K>;

    type Rows = OrderedRows<K>;
    const KIND: StoreKind = StoreKind::Ordered;
    const KEYS: Option<KeyType> = Some(KeyType::of::<K>());

    fn rows(&self, engine: Arc<dyn Engine>) -> OrderedRows<K> {
        OrderedRows::new(engine, self.partitions().clone())
    }

    fn is_like(&self, other: &Self) -> bool {
        self.partitions() == other.partitions()
    }

    /// Without the rows of the partitions a filter would find no key under any fingerprint, and forget all.
    fn check_rows(rows: &OrderedRows<K>) -> Result<(), StoreError> {
        let has_rows = |space| {
            let mut found = false;
            rows.engine.scan(space, Keys::ALL, &mut |_, _| {
                found = true;
                ControlFlow::Break(())
            })?;
            Ok::<_, StoreError>(found)
        };
        if has_rows(Space::Rows)? && !has_rows(Space::Partitions)? {
            return Err(StoreError::damaged("the rows of its partitions are gone"));
        }
        Ok(())
    }

    fn rebuilt(&self, rows: &OrderedRows<K>, lessons: &[Record]) -> Result<(Self, u64), StoreError> {
        let (sorted, slots) = (Sorted::new(rows), (self.used_slots(), self.slots()));
        let mut filter = self.rebuild(&sorted, &apart(lessons)).map_err(|error| rebuild_error(error, slots))?;
        // Rows that share a code count, too.
        filter.set_len(sorted.keys());
        Ok((filter, sorted.keys()))
    }
}

served! {
    impl [<K: OrderedKey + ?Sized>] for AdaptiveRangeFilter<K>, carrying SuffixSet;

    fn insert<'k>(rows: &OrderedRows<K>, hash: u64, key: &'k [u8]) -> Self::Insert<'k> {
        rows.partitions.insert(Row { hash, key, value: &[] })
    }

    fn separate_record(&self, _: u64, query: &[u8]) -> Option<Record> {
        self.separate_record(&self.partitions().coded_bytes(query))
    }

    fn may_have(&self, _: u64, key: &[u8]) -> bool {
        self.is_positive(&self.partitions().coded_bytes(key))
    }
}
