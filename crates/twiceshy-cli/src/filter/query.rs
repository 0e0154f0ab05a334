//! `twiceshy filter query`: whether keys may be in a filter.

use std::io::{self, Write};
use std::path::PathBuf;

use indicatif::ProgressBar;
use serde_json::{Map, json};

use super::file;
use crate::input::{self, KeyArgs};
use crate::{Outcome, output};

#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// The filter file
    file: PathBuf,
    #[command(flatten)]
    keys: KeyArgs,
    /// Print a tab and the key after each answer
    #[arg(long)]
    with_key: bool,
    /// Print only how many keys may be in the filter
    #[arg(long, conflicts_with = "with_key")]
    count: bool,
    /// Print an object for each key: {"answer":"maybe","key":"ant"}
    #[arg(long, conflicts_with = "with_key")]
    json: bool,
}

const EXAMPLES: &str = "\
Prints `maybe` or `no` for each key, in order. `no` is certain; `maybe` is wrong at the filter's \
error rate.
Exit status: 0 if there was a `maybe`, 1 if there was none, 2 after an error.
In JSON a key that is not UTF-8 is \"key_hex\", in hexadecimal digits.

Examples:
  twiceshy filter query seen.tw keys.txt
  twiceshy filter query seen.tw --with-key < keys.txt | sed -n 's/^no\\t//p'    # what is new
  if twiceshy filter query seen.tw --key \"$url\" > /dev/null; then echo seen before; fi";

const MAYBE: &str = "maybe";
const NO: &str = "no";

pub(super) fn run(args: &Args) -> anyhow::Result<Outcome> {
    let filter = file::load(&args.file)?;
    let mut out = output::stdout();
    let (mut asked, mut maybe) = (0, 0);
    let is_typed = input::is_typed();
    // Answers are the progress.
    args.keys.source().for_each_chunk(&ProgressBar::hidden(), |keys| {
        let mut found = vec![false; keys.len()];
        filter.contains_batch(keys, &mut found);
        asked += keys.len();
        maybe += found.iter().filter(|&&found| found).count();
        if !args.count {
            output::written(answer(&mut out, args, keys, &found))?;
        }
        output::written(if is_typed { out.flush() } else { Ok(()) })
    })?;
    if args.count {
        let written = if args.json {
            output::write_json(&mut out, &json!({ "keys": asked, "maybe": maybe }))
        } else {
            writeln!(out, "{maybe}")
        };
        output::written(written)?;
    }
    output::written(out.flush())?;
    Ok(if maybe > 0 { Outcome::Done } else { Outcome::NotFound })
}

fn answer(out: &mut dyn Write, args: &Args, keys: &[&[u8]], found: &[bool]) -> io::Result<()> {
    for (key, &found) in keys.iter().zip(found) {
        let answer = if found { MAYBE } else { NO };
        if args.json {
            let mut object = Map::new();
            object.insert("answer".into(), answer.into());
            output::put_bytes(&mut object, "key", key);
            output::write_json(out, &object)?;
            continue;
        }
        out.write_all(answer.as_bytes())?;
        if args.with_key {
            out.write_all(b"\t")?;
            out.write_all(key)?;
        }
        out.write_all(b"\n")?;
    }
    Ok(())
}
