//! An engine with a counter in front: how often it was asked, which is what an adversary sees in a slow answer. If asked
//! to, it also makes every lookup as slow as a storage that is farther away (simulated, and labelled so everywhere).

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use twiceshy_store::Durability;
use twiceshy_store::engine::{Batch, Engine, EngineError, Keys, Space, Visit};

/// How late a thread may wake up; the rest of a wait is spent awake.
const LATE: Duration = Duration::from_micros(120);

pub(super) struct Watched<E> {
    engine: E,
    lookups: AtomicU64,
    misses: AtomicU64,
    scans: AtomicU64,
    latency: Duration,
    /// Loading is not slowed down.
    is_slow: AtomicBool,
}

/// How often an engine was asked for rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Counts {
    /// Reads of one row.
    pub(super) lookups: u64,
    /// Those of them that found none.
    pub(super) misses: u64,
    /// Reads of neighbouring rows, to learn from a mistake.
    pub(super) scans: u64,
}

impl<E> Watched<E> {
    pub(super) fn new(engine: E, latency: Option<Duration>) -> Self {
        let latency = latency.unwrap_or_default();
        let [lookups, misses, scans] = Default::default();
        Self { engine, lookups, misses, scans, latency, is_slow: false.into() }
    }

    /// From now on lookups have their simulated latency.
    pub(super) fn slow_down(&self) {
        self.is_slow.store(!self.latency.is_zero(), Ordering::Relaxed);
    }

    pub(super) fn lookups(&self) -> u64 {
        self.lookups.load(Ordering::Relaxed)
    }

    pub(super) fn counts(&self) -> Counts {
        let misses = self.misses.load(Ordering::Relaxed);
        Counts { lookups: self.lookups(), misses, scans: self.scans.load(Ordering::Relaxed) }
    }

    fn count(&self, space: Space, counter: &AtomicU64) {
        if space == Space::Rows {
            counter.fetch_add(1, Ordering::Relaxed);
            if self.is_slow.load(Ordering::Relaxed) {
                wait(self.latency);
            }
        }
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

impl<E: Engine> Engine for Watched<E> {
    fn name(&self) -> &'static str {
        self.engine.name()
    }

    fn max_key_len(&self) -> usize {
        self.engine.max_key_len()
    }

    fn max_value_len(&self) -> usize {
        self.engine.max_value_len()
    }

    fn get(&self, space: Space, key: &[u8]) -> Result<Option<Vec<u8>>, EngineError> {
        self.count(space, &self.lookups);
        let value = self.engine.get(space, key)?;
        if space == Space::Rows && value.is_none() {
            self.misses.fetch_add(1, Ordering::Relaxed);
        }
        Ok(value)
    }

    fn scan(&self, space: Space, keys: Keys<'_>, visit: &mut Visit<'_>) -> Result<(), EngineError> {
        self.count(space, &self.scans);
        self.engine.scan(space, keys, visit)
    }

    fn write(&self, batch: Batch, durability: Durability) -> Result<(), EngineError> {
        self.engine.write(batch, durability)
    }

    fn sync(&self) -> Result<(), EngineError> {
        self.engine.sync()
    }

    fn compact(&self) -> Result<(), EngineError> {
        self.engine.compact()
    }

    fn disk_bytes(&self) -> Option<u64> {
        self.engine.disk_bytes()
    }
}

#[cfg(test)]
mod tests {
    use twiceshy_store::engine::MemoryEngine;
    use twiceshy_store::testing::conformance;

    use super::*;

    #[test]
    fn it_is_an_engine_like_the_one_behind_it() {
        conformance::check(|| Watched::new(MemoryEngine::new(), None)).unwrap();
    }

    #[test]
    fn it_counts_rows_and_waits_only_when_told_to() {
        let latency = Duration::from_millis(3);
        let engine = Watched::new(MemoryEngine::new(), Some(latency));
        let time = |space| {
            let start = Instant::now();
            engine.get(space, b"key").unwrap();
            start.elapsed()
        };
        assert!(time(Space::Rows) < latency);
        engine.slow_down();
        assert!(time(Space::Rows) >= latency);
        time(Space::Meta);
        assert_eq!(engine.counts(), Counts { lookups: 2, misses: 2, scans: 0 });
        let mut batch = Batch::new();
        batch.put(Space::Rows, b"key".to_vec(), Vec::new());
        engine.write(batch, Durability::Relaxed).unwrap();
        time(Space::Rows);
        engine.scan(Space::Rows, Keys::ALL, &mut |_, _| std::ops::ControlFlow::Continue(())).unwrap();
        engine.scan(Space::Meta, Keys::ALL, &mut |_, _| std::ops::ControlFlow::Continue(())).unwrap();
        assert_eq!(engine.counts(), Counts { lookups: 3, misses: 2, scans: 1 });
    }
}
