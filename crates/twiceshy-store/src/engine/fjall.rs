//! Rows in a log-structured merge tree.

use std::fs::{self, OpenOptions};
use std::io::{self, Read};
use std::ops::Bound;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use fjall::{AbstractTree, Database, Error, Keyspace, KeyspaceCreateOptions, PersistMode, Readable};

use super::{Batch, Change, Durability, Engine, EngineError, EngineErrorKind, Keys, Space, Visit};

const NAME: &str = "fjall";

/// It panics on longer ones.
const MAX_KEY_LEN: usize = u16::MAX as usize;

/// Rows in a log-structured merge tree ([fjall](::fjall)), in a folder: the engine that new stores take.
///
/// A write goes to a journal and to memory; sorted tables are written and merged in the background. The engine's own
/// Bloom filters are on, as by default: a store asks it for keys that are there, and they spare it the levels where
/// they are not.
///
/// # Its journal
///
/// Whenever it is opened, fjall reads all that is in its journal, also what is in tables long since: a million rows take
/// seconds. So whoever closes the engine leaves none: what is only in memory is written into tables, and the journal, of which
/// nobody needs a word then, is made empty.
///
/// Whoever was killed cannot do that. Then there is one journal, or two: fjall begins another one every 64 MB or more, and
/// removes those that are in tables. All spaces are written into tables then, because one that is hardly ever written would
/// keep every journal since its last row.
///
/// What this needs of fjall its documentation does not show, so `Cargo.toml` names one version of it.
pub struct FjallEngine {
    database: Database,
    spaces: [Keyspace; Space::ALL.len()],
    folder: PathBuf,
    /// About how many bytes are in the journals.
    logged: AtomicU64,
    /// How many journals there were when a batch was written the last time.
    logs: AtomicUsize,
}

/// A log of so few bytes is read in no time when the engine is opened again, and is not worth a table.
const SHORT_LOG_BYTES: u64 = 1 << 20;
/// So many bytes of rows in memory are worth a table.
const WORTH_A_TABLE_BYTES: u64 = 16 << 20;
/// How long to wait before asking again whether a table is written.
const PATIENCE: Duration = Duration::from_millis(1);

impl FjallEngine {
    /// Opens the database in this folder, or creates it.
    pub fn open(folder: &Path, cache_bytes: Option<u64>) -> Result<Self, EngineError> {
        let mut builder = Database::builder(folder);
        if let Some(bytes) = cache_bytes {
            builder = builder.cache_size(bytes);
        }
        // Without its journal it would begin a new one, and number its writes from 0 again.
        let is_new = !folder.join("version").try_exists().map_err(failed_io)?;
        if !is_new && logs(folder).map_err(failed_io)?.is_empty() {
            return Err(missing("its journal, a file NUMBER.jnl, is gone"));
        }
        if is_new {
            clear_half_made(folder).map_err(failed_io)?;
        }
        let database = builder.open().map_err(failed)?;
        // It makes a space anew whose files are gone. Those before one that is there have been there; the last one is younger
        // than some stores.
        let are_there = Space::ALL.map(|space| database.keyspace_exists(space.name()));
        let first_missing = are_there.iter().position(|is_there| !is_there).unwrap_or(are_there.len());
        if are_there[first_missing..].iter().any(|&is_there| is_there) {
            return Err(missing("the files of a keyspace are gone"));
        }
        let open =
            |space: Space| database.keyspace(space.name(), KeyspaceCreateOptions::default).map_err(failed);
        let [rows, journal, meta, partitions] = Space::ALL.map(open);
        let spaces = [rows?, journal?, meta?, partitions?];
        // A new journal is as long as it may get; one that was read ends with its last row. Some may be gone already.
        let found = if is_new { Vec::new() } else { logs(folder).map_err(failed_io)? };
        let lengths = found.iter().filter_map(|(_, log)| Some(fs::metadata(log).ok()?.len()));
        Ok(Self {
            logged: lengths.sum::<u64>().into(),
            logs: database.journal_count().into(),
            folder: folder.to_owned(),
            database,
            spaces,
        })
    }

    /// Begins to write into tables what is only in memory, of each space that has more of it than so many bytes.
    ///
    /// That it does not work is no error: all of it is in the journal, and there will be another occasion.
    fn begin_tables(&self, more_than: u64) {
        for space in &self.spaces {
            if space.tree.active_memtable().size() > more_than {
                let _ = space.rotate_memtable();
            }
        }
    }

    /// Writes into tables what is only in memory, and waits until that is done.
    fn write_tables(&self) -> Result<(), EngineError> {
        for space in &self.spaces {
            space.rotate_memtable().map_err(failed)?;
            while space.sealed_memtable_count() > 0 {
                // An error if whoever writes tables has given up.
                self.database.persist(PersistMode::Buffer).map_err(failed)?;
                thread::sleep(PATIENCE);
            }
        }
        self.sync()
    }

