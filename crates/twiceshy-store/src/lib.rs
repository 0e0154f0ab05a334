//! A key-value store behind an adaptive filter: absent keys cost no disk access, mistakes are made once, and a crash
//! loses nothing that was acknowledged.

pub mod engine;
mod error;
pub mod files;
mod journal;
mod memory_files;
mod rows;
mod snapshot;
mod split;
pub mod store;
mod sync;
mod twin;

pub use engine::{Durability, Engine};
pub use error::StoreError;
pub use memory_files::MemoryFiles;
pub use split::{Database, FilteredDb, FilteredError};
pub use store::{AdaptiveStore, EngineKind, Iter, Merged, Recovery, StoreBuilder, StoreStats, Verified};
pub use twin::{KeyValue, Lookups, TwinFilter, TwinStore};
