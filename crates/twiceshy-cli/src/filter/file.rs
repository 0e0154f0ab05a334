//! Filter files: loading and saving them, and what there is to say if that does not work.

use std::fs::File;
use std::path::Path;

use anyhow::{Context, anyhow};
use twiceshy::AnyFilter;
use twiceshy::any::{FilterKind, identify};
use twiceshy::error::ReadError;

use crate::interrupt;
use crate::target::Target;

/// Reads a file and checks it completely.
pub(super) fn load(path: &Path) -> anyhow::Result<AnyFilter> {
    AnyFilter::load(path).map_err(|error| in_words(path, error))
}

/// The version of a file's format.
pub(super) fn version(path: &Path) -> anyhow::Result<u16> {
    let file = File::open(path).with_context(|| format!("cannot open {}", path.display()))?;
    Ok(identify(file).map_err(|error| in_words(path, error))?.version)
}

/// An error of the library, with the file in it.
fn in_words(path: &Path, error: ReadError) -> anyhow::Error {
    match error {
        ReadError::NotAFilter { .. } => anyhow!("{} is no twiceshy filter", path.display()),
        // It has the file in it.
        ReadError::Open { .. } => error.into(),
        ReadError::Field { field: "kind", found, .. } if is_one_of(OF_RANGES, found) => anyhow!(
            "{} is a filter of ranges: only a program that knows the type of its keys can ask it",
            path.display()
        ),
        ReadError::Field { field: "kind", found, .. } if is_one_of(OF_LISTS, found) => {
            anyhow!("{} is a YES/NO list, or a delta of one, and no filter", path.display())
        }
        _ if path.is_dir() => anyhow!(
            "{0} is a folder, not a filter file: if it is a store, ask it with twiceshy store stats {0}",
            path.display()
        ),
        error => anyhow::Error::new(error).context(path.display().to_string()),
    }
}

/// Kinds of filters that need to know what their keys are.
const OF_RANGES: &[FilterKind] = &[FilterKind::AdaptiveRange, FilterKind::Range];

/// Kinds that are no filters.
const OF_LISTS: &[FilterKind] = &[FilterKind::FrozenList, FilterKind::ListDelta];

/// Whether this is the number of one of these kinds.
fn is_one_of(kinds: &[FilterKind], number: u64) -> bool {
    kinds.iter().any(|&kind| kind as u64 == number)
}

/// Saves a filter. Ctrl-C waits until the file is complete.
pub(super) fn save(filter: &AnyFilter, target: &Target) -> anyhow::Result<()> {
    interrupt::watch()?;
    Ok(filter.save(target.path())?)
}

/// What to say about a filter that the command line only asks.
pub(super) fn cannot_change(path: &Path, kind: FilterKind) -> anyhow::Error {
    let path = path.display();
    if kind != FilterKind::Adaptive {
        return anyhow!("{path} is of kind {}, which this program can only ask", kind.name());
    }
    anyhow!(
        "{path} is an adaptive filter, which cannot change without its keys: use a store (twiceshy store), or a filter of \
         kind quotient or expandable"
    )
}
