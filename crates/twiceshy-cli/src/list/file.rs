//! The files of lists: loading them, and changing them one program at a time.

use std::fs::{self, File, TryLockError};
use std::io;
use std::path::Path;

use anyhow::{Context, anyhow};
use twiceshy::error::ReadError;
use twiceshy::list::{Answer, Delta, ListFilter};
use twiceshy::reverse_map::MemoryMap;
use twiceshy::{FrozenYesNoList, YesNoList};

use crate::kinds::{self, ListKind};
use crate::target::Target;
use crate::{output, progress};

/// A list with keys, in memory.
pub(super) type KeyedList = YesNoList<MemoryMap>;

/// Which file of a list it is; an error if it is none.
pub(super) fn kind_of(path: &Path) -> anyhow::Result<ListKind> {
    let kind = kinds::identity(path, "list")?.kind;
    ListKind::of(kind as u8).ok_or_else(|| kinds::other(path, kind))
}

/// A file is of this kind, as far as its first bytes tell.
fn expect(path: &Path, wanted: ListKind) -> anyhow::Result<()> {
    let found = kind_of(path)?;
    if found == wanted {
        return Ok(());
    }
    let (file, found_name, wanted_name) = (path.display(), found.name(), wanted.name());
    Err(match (found, wanted) {
        (ListKind::Frozen, ListKind::Keyed) => anyhow!(
            "{file} is {found_name}, which has no keys and cannot change: give the list with keys that it was made from"
        ),
        (ListKind::Keyed, ListKind::Frozen) => anyhow!(
            "{file} is {found_name} and not {wanted_name}: make one of it with twiceshy list build --frozen --keys-of \
             {file} -o FROZEN"
        ),
        _ => anyhow!("{file} is {found_name} and not {wanted_name}: is the order of the arguments right?"),
    })
}

/// Loads a file of one kind and checks it completely.
fn load<T>(
    path: &Path,
    kind: ListKind,
    load: impl FnOnce(&Path) -> Result<T, ReadError>,
) -> anyhow::Result<T> {
    expect(path, kind)?;
    progress::waiting("loading", || load(path)).map_err(|error| kinds::in_words(path, error, "list"))
}

pub(super) fn load_keyed(path: &Path) -> anyhow::Result<KeyedList> {
    load(path, ListKind::Keyed, |path| KeyedList::load(path))
}

pub(super) fn load_frozen(path: &Path) -> anyhow::Result<FrozenYesNoList> {
    load(path, ListKind::Frozen, |path| FrozenYesNoList::load(path))
}

pub(super) fn load_delta(path: &Path) -> anyhow::Result<Delta> {
    load(path, ListKind::Delta, |path| Delta::load(path))
}

/// A list of any kind, to be asked.
#[expect(clippy::large_enum_variant, reason = "there is one of them")]
pub(super) enum Asked {
    /// Keys are not needed for that.
    Keyed(ListFilter),
    Frozen(FrozenYesNoList),
}

impl Asked {
    pub(super) fn load(path: &Path) -> anyhow::Result<Self> {
        match kind_of(path)? {
            kind @ ListKind::Keyed => load(path, kind, |path| KeyedList::load_filter(path)).map(Self::Keyed),
            ListKind::Frozen => load_frozen(path).map(Self::Frozen),
            ListKind::Delta => Err(kinds::other(path, ListKind::Delta.kind())),
        }
    }

    /// What it says of these keys.
    pub(super) fn answers(&self, keys: &[&[u8]]) -> Vec<Answer> {
        let mut answers = vec![Answer::No; keys.len()];
        match self {
            Self::Keyed(filter) => filter.query_batch(keys, &mut answers),
            Self::Frozen(list) => list.query_batch(keys, &mut answers),
        }
        answers
    }
}

/// The file of a list with keys that is to be changed. It is looked at before anything else is read.
pub(super) struct Changing(Target);

impl Changing {
    pub(super) fn new(path: &Path) -> anyhow::Result<Self> {
        expect(path, ListKind::Keyed)?;
        Target::existing(path).map(Self)
    }

    /// Changes the list with `change`, which says what it did and whether that is anything, and puts it in the place of
    /// the old one. An error leaves that as it was. Whoever else wants to change it at the same time waits.
    pub(super) fn change<T>(
        &self,
        change: impl FnOnce(&mut KeyedList) -> anyhow::Result<(T, bool)>,
    ) -> anyhow::Result<(KeyedList, T)> {
        let path = self.0.path();
        let _lock = lock(path)?;
        let mut list = load_keyed(path)?;
        let (done, is_changed) = progress::waiting("changing", || change(&mut list))?;
        if is_changed {
            progress::waiting("saving", || self.0.save(|out| list.write_to(out)))?;
        }
        Ok((list, done))
    }
}

/// Locks the file that has this name now. Who waited for the lock may have that of a file that was replaced meanwhile.
pub(super) fn lock(path: &Path) -> anyhow::Result<File> {
    let cannot = || format!("cannot lock {}", path.display());
    loop {
        let file = File::open(path).with_context(cannot)?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                output::complain(format_args!(
                    "note: waiting for another program that changes {}",
                    path.display()
                ));
                file.lock().with_context(cannot)?;
            }
            // There are no locks on this disk.
            Err(TryLockError::Error(error)) if error.kind() == io::ErrorKind::Unsupported => {}
            Err(TryLockError::Error(error)) => return Err(error).with_context(cannot),
        }
        if is_at(&file, path).with_context(cannot)? {
            return Ok(file);
        }
    }
}

/// Whether a file is the one of this name.
#[cfg(unix)]
fn is_at(file: &File, path: &Path) -> io::Result<bool> {
    use std::os::unix::fs::MetadataExt;

    let (one, other) = (file.metadata()?, fs::metadata(path)?);
    Ok((one.dev(), one.ino()) == (other.dev(), other.ino()))
}

#[cfg(not(unix))]
fn is_at(_: &File, path: &Path) -> io::Result<bool> {
    fs::metadata(path).map(|_| true)
}
