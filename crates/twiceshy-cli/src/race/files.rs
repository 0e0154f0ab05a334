//! Where results go: tried before the race, written at the end, complete or not at all.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};

use crate::interrupt;
use crate::target::{Contents, Target};

/// The folder for the results. If the race ends without any, a folder that was made for them is removed.
pub(super) struct Out {
    page: Target,
    figures: Target,
    _folder: Folder,
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
            Target::replacing(&folder.join(name), contents)
                .context("the results have no place: choose another one with --out")
        };
        let (page, figures) = (place("race.html", Contents::Page)?, place("race.json", Contents::Figures)?);
        Ok(Self { page, figures, _folder: ours })
    }

    /// Writes the page and the figures. Tells where they are.
    pub(super) fn write(&self, page: &str, figures: &str) -> anyhow::Result<[PathBuf; 2]> {
        for (target, contents) in [(&self.page, page), (&self.figures, figures)] {
            write(target, contents)
                .context("the results are lost but for the table: choose another place with --out")?;
        }
        Ok([&self.page, &self.figures].map(|target| target.path().to_owned()))
    }
}

/// Writes a file as a whole.
pub(super) fn write(target: &Target, contents: &str) -> anyhow::Result<()> {
    target.write(|out| Ok(out.write_all(contents.as_bytes())?))
}
