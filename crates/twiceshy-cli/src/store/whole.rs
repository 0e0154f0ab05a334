//! `twiceshy store create`, `stats`, `verify` and `rebuild`: the store as a whole.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{anyhow, bail};
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::error::ErrorKind;
use indicatif::{HumanBytes, HumanCount};
use serde::Serialize;
use serde_json::json;
use twiceshy_store::engine::EngineErrorKind;
use twiceshy_store::{Durability, EngineKind, Recovery, StoreError, StoreKind};

use super::any::{Making, Opening};
use super::keys::{KINDS, Keys, Kind};
use super::{Opened, close, explain, open};
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
    /// Keep the rows in the order of their keys, so that ranges of them can be asked for (store range)
    #[arg(long)]
    ordered: bool,
    /// What the keys of an ordered store are
    #[arg(long, value_name = "TYPE", default_value = "u64", value_parser = KeyTypes, requires = "ordered")]
    key_type: &'static Kind,
    /// The longest range that an ordered store holds its error rate for, as a number of keys, from 1 to 65536 [default: 64]
    #[arg(long, value_name = "KEYS", value_parser = arguments::max_range, requires = "ordered")]
    max_range: Option<u64>,
    /// Print what was made as JSON
    #[arg(long)]
    json: bool,
}

const CREATE_EXAMPLES: &str = "\
The size of a store need not be given: its filter grows. When a command that changes a store has ended \
with status 0, what it did survives a power cut.

Examples:
  twiceshy store create legs
  twiceshy store create --engine redb --error-rate 0.0001 legs
  twiceshy store create visits --ordered --key-type time --max-range 3600";

/// The types of keys by their names.
#[derive(Clone)]
struct KeyTypes;

impl TypedValueParser for KeyTypes {
    type Value = &'static Kind;

    fn parse_ref(
        &self,
        command: &clap::Command,
        argument: Option<&clap::Arg>,
        given: &OsStr,
    ) -> Result<&'static Kind, clap::Error> {
        let name = PossibleValuesParser::new(names()).parse_ref(command, argument, given)?;
        KINDS.iter().find(|kind| kind.name == name).ok_or_else(|| clap::Error::new(ErrorKind::InvalidValue))
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        Some(Box::new(names()))
    }
}

fn names() -> impl Iterator<Item = PossibleValue> {
    KINDS.iter().map(|kind| PossibleValue::new(kind.name).help(kind.about).hide(!kind.is_usual))
}

pub(super) fn create(args: &CreateArgs) -> anyhow::Result<Outcome> {
    let folder = args.folder.display();
    let is_there = || anyhow!("{folder} is a store already: use it, or give another folder");
    // Opening one might take its time.
    if StoreKind::in_folder(&args.folder).map_err(explain(&args.folder))?.is_some() {
        return Err(is_there());
    }
    let keys = Keys(args.ordered.then_some(args.key_type));
    let making = Making { engine: args.engine, error_rate: args.error_rate, max_range: args.max_range };
    let opening = Opening { folder: &args.folder, durability: Durability::default(), making: Some(making) };
    let store = match keys.open(opening) {
        Err(StoreError::OtherEngine { .. } | StoreError::OtherKind { .. } | StoreError::OtherKeys { .. }) => {
            return Err(is_there());
        }
        Err(StoreError::Engine(cause)) if cause.kind() == EngineErrorKind::NoSpace => {
            bail!("the disk is full, no store was made in {folder}: make room and create it again");
        }
        opened => opened.map_err(explain(&args.folder))?,
    };
    if *store.recovery() != Recovery::Created {
        return Err(is_there());
    }
    let max_range = store.filter().map_err(explain(&args.folder))?.max_range;
    close(&args.folder, store)?;
    let engine = args.engine.name();
    let ordered = keys.0.zip(max_range);
    output::told(if args.json {
        let mut object = json!({ "folder": folder.to_string(), "engine": engine });
        if let Some((kind, max_range)) = ordered {
            object["key_type"] = kind.name.into();
            object["max_range"] = max_range.into();
        }
        output::print_json(&object)
    } else {
        output::print(|out| match ordered {
            None => writeln!(out, "{folder}: a new store on {engine}"),
            Some((kind, max_range)) => {
                writeln!(
                    out,
                    "{folder}: a new ordered store on {engine}; {}",
                    ordered_words(kind.name, max_range)
                )
            }
        })
    })?;
    Ok(Outcome::Done)
}

/// What there is to say of an ordered store.
fn ordered_words(key_type: &str, max_range: u64) -> String {
    format!("keys are {key_type}, ranges of up to {}", count(max_range, "key"))
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
    /// What keys are, and how long a range the error rate holds for; none if the store has no ranges.
    key_type: Option<&'static str>,
    max_range: Option<u64>,
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
    let Opened { store, keys: store_keys } = open(&args.folder)?;
    let keys = store.approximate_len();
    let filter = store.filter().map_err(explain(&args.folder))?;
    let stats = Stats {
        folder: args.folder.display().to_string(),
        engine: store.engine_name(),
        key_type: store_keys.0.map(|kind| kind.name),
        max_range: filter.max_range,
        keys,
        disk_bytes: bytes_in(&args.folder),
        filter_bytes: filter.bytes,
        filter_bits_per_key: (keys > 0).then(|| filter.bytes as f64 * 8.0 / keys as f64),
        fingerprints: filter.fingerprints,
        adapted: filter.adapted,
        load: filter.load,
        expected_error_rate: filter.expected_error_rate,
        highest_error_rate: filter.highest_error_rate,
        recovery: recovery(store.recovery()),
    };
    if args.json {
        output::print_json(&stats)?;
        return Ok(Outcome::Done);
    }
    output::print(|out| {
        writeln!(out, "{}", stats.folder)?;
        let mut line = |name: &str, value: String| writeln!(out, "  {name:<20} {value}");
        line("engine", stats.engine.into())?;
        if let (Some(key_type), Some(max_range)) = (stats.key_type, stats.max_range) {
            line("ordered", ordered_words(key_type, max_range))?;
        }
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
    let Opened { store, .. } = open(&args.folder)?;
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
    let Opened { store, .. } = open(&args.folder)?;
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
