//! The filter against a multiset of bit strings, after every operation.
//!
//! Tiny tables, short fingerprints, hashes with few different bits, short hash words and small internal limits
//! make every rare path common.

mod growth;
mod memory;
mod model;
mod smaller;

use twiceshy_testkit::weak::{SPREADS, Spread};
use twiceshy_testkit::{BitString, Random, Strings};

use super::fingerprint::{Entry, Hash};
use super::*;
use crate::table::Shape;

/// What is inserted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Item {
    Raw(u64),
    Key(u64),
}

impl Item {
    /// As many bits of its hash as are known.
    fn string(self, filter: &ExpandableFilter) -> BitString {
        let block_bits = filter.settings.block_bits;
        match self {
            Self::Raw(hash) => BitString::of_hash(hash).cut(block_bits),
            Self::Key(key) => {
                let (mut bits, mut word) = (0u128, 0);
                for at in 0..128 {
                    if at % block_bits == 0 {
                        word = filter.hasher.word(&key, at / block_bits);
                    }
                    bits |= u128::from(word >> (63 - at % block_bits) & 1) << (127 - at);
                }
                BitString::new(bits, 128)
            }
        }
    }
}

/// A filter, the strings that it should hold, and the items that must be found.
#[derive(Clone)]
pub(super) struct Pair {
    pub(super) filter: ExpandableFilter,
    strings: Strings,
    pub(super) members: Vec<Item>,
}

impl Pair {
    pub(super) fn new(filter: ExpandableFilter) -> Self {
        Self { filter, strings: Strings::default(), members: Vec::new() }
    }

    fn add(&mut self, item: Item) {
        let string = item.string(&self.filter).cut(self.filter.fingerprint_bits());
        self.strings.0.add(string, 1);
    }

    fn longest(&self, item: Item) -> Option<BitString> {
        self.strings.longest(item.string(&self.filter))
    }

    fn take(&mut self, string: BitString) {
        assert_eq!(self.strings.0.take(&string, 1), 1, "it is there");
    }

    /// What is longer than a new string was cut when the filter shrank.
    fn cut_all(&mut self) {
        self.strings = std::mem::take(&mut self.strings).cut(self.filter.fingerprint_bits());
    }

    pub(super) fn insert(&mut self, item: Item) -> Result<bool, ExpandError> {
        let new = match item {
            Item::Raw(hash) => self.filter.insert_hash(hash),
            Item::Key(key) => self.filter.insert(&key),
        }?;
        self.add(item);
        self.members.push(item);
        Ok(new)
    }

    /// Removes a member.
    pub(super) fn remove(&mut self, number: usize) {
        let item = self.members.swap_remove(number);
        let removed = match item {
            Item::Raw(hash) => self.filter.remove_hash(hash),
            Item::Key(key) => self.filter.remove(&key),
        };
        assert!(removed, "a member was missing");
        let string = self.longest(item).expect("the model has it too");
        self.take(string);
    }

    pub(super) fn rejuvenate(&mut self, item: Item) -> Result<(), ExpandError> {
        let full = self.filter.fingerprint_bits().min(item.string(&self.filter).len);
        let string = self.longest(item).expect("a member has a string");
        let longer = match item {
            Item::Raw(hash) => self.filter.rejuvenate_hash(hash),
            Item::Key(key) => self.filter.rejuvenate(&key),
        }?;
        assert_eq!(longer, string.len < full, "rejuvenated");
        if longer {
            self.take(string);
            self.add(item);
        }
        Ok(())
    }

    pub(super) fn contains(&self, item: Item) -> bool {
        match item {
            Item::Raw(hash) => self.filter.contains_hash(hash),
            Item::Key(key) => self.filter.contains(&key),
        }
    }

