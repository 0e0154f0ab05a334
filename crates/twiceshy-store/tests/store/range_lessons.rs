//! Ranges of several partitions that were mistakes, after crashes.
//!
//! A range is mistaken in one partition and right in the others, often because of fingerprints that are longer than those of a
//! filter that is built from the rows. So it stays right only if all of its parts are in the journal.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;

use crate::common::{Disk, SNAPSHOT};
use crate::tested::under_the_fingerprint_of;
use twiceshy::hash::HashKey;
use twiceshy::{AdaptiveRangeFilter, Hasher};
use twiceshy_store::ordered::OrderedBuilder;
use twiceshy_store::{OrderedStore, Recovery};
use twiceshy_testkit::Random;

const UNIVERSE: u64 = 512;

/// When each key came, and when each range was fixed.
#[derive(Default)]
struct Model {
    time: u64,
    keys: BTreeMap<u32, u64>,
    fixed: Vec<(RangeInclusive<u32>, u64)>,
}

impl Model {
    fn is_empty(&self, range: &RangeInclusive<u32>) -> bool {
        self.keys.range(range.clone()).next().is_none()
    }

    fn ask(&mut self, store: &OrderedStore<u32>, range: RangeInclusive<u32>) {
        let was_positive = store.may_contain_range(range.clone()).unwrap();
        assert_eq!(store.contains_range(range.clone()).unwrap(), !self.is_empty(&range), "{range:?}");
        store.settle();
        if was_positive && !store.may_contain_range(range.clone()).unwrap() {
            self.fixed.push((range, self.time));
        }
    }

    /// Tells how many ranges were looked at.
    fn check(&self, store: &OrderedStore<u32>, context: &str) -> usize {
        let rows: Vec<u32> = store.iter().map(|row| row.unwrap().0).collect();
        assert!(rows.iter().eq(self.keys.keys()), "{context}");
        assert!(rows.iter().all(|key| store.may_contain(key).unwrap()), "{context}: a key is lost");
        store.verify().unwrap_or_else(|error| panic!("{context}: {error}"));
        let again = |filter: &AdaptiveRangeFilter<u32>, range: &RangeInclusive<u32>, time: u64| {
            let old: Vec<u32> =
                self.keys.iter().filter(|(_, since)| **since <= time).map(|(key, _)| *key).collect();
            filter
                .coded_parts(range.clone())
                .find_map(|part| old.iter().copied().find(under_the_fingerprint_of(filter, &part)))
        };
        let fixed = self.fixed.iter().filter(|(range, _)| self.is_empty(range));
        fixed
            .map(|(range, time)| {
                let again = store.with_filter(|filter| again(filter, range, *time)).unwrap();
                assert!(again.is_none(), "{context}: {range:?} is mistaken for {again:?} again");
            })
            .count()
    }
}

#[test]
fn a_range_that_was_fixed_stays_fixed_in_all_its_parts() {
    let (mut replayed, mut rebuilt, mut checked) = (0, 0, 0);
    for seed in 0..twiceshy_testkit::effort::times("TWICESHY_STEPS", 60) {
        let mut random = Random(seed);
        let hasher = Hasher::keyed(HashKey::from_bytes([seed as u8; 16]));
        let builder: OrderedBuilder<u32> = OrderedStore::builder()
            .error_rate(0.95)
            .capacity(1)
            .hasher(hasher)
            .max_range(1 << random.below(5));
        // Either it is saved now and then, or its only snapshot, which is of an empty store, gets lost.
        let is_saved = seed % 2 == 0;
        let builder = if is_saved { builder.save_after(20 + random.below(100)) } else { builder };
        let (mut model, mut disk) = (Model::default(), Disk::new());
        let mut store = disk.open(builder.clone()).unwrap();
        for _ in 0..60 {
            model.time += 1;
            let key = random.below(UNIVERSE) as u32;
            match random.below(12) {
                0..=4 => {
                    for _ in 0..=random.below(4) {
                        let key = random.below(UNIVERSE) as u32;
                        store.insert(&key, "v").unwrap();
                        model.keys.entry(key).or_insert(model.time);
                    }
                }
                5 => assert_eq!(store.remove(&key).unwrap(), model.keys.remove(&key).is_some()),
                // A key that goes and comes back.
                6 => {
                    let key = model.keys.range(key..).next().map(|(key, _)| *key);
                    if let Some(key) = key.filter(|key| store.remove(key).unwrap()) {
                        store.insert(&key, "again").unwrap();
                        model.keys.insert(key, model.time);
                    }
                }
                7..=9 => {
                    for _ in 0..8 {
                        let start = random.below(UNIVERSE) as u32;
                        model.ask(&store, start..=start + random.below(40) as u32);
                    }
                }
                crash => {
                    store.flush().unwrap();
                    let after = if crash == 10 { disk.after_kill() } else { disk.after_power_cut(0) };
                    if !is_saved && *store.recovery() == Recovery::Created {
                        after.files.edit(SNAPSHOT, Vec::clear);
                    }
                    drop(std::mem::replace(&mut store, after.open(builder.clone()).unwrap()));
                    disk = after;
                    match store.recovery() {
                        Recovery::Replayed { .. } => replayed += 1,
                        Recovery::Rebuilt { .. } => rebuilt += 1,
                        _ => (),
                    }
                    checked += model.check(&store, &format!("seed {seed}, {:?}", store.recovery()));
                }
            }
        }
    }
    println!("{replayed} replayed, {rebuilt} rebuilt, {checked} ranges checked");
    assert!(replayed > 100 && rebuilt > 20 && checked > 1_000, "{replayed}, {rebuilt}, {checked}");
}
