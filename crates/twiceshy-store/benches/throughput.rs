//! Loading, and asking for present and absent keys: the bare engine, a store on it, and the split set-up, by turns.
//!
//! ```sh
//! cargo bench -p twiceshy-store --bench throughput                     # 2 million keys, some minutes
//! cargo bench -p twiceshy-store --bench throughput -- --engine fjall --keys 500000
//! ```
#![allow(clippy::print_stdout, reason = "a table is what it is for")]

mod common;
#[path = "common/keys.rs"]
mod keys;
#[path = "common/turns.rs"]
mod turns;

use std::path::Path;
use std::sync::Arc;

use twiceshy_store::engine::{Batch, Engine, EngineError, Space};
use twiceshy_store::files::Folder;
use twiceshy_store::{AdaptiveStore, Database, Durability, EngineKind, FilteredDb};
use twiceshy_testkit::mix;

use common::value;
use keys::{KEY_BYTES, key};
use turns::{by_turns, ratio, speed};

const ABOUT: &str = "Compares stores with the bare engine, by turns in one process.";
const VALUE_BYTES: usize = 100;
/// How often each takes its turn.
const TURNS: u64 = 100;
const CACHE_BYTES: u64 = 64 << 20;
const LEVEL: Durability = Durability::Process;

fn open(kind: EngineKind, path: &Path) -> Arc<dyn Engine> {
    common::open(kind, path, Some(CACHE_BYTES))
}

/// The database of the split set-up: the bare engine.
struct Bare(Arc<dyn Engine>);

impl Database for Bare {
    type Error = EngineError;

    fn read(&self, key: &[u8]) -> Result<Option<Vec<u8>>, EngineError> {
        self.0.get(Space::Rows, key)
    }

    fn write(&self, key: &[u8], value: Option<&[u8]>) -> Result<(), EngineError> {
        let mut batch = Batch::new();
        match value {
            Some(value) => batch.put(Space::Rows, key.to_vec(), value.to_vec()),
            None => batch.delete(Space::Rows, key.to_vec()),
        }
        self.0.write(batch, LEVEL)
    }
}

/// A batch for the bare engine.
fn put(engine: &dyn Engine, rows: &[([u8; KEY_BYTES], [u8; VALUE_BYTES])]) {
    let mut batch = Batch::new();
    for (key, value) in rows {
        batch.put(Space::Rows, key.to_vec(), value.to_vec());
    }
    engine.write(batch, LEVEL).expect("there is room");
}

fn main() {
    let options = options();
    println!(
        "{} keys of {KEY_BYTES} bytes in random order, values of {VALUE_BYTES} bytes, batches of {}, level {LEVEL:?}, \
         engine cache {} MiB.\nThe engines' own settings are their defaults: fjall's Bloom filters are on.",
        options.keys,
        options.batch,
        CACHE_BYTES >> 20,
    );
    for &kind in &options.engines {
        compare(kind, &options);
    }
}

