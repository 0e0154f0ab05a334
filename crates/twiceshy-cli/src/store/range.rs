//! `twiceshy store range`: the rows between two keys.

use std::ffi::{OsStr, OsString};
use std::io::Write;
use std::ops::Bound;
use std::path::PathBuf;

use anyhow::anyhow;
use serde_json::json;
use twiceshy_store::StoreKind;

use super::any::KeyBound;
use super::keys::Keys;
use super::rows::{Escapes, found, row};
use super::{Opened, explain, open, tsv};
use crate::output;
use crate::{Outcome, arguments};

#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// The folder of the store
    #[arg(value_name = "DIR")]
    folder: PathBuf,
    /// The first key of the range, or `..` if it has none
    #[arg(value_name = "A", allow_negative_numbers = true)]
    start: OsString,
    /// The last key of the range, or `..` if it has none
    #[arg(value_name = "B", allow_negative_numbers = true)]
    end: OsString,
    /// Leave out A itself
    #[arg(long)]
    exclude_start: bool,
    /// Leave out B itself
    #[arg(long)]
    exclude_end: bool,
    /// Print the first N rows at most
    #[arg(long, value_name = "N", value_parser = arguments::count)]
    limit: Option<u64>,
    /// Print only how many rows there are
    #[arg(long)]
    count: bool,
    #[command(flatten)]
    escapes: Escapes,
    /// Print an object for each row: {"key":"5","value":"five"}; with --count {"rows":1}
    #[arg(long)]
    json: bool,
}

const EXAMPLES: &str = "\
Prints a line per row, key TAB value, in the order of the keys, with the escapes of import and export \
(\\t \\n \\r \\\\ \\xHH). A and B belong to the range. Only stores that were made with --ordered have one.
Exit status: 0 if there is a row, 1 if there is none, 2 after an error.

Examples:
  twiceshy store range visits 2024-05-01 2024-05-02 --exclude-end
  twiceshy store range hosts 10.0.0.0 10.255.255.255 --limit 1
  twiceshy store range depths -- -12.5 ..
  twiceshy store range depths .. 0 --count";

/// A bound of the range that is not there.
const OPEN: &str = "..";

pub(super) fn run(args: &Args) -> anyhow::Result<Outcome> {
    // It need not be opened to see that.
    if StoreKind::in_folder(&args.folder).is_ok_and(|kind| kind == Some(StoreKind::Adaptive)) {
        return Err(without_order(args));
    }
    let Opened { store, keys } = open(&args.folder)?;
    let bounds = (
        bound(args, keys, &args.start, args.exclude_start)?,
        bound(args, keys, &args.end, args.exclude_end)?,
    );
    if let (Bound::Included(start) | Bound::Excluded(start), Bound::Included(end) | Bound::Excluded(end)) =
        &bounds
        && start > end
    {
        let (start, end) = (args.start.display(), args.end.display());
        output::complain(format_args!("note: {start} comes after {end}, so nothing is between them"));
    }
    let rows = store.range(bounds).ok_or_else(|| without_order(args))?;
    let mut out = output::stdout();
    let mut number = 0;
    let most = args.limit.map_or(usize::MAX, |most| usize::try_from(most).unwrap_or(usize::MAX));
    for found in rows.take(most) {
        let (key, value) = found.map_err(explain(&args.folder))?;
        number += 1;
        if args.count {
            continue;
        }
        let key = keys.show(&key);
        output::written(if args.json {
            let mut object = row(&key);
            output::put_bytes(&mut object, "value", &value);
            output::write_json(&mut out, &object)
        } else {
            tsv::write_row(&mut out, &key, &value)
        })?;
    }
    if args.count {
        output::written(if args.json {
            output::write_json(&mut out, &json!({ "rows": number }))
        } else {
            writeln!(out, "{number}")
        })?;
    }
    output::written(out.flush())?;
    Ok(found(number > 0))
}

fn bound(args: &Args, keys: Keys, given: &OsStr, is_excluded: bool) -> anyhow::Result<KeyBound> {
    if given == OPEN {
        return Ok(Bound::Unbounded);
    }
    let key = keys.parse(args.escapes.bytes(given.as_encoded_bytes())?)?.into_owned();
    Ok(if is_excluded { Bound::Excluded(key) } else { Bound::Included(key) })
}

/// What to say about a store that has no ranges.
fn without_order(args: &Args) -> anyhow::Error {
    let folder = args.folder.display();
    anyhow!(
        "{folder} is no ordered store, so its keys have no ranges: make one and copy the rows, with: twiceshy store create \
         {folder}.ordered --ordered --key-type bytes && twiceshy store export {folder} | twiceshy store import {folder}.ordered \
         (if the keys are numbers, addresses or times, with the --key-type that says so)"
    )
}
