//! Rows in memory.

use std::collections::BTreeMap;
use std::sync::{PoisonError, RwLock};

use super::{Batch, Change, Durability, Engine, EngineError, Keys, Space, Visit};

/// The rows of a space.
type Rows = BTreeMap<Vec<u8>, Vec<u8>>;

/// Rows in memory: for tests, and for data that may be lost with the process.
///
/// Reads go on side by side; a batch waits until they are done.
#[derive(Debug)]
pub struct MemoryEngine {
    spaces: RwLock<[Rows; Space::ALL.len()]>,
    max_key_len: usize,
}

impl Default for MemoryEngine {
    fn default() -> Self {
        Self::new()
    }
}

impl MemoryEngine {
    /// No rows.
    pub fn new() -> Self {
        Self { spaces: RwLock::default(), max_key_len: 1 << 16 }
    }

    /// No rows, and no keys longer than this: a test of what a store does with longer ones. With the feature `testing`.
    #[cfg(feature = "testing")]
    pub fn with_max_key_len(max_key_len: usize) -> Self {
        Self { max_key_len, ..Self::new() }
    }
}

impl Engine for MemoryEngine {
    fn name(&self) -> &'static str {
        "memory"
    }

    fn max_key_len(&self) -> usize {
        self.max_key_len
    }

    fn max_value_len(&self) -> usize {
        usize::MAX
    }

    fn get(&self, space: Space, key: &[u8]) -> Result<Option<Vec<u8>>, EngineError> {
        // A panic while the lock was held left whole rows behind.
        let spaces = self.spaces.read().unwrap_or_else(PoisonError::into_inner);
        Ok(spaces[space as usize].get(key).cloned())
    }

    fn scan(&self, space: Space, keys: Keys<'_>, visit: &mut Visit<'_>) -> Result<(), EngineError> {
        let spaces = self.spaces.read().unwrap_or_else(PoisonError::into_inner);
        for (key, value) in spaces[space as usize].range::<[u8], _>(keys.bounds()) {
            if visit(key, value).is_break() {
                break;
            }
        }
        Ok(())
    }

    fn write(&self, batch: Batch, _: Durability) -> Result<(), EngineError> {
        let mut spaces = self.spaces.write().unwrap_or_else(PoisonError::into_inner);
        for change in batch.into_changes() {
            match change {
                Change::Put { space, key, value } => {
                    spaces[space as usize].insert(key, value);
                }
                Change::Delete { space, key } => {
                    spaces[space as usize].remove(&key);
                }
            }
        }
        Ok(())
    }

    fn sync(&self) -> Result<(), EngineError> {
        Ok(())
    }
}
