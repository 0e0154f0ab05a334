//! A model: every range of a small universe, after every operation, with hashes of all qualities.

mod cases;
mod exhaustive;
mod failures;

use std::borrow::Borrow;
use std::collections::BTreeSet;
use std::ops::RangeInclusive;

use super::*;
use crate::Hasher;
use crate::adaptive::{Adapted, Record};
use crate::filter::range::RangeKey;
use crate::filter::range::partition::Partition;
use crate::filter::range::tests::every_kind_of_bound_is_understood as every_bound;
use crate::prefix::Prefix;
use crate::reverse_map::MemoryMap;
use twiceshy_testkit::Random;

type Checking = AdaptiveRangeSet<u8, MemoryMap>;

/// A set of numbers of eight bits, which is asked for every range after every operation.
struct Checked {
    set: Checking,
    members: BTreeSet<u8>,
    /// Ranges that were mistaken, with the members there were and that have stayed.
    fixed: Vec<(RangeInclusive<u8>, BTreeSet<u8>)>,
    /// Filters from before, and how long the journal was then.
    snapshots: Vec<(AdaptiveRangeFilter<u8>, usize)>,
    /// All that was learned, and what came and went.
    journal: Vec<Record>,
}

fn builder(hasher: Hasher, random: &mut Random) -> Builder<u8> {
    Builder::default()
        .hasher(hasher)
        .max_range(1 << random.below(6))
        .max_partitions(if random.below(2) == 0 { 300 } else { 2 + random.below(6) as u32 })
        .quotient_bits(1 + random.below(4) as u32)
        .remainder_bits(1 + random.below(4) as u32)
        .limits(3, 20)
}

impl Checked {
    fn new(builder: Builder<u8>) -> Self {
        Self::of(builder.build_set(MemoryMap::new()).unwrap())
    }

    fn of(set: Checking) -> Self {
        let snapshots = vec![(set.filter().clone(), 0)];
        let (members, fixed, journal) = Default::default();
        Self { set, members, fixed, snapshots, journal }
    }

    fn insert(&mut self, member: u8) {
        assert_eq!(self.set.insert(&member).unwrap(), self.members.insert(member));
        self.journal.push(Record::Inserted(self.set.filter().coded(&member).hash()));
    }

    fn remove(&mut self, member: u8) {
        assert_eq!(self.set.remove(&member).unwrap(), self.members.remove(&member));
        self.fixed.iter_mut().for_each(|(_, then)| _ = then.remove(&member));
        self.journal.push(Record::Removed(self.set.filter().coded(&member).hash()));
    }

    fn is_member(&self, range: &RangeInclusive<u8>) -> bool {
        !range.is_empty() && self.members.range(range.clone()).next().is_some()
    }

    fn is_looked_up(&self, range: &RangeInclusive<u8>) -> bool {
        let size = self.set.filter().max_range();
        let partitions = u64::from(*range.end()) / size - u64::from(*range.start()) / size + 1;
        partitions <= self.set.filter().max_partitions().into()
    }

    fn adapt(&mut self, range: RangeInclusive<u8>) {
        let (is_member, was_positive) = (self.is_member(&range), self.set.contains_range(range.clone()));
        let before = self.set.filter().to_bytes();
        let adapted = self.set.adapt_range(range.clone()).unwrap();
        let is_looked_up = range.is_empty() || self.is_looked_up(&range);
        match adapted {
            Adapted::WasMember => assert!(is_member, "{range:?}"),
            Adapted::Fixed { .. } => assert!(was_positive && !is_member, "{range:?}"),
            Adapted::NotPositive => assert!(!is_looked_up || !is_member && !was_positive),
            Adapted::Vanished => panic!("every fingerprint has a key"),
        }
        if !matches!(adapted, Adapted::Fixed { .. }) {
            assert!(
                self.set.filter().to_bytes() == before,
                "{range:?}: {adapted:?}, and something has changed"
            );
            return;
        }
        assert!(!self.set.contains_range(range.clone()), "{range:?} is still mistaken");
        self.journal.extend(self.set.filter().separate_records(range.clone()));
        self.fixed.push((range, self.members.clone()));
    }

    /// All ranges of some lengths, with what the filter says.
    fn answers(&self, lengths: &[u8]) -> Vec<(RangeInclusive<u8>, bool)> {
        let ranges = (0..=u8::MAX).flat_map(|start| {
            lengths.iter().filter_map(move |length| Some(start..=start.checked_add(*length)?))
        });
        ranges.map(|range| (range.clone(), self.set.contains_range(range))).collect()
    }

