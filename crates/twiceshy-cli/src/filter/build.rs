//! `twiceshy filter build`: a filter file from keys.
//!
//! Keys stream through; an expandable filter grows with them. For a quotient filter their hashes are collected (8 bytes
//! per key), so that the filter can be made just large enough. Nothing is written before the last key was read.

use std::io;
use std::path::{Path, PathBuf};

use anyhow::bail;
use indicatif::ProgressBar;
use twiceshy::error::{BulkError, InsertError};
use twiceshy::{AnyFilter, ExpandableFilter, Hasher, QuotientFilter, quotient};

use super::file;
use super::info::Info;
use crate::input::KeyArgs;
use crate::target::{Contents, Target};
use crate::{Outcome, arguments, output};

#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// The filter file to make
    file: PathBuf,
    #[command(flatten)]
    keys: KeyArgs,
    /// Which kind: one that grows with the keys, or one of fixed size, some bits per key smaller
    #[arg(long, value_enum, default_value_t)]
    kind: Kind,
    /// The share of absent keys that are found all the same, at most: 0.001, 0.1% or 1/1000
    #[arg(long, value_name = "RATE", default_value_t = arguments::ERROR_RATE, value_parser = arguments::rate, allow_negative_numbers = true)]
    error_rate: f64,
    /// Make room for so many keys at the start, for example 500k or 1M; without it, for those that are given
    #[arg(long, value_name = "KEYS", value_parser = arguments::count)]
    capacity: Option<u64>,
    /// Take kind, error rate and hash key from this filter file, so that the two can be merged
    #[arg(long, value_name = "FILE", conflicts_with_all = ["kind", "error_rate", "capacity"])]
    like: Option<PathBuf>,
    /// Add the keys to the filter that is in the file
    #[arg(long, conflicts_with_all = ["kind", "error_rate", "capacity", "like", "force"])]
    add: bool,
    /// Replace the filter that is in the file, if there is one
    #[arg(long)]
    force: bool,
    /// Print what was made as JSON
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Clone, Copy, Default, clap::ValueEnum)]
enum Kind {
    #[default]
    Expandable,
    Quotient,
}

const EXAMPLES: &str = "\
Keys are lines: bytes without the end of the line, \\n or \\r\\n. Blank lines are left out. A key that \
comes twice is counted twice. The file holds the hash key, so only its owner can read it.

Examples:
  twiceshy filter build seen.tw keys.txt
  cut -f1 log | twiceshy filter build --error-rate 0.0001 seen.tw
  twiceshy filter build --add seen.tw --key one --key another
  twiceshy filter build --like seen.tw more.tw keys2.txt    # so that the two can be merged";

pub(super) fn run(args: &Args) -> anyhow::Result<Outcome> {
    let target = if args.add {
        if args.file.symlink_metadata().is_err_and(|error| error.kind() == io::ErrorKind::NotFound) {
            bail!("there is no {}: leave out --add to make it", args.file.display());
        }
        Target::existing(&args.file)?
    } else {
        let remedy = "give --force to replace it, or --add to add keys to it";
        Target::new(&args.file, Contents::Filter, args.force, remedy)?
    };
    let start = if args.add {
        Start::Filter(file::load(&args.file)?)
    } else if let Some(model) = &args.like {
        like(model)?
    } else {
        new(args)?
    };
    let mut added = args.add.then(Added::default);
    let filter = start.fill(args, added.as_mut())?;
    file::save(&filter, &target)?;
    output::told(Info::new(&args.file, &filter, None).with_added(added).report(args.json))?;
    Ok(Outcome::Done)
}

/// Keys that came to those of a filter.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Added {
    pub(super) keys: u64,
    /// Those that were there before, as far as the filter knows; one that comes twice is, the second time.
    pub(super) seen_before: u64,
}

impl Added {
    fn count(&mut self, was_seen: bool) {
        self.keys += 1;
        self.seen_before += u64::from(was_seen);
    }
}

