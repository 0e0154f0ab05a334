//! An ordered store against the bare engine, under attack against itself, and what the rows of its partitions take on disk.
//!
//! ```sh
//! cargo bench -p twiceshy-store --bench ordered                       # a million keys, some minutes
//! cargo bench -p twiceshy-store --bench ordered -- --engine fjall --keys 200000
//! cargo bench -p twiceshy-store --bench ordered -- --part attack --engine redb --max-range 32
//! ```
#![allow(clippy::print_stdout, reason = "a table is what it is for")]

mod common;
#[path = "common/disk.rs"]
mod disk;
#[path = "common/turns.rs"]
mod turns;

use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;

use twiceshy_store::engine::{Batch, Engine, Keys, Space};
use twiceshy_store::files::Folder;
use twiceshy_store::{Durability, EngineKind, OrderedStore};
use twiceshy_testkit::mix;

use common::value;
use disk::bytes_below;
use turns::{by_turns, ratio, speed};

const ABOUT: &str =
    "Compares an ordered store with the bare engine, by turns in one process, and attacks it.";
const VALUE_BYTES: usize = 100;
/// How often each takes its turn.
const TURNS: u64 = 50;
const CACHE_BYTES: u64 = 64 << 20;
const LEVEL: Durability = Durability::Process;
/// The length of the ranges.
const RANGE: u64 = 32;
/// Shares of queries that replay a mistake, in thousandths.
const SHARES: [u64; 4] = [0, 10, 30, 100];
/// The error rate under attack: there must be something to replay.
const ATTACKED_RATE: f64 = 0.01;

fn open(kind: EngineKind, path: &Path) -> Arc<dyn Engine> {
    common::open(kind, path, Some(CACHE_BYTES))
}

fn store(kind: EngineKind, folder: &Path, name: &str, max_range: u64, rate: f64) -> OrderedStore<u64> {
    let files = Folder::create(folder.join(name)).expect("a folder");
    let builder = OrderedStore::builder().durability(LEVEL).max_range(max_range).error_rate(rate);
    builder.open_with(open(kind, &folder.join(format!("{name} rows"))), files).expect("a new store")
}

/// The key with this number: anywhere, or close to the others.
fn uniform(number: u64) -> u64 {
    mix(number)
}

fn main() {
    let options = options();
    println!(
        "{} keys of 8 bytes, values of {VALUE_BYTES} bytes, batches of {}, level {LEVEL:?}, engine cache {} MiB.",
        options.keys,
        options.batch,
        CACHE_BYTES >> 20,
    );
    for &kind in &options.engines {
        if options.has(Part::Compare) {
            compare(kind, &options);
        }
        if options.has(Part::Attack) {
            options.max_ranges.iter().for_each(|&max_range| attack(kind, &options, max_range));
        }
        if options.has(Part::Weigh) {
            weigh(kind, &options);
        }
    }
}

