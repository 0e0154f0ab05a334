//! Rows in a B-tree.

use std::path::Path;
use std::sync::{PoisonError, RwLock, RwLockReadGuard};

use redb::{Database, DatabaseError, Error, ReadableDatabase, StorageBackend, TableDefinition, TableError};

use super::{Batch, Change, Durability, Engine, EngineError, EngineErrorKind, Keys, Space, Visit};

const NAME: &str = "redb";

/// Rows in a copy-on-write B-tree ([redb](::redb)), in one file.
///
/// Reading is one descent of a tree and scans are fast; every batch is a transaction that rewrites the path to each
/// row. There is no level between "lost with the process" and "survives a power cut":
/// [`Durability::Process`] is as slow as [`Durability::Power`].
pub struct RedbEngine {
    /// Locked for compacting only, which must be alone.
    database: RwLock<Database>,
}

impl RedbEngine {
    /// Opens the database in this file, or creates it.
    pub fn open(file: &Path, cache_bytes: Option<u64>) -> Result<Self, EngineError> {
        Self::from_database(builder(cache_bytes).create(file).map_err(opening)?)
    }

    /// Opens the database in a storage of your own: a test that fails at will, or loses what was not synced.
    pub fn with_backend(storage: impl StorageBackend) -> Result<Self, EngineError> {
        Self::from_database(builder(None).create_with_backend(storage).map_err(opening)?)
    }

    fn from_database(database: Database) -> Result<Self, EngineError> {
        let engine = Self { database: RwLock::new(database) };
        // Readers need the tables to be there.
        let missing = Space::ALL.iter().any(|&space| matches!(engine.has(space), Ok(false)));
        if missing {
            let database = engine.database();
            let writes = database.begin_write().map_err(failed)?;
            for space in Space::ALL {
                writes.open_table(table(space)).map_err(failed)?;
            }
            writes.commit().map_err(failed)?;
        }
        Ok(engine)
    }

    fn database(&self) -> RwLockReadGuard<'_, Database> {
        self.database.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn has(&self, space: Space) -> Result<bool, EngineError> {
        let database = self.database();
        let reads = database.begin_read().map_err(failed)?;
        match reads.open_table(table(space)) {
            Ok(_) => Ok(true),
            Err(TableError::TableDoesNotExist(_)) => Ok(false),
            Err(error) => Err(failed(error)),
        }
    }

    fn commit(&self, batch: Batch, durability: redb::Durability) -> Result<(), EngineError> {
        let database = self.database();
        let mut writes = database.begin_write().map_err(failed)?;
        writes
            .set_durability(durability)
            .map_err(|error| EngineError::new(NAME, EngineErrorKind::Other, error))?;
        {
            // Opened when the first change is there: hardly any batch has changes in all of them.
            let mut tables = [const { None }; Space::ALL.len()];
            for change in batch.into_changes() {
                let (Change::Put { space, .. } | Change::Delete { space, .. }) = change;
                let table = match &mut tables[space as usize] {
                    Some(table) => table,
                    slot => slot.insert(writes.open_table(table(space)).map_err(failed)?),
                };
                match change {
                    Change::Put { key, value, .. } => {
                        table.insert(key.as_slice(), value.as_slice()).map_err(failed)?;
                    }
                    Change::Delete { key, .. } => {
                        table.remove(key.as_slice()).map_err(failed)?;
                    }
                }
            }
        }
        writes.commit().map_err(failed)
    }
}

fn builder(cache_bytes: Option<u64>) -> redb::Builder {
    let mut builder = Database::builder();
    if let Some(bytes) = cache_bytes {
        builder.set_cache_size(usize::try_from(bytes).unwrap_or(usize::MAX));
    }
    builder
}

fn table(space: Space) -> TableDefinition<'static, &'static [u8], &'static [u8]> {
    TableDefinition::new(space.name())
}

impl Engine for RedbEngine {
    fn name(&self) -> &'static str {
        NAME
    }

    fn max_key_len(&self) -> usize {
        // It stores longer ones, but copies them into its branches; a store keeps them apart.
        u16::MAX as usize
    }

    fn max_value_len(&self) -> usize {
        // It says 3 GiB for key and value together.
        (3 << 30) - (1 << 20)
    }

    fn get(&self, space: Space, key: &[u8]) -> Result<Option<Vec<u8>>, EngineError> {
        let database = self.database();
        let reads = database.begin_read().map_err(failed)?;
        let rows = reads.open_table(table(space)).map_err(failed)?;
        Ok(rows.get(key).map_err(failed)?.map(|value| value.value().to_vec()))
    }

    fn scan(&self, space: Space, keys: Keys<'_>, visit: &mut Visit<'_>) -> Result<(), EngineError> {
        let database = self.database();
        let reads = database.begin_read().map_err(failed)?;
        let table = reads.open_table(table(space)).map_err(failed)?;
        for row in table.range::<&[u8]>(keys.bounds()).map_err(failed)? {
            let (key, value) = row.map_err(failed)?;
            if visit(key.value(), value.value()).is_break() {
                break;
            }
        }
        Ok(())
    }

    fn write(&self, batch: Batch, durability: Durability) -> Result<(), EngineError> {
        self.commit(
            batch,
            match durability {
                Durability::Relaxed => redb::Durability::None,
                Durability::Process | Durability::Power => redb::Durability::Immediate,
            },
        )
    }

    fn sync(&self) -> Result<(), EngineError> {
        // An empty transaction takes along all that were committed before it.
        self.commit(Batch::new(), redb::Durability::Immediate)
    }

    fn compact(&self) -> Result<(), EngineError> {
        let mut database = self.database.write().unwrap_or_else(PoisonError::into_inner);
        // Each call does a part.
        while database.compact().map_err(failed)? {}
        Ok(())
    }
}

fn opening(error: DatabaseError) -> EngineError {
    failed(error)
}

fn failed(error: impl Into<Error>) -> EngineError {
    let error = error.into();
    let kind = match &error {
        Error::Io(error) => EngineErrorKind::of_io(error),
        Error::DatabaseAlreadyOpen => EngineErrorKind::InUse,
        Error::Corrupted(_) | Error::RepairAborted => EngineErrorKind::Corrupt,
        Error::UpgradeRequired(_) => EngineErrorKind::Version,
        Error::PreviousIo | Error::DatabaseClosed | Error::LockPoisoned(_) => EngineErrorKind::Broken,
        Error::TableDoesNotExist(_) => EngineErrorKind::Missing,
        _ => EngineErrorKind::Other,
    };
    EngineError::new(NAME, kind, error)
}
