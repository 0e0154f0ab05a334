//! What RocksDB says when it fails, sorted by kind.
//!
//! Through the C interface an error is a line of text: the class of the error, what was tried with which file, and if
//! the operating system refused, its words for that. So the words of all its errors are looked for in the text, as the
//! operating system gives them now: it may speak another language.

use std::io;

use rocksdb::{Error, ErrorKind};
use twiceshy_store::engine::{EngineError, EngineErrorKind};

use crate::NAME;

/// Linux has no higher number of an error.
const LAST_OS_ERROR: i32 = 133;

/// Where RocksDB finds that this process has the database open already.
const OPEN_HERE: &str = "lock hold by current process";

pub(crate) fn failed(error: Error) -> EngineError {
    EngineError::new(NAME, kind(error.kind(), error.as_ref()), error)
}

fn kind(class: ErrorKind, text: &str) -> EngineErrorKind {
    if text.contains(OPEN_HERE) {
        return EngineErrorKind::InUse;
    }
    if let Some(kind) = os_kind(text) {
        return kind;
    }
    match class {
        ErrorKind::Corruption => EngineErrorKind::Corrupt,
        // The files use something that this build of RocksDB does not have, as a way to compress.
        ErrorKind::NotSupported => EngineErrorKind::Version,
        ErrorKind::NotFound => EngineErrorKind::Missing,
        _ => EngineErrorKind::Other,
    }
}

/// What the operating system said, if that means something to a store.
fn os_kind(text: &str) -> Option<EngineErrorKind> {
    (1..=LAST_OS_ERROR).find_map(|number| {
        let error = io::Error::from_raw_os_error(number);
        let kind = EngineErrorKind::of_io(&error);
        let words = error.to_string();
        let words = words.strip_suffix(&format!(" (os error {number})"))?;
        (kind != EngineErrorKind::Other && text.contains(&format!(": {words}"))).then_some(kind)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_of_rocksdb_have_a_kind() {
        for (class, text, expected) in [
            (
                ErrorKind::IOError,
                "IO error: While lock file: /a/LOCK: Resource temporarily unavailable",
                EngineErrorKind::InUse,
            ),
            (
                ErrorKind::IOError,
                "IO error: lock hold by current process, acquire time 17 acquiring thread 4: /a/LOCK: No locks available",
                EngineErrorKind::InUse,
            ),
            // A file system without locks: nobody has it open.
            (
                ErrorKind::IOError,
                "IO error: While lock file: /a/LOCK: No locks available",
                EngineErrorKind::Other,
            ),
            (
                ErrorKind::IOError,
                "IO error: No space left on device: While appending to file: /a/000004.log: No space left on device",
                EngineErrorKind::NoSpace,
            ),
            (
                ErrorKind::IOError,
                "IO error: While appending to file: /a/000004.log: Disk quota exceeded",
                EngineErrorKind::NoSpace,
            ),
            (
                ErrorKind::IOError,
                "IO error: While open a file for appending: /a/LOCK: Permission denied",
                EngineErrorKind::Permission,
            ),
            (
                ErrorKind::IOError,
                "IO error: While fdatasync: /a/000004.log: Input/output error",
                EngineErrorKind::Other,
            ),
            (ErrorKind::Corruption, "Corruption: block checksum mismatch", EngineErrorKind::Corrupt),
            (ErrorKind::NotSupported, "Not implemented: compression", EngineErrorKind::Version),
            (
                ErrorKind::InvalidArgument,
                "Invalid argument: Column families not opened: other",
                EngineErrorKind::Other,
            ),
        ] {
            assert_eq!(kind(class, text), expected, "{text}");
        }
    }
}
