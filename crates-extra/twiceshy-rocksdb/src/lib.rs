//! RocksDB as an engine of [`twiceshy_store`].
//!
//! ```
//! use twiceshy_rocksdb::RocksEngine;
//! use twiceshy_store::{AdaptiveStore, files::Folder};
//!
//! # let temporary = tempfile::tempdir()?;
//! # let path = temporary.path().join("accounts");
//! let files = Folder::create(&path)?;
//! // A store takes names that begin with "rows." for those of its engine.
//! let engine = RocksEngine::open(&path.join("rows.rocksdb"), Some(64 << 20))?;
//! let store = AdaptiveStore::builder().open_with(engine, files)?;
//! store.insert("ann", "12 apples")?;
//! assert_eq!(store.get("ann")?, Some(b"12 apples".to_vec()));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod error;

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use rocksdb::{
    BlockBasedOptions, Cache, ColumnFamily, ColumnFamilyDescriptor, DB, LogLevel, Options, ReadOptions,
    WriteBatch, WriteOptions, properties,
};
use twiceshy_store::engine::{
    Batch, Change, Durability, Engine, EngineError, EngineErrorKind, Keys, Space, Visit,
};

use error::failed;

const NAME: &str = "rocksdb";

/// As many bits as RocksDB's users take: one absent key of a hundred gets through.
const BLOOM_BITS_PER_KEY: f64 = 10.0;

/// When the log is this long, spaces that are seldom written go to tables, so that the log can be shortened. RocksDB
/// itself would wait for 1.5 GB and read all of it when it is opened after a crash.
const MAX_LOG_BYTES: u64 = 256 << 20;

/// RocksDB writes messages to a file `LOG`, a new one whenever it is opened, and would keep a thousand.
const MESSAGE_FILES: usize = 5;

/// Which messages: next to none. Debian's library has RocksDB's assertions switched on, and one of them ends the
/// process at the second message that a full disk does not take, where we want an error.
const MESSAGES: LogLevel = LogLevel::Fatal;

/// Rows in a log-structured merge tree ([RocksDB](::rocksdb)), in a folder.
///
/// A space is a column family, and all share one log, so that a batch across spaces is one record of it. RocksDB's own
/// Bloom filters are on: a store asks for keys that are there, and they spare it the tables where they are not.
///
/// | level | what RocksDB does before a write is acknowledged |
/// |---|---|
/// | [`Relaxed`](Durability::Relaxed) | the same as for `Process`: it gives every batch to the operating system at once |
/// | [`Process`](Durability::Process) | writes the batch to its log, without a sync |
/// | [`Power`](Durability::Power) | writes the batch to its log and syncs the log |
///
/// After a failed write RocksDB gives the same error for later ones, as a rule until it is opened again.
pub struct RocksEngine {
    database: DB,
    folder: PathBuf,
}

impl RocksEngine {
    /// Opens the database in this folder, or creates it. The cache holds blocks of tables as they are read, for all
    /// spaces together; by default each space has a small one of RocksDB's choice.
    pub fn open(folder: &Path, cache_bytes: Option<u64>) -> Result<Self, EngineError> {
        if folder.to_str().is_none() {
            // The binding would put other characters in their place and open another folder.
            let why = format!("the path {} is not UTF-8: give another folder", folder.display());
            return Err(EngineError::new(NAME, EngineErrorKind::Other, why));
        }
        fs::create_dir_all(folder).map_err(|error| EngineError::io(NAME, error))?;

        let mut tables = BlockBasedOptions::default();
        tables.set_bloom_filter(BLOOM_BITS_PER_KEY, false);
        if let Some(bytes) = cache_bytes {
            let bytes = usize::try_from(bytes).unwrap_or(usize::MAX);
            tables.set_block_cache(&Cache::new_lru_cache(bytes).map_err(failed)?);
        }
        let mut options = Options::default();
        options.set_block_based_table_factory(&tables);
        options.create_if_missing(true);
        options.create_missing_column_families(true);
        options.set_max_total_wal_size(MAX_LOG_BYTES);
        options.set_keep_log_file_num(MESSAGE_FILES);
        options.set_log_level(MESSAGES);
        let spaces = Space::ALL.map(|space| ColumnFamilyDescriptor::new(space.name(), options.clone()));
        let database = DB::open_cf_descriptors(&options, folder, spaces).map_err(failed)?;
        Ok(Self { database, folder: folder.to_owned() })
    }

