//! An engine that calls somebody before it does anything.

use std::sync::Arc;

use twiceshy_store::engine::{
    Batch, Durability, Engine, EngineError, EngineErrorKind, Keys, MemoryEngine, Space, Visit,
};

/// What is about to be done.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Call {
    Get,
    Scan,
    Write,
    Sync,
    Compact,
}

/// Told about every call; if it says `false`, the call fails and nothing is done.
type Hook = dyn Fn(Call) -> bool + Send + Sync;

/// Rows in memory, behind a hook. Clones share both.
#[derive(Clone)]
pub(crate) struct Hooked {
    inner: Arc<MemoryEngine>,
    hook: Arc<Hook>,
}

impl Hooked {
    pub(crate) fn new(hook: impl Fn(Call) -> bool + Send + Sync + 'static) -> Self {
        Self { inner: Arc::new(MemoryEngine::new()), hook: Arc::new(hook) }
    }

    fn call(&self, call: Call) -> Result<(), EngineError> {
        match (self.hook)(call) {
            true => Ok(()),
            false => Err(EngineError::new("hooked", EngineErrorKind::Other, "a failure that was asked for")),
        }
    }
}

impl Engine for Hooked {
    fn name(&self) -> &'static str {
        "hooked"
    }

    fn max_key_len(&self) -> usize {
        self.inner.max_key_len()
    }

    fn max_value_len(&self) -> usize {
        self.inner.max_value_len()
    }

    fn get(&self, space: Space, key: &[u8]) -> Result<Option<Vec<u8>>, EngineError> {
        self.call(Call::Get)?;
        self.inner.get(space, key)
    }

    fn scan(&self, space: Space, keys: Keys<'_>, visit: &mut Visit<'_>) -> Result<(), EngineError> {
        self.call(Call::Scan)?;
        self.inner.scan(space, keys, visit)
    }

    fn write(&self, batch: Batch, durability: Durability) -> Result<(), EngineError> {
        self.call(Call::Write)?;
        self.inner.write(batch, durability)
    }

    fn sync(&self) -> Result<(), EngineError> {
        self.call(Call::Sync)?;
        self.inner.sync()
    }

    fn compact(&self) -> Result<(), EngineError> {
        self.call(Call::Compact)
    }
}
