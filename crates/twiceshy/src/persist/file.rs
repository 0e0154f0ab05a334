//! Files: written whole or not at all, and readable by their owner only, since they hold the hash key.

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufReader, Read, Seek};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use super::ReadError;

/// Why a filter could not be saved. An older file of the same name is as it was, unless the last step
/// failed, syncing the folder: then the new one is in its place, and complete, but a power cut may still
/// bring the old one back.
#[derive(Debug, thiserror::Error)]
#[error("cannot {step} {}: {source}", path.display())]
#[non_exhaustive]
pub struct SaveError {
    /// What failed.
    pub step: &'static str,
    /// The file that was worked on.
    pub path: PathBuf,
    /// What the system said.
    pub source: io::Error,
}

/// Writes a file through `write`, first under another name, and gives it its name when it is complete
/// and on the disk.
pub(crate) fn save(path: &Path, write: impl FnOnce(&mut File) -> io::Result<()>) -> Result<(), SaveError> {
    let step = |step, path: &Path| {
        let path = path.to_owned();
        move |source| SaveError { step, path, source }
    };
    // A link stays one, and neither a folder nor a device gives way to a file.
    let path = &match fs::metadata(path) {
        Ok(about) if about.is_file() => fs::canonicalize(path).map_err(step("find", path))?,
        Ok(_) => {
            let source = io::Error::new(io::ErrorKind::InvalidInput, "it is there and is not a regular file");
            return Err(step("replace", path)(source));
        }
        Err(_) => path.to_owned(),
    };
    let temporary = temporary_name(path);
    let written = create_private(&temporary)
        .and_then(|mut file| write(&mut file).and_then(|()| file.sync_all()))
        .map_err(step("write", &temporary))
        .and_then(|()| fs::rename(&temporary, path).map_err(step("rename the new file to", path)));
    if let Err(error) = written {
        // The file may not even exist; the first error is the one that matters.
        let _ = fs::remove_file(&temporary);
        return Err(error);
    }
    sync_folder(path).map_err(step("sync the folder of", path))
}

/// A name in the same folder that no other save uses.
fn temporary_name(path: &Path) -> PathBuf {
    static COUNTER: AtomicU64 = AtomicU64::new(0);
    let number = COUNTER.fetch_add(1, Ordering::Relaxed);
    path.with_file_name(format!(".twiceshy-{}-{number}.tmp", std::process::id()))
}

fn create_private(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)
}

/// Makes a rename durable. Other systems than Unix have no way to ask for it.
fn sync_folder(path: &Path) -> io::Result<()> {
    if !cfg!(unix) {
        return Ok(());
    }
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    File::open(folder.unwrap_or(Path::new(".")))?.sync_all()
}

/// Reads a whole file through `read`; what follows after the filter is an error.
pub(crate) fn load<T>(
    path: &Path,
    read: impl FnOnce(&mut BufReader<File>) -> Result<T, ReadError>,
) -> Result<T, ReadError> {
    let open = |source| ReadError::Open { path: path.to_owned(), source };
    let file = File::open(path).map_err(open)?;
    let size = file.metadata().map_err(open)?.len();
    let mut reader = BufReader::new(file);
    let filter = read(&mut reader)?;
    let end = reader.stream_position()?;
    match reader.read(&mut [0])? {
        0 => Ok(filter),
        _ => Err(ReadError::Length { expected: end, found: size.max(end + 1) }),
    }
}
