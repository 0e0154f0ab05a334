//! All sequences of operations on six keys of a domain of sixteen, up to a depth, and every range of the domain after each.
//! Sequences that lead to the same state of set and model go on together, so that all of them are tried and few are walked.

use super::*;
use twiceshy_testkit::walk;

/// All that there are.
const KEYS: u8 = 16;

/// Both ends of the domain, neighbours, and the same places in several partitions.
const MEMBERS: [u8; 6] = [0, 1, 5, 9, 12, 15];

/// A key of four bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Small(u8);

impl RangeKey for Small {
    const CODE_BITS: u32 = 4;
    fn code(&self) -> u128 {
        self.0.into()
    }
}

/// What can be done, with one of the keys, with a range or with the set.
#[derive(Debug, Clone, Copy)]
enum Operation {
    Insert(u8),
    Remove(u8),
    Adapt(u8, u8),
    Grow,
    Shrink,
    Rejuvenate,
    TakeSnapshot,
    Replay,
    Recover,
}

use Operation::*;

fn ranges() -> impl Iterator<Item = (u8, u8)> {
    (0..KEYS).flat_map(|first| (first..KEYS).map(move |last| (first, last)))
}

fn operations() -> Vec<Operation> {
    let with_keys = MEMBERS.iter().flat_map(|&key| [Insert(key), Remove(key)]);
    let with_ranges = ranges().map(|(first, last)| Adapt(first, last));
    with_keys.chain(with_ranges).chain([Grow, Shrink, Rejuvenate, TakeSnapshot, Replay, Recover]).collect()
}

/// A set and what it must be.
#[derive(Clone)]
struct Walked {
    set: AdaptiveRangeSet<Small, MemoryMap>,
    /// As bits.
    members: u16,
    /// For every key which members it must not be mistaken for, as bits.
    fixed: [u16; KEYS as usize],
    snapshot: AdaptiveRangeFilter<Small>,
    journal: Vec<Record>,
}

impl Walked {
    fn new(hasher: Hasher, max_range: u64) -> Self {
        let builder = Builder::default().hasher(hasher).max_range(max_range).max_partitions(16);
        let builder = builder.quotient_bits(1).remainder_bits(1).limits(2, 4);
        let set = builder.build_set(MemoryMap::new()).unwrap();
        let snapshot = set.filter().clone();
        Self { set, members: 0, fixed: [0; KEYS as usize], snapshot, journal: Vec::new() }
    }

    /// All that the future depends on.
    fn state(&self) -> Vec<u8> {
        let mut state = self.set.filter().to_bytes();
        state.extend(self.members.to_le_bytes());
        state.extend(self.fixed.iter().flat_map(|others| others.to_le_bytes()));
        state.extend(self.snapshot.to_bytes());
        self.journal.iter().for_each(|record| record.write_to(&mut state));
        state
    }

    fn is_member(&self, first: u8, last: u8) -> bool {
        (first..=last).any(|key| self.members >> key & 1 == 1)
    }

    fn finds(&self, first: u8, last: u8) -> bool {
        self.set.contains_range(Small(first)..=Small(last))
    }

