//! Random operations on tiny lists with badly distributed hashes. After every operation everything is compared with a model:
//! which list every key is on, that no listed key is answered wrongly, the pairs that must not collide again, the structure of
//! filter and map, and that an error changed nothing.

#![no_main]

use std::collections::{BTreeMap, BTreeSet};
use std::convert::Infallible;

use arbitrary::Arbitrary;
use libfuzzer_sys::fuzz_target;
use twiceshy::adaptive::{Growth, Record};
use twiceshy::error::SetError;
use twiceshy::list::{Answer, ListFilter};
use twiceshy::reverse_map::MemoryMap;
use twiceshy::{Hasher, YesNoList};
use twiceshy_testkit::weak;

const MAX_OPERATIONS: usize = 48;

type List = YesNoList<MemoryMap>;
type Outcome = Result<bool, SetError<Infallible>>;

#[derive(Arbitrary, Debug)]
struct Case {
    shape: Shape,
    /// Which of the hash functions of [`weak::WORDS`].
    hash: u8,
    operations: Vec<Operation>,
}

#[derive(Arbitrary, Debug, Clone, Copy)]
struct Shape {
    quotient_bits: u8,
    remainder_bits: u8,
    growth: Limit,
    limits: Option<(u8, u8)>,
}

#[derive(Arbitrary, Debug, Clone, Copy)]
enum Limit {
    Grow,
    GrowTo(u8),
    Refuse,
}

#[derive(Arbitrary, Debug)]
enum Operation {
    Add(u8, bool),
    AddMany(u8, u8, bool),
    Move(u8, bool),
    Remove(u8),
    Ask(u8),
    AskAll,
    Grow,
    Shrink,
    Rejuvenate,
    TakeSnapshot,
    Recover,
    Replay,
    Merge(Shape, Vec<(u8, bool, u8)>),
    /// A list of the same keys, made at once.
    Load,
}

impl Shape {
    fn build(self, hasher: Hasher) -> List {
        let growth = match self.growth {
            Limit::Grow => Growth::Grow { max_bytes: None },
            Limit::GrowTo(bytes) => Growth::Grow { max_bytes: Some(16 * u64::from(bytes)) },
            Limit::Refuse => Growth::Refuse,
        };
        let mut builder = YesNoList::builder()
            .quotient_bits(1 + u32::from(self.quotient_bits) % 6)
            .remainder_bits(1 + u32::from(self.remainder_bits) % 8)
            .growth(growth)
            .hasher(hasher);
        if let Some((offset_max, spill)) = self.limits {
            builder = builder.limits(1 + offset_max % 8, u32::from(spill % 30));
        }
        builder.build_list(MemoryMap::new()).expect("a small list")
    }
}

struct Checked {
    list: List,
    keys: BTreeMap<u8, Answer>,
    /// Queries and YES keys that must not be mistaken for each other again.
    fixed: BTreeSet<(u8, u8)>,
    positives: BTreeSet<u8>,
    snapshot: ListFilter,
    journal: Vec<Record>,
}

impl Checked {
    fn new(list: List) -> Self {
        let (keys, fixed, positives) = (BTreeMap::new(), BTreeSet::new(), BTreeSet::new());
        Self { snapshot: list.filter().clone(), list, keys, fixed, positives, journal: Vec::new() }
    }

    fn apply(&mut self, operation: &Operation) {
        let (bytes, map) = (self.list.filter().to_bytes(), self.list.map().clone());
        match self.try_apply(operation) {
            Ok(may_rise) => self.check(may_rise),
            Err(SetError::Full { .. } | SetError::OnBothLists(_)) => {
                assert_eq!(self.list.filter().to_bytes(), bytes, "an error left a trace: {operation:?}");
                assert!(*self.list.map() == map, "an error left a trace in the map: {operation:?}");
            }
            Err(error) => panic!("{operation:?}: {error}"),
        }
    }

    /// Whether the operation may have made keys positive.
    fn try_apply(&mut self, operation: &Operation) -> Outcome {
        match *operation {
            Operation::Add(key, yes) => self.add(key, Answer::from(yes)).map(|()| yes),
            Operation::AddMany(first, count, yes) => {
                for key in (0..count % 40).map(|i| first.wrapping_add(i)) {
                    match self.add(key, Answer::from(yes)) {
                        Ok(()) => self.check(yes),
                        Err(SetError::OnBothLists(_)) => {}
                        Err(_) => break,
                    }
                }
                Ok(yes)
            }
            Operation::Move(key, yes) => {
                let was = if yes { self.list.move_to_yes(&key)? } else { self.list.move_to_no(&key)? };
                assert_eq!(was, self.keys.get(&key).copied());
                self.put(key, Answer::from(yes));
                Ok(yes)
            }
            Operation::Remove(key) => {
                let was = self.list.remove(&key)?;
                assert_eq!(was, self.keys.remove(&key));
                self.fixed.retain(|&(_, yes)| yes != key);
                if was == Some(Answer::Yes) {
                    self.journal.push(Record::Removed(self.list.filter().hasher().hash(&key)));
                }
                Ok(false)
            }
            Operation::Ask(query) => self.ask(query).map(|()| false),
            Operation::AskAll => {
                for query in 0..=255 {
                    if self.ask(query).is_err() {
                        return Ok(false);
                    }
                }
                let positive = (0..=255u8).filter(|key| self.list.query(key).is_yes()).count();
                assert_eq!(positive, self.yes().count(), "not everything was learned");
                Ok(false)
            }
            Operation::Grow if self.list.filter().quotient_bits() > 9 => Ok(false),
            Operation::Grow => self.list.grow().map(|()| false),
            Operation::Shrink => {
                self.list.shrink_to_fit().expect("memory");
                Ok(false)
            }
            Operation::Rejuvenate => self.list.rejuvenate().map(|()| false),
            Operation::TakeSnapshot => {
                self.take_snapshot();
                Ok(false)
            }
            Operation::Recover => {
                let map = self.list.map().clone();
                self.list = List::recover(&self.snapshot, map, self.journal.iter().cloned())?;
                Ok(true)
            }
            Operation::Replay => {
                let mut list = List::from_parts(self.snapshot.clone(), self.list.map().clone());
                for record in &self.journal {
                    list.replay(record)?;
                    list.filter().validate().expect("a valid filter after every record");
                }
                list.recount()?;
                self.list = list;
                Ok(true)
            }
            Operation::Merge(shape, ref contents) => self.merge(shape, contents),
            Operation::Load => {
                let side =
                    |answer| self.keys.iter().filter(move |(_, list)| **list == answer).map(|(key, _)| key);
                let builder = YesNoList::builder().hasher(self.list.filter().hasher().clone());
                let list =
                    builder.from_lists(side(Answer::Yes), side(Answer::No)).expect("no key is on both");
                list.validate().expect("a valid list");
                assert!(list.map() == self.list.map());
                Ok(false)
            }
        }
    }

