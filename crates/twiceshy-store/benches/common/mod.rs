//! What the benchmarks share: values, engines; beside this, keys and turns.

use std::path::Path;
use std::sync::Arc;

use twiceshy_store::EngineKind;
use twiceshy_store::engine::{Engine, FjallEngine, RedbEngine};
use twiceshy_testkit::mix;

/// An engine below a folder.
pub(crate) fn open(kind: EngineKind, path: &Path, cache_bytes: Option<u64>) -> Arc<dyn Engine> {
    match kind {
        EngineKind::Fjall => Arc::new(FjallEngine::open(path, cache_bytes).expect("a new folder")),
        EngineKind::Redb => Arc::new(RedbEngine::open(path, cache_bytes).expect("a new file")),
        kind => unreachable!("{} is not known here", kind.name()),
    }
}

/// A value that does not compress.
pub(crate) fn value<const BYTES: usize>(number: u64) -> [u8; BYTES] {
    let mut value = [0; BYTES];
    for (i, chunk) in (0..).zip(value.chunks_mut(8)) {
        chunk.copy_from_slice(&mix(number << 8 | i).to_le_bytes()[..chunk.len()]);
    }
    value
}