    fn space(&self, space: Space) -> &ColumnFamily {
        self.database.cf_handle(space.name()).expect("it was opened with all spaces")
    }

    /// How often work in the background has failed since the database was opened.
    fn background_errors(&self) -> Result<u64, EngineError> {
        let errors = self.database.property_int_value(properties::BACKGROUND_ERRORS).map_err(failed)?;
        Ok(errors.unwrap_or(0))
    }
}

impl Engine for RocksEngine {
    fn name(&self) -> &'static str {
        NAME
    }

    fn max_key_len(&self) -> usize {
        // It stores longer ones, but is not made for them: whole keys stand in the index of every table, outside of the
        // cache. With the limit of the other engines a row is the same in all of them.
        u16::MAX as usize
    }

    fn max_value_len(&self) -> usize {
        // Its authors advise no more; a key and a value of 4 GiB together overflow a length in its memory tables.
        3 << 30
    }

    fn get(&self, space: Space, key: &[u8]) -> Result<Option<Vec<u8>>, EngineError> {
        self.database.get_cf(self.space(space), key).map_err(failed)
    }

    fn scan(&self, space: Space, keys: Keys<'_>, visit: &mut Visit<'_>) -> Result<(), EngineError> {
        let mut bounds = ReadOptions::default();
        if let Some(until) = keys.until {
            // It may lie before the first key: then there is nothing.
            bounds.set_iterate_upper_bound(until.max(keys.from));
        }
        // An iterator sees what was there when it was made: it needs no snapshot.
        let mut rows = self.database.raw_iterator_cf_opt(self.space(space), bounds);
        rows.seek(keys.from);
        while let Some((key, value)) = rows.item() {
            if visit(key, value).is_break() {
                return Ok(());
            }
            rows.next();
        }
        // It ends at the last row, and also where it cannot go on.
        rows.status().map_err(failed)
    }

    fn write(&self, batch: Batch, durability: Durability) -> Result<(), EngineError> {
        let mut writes = WriteBatch::default();
        for change in batch.into_changes() {
            match change {
                Change::Put { space, key, value } => writes.put_cf(self.space(space), key, value),
                Change::Delete { space, key } => writes.delete_cf(self.space(space), key),
            }
        }
        let mut options = WriteOptions::default();
        options.set_sync(durability == Durability::Power);
        self.database.write_opt(writes, &options).map_err(failed)
    }

    fn sync(&self) -> Result<(), EngineError> {
        // A batch without changes takes along all that were written before it. RocksDB can also sync the log by
        // itself, but after a failed write another assertion of Debian's library ends the process there.
        self.write(Batch::new(), Durability::Power)
    }

    fn compact(&self) -> Result<(), EngineError> {
        // The C interface does not say whether it worked, but RocksDB counts what did not.
        let before = self.background_errors()?;
        for space in Space::ALL {
            self.database.compact_range_cf(self.space(space), None::<&[u8]>, None::<&[u8]>);
        }
        // If it writes no more, it says why.
        self.write(Batch::new(), Durability::Relaxed)?;
        if self.background_errors()? == before {
            return Ok(());
        }
        Err(EngineError::new(
            NAME,
            EngineErrorKind::Other,
            "compacting failed, and RocksDB goes on without it",
        ))
    }

    fn disk_bytes(&self) -> Option<u64> {
        let mut bytes = 0;
        for file in fs::read_dir(&self.folder).ok()? {
            match file.and_then(|file| file.metadata()) {
                Ok(metadata) => bytes += metadata.len(),
                // RocksDB has removed it meanwhile.
                Err(error) if error.kind() == io::ErrorKind::NotFound => (),
                Err(_) => return None,
            }
        }
        Some(bytes)
    }
}
