//! The power is cut at every single step of engine and files, and everything that was not synced is lost.

use std::collections::BTreeMap;

use std::io;
use std::sync::{Arc, Mutex};

use crate::common::{Disk, Model, Power, key, stranger};
use redb::StorageBackend;
use twiceshy::Hasher;
use twiceshy::hash::HashKey;
use twiceshy_store::engine::RedbEngine;
use twiceshy_store::testing::MemoryFiles;
use twiceshy_store::{AdaptiveStore, Durability, Recovery, StoreBuilder, StoreError};
use twiceshy_testkit::Random;

const OPERATIONS: u64 = 40;

fn builder(level: Durability) -> StoreBuilder {
    // A filter that is often wrong: there is a lot to learn.
    let hasher = Hasher::keyed(HashKey::from_bytes([7; 16]));
    let builder = AdaptiveStore::builder().error_rate(0.3).capacity(10).durability(level).hasher(hasher);
    // Saved in the background now and then.
    builder.save_after(7)
}

/// A run of a store on a disk, until the power is cut.
struct Run {
    /// What the store may hold now: what is safe, and what came after it, step by step.
    possible: Vec<Model>,
    /// Mistakes that must stay fixed.
    safe_fixed: BTreeMap<Vec<u8>, u64>,
    reopened: u64,
}

impl Run {
    fn new() -> Self {
        Self { possible: vec![Model::default()], safe_fixed: BTreeMap::new(), reopened: 0 }
    }

    fn now(&self) -> &Model {
        self.possible.last().unwrap()
    }

    /// What is there now survives everything.
    fn all_is_safe(&mut self) {
        self.possible.drain(..self.possible.len() - 1);
        self.safe_fixed = self.now().fixed.clone();
    }

    /// Random operations until the power is cut or all are done.
    fn go(&mut self, disk: &impl Machine, level: Durability, seed: u64) {
        let mut random = Random(seed);
        let Ok(mut store) = disk.open(builder(level)) else { return };
        for _ in 0..OPERATIONS {
            let mut next = self.now().clone();
            let chosen = random.below(10);
            let (number, value) = (random.below(30), random.next().to_le_bytes().to_vec());
            let done = match chosen {
                0..=2 => {
                    next.insert(key(number), value.clone());
                    self.possible.push(next);
                    store.insert(&key(number), &value).map(|_| ())
                }
                3 => {
                    let rows: Vec<_> =
                        (number..number + 5).map(|number| (key(number), value.clone())).collect();
                    rows.iter().for_each(|(key, value)| next.insert(key.clone(), value.clone()));
                    self.possible.push(next);
                    store.insert_batch(&rows).map(|_| ())
                }
                4 => {
                    next.remove(&key(number));
                    self.possible.push(next);
                    store.remove(&key(number)).map(|_| ())
                }
                5..=7 => {
                    for number in number..number + 8 {
                        let query = stranger(number);
                        let was_positive = store.may_contain(&query).unwrap();
                        assert_eq!(store.get(&query).unwrap(), None);
                        if was_positive && !store.may_contain(&query).unwrap() {
                            next.fix(query);
                        }
                    }
                    *self.possible.last_mut().unwrap() = next;
                    continue;
                }
                8 => match store.flush() {
                    Ok(()) => {
                        self.all_is_safe();
                        continue;
                    }
                    failed => failed,
                },
                _ => match store.close() {
                    Ok(()) => {
                        self.all_is_safe();
                        let Ok(opened) = disk.open(builder(level)) else { return };
                        assert!(
                            matches!(opened.recovery(), Recovery::Clean),
                            "{:?} after closing",
                            opened.recovery()
                        );
                        self.reopened += 1;
                        store = opened;
                        continue;
                    }
                    Err(_) => return,
                },
            };
            if done.is_err() {
                // What failed may be there or not.
                assert!(disk.power().is_off(), "{done:?}");
                return;
            }
            if level == Durability::Power {
                self.all_is_safe();
            }
        }
    }

    /// Checks a store that was opened again.
    fn check(&self, store: &AdaptiveStore, context: &str) {
        let found: BTreeMap<_, _> = store.iter().map(Result::unwrap).collect();
        let model = self.possible.iter().rev().find(|model| model.rows == found);
        let model = model.unwrap_or_else(|| panic!("{context}: rows that there never were: {found:?}"));
        for (key, value) in &found {
            assert_eq!(store.get(key).unwrap().as_ref(), Some(value), "{context}");
        }
        let verified = store.verify().unwrap_or_else(|error| panic!("{context}: {error}"));
        assert_eq!(verified.keys, found.len() as u64);
        assert_eq!(store.approximate_len(), found.len() as u64, "{context}");
        // What came after the safe point cannot be told from before.
        model.check_mistakes(store, &self.safe_fixed);
    }
}

