//! What the tests of stores share: a model, and a machine whose power can be cut.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Read, Write};
use std::path::Path;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex};

use twiceshy_store::StoreError;
use twiceshy_store::engine::{
    Batch, Change, Durability, Engine, EngineError, EngineErrorKind, Keys, Space, Visit,
};
use twiceshy_store::files::{Files, NewFile};
use twiceshy_store::testing::MemoryFiles;

use crate::tested::{Choose, Tested};

/// How many more steps a machine makes before its power is cut; negative: it never is.
#[derive(Clone)]
pub(crate) struct Power(Arc<AtomicI64>);

impl Power {
    pub(crate) fn on() -> Self {
        Self(Arc::new(AtomicI64::new(-1)))
    }

    pub(crate) fn cut_after(&self, steps: i64) {
        self.0.store(steps, Ordering::SeqCst);
    }

    pub(crate) fn is_off(&self) -> bool {
        self.0.load(Ordering::SeqCst) == 0
    }

    /// Makes a step; an error if there is no power for it.
    pub(crate) fn step(&self) -> io::Result<()> {
        let left = self.0.load(Ordering::SeqCst);
        if left == 0 {
            return Err(io::Error::other("the power is off"));
        }
        if left > 0 {
            self.0.store(left - 1, Ordering::SeqCst);
        }
        Ok(())
    }
}

/// The rows of the spaces.
type Spaces = [BTreeMap<Vec<u8>, Vec<u8>>; Space::ALL.len()];

/// A disk: what engine and files have on it, and what of that is safe.
#[derive(Clone)]
pub(crate) struct Disk {
    pub(crate) power: Power,
    pub(crate) files: MemoryFiles,
    log: Arc<Mutex<Log>>,
}

/// An engine as a log of batches, the first of which are safe.
#[derive(Default)]
struct Log {
    rows: Spaces,
    safe: Spaces,
    unsafe_batches: Vec<Vec<Change>>,
}

fn apply(spaces: &mut Spaces, changes: &[Change]) {
    for change in changes {
        match change {
            Change::Put { space, key, value } => {
                spaces[*space as usize].insert(key.clone(), value.clone());
            }
            Change::Delete { space, key } => {
                spaces[*space as usize].remove(key);
            }
        }
    }
}

impl Disk {
    pub(crate) fn new() -> Self {
        Self { power: Power::on(), files: MemoryFiles::new(), log: Arc::default() }
    }

    /// The disk after a power cut that loses everything that was not synced, but for the first `kept` batches.
    pub(crate) fn after_power_cut(&self, kept: usize) -> Self {
        let log = self.log.lock().unwrap();
        let mut rows = log.safe.clone();
        log.unsafe_batches.iter().take(kept).for_each(|batch| apply(&mut rows, batch));
        let log = Log { safe: rows.clone(), rows, unsafe_batches: Vec::new() };
        Self { power: Power::on(), files: self.files.lose_unsynced(), log: Arc::new(Mutex::new(log)) }
    }

    /// The disk after the process was killed: all that reached the operating system is there.
    pub(crate) fn after_kill(&self) -> Self {
        let log = self.log.lock().unwrap();
        let log = Log { safe: log.rows.clone(), rows: log.rows.clone(), unsafe_batches: Vec::new() };
        Self { power: Power::on(), files: self.files.clone(), log: Arc::new(Mutex::new(log)) }
    }

    /// A copy of the whole disk that goes its own way, taken at this moment.
    pub(crate) fn copy(&self) -> Self {
        let mut copy = self.after_kill();
        copy.files = MemoryFiles::new();
        for name in self.files.names().unwrap() {
            if let Some(bytes) = read_file(&self.files, &name) {
                write_file(&copy.files, &name, &bytes);
            }
        }
        copy
    }

    /// The same files with the engine of another disk, as if its files were put in place of these.
    pub(crate) fn with_engine_of(&self, other: &Self) -> Self {
        Self { files: self.copy().files, ..other.copy() }
    }

    pub(crate) fn unsafe_batches(&self) -> usize {
        self.log.lock().unwrap().unsafe_batches.len()
    }

    pub(crate) fn open<B: Choose>(&self, builder: B) -> Result<B::Store, StoreError> {
        builder.open_on(self.clone(), DiskFiles(self.clone()))
    }
}

/// The bytes of a file, if there is one.
pub(crate) fn read_file(files: &MemoryFiles, name: &str) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    files.open(name).unwrap()?.read_to_end(&mut bytes).unwrap();
    Some(bytes)
}

/// Puts a file there, safely.
pub(crate) fn write_file(files: &MemoryFiles, name: &str, bytes: &[u8]) {
    let mut file = files.create(name).unwrap();
    file.write_all(bytes).unwrap();
    file.sync().unwrap();
    files.sync_folder().unwrap();
}

fn failed(error: io::Error) -> EngineError {
    EngineError::new("disk", EngineErrorKind::Other, error)
}

