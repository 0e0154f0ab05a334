//! What can be chosen about a store.

use std::fs;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::Arc;

use twiceshy::adaptive::Growth;
use twiceshy::{AdaptiveFilter, Hasher};

use super::AdaptiveStore;
use crate::durable::{self, Durable, Layout, Opening};
#[cfg(feature = "fjall")]
use crate::engine::FjallEngine;
#[cfg(feature = "redb")]
use crate::engine::RedbEngine;
use crate::engine::{Durability, Engine, MemoryEngine};
use crate::error::StoreError;
use crate::files::{Files, Folder, Nowhere};

/// Which engine keeps the rows of a store in a folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum EngineKind {
    /// The log-structured engine, [`FjallEngine`].
    #[cfg(feature = "fjall")]
    Fjall,
    /// The B-tree engine, [`RedbEngine`].
    #[cfg(feature = "redb")]
    Redb,
}

impl EngineKind {
    /// All that this build has.
    pub const ALL: &'static [Self] = &[
        #[cfg(feature = "fjall")]
        Self::Fjall,
        #[cfg(feature = "redb")]
        Self::Redb,
    ];

    /// Its name.
    pub const fn name(self) -> &'static str {
        match self {
            #[cfg(feature = "fjall")]
            Self::Fjall => "fjall",
            #[cfg(feature = "redb")]
            Self::Redb => "redb",
        }
    }

    /// Opens the engine below the folder of a store.
    #[cfg_attr(
        not(any(feature = "fjall", feature = "redb")),
        expect(unused_variables, unreachable_code, reason = "there is no kind in this build")
    )]
    fn open(self, folder: &Path, cache_bytes: Option<u64>) -> Result<Arc<dyn Engine>, StoreError> {
        Ok(match self {
            #[cfg(feature = "fjall")]
            Self::Fjall => {
                let folder = folder.join(self.file());
                crate::files::private_folder(&folder).map_err(|error| self.failed(error))?;
                Arc::new(FjallEngine::open(&folder, cache_bytes)?)
            }
            #[cfg(feature = "redb")]
            Self::Redb => {
                let file = folder.join(self.file());
                crate::files::private_file(&file).map_err(|error| self.failed(error))?;
                Arc::new(RedbEngine::open(&file, cache_bytes)?)
            }
        })
    }

    #[cfg(any(feature = "fjall", feature = "redb"))]
    fn failed(self, error: std::io::Error) -> StoreError {
        crate::engine::EngineError::io(self.name(), error).into()
    }

    /// What it has in the folder of a store.
    fn file(self) -> String {
        format!("rows.{}", self.name())
    }
}

/// Whether there is a store in a folder.
pub(super) fn is_store(path: &Path) -> Result<bool, StoreError> {
    if !path.is_dir() {
        return Ok(false);
    }
    match durable::layout(&open_folder(path)?) {
        Ok(layout) => Ok(matches!(layout, Layout::Store { .. })),
        Err(StoreError::NotAStore { .. }) => Ok(false),
        Err(error) => Err(error),
    }
}

/// The folder of a store, which is made if it is not there.
fn open_folder(path: &Path) -> Result<Folder, StoreError> {
    Folder::create(path).map_err(|source| StoreError::File { doing: "create", path: path.to_owned(), source })
}

/// What there was before a store was made.
struct Before {
    /// Folders that were not there, the innermost first.
    missing: Vec<PathBuf>,
    /// Whether the folder of the store had nothing in it.
    is_empty: bool,
}

impl Before {
    fn of(path: &Path) -> Result<Self, StoreError> {
        let missing = crate::files::missing_folders(path);
        let read = |source| StoreError::File { doing: "read", path: path.to_owned(), source };
        let is_empty = !path.is_dir() || fs::read_dir(path).map_err(read)?.next().is_none();
        Ok(Self { missing, is_empty })
    }

