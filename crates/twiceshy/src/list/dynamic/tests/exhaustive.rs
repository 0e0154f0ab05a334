//! All sequences of operations on eight keys with weak hashes, up to a depth. Sequences that lead to the same state of list and
//! model go on together, so that all of them are tried and few are walked.

use super::*;
use crate::reverse_map::Row;
use twiceshy_testkit::walk;

const KEYS: u8 = 8;

/// A key: a byte of its first word, and a byte of the words after it.
type Key = [u8; 2];

fn hasher() -> Hasher {
    Hasher::chosen(|bytes, index| match index {
        0 => u64::from(bytes[0]) << 56,
        // Keys of equal first words differ later on, if their other bytes do.
        _ => u64::from(bytes[1]) << (56 - index.min(40)),
    })
}

/// What can be done, with one of the keys or with the list.
#[derive(Debug, Clone, Copy)]
enum Operation {
    AddYes(u8),
    AddNo(u8),
    MoveToYes(u8),
    MoveToNo(u8),
    Remove(u8),
    Ask(u8),
    Grow,
    Shrink,
    Rejuvenate,
    TakeSnapshot,
    Replay,
    Recover,
}

use Operation::*;

fn operations() -> Vec<Operation> {
    let with_key = [AddYes, AddNo, MoveToYes, MoveToNo, Remove, Ask];
    let with_keys = (0..KEYS).flat_map(|key| with_key.map(|operation| operation(key)));
    with_keys.chain([Grow, Shrink, Rejuvenate, TakeSnapshot, Replay, Recover]).collect()
}

/// A list and what it must be.
#[derive(Clone)]
struct Small {
    list: List,
    keys: [Option<Answer>; KEYS as usize],
    /// For every key which others it must not be mistaken for, as bits.
    fixed: [u8; KEYS as usize],
    snapshot: ListFilter,
    journal: Vec<Record>,
}

impl Small {
    fn new(quotient_bits: u32) -> Self {
        let builder = List::builder().hasher(hasher()).quotient_bits(quotient_bits).remainder_bits(1);
        let list = builder.limits(2, 4).build_list(MemoryMap::new()).unwrap();
        let snapshot = list.filter().clone();
        Self { list, keys: [None; 8], fixed: [0; 8], snapshot, journal: Vec::new() }
    }

    /// All that the future depends on.
    fn state(&self) -> Vec<u8> {
        let mut state = self.list.filter().to_bytes();
        state.extend(self.list.map().iter().flat_map(|Row { key, value, .. }| [key, &[9], value].concat()));
        state.extend(self.fixed);
        state.extend(self.snapshot.to_bytes());
        self.journal.iter().for_each(|record| record.write_to(&mut state));
        state
    }

    /// Whether another key on the other list has the same hash to the last bit.
    fn cannot_be_told(&self, universe: &[Key; 8], number: u8, list: Answer) -> bool {
        let is_same =
            |other: usize| other != usize::from(number) && universe[other] == universe[usize::from(number)];
        (0..8).any(|other| is_same(other) && self.keys[other].is_some_and(|other| other != list))
    }

    fn put(
        &mut self,
        universe: &[Key; 8],
        number: u8,
        list: Answer,
        done: Result<Option<Answer>, SetError<std::convert::Infallible>>,
        may_move: bool,
    ) -> bool {
        let key = usize::from(number);
        match (self.keys[key], done) {
            (Some(other), Err(SetError::OnBothLists(_))) => {
                assert!(!may_move && other != list);
                false
            }
            (was, Err(SetError::Indistinguishable(_))) => {
                assert!(was != Some(list) && self.cannot_be_told(universe, number, list));
                false
            }
            (was, Ok(found)) => {
                assert_eq!(found, was);
                assert!(was.is_none_or(|was| was == list || may_move));
                if was != Some(list) {
                    assert!(!self.cannot_be_told(universe, number, list));
                }
                if was == Some(Answer::Yes) && list.is_no() {
                    self.fixed.iter_mut().for_each(|others| *others &= !(1 << number));
                }
                self.keys[key] = Some(list);
                was != Some(list)
            }
            (_, Err(error)) => panic!("{error}"),
        }
    }