impl Engine for Disk {
    fn name(&self) -> &'static str {
        "disk"
    }

    fn max_key_len(&self) -> usize {
        100
    }

    fn max_value_len(&self) -> usize {
        1 << 30
    }

    fn get(&self, space: Space, key: &[u8]) -> Result<Option<Vec<u8>>, EngineError> {
        Ok(self.log.lock().unwrap().rows[space as usize].get(key).cloned())
    }

    fn scan(&self, space: Space, keys: Keys<'_>, visit: &mut Visit<'_>) -> Result<(), EngineError> {
        for (key, value) in self.log.lock().unwrap().rows[space as usize].range::<[u8], _>(keys.bounds()) {
            if visit(key, value).is_break() {
                break;
            }
        }
        Ok(())
    }

    fn write(&self, batch: Batch, durability: Durability) -> Result<(), EngineError> {
        self.power.step().map_err(failed)?;
        let changes = batch.into_changes();
        {
            let mut log = self.log.lock().unwrap();
            apply(&mut log.rows, &changes);
            log.unsafe_batches.push(changes);
        }
        if durability == Durability::Power { self.sync() } else { Ok(()) }
    }

    fn sync(&self) -> Result<(), EngineError> {
        self.power.step().map_err(failed)?;
        let mut log = self.log.lock().unwrap();
        log.safe = log.rows.clone();
        log.unsafe_batches.clear();
        Ok(())
    }
}

/// The files of a disk.
struct DiskFiles(Disk);

struct DiskFile<'a> {
    file: Box<dyn NewFile + 'a>,
    power: Power,
}

impl Write for DiskFile<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.power.step()?;
        self.file.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

impl NewFile for DiskFile<'_> {
    fn sync(&mut self) -> io::Result<()> {
        self.power.step()?;
        self.file.sync()
    }
}

impl Files for DiskFiles {
    fn path(&self) -> &Path {
        Path::new("disk")
    }

    fn names(&self) -> io::Result<Vec<String>> {
        self.0.files.names()
    }

    fn open(&self, name: &str) -> io::Result<Option<Box<dyn Read + '_>>> {
        self.0.files.open(name)
    }

    fn create(&self, name: &str) -> io::Result<Box<dyn NewFile + '_>> {
        self.0.power.step()?;
        Ok(Box::new(DiskFile { file: self.0.files.create(name)?, power: self.0.power.clone() }))
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        self.0.power.step()?;
        self.0.files.rename(from, to)
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        self.0.power.step()?;
        self.0.files.remove(name)
    }

    fn sync_folder(&self) -> io::Result<()> {
        self.0.power.step()?;
        self.0.files.sync_folder()
    }
}

/// The file with the filter.
pub(crate) const SNAPSHOT: &str = "filter.snapshot";

/// A key of the tests.
pub(crate) fn key(number: u64) -> Vec<u8> {
    format!("key {number}").into_bytes()
}

/// A query that is no key of the tests.
pub(crate) fn stranger(number: u64) -> Vec<u8> {
    format!("stranger {number}").into_bytes()
}

/// What a store should hold, and which mistakes were fixed when.
#[derive(Clone, Default)]
pub(crate) struct Model {
    pub(crate) rows: BTreeMap<Vec<u8>, Vec<u8>>,
    /// When each key came.
    pub(crate) since: BTreeMap<Vec<u8>, u64>,
    /// When each mistake was fixed.
    pub(crate) fixed: BTreeMap<Vec<u8>, u64>,
    pub(crate) time: u64,
}

impl Model {
    pub(crate) fn insert(&mut self, key: Vec<u8>, value: Vec<u8>) {
        self.time += 1;
        // A key that moves to the YES list of a list comes anew.
        let moves = value == b"yes" && self.rows.get(&key).is_some_and(|before| before == b"no");
        if self.rows.insert(key.clone(), value).is_none() || moves {
            self.since.insert(key, self.time);
        }
    }

    pub(crate) fn remove(&mut self, key: &[u8]) {
        self.time += 1;
        self.rows.remove(key);
        self.since.remove(key);
    }

    pub(crate) fn fix(&mut self, query: Vec<u8>) {
        self.time += 1;
        self.fixed.insert(query, self.time);
    }

    /// Checks everything that can be seen of a store.
    pub(crate) fn check(&self, store: &impl Tested) {
        for (key, value) in &self.rows {
            assert!(store.may_have(key), "the filter lost {}", key.escape_ascii());
            assert_eq!(store.value(key).as_ref(), Some(value), "{}", key.escape_ascii());
        }
        assert_eq!(store.rows(), self.rows);
        assert_eq!(store.verified().unwrap().keys, self.rows.len() as u64);
        assert_eq!(store.approximate(), self.rows.len() as u64);
        self.check_mistakes(store, &self.fixed);
    }

    /// Checks that mistakes are made again only because of keys that came later.
    pub(crate) fn check_mistakes(&self, store: &impl Tested, fixed: &BTreeMap<Vec<u8>, u64>) {
        for (query, time) in fixed {
            let culprits: BTreeSet<_> = store.culprits(query, &self.rows);
            for key in culprits {
                assert!(
                    self.since[&key] > *time,
                    "{} is mistaken for {} again",
                    query.escape_ascii(),
                    key.escape_ascii()
                );
            }
        }
    }
}
