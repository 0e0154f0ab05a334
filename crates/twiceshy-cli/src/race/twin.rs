//! What the race asks of a store, and the twins of the adaptive one: the same rows on the same engine, behind a filter that
//! never learns, or behind none.
//!
//! A query is some bytes: a key, or, in a race of ranges, the first and the last key of a range.

use std::collections::HashSet;
use std::ops::ControlFlow;
use std::sync::{Arc, PoisonError, RwLock};

use anyhow::Context;
use twiceshy::Hasher;
use twiceshy_store::engine::{Batch, Durability, Engine, Keys, Space};
use twiceshy_store::{AdaptiveStore, OrderedStore};

use super::filters::{Filter, Plan, TwinFilter, number};
use super::spread;

/// A store, whatever its filter is.
pub(super) trait KeyValue {
    /// Stores rows. Tells how many keys are new.
    fn insert_batch(&self, rows: &[(&[u8], &[u8])]) -> anyhow::Result<u64>;
    /// Whether there is what is asked for.
    fn has(&self, query: &[u8]) -> anyhow::Result<bool>;
    /// Makes everything survive a power cut.
    fn flush(&self) -> anyhow::Result<()>;
    /// The bytes of the filter.
    fn filter_bytes(&self) -> anyhow::Result<u64>;
    /// Waits for what it does in the background to learn from its mistakes, so that what is measured does not depend on
    /// threads.
    fn settle(&self) {}
}

/// What the adaptive stores have under the same names.
macro_rules! as_every_store {
    () => {
        fn flush(&self) -> anyhow::Result<()> {
            Ok(self.flush()?)
        }

        fn filter_bytes(&self) -> anyhow::Result<u64> {
            Ok(self.with_filter(|filter| filter.size_in_bytes() as u64)?)
        }

        fn settle(&self) {
            self.settle();
        }
    };
}

impl KeyValue for AdaptiveStore {
    fn insert_batch(&self, rows: &[(&[u8], &[u8])]) -> anyhow::Result<u64> {
        Ok(self.insert_batch(rows)?)
    }

    fn has(&self, query: &[u8]) -> anyhow::Result<bool> {
        Ok(self.contains_key(query)?)
    }

    as_every_store! {}
}

/// The bounds of a range, which all queries of a race of ranges are.
fn bounds(query: &[u8]) -> anyhow::Result<(u64, u64)> {
    spread::bounds(query).context("a query that is no range")
}

impl KeyValue for OrderedStore<u64> {
    fn insert_batch(&self, rows: &[(&[u8], &[u8])]) -> anyhow::Result<u64> {
        let rows: Vec<(u64, &[u8])> =
            rows.iter().map(|(key, value)| Ok((number(key)?, *value))).collect::<anyhow::Result<_>>()?;
        Ok(self.insert_batch(&rows)?)
    }

    fn has(&self, query: &[u8]) -> anyhow::Result<bool> {
        let (first, last) = bounds(query)?;
        Ok(self.contains_range(first..=last)?)
    }

    as_every_store! {}
}

/// Where rows lie, which is where the adaptive store beside has them, so that the engine has the same work.
pub(super) enum Rows {
    /// Under 31 bits of a hash, and the key or, if that is too long for the engine, more of the hash.
    ByHash(Hasher),
    /// Under their keys.
    ByKey,
}

/// A new store with another filter than ours, or with none: it makes the same mistakes again and again.
pub(super) struct Twin {
    /// Behind a lock, as in a store that threads share: a query costs what it costs there.
    filter: RwLock<Box<dyn Filter>>,
    engine: Arc<dyn Engine>,
    rows: Rows,
}

impl Twin {
    /// On an engine without rows.
    pub(super) fn new(
        kind: TwinFilter,
        plan: &Plan,
        engine: Arc<dyn Engine>,
        rows: Rows,
    ) -> anyhow::Result<Self> {
        Ok(Self { filter: RwLock::new(kind.build(plan)?), engine, rows })
    }

