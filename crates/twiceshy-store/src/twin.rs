//! Stores with other filters, to compare with.
//!
//! The same rows on the same engines, behind a filter that never learns, or behind none. They are made for comparisons:
//! their filter is built when they are opened, and is not saved.

use std::ops::ControlFlow;
use std::sync::Arc as StdArc;

use twiceshy::{HashKey, Hasher, QuotientFilter};

use crate::engine::{Batch, Durability, Engine, Space};
use crate::error::StoreError;
use crate::rows::Rows;
use crate::store::AdaptiveStore;
use crate::sync::{AtomicU64, Mutex, Ordering, RwLock};

/// What can be asked of a store, whatever its filter is.
pub trait KeyValue: Send + Sync {
    /// What to call it in a table.
    fn name(&self) -> &str;
    /// Stores many values, all or none. Tells how many keys are new.
    fn insert_batch(&self, rows: &[(&[u8], &[u8])]) -> Result<u64, StoreError>;
    /// The value of a key.
    fn get(&self, key: &[u8]) -> Result<Option<Vec<u8>>, StoreError>;
    /// Removes a key. `false` if it was not there.
    fn remove(&self, key: &[u8]) -> Result<bool, StoreError>;
    /// Makes everything survive a power cut.
    fn flush(&self) -> Result<(), StoreError>;
    /// Queries so far, those of them that the engine was asked for, and those of these that it did not have.
    fn lookups(&self) -> Result<Lookups, StoreError>;
    /// The bytes of the filter.
    fn filter_bytes(&self) -> Result<u64, StoreError>;
    /// Waits for what the store does in the background to learn from its mistakes, so that what is measured does not
    /// depend on threads.
    fn settle(&self) {}
}

/// What queries have cost.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Lookups {
    /// Keys that were asked for.
    pub queries: u64,
    /// How many of them the engine was asked for.
    pub engine_lookups: u64,
    /// How many of those it did not have.
    pub false_positives: u64,
}

impl KeyValue for AdaptiveStore {
    fn name(&self) -> &str {
        "adaptive"
    }

    fn insert_batch(&self, rows: &[(&[u8], &[u8])]) -> Result<u64, StoreError> {
        AdaptiveStore::insert_batch(self, rows)
    }

    fn get(&self, key: &[u8]) -> Result<Option<Vec<u8>>, StoreError> {
        AdaptiveStore::get(self, key)
    }

    fn remove(&self, key: &[u8]) -> Result<bool, StoreError> {
        AdaptiveStore::remove(self, key)
    }

    fn flush(&self) -> Result<(), StoreError> {
        AdaptiveStore::flush(self)
    }

    fn lookups(&self) -> Result<Lookups, StoreError> {
        let stats = self.stats()?;
        Ok(Lookups {
            queries: stats.queries,
            engine_lookups: stats.engine_lookups,
            false_positives: stats.false_positives,
        })
    }

    fn filter_bytes(&self) -> Result<u64, StoreError> {
        self.with_filter(|filter| filter.size_in_bytes() as u64)
    }

    fn settle(&self) {
        AdaptiveStore::settle(self);
    }
}

/// The filter of a [`TwinStore`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum TwinFilter {
    /// None: every query asks the engine.
    None,
    /// A Bloom filter ([`fastbloom`]), of a size for the keys that are expected.
    Bloom,
    /// Our [`QuotientFilter`], with room for twice the keys that are expected: it never learns.
    Quotient,
}

/// A filter that never learns.
enum Fixed {
    None,
    Bloom { filter: fastbloom::BloomFilter, hasher: Hasher },
    Quotient(QuotientFilter),
}

impl Fixed {
    fn new(kind: TwinFilter, keys: u64, rate: f64, hasher: &Hasher) -> Result<Self, StoreError> {
        Ok(match kind {
            TwinFilter::None => Self::None,
            TwinFilter::Bloom => {
                let expected = usize::try_from(keys.max(1_000)).unwrap_or(usize::MAX);
                let filter = fastbloom::BloomFilter::with_false_pos(rate).seed(&0).expected_items(expected);
                Self::Bloom { filter, hasher: hasher.clone() }
            }
            TwinFilter::Quotient => Self::Quotient(
                QuotientFilter::builder()
                    .capacity(keys.max(1_000))
                    .error_rate(rate)
                    .hasher(hasher.clone())
                    .grow_to(keys.max(1_000).saturating_mul(2))
                    .build()?,
            ),
        })
    }

    fn contains(&self, key: &[u8]) -> bool {
        match self {
            Self::None => true,
            Self::Bloom { filter, hasher } => filter.contains_hash(hasher.hash_bytes(key)),
            Self::Quotient(filter) => filter.contains(key),
        }
    }

    fn insert(&mut self, key: &[u8]) -> Result<(), StoreError> {
        match self {
            Self::None => (),
            Self::Bloom { filter, hasher } => {
                filter.insert_hash(hasher.hash_bytes(key));
            }
            Self::Quotient(filter) => {
                filter.insert(key).map_err(|error| StoreError::damaged(error.to_string()))?;
            }
        }
        Ok(())
    }

    fn remove(&mut self, key: &[u8]) {
        if let Self::Quotient(filter) = self {
            filter.remove(key);
        }
    }

    fn bytes(&self) -> u64 {
        match self {
            Self::None => 0,
            Self::Bloom { filter, .. } => filter.as_slice().len() as u64 * 8,
            Self::Quotient(filter) => filter.size_in_bytes() as u64,
        }
    }
}

