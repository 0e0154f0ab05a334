//! The filter against a multiset of bit strings, after every operation.
//!
//! Tiny tables, short fingerprints, hashes with few different bits, short hash words and small internal limits
//! make every rare path common.

mod growth;
mod memory;
mod model;
mod smaller;

use std::collections::BTreeMap;

use super::fingerprint::{Entry, Hash};
use super::*;
use crate::random::{Random, SPREADS, Spread};
use crate::table::Shape;

/// What is inserted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Item {
    Raw(u64),
    Key(u64),
}

impl Item {
    /// The bits of its hash, at the top, and how many are known.
    fn string(self, filter: &ExpandableFilter) -> (u128, u32) {
        let block_bits = filter.settings.block_bits;
        let mut bits = 0u128;
        match self {
            Self::Raw(hash) => (u128::from(hash >> (64 - block_bits)) << (128 - block_bits), block_bits),
            Self::Key(key) => {
                for at in 0..128 {
                    let word = filter.hasher.word(&key, at / block_bits);
                    bits |= u128::from(word >> (63 - at % block_bits) & 1) << (127 - at);
                }
                (bits, 128)
            }
        }
    }
}

/// The first `len` bits.
fn cut(bits: u128, len: u32) -> u128 {
    if len == 0 { 0 } else { bits >> (128 - len) << (128 - len) }
}

/// A filter, the strings that it should hold, and the items that must be found.
pub(super) struct Pair {
    pub(super) filter: ExpandableFilter,
    strings: BTreeMap<(u128, u32), u64>,
    pub(super) members: Vec<Item>,
}

impl Pair {
    pub(super) fn new(filter: ExpandableFilter) -> Self {
        Self { filter, strings: BTreeMap::new(), members: Vec::new() }
    }

    fn add(&mut self, item: Item) {
        let (bits, known) = item.string(&self.filter);
        let len = self.filter.fingerprint_bits().min(known);
        *self.strings.entry((cut(bits, len), len)).or_insert(0) += 1;
    }

    fn longest(&self, item: Item) -> Option<(u128, u32)> {
        let (bits, _) = item.string(&self.filter);
        let matching = self.strings.keys().filter(|(string, len)| cut(bits, *len) == *string);
        matching.max_by_key(|(_, len)| *len).copied()
    }

    fn take(&mut self, string: (u128, u32)) {
        let count = self.strings.get_mut(&string).expect("it is there");
        *count -= 1;
        if *count == 0 {
            self.strings.remove(&string);
        }
    }

    /// What is longer than a new string was cut when the filter shrank.
    fn cut_all(&mut self) {
        let full = self.filter.fingerprint_bits();
        for ((bits, len), count) in std::mem::take(&mut self.strings) {
            let len = len.min(full);
            *self.strings.entry((cut(bits, len), len)).or_insert(0) += count;
        }
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
        let full = self.filter.fingerprint_bits().min(item.string(&self.filter).1);
        let string = self.longest(item).expect("a member has a string");
        let longer = match item {
            Item::Raw(hash) => self.filter.rejuvenate_hash(hash),
            Item::Key(key) => self.filter.rejuvenate(&key),
        }?;
        assert_eq!(longer, string.1 < full, "rejuvenated");
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
        let mut stored = BTreeMap::new();
        let mut last = None;
        for (bits, len, count) in strings(filter) {
            *stored.entry((bits, len)).or_insert(0) += count;
            let order = bits | 1 << (127 - len);
            assert!(last.is_none_or(|last| last <= order), "{context}: order");
            last = Some(order);
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
        let expected: f64 = self.strings.keys().map(|(_, len)| 2f64.powi(-(*len as i32))).sum();
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
        let mut expected = BTreeMap::new();
        for (&(bits, len), count) in &self.strings {
            let in_order = bits | 1 << (127 - len);
            if ((in_order >> (128 - smaller.quotient_bits)) as u64) < smaller.copied {
                let len = len.min(cut_to);
                *expected.entry((cut(bits, len), len)).or_insert(0) += count;
            }
        }
        let mut copied = BTreeMap::new();
        let mut above = u32::MAX;
        for level in &smaller.levels {
            level.table.validate().unwrap_or_else(|what| panic!("{context}: copy: {what}"));
            for Entry { fingerprint, count } in level.entries() {
                let len = fingerprint.len();
                assert!(len < above, "{context}: copy: a string of {len} bits in the wrong table");
                let prefix = fingerprint.to_prefix().to_string();
                *copied.entry(string(&prefix)).or_insert(0) += count;
            }
            above = level.table.shape().quotient_bits();
        }
        assert!(copied == expected, "{context}: copy\n{copied:x?}\n{expected:x?}");
    }
}

/// A string at the top of its bits, and its length.
fn string(digits: &str) -> (u128, u32) {
    let (number, len) = (u128::from_str_radix(digits, 2).unwrap_or(0), digits.len() as u32);
    (number.unbounded_shl(128 - len), len)
}

/// The strings of a filter, each at the top of its bits, with their lengths and counts.
pub(super) fn strings(filter: &ExpandableFilter) -> Vec<(u128, u32, u64)> {
    let string = |PrefixCount { prefix, count }| {
        let (bits, len) = string(&prefix.to_string());
        (bits, len, count)
    };
    filter.iter().map(string).collect()
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

pub(super) fn pick(random: &mut Random, items: &[Item]) -> Item {
    items[random.below(items.len() as u64) as usize]
}

fn known(hash: u64) -> Hash {
    Hash::raw(hash, 64)
}
