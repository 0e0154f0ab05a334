//! Work on the whole store: making its filter anew, giving back space, and what verifying counts.

use std::collections::HashSet;

use twiceshy::Prefix;

use super::{Served, Shared};
use crate::error::StoreError;
use crate::sync::Arc;

/// What [`verify`](crate::AdaptiveStore::verify) has seen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Verified {
    /// Keys, on both lists if it is a list. The filter knows all of them.
    pub keys: u64,
    /// Fingerprints in the filter.
    pub fingerprints: u64,
    /// How many of them no key is under: leftovers of writes that failed, which the first mistake clears away.
    pub leftovers: u64,
}

impl<F: Served> Shared<F> {
    /// Builds the filter anew from all rows, and tells how many there are.
    pub(crate) fn rebuild(self: &Arc<Self>) -> Result<u64, StoreError> {
        let keys = {
            let mut writer = self.writer()?;
            let (filter, keys) =
                self.durable.filter()?.rebuilt(&self.durable.rows, &writer.journal.learned)?;
            self.durable.exchange(filter)?;
            writer.journal.is_saved = false;
            self.durable.set_keys(&mut writer.journal, keys);
            keys
        };
        self.save()?;
        Ok(keys)
    }

    /// Gives back memory and disk space.
    pub(crate) fn compact(self: &Arc<Self>) -> Result<(), StoreError> {
        {
            let mut writer = self.writer()?;
            let mut smaller = self.durable.filter()?.try_clone()?;
            smaller.shrink_to_fit()?;
            self.durable.exchange(smaller)?;
            writer.journal.is_saved = false;
        }
        self.save()?;
        Ok(self.durable.engine.compact()?)
    }
}

/// Counts the fingerprints that keys meet, which come in the order of their hashes.
#[derive(Default)]
pub(crate) struct Met {
    count: u64,
    last: Option<Prefix>,
    /// Fingerprints of up to 64 bits come in order, too; longer ones may not.
    long: HashSet<Vec<u64>>,
}

impl Met {
    pub(crate) fn add(&mut self, prefix: &Prefix) {
        if prefix.len() > 64 {
            self.count += u64::from(self.long.insert(prefix.words().collect()));
        } else if self.last.as_ref() != Some(prefix) {
            self.last = Some(prefix.clone());
            self.count += 1;
        }
    }

    /// What was seen of a filter with so many fingerprints.
    pub(crate) fn verified(&self, keys: u64, fingerprints: u64) -> Verified {
        Verified { keys, fingerprints, leftovers: fingerprints - self.count }
    }
}
