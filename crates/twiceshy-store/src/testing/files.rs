//! Files in memory, which may be lost as in a power cut.

use std::collections::BTreeMap;
use std::io::{self, Read, Write};
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::files::{Files, NewFile};

/// Files in memory. Clones share them.
///
/// [`lose_unsynced`](Self::lose_unsynced) does what a power cut may do.
#[derive(Debug, Clone, Default)]
pub struct MemoryFiles {
    state: Arc<Mutex<State>>,
}

/// What a name stands for: a file, of which only a part is safe.
#[derive(Debug, Default)]
struct State {
    /// What programs see.
    names: BTreeMap<String, Arc<Mutex<Contents>>>,
    /// What is left after a power cut.
    safe_names: BTreeMap<String, Arc<Mutex<Contents>>>,
}

#[derive(Debug, Default)]
struct Contents {
    bytes: Vec<u8>,
    safe_bytes: Vec<u8>,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl MemoryFiles {
    /// No files.
    pub fn new() -> Self {
        Self::default()
    }

    /// A folder as it is after a power cut: files hold what was synced, and have the names that were synced.
    pub fn lose_unsynced(&self) -> Self {
        let state = lock(&self.state);
        let names: BTreeMap<_, _> = state
            .safe_names
            .iter()
            .map(|(name, contents)| {
                let bytes = lock(contents).safe_bytes.clone();
                (name.clone(), Arc::new(Mutex::new(Contents { safe_bytes: bytes.clone(), bytes })))
            })
            .collect();
        Self { state: Arc::new(Mutex::new(State { safe_names: names.clone(), names })) }
    }

    /// Changes the bytes of a file, safely: for tests with damaged files. `false` if there is none.
    pub fn edit(&self, name: &str, edit: impl FnOnce(&mut Vec<u8>)) -> bool {
        let state = lock(&self.state);
        let Some(contents) = state.names.get(name) else { return false };
        let mut contents = lock(contents);
        edit(&mut contents.bytes);
        contents.safe_bytes = contents.bytes.clone();
        true
    }
}

struct Writing(Arc<Mutex<Contents>>);

impl Write for Writing {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        lock(&self.0).bytes.extend(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl NewFile for Writing {
    fn sync(&mut self) -> io::Result<()> {
        let mut contents = lock(&self.0);
        contents.safe_bytes = contents.bytes.clone();
        Ok(())
    }
}

impl Files for MemoryFiles {
    fn path(&self) -> &Path {
        Path::new("memory")
    }

    fn names(&self) -> io::Result<Vec<String>> {
        Ok(lock(&self.state).names.keys().cloned().collect())
    }

    fn open(&self, name: &str) -> io::Result<Option<Box<dyn Read + '_>>> {
        let contents = lock(&self.state).names.get(name).cloned();
        Ok(contents
            .map(|contents| -> Box<dyn Read> { Box::new(io::Cursor::new(lock(&contents).bytes.clone())) }))
    }

    fn create(&self, name: &str) -> io::Result<Box<dyn NewFile + '_>> {
        let contents = Arc::new(Mutex::default());
        lock(&self.state).names.insert(name.to_owned(), Arc::clone(&contents));
        Ok(Box::new(Writing(contents)))
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        let mut state = lock(&self.state);
        let contents = state.names.remove(from).ok_or(io::ErrorKind::NotFound)?;
        state.names.insert(to.to_owned(), contents);
        Ok(())
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        lock(&self.state).names.remove(name).map(|_| ()).ok_or_else(|| io::ErrorKind::NotFound.into())
    }

    fn sync_folder(&self) -> io::Result<()> {
        let mut state = lock(&self.state);
        state.safe_names = state.names.clone();
        Ok(())
    }
}
