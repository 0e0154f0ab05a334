//! What every operation must keep, checked after every operation, on sets small enough to check everything.

#![allow(clippy::print_stdout, reason = "tells which seed failed")]

mod exhaustive;
pub(crate) mod failures;
mod hashes;
mod model;
mod rotate;
mod tickets;

use std::collections::{BTreeMap, BTreeSet};

use super::{Adapted, AdaptiveFilter, AdaptiveSet, Query, Record};
use crate::codec::string::Table;
use crate::hash::Hasher;
use crate::mem::Memory;
use crate::reverse_map::{MemoryMap, ReverseMap};

type Set = AdaptiveSet<MemoryMap>;

/// Keys are numbers below this one.
const UNIVERSE: u16 = 160;

/// A set, and all that must be true of it.
struct Checked {
    set: Set,
    /// The members and their tags.
    members: BTreeMap<u16, u64>,
    /// Queries that were mistaken for a member, and must not be again.
    fixed: BTreeSet<(u16, u16)>,
    /// All keys that the filter said maybe to, before the last operation.
    positives: BTreeSet<u16>,
    /// The records since the last snapshot, and that snapshot.
    journal: Vec<u8>,
    snapshot: AdaptiveFilter,
    /// The filter before the first key, and everything that was learned since, by others that were merged too.
    empty: AdaptiveFilter,
    lessons: Vec<Record>,
}

impl Checked {
    fn new(set: Set) -> Self {
        Self {
            snapshot: set.filter().clone(),
            empty: set.filter().clone(),
            lessons: Vec::new(),
            set,
            members: BTreeMap::new(),
            fixed: BTreeSet::new(),
            positives: BTreeSet::new(),
            journal: Vec::new(),
        }
    }

    fn insert(&mut self, key: u16, tag: u64) {
        let new = self.set.insert_tagged(&key, tag).unwrap();
        assert_eq!(new, !self.members.contains_key(&key));
        self.members.insert(key, tag);
        Record::Inserted(self.set.filter().hasher().hash(&key)).write_to(&mut self.journal);
        self.check(true);
    }

    /// Removes a key, with a record of it or without.
    fn remove(&mut self, key: u16, is_recorded: bool) {
        let was = self.set.remove(&key).unwrap();
        self.forget(key, was);
        if was && is_recorded {
            Record::Removed(self.set.filter().hasher().hash(&key)).write_to(&mut self.journal);
        }
        self.check(false);
    }

    /// Removes a key from the map only, as a crash between the two may. The next count finds out.
    fn remove_from_map(&mut self, key: u16) {
        let (filter, mut map) = (self.set.filter().clone(), self.set.map().clone());
        let was = map.remove(filter.hasher().hash(&key), &key.to_le_bytes()).unwrap();
        self.set = Set::from_parts(filter, map);
        self.forget(key, was);
        self.check_promises();
        assert_eq!(self.set.recount().unwrap(), self.members.len() as u64);
        self.check(false);
    }

    fn forget(&mut self, key: u16, was: bool) {
        assert_eq!(was, self.members.remove(&key).is_some());
        self.fixed.retain(|&(_, member)| member != key);
    }

    fn adapt(&mut self, query: u16) {
        let before = self.set.contains(&query);
        match self.set.adapt(&query).unwrap() {
            Adapted::Fixed { .. } => {
                assert!(before && !self.members.contains_key(&query));
                self.learned(query);
            }
            Adapted::WasMember => assert!(self.members.contains_key(&query)),
            Adapted::NotPositive => assert!(!before),
            Adapted::Vanished => panic!("every fingerprint has a key"),
        }
        assert_eq!(self.set.contains(&query), self.members.contains_key(&query));
        self.check(false);
    }

    fn ask(&mut self, query: u16) {
        self.ask_unchecked(query);
        self.check(false);
    }

    fn ask_unchecked(&mut self, query: u16) {
        let before = self.set.contains(&query);
        assert_eq!(self.set.contains_exactly(&query).unwrap(), self.members.contains_key(&query));
        if before && !self.members.contains_key(&query) {
            self.learned(query);
        }
    }

    /// A query was a mistake and is not any more.
    fn learned(&mut self, query: u16) {
        self.fixed.extend(self.members.keys().map(|&member| (query, member)));
        let record = self.set.filter().separate_record(&query).unwrap();
        record.write_to(&mut self.journal);
        self.lessons.push(record);
    }

    fn merge(&mut self, mut other: Checked) {
        self.set.merge_from(&other.set).unwrap();
        self.fixed.append(&mut other.fixed);
        self.lessons.append(&mut other.lessons);
        for (key, tag) in other.members {
            self.members.entry(key).or_insert(tag);
        }
        self.check(true);
        self.take_snapshot();
    }

    fn take_snapshot(&mut self) {
        self.journal.clear();
        self.snapshot = self.set.filter().clone();
    }

