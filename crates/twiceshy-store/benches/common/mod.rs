//! What the benchmarks share: options, random keys, and measuring by turns.
#![allow(dead_code, reason = "each benchmark uses a part of it")]

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use twiceshy_store::EngineKind;
use twiceshy_store::engine::{Engine, FjallEngine, RedbEngine};

pub(crate) const KEY_BYTES: usize = 16;
pub(crate) const VALUE_BYTES: usize = 100;

/// What was asked for.
pub(crate) struct Options {
    pub(crate) keys: u64,
    pub(crate) queries: u64,
    pub(crate) engines: Vec<EngineKind>,
    pub(crate) batch: usize,
    pub(crate) error_rate: f64,
}

/// Reads the options; exits with a message if there is something wrong with them.
pub(crate) fn options(about: &str, keys: u64, queries: u64) -> Options {
    let mut options =
        Options { keys, queries, engines: EngineKind::ALL.to_vec(), batch: 1_000, error_rate: 0.001 };
    let mut args = std::env::args().skip(1);
    while let Some(arg) = args.next() {
        let mut value = || args.next().unwrap_or_else(|| fail(&format!("{arg} needs a value"), about));
        let number =
            |text: String| text.parse().unwrap_or_else(|_| fail(&format!("{text:?} is no number"), about));
        match arg.as_str() {
            "--keys" => options.keys = number(value()),
            "--queries" => options.queries = number(value()),
            "--batch" => options.batch = number(value()) as usize,
            "--engine" => {
                let name = value();
                options.engines = vec![name.parse().unwrap_or_else(|error| fail(&format!("{error}"), about))];
            }
            "--quick" => (options.keys, options.queries) = (20_000, 5_000),
            // What `cargo bench` and `cargo test` say.
            "--bench" | "--test" => (),
            _ => fail(&format!("there is no option {arg}"), about),
        }
    }
    options
}

fn fail(what: &str, about: &str) -> ! {
    eprintln!("{what}\n\n{about}\n\nOptions: --keys N, --queries N, --batch N, --engine fjall|redb, --quick");
    std::process::exit(2)
}

/// An engine below a folder.
pub(crate) fn open(kind: EngineKind, path: &Path, cache_bytes: u64) -> Arc<dyn Engine> {
    match kind {
        EngineKind::Fjall => Arc::new(FjallEngine::open(path, Some(cache_bytes)).expect("a new folder")),
        EngineKind::Redb => Arc::new(RedbEngine::open(path, Some(cache_bytes)).expect("a new file")),
        kind => unreachable!("{} is not known here", kind.name()),
    }
}

pub(crate) fn mix(number: u64) -> u64 {
    let mixed = (number ^ (number >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    mixed ^ (mixed >> 31)
}

/// The key with this number; those of different streams differ.
pub(crate) fn key(stream: u64, number: u64) -> [u8; KEY_BYTES] {
    let seed = mix(stream.wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ mix(number));
    let mut key = [0; KEY_BYTES];
    key[..8].copy_from_slice(&seed.to_le_bytes());
    key[8..].copy_from_slice(&mix(seed ^ number).to_le_bytes());
    key
}

/// A value that does not compress.
pub(crate) fn value(number: u64) -> [u8; VALUE_BYTES] {
    let mut value = [0; VALUE_BYTES];
    for (i, chunk) in (0..).zip(value.chunks_mut(8)) {
        chunk.copy_from_slice(&mix(number << 8 | i).to_le_bytes()[..chunk.len()]);
    }
    value
}

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
