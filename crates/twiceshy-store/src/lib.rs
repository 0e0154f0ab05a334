//! A key-value store behind an adaptive filter: absent keys cost no disk access, mistakes are made once, and a crash
//! loses nothing that was acknowledged.

pub mod engine;
mod error;
pub mod files;
mod journal;
mod memory_files;
mod rows;
mod snapshot;
pub mod store;
mod sync;

pub use engine::{Durability, Engine};
pub use error::StoreError;
pub use memory_files::MemoryFiles;
pub use store::{AdaptiveStore, EngineKind, Iter, Merged, Recovery, StoreBuilder, StoreStats, Verified};
