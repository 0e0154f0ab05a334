//! `twiceshy store import`: the rows of a file.
//!
//! A thread reads and splits lines while the rows before them are stored, so that Ctrl-C is heard even while it waits
//! for more. Rows are stored in batches, each of them whole or not at all. To import a row again changes nothing, so
//! whatever stopped an import, doing it again is right.

use std::io::BufRead;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{self, RecvTimeoutError, SyncSender};
use std::thread;
use std::time::Duration;

use anyhow::{Context, anyhow};
use indicatif::HumanCount;
use serde::Serialize;

use super::tsv::{self, Row};
use super::{close, explain, open};
use crate::interrupt::{self, Interrupted};
use crate::output::{self, count};
use crate::{Outcome, input, progress};

#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// The folder of the store
    #[arg(value_name = "DIR")]
    folder: PathBuf,
    /// Lines of key TAB value; standard input if not given, or for `-`
    #[arg(default_value = "-", hide_default_value = true)]
    file: PathBuf,
    /// Take backslashes as they are: no escapes
    #[arg(long)]
    raw: bool,
    /// Print what was done as JSON
    #[arg(long)]
    json: bool,
}

const EXAMPLES: &str = "\
A line is a key, a tab, a value; the first tab ends the key. Escapes in both: \\t \\n \\r \\\\ and \\xHH for \
any byte.
Lines end with \\n or \\r\\n, blank lines are left out. A key that comes again gets the new value.
An import that was interrupted can be done again: rows that are in stay as they are.

Examples:
  twiceshy store import legs legs.tsv
  zcat rows.tsv.gz | twiceshy store import legs -
  twiceshy store export old | twiceshy store import new";

/// How many rows, and about how many bytes of them, are stored at a time.
const BATCH_ROWS: usize = 4_096;
const BATCH_BYTES: usize = 4 << 20;

/// How long Ctrl-C waits for lines that do not come.
const PATIENCE: Duration = Duration::from_millis(50);

/// Rows that were read, and the bytes that they took.
struct Batch {
    rows: Vec<Row>,
    taken: u64,
}

/// What an import has done.
#[derive(Default, Serialize)]
struct Imported {
    rows: u64,
    new: u64,
    replaced: u64,
    /// All keys of the store.
    keys: u64,
}

pub(super) fn run(args: &Args) -> anyhow::Result<Outcome> {
    let store = open(&args.folder)?;
    interrupt::watch()?;
    let bar = progress::bytes("importing", input::size(&args.file));
    let batches = read_in_background(&args.file, !args.raw);
    let mut done = Imported::default();
    let result = loop {
        match batches.recv_timeout(PATIENCE) {
            Ok(Ok(Batch { rows, taken })) => match store.insert_batch(&rows) {
                Ok(new) => {
                    done.rows += rows.len() as u64;
                    done.new += new;
                    bar.inc(taken);
                }
                Err(error) => break Err(explain(&args.folder)(error)),
            },
            Ok(Err(error)) => break Err(error),
            Err(RecvTimeoutError::Timeout) => (),
            Err(RecvTimeoutError::Disconnected) => break interrupt::check().map_err(Into::into),
        }
        if let Err(interrupted) = interrupt::check() {
            break Err(interrupted.into());
        }
    };
    bar.finish_and_clear();
    done.replaced = done.rows - done.new;
    done.keys = store.approximate_len();
    let closed = close(&args.folder, store);
    let rows = count(done.rows, "row");
    if let Err(error) = result {
        let what = format!(
            "{}; {rows} imported before that; to go on, import the same again",
            output::describe(&error)
        );
        return Err(if error.is::<Interrupted>() { error.context(what) } else { anyhow!(what) });
    }
    closed?;
    output::told(if args.json {
        output::print_json(&done)
    } else {
        let (new, replaced, keys) =
            (HumanCount(done.new), HumanCount(done.replaced), count(done.keys, "key"));
        output::print(|out| {
            writeln!(out, "{rows} imported: {new} new, {replaced} replaced; the store has {keys}")
        })
    })?;
    Ok(Outcome::Done)
}

/// Starts to read. If that ends with an error, all rows before it have been sent.
fn read_in_background(path: &Path, escapes: bool) -> mpsc::Receiver<anyhow::Result<Batch>> {
    let (sender, receiver) = mpsc::sync_channel(2);
    let path = path.to_owned();
    thread::spawn(move || {
        let name = input::name(&path);
        let read =
            input::open(&path).and_then(|mut input| read_batches(&mut *input, &name, escapes, &sender));
        if let Err(error) = read {
            // Without a receiver nobody wants to know.
            let _ = sender.send(Err(error));
        }
    });
    receiver
}

fn read_batches(
    input: &mut dyn BufRead,
    name: &str,
    escapes: bool,
    sender: &SyncSender<anyhow::Result<Batch>>,
) -> anyhow::Result<()> {
    let (mut line, mut number) = (Vec::new(), 0u64);
    loop {
        let mut batch = Batch { rows: Vec::new(), taken: 0 };
        let mut bytes = 0;
        let end = loop {
            if batch.rows.len() >= BATCH_ROWS || bytes >= BATCH_BYTES {
                break None;
            }
            match input::next_line(input, &mut line) {
                Ok(Some(taken)) => {
                    batch.taken += taken.bytes;
                    number += taken.lines;
                }
                Ok(None) => break Some(Ok(())),
                Err(error) => break Some(Err(error).with_context(|| format!("cannot read {name}"))),
            }
            match tsv::parse(&line, escapes) {
                Ok(row) => batch.rows.push(row),
                Err(error) => break Some(Err(error).with_context(|| format!("{name}, line {number}"))),
            }
            bytes += line.len();
        };
        if sender.send(Ok(batch)).is_err() {
            return Ok(());
        }
        if let Some(end) = end {
            return end;
        }
    }
}