/// Load, present and absent keys, empty ranges and ranges with rows.
fn compare(kind: EngineKind, options: &Options) {
    let folder = tempfile::tempdir().expect("a folder for temporary files");
    let bare = open(kind, &folder.path().join("bare"));
    let ordered = store(kind, folder.path(), "ordered", RANGE, 0.001);
    let per_turn = options.keys / TURNS;
    let loading = by_turns::<2>(TURNS, |who, turn| {
        let numbers: Vec<u64> = (turn * per_turn..(turn + 1) * per_turn).collect();
        for numbers in numbers.chunks(options.batch) {
            let rows: Vec<(u64, [u8; VALUE_BYTES])> =
                numbers.iter().map(|&number| (uniform(number), value(number))).collect();
            if who == 1 {
                assert_eq!(ordered.insert_batch(&rows).expect("there is room"), rows.len() as u64);
                continue;
            }
            let mut batch = Batch::new();
            rows.iter().for_each(|(key, value)| {
                batch.put(Space::Rows, key.to_be_bytes().to_vec(), value.to_vec());
            });
            bare.write(batch, LEVEL).expect("there is room");
        }
    });
    bare.sync().expect("there is room");
    ordered.flush().expect("there is room");
    let loaded = per_turn * TURNS;
    let asked = options.queries / TURNS;
    let get = |who: usize, key: u64| match who {
        0 => bare.get(Space::Rows, &key.to_be_bytes()).expect("readable").is_some(),
        _ => ordered.get(&key).expect("readable").is_some(),
    };
    let rows = |who: usize, first: u64| match who {
        0 => {
            let (from, until) = (first.to_be_bytes(), first.saturating_add(RANGE).to_be_bytes());
            let (mut rows, keys) = (Vec::new(), Keys { from: &from, until: Some(&until) });
            let visit = &mut |key: &[u8], value: &[u8]| {
                rows.push((key.to_vec(), value.to_vec()));
                ControlFlow::Continue(())
            };
            bare.scan(Space::Rows, keys, visit).expect("readable");
            rows.len()
        }
        _ => {
            let rows = ordered.range(first..first.saturating_add(RANGE));
            rows.collect::<Result<Vec<_>, _>>().expect("readable").len()
        }
    };
    let numbers = |turn: u64| turn * asked..(turn + 1) * asked;
    let present = by_turns::<2>(TURNS, |who, turn| {
        numbers(turn).for_each(|number| assert!(get(who, uniform(mix(number) % loaded))));
    });
    let absent = by_turns::<2>(TURNS, |who, turn| {
        numbers(turn).for_each(|number| assert!(!get(who, uniform(loaded + number))));
    });
    let empty = by_turns::<2>(TURNS, |who, turn| {
        let start = loaded + options.queries;
        numbers(turn).for_each(|number| assert_eq!(rows(who, uniform(start + number)), 0));
    });
    // Close to a key.
    let beside = by_turns::<2>(TURNS, |who, turn| {
        numbers(turn)
            .for_each(|number| assert_eq!(rows(who, uniform(mix(number) % loaded).saturating_add(1)), 0));
    });
    let filled = by_turns::<2>(TURNS, |who, turn| {
        numbers(turn)
            .for_each(|number| assert_eq!(rows(who, uniform(mix(number) % loaded).saturating_sub(7)), 1));
    });
    println!("\n{}, thousands per second (ratio to the bare engine):", kind.name());
    println!("{:<24}{:>12}{:>20}", "", "bare", "ordered");
    let queries = asked * TURNS;
    for (name, operations, times) in [
        ("load", loaded, loading),
        ("get, present", queries, present),
        ("get, absent", queries, absent),
        ("range of 32, empty", queries, empty),
        ("… beside a key", queries, beside),
        ("range of 32, one row", queries, filled),
    ] {
        let [bare, ordered] = times.map(|time| speed(operations, time));
        println!("{name:<24}{bare:>12.0}{:>20}", ratio(ordered, bare));
    }
    let stats = ordered.stats().expect("readable");
    println!(
        "filter: {:.2} bits per key, {} false positives in {} queries, fixed: {}",
        stats.store.filter_bytes as f64 * 8.0 / loaded as f64,
        stats.store.false_positives,
        3 * queries,
        stats.store.fixed,
    );
}

/// Empty ranges, some of which replay mistakes that were made before.
fn attack(kind: EngineKind, options: &Options, max_range: u64) {
    let folder = tempfile::tempdir().expect("a folder for temporary files");
    let ordered = store(kind, folder.path(), "attacked", max_range, ATTACKED_RATE);
    let numbers: Vec<u64> = (0..options.keys).collect();
    for numbers in numbers.chunks(options.batch) {
        let rows: Vec<(u64, [u8; VALUE_BYTES])> =
            numbers.iter().map(|&number| (uniform(number), value(number))).collect();
        ordered.insert_batch(&rows).expect("there is room");
    }
    ordered.flush().expect("there is room");
    // No range has a key: only one of so many numbers is one.
    let range = |number: u64| {
        let first = uniform(options.keys + number);
        first..=first.saturating_add(max_range - 1)
    };
    let ask = |number| assert!(ordered.range(range(number)).next().is_none(), "a key in a range by chance");
    let mut mistakes = Vec::new();
    let mut next = 0;
    while mistakes.len() < 500 {
        if ordered.may_contain_range(range(next)).expect("readable") {
            mistakes.push(next);
            ask(next);
        }
        next += 1;
    }
    ordered.settle();
    let asked = options.queries / TURNS;
    let before = ordered.stats().expect("readable");
    let times = by_turns::<{ SHARES.len() }>(TURNS, |who, turn| {
        let start = next + (who as u64 * TURNS + turn) * asked;
        for number in 0..asked {
            let replays = mix(start + number) % 1_000 < SHARES[who];
            ask(if replays { mistakes[number as usize % mistakes.len()] } else { start + number });
        }
    });
    let speeds = times.map(|time| speed(asked * TURNS, time));
    let after = ordered.stats().expect("readable");
    let made = after.range_false_positives - before.range_false_positives;
    println!("\n{}, R = {max_range}, empty ranges, thousands per second (ratio to no attack):", kind.name());
    for (share, speed) in SHARES.iter().zip(speeds) {
        println!("{:<24}{:>20}", format!("{} % replayed", *share as f64 / 10.0), ratio(speed, speeds[0]));
    }
    println!(
        "error rate {ATTACKED_RATE}: {made} mistakes in {} queries, {} fixed",
        asked * TURNS * SHARES.len() as u64,
        after.store.fixed - before.store.fixed
    );
}

