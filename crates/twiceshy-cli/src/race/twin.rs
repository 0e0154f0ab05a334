//! What the race asks of a store, and the twins of the adaptive one: the same rows on the same engine, behind a filter that
//! never learns, or behind none.

use std::collections::HashSet;
use std::sync::{Arc, PoisonError, RwLock};

use twiceshy::hash::HashKey;
use twiceshy::{Hasher, QuotientFilter};
use twiceshy_store::AdaptiveStore;
use twiceshy_store::engine::{Batch, Durability, Engine, Space};

/// A store, whatever its filter is.
pub(super) trait KeyValue {
    /// What to call it in a table.
    fn name(&self) -> &'static str;
    /// Stores rows. Tells how many keys are new.
    fn insert_batch(&self, rows: &[(&[u8], &[u8])]) -> anyhow::Result<u64>;
    /// The value of a key.
    fn get(&self, key: &[u8]) -> anyhow::Result<Option<Vec<u8>>>;
    /// Makes everything survive a power cut.
    fn flush(&self) -> anyhow::Result<()>;
    /// The bytes of the filter.
    fn filter_bytes(&self) -> anyhow::Result<u64>;
    /// Waits for what it does in the background to learn from its mistakes, so that what is measured does not depend on
    /// threads.
    fn settle(&self) {}
}

impl KeyValue for AdaptiveStore {
    fn name(&self) -> &'static str {
        "adaptive"
    }

    fn insert_batch(&self, rows: &[(&[u8], &[u8])]) -> anyhow::Result<u64> {
        Ok(self.insert_batch(rows)?)
    }

    fn get(&self, key: &[u8]) -> anyhow::Result<Option<Vec<u8>>> {
        Ok(self.get(key)?)
    }

    fn flush(&self) -> anyhow::Result<()> {
        Ok(self.flush()?)
    }

    fn filter_bytes(&self) -> anyhow::Result<u64> {
        Ok(self.with_filter(|filter| filter.size_in_bytes() as u64)?)
    }

    fn settle(&self) {
        self.settle();
    }
}

/// The filter of a twin.
#[derive(Debug, Clone, Copy)]
pub(super) enum TwinFilter {
    /// None: every query asks the engine.
    None,
    Bloom,
    Quotient,
}

/// What a filter is built for, besides a number of keys.
#[derive(Debug, Clone, Copy)]
pub(super) enum Built {
    /// An error rate, from as little memory as that takes.
    ForRate(f64),
    /// The lowest error rate that so many bytes allow.
    ForBytes(u64),
}

#[expect(clippy::large_enum_variant, reason = "there are three of them")]
enum Filter {
    None,
    Bloom(fastbloom::BloomFilter),
    Quotient(QuotientFilter),
}

impl Filter {
    /// For so many different keys.
    fn new(kind: TwinFilter, keys: u64, built: Built) -> anyhow::Result<Self> {
        Ok(match kind {
            TwinFilter::None => Self::None,
            TwinFilter::Bloom => Self::Bloom(bloom(keys, built)),
            TwinFilter::Quotient => Self::Quotient(quotient(keys, built)?),
        })
    }

    fn contains(&self, hash: u64) -> bool {
        match self {
            Self::None => true,
            Self::Bloom(filter) => filter.contains_hash(hash),
            Self::Quotient(filter) => filter.contains_hash(hash),
        }
    }

    fn insert(&mut self, hash: u64) -> anyhow::Result<()> {
        match self {
            Self::None => (),
            Self::Bloom(filter) => {
                filter.insert_hash(hash);
            }
            Self::Quotient(filter) => {
                filter.insert_hash(hash)?;
            }
        }
        Ok(())
    }

    fn bytes(&self) -> u64 {
        match self {
            Self::None => 0,
            Self::Bloom(filter) => filter.as_slice().len() as u64 * 8,
            Self::Quotient(filter) => filter.size_in_bytes() as u64,
        }
    }
}

fn bloom(keys: u64, built: Built) -> fastbloom::BloomFilter {
    let keys = usize::try_from(keys).unwrap_or(usize::MAX);
    match built {
        Built::ForRate(rate) => fastbloom::BloomFilter::with_false_pos(rate).seed(&0).expected_items(keys),
        Built::ForBytes(bytes) => {
            let words = usize::try_from(bytes / 8).unwrap_or(usize::MAX).max(1);
            fastbloom::BloomFilter::with_num_bits(words * 64).seed(&0).expected_items(keys)
        }
    }
}

