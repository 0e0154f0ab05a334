//! The few files that a store keeps beside its engine: the seam where tests lose what was not synced.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

/// A file that is being written.
pub trait NewFile: Write + Send {
    /// Returns when all that was written survives a power cut, if the file's name does.
    fn sync(&mut self) -> io::Result<()>;
}

/// A folder with files, as far as a store needs one.
///
/// A power cut may undo everything that was not synced: what a file holds ([`NewFile::sync`]), and that it was
/// created, renamed or removed ([`sync_folder`](Self::sync_folder)).
pub trait Files: Send + Sync + 'static {
    /// Where they are, for messages.
    fn path(&self) -> &Path;
    /// The names of all files.
    fn names(&self) -> io::Result<Vec<String>>;
    /// Opens a file to read it; `None` if there is none.
    fn open(&self, name: &str) -> io::Result<Option<Box<dyn Read + '_>>>;
    /// Creates a file that only its owner can read, in place of an older one.
    fn create(&self, name: &str) -> io::Result<Box<dyn NewFile + '_>>;
    /// Renames a file, in place of an older one of the new name.
    fn rename(&self, from: &str, to: &str) -> io::Result<()>;
    /// Removes a file.
    fn remove(&self, name: &str) -> io::Result<()>;
    /// Returns when what was created, renamed or removed survives a power cut.
    fn sync_folder(&self) -> io::Result<()>;
}

/// Writes a file so that it has the old contents or the new ones, whatever happens on the way.
pub(crate) fn replace(
    files: &dyn Files,
    name: &str,
    write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> io::Result<()> {
    let unfinished = format!("{name}{UNFINISHED}");
    let written = (|| {
        let mut file = files.create(&unfinished)?;
        write(&mut *file)?;
        file.sync()
    })();
    match written {
        Ok(()) => {
            files.rename(&unfinished, name)?;
            files.sync_folder()
        }
        Err(error) => {
            // It is overwritten the next time; that it takes no space until then would be nice.
            let _ = files.remove(&unfinished);
            Err(error)
        }
    }
}

/// What the name of a file ends with while it is being written.
pub(crate) const UNFINISHED: &str = ".unfinished";

/// A folder of the operating system.
#[derive(Debug, Clone)]
pub struct Folder {
    path: PathBuf,
}

impl Folder {
    /// The folder, which only its owner can read if it has to be created.
    pub fn create(path: impl Into<PathBuf>) -> io::Result<Self> {
        let path = path.into();
        private_folder(&path)?;
        Ok(Self { path })
    }
}

/// A folder and those that it is in, as far as they are not there; the innermost first.
pub(crate) fn missing_folders(path: &Path) -> Vec<PathBuf> {
    let is_missing = |folder: &&Path| !folder.as_os_str().is_empty() && !folder.exists();
    path.ancestors().take_while(is_missing).map(Path::to_owned).collect()
}

/// Creates a folder that only its owner can read, unless it is there, and those that it is in.
pub(crate) fn private_folder(path: &Path) -> io::Result<()> {
    #[cfg(unix)]
    let new = missing_folders(path);
    let mut builder = fs::DirBuilder::new();
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.recursive(true).create(path)?;
    // Their names must survive a power cut, too. Whoever may not read the folder that they are in cannot sync it.
    #[cfg(unix)]
    for folder in new.iter().filter_map(|folder| folder.parent()) {
        let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
        let _ = File::open(folder).and_then(|folder| folder.sync_all());
    }
    Ok(())
}

/// Creates an empty file that only its owner can read, unless there is one.
#[cfg(feature = "redb")]
pub(crate) fn private_file(path: &Path) -> io::Result<()> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    match options.open(path) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(error),
        _ => Ok(()),
    }
}

/// A file of the operating system that is being written.
struct Plain(io::BufWriter<File>);

impl Write for Plain {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

impl NewFile for Plain {
    fn sync(&mut self) -> io::Result<()> {
        self.0.flush()?;
        self.0.get_ref().sync_all()
    }
}

impl Files for Folder {
    fn path(&self) -> &Path {
        &self.path
    }

    fn names(&self) -> io::Result<Vec<String>> {
        fs::read_dir(&self.path)?.map(|entry| Ok(entry?.file_name().to_string_lossy().into_owned())).collect()
    }

    fn open(&self, name: &str) -> io::Result<Option<Box<dyn Read + '_>>> {
        match File::open(self.path.join(name)) {
            Ok(file) => Ok(Some(Box::new(io::BufReader::with_capacity(1 << 20, file)))),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    fn create(&self, name: &str) -> io::Result<Box<dyn NewFile + '_>> {
        let mut options = OpenOptions::new();
        options.write(true).create(true).truncate(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        Ok(Box::new(Plain(io::BufWriter::with_capacity(1 << 20, options.open(self.path.join(name))?))))
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        fs::rename(self.path.join(from), self.path.join(to))
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        fs::remove_file(self.path.join(name))
    }

    fn sync_folder(&self) -> io::Result<()> {
        // Other systems sync a name with its file.
        #[cfg(unix)]
        File::open(&self.path)?.sync_all()?;
        Ok(())
    }
}

/// No files: whatever is written is forgotten. For a store that nobody can open again.
pub(crate) struct Nowhere;

impl Write for Nowhere {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl NewFile for Nowhere {
    fn sync(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Files for Nowhere {
    fn path(&self) -> &Path {
        Path::new("memory")
    }

    fn names(&self) -> io::Result<Vec<String>> {
        Ok(Vec::new())
    }

    fn open(&self, _: &str) -> io::Result<Option<Box<dyn Read + '_>>> {
        Ok(None)
    }

    fn create(&self, _: &str) -> io::Result<Box<dyn NewFile + '_>> {
        Ok(Box::new(Nowhere))
    }

    fn rename(&self, _: &str, _: &str) -> io::Result<()> {
        Ok(())
    }

    fn remove(&self, _: &str) -> io::Result<()> {
        Ok(())
    }

    fn sync_folder(&self) -> io::Result<()> {
        Ok(())
    }
}
