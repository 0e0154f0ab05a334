//! Making it last: syncing, snapshots of the filter, and the end of the journal that they replace.

use twiceshy::Prefix;
use twiceshy::reverse_map::Rows;

use super::{Durable, Journal, JournalLock, Kept, file_error, journal, snapshot};
use crate::error::StoreError;
use crate::rows::KeyRows;

impl<F: Kept> Durable<F> {
    /// Returns when everything that was acknowledged, and every mistake that was fixed, survives a power cut. Saves the
    /// filter if the journal has got long; that it cannot be is no error.
    pub(crate) fn flush(&self, lock: &impl JournalLock) -> Result<(), StoreError> {
        let is_worth_saving = lock.with_journal(|journal| {
            self.write_learned(journal)?;
            Ok(self.is_worth_saving(journal))
        })?;
        self.engine.sync()?;
        if is_worth_saving {
            let _ = self.save(lock);
        }
        Ok(())
    }

    /// Whether the journal has got long. If saving fails, it must have doubled before it is tried again, unless somebody
    /// asks for it: to copy a filter in vain after every write would be slow.
    pub(crate) fn is_worth_saving(&self, journal: &Journal) -> bool {
        journal.records >= self.few_records.max(self.keys() / 4).max(journal.retry_at)
    }

    /// Saves the filter, unless the last snapshot knows everything. Whether or not that works, all that was acknowledged
    /// is safe afterwards.
    pub(crate) fn save_if_changed(&self, lock: &impl JournalLock) -> Result<(), StoreError> {
        let changed = lock.with_journal(|journal| Ok(journal.unsaved() > 0 || !journal.is_saved))?;
        let saved = if changed { self.save(lock) } else { Ok(()) };
        self.engine.sync()?;
        saved
    }

    /// Saves the filter and clears the journal up to there. Others read and write meanwhile.
    ///
    /// After an error the filter counts as not saved, also if only the journal could not be cleared: it is done again.
    pub(crate) fn save(&self, lock: &impl JournalLock) -> Result<(), StoreError> {
        let saved = self.try_to_save(lock);
        if saved.is_err() {
            lock.with_journal(|journal| {
                journal.retry_at = journal.records.saturating_mul(2);
                Ok(())
            })?;
        }
        saved
    }

    fn try_to_save(&self, lock: &impl JournalLock) -> Result<(), StoreError> {
        let _saving = self.saving.lock().map_err(|_| StoreError::Broken)?;
        let (filter, mark, records) = lock.with_journal(|journal| {
            self.write_learned(journal)?;
            // What is saved agrees with the rows.
            self.resolve(journal)?;
            Ok((self.filter()?.try_clone()?, journal.mark, journal.records))
        })?;
        // A filter that has forgotten a removed key must not meet an engine that still has it after a power cut: what was
        // learned about that key would be lost, and it was safe.
        self.engine.sync()?;
        snapshot::write(&*self.files, &self.id, mark, &filter)
            .map_err(|source| file_error("write", &*self.files, snapshot::NAME, source))?;
        journal::clear(&*self.engine, mark)?;
        lock.with_journal(|journal| {
            journal.records -= records;
            journal.retry_at = 0;
            journal.is_saved = true;
            Ok(())
        })
    }

    /// Has the filter say of keys that are in doubt what their rows say.
    pub(crate) fn resolve(&self, journal: &mut Journal) -> Result<(), StoreError> {
        while let Some(key) = journal.in_doubt.last() {
            let hash = self.rows.hash(key);
            let found = Rows::under(&Prefix::from_bits(hash, u64::BITS), &self.rows)?;
            let mut filter = self.filter_mut()?;
            for row in found.iter().filter(|row| row.key == key) {
                filter.agree(row, &self.rows)?;
            }
            filter.set_len(journal.keys());
            drop(filter);
            journal.in_doubt.pop();
        }
        Ok(())
    }
}
