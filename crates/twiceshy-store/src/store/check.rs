//! Work on the whole store: checking it, making its filter anew, giving back space.

use std::collections::HashSet;
use std::ops::ControlFlow;

use twiceshy::adaptive::Query;

use super::AdaptiveStore;
use crate::durable::Kept;
use crate::engine::Keys;
use crate::error::StoreError;

/// What [`AdaptiveStore::verify`] has seen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Verified {
    /// Keys, all of which the filter covers.
    pub keys: u64,
    /// Fingerprints in the filter.
    pub fingerprints: u64,
    /// How many of them no key is under: leftovers of writes that failed, which the first mistake clears away.
    pub leftovers: u64,
}

impl AdaptiveStore {
    /// Checks the filter, every row, and that the filter covers every key. Reads everything; writers wait.
    pub fn verify(&self) -> Result<Verified, StoreError> {
        let shared = &self.shared;
        let mut writer = shared.writer()?;
        let filter = shared.durable.filter()?;
        filter.validate().map_err(|what| StoreError::Disagree { what })?;
        let mut wrong = None;
        shared.durable.rows.rows_from(Keys::ALL, &mut |row_key, key, _| {
            if shared.durable.rows.is_in_place(row_key, key) {
                return ControlFlow::Continue(());
            }
            wrong = Some(format!("the row of key {} lies where that of another key belongs", show(key)));
            ControlFlow::Break(())
        })?;
        let (mut keys, mut met) = (0, 0);
        // Fingerprints of up to 64 bits come in the order of the hashes; longer ones may not.
        let (mut last, mut long) = (None, HashSet::new());
        shared.durable.rows.rows_in(0..=u64::MAX, &mut |row| {
            keys += 1;
            let Query::Maybe(ticket) = filter.query(row.key) else {
                wrong = Some(format!("the filter does not know key {}", show(row.key)));
                return ControlFlow::Break(());
            };
            let prefix = ticket.prefix();
            if prefix.len() > 64 {
                met += u64::from(long.insert(prefix.words().collect::<Vec<_>>()));
            } else if last.as_ref() != Some(prefix) {
                last = Some(prefix.clone());
                met += 1;
            }
            ControlFlow::Continue(())
        })?;
        if let Some(what) = wrong {
            return Err(StoreError::Disagree { what });
        }
        // They were counted now.
        writer.journal.is_saved &= writer.journal.keys() == keys;
        shared.durable.set_keys(&mut writer.journal, keys);
        let fingerprints = filter.fingerprints();
        Ok(Verified { keys, fingerprints, leftovers: fingerprints - met })
    }

    /// Builds the filter anew from all rows: every key gets a fingerprint of fresh length, leftovers go, and what was
    /// learned stays. Readers go on meanwhile, writers wait. Tells how many keys there are.
    ///
    /// If the new filter cannot be saved, that is an error; it is in use all the same, and [`close`](Self::close) tries
    /// again to save it. Any other error leaves everything as it was.
    pub fn rebuild(&self) -> Result<u64, StoreError> {
        let shared = &self.shared;
        let keys = {
            let mut writer = shared.writer()?;
            let filter = shared.durable.filter()?.rebuilt(&shared.durable.rows, &writer.journal.learned)?;
            let keys = filter.len();
            shared.durable.exchange(filter)?;
            writer.journal.is_saved = false;
            shared.durable.set_keys(&mut writer.journal, keys);
            keys
        };
        shared.save()?;
        Ok(keys)
    }

    /// Gives back memory and disk space as far as filter and engine can, and makes reads faster; may take long.
    /// Others read and write meanwhile, but not with redb, which must be alone for that: then readers wait, too.
    ///
    /// First the filter gets smaller, then it is saved, then the engine does its part. An error ends it there; nothing is
    /// lost, and it can be done again.
    pub fn compact(&self) -> Result<(), StoreError> {
        let shared = &self.shared;
        {
            let mut writer = shared.writer()?;
            let mut smaller = shared.durable.filter()?.try_clone()?;
            smaller.shrink_to_fit()?;
            shared.durable.exchange(smaller)?;
            writer.journal.is_saved = false;
        }
        shared.save()?;
        Ok(shared.durable.engine.compact()?)
    }
}

/// A key in a message.
fn show(key: &[u8]) -> String {
    match std::str::from_utf8(key) {
        Ok(text) if text.len() <= 100 => format!("{text:?}"),
        _ => format!("of {} bytes that begins with {:02x?}", key.len(), &key[..key.len().min(16)]),
    }
}
