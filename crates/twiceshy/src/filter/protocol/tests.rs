//! The same operations and the same laws for everything that an entry can carry: nothing, a tag that keys must agree in, and
//! a set that they unite: the suffixes of a range filter, of which one is in the head of an entry and the others in slots of
//! their own.

use std::collections::{BTreeMap, BTreeSet};
use std::convert::Infallible;
use std::fmt::Debug;
use std::ops::RangeInclusive;

use super::whole::neighbours;
use super::*;
use crate::adaptive::{Adapted, Filter, Record, Set};
use crate::codec::string::suffixes::{SuffixSet, Suffixes};
use crate::codec::string::{Payload, Place, Tags};
use crate::error::{RebuildError, SetError};
use crate::filter::core::plain::{merge_in_both_ways, move_in_both_ways, query_in_both_ways};
use crate::filter::core::{Core, Growth};
use crate::hash::{Hasher, Hashes, KeyWords, Turn};
use crate::list::{Answer, Lists};
use crate::reverse_map::{MemoryMap, ReverseMap};
use crate::table::Slot;
use twiceshy_testkit::Random;

/// Entries carry nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Nothing;

impl Payload for Nothing {
    type Value = ();
    type Query = ();
    const ALIKE: bool = true;

    fn in_head(self, (): &()) -> Option<u64> {
        Some(0)
    }

    fn encode(self, (): &(), _: u32, _: &mut Vec<Slot>) -> u64 {
        0
    }

    fn decode(self, _: u64, _: impl DoubleEndedIterator<Item = u64>, _: u32) {}

    fn covers(self, (): &(), (): &()) -> bool {
        true
    }

    fn may_share(self, (): &(), (): &()) -> bool {
        true
    }

    fn without(self, (): &(), (): &()) -> Option<()> {
        None
    }

    fn unite(self, (): &mut (), (): &()) {}
}

/// How a reader hashes some bytes of a key.
macro_rules! hash_of_bytes {
    ($bytes:expr) => {
        hash_of_bytes! { $bytes, stored_under, |hash| hash }
    };
    ($bytes:expr, $words:ident, $first_word:expr) => {
        type Words<'a> = KeyWords<'a, &'a [u8]>;
        type Owned<'a> = KeyWords<'a, Vec<u8>>;

        fn words<'a>(&'a self, row: Row<'a>) -> Self::Words<'a> {
            KeyWords::$words(&self.0, &row.key[$bytes], ($first_word)(row.hash))
        }

        fn owned<'a>(&'a self, row: Row<'_>) -> Self::Owned<'a> {
            KeyWords::$words(&self.0, row.key[$bytes].to_vec(), ($first_word)(row.hash))
        }
    };
}

macro_rules! hashes_as_its_hasher {
    ($reader:ident) => {
        impl Hashes for $reader {
            fn hasher(&self) -> &Hasher {
                &self.0
            }
        }

        impl Keys for $reader {
            fn in_turn(&self, turn: Turn) -> Self {
                Self(self.0.in_turn(turn))
            }
        }
    };
}

/// A reader whose keys are known, and can be hashed badly.
trait Universe: Keys {
    fn new(hasher: Hasher) -> Self;

    fn payload() -> Self::Payload;

    /// The hash that a key is stored under.
    fn hash(&self, key: &[u8]) -> u64 {
        self.hasher().hash_bytes(key)
    }

    /// All keys that there are.
    fn keys() -> Vec<Vec<u8>> {
        (0..120).map(|number| vec![number]).collect()
    }

    /// The value of the row of a key, which the reader makes the entry's value of.
    fn row_value(_: &mut Random) -> Vec<u8> {
        Vec::new()
    }

    /// Keys of rows that lie in the map as well and are none of the filter's.
    fn foreign() -> Vec<Vec<u8>> {
        Vec::new()
    }

    /// What these rows have as their value.
    const FOREIGN: &'static [u8] = b"foreign";
}

/// Keys of which nothing is known but that they are there.
#[derive(Debug, Clone, PartialEq)]
struct Points(Hasher);

hashes_as_its_hasher!(Points);

impl Reader for Points {
    type Payload = Nothing;
    hash_of_bytes!(..);

