//! What every operation must keep, checked after every operation, on lists small enough to check everything.

#![allow(clippy::print_stdout, reason = "tells which seed failed")]

mod cases;
mod exhaustive;
mod failures;
mod model;

use std::collections::{BTreeMap, BTreeSet};

use twiceshy_testkit::Random;
use twiceshy_testkit::weak::WORDS;

use super::{ListFilter, YesNoList};
use crate::adaptive::{Adapted, Record};
use crate::error::SetError;
use crate::hash::Hasher;
use crate::list::Answer;
use crate::reverse_map::MemoryMap;

type List = YesNoList<MemoryMap>;

/// Keys are numbers below this one.
const UNIVERSE: u16 = 160;

/// Hash functions that are bad in their first words, and a good one.
fn hashers() -> impl Iterator<Item = (&'static str, Hasher)> {
    WORDS.into_iter().map(|(name, word)| (name, Hasher::chosen(word)))
}

/// A list, and all that must be true of it.
struct Checked {
    list: List,
    /// Which list every key is on.
    keys: BTreeMap<u16, Answer>,
    /// Queries that were mistaken for a YES key, and must not be again.
    fixed: BTreeSet<(u16, u16)>,
    /// All keys that were answered yes before the last operation.
    positives: BTreeSet<u16>,
    /// The filter from before, and what has happened since.
    snapshot: ListFilter,
    journal: Vec<Record>,
}

impl Checked {
    fn new(list: List) -> Self {
        let (keys, fixed, positives) = (BTreeMap::new(), BTreeSet::new(), BTreeSet::new());
        Self { snapshot: list.filter().clone(), list, keys, fixed, positives, journal: Vec::new() }
    }

    fn hash(&self, key: u16) -> u64 {
        self.list.filter().hasher().hash(&key)
    }

    /// Puts a key on a list, or finds that it is on the other one.
    fn add(&mut self, key: u16, list: Answer) {
        let added = match list {
            Answer::Yes => self.list.add_yes(&key),
            Answer::No => self.list.add_no(&key),
        };
        match self.keys.get(&key) {
            None => {
                assert!(added.unwrap());
                self.put(key, list);
            }
            Some(other) if *other == list => assert!(!added.unwrap()),
            Some(_) => {
                let key = key.to_le_bytes();
                assert!(matches!(added, Err(SetError::OnBothLists(both)) if both.key == key));
            }
        }
        self.check(list.is_yes());
    }

    fn move_to(&mut self, key: u16, list: Answer) {
        let was_on = match list {
            Answer::Yes => self.list.move_to_yes(&key),
            Answer::No => self.list.move_to_no(&key),
        };
        assert_eq!(was_on.unwrap(), self.keys.get(&key).copied());
        self.put(key, list);
        self.check(list.is_yes());
    }

    /// Notes that a key is on a list now.
    fn put(&mut self, key: u16, list: Answer) {
        if self.keys.insert(key, list) == Some(Answer::Yes) && list.is_no() {
            self.fixed.retain(|&(_, yes)| yes != key);
        }
        self.journal.push(Record::Inserted(self.hash(key)));
    }

    /// Removes a key, with a record of it or without.
    fn remove(&mut self, key: u16, is_recorded: bool) {
        let was_on = self.list.remove(&key).unwrap();
        assert_eq!(was_on, self.keys.remove(&key));
        self.fixed.retain(|&(_, yes)| yes != key);
        if was_on.is_some() && is_recorded {
            self.journal.push(Record::Removed(self.hash(key)));
        }
        self.check(false);
    }

    fn adapt(&mut self, key: u16) {
        let (before, is_yes) = (self.list.query(&key).is_yes(), self.is_yes(key));
        match self.list.adapt(&key).unwrap() {
            Adapted::Fixed { .. } => {
                assert!(before && !self.keys.contains_key(&key));
                self.learned(key);
            }
            Adapted::WasMember => assert!(is_yes),
            Adapted::NotPositive => assert!(!before),
            Adapted::Vanished => panic!("every fingerprint has a key"),
        }
        assert_eq!(self.list.query(&key).is_yes(), is_yes);
        self.check(false);
    }

    fn ask(&mut self, key: u16) {
        let (before, is_yes) = (self.list.query(&key).is_yes(), self.is_yes(key));
        assert_eq!(self.list.query_exactly(&key).unwrap().is_yes(), is_yes);
        if before && !is_yes {
            self.learned(key);
        }
        self.check(false);
    }

