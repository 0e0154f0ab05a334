//! `twiceshy store create`, `stats`, `verify` and `rebuild`: the store as a whole.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{anyhow, bail};
use indicatif::{HumanBytes, HumanCount};
use serde::Serialize;
use serde_json::json;
use twiceshy_store::engine::EngineErrorKind;
use twiceshy_store::{AdaptiveStore, EngineKind, Recovery, StoreError};

use super::{close, explain, open};
use crate::output::{self, count};
use crate::{Outcome, arguments};

#[derive(clap::Args)]
#[command(after_help = CREATE_EXAMPLES)]
pub(crate) struct CreateArgs {
    /// The folder of the store: a new one, or an empty one
    #[arg(value_name = "DIR")]
    folder: PathBuf,
    /// The engine: fjall (log-structured, quick to write) or redb (a B-tree in one file, quick to read)
    #[arg(long, default_value = "fjall")]
    engine: EngineKind,
    /// The share of absent keys that cost a disk access, at most, and each of them once: 0.001, 0.1% or 1/1000
    #[arg(long, value_name = "RATE", default_value_t = arguments::ERROR_RATE, value_parser = arguments::rate)]
    error_rate: f64,
    /// Print what was made as JSON
    #[arg(long)]
    json: bool,
}

const CREATE_EXAMPLES: &str = "\
The size of a store need not be given: its filter grows. When a command that changes a store has ended \
with status 0, what it did survives a power cut.

Examples:
  twiceshy store create legs
  twiceshy store create --engine redb --error-rate 0.0001 legs";

pub(super) fn create(args: &CreateArgs) -> anyhow::Result<Outcome> {
    let folder = args.folder.display();
    let is_there = || anyhow!("{folder} is a store already: use it, or give another folder");
    // Opening one might take its time.
    if AdaptiveStore::is_in(&args.folder).map_err(explain(&args.folder))? {
        return Err(is_there());
    }
    let builder = AdaptiveStore::builder().engine(args.engine).error_rate(args.error_rate);
    let store = match builder.open(&args.folder) {
        Err(StoreError::OtherEngine { .. }) => return Err(is_there()),
        Err(StoreError::Engine(cause)) if cause.kind() == EngineErrorKind::NoSpace => {
            bail!("the disk is full, no store was made in {folder}: make room and create it again");
        }
        opened => opened.map_err(explain(&args.folder))?,
    };
    if *store.recovery() != Recovery::Created {
        return Err(is_there());
    }
    close(&args.folder, store)?;
    let engine = args.engine.name();
    output::told(if args.json {
        output::print_json(&json!({ "folder": folder.to_string(), "engine": engine }))
    } else {
        output::print(|out| writeln!(out, "{folder}: a new store on {engine}"))
    })?;
    Ok(Outcome::Done)
}

#[derive(clap::Args)]
#[command(after_help = "Example:\n  twiceshy store stats legs")]
pub(crate) struct StatsArgs {
    /// The folder of the store
    #[arg(value_name = "DIR")]
    folder: PathBuf,
    /// Print them as JSON
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct Stats {
    folder: String,
    engine: &'static str,
    keys: u64,
    disk_bytes: u64,
    filter_bytes: u64,
    /// None without keys.
    filter_bits_per_key: Option<f64>,
    fingerprints: u64,
    /// Fingerprints that have learned from a mistake.
    adapted: u64,
    load: f64,
    /// For keys that were never asked for.
    expected_error_rate: f64,
    highest_error_rate: f64,
    /// How the filter was come by when the store was opened: clean, replayed or rebuilt.
    recovery: &'static str,
}

pub(super) fn stats(args: &StatsArgs) -> anyhow::Result<Outcome> {
    let store = open(&args.folder)?;
    let keys = store.approximate_len();
    let look = |filter: &twiceshy::AdaptiveFilter| {
        let (lengths, filter_bytes) = (filter.lengths(), filter.size_in_bytes() as u64);
        Stats {
            folder: args.folder.display().to_string(),
            engine: store.engine().name(),
            keys,
            disk_bytes: bytes_in(&args.folder),
            filter_bytes,
            filter_bits_per_key: (keys > 0).then(|| filter_bytes as f64 * 8.0 / keys as f64),
            fingerprints: filter.fingerprints(),
            adapted: lengths.extended,
            load: filter.load_factor(),
            expected_error_rate: lengths.expected_error_rate,
            highest_error_rate: filter.highest_error_rate(),
            recovery: recovery(store.recovery()),
        }
    };
    let stats = store.with_filter(look).map_err(explain(&args.folder))?;
    if args.json {
        output::print_json(&stats)?;
        return Ok(Outcome::Done);
    }
    output::print(|out| {
        writeln!(out, "{}", stats.folder)?;
        let mut line = |name: &str, value: String| writeln!(out, "  {name:<20} {value}");
        line("engine", stats.engine.into())?;
        line("keys", HumanCount(stats.keys).to_string())?;
        line("on disk", HumanBytes(stats.disk_bytes).to_string())?;
        let bits =
            stats.filter_bits_per_key.map_or(String::new(), |bits| format!(", {bits:.2} bits per key"));
        line("filter in memory", format!("{}{bits}", HumanBytes(stats.filter_bytes)))?;
        let (fingerprints, adapted) = (HumanCount(stats.fingerprints), HumanCount(stats.adapted));
        line("fingerprints", format!("{fingerprints}, {adapted} of them have learned from a mistake"))?;
        line("load", format!("{:.1} %", stats.load * 100.0))?;
        line("expected error rate", output::rate(stats.expected_error_rate))?;
        line("highest error rate", output::rate(stats.highest_error_rate))?;
        line("opened", stats.recovery.into())
    })?;
    Ok(Outcome::Done)
}

fn recovery(recovery: &Recovery) -> &'static str {
    match recovery {
        Recovery::Created => "created",
        Recovery::Clean => "clean",
        Recovery::Replayed { .. } => "replayed",
        Recovery::Rebuilt { .. } => "rebuilt",
        _ => "mended",
    }
}

