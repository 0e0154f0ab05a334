//! Contestants that take turns, and their speeds.

use std::time::{Duration, Instant};

/// Lets contestants take turns, in another order every time, and sums up their times.
pub(crate) fn by_turns<const N: usize>(turns: u64, mut turn: impl FnMut(usize, u64)) -> [Duration; N] {
    let mut times = [Duration::ZERO; N];
    for number in 0..turns {
        for i in 0..N {
            let who = (i + number as usize) % N;
            let start = Instant::now();
            turn(who, number);
            times[who] += start.elapsed();
        }
    }
    times
}

/// Thousands of operations per second.
pub(crate) fn speed(operations: u64, time: Duration) -> f64 {
    operations as f64 / time.as_secs_f64() / 1e3
}

/// A speed, and how many times that of the bare engine it is.
pub(crate) fn ratio(speed: f64, bare: f64) -> String {
    format!("{speed:.0} ({:.2})", speed / bare)
}
