//! Files that a command makes: looked at before any work is done, and complete or not there.

use std::fs::{self, File};
use std::io::{self, BufWriter, Read, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use tempfile::NamedTempFile;

use crate::interrupt::{self, Interrupted};
use crate::kinds::ListKind;

/// How every file of the library begins, and where its kind is: `docs/format.md`.
const MAGIC: &[u8] = b"twiceshy";
const KIND_AT: usize = 10;

/// Bytes that are written between two looks at whether Ctrl-C was pressed.
const PIECE: usize = 1 << 20;

fn kind_in(first: &[u8]) -> Option<u8> {
    first.get(KIND_AT).copied()
}

/// What a command writes, which is all that it replaces: a file that was named by mistake stays as it is.
#[derive(Clone, Copy)]
pub(crate) enum Contents {
    Filter,
    List(ListKind),
    Page,
    Figures,
    Picture,
}

impl Contents {
    const fn name(self) -> &'static str {
        match self {
            Self::Filter => "a filter file",
            Self::List(kind) => kind.name(),
            Self::Page => "a page",
            Self::Figures => "JSON",
            Self::Picture => "an SVG picture",
        }
    }

    /// What to say to those who have swapped arguments.
    const fn order(self) -> &'static str {
        match self {
            Self::Filter => " (the filter to make comes first, then what it is made of)",
            Self::List(_) | Self::Page | Self::Figures | Self::Picture => "",
        }
    }

    /// Whether a file has something like this in it, as far as its first bytes tell. Nothing is lost with an empty file.
    fn is_in(self, path: &Path) -> anyhow::Result<bool> {
        let mut first = Vec::new();
        let file = File::open(path).with_context(|| format!("cannot open {}", path.display()))?;
        let read = file.take(1 << 16).read_to_end(&mut first);
        read.with_context(|| format!("cannot read {}", path.display()))?;
        Ok(match self {
            _ if first.is_empty() => true,
            // How every filter file begins, also one that is damaged, or of another version.
            Self::Filter => first.starts_with(MAGIC) && kind_in(&first).and_then(ListKind::of).is_none(),
            Self::List(kind) => first.starts_with(MAGIC) && kind_in(&first) == Some(kind.number()),
            Self::Page => first.starts_with(b"<!doctype html>"),
            Self::Figures => first.starts_with(b"{"),
            Self::Picture => first.starts_with(b"<svg"),
        })
    }
}

/// Where a command will put its file.
pub(crate) struct Target(PathBuf);

impl Target {
    /// A file that is not there yet: for lines, which nothing tells from those of somebody else.
    pub(crate) fn fresh(path: &Path) -> anyhow::Result<Self> {
        if path.symlink_metadata().is_ok() {
            // What is no file has another remedy.
            Self::existing(path)?;
            bail!("{0} exists already: give another name, or remove {0} first", path.display());
        }
        Self::absent(path)
    }

    /// A file that is not there yet, or one that may be replaced. `remedy` is what to say about one that may not.
    pub(crate) fn new(path: &Path, contents: Contents, replace: bool, remedy: &str) -> anyhow::Result<Self> {
        let target = Self::replacing(path, contents)?;
        if !replace && path.symlink_metadata().is_ok() {
            bail!("{} exists already: {remedy}", path.display());
        }
        Ok(target)
    }

    /// A file that is not there yet, or takes the place of one with such contents.
    pub(crate) fn replacing(path: &Path, contents: Contents) -> anyhow::Result<Self> {
        if path.symlink_metadata().is_ok() {
            let target = Self::existing(path)?;
            if !contents.is_in(path)? {
                let (what, order) = (contents.name(), contents.order());
                bail!(
                    "{0} exists already and is not {what}, so it is never replaced: give another name, or remove \
                     {0} first{order}",
                    path.display()
                );
            }
            return Ok(target);
        }
        Self::absent(path)
    }

    /// A file that is not there, in a folder that is.
    fn absent(path: &Path) -> anyhow::Result<Self> {
        let folder = folder_of(path);
        match fs::metadata(folder) {
            Ok(about) if !about.is_dir() => bail!("{} is a file, not a folder", folder.display()),
            found => found.with_context(|| format!("cannot write into the folder {}", folder.display()))?,
        };
        Self(path.to_owned()).tried()
    }

    /// A file that is there. For a link it is the file that the link leads to.
    pub(crate) fn existing(path: &Path) -> anyhow::Result<Self> {
        let cannot = || format!("cannot open {}", path.display());
        let is_link = fs::symlink_metadata(path).with_context(cannot)?.is_symlink();
        // As it was given, if possible: so it is called in messages.
        let path = if is_link { fs::canonicalize(path).with_context(cannot)? } else { path.to_owned() };
        // A device must not be replaced by a file.
        if !fs::metadata(&path).is_ok_and(|about| about.is_file()) {
            bail!("{} is not a regular file: give the name of one", path.display());
        }
        Self(path).tried()
    }

