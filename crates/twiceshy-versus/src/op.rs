//! The operations, and their names in `--op` and in the rows.

use clap::ValueEnum;
use serde::{Deserialize, Serialize};

/// What is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[value(rename_all = "snake_case")]
pub(crate) enum Op {
    /// Single inserts, from empty to the load.
    Insert,
    /// The last tenth of those inserts.
    InsertLastTenth,
    /// Queries for items that were not inserted.
    ContainsAbsent,
    /// Queries for items that were.
    ContainsPresent,
    /// Many absent items with one call; the yardstick has no such call and answers one by one.
    ContainsBatchAbsent,
    /// Many present items with one call.
    ContainsBatchPresent,
    /// Removals from a table at the load.
    Remove,
    /// A whole table from sorted raw hashes.
    BulkLoad,
    /// A whole table from unsorted items.
    BuildUnsorted,
    /// A table at half the load into another one.
    Merge,
    /// Absent queries of two threads at once, over the slower one's CPU time.
    ContainsAbsentTwoThreads,
    /// The 99.9th percentile of single inserts in the last tenth of a fill, in wall time.
    P999InsertNs,
    /// How much memory the process takes at most while a filter grows from 2^10 slots.
    GrowPeakBytes,
    /// Inserts while a filter grows from 2^10 slots to 13 million items, growth included.
    GrowInsert,
    /// Queries for items that were not inserted, after that growth.
    GrowContainsAbsent,
    /// Queries for ranges without a key, of the longest length; the yardstick is asked for their first keys.
    RangeAbsent,
    /// The same right after a key, at every distance up to the longest length.
    RangeAbsentCorrelated,
    /// Many such ranges anywhere with one call.
    RangeBatchAbsent,
    /// Hashing of keys of 8 bytes, and nothing else.
    HashOnly,
    /// Hashing of keys of 16 bytes.
    #[serde(rename = "hash_only_16_bytes")]
    #[value(name = "hash_only_16_bytes")]
    HashOnly16Bytes,
}

impl Op {
    /// The name in rows.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Insert => "insert",
            Self::InsertLastTenth => "insert_last_tenth",
            Self::ContainsAbsent => "contains_absent",
            Self::ContainsPresent => "contains_present",
            Self::ContainsBatchAbsent => "contains_batch_absent",
            Self::ContainsBatchPresent => "contains_batch_present",
            Self::Remove => "remove",
            Self::BulkLoad => "bulk_load",
            Self::BuildUnsorted => "build_unsorted",
            Self::Merge => "merge",
            Self::ContainsAbsentTwoThreads => "contains_absent_two_threads",
            Self::P999InsertNs => "p999_insert_ns",
            Self::GrowPeakBytes => "grow_peak_bytes",
            Self::GrowInsert => "grow_insert",
            Self::GrowContainsAbsent => "grow_contains_absent",
            Self::RangeAbsent => "range_absent",
            Self::RangeAbsentCorrelated => "range_absent_correlated",
            Self::RangeBatchAbsent => "range_batch_absent",
            Self::HashOnly => "hash_only",
            Self::HashOnly16Bytes => "hash_only_16_bytes",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_names_are_the_same_everywhere() {
        for op in Op::value_variants() {
            let argument = op.to_possible_value().unwrap();
            let json = serde_json::to_string(op).unwrap();
            assert_eq!(argument.get_name(), op.name());
            assert_eq!(json, format!("\"{}\"", op.name()));
        }
    }
}
