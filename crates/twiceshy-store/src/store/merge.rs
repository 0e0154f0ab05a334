//! Taking in another store.
//!
//! Rows come in the order of their hashes, which is also the order of the filter's slots if both stores hash alike. A
//! filter that grew on the way would be filled from its front: all entries so far lie in a part of the table that is too
//! small for them and push each other along, and short fingerprints cover many keys each, which have to be looked up when
//! they get longer. So the filter grows first: for as many keys as the larger store has, because there will be no fewer,
//! and then for as many as the rows so far let expect.
//!
//! The union of two filters could be made in one pass, without single inserts. That is of no use here. All keys of the
//! other store would be covered then, so each of them would have to be looked up to know whether it is new; and those
//! that are not written in the end, because of an error, would be mistakes to come.

use super::AdaptiveStore;
use crate::error::StoreError;
use crate::rows::Pending;
use crate::shared::{Known, Served, Shared};
use crate::sync::Arc;

/// How many rows, and about how many bytes, are taken in at a time.
pub(crate) const PAGE_ROWS: usize = 4_096;
const PAGE_BYTES: usize = 1 << 20;

/// What [`AdaptiveStore::merge_from`] has done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Merged {
    /// Keys that were taken in.
    pub added: u64,
    /// Keys that both stores had, which keep their value here.
    pub kept: u64,
}

impl AdaptiveStore {
    /// Takes in all keys and values of another store, on whatever engine and with whatever hash. Keys that are in both
    /// keep the value that they have here. After an error, some are in: do it again.
    pub fn merge_from(&self, other: &Self) -> Result<Merged, StoreError> {
        let mut merged = Merged::default();
        let all = other.approximate_len();
        self.shared.make_room(all.saturating_sub(self.approximate_len()));
        let mut rows = other.iter().peekable();
        while rows.peek().is_some() {
            let (mut page, mut bytes) = (Vec::new(), 0);
            while page.len() < PAGE_ROWS
                && bytes < PAGE_BYTES
                && let Some(row) = rows.next()
            {
                let (key, value) = row?;
                bytes += key.len() + value.len();
                page.push((key, value));
            }
            let page: Vec<_> = page.iter().map(|(key, value)| self.row(key, value)).collect();
            let added = self.shared.insert_rows(&page, Known::Keep)?;
            merged.added += added;
            merged.kept += page.len() as u64 - added;
            self.shared.make_room(merged.new_to_come(all, added, page.len()));
        }
        Ok(merged)
    }
}

impl Merged {
    /// How many of `all` keys will be new that were not taken in yet, if as many are as of those of the last page: after a
    /// crash the first ones are there already, and the others are new.
    fn new_to_come(self, all: u64, added: u64, page: usize) -> u64 {
        let left = u128::from(all.saturating_sub(self.added + self.kept));
        (left * u128::from(added) / (page as u128).max(1)) as u64
    }
}

impl<F: Served> Shared<F> {
    /// Grows the filter if there is no room for so many keys. If it may not grow so far, or cannot, the keys that find no
    /// room will say so.
    pub(crate) fn make_room(self: &Arc<Self>, keys: u64) {
        let Ok(mut writer) = self.writer() else { return };
        let has_room = self.durable.filter().is_ok_and(|filter| filter.has_room_for(keys));
        let has_grown = !has_room && self.grow(&mut writer, keys, &Pending::default()).is_ok();
        drop(writer);
        if has_grown {
            // After a crash, too, the rows are to meet a filter that has room for them. If it cannot be saved now, that
            // only takes longer.
            let _ = self.save();
        }
    }
}
