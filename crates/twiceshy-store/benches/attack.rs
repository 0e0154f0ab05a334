//! An adversary who replays the false positives that were found: stores with our filter, with filters that never learn,
//! and with none (figure 6 of *Adaptive Quotient Filters*).
//!
//! First some random keys are asked for, all absent, and those that reached the engine are noted. Then queries are
//! random, but for a share of them, which replays what was noted.
//!
//! ```sh
//! cargo bench -p twiceshy-store --bench attack
//! ```
#![allow(clippy::print_stdout, reason = "a table is what it is for")]

mod common;

use std::time::Instant;

use common::{KEY_BYTES, VALUE_BYTES, key, mix, open, options, speed, value};
use twiceshy_store::testing::MemoryFiles;
use twiceshy_store::{AdaptiveStore, Durability, EngineKind, KeyValue, TwinFilter, TwinStore};

const ABOUT: &str = "Replays false positives against stores with and without an adaptive filter.";
const SHARES: [f64; 4] = [0.0, 0.01, 0.03, 0.10];
const CACHES: [f64; 2] = [0.01, 0.25];

fn main() {
    let options = options(ABOUT, 500_000, 200_000);
    let data_bytes = options.keys * (KEY_BYTES + VALUE_BYTES) as u64;
    println!(
        "{} keys of {KEY_BYTES} bytes with values of {VALUE_BYTES} bytes; {} queries for absent keys, a share of which \
         replays false positives;\nerror rate {}; the files are in the operating system's cache.",
        options.keys, options.queries, options.error_rate,
    );
    for &kind in &options.engines {
        for cache in CACHES {
            let cache_bytes = (data_bytes as f64 * cache) as u64;
            println!("\n{}, engine cache {} % of the data:", kind.name(), cache * 100.0);
            println!(
                "{:<12}{:>14}{}",
                "filter",
                "bytes",
                SHARES.map(|share| format!("{:>26}", format!("{} % replayed", share * 100.0))).concat()
            );
            for which in [None, Some(TwinFilter::Quotient), Some(TwinFilter::Bloom), Some(TwinFilter::None)] {
                attack(kind, which, cache_bytes, &options);
            }
        }
    }
    println!("\nEach entry: thousands of queries per second / lookups of the engine per thousand queries.");
}

fn attack(kind: EngineKind, which: Option<TwinFilter>, cache_bytes: u64, options: &common::Options) {
    let folder = tempfile::tempdir().expect("a folder for temporary files");
    let engine = open(kind, &folder.path().join("rows"), cache_bytes);
    let store: Box<dyn KeyValue> = match which {
        None => Box::new(
            AdaptiveStore::builder()
                .error_rate(options.error_rate)
                .durability(Durability::Relaxed)
                .open_with(engine, MemoryFiles::new())
                .expect("a new store"),
        ),
        Some(which) => Box::new(
            TwinStore::open(which, engine, Durability::Relaxed, options.keys, options.error_rate)
                .expect("a new store"),
        ),
    };
    for numbers in (0..options.keys).collect::<Vec<_>>().chunks(options.batch) {
        let rows: Vec<_> = numbers.iter().map(|&number| (key(1, number), value(number))).collect();
        let rows: Vec<_> = rows.iter().map(|(key, value)| (key.as_slice(), value.as_slice())).collect();
        store.insert_batch(&rows).expect("there is room");
    }
    store.flush().expect("there is room");

    // What an adversary who sees which queries are slow can find out.
    let mut noted = Vec::new();
    for number in 0..options.queries {
        let before = store.lookups().expect("readable").engine_lookups;
        let query = key(2, number);
        assert_eq!(store.get(&query).expect("readable"), None);
        if store.lookups().expect("readable").engine_lookups > before {
            noted.push(query);
        }
    }
    noted.truncate(10_000);
    let mut line = format!("{:<12}{:>14}", store.name(), store.filter_bytes().expect("readable"));
    for (round, share) in (3..).zip(SHARES) {
        let queries: Vec<_> = (0..options.queries)
            .map(|number| {
                let replays = (mix(number ^ round << 40) as f64) < share * u64::MAX as f64;
                match noted.get((mix(number) % noted.len().max(1) as u64) as usize) {
                    Some(&query) if replays => query,
                    _ => key(round, number),
                }
            })
            .collect();
        let before = store.lookups().expect("readable");
        let start = Instant::now();
        for query in &queries {
            assert_eq!(store.get(query).expect("readable"), None);
        }
        let time = start.elapsed();
        let lookups = store.lookups().expect("readable").engine_lookups - before.engine_lookups;
        let per_thousand = lookups as f64 * 1e3 / options.queries as f64;
        line += &format!("{:>26}", format!("{:.0} / {per_thousand:.2}", speed(options.queries, time)));
    }
    println!("{line}");
}