    fn value(&self, _: Row<'_>) {}

    fn query(&self, _: Row<'_>) {}

    fn value_under(&self, _: Row<'_>) -> Option<()> {
        Some(())
    }
}

impl Universe for Points {
    fn new(hasher: Hasher) -> Self {
        Self(hasher)
    }

    fn payload() -> Nothing {
        Nothing
    }
}

impl Universe for Hasher {
    fn new(hasher: Hasher) -> Self {
        hasher
    }

    fn payload() -> Tags {
        Tags
    }

    fn row_value(random: &mut Random) -> Vec<u8> {
        row_value([0, 0, 1, 300][random.below(4) as usize], &[])
    }
}

/// A key is a number and a 0; in the same map there are rows of numbers and a 1, which have the same hashes and are none of
/// the filter's, as those of another list may be.
#[derive(Debug, Clone, PartialEq)]
struct Beside(Hasher);

hashes_as_its_hasher!(Beside);

impl Reader for Beside {
    type Payload = Nothing;
    hash_of_bytes!(..1);

    fn value(&self, _: Row<'_>) {}

    fn query(&self, _: Row<'_>) {}

    fn is_key(&self, row: Row<'_>) -> bool {
        row.key[1] == 0
    }
}

impl Universe for Beside {
    fn new(hasher: Hasher) -> Self {
        Self(hasher)
    }

    fn payload() -> Nothing {
        Nothing
    }

    fn hash(&self, key: &[u8]) -> u64 {
        self.0.hash_bytes(&key[..1])
    }

    fn keys() -> Vec<Vec<u8>> {
        (0..120).map(|number| vec![number, 0]).collect()
    }

    fn foreign() -> Vec<Vec<u8>> {
        (0..120).step_by(3).map(|number| vec![number, 1]).collect()
    }
}

/// Keys on the YES list of a list; others are on its NO list and are barred.
impl Universe for Lists {
    fn new(hasher: Hasher) -> Self {
        Self::new(hasher)
    }

    fn payload() -> Tags {
        Tags
    }

    fn row_value(_: &mut Random) -> Vec<u8> {
        Answer::Yes.row_value().to_vec()
    }

    fn foreign() -> Vec<Vec<u8>> {
        (120..=200).map(|number| vec![number]).collect()
    }

    const FOREIGN: &'static [u8] = Answer::No.row_value();
}

/// A key is a group and a member of the group; what is hashed is the group. Two keys of one group cannot be told apart, and
/// need not be: an entry knows the members of all groups under it.
#[derive(Debug, Clone, PartialEq)]
struct Groups(Hasher);

hashes_as_its_hasher!(Groups);

impl Reader for Groups {
    type Payload = Suffixes;
    hash_of_bytes!(..1);

    fn value(&self, row: Row<'_>) -> SuffixSet {
        SuffixSet::of(row.key[1].into())
    }

    fn query(&self, row: Row<'_>) -> RangeInclusive<u16> {
        let member = row.key[1].into();
        member..=member
    }

    fn value_under(&self, row: Row<'_>) -> Option<SuffixSet> {
        Some(self.value(row))
    }

    fn must_part(&self, query: Row<'_>, row: Row<'_>) -> bool {
        query.key[0] != row.key[0] && query.key[1] == row.key[1]
    }
}

impl Universe for Groups {
    fn new(hasher: Hasher) -> Self {
        Self(hasher)
    }

    fn payload() -> Suffixes {
        Suffixes::new(3)
    }

    fn hash(&self, key: &[u8]) -> u64 {
        self.0.hash_bytes(&key[..1])
    }

    fn keys() -> Vec<Vec<u8>> {
        (0..30).flat_map(|group| (0..8).map(move |member| vec![group, member])).collect()
    }
}

/// The map is ordered by one hash, of which the filter knows the first bits only; those that follow are another one's.
#[derive(Debug, Clone, PartialEq)]
struct Epoch(Hasher);

hashes_as_its_hasher!(Epoch);

const EPOCH_BITS: u32 = 3;

impl Reader for Epoch {
    type Payload = Nothing;

    hash_of_bytes!(.., with_first, epoch_word);

    fn value(&self, _: Row<'_>) {}

    fn query(&self, _: Row<'_>) {}

    fn ordered_bits(&self) -> u32 {
        EPOCH_BITS
    }

    fn ordered_bits_of(&self, _: &Prefix) -> u32 {
        EPOCH_BITS
    }

    fn fingerprint_of(&self, hash: u64) -> Prefix {
        Prefix::from_bits(epoch_word(hash), 64)
    }
}

fn epoch_word(hash: u64) -> u64 {
    hash >> (64 - EPOCH_BITS) << (64 - EPOCH_BITS) | hash.reverse_bits() >> EPOCH_BITS
}

impl Universe for Epoch {
    fn new(hasher: Hasher) -> Self {
        Self(hasher)
    }

    fn payload() -> Nothing {
        Nothing
    }
}

/// A set, and all that must be true of them.
struct Checked<R: Keys> {
    set: Set<R, MemoryMap>,
    members: BTreeMap<Vec<u8>, Vec<u8>>,
    /// Queries that were mistaken for a member, and must not be again.
    fixed: BTreeSet<(Vec<u8>, Vec<u8>)>,
    positives: BTreeSet<Vec<u8>>,
    /// Its filter from before, and what happened since.
    snapshot: Filter<R>,
    inserted: BTreeSet<Vec<u8>>,
    removed: BTreeSet<Vec<u8>>,
    lessons: Vec<Record>,
    /// How far it had rotated at the last check.
    turn: Turn,
}

impl<R: Universe> Checked<R> {
    fn new(hasher: Hasher, quotient_bits: u32, remainder_bits: u32, random: &mut Random) -> Self {
        Self::growing(hasher, quotient_bits, remainder_bits, Growth::default(), random)
    }

    fn growing(
        hasher: Hasher,
        quotient_bits: u32,
        remainder_bits: u32,
        growth: Growth,
        random: &mut Random,
    ) -> Self {
        let (reader, payload) = (R::new(hasher), R::payload());
        let core = Core::empty(payload, quotient_bits.into(), remainder_bits, growth, Some((3, 20))).unwrap();
        let filter = Filter::from_core(core, reader.clone());
        let mut map = MemoryMap::new();
        for key in R::foreign().into_iter().filter(|_| random.below(2) == 0) {
            let _ = map.insert(reader.hash(&key), &key, R::FOREIGN).unwrap();
        }
        Self {
            snapshot: filter.try_clone().unwrap(),
            set: Set::from_parts(filter, map),
            members: BTreeMap::new(),
            fixed: BTreeSet::new(),
            positives: BTreeSet::new(),
            inserted: BTreeSet::new(),
            removed: BTreeSet::new(),
            lessons: Vec::new(),
            turn: Turn::NONE,
        }
    }

    fn core(&self) -> &Core<R::Payload> {
        self.set.filter().core()
    }

    fn reader(&self) -> &R {
        self.set.filter().reader()
    }

    fn row<'k>(&self, key: &'k [u8]) -> Row<'k> {
        Row { hash: self.reader().hash(key), key, value: &[] }
    }

    fn place(&self, row: Row<'_>) -> Option<Place> {
        self.core().cover(&self.reader().words(row))
    }

    fn is_positive(&self, key: &[u8]) -> bool {
        let row = self.row(key);
        self.core().query_for(&self.reader().words(row), &self.reader().query(row)).is_some()
    }

    fn insert(&mut self, key: Vec<u8>, value: Vec<u8>) {
        let row = Row { value: &value, ..self.row(&key) };
        let insert = Insert::map_first(row, self.reader().value(row));
        let inserted = self.set.drive(insert);
        self.follow_rotation();
        let Some(new) = self.unless_full(inserted) else { return };
        assert_eq!(new, !self.members.contains_key(&key));
        self.removed.remove(&key);
        self.inserted.insert(key.clone());
        // A row that is there keeps its value, unless it has to part from others for it.
        let stored = self.set.map().get(row.hash, &key).unwrap().to_vec();
        self.members.insert(key, stored);
        self.check(true);
    }

    fn remove(&mut self, key: Vec<u8>) {
        let row = self.row(&key);
        let was = self.set.drive(Remove::new(row.hash, &key)).unwrap();
        assert_eq!(was, self.members.remove(&key).is_some());
        self.fixed.retain(|(_, member)| *member != key);
        if was {
            self.inserted.remove(&key);
            self.removed.insert(key);
        }
        self.check(false);
    }

    fn adapt(&mut self, key: &[u8]) {
        let was_positive = self.is_positive(key);
        let adapted = self.set.drive(Adapt::new(self.reader().hash(key), key));
        let has_rotated = self.follow_rotation();
        let Some(adapted) = self.unless_full(adapted) else { return };
        match adapted {
            Adapted::Fixed { .. } => {
                assert!(was_positive && !self.members.contains_key(key));
                self.fixed.extend(self.members.keys().map(|member| (key.to_vec(), member.clone())));
                let row = self.row(key);
                self.lessons.push(self.set.filter().separate_record_of(row).unwrap());
                assert!(self.set.filter().lesson(self.lessons.last().unwrap()).is_some());
            }
            Adapted::WasMember => assert!(self.members.contains_key(key)),
            Adapted::NotPositive => assert!(!was_positive),
            Adapted::Vanished => panic!("every fingerprint has a key"),
        }
        assert_eq!(self.is_positive(key), self.members.contains_key(key), "{key:?}");
        self.check(has_rotated);
    }

    fn turn(&self) -> Turn {
        self.set.filter().turn()
    }

    /// Whether anything was rotated since the last check: then what was learned about these keys is forgotten.
    fn follow_rotation(&mut self) -> bool {
        let (before, after) = (self.turn, self.turn());
        if before == after {
            return false;
        }
        assert!(after.is_after(&before), "{after:?} is not after {before:?}");
        self.turn = after;
        let hash = |key: &[u8]| self.set.filter().reader().hash(key);
        self.fixed.retain(|(_, member)| !has_rotated(&before, &after, hash(member)));
        self.lessons.push(Record::Rotated(after));
        true
    }

    /// What was done; nothing if there was no room, which only a filter that may not grow says.
    fn unless_full<T>(&mut self, done: Result<T, SetError<Infallible>>) -> Option<T> {
        match done {
            Ok(done) => Some(done),
            Err(SetError::Full(_)) if matches!(self.core().growth(), Growth::Rotate { .. }) => {
                self.check(true);
                None
            }
            Err(error) => panic!("{error}"),
        }
    }

    /// Rotates a group of hashes that agree in so many bits, if that is what a turn begins with.
    fn rotate(&mut self, bits: u32) {
        let bits = bits.min(self.core().position_bits());
        let (filter, map) = self.set.parts();
        let state = |filter: &Filter<R>| (filter.core().table().bytes().to_vec(), filter.turn());
        let before = state(filter);
        match filter.rotate_with(bits, map) {
            Ok(()) => assert!(filter.turn().is_after(&before.1)),
            Err(RebuildError::Full { .. }) => assert!(state(filter) == before, "an error changes nothing"),
            Err(error) => panic!("{error}"),
        }
        self.follow_rotation();
        self.check(true);
    }

    /// Whatever the size, moving and merging gives the bytes that the plainest way gives.
    fn move_and_merge_in_both_ways(&self, other: &Self) {
        move_in_both_ways(self.core(), |prefix| neighbours(self.reader(), prefix, self.set.map()));
        for (one, other) in [(self, other), (other, self)] {
            let mine = |prefix: &Prefix| neighbours(self.reader(), prefix, one.set.map());
            let theirs = |prefix: &Prefix| neighbours(self.reader(), prefix, other.set.map());
            merge_in_both_ways(one.core(), other.core(), mine, theirs);
        }
    }

    fn grow(&mut self) {
        let grown = self.set.grow();
        let has_rotated = self.follow_rotation();
        self.unless_full(grown);
        self.check(has_rotated);
    }

    fn shrink(&mut self) {
        self.set.shrink_to_fit().unwrap();
        self.check(false);
    }

    fn rebuild(&mut self) {
        let rebuilt = self.set.rejuvenate();
        self.unless_full(rebuilt);
        self.check(false);
    }

    /// Goes on from the snapshot, as after a crash.
    fn replay(&mut self, in_one_pass: bool) {
        let hash = |key| self.reader().hash(key);
        let inserted = self.inserted.iter().map(|key| Record::Inserted(hash(key)));
        let removed = self.removed.iter().map(|key| Record::Removed(hash(key)));
        let journal: Vec<Record> = inserted.chain(removed).chain(self.lessons.iter().cloned()).collect();
        let is_limited = matches!(self.core().growth(), Growth::Rotate { .. });
        let map = self.set.map().clone();
        if in_one_pass {
            match Set::recover(&self.snapshot, map, journal) {
                Ok(set) => self.set = set,
                // Whoever has no room for what is there cannot go on from before.
                Err(SetError::Full(_)) if is_limited => return,
                Err(error) => panic!("{error}"),
            }
        } else {
            self.set = Set::from_parts(self.snapshot.try_clone().unwrap(), map);
            for record in &journal {
                let is_key = matches!(record, Record::Inserted(_));
                match self.set.replay(record) {
                    Ok(()) => {}
                    Err(SetError::Full(_)) if is_limited && !is_key => self.fixed.clear(),
                    Err(SetError::Full(_)) if is_limited => {
                        // A rebuild has more room: it reads all keys before it keeps what was learned.
                        let map = self.set.map().clone();
                        match Set::recover(&self.snapshot, map, journal.clone()) {
                            Ok(set) => self.set = set,
                            Err(error) => return self.start_over(error),
                        }
                        self.fixed.clear();
                    }
                    Err(error) => panic!("{error}"),
                }
            }
            let before = self.core().entries();
            self.set.recount().unwrap();
            assert_eq!(self.core().entries(), before, "every fingerprint has a key");
            // What keys that are gone have brought along is still there: a rebuild says it anew.
            let rebuilt = self.set.rejuvenate();
            assert!(rebuilt.is_ok() || is_limited);
        }
        if is_limited {
            // It may have had less room than before.
            self.fixed.clear();
            self.turn = self.turn();
        }
        assert!(!self.turn.is_after(&self.turn()), "rotated not as far as the journal says");
        self.follow_rotation();
        self.check(true);
        self.take_snapshot();
    }

    /// Gives up what cannot be recovered, for lack of room.
    fn start_over(&mut self, error: SetError<Infallible>) {
        assert!(matches!(error, SetError::Full(_)), "{error}");
        let filter = self.set.filter().empty_like().unwrap();
        let mut empty = MemoryMap::new();
        for key in R::foreign() {
            let _ = empty.insert(self.reader().hash(&key), &key, R::FOREIGN).unwrap();
        }
        self.set = Set::from_parts(filter, empty);
        self.turn = self.turn();
        self.members.clear();
        self.fixed.clear();
        self.check(true);
        self.take_snapshot();
    }

    fn take_snapshot(&mut self) {
        self.snapshot = self.set.filter().try_clone().unwrap();
        self.inserted.clear();
        self.removed.clear();
        self.lessons.clear();
    }

    fn merge(&mut self, mut other: Self) {
        let is_same_epoch = self.turn() == other.turn();
        if is_same_epoch {
            self.move_and_merge_in_both_ways(&other);
        } else {
            other.fixed.clear();
        }
        let merged = self.set.merge_from(&other.set);
        if self.unless_full(merged).is_none() {
            return;
        }
        for (key, value) in other.members {
            self.members.entry(key).or_insert(value);
        }
        self.fixed.append(&mut other.fixed);
        self.check(true);
        self.take_snapshot();
    }

    fn check(&mut self, may_add: bool) {
        self.set.validate().unwrap();
        assert_eq!(self.core().len(), self.members.len() as u64);
        // An entry carries what its keys bring along, and no more.
        let mut carried: BTreeMap<u64, ValueOf<R>> = BTreeMap::new();
        let rows = || self.set.map().iter().filter(|row| self.reader().is_key(*row));
        for row in rows() {
            let value = self.reader().value(row);
            let start = self.place(row).unwrap().entry.start;
            match carried.get_mut(&start) {
                Some(all) => R::payload().unite(all, &value),
                None => drop(carried.insert(start, value)),
            }
        }
        for row in rows() {
            let entry = self.place(row).unwrap().entry;
            assert_eq!(self.core().value(&entry), carried[&entry.start]);
        }
        for key in R::keys() {
            query_in_both_ways(self.core(), &self.reader().words(self.row(&key)));
        }
        let barred = self.set.map().iter().filter(|row| self.reader().is_barred(*row));
        barred.for_each(|row| assert!(!self.is_positive(row.key), "{row:?} is barred"));
        let now: BTreeSet<Vec<u8>> = R::keys().into_iter().filter(|key| self.is_positive(key)).collect();
        assert!(self.members.keys().all(|key| now.contains(key)), "a key is lost");
        assert!(may_add || now.is_subset(&self.positives), "a query became a mistake");
        for (query, member) in self.fixed.iter().filter(|(query, _)| now.contains(query)) {
            let (query, member) = (self.row(query), self.row(member));
            if self.members.contains_key(query.key) || !self.reader().must_part(query, member) {
                continue;
            }
            let (one, other) = (self.place(query), self.place(member));
            let met = one.zip(other).is_some_and(|(one, other)| one.entry.start == other.entry.start);
            assert!(!met, "the same mistake twice: {query:?} for {member:?}");
        }
        self.positives = now;
    }
}

/// Whether a hash was rotated between two turns.
fn has_rotated(before: &Turn, after: &Turn, hash: u64) -> bool {
    before.epoch_of(hash).number != after.epoch_of(hash).number
}

/// Hashes that agree far, and differ in the end.
fn hashers() -> [Hasher; 4] {
    fn good(bytes: &[u8], index: u32) -> u64 {
        Hasher::fast().word_bytes(bytes, index)
    }
    [
        Hasher::fast(),
        Hasher::chosen(|bytes, index| good(bytes, index) & if index == 0 { 0xfc << 56 } else { u64::MAX }),
        Hasher::chosen(|bytes, index| if index == 0 { 0x5555 << 48 } else { good(bytes, index) }),
        Hasher::chosen(
            |bytes, index| if index == 0 { u64::from(bytes[0]) << 56 } else { good(bytes, index) },
        ),
    ]
}

/// Whether filters of a run rotate, and when.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Rotation {
    Never,
    /// When they are told to.
    Told,
    /// And when they are full.
    Full,
}

fn run<R: Universe>(seed: u64, steps: u32) {
    run_with::<R>(seed, steps, Rotation::Never);
}

fn run_with<R: Universe>(seed: u64, steps: u32, rotation: Rotation) {
    let mut random = Random(seed);
    let hasher = hashers()[random.below(4) as usize].clone();
    let fresh = |random: &mut Random| {
        let (quotient_bits, remainder_bits) = (1 + random.below(4) as u32, 1 + random.below(4) as u32);
        let growth = match rotation {
            Rotation::Full => Growth::Rotate { max_bytes: 30 + random.below(6) * 30 },
            Rotation::Never | Rotation::Told => Growth::default(),
        };
        let quotient_bits =
            quotient_bits + if rotation == Rotation::Never { 0 } else { random.below(4) as u32 };
        Checked::<R>::growing(hasher.clone(), quotient_bits, remainder_bits, growth, random)
    };
    let keys = R::keys();
    let key = |random: &mut Random| keys[random.below(keys.len() as u64) as usize].clone();
    let mut checked = fresh(&mut random);
    for _ in 0..steps {
        if rotation != Rotation::Never && random.below(3) == 0 {
            checked.rotate(random.below(8) as u32);
        }
        match random.below(40) {
            0..=13 => {
                let value = R::row_value(&mut random);
                checked.insert(key(&mut random), value);
            }
            14..=19 => checked.remove(key(&mut random)),
            20..=31 => checked.adapt(&key(&mut random)),
            32..=33 => checked.grow(),
            34..=35 => checked.shrink(),
            36 => checked.rebuild(),
            37 => checked.take_snapshot(),
            38 => checked.replay(random.below(2) == 0),
            _ => {
                let mut other = fresh(&mut random);
                for _ in 0..random.below(20) {
                    let value = R::row_value(&mut random);
                    other.insert(key(&mut random), value);
                    other.adapt(&key(&mut random));
                    if rotation != Rotation::Never && random.below(9) == 0 {
                        other.rotate(random.below(8) as u32);
                    }
                }
                checked.merge(other);
            }
        }
        if checked.core().slots() > 1 << 9 {
            checked = fresh(&mut random);
        }
    }
}

/// How many runs of sixty steps there are for each payload.
fn seeds() -> u64 {
    twiceshy_testkit::effort::times("TWICESHY_STEPS", 6_000) / 60
}

/// Every kind of set, rotated at any time and by groups of any size: keys stay, and what was learned since.
#[test]
fn sets_that_are_told_to_rotate() {
    for seed in 0..seeds().div_ceil(5) {
        run_with::<Points>(seed, 60, Rotation::Told);
        run_with::<Beside>(seed, 60, Rotation::Told);
        run_with::<Lists>(seed, 60, Rotation::Told);
        run_with::<Hasher>(seed, 60, Rotation::Told);
        run_with::<Groups>(seed, 60, Rotation::Told);
    }
}

/// The same in tables that may not get larger, and which are full most of the time.
#[test]
fn sets_that_rotate_when_they_are_full() {
    for seed in 0..seeds().div_ceil(5) {
        run_with::<Points>(seed, 60, Rotation::Full);
        run_with::<Beside>(seed, 60, Rotation::Full);
        run_with::<Lists>(seed, 60, Rotation::Full);
        run_with::<Hasher>(seed, 60, Rotation::Full);
        run_with::<Groups>(seed, 60, Rotation::Full);
    }
}

#[test]
fn entries_that_carry_nothing() {
    (0..seeds()).for_each(|seed| run::<Points>(seed, 60));
}

#[test]
fn rows_beside_those_of_the_keys() {
    (0..seeds()).for_each(|seed| run::<Beside>(seed, 60));
}

#[test]
fn rows_that_no_fingerprint_may_cover() {
    (0..seeds()).for_each(|seed| run::<Lists>(seed, 60));
}

#[test]
fn hashes_that_are_in_order_at_first() {
    (0..seeds()).for_each(|seed| run::<Epoch>(seed, 60));
}

#[test]
fn entries_with_tags_that_part() {
    (0..seeds()).for_each(|seed| run::<Hasher>(seed, 60));
}

#[test]
fn entries_with_sets_that_unite() {
    (0..seeds()).for_each(|seed| run::<Groups>(seed, 60));
}

/// An operation that is dropped at any step has changed nothing, and one whose answers are out of date asks again.
#[test]
fn operations_may_be_dropped_and_ask_again_when_something_changed() {
    let mut checked = Checked::<Hasher>::new(hashers()[2].clone(), 2, 2, &mut Random(1));
    for number in 0..10 {
        checked.insert(vec![number], Vec::new());
    }
    let row = checked.row(&[0]);
    let mut remove = Remove::new(row.hash, &[0]);
    let mut filter = checked.set.filter().try_clone().unwrap();
    let Ok(Step::Rows(wanted)) = remove.step(&mut filter) else { panic!() };
    let old = wanted.read(checked.set.map()).unwrap();
    remove.rows(old);
    let Ok(Step::Delete(_)) = remove.step(&mut filter) else { panic!() };
    assert_eq!(filter.to_bytes(), checked.set.filter().to_bytes());
    // Meanwhile another key goes, and one comes, under the same fingerprint.
    checked.remove(vec![1]);
    checked.insert(vec![50], Vec::new());
    remove.answer(true);
    let step = remove.step(&mut checked.set.filter().try_clone().unwrap()).unwrap();
    assert!(matches!(step, Step::Rows(_)), "{step:?}");
    drop(remove);
    checked.check(true);
}

/// A filter in which all keys share a fingerprint, and its map.
fn crowded(quotient_bits: u32, keys: &[u8]) -> (AdaptiveFilter, MemoryMap) {
    let builder = AdaptiveFilter::builder().hasher(hashers()[2].clone());
    let mut filter = builder.quotient_bits(quotient_bits).remainder_bits(6).build().unwrap();
    let mut map = MemoryMap::new();
    for key in keys {
        let _ = filter.insert_with(&[*key][..], &map).unwrap();
        let _ = map.insert(filter.hasher().hash_bytes(&[*key]), &[*key], &[]).unwrap();
    }
    (filter, map)
}

/// Steps an operation that shares the filter with others until it asks for something else than rows, or is done.
fn go_on<'k, O: Operation<'k>>(
    operation: &mut O,
    filter: &mut AdaptiveFilter,
    map: &MemoryMap,
) -> Step<'k, O::Output> {
    loop {
        match operation.step(filter).unwrap() {
            Step::Rows(wanted) => operation.rows(wanted.read(map).unwrap()),
            step => return step,
        }
    }
}

/// What the map said of a key is out of date when another one has removed it meanwhile.
#[test]
fn an_insert_that_was_told_of_a_key_notices_that_it_went() {
    for others in [&[1u8][..], &[1, 2]] {
        for quotient_bits in 1..8 {
            let (mut filter, mut map) = crowded(quotient_bits, others);
            let hash = filter.hasher().hash_bytes(&[1]);
            let mut insert = Insert::filter_first(hash, &[1], 0);
            assert!(matches!(go_on(&mut insert, &mut filter, &map), Step::Get(_)));
            let mut remove = Remove::new(hash, &[1]);
            assert!(matches!(go_on(&mut remove, &mut filter, &map), Step::Delete(_)));
            let _ = map.remove(hash, &[1]).unwrap();
            remove.answer(true);
            assert!(matches!(go_on(&mut remove, &mut filter, &map), Step::Done(true)));
            insert.answer(true);
            loop {
                match go_on(&mut insert, &mut filter, &map) {
                    Step::Get(row) => insert.answer(map.contains(row.hash, row.key).unwrap()),
                    Step::Done(new) => break assert!(new),
                    step => panic!("{step:?}"),
                }
            }
            assert!(filter.contains(&[1u8][..]), "{quotient_bits} bits, {others:?}");
            assert_eq!(filter.len(), others.len() as u64);
        }
    }
}

/// A removal whose row is gone notices that the key was inserted again, with the same tag or with another one.
#[test]
fn a_removal_notices_that_its_key_has_come_back() {
    for tag in [0, 2] {
        for is_told_before in [false, true] {
            for quotient_bits in 1..8 {
                let (mut filter, mut map) = crowded(quotient_bits, &[1]);
                let hash = filter.hasher().hash_bytes(&[1]);
                let mut insert = Insert::filter_first(hash, &[1], tag);
                if is_told_before && matches!(go_on(&mut insert, &mut filter, &map), Step::Get(_)) {
                    insert.answer(true);
                }
                let mut remove = Remove::new(hash, &[1]);
                assert!(matches!(go_on(&mut remove, &mut filter, &map), Step::Delete(_)));
                let _ = map.remove(hash, &[1]).unwrap();
                remove.answer(true);
                loop {
                    match go_on(&mut insert, &mut filter, &map) {
                        Step::Get(row) => insert.answer(map.contains(row.hash, row.key).unwrap()),
                        Step::Room(more) => filter = filter.with_room(&more, &map).unwrap(),
                        Step::Done(_) => break,
                        step => panic!("{step:?}"),
                    }
                }
                let _ = map.insert(hash, &[1], &row_value(tag, &[])).unwrap();
                assert!(matches!(go_on(&mut remove, &mut filter, &map), Step::Done(_)));
                assert!(filter.contains(&[1u8][..]), "tag {tag}, {quotient_bits} bits, {is_told_before}");
            }
        }
    }
}

/// Two who insert the same covered key, and are both told that it is new, count it once.
#[test]
fn a_key_that_two_insert_is_counted_once() {
    let (mut filter, mut map) = crowded(6, &[1, 2]);
    let hash = filter.hasher().hash_bytes(&[3]);
    let mut both = [Insert::filter_first(hash, &[3], 0), Insert::filter_first(hash, &[3], 0)];
    for insert in &mut both {
        assert!(matches!(go_on(insert, &mut filter, &map), Step::Get(_)));
    }
    for insert in &mut both {
        insert.answer(false);
        loop {
            match go_on(insert, &mut filter, &map) {
                Step::Get(row) => insert.answer(map.contains(row.hash, row.key).unwrap()),
                Step::Done(_) => break,
                step => panic!("{step:?}"),
            }
        }
        let _ = map.insert(hash, &[3], &[]).unwrap();
    }
    assert_eq!(filter.len(), 3);
}
