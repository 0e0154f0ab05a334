//! What every operation must keep, checked after every operation, on sets small enough to check everything.

use std::collections::BTreeSet;
use std::convert::Infallible;

use super::{BloomLayer, Cascade, CascadeSet, Layer, Learned, QuotientLayer, Seen};
use crate::error::CascadeError;
use crate::hash::Hasher;
use crate::reverse_map::{MemoryMap, ReverseMap};
use twiceshy_testkit::tolerance::of_count;
use twiceshy_testkit::{Random, walk, weak};

mod failures;

/// Keys are numbers below this one.
const UNIVERSE: u16 = 160;

type Set<L> = CascadeSet<L, MemoryMap>;

fn set<L: Layer>(word: weak::Word, capacity: u64, rate: f64) -> Set<L> {
    let builder = Cascade::<L>::builder().capacity(capacity).error_rate(rate);
    builder.hasher(Hasher::chosen(word)).build_set(MemoryMap::new()).unwrap()
}

impl<L: Layer> Cascade<L> {
    /// A member is in all layers up to the one where its cell is alive.
    fn check(&self, members: impl Iterator<Item = Vec<u8>>) {
        for key in members {
            let hash = self.hashed(&key);
            let home = self.home(hash);
            for number in 0..=home {
                let seen = self.layers[number].layer.look(self.probe(number, hash));
                assert_eq!(
                    seen,
                    if number == home { Seen::Present } else { Seen::Dead },
                    "layer {number} of {home}"
                );
            }
        }
        for (number, counted) in self.layers.iter().enumerate() {
            assert!(counted.keys <= self.room(number).0);
        }
    }
}

/// A set, and its members.
#[derive(Clone)]
struct Checked<L: Layer> {
    set: Set<L>,
    members: BTreeSet<u16>,
}

impl<L: Layer> Checked<L> {
    fn new(set: Set<L>) -> Self {
        Self { set, members: BTreeSet::new() }
    }

    fn check(&self) {
        self.set.filter().check(self.members.iter().map(|key| key.to_le_bytes().to_vec()));
        let all: Vec<u16> = (0..UNIVERSE).collect();
        let mut found = vec![false; all.len()];
        self.set.contains_batch(&all, &mut found);
        for (key, found) in all.iter().zip(found) {
            assert_eq!(self.set.contains(key), found);
            assert!(found || !self.members.contains(key), "{key} was lost");
        }
        assert_eq!(self.set.len(), self.members.len() as u64);
    }

    /// Carries out an operation that may fail for want of room only; then nothing has changed.
    fn try_to<T>(&mut self, operation: impl FnOnce(&mut Set<L>) -> Result<T, CascadeError>) -> Option<T> {
        let before = state(&self.set);
        match operation(&mut self.set) {
            Ok(done) => Some(done),
            Err(CascadeError::NeedsRebuild { .. } | CascadeError::Indistinguishable(_)) => {
                assert!(state(&self.set) == before, "an error has changed something");
                None
            }
            Err(error) => panic!("{error}"),
        }
    }

    fn insert(&mut self, key: u16) {
        if let Some(is_new) = self.try_to(|set| set.insert(&key)) {
            assert_eq!(is_new, self.members.insert(key));
        }
        self.check();
    }

    fn remove(&mut self, key: u16) {
        assert_eq!(self.set.remove(&key).unwrap(), self.members.remove(&key));
        self.check();
    }

    fn adapt(&mut self, key: u16) {
        let before = self.set.contains(&key);
        match self.try_to(|set| set.adapt(&key)) {
            Some(Learned::Fixed { .. }) => {
                assert!(before && !self.set.contains(&key) && !self.members.contains(&key))
            }
            Some(Learned::WasMember) => assert!(self.members.contains(&key)),
            Some(Learned::NotPositive) => assert!(!before),
            None => assert!(before && !self.members.contains(&key)),
        }
        self.check();
    }

    fn rebuild(&mut self) {
        let rebuilds = self.set.filter().rebuilds();
        if self.try_to(|set| set.rebuild()).is_some() {
            assert!(self.set.filter().rebuilds() == rebuilds + 1 && self.set.filter().layers().len() == 1);
        }
        self.check();
    }
}

/// All that an operation may change. (Files have no hash functions that tests choose.)
fn state<L: Layer>(set: &Set<L>) -> (u64, u64, Vec<(u64, Vec<u8>)>, usize) {
    let filter = set.filter();
    let layers = filter.layers.iter().map(|counted| (counted.keys, counted.layer.to_bytes())).collect();
    (filter.epoch, filter.len, layers, set.map().len())
}

fn no_key_is_lost<L: Layer>() {
    for (name, word) in weak::WORDS {
        for seed in 0..12 {
            let mut random = Random(seed);
            let (capacity, rate) =
                ([1, 20, 100, 160][seed as usize % 4], [0.9, 0.5, 0.1, 0.01][seed as usize / 3]);
            let mut checked = Checked::<L>::new(set(word, capacity, rate));
            for _ in 0..400 {
                let key = random.below(UNIVERSE.into()) as u16;
                match random.below(20) {
                    0..8 => checked.insert(key),
                    8..11 => checked.remove(key),
                    11..19 => checked.adapt(key),
                    _ => checked.rebuild(),
                }
            }
            assert!(name == "constant" || !checked.members.is_empty());
        }
    }
}

#[test]
fn no_key_is_lost_in_layers_of_bloom_filters() {
    no_key_is_lost::<BloomLayer>();
}

#[test]
fn no_key_is_lost_in_layers_of_quotient_filters() {
    no_key_is_lost::<QuotientLayer>();
}