/// A store with another filter than ours, or with none, to compare with: it makes the same mistakes again and again.
///
/// It has the rows of an [`AdaptiveStore`] on the same engines. Its filter is built from the rows when it is opened.
pub struct TwinStore {
    name: &'static str,
    engine: StdArc<dyn Engine>,
    rows: Rows,
    durability: Durability,
    filter: RwLock<Fixed>,
    writer: Mutex<()>,
    queries: AtomicU64,
    engine_lookups: AtomicU64,
    false_positives: AtomicU64,
}

impl TwinStore {
    /// Opens a store on an engine, for about so many keys, with a filter of this error rate. A new one draws a random
    /// hash key.
    pub fn open(
        kind: TwinFilter,
        engine: impl Engine,
        durability: Durability,
        keys: u64,
        error_rate: f64,
    ) -> Result<Self, StoreError> {
        let key = HashKey::random().map_err(|error| StoreError::Random(error.to_string()))?;
        Self::open_keyed(kind, engine, durability, keys, error_rate, key)
    }

    /// The same with a hash key of your own, so that two runs make the same mistakes. An old store keeps its key.
    pub fn open_keyed(
        kind: TwinFilter,
        engine: impl Engine,
        durability: Durability,
        keys: u64,
        error_rate: f64,
        hash_key: HashKey,
    ) -> Result<Self, StoreError> {
        let engine: StdArc<dyn Engine> = StdArc::new(engine);
        let hasher = match engine.get(Space::Meta, b"hash key")? {
            Some(key) => {
                let key =
                    key.try_into().map_err(|_| StoreError::damaged("its hash key has the wrong length"))?;
                Hasher::keyed(HashKey::from_bytes(key))
            }
            None => {
                let mut batch = Batch::new();
                batch.put(Space::Meta, b"hash key".to_vec(), hash_key.expose().to_vec());
                engine.write(batch, Durability::Power)?;
                Hasher::keyed(hash_key)
            }
        };
        let mut filter = Fixed::new(kind, keys, error_rate, &hasher)?;
        let rows = Rows::new(StdArc::clone(&engine), hasher);
        let mut failed = Ok(());
        rows.rows_in(0..=u64::MAX, &mut |row| {
            failed = filter.insert(row.key);
            if failed.is_ok() { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        })?;
        failed?;
        let name = match kind {
            TwinFilter::None => "no filter",
            TwinFilter::Bloom => "Bloom",
            TwinFilter::Quotient => "quotient",
        };
        Ok(Self {
            name,
            engine,
            rows,
            durability,
            filter: RwLock::new(filter),
            writer: Mutex::new(()),
            queries: 0.into(),
            engine_lookups: 0.into(),
            false_positives: 0.into(),
        })
    }

    /// Whether the filter says *maybe*.
    fn may_contain(&self, key: &[u8]) -> Result<bool, StoreError> {
        Ok(self.filter.read().map_err(|_| StoreError::Broken)?.contains(key))
    }
}

impl KeyValue for TwinStore {
    fn name(&self) -> &str {
        self.name
    }

    fn insert_batch(&self, rows: &[(&[u8], &[u8])]) -> Result<u64, StoreError> {
        for (key, value) in rows {
            self.rows.check(key, value)?;
        }
        let _writer = self.writer.lock().map_err(|_| StoreError::Broken)?;
        let mut new = 0;
        let mut batch = Batch::new();
        for (index, (key, value)) in rows.iter().enumerate() {
            let earlier = || rows[..index].iter().any(|(earlier, _)| earlier == key);
            if !self.may_contain(key)? || !self.rows.has(key)? && !earlier() {
                self.filter.write().map_err(|_| StoreError::Broken)?.insert(key)?;
                new += 1;
            }
            self.rows.put(&mut batch, self.rows.hash(key), key, value);
        }
        self.engine.write(batch, self.durability)?;
        Ok(new)
    }

    fn get(&self, key: &[u8]) -> Result<Option<Vec<u8>>, StoreError> {
        self.queries.fetch_add(1, Ordering::Relaxed);
        if !self.may_contain(key)? {
            return Ok(None);
        }
        self.engine_lookups.fetch_add(1, Ordering::Relaxed);
        let value = self.rows.get(key)?;
        if value.is_none() {
            self.false_positives.fetch_add(1, Ordering::Relaxed);
        }
        Ok(value)
    }

    fn remove(&self, key: &[u8]) -> Result<bool, StoreError> {
        let _writer = self.writer.lock().map_err(|_| StoreError::Broken)?;
        if !self.may_contain(key)? || !self.rows.has(key)? {
            return Ok(false);
        }
        let mut batch = Batch::new();
        self.rows.delete(&mut batch, key);
        self.engine.write(batch, self.durability)?;
        self.filter.write().map_err(|_| StoreError::Broken)?.remove(key);
        Ok(true)
    }

    fn flush(&self) -> Result<(), StoreError> {
        Ok(self.engine.sync()?)
    }

    fn lookups(&self) -> Result<Lookups, StoreError> {
        Ok(Lookups {
            queries: self.queries.load(Ordering::Relaxed),
            engine_lookups: self.engine_lookups.load(Ordering::Relaxed),
            false_positives: self.false_positives.load(Ordering::Relaxed),
        })
    }

    fn filter_bytes(&self) -> Result<u64, StoreError> {
        Ok(self.filter.read().map_err(|_| StoreError::Broken)?.bytes())
    }
}
