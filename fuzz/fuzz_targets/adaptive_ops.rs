//! Random operations on tiny adaptive sets with badly distributed hashes. After every operation everything
//! is compared with a model: members, tags, the pairs that must not collide again, the structure of filter
//! and map, and that an error changed nothing.

#![no_main]

use std::collections::{BTreeMap, BTreeSet};

use arbitrary::Arbitrary;
use libfuzzer_sys::fuzz_target;
use twiceshy::adaptive::{Adapted, Growth, Query, Record};
use twiceshy::error::SetError;
use twiceshy::reverse_map::MemoryMap;
use twiceshy::{AdaptiveFilter, AdaptiveSet, Hasher};
use twiceshy_testkit::weak;

const MAX_OPERATIONS: usize = 48;

#[derive(Arbitrary, Debug)]
struct Case {
    shape: Shape,
    hash: Hash,
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

/// Which of the hash functions of [`weak::WORDS`].
#[derive(Arbitrary, Debug, Clone, Copy)]
struct Hash(u8);

#[derive(Arbitrary, Debug)]
enum Operation {
    Insert(u8, Tag),
    InsertMany(u8, u8),
    Remove(u8),
    Adapt(u8),
    Ask(u8),
    AskAll,
    Grow,
    Shrink,
    Rejuvenate,
    TakeSnapshot,
    Recover,
    Replay,
    Merge(Shape, Vec<(u8, Tag, u8)>),
    CloneIt,
}

#[derive(Arbitrary, Debug, Clone, Copy)]
enum Tag {
    None,
    Small(bool),
    Any(u64),
}

impl Tag {
    fn number(self) -> u64 {
        match self {
            Self::None => 0,
            Self::Small(tag) => u64::from(tag),
            Self::Any(tag) => tag,
        }
    }
}

impl Hash {
    fn hasher(self) -> Hasher {
        let (_, word) = weak::WORDS[usize::from(self.0) % weak::WORDS.len()];
        Hasher::chosen(word)
    }
}

impl Shape {
    fn build(self, hasher: Hasher) -> AdaptiveSet<MemoryMap> {
        let growth = match self.growth {
            Limit::Grow => Growth::Grow { max_bytes: None },
            Limit::GrowTo(bytes) => Growth::Grow { max_bytes: Some(16 * u64::from(bytes)) },
            Limit::Refuse => Growth::Refuse,
        };
        let mut builder = AdaptiveSet::builder()
            .quotient_bits(1 + u32::from(self.quotient_bits) % 6)
            .remainder_bits(1 + u32::from(self.remainder_bits) % 8)
            .growth(growth)
            .hasher(hasher);
        if let Some((offset_max, spill)) = self.limits {
            builder = builder.limits(1 + offset_max % 8, u32::from(spill % 30));
        }
        builder.build_set(MemoryMap::new()).expect("a small set")
    }
}

type Outcome<T> = Result<T, SetError<std::convert::Infallible>>;

struct Checked {
    set: AdaptiveSet<MemoryMap>,
    /// What it was built with.
    slots: u64,
    tags: BTreeMap<u8, u64>,
    /// Queries and members that must not be mistaken for each other again.
    fixed: BTreeSet<(u8, u8)>,
    positives: BTreeSet<u8>,
    snapshot: AdaptiveFilter,
    journal: Vec<u8>,
}

impl Checked {
    fn new(set: AdaptiveSet<MemoryMap>) -> Self {
        Self {
            snapshot: set.filter().clone(),
            slots: set.filter().slots(),
            set,
            tags: BTreeMap::new(),
            fixed: BTreeSet::new(),
            positives: BTreeSet::new(),
            journal: Vec::new(),
        }
    }

    fn apply(&mut self, operation: &Operation) {
        let (bytes, map) = (self.set.filter().to_bytes(), self.set.map().clone());
        match self.try_apply(operation) {
            Ok(may_rise) => self.check(may_rise),
            Err(SetError::Full { .. }) => {
                assert_eq!(self.set.filter().to_bytes(), bytes, "an error left a trace: {operation:?}");
                assert!(*self.set.map() == map, "an error left a trace in the map: {operation:?}");
            }
            Err(error) => panic!("{operation:?}: {error}"),
        }
    }

    /// Whether the operation may have made keys positive.
    fn try_apply(&mut self, operation: &Operation) -> Outcome<bool> {
        match *operation {
            Operation::Insert(key, tag) => self.insert(key, tag.number()).map(|()| true),
            Operation::InsertMany(first, count) => {
                for key in (0..count % 40).map(|i| first.wrapping_add(i)) {
                    if self.insert(key, 0).is_err() {
                        break;
                    }
                    self.check(true);
                }
                Ok(true)
            }
            Operation::Remove(key) => {
                assert_eq!(self.set.remove(&key)?, self.tags.remove(&key).is_some());
                self.fixed.retain(|&(_, member)| member != key);
                Ok(false)
            }
            Operation::Adapt(query) => self.adapt(query),
            Operation::Ask(query) => self.ask(query).map(|()| false),
            Operation::AskAll => {
                for query in 0..=255 {
                    if self.ask(query).is_err() {
                        return Ok(false);
                    }
                }
                let positive = (0..=255u8).filter(|key| self.set.contains(key)).count();
                assert_eq!(positive, self.tags.len(), "not everything was learned");
                Ok(false)
            }
            Operation::Grow if self.set.filter().quotient_bits() > 9 => Ok(false),
            Operation::Grow => self.set.grow().map(|()| false),
            Operation::Shrink => {
                self.set.shrink_to_fit().expect("memory");
                Ok(false)
            }
            Operation::Rejuvenate => self.set.rejuvenate().map(|()| false),
            Operation::TakeSnapshot => {
                self.take_snapshot();
                Ok(false)
            }
            Operation::Recover => {
                self.set = AdaptiveSet::recover(&self.snapshot, self.set.map().clone(), self.records())?;
                Ok(true)
            }
            Operation::Replay => self.replay(),
            Operation::Merge(shape, ref contents) => self.merge(shape, contents),
            Operation::CloneIt => {
                self.set = self.set.clone();
                Ok(false)
            }
        }
    }

