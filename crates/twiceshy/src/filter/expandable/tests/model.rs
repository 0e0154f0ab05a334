//! Random operations on both.

use super::*;
use crate::error::MergeError;

/// One random operation on both; errors must change nothing.
pub(super) fn step(pair: &mut Pair, random: &mut Random, items: &[Item], context: &str) {
    let before = pair.filter.to_bytes();
    let unchanged = |filter: &ExpandableFilter, error: &dyn std::error::Error| {
        assert!(filter.to_bytes() == before, "{context}: an error changed bytes: {error}");
    };
    let some = |random: &mut Random, from: &[Item], most: u64| -> Vec<Item> {
        (0..random.below(most)).map(|_| random.pick(from)).collect()
    };
    match random.below(40) {
        0..=17 => {
            let item = random.pick(items);
            if let Err(error) = pair.insert(item) {
                unchanged(&pair.filter, &error);
            }
        }
        18..=26 if !pair.members.is_empty() => {
            let number = random.below(pair.members.len() as u64) as usize;
            pair.remove(number);
        }
        27..=29 if !pair.members.is_empty() => {
            let item = random.pick(&pair.members);
            if let Err(error) = pair.rejuvenate(item) {
                unchanged(&pair.filter, &error);
            }
        }
        30..=31 => {
            let batch = some(random, items, 60);
            match insert_batch(&mut pair.filter, &batch) {
                Err(error) => unchanged(&pair.filter, &error),
                // The lengths in between are not known, so the strings are read back.
                Ok(_) => {
                    pair.members.extend(&batch);
                    adopt(pair, context);
                }
            }
        }
        32 if !pair.members.is_empty() => {
            let batch = some(random, &pair.members, 30);
            match rejuvenate_batch(&mut pair.filter, &batch) {
                Err(error) => unchanged(&pair.filter, &error),
                Ok(_) => {
                    for item in batch {
                        assert!(pair.contains(item), "{context}: {item:x?} lost by rejuvenation");
                    }
                    adopt(pair, context);
                }
            }
        }
        33 => pair.filter.shrink_to_fit().unwrap(),
        34..=35 => merge(pair, random, items, context),
        36 => {
            pair.filter = ExpandableFilter::from_bytes(&before).unwrap();
            assert!(pair.filter.to_bytes() == before, "{context}: bytes do not come back");
            let view = ExpandableFilter::view(&before).unwrap();
            view.validate().unwrap();
            assert!(view.iter().eq(pair.filter.iter()), "{context}: view");
        }
        37 => {
            pair.filter = pair.filter.clone();
            assert!(pair.filter.to_bytes() == before, "{context}: clone");
        }
        38 => pair.filter = ExpandableFilter::read_from(before.as_slice()).unwrap(),
        _ => {
            if random.below(20) == 0 {
                pair.filter.clear();
                pair.strings = Strings::default();
                pair.members.clear();
            }
        }
    }
}

pub(super) fn insert_batch(filter: &mut ExpandableFilter, batch: &[Item]) -> Result<u64, ExpandError> {
    match split_items(batch) {
        (raw, keys) if keys.is_empty() => filter.insert_hash_batch(&raw),
        (_, keys) => filter.insert_batch(&keys),
    }
}

fn rejuvenate_batch(filter: &mut ExpandableFilter, batch: &[Item]) -> Result<u64, ExpandError> {
    match split_items(batch) {
        (raw, keys) if keys.is_empty() => filter.rejuvenate_hash_batch(&raw),
        (_, keys) => filter.rejuvenate_batch(&keys),
    }
}

fn split_items(items: &[Item]) -> (Vec<u64>, Vec<u64>) {
    let (mut raw, mut keys) = (Vec::new(), Vec::new());
    for item in items {
        match item {
            Item::Raw(hash) => raw.push(*hash),
            Item::Key(key) => keys.push(*key),
        }
    }
    (raw, keys)
}

/// Takes the strings of the filter over, after checking that each member can have one of its own.
pub(super) fn adopt(pair: &mut Pair, context: &str) {
    pair.strings = Strings(strings(&pair.filter).collect());
    let members = pair.members.iter().map(|item| item.string(&pair.filter));
    pair.strings.belong_to(members).unwrap_or_else(|what| panic!("{context}: {what}"));
}

/// Merges a filter of another size and age into the one of the pair.
fn merge(pair: &mut Pair, random: &mut Random, items: &[Item], context: &str) {
    let mut other = Pair::new(pair.filter.empty_like().unwrap());
    other.filter.settings.spread_growth = random.below(2) == 0;
    let rounds = [5, 50, 300][random.below(3) as usize];
    for _ in 0..random.below(rounds) {
        // What does not fit is left out.
        let _ = other.insert(random.pick(items));
        if !other.members.is_empty() && random.below(3) == 0 {
            let number = random.below(other.members.len() as u64) as usize;
            other.remove(number);
        }
        other.cut_all();
    }
    let before = pair.filter.to_bytes();
    match pair.filter.merge_from(&other.filter) {
        Ok(()) => {
            other.cut_all();
            pair.strings.0.extend(other.strings.0);
            pair.members.append(&mut other.members);
        }
        Err(error) => {
            assert!(matches!(error, MergeError::NoRoom(_)), "{context}: {error}");
            assert!(pair.filter.to_bytes() == before, "{context}: a failed merge changed bytes");
        }
    }
}

