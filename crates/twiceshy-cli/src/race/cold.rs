//! Files that the operating system has to read from the disk again: what a lookup costs when the data are larger than the
//! memory.

use std::fs::{self, File};
use std::io;
use std::path::Path;

/// All files of a store, to be evicted from the operating system's cache.
pub(super) struct Files(Vec<File>);

impl Files {
    /// The files below a folder. What they hold is on the disk then: only that can be evicted.
    pub(super) fn of(folder: &Path) -> io::Result<Self> {
        let mut files = Vec::new();
        collect(folder, &mut files)?;
        files.iter().try_for_each(File::sync_all)?;
        Ok(Self(files))
    }

    /// Has the operating system forget what it has read of them.
    pub(super) fn evict(&self) {
        self.0.iter().for_each(evict);
    }
}

#[cfg(target_os = "linux")]
fn evict(file: &File) {
    // Where it fails, the file is read from the cache, and what is measured shows that.
    let _ = rustix::fs::fadvise(file, 0, None, rustix::fs::Advice::DontNeed);
}

#[cfg(not(target_os = "linux"))]
fn evict(_: &File) {}

fn collect(folder: &Path, files: &mut Vec<File>) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            collect(&entry.path(), files)?;
        } else {
            files.push(File::open(entry.path())?);
        }
    }
    Ok(())
}

/// Why files in this folder cannot be evicted, if they cannot.
#[cfg(target_os = "linux")]
pub(super) fn impossible_in(folder: &Path) -> Option<&'static str> {
    /// File systems that have no disk: tmpfs and ramfs.
    const IN_MEMORY: [u32; 2] = [0x0102_1994, 0x8584_58F6];
    let is_in_memory =
        rustix::fs::statfs(folder).is_ok_and(|about| IN_MEMORY.contains(&(about.f_type as u32)));
    is_in_memory.then_some("the stores lie in memory: choose a folder on a disk with --dir")
}

#[cfg(not(target_os = "linux"))]
pub(super) fn impossible_in(_: &Path) -> Option<&'static str> {
    Some("this is done on Linux only")
}
