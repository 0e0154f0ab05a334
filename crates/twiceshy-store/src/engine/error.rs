//! What engines say when they fail, in words that do not depend on the engine.

use std::error::Error;
use std::fmt;
use std::io;

/// Why an engine could not read or write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum EngineErrorKind {
    /// Another process, or another part of this one, has it open.
    InUse,
    /// The files may not be read or written.
    Permission,
    /// The disk is full, or a quota is used up.
    NoSpace,
    /// Something that should be there is not.
    Missing,
    /// The files are damaged.
    Corrupt,
    /// The files were written by a version of the engine that this one does not read.
    Version,
    /// It failed to write earlier and refuses to go on, because it does not know what is on disk.
    Broken,
    /// Anything else.
    Other,
}

impl EngineErrorKind {
    /// What happened and what to do about it.
    const fn words(self) -> &'static str {
        match self {
            Self::InUse => "it is open already, here or in another process: close it there first",
            Self::Permission => "its files may not be read or written: check their owner and permissions",
            Self::NoSpace => "the disk is full: make room and open the store again",
            Self::Missing => "a file is missing: restore it, or the whole store, from a backup",
            Self::Corrupt => "its files are damaged: restore them from a backup",
            Self::Version => "its files come from another version of the engine: use that version",
            Self::Broken => {
                "an earlier write failed, so it writes no more: find out why and open the store again"
            }
            Self::Other => "it failed",
        }
    }

    /// What an error of the operating system means here.
    pub fn of_io(error: &io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => Self::Permission,
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded | io::ErrorKind::FileTooLarge => {
                Self::NoSpace
            }
            io::ErrorKind::NotFound => Self::Missing,
            io::ErrorKind::WouldBlock | io::ErrorKind::ResourceBusy => Self::InUse,
            io::ErrorKind::InvalidData | io::ErrorKind::UnexpectedEof => Self::Corrupt,
            _ => Self::Other,
        }
    }
}

/// An engine could not read or write.
#[derive(Debug)]
pub struct EngineError {
    engine: &'static str,
    kind: EngineErrorKind,
    source: Box<dyn Error + Send + Sync>,
}

impl EngineError {
    /// An error of an engine, with what the engine itself said.
    pub fn new(
        engine: &'static str,
        kind: EngineErrorKind,
        source: impl Into<Box<dyn Error + Send + Sync>>,
    ) -> Self {
        Self { engine, kind, source: source.into() }
    }

    /// An error of the operating system.
    pub fn io(engine: &'static str, error: io::Error) -> Self {
        Self::new(engine, EngineErrorKind::of_io(&error), error)
    }

    /// Whether the files are there and can be read, but hold nothing that it can use.
    pub(crate) fn is_about_contents(&self) -> bool {
        matches!(self.kind, EngineErrorKind::Missing | EngineErrorKind::Corrupt | EngineErrorKind::Version)
    }

    /// What the engine itself said.
    pub(crate) fn reason(&self) -> &dyn Error {
        &*self.source
    }

    /// Why it failed.
    pub fn kind(&self) -> EngineErrorKind {
        self.kind
    }
}

impl fmt::Display for EngineError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the engine ({}): {} ({})", self.engine, self.kind.words(), self.source)
    }
}

impl Error for EngineError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        Some(self.source.as_ref())
    }
}
