//! What can be chosen about a list.

use std::path::Path;

use twiceshy::YesNoList;
use twiceshy::list::ListFilter;

use super::YesNoStore;
use crate::engine::Engine;
use crate::error::StoreError;
use crate::files::Files;
use crate::settings::{self, Build, Settings, common_setters};

/// Chooses how a list is made and opened.
///
/// ```
/// use twiceshy_store::{Durability, YesNoStore};
///
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("blocked");
/// let blocked = YesNoStore::builder().error_rate(0.0001).durability(Durability::Power).open(&path)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone)]
pub struct YesNoStoreBuilder {
    settings: Settings,
}

impl Build<ListFilter> for YesNoStoreBuilder {
    fn settings(&self) -> &Settings {
        &self.settings
    }

    fn new_filter(&self, settings: &Settings) -> Result<ListFilter, StoreError> {
        let builder = YesNoList::builder().hasher(settings.hasher()?).error_rate(settings.error_rate);
        Ok(builder.capacity(settings.capacity).growth(settings.growth()).build()?)
    }
}

impl YesNoStoreBuilder {
    pub(super) fn new() -> Self {
        Self { settings: Settings::default() }
    }

    common_setters! {}

    /// Opens the store in a folder, or makes one there.
    pub fn open(self, folder: impl AsRef<Path>) -> Result<YesNoStore, StoreError> {
        settings::open(&self, folder.as_ref()).and_then(YesNoStore::new)
    }

    /// A store that is gone when it is dropped: for tests, and for what may be lost.
    pub fn in_memory(self) -> Result<YesNoStore, StoreError> {
        settings::open_in_memory(&self).and_then(YesNoStore::new)
    }

    /// Opens a store on an engine of your own, with its few other files in a folder of your own.
    pub fn open_with(self, engine: impl Engine, files: impl Files) -> Result<YesNoStore, StoreError> {
        settings::open_on(&self, engine, files).and_then(YesNoStore::new)
    }
}