/// All sequences of a few operations with six keys.
fn sequences<L: Layer>() {
    for word in [weak::good as weak::Word, weak::three_bits, weak::constant] {
        let start = Checked::<L>::new(set(word, 4, 0.7));
        let next = |before: &Checked<L>| {
            let operations: [fn(&mut Checked<L>, u16); 3] =
                [Checked::insert, Checked::remove, Checked::adapt];
            let mut all = Vec::new();
            for key in 0..6 {
                for operation in operations {
                    let mut after = before.clone();
                    operation(&mut after, key);
                    all.push(after);
                }
            }
            all
        };
        assert!(walk(start, 5, next, |checked| (checked.members.clone(), state(&checked.set))) > 1_000);
    }
}

#[test]
fn all_sequences_with_bloom_filters() {
    sequences::<BloomLayer>();
}

#[test]
fn all_sequences_with_quotient_filters() {
    sequences::<QuotientLayer>();
}

/// Mistakes that are asked for again and again are learned one by one, and new ones are as rare as promised, in every window.
fn rate_holds<L: Layer>() {
    let (keys, rate) = (4_000u64, 1.0 / 32.0);
    let mut set = set::<L>(weak::good, keys, rate);
    for key in 0..keys {
        set.insert(&key).unwrap();
    }
    let (mut known, mut query) = (Vec::<u64>::new(), keys);
    for window in 0..40 {
        let (mut new, mut asked) = (0u64, 0u64);
        for turn in 0..2_000usize {
            // The adversary repeats what was a mistake.
            if turn % 4 == 0 && !known.is_empty() {
                let again = known[turn * 7 % known.len()];
                set.contains_exactly(&again).unwrap();
                assert!(!set.contains(&again));
                continue;
            }
            query += 1;
            asked += 1;
            if set.contains(&query) {
                new += 1;
                known.push(query);
                assert!(!set.contains_exactly(&query).unwrap());
            }
        }
        let (asked, most) = (asked as f64, rate * asked as f64 + of_count(asked as f64, rate));
        assert!(new as f64 <= most, "window {window}: {new} of {asked}");
    }
    assert!(set.filter().rebuilds() > 0 && set.filter().layers().len() > 1, "{set:?}");
    assert!((0..keys).all(|key| set.contains(&key)));
    assert!(set.filter().expected_error_rate() <= rate);
}

#[test]
fn the_rate_holds_against_who_repeats_mistakes_to_bloom_filters() {
    rate_holds::<BloomLayer>();
}

#[test]
fn the_rate_holds_against_who_repeats_mistakes_to_quotient_filters() {
    rate_holds::<QuotientLayer>();
}

#[test]
fn the_cells_of_a_bloom_filter_are_stretches_of_the_map() {
    let mut random = Random(1);
    for keys in [1, 2, 3, 100, 1 << 20] {
        let layer = BloomLayer::new(keys, 0.1, true).unwrap();
        let probe = |place| super::Probe { place, bits: 0 };
        for _ in 0..1_000 {
            let place = random.next();
            let (first, last) = layer.places(probe(place)).into_inner();
            assert!((first..=last).contains(&place));
            for (inside, place) in [(true, Some(first)), (true, Some(last))]
                .into_iter()
                .chain([(false, first.checked_sub(1)), (false, last.checked_add(1))])
            {
                let Some(other) = place else { continue };
                assert_eq!(
                    layer.is_same_cell(probe(other), probe((first / 2 + last / 2).max(first))),
                    inside
                );
            }
        }
    }
}

fn bytes_are_read_back<L: Layer>() {
    let builder = Cascade::<L>::builder().capacity(300).error_rate(0.1).hasher(Hasher::fast());
    let mut set = builder.build_set(MemoryMap::new()).unwrap();
    for key in 0..300u32 {
        set.insert(&key).unwrap();
    }
    for query in 1_000..3_000u32 {
        set.contains_exactly(&query).unwrap();
    }
    let bytes = set.filter().to_bytes();
    let copy = Cascade::<L>::from_bytes(&bytes).unwrap();
    assert!(copy.layers().len() > 1);
    assert_eq!(
        (copy.layers(), copy.len(), copy.rebuilds()),
        (set.filter().layers(), 300, set.filter().rebuilds())
    );
    assert_eq!(copy.to_bytes(), bytes);
    for key in 0..10_000u32 {
        assert_eq!(copy.contains(&key), set.contains(&key));
    }
    // Whatever is cut off, or another bit, is found out.
    for len in 0..bytes.len() {
        Cascade::<L>::from_bytes(&bytes[..len]).unwrap_err();
    }
    for at in 0..bytes.len() {
        let mut damaged = bytes.clone();
        damaged[at] ^= 1 << (at % 8);
        Cascade::<L>::from_bytes(&damaged).unwrap_err();
    }
    let folder = tempfile::tempdir().unwrap();
    set.filter().save(folder.path().join("cascade")).unwrap();
    assert_eq!(Cascade::<L>::load(folder.path().join("cascade")).unwrap().to_bytes(), bytes);
}

#[test]
fn bytes_of_bloom_filters_are_read_back() {
    bytes_are_read_back::<BloomLayer>();
}

#[test]
fn bytes_of_quotient_filters_are_read_back() {
    bytes_are_read_back::<QuotientLayer>();
}

#[test]
fn settings_that_make_no_sense_are_refused() {
    let builder = Cascade::<BloomLayer>::builder;
    for rate in [0.0, 1.0, -1.0, f64::NAN] {
        builder().capacity(10).error_rate(rate).build().unwrap_err();
    }
    builder().build().unwrap_err();
    builder().capacity(u64::MAX).build().unwrap_err();
    let empty = builder().capacity(0).build().unwrap();
    assert!(empty.is_empty() && !empty.contains("ant"));
}
