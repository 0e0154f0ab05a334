//! Making it last: syncing, snapshots of the filter, and the end of the journal that they replace.

use super::{AdaptiveStore, Shared, Writer};
use crate::error::StoreError;
use crate::files::Files;
use crate::sync::{Arc, Ordering};
use crate::{journal, snapshot};

impl AdaptiveStore {
    /// Returns when everything that was acknowledged, and every mistake that was fixed, survives a power cut.
    ///
    /// If the journal has got long, the filter is saved, too. That it cannot be is no error here, because nothing is lost;
    /// it is tried again, and [`close`](Self::close) says so.
    pub fn flush(&self) -> Result<(), StoreError> {
        let is_worth_saving = {
            let mut writer = self.shared.writer()?;
            self.shared.write_learned(&mut writer)?;
            self.shared.is_worth_saving(&writer)
        };
        self.shared.engine.sync()?;
        if is_worth_saving {
            let _ = self.shared.save();
        }
        Ok(())
    }

    /// Flushes the store and saves its filter; says whether both worked. Dropping the store does the same, and cannot say
    /// so.
    ///
    /// The next opening reads the filter, and whatever the engine reads when it is opened: fjall goes through its own log,
    /// which has the last writes. Without a saved filter it has to be mended first ([`Recovery`](super::Recovery)).
    pub fn close(self) -> Result<(), StoreError> {
        self.shared.end_help();
        self.shared.save_if_changed()
    }
}

impl Shared {
    /// With more records in the journal the filter is saved.
    pub(super) fn most_records(&self) -> u64 {
        self.few_records.max(self.keys.load(Ordering::Relaxed) / 4)
    }

    /// Whether the journal has got long. If saving fails, it must have doubled before it is tried again, unless somebody
    /// asks for it: to copy a filter in vain after every write would be slow.
    pub(super) fn is_worth_saving(&self, writer: &Writer) -> bool {
        writer.records >= self.most_records().max(writer.retry_at)
    }

    /// Saves the filter, unless the last snapshot knows everything. Whether or not that works, all that was acknowledged
    /// is safe afterwards.
    pub(super) fn save_if_changed(self: &Arc<Self>) -> Result<(), StoreError> {
        let changed = {
            let writer = self.writer()?;
            writer.records > 0 || !writer.learned.is_empty() || !writer.is_saved
        };
        let saved = if changed { self.save() } else { Ok(()) };
        self.engine.sync()?;
        saved
    }

    /// Saves the filter and clears the journal up to there. Others read and write meanwhile.
    ///
    /// After an error the filter counts as not saved, also if only the journal could not be cleared: it is done again.
    pub(super) fn save(self: &Arc<Self>) -> Result<(), StoreError> {
        let saved = self.try_to_save();
        if saved.is_err() {
            let mut writer = self.writer()?;
            writer.retry_at = writer.records.saturating_mul(2);
        }
        saved
    }

    fn try_to_save(self: &Arc<Self>) -> Result<(), StoreError> {
        let _saving = self.saving.lock().map_err(|_| StoreError::Broken)?;
        let (filter, mark, records) = {
            let mut writer = self.writer()?;
            self.write_learned(&mut writer)?;
            (self.filter()?.try_clone()?, writer.mark, writer.records)
        };
        // A filter that has forgotten a removed key must not meet an engine that still has it after a power cut: what was
        // learned about that key would be lost, and it was safe.
        self.engine.sync()?;
        snapshot::write(&*self.files, &self.id, mark, &filter)
            .map_err(|source| file_error("write", &*self.files, snapshot::NAME, source))?;
        journal::clear(&*self.engine, mark)?;
        let mut writer = self.writer()?;
        writer.records -= records;
        writer.retry_at = 0;
        writer.is_saved = true;
        Ok(())
    }
}

pub(super) fn file_error(
    doing: &'static str,
    files: &dyn Files,
    name: &str,
    source: std::io::Error,
) -> StoreError {
    StoreError::File { doing, path: files.path().join(name), source }
}
