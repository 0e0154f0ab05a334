//! Files that are never changed.

use std::fs::OpenOptions;
use std::io::{ErrorKind, Write};
use std::path::Path;

/// What to do if such a file is not what it was.
pub const ADVICE: &str = "Files in fixtures/ are never changed, since users have files like them. If the new \
    bytes are wanted, the format has changed: raise its version, keep reading the old one, and add files of \
    the new version beside the old ones.";

/// Writes a file that is missing, if the environment asks for it with `TWICESHY_WRITE_FIXTURES=1`. It never overwrites one.
///
/// # Panics
///
/// If it cannot be written.
pub fn write_if_asked(path: &Path, bytes: impl FnOnce() -> Vec<u8>) {
    if std::env::var_os("TWICESHY_WRITE_FIXTURES").is_none_or(|value| value != "1") {
        return;
    }
    match OpenOptions::new().write(true).create_new(true).open(path) {
        Ok(mut file) => file.write_all(&bytes()).expect("it can be written"),
        Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
        Err(error) => panic!("{}: {error}", path.display()),
    }
}
