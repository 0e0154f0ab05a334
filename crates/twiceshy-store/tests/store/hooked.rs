//! An engine that calls somebody before it does anything, and files that cannot be written.

use std::io::{self, Read};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use twiceshy_store::engine::{
    Batch, Durability, Engine, EngineError, EngineErrorKind, Keys, MemoryEngine, Space, Visit,
};
use twiceshy_store::files::{Files, NewFile};
use twiceshy_store::testing::MemoryFiles;

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
    /// How many rows were read by scans.
    pub(crate) scanned: Arc<AtomicUsize>,
}

impl Hooked {
    pub(crate) fn new(hook: impl Fn(Call) -> bool + Send + Sync + 'static) -> Self {
        Self { inner: Arc::new(MemoryEngine::new()), hook: Arc::new(hook), scanned: Arc::default() }
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
        self.inner.scan(space, keys, &mut |key, value| {
            self.scanned.fetch_add(1, Ordering::Relaxed);
            visit(key, value)
        })
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

/// Files of which none can be written once they are told so. Clones share everything.
#[derive(Clone)]
pub(crate) struct FullFiles {
    files: MemoryFiles,
    pub(crate) is_full: Arc<AtomicBool>,
    /// How often it was tried to write one.
    pub(crate) tried: Arc<AtomicUsize>,
}

impl FullFiles {
    pub(crate) fn new(files: MemoryFiles) -> Self {
        Self { files, is_full: Arc::default(), tried: Arc::default() }
    }
}

impl Files for FullFiles {
    fn path(&self) -> &Path {
        self.files.path()
    }

    fn names(&self) -> io::Result<Vec<String>> {
        self.files.names()
    }

    fn open(&self, name: &str) -> io::Result<Option<Box<dyn Read + '_>>> {
        self.files.open(name)
    }

    fn create(&self, name: &str) -> io::Result<Box<dyn NewFile + '_>> {
        self.tried.fetch_add(1, Ordering::SeqCst);
        if self.is_full.load(Ordering::SeqCst) {
            return Err(io::ErrorKind::StorageFull.into());
        }
        self.files.create(name)
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        self.files.rename(from, to)
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        self.files.remove(name)
    }

    fn sync_folder(&self) -> io::Result<()> {
        self.files.sync_folder()
    }
}
