//! The race itself: loading, the phases, a look at keys that are there, and the phases again with cold files.
//!
//! The adaptive store is loaded first, and the others when it is known how much memory its filter has come to. All stores are
//! asked by turns, a chunk at a time, each turn in another order: whatever else the machine does meanwhile meets all of
//! them. One thread asks. Every figure is counted or measured for one store and one chunk, and summed up from there.

use std::path::Path;
use std::time::{Duration, Instant, SystemTime};

use anyhow::{Context, bail};
use twiceshy::hash::HashKey;

use super::cold;
use super::contender::{Contender, Course};
use super::dataset::{Dataset, Sample};
use super::filters::{Built, TwinFilter};
use super::live::Live;
use super::options::{Args, Discipline, latency_text};
use super::random::Numbers;
use super::report::{Figures, Machine, PhaseReport, Report, Settings, StoreReport};
use super::stream::{Phase, Stream};
use super::words;
use crate::interrupt;

/// Parts of a phase that are told apart in the report.
pub(super) const WINDOWS: u64 = 16;
/// The most queries that a store gets at a time.
const MOST_AT_ONCE: u64 = 20_000;
/// How long a store is asked at a time when its files are cold: on any disk, that part of the race takes some seconds.
pub(super) const COLD_TURN: Duration = Duration::from_millis(25);
/// Rows that are loaded at a time.
const BATCH_ROWS: usize = 1_000;
/// The most keys that are asked for at the end, to see that none is lost.
const MOST_PRESENT: u64 = 20_000;

/// In the order of all tables and plots. The first one is adaptive.
fn contenders(discipline: Discipline) -> [Option<TwinFilter>; 4] {
    let (one, other) = match discipline {
        Discipline::Keys => (TwinFilter::Bloom, TwinFilter::Quotient),
        Discipline::Ranges { .. } => (TwinFilter::PrefixBloom, TwinFilter::Range),
    };
    [None, Some(one), Some(other), Some(TwinFilter::None)]
}

/// Races. The stores lie in the folder, which is not tidied up here.
pub(super) fn race(args: &Args, dataset: &Dataset<'_>, folder: &Path) -> anyhow::Result<Report> {
    let (start, started) = (Instant::now(), SystemTime::now());
    let phases = Phase::all(args.discipline(), args.skew, &args.adversary);
    let queries = args.queries_of(phases.len());
    let course = Course {
        discipline: args.discipline(),
        engine: args.engine,
        cache_bytes: args.cache.bytes(dataset.bytes()),
        error_rate: args.error_rate,
        hash_key: hash_key(args.seed),
        latency: args.latency,
    };
    let mut live = Live::new(args.latency);
    let mut sample = Sample::new(queries.min(MOST_PRESENT) as usize, args.seed);
    let (mut contenders, keys) = load_all(args, &course, dataset, folder, &mut sample, &mut live)?;
    let present: Vec<_> = sample.into_keys().into_iter().map(|key| dataset.present(key)).collect();
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
            cold: Vec::new(),
        });
    }
    for (place, phase) in phases.iter().enumerate() {
        live.start(&format!("Phase {} of {}: {}", place + 1, phases.len(), phase.name()), queries);
        let stream = Stream::new(*phase, place, dataset.absent(), args.seed, keys);
        let reports = run_phase(stream, (queries, None), keys, &mut contenders, &mut live)?;
        stores.iter_mut().zip(reports).for_each(|(store, report)| store.phases.push(report));
    }
    live.start(words::present(course.discipline), contenders.len() as u64);
    for_each_turn(0, &mut contenders, |number, contender| {
        stores[number].present = contender.ask_present(&present)?;
        live.advance(1);
        Ok(())
    })?;
    for (contender, store) in contenders.iter().zip(&mut stores) {
        store.filter_bytes = contender.filter_bytes()?;
        store.filter_bits_per_key = store.filter_bytes as f64 * 8.0 / keys as f64;
    }
    let cold_left_out = why_not_cold(args, folder).map(str::to_owned).or_else(|| {
        // It is not worth all that was found out before.
        let gone_cold = contenders.iter_mut().try_for_each(|contender| contender.go_cold(&course));
        gone_cold.err().map(|error| format!("the stores could not be opened again: {error:#}"))
    });
    if cold_left_out.is_none() {
        // Turns end early when their time is over.
        let queries = queries.min(WINDOWS * MOST_AT_ONCE);
        for (place, phase) in phases.iter().enumerate() {
            live.start(&format!("Cold {} of {}: {}", place + 1, phases.len(), phase.name()), queries);
            let stream = Stream::new(*phase, phases.len() + place, dataset.absent(), args.seed, keys);
            let reports = run_phase(stream, (queries, Some(COLD_TURN)), keys, &mut contenders, &mut live)?;
            stores.iter_mut().zip(reports).for_each(|(store, report)| store.cold.push(report));
        }
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
        cold_left_out,
        stores,
    })
}

