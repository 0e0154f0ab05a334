//! The race itself: loading, the phases, and a last look at keys that are there.
//!
//! All stores are loaded and asked by turns, a chunk at a time, each turn in another order: whatever else the machine does
//! meanwhile meets all of them. One thread asks. Every figure is counted or measured for one store and one chunk, and
//! summed up from there.

use std::path::Path;
use std::time::{Instant, SystemTime};

use anyhow::Context;
use twiceshy::hash::HashKey;

use super::contender::{Contender, Course};
use super::dataset::{Dataset, Sample};
use super::live::Live;
use super::options::{Args, latency_text};
use super::random::Numbers;
use super::report::{Figures, Machine, PhaseReport, Report, Settings, StoreReport};
use super::stream::{Phase, Stream};
use super::twin::TwinFilter;
use crate::interrupt;

/// Parts of a phase that are told apart in the report.
const WINDOWS: u64 = 16;
/// The most queries that a store gets at a time.
const MOST_AT_ONCE: u64 = 20_000;
/// Rows that are loaded at a time.
const BATCH_ROWS: usize = 1_000;
/// The most keys that are asked for at the end, to see that none is lost.
const MOST_PRESENT: u64 = 20_000;

/// In the order of all tables and plots.
const CONTENDERS: [Option<TwinFilter>; 4] =
    [None, Some(TwinFilter::Bloom), Some(TwinFilter::Quotient), Some(TwinFilter::None)];

/// Races. The stores lie in the folder, which is not tidied up here.
pub(super) fn race(args: &Args, dataset: &Dataset<'_>, folder: &Path) -> anyhow::Result<Report> {
    let (start, started) = (Instant::now(), SystemTime::now());
    let phases = Phase::all(args.skew, &args.adversary);
    let queries = args.queries_of(phases.len());
    let course = Course {
        engine: args.engine,
        cache_bytes: args.cache.bytes(dataset.bytes()),
        rows: dataset.rows(),
        error_rate: args.error_rate,
        hash_key: hash_key(args.seed),
        latency: args.latency,
    };
    let mut contenders = Vec::new();
    for (number, twin) in CONTENDERS.into_iter().enumerate() {
        let contender = Contender::open(&course, twin, &folder.join(number.to_string()));
        contenders.push(
            contender
                .context("cannot make a store: choose a folder with room by --dir, or another engine")?,
        );
    }
    let mut live = Live::new(contenders.iter().map(Contender::name), args.latency, dataset.rows());
    let mut sample = Sample::new(queries.min(MOST_PRESENT) as usize, args.seed);
    let keys = load(dataset, &mut contenders, &mut sample, &mut live)?;
    let present = sample.into_keys();
    let mut stores = Vec::new();
    for contender in &contenders {
        stores.push(StoreReport {
            name: contender.name().to_owned(),
            filter_bytes_loaded: contender.filter_bytes()?,
            filter_bytes: 0,
            filter_bits_per_key: 0.0,
            disk_bytes: contender.disk_bytes(),
            load_seconds: contender.load_time.as_secs_f64(),
            phases: Vec::new(),
            present: Figures::default(),
        });
    }
    for (place, phase) in phases.iter().enumerate() {
        live.start(&format!("Phase {} of {}: {}", place + 1, phases.len(), phase.name()), queries);
        let stream = Stream::new(*phase, place, args.seed, keys);
        run_phase(stream, queries, keys, &mut contenders, &mut stores, &mut live)?;
    }
    live.start("Keys that are there", present.len() as u64);
    for_each_turn(0, &mut contenders, |number, contender| {
        stores[number].present = contender.ask_present(&present)?;
        Ok(())
    })?;
    for (contender, store) in contenders.iter().zip(&mut stores) {
        store.filter_bytes = contender.filter_bytes()?;
        store.filter_bits_per_key = store.filter_bytes as f64 * 8.0 / keys as f64;
    }
    live.end();
    Ok(Report {
        version: env!("CARGO_PKG_VERSION"),
        started: started.duration_since(SystemTime::UNIX_EPOCH).map_or(0, |time| time.as_secs()),
        total_seconds: start.elapsed().as_secs_f64(),
        machine: Machine {
            system: format!("{} {}", std::env::consts::OS, std::env::consts::ARCH),
            cpus: std::thread::available_parallelism().map_or(1, usize::from),
        },
        settings: settings(args, dataset, &course, keys, queries),
        phases,
        stores,
    })
}

/// The filters hash with a key that follows from the seed, so that they err in the same places next time.
fn hash_key(seed: u64) -> HashKey {
    let mut numbers = Numbers::new(seed, 0x6A5);
    let mut key = [0; 16];
    key[..8].copy_from_slice(&numbers.next().to_le_bytes());
    key[8..].copy_from_slice(&numbers.next().to_le_bytes());
    HashKey::from_bytes(key)
}

