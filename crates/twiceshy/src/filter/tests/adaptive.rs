//! What can happen to an adaptive filter: in a set with its map, and fed with hashes by a caller who owns the keys.

use std::ops::{ControlFlow, RangeInclusive};

use twiceshy_testkit::weak;

use super::{Random, Spread, Subject};
use crate::filter::adaptive::{AdaptiveFilter, AdaptiveSet, Growth, Insertion, Query, Record};
use crate::hash::Hasher;
use crate::prefix::Prefix;
use crate::reverse_map::{Lookup, MemoryMap, ReverseMap, Row, Rows};

pub(super) const SET_OPERATIONS: [&str; 17] = [
    "insert",
    "insert with a tag",
    "remove",
    "adapt",
    "ask",
    "grow",
    "shrink",
    "rejuvenate",
    "merge",
    "take a snapshot",
    "recover",
    "replay",
    "recount",
    "change the map alone",
    "another growth",
    "clear",
    "copy",
];

pub(super) const HASH_OPERATIONS: [&str; 9] =
    ["insert", "adapt", "remove", "grow", "shrink", "load", "merge", "clear", "copy"];

/// Keys are numbers below this one.
const UNIVERSE: u64 = 120;

/// A set whose map others may change, and a journal that may miss something.
pub(super) struct Set {
    set: AdaptiveSet<MemoryMap>,
    snapshot: AdaptiveFilter,
    /// What happened since the snapshot, but for removals and changes of the map alone.
    journal: Vec<Record>,
}

fn builder(random: &mut Random) -> crate::adaptive::Builder {
    let builder = AdaptiveFilter::builder()
        .quotient_bits(1 + random.below(4) as u32)
        .remainder_bits(1 + random.below(4) as u32);
    if random.below(2) == 0 { builder.limits(3, 20) } else { builder }
}

/// How the key hashes.
fn hasher(random: &mut Random) -> Hasher {
    match random.below(4) {
        0 => Hasher::chosen(weak::three_bits),
        1 => Hasher::chosen(weak::six_bits_at_the_end),
        2 => Hasher::chosen(weak::constant),
        // Not a chosen one: it is in the file, so the file can be gone on with.
        _ => Hasher::fast(),
    }
}

fn key(random: &mut Random) -> u16 {
    random.below(UNIVERSE) as u16
}

impl Set {
    /// Changes the filter or the map, apart from each other.
    fn apart(&mut self, change: impl FnOnce(&mut AdaptiveFilter, &mut MemoryMap)) {
        let parts = AdaptiveSet::from_parts(self.snapshot.clone(), MemoryMap::new());
        let (mut filter, mut map) = std::mem::replace(&mut self.set, parts).into_parts();
        change(&mut filter, &mut map);
        self.set = AdaptiveSet::from_parts(filter, map);
    }

    fn hash(&self, key: u16) -> u64 {
        self.set.filter().hasher().hash(&key)
    }
}

impl Subject for Set {
    type Filter = AdaptiveFilter;

    fn new(random: &mut Random, _: Spread) -> Self {
        let set = builder(random).hasher(hasher(random)).build_set(MemoryMap::new()).unwrap();
        Self { snapshot: set.filter().clone(), set, journal: Vec::new() }
    }

    fn change(&mut self, random: &mut Random) -> &'static str {
        let key = key(random);
        let hash = self.hash(key);
        match random.below(40) {
            0..=8 => {
                let _ = self.set.insert(&key);
                self.journal.push(Record::Inserted(hash));
                "insert"
            }
            9..=10 => {
                let _ = self.set.insert_tagged(&key, random.below(3));
                self.journal.push(Record::Inserted(hash));
                "insert with a tag"
            }
            11..=14 => {
                let _ = self.set.remove(&key);
                if random.below(2) == 0 {
                    self.journal.push(Record::Removed(hash));
                }
                "remove"
            }
            15..=19 => {
                let _ = self.set.adapt(&key);
                self.journal.extend(self.set.filter().separate_record(&key));
                "adapt"
            }
            20..=21 => {
                let _ = self.set.contains_exactly(&key);
                "ask"
            }
            22 => {
                let _ = self.set.grow();
                "grow"
            }
            23 => {
                self.set.shrink_to_fit().unwrap();
                "shrink"
            }
            24 => {
                let _ = self.set.rejuvenate();
                "rejuvenate"
            }
            25..=26 => {
                let hasher = self.set.filter().hasher().clone();
                let mut other = builder(random).hasher(hasher).build_set(MemoryMap::new()).unwrap();
                for _ in 0..random.below(20) {
                    let _ = other.insert(&super::adaptive::key(random));
                    let _ = other.adapt(&super::adaptive::key(random));
                }
                let _ = self.set.merge_from(&other);
                "merge"
            }
            27 => {
                self.snapshot = self.set.filter().clone();
                self.journal.clear();
                "take a snapshot"
            }
            28..=29 => {
                let map = self.set.map().clone();
                if let Ok(set) = AdaptiveSet::recover(&self.snapshot, map, self.journal.clone()) {
                    self.set = set;
                }
                "recover"
            }
            30..=31 => {
                // As a store does it that finds its filter older than its rows.
                let map = self.set.map().clone();
                self.set = AdaptiveSet::from_parts(self.snapshot.clone(), map);
                self.journal.iter().for_each(|record| drop(self.set.replay(record)));
                "replay"
            }
            32..=33 => {
                let _ = self.set.recount();
                "recount"
            }
            34..=35 => {
                // A key goes, or all; nobody is told.
                let all = random.below(4) == 0;
                self.apart(|_, map| {
                    let rows: Vec<_> = map.iter().map(|row| (row.hash, row.key.to_vec())).collect();
                    let gone =
                        rows.into_iter().filter(|(hash, bytes)| all || *hash % 3 == 0 || bytes[0] % 3 == 0);
                    gone.for_each(|(hash, bytes)| assert!(map.remove(hash, &bytes).unwrap()));
                });
                "change the map alone"
            }
            36 => {
                let growth = match random.below(3) {
                    0 => Growth::Refuse,
                    1 => Growth::Grow { max_bytes: Some(200) },
                    _ => Growth::Grow { max_bytes: None },
                };
                self.apart(|filter, _| filter.set_growth(growth));
                "another growth"
            }
            37 => {
                self.apart(|filter, map| {
                    filter.clear();
                    *map = MemoryMap::new();
                });
                "clear"
            }
            _ => {
                let copy = AdaptiveFilter::from_bytes(&self.set.filter().to_bytes());
                self.apart(|filter, _| match copy {
                    Ok(copy) if copy.hasher() == filter.hasher() => *filter = copy,
                    _ => *filter = filter.clone(),
                });
                "copy"
            }
        }
    }

    fn filter(&self) -> &AdaptiveFilter {
        self.set.filter()
    }
}

