//! Work on the whole store: checking it, making its filter anew.

use std::ops::ControlFlow;

use twiceshy::key::show;
use twiceshy::list::Answer;

use super::read::list_of_row;
use super::{NO_KEYS, YesNoStore};
use crate::engine::{Batch, Durability, Keys, Space};
use crate::error::StoreError;
use crate::shared::{Met, Verified, Writer};
use crate::sync::Ordering;

impl YesNoStore {
    /// Checks the filter, every row, and that the filter answers every key on either list rightly. Reads everything; writers
    /// wait.
    pub fn verify(&self) -> Result<Verified, StoreError> {
        let shared = &self.shared;
        let mut writer = shared.writer()?;
        self.resolve(&mut writer)?;
        let filter = shared.durable.filter()?;
        filter.validate().map_err(|what| StoreError::Disagree { what })?;
        let rows = &shared.durable.rows;
        let mut wrong = None;
        rows.rows_from(Keys::ALL, &mut |row_key, key, value| {
            let is_right = rows.is_in_place(row_key, key).then(|| list_of_row(value));
            wrong = match is_right {
                None => Some(format!("the row of key {} lies where that of another key belongs", show(key))),
                Some(Err(error)) => Some(format!("key {}: {error}", show(key))),
                Some(Ok(_)) => None,
            };
            if wrong.is_none() { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        })?;
        let (mut yes, mut no, mut met) = (0, 0, Met::default());
        rows.rows_in(0..=u64::MAX, &mut |row| {
            let ticket = filter.ticket(row.key);
            match (Answer::of_row_value(row.value), ticket) {
                (Some(Answer::Yes), Some(ticket)) => {
                    yes += 1;
                    met.add(ticket.fingerprint());
                }
                (Some(Answer::No), None) => no += 1,
                _ => wrong = wrong.take().or(Some(format!("key {} is answered wrongly", show(row.key)))),
            }
            if wrong.is_none() { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        })?;
        if let Some(what) = wrong {
            return Err(StoreError::Disagree { what });
        }
        let fingerprints = filter.fingerprints();
        drop(filter);
        // They were counted now.
        writer.journal.is_saved &= writer.journal.keys() == yes;
        shared.durable.set_keys(&mut writer.journal, yes);
        self.set_no_keys(&mut writer, no)?;
        Ok(Verified { keys: yes + no, ..met.verified(yes, fingerprints) })
    }

    /// Builds the filter anew from all rows: every key gets a fingerprint of fresh length that is clear of the NO keys, leftovers go,
    /// and what was learned stays. Readers go on meanwhile, writers wait. Tells how many keys are on the YES list.
    ///
    /// If the new filter cannot be saved, that is an error; it is in use all the same, and [`close`](Self::close) tries
    /// again to save it. Any other error leaves everything as it was.
    pub fn rebuild(&self) -> Result<u64, StoreError> {
        self.shared.rebuild()
    }

    /// Notes how many keys are on the NO list.
    fn set_no_keys(&self, _: &mut Writer, keys: u64) -> Result<(), StoreError> {
        if self.no.load(Ordering::Relaxed) != keys {
            let mut batch = Batch::new();
            batch.put(Space::Meta, NO_KEYS.to_vec(), keys.to_le_bytes().to_vec());
            self.shared.durable.engine.write(batch, Durability::Relaxed)?;
            self.no.store(keys, Ordering::Relaxed);
        }
        Ok(())
    }
}
