//! The power is cut at every single step of engine and files, and everything that was not synced is lost.

use std::collections::BTreeMap;

use std::io;
use std::sync::{Arc, Mutex};

use crate::common::{Disk, Model, Power};
use crate::tested::{Choose, Tested};
use redb::StorageBackend;
use twiceshy_store::engine::RedbEngine;
use twiceshy_store::testing::MemoryFiles;
use twiceshy_store::{AdaptiveStore, Durability, OrderedStore, Recovery, StoreError, YesNoStore};
use twiceshy_testkit::Random;

const OPERATIONS: u64 = 40;

fn builder<S: Tested>(level: Durability) -> S::Builder {
    // A filter that is often wrong: there is a lot to learn. Saved in the background now and then.
    S::chosen(0.3, 7).with_durability(level).with_save_after(7)
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
    fn go<S: Tested>(&mut self, disk: &impl Machine, level: Durability, seed: u64) {
        let mut random = Random(seed);
        let Ok(mut store) = disk.open(builder::<S>(level)) else { return };
        for _ in 0..OPERATIONS {
            let mut next = self.now().clone();
            let chosen = random.below(10);
            let (number, value) = (random.below(30), S::kept(random.next().to_le_bytes().to_vec()));
            let done = match chosen {
                0..=2 => {
                    next.insert(S::key(number), value.clone());
                    self.possible.push(next);
                    store.put(&S::key(number), &value).map(|_| ())
                }
                3 => {
                    let rows: Vec<_> =
                        (number..number + 5).map(|number| (S::key(number), value.clone())).collect();
                    rows.iter().for_each(|(key, value)| next.insert(key.clone(), value.clone()));
                    self.possible.push(next);
                    store.put_all(&rows).map(|_| ())
                }
                4 => {
                    next.remove(&S::key(number));
                    self.possible.push(next);
                    store.take_out(&S::key(number)).map(|_| ())
                }
                5..=7 => {
                    for number in number..number + S::AT_A_TIME {
                        let query = S::stranger(number);
                        let was_positive = store.is_positive(&query);
                        store.ask(&query).unwrap();
                        if was_positive && !store.is_positive(&query) {
                            next.fix(query);
                        }
                    }
                    *self.possible.last_mut().unwrap() = next;
                    continue;
                }
                8 => match store.flushed() {
                    Ok(()) => {
                        self.all_is_safe();
                        continue;
                    }
                    failed => failed,
                },
                _ => match store.closed() {
                    Ok(()) => {
                        self.all_is_safe();
                        let Ok(opened) = disk.open(builder::<S>(level)) else { return };
                        assert!(
                            matches!(opened.recovered(), Recovery::Clean),
                            "{:?} after closing",
                            opened.recovered()
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
            // What changes no row may write nothing, and then lessons are not safe yet.
            let [.., before, after] = &self.possible[..] else { continue };
            if level == Durability::Power && before.rows != after.rows {
                self.all_is_safe();
            }
        }
    }

    /// Checks a store that was opened again.
    fn check(&self, store: &impl Tested, context: &str) {
        let found = store.rows();
        let model = self.possible.iter().rev().find(|model| model.rows == found);
        let model = model.unwrap_or_else(|| panic!("{context}: rows that there never were: {found:?}"));
        for (key, value) in &found {
            assert_eq!(store.value(key).as_ref(), Some(value), "{context}");
        }
        let verified = store.verified().unwrap_or_else(|error| panic!("{context}: {error}"));
        assert_eq!(verified.keys, found.len() as u64);
        assert_eq!(store.approximate(), found.len() as u64, "{context}");
        // What came after the safe point cannot be told from before.
        model.check_mistakes(store, &self.safe_fixed);
    }
}

/// Tells how many steps there were, and how many mistakes were fixed.
fn cut_at_every_step<S: Tested>(level: Durability, seed: u64) -> (usize, usize) {
    // How many steps there are.
    let disk = Disk::new();
    disk.power.cut_after(i64::MAX);
    let mut whole = Run::new();
    whole.go::<S>(&disk, level, seed);
    for step in 0.. {
        let disk = Disk::new();
        disk.power.cut_after(step);
        let mut run = Run::new();
        run.go::<S>(&disk, level, seed);
        let is_over = !disk.power.is_off();
        let unsafe_batches = disk.unsafe_batches();
        for kept in [0, unsafe_batches / 2, unsafe_batches] {
            let context = format!("{level:?}, seed {seed}, step {step}, {kept} batches kept");
            let after = disk.after_power_cut(kept);
            let store = after.open(builder::<S>(level)).unwrap_or_else(|error| panic!("{context}: {error}"));
            run.check(&store, &context);
            // And it goes on working.
            let works = S::kept(b"it works".to_vec());
            store.put(&S::key(1_000), &works).unwrap();
            drop(store);
            let store = after.open(builder::<S>(level)).unwrap();
            assert_eq!(store.value(&S::key(1_000)), Some(works));
            store.verified().unwrap();
        }
        let after = disk.after_kill();
        let store = after.open(builder::<S>(level)).unwrap();
        run.check(&store, &format!("{level:?}, seed {seed}, killed at step {step}"));
        if is_over {
            assert!(whole.reopened > 0, "the run is too tame");
            return (step as usize, whole.now().fixed.len());
        }
    }
    unreachable!()
}

fn cut<S: Tested>(level: Durability, seeds: std::ops::Range<u64>) {
    let mut all_fixed = 0;
    for seed in seeds {
        let (steps, fixed) = cut_at_every_step::<S>(level, seed);
        assert!(steps > 40 || level != Durability::Power, "only {steps} steps");
        all_fixed += fixed;
    }
    assert!(all_fixed > 4, "only {all_fixed} mistakes were fixed");
}

#[test]
fn nothing_that_is_safe_is_lost() {
    cut::<AdaptiveStore>(Durability::Power, 0..4);
}

#[test]
fn nothing_that_is_safe_is_lost_in_order() {
    cut::<OrderedStore<u32>>(Durability::Power, 0..4);
}

#[test]
fn writes_that_are_not_synced_are_lost_from_the_end() {
    cut::<AdaptiveStore>(Durability::Process, 10..14);
}

#[test]
fn writes_that_are_not_synced_are_lost_from_the_end_in_order() {
    cut::<OrderedStore<u32>>(Durability::Process, 10..14);
}

#[test]
fn nothing_that_is_safe_is_lost_on_lists() {
    cut::<YesNoStore>(Durability::Power, 0..4);
}

#[test]
fn writes_that_are_not_synced_are_lost_from_the_end_on_lists() {
    cut::<YesNoStore>(Durability::Process, 10..14);
}

/// What loses its power.
trait Machine {
    fn power(&self) -> &Power;
    fn open<B: Choose>(&self, builder: B) -> Result<B::Store, StoreError>;
}

impl Machine for Disk {
    fn power(&self) -> &Power {
        &self.power
    }

    fn open<B: Choose>(&self, builder: B) -> Result<B::Store, StoreError> {
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

    fn open<B: Choose>(&self, builder: B) -> Result<B::Store, StoreError> {
        builder.open_on(RedbEngine::with_backend(Backend(self.clone()))?, self.files.clone())
    }
}

#[test]
fn redb_loses_nothing_that_is_safe() {
    cut_redb::<AdaptiveStore>();
    cut_redb::<OrderedStore<u32>>();
    cut_redb::<YesNoStore>();
}

fn cut_redb<S: Tested>() {
    let mut random = Random(1);
    for level in [Durability::Relaxed, Durability::Power] {
        let mut cut = 0;
        for seed in 0..40 {
            let machine = RedbMachine::new();
            machine.power.cut_after(20 + random.below(250) as i64);
            let mut run = Run::new();
            run.go::<S>(&machine, level, seed);
            cut += u64::from(machine.power.is_off());
            let after = machine.after_power_cut();
            let context = format!("{level:?}, seed {seed}");
            let store = after.open(builder::<S>(level)).unwrap_or_else(|error| panic!("{context}: {error}"));
            run.check(&store, &context);
        }
        assert!(cut > 10, "the power was cut {cut} times");
    }
}