    /// Carries out an operation. `None` if it changes nothing that counts.
    fn apply(&self, universe: &[Key; 8], operation: Operation) -> Option<Self> {
        let mut next = self.clone();
        // The last byte of a key only tells it from others.
        let bytes = |number: u8| [universe[usize::from(number)].as_slice(), &[number]].concat();
        let hash = |number: u8| hasher().hash(&bytes(number));
        match operation {
            AddYes(number) | AddNo(number) | MoveToYes(number) | MoveToNo(number) => {
                let key = bytes(number);
                let was = self.keys[usize::from(number)];
                let list = Answer::from(matches!(operation, AddYes(_) | MoveToYes(_)));
                let may_move = matches!(operation, MoveToYes(_) | MoveToNo(_));
                let done = match operation {
                    AddYes(_) => next.list.add_yes(&key).map(|new| if new { None } else { was }),
                    AddNo(_) => next.list.add_no(&key).map(|new| if new { None } else { was }),
                    MoveToYes(_) => next.list.move_to_yes(&key),
                    _ => next.list.move_to_no(&key),
                };
                if next.put(universe, number, list, done, may_move) {
                    next.journal.push(Record::Inserted(hash(number)));
                } else {
                    assert!(next.state() == self.state(), "{operation:?} left a trace");
                    return None;
                }
            }
            Remove(number) => {
                let key = usize::from(number);
                let was = next.list.remove(&bytes(number)).unwrap();
                assert_eq!(was, next.keys[key].take());
                next.fixed.iter_mut().for_each(|others| *others &= !(1 << number));
                if was.is_some() {
                    next.journal.push(Record::Removed(hash(number)));
                }
            }
            Ask(number) => {
                let (key, is_yes) = (bytes(number), next.keys[usize::from(number)] == Some(Answer::Yes));
                let before = next.list.query(&key).is_yes();
                match next.list.query_exactly(&key) {
                    Ok(answer) => assert_eq!(answer.is_yes(), is_yes),
                    Err(SetError::Indistinguishable(_)) => {
                        assert!(next.cannot_be_told(universe, number, Answer::No));
                        return None;
                    }
                    Err(error) => panic!("{error}"),
                }
                if before && !is_yes {
                    let yes = (0..KEYS).filter(|other| next.keys[usize::from(*other)] == Some(Answer::Yes));
                    next.fixed[usize::from(number)] |= yes.fold(0, |all, other| all | 1 << other);
                    next.journal.push(next.list.filter().separate_record(&key).unwrap());
                }
            }
            Grow if next.list.filter().quotient_bits() > 5 => return None,
            Grow => next.list.grow().unwrap(),
            Shrink => next.list.shrink_to_fit().unwrap(),
            Rejuvenate => next.list.rejuvenate().unwrap(),
            TakeSnapshot => {
                next.snapshot = next.list.filter().clone();
                next.journal.clear();
            }
            Replay => {
                let map = next.list.map().clone();
                next.list = List::from_parts(next.snapshot.clone(), map);
                next.journal.iter().for_each(|record| next.list.replay(record).unwrap());
                next.list.recount().unwrap();
            }
            Recover => {
                let map = next.list.map().clone();
                next.list = List::recover(&next.snapshot, map, next.journal.clone()).unwrap();
            }
        }
        next.check(universe);
        Some(next)
    }

    fn check(&self, universe: &[Key; 8]) {
        self.list.validate().unwrap();
        for number in 0..KEYS {
            let (bytes, key) =
                ([universe[usize::from(number)].as_slice(), &[number]].concat(), usize::from(number));
            let answer = self.list.query(&bytes);
            match self.keys[key] {
                Some(list) => assert_eq!(answer, list, "key {number}"),
                None => {
                    let Some(ticket) = self.list.filter().ticket(&bytes) else { continue };
                    for other in (0..KEYS).filter(|other| self.fixed[key] >> other & 1 == 1) {
                        let other = [universe[usize::from(other)].as_slice(), &[other]].concat();
                        let is_met = ticket.prefix().covers(self.list.filter().hasher(), &other);
                        assert!(!is_met, "the same mistake twice");
                    }
                }
            }
        }
    }
}

/// Eight keys: hashes that differ early, late, pairwise, and not at all.
const UNIVERSES: [[Key; 8]; 5] = [
    // Every string of three bits.
    [[0, 0], [0x20, 0], [0x40, 0], [0x60, 0], [0x80, 0], [0xa0, 0], [0xc0, 0], [0xe0, 0]],
    // They part one after the other.
    [[0, 0], [0x80, 0], [0x40, 0], [0x20, 0], [0x10, 0], [8, 0], [4, 0], [2, 0]],
    // They part in the second word.
    [[0, 1], [0, 2], [0, 4], [0, 8], [0, 16], [0, 32], [0, 64], [0, 128]],
    // Pairs with equal first words.
    [[0, 0], [0, 1], [0x10, 0], [0x10, 1], [0x80, 0], [0x80, 1], [0x90, 0], [0x90, 0x80]],
    // Keys that cannot be told apart.
    [[0, 0], [0, 0], [0x10, 0], [0x10, 0], [0x20, 1], [0x20, 1], [0x40, 0], [0x40, 1]],
];

/// `TWICESHY_DEPTH=4 cargo test --release -p twiceshy --lib all_sequences_of_list` takes a minute.
#[test]
fn all_sequences_of_list_operations_over_eight_keys() {
    let depth = twiceshy_testkit::effort::times("TWICESHY_DEPTH", 3);
    for (number, universe) in UNIVERSES.iter().enumerate() {
        for quotient_bits in [1, 3] {
            let next = |small: &Small| {
                operations().into_iter().filter_map(|operation| small.apply(universe, operation)).collect()
            };
            let steps = walk(Small::new(quotient_bits), depth, next, Small::state);
            println!("universe {number}, {quotient_bits} bits: {steps} steps");
        }
    }
}
