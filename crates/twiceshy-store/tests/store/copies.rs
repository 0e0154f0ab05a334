//! Copies of a store that go their own ways, and files that are moved between them: a snapshot is believed only where it
//! was made.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use crate::common::{Disk, SNAPSHOT, key, read_file, write_file};
use crate::tested::{Choose, Tested};
use twiceshy::Hasher;
use twiceshy::hash::HashKey;
use twiceshy_store::{
    AdaptiveStore, Durability, EngineKind, OrderedStore, Recovery, StoreBuilder, StoreError, YesNoStore,
};
use twiceshy_testkit::{Random, copy_folder};

fn builder() -> StoreBuilder {
    let hasher = Hasher::keyed(HashKey::from_bytes([9; 16]));
    AdaptiveStore::builder().error_rate(0.001).capacity(10).hasher(hasher)
}

/// Any store that is hardly ever wrong.
fn chosen<S: Tested>() -> S::Builder {
    S::chosen(0.001, 9)
}

fn insert(store: &AdaptiveStore, numbers: std::ops::Range<u64>) {
    for number in numbers {
        store.insert(&key(number), "v").unwrap();
    }
}

/// How many of these keys are not found.
fn missing(store: &AdaptiveStore, numbers: impl Iterator<Item = u64>) -> usize {
    numbers.filter(|&number| !store.contains_key(&key(number)).unwrap()).count()
}

/// Two copies go on, one is killed, and the snapshot of the other is moved there.
#[test]
fn a_snapshot_of_another_copy_is_not_taken() {
    let folder = tempfile::tempdir().unwrap();
    for &kind in EngineKind::ALL {
        let [original, copy, killed] =
            ["original", "copy", "killed"].map(|name| folder.path().join(format!("{name} {}", kind.name())));
        let store = builder().engine(kind).open(&original).unwrap();
        insert(&store, 0..200);
        store.close().unwrap();
        copy_folder(&original, &copy);

        let store = builder().open(&original).unwrap();
        insert(&store, 1_000..1_050);
        store.close().unwrap();
        let store = builder().open(&copy).unwrap();
        insert(&store, 2_000..2_080);
        copy_folder(&copy, &killed);
        drop(store);
        fs::copy(original.join(SNAPSHOT), killed.join(SNAPSHOT)).unwrap();

        let store = builder().open(&killed).unwrap();
        assert_eq!(missing(&store, (0..200).chain(2_000..2_080)), 0, "{:?}", store.recovery());
        store.verify().unwrap();
        assert!(
            matches!(store.recovery(), Recovery::Rebuilt { why } if why.contains("another copy")),
            "{:?}",
            store.recovery()
        );
    }
}

/// A snapshot of an opening stays good for the next ones, whether or not they write anything.
#[test]
fn a_snapshot_is_good_for_many_openings() {
    let disk = Disk::new();
    let store = disk.open(builder()).unwrap();
    insert(&store, 0..20);
    store.close().unwrap();
    let snapshot = read_file(&disk.files, SNAPSHOT);
    for _ in 0..3 {
        let store = disk.open(builder()).unwrap();
        assert_eq!(*store.recovery(), Recovery::Clean);
        store.close().unwrap();
        assert!(read_file(&disk.files, SNAPSHOT) == snapshot, "it was written again for nothing");
    }
    // Each opening is killed: its journal goes on where that of the last one ended.
    let mut disk = disk;
    for round in 1..6 {
        let store = disk.open(builder()).unwrap();
        insert(&store, round * 100..round * 100 + 5);
        let killed = disk.copy();
        drop(store);
        disk = killed;
        let store = disk.copy().open(builder()).unwrap();
        assert_eq!(*store.recovery(), Recovery::Replayed { records: round * 5 });
        assert_eq!(store.verify().unwrap().keys, 20 + round * 5);
    }
}

/// The first write of an opening fails, so its number has no row, and the next row says that another history has begun.
/// A snapshot of another copy with one of these numbers is not taken.
#[test]
fn a_history_begins_with_the_first_write_that_works() {
    for more in 0..3 {
        let original = Disk::new();
        let store = original.open(builder()).unwrap();
        insert(&store, 0..10);
        let copy = original.copy();
        assert!(store.remove(&key(3)).unwrap());
        insert(&store, 100..100 + more);
        store.close().unwrap();

        let store = copy.open(builder()).unwrap();
        copy.power.cut_after(0);
        assert!(store.insert(&key(10), "v").is_err());
        copy.power.cut_after(-1);
        insert(&store, 11..20);
        let copy = copy.copy();
        drop(store);
        write_file(&copy.files, SNAPSHOT, &read_file(&original.files, SNAPSHOT).unwrap());
        let store = copy.open(builder()).unwrap();
        assert_eq!(missing(&store, (0..10).chain(11..20)), 0, "{more}: {:?}", store.recovery());
    }
}

