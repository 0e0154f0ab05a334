//! Measurements by time: is there any in this minute? Empty minutes cost no disk access.
//!
//! ```sh
//! cargo run --release -p twiceshy-store --example ordered
//! ```
#![allow(clippy::print_stdout, reason = "an example says what it found")]

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use twiceshy_store::OrderedStore;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let folder = tempfile::tempdir()?;
    // Keys are seconds; ranges of up to an hour are answered by the filter.
    let store = OrderedStore::<u64>::builder()
        .max_range(3_600)
        .error_rate(0.01)
        .open(folder.path().join("quakes"))?;

    // Earth shakes now and then.
    let quakes: Vec<(u64, String)> = (0..10_000)
        .map(|number| (1_700_000_000 + number * number % 86_400_000, format!("{}", number % 9)))
        .collect();
    store.insert_batch(&quakes)?;

    let mut shaken = 0;
    for hour in 0..24_000 {
        let start = 1_700_000_000 + hour * 3_600;
        shaken += u64::from(store.contains_range(start..start + 3_600)?);
    }
    let stats = store.stats()?;
    println!("{shaken} of 24,000 hours had a quake.");
    println!(
        "The filter answered {} hours alone, and was wrong for {}; it will not be again.",
        stats.ranges_answered, stats.range_false_positives
    );
    let (first, last) = (1_700_000_000, 1_700_000_100);
    for row in store.range(first..last) {
        let (second, magnitude) = row?;
        println!("{second}: magnitude {}", String::from_utf8_lossy(&magnitude));
    }

    // Any type with an order can be a key: times, addresses, strings, types of your own.
    let log = OrderedStore::<SystemTime>::builder().in_memory()?;
    let start = UNIX_EPOCH + Duration::from_secs(1_700_000_000);
    log.insert(&start, "started")?;
    log.insert(&(start + Duration::from_nanos(40)), "ready")?;
    for row in log.range(start..) {
        println!("{}", String::from_utf8_lossy(&row?.1));
    }
    Ok(())
}