fn compare(kind: EngineKind, options: &Options) {
    let folder = tempfile::tempdir().expect("a folder for temporary files");
    let path = |name: &str| folder.path().join(name);
    let bare = open(kind, &path("bare"));
    let merged = AdaptiveStore::builder()
        .durability(LEVEL)
        .open_with(open(kind, &path("merged rows")), Folder::create(path("merged")).expect("a folder"))
        .expect("a new store");
    let beside = open(kind, &path("split rows"));
    let keys = AdaptiveStore::builder()
        .durability(LEVEL)
        .open_with(open(kind, &path("split keys")), Folder::create(path("split")).expect("a folder"))
        .expect("a new store");
    let split = FilteredDb::new(Bare(Arc::clone(&beside)), keys);

    let per_turn = options.keys / TURNS;
    let loading = by_turns::<3>(TURNS, |who, turn| {
        let numbers: Vec<u64> = (turn * per_turn..(turn + 1) * per_turn).collect();
        for numbers in numbers.chunks(options.batch) {
            let rows: Vec<_> = numbers.iter().map(|&number| (key(1, number), value(number))).collect();
            match who {
                0 => put(&*bare, &rows),
                1 => assert_eq!(merged.insert_batch(&rows).expect("there is room"), rows.len() as u64),
                _ => {
                    split.import(rows.iter().map(|(key, _)| key.as_slice())).expect("there is room");
                    put(&*beside, &rows);
                }
            }
        }
    });
    for engine in [&bare, &beside] {
        engine.sync().expect("there is room");
    }
    merged.flush().expect("there is room");
    split.flush().expect("there is room");

    let per_turn_asked = options.queries / TURNS;
    let asked = |who: usize, key: &[u8; KEY_BYTES]| match who {
        0 => bare.get(Space::Rows, key).map_err(|error| error.to_string()),
        1 => merged.get(key.as_slice()).map_err(|error| error.to_string()),
        _ => split.get(key.as_slice()).map_err(|error| error.to_string()),
    };
    let loaded = per_turn * TURNS;
    let present = by_turns::<3>(TURNS, |who, turn| {
        for number in turn * per_turn_asked..(turn + 1) * per_turn_asked {
            assert!(asked(who, &key(1, mix(number) % loaded)).expect("readable").is_some());
        }
    });
    let absent = by_turns::<3>(TURNS, |who, turn| {
        for number in turn * per_turn_asked..(turn + 1) * per_turn_asked {
            assert!(asked(who, &key(2, number)).expect("readable").is_none());
        }
    });
    // All keys of a turn at once.
    let batched = by_turns::<2>(TURNS, |who, turn| {
        let keys: Vec<_> =
            (turn * per_turn_asked..(turn + 1) * per_turn_asked).map(|number| key(3, number)).collect();
        match who {
            0 => keys.iter().for_each(|key| assert!(asked(0, key).expect("readable").is_none())),
            _ => {
                let keys: Vec<_> = keys.iter().map(<[u8; KEY_BYTES]>::as_slice).collect();
                assert!(merged.get_batch(&keys).expect("readable").iter().all(Option::is_none));
            }
        }
    });
    // What a store adds to the answer of its filter.
    let in_memory = by_turns::<2>(TURNS, |who, turn| {
        let keys = (turn * per_turn_asked..(turn + 1) * per_turn_asked).map(|number| key(3, number));
        match who {
            0 => merged
                .with_filter(|filter| keys.for_each(|key| assert!(!filter.contains(key.as_slice()))))
                .expect("readable"),
            _ => keys.for_each(|key| assert!(asked(1, &key).expect("readable").is_none())),
        }
    });
    let stats = merged.stats().expect("readable");
    let bits = stats.filter_bytes as f64 * 8.0 / loaded as f64;
    println!("\n{}, thousands per second (ratio to the bare engine):", kind.name());
    println!("{:<24}{:>12}{:>20}{:>20}", "", "bare", "merged", "split");
    let asked = per_turn_asked * TURNS;
    for (name, operations, times) in
        [("load", loaded, loading), ("get, present", asked, present), ("get, absent", asked, absent)]
    {
        let [bare, merged, split] = times.map(|time| speed(operations, time));
        println!("{name:<24}{bare:>12.0}{:>20}{:>20}", ratio(merged, bare), ratio(split, bare));
    }
    let [bare, merged] = batched.map(|time| speed(asked, time));
    println!("{:<24}{bare:>12.0}{:>20}", "get_batch, absent", ratio(merged, bare));
    let [filter, merged] = in_memory.map(|time| speed(asked, time));
    println!("{:<24}{filter:>12.0}{:>20}", "get against contains", ratio(merged, filter));
    println!(
        "filter: {bits:.2} bits per key ({} bytes), {} false positives in {} absent queries, all fixed: {}",
        stats.filter_bytes,
        stats.false_positives,
        3 * asked,
        stats.fixed == stats.false_positives,
    );
}

/// What was asked for.
struct Options {
    keys: u64,
    queries: u64,
    engines: Vec<EngineKind>,
    batch: usize,
}

/// Reads the options; exits with a message if there is something wrong with them.
fn options() -> Options {
    let mut options =
        Options { keys: 2_000_000, queries: 400_000, engines: EngineKind::ALL.to_vec(), batch: 1_000 };
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
            "--quick" => (options.keys, options.queries) = (20_000, 5_000),
            // What `cargo bench` and `cargo test` say.
            "--bench" | "--test" => (),
            _ => fail(&format!("there is no option {arg}")),
        }
    }
    options
}

fn fail(what: &str) -> ! {
    eprintln!("{what}\n\n{ABOUT}\n\nOptions: --keys N, --queries N, --batch N, --engine fjall|redb, --quick");
    std::process::exit(2)
}
