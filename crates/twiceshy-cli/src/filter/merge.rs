//! `twiceshy filter merge`: one filter from several.

use std::path::{Path, PathBuf};

use anyhow::bail;
use twiceshy::QuotientFilter;

use super::any::{AnyFilter, needs_its_keys};
use super::info::Info;
use crate::Outcome;
use crate::target::Target;

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
    let target = Target::new(&args.out, args.force, "give --force to replace it")?;
    let Some((first, others)) = args.inputs.split_first() else { bail!("there is nothing to merge") };
    let merged = match AnyFilter::load(first)?.0 {
        AnyFilter::Expandable(filter) => {
            let mut merged = AnyFilter::Expandable(filter);
            for path in others {
                let other = load_like(first, &merged, path)?;
                if let (AnyFilter::Expandable(merged), AnyFilter::Expandable(other)) = (&mut merged, other) {
                    merged.merge_from(&other)?;
                }
            }
            merged
        }
        AnyFilter::Quotient(filter) => {
            let model = AnyFilter::Quotient(filter);
            let mut filters = Vec::with_capacity(args.inputs.len());
            for path in others {
                filters.push(load_like(first, &model, path)?);
            }
            filters.push(model);
            let quotients = filters.iter().filter_map(|filter| match filter {
                AnyFilter::Quotient(filter) => Some(filter),
                _ => None,
            });
            AnyFilter::Quotient(QuotientFilter::merge(quotients)?)
        }
        AnyFilter::Adaptive(_) => return Err(needs_its_keys(first)),
    };
    merged.save(&target)?;
    Info::new(&args.out, &merged, None).report(args.json)?;
    Ok(Outcome::Done)
}

/// Loads a filter that can be merged with the first.
fn load_like(first: &Path, model: &AnyFilter, path: &Path) -> anyhow::Result<AnyFilter> {
    let (filter, _) = AnyFilter::load(path)?;
    let (one, other) = (first.display(), path.display());
    if filter.kind() != model.kind() {
        bail!(
            "{one} is of kind {} and {other} of kind {}: only filters of one kind can be merged, so build {other} anew, \
             with: twiceshy filter build --force --like {one} {other} KEYS",
            model.kind().name(),
            filter.kind().name()
        );
    }
    if filter.hasher() != model.hasher() {
        bail!(
            "{one} and {other} have different hash keys, so their fingerprints have nothing in common: build {other} \
             anew, with: twiceshy filter build --force --like {one} {other} KEYS"
        );
    }
    Ok(filter)
}