    /// The key of a row.
    fn row_key(&self, key: &[u8]) -> Vec<u8> {
        let Rows::ByHash(hasher) = &self.rows else { return key.to_vec() };
        let is_long = 4 + key.len() > self.engine.max_key_len();
        let hash = hasher.hash_bytes(key);
        let mut row = ((hash >> 33) as u32 * 2 + u32::from(is_long)).to_be_bytes().to_vec();
        if is_long {
            row.extend((1..=4).flat_map(|index| hasher.word_bytes(key, index).to_be_bytes()));
        } else {
            row.extend(key);
        }
        row
    }

    /// The query for one key.
    fn query_for(&self, key: &[u8]) -> Vec<u8> {
        match self.rows {
            Rows::ByHash(_) => key.to_vec(),
            Rows::ByKey => [key, key].concat(),
        }
    }

    /// Asks the engine.
    fn look_up(&self, query: &[u8]) -> anyhow::Result<bool> {
        if let Rows::ByHash(_) = self.rows {
            return Ok(self.engine.get(Space::Rows, &self.row_key(query))?.is_some());
        }
        let (first, last) = bounds(query)?;
        let (from, until) = (first.to_be_bytes(), last.checked_add(1).map(u64::to_be_bytes));
        let keys = Keys { from: &from, until: until.as_ref().map(<[u8; 8]>::as_slice) };
        let mut found = false;
        self.engine.scan(Space::Rows, keys, &mut |_, _| {
            found = true;
            ControlFlow::Break(())
        })?;
        Ok(found)
    }
}

impl KeyValue for Twin {
    fn insert_batch(&self, rows: &[(&[u8], &[u8])]) -> anyhow::Result<u64> {
        let mut filter = self.filter.write().unwrap_or_else(PoisonError::into_inner);
        let (mut new, mut earlier, mut batch) = (0, HashSet::new(), Batch::new());
        for (key, value) in rows {
            let row = self.row_key(key);
            let is_new = earlier.insert(key)
                && (!filter.may_have(&self.query_for(key)) || self.engine.get(Space::Rows, &row)?.is_none());
            if is_new {
                filter.insert(key)?;
                new += 1;
            }
            batch.put(Space::Rows, row, value.to_vec());
        }
        self.engine.write(batch, Durability::Relaxed)?;
        Ok(new)
    }

    fn has(&self, query: &[u8]) -> anyhow::Result<bool> {
        let may_be_there = self.filter.read().unwrap_or_else(PoisonError::into_inner).may_have(query);
        if may_be_there { self.look_up(query) } else { Ok(false) }
    }

    fn flush(&self) -> anyhow::Result<()> {
        Ok(self.engine.sync()?)
    }