    /// As after a crash: the map as it is, the filter from the snapshot and the journal.
    fn recover(&mut self, by_replay: bool) {
        let mut records = Vec::new();
        let mut rest = self.journal.as_slice();
        while !rest.is_empty() {
            records.push(Record::read_from(&mut rest).unwrap());
        }
        let map = self.set.map().clone();
        if by_replay {
            let mut set = Set::from_parts(self.snapshot.clone(), map);
            for record in records.iter().chain(&records) {
                set.replay(record).unwrap();
                set.filter().validate().unwrap();
            }
            set.recount().unwrap();
            self.set = set;
        } else {
            self.set = Set::recover(&self.snapshot, map, records).unwrap();
        }
        // Lost: that a removed key is not positive any more.
        self.check(true);
    }

    /// As after a crash that left the map and the records only.
    fn recover_from_nothing(&mut self) {
        let lessons = self.lessons.clone();
        self.set = Set::recover(&self.empty, self.set.map().clone(), lessons).unwrap();
        self.check(true);
        self.take_snapshot();
    }

    fn save_and_load(&mut self) {
        let hasher = self.set.filter().hasher().clone();
        let file = self.set.filter().to_bytes();
        let view = AdaptiveFilter::view(&file).unwrap();
        view.validate().unwrap();
        let mut filter = AdaptiveFilter::from_bytes(&file).unwrap();
        assert_eq!(filter.to_bytes(), file);
        // These two are not in the file.
        filter.reader = hasher;
        let table = filter.core.table();
        let shape = table.shape().for_part(self.set.filter().core.table().shape().part());
        let bytes = Memory::copy_of(table.bytes()).unwrap();
        let table = Table::from_bytes(bytes, shape, table.used()).unwrap();
        filter.core.set_table(table);
        let map = self.set.map().clone();
        self.set = Set::from_parts(filter, map);
        self.check(false);
    }

    /// Checks everything. `may_rise` if the operation may make keys positive.
    fn check(&mut self, may_rise: bool) {
        self.set.validate().unwrap();
        assert_eq!(self.set.len(), self.members.len() as u64);
        self.check_promises();
        let positives: BTreeSet<u16> = (0..UNIVERSE).filter(|key| self.set.contains(key)).collect();
        assert!(may_rise || positives.is_subset(&self.positives), "new positives out of nothing");
        self.positives = positives;
        self.check_bytes();
    }

    /// Whatever can be written can be read.
    fn check_bytes(&self) {
        let file = self.set.filter().to_bytes();
        match AdaptiveFilter::from_bytes(&file) {
            Ok(read) => assert!(read.to_bytes() == file, "a filter is not the same after reading it"),
            Err(error) => panic!("what was written cannot be read: {error}"),
        }
    }

    /// No false negatives, right tags, and no mistake twice.
    fn check_promises(&self) {
        let filter = self.set.filter();
        let members: Vec<u16> = self.members.keys().copied().collect();
        for (key, tag) in &self.members {
            assert!(filter.contains(key), "a member is not found");
            assert_eq!(filter.tag(key), Some(*tag));
        }
        let mut found = vec![false; UNIVERSE as usize];
        let universe: Vec<u16> = (0..UNIVERSE).collect();
        filter.contains_batch(&universe, &mut found);
        for query in 0..UNIVERSE {
            let positive = match filter.query(&query) {
                Query::Absent => false,
                Query::Maybe(ticket) => {
                    for &member in &members {
                        let meets = ticket.prefix().covers(filter.hasher(), &member);
                        let promised =
                            self.fixed.contains(&(query, member)) && !self.members.contains_key(&query);
                        assert!(!(meets && promised), "{query} is mistaken for {member} again");
                    }
                    true
                }
            };
            assert_eq!((positive, positive), (filter.contains(&query), found[query as usize]));
        }
    }
}

/// Hash functions, bad and good. All words but the first are good.
fn hashers() -> Vec<(&'static str, Hasher)> {
    fn good(bytes: &[u8], index: u32) -> u64 {
        Hasher::fast().word_bytes(bytes, index)
    }
    vec![
        ("good", Hasher::chosen(good)),
        (
            "first block of 8 bits",
            Hasher::chosen(|bytes, index| match index {
                0 => good(bytes, 0) & !(u64::MAX >> 8),
                _ => good(bytes, index),
            }),
        ),
        (
            "first block of 3 bits",
            Hasher::chosen(|bytes, index| match index {
                0 => good(bytes, 0) & !(u64::MAX >> 3),
                _ => good(bytes, index),
            }),
        ),
        (
            "constant first block",
            Hasher::chosen(|bytes, index| match index {
                0 => 0x5555_5555_5555_5555,
                _ => good(bytes, index),
            }),
        ),
        (
            "identity",
            Hasher::chosen(|bytes, index| match index {
                0 => u64::from(bytes[0]) << 56 | u64::from(bytes[1]) << 48,
                _ => 0,
            }),
        ),
        (
            "six bits at the end of the first block",
            Hasher::chosen(|bytes, index| match index {
                0 => good(bytes, 0) >> 58,
                _ => good(bytes, index),
            }),
        ),
    ]
}