    /// A query was a mistake and is not any more.
    fn learned(&mut self, query: u16) {
        let yes = self.keys.iter().filter(|(_, list)| list.is_yes());
        self.fixed.extend(yes.map(|(&yes, _)| (query, yes)));
        self.journal.push(self.list.filter().separate_record(&query).unwrap());
    }

    fn is_yes(&self, key: u16) -> bool {
        self.keys.get(&key) == Some(&Answer::Yes)
    }

    fn take_snapshot(&mut self) {
        self.journal.clear();
        self.snapshot = self.list.filter().clone();
    }

    /// As after a crash: the map as it is, the filter from the snapshot and the journal.
    fn recover(&mut self, by_replay: bool) {
        let map = self.list.map().clone();
        if by_replay {
            self.list = List::from_parts(self.snapshot.clone(), map);
            for record in self.journal.iter().chain(&self.journal) {
                self.list.replay(record).unwrap();
                self.list.filter().validate().unwrap();
            }
            self.list.recount().unwrap();
        } else {
            self.list = List::recover(&self.snapshot, map, self.journal.clone()).unwrap();
        }
        self.check(true);
    }

    /// Takes in another list, unless a key is on both lists then.
    fn merge(&mut self, mut other: Self) {
        let (filter, map) = (self.list.filter().to_bytes(), self.list.map().clone());
        let is_against = |(key, list): (&u16, &Answer)| self.keys.get(key).is_some_and(|mine| mine != list);
        let merged = self.list.merge_from(&other.list);
        if other.keys.iter().any(is_against) {
            assert!(matches!(merged, Err(SetError::OnBothLists(_))));
            assert!(
                self.list.filter().to_bytes() == filter && *self.list.map() == map,
                "an error left a trace"
            );
            return self.check(false);
        }
        merged.unwrap();
        self.keys.append(&mut other.keys);
        self.fixed.append(&mut other.fixed);
        self.check(true);
        self.take_snapshot();
    }

    /// Writes it to a file and reads it again.
    fn save_and_load(&mut self) {
        let mut file = Vec::new();
        self.list.write_to(&mut file).unwrap();
        // A chosen hash is not in the file, and the rows are not in the order of another one.
        let filter = ListFilter::from_bytes(&self.list.filter().to_bytes()).unwrap();
        assert_eq!(filter.to_bytes(), self.list.filter().to_bytes());
        assert_eq!(file[..filter.to_bytes().len()], filter.to_bytes());
        let core = filter.into_core().0;
        let filter = ListFilter::from_core(core, self.list.filter().reader.clone());
        self.list = List::from_parts(filter, self.list.map().clone());
        self.check(false);
    }

    /// Checks everything. `may_rise` if the operation may make keys positive.
    fn check(&mut self, may_rise: bool) {
        let list = &self.list;
        list.validate().unwrap();
        let count = |answer| self.keys.values().filter(|list| **list == answer).count() as u64;
        assert_eq!((list.yes_len(), list.no_len().unwrap()), (count(Answer::Yes), count(Answer::No)));
        assert_eq!(list.iter().count(), self.keys.len());
        let universe: Vec<u16> = (0..UNIVERSE).collect();
        let mut answers = vec![Answer::No; universe.len()];
        list.query_batch(&universe, &mut answers);
        for (&key, answer) in universe.iter().zip(&answers) {
            assert_eq!(list.query(&key), *answer);
            let is_on = self.keys.get(&key);
            assert_eq!(list.lookup(&key).unwrap().as_ref(), is_on);
            if let Some(is_on) = is_on {
                assert_eq!(answer, is_on, "{key} is on this list, and answered otherwise");
                continue;
            }
            let Some(ticket) = list.filter().ticket(&key) else { continue };
            for &(_, yes) in self.fixed.range((key, 0)..=(key, u16::MAX)) {
                let is_met = ticket.prefix().covers(list.filter().hasher(), &yes);
                assert!(!(is_met && self.is_yes(yes)), "{key} is mistaken for {yes} again");
            }
        }
        let positives = universe.into_iter().zip(answers).filter(|(_, answer)| answer.is_yes());
        let positives: BTreeSet<u16> = positives.map(|(key, _)| key).collect();
        assert!(may_rise || positives.is_subset(&self.positives), "new positives out of nothing");
        self.positives = positives;
    }
}
