//! Locks, atomics and threads: those of the standard library, or those of the model checker, which tries the orders
//! in which threads can run. Only what decides between threads goes through here.

#[cfg(shuttle)]
pub(crate) use shuttle::{
    sync::atomic::{AtomicBool, AtomicU64, Ordering},
    sync::{Arc, Mutex, MutexGuard, RwLock, RwLockReadGuard, RwLockWriteGuard, TryLockError},
    thread,
};
#[cfg(not(shuttle))]
pub(crate) use std::{
    sync::atomic::{AtomicBool, AtomicU64, Ordering},
    sync::{Arc, Mutex, MutexGuard, RwLock, RwLockReadGuard, RwLockWriteGuard, TryLockError},
    thread,
};