/// The bytes of the rows of partitions, and of one row for every key.
fn weigh(kind: EngineKind, options: &Options) {
    println!("{}, bytes on disk per key for what a filter finds its keys by:", kind.name());
    println!("{:<24}{:>16}{:>16}{:>12}", "", "row per key", "per partition", "partitions");
    type Key = fn(u64) -> u64;
    let cases: [(&str, Key); 3] = [
        ("uniform", uniform),
        ("one in four", |number| number * 4 + mix(number) % 4),
        ("dense", |number| number),
    ];
    for (name, key) in cases {
        let folder = tempfile::tempdir().expect("a folder for temporary files");
        let ordered = OrderedStore::<u64>::builder().max_range(64).in_memory().expect("settings that work");
        let rows: Vec<_> = (0..options.keys).map(|number| (key(number), [])).collect();
        for rows in rows.chunks(options.batch) {
            ordered.insert_batch(rows).expect("there is room");
        }
        let mut partitions = Vec::new();
        let visit = &mut |key: &[u8], _: &[u8]| {
            partitions.push(key.to_vec());
            ControlFlow::Continue(())
        };
        ordered.engine().scan(Space::Partitions, Keys::ALL, visit).expect("readable");
        // As in a store that is not ordered: the head of a hash and the key, in the order of the hashes.
        let mut keys: Vec<_> = ordered
            .with_filter(|filter| {
                let row = |(key, _): &(u64, _)| {
                    let hash = filter.hasher().hash(key).to_be_bytes();
                    [&hash[..4], &key.to_be_bytes()].concat()
                };
                rows.iter().map(row).collect()
            })
            .expect("readable");
        keys.sort();
        let number = partitions.len();
        let [per_key, per_partition] = [("keys", keys), ("partitions", partitions)].map(|(name, rows)| {
            bytes_of(kind, &folder.path().join(name), &rows) as f64 / options.keys as f64
        });
        println!("{name:<24}{per_key:>16.2}{per_partition:>16.2}{number:>12}");
    }
}

/// The bytes that an engine takes for some rows without values, which come in order.
fn bytes_of(kind: EngineKind, path: &Path, rows: &[Vec<u8>]) -> u64 {
    let engine = open(kind, path);
    for rows in rows.chunks(10_000) {
        let mut batch = Batch::new();
        rows.iter().for_each(|row| batch.put(Space::Partitions, row.clone(), Vec::new()));
        engine.write(batch, Durability::Relaxed).expect("there is room");
    }
    engine.sync().expect("there is room");
    engine.compact().expect("there is room");
    drop(engine);
    bytes_below(path)
}

/// What can be measured.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Part {
    Compare,
    Attack,
    Weigh,
}

/// What was asked for.
struct Options {
    keys: u64,
    queries: u64,
    engines: Vec<EngineKind>,
    batch: usize,
    /// All if none is given.
    part: Option<Part>,
    /// The longest ranges under attack.
    max_ranges: Vec<u64>,
}

impl Options {
    fn has(&self, part: Part) -> bool {
        self.part.is_none_or(|only| only == part)
    }
}

/// Reads the options; exits with a message if there is something wrong with them.
fn options() -> Options {
    let mut options = Options {
        keys: 1_000_000,
        queries: 400_000,
        engines: EngineKind::ALL.to_vec(),
        batch: 1_000,
        part: None,
        max_ranges: vec![1, 32, 1_024],
    };
    let mut args = std::env::args().skip(1);
    while let Some(arg) = args.next() {
        let mut value = || args.next().unwrap_or_else(|| fail(&format!("{arg} needs a value")));
        let number = |text: String| text.parse().unwrap_or_else(|_| fail(&format!("{text:?} is no number")));
        match arg.as_str() {
            "--keys" => options.keys = number(value()),
            "--queries" => options.queries = number(value()),
            "--batch" => options.batch = number(value()) as usize,
            "--engine" => {
                let name = value();
                options.engines = vec![name.parse().unwrap_or_else(|error| fail(&format!("{error}")))];
            }
            "--part" => {
                options.part = Some(match value().as_str() {
                    "compare" => Part::Compare,
                    "attack" => Part::Attack,
                    "weigh" => Part::Weigh,
                    other => fail(&format!("there is no part {other}: take compare, attack or weigh")),
                });
            }
            "--max-range" => options.max_ranges = vec![number(value())],
            "--quick" => (options.keys, options.queries) = (20_000, 5_000),
            // What `cargo bench` and `cargo test` say.
            "--bench" | "--test" => (),
            _ => fail(&format!("there is no option {arg}")),
        }
    }
    options
}

fn fail(what: &str) -> ! {
    eprintln!(
        "{what}\n\n{ABOUT}\n\nOptions: --keys N, --queries N, --batch N, --engine fjall|redb, --part compare|attack|weigh, \
         --max-range N (of the attack), --quick"
    );
    std::process::exit(2)
}
