//! What a range filter promises.

mod cases;
mod model;
mod orders;
mod rate;
mod vain;

use std::collections::BTreeMap;
use std::ops::Bound;

use super::*;
use crate::bits::word::low_mask as mask;
use crate::codec::stop;
use crate::filter::range::fill::{Placed, fill};
use twiceshy_testkit::weak::WORDS;
use twiceshy_testkit::{BitString, Random};

/// A key of a universe of 64.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Small(u8);

const UNIVERSE: u8 = 64;

impl RangeKey for Small {
    const CODE_BITS: u32 = 6;
    const TYPE: u8 = 200;
    fn code(&self) -> u128 {
        self.0.into()
    }
}

/// A filter, the keys that are in it, and what its table should hold: fingerprints with suffixes and copies.
#[derive(Clone)]
struct Checked {
    filter: RangeFilter<Small>,
    members: Vec<u8>,
    held: BTreeMap<(BitString, u16), u64>,
    positives: Vec<bool>,
}

impl Checked {
    fn new(filter: RangeFilter<Small>) -> Self {
        let mut new = Self { filter, members: Vec::new(), held: BTreeMap::new(), positives: Vec::new() };
        new.check(true);
        new
    }

    fn hash_and_suffix(&self, key: u8) -> (BitString, u16) {
        let (partition, suffix) = self.filter.settings.cut.split(key.into());
        (BitString::of_hash(self.filter.hash(partition)), suffix)
    }

    /// What is too short goes to every quotient that begins with it.
    fn spread(&mut self) {
        let bits = self.filter.quotient_bits();
        for ((string, suffix), count) in std::mem::take(&mut self.held) {
            let missing = bits.saturating_sub(string.len);
            for number in 0..1u128 << missing {
                let longer = string.bits | number.unbounded_shl(128 - string.len.max(bits));
                let longer = BitString::new(longer, string.len.max(bits));
                *self.held.entry((longer, suffix)).or_insert(0) += count;
            }
        }
    }

    /// A key came: to the longest fingerprint that covers it, if that has six bits beside the quotient or as many as a new one, else
    /// with one of full length.
    fn came(&mut self, key: u8) {
        self.spread();
        let (hash, suffix) = self.hash_and_suffix(key);
        let covering = self.held.keys().map(|(string, _)| *string).filter(|string| string.is_prefix_of(hash));
        let (full, bits) = (self.filter.fingerprint_bits(), self.filter.quotient_bits());
        let longest = covering.max_by_key(|string| string.len);
        let longest = longest.filter(|string| string.len >= full.min(bits + 6));
        let string = longest.unwrap_or(hash.cut(full));
        *self.held.entry((string, suffix)).or_insert(0) += 1;
        self.members.push(key);
    }

    fn insert(&mut self, key: u8) {
        let before = self.filter.to_bytes();
        match self.filter.insert(&Small(key)) {
            Ok(is_new) => {
                self.came(key);
                assert_eq!(is_new, !self.positives[usize::from(key)], "new is what was not found");
            }
            Err(_) => assert!(self.filter.to_bytes() == before, "an error changed something"),
        }
        self.check(true);
    }

    fn insert_batch(&mut self, keys: &[u8]) {
        let before = self.filter.to_bytes();
        let all: Vec<Small> = keys.iter().copied().map(Small).collect();
        let mut one_by_one = self.filter.clone();
        match self.filter.insert_batch(&all) {
            Ok(new) => {
                let inserted = all.iter().map(|key| u64::from(one_by_one.insert(key).unwrap()));
                assert_eq!(new, inserted.sum::<u64>());
                assert!(self.filter.to_bytes() == one_by_one.to_bytes());
                self.members.extend(keys);
                self.adopt();
            }
            Err(_) => assert!(self.filter.to_bytes() == before, "an error changed something"),
        }
        self.check(true);
    }

    /// A member goes: the longest fingerprint that has its suffix.
    fn remove(&mut self, number: usize) {
        if self.members.is_empty() {
            return;
        }
        let key = self.members.swap_remove(number % self.members.len());
        let (hash, suffix) = self.hash_and_suffix(key);
        assert!(self.filter.remove(&Small(key)), "a member is found");
        let matching =
            self.held.keys().filter(|(string, other)| *other == suffix && string.is_prefix_of(hash));
        let longest = *matching.max_by_key(|(string, _)| string.len).expect("a member has a fingerprint");
        *self.held.get_mut(&longest).unwrap() -= 1;
        self.held.retain(|_, count| *count > 0);
        if self.members.is_empty() {
            self.held.clear();
        }
        self.check(false);
    }