    /// Removes what is there of a store that could not be made, so that it can be made later. What cannot be removed stays.
    fn restore(self, folder: &Folder) {
        // With a description it is a store, perhaps one that somebody else has just made. Without one, all files are ours.
        if !self.is_empty || !matches!(durable::layout(folder), Ok(Layout::Empty)) {
            return;
        }
        for entry in fs::read_dir(folder.path()).into_iter().flatten().flatten() {
            let is_folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
            let _ = if is_folder { fs::remove_dir_all(entry.path()) } else { fs::remove_file(entry.path()) };
        }
        for folder in self.missing {
            let _ = fs::remove_dir(folder);
        }
    }
}

/// A name that is no [`EngineKind`] of this build.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("there is no engine {0:?} in this build; it has {known}", known = known_engines())]
pub struct UnknownEngine(String);

fn known_engines() -> String {
    EngineKind::ALL.iter().map(|kind| kind.name()).collect::<Vec<_>>().join(" and ")
}

impl FromStr for EngineKind {
    type Err = UnknownEngine;

    fn from_str(name: &str) -> Result<Self, UnknownEngine> {
        let found = Self::ALL.iter().find(|kind| kind.name() == name);
        found.copied().ok_or_else(|| UnknownEngine(name.to_owned()))
    }
}

/// Chooses how a store is made and opened.
///
/// ```
/// use twiceshy_store::{AdaptiveStore, Durability};
///
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("accounts");
/// let store = AdaptiveStore::builder()
///     .error_rate(0.0001)
///     .durability(Durability::Power)
///     .cache_bytes(64 << 20)
///     .open(&path)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone)]
pub struct StoreBuilder {
    engine: Option<EngineKind>,
    error_rate: f64,
    capacity: u64,
    max_bytes: Option<u64>,
    hasher: Option<Hasher>,
    durability: Durability,
    cache_bytes: Option<u64>,
    save_after: u64,
    create: bool,
}

