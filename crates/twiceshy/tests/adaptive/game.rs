//! The game: ask at random, collect the false positives, ask them all again. A pair of a query and a stored
//! key that was fixed never collides again, whatever happens in between.

use std::collections::BTreeMap;
use std::ops::ControlFlow;

use twiceshy::AdaptiveFilter;
use twiceshy::adaptive::{Query, Record};
use twiceshy::reverse_map::Lookup;

use super::*;

/// A set with everything that was promised about it.
struct Game {
    set: AdaptiveSet<MemoryMap>,
    numbers: Numbers,
    /// Counts what happens.
    time: u64,
    /// When each member came.
    came: BTreeMap<u64, u64>,
    /// When each query was fixed last.
    fixed: BTreeMap<u64, u64>,
    /// What was learned since the last snapshot.
    snapshot: AdaptiveFilter,
    journal: Vec<u8>,
    /// Queries that were positive again because of a key that came later.
    later_keys: u64,
}

impl Game {
    fn new(builder: adaptive::Builder, seed: u64) -> Self {
        let set = builder.build_set(MemoryMap::new()).unwrap();
        Self {
            snapshot: set.filter().clone(),
            set,
            numbers: Numbers(seed),
            time: 0,
            came: BTreeMap::new(),
            fixed: BTreeMap::new(),
            journal: Vec::new(),
            later_keys: 0,
        }
    }

    fn insert(&mut self, key: u64) {
        self.time += 1;
        if self.set.insert(&key).unwrap() {
            self.came.insert(key, self.time);
            Record::Inserted(self.set.filter().hasher().hash(&key)).write_to(&mut self.journal);
        }
    }

    fn insert_some(&mut self, keys: u64) {
        for _ in 0..keys {
            let key = member(&mut self.numbers);
            self.insert(key);
        }
    }

    /// Removes every key for which a draw below `one_in` is 0.
    fn remove_some(&mut self, one_in: u64) {
        let gone: Vec<u64> = self.came.keys().copied().filter(|_| self.numbers.below(one_in) == 0).collect();
        for key in gone {
            assert!(self.set.remove(&key).unwrap());
            self.came.remove(&key);
        }
    }

    /// Asks and learns.
    fn ask(&mut self, query: u64) {
        if !self.set.contains(&query) {
            return;
        }
        self.time += 1;
        assert!(!self.set.contains_exactly(&query).unwrap());
        self.fixed.insert(query, self.time);
        assert!(!self.set.contains(&query), "{query:x} was fixed just now");
        self.set.filter().separate_record(&query).unwrap().write_to(&mut self.journal);
    }

    fn ask_some(&mut self, queries: u64) {
        for _ in 0..queries {
            let query = stranger(&mut self.numbers);
            self.ask(query);
        }
    }