    fn insert(&mut self, key: u8, tag: u64) -> Outcome<()> {
        let new = self.set.insert_tagged(&key, tag)?;
        assert_eq!(new, self.tags.insert(key, tag).is_none());
        Record::Inserted(self.set.filter().hasher().hash(&key)).write_to(&mut self.journal);
        Ok(())
    }

    fn learned(&mut self, query: u8) {
        self.fixed.extend(self.tags.keys().map(|&member| (query, member)));
        let record = self.set.filter().separate_record(&query).expect("not positive any more");
        record.write_to(&mut self.journal);
    }

    fn adapt(&mut self, query: u8) -> Outcome<bool> {
        let (before, is_member) = (self.set.contains(&query), self.tags.contains_key(&query));
        match self.set.adapt(&query)? {
            Adapted::Fixed { .. } => {
                assert!(before && !is_member);
                self.learned(query);
            }
            Adapted::WasMember => assert!(is_member),
            Adapted::NotPositive => assert!(!before),
            Adapted::Vanished => panic!("a fingerprint without a key"),
            other => panic!("{other:?} is not known here"),
        }
        assert_eq!(self.set.contains(&query), is_member);
        Ok(false)
    }

    fn ask(&mut self, query: u8) -> Outcome<()> {
        let (before, is_member) = (self.set.contains(&query), self.tags.contains_key(&query));
        assert_eq!(self.set.contains_exactly(&query)?, is_member);
        if before && !is_member {
            self.learned(query);
        }
        Ok(())
    }

    fn take_snapshot(&mut self) {
        self.journal.clear();
        self.snapshot = self.set.filter().clone();
    }

    fn records(&self) -> Vec<Record> {
        let mut rest = self.journal.as_slice();
        std::iter::from_fn(|| (!rest.is_empty()).then(|| Record::read_from(&mut rest).expect("whole")))
            .collect()
    }

    fn replay(&mut self) -> Outcome<bool> {
        let mut set = AdaptiveSet::from_parts(self.snapshot.clone(), self.set.map().clone());
        for record in self.records() {
            set.replay(&record)?;
            set.filter().validate().expect("a valid filter after every record");
        }
        set.recount()?;
        self.check_promises(&set);
        // Removed keys left fingerprints behind.
        set.rejuvenate()?;
        self.set = set;
        Ok(true)
    }

    fn merge(&mut self, shape: Shape, contents: &[(u8, Tag, u8)]) -> Outcome<bool> {
        let mut other = Checked::new(shape.build(self.set.filter().hasher().clone()));
        for &(key, tag, query) in contents.iter().take(24) {
            if other.insert(key, tag.number()).is_err() || other.ask(query).is_err() {
                break;
            }
        }
        other.check(true);
        self.set.merge_from(&other.set)?;
        self.fixed.append(&mut other.fixed);
        for (key, tag) in other.tags {
            self.tags.entry(key).or_insert(tag);
        }
        self.check(true);
        self.take_snapshot();
        Ok(true)
    }

    fn check(&mut self, may_rise: bool) {
        let filter = self.set.filter();
        self.set.validate().expect("a valid set");
        assert_eq!(self.set.len(), self.tags.len() as u64);
        let bytes = filter.to_bytes();
        AdaptiveFilter::view(&bytes).expect("a header that reads back").validate().expect("a valid table");
        assert!(filter.growth() != Growth::Refuse || filter.slots() <= self.slots, "it must not grow");
        self.check_promises(&self.set);
        let positives: BTreeSet<u8> = (0..=255).filter(|key| self.set.contains(key)).collect();
        assert!(may_rise || positives.is_subset(&self.positives), "new positives out of nothing");
        self.positives = positives;
    }

    fn check_promises(&self, set: &AdaptiveSet<MemoryMap>) {
        let filter = set.filter();
        let all: Vec<u8> = (0..=255).collect();
        let mut found = vec![false; all.len()];
        filter.contains_batch(&all, &mut found);
        for (&query, found) in all.iter().zip(found) {
            let tag = self.tags.get(&query);
            assert_eq!(filter.contains(&query), found);
            match filter.query(&query) {
                Query::Absent => assert!(!found && tag.is_none(), "{query} is lost"),
                Query::Maybe(ticket) => {
                    assert!(found);
                    if let Some(&tag) = tag {
                        assert_eq!(ticket.tag(), tag);
                        continue;
                    }
                    for &(_, member) in self.fixed.range((query, 0)..=(query, 255)) {
                        let meets = ticket.prefix().covers(filter.hasher(), &member);
                        let is_there = self.tags.contains_key(&member);
                        assert!(!(meets && is_there), "{query} is mistaken for {member} again");
                    }
                }
            }
        }
    }
}

fuzz_target!(|case: Case| {
    let mut checked = Checked::new(case.shape.build(case.hash.hasher()));
    for operation in case.operations.iter().take(MAX_OPERATIONS) {
        checked.apply(operation);
    }
});
