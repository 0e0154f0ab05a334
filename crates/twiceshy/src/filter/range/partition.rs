//! Keys as partitions and suffixes, and how a filter of them reads the rows of its map.
//!
//! # The idea
//!
//! The codes of keys are cut into partitions of `2^m`. What is hashed is the number of the partition, and what an entry
//! carries are the suffixes of its keys, the lowest `m` bits of their codes. A query for a range asks one entry for each
//! partition that the range meets: two, if it is no longer than a partition. A point is a range of one.
//!
//! In the map a key is its code, highest byte first, so rows of one partition are in the order of their keys. A query is written
//! like a row: one code for a point, two for the ends of a range in one partition.
//!
//! # Cost
//!
//! A hash and a lookup for every partition that a range meets.
//!
//! # Source
//!
//! Sections 3 and 4 of *Aeris Filter*. A mistake is mended in every partition of a range by itself; what was learned for one of
//! them holds, whether or not the range turns out to have a key in another.

use std::ops::RangeInclusive;

use crate::adaptive::protocol::Reader;
use crate::bits::word::low_mask;
use crate::codec::string::suffixes::{SuffixSet, Suffixes};
use crate::hash::{Hasher, Hashes, KeyWords};
use crate::reverse_map::Row;

/// How codes of so many bytes are cut.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Partitions {
    hasher: Hasher,
    code_bytes: usize,
    suffixes: Suffixes,
}

/// Some neighbouring keys of one partition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Part {
    pub(crate) partition: u128,
    pub(crate) suffixes: RangeInclusive<u16>,
}

impl Partitions {
    /// For codes of `code_bits` bits, of which the lowest `suffix_bits` are the suffix.
    pub(crate) fn new(hasher: Hasher, code_bits: u32, suffix_bits: u32) -> Self {
        assert!(suffix_bits <= code_bits && code_bits <= 128);
        Self { hasher, code_bytes: code_bits.div_ceil(8) as usize, suffixes: Suffixes::new(suffix_bits) }
    }

    pub(crate) fn payload(&self) -> Suffixes {
        self.suffixes
    }

    /// Partition and suffix of a code.
    #[inline]
    pub(crate) fn split(&self, code: u128) -> (u128, u16) {
        let bits = self.suffixes.bits();
        (code.unbounded_shr(bits), (code as u64 & low_mask(bits)) as u16)
    }

    /// How many partitions a range of codes meets, beside the first.
    pub(crate) fn further(&self, codes: &RangeInclusive<u128>) -> u128 {
        self.split(*codes.end()).0 - self.split(*codes.start()).0
    }

    /// What a range of codes, which has some, is in each partition that it meets.
    pub(crate) fn parts(&self, codes: &RangeInclusive<u128>) -> impl Iterator<Item = Part> + use<> {
        let ((first, from), (last, to)) = (self.split(*codes.start()), self.split(*codes.end()));
        let most = low_mask(self.suffixes.bits()) as u16;
        // Not up to `last + 1`, which may not be there.
        (first..=last).map(move |partition| {
            let from = if partition == first { from } else { 0 };
            let to = if partition == last { to } else { most };
            Part { partition, suffixes: from..=to }
        })
    }

    /// The hash of a partition.
    pub(crate) fn hash(&self, partition: u128) -> u64 {
        self.hasher.hash(&partition)
    }

    /// The key of a code in the map.
    pub(crate) fn row_key(&self, code: u128) -> Vec<u8> {
        code.to_be_bytes()[16 - self.code_bytes..].to_vec()
    }

    /// A query for some keys of one partition, as the key of a row.
    pub(crate) fn query_key(&self, part: &Part) -> Vec<u8> {
        let code = |suffix: u16| part.partition.unbounded_shl(self.suffixes.bits()) | u128::from(suffix);
        let [start, end] =
            [part.suffixes.start(), part.suffixes.end()].map(|suffix| self.row_key(code(*suffix)));
        if start == end { start } else { [start, end].concat() }
    }

    /// What the key of a row says: that of a key is a range of one.
    fn part(&self, key: &[u8]) -> Part {
        let (start, end) = key.split_at(self.code_bytes.min(key.len()));
        let code = |bytes: &[u8]| bytes.iter().fold(0, |code, &byte| code << 8 | u128::from(byte));
        let (partition, from) = self.split(code(start));
        let to = if end.is_empty() { from } else { self.split(code(end)).1 };
        Part { partition, suffixes: from..=to }
    }

    fn key(&self, row: Row<'_>) -> (u128, u16) {
        let Part { partition, suffixes } = self.part(row.key);
        (partition, *suffixes.start())
    }
}