/// What the keys are put into.
#[expect(clippy::large_enum_variant, reason = "there is one of them")]
enum Start {
    Filter(AnyFilter),
    /// A quotient filter that is made when all keys are known.
    Bulk(quotient::Builder, Hasher),
}

fn new(args: &Args) -> anyhow::Result<Start> {
    Ok(match args.kind {
        Kind::Expandable => {
            let mut builder = ExpandableFilter::builder().error_rate(args.error_rate);
            if let Some(keys) = args.capacity {
                builder = builder.capacity(keys);
            }
            Start::Filter(builder.build()?.into())
        }
        Kind::Quotient => {
            let hasher = Hasher::random()?;
            let mut builder = QuotientFilter::builder().hasher(hasher.clone()).error_rate(args.error_rate);
            // What cannot be built is said before the keys are read.
            builder.clone().capacity(args.capacity.unwrap_or(0)).build()?;
            if let Some(keys) = args.capacity {
                builder = builder.capacity(keys);
            }
            Start::Bulk(builder, hasher)
        }
    })
}

/// An empty filter that can be merged with the one in a file.
fn like(model: &Path) -> anyhow::Result<Start> {
    Ok(match file::load(model)? {
        AnyFilter::Expandable(filter) => Start::Filter(filter.empty_like()?.into()),
        AnyFilter::Quotient(filter) => {
            let hasher = filter.hasher().clone();
            let builder = QuotientFilter::builder().hasher(hasher.clone());
            Start::Bulk(builder.remainder_bits(filter.remainder_bits()), hasher)
        }
        other => return Err(file::cannot_change(model, other.kind())),
    })
}

impl Start {
    /// The filter with all keys; counts those that come to others.
    fn fill(self, args: &Args, mut added: Option<&mut Added>) -> anyhow::Result<AnyFilter> {
        let bar = args.keys.source().progress("reading keys");
        match self {
            Self::Filter(AnyFilter::Expandable(mut filter)) => {
                args.keys.source().for_each_chunk(&bar, |keys| match &mut added {
                    Some(added) => keys.iter().try_for_each(|key| {
                        added.count(filter.contains(key));
                        Ok(filter.insert(key).map(drop)?)
                    }),
                    None => Ok(filter.insert_batch(keys).map(drop)?),
                })?;
                Ok(filter.into())
            }
            Self::Filter(AnyFilter::Quotient(mut filter)) => {
                args.keys.source().for_each_chunk(&bar, |keys| match &mut added {
                    Some(added) => keys.iter().try_for_each(|key| {
                        added.count(filter.contains(key));
                        insert_growing(&mut filter, &[*key])
                    }),
                    None => insert_growing(&mut filter, keys),
                })?;
                Ok(filter.into())
            }
            Self::Filter(other) => Err(file::cannot_change(&args.file, other.kind())),
            Self::Bulk(builder, hasher) => bulk(builder, &hasher, args, &bar).map(AnyFilter::Quotient),
        }
    }
}

/// Inserts keys into a filter that is doubled when it is full, though that raises its error rate.
fn insert_growing(filter: &mut QuotientFilter, keys: &[&[u8]]) -> anyhow::Result<()> {
    loop {
        match filter.insert_batch(keys) {
            Ok(_) => return Ok(()),
            Err(InsertError::Full { .. }) => filter.grow()?,
            Err(error) => return Err(error.into()),
        }
    }
}

fn bulk(
    builder: quotient::Builder,
    hasher: &Hasher,
    args: &Args,
    bar: &ProgressBar,
) -> anyhow::Result<QuotientFilter> {
    let mut hashes = Vec::new();
    args.keys.source().for_each_chunk(bar, |keys| {
        hashes.extend(keys.iter().map(|key| hasher.hash(key)));
        Ok(())
    })?;
    hashes.sort_unstable();
    match (builder.from_sorted_hashes(hashes), args.capacity) {
        (Err(BulkError::Full { .. }), Some(keys)) => bail!(
            "there are more keys than --capacity {keys} makes room for: give a larger one, or none, or --kind expandable"
        ),
        (filter, _) => Ok(filter?),
    }
}
