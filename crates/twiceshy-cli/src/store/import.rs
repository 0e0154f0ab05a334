//! `twiceshy store import`: the rows of a file.
//!
//! A thread reads and splits lines while the rows before them are stored, so that Ctrl-C is heard even while it waits
//! for more. Rows are stored in batches, each of them whole or not at all. To import a row again changes nothing, so an
//! import that was stopped is done again from the start; if a line stopped it, only when that is mended or left out.

use std::io::BufRead;
use std::path::PathBuf;
use std::sync::mpsc::{self, RecvTimeoutError, SyncSender};
use std::thread;
use std::time::Duration;

use anyhow::Context;
use indicatif::HumanCount;
use serde::Serialize;

use super::keys::Keys;
use super::tsv::{self, Row, Wrong};
use super::{Opened, close, explain, keys_in, open, partly};
use crate::output::{self, count};
use crate::target::Target;
use crate::{Outcome, input, interrupt, progress};

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
    /// Leave out lines that are no rows, and put them into this new file
    #[arg(long, value_name = "FILE")]
    skip_bad: Option<PathBuf>,
    /// Print what was done as JSON
    #[arg(long)]
    json: bool,
}

const EXAMPLES: &str = "\
A line is a key, a tab, a value; the first tab ends the key. Escapes in both: \\t \\n \\r \\\\ and \\xHH for \
any byte.
Lines end with \\n or \\r\\n, blank lines are left out. A key that comes again gets the new value.
An import that was interrupted can be done again: a row that is in already is replaced by itself, and counts as replaced.
A line without a tab, with another escape, or with what is no key of an ordered store, ends the import; what came before it \
is in.

Examples:
  twiceshy store import legs legs.tsv
  twiceshy store import legs legs.tsv --skip-bad bad.tsv    # mend bad.tsv, and import that
  zcat rows.tsv.gz | twiceshy store import legs -
  twiceshy store export old | twiceshy store import new";

/// How many lines, and about how many bytes of them, are stored at a time.
const BATCH_LINES: usize = 4_096;
const BATCH_BYTES: usize = 4 << 20;

/// How long Ctrl-C waits for lines that do not come.
const PATIENCE: Duration = Duration::from_millis(50);

/// Lines that were read.
#[derive(Default)]
struct Batch {
    rows: Vec<Row>,
    /// Those that are no rows, as they were, and how many there are.
    bad: Vec<u8>,
    skipped: u64,
    /// The bytes that all of them took.
    taken: u64,
}

/// A line that is no row.
#[derive(Debug, thiserror::Error)]
#[error("{name}, line {number}: {wrong}")]
struct BadLine {
    name: String,
    number: u64,
    wrong: Wrong,
    /// Whether a row before it has an escape.
    after_escapes: bool,
}

/// What an import has done.
#[derive(Default, Serialize)]
struct Imported {
    rows: u64,
    new: u64,
    replaced: u64,
    /// Lines that were no rows.
    skipped: u64,
    /// All keys of the store.
    keys: u64,
}

pub(super) fn run(args: &Args) -> anyhow::Result<Outcome> {
    let bad_lines = args.skip_bad.as_deref().map(Target::fresh).transpose()?;
    let batches = read_in_background(args, keys_in(&args.folder)?)?;
    let Opened { store, .. } = open(&args.folder)?;
    interrupt::watch()?;
    let mut bad_lines = bad_lines.as_ref().map(Target::begin).transpose()?;
    let bar = progress::bytes("importing", input::size(&args.file));
    let mut done = Imported::default();
    let result = loop {
        match batches.recv_timeout(PATIENCE) {
            Ok(Ok(batch)) => {
                match store.insert_batch(&batch.rows) {
                    Ok(new) => done.new += new,
                    Err(error) => break Err(explain(&args.folder)(error)),
                }
                done.rows += batch.rows.len() as u64;
                done.skipped += batch.skipped;
                bar.inc(batch.taken);
                if let Some(Err(error)) = bad_lines.as_mut().map(|file| file.append(&batch.bad)) {
                    break Err(error);
                }
            }
            Ok(Err(error)) => break Err(error),
            Err(RecvTimeoutError::Timeout) => (),
            Err(RecvTimeoutError::Disconnected) => break interrupt::check().map_err(Into::into),
        }
        if let Err(interrupted) = interrupt::check() {
            break Err(interrupted.into());
        }
    };
    done.replaced = done.rows - done.new;
    done.keys = store.approximate_len();
    let closed = progress::saving(&bar, || close(&args.folder, store));
    if let Err(error) = result {
        return Err(stopped(error, done.rows));
    }
    closed?;
    if let Some(file) = bad_lines.filter(|_| done.skipped > 0) {
        file.finish().map_err(|error| {
            partly(error, "the rows are imported, only the lines that were left out are lost")
        })?;
    }
    output::told(if args.json {
        output::print_json(&done)
    } else {
        let (rows, new, replaced) =
            (count(done.rows, "row"), HumanCount(done.new), HumanCount(done.replaced));
        let (skipped, keys) = (count(done.skipped, "line"), count(done.keys, "key"));
        output::print(|out| {
            write!(out, "{rows} imported: {new} new, {replaced} replaced; ")?;
            if let Some(file) = args.skip_bad.as_deref().filter(|_| done.skipped > 0) {
                write!(out, "{skipped} skipped, which {} holds; ", file.display())?;
            }
            writeln!(out, "the store has {keys}")
        })
    })?;
    Ok(Outcome::Done)
}