impl Hashes for Partitions {
    fn hasher(&self) -> &Hasher {
        &self.hasher
    }
}

impl Reader for Partitions {
    type Payload = Suffixes;
    type Words<'a> = KeyWords<'a, u128>;
    type Owned<'a> = KeyWords<'a, u128>;

    fn words<'a>(&'a self, row: Row<'a>) -> Self::Words<'a> {
        self.owned(row)
    }

    fn owned<'a>(&'a self, row: Row<'_>) -> Self::Owned<'a> {
        KeyWords::with_first(&self.hasher, self.key(row).0, row.hash)
    }

    fn value(&self, row: Row<'_>) -> SuffixSet {
        SuffixSet::of(self.key(row).1)
    }

    fn query(&self, row: Row<'_>) -> RangeInclusive<u16> {
        self.part(row.key).suffixes
    }

    fn value_under(&self, row: Row<'_>) -> Option<SuffixSet> {
        Some(self.value(row))
    }

    fn answers(&self, query: Row<'_>, row: Row<'_>) -> bool {
        let (query, (partition, suffix)) = (self.part(query.key), self.key(row));
        query.partition == partition && query.suffixes.contains(&suffix)
    }

    /// Keys of the query's own partition are told from it by their suffixes, and others need not be if theirs are not asked for.
    fn must_part(&self, query: Row<'_>, row: Row<'_>) -> bool {
        let (query, (partition, suffix)) = (self.part(query.key), self.key(row));
        query.partition != partition && query.suffixes.contains(&suffix)
    }
}

#[cfg(test)]
mod tests {
    use super::super::key::{RangeKey, codes};
    use super::*;
    use crate::adaptive::protocol::{Adapt, Insert, Remove};
    use crate::adaptive::{Adapted, Filter, Set};
    use crate::filter::core::{Core, Growth};
    use crate::reverse_map::MemoryMap;
    use std::collections::BTreeSet;
    use twiceshy_testkit::Random;

    #[test]
    fn parts_are_the_range_without_gaps() {
        for suffix_bits in 0..=8 {
            let partitions = Partitions::new(Hasher::fast(), 8, suffix_bits);
            for start in 0..=255u128 {
                for end in start..=255 {
                    let parts: Vec<Part> = partitions.parts(&(start..=end)).collect();
                    let all = parts.iter().flat_map(|part| {
                        let first = part.partition << suffix_bits;
                        part.suffixes.clone().map(move |suffix| first + u128::from(suffix))
                    });
                    assert!(all.eq(start..=end), "{start}..={end}: {parts:?}");
                    assert_eq!(parts.len() as u128, 1 + partitions.further(&(start..=end)));
                    for part in &parts {
                        assert_eq!(&partitions.part(&partitions.query_key(part)), part);
                    }
                }
            }
        }
        // The ends of the largest domain.
        let partitions = Partitions::new(Hasher::fast(), 128, 5);
        let end = u128::MAX - 40..=u128::MAX;
        assert_eq!(partitions.parts(&end).map(|part| part.suffixes.len()).sum::<usize>(), 41);
        assert_eq!(partitions.further(&(0..=u128::MAX)), u128::MAX >> 5);
        assert_eq!(Partitions::new(Hasher::fast(), 128, 0).further(&(0..=u128::MAX)), u128::MAX);
    }

    /// A set of numbers of eight bits, which is asked for every range after every operation.
    struct Checked {
        set: Set<Partitions, MemoryMap>,
        members: BTreeSet<u8>,
        /// Ranges that were mistaken, with the members there were.
        fixed: Vec<(RangeInclusive<u8>, BTreeSet<u8>)>,
    }

    impl Checked {
        fn new(hasher: Hasher, suffix_bits: u32, random: &mut Random) -> Self {
            let partitions = Partitions::new(hasher, u8::BITS, suffix_bits);
            let (quotient_bits, remainder_bits) = (1 + random.below(4) as u32, 1 + random.below(4) as u32);
            let (payload, growth) = (partitions.payload(), Growth::Grow { max_bytes: None });
            let limits = Some((3, 20));
            let core = Core::empty(payload, quotient_bits.into(), remainder_bits, growth, limits).unwrap();
            let filter = Filter::from_core(core, partitions);
            Self {
                set: Set::from_parts(filter, MemoryMap::new()),
                members: BTreeSet::new(),
                fixed: Vec::new(),
            }
        }

        fn reader(&self) -> &Partitions {
            self.set.filter().reader()
        }

        fn row(&self, member: u8) -> (u64, Vec<u8>) {
            let (partition, _) = self.reader().split(member.code());
            (self.reader().hash(partition), self.reader().row_key(member.code()))
        }

