//! Where results go: tried before the race, written at the end, complete or not at all.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};

use crate::interrupt;
use crate::target::{Contents, Target};

/// The folder for the results. If the race ends without any, a folder that was made for them is removed.
pub(super) struct Out {
    pub(super) page: Place,
    pub(super) figures: Place,
    _folder: Folder,
}

/// Where a file goes.
pub(super) struct Place {
    target: Target,
    /// As it was asked for, the same every time.
    pub(super) path: PathBuf,
    /// Whether there is an earlier one.
    pub(super) is_replaced: bool,
}

impl Place {
    pub(super) fn new(path: PathBuf, contents: Contents) -> anyhow::Result<Self> {
        let target = Target::replacing(&path, contents)?;
        Ok(Self { target, is_replaced: path.exists(), path })
    }

    /// Writes a file as a whole.
    pub(super) fn write(&self, contents: &str) -> anyhow::Result<()> {
        self.target.write(|out| Ok(out.write_all(contents.as_bytes())?))
    }
}

/// To be said when it is written.
impl std::fmt::Display for Place {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let replaced = if self.is_replaced { " (replaces an earlier one)" } else { "" };
        write!(f, "{}{replaced}", self.path.display())
    }
}

/// A folder that is removed if it is ours and nothing is in it.
struct Folder(Option<PathBuf>);

impl Drop for Folder {
    fn drop(&mut self) {
        if let Some(path) = &self.0 {
            // Fails if there is anything in it, as it should.
            let _ = fs::remove_dir(path);
        }
    }
}

impl Out {
    /// Makes the folder if need be, and tries to write there.
    pub(super) fn prepare(folder: &Path) -> anyhow::Result<Self> {
        let is_ours = !folder.exists();
        if is_ours {
            interrupt::folder(folder).with_context(|| {
                format!("cannot make the folder {}: choose another one with --out", folder.display())
            })?;
        } else if !folder.is_dir() {
            bail!("{} is not a folder: --out needs one, for race.html and race.json", folder.display());
        }
        let ours = Folder(is_ours.then(|| folder.to_owned()));
        let place = |name: &str, contents| {
            Place::new(folder.join(name), contents)
                .context("the results have no place: choose another one with --out")
        };
        let (page, figures) = (place("race.html", Contents::Page)?, place("race.json", Contents::Figures)?);
        Ok(Self { page, figures, _folder: ours })
    }

    /// Writes the page and the figures.
    pub(super) fn write(&self, page: &str, figures: &str) -> anyhow::Result<()> {
        for (place, contents) in [(&self.page, page), (&self.figures, figures)] {
            place
                .write(contents)
                .context("the results are lost but for the table: choose another place with --out")?;
        }
        Ok(())
    }
}