    /// Everything that can be asked, against the model.
    pub(super) fn check(&mut self, items: &[Item], context: &str) {
        self.cut_all();
        let filter = &self.filter;
        filter.validate().unwrap_or_else(|what| panic!("{context}: {what}"));
        assert_eq!(filter.len(), self.members.len() as u64, "{context}: len");
        assert_eq!(filter.is_empty(), self.members.is_empty(), "{context}");
        let mut stored = Strings::default();
        let mut last = None;
        for (string, count) in strings(filter) {
            stored.0.add(string, count);
            assert!(last.is_none_or(|last| last <= string.in_order()), "{context}: order");
            last = Some(string.in_order());
        }
        assert!(stored == self.strings, "{context}: contents\n{stored:x?}\n{:x?}", self.strings);
        let raw: Vec<u64> = items
            .iter()
            .filter_map(|item| if let Item::Raw(hash) = item { Some(*hash) } else { None })
            .collect();
        let keys: Vec<u64> = items
            .iter()
            .filter_map(|item| if let Item::Key(key) = item { Some(*key) } else { None })
            .collect();
        let mut found = vec![false; raw.len().max(keys.len())];
        if keys.is_empty() {
            filter.contains_hash_batch(&raw, &mut found);
        } else {
            filter.contains_batch(&keys, &mut found);
        }
        for (&item, found) in items.iter().zip(found) {
            let expected = self.longest(item).is_some();
            assert_eq!(self.contains(item), expected, "{context}: contains {item:x?}");
            assert_eq!(found, expected, "{context}: batch {item:x?}");
        }
        for &item in &self.members {
            assert!(self.contains(item), "{context}: {item:x?} was lost");
        }
        if let Some(smaller) = &filter.smaller {
            self.check_copy(smaller, context);
        }
        let expected: f64 = self.strings.0.things().map(|string| 2f64.powi(-(string.len as i32))).sum();
        assert!(filter.expected_error_rate() >= expected * 0.999, "{context}: rate");
        let stats = filter.stats();
        assert_eq!(stats.ages.iter().map(|age| age.copies).sum::<u64>(), filter.len(), "{context}: ages");
    }
}

impl Pair {
    /// The copy of a filter that shrinks: what lies before the border, cut to the length of the smaller size, each
    /// entry in the first table that it is long enough for.
    fn check_copy(&self, smaller: &Smaller, context: &str) {
        let full = |shape: &Shape| shape.quotient_bits() + shape.slot_bits() - 1;
        let cut_to = full(smaller.levels[0].table.shape());
        assert_eq!(smaller.quotient_bits, self.filter.quotient_bits(), "{context}: the size that is copied");
        let mut expected = Strings::default();
        for (string, count) in self.strings.0.iter() {
            if ((string.in_order() >> (128 - smaller.quotient_bits)) as u64) < smaller.copied {
                expected.0.add(string.cut(cut_to), count);
            }
        }
        let mut copied = Strings::default();
        let mut above = u32::MAX;
        for level in &smaller.levels {
            level.table.validate().unwrap_or_else(|what| panic!("{context}: copy: {what}"));
            for Entry { fingerprint, count } in level.entries() {
                let len = fingerprint.len();
                assert!(len < above, "{context}: copy: a string of {len} bits in the wrong table");
                copied.0.add(BitString::parse(&fingerprint.to_prefix().to_string()), count);
            }
            above = level.table.shape().quotient_bits();
        }
        assert!(copied == expected, "{context}: copy\n{copied:x?}\n{expected:x?}");
    }
}

/// The strings of a filter, with their counts.
pub(super) fn strings(filter: &ExpandableFilter) -> impl Iterator<Item = (BitString, u64)> {
    filter.iter().map(|PrefixCount { prefix, count }| (BitString::parse(&prefix.to_string()), count))
}

/// The items of a test.
pub(super) fn items(random: &mut Random, spread: Option<Spread>, count: u64) -> Vec<Item> {
    (0..count)
        .map(|_| match spread {
            Some(spread) => Item::Raw(spread(random.next())),
            None => Item::Key(random.below(1 << 20)),
        })
        .collect()
}

fn known(hash: u64) -> Hash {
    Hash::raw(hash, 64)
}
