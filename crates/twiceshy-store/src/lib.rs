//! A key-value store behind an adaptive filter: absent keys cost no disk access, mistakes are made once, and a crash
//! loses nothing that was acknowledged.
//!
//! ```
//! use twiceshy_store::AdaptiveStore;
//!
//! # let folder = tempfile::tempdir()?;
//! # let path = folder.path().join("store");
//! let store = AdaptiveStore::open(&path)?;
//! store.insert("ant", "six legs")?;
//! assert_eq!(store.get("ant")?, Some(b"six legs".to_vec()));
//! assert_eq!(store.get("bee")?, None); // without a look at the disk, nearly always
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Which type
//!
//! | you have | take |
//! |---|---|
//! | keys and values, and no database yet | [`AdaptiveStore`] |
//! | the same, and you ask for ranges of keys | [`OrderedStore`] |
//! | a database that must stay as it is, for example because you ask it for ranges | [`FilteredDb`] in front of it |
//! | a blocklist, and keys that it must never block | [`YesNoStore`] |
//!
//! # Which engine
//!
//! | engine | choose it if | acknowledged writes survive a kill | survive a power cut | keys beside values |
//! |---|---|---|---|---|
//! | `fjall`, the default | writes are frequent: a log-structured tree writes in sequence; most reads never get there | yes | after [`flush`](AdaptiveStore::flush), or with [`Durability::Power`] | in a folder |
//! | `redb` | reads of present keys and scans matter most, or one file must hold it | yes | yes, and every batch waits for the disk; not with [`Durability::Relaxed`] | in one file |
//! | [`MemoryEngine`](engine::MemoryEngine) | the data may be lost with the process | no | no | in memory |
//!
//! Another engine is a page of code: implement [`Engine`] and let `testing::conformance` try it in your tests.
//!
//! # Ranges
//!
//! ```
//! use twiceshy_store::OrderedStore;
//!
//! let visits = OrderedStore::<u64>::builder().max_range(60).in_memory()?;
//! visits.insert(&1_700_000_000, "ann")?;
//! assert!(visits.contains_range(1_699_999_990..1_700_000_050)?);
//! assert!(!visits.contains_range(1_700_000_001..1_700_000_060)?); // without a look at the rows, nearly always
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # What is in memory, what is on disk
//!
//! Only the filter is in memory; [`StoreStats::filter_bytes`] tells how large it is. The folder of a store holds the
//! engine's files, a snapshot of the filter, and a file that says what it is. The engine's files are the truth: without
//! the snapshot the filter is built from them when the store is opened ([`Recovery`]).
//!
//! The folder can be copied while nobody has the store open, and both copies can go on. If the engine's files come from a
//! backup, or the snapshot from another copy, that is noticed, and the filter is built from the rows.
//!
//! # Features
//!
//! | feature | what | on by default |
//! |---|---|---|
//! | `fjall`, `redb` | the engines of these names | yes |
//! | `testing` | the module `testing`: a suite that tries any engine, an engine that fails when it is told to, and files in memory that can lose what was not synced | no |

mod durable;
pub mod engine;
mod error;
pub mod files;
mod key_type;
pub mod list;
pub mod ordered;
mod rows;
mod settings;
mod shared;
mod split;
pub mod store;
mod sync;
#[cfg(feature = "testing")]
pub mod testing;

pub use engine::{Durability, Engine};
pub use error::StoreError;
pub use key_type::KeyType;
pub use list::YesNoStore;
pub use ordered::{OrderedKey, OrderedStore};
pub use settings::StoreKind;
pub use split::{Database, FilteredDb, FilteredError};
pub use store::{AdaptiveStore, EngineKind, Iter, Merged, Recovery, StoreBuilder, StoreStats, Verified};

/// The README's examples are tests, here because this crate knows all that they use.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
struct Readme;

/// And those of the guide.
#[cfg(all(doctest, feature = "fjall", feature = "redb"))]
#[doc = include_str!("../../../docs/guide.md")]
struct Guide;
