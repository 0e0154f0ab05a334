//! What the benchmarks share: keys, values, engines.

use std::path::Path;
use std::sync::Arc;

use twiceshy_store::EngineKind;
use twiceshy_store::engine::{Engine, FjallEngine, RedbEngine};
use twiceshy_testkit::mix;

pub(crate) const KEY_BYTES: usize = 16;

/// An engine below a folder.
pub(crate) fn open(kind: EngineKind, path: &Path, cache_bytes: Option<u64>) -> Arc<dyn Engine> {
    match kind {
        EngineKind::Fjall => Arc::new(FjallEngine::open(path, cache_bytes).expect("a new folder")),
        EngineKind::Redb => Arc::new(RedbEngine::open(path, cache_bytes).expect("a new file")),
        kind => unreachable!("{} is not known here", kind.name()),
    }
}

/// The key with this number; those of different streams differ.
pub(crate) fn key(stream: u64, number: u64) -> [u8; KEY_BYTES] {
    let seed = mix(stream.wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ mix(number));
    let mut key = [0; KEY_BYTES];
    key[..8].copy_from_slice(&seed.to_le_bytes());
    key[8..].copy_from_slice(&mix(seed ^ number).to_le_bytes());
    key
}

/// A value that does not compress.
pub(crate) fn value<const BYTES: usize>(number: u64) -> [u8; BYTES] {
    let mut value = [0; BYTES];
    for (i, chunk) in (0..).zip(value.chunks_mut(8)) {
        chunk.copy_from_slice(&mix(number << 8 | i).to_le_bytes()[..chunk.len()]);
    }
    value
}
