//! An engine with a counter in front: how often it was asked, which is what an adversary sees in a slow answer. It can be
//! made slower in two ways: truly, from files that the operating system has to read from the disk every time; or by waiting,
//! as if the storage were farther away (simulated, and labelled so everywhere).

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock, PoisonError, RwLock, RwLockReadGuard};
use std::thread;
use std::time::{Duration, Instant};

use twiceshy_store::Durability;
use twiceshy_store::engine::{Batch, Engine, EngineError, Keys, MemoryEngine, Space, Visit};

use super::cold::Files;

/// How late a thread may wake up; the rest of a wait is spent awake.
const LATE: Duration = Duration::from_micros(120);

pub(super) struct Watched {
    engine: RwLock<Arc<dyn Engine>>,
    lookups: AtomicU64,
    misses: AtomicU64,
    others: AtomicU64,
    latency: Duration,
    /// Loading is not slowed down.
    is_slow: AtomicBool,
    /// A query has begun, and has not read yet.
    is_asked: AtomicBool,
    /// What is evicted from the operating system's cache before every lookup.
    cold: OnceLock<Files>,
    evicting_nanos: AtomicU64,
}

/// How often an engine was asked for rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Counts {
    /// The first read of a query: of a row, or of the first row in a range.
    pub(super) lookups: u64,
    /// Those of them that found none.
    pub(super) misses: u64,
    /// All others, to learn from a mistake.
    pub(super) others: u64,
    /// How long it took to evict files before, which is no part of the lookups.
    pub(super) evicting: Duration,
}

impl Watched {
    pub(super) fn new(engine: Arc<dyn Engine>, latency: Option<Duration>) -> Self {
        let [lookups, misses, others, evicting_nanos] = Default::default();
        Self {
            engine: RwLock::new(engine),
            lookups,
            misses,
            others,
            latency: latency.unwrap_or_default(),
            is_slow: false.into(),
            is_asked: false.into(),
            cold: OnceLock::new(),
            evicting_nanos,
        }
    }

    fn engine(&self) -> RwLockReadGuard<'_, Arc<dyn Engine>> {
        self.engine.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// Opens the engine anew, whose store does not notice. From now on its files are read from the disk for every lookup.
    pub(super) fn go_cold(
        &self,
        open: impl FnOnce() -> anyhow::Result<(Arc<dyn Engine>, Files)>,
    ) -> anyhow::Result<()> {
        let mut engine = self.engine.write().unwrap_or_else(PoisonError::into_inner);
        engine.sync()?;
        // The files can be opened again when they are closed.
        *engine = Arc::new(MemoryEngine::new());
        let (again, files) = open()?;
        *engine = again;
        self.cold.get_or_init(|| files);
        Ok(())
    }

    /// From now on lookups have their simulated latency.
    pub(super) fn slow_down(&self) {
        self.is_slow.store(!self.latency.is_zero(), Ordering::Relaxed);
    }

    /// A query begins: what is read next is its lookup.
    pub(super) fn begin_query(&self) {
        self.is_asked.store(true, Ordering::Relaxed);
    }

    pub(super) fn lookups(&self) -> u64 {
        self.lookups.load(Ordering::Relaxed)
    }

    pub(super) fn counts(&self) -> Counts {
        let misses = self.misses.load(Ordering::Relaxed);
        let evicting = Duration::from_nanos(self.evicting_nanos.load(Ordering::Relaxed));
        Counts { lookups: self.lookups(), misses, others: self.others.load(Ordering::Relaxed), evicting }
    }

    /// Counts and slows down a read, which tells whether it found something.
    fn count(
        &self,
        space: Space,
        read: impl FnOnce() -> Result<bool, EngineError>,
    ) -> Result<(), EngineError> {
        if !matches!(space, Space::Rows | Space::Partitions) {
            return read().map(drop);
        }
        let is_lookup = self.is_asked.swap(false, Ordering::Relaxed);
        let counter = if is_lookup { &self.lookups } else { &self.others };
        counter.fetch_add(1, Ordering::Relaxed);
        if self.is_slow.load(Ordering::Relaxed) {
            wait(self.latency);
        }
        if let Some(files) = self.cold.get() {
            let start = Instant::now();
            files.evict();
            self.evicting_nanos.fetch_add(start.elapsed().as_nanos() as u64, Ordering::Relaxed);
        }
        if !read()? && is_lookup {
            self.misses.fetch_add(1, Ordering::Relaxed);
        }
        Ok(())
    }
}

