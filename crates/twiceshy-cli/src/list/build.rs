//! `twiceshy list build`: a list from keys.
//!
//! All keys are read before anything is built, so that those that are on both lists can be named. Nothing is written before the
//! list is complete.

use std::path::PathBuf;

use anyhow::anyhow;

use twiceshy::error::{ListError, RebuildError};
use twiceshy::list::{ListKeys, Phase, Progress};
use twiceshy::{FrozenYesNoList, Hasher, YesNoList};

use super::file::{self, KeyedList};
use super::info::Info;
use super::sides::{SideArgs, Sides};
use crate::kinds::ListKind;
use crate::target::{Contents, Target};
use crate::{Outcome, arguments, output, progress};

#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    #[command(flatten)]
    sides: SideArgs,
    /// Take over the keys of a list with keys, each on its list; can be given several times
    #[arg(long, value_name = "LIST")]
    keys_of: Vec<PathBuf>,
    /// The share of unlisted keys that answer `yes` all the same, at most: 0.001, 0.1% or 1/1000 [default: that of --keys-of, else 0.001]
    #[arg(long, value_name = "RATE", value_parser = arguments::rate, allow_negative_numbers = true)]
    error_rate: Option<f64>,
    /// Make a frozen list: small, without keys, for shipping to those who only ask
    #[arg(long)]
    frozen: bool,
    /// The file to make
    #[arg(short, long, value_name = "LIST")]
    output: PathBuf,
    /// Replace the list that is in the file, if there is one of the same kind
    #[arg(long)]
    force: bool,
    /// Print what was made as JSON
    #[arg(long)]
    json: bool,
}

const EXAMPLES: &str = "\
Keys are lines: bytes without the end of the line, \\n or \\r\\n. Blank lines are left out, and a key that comes \
twice counts once. A key on both lists is an error that names it. All keys are held in memory meanwhile. The \
file holds the hash key, so only its owner can read it.

Examples:
  twiceshy list build --yes bad.txt --no good.txt -o blocked.list
  twiceshy list build --yes bad.txt --no good.txt --frozen --error-rate 1% -o blocked.frozen
  twiceshy list build --keys-of blocked.list --frozen -o blocked.frozen
  cut -f1 log | twiceshy list build --yes bad.txt --no - -o blocked.list";

pub(super) fn run(args: &Args) -> anyhow::Result<Outcome> {
    args.sides.check(!args.keys_of.is_empty())?;
    let kind = if args.frozen { ListKind::Frozen } else { ListKind::Keyed };
    let remedy = if args.frozen {
        "give --force to replace it"
    } else {
        "give --force to replace it; to change what is in it, use list add, move and remove"
    };
    let target = Target::new(&args.output, Contents::List(kind), args.force, remedy)?;
    let mut rate = args.error_rate;
    let mut sides = args.sides.read()?;
    // Whoever changes the list that is replaced is waited for, and waits: nothing that was said to be done is lost.
    let _lock = if args.output.exists() { Some(file::lock(target.path())?) } else { None };
    for path in &args.keys_of {
        let list = file::load_keyed(path)?;
        list.iter().for_each(|(key, side)| sides.push(side, key));
        if args.error_rate.is_none() {
            rate = Some(list.filter().highest_error_rate().min(rate.unwrap_or(1.0)));
        }
    }
    let rate = rate.unwrap_or(arguments::ERROR_RATE);
    let is_free = || {
        // It was not there before.
        let is_there = !args.force && args.output.symlink_metadata().is_ok();
        if is_there {
            Err(anyhow!("{} was made by another program meanwhile: {remedy}", args.output.display()))
        } else {
            Ok(())
        }
    };
    let info = if args.frozen {
        let list = frozen(&sides, rate)?;
        is_free()?;
        progress::waiting("saving", || target.save(|out| list.write_to(out)))?;
        Info::of_frozen(&args.output, &list)
    } else {
        let list = keyed(&sides, rate)?;
        is_free()?;
        progress::waiting("saving", || target.save(|out| list.write_to(out)))?;
        Info::of_keyed(&args.output, &list)
    };
    output::told(info.report(args.json))?;
    Ok(Outcome::Done)
}

fn keyed(sides: &Sides, rate: f64) -> anyhow::Result<KeyedList> {
    let builder = YesNoList::builder().error_rate(rate);
    match progress::waiting("building", || builder.from_lists(sides.yes.iter(), sides.no.iter())) {
        // It names one, we name more.
        Err(RebuildError::OnBothLists(both)) => Err(sides.check().err().unwrap_or(both.into())),
        list => Ok(list?),
    }
}

fn frozen(sides: &Sides, rate: f64) -> anyhow::Result<FrozenYesNoList> {
    let mut keys = ListKeys::new(Hasher::random()?);
    sides.yes.iter().for_each(|key| keys.yes(key));
    sides.no.iter().for_each(|key| keys.no(key));
    let builder = FrozenYesNoList::builder().error_rate(rate);
    match watched(|progress| builder.build_keys(&keys, progress)) {
        // It knows the numbers of the keys, we know the keys.
        Err(error @ ListError::OnBothLists { .. }) => Err(sides.check().err().unwrap_or(error.into())),
        list => Ok(list?),
    }
}

/// Shows how far the building of a list or a delta is.
pub(super) fn watched<T>(build: impl FnOnce(&mut dyn FnMut(Progress)) -> T) -> T {
    let bar = progress::bar("building", Some(0));
    let built = build(&mut |progress| {
        // Short: they are to fit in a line.
        bar.set_message(match progress.phase {
            Phase::Compare => "comparing",
            Phase::Approximate | Phase::Exact => "building",
            _ => "checking",
        });
        if progress.done == 0 {
            bar.reset_eta();
        }
        bar.set_length(progress.of);
        bar.set_position(progress.done);
    });
    bar.finish_and_clear();
    built
}