    /// Finds out now, not after all the work, that the folder is closed or the disk full.
    fn tried(self) -> anyhow::Result<Self> {
        // A file without a name, where there can be one: nothing is left of it, whenever the program ends.
        tempfile::tempfile_in(folder_of(&self.0)).with_context(|| self.cannot())?;
        Ok(self)
    }

    /// A file beside it, which is gone when it is dropped.
    fn unfinished(&self) -> anyhow::Result<NamedTempFile> {
        let make = || tempfile::Builder::new().prefix(".twiceshy-").tempfile_in(folder_of(&self.0));
        let file = interrupt::temporary(make);
        file.with_context(|| self.cannot())
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0
    }

    fn cannot(&self) -> String {
        format!("cannot write {}", self.0.display())
    }

    /// Begins to write the file, under another name.
    pub(crate) fn begin(&self) -> anyhow::Result<Unfinished<'_>> {
        let out = BufWriter::with_capacity(1 << 16, self.unfinished()?);
        Ok(Unfinished { target: self, out })
    }

    /// Saves something of the library, for its owner only. Ctrl-C ends it as long as the file does not have its name: then nothing is
    /// left of it, and an old file is as it was.
    pub(crate) fn save(&self, write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> anyhow::Result<()> {
        interrupt::watch()?;
        self.save_unless(interrupt::check, write)
    }

    fn save_unless(
        &self,
        check: impl Fn() -> Result<(), Interrupted>,
        write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
    ) -> anyhow::Result<()> {
        let mut file = self.begin()?;
        let written = write(&mut Checked { out: &mut file.out, check: &check });
        check()?;
        written.with_context(|| self.cannot())?;
        file.finish_after(|| Ok(check()?))
    }

    /// Writes the file.
    pub(crate) fn write(
        &self,
        write: impl FnOnce(&mut dyn Write) -> anyhow::Result<()>,
    ) -> anyhow::Result<()> {
        let mut file = self.begin()?;
        write(&mut file.out)?;
        file.finish()
    }
}

/// A file under another name, which it loses when it is complete and on the disk. It is gone when it is dropped before.
pub(crate) struct Unfinished<'a> {
    target: &'a Target,
    out: BufWriter<NamedTempFile>,
}

impl Unfinished<'_> {
    /// Writes some of it.
    pub(crate) fn append(&mut self, bytes: &[u8]) -> anyhow::Result<()> {
        self.out.write_all(bytes).with_context(|| self.target.cannot())
    }

    /// Now it is complete.
    pub(crate) fn finish(self) -> anyhow::Result<()> {
        self.finish_after(|| Ok(()))
    }

    /// The same with a last word when all of it is on the disk, before it gets its name.
    fn finish_after(self, last_word: impl FnOnce() -> anyhow::Result<()>) -> anyhow::Result<()> {
        let cannot = || self.target.cannot();
        let file = self.out.into_inner().map_err(|error| error.into_error()).with_context(cannot)?;
        file.as_file().sync_all().with_context(cannot)?;
        last_word()?;
        file.persist(&self.target.0).map_err(|error| error.error).with_context(cannot)?;
        sync_folder(folder_of(&self.target.0)).with_context(cannot)
    }
}

/// What is written in pieces, as long as a check goes well.
struct Checked<'a, W, C> {
    out: &'a mut W,
    check: &'a C,
}

impl<W: Write, C: Fn() -> Result<(), Interrupted>> Write for Checked<'_, W, C> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        (self.check)().map_err(io::Error::other)?;
        self.out.write(&bytes[..bytes.len().min(PIECE)])
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

/// Makes a new name durable. Other systems than Unix have no way to ask for it.
fn sync_folder(folder: &Path) -> io::Result<()> {
    if cfg!(unix) { File::open(folder)?.sync_all() } else { Ok(()) }
}

fn folder_of(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    /// Whenever Ctrl-C comes, there is the old file or the new one, nothing else, and the status says which.
    #[test]
    fn ctrl_c_while_a_file_is_saved_leaves_nothing_of_it() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("list");
        let target = Target::fresh(&path).unwrap();
        fs::write(&path, "old").unwrap();
        let contents = vec![7; 3 * PIECE];
        for pressed_at in 0..20 {
            let looks = Cell::new(0);
            let check = || {
                looks.set(looks.get() + 1);
                if looks.get() > pressed_at { Err(Interrupted) } else { Ok(()) }
            };
            let saved = target.save_unless(check, |out| out.write_all(&contents));
            assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1, "{pressed_at}");
            let now = fs::read(&path).unwrap();
            match saved {
                Ok(()) => {
                    assert!(now == contents, "{pressed_at}");
                    return assert!(pressed_at >= 5, "it looks between pieces and before the end");
                }
                Err(error) => assert!(error.is::<Interrupted>() && now == b"old", "{pressed_at}: {error}"),
            }
        }
        panic!("it looks for ever");
    }
}
