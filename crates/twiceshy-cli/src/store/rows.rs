//! `twiceshy store insert`, `get` and `remove`: rows that are named.

use std::borrow::Cow;
use std::ffi::OsString;
use std::io::{self, Read, Write};
use std::path::PathBuf;

use anyhow::{Context, bail};
use indicatif::{HumanCount, ProgressBar};
use serde_json::{Map, Value, json};
use twiceshy_store::Durability;

use super::keys::Keys as StoreKeys;
use super::{Opened, close, explain, open, open_for, partly, tsv};
use crate::input::{self, Keys, NamedKeys};
use crate::output::{self, count};
use crate::{Outcome, progress};

/// Whether keys and values have escapes.
#[derive(clap::Args)]
pub(super) struct Escapes {
    /// Understand escapes in keys and values, as import does: \t \n \r \\ \xHH
    #[arg(short, long)]
    escaped: bool,
}

impl Escapes {
    /// The bytes that a key or a value stands for.
    pub(super) fn bytes<'a>(&self, given: &'a [u8]) -> anyhow::Result<Cow<'a, [u8]>> {
        if !self.escaped {
            return Ok(given.into());
        }
        tsv::unescape(given).with_context(|| String::from_utf8_lossy(given).into_owned())
    }
}

/// Where a command takes its keys from whose arguments are keys.
#[derive(clap::Args)]
struct KeyArgs {
    #[command(flatten)]
    keys: NamedKeys,
    #[command(flatten)]
    escapes: Escapes,
}

impl KeyArgs {
    /// Calls `work` with all keys of the source in order, some at a time.
    fn for_each_chunk(
        &self,
        source: &Keys<'_>,
        store_keys: StoreKeys,
        bar: &ProgressBar,
        mut work: impl FnMut(&[Cow<'_, [u8]>]) -> anyhow::Result<()>,
    ) -> anyhow::Result<()> {
        source.for_each_chunk(bar, |keys| {
            let keys = keys.iter().map(|key| Ok(store_keys.parse(self.escapes.bytes(key)?)?));
            work(&keys.collect::<anyhow::Result<Vec<_>>>()?)
        })
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
    let key = args.escapes.bytes(args.key.as_encoded_bytes())?;
    let value = match (&args.value, &args.from) {
        (Some(value), _) => args.escapes.bytes(value.as_encoded_bytes())?,
        (None, Some(path)) => {
            let mut bytes = Vec::new();
            let read = input::open(path)?.read_to_end(&mut bytes);
            read.with_context(|| format!("cannot read {}", input::name(path)))?;
            bytes.into()
        }
        (None, None) => bail!("give a value"),
    };
    let Opened { store, keys } = open(&args.folder)?;
    let stored = (keys.parse(key)?.into_owned(), value.into_owned());
    let new = store.insert_batch(std::slice::from_ref(&stored)).map_err(explain(&args.folder))?;
    close(&args.folder, store)?;
    if args.json {
        let mut object = row(&keys.show(&stored.0));
        object.insert("new".into(), (new == 1).into());
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
    #[command(flatten)]
    keys: KeyArgs,
    /// Print key, tab, value
    #[arg(long)]
    with_key: bool,
    /// Print the bytes of the value of one key and nothing else: no escapes, no end of line
    #[arg(long, conflicts_with_all = ["with_key", "json"])]
    raw: bool,
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
  twiceshy store get legs --with-key < keys.txt
  twiceshy store get legs --raw ant.png > picture.png";

pub(super) fn get(args: &GetArgs) -> anyhow::Result<Outcome> {
    let Opened { store, keys: store_keys } = open(&args.folder)?;
    let mut out = output::stdout();
    let is_typed = input::is_typed();
    let (mut asked, mut all_there) = (0, true);
    // Answers are the progress.
    args.keys.for_each_chunk(&args.keys.keys.source(), store_keys, &ProgressBar::hidden(), |keys| {
        asked += keys.len();
        if args.raw && asked > 1 {
            bail!("--raw prints the value of one key: give one, or leave out --raw");
        }
        let keys: Vec<&[u8]> = keys.iter().map(AsRef::as_ref).collect();
        let values = store.get_batch(&keys).map_err(explain(&args.folder))?;
        all_there &= values.iter().all(Option::is_some);
        let mut answers = keys.iter().zip(&values);
        let written =
            answers.try_for_each(|(key, value)| answer(&mut out, args, &store_keys.show(key), value));
        output::written(written.and_then(|()| if is_typed { out.flush() } else { Ok(()) }))
    })?;
    output::written(out.flush())?;
    Ok(found(all_there))
}

fn answer(out: &mut dyn Write, args: &GetArgs, key: &[u8], value: &Option<Vec<u8>>) -> io::Result<()> {
    match value {
        _ if args.json => {
            let mut object = row(key);
            object.insert("found".into(), value.is_some().into());
            if let Some(value) = value {
                output::put_bytes(&mut object, "value", value);
            }
            output::write_json(out, &object)
        }
        None => Ok(()),
        Some(value) if args.raw => out.write_all(value),
        Some(value) if args.with_key => tsv::write_row(out, key, value),
        Some(value) => {
            tsv::write_escaped(out, value)?;
            out.write_all(b"\n")
        }
    }
}

#[derive(clap::Args)]
#[command(after_help = REMOVE_EXAMPLES)]
pub(crate) struct RemoveArgs {
    /// The folder of the store
    #[arg(value_name = "DIR")]
    folder: PathBuf,
    #[command(flatten)]
    keys: KeyArgs,
    /// Print how many were removed, and how many were not there, as JSON
    #[arg(long)]
    json: bool,
}

const REMOVE_EXAMPLES: &str = "\
Exit status: 0 if all keys were there, 1 if one was not (the others are removed), 2 after an error.

Examples:
  twiceshy store remove legs ant
  twiceshy store remove legs --from keys.txt
  twiceshy store remove legs -- -a";

pub(super) fn remove(args: &RemoveArgs) -> anyhow::Result<Outcome> {
    // Not every key waits for the disk, only all of a chunk together.
    let Opened { store, keys: store_keys } = open_for(&args.folder, Durability::Relaxed)?;
    let source = args.keys.keys.source();
    let bar = source.progress("removing");
    let (mut removed, mut missing) = (0, 0);
    let result = args.keys.for_each_chunk(&source, store_keys, &bar, |keys| {
        let mut were_there = 0;
        for key in keys {
            were_there += u64::from(store.remove(key).map_err(explain(&args.folder))?);
        }
        store.flush().map_err(explain(&args.folder))?;
        // Only now they are gone for certain.
        removed += were_there;
        missing += keys.len() as u64 - were_there;
        Ok(())
    });
    let closed = progress::saving(&bar, || close(&args.folder, store));
    match result {
        Err(error) if removed > 0 => {
            return Err(partly(
                error,
                format_args!("at least {} removed before that", count(removed, "key")),
            ));
        }
        result => result?,
    }
    closed?;
    if args.json {
        output::told(output::print_json(&json!({ "removed": removed, "missing": missing })))?;
    } else if missing > 0 {
        let all = count(removed + missing, "key");
        output::complain(format_args!("not there: {} of {all}", HumanCount(missing)));
    }
    Ok(found(missing == 0))
}

/// An object with a key.
pub(super) fn row(key: &[u8]) -> Map<String, Value> {
    let mut object = Map::new();
    output::put_bytes(&mut object, "key", key);
    object
}

pub(super) fn found(all: bool) -> Outcome {
    if all { Outcome::Done } else { Outcome::NotFound }
}
