//! Saving to and loading from files.

use super::quotient::{empty, filled};
use super::*;

for_every_kind! { a_saved_file_is_loaded_and_replaced }

/// Saves bytes in a file, and loads them.
pub(super) fn loaded<S: Subject>(bytes: &[u8]) -> Result<S, ReadError> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("filter");
    fs::write(&path, bytes).unwrap();
    S::load(&path)
}

/// Names in a folder, sorted.
fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap();
    let mut names: Vec<_> = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

fn a_saved_file_is_loaded_and_replaced<S: Subject>() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.twiceshy");
    for bytes in S::files() {
        let filter = S::from_bytes(&bytes).unwrap();
        filter.save(&path);
        assert_eq!(fs::read(&path).unwrap(), bytes);
        assert_eq!(S::load(&path).unwrap().to_bytes(), bytes);
        let any = AnyFilter::load(&path).unwrap();
        assert_eq!(any.try_clone().unwrap().to_bytes(), any.to_bytes());
        assert_eq!(any.kind(), S::KIND);
        any.save(&path).unwrap();
        assert_eq!(fs::read(&path).unwrap(), bytes);
        assert_eq!(names(folder.path()), ["a.twiceshy"]);
    }
    let bytes = fs::read(&path).unwrap();
    fs::write(&path, &bytes[..bytes.len() - 1]).unwrap();
    assert!(matches!(S::load(&path), Err(ReadError::Length { .. })));
    assert!(matches!(AnyFilter::load(&path), Err(ReadError::Length { .. })));
}

#[cfg(unix)]
#[test]
fn only_the_owner_can_read_a_saved_file() {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("secret");
    let mode = || fs::metadata(&path).unwrap().permissions().mode() & 0o777;
    empty(3, 4).save(&path).unwrap();
    assert_eq!(mode(), 0o600);
    // Also if the file that is replaced was open to all.
    fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).unwrap();
    empty(3, 4).save(&path).unwrap();
    assert_eq!(mode(), 0o600);
}

#[cfg(unix)]
#[test]
fn links_stay_links_and_what_is_no_file_stays_what_it_is() {
    use std::os::unix::fs::{FileTypeExt, symlink};
    let folder = tempfile::tempdir().unwrap();
    let (file, link, socket) =
        (folder.path().join("file"), folder.path().join("link"), folder.path().join("socket"));
    fs::write(&file, "old").unwrap();
    symlink("file", &link).unwrap();
    empty(3, 4).save(&link).unwrap();
    assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
    assert_eq!(fs::read(&file).unwrap(), empty(3, 4).to_bytes());

    let _listener = std::os::unix::net::UnixListener::bind(&socket).unwrap();
    let error = empty(3, 4).save(&socket).unwrap_err();
    assert!(error.to_string().contains("not a regular file"), "{error}");
    assert!(fs::metadata(&socket).unwrap().file_type().is_socket());
    assert_eq!(names(folder.path()), ["file", "link", "socket"]);
}

#[test]
fn a_failed_save_changes_nothing_and_leaves_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let filter = filled(6, 5, 0.9);

    let missing = folder.path().join("nowhere").join("filter");
    let error = filter.save(&missing).unwrap_err();
    assert_eq!(error.source.kind(), ErrorKind::NotFound);
    let text = error.to_string();
    assert!(text.contains("cannot write") && text.contains("nowhere"), "{text}");
    assert!(std::error::Error::source(&error).is_some());
    assert!(names(folder.path()).is_empty());

    // A folder with something in it cannot be replaced by a file.
    let taken = folder.path().join("taken");
    fs::create_dir(&taken).unwrap();
    fs::write(taken.join("content"), "kept").unwrap();
    let error = filter.save(&taken).unwrap_err().to_string();
    assert!(error.contains("regular file") && error.contains("taken"), "{error}");
    assert_eq!(names(folder.path()), ["taken"]);
    assert_eq!(names(&taken), ["content"]);

    // A path that goes through a file, and no path at all.
    let file = folder.path().join("file");
    filter.save(&file).unwrap();
    assert!(empty(3, 4).save(file.join("filter")).is_err());
    assert_eq!(fs::read(&file).unwrap(), filter.to_bytes());
    assert_eq!(names(folder.path()), ["file", "taken"]);
    assert!(filter.save(folder.path().join("..")).is_err());
    assert_eq!(names(folder.path()), ["file", "taken"]);
}

#[cfg(unix)]
#[test]
fn a_folder_without_write_permission_keeps_the_old_file() {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("filter");
    let old = filled(6, 5, 0.9);
    old.save(&path).unwrap();
    let allow = |mode| fs::set_permissions(folder.path(), fs::Permissions::from_mode(mode)).unwrap();
    allow(0o500);
    let stopped = File::create(folder.path().join("probe")).is_err();
    let saved = empty(3, 4).save(&path);
    allow(0o700);
    if stopped {
        assert_eq!(saved.unwrap_err().source.kind(), ErrorKind::PermissionDenied);
        assert_eq!(fs::read(&path).unwrap(), old.to_bytes());
        assert_eq!(names(folder.path()), ["filter"]);
    } else {
        // Permissions do not stop a superuser: then the new file is there, complete.
        saved.unwrap();
        assert_eq!(fs::read(&path).unwrap(), empty(3, 4).to_bytes());
    }
}

#[test]
fn files_that_cannot_be_opened_are_named() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("missing.twiceshy");
    for error in [QuotientFilter::load(&path).unwrap_err(), AnyFilter::load(&path).unwrap_err()] {
        assert!(matches!(error, ReadError::Open { .. }), "{error}");
        assert!(error.to_string().contains("missing.twiceshy"), "{error}");
        assert!(std::error::Error::source(&error).is_some());
    }
    assert!(QuotientFilter::load(folder.path()).is_err(), "a folder is no filter");
    assert!(AnyFilter::load(folder.path()).is_err(), "a folder is no filter");
}