    fn filter_bytes(&self) -> anyhow::Result<u64> {
        Ok(self.filter.read().unwrap_or_else(PoisonError::into_inner).bytes())
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use twiceshy::hash::HashKey;
    use twiceshy_store::engine::MemoryEngine;
    use twiceshy_store::testing::MemoryFiles;

    use super::super::filters::Built;
    use super::super::random::Numbers;
    use super::super::watch::Watched;
    use super::*;

    const OF_KEYS: [TwinFilter; 3] = [TwinFilter::None, TwinFilter::Bloom, TwinFilter::Quotient];
    const OF_RANGES: [TwinFilter; 3] = [TwinFilter::None, TwinFilter::PrefixBloom, TwinFilter::Range];
    const MAX_RANGE: u64 = 16;

    fn hasher(hash_key: u8) -> Hasher {
        Hasher::keyed(HashKey::from_bytes([hash_key; 16]))
    }

    fn twin_for(
        (kind, rows): (TwinFilter, Rows),
        engine: MemoryEngine,
        keys: u64,
        built: Built,
        hash_key: u8,
    ) -> (Twin, Arc<Watched>) {
        let engine = Arc::new(Watched::new(Arc::new(engine), None));
        let plan = Plan { keys, built, hasher: hasher(hash_key), max_range: MAX_RANGE };
        (Twin::new(kind, &plan, engine.clone(), rows).unwrap(), engine)
    }

    /// For 1,000 keys.
    fn twin(kind: TwinFilter, engine: MemoryEngine, rate: f64, hash_key: u8) -> (Twin, Arc<Watched>) {
        let rows = Rows::ByHash(hasher(hash_key));
        twin_for((kind, rows), engine, 1_000, Built::ForRate(rate), hash_key)
    }

    fn range_twin(kind: TwinFilter, keys: u64, built: Built) -> (Twin, Arc<Watched>) {
        twin_for((kind, Rows::ByKey), MemoryEngine::new(), keys, built, 1)
    }

    fn key(number: u64) -> Vec<u8> {
        format!("key {number}").into_bytes()
    }

    fn load(store: &dyn KeyValue, keys: &[Vec<u8>]) {
        let rows: Vec<_> = keys.iter().map(|key| (key.as_slice(), b"value".as_slice())).collect();
        assert_eq!(store.insert_batch(&rows).unwrap(), keys.len() as u64);
    }

    /// Whether a store has something, and whether that was asked of the engine.
    fn ask(twin: &Twin, engine: &Watched, query: &[u8]) -> (bool, bool) {
        let before = engine.lookups();
        engine.begin_query();
        (twin.has(query).unwrap(), engine.lookups() > before)
    }

    #[test]
    fn they_answer_like_a_map() {
        for kind in OF_KEYS {
            let made = (kind, Rows::ByHash(hasher(1)));
            let (twin, _) = twin_for(made, MemoryEngine::new(), 3_000, Built::ForRate(0.05), 1);
            let (mut model, mut numbers) = (BTreeMap::new(), Numbers::new(1, 1));
            for _ in 0..2_000 {
                let rows = [(); 3].map(|()| (key(numbers.next() % 3_000), numbers.next().to_le_bytes()));
                if numbers.next() % 2 == 0 {
                    let before = model.len();
                    model.extend(rows.clone());
                    let rows = rows.each_ref().map(|(key, value)| (key.as_slice(), value.as_slice()));
                    assert_eq!(twin.insert_batch(&rows).unwrap(), (model.len() - before) as u64, "{kind:?}");
                }
                assert_eq!(twin.has(&rows[0].0).unwrap(), model.contains_key(&rows[0].0), "{kind:?}");
            }
            twin.flush().unwrap();
        }
    }

    #[test]
    fn they_answer_ranges_like_a_map() {
        for kind in OF_RANGES {
            let (twin, _) = range_twin(kind, 3_000, Built::ForRate(0.05));
            let (mut model, mut numbers) = (BTreeMap::new(), Numbers::new(1, 1));
            for _ in 0..2_000 {
                // Some at the end of all numbers.
                let rows =
                    [(); 3].map(|()| (u64::MAX - numbers.next() % 30_000 * 9, numbers.next().to_le_bytes()));
                if numbers.next() % 2 == 0 {
                    let before = model.len();
                    model.extend(rows);
                    let keys = rows.map(|(key, _)| key.to_be_bytes());
                    let rows: Vec<_> =
                        keys.iter().zip(&rows).map(|(key, row)| (&key[..], &row.1[..])).collect();
                    assert_eq!(twin.insert_batch(&rows).unwrap(), (model.len() - before) as u64, "{kind:?}");
                }
                let first = rows[0].0.saturating_sub(numbers.next() % 40);
                let last = first.saturating_add(numbers.next() % MAX_RANGE);
                let query = [first.to_be_bytes(), last.to_be_bytes()].concat();
                let expected = model.range(first..=last).next().is_some();
                assert_eq!(twin.has(&query).unwrap(), expected, "{kind:?} {first} {last}");
            }
            assert!(twin.has(b"no range").is_err());
        }
    }

    fn rows_of(engine: &dyn Engine) -> Vec<(Vec<u8>, Vec<u8>)> {
        let mut rows = Vec::new();
        let mut visit = |key: &[u8], value: &[u8]| {
            rows.push((key.to_vec(), value.to_vec()));
            ControlFlow::Continue(())
        };
        engine.scan(Space::Rows, Keys::ALL, &mut visit).unwrap();
        rows
    }

    /// All that differs is the filter.
    #[test]
    fn they_have_the_rows_of_the_adaptive_store() {
        let keys: Vec<_> = (0..1_000).map(key).collect();
        let engine = Arc::new(MemoryEngine::new());
        let store = AdaptiveStore::builder().hasher(hasher(1));
        load(&store.open_with(Arc::clone(&engine), MemoryFiles::new()).unwrap(), &keys);
        for kind in OF_KEYS {
            let (twin, beside) = twin(kind, MemoryEngine::new(), 0.01, 1);
            load(&twin, &keys);
            assert_eq!(rows_of(&*beside), rows_of(&*engine), "{kind:?}");
        }
        let keys: Vec<_> = (0..1_000u64).map(|number| (number * 7_919).to_be_bytes().to_vec()).collect();
        let engine = Arc::new(MemoryEngine::new());
        let store =
            OrderedStore::<u64>::builder().open_with(Arc::clone(&engine), MemoryFiles::new()).unwrap();
        load(&store, &keys);
        for kind in OF_RANGES {
            let (twin, beside) = range_twin(kind, 1_000, Built::ForRate(0.01));
            load(&twin, &keys);
            assert_eq!(rows_of(&*beside), rows_of(&*engine), "{kind:?}");
        }
    }

    #[test]
    fn keys_that_are_too_long_for_the_engine_are_kept_apart() {
        for kind in OF_KEYS {
            let (twin, _) = twin(kind, MemoryEngine::with_max_key_len(50), 0.01, 1);
            let keys: Vec<_> = (40..60).map(|len| vec![7; len]).collect();
            load(&twin, &keys);
            assert!(keys.iter().all(|key| twin.has(key).unwrap()), "{kind:?}");
            assert!(!twin.has(&[7; 60]).unwrap());
        }
    }

    /// An adversary who replays what was slow is right every time. Another hash key makes other mistakes.
    #[test]
    fn they_make_the_same_mistakes_again() {
        let loaded: Vec<_> = (0..1_000).map(key).collect();
        let mistakes = |kind, hash_key| {
            let (twin, engine) = twin(kind, MemoryEngine::new(), 0.1, hash_key);
            load(&twin, &loaded);
            let is_mistake = |number: &u64| {
                let (found, was_asked) = ask(&twin, &engine, &key(*number));
                assert!(!found);
                was_asked
            };
            let found: Vec<_> = (1_000..5_000).filter(is_mistake).collect();
            assert!(found.iter().all(is_mistake), "{kind:?}");
            found
        };
        for kind in [TwinFilter::Bloom, TwinFilter::Quotient] {
            let found = mistakes(kind, 1);
            // 400 of 4,000 or fewer: the quotient filter has room for more keys.
            assert!((100..500).contains(&found.len()), "{kind:?}: {} mistakes", found.len());
            assert_eq!(found, mistakes(kind, 1));
            assert_ne!(found, mistakes(kind, 2));
        }
        assert_eq!(mistakes(TwinFilter::None, 1), Vec::from_iter(1_000..5_000));
    }

    /// Ranges anywhere and ranges beside keys: only a filter of prefixes errs more there, in half of them.
    #[test]
    fn a_filter_of_prefixes_fails_beside_keys() {
        use super::super::spread::Spread;
        let spread = Spread::new(3, 10_000, MAX_RANGE);
        let keys: Vec<_> = (0..10_000).map(|number| spread.key(number).to_be_bytes().to_vec()).collect();
        for (kind, beside) in [(TwinFilter::PrefixBloom, 4_500..5_500), (TwinFilter::Range, 1..100)] {
            let (twin, engine) = range_twin(kind, 10_000, Built::ForRate(0.01));
            load(&twin, &keys);
            let mistakes = |query: &mut dyn FnMut(u64) -> [u8; 16]| {
                let mut is_mistake = |number| {
                    let query = query(number);
                    let (found, was_asked) = ask(&twin, &engine, &query);
                    assert!(!found);
                    assert_eq!(ask(&twin, &engine, &query), (false, was_asked), "always or never");
                    was_asked
                };
                (0..10_000).filter(|&number| is_mistake(number)).count()
            };
            let anywhere = mistakes(&mut |number| spread.anywhere(1, number));
            assert!((1..150).contains(&anywhere), "{kind:?}: {anywhere}");
            let mut numbers = Numbers::new(1, 1);
            let found = mistakes(&mut |_| spread.beside(&mut numbers));
            assert!(beside.contains(&found), "{kind:?}: {found}");
        }
    }

    /// As much memory as it may have, to the last bit of a slot, and no error rate is too high or too low for that.
    #[test]
    fn they_use_the_memory_they_are_given() {
        for keys in [1u64, 3, 1_000, 10_000] {
            let slots = 2 * (keys + keys / 16 + 64);
            for bytes in [10, 22, 60].map(|bits_per_key| (slots + keys * bits_per_key) / 8 + 100) {
                for kind in [TwinFilter::Bloom, TwinFilter::Quotient] {
                    let made = (kind, Rows::ByHash(hasher(1)));
                    let (twin, _) = twin_for(made, MemoryEngine::new(), keys, Built::ForBytes(bytes), 1);
                    load(&twin, &(0..keys).map(key).collect::<Vec<_>>());
                    let (used, context) = (twin.filter_bytes().unwrap(), format!("{kind:?} {keys} {bytes}"));
                    assert!(used <= bytes, "{context}: {used}");
                    // One bit more in each slot of a quotient filter would be too much.
                    assert!(used + slots / 8 + 64 > bytes, "{context}: {used}");
                }
                // Slots of a range filter have four bits more, for the suffix, and a word per 64 of them.
                for kind in [TwinFilter::PrefixBloom, TwinFilter::Range] {
                    let bytes = bytes + slots * 5 / 8 + 200;
                    let (twin, _) = range_twin(kind, keys, Built::ForBytes(bytes));
                    let numbers = (0..keys).map(|number| (number << 20).to_be_bytes().to_vec());
                    load(&twin, &numbers.collect::<Vec<_>>());
                    let (used, context) = (twin.filter_bytes().unwrap(), format!("{kind:?} {keys} {bytes}"));
                    assert!(used <= bytes, "{context}: {used}");
                    assert!(used + slots / 8 + 64 > bytes, "{context}: {used}");
                }
            }
        }
        // A range filter has no fewer bits than it needs to take all keys.
        for keys in [1u64, 950, 960, 1_000, 1_020, 7_300, 14_590, 14_660] {
            let (twin, _) = range_twin(TwinFilter::Range, keys, Built::ForBytes(10));
            let mut numbers = Numbers::new(keys, 1);
            load(&twin, &(0..keys).map(|_| numbers.next().to_be_bytes().to_vec()).collect::<Vec<_>>());
        }
        let rate = |built| {
            let made = (TwinFilter::Bloom, Rows::ByHash(hasher(1)));
            let (twin, engine) = twin_for(made, MemoryEngine::new(), 1_000, built, 1);
            load(&twin, &(0..1_000).map(key).collect::<Vec<_>>());
            (1_000..21_000).filter(|&number| ask(&twin, &engine, &key(number)).1).count()
        };
        let (more, less) = (rate(Built::ForBytes(2_000)), rate(Built::ForBytes(1_000)));
        assert!(more < less / 4, "{more} {less}");
    }
}
