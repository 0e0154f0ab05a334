//! `twiceshy store export`: all rows as text.

use std::io::Write;
use std::path::PathBuf;

use anyhow::Context;

use super::{Opened, explain, open, tsv};
use crate::target::Target;
use crate::{Outcome, interrupt, output, progress};

#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// The folder of the store
    #[arg(value_name = "DIR")]
    folder: PathBuf,
    /// The file to write, which must not be there before; standard output if not given
    file: Option<PathBuf>,
}

const EXAMPLES: &str = "\
A line is a key, a tab, a value, in the order of the keys if the store is an ordered one, else in no particular order. Tabs, ends of lines, backslashes, control \
characters and bytes that are not UTF-8 are escaped: \\t \\n \\r \\\\ \\xHH. A file is complete or not there.

Examples:
  twiceshy store export legs legs.tsv
  twiceshy store export legs | sort > legs.tsv";

/// How many rows are written before Ctrl-C is heard.
const ROWS_AT_ONCE: u64 = 1_024;

pub(super) fn run(args: &Args) -> anyhow::Result<Outcome> {
    let target = match args.file.as_deref().filter(|file| *file != "-") {
        Some(file) => Some(Target::fresh(file)?),
        None => None,
    };
    let Opened { store, keys } = open(&args.folder)?;
    let bar = progress::bar("exporting", Some(store.approximate_len()));
    let export = |out: &mut dyn Write, cannot: &str| {
        for (number, row) in (1..).zip(store.iter()) {
            let (key, value) = row.map_err(explain(&args.folder))?;
            tsv::write_row(out, &keys.show(&key), &value).with_context(|| cannot.to_owned())?;
            if number % ROWS_AT_ONCE == 0 {
                interrupt::check()?;
                bar.inc(ROWS_AT_ONCE);
            }
        }
        anyhow::Ok(())
    };
    match target {
        Some(target) => {
            interrupt::watch()?;
            let cannot = format!("cannot write {}", target.path().display());
            target.write(|out| export(out, &cannot))?;
        }
        None => {
            let mut out = output::stdout();
            export(&mut out, "cannot write to standard output")?;
            output::written(out.flush())?;
        }
    }
    bar.finish_and_clear();
    Ok(Outcome::Done)
}
