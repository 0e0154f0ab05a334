//! Folders.

use std::fs;
use std::path::Path;

/// Copies a folder and all that is in it.
pub fn copy_folder(from: &Path, to: &Path) {
    fs::create_dir_all(to).expect("a place for the copy");
    for entry in fs::read_dir(from).expect("a folder") {
        let entry = entry.expect("a folder that can be read");
        let target = to.join(entry.file_name());
        if entry.file_type().expect("a folder that can be read").is_dir() {
            copy_folder(&entry.path(), &target);
        } else {
            fs::copy(entry.path(), target).expect("there is room");
        }
    }
}