    /// Leaves nothing to read for the next opening. Nobody writes any more.
    fn settle(&self) -> Result<(), EngineError> {
        self.write_tables()?;
        // Certainly: what is not in tables would be lost.
        if self.spaces.iter().all(|space| space.tree.get_highest_memtable_seqno().is_none()) {
            empty_logs(&self.folder).map_err(failed_io)?;
        }
        Ok(())
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
        MAX_KEY_LEN
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
        for row in snapshot.range::<&[u8], _>(self.space(space), short(keys.bounds())) {
            let (key, value) = row.into_inner().map_err(failed)?;
            // Only if a bound was cut off.
            if &*key < keys.from {
                continue;
            }
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
        let mut bytes = 0;
        for change in changes {
            bytes += change.len();
            match change {
                Change::Put { space, key, value } => writes.insert(self.space(space), key, value),
                Change::Delete { space, key } => writes.remove(self.space(space), key),
            }
        }
        writes.commit().map_err(failed)?;
        self.logged.fetch_add(bytes as u64, Ordering::Relaxed);
        // With every new journal: else a space that is hardly ever written would keep all of them.
        let logs = self.database.journal_count();
        if logs > self.logs.swap(logs, Ordering::Relaxed) {
            self.begin_tables(0);
        }
        Ok(())
    }

    fn sync(&self) -> Result<(), EngineError> {
        self.database.persist(PersistMode::SyncAll).map_err(failed)?;
        // Somebody has time to wait: what is in tables is not put in order again after a kill.
        self.begin_tables(WORTH_A_TABLE_BYTES);
        Ok(())
    }

    fn compact(&self) -> Result<(), EngineError> {
        self.write_tables()?;
        self.spaces.iter().try_for_each(|space| space.major_compact().map_err(failed))
    }

    fn disk_bytes(&self) -> Option<u64> {
        self.database.disk_space().ok()
    }
}

impl Drop for FjallEngine {
    fn drop(&mut self) {
        if *self.logged.get_mut() > SHORT_LOG_BYTES {
            // If that does not work, the next opening reads everything again: it takes its time, and nothing is lost.
            let _ = self.settle();
        }
    }
}

/// Bounds that are no longer than keys can be: it panics on others, too. A row that lies before a longer bound lies before its
/// beginning, or is it.
fn short<'a>((from, until): (Bound<&'a [u8]>, Bound<&'a [u8]>)) -> (Bound<&'a [u8]>, Bound<&'a [u8]>) {
    let cut = |bound: &'a [u8]| &bound[..bound.len().min(MAX_KEY_LEN)];
    let until = match until {
        Bound::Excluded(until) if until.len() > MAX_KEY_LEN => Bound::Included(cut(until)),
        until => until,
    };
    (from.map(cut), until)
}

/// Makes the journals of a database empty.
fn empty_logs(folder: &Path) -> io::Result<()> {
    // The oldest first, so that a crash leaves the end of what happened: to do that again changes nothing.
    for (_, log) in logs(folder)? {
        match OpenOptions::new().write(true).open(log) {
            Ok(log) => {
                log.set_len(0)?;
                log.sync_all()?;
            }
            // The engine was faster.
            Err(error) if error.kind() == io::ErrorKind::NotFound => (),
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// Removes the journal of a database that was never made to its end: fjall writes `version` last, before the first row, and
/// refuses to begin a journal that is there. Certainly nothing is lost: a journal that has a word, or a space that has files,
/// stays, and opening fails.
fn clear_half_made(folder: &Path) -> io::Result<()> {
    if !folder.try_exists()? {
        return Ok(());
    }
    let has_spaces = match folder.join("keyspaces").read_dir() {
        Ok(mut spaces) => spaces.next().is_some(),
        Err(error) if error.kind() == io::ErrorKind::NotFound => false,
        Err(error) => return Err(error),
    };
    match logs(folder)?.as_slice() {
        [(0, log)] if !has_spaces && is_blank(log)? => fs::remove_file(log),
        _ => Ok(()),
    }
}

/// Whether a file has nothing but zeros: a new journal is made as long as it may get.
fn is_blank(file: &Path) -> io::Result<bool> {
    let (mut file, mut piece) = (fs::File::open(file)?, vec![0; 1 << 16]);
    loop {
        match file.read(&mut piece)? {
            0 => return Ok(true),
            len if piece[..len].iter().any(|&byte| byte != 0) => return Ok(false),
            _ => {}
        }
    }
}

/// The journals of a database, the oldest first.
fn logs(folder: &Path) -> io::Result<Vec<(u64, PathBuf)>> {
    let mut logs = Vec::new();
    for entry in folder.read_dir()? {
        let path = entry?.path();
        let number = path.file_name().and_then(|name| name.to_str()?.strip_suffix(".jnl")?.parse().ok());
        logs.extend(number.map(|number| (number, path)));
    }
    logs.sort_unstable();
    Ok(logs)
}

fn failed_io(error: io::Error) -> EngineError {
    EngineError::io(NAME, error)
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
