//! The folder with the stores of a race, which is gone when the race is over, however it ends.
//!
//! Only a race that is killed outright leaves its folder behind. A race therefore locks a file in its folder, and the
//! system drops that lock with the process: the next race in the same place removes folders whose lock nobody holds.

use std::fs::{self, File, Metadata};
use std::io;
use std::path::Path;

use tempfile::TempDir;

use crate::interrupt;

const PREFIX: &str = "twiceshy-race-";
const LOCK: &str = "in-use";

/// A folder that is removed when it is dropped: at the end, after an error, and after Ctrl-C, however often.
pub(super) struct Stores {
    folder: TempDir,
    /// Held as long as there is a folder. Where the system has no locks, a killed race leaves its folder behind.
    _lock: Option<File>,
}

impl Stores {
    pub(super) fn new(parent: &Path) -> io::Result<Self> {
        let folder = interrupt::temporary(|| tempfile::Builder::new().prefix(PREFIX).tempdir_in(parent))?;
        let lock = lock(folder.path()).ok();
        remove_leftovers(parent, &folder);
        Ok(Self { folder, _lock: lock })
    }

    pub(super) fn path(&self) -> &Path {
        self.folder.path()
    }

    /// Removes the folder, or says why that is not possible.
    pub(super) fn close(self) -> io::Result<()> {
        self.folder.close()
    }
}

/// Makes the file that says that a race is going on. It gets its name when it is locked, and not before.
fn lock(folder: &Path) -> io::Result<File> {
    let unnamed = folder.join("not-yet-in-use");
    let file = File::create_new(&unnamed)?;
    file.try_lock()?;
    fs::rename(unnamed, folder.join(LOCK))?;
    Ok(file)
}

/// Removes what killed races of the same user left behind. Whatever is in the way of that is no reason not to race.
fn remove_leftovers(parent: &Path, ours: &TempDir) {
    for entry in fs::read_dir(parent).into_iter().flatten().flatten() {
        let (path, name) = (entry.path(), entry.file_name());
        let is_race = name.as_encoded_bytes().starts_with(PREFIX.as_bytes()) && path != ours.path();
        if is_race && is_left_over(&path, ours.path()).unwrap_or(false) {
            let _ = fs::remove_dir_all(path);
        }
    }
}

fn is_left_over(path: &Path, ours: &Path) -> io::Result<bool> {
    let (about, about_ours) = (path.symlink_metadata()?, ours.symlink_metadata()?);
    let is_ours = about.is_dir() && owner(&about) == owner(&about_ours);
    // Without the file this is an error.
    Ok(is_ours && File::open(path.join(LOCK))?.try_lock().is_ok())
}

#[cfg(unix)]
fn owner(about: &Metadata) -> u32 {
    std::os::unix::fs::MetadataExt::uid(about)
}

/// Elsewhere temporary folders belong to one user.
#[cfg(not(unix))]
fn owner(_: &Metadata) -> u32 {
    0
}