/// A write that failed without saying that it was carried out is counted when the store is opened again.
#[test]
fn a_write_without_an_answer_is_heeded() {
    let disk = Disk::new();
    let store = disk.open(builder().durability(Durability::Power)).unwrap();
    insert(&store, 0..10);
    // It is written, but not synced.
    disk.power.cut_after(1);
    assert!(store.insert(&key(10), "v").is_err());
    disk.power.cut_after(-1);
    store.close().unwrap();
    let store = disk.open(builder()).unwrap();
    assert_eq!(store.approximate_len(), 11);
    assert_eq!(store.verify().unwrap().keys, 11);
}

/// A snapshot that is of no use stays if no other can be written. That fails nobody, and it is not believed later, either.
#[test]
fn a_snapshot_that_cannot_be_replaced_does_no_harm() {
    let original = Disk::new();
    let store = original.open(builder()).unwrap();
    insert(&store, 0..10);
    let mut copy = original.copy();
    insert(&store, 10..20);
    store.close().unwrap();
    write_file(&copy.files, SNAPSHOT, &read_file(&original.files, SNAPSHOT).unwrap());
    for round in 1..4 {
        copy.power.cut_after(0);
        let store = copy.open(builder()).unwrap();
        copy.power.cut_after(-1);
        assert!(matches!(store.recovery(), Recovery::Rebuilt { .. }), "{:?}", store.recovery());
        // As many as the other copy has, and then more.
        insert(&store, round * 100..round * 100 + 5);
        let killed = copy.copy();
        drop(store);
        copy = killed;
    }
    let store = copy.open(builder()).unwrap();
    assert_eq!(missing(&store, (0..10).chain(100..105).chain(200..205).chain(300..305)), 0);
    store.close().unwrap();
    assert_eq!(*copy.open(builder()).unwrap().recovery(), Recovery::Clean);
}

/// One of several copies of a store.
struct Copy<S> {
    disk: Disk,
    store: Option<S>,
    /// What was acknowledged.
    rows: BTreeMap<Vec<u8>, Vec<u8>>,
    /// Keys whose last write failed: it may have been carried out or not.
    unsure: BTreeSet<Vec<u8>>,
}

/// How often stores were opened in which way.
#[derive(Debug, Default)]
struct Openings {
    clean: u64,
    replayed: u64,
    rebuilt: u64,
    of_another_copy: u64,
}

impl<S: Tested> Copy<S> {
    /// The same folder in another place.
    fn copy(&self) -> Self {
        Self { disk: self.disk.copy(), store: None, rows: self.rows.clone(), unsure: self.unsure.clone() }
    }

    /// Leaves the folder as it is now. What the store writes while it is dropped goes elsewhere.
    fn kill(&mut self) {
        self.disk = self.disk.copy();
        self.store = None;
    }

    fn open(&mut self, level: Durability, save_after: u64, openings: &mut Openings, context: &str) {
        if self.store.is_some() {
            return;
        }
        let builder = chosen::<S>().with_durability(level).with_save_after(save_after);
        let store = self.disk.open(builder).unwrap_or_else(|error| panic!("{context}: {error}"));
        match store.recovered() {
            Recovery::Clean => openings.clean += 1,
            Recovery::Replayed { .. } => openings.replayed += 1,
            Recovery::Rebuilt { why } if why.contains("another copy") => openings.of_another_copy += 1,
            _ => openings.rebuilt += 1,
        }
        self.check(&store, context);
        self.store = Some(store);
    }

    /// Every key that was acknowledged is found, and nothing else is there.
    fn check(&mut self, store: &S, context: &str) {
        let context = format!("{context}, {:?}", store.recovered());
        let found = store.rows();
        let sure = |rows: &BTreeMap<Vec<u8>, Vec<u8>>| -> BTreeMap<_, _> {
            rows.iter()
                .filter(|(key, _)| !self.unsure.contains(*key))
                .map(|(k, v)| (k.clone(), v.clone()))
                .collect()
        };
        assert_eq!(sure(&found), sure(&self.rows), "{context}");
        for (key, value) in &found {
            assert!(store.may_have(key), "{context}: the filter lost {}", key.escape_ascii());
            assert_eq!(store.value(key).as_ref(), Some(value), "{context}");
        }
        assert_eq!(
            store.verified().unwrap_or_else(|error| panic!("{context}: {error}")).keys,
            found.len() as u64
        );
        self.rows = found;
        self.unsure.clear();
    }