fn cut_at_every_step(level: Durability, seed: u64) -> (usize, u64) {
    // How many steps there are.
    let disk = Disk::new();
    disk.power.cut_after(i64::MAX);
    let mut whole = Run::new();
    whole.go(&disk, level, seed);
    let mut rebuilt = 0;
    for step in 0.. {
        let disk = Disk::new();
        disk.power.cut_after(step);
        let mut run = Run::new();
        run.go(&disk, level, seed);
        let is_over = !disk.power.is_off();
        let unsafe_batches = disk.unsafe_batches();
        for kept in [0, unsafe_batches / 2, unsafe_batches] {
            let context = format!("{level:?}, seed {seed}, step {step}, {kept} batches kept");
            let after = disk.after_power_cut(kept);
            let store = after.open(builder(level)).unwrap_or_else(|error| panic!("{context}: {error}"));
            rebuilt += u64::from(matches!(store.recovery(), Recovery::Rebuilt { .. }));
            run.check(&store, &context);
            // And it goes on working.
            store.insert("after all", "it works").unwrap();
            drop(store);
            let store = after.open(builder(level)).unwrap();
            assert_eq!(store.get("after all").unwrap(), Some(b"it works".to_vec()));
            store.verify().unwrap();
        }
        let after = disk.after_kill();
        let store = after.open(builder(level)).unwrap();
        run.check(&store, &format!("{level:?}, seed {seed}, killed at step {step}"));
        if is_over {
            assert!(whole.reopened > 0, "the run is too tame");
            return (step as usize, rebuilt);
        }
    }
    unreachable!()
}

#[test]
fn nothing_that_is_safe_is_lost() {
    for seed in 0..4 {
        let (steps, _) = cut_at_every_step(Durability::Power, seed);
        assert!(steps > 40, "only {steps} steps");
    }
}

#[test]
fn writes_that_are_not_synced_are_lost_from_the_end() {
    for seed in 10..14 {
        cut_at_every_step(Durability::Process, seed);
    }
}

/// What loses its power.
trait Machine {
    fn power(&self) -> &Power;
    fn open(&self, builder: StoreBuilder) -> Result<AdaptiveStore, StoreError>;
}

impl Machine for Disk {
    fn power(&self) -> &Power {
        &self.power
    }

    fn open(&self, builder: StoreBuilder) -> Result<AdaptiveStore, StoreError> {
        Disk::open(self, builder)
    }
}

/// redb on a file in memory that loses what was not synced.
#[derive(Clone)]
struct RedbMachine {
    power: Power,
    file: Arc<Mutex<Lossy>>,
    files: MemoryFiles,
}

#[derive(Debug, Default)]
struct Lossy {
    bytes: Vec<u8>,
    safe: Vec<u8>,
}

struct Backend(RedbMachine);

impl std::fmt::Debug for Backend {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("a file that loses what was not synced")
    }
}

impl StorageBackend for Backend {
    fn len(&self) -> io::Result<u64> {
        Ok(self.0.file.lock().unwrap().bytes.len() as u64)
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        let file = self.0.file.lock().unwrap();
        let end = offset as usize + out.len();
        out.copy_from_slice(file.bytes.get(offset as usize..end).ok_or(io::ErrorKind::UnexpectedEof)?);
        Ok(())
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        self.0.power.step()?;
        self.0.file.lock().unwrap().bytes.resize(len as usize, 0);
        Ok(())
    }

    fn sync_data(&self) -> io::Result<()> {
        self.0.power.step()?;
        let mut file = self.0.file.lock().unwrap();
        file.safe = file.bytes.clone();
        Ok(())
    }

    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        self.0.power.step()?;
        let mut file = self.0.file.lock().unwrap();
        file.bytes[offset as usize..offset as usize + data.len()].copy_from_slice(data);
        Ok(())
    }
}

impl RedbMachine {
    fn new() -> Self {
        Self { power: Power::on(), file: Arc::default(), files: MemoryFiles::new() }
    }

    fn after_power_cut(&self) -> Self {
        let safe = self.file.lock().unwrap().safe.clone();
        let file = Arc::new(Mutex::new(Lossy { bytes: safe.clone(), safe }));
        Self { power: Power::on(), file, files: self.files.lose_unsynced() }
    }
}

impl Machine for RedbMachine {
    fn power(&self) -> &Power {
        &self.power
    }

    fn open(&self, builder: StoreBuilder) -> Result<AdaptiveStore, StoreError> {
        builder.open_with(RedbEngine::with_backend(Backend(self.clone()))?, self.files.clone())
    }
}

#[test]
fn redb_loses_nothing_that_is_safe() {
    let mut random = Random(1);
    for level in [Durability::Relaxed, Durability::Power] {
        let mut cut = 0;
        for seed in 0..40 {
            let machine = RedbMachine::new();
            machine.power.cut_after(20 + random.below(250) as i64);
            let mut run = Run::new();
            run.go(&machine, level, seed);
            cut += u64::from(machine.power.is_off());
            let after = machine.after_power_cut();
            let context = format!("{level:?}, seed {seed}");
            let store = after.open(builder(level)).unwrap_or_else(|error| panic!("{context}: {error}"));
            run.check(&store, &context);
        }
        assert!(cut > 10, "the power was cut {cut} times");
    }
}