        fn insert(&mut self, member: u8) {
            let (hash, key) = self.row(member);
            let row = Row { hash, key: &key, value: &[] };
            let insert = Insert::map_first(row, self.reader().value(row));
            assert_eq!(self.set.drive(insert).unwrap(), self.members.insert(member));
        }

        fn remove(&mut self, member: u8) {
            let (hash, key) = self.row(member);
            assert_eq!(self.set.drive(Remove::new(hash, &key)).unwrap(), self.members.remove(&member));
        }

        /// The parts of a range that seem to have keys.
        fn positive(&self, range: &RangeInclusive<u8>) -> Vec<Part> {
            let Some(codes) = codes::<u8>(range) else { return Vec::new() };
            let (reader, core) = (self.reader(), self.set.filter().core());
            let is_positive = |part: &Part| {
                let words = KeyWords::new(reader.hasher(), part.partition);
                core.query_for(&words, &part.suffixes).is_some()
            };
            reader.parts(&codes).filter(is_positive).collect()
        }

        fn adapt(&mut self, range: RangeInclusive<u8>) {
            let is_member = self.members.range(range.clone()).next().is_some();
            let mut was_member = false;
            for part in self.positive(&range) {
                let (hash, key) = (self.reader().hash(part.partition), self.reader().query_key(&part));
                match self.set.drive(Adapt::new(hash, &key)).unwrap() {
                    Adapted::WasMember => was_member = true,
                    // Perhaps the part before it has met the same entry.
                    Adapted::Fixed { .. } | Adapted::NotPositive => {}
                    Adapted::Vanished => panic!("every fingerprint has a key"),
                }
            }
            assert_eq!(was_member, is_member, "{range:?}");
            if !is_member {
                assert!(self.positive(&range).is_empty(), "{range:?} is still mistaken");
                self.fixed.push((range, self.members.clone()));
            }
        }

        /// Ranges from everywhere, of these lengths.
        fn check(&mut self, lengths: impl Iterator<Item = u8> + Clone) {
            self.set.validate().unwrap();
            for start in 0..=u8::MAX {
                for end in lengths.clone().map(|length| start.saturating_add(length)) {
                    let is_member = self.members.range(start..=end).next().is_some();
                    assert!(
                        !is_member || !self.positive(&(start..=end)).is_empty(),
                        "{start}..={end} is lost"
                    );
                }
            }
            for (range, then) in &self.fixed {
                let is_new = self.members.range(range.clone()).next().is_some()
                    || self.members.iter().any(|member| !then.contains(member));
                let mistaken = self.positive(range);
                assert!(is_new || mistaken.is_empty(), "{range:?} is mistaken again: {mistaken:?}");
            }
        }
    }

    fn hashers() -> [Hasher; 3] {
        fn good(bytes: &[u8], index: u32) -> u64 {
            Hasher::fast().word_bytes(bytes, index)
        }
        [
            Hasher::fast(),
            Hasher::chosen(|bytes, index| {
                good(bytes, index) & if index == 0 { 0xe0 << 56 } else { u64::MAX }
            }),
            Hasher::chosen(|bytes, index| if index == 0 { 0 } else { good(bytes, index) }),
        ]
    }

    /// Every range of a small universe, after every operation, with hashes of all qualities.
    #[test]
    fn no_range_is_lost_and_no_mistake_is_made_twice() {
        let runs = twiceshy_testkit::effort::times("TWICESHY_STEPS", 6_000) / 200;
        for seed in 0..runs {
            let mut random = Random(seed);
            let hasher = hashers()[random.below(3) as usize].clone();
            let suffix_bits = random.below(6) as u32;
            let mut checked = Checked::new(hasher, suffix_bits, &mut random);
            for step in 1..=60 {
                let key = random.next() as u8;
                match random.below(20) {
                    0..=5 => checked.insert(key),
                    // A partition that fills up.
                    6..=7 => checked.insert(key & 0x1f),
                    8..=9 => checked.remove(key & 0x3f),
                    10..=11 => checked.adapt(key..=key),
                    12..=15 => checked.adapt(key..=key.saturating_add(random.below(40) as u8)),
                    16 => checked.set.grow().unwrap(),
                    17 => checked.set.shrink_to_fit().unwrap(),
                    18 => checked.set.rejuvenate().unwrap(),
                    _ => {
                        checked.members.clone().iter().take(3).for_each(|&member| checked.remove(member));
                    }
                }
                match step % 30 {
                    0 => checked.check(0..=100),
                    _ => checked.check([0, 1, (1 << suffix_bits) - 1, random.next() as u8 % 64].into_iter()),
                }
            }
        }
    }
}
