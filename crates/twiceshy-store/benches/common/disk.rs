//! What is below a folder.

use std::path::Path;

/// The bytes of all files.
pub(crate) fn bytes_below(path: &Path) -> u64 {
    let metadata = std::fs::metadata(path).expect("it was written");
    if !metadata.is_dir() {
        // fjall makes its journals 64 MB long beforehand; all rows are in tables.
        return if path.extension().is_some_and(|extension| extension == "jnl") { 0 } else { metadata.len() };
    }
    let entries = std::fs::read_dir(path).expect("it was written");
    entries.map(|entry| bytes_below(&entry.expect("it was written").path())).sum()
}