/// What to say about an import that stopped after so many rows, and what helps.
fn stopped(error: anyhow::Error, rows: u64) -> anyhow::Error {
    let Some(BadLine { wrong, after_escapes, .. }) = error.downcast_ref() else {
        let again = "to go on, import the same again";
        return partly(error, format_args!("{} imported before that; {again}", count(rows, "row")));
    };
    let raw = match wrong {
        // What is in would stay, perhaps under other keys than with --raw.
        Wrong::Escape(_) if *after_escapes => {
            ", or import all of it with --raw into a new store (rows before it were read with escapes)"
        }
        Wrong::Escape(_) => ", give --raw to take all backslashes as they are",
        Wrong::NoTab | Wrong::Key(_) => "",
    };
    let before = match rows {
        0 => "no row came before it".to_owned(),
        1 => "the row before it is in".to_owned(),
        rows => format!("the {} before it are in", count(rows, "row")),
    };
    partly(
        error,
        format_args!(
            "{before}; mend the line and import again{raw}, or give --skip-bad FILE to put such lines into a file and go on"
        ),
    )
}

/// Opens the file and starts to read. If reading ends with an error, all rows before it have been sent.
fn read_in_background(args: &Args, keys: Keys) -> anyhow::Result<mpsc::Receiver<anyhow::Result<Batch>>> {
    let (sender, receiver) = mpsc::sync_channel(2);
    let (path, format) =
        (args.file.clone(), Format { escapes: !args.raw, skip_bad: args.skip_bad.is_some(), keys });
    thread::spawn(move || {
        let read = input::open(&path).and_then(|mut input| {
            // It is open.
            let _ = sender.send(Ok(Batch::default()));
            read_batches(&mut *input, &input::name(&path), format, &sender)
        });
        if let Err(error) = read {
            // Without a receiver nobody wants to know.
            let _ = sender.send(Err(error));
        }
    });
    receiver.recv()??;
    Ok(receiver)
}

/// What lines mean.
struct Format {
    escapes: bool,
    /// Lines that are no rows are left out.
    skip_bad: bool,
    keys: Keys,
}

fn read_batches(
    input: &mut dyn BufRead,
    name: &str,
    Format { escapes, skip_bad, keys }: Format,
    sender: &SyncSender<anyhow::Result<Batch>>,
) -> anyhow::Result<()> {
    let (mut line, mut number) = (Vec::new(), 0u64);
    let mut after_escapes = false;
    loop {
        let mut batch = Batch::default();
        let (mut lines, mut bytes) = (0, 0);
        let end = loop {
            if lines >= BATCH_LINES || bytes >= BATCH_BYTES {
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
            match tsv::parse(&line, escapes, keys) {
                Ok(row) => {
                    after_escapes |= escapes && line.contains(&b'\\');
                    batch.rows.push(row);
                }
                Err(_) if skip_bad => {
                    batch.skipped += 1;
                    batch.bad.extend_from_slice(&line);
                    batch.bad.push(b'\n');
                }
                Err(wrong) => {
                    let name = name.to_owned();
                    break Some(Err(BadLine { name, number, wrong, after_escapes }.into()));
                }
            }
            lines += 1;
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