    fn yes(&self) -> impl Iterator<Item = u8> {
        self.keys.iter().filter(|(_, list)| list.is_yes()).map(|(key, _)| *key)
    }

    fn add(&mut self, key: u8, list: Answer) -> Result<(), SetError<Infallible>> {
        let new = if list.is_yes() { self.list.add_yes(&key)? } else { self.list.add_no(&key)? };
        assert_eq!(new, !self.keys.contains_key(&key));
        assert!(new || self.keys[&key] == list, "{key} is on the other list");
        self.put(key, list);
        Ok(())
    }

    fn put(&mut self, key: u8, list: Answer) {
        self.keys.insert(key, list);
        if list.is_no() {
            self.fixed.retain(|&(_, yes)| yes != key);
        }
        self.journal.push(Record::Inserted(self.list.filter().hasher().hash(&key)));
    }

    fn ask(&mut self, query: u8) -> Result<(), SetError<Infallible>> {
        let (before, is_yes) =
            (self.list.query(&query).is_yes(), self.keys.get(&query) == Some(&Answer::Yes));
        assert_eq!(self.list.query_exactly(&query)?.is_yes(), is_yes);
        if before && !is_yes {
            let yes: Vec<u8> = self.yes().collect();
            self.fixed.extend(yes.into_iter().map(|yes| (query, yes)));
            self.journal.push(self.list.filter().separate_record(&query).expect("not positive any more"));
        }
        Ok(())
    }

    fn take_snapshot(&mut self) {
        self.journal.clear();
        self.snapshot = self.list.filter().clone();
    }

    fn merge(&mut self, shape: Shape, contents: &[(u8, bool, u8)]) -> Outcome {
        let mut other = Checked::new(shape.build(self.list.filter().hasher().clone()));
        for &(key, yes, query) in contents.iter().take(24) {
            if matches!(other.add(key, Answer::from(yes)), Err(SetError::Full(_)))
                || other.ask(query).is_err()
            {
                break;
            }
        }
        other.check(true);
        let is_against =
            other.keys.iter().any(|(key, list)| self.keys.get(key).is_some_and(|mine| mine != list));
        let merged = self.list.merge_from(&other.list);
        assert_eq!(is_against, matches!(merged, Err(SetError::OnBothLists(_))));
        merged?;
        self.fixed.append(&mut other.fixed);
        self.keys.append(&mut other.keys);
        self.check(true);
        self.take_snapshot();
        Ok(true)
    }

    fn check(&mut self, may_rise: bool) {
        let list = &self.list;
        list.validate().expect("a valid list");
        assert_eq!(list.yes_len(), self.yes().count() as u64);
        assert_eq!(list.iter().count(), self.keys.len());
        let all: Vec<u8> = (0..=255).collect();
        let mut answers = vec![Answer::No; all.len()];
        list.query_batch(&all, &mut answers);
        for (&query, &answer) in all.iter().zip(&answers) {
            assert_eq!(list.query(&query), answer);
            let is_on = self.keys.get(&query).copied();
            assert_eq!(list.lookup(&query), Ok(is_on));
            if let Some(is_on) = is_on {
                assert_eq!(answer, is_on, "{query} is listed, and answered wrongly");
                continue;
            }
            let Some(ticket) = list.filter().ticket(&query) else { continue };
            for &(_, yes) in self.fixed.range((query, 0)..=(query, 255)) {
                let is_met = ticket.prefix().covers(list.filter().hasher(), &yes);
                assert!(
                    !is_met || self.keys.get(&yes) != Some(&Answer::Yes),
                    "{query} is mistaken for {yes} again"
                );
            }
        }
        let positives = all.into_iter().zip(answers).filter(|(_, answer)| answer.is_yes());
        let positives: BTreeSet<u8> = positives.map(|(query, _)| query).collect();
        assert!(may_rise || positives.is_subset(&self.positives), "new positives out of nothing");
        self.positives = positives;
    }
}

fuzz_target!(|case: Case| {
    let (_, word) = weak::WORDS[usize::from(case.hash) % weak::WORDS.len()];
    let mut checked = Checked::new(case.shape.build(Hasher::chosen(word)));
    for operation in case.operations.iter().take(MAX_OPERATIONS) {
        checked.apply(operation);
    }
});
