//! What can be chosen about a store of any kind, and opening stores in folders.

use std::fs;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::Arc;

use twiceshy::Hasher;
use twiceshy::adaptive::Growth;

use crate::durable::{self, Description, Durable, Journal, Kept, Opening};
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

/// Which kind of store is in a folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum StoreKind {
    /// An [`AdaptiveStore`](crate::AdaptiveStore).
    Adaptive,
    /// An [`OrderedStore`](crate::OrderedStore).
    Ordered,
    /// A [`YesNoStore`](crate::YesNoStore).
    List,
}

impl StoreKind {
    /// All of them.
    pub(crate) const ALL: [Self; 3] = [Self::Adaptive, Self::Ordered, Self::List];

    /// What it is called in messages.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Adaptive => "a store",
            Self::Ordered => "an ordered store",
            Self::List => "a list",
        }
    }

    /// Which kind of store there is in a folder, by the file that says so. Nothing is opened, and nothing is made.
    pub fn in_folder(folder: impl AsRef<Path>) -> Result<Option<Self>, StoreError> {
        Ok(described(folder.as_ref())?.map(|description| description.kind))
    }
}

/// What the file says that describes the store in a folder, if there is one.
pub(crate) fn described(path: &Path) -> Result<Option<Description>, StoreError> {
    if !path.is_dir() {
        return Ok(None);
    }
    match durable::describe(&open_folder(path)?) {
        Err(StoreError::NotAStore { .. }) => Ok(None),
        described => described,
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
        if !self.is_empty || !matches!(durable::describe(folder), Ok(None)) {
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

/// What can be chosen about a store of any kind.
#[derive(Debug, Clone)]
pub(crate) struct Settings {
    pub(crate) engine: Option<EngineKind>,
    pub(crate) error_rate: f64,
    pub(crate) capacity: u64,
    pub(crate) max_bytes: Option<u64>,
    pub(crate) hasher: Option<Hasher>,
    pub(crate) durability: Durability,
    pub(crate) cache_bytes: Option<u64>,
    pub(crate) save_after: u64,
    pub(crate) create: bool,
}

impl Default for Settings {
    fn default() -> Self {
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
}

/// A method for every setting, with its documentation.
macro_rules! setters {
    ($($(#[$documentation:meta])* $setting:ident($value:ident: $type:ty);)+) => {$(
        $(#[$documentation])*
        pub fn $setting(mut self, $value: $type) -> Self {
            self.settings.$setting = $value.into();
            self
        }
    )+};
}
pub(crate) use setters;

/// The settings that all builders have, with their documentation.
macro_rules! common_setters {
    () => {
        $crate::settings::setters! {
            /// The engine: [`fjall`](crate::engine::FjallEngine) for a new store, by default, and the one that it has for an old store.
            engine(engine: crate::EngineKind);

            /// The share of absent keys that the filter lets through the first time they are asked for, at most, at every size;
            /// 0.001 by default. An old store keeps its own.
            error_rate(rate: f64);

            /// How many keys a new store's filter has room for before it grows. Not needed: it spares some growing.
            capacity(keys: u64);

            /// The most bytes that the filter may have. Without it, the filter grows with the keys.
            ///
            /// If it is reached, inserting fails with [`StoreError::FilterFull`](crate::StoreError::FilterFull), and mistakes are not learned from. A filter that
            /// has to be mended when the store is opened gets what it needs for the keys that are there, even if that is more.
            max_bytes(bytes: u64);

            /// How a new store hashes; with a random key by default, which nobody who chooses keys should know. An old store
            /// keeps its own.
            hasher(hasher: twiceshy::Hasher);

            /// What a write survives once it was acknowledged; the end of the process by default.
            durability(durability: crate::Durability);

            /// How many bytes of rows the engine keeps in memory; what the engine takes by default if not given.
            cache_bytes(bytes: u64);

            /// The filter is saved in the background when so many keys came and went, and at least a quarter of all, since it was
            /// saved the last time; 1,048,576 by default. Writers wait for a sync of the engine then. After a crash so much has to be
            /// done again: seconds.
            save_after(changes: u64);

            /// Whether a store is made if there is none; yes by default.
            create(create: bool);
        }
    };
}
pub(crate) use common_setters;

/// What a builder brings along: a filter for a new store.
pub(crate) trait Build<F>: Sized {
    /// What it has in common with others.
    fn settings(&self) -> &Settings;

    /// The filter of a new store.
    fn new_filter(&self, settings: &Settings) -> Result<F, StoreError>;

    /// Checks that a store which is there has what was asked for.
    fn expect(&self, _filter: &F) -> Result<(), StoreError> {
        Ok(())
    }
}

/// A filter of a store, and what is kept beside it.
pub(crate) type OpenedStore<F> = (Durable<F>, Journal);

/// Opens the store in a folder, or makes one there.
pub(crate) fn open<F: Kept>(builder: &impl Build<F>, path: &Path) -> Result<OpenedStore<F>, StoreError> {
    let settings = builder.settings();
    if !settings.create && !path.is_dir() {
        return Err(StoreError::NoStore { path: path.to_owned() });
    }
    // What is wrong with the settings is said before anything is made.
    if !path.exists() {
        builder.new_filter(settings)?;
    }
    let before = Before::of(path)?;
    let folder = open_folder(path)?;
    let description = durable::describe(&folder)?;
    let is_described = description.is_some();
    let engine = match description {
        Some(Description { kind, .. }) if kind != F::KIND => {
            return Err(StoreError::OtherKind { expected: F::KIND, found: kind });
        }
        Some(Description { engine, .. }) => {
            let engine: EngineKind = engine.parse().map_err(|error: UnknownEngine| {
                StoreError::OtherEngine { expected: known_engines(), found: error.0 }
            })?;
            if let Some(expected) = settings.engine.filter(|expected| *expected != engine) {
                let (expected, found) = (expected.name().to_owned(), engine.name().to_owned());
                return Err(StoreError::OtherEngine { expected, found });
            }
            engine
        }
        None => engine_of_undescribed(builder, path)?,
    };
    let opened = engine.open(path, settings.cache_bytes).map_err(|error| match error {
        StoreError::Engine(cause) if !is_described && cause.is_about_contents() => {
            StoreError::HalfMade { path: path.to_owned(), cause }
        }
        error => error,
    });
    let opened = opened.and_then(|engine| open_on(builder, engine, folder.clone()));
    if opened.as_ref().is_err_and(|error| !error.is_in_use()) {
        before.restore(&folder);
    }
    opened
}

/// The engine of a folder without a description: making a store did not get far, or the description was deleted.
/// Then the rows must not be taken for none.
fn engine_of_undescribed<F>(builder: &impl Build<F>, path: &Path) -> Result<EngineKind, StoreError> {
    let settings = builder.settings();
    let is_there = |kind: &EngineKind| path.join(kind.file()).exists();
    let found = settings.engine.filter(is_there).or(EngineKind::ALL.iter().copied().find(is_there));
    match (settings.engine, found) {
        (Some(expected), Some(found)) if expected != found => {
            let (expected, found) = (expected.name().to_owned(), found.name().to_owned());
            Err(StoreError::OtherEngine { expected, found })
        }
        (_, Some(found)) => Ok(found),
        (_, None) if !settings.create => Err(StoreError::NoStore { path: path.to_owned() }),
        (asked, None) => {
            builder.new_filter(settings)?;
            asked.or(EngineKind::ALL.first().copied()).ok_or(StoreError::OtherEngine {
                expected: "one".into(),
                found: "no engine in this build".into(),
            })
        }
    }
}

/// A store that is gone when it is dropped.
pub(crate) fn open_in_memory<F: Kept>(builder: &impl Build<F>) -> Result<OpenedStore<F>, StoreError> {
    open_on(builder, MemoryEngine::new(), Nowhere)
}

/// Opens a store on any engine.
pub(crate) fn open_on<F: Kept>(
    builder: &impl Build<F>,
    engine: impl Engine,
    files: impl Files,
) -> Result<OpenedStore<F>, StoreError> {
    let settings = builder.settings();
    let opening = Opening {
        may_create: settings.create,
        growth: settings.growth(),
        durability: settings.durability,
        // Nothing is not worth a snapshot.
        few_records: settings.save_after.max(1),
    };
    let make = || new_filter_and_settings(builder);
    Durable::open(opening, Arc::new(engine), Box::new(files), make, |filter| builder.expect(filter))
}

/// The filter of a new store, and the bytes that say how it was made.
fn new_filter_and_settings<F: Kept>(builder: &impl Build<F>) -> Result<(F, Vec<u8>), StoreError> {
    let settings = builder.settings();
    let filter = builder.new_filter(settings)?;
    // Its settings, not its slots: there may be room for many keys. Only a filter with a limit is kept as large as it
    // is, because one that grew to that size would need a bit more for every slot.
    let bytes = match settings.max_bytes {
        None => {
            let hasher = Some(filter.hasher().clone());
            builder.new_filter(&Settings { capacity: 0, hasher, ..settings.clone() })?.to_bytes()
        }
        Some(_) => filter.to_bytes(),
    };
    Ok((filter, bytes))
}

impl Settings {
    pub(crate) fn growth(&self) -> Growth {
        Growth::Grow { max_bytes: self.max_bytes }
    }

    /// The hasher that was chosen, or a random one.
    pub(crate) fn hasher(&self) -> Result<Hasher, StoreError> {
        match &self.hasher {
            Some(hasher) => Ok(hasher.clone()),
            None => Hasher::random().map_err(|error| StoreError::Random(error.to_string())),
        }
    }
}
