//! A mutex that does not care whether somebody panicked, and that ThreadSanitizer understands.
//!
//! The sanitizer knows what orders two threads only where the code was compiled for it. The standard library was not: all that
//! is behind one of its mutexes looks like a race once two threads wait for it. With `--cfg twiceshy_sanitize` there is a gate
//! in front of the mutex, an atomic of our own, through which one thread goes at a time.

use std::ops::{Deref, DerefMut};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// A value that one thread has at a time.
pub(crate) struct Lock<T> {
    gate: Gate,
    mutex: Mutex<T>,
}

/// The value, for as long as this is held.
pub(crate) struct Held<'a, T> {
    // In this order: the gate opens last.
    value: MutexGuard<'a, T>,
    _gate: Passed<'a>,
}

impl<T> Lock<T> {
    pub(crate) fn new(value: T) -> Self {
        Self { gate: Gate::new(), mutex: Mutex::new(value) }
    }

    #[inline(always)]
    pub(crate) fn lock(&self) -> Held<'_, T> {
        let gate = self.gate.pass();
        Held { value: self.mutex.lock().unwrap_or_else(PoisonError::into_inner), _gate: gate }
    }
}

impl<T> Deref for Held<'_, T> {
    type Target = T;
    #[inline(always)]
    fn deref(&self) -> &T {
        &self.value
    }
}

impl<T> DerefMut for Held<'_, T> {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut T {
        &mut self.value
    }
}

#[cfg(not(twiceshy_sanitize))]
mod gate {
    /// Nothing.
    pub(super) struct Gate;

    pub(super) struct Passed<'a>(std::marker::PhantomData<&'a Gate>);

    impl Gate {
        pub(super) fn new() -> Self {
            Self
        }

        #[inline(always)]
        pub(super) fn pass(&self) -> Passed<'_> {
            Passed(std::marker::PhantomData)
        }
    }
}

#[cfg(twiceshy_sanitize)]
mod gate {
    use std::sync::atomic::AtomicBool;
    use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};

    /// Whether somebody is inside.
    pub(super) struct Gate(AtomicBool);

    pub(super) struct Passed<'a>(&'a Gate);

    impl Gate {
        pub(super) fn new() -> Self {
            Self(AtomicBool::new(false))
        }

        pub(super) fn pass(&self) -> Passed<'_> {
            while self.0.compare_exchange(false, true, Acquire, Relaxed).is_err() {
                std::thread::yield_now();
            }
            Passed(self)
        }
    }

    impl Drop for Passed<'_> {
        fn drop(&mut self) {
            self.0.0.store(false, Release);
        }
    }
}

use gate::{Gate, Passed};
