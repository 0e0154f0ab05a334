//! A filter of any kind, as it comes from a file.

use std::fs::File;
use std::path::Path;

use anyhow::{Context, anyhow};
use twiceshy::error::ReadError;
use twiceshy::{AdaptiveFilter, ExpandableFilter, FilterKind, Hasher, QuotientFilter, identify};

use crate::interrupt;
use crate::target::Target;

pub(super) enum AnyFilter {
    Quotient(QuotientFilter),
    Adaptive(Box<AdaptiveFilter>),
    Expandable(ExpandableFilter),
}

impl AnyFilter {
    /// Reads a file and checks it completely. Tells the version of its format, too.
    pub(super) fn load(path: &Path) -> anyhow::Result<(Self, u16)> {
        let file = File::open(path).with_context(|| format!("cannot open {}", path.display()))?;
        let load = || {
            let identity = identify(file)?;
            let filter = match identity.kind {
                FilterKind::Quotient => Self::Quotient(QuotientFilter::load(path)?),
                FilterKind::Adaptive => Self::Adaptive(AdaptiveFilter::load(path)?.into()),
                FilterKind::Expandable => Self::Expandable(ExpandableFilter::load(path)?),
                other => {
                    let what = format!("this program does not know {} filters", other.name());
                    return Err(ReadError::Inconsistent(what));
                }
            };
            Ok((filter, identity.version))
        };
        load().map_err(|error| match error {
            ReadError::NotAFilter { .. } => anyhow!("{} is no twiceshy filter", path.display()),
            error => anyhow::Error::new(error).context(path.display().to_string()),
        })
    }

    pub(super) fn kind(&self) -> FilterKind {
        match self {
            Self::Quotient(_) => FilterKind::Quotient,
            Self::Adaptive(_) => FilterKind::Adaptive,
            Self::Expandable(_) => FilterKind::Expandable,
        }
    }

    pub(super) fn hasher(&self) -> &Hasher {
        match self {
            Self::Quotient(filter) => filter.hasher(),
            Self::Adaptive(filter) => filter.hasher(),
            Self::Expandable(filter) => filter.hasher(),
        }
    }

    pub(super) fn contains_batch(&self, keys: &[&[u8]], found: &mut [bool]) {
        match self {
            Self::Quotient(filter) => filter.contains_batch(keys, found),
            Self::Adaptive(filter) => filter.contains_batch(keys, found),
            Self::Expandable(filter) => filter.contains_batch(keys, found),
        }
    }

    /// Saves the filter. Ctrl-C waits until the file is complete.
    pub(super) fn save(&self, target: &Target) -> anyhow::Result<()> {
        interrupt::watch()?;
        let path = target.path();
        Ok(match self {
            Self::Quotient(filter) => filter.save(path),
            Self::Adaptive(filter) => filter.save(path),
            Self::Expandable(filter) => filter.save(path),
        }?)
    }
}

/// What to say about an adaptive filter where it does not belong.
pub(super) fn needs_its_keys(path: &Path) -> anyhow::Error {
    anyhow!(
        "{} is an adaptive filter, which cannot change without its keys: use a store (twiceshy store), or a filter of \
         kind quotient or expandable",
        path.display()
    )
}
