//! What can be chosen about a store.

use std::path::Path;

use twiceshy::AdaptiveFilter;

use super::AdaptiveStore;
use crate::engine::Engine;
use crate::error::StoreError;
use crate::files::Files;
use crate::settings::{self, Build, Settings, common_setters};

/// Chooses how a store is made and opened.
///
/// ```
/// use twiceshy_store::{AdaptiveStore, Durability};
///
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("accounts");
/// let store = AdaptiveStore::builder()
///     .error_rate(0.0001)
///     .durability(Durability::Power)
///     .cache_bytes(64 << 20)
///     .open(&path)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone)]
pub struct StoreBuilder {
    settings: Settings,
}

impl Build<AdaptiveFilter> for StoreBuilder {
    fn settings(&self) -> &Settings {
        &self.settings
    }

    fn new_filter(&self, settings: &Settings) -> Result<AdaptiveFilter, StoreError> {
        let builder = AdaptiveFilter::builder().hasher(settings.hasher()?).error_rate(settings.error_rate);
        Ok(builder.capacity(settings.capacity).growth(settings.growth()).build()?)
    }
}

impl StoreBuilder {
    pub(super) fn new() -> Self {
        Self { settings: Settings::default() }
    }

    common_setters! {}

    /// Opens the store in a folder, or makes one there.
    pub fn open(self, folder: impl AsRef<Path>) -> Result<AdaptiveStore, StoreError> {
        settings::open(&self, folder.as_ref()).map(AdaptiveStore::new)
    }

    /// A store that is gone when it is dropped: for tests, and for what may be lost.
    pub fn in_memory(self) -> Result<AdaptiveStore, StoreError> {
        settings::open_in_memory(&self).map(AdaptiveStore::new)
    }

    /// Opens a store on an engine of your own, with its few other files in a folder of your own.
    pub fn open_with(self, engine: impl Engine, files: impl Files) -> Result<AdaptiveStore, StoreError> {
        settings::open_on(&self, engine, files).map(AdaptiveStore::new)
    }
}
