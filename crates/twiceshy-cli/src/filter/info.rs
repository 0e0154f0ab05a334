//! `twiceshy filter info`: what is in filter files.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use indicatif::HumanCount;
use serde::Serialize;
use twiceshy::AnyFilter;
use twiceshy::expandable::AgeStats;

use super::build::Added;
use super::file;
use crate::Outcome;
use crate::output;

#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Filter files
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// Print an object in a line for each file
    #[arg(long)]
    json: bool,
}

const EXAMPLES: &str = "\
Every file is read and checked completely. Filters of one kind with the same hash id can be merged. The \
age of a fingerprint is how many doublings ago it was one of full length.

Examples:
  twiceshy filter info seen.tw
  twiceshy filter info --json *.tw | jq .expected_error_rate";

pub(super) fn run(args: &Args) -> anyhow::Result<Outcome> {
    let about = |path: &Path| Ok(Info::new(path, &file::load(path)?, Some(file::version(path)?)));
    output::print_about(&args.files, args.json, about, Info::write)?;
    Ok(Outcome::Done)
}

/// What there is to know about a filter file. What a kind does not have is left out.
#[derive(Default, Serialize)]
pub(super) struct Info {
    file: String,
    kind: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    mode: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    format_version: Option<u16>,
    items: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    added: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    seen_before: Option<u64>,
    fingerprints: u64,
    /// None without items.
    bits_per_item: Option<f64>,
    expected_error_rate: f64,
    load: Option<f64>,
    slots: Option<u64>,
    used_slots: Option<u64>,
    fingerprint_bits: u32,
    table_bytes: u64,
    file_bytes: Option<u64>,
    hash_id: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    tables: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    extended: Option<u64>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    ages: Vec<Age>,
}

#[derive(Serialize)]
struct Age {
    age: u32,
    fingerprints: u64,
    fingerprint_bits: u32,
}

impl Info {
    pub(super) fn new(file: &Path, filter: &AnyFilter, format_version: Option<u16>) -> Self {
        let (items, table_bytes) = (filter.len(), filter.size_in_bytes() as u64);
        let mut info = Self {
            file: file.display().to_string(),
            kind: filter.kind().name(),
            format_version,
            items,
            bits_per_item: (items > 0).then(|| table_bytes as f64 * 8.0 / items as f64),
            load: filter.load_factor(),
            slots: filter.slots(),
            used_slots: filter.used_slots(),
            table_bytes,
            file_bytes: fs::metadata(file).ok().map(|about| about.len()),
            // The hash of a text tells hash keys apart and says nothing else about them.
            hash_id: format!("{:08x}", filter.hasher().hash("twiceshy hash id") >> 32),
            ..Self::default()
        };
        // What only some kinds have, and what costs the least if they are asked themselves.
        match filter {
            AnyFilter::Quotient(filter) => {
                info.fingerprints = filter.distinct();
                info.fingerprint_bits = filter.fingerprint_bits();
                info.expected_error_rate = filter.expected_error_rate();
            }
            AnyFilter::Adaptive(filter) => {
                let lengths = filter.lengths();
                info.fingerprints = filter.fingerprints();
                info.fingerprint_bits = filter.quotient_bits() + filter.remainder_bits();
                info.expected_error_rate = lengths.expected_error_rate;
                info.extended = Some(lengths.extended);
            }
            AnyFilter::Expandable(filter) => {
                let stats = filter.stats();
                info.mode = Some(filter.mode().name());
                info.fingerprints = stats.ages.iter().map(|age| age.fingerprints).sum();
                info.fingerprint_bits = filter.fingerprint_bits();
                info.expected_error_rate = stats.expected_error_rate;
                info.tables = Some(stats.tables.len());
                info.ages = stats.ages.iter().map(Age::from).collect();
            }
            other => info.expected_error_rate = other.expected_error_rate(),
        }
        info
    }

    /// With what was added just now.
    pub(super) fn with_added(self, added: Option<Added>) -> Self {
        let (keys, seen_before) = (added.map(|added| added.keys), added.map(|added| added.seen_before));
        Self { added: keys, seen_before, ..self }
    }

    /// Says in a line, or in JSON, what was made.
    pub(super) fn report(&self, json: bool) -> anyhow::Result<()> {
        if json {
            return output::print_json(self);
        }
        let Self { file, kind, items, expected_error_rate, table_bytes, file_bytes, .. } = self;
        let (items, rate) = (output::count(*items, "item"), output::rate(*expected_error_rate));
        let bytes = output::count(file_bytes.unwrap_or(*table_bytes), "byte");
        let added = self.added.zip(self.seen_before).map_or(String::new(), |(added, seen)| {
            format!("{} added, {} seen before; ", output::count(added, "key"), HumanCount(seen))
        });
        output::print(|out| {
            writeln!(out, "{file}: {added}{kind} filter, {items}, {bytes}, error rate {rate}")
        })
    }

    fn write(&self, out: &mut dyn Write) -> io::Result<()> {
        writeln!(out, "{}", self.file)?;
        let mode = self.mode.map_or(String::new(), |mode| format!(", mode {mode}"));
        let mut line = |name: &str, value: String| writeln!(out, "  {name:<20} {value}");
        line("kind", format!("{}{mode}", self.kind))?;
        line("items", HumanCount(self.items).to_string())?;
        line("bits per item", self.bits_per_item.map_or("-".into(), |bits| format!("{bits:.2}")))?;
        line("expected error rate", output::rate(self.expected_error_rate))?;
        if let (Some(load), Some(used), Some(slots)) = (self.load, self.used_slots, self.slots) {
            let (used, slots) = (HumanCount(used), HumanCount(slots));
            line("load", format!("{:.1} % ({used} slots in use, the table has {slots})", load * 100.0))?;
        }
        let bits = self.fingerprint_bits;
        line("fingerprints", format!("{}, {bits} bits for a new one", HumanCount(self.fingerprints)))?;
        if let Some(extended) = self.extended {
            line("  adapted", HumanCount(extended).to_string())?;
        }
        for age in &self.ages {
            let bits = age.fingerprint_bits;
            line(&format!("  age {}", age.age), format!("{} of {bits} bits", HumanCount(age.fingerprints)))?;
        }
        if let Some(tables) = self.tables {
            line("tables", tables.to_string())?;
        }
        if let Some(bytes) = self.file_bytes {
            line("file size", output::count(bytes, "byte"))?;
        }
        if let Some(version) = self.format_version {
            line("format version", version.to_string())?;
        }
        line("hash id", self.hash_id.clone())
    }
}

impl From<&AgeStats> for Age {
    fn from(stats: &AgeStats) -> Self {
        let AgeStats { age, fingerprints, fingerprint_bits, .. } = *stats;
        Self { age, fingerprints, fingerprint_bits }
    }
}