    /// Asks everything again that was ever fixed, and counts the repeats: pairs of a query and a member that
    /// was there already when the query was fixed.
    fn repeats(&self, set: &AdaptiveSet<MemoryMap>) -> u64 {
        let hasher = set.filter().hasher();
        let mut repeats = 0;
        for (query, fixed) in &self.fixed {
            let Query::Maybe(ticket) = set.query(query) else { continue };
            let visit = &mut |row: twiceshy::reverse_map::Row<'_>| {
                let key = u64::from_le_bytes(row.key.try_into().unwrap());
                let meets = ticket.prefix().covers(hasher, row.key);
                let promised = self.came.get(&key).is_some_and(|came| came < fixed);
                repeats += u64::from(meets && promised);
                ControlFlow::Continue(())
            };
            set.map().visit(ticket.prefix().first_words(), visit).unwrap();
        }
        repeats
    }

    /// Plays a round, and checks that all keys are there and nothing repeats.
    fn play(&mut self, what: &str) {
        assert_eq!(self.repeats(&self.set), 0, "after {what}");
        assert_eq!(self.set.len(), self.came.len() as u64, "after {what}");
        let keys: Vec<u64> = self.came.keys().copied().collect();
        let mut found = vec![false; keys.len()];
        self.set.contains_batch(&keys, &mut found);
        assert!(found.iter().all(|&found| found), "a key is lost after {what}");
        // The guarantee is about pairs: later keys may meet old queries, once.
        let again: Vec<u64> = self.fixed.keys().copied().filter(|query| self.set.contains(query)).collect();
        self.later_keys += again.len() as u64;
        again.into_iter().for_each(|query| self.ask(query));
        assert!(self.fixed.keys().all(|query| !self.set.contains(query)), "after {what}");
        let stats = self.set.filter().stats();
        println!(
            "{what}: {} keys, {} queries fixed, {} again for later keys, {} slots used of {}, {} growths",
            self.came.len(),
            self.fixed.len(),
            self.later_keys,
            self.set.filter().used_slots(),
            self.set.filter().slots(),
            stats.growths,
        );
    }

    fn save_and_load(&mut self) {
        let filter = AdaptiveFilter::from_bytes(&self.set.filter().to_bytes()).unwrap();
        self.set = AdaptiveSet::from_parts(filter, self.set.map().clone());
    }

    fn take_snapshot(&mut self) {
        self.snapshot = AdaptiveFilter::from_bytes(&self.set.filter().to_bytes()).unwrap();
        self.journal.clear();
    }

    /// The records since the last snapshot, as they are read after a crash.
    fn records(&self) -> Vec<Record> {
        let mut rest = self.journal.as_slice();
        std::iter::from_fn(|| (!rest.is_empty()).then(|| Record::read_from(&mut rest).unwrap())).collect()
    }

    /// After a crash: the map is as it was, the filter comes from the snapshot and the journal.
    fn recover(&mut self) {
        let map = self.set.map().clone();
        self.set = AdaptiveSet::recover(&self.snapshot, map, self.records()).unwrap();
        self.set.validate().unwrap();
    }

    /// The same, record by record.
    fn replay(&mut self) {
        let mut set = AdaptiveSet::from_parts(self.snapshot.clone(), self.set.map().clone());
        for record in self.records() {
            set.replay(&record).unwrap();
        }
        set.recount().unwrap();
        self.set = set;
    }

    /// Adds another game's set. Both keep what they were promised.
    fn merge(&mut self, other: Game) {
        self.set.merge_from(&other.set).unwrap();
        self.time += 1;
        assert_eq!(self.repeats(&self.set), 0, "of the first set");
        assert_eq!(other.repeats(&self.set), 0, "of the second set");
        for &key in other.came.keys() {
            self.came.entry(key).or_insert(self.time);
        }
        // From now on the queries of both count, for the keys of both.
        other.fixed.keys().for_each(|&query| {
            self.ask(query);
            self.fixed.insert(query, self.time);
        });
        self.take_snapshot();
    }
}

#[test]
fn a_fixed_pair_never_collides_again() {
    let mut game = Game::new(builder().error_rate(1.0 / 64.0), 1);
    for round in 1..=6 {
        game.insert_some(6_000);
        game.ask_some(60_000);
        game.remove_some(10);
        game.ask_some(20_000);
        game.play(&format!("round {round} of inserts, removals and queries"));
        if round == 3 {
            game.take_snapshot();
        }
    }
    assert!(game.set.filter().stats().growths >= 9, "it began with 64 slots");
    assert!(game.fixed.len() > 2_000 && game.later_keys > 0);

    // A crash: three rounds are in the journal only.
    game.recover();
    game.play("recovery from a snapshot and a journal");
    game.replay();
    game.play("replaying the journal record by record");
    game.set.rejuvenate().unwrap();
    game.play("rejuvenation");

    game.save_and_load();
    game.play("saving and loading");
    game.set.grow().unwrap();
    game.play("growth ahead of need");
    game.remove_some(2);
    game.set.shrink_to_fit().unwrap();
    game.ask_some(30_000);
    game.play("removing half and shrinking");
    game.insert_some(15_000);
    game.play("inserting after shrinking");

    // Another set, of another size and history, which shares some keys and has learned things of its own.
    let mut other = Game::new(builder().error_rate(1.0 / 64.0).capacity(500), 2);
    let shared: Vec<u64> = game.came.keys().copied().step_by(5).collect();
    shared.into_iter().for_each(|key| other.insert(key));
    other.insert_some(12_000);
    other.ask_some(60_000);
    other.play("the other set");
    let (before, both) = (game.came.len() + other.came.len(), game.came.len());
    game.merge(other);
    assert!(game.came.len() > both && game.came.len() < before);
    game.play("merging");
    game.ask_some(30_000);
    game.insert_some(5_000);
    game.play("going on after merging");
    game.recover();
    game.play("recovery after merging");
    game.set.validate().unwrap();
}

#[test]
fn a_removed_key_that_comes_back_may_collide_once_more_and_is_fixed_again() {
    let mut game = Game::new(fixed(12, 4), 3);
    game.insert_some(2_500);
    game.ask_some(3_000);
    game.play("queries");
    for round in 0..5 {
        let keys: Vec<u64> = game.came.keys().copied().step_by(3).collect();
        for key in keys {
            assert!(game.set.remove(&key).unwrap());
            game.came.remove(&key);
            game.insert(key);
        }
        game.play(&format!("round {round} of removing and inserting again"));
    }
    game.set.validate().unwrap();
}
