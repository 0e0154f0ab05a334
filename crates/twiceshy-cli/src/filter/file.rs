//! Filter files: loading and saving them, and what there is to say if that does not work.

use std::path::Path;

use anyhow::anyhow;
use twiceshy::AnyFilter;
use twiceshy::any::FilterKind;

use crate::kinds;
use crate::target::Target;

/// Reads a file and checks it completely.
pub(super) fn load(path: &Path) -> anyhow::Result<AnyFilter> {
    AnyFilter::load(path).map_err(|error| kinds::in_words(path, error, "filter"))
}

/// The version of a file's format.
pub(super) fn version(path: &Path) -> anyhow::Result<u16> {
    Ok(kinds::identity(path, "filter")?.version)
}

/// Saves a filter.
pub(super) fn save(filter: &AnyFilter, target: &Target) -> anyhow::Result<()> {
    target.save(|out| filter.write_to(out))
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
