//! Where results go: tried before the race, written at the end, complete or not at all.

use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};

const PAGE: &str = "race.html";
const FIGURES: &str = "race.json";

/// The folder for the results. If the race ends without any, a folder that was made for them is removed.
pub(super) struct Out {
    folder: PathBuf,
    is_ours: bool,
}

impl Out {
    /// Makes the folder if need be, and tries to write there.
    pub(super) fn prepare(folder: &Path) -> anyhow::Result<Self> {
        let is_ours = !folder.exists();
        if is_ours {
            fs::create_dir_all(folder).with_context(|| {
                format!("cannot make the folder {}: choose another one with --out", folder.display())
            })?;
        } else if !folder.is_dir() {
            bail!("{} is not a folder: --out needs one, for race.html and race.json", folder.display());
        }
        let out = Self { folder: folder.to_owned(), is_ours };
        for name in [PAGE, FIGURES] {
            check(&folder.join(name)).context("the results have no place: choose another one with --out")?;
        }
        Ok(out)
    }

    /// Writes the page and the figures. Tells where they are.
    pub(super) fn write(&self, page: &str, figures: &str) -> anyhow::Result<[PathBuf; 2]> {
        let paths = [self.folder.join(PAGE), self.folder.join(FIGURES)];
        for (path, contents) in paths.iter().zip([page, figures]) {
            write(path, contents)
                .context("the results are lost but for the table: choose another place with --out")?;
        }
        Ok(paths)
    }
}

impl Drop for Out {
    fn drop(&mut self) {
        if self.is_ours {
            // Fails if there is anything in it, as it should.
            let _ = fs::remove_dir(&self.folder);
        }
    }
}

/// Whether a file can be written at this place. It would take the place of an older one, but not of a folder or a device.
pub(super) fn check(path: &Path) -> anyhow::Result<()> {
    if path.exists() && !path.is_file() {
        bail!("{} is there and is not a file", path.display());
    }
    try_to_write(folder_of(path)).with_context(|| format!("cannot write {}", path.display()))
}

fn folder_of(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// A name for a file that is being written; nobody else's.
fn unfinished(folder: &Path) -> PathBuf {
    folder.join(format!(".twiceshy-race-{}.unfinished", std::process::id()))
}

fn try_to_write(folder: &Path) -> anyhow::Result<()> {
    let path = unfinished(folder);
    File::create(&path)?;
    Ok(fs::remove_file(&path)?)
}

/// Writes a file so that it has the old contents or the new ones, whatever happens on the way.
pub(super) fn write(path: &Path, contents: &str) -> anyhow::Result<()> {
    let new = unfinished(folder_of(path));
    let written = (|| {
        let mut file = File::create(&new)?;
        file.write_all(contents.as_bytes())?;
        file.sync_all()?;
        fs::rename(&new, path)
    })();
    written
        .inspect_err(|_| {
            let _ = fs::remove_file(&new);
        })
        .with_context(|| format!("cannot write {}", path.display()))
}