/// Why there is no cold part, if there is none.
fn why_not_cold(args: &Args, folder: &Path) -> Option<&'static str> {
    match args.latency {
        _ if args.no_cold => Some("so it was asked for, with --no-cold"),
        Some(_) => Some("the latency is simulated"),
        None => cold::impossible_in(folder),
    }
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

/// Makes and loads all stores, one after the other. Tells how many different keys there are.
fn load_all(
    args: &Args,
    course: &Course,
    dataset: &Dataset<'_>,
    folder: &Path,
    sample: &mut Sample,
    live: &mut Live,
) -> anyhow::Result<(Vec<Contender>, u64)> {
    let mut contenders: Vec<Contender> = Vec::new();
    let mut keys = 0;
    let kinds = self::contenders(course.discipline);
    for (number, kind) in kinds.into_iter().enumerate() {
        let place = folder.join(number.to_string());
        let contender = match kind {
            None => Contender::adaptive(course, place),
            Some(kind) => {
                let built = match contenders.first() {
                    Some(adaptive) if !args.equal_rate => Built::ForBytes(adaptive.filter_bytes()?),
                    _ => Built::ForRate(args.error_rate),
                };
                Contender::twin(course, (kind, built), keys, place)
            }
        };
        let mut contender = contender
            .context("cannot make a store: choose a folder with room by --dir, or another engine")?;
        live.add(contender.name());
        live.start(&format!("Loading {} of {}", number + 1, kinds.len()), dataset.rows());
        let mut new = 0;
        dataset.for_each_batch(BATCH_ROWS, |rows| {
            interrupt::check()?;
            if kind.is_none() {
                rows.iter().for_each(|(key, _)| sample.offer(key));
            }
            let rows: Vec<_> = rows.iter().map(|(key, value)| (key.as_slice(), value.as_slice())).collect();
            new += contender.load(&rows).with_context(|| {
                format!("cannot load the store {} (--dir chooses where it lies)", contender.name())
            })?;
            live.advance(rows.len() as u64);
            Ok(())
        })?;
        contender.finish_loading()?;
        if kind.is_some() && new != keys {
            bail!("the keys have changed while they were read: keep the file as it is");
        }
        keys = new;
        contenders.push(contender);
    }
    Ok((contenders, keys))
}

/// Asks all stores so many queries by turns, each of which may have a limit in time.
fn run_phase(
    mut stream: Stream,
    (queries, limit): (u64, Option<Duration>),
    keys: u64,
    contenders: &mut [Contender],
    live: &mut Live,
) -> anyhow::Result<Vec<PhaseReport>> {
    let mut phases = vec![PhaseReport::default(); contenders.len()];
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
                let figures = contender.ask(&chunk, limit)?;
                let phase = &mut phases[number];
                phase.figures.add(&figures);
                if let Some(window) = phase.windows.last_mut() {
                    window.add(&figures);
                }
                live.show(number, &phase.figures, contender.filter_bytes()? as f64 * 8.0 / keys as f64);
                Ok(())
            })?;
            turn += 1;
            asked += chunk.len() as u64;
            live.advance(chunk.len() as u64);
        }
    }
    phases.iter_mut().for_each(PhaseReport::sum_up);
    Ok(phases)
}

fn settings(args: &Args, dataset: &Dataset<'_>, course: &Course, keys: u64, queries: u64) -> Settings {
    let percents: Vec<_> = args.adversary.iter().map(f64::to_string).collect();
    let special = match course.discipline {
        Discipline::Keys => format!("--skew {}", args.skew),
        Discipline::Ranges { max_range } => format!("--ranges --max-range {max_range}"),
    };
    let mut command = format!(
        "twiceshy race --engine {} --keys {} --queries {queries} {special} --adversary {} --cache {} --error-rate {} --seed {}",
        args.engine.name(),
        dataset.rows(),
        percents.join(","),
        args.cache,
        args.error_rate,
        args.seed
    );
    if let Some(path) = &args.key_file {
        command += &format!(" --key-file {}", quoted(&path.display().to_string()));
    }
    if args.equal_rate {
        command += " --equal-rate";
    }
    if args.no_cold {
        command += " --no-cold";
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
        skew: (course.discipline == Discipline::Keys).then_some(args.skew),
        max_range: match course.discipline {
            Discipline::Keys => None,
            Discipline::Ranges { max_range } => Some(max_range),
        },
        adversary_percent: args.adversary.clone(),
        error_rate: args.error_rate,
        equal_rate: args.equal_rate,
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
