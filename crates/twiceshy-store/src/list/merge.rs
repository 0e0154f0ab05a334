//! Taking in another list.

use twiceshy::error::OnBothLists;
use twiceshy::list::Answer;

use super::YesNoStore;
use super::write::Other;
use crate::error::StoreError;
use crate::store::{Merged, PAGE_ROWS};

impl YesNoStore {
    /// Takes in all keys of another store, on whatever engine and with whatever hash. A key that is on the YES list of one and on
    /// the NO list of the other is [an error](StoreError::OnBothLists), which is found before anything changes. After any other
    /// error, some keys are in: do it again.
    ///
    /// Other writers wait until it is done; queries do not.
    pub fn merge_from(&self, other: &Self) -> Result<Merged, StoreError> {
        // Rows come in the order of the filter's slots if both hash alike: it grows before.
        self.shared.make_room(other.approximate_len().saturating_sub(self.approximate_len()));
        let mut writer = self.shared.writer()?;
        for row in other.iter() {
            let (key, list) = row?;
            if self.list_of(&key)?.is_some_and(|mine| mine != list) {
                return Err(OnBothLists { key }.into());
            }
        }
        let mut merged = Merged::default();
        let mut rows = other.iter();
        loop {
            let page: Vec<(Vec<u8>, Answer)> = rows.by_ref().take(PAGE_ROWS).collect::<Result<_, _>>()?;
            if page.is_empty() {
                self.shared.end_writing(&writer);
                return Ok(merged);
            }
            let keys = page.iter().map(|(key, list)| (key.as_slice(), Some(*list)));
            let added = self.change_all_as_writer(&mut writer, keys, Other::Refused)?;
            merged.added += added;
            merged.kept += page.len() as u64 - added;
        }
    }
}