fn wait(latency: Duration) {
    let start = Instant::now();
    if let Some(asleep) = latency.checked_sub(LATE).filter(|asleep| !asleep.is_zero()) {
        thread::sleep(asleep);
    }
    while start.elapsed() < latency {
        std::hint::spin_loop();
    }
}

impl Engine for Watched {
    fn name(&self) -> &'static str {
        self.engine().name()
    }

    fn max_key_len(&self) -> usize {
        self.engine().max_key_len()
    }

    fn max_value_len(&self) -> usize {
        self.engine().max_value_len()
    }

    fn get(&self, space: Space, key: &[u8]) -> Result<Option<Vec<u8>>, EngineError> {
        let mut value = None;
        self.count(space, || {
            value = self.engine().get(space, key)?;
            Ok(value.is_some())
        })?;
        Ok(value)
    }

    fn scan(&self, space: Space, keys: Keys<'_>, visit: &mut Visit<'_>) -> Result<(), EngineError> {
        self.count(space, || {
            let mut found = false;
            self.engine().scan(space, keys, &mut |key, value| {
                found = true;
                visit(key, value)
            })?;
            Ok(found)
        })
    }

    fn write(&self, batch: Batch, durability: Durability) -> Result<(), EngineError> {
        self.engine().write(batch, durability)
    }

    fn sync(&self) -> Result<(), EngineError> {
        self.engine().sync()
    }

    fn compact(&self) -> Result<(), EngineError> {
        self.engine().compact()
    }

    fn disk_bytes(&self) -> Option<u64> {
        self.engine().disk_bytes()
    }
}

#[cfg(test)]
mod tests {
    #[cfg(target_os = "linux")]
    use twiceshy_store::engine::RedbEngine;
    use twiceshy_store::testing::conformance;

    use super::*;

    #[test]
    fn it_is_an_engine_like_the_one_behind_it() {
        conformance::check(|| Watched::new(Arc::new(MemoryEngine::new()), None)).unwrap();
    }

    #[test]
    fn it_counts_rows_and_waits_only_when_told_to() {
        let latency = Duration::from_millis(3);
        let engine = Watched::new(Arc::new(MemoryEngine::new()), Some(latency));
        let time = |space| {
            engine.begin_query();
            let start = Instant::now();
            engine.get(space, b"key").unwrap();
            start.elapsed()
        };
        let scan = |space| {
            engine.scan(space, Keys::ALL, &mut |_, _| std::ops::ControlFlow::Continue(())).unwrap();
        };
        assert!(time(Space::Rows) < latency);
        engine.slow_down();
        assert!(time(Space::Rows) >= latency);
        time(Space::Meta);
        let counts = |lookups, misses, others| Counts { lookups, misses, others, evicting: Duration::ZERO };
        assert_eq!(engine.counts(), counts(2, 2, 0));
        let mut batch = Batch::new();
        batch.put(Space::Rows, b"key".to_vec(), Vec::new());
        engine.write(batch, Durability::Relaxed).unwrap();
        time(Space::Rows);
        scan(Space::Rows);
        scan(Space::Meta);
        scan(Space::Partitions);
        assert_eq!(engine.counts(), counts(3, 2, 2));
        // The first read of a query is its lookup, of whatever kind.
        engine.begin_query();
        scan(Space::Partitions);
        scan(Space::Rows);
        engine.get(Space::Rows, b"other").unwrap();
        assert_eq!(engine.counts(), counts(4, 3, 4));
    }

    /// It has the same rows in a new engine, and evicts before every lookup of a row, which is counted apart.
    #[cfg(target_os = "linux")]
    #[test]
    fn it_goes_cold_unnoticed() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("rows");
        let open = || -> Arc<dyn Engine> { Arc::new(RedbEngine::open(&file, Some(1 << 16)).unwrap()) };
        let engine = Watched::new(open(), None);
        let mut batch = Batch::new();
        batch.put(Space::Rows, b"key".to_vec(), b"value".to_vec());
        engine.write(batch, Durability::Relaxed).unwrap();
        let get = || engine.get(Space::Rows, b"key").unwrap();
        assert_eq!((get(), engine.counts().evicting), (Some(b"value".to_vec()), Duration::ZERO));
        engine.go_cold(|| Ok((open(), Files::of(folder.path())?))).unwrap();
        assert_eq!(get(), Some(b"value".to_vec()));
        assert!(engine.counts().evicting > Duration::ZERO);
    }
}