/// Calls `turn` for every contender, another one first each time.
fn for_each_turn(
    turn_number: u64,
    contenders: &mut [Contender],
    mut turn: impl FnMut(usize, &mut Contender) -> anyhow::Result<()>,
) -> anyhow::Result<()> {
    let count = contenders.len();
    for place in 0..count {
        let number = (place + turn_number as usize) % count;
        turn(number, &mut contenders[number])?;
    }
    Ok(())
}

/// Loads all stores. Tells how many different keys there are.
fn load(
    dataset: &Dataset<'_>,
    contenders: &mut [Contender],
    sample: &mut Sample,
    live: &mut Live,
) -> anyhow::Result<u64> {
    live.start("Loading", dataset.rows());

    let (mut keys, mut turn) = (0, 0);
    dataset.for_each_batch(BATCH_ROWS, |rows| {
        rows.iter().for_each(|(key, _)| sample.offer(key));
        let rows: Vec<_> = rows.iter().map(|(key, value)| (key.as_slice(), value.as_slice())).collect();
        for_each_turn(turn, contenders, |number, contender| {
            interrupt::check()?;
            let new = contender.load(&rows).with_context(|| {
                format!("cannot load the store {} (--dir chooses where it lies)", contender.name())
            })?;
            keys += if number == 0 { new } else { 0 };
            Ok(())
        })?;
        turn += 1;
        live.advance(rows.len() as u64);
        Ok(())
    })?;
    live.start("Tidying up the files", contenders.len() as u64);
    for_each_turn(0, contenders, |_, contender| {
        interrupt::check()?;
        contender.finish_loading()?;
        live.advance(1);
        Ok(())
    })?;
    Ok(keys)
}

fn run_phase(
    mut stream: Stream,
    queries: u64,
    keys: u64,
    contenders: &mut [Contender],
    stores: &mut [StoreReport],
    live: &mut Live,
) -> anyhow::Result<()> {
    let mut phases: Vec<_> =
        stores.iter().map(|_| PhaseReport { figures: Figures::default(), windows: Vec::new() }).collect();
    let (mut asked, mut turn) = (0, 0);
    for window in 1..=WINDOWS {
        let until = (u128::from(queries) * u128::from(window) / u128::from(WINDOWS)) as u64;
        if asked == until {
            continue;
        }
        phases.iter_mut().for_each(|phase| phase.windows.push(Figures::default()));
        while asked < until {
            let chunk = stream.next_chunk((until - asked).min(MOST_AT_ONCE));
            for_each_turn(turn, contenders, |number, contender| {
                let figures = contender.ask(&chunk)?;
                let phase = &mut phases[number];
                phase.figures.add(&figures);
                if let Some(window) = phase.windows.last_mut() {
                    window.add(&figures);
                }
                live.show(number, &phase.figures, contender.filter_bytes()? as f64 / keys as f64);
                Ok(())
            })?;
            turn += 1;
            asked += chunk.len() as u64;
            live.advance(chunk.len() as u64);
        }
    }
    for (store, phase) in stores.iter_mut().zip(phases) {
        store.phases.push(phase);
    }
    Ok(())
}

fn settings(args: &Args, dataset: &Dataset<'_>, course: &Course, keys: u64, queries: u64) -> Settings {
    let percents: Vec<_> = args.adversary.iter().map(f64::to_string).collect();
    let mut command = format!(
        "twiceshy race --engine {} --keys {} --queries {queries} --skew {} --adversary {} --cache {} --error-rate {} --seed {}",
        args.engine.name(),
        dataset.rows(),
        args.skew,
        percents.join(","),
        args.cache,
        args.error_rate,
        args.seed
    );
    if let Some(path) = &args.key_file {
        command += &format!(" --key-file {}", quoted(&path.display().to_string()));
    }
    if let Some(latency) = args.latency {
        command += &format!(" --latency {}", latency_text(latency));
    }
    Settings {
        command,
        engine: args.engine.name(),
        key_file: args.key_file.as_ref().map(|path| path.display().to_string()),
        keys,
        rows: dataset.rows(),
        data_bytes: dataset.bytes(),
        cache_bytes: course.cache_bytes,
        queries_per_phase: queries,
        skew: args.skew,
        adversary_percent: args.adversary.clone(),
        error_rate: args.error_rate,
        seed: args.seed,
        simulated_latency: args.latency.map(|latency| latency.as_secs_f64()),
    }
}

/// A word for a shell.
fn quoted(word: &str) -> String {
    let is_plain = |letter: char| letter.is_alphanumeric() || "/._-+=:,@%".contains(letter);
    if !word.is_empty() && word.chars().all(is_plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn words_are_quoted_for_a_shell() {
        assert_eq!(super::quoted("/tmp/keys.txt"), "/tmp/keys.txt");
        assert_eq!(super::quoted("my keys"), "'my keys'");
        assert_eq!(super::quoted("it's"), r"'it'\''s'");
    }
}
