//! The suffixes of the keys of a partition: what an entry of a range filter carries.
//!
//! # The idea
//!
//! A key is a partition and a suffix of `m` bits; what is hashed is the partition. The entry of a partition, and of whatever
//! others share its fingerprint, has the suffixes of all their keys, each once. The smallest is in the head, beside the
//! remainder, so that an entry of one key takes one slot. The others follow in slots of their own:
//!
//! - **listed**: one after the other, `m` bits each, in ascending order, side by side across the slots. What is left at the end
//!   repeats the last one, as often as it fits: what does not ascend is none.
//! - **mapped**: a bit for each of the `2^m` suffixes that there can be, as soon as a list would take as many slots. So how many
//!   slots there are tells which of the two it is, and an entry never takes more, however many keys there are.
//!
//! # Cost
//!
//! `m` bits per key and at most one slot for what is left over; never more than `2^m` bits and a slot.
//!
//! # Source
//!
//! Section 4.1 of *Aeris Filter*, after *Memento Filter*, which writes a count before the list. Here none is needed.

use std::ops::RangeInclusive;

use super::Payload;
use crate::bits::word::low_mask;
use crate::codec::fields::{self, Fields};
use crate::table::{Kind, Slot};

/// The most bits of a suffix: ranges of up to 65,536 keys lie in two partitions.
const MOST_BITS: u32 = 16;

/// Suffixes of so many bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Suffixes {
    bits: u32,
}

/// Some suffixes: what the keys under a fingerprint of a range filter have as their lowest bits.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SuffixSet {
    /// The smallest, and the others in order. A single one, as nearly all sets have, takes no memory elsewhere.
    first: Option<u16>,
    others: Vec<u16>,
}

impl SuffixSet {
    pub(crate) fn of(suffix: u16) -> Self {
        Self { first: Some(suffix), others: Vec::new() }
    }

    /// All of them, in ascending order.
    pub fn iter(&self) -> impl Iterator<Item = u16> {
        self.first.into_iter().chain(self.others.iter().copied())
    }

    fn insert(&mut self, suffix: u16) {
        let Some(first) = self.first else { return self.first = Some(suffix) };
        // The smallest changes places with one that is smaller.
        self.first = Some(first.min(suffix));
        let other = first.max(suffix);
        if first != suffix
            && let Err(at) = self.others.binary_search(&other)
        {
            self.others.insert(at, other);
        }
    }

    fn contains(&self, suffix: u16) -> bool {
        self.first == Some(suffix) || self.others.binary_search(&suffix).is_ok()
    }

    /// Whether any of them is in the range.
    fn meets(&self, range: &RangeInclusive<u16>) -> bool {
        let next = self.others.partition_point(|suffix| suffix < range.start());
        self.first.iter().chain(self.others.get(next)).any(|suffix| range.contains(suffix))
    }
}

/// The bits of a word that are set, counted from a number on.
fn ones(from: u32, mut word: u64) -> impl Iterator<Item = u32> {
    std::iter::from_fn(move || {
        let one = (word != 0).then(|| word.trailing_zeros())?;
        word &= word - 1;
        Some(from + one)
    })
}

/// In any order, and as often as they come.
impl FromIterator<u16> for SuffixSet {
    fn from_iter<I: IntoIterator<Item = u16>>(suffixes: I) -> Self {
        let mut all: Vec<u16> = suffixes.into_iter().collect();
        all.sort_unstable();
        all.dedup();
        if all.len() < 2 {
            return Self { first: all.pop(), others: Vec::new() };
        }
        let first = all.remove(0);
        Self { first: Some(first), others: all }
    }
}

impl Suffixes {
    /// Suffixes of up to 16 bits.
    pub(crate) fn new(bits: u32) -> Self {
        assert!(bits <= MOST_BITS, "suffixes of {bits} bits");
        Self { bits }
    }

    /// How many suffixes there can be.
    fn all(self) -> u32 {
        1 << self.bits
    }

    fn slots_mapped(self, slot_bits: u32) -> u32 {
        self.all().div_ceil(slot_bits)
    }

