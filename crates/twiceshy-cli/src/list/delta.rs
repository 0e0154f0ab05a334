//! `twiceshy list delta` and `apply`: bringing a frozen list up to date.

use std::path::PathBuf;

use anyhow::Context;
use twiceshy::list::ListKeys;

use super::build::watched;
use super::file;
use super::info::Info;
use crate::input::Keys;
use crate::kinds::ListKind;
use crate::target::{Contents, Target};
use crate::{Outcome, output, progress};

/// From so many deltas on a new list is worth it: every one of them makes queries slower.
const MANY: usize = 10;

#[derive(clap::Args)]
#[command(after_help = DELTA_EXAMPLES)]
pub(crate) struct DeltaArgs {
    /// The frozen list that is to be brought up to date
    frozen: PathBuf,
    /// The list with keys as it is to be
    list: PathBuf,
    /// A file of keys that were taken off the lists since, one per line, or standard input for `-`; they answer no then
    #[arg(long, value_name = "FILE")]
    removed: Vec<PathBuf>,
    /// A list with keys as it was before; keys of it that are not on LIST any more count as removed
    #[arg(long, value_name = "LIST")]
    before: Option<PathBuf>,
    /// The file to make
    #[arg(short, long, value_name = "DELTA")]
    output: PathBuf,
    /// Replace the delta that is in the file, if there is one
    #[arg(long)]
    force: bool,
    /// Print what was made as JSON
    #[arg(long)]
    json: bool,
}

const DELTA_EXAMPLES: &str = "\
The delta is for FROZEN only, and every key of LIST is checked against what it makes of it. A frozen list has no \
keys, so nobody knows which of its keys are not on LIST any more: they go on answering yes unless --removed or \
--before names them. (A key that was moved to the NO list answers no in any case.)

Examples:
  twiceshy list delta blocked.frozen blocked.list -o today.delta
  twiceshy list delta blocked.frozen blocked.list --removed expired.txt -o today.delta
  twiceshy list delta blocked.frozen blocked.list --before yesterday.list -o today.delta";

pub(super) fn delta(args: &DeltaArgs) -> anyhow::Result<Outcome> {
    let target =
        Target::new(&args.output, Contents::List(ListKind::Delta), args.force, "give --force to replace it")?;
    let frozen = file::load_frozen(&args.frozen)?;
    let mut keys = ListKeys::new(frozen.hasher().clone());
    for path in &args.removed {
        let lines = Keys::Lines(vec![path]);
        lines.for_each_chunk(&lines.progress("reading keys"), |chunk| {
            chunk.iter().for_each(|key| keys.removed(key));
            Ok(())
        })?;
    }
    if let Some(path) = &args.before {
        file::load_keyed(path)?.iter().for_each(|(key, _)| keys.removed(key));
    }
    keys.add_list(&file::load_keyed(&args.list)?)?;
    let delta = watched(|progress| frozen.delta_of(&keys, progress))?;
    target.save(|out| delta.write_to(out))?;
    if frozen.deltas() + 1 >= MANY {
        output::complain(format_args!(
            "note: with this one {} has {} deltas, each of which makes queries slower: a new frozen list is worth it",
            args.frozen.display(),
            frozen.deltas() + 1
        ));
    }
    output::told(Info::of_delta(&args.output, &delta).report(args.json))?;
    Ok(Outcome::Done)
}

#[derive(clap::Args)]
#[command(after_help = APPLY_EXAMPLES)]
pub(crate) struct ApplyArgs {
    /// The frozen list
    frozen: PathBuf,
    /// Deltas, in the order in which they were made
    #[arg(required = true, value_name = "DELTA")]
    deltas: Vec<PathBuf>,
    /// The frozen list to make
    #[arg(short, long, value_name = "NEW")]
    output: PathBuf,
    /// Replace the frozen list that is in the file, if there is one; it may be the old one
    #[arg(long)]
    force: bool,
    /// Print what was made as JSON
    #[arg(long)]
    json: bool,
}

const APPLY_EXAMPLES: &str = "\
A delta that is for another list is an error that names both, and makes nothing.

Examples:
  twiceshy list apply blocked.frozen today.delta -o new.frozen
  twiceshy list apply blocked.frozen monday.delta tuesday.delta -o blocked.frozen --force";

pub(super) fn apply(args: &ApplyArgs) -> anyhow::Result<Outcome> {
    let target = Target::new(
        &args.output,
        Contents::List(ListKind::Frozen),
        args.force,
        "give --force to replace it",
    )?;
    let mut list = file::load_frozen(&args.frozen)?;
    for path in &args.deltas {
        let delta = file::load_delta(path)?;
        list.apply(delta).with_context(|| path.display().to_string())?;
    }
    progress::waiting("saving", || target.save(|out| list.write_to(out)))?;
    output::told(Info::of_frozen(&args.output, &list).report(args.json))?;
    Ok(Outcome::Done)
}
