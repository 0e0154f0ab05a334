//! The clock: CPU time of the calling thread.
//!
//! On a machine that other programs share, wall time tells as much about them as about a filter. The CPU
//! time of a thread stands still while the thread does not run. Reading it is a system call of some 300
//! ns, which is why whole chunks are timed. Single inserts are timed by the wall clock, which is read
//! without a system call.

use std::time::Instant;

/// What [`time`] measures here.
#[cfg(unix)]
pub(crate) const KIND: &str = "thread CPU time";
/// What [`time`] measures here.
#[cfg(not(unix))]
pub(crate) const KIND: &str = "wall time (no thread CPU time on this system)";

/// Runs `work` and tells how many seconds it took.
#[cfg(unix)]
pub(crate) fn time<R>(work: impl FnOnce() -> R) -> (f64, R) {
    use rustix::time::{ClockId, clock_gettime};
    let start = clock_gettime(ClockId::ThreadCPUTime);
    let result = work();
    let end = clock_gettime(ClockId::ThreadCPUTime);
    let nanos = (end.tv_sec - start.tv_sec) * 1_000_000_000 + (end.tv_nsec - start.tv_nsec) as i64;
    (nanos.max(1) as f64 * 1e-9, result)
}

/// Runs `work` and tells how many seconds it took.
#[cfg(not(unix))]
pub(crate) fn time<R>(work: impl FnOnce() -> R) -> (f64, R) {
    let start = Instant::now();
    let result = work();
    (start.elapsed().as_nanos().max(1) as f64 * 1e-9, result)
}

/// Runs `work` for every item and appends the nanoseconds of each to `nanos`. The clock itself costs some
/// 30 of them.
pub(crate) fn time_each(items: &[u64], nanos: &mut Vec<f64>, mut work: impl FnMut(u64)) {
    for &item in items {
        let start = Instant::now();
        work(item);
        nanos.push(start.elapsed().as_nanos() as f64);
    }
}