/// The bytes of all files below a folder, as far as they can be read.
fn bytes_in(folder: &Path) -> u64 {
    let Ok(entries) = fs::read_dir(folder) else { return 0 };
    let bytes = entries.flatten().map(|entry| match entry.metadata() {
        Ok(about) if about.is_dir() => bytes_in(&entry.path()),
        Ok(about) => about.len(),
        Err(_) => 0,
    });
    bytes.sum()
}

#[derive(clap::Args)]
#[command(after_help = VERIFY_EXAMPLES)]
pub(crate) struct VerifyArgs {
    /// The folder of the store
    #[arg(value_name = "DIR")]
    folder: PathBuf,
    /// Print the result as JSON
    #[arg(long)]
    json: bool,
}

const VERIFY_EXAMPLES: &str = "\
Reads everything: that the filter is whole, that every row lies where it belongs, and that the filter \
knows every key.
Exit status: 0 if all agrees, 2 if not, with the cause.

Example:
  twiceshy store verify legs || twiceshy store rebuild legs";

pub(super) fn verify(args: &VerifyArgs) -> anyhow::Result<Outcome> {
    let store = open(&args.folder)?;
    let verified = store.verify().map_err(|error| {
        let cause = error.to_string();
        (explain(&args.folder)(error), cause)
    });
    let verified = match verified {
        Ok(verified) => verified,
        Err((error, cause)) => {
            if args.json {
                output::print_json(&json!({ "ok": false, "cause": cause }))?;
            }
            return Err(error);
        }
    };
    let (keys, fingerprints, leftovers) = (verified.keys, verified.fingerprints, verified.leftovers);
    if args.json {
        let found = json!({ "ok": true, "keys": keys, "fingerprints": fingerprints, "leftovers": leftovers });
        output::print_json(&found)?;
    } else {
        let folder = args.folder.display();
        let (keys, fingerprints) = (count(keys, "key"), count(fingerprints, "fingerprint"));
        output::print(|out| writeln!(out, "{folder}: all is well: {keys} under {fingerprints}"))?;
    }
    Ok(Outcome::Done)
}

#[derive(clap::Args)]
#[command(after_help = "Example:\n  twiceshy store rebuild legs")]
pub(crate) struct RebuildArgs {
    /// The folder of the store
    #[arg(value_name = "DIR")]
    folder: PathBuf,
    /// Print the result as JSON
    #[arg(long)]
    json: bool,
}

pub(super) fn rebuild(args: &RebuildArgs) -> anyhow::Result<Outcome> {
    let store = open(&args.folder)?;
    let keys = store.rebuild().map_err(explain(&args.folder))?;
    // Without a snapshot of the new filter nothing is done.
    store.close().map_err(explain(&args.folder))?;
    output::told(if args.json {
        output::print_json(&json!({ "keys": keys }))
    } else {
        let folder = args.folder.display();
        output::print(|out| writeln!(out, "{folder}: a new filter for {}", count(keys, "key")))
    })?;
    Ok(Outcome::Done)
}