/// A map that cannot be read.
struct Nobody;

impl Lookup for Nobody {
    type Error = std::fmt::Error;

    fn visit(
        &self,
        _: RangeInclusive<u64>,
        _: &mut dyn FnMut(Row<'_>) -> ControlFlow<()>,
    ) -> Result<(), std::fmt::Error> {
        Err(std::fmt::Error)
    }
}

/// A filter whose caller owns the hashes, and sometimes tells the wrong thing about them.
pub(super) struct Hashes {
    filter: AdaptiveFilter,
    spread: Spread,
    members: Vec<u64>,
}

impl Hashes {
    fn under(members: &[u64], prefix: &Prefix) -> Rows {
        let range = prefix.first_words();
        Rows::of_hashes(members.iter().copied().filter(|hash| range.contains(hash)))
    }

    fn grow(&mut self) {
        let _ = self.filter.grow_hashes(&Rows::of_hashes(self.members.iter().copied()));
    }

    fn insert(&mut self, hash: u64) {
        match self.filter.insert_hash(hash) {
            Ok(Insertion::Covered(ticket)) if !self.members.contains(&hash) => {
                self.filter.insert_covered(&ticket).unwrap();
            }
            Ok(_) => {}
            Err(_) => return self.grow(),
        }
        if !self.members.contains(&hash) {
            self.members.push(hash);
        }
    }
}

impl Subject for Hashes {
    type Filter = AdaptiveFilter;

    fn new(random: &mut Random, spread: Spread) -> Self {
        Self { filter: builder(random).build().unwrap(), spread, members: Vec::new() }
    }

    fn change(&mut self, random: &mut Random) -> &'static str {
        let hash = match self.members.as_slice() {
            members if !members.is_empty() && random.below(2) == 0 => {
                members[random.below(members.len() as u64) as usize]
            }
            _ => (self.spread)(random.next()),
        };
        match random.below(20) {
            0..=7 => {
                self.insert(hash);
                "insert"
            }
            8..=11 => {
                if let Query::Maybe(ticket) = self.filter.query_hash(hash) {
                    let under = Self::under(&self.members, ticket.prefix());
                    let _ = self.filter.adapt_hash(&ticket, hash, &under);
                }
                "adapt"
            }
            12..=13 => {
                if let Query::Maybe(ticket) = self.filter.query_hash(hash) {
                    let others =
                        Self::under(&self.members, ticket.prefix()).iter().any(|other| other.hash != hash);
                    let is_wrong = random.below(5) == 0;
                    self.filter.remove(&ticket, others || is_wrong).unwrap();
                    self.members.retain(|&member| member != hash);
                }
                "remove"
            }
            14 => {
                self.grow();
                "grow"
            }
            15 => {
                self.filter.shrink_to_fit().unwrap();
                "shrink"
            }
            16 => {
                let (mut hashes, hasher) = (self.members.clone(), self.filter.hasher().clone());
                hashes.sort_unstable();
                if let Ok(loaded) = builder(random).hasher(hasher).from_sorted_hashes(hashes) {
                    self.filter = loaded;
                }
                "load"
            }
            17 => {
                // Keys would be needed where fingerprints meet; without them that is an error, which changes nothing.
                let mut other = self.filter.empty_like().unwrap();
                let _ = other.insert_hash(hash);
                let _ = self.filter.merge_from(&other, &Nobody, &Nobody);
                "merge"
            }
            18 => {
                if random.below(3) == 0 {
                    self.filter.clear();
                    self.members.clear();
                    return "clear";
                }
                self.filter = self.filter.clone();
                "copy"
            }
            _ => {
                self.filter = AdaptiveFilter::from_bytes(&self.filter.to_bytes()).unwrap();
                "copy"
            }
        }
    }

    fn filter(&self) -> &AdaptiveFilter {
        &self.filter
    }
}
