//! What a file of the library is, by its first bytes, and which commands are for it.

use std::fs::{self, File};
use std::path::Path;

use anyhow::{Context, anyhow};
use twiceshy::any::{FilterKind, Identity, identify};
use twiceshy::error::ReadError;

/// The files of lists.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ListKind {
    Keyed,
    Frozen,
    Delta,
}

impl ListKind {
    const ALL: [Self; 3] = [Self::Keyed, Self::Frozen, Self::Delta];

    /// As the library calls it.
    pub(crate) const fn kind(self) -> FilterKind {
        match self {
            Self::Keyed => FilterKind::List,
            Self::Frozen => FilterKind::FrozenList,
            Self::Delta => FilterKind::ListDelta,
        }
    }

    /// Its number in files.
    pub(crate) const fn number(self) -> u8 {
        self.kind() as u8
    }

    /// The one with this number, if it is one.
    pub(crate) fn of(number: u8) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.number() == number)
    }

    /// As messages call it.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Keyed => "a list with keys",
            Self::Frozen => "a frozen list",
            Self::Delta => "a delta of a frozen list",
        }
    }
}

/// What the first bytes of a file say that ought to be a `wanted` one.
pub(crate) fn identity(path: &Path, wanted: &str) -> anyhow::Result<Identity> {
    let file = File::open(path).with_context(|| format!("cannot open {}", path.display()))?;
    identify(file).map_err(|error| in_words(path, error, wanted))
}

/// What a file is, if it is one of the library.
pub(crate) fn of_file(path: &Path) -> Option<FilterKind> {
    let is_file = fs::metadata(path).is_ok_and(|about| about.is_file());
    let file = File::open(path).ok().filter(|_| is_file)?;
    Some(identify(file).ok()?.kind)
}

/// An error of the library, with the file in it that ought to be a `wanted` one: a filter or a list.
pub(crate) fn in_words(path: &Path, error: ReadError, wanted: &str) -> anyhow::Error {
    let file = path.display();
    match error {
        ReadError::NotAFilter { .. } => anyhow!("{file} is no twiceshy {wanted}"),
        // It has the file in it.
        ReadError::Open { .. } => error.into(),
        ReadError::Field { field: "kind", found, .. } => match numbered(found) {
            Some(kind) => other(path, kind),
            None => anyhow::Error::new(error).context(file.to_string()),
        },
        _ if path.is_dir() => anyhow!(
            "{file} is a folder, not the file of a {wanted}: if it is a store, ask it with twiceshy store stats {file}"
        ),
        error => anyhow::Error::new(error).context(file.to_string()),
    }
}

fn numbered(number: u64) -> Option<FilterKind> {
    FilterKind::ALL.iter().copied().find(|&kind| kind as u64 == number)
}

/// What to say of a file that is of another kind than the command is for: what it is, and what can be done with it.
pub(crate) fn other(path: &Path, kind: FilterKind) -> anyhow::Error {
    let file = path.display();
    match kind {
        FilterKind::AdaptiveRange | FilterKind::Range => {
            anyhow!("{file} is a filter of ranges: only a program that knows the type of its keys can ask it")
        }
        FilterKind::BloomCascade | FilterKind::QuotientCascade => {
            anyhow!("{file} is a cascade: only a program that uses the library can ask it")
        }
        _ => match ListKind::of(kind as u8) {
            None => anyhow!(
                "{file} is a filter of kind {}: ask it with twiceshy filter query {file}, see what is in it with twiceshy \
                 filter info {file}",
                kind.name()
            ),
            Some(delta @ ListKind::Delta) => anyhow!(
                "{file} is {}: apply it with twiceshy list apply LIST {file} -o NEW, see what is in it with twiceshy list \
                 info {file}",
                delta.name()
            ),
            Some(list) => anyhow!(
                "{file} is {}: ask it with twiceshy list query {file}, see what is in it with twiceshy list info {file}",
                list.name()
            ),
        },
    }
}

/// What to say of a file that was given where keys are wanted.
pub(crate) fn no_keys(path: &Path, kind: FilterKind) -> anyhow::Error {
    let file = path.display();
    match ListKind::of(kind as u8) {
        None => anyhow!("{file} is a filter, not a file of keys: to put filters together, use filter merge"),
        Some(ListKind::Keyed) => {
            anyhow!(
                "{file} is a list, not a file of keys: to take over the keys of a list, use list build --keys-of {file}"
            )
        }
        Some(kind) => anyhow!("{file} is {}, not a file of keys, and has none in it", kind.name()),
    }
}