#[derive(Debug)]
pub(super) struct Setup {
    pub(super) mode: Mode,
    pub(super) start: u32,
    pub(super) bits: u32,
    pub(super) spread_growth: bool,
    pub(super) block_bits: u32,
    pub(super) limits: (u8, u32),
}

impl Setup {
    pub(super) fn build(&self) -> ExpandableFilter {
        ExpandableFilter::builder()
            .mode(self.mode)
            .quotient_bits(self.start)
            .fingerprint_bits(self.bits)
            .spread_growth(self.spread_growth)
            .block_bits(self.block_bits)
            .limits(self.limits.0, self.limits.1)
            .hasher(Hasher::fast())
            .build()
            .unwrap()
    }

    /// Every spread of raw hashes, and keys.
    pub(super) fn spreads(&self) -> impl Iterator<Item = (&'static str, Option<Spread>)> {
        SPREADS.iter().map(|(name, spread)| (*name, Some(*spread))).chain([("keys", None)])
    }
}

/// Drives a filter, with every spread of raw hashes and with keys. Returns the longest chain.
fn drive(setup: &Setup, steps: u32) -> usize {
    let mut longest_chain = 0;
    for (seed, (name, spread)) in setup.spreads().enumerate() {
        let mut random = Random(seed as u64 + u64::from(setup.bits * 100 + setup.start));
        let items = items(&mut random, spread, 150);
        let mut pair = Pair::new(setup.build());
        for number in 0..steps {
            let context = format!("{setup:?} {name} step {number}");
            step(&mut pair, &mut random, &items, &context);
            pair.check(&items, &context);
            longest_chain = longest_chain.max(pair.filter.chain_len());
        }
    }
    longest_chain
}

#[test]
fn every_operation_agrees_with_the_model() {
    for mode in [Mode::Growing, Mode::Chained, Mode::Basic] {
        for spread_growth in [false, true] {
            for bits in [1, 2, 3, 5, 8, 13, 40] {
                for start in [1, 3] {
                    let limits = (3, 20);
                    drive(&Setup { mode, start, bits, spread_growth, block_bits: 64, limits }, 80);
                }
            }
        }
    }
}

#[test]
fn short_hash_words_agree_with_the_model() {
    for mode in [Mode::Growing, Mode::Chained] {
        for spread_growth in [false, true] {
            for block_bits in [3, 8, 13] {
                for bits in [1, 3, 9] {
                    let limits = (255, 64);
                    drive(&Setup { mode, start: 2, bits, spread_growth, block_bits, limits }, 80);
                }
            }
        }
    }
}

#[test]
fn long_histories_agree_with_the_model() {
    let mut longest_chain = 0;
    for mode in [Mode::Growing, Mode::Chained] {
        for spread_growth in [false, true] {
            for limits in [(1, 7), (255, 64)] {
                for bits in [1, 2] {
                    let setup = Setup { mode, start: 1, bits, spread_growth, block_bits: 64, limits };
                    longest_chain = longest_chain.max(drive(&setup, 300));
                }
            }
        }
    }
    assert!(longest_chain >= 2, "{longest_chain}");
}

#[test]
fn all_histories_of_four_hashes() {
    // Every sequence of up to 6 inserts, removals and rejuvenations of 4 hashes, some of them nested.
    let items = [0, 1 << 61, 3 << 62, 7 << 61].map(Item::Raw);
    for (mode, spread_growth) in [(Mode::Growing, false), (Mode::Chained, true)] {
        let filter = ExpandableFilter::builder()
            .mode(mode)
            .quotient_bits(1)
            .fingerprint_bits(1)
            .max_load(0.5)
            .spread_growth(spread_growth)
            .limits(1, 3)
            .hasher(Hasher::fast())
            .build()
            .unwrap();
        let mut level = vec![Pair::new(filter)];
        for depth in 0..6 {
            let mut next = Vec::new();
            for pair in &level {
                for item in items {
                    let mut more = pair.clone();
                    if more.insert(item).is_ok() {
                        more.check(&items, "exhaustive insert");
                        next.push(more);
                    }
                    if let Some(number) = pair.members.iter().position(|member| *member == item) {
                        let mut less = pair.clone();
                        less.remove(number);
                        less.check(&items, "exhaustive removal");
                        next.push(less);
                        let mut younger = pair.clone();
                        younger.rejuvenate(item).unwrap();
                        younger.check(&items, "exhaustive rejuvenation");
                        next.push(younger);
                    }
                }
            }
            for pair in &mut next {
                pair.members.sort_unstable();
            }
            next.sort_by_cached_key(|pair| (pair.filter.to_bytes(), pair.members.clone()));
            next.dedup_by_key(|pair| (pair.filter.to_bytes(), pair.members.clone()));
            level = next;
            assert!(level.len() > 3, "depth {depth}");
        }
    }
}