    /// What is not found cannot be removed.
    fn remove_absent(&mut self, key: u8) {
        if !self.positives[usize::from(key)] {
            let before = self.filter.to_bytes();
            assert!(!self.filter.remove(&Small(key)));
            assert!(self.filter.to_bytes() == before, "something else was removed");
        }
    }

    fn grow(&mut self) {
        let before = self.filter.to_bytes();
        match self.filter.grow() {
            Ok(()) => self.spread(),
            Err(_) => assert!(self.filter.to_bytes() == before, "an error changed something"),
        }
        self.check(false);
    }

    fn shrink(&mut self) {
        self.filter.shrink_to_fit().unwrap();
        self.check(false);
    }

    fn save_and_load(&mut self) {
        let file = self.filter.to_bytes();
        RangeFilter::<Small>::view(&file).unwrap().validate().unwrap();
        let mut copy = RangeFilter::<Small>::from_bytes(&file).unwrap();
        assert!(copy.to_bytes() == file);
        copy.hasher = self.filter.hasher.clone();
        self.filter = copy;
        self.check(false);
    }

    fn merge(&mut self, other: &Self) {
        let before = self.filter.to_bytes();
        match self.filter.merge_from(&other.filter) {
            Ok(()) => {
                for (key, count) in &other.held {
                    *self.held.entry(*key).or_insert(0) += count;
                }
                self.members.extend(&other.members);
                self.spread();
            }
            Err(_) => assert!(self.filter.to_bytes() == before, "an error changed something"),
        }
        self.check(true);
    }

    /// All members in a filter of its own.
    fn rebuild(&mut self, builder: Builder<Small>, is_sorted: bool) {
        let builder = builder.hasher(self.filter.hasher.clone());
        let mut keys: Vec<Small> = self.members.iter().copied().map(Small).collect();
        let built = if is_sorted {
            keys.sort_by_key(|key| self.filter.partition_hash(key));
            builder.from_sorted(keys)
        } else {
            builder.from_keys(keys)
        };
        if let Ok(filter) = built {
            self.filter = filter;
            self.held.clear();
            for key in std::mem::take(&mut self.members) {
                self.came(key);
            }
        }
        self.check(true);
    }

    /// Takes the contents over as they are: each is a string of a member, or a copy of one.
    fn adopt(&mut self) {
        self.held.clear();
        for entry in self.filter.iter() {
            let string = BitString::parse(&entry.prefix.to_string());
            *self.held.entry((string, entry.suffix)).or_insert(0) += entry.count;
        }
    }

    /// Checks everything. `may_rise` if the operation may make keys positive.
    fn check(&mut self, may_rise: bool) {
        let filter = &self.filter;
        filter.validate().unwrap();
        assert_eq!(filter.len(), self.members.len() as u64);
        let found: BTreeMap<(BitString, u16), u64> = filter
            .iter()
            .map(|entry| ((BitString::parse(&entry.prefix.to_string()), entry.suffix), entry.count))
            .collect();
        assert_eq!(found, self.held, "contents");
        self.check_bytes();
        let is_positive = |key: u8| {
            let (hash, suffix) = self.hash_and_suffix(key);
            self.held.keys().any(|(string, other)| *other == suffix && string.is_prefix_of(hash))
        };
        let positives: Vec<bool> = (0..UNIVERSE).map(is_positive).collect();
        assert!(self.members.iter().all(|key| positives[usize::from(*key)]), "a member was lost");
        if !may_rise {
            let rose = positives.iter().zip(&self.positives).any(|(now, before)| *now && !before);
            assert!(!rose, "something is found that was not found before");
        }
        self.check_answers(&positives);
        self.positives = positives;
    }

