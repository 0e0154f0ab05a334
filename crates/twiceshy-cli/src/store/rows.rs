//! `twiceshy store insert`, `get` and `remove`: rows that are named on the command line.

use std::borrow::Cow;
use std::ffi::{OsStr, OsString};
use std::io::Read;
use std::path::PathBuf;

use anyhow::{Context, bail};
use serde_json::{Map, Value, json};

use super::{close, explain, open, tsv};
use crate::{Outcome, input, output};

/// Keys and values as arguments.
#[derive(clap::Args)]
struct Escapes {
    /// Understand escapes in the arguments, as in files: \t \n \r \\ \xHH
    #[arg(short, long)]
    escaped: bool,
}

impl Escapes {
    /// The bytes that an argument stands for.
    fn bytes<'a>(&self, argument: &'a OsStr) -> anyhow::Result<Cow<'a, [u8]>> {
        let bytes = argument.as_encoded_bytes();
        if !self.escaped {
            return Ok(bytes.into());
        }
        tsv::unescape(bytes).with_context(|| argument.to_string_lossy().into_owned())
    }
}

#[derive(clap::Args)]
#[command(after_help = INSERT_EXAMPLES)]
pub(crate) struct InsertArgs {
    /// The folder of the store
    #[arg(value_name = "DIR")]
    folder: PathBuf,
    /// The key: its bytes as they are
    #[arg(allow_negative_numbers = true)]
    key: OsString,
    /// The value: its bytes as they are
    #[arg(allow_negative_numbers = true, required_unless_present = "from")]
    value: Option<OsString>,
    /// Take the value from a file, or from standard input for `-`
    #[arg(long, value_name = "FILE", conflicts_with = "value")]
    from: Option<PathBuf>,
    #[command(flatten)]
    escapes: Escapes,
    /// Print whether the key is new as JSON
    #[arg(long)]
    json: bool,
}

const INSERT_EXAMPLES: &str = "\
A key that begins with - needs -- in front of the arguments.

Examples:
  twiceshy store insert legs ant six
  twiceshy store insert legs --from picture.png ant.png
  twiceshy store insert legs --escaped 'a\\x00b' 'two\\nlines'";

pub(super) fn insert(args: &InsertArgs) -> anyhow::Result<Outcome> {
    let key = args.escapes.bytes(&args.key)?;
    let value = match (&args.value, &args.from) {
        (Some(value), _) => args.escapes.bytes(value)?,
        (None, Some(path)) => {
            let mut bytes = Vec::new();
            let read = input::open(path)?.read_to_end(&mut bytes);
            read.with_context(|| format!("cannot read {}", input::name(path)))?;
            bytes.into()
        }
        (None, None) => bail!("give a value"),
    };
    let store = open(&args.folder)?;
    let is_new = store.insert(&key, value).map_err(explain(&args.folder))?;
    close(&args.folder, store)?;
    if args.json {
        let mut object = row(&key);
        object.insert("new".into(), is_new.into());
        output::told(output::print_json(&object))?;
    }
    Ok(Outcome::Done)
}

#[derive(clap::Args)]
#[command(after_help = GET_EXAMPLES)]
pub(crate) struct GetArgs {
    /// The folder of the store
    #[arg(value_name = "DIR")]
    folder: PathBuf,
    /// The keys: their bytes as they are
    #[arg(required = true, value_name = "KEY", allow_negative_numbers = true)]
    keys: Vec<OsString>,
    /// Print key, tab, value
    #[arg(long)]
    with_key: bool,
    /// Print the bytes of the value of one key and nothing else: no escapes, no end of line
    #[arg(long, conflicts_with_all = ["with_key", "json"])]
    raw: bool,
    #[command(flatten)]
    escapes: Escapes,
    /// Print an object for each key: {"found":true,"key":"ant","value":"six"}
    #[arg(long, conflicts_with = "with_key")]
    json: bool,
}

const GET_EXAMPLES: &str = "\
Prints a value per line, in the order of the keys, with the escapes of import and export \
(\\t \\n \\r \\\\ \\xHH). For a key that is not there nothing is printed. In JSON bytes that are not UTF-8 are \
\"value_hex\", in hexadecimal digits.
Exit status: 0 if all keys are there, 1 if one is not, 2 after an error.

Examples:
  twiceshy store get legs ant
  twiceshy store get legs --with-key ant bee spider
  twiceshy store get legs --raw ant.png > picture.png";

pub(super) fn get(args: &GetArgs) -> anyhow::Result<Outcome> {
    if args.raw && args.keys.len() > 1 {
        bail!("--raw prints the value of one key: give one, or leave out --raw");
    }
    let keys = args.keys.iter().map(|key| args.escapes.bytes(key)).collect::<Result<Vec<_>, _>>()?;
    let store = open(&args.folder)?;
    let values = store.get_batch(&keys).map_err(explain(&args.folder))?;
    output::print(|out| {
        for (key, value) in keys.iter().zip(&values) {
            match value {
                _ if args.json => {
                    let mut object = row(key);
                    object.insert("found".into(), value.is_some().into());
                    if let Some(value) = value {
                        output::put_bytes(&mut object, "value", value);
                    }
                    output::write_json(out, &object)?;
                }
                None => (),
                Some(value) if args.raw => out.write_all(value)?,
                Some(value) if args.with_key => tsv::write_row(out, key, value)?,
                Some(value) => {
                    tsv::write_escaped(out, value)?;
                    out.write_all(b"\n")?;
                }
            }
        }
        Ok(())
    })?;
    Ok(found(values.iter().all(Option::is_some)))
}

#[derive(clap::Args)]
#[command(after_help = REMOVE_EXAMPLES)]
pub(crate) struct RemoveArgs {
    /// The folder of the store
    #[arg(value_name = "DIR")]
    folder: PathBuf,
    /// The keys: their bytes as they are
    #[arg(required = true, value_name = "KEY", allow_negative_numbers = true)]
    keys: Vec<OsString>,
    #[command(flatten)]
    escapes: Escapes,
    /// Print how many were removed as JSON
    #[arg(long)]
    json: bool,
}

const REMOVE_EXAMPLES: &str = "\
Exit status: 0 if all keys were there, 1 if one was not (the others are removed), 2 after an error.

Examples:
  twiceshy store remove legs ant
  twiceshy store remove legs -- -5";

pub(super) fn remove(args: &RemoveArgs) -> anyhow::Result<Outcome> {
    let keys = args.keys.iter().map(|key| args.escapes.bytes(key)).collect::<Result<Vec<_>, _>>()?;
    let store = open(&args.folder)?;
    let mut removed = 0;
    for key in &keys {
        removed += usize::from(store.remove(key).map_err(explain(&args.folder))?);
    }
    close(&args.folder, store)?;
    if args.json {
        let found = json!({ "removed": removed, "missing": keys.len() - removed });
        output::told(output::print_json(&found))?;
    }
    Ok(found(removed == keys.len()))
}

/// An object with a key.
fn row(key: &[u8]) -> Map<String, Value> {
    let mut object = Map::new();
    output::put_bytes(&mut object, "key", key);
    object
}

fn found(all: bool) -> Outcome {
    if all { Outcome::Done } else { Outcome::NotFound }
}
