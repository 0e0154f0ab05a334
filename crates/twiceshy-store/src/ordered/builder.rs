//! What can be chosen about an ordered store.

use std::fmt;
use std::marker::PhantomData;
use std::path::Path;

use twiceshy::AdaptiveRangeFilter;

use super::{OrderedKey, OrderedStore};
use crate::engine::Engine;
use crate::error::StoreError;
use crate::files::Files;
use crate::settings::{self, Build, Settings, common_setters};

/// Chooses how an ordered store is made and opened.
///
/// ```
/// use twiceshy_store::{Durability, OrderedStore};
///
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("visits");
/// let visits = OrderedStore::<u64>::builder()
///     .max_range(3_600)
///     .error_rate(0.01)
///     .durability(Durability::Power)
///     .open(&path)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct OrderedBuilder<K: ?Sized> {
    settings: Settings,
    max_range: Option<u64>,
    max_partitions: Option<u32>,
    keys: PhantomData<fn(&K)>,
}

impl<K: ?Sized> Clone for OrderedBuilder<K> {
    fn clone(&self) -> Self {
        Self { settings: self.settings.clone(), keys: PhantomData, ..*self }
    }
}

impl<K: ?Sized> fmt::Debug for OrderedBuilder<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OrderedBuilder")
            .field("settings", &self.settings)
            .field("max_range", &self.max_range)
            .field("max_partitions", &self.max_partitions)
            .finish()
    }
}

impl<K: OrderedKey + ?Sized> Build<AdaptiveRangeFilter<K>> for OrderedBuilder<K> {
    fn settings(&self) -> &Settings {
        &self.settings
    }

    fn new_filter(&self, settings: &Settings) -> Result<AdaptiveRangeFilter<K>, StoreError> {
        let builder =
            AdaptiveRangeFilter::builder().hasher(settings.hasher()?).error_rate(settings.error_rate);
        let mut builder = builder.capacity(settings.capacity).growth(settings.growth());
        if let Some(keys) = self.max_range {
            builder = builder.max_range(keys);
        }
        if let Some(partitions) = self.max_partitions {
            builder = builder.max_partitions(partitions);
        }
        Ok(builder.build()?)
    }

    /// The rows of the partitions of a store are those of its own size.
    fn expect(&self, filter: &AdaptiveRangeFilter<K>) -> Result<(), StoreError> {
        let is_other =
            |wanted: &u64| wanted.checked_next_power_of_two() != Some(filter.max_range()) || *wanted == 0;
        match self.max_range.filter(is_other) {
            None => Ok(()),
            Some(wanted) => Err(StoreError::OtherKeys {
                what: "max_range",
                expected: wanted.to_string(),
                found: filter.max_range().to_string(),
            }),
        }
    }
}

impl<K: OrderedKey + ?Sized> OrderedBuilder<K> {
    pub(super) fn new() -> Self {
        Self { settings: Settings::default(), max_range: None, max_partitions: None, keys: PhantomData }
    }

    common_setters! {}

    /// The longest range, as a number of keys, for which the error rate holds: from 1 to 65,536, rounded up to a power of two.
    /// Every doubling costs a bit of memory per key. 64 for a new store, by default; an old store keeps its own, and to open it
    /// with another one is [an error](StoreError::OtherKeys).
    pub fn max_range(mut self, keys: u64) -> Self {
        self.max_range = Some(keys);
        self
    }

    /// The filter answers longer ranges, too, as long as they meet no more than so many partitions of
    /// [`max_range`](Self::max_range) keys; those that do are read from the engine. From 2 to 65,535, 64 by default; an old store
    /// keeps its own. A range that meets `n` partitions is a mistake with up to `n / 2` times the error rate.
    pub fn max_partitions(mut self, partitions: u32) -> Self {
        self.max_partitions = Some(partitions);
        self
    }

    /// Opens the store in a folder, or makes one there.
    pub fn open(self, folder: impl AsRef<Path>) -> Result<OrderedStore<K>, StoreError> {
        settings::open(&self, folder.as_ref()).map(OrderedStore::new)
    }

    /// A store that is gone when it is dropped: for tests, and for what may be lost.
    pub fn in_memory(self) -> Result<OrderedStore<K>, StoreError> {
        settings::open_in_memory(&self).map(OrderedStore::new)
    }

    /// Opens a store on an engine of your own, with its few other files in a folder of your own.
    pub fn open_with(self, engine: impl Engine, files: impl Files) -> Result<OrderedStore<K>, StoreError> {
        settings::open_on(&self, engine, files).map(OrderedStore::new)
    }
}
