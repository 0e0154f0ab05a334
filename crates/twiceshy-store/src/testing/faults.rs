//! An engine that fails when it is told to: the seam for tests of failures.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};

use crate::engine::{Batch, Durability, Engine, EngineError, EngineErrorKind, Keys, Space, Visit};

/// When a [`FaultyEngine`] fails. Clones command the same engine.
#[derive(Debug, Clone, Default)]
pub struct Faults {
    state: Arc<State>,
}

#[derive(Debug)]
struct State {
    /// How many more calls work; negative: all of them.
    left: AtomicI64,
    /// Whether the write that fails is carried out all the same.
    write_first: AtomicBool,
}

impl Default for State {
    fn default() -> Self {
        Self { left: AtomicI64::new(-1), write_first: false.into() }
    }
}

impl Faults {
    /// Lets `calls` more calls work and all calls after them fail.
    pub fn fail_after(&self, calls: u64) {
        self.state.write_first.store(false, Ordering::SeqCst);
        self.state.left.store(calls as i64, Ordering::SeqCst);
    }

    /// Lets `calls` more calls work and all calls after them fail, but the first write among these is carried out: only its
    /// answer is lost.
    pub fn lose_answer_after(&self, calls: u64) {
        self.state.write_first.store(true, Ordering::SeqCst);
        self.state.left.store(calls as i64, Ordering::SeqCst);
    }

    /// Lets everything work again.
    pub fn heal(&self) {
        self.state.left.store(-1, Ordering::SeqCst);
    }

    /// Whether this call fails.
    fn fails(&self) -> bool {
        let left = self.state.left.load(Ordering::SeqCst);
        if left > 0 {
            self.state.left.store(left - 1, Ordering::SeqCst);
        }
        left == 0
    }
}

/// An engine between a store and another engine that fails when [`Faults`] say so.
#[derive(Debug)]
pub struct FaultyEngine<E> {
    inner: E,
    faults: Faults,
}

impl<E: Engine> FaultyEngine<E> {
    /// In front of an engine.
    pub fn new(inner: E, faults: Faults) -> Self {
        Self { inner, faults }
    }

    fn check(&self) -> Result<(), EngineError> {
        if self.faults.fails() { Err(failed(self.inner.name())) } else { Ok(()) }
    }
}

fn failed(engine: &'static str) -> EngineError {
    EngineError::new(engine, EngineErrorKind::Other, "a failure that was asked for")
}

impl<E: Engine> Engine for FaultyEngine<E> {
    fn name(&self) -> &'static str {
        self.inner.name()
    }

    fn max_key_len(&self) -> usize {
        self.inner.max_key_len()
    }

    fn max_value_len(&self) -> usize {
        self.inner.max_value_len()
    }

    fn get(&self, space: Space, key: &[u8]) -> Result<Option<Vec<u8>>, EngineError> {
        self.check()?;
        self.inner.get(space, key)
    }

    fn scan(&self, space: Space, keys: Keys<'_>, visit: &mut Visit<'_>) -> Result<(), EngineError> {
        self.check()?;
        self.inner.scan(space, keys, visit)
    }

    fn write(&self, batch: Batch, durability: Durability) -> Result<(), EngineError> {
        if self.faults.fails() {
            if self.faults.state.write_first.swap(false, Ordering::SeqCst) {
                self.inner.write(batch, durability)?;
            }
            return Err(failed(self.inner.name()));
        }
        self.inner.write(batch, durability)
    }

    fn sync(&self) -> Result<(), EngineError> {
        self.check()?;
        self.inner.sync()
    }

    fn compact(&self) -> Result<(), EngineError> {
        self.check()?;
        self.inner.compact()
    }

    fn disk_bytes(&self) -> Option<u64> {
        self.inner.disk_bytes()
    }
}