    fn slots_listed(self, suffixes: usize, slot_bits: u32) -> u32 {
        (suffixes as u32 * self.bits).div_ceil(slot_bits)
    }
}

impl Payload for Suffixes {
    type Value = SuffixSet;
    /// Any of these.
    type Query = RangeInclusive<u16>;

    const IN_HEAD: bool = true;

    #[inline(always)]
    fn head_bits(self) -> u32 {
        self.bits
    }

    #[inline(always)]
    fn in_head(self, set: &SuffixSet) -> Option<u64> {
        if set.others.is_empty() { set.first.map(u64::from) } else { None }
    }

    fn encode(self, set: &SuffixSet, slot_bits: u32, slots: &mut Vec<Slot>) -> u64 {
        let mut fields = Fields::new(slot_bits, Kind::Payload, slots);
        let (listed, mapped) = (self.slots_listed(set.others.len(), slot_bits), self.slots_mapped(slot_bits));
        if let (Some(&last), true) = (set.others.last(), listed < mapped) {
            let fit = listed * slot_bits / self.bits;
            let padding = std::iter::repeat(last);
            let padded = set.others.iter().copied().chain(padding).take(fit as usize);
            padded.for_each(|suffix| fields.push(suffix.into(), self.bits));
        } else if !set.others.is_empty() {
            let (mut members, at_once) = (set.iter().map(u32::from).peekable(), self.all().min(64));
            for from in (0..self.all()).step_by(at_once as usize) {
                let mut word = 0u64;
                while let Some(member) = members.next_if(|member| *member < from + at_once) {
                    word |= 1 << (member - from);
                }
                fields.push(word, at_once);
            }
        }
        fields.finish();
        set.first.unwrap_or(0).into()
    }

    fn decode(self, head: u64, slots: impl DoubleEndedIterator<Item = u64>, slot_bits: u32) -> SuffixSet {
        let slots: Vec<u64> = slots.collect();
        let head = (head & low_mask(self.bits)) as u16;
        if slots.len() as u32 >= self.slots_mapped(slot_bits) {
            let bits = (0..).step_by(slot_bits as usize).zip(slots).flat_map(|(from, slot)| ones(from, slot));
            let members = bits.filter(|suffix| *suffix < self.all()).map(|suffix| suffix as u16);
            let mut set: SuffixSet = members.collect();
            set.insert(head);
            return set;
        }
        let mut set = SuffixSet::of(head);
        let slot = |number: u64| slots.get(number as usize).copied();
        let (mut last, mut at, end) = (head, 0, slots.len() as u64 * u64::from(slot_bits));
        while at + u64::from(self.bits) <= end {
            let suffix = fields::read(slot, slot_bits, at, self.bits) as u16;
            if suffix <= last {
                break;
            }
            set.others.push(suffix);
            (last, at) = (suffix, at + u64::from(self.bits));
        }
        set
    }

    fn covers(self, entry: &SuffixSet, key: &SuffixSet) -> bool {
        key.iter().all(|suffix| entry.contains(suffix))
    }

    fn meets(self, entry: &SuffixSet, query: &RangeInclusive<u16>) -> bool {
        entry.meets(query)
    }

    fn may_share(self, _: &SuffixSet, _: &SuffixSet) -> bool {
        true
    }

    fn without(self, entry: &SuffixSet, key: &SuffixSet) -> Option<SuffixSet> {
        let left: SuffixSet = entry.iter().filter(|suffix| !key.contains(*suffix)).collect();
        left.first.is_some().then_some(left)
    }