fn quotient(keys: u64, built: Built) -> anyhow::Result<QuotientFilter> {
    // Three keys with the same fingerprint take four slots: room for the few that do, even if fingerprints are short.
    let builder = QuotientFilter::builder().capacity(keys + keys / 16 + 64);
    Ok(match built {
        Built::ForRate(rate) => builder.error_rate(rate).build()?,
        Built::ForBytes(bytes) => {
            // Every bit of a remainder takes as many bytes as every other, up to the bits that a hash has.
            let with = |bits| builder.clone().remainder_bits(bits).build();
            let (one, two) = (with(1)?, with(2)?);
            let [first, second] = [&one, &two].map(|filter| filter.size_in_bytes() as u64);
            let more = bytes.saturating_sub(first) / (second - first);
            let most = u64::BITS - one.slots().ilog2();
            with(u32::try_from(1 + more).map_or(most, |bits| bits.min(most)))?
        }
    })
}

/// A new store with another filter than ours, or with none: it makes the same mistakes again and again.
pub(super) struct Twin {
    kind: TwinFilter,
    /// Behind a lock, as in a store that threads share: a query costs what it costs there.
    filter: RwLock<Filter>,
    engine: Arc<dyn Engine>,
    hasher: Hasher,
}

impl Twin {
    /// For so many different keys, on an engine without rows.
    pub(super) fn new(
        kind: TwinFilter,
        engine: Arc<dyn Engine>,
        keys: u64,
        built: Built,
        hash_key: HashKey,
    ) -> anyhow::Result<Self> {
        let filter = RwLock::new(Filter::new(kind, keys, built)?);
        Ok(Self { kind, filter, engine, hasher: Hasher::keyed(hash_key) })
    }

    /// The key of a row as the adaptive store has it, so that the engine has the same work: 31 bits of the hash, and the
    /// key or, if that is too long for the engine, more of the hash.
    fn row_key(&self, hash: u64, key: &[u8]) -> Vec<u8> {
        let is_long = 4 + key.len() > self.engine.max_key_len();
        let mut row = ((hash >> 33) as u32 * 2 + u32::from(is_long)).to_be_bytes().to_vec();
        if is_long {
            row.extend((1..=4).flat_map(|index| self.hasher.word_bytes(key, index).to_be_bytes()));
        } else {
            row.extend(key);
        }
        row
    }
}