/// A method for every setting, with its documentation.
macro_rules! setters {
    ($($(#[$documentation:meta])* $setting:ident($value:ident: $type:ty);)+) => {$(
        $(#[$documentation])*
        pub fn $setting(mut self, $value: $type) -> Self {
            self.$setting = $value.into();
            self
        }
    )+};
}

impl StoreBuilder {
    pub(super) fn new() -> Self {
        Self {
            engine: None,
            error_rate: 0.001,
            capacity: 1_000,
            max_bytes: None,
            hasher: None,
            durability: Durability::default(),
            cache_bytes: None,
            save_after: 1 << 20,
            create: true,
        }
    }

    setters! {
        /// The engine: [`fjall`](FjallEngine) for a new store, by default, and the one that it has for an old store.
        engine(engine: EngineKind);

        /// The share of absent keys that the filter lets through the first time they are asked for, at most, at every size;
        /// 0.001 by default. An old store keeps its own.
        error_rate(rate: f64);

        /// How many keys a new store's filter has room for before it grows. Not needed: it spares some growing.
        capacity(keys: u64);

        /// The most bytes that the filter may have. Without it, the filter grows with the keys.
        ///
        /// If it is reached, inserting fails with [`StoreError::FilterFull`], and mistakes are not learned from. A filter that
        /// has to be mended when the store is opened gets what it needs for the keys that are there, even if that is more.
        max_bytes(bytes: u64);

        /// How a new store hashes; with a random key by default, which nobody who chooses keys should know. An old store
        /// keeps its own.
        hasher(hasher: Hasher);

        /// What a write survives once it was acknowledged; the end of the process by default.
        durability(durability: Durability);

        /// How many bytes of rows the engine keeps in memory; what the engine takes by default if not given.
        cache_bytes(bytes: u64);

        /// The filter is saved in the background when so many keys came and went, and at least a quarter of all, since it was
        /// saved the last time; 1,048,576 by default. Writers wait for a sync of the engine then. After a crash so much has to be
        /// done again: seconds.
        save_after(changes: u64);

        /// Whether a store is made if there is none; yes by default.
        create(create: bool);
    }

    /// Opens the store in a folder, or makes one there.
    pub fn open(self, folder: impl AsRef<Path>) -> Result<AdaptiveStore, StoreError> {
        let path = folder.as_ref();
        if !self.create && !path.is_dir() {
            return Err(StoreError::NoStore { path: path.to_owned() });
        }
        // What is wrong with the settings is said before anything is made.
        if !path.exists() {
            self.new_filter()?;
        }
        let before = Before::of(path)?;
        let folder = open_folder(path)?;
        let layout = durable::layout(&folder)?;
        let is_described = matches!(layout, Layout::Store { .. });
        let kind = match layout {
            Layout::Store { engine } => {
                let kind = engine.parse().map_err(|error: UnknownEngine| StoreError::OtherEngine {
                    expected: known_engines(),
                    found: error.0,
                })?;
                if let Some(expected) = self.engine.filter(|expected| *expected != kind) {
                    let (expected, found) = (expected.name().to_owned(), kind.name().to_owned());
                    return Err(StoreError::OtherEngine { expected, found });
                }
                kind
            }
            Layout::Empty => self.engine_of_undescribed(path)?,
        };
        let opened = kind.open(path, self.cache_bytes).map_err(|error| match error {
            StoreError::Engine(cause) if !is_described && cause.is_about_contents() => {
                StoreError::HalfMade { path: path.to_owned(), cause }
            }
            error => error,
        });
        let opened = opened.and_then(|engine| self.open_with(engine, folder.clone()));
        if opened.as_ref().is_err_and(|error| !error.is_in_use()) {
            before.restore(&folder);
        }
        opened
    }

    /// The engine of a folder without a description: making a store did not get far, or the description was deleted.
    /// Then the rows must not be taken for none.
    fn engine_of_undescribed(&self, path: &Path) -> Result<EngineKind, StoreError> {
        let is_there = |kind: &EngineKind| path.join(kind.file()).exists();
        let found = self.engine.filter(is_there).or(EngineKind::ALL.iter().copied().find(is_there));
        match (self.engine, found) {
            (Some(expected), Some(found)) if expected != found => {
                let (expected, found) = (expected.name().to_owned(), found.name().to_owned());
                Err(StoreError::OtherEngine { expected, found })
            }
            (_, Some(found)) => Ok(found),
            (_, None) if !self.create => Err(StoreError::NoStore { path: path.to_owned() }),
            (asked, None) => {
                self.new_filter()?;
                asked.or(EngineKind::ALL.first().copied()).ok_or(StoreError::OtherEngine {
                    expected: "one".into(),
                    found: "no engine in this build".into(),
                })
            }
        }
    }

    /// A store that is gone when it is dropped: for tests, and for what may be lost.
    pub fn in_memory(self) -> Result<AdaptiveStore, StoreError> {
        self.open_with(MemoryEngine::new(), Nowhere)
    }

    /// Opens a store on an engine of your own, with its few other files in a folder of your own.
    pub fn open_with(self, engine: impl Engine, files: impl Files) -> Result<AdaptiveStore, StoreError> {
        let opening = Opening {
            may_create: self.create,
            growth: self.growth(),
            durability: self.durability,
            // Nothing is not worth a snapshot.
            few_records: self.save_after.max(1),
        };
        let make = || self.new_filter_and_settings();
        Durable::open(opening, Arc::new(engine), Box::new(files), make).map(AdaptiveStore::new)
    }

    fn growth(&self) -> Growth {
        Growth::Grow { max_bytes: self.max_bytes }
    }

    /// The filter of a new store.
    fn new_filter(&self) -> Result<AdaptiveFilter, StoreError> {
        let hasher = match &self.hasher {
            Some(hasher) => hasher.clone(),
            None => Hasher::random().map_err(|error| StoreError::Random(error.to_string()))?,
        };
        let builder = AdaptiveFilter::builder().hasher(hasher).error_rate(self.error_rate);
        Ok(builder.capacity(self.capacity).growth(self.growth()).build()?)
    }

    /// The filter of a new store, and the bytes that say how it was made.
    fn new_filter_and_settings(self) -> Result<(AdaptiveFilter, Vec<u8>), StoreError> {
        let filter = self.new_filter()?;
        // Its settings, not its slots: there may be room for many keys. Only a filter with a limit is kept as large as it
        // is, because one that grew to that size would need a bit more for every slot.
        let settings = match self.max_bytes {
            None => self.hasher(filter.hasher().clone()).capacity(0).new_filter()?.to_bytes(),
            Some(_) => filter.to_bytes(),
        };
        Ok((filter, settings))
    }
}
