//! What is asked of a filter that a store serves its keys with, beside that it is [kept](Kept): the operations of its protocol.

use twiceshy::adaptive::protocol::Operation;
use twiceshy::adaptive::{Adapted, Record, Stats};
use twiceshy::reverse_map::Lookup;

use crate::durable::Kept;
use crate::error::StoreError;

/// A filter in front of the rows of a store.
pub(crate) trait Served: Kept + Send + Sync + 'static {
    /// Has it cover a key of which there is no row yet.
    type Insert<'k>: Operation<'k, Self, Output = bool>;
    /// Has it learn from a mistake.
    type Adapt<'k>: Operation<'k, Self, Output = Adapted>;
    /// Removes a key.
    type Remove<'k>: Operation<'k, Self, Output = bool>;

    fn insert<'k>(rows: &Self::Rows, hash: u64, key: &'k [u8]) -> Self::Insert<'k>;
    fn adapt(hash: u64, query: &[u8]) -> Self::Adapt<'_>;
    fn remove(hash: u64, key: &[u8]) -> Self::Remove<'_>;
    fn remove_after_its_row(hash: u64, key: &[u8]) -> Self::Remove<'_>;

    /// The record of a mistake that was fixed; `None` if the filter says *maybe* to the query.
    fn separate_record(&self, hash: u64, query: &[u8]) -> Option<Record>;

    /// Whether it says *maybe* to a key.
    fn may_have(&self, hash: u64, key: &[u8]) -> bool;

    fn prefetch(&self, hash: u64);
    fn size_in_bytes(&self) -> usize;
    fn stats(&self) -> Stats;

    /// Whether so many keys more find room.
    fn has_room_for(&self, keys: u64) -> bool;

    /// This filter in a larger table, with room for so many keys more.
    fn grown_for(&self, keys: u64, rows: &impl Lookup<Error = StoreError>) -> Result<Self, StoreError>;

    fn shrink_to_fit(&mut self) -> Result<(), StoreError>;
}

/// [`Served`] for a filter, with what differs: what fingerprints carry, and how an insert begins.
macro_rules! served {
    (
        impl [$($generic:tt)*] for $filter:ty, carrying $value:ty;
        $($differs:tt)*
    ) => {
        impl $($generic)* $crate::shared::Served for $filter {
            type Insert<'k> = twiceshy::adaptive::protocol::Insert<'k, $value>;
            type Adapt<'k> = twiceshy::adaptive::protocol::Adapt<'k, $value>;
            type Remove<'k> = twiceshy::adaptive::protocol::Remove<'k, $value>;

            $($differs)*

            fn adapt(hash: u64, query: &[u8]) -> Self::Adapt<'_> {
                Self::Adapt::new(hash, query)
            }

            fn remove(hash: u64, key: &[u8]) -> Self::Remove<'_> {
                Self::Remove::new(hash, key).among_alike()
            }

            fn remove_after_its_row(hash: u64, key: &[u8]) -> Self::Remove<'_> {
                Self::Remove::after_its_row(hash, key)
            }

            fn prefetch(&self, hash: u64) {
                self.prefetch(hash);
            }

            fn size_in_bytes(&self) -> usize {
                self.size_in_bytes()
            }

            fn stats(&self) -> twiceshy::adaptive::Stats {
                self.stats()
            }

            fn has_room_for(&self, keys: u64) -> bool {
                self.used_slots().saturating_add(keys) <= self.capacity()
            }

            fn grown_for(
                &self,
                keys: u64,
                rows: &impl twiceshy::reverse_map::Lookup<Error = $crate::StoreError>,
            ) -> Result<Self, $crate::StoreError> {
                Ok(self.grown_for(keys, rows)?)
            }

            fn shrink_to_fit(&mut self) -> Result<(), $crate::StoreError> {
                Ok(self.shrink_to_fit()?)
            }
        }
    };
}
pub(crate) use served;

served! {
    impl [] for twiceshy::AdaptiveFilter, carrying u64;

    fn insert<'k>(_: &Self::Rows, hash: u64, key: &'k [u8]) -> Self::Insert<'k> {
        Self::Insert::filter_first(hash, key, 0)
    }

    fn separate_record(&self, _: u64, query: &[u8]) -> Option<Record> {
        self.separate_record(query)
    }

    fn may_have(&self, _: u64, key: &[u8]) -> bool {
        self.contains(key)
    }
}
