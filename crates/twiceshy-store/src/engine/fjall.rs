//! Rows in a log-structured merge tree.

use std::io;
use std::path::Path;

use fjall::{Database, Error, Keyspace, KeyspaceCreateOptions, PersistMode, Readable};

use super::{Batch, Change, Durability, Engine, EngineError, EngineErrorKind, Keys, Space, Visit};

const NAME: &str = "fjall";

/// Rows in a log-structured merge tree ([fjall](::fjall)), in a folder: the engine that new stores take.
///
/// A write goes to a journal and to memory; sorted tables are written and merged in the background. The engine's own
/// Bloom filters are on, as by default: a store asks it for keys that are there, and they spare it the levels where
/// they are not.
pub struct FjallEngine {
    database: Database,
    spaces: [Keyspace; 3],
}

impl FjallEngine {
    /// Opens the database in this folder, or creates it.
    pub fn open(folder: &Path, cache_bytes: Option<u64>) -> Result<Self, EngineError> {
        let mut builder = Database::builder(folder);
        if let Some(bytes) = cache_bytes {
            builder = builder.cache_size(bytes);
        }
        let lost = lost_log(folder).map_err(|error| EngineError::io(NAME, error))?;
        if lost {
            return Err(missing("its journal, a file NUMBER.jnl, is gone"));
        }
        let database = builder.open().map_err(failed)?;
        // It makes a space anew whose files are gone. The last one is there only if all have been.
        let [rows, journal, meta] = Space::ALL.map(|space| database.keyspace_exists(space.name()));
        if meta && !(rows && journal) {
            return Err(missing("the files of a keyspace are gone"));
        }
        let open =
            |space: Space| database.keyspace(space.name(), KeyspaceCreateOptions::default).map_err(failed);
        let spaces = [open(Space::Rows)?, open(Space::Journal)?, open(Space::Meta)?];
        Ok(Self { database, spaces })
    }

    fn space(&self, space: Space) -> &Keyspace {
        &self.spaces[space as usize]
    }
}

impl Engine for FjallEngine {
    fn name(&self) -> &'static str {
        NAME
    }

    fn max_key_len(&self) -> usize {
        // It panics on longer ones.
        u16::MAX as usize
    }

    fn max_value_len(&self) -> usize {
        u32::MAX as usize
    }

    fn get(&self, space: Space, key: &[u8]) -> Result<Option<Vec<u8>>, EngineError> {
        Ok(self.space(space).get(key).map_err(failed)?.map(|value| value.to_vec()))
    }

    fn scan(&self, space: Space, keys: Keys<'_>, visit: &mut Visit<'_>) -> Result<(), EngineError> {
        // Without a snapshot it may see a part of a batch that is being written.
        let snapshot = self.database.snapshot();
        for row in snapshot.range::<&[u8], _>(self.space(space), keys.bounds()) {
            let (key, value) = row.into_inner().map_err(failed)?;
            if visit(&key, &value).is_break() {
                break;
            }
        }
        Ok(())
    }

    fn write(&self, batch: Batch, durability: Durability) -> Result<(), EngineError> {
        let mode = match durability {
            Durability::Relaxed => None,
            Durability::Process => Some(PersistMode::Buffer),
            Durability::Power => Some(PersistMode::SyncAll),
        };
        let changes = batch.into_changes();
        let mut writes =
            fjall::OwnedWriteBatch::with_capacity(self.database.clone(), changes.len()).durability(mode);
        for change in changes {
            match change {
                Change::Put { space, key, value } => writes.insert(self.space(space), key, value),
                Change::Delete { space, key } => writes.remove(self.space(space), key),
            }
        }
        writes.commit().map_err(failed)
    }

    fn sync(&self) -> Result<(), EngineError> {
        self.database.persist(PersistMode::SyncAll).map_err(failed)
    }

    fn compact(&self) -> Result<(), EngineError> {
        for space in &self.spaces {
            space.rotate_memtable_and_wait().map_err(failed)?;
            space.major_compact().map_err(failed)?;
        }
        Ok(())
    }

    fn disk_bytes(&self) -> Option<u64> {
        self.database.disk_space().ok()
    }
}

/// Whether a database has lost its journal: it would begin a new one, and number its writes from 0 again.
fn lost_log(folder: &Path) -> io::Result<bool> {
    if !folder.join("version").try_exists()? {
        return Ok(false);
    }
    for entry in folder.read_dir()? {
        if entry?.path().extension().is_some_and(|extension| extension == "jnl") {
            return Ok(false);
        }
    }
    Ok(true)
}

fn missing(what: &'static str) -> EngineError {
    EngineError::new(NAME, EngineErrorKind::Missing, what)
}

fn failed(error: Error) -> EngineError {
    let kind = match &error {
        Error::Io(error) => EngineErrorKind::of_io(error),
        Error::Storage(error) => source_kind(error),
        Error::Locked => EngineErrorKind::InUse,
        Error::Poisoned => EngineErrorKind::Broken,
        Error::InvalidVersion(_) => EngineErrorKind::Version,
        Error::JournalRecovery(_)
        | Error::InvalidTrailer
        | Error::InvalidTag(_)
        | Error::Decompress(_)
        | Error::Unrecoverable => EngineErrorKind::Corrupt,
        _ => EngineErrorKind::Other,
    };
    EngineError::new(NAME, kind, error)
}

/// The tree says what the operating system said, or that its files are damaged.
fn source_kind(error: &(dyn std::error::Error + 'static)) -> EngineErrorKind {
    std::iter::successors(Some(error), |error| error.source())
        .find_map(|error| error.downcast_ref::<io::Error>())
        .map_or(EngineErrorKind::Corrupt, EngineErrorKind::of_io)
}