    /// The bytes are those of a table that is loaded from what it should hold.
    fn check_bytes(&self) {
        let Boxed { table, codec, .. } = &self.filter.boxes;
        let (shape, string_bits) = (*table.shape(), table.shape().slot_bits() - codec.suffix_bits());
        let mut keys: Vec<_> = self.held.iter().collect();
        keys.sort_by_key(|((string, suffix), _)| (string.in_order(), *suffix));
        let placed = keys.into_iter().map(|((string, suffix), count)| {
            let quotient = (string.bits >> (128 - shape.quotient_bits())) as u64;
            let len = string.len - shape.quotient_bits();
            let bits = (string.bits >> (128 - string.len)) as u64 & mask(len);
            let string = if codec.has_stops() { stop::encode(bits, len, string_bits) } else { bits };
            Ok(Placed { place: (quotient, string), suffix: *suffix, count: *count })
        });
        if let Ok(fresh) = fill((shape, *codec), true, placed)
            && fresh.table.shape() == &shape
        {
            assert!(fresh.table.bytes() == table.bytes(), "other bytes than those of a fresh load");
            assert_eq!(fresh.held, self.filter.boxes.held);
        }
    }

    /// Every range of the universe, with some kinds of bounds, one by one and all at once.
    fn check_answers(&self, positives: &[bool]) {
        let filter = &self.filter;
        let most = u64::from(filter.max_partitions()) * filter.max_range();
        let mut ranges = Vec::new();
        let mut expected = Vec::new();
        for first in 0..UNIVERSE {
            for last in first..UNIVERSE {
                let cut = filter.settings.cut;
                let is_long = cut.is_too_long(&(first.into()..=last.into()));
                assert!(is_long || u64::from(last - first) < most);
                let any = positives[usize::from(first)..=usize::from(last)].contains(&true);
                ranges.push((Bound::Included(Small(first)), Bound::Included(Small(last))));
                expected.push(any || is_long);
            }
            assert_eq!(filter.contains(&Small(first)), positives[usize::from(first)], "key {first}");
        }
        for (range, expected) in ranges.iter().zip(&expected) {
            assert_eq!(filter.contains_range(*range), *expected, "{range:?}");
            let (Bound::Included(first), Bound::Included(last)) = range else { unreachable!() };
            // The same range with other bounds.
            if first.0 > 0 && last.0 + 1 < UNIVERSE {
                let other = (Bound::Excluded(Small(first.0 - 1)), Bound::Excluded(Small(last.0 + 1)));
                assert_eq!(filter.contains_range(other), *expected, "{other:?}");
            }
            assert!(first == last || !filter.contains_range((range.1, range.0)), "a reversed range is empty");
            assert!(!filter.contains_range((range.0, Bound::Excluded(*first))), "an empty range");
        }
        let mut found = vec![false; ranges.len()];
        filter.contains_range_batch(&ranges, &mut found);
        assert_eq!(found, expected);
        let keys: Vec<Small> = (0..UNIVERSE).map(Small).collect();
        let mut found = vec![true; keys.len()];
        filter.contains_batch(&keys, &mut found);
        assert_eq!(found, positives);
        let unbounded = filter.contains_range((Bound::<Small>::Unbounded, Bound::Included(Small(5))));
        assert_eq!(unbounded, filter.contains_range((Bound::Included(Small(0)), Bound::Included(Small(5)))));
        let unbounded = filter.contains_range((Bound::Included(Small(60)), Bound::<Small>::Unbounded));
        assert_eq!(
            unbounded,
            filter.contains_range((Bound::Included(Small(60)), Bound::Included(Small(63))))
        );
        for &key in self.members.iter().take(5) {
            let copies = self.members.iter().filter(|other| **other == key).count() as u64;
            assert!(filter.count(&Small(key)) >= copies);
        }
    }
}

/// Bounds of every kind are those of `std`, for every pair of keys.
pub(crate) fn every_kind_of_bound_is_understood(
    members: &[u8],
    mut contains_range: impl FnMut((Bound<u8>, Bound<u8>)) -> bool,
) {
    let bounds = |key: u8| [Bound::Included(key), Bound::Excluded(key)];
    let all = || (0..=u8::MAX).flat_map(bounds).chain([Bound::Unbounded]);
    for start in all() {
        for end in all() {
            let range = (start, end);
            let expected = members.iter().any(|member| RangeBounds::contains(&range, member));
            assert_eq!(contains_range(range), expected, "{range:?}");
        }
    }
}

fn hashers() -> Vec<(&'static str, Hasher)> {
    WORDS.iter().map(|(name, word)| (*name, Hasher::chosen(*word))).collect()
}