    fn unite(self, entry: &mut SuffixSet, key: &SuffixSet) {
        key.iter().for_each(|suffix| entry.insert(suffix));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use twiceshy_testkit::Random;

    /// What is written is read again, takes as few slots as it can, and nothing else is read as it.
    fn check(payload: Suffixes, set: &SuffixSet, slot_bits: u32) {
        let mut slots = Vec::new();
        let head = payload.encode(set, slot_bits, &mut slots);
        let values: Vec<u64> = slots.iter().map(|slot| slot.value).collect();
        assert!(values.iter().all(|value| value & !low_mask(slot_bits) == 0), "wider than a slot");
        assert!(slots.iter().all(|slot| slot.kind == Kind::Payload));
        assert_eq!(&payload.decode(head, values.iter().copied(), slot_bits), set, "{slot_bits} bits");
        let listed = (set.iter().count() as u32 - 1) * payload.bits;
        let want = listed.min(1 << payload.bits).div_ceil(slot_bits);
        assert_eq!(slots.len() as u32, if listed == 0 { 0 } else { want }, "{set:?}, {slot_bits} bits");
        assert_eq!(payload.in_head(set), slots.is_empty().then_some(head));
    }

    /// All sets of suffixes of up to three bits, and sets of every size of more, past every boundary of the encoding.
    #[test]
    fn sets_of_every_size_are_read_as_they_were_written() {
        for bits in 0..=3 {
            let payload = Suffixes::new(bits);
            for mask in 1..1u32 << (1 << bits) {
                let set: SuffixSet = (0..1u16 << bits).filter(|suffix| mask >> suffix & 1 == 1).collect();
                (bits.max(1)..=20).chain([57, 64]).for_each(|slot_bits| check(payload, &set, slot_bits));
            }
        }
        let mut random = Random(1);
        for bits in 4..=10u32 {
            let payload = Suffixes::new(bits);
            for slot_bits in [bits, bits + 1, bits + 4, bits + 9, 31, 64] {
                // A suffix more at a time, in any order, until all are there.
                let mut order: Vec<u16> = (0..1 << bits).collect();
                for i in (1..order.len()).rev() {
                    order.swap(i, random.below(i as u64 + 1) as usize);
                }
                let mut set = SuffixSet::default();
                for suffix in order {
                    payload.unite(&mut set, &SuffixSet::of(suffix));
                    check(payload, &set, slot_bits);
                }
                assert_eq!(set.iter().count(), 1 << bits);
            }
        }
    }

    #[test]
    fn the_longest_suffixes_are_written_too() {
        let payload = Suffixes::new(16);
        for set in [vec![0, u16::MAX], (0..5000).map(|i| i * 13).collect(), (0..=u16::MAX).collect()] {
            check(payload, &set.into_iter().collect(), 25);
        }
    }

    /// Whatever lies in the slots, it is some set, and one that can be written.
    #[test]
    fn any_bits_are_some_set() {
        let mut random = Random(2);
        for _ in 0..20_000 {
            let (bits, slot_bits) = (random.below(8) as u32, 1 + random.below(30) as u32);
            let payload = Suffixes::new(bits);
            let slots: Vec<u64> =
                (0..random.below(40)).map(|_| random.next() & low_mask(slot_bits)).collect();
            let set = payload.decode(random.next(), slots.iter().copied(), slot_bits);
            assert!(set.iter().all(|suffix| u32::from(suffix) < 1 << bits));
            assert!(set.iter().is_sorted_by(|one, other| one < other) && set.first.is_some());
            check(payload, &set, slot_bits.max(bits));
        }
    }

    #[test]
    fn sets_are_asked_united_and_compared_as_sets() {
        let payload = Suffixes::new(3);
        let set = |mask: u32| (0..8).filter(|suffix| mask >> suffix & 1 == 1).collect::<SuffixSet>();
        for one in 1..256 {
            for other in 1..256 {
                assert_eq!(payload.covers(&set(one), &set(other)), other & !one == 0);
                let mut both = set(one);
                payload.unite(&mut both, &set(other));
                assert_eq!(both, set(one | other));
                let left = one & !other;
                assert_eq!(payload.without(&set(one), &set(other)), (left != 0).then(|| set(left)));
            }
            for start in 0..8u16 {
                for end in 0..8u16 {
                    let any = (start..=end).any(|suffix| one >> suffix & 1 == 1);
                    assert_eq!(payload.meets(&set(one), &(start..=end)), any, "{one:b}, {start}..={end}");
                }
            }
        }
    }
}
