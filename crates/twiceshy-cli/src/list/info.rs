//! `twiceshy list info`: what is in the files of lists.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use indicatif::HumanCount;
use serde::Serialize;
use twiceshy::FrozenYesNoList;
use twiceshy::list::{Delta, least_bits};

use super::file::{self, KeyedList};
use crate::kinds::{self, ListKind};
use crate::{Outcome, output};

#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Lists with keys, frozen lists and deltas
    #[arg(required = true, value_name = "LIST")]
    files: Vec<PathBuf>,
    /// Print an object in a line for each file
    #[arg(long)]
    json: bool,
}

const EXAMPLES: &str = "\
Every file is read and checked completely. The least possible is what any list needs for so many keys at this \
error rate, in bits per YES key; a list with keys is compared by its filter, without the keys. A delta is for \
the frozen list of one name only.

Examples:
  twiceshy list info blocked.list
  twiceshy list info --json *.frozen | jq .ratio";

pub(super) fn run(args: &Args) -> anyhow::Result<Outcome> {
    output::print_about(&args.files, args.json, about, Info::write)?;
    Ok(Outcome::Done)
}

fn about(path: &Path) -> anyhow::Result<Info> {
    let info = match file::kind_of(path)? {
        ListKind::Keyed => Info::of_keyed(path, &file::load_keyed(path)?),
        ListKind::Frozen => Info::of_frozen(path, &file::load_frozen(path)?),
        ListKind::Delta => Info::of_delta(path, &file::load_delta(path)?),
    };
    Ok(Info { format_version: Some(kinds::identity(path, "list")?.version), ..info })
}

/// What there is to know about a file of a list. What a kind does not have is left out.
#[derive(Serialize)]
pub(super) struct Info {
    file: String,
    kind: &'static str,
    /// The same in words.
    #[serde(skip)]
    what: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    format_version: Option<u16>,
    yes_keys: u64,
    no_keys: u64,
    #[serde(flatten)]
    size: Option<Size>,
    #[serde(skip_serializing_if = "Option::is_none")]
    deltas: Option<usize>,
    /// Of a frozen list, and of the list that a delta makes.
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<String>,
    /// The name of the list that a delta is for.
    #[serde(skip_serializing_if = "Option::is_none")]
    base: Option<String>,
    file_bytes: Option<u64>,
}

/// What can be asked, and the room that takes.
#[derive(Serialize)]
struct Size {
    /// At most, whatever comes.
    error_rate: f64,
    /// Now.
    expected_error_rate: f64,
    /// None without YES keys, as the two that follow.
    bits_per_yes_key: Option<f64>,
    least_bits: Option<f64>,
    ratio: Option<f64>,
}

impl Size {
    fn new(bytes: u64, (yes, no): (u64, u64), error_rate: f64, expected_error_rate: f64) -> Self {
        let of_any = |bits: f64| (yes > 0).then_some(bits);
        let (bits, least) = (8.0 * bytes as f64 / yes as f64, least_bits(yes, no, error_rate));
        Self {
            error_rate,
            expected_error_rate,
            bits_per_yes_key: of_any(bits),
            least_bits: of_any(least),
            ratio: of_any(bits / least),
        }
    }
}

impl Info {
    fn new(path: &Path, kind: ListKind, (yes_keys, no_keys): (u64, u64)) -> Self {
        Self {
            file: path.display().to_string(),
            kind: kind.kind().name(),
            what: kind.name().trim_start_matches("a "),
            format_version: None,
            yes_keys,
            no_keys,
            size: None,
            deltas: None,
            name: None,
            base: None,
            file_bytes: fs::metadata(path).ok().map(|about| about.len()),
        }
    }

    pub(super) fn of_keyed(path: &Path, list: &KeyedList) -> Self {
        let Ok(no) = list.no_len();
        let (counts, filter) = ((list.yes_len(), no), list.filter());
        let rates = (filter.highest_error_rate(), filter.expected_error_rate());
        let size = Size::new(filter.size_in_bytes() as u64, counts, rates.0, rates.1);
        Self { size: Some(size), ..Self::new(path, ListKind::Keyed, counts) }
    }

    pub(super) fn of_frozen(path: &Path, list: &FrozenYesNoList) -> Self {
        let counts = (list.yes_keys(), list.no_keys());
        let size =
            Size::new(list.size_in_bytes() as u64, counts, list.error_rate(), list.expected_error_rate());
        Self {
            size: Some(size),
            deltas: Some(list.deltas()),
            name: Some(named(list.name())),
            ..Self::new(path, ListKind::Frozen, counts)
        }
    }

    pub(super) fn of_delta(path: &Path, delta: &Delta) -> Self {
        Self {
            name: Some(named(delta.after())),
            base: Some(named(delta.before())),
            ..Self::new(path, ListKind::Delta, (delta.yes_keys(), delta.no_keys()))
        }
    }

    /// Says in a line, or in JSON, what was made.
    pub(super) fn report(&self, json: bool) -> anyhow::Result<()> {
        if json {
            return output::print_json(self);
        }
        let Self { file, what, .. } = self;
        let (yes, no) = (output::count(self.yes_keys, "YES key"), output::count(self.no_keys, "NO key"));
        let bytes = output::count(self.file_bytes.unwrap_or(0), "byte");
        output::print(|out| match &self.size {
            Some(size) => {
                writeln!(
                    out,
                    "{file}: {what}, {yes}, {no}, {bytes}, error rate {}",
                    output::rate(size.error_rate)
                )
            }
            None => writeln!(out, "{file}: {what}, {bytes}; the list has {yes} and {no} then"),
        })
    }

    fn write(&self, out: &mut dyn Write) -> io::Result<()> {
        writeln!(out, "{}", self.file)?;
        let mut line = |name: &str, value: String| writeln!(out, "  {name:<20} {value}");
        line("kind", self.what.into())?;
        line("YES keys", HumanCount(self.yes_keys).to_string())?;
        line("NO keys", HumanCount(self.no_keys).to_string())?;
        if let Some(size) = &self.size {
            let bits = |bits: Option<f64>| bits.map_or("-".into(), |bits| format!("{bits:.2}"));
            line("bits per YES key", bits(size.bits_per_yes_key))?;
            line("  least possible", bits(size.least_bits))?;
            line("  ratio", bits(size.ratio))?;
            line("highest error rate", output::rate(size.error_rate))?;
            line("expected error rate", output::rate(size.expected_error_rate))?;
        }
        if let Some(deltas) = self.deltas {
            line("deltas applied", deltas.to_string())?;
        }
        if let Some(base) = &self.base {
            line("for the list", base.clone())?;
        }
        if let Some(name) = &self.name {
            line(if self.base.is_some() { "makes the list" } else { "name" }, name.clone())?;
        }
        if let Some(bytes) = self.file_bytes {
            line("file size", output::count(bytes, "byte"))?;
        }
        if let Some(version) = self.format_version {
            line("format version", version.to_string())?;
        }
        Ok(())
    }
}

/// A name as people compare it.
fn named(name: u64) -> String {
    format!("{name:016x}")
}