impl KeyValue for Twin {
    fn name(&self) -> &'static str {
        match self.kind {
            TwinFilter::None => "no filter",
            TwinFilter::Bloom => "Bloom",
            TwinFilter::Quotient => "quotient",
        }
    }

    fn insert_batch(&self, rows: &[(&[u8], &[u8])]) -> anyhow::Result<u64> {
        let mut filter = self.filter.write().unwrap_or_else(PoisonError::into_inner);
        let (mut new, mut earlier, mut batch) = (0, HashSet::new(), Batch::new());
        for (key, value) in rows {
            let hash = self.hasher.hash_bytes(key);
            let row = self.row_key(hash, key);
            let is_new = earlier.insert(key)
                && (!filter.contains(hash) || self.engine.get(Space::Rows, &row)?.is_none());
            if is_new {
                filter.insert(hash)?;
                new += 1;
            }
            batch.put(Space::Rows, row, value.to_vec());
        }
        self.engine.write(batch, Durability::Relaxed)?;
        Ok(new)
    }

    fn get(&self, key: &[u8]) -> anyhow::Result<Option<Vec<u8>>> {
        let hash = self.hasher.hash_bytes(key);
        let may_be_there = self.filter.read().unwrap_or_else(PoisonError::into_inner).contains(hash);
        Ok(if may_be_there { self.engine.get(Space::Rows, &self.row_key(hash, key))? } else { None })
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
    use std::ops::ControlFlow;

    use twiceshy_store::engine::{Keys, MemoryEngine};
    use twiceshy_store::testing::MemoryFiles;

    use super::super::random::Numbers;
    use super::super::watch::Watched;
    use super::*;

    const ALL: [TwinFilter; 3] = [TwinFilter::None, TwinFilter::Bloom, TwinFilter::Quotient];

    /// For 1,000 keys.
    fn twin(kind: TwinFilter, engine: MemoryEngine, rate: f64, hash_key: u8) -> (Twin, Arc<Watched>) {
        twin_for(kind, engine, 1_000, Built::ForRate(rate), hash_key)
    }

    fn twin_for(
        kind: TwinFilter,
        engine: MemoryEngine,
        keys: u64,
        built: Built,
        hash_key: u8,
    ) -> (Twin, Arc<Watched>) {
        let engine = Arc::new(Watched::new(Arc::new(engine), None));
        let hash_key = HashKey::from_bytes([hash_key; 16]);
        (Twin::new(kind, engine.clone(), keys, built, hash_key).unwrap(), engine)
    }

    fn key(number: u64) -> Vec<u8> {
        format!("key {number}").into_bytes()
    }

    fn load(store: &dyn KeyValue, keys: &[Vec<u8>]) {
        let rows: Vec<_> = keys.iter().map(|key| (key.as_slice(), b"value".as_slice())).collect();
        assert_eq!(store.insert_batch(&rows).unwrap(), keys.len() as u64);
    }

    #[test]
    fn they_answer_like_a_map() {
        for kind in ALL {
            let (twin, _) = twin_for(kind, MemoryEngine::new(), 3_000, Built::ForRate(0.05), 1);
            let (mut model, mut numbers) = (BTreeMap::new(), Numbers::new(1, 1));
            for _ in 0..2_000 {
                let rows = [(); 3].map(|()| (key(numbers.next() % 3_000), numbers.next().to_le_bytes()));
                if numbers.next() % 2 == 0 {
                    let before = model.len();
                    model.extend(rows.clone());
                    let rows = rows.each_ref().map(|(key, value)| (key.as_slice(), value.as_slice()));
                    assert_eq!(twin.insert_batch(&rows).unwrap(), (model.len() - before) as u64, "{kind:?}");
                }
                let found = twin.get(&rows[0].0).unwrap();
                assert_eq!(found, model.get(&rows[0].0).map(|value| value.to_vec()), "{kind:?}");
            }
            twin.flush().unwrap();
        }
    }

    /// All that differs is the filter.
    #[test]
    fn they_have_the_rows_of_the_adaptive_store() {
        let keys: Vec<_> = (0..1_000).map(key).collect();
        let engine = Arc::new(MemoryEngine::new());
        let hasher = Hasher::keyed(HashKey::from_bytes([1; 16]));
        let store = AdaptiveStore::builder().hasher(hasher);
        let store = store.open_with(Arc::clone(&engine), MemoryFiles::new()).unwrap();
        let rows = |engine: &dyn Engine| {
            let mut rows = Vec::new();
            let mut visit = |key: &[u8], value: &[u8]| {
                rows.push((key.to_vec(), value.to_vec()));
                ControlFlow::Continue(())
            };
            engine.scan(Space::Rows, Keys::ALL, &mut visit).unwrap();
            rows
        };
        load(&store, &keys);
        for kind in ALL {
            let (twin, beside) = twin(kind, MemoryEngine::new(), 0.01, 1);
            load(&twin, &keys);
            assert_eq!(rows(&*beside), rows(&*engine), "{kind:?}");
        }
    }

    #[test]
    fn keys_that_are_too_long_for_the_engine_are_kept_apart() {
        for kind in ALL {
            let (twin, _) = twin(kind, MemoryEngine::with_max_key_len(50), 0.01, 1);
            let keys: Vec<_> = (40..60).map(|len| vec![7; len]).collect();
            load(&twin, &keys);
            assert!(keys.iter().all(|key| twin.get(key).unwrap() == Some(b"value".to_vec())), "{kind:?}");
            assert_eq!(twin.get(&[7; 60]).unwrap(), None);
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
                let before = engine.counts().misses;
                assert_eq!(twin.get(&key(*number)).unwrap(), None);
                engine.counts().misses > before
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

    /// As much memory as it may have, to the last bit of a slot, and no error rate is too high or too low for that.
    #[test]
    fn they_use_the_memory_they_are_given() {
        for keys in [1u64, 3, 1_000, 10_000] {
            let slots = 2 * (keys + keys / 16 + 64);
            for bytes in [10, 22, 60].map(|bits_per_key| (slots + keys * bits_per_key) / 8 + 100) {
                for kind in [TwinFilter::Bloom, TwinFilter::Quotient] {
                    let (twin, _) = twin_for(kind, MemoryEngine::new(), keys, Built::ForBytes(bytes), 1);
                    load(&twin, &(0..keys).map(key).collect::<Vec<_>>());
                    let (used, context) = (twin.filter_bytes().unwrap(), format!("{kind:?} {keys} {bytes}"));
                    assert!(used <= bytes, "{context}: {used}");
                    // One bit more in each slot of a quotient filter would be too much.
                    assert!(used + slots / 8 + 64 > bytes, "{context}: {used}");
                }
            }
        }
        let rate = |built| {
            let (twin, engine) = twin_for(TwinFilter::Bloom, MemoryEngine::new(), 1_000, built, 1);
            load(&twin, &(0..1_000).map(key).collect::<Vec<_>>());
            (1_000..21_000).for_each(|number| assert_eq!(twin.get(&key(number)).unwrap(), None));
            engine.counts().misses
        };
        let (more, less) = (rate(Built::ForBytes(2_000)), rate(Built::ForBytes(1_000)));
        assert!(more < less / 4, "{more} {less}");
    }
}