    /// A write of some keys, sometimes in vain.
    fn write(&mut self, random: &mut Random) {
        let Some(store) = &self.store else { return };
        let (number, value) = (random.below(40), S::kept(random.next().to_le_bytes().to_vec()));
        if random.below(8) == 0 {
            self.disk.power.cut_after(random.below(2) as i64);
        }
        let (keys, done): (Vec<_>, Result<(), StoreError>) = match random.below(4) {
            0 => (vec![S::key(number)], store.take_out(&S::key(number)).map(|_| ())),
            1 => {
                let keys: Vec<_> = (number..number + 5).map(S::key).collect();
                let rows: Vec<_> = keys.iter().map(|key| (key.clone(), value.clone())).collect();
                (keys, store.put_all(&rows).map(|_| ()))
            }
            chosen => {
                let number = number + chosen % 2;
                (vec![S::key(number)], store.put(&S::key(number), &value).map(|_| ()))
            }
        };
        let is_removal = done.is_ok() && keys.len() == 1 && store.value(&keys[0]).is_none();
        self.disk.power.cut_after(-1);
        for key in keys {
            match done {
                Err(_) => drop(self.unsure.insert(key)),
                Ok(()) if is_removal => drop(self.rows.remove(&key)),
                Ok(()) => drop(self.rows.insert(key, value.clone())),
            }
        }
    }
}

/// Copies are made at any time and go on, snapshots and engines are put in place of others, old ones, too, processes are
/// killed, the power is cut: every key that was acknowledged is found by every opening.
#[test]
fn whatever_is_copied_nothing_is_lost() {
    copy_and_go_on::<AdaptiveStore>();
}

#[test]
fn whatever_is_copied_nothing_is_lost_in_order() {
    copy_and_go_on::<OrderedStore<u32>>();
}

#[test]
fn whatever_is_copied_nothing_is_lost_on_lists() {
    copy_and_go_on::<YesNoStore>();
}

fn copy_and_go_on<S: Tested>() {
    let mut openings = Openings::default();
    for seed in 0..500 {
        go_own_ways::<S>(seed, &mut openings);
    }
    println!("{openings:?}");
    let Openings { clean, replayed, rebuilt, of_another_copy } = openings;
    assert!([clean, replayed, rebuilt, of_another_copy].iter().all(|&times| times > 100), "too tame");
}

fn go_own_ways<S: Tested>(seed: u64, openings: &mut Openings) {
    let mut random = Random(seed);
    let level = [Durability::Process, Durability::Power][random.below(2) as usize];
    let save_after = [3, 20, 1_000][random.below(3) as usize];
    let first = Copy::<S> { disk: Disk::new(), store: None, rows: BTreeMap::new(), unsure: BTreeSet::new() };
    // It is made before it is copied.
    first.disk.open(chosen::<S>()).unwrap().closed().unwrap();
    let mut copies = vec![first];
    // All snapshots that there ever were, and old states of engines.
    let (mut snapshots, mut backups) = (Vec::new(), Vec::new());
    for step in 0..80 {
        let context = format!("seed {seed}, step {step}");
        let (chosen, other) = (random.below(copies.len() as u64), random.below(copies.len() as u64));
        let has_room = copies.len() < 3;
        let copy = &mut copies[chosen as usize];
        match random.below(19) {
            0..=5 => {
                copy.open(level, save_after, openings, &context);
                copy.write(&mut random);
            }
            6 => {
                if let Some(store) = &copy.store {
                    (0..20).for_each(|number| store.ask(&S::stranger(number)).unwrap());
                    store.flushed().unwrap();
                }
            }
            7 | 8 => {
                if let Some(store) = copy.store.take() {
                    store.closed().unwrap();
                }
            }
            9 => copy.kill(),
            10 if level == Durability::Power => {
                let kept = random.below(copy.disk.unsafe_batches() as u64 + 1) as usize;
                copy.disk = copy.disk.after_power_cut(kept);
                copy.store = None;
            }
            10 | 11 => copy.open(level, save_after, openings, &context),
            12 if has_room => {
                let new = copy.copy();
                copies.push(new);
            }
            12 => copies[chosen as usize] = copies[other as usize].copy(),
            13 => {
                let snapshot = read_file(&copies[other as usize].disk.files, SNAPSHOT);
                snapshots.extend(snapshot);
                backups.push(copies[other as usize].copy());
            }
            14..=16 if chosen != other => {
                let snapshot = read_file(&copies[other as usize].disk.files, SNAPSHOT).unwrap();
                copies[chosen as usize].kill();
                write_file(&copies[chosen as usize].disk.files, SNAPSHOT, &snapshot);
            }
            17 if !snapshots.is_empty() => {
                let snapshot = &snapshots[random.below(snapshots.len() as u64) as usize];
                write_file(&copy.disk.files, SNAPSHOT, snapshot);
            }
            _ if !backups.is_empty() => {
                let backup = &backups[random.below(backups.len() as u64) as usize];
                let disk = copy.disk.with_engine_of(&backup.disk);
                *copy = Copy { disk, ..backup.copy() };
            }
            _ => (),
        }
    }
    for copy in &mut copies {
        copy.kill();
        copy.open(level, save_after, openings, &format!("seed {seed}, at the end"));
    }
}