    /// Every range of these lengths, in a batch, too.
    fn check(&mut self, lengths: &[u8]) {
        self.set.validate().unwrap();
        assert_eq!(self.set.len(), self.members.len() as u64);
        let answers = self.answers(lengths);
        let ranges: Vec<_> = answers.iter().map(|(range, _)| range.clone()).collect();
        let mut found = vec![true; ranges.len()];
        self.set.contains_range_batch(&ranges, &mut found);
        for ((range, is_positive), found) in answers.into_iter().zip(found) {
            assert_eq!(is_positive, found, "{range:?} in a batch");
            assert!(is_positive || !self.is_member(&range), "{range:?} is lost");
            assert!(is_positive || self.is_looked_up(&range));
            // All of them would take most of the test's time.
            if range.start().is_multiple_of(16) {
                // Without a glance.
                let filter = self.set.filter();
                let is_met = filter.coded_parts(range.clone()).any(|part| filter.query(&part).is_some());
                assert!(is_positive == is_met || !self.is_looked_up(&range), "{range:?}");
                assert_eq!(
                    self.set.lookup_range(range.clone()).unwrap(),
                    self.is_member(&range),
                    "{range:?}"
                );
            }
        }
        let keys: Vec<u8> = (0..=u8::MAX).collect();
        let mut found = vec![true; keys.len()];
        self.set.contains_batch(&keys, &mut found);
        for (key, found) in keys.iter().zip(found) {
            assert_eq!(self.set.contains(key), found);
            assert_eq!(self.set.contains_range(key..=key), found);
            assert!(found || !self.members.contains(key), "{key} is lost");
            assert_eq!(self.set.lookup(key).unwrap(), self.members.contains(key));
        }
        for (range, then) in &self.fixed {
            let is_new = self.members.iter().any(|member| !then.contains(member));
            let is_mistaken = self.set.contains_range(range.clone());
            assert!(is_new || self.is_member(range) || !is_mistaken, "{range:?} is mistaken again");
            // Whatever came since, those that stayed are not what it is mistaken for.
            let again =
                then.iter().find(|member| is_mistaken_for(self.set.filter(), range.clone(), **member));
            assert!(again.is_none(), "{range:?} is mistaken for {again:?} again");
        }
    }

    /// A set like this one that was saved and read. Chosen hashes are known to the test only.
    fn reload(&mut self) {
        if *self.set.filter().hasher() != Hasher::fast() {
            return;
        }
        let mut bytes = Vec::new();
        self.set.write_to(&mut bytes).unwrap();
        let read = AdaptiveRangeSet::<u8, _>::read_from(bytes.as_slice()).unwrap();
        assert!(read.filter().to_bytes() == self.set.filter().to_bytes());
        self.set = read;
    }

    /// The set from one of its snapshots, its map and its journal, of which more may be left than is newer than the snapshot, and
    /// some of that twice: all at once in any order, or record by record, as they were written, or mistakes after the others.
    fn recover(&mut self, random: &mut Random) {
        let (filter, since) = self.snapshots[random.below(self.snapshots.len() as u64) as usize].clone();
        let mut records = self.journal[random.below(since as u64 + 1) as usize..].to_vec();
        let again: Vec<_> = records.iter().filter(|_| random.below(8) == 0).cloned().collect();
        let map = self.set.map().clone();
        let is_mistake = |record: &Record| matches!(record, Record::Separate(_));
        match random.below(4) {
            0 => records.extend(again),
            1 => records.sort_by_key(is_mistake),
            _ => {
                records.extend(again);
                records.sort_by_cached_key(|_| random.next());
                self.set = Checking::recover(&filter, map, records).unwrap();
                return;
            }
        }
        let mut set = Checking::from_parts(filter, map);
        records.iter().for_each(|record| set.replay(record).unwrap());
        set.recount().unwrap();
        self.set = set;
    }

    fn take_snapshot(&mut self, random: &mut Random) {
        if self.snapshots.len() > 2 {
            self.snapshots.swap_remove(random.below(3) as usize);
        }
        self.snapshots.push((self.set.filter().clone(), self.journal.len()));
    }

