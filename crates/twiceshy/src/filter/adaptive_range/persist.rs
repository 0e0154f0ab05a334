//! Adaptive range filters as bytes. What was learned is in the table.
//!
//! | byte of the five that the core leaves to the filter | size | |
//! |---|---|---|
//! | 0 | 4 | how codes are [cut](crate::filter::range::partition::Cut) |
//! | 4 | 1 | the [kind of key](RangeKey::TYPE), 0 if that is not said |

use super::{AdaptiveRangeFilter, AdaptiveRangeSet, Partitions};
use crate::codec::string::Table;
use crate::error::ReadError;
use crate::filter::adaptive::set_file::stored_set;
use crate::filter::core::{Core, left_to_filter};
use crate::filter::range::RangeKey;
use crate::filter::range::partition::{cut_bytes, expect_cut};
use crate::hash::Hashes;
use crate::persist::{Body, Header, Kind, Source, stored};
use crate::table::Extended;

stored! {
    AdaptiveRangeFilter<K: RangeKey = u64>, View, "an adaptive range filter",
    "let mut filter = AdaptiveRangeFilter::<u64>::builder().build()?;",
    "let _ = filter.insert(&7)?;",
    => "contains_range(5..10)"
}

stored_set! {
    AdaptiveRangeSet<K: RangeKey>,
    "AdaptiveRangeSet::builder().build_set(MemoryMap::new())?",
    "set.insert(&7)?;" => "AdaptiveRangeSet::<u64, _>", "contains_range_exactly(5..10)"
}

impl<K: RangeKey + ?Sized, B: AsRef<[u8]>> Kind for AdaptiveRangeFilter<K, B> {
    type Bytes = B;
    type Layout = Extended;
    const NUMBER: u8 = 4;
    const NAME: &'static str = "adaptive-range";

    fn header(&self) -> Header {
        self.core().header(self.reader.hasher(), cut_bytes(self.reader.cut(), K::TYPE))
    }

    fn tables(&self) -> impl Iterator<Item = &Table<B>> {
        [self.core().table()].into_iter()
    }

    fn read(header: Header, body: Body<impl Source<Bytes = B>>) -> Result<Self, ReadError> {
        let cut = expect_cut::<K>(left_to_filter(&header))?;
        let core = Core::read(Partitions::<K>::payload(cut), &header, body)?;
        Ok(Self::from_core(core, Partitions::new(header.hasher, cut)))
    }

    /// That every key has a fingerprint with its suffix only the map can tell: `AdaptiveRangeSet::validate` checks that too.
    fn check(&self) -> Result<(), String> {
        self.core().check()
    }
}
