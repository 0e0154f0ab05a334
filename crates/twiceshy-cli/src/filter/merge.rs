//! `twiceshy filter merge`: one filter from several.

use std::path::{Path, PathBuf};

use anyhow::bail;
use twiceshy::any::FilterKind;
use twiceshy::{AnyFilter, Hasher, QuotientFilter};

use super::file;
use super::info::Info;
use crate::target::{Contents, Target};
use crate::{Outcome, output};

#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// The filter file to make
    out: PathBuf,
    /// Filter files of one kind and with one hash key
    #[arg(required = true, value_name = "IN")]
    inputs: Vec<PathBuf>,
    /// Replace the file if there is one; it may be one of those that are merged
    #[arg(long)]
    force: bool,
    /// Print what was made as JSON
    #[arg(long)]
    json: bool,
}

const EXAMPLES: &str = "\
Filters can be merged if they have the same hash key: build all but the first with --like. The error \
rate of the result is about the sum of theirs; it is printed.

Examples:
  twiceshy filter build monday.tw monday.txt
  twiceshy filter build --like monday.tw tuesday.tw tuesday.txt
  twiceshy filter merge week.tw monday.tw tuesday.tw";

pub(super) fn run(args: &Args) -> anyhow::Result<Outcome> {
    let target = Target::new(&args.out, Contents::Filter, args.force, "give --force to replace it")?;
    let Some((path, others)) = args.inputs.split_first() else { bail!("there is nothing to merge") };
    let first = file::load(path)?;
    let model = Model { path, kind: first.kind(), hasher: first.hasher().clone() };
    let merged: AnyFilter = match first {
        AnyFilter::Expandable(mut merged) => {
            for path in others {
                if let AnyFilter::Expandable(other) = model.load_alike(path)? {
                    merged.merge_from(&other)?;
                }
            }
            merged.into()
        }
        AnyFilter::Quotient(first) => {
            let mut filters = vec![first];
            for path in others {
                if let AnyFilter::Quotient(other) = model.load_alike(path)? {
                    filters.push(other);
                }
            }
            QuotientFilter::merge(&filters)?.into()
        }
        other => return Err(file::cannot_change(path, other.kind())),
    };
    file::save(&merged, &target)?;
    output::told(Info::new(&args.out, &merged, None).report(args.json))?;
    Ok(Outcome::Done)
}

/// What all filters must have in common with the first.
struct Model<'a> {
    path: &'a Path,
    kind: FilterKind,
    hasher: Hasher,
}

impl Model<'_> {
    /// Loads a filter that has it.
    fn load_alike(&self, path: &Path) -> anyhow::Result<AnyFilter> {
        let filter = file::load(path)?;
        let (one, other) = (self.path.display(), path.display());
        let remedy =
            format!("build {other} anew, with: twiceshy filter build --force --like {one} {other} KEYS");
        if filter.kind() != self.kind {
            let (kind, other_kind) = (self.kind.name(), filter.kind().name());
            bail!(
                "{one} is of kind {kind} and {other} of kind {other_kind}, but only filters of one kind can be merged: {remedy}"
            );
        }
        if *filter.hasher() != self.hasher {
            bail!(
                "{one} and {other} have different hash keys, so their fingerprints have nothing in common: {remedy}"
            );
        }
        Ok(filter)
    }
}
