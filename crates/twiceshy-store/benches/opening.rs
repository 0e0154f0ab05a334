//! How long it takes to open a store: one that was closed, one whose program was killed, and one without a snapshot of its
//! filter. The engine's part and the filter's are told apart.
//!
//! ```sh
//! cargo bench -p twiceshy-store --bench opening                     # up to 10 million keys: half an hour
//! cargo bench -p twiceshy-store --bench opening -- --engine fjall --keys 1500000
//! ```
#![allow(clippy::print_stdout, reason = "a table is what it is for")]

mod common;
#[path = "common/keys.rs"]
mod keys;

use std::path::Path;
use std::process::{self, Command};
use std::time::{Duration, Instant};
use std::{env, fs};

use twiceshy_store::files::Folder;
use twiceshy_store::{AdaptiveStore, EngineKind, Recovery};
use twiceshy_testkit::copy_folder;

use common::value;
use keys::key;

const ABOUT: &str = "Measures how long it takes to open a store.";
const VALUE_BYTES: usize = 32;
const BATCH: u64 = 10_000;
/// How often every store is opened; the fastest counts.
const TIMES: usize = 5;
/// What the program calls itself with: load a store, and end without closing it.
const AND_ABORT: &str = "--and-abort";

fn main() {
    let options = options();
    if let (Some(folder), &[kind], &[keys]) = (&options.and_abort, &options.engines[..], &options.keys[..]) {
        let _store = load(kind, folder.as_ref(), keys);
        process::abort();
    }
    println!(
        "Random keys of {} bytes, values of {VALUE_BYTES} bytes, batches of {BATCH}. Seconds (engine + filter) to open a \
         store that was closed,\nwas killed right after the last batch, or has no snapshot of its filter; the fastest of {TIMES}:",
        keys::KEY_BYTES,
    );
    println!("{:<8}{:>12}{:>24}{:>24}{:>24}", "", "keys", "closed", "killed", "no snapshot");
    for &kind in &options.engines {
        for &keys in &options.keys {
            measure(kind, keys);
        }
    }
}

fn measure(kind: EngineKind, keys: u64) {
    let folder = tempfile::tempdir().expect("a folder for temporary files");
    let (closed, killed) = (folder.path().join("closed"), folder.path().join("killed"));
    load(kind, &closed, keys).close().expect("there is room");
    let clean = fastest(|| open(kind, &closed, keys, |recovery| *recovery == Recovery::Clean));
    let rebuilt = fastest(|| {
        fs::remove_file(closed.join("filter.snapshot")).expect("there is one");
        open(kind, &closed, keys, |recovery| matches!(recovery, Recovery::Rebuilt { .. }))
    });
    let loading = Command::new(env::current_exe().expect("this program"))
        .args([AND_ABORT.as_ref(), killed.as_os_str(), "--engine".as_ref(), kind.name().as_ref()])
        .args(["--keys", &keys.to_string()])
        .status()
        .expect("it starts");
    assert!(!loading.success(), "it was to end without closing the store");
    let replayed = fastest(|| {
        let copy = folder.path().join("copy");
        copy_folder(&killed, &copy);
        sync(&copy);
        let times = open(kind, &copy, keys, |_| true);
        fs::remove_dir_all(&copy).expect("it is there");
        times
    });
    let columns = [clean, replayed, rebuilt].map(Times::text);
    println!("{:<8}{keys:>12}{:>24}{:>24}{:>24}", kind.name(), columns[0], columns[1], columns[2]);
}

/// Waits until all files are on the disk: else whoever opens them has to.
fn sync(folder: &Path) {
    for entry in fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("a folder that can be read").path();
        if path.is_dir() {
            sync(&path);
        } else {
            fs::File::open(path).and_then(|file| file.sync_all()).expect("a file that can be synced");
        }
    }
}

fn load(kind: EngineKind, folder: &Path, keys: u64) -> AdaptiveStore {
    let store = AdaptiveStore::builder().engine(kind).open(folder).expect("a new store");
    for first in (0..keys).step_by(BATCH as usize) {
        let numbers = first..keys.min(first + BATCH);
        let rows: Vec<_> = numbers.map(|number| (key(1, number), value::<VALUE_BYTES>(number))).collect();
        store.insert_batch(&rows).expect("there is room");
    }
    store
}

/// How long it takes to open the engine, and then the store.
#[derive(Clone, Copy)]
struct Times {
    engine: Duration,
    filter: Duration,
}

impl Times {
    fn total(self) -> Duration {
        self.engine + self.filter
    }

    fn text(self) -> String {
        let [total, engine, filter] = [self.total(), self.engine, self.filter].map(|time| time.as_secs_f64());
        format!("{total:.3} ({engine:.2} + {filter:.2})")
    }
}

/// Opens a store, checks that all keys are there and that it came by its filter as expected, and closes it.
fn open(kind: EngineKind, folder: &Path, keys: u64, expected: impl Fn(&Recovery) -> bool) -> Times {
    let start = Instant::now();
    let engine = common::open(kind, &folder.join(format!("rows.{}", kind.name())), None);
    let opened = Instant::now();
    let files = Folder::create(folder).expect("a folder");
    let store = AdaptiveStore::builder().create(false).open_with(engine, files).expect("a store");
    let times = Times { engine: opened - start, filter: opened.elapsed() };
    assert_eq!(store.approximate_len(), keys);
    assert!(expected(store.recovery()), "{:?}", store.recovery());
    store.close().expect("there is room");
    times
}

/// Others at work make it slower, nothing makes it faster.
fn fastest(measure: impl FnMut() -> Times) -> Times {
    let times = std::iter::repeat_with(measure).take(TIMES);
    times.min_by_key(|times| times.total()).expect("several")
}

/// What was asked for.
struct Options {
    keys: Vec<u64>,
    engines: Vec<EngineKind>,
    and_abort: Option<String>,
}

/// Reads the options; exits with a message if there is something wrong with them.
fn options() -> Options {
    let (keys, engines) = (vec![100_000, 1_000_000, 10_000_000], EngineKind::ALL.to_vec());
    let mut options = Options { keys, engines, and_abort: None };
    let mut args = env::args().skip(1);
    while let Some(arg) = args.next() {
        let mut value = || args.next().unwrap_or_else(|| fail(&format!("{arg} needs a value")));
        match arg.as_str() {
            "--keys" => {
                let text = value();
                options.keys = vec![text.parse().unwrap_or_else(|_| fail(&format!("{text:?} is no number")))];
            }
            "--engine" => {
                options.engines = vec![value().parse().unwrap_or_else(|error| fail(&format!("{error}")))];
            }
            "--quick" => options.keys = vec![20_000],
            AND_ABORT => options.and_abort = Some(value()),
            // What `cargo bench` and `cargo test` say.
            "--bench" | "--test" => (),
            _ => fail(&format!("there is no option {arg}")),
        }
    }
    options
}

fn fail(what: &str) -> ! {
    eprintln!("{what}\n\n{ABOUT}\n\nOptions: --keys N, --engine fjall|redb, --quick");
    process::exit(2)
}
