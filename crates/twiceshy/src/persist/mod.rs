//! Filters as bytes: a header of 128 bytes and the tables as they are in memory.
//!
//! The format is drawn in `docs/format.md`. What is the same for all kinds of filters is here, and no kind is named:
//!
//! | file | what |
//! |---|---|
//! | `kind.rs` | [`Kind`]: what a kind says of itself; [`Stored`]: what follows from it |
//! | `header.rs` | the fields of the header |
//! | `body.rs` | what follows it, from a stream or from bytes in place |
//! | `file.rs` | files that are complete or not there |
//! | `methods.rs` | the methods that every filter gets, with their documentation |
//! | `serde.rs` | the same bytes in formats of `serde` |
//!
//! What the numbers in the header mean for a filter is the filter's business.
//!
//! Everything that is read is distrusted. The header is checked before anything is allocated, memory
//! grows only as fast as bytes arrive, and a filter that can be changed is handed out only after its
//! checksum and every invariant of its tables were checked.

mod body;
pub(crate) mod file;
mod header;
mod kind;
mod methods;
#[cfg(feature = "serde")]
pub(crate) mod serde;

pub(crate) use body::{Body, Pieces, Source};
pub use file::SaveError;
pub(crate) use header::{Described, First, Front, Header, Own, expect, expect_zeros};
pub(crate) use kind::{Kind, Parts, Stored, from_bytes, load, read, save, to_bytes, validate, view, write};
pub(crate) use methods::stored;

use std::io;
use std::path::PathBuf;

use crate::mem::OutOfMemory;

/// Why bytes could not be read as a filter.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReadError {
    /// The file could not be opened.
    #[error("cannot open {}: {source}", path.display())]
    Open {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// Reading failed.
    #[error("cannot read the filter: {0}")]
    Io(#[from] io::Error),
    /// The bytes end too early, or go on after the end of the filter.
    #[error("expected {expected} bytes, found {found}: {}", if found < expected {
        "the file was cut off"
    } else {
        "the file has something appended, as that of a set has its keys"
    })]
    Length {
        /// Bytes that the filter has.
        expected: u64,
        /// Bytes that there are.
        found: u64,
    },
    /// The bytes do not begin as a filter does.
    #[error("expected a file that begins with {expected:?}, found {found:?}: this is no twiceshy filter")]
    NotAFilter {
        /// How every filter begins.
        expected: [u8; 8],
        /// How this one begins.
        found: [u8; 8],
    },
    /// The file is of a version that this program does not know.
    #[error("the file has format version {found}, this program reads up to {supported}: use a newer one")]
    NewerVersion {
        /// The newest version that can be read.
        supported: u16,
        /// The version of the file.
        found: u16,
    },
    /// The file is of a version that was never released.
    #[error(
        "the file has format version {found}, from before the first release, and this program reads from \
         {supported} on: build the filter anew from its keys"
    )]
    OlderVersion {
        /// The oldest version that can be read.
        supported: u16,
        /// The version of the file.
        found: u16,
    },
    /// The file holds a filter of another kind.
    #[error("expected a filter of kind {expected}, found kind {found}")]
    WrongKind {
        /// The kind that was asked for.
        expected: u8,
        /// The kind of the file.
        found: u8,
    },
    /// A checksum does not match: the bytes changed since they were written.
    #[error(
        "the checksum of the {part} is {found:08x}, expected {expected:08x}: the file is damaged, restore a copy"
    )]
    Checksum {
        /// Header or table.
        part: &'static str,
        /// The checksum that was stored.
        expected: u32,
        /// The checksum of what was read.
        found: u32,
    },
    /// A field of the header has a value that no filter has.
    #[error("the header says {field} = {found}, expected {expected}")]
    Field {
        /// Name of the field.
        field: &'static str,
        /// What it could be.
        expected: String,
        /// What it is.
        found: u64,
    },
    /// The table contradicts itself, although its checksum is right: some other program wrote it.
    #[error("the table is inconsistent: {0}")]
    Inconsistent(String),
    /// The memory for the table could not be allocated.
    #[error(transparent)]
    Memory(#[from] OutOfMemory),
}

impl ReadError {
    /// Whether there is no such file. Then make one:
    ///
    /// ```
    /// # let folder = tempfile::tempdir()?;
    /// # let path = folder.path().join("seen.twiceshy");
    /// use twiceshy::ExpandableFilter;
    ///
    /// let mut seen = match ExpandableFilter::load(&path) {
    ///     Err(error) if error.is_not_found() => ExpandableFilter::new(0.001)?,
    ///     loaded => loaded?,
    /// };
    /// seen.insert("moth")?;
    /// seen.save(&path)?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn is_not_found(&self) -> bool {
        matches!(self, Self::Open { source, .. } if source.kind() == io::ErrorKind::NotFound)
    }
}

/// The checksum of the format: CRC-32 as in gzip.
pub(crate) fn checksum(bytes: &[u8]) -> u32 {
    crc32fast::hash(bytes)
}

/// `Err` unless `bytes` have the checksum `expected`.
pub(crate) fn check_sum(part: &'static str, bytes: &[u8], expected: u32) -> Result<(), ReadError> {
    let found = checksum(bytes);
    if found == expected { Ok(()) } else { Err(ReadError::Checksum { part, expected, found }) }
}