    /// Carries out an operation. `None` if there is nothing to do.
    fn apply(&self, operation: Operation) -> Option<Self> {
        let hash = |key: u8| self.set.filter().coded(&Small(key)).hash();
        let mut next = self.clone();
        let may_add = match operation {
            Insert(key) => {
                assert_eq!(next.set.insert(&Small(key)).unwrap(), self.members >> key & 1 == 0);
                next.members |= 1 << key;
                next.journal.push(Record::Inserted(hash(key)));
                true
            }
            Remove(key) => {
                assert_eq!(next.set.remove(&Small(key)).unwrap(), self.members >> key & 1 == 1);
                next.members &= !(1 << key);
                next.fixed.iter_mut().for_each(|others| *others &= !(1 << key));
                next.journal.push(Record::Removed(hash(key)));
                false
            }
            Adapt(first, last) => {
                if !self.finds(first, last) || self.is_member(first, last) {
                    return None;
                }
                let range = Small(first)..=Small(last);
                let adapted = next.set.adapt_range(range.clone()).unwrap();
                assert!(matches!(adapted, Adapted::Fixed { .. }), "{operation:?}: {adapted:?}");
                assert!(!next.finds(first, last), "{operation:?}: still mistaken");
                next.fixed[first.into()..=last.into()].iter_mut().for_each(|others| *others |= next.members);
                let filter = next.set.filter();
                let records = filter.separate_records(range);
                next.journal.extend(records);
                false
            }
            Grow if next.set.filter().quotient_bits() > 4 => return None,
            Grow => {
                next.set.grow().unwrap();
                false
            }
            Shrink => {
                next.set.shrink_to_fit().unwrap();
                false
            }
            Rejuvenate => {
                next.set.rejuvenate().unwrap();
                false
            }
            TakeSnapshot => {
                next.snapshot = next.set.filter().clone();
                next.journal.clear();
                false
            }
            // What only a removal told, a recovery may forget.
            Replay => {
                next.set = AdaptiveRangeSet::from_parts(next.snapshot.clone(), next.set.map().clone());
                next.journal.iter().for_each(|record| next.set.replay(record).unwrap());
                next.set.recount().unwrap();
                true
            }
            Recover => {
                let map = next.set.map().clone();
                next.set = AdaptiveRangeSet::recover(&next.snapshot, map, next.journal.clone()).unwrap();
                true
            }
        };
        next.check(operation);
        for (first, last) in ranges().filter(|_| !may_add) {
            assert!(self.finds(first, last) || !next.finds(first, last), "{operation:?}: a new mistake");
        }
        Some(next)
    }

    /// Every range there is, every key, and every mistake that was made.
    fn check(&self, operation: Operation) {
        self.set.validate().unwrap();
        for (first, last) in ranges() {
            let found = self.finds(first, last);
            assert!(found || !self.is_member(first, last), "{operation:?}: {first}..={last} is lost");
            let any = (first..=last).any(|key| self.set.contains(&Small(key)));
            assert_eq!(found, any, "{operation:?}: {first}..={last} is no sum of its keys");
        }
        for key in 0..KEYS {
            for member in (0..KEYS).filter(|member| self.fixed[usize::from(key)] >> member & 1 == 1) {
                let range = Small(key)..=Small(key);
                let again = is_mistaken_for(self.set.filter(), range, Small(member));
                assert!(!again, "{operation:?}: {key} is mistaken for {member} again");
            }
        }
    }
}

/// Hashes of partitions that differ in their first bits, one after the other, and behind 64 bits.
fn weak_hashers() -> [Hasher; 3] {
    [
        Hasher::chosen(|bytes, index| if index == 0 { u64::from(bytes[0]) << 60 } else { 0 }),
        Hasher::chosen(|bytes, index| if index == 0 { 1 << (63 - bytes[0]) } else { 0 }),
        Hasher::chosen(|bytes, index| if index == 0 { 0 } else { u64::from(bytes[0]) << 58 }),
    ]
}

/// `TWICESHY_DEPTH=4 cargo test --release -p twiceshy --lib all_sequences_of_range` takes minutes.
#[test]
fn all_sequences_of_range_operations() {
    let depth = twiceshy_testkit::effort::times("TWICESHY_DEPTH", 3);
    for (number, hasher) in weak_hashers().into_iter().enumerate() {
        for max_range in [2, 4] {
            let next = |walked: &Walked| {
                operations().into_iter().filter_map(|operation| walked.apply(operation)).collect()
            };
            let steps = walk(Walked::new(hasher.clone(), max_range), depth, next, Walked::state);
            assert!(steps > 100 * depth, "hashes {number}, ranges of {max_range}: {steps} steps");
        }
    }
}
