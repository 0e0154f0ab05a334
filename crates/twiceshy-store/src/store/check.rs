//! Work on the whole store: checking it, making its filter anew.

use std::ops::ControlFlow;

use twiceshy::adaptive::Query;
use twiceshy::key::show;

use super::AdaptiveStore;
use crate::engine::Keys;
use crate::error::StoreError;
use crate::shared::{Met, Verified};

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
        let (mut keys, mut met) = (0, Met::default());
        shared.durable.rows.rows_in(0..=u64::MAX, &mut |row| {
            keys += 1;
            let Query::Maybe(ticket) = filter.query(row.key) else {
                wrong = Some(format!("the filter does not know key {}", show(row.key)));
                return ControlFlow::Break(());
            };
            met.add(ticket.fingerprint());
            ControlFlow::Continue(())
        })?;
        if let Some(what) = wrong {
            return Err(StoreError::Disagree { what });
        }
        // They were counted now.
        writer.journal.is_saved &= writer.journal.keys() == keys;
        shared.durable.set_keys(&mut writer.journal, keys);
        Ok(met.verified(keys, filter.fingerprints()))
    }

    /// Builds the filter anew from all rows: every key gets a fingerprint of fresh length, leftovers go, and what was
    /// learned stays. Readers go on meanwhile, writers wait. Tells how many keys there are.
    ///
    /// If the new filter cannot be saved, that is an error; it is in use all the same, and [`close`](Self::close) tries
    /// again to save it. Any other error leaves everything as it was.
    pub fn rebuild(&self) -> Result<u64, StoreError> {
        self.shared.rebuild()
    }
}