    fn merge(&mut self, other: Self, random: &mut Random) {
        self.set.merge_from(&other.set).unwrap();
        self.members.extend(other.members);
        self.fixed.extend(other.fixed);
        // No record stands for a merge.
        self.snapshots.clear();
        self.take_snapshot(random);
    }
}

/// Whether a range meets a fingerprint because of a key in another partition.
fn is_mistaken_for<K: RangeKey + Borrow<K>>(
    filter: &AdaptiveRangeFilter<K>,
    range: impl std::ops::RangeBounds<K>,
    member: K,
) -> bool {
    let (partition, suffix) = filter.partitions().cut().split(member.code());
    filter.coded_parts(range).any(|part| {
        let (first, last) = filter.partitions().part_codes(&part).into_inner();
        let ((asked, from), (_, to)) =
            (filter.partitions().cut().split(first), filter.partitions().cut().split(last));
        let is_like = asked != partition && (from..=to).contains(&suffix);
        let is_under = |prefix: &Prefix| prefix.covers(filter.hasher(), &Partition::<K>::new(partition));
        is_like && filter.query(&part).is_some_and(|ticket| is_under(ticket.prefix()))
    })
}

pub(super) fn hashers() -> [Hasher; 3] {
    fn good(bytes: &[u8], index: u32) -> u64 {
        Hasher::fast().word_bytes(bytes, index)
    }
    [
        Hasher::fast(),
        Hasher::chosen(|bytes, index| good(bytes, index) & if index == 0 { 0xe0 << 56 } else { u64::MAX }),
        Hasher::chosen(|bytes, index| if index == 0 { 0 } else { good(bytes, index) }),
    ]
}

#[test]
fn no_range_is_lost_and_no_mistake_is_made_twice() {
    let runs = twiceshy_testkit::effort::times("TWICESHY_STEPS", 6_000) / 150;
    for seed in 0..runs {
        let mut random = Random(seed);
        let hasher = hashers()[random.below(3) as usize].clone();
        let builder = builder(hasher, &mut random);
        let mut checked = Checked::new(builder.clone());
        let all: Vec<u8> = (0..100).collect();
        for step in 1..=60 {
            let (key, size) = (random.next() as u8, checked.set.filter().max_range() as u8);
            let lengths = [0, 1, size - 1, size, random.next() as u8 % 64, random.next() as u8];
            let before = checked.answers(&lengths);
            let kind = random.below(26);
            match kind {
                0..=5 => checked.insert(key),
                // A partition that fills up.
                6..=7 => checked.insert(key & 0x1f),
                8 => {
                    let mut other = Checked::new(builder.clone());
                    (0..random.below(12)).for_each(|_| other.insert(random.next() as u8));
                    (0..random.below(12)).for_each(|_| other.adapt(0..=random.next() as u8 % 8));
                    checked.merge(other, &mut random);
                }
                9..=10 => checked.remove(key & 0x3f),
                11..=12 => checked.adapt(key..=key),
                13..=16 => checked.adapt(key..=key.saturating_add(random.below(40) as u8)),
                17 => checked.set.grow().unwrap(),
                18 => checked.set.shrink_to_fit().unwrap(),
                19 => checked.set.rejuvenate().unwrap(),
                20 => checked.reload(),
                21..=23 => checked.recover(&mut random),
                24 => checked.take_snapshot(&mut random),
                _ => checked.members.clone().iter().take(3).for_each(|&member| checked.remove(member)),
            }
            // Only what is inserted or merged in makes a range positive; a recovery may forget what only a removal told.
            if !matches!(kind, 0..=8 | 21..=23) {
                for (range, was_positive) in before {
                    assert!(
                        was_positive || !checked.set.contains_range(range.clone()),
                        "{kind}: {range:?} appeared"
                    );
                }
            }
            checked.check(if step % 30 == 0 { &all } else { &lengths });
        }
    }
}

/// Bounds of every kind are those of `std`.
#[test]
fn every_kind_of_bound_is_understood() {
    let mut set = Builder::<u8>::default().max_range(16).max_partitions(100).hasher(Hasher::fast());
    set = set.quotient_bits(8).remainder_bits(40);
    let mut set = set.build_set(MemoryMap::new()).unwrap();
    for member in [0, 3, 17, 64, 255] {
        set.insert(&member).unwrap();
    }
    every_bound(&[0, 3, 17, 64, 255], |range| {
        let found = set.contains_range(range);
        assert_eq!(set.contains_range_exactly(range).unwrap(), found, "{range:?}");
        found
    });
}
