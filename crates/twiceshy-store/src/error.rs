//! What can go wrong with a store.

use std::io;
use std::path::PathBuf;

use twiceshy::adaptive::protocol::OperationError;
use twiceshy::error::{BuildError, Full, Indistinguishable, OnBothLists, OutOfMemory, RebuildError};

use crate::engine::{EngineError, EngineErrorKind};
use crate::settings::StoreKind;

/// A store could not do what it was asked. What was acknowledged before is still there.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// The engine failed.
    #[error(transparent)]
    Engine(#[from] EngineError),
    /// A key that the engine cannot store in any way.
    #[error("a key of {len} bytes is too long, {max} bytes are the most")]
    KeyTooLong {
        /// Its length.
        len: usize,
        /// The longest that can be stored.
        max: usize,
    },
    /// A value that the engine cannot store.
    #[error("a value of {len} bytes is too long, {max} bytes are the most for this key")]
    ValueTooLong {
        /// Its length.
        len: usize,
        /// The longest that can be stored with this key.
        max: usize,
    },
    /// The filter may not grow as far as it would have to.
    #[error(
        "the filter is full ({used} of {slots} slots in use) and may not grow: open the store with a larger max_bytes"
    )]
    FilterFull {
        /// Slots in use.
        used: u64,
        /// Slots that there are.
        slots: u64,
    },
    /// Two keys whose hashes agree in every bit.
    #[error(transparent)]
    Indistinguishable(#[from] Indistinguishable),
    /// A key would be on both lists of a [`YesNoStore`](crate::YesNoStore).
    #[error(transparent)]
    OnBothLists(#[from] OnBothLists),
    /// There is not enough memory for the filter.
    #[error(transparent)]
    Memory(#[from] OutOfMemory),
    /// The settings of the filter contradict each other.
    #[error(transparent)]
    Build(#[from] BuildError),
    /// There is no randomness for the hash key.
    #[error("the operating system gives no random bytes for the hash key: {0}")]
    Random(String),
    /// A file of the store could not be read or written.
    #[error("cannot {doing} {}: {source}", path.display())]
    File {
        /// What was tried.
        doing: &'static str,
        /// Which file or folder.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
    /// The folder has something else in it.
    #[error("{} is no store: it is not empty and has no file \"{expected}\"; give another folder", path.display())]
    NotAStore {
        /// Which folder.
        path: PathBuf,
        /// The file that a store has.
        expected: &'static str,
    },
    /// The folder has files of an engine that cannot be opened, and nothing says that it is a store.
    #[error(
        "{} is no complete store, and its rows cannot be opened ({}): if making it was cut short, remove the folder and \
         make the store again; else restore it from a backup", path.display(), cause.reason()
    )]
    HalfMade {
        /// Which folder.
        path: PathBuf,
        /// What is wrong with the files of the engine.
        cause: EngineError,
    },
    /// There is no store, and none was to be made.
    #[error("there is no store in {}: create it first", path.display())]
    NoStore {
        /// Which folder.
        path: PathBuf,
    },
    /// The store was made with another engine.
    #[error("the store was made with the engine {found}, not with {expected}: open it with {found}")]
    OtherEngine {
        /// What was asked for.
        expected: String,
        /// What the store says.
        found: String,
    },
    /// The folder has another kind of store.
    #[error("this is {}, not {}: open it as what it is", found.name(), expected.name())]
    OtherKind {
        /// What was asked for.
        expected: StoreKind,
        /// What is there.
        found: StoreKind,
    },
    /// The store has keys of another type, or other partitions.
    #[error(
        "the keys of the store have another {what}: expected {expected}, found {found}; open it with what it was made with"
    )]
    OtherKeys {
        /// What about them.
        what: &'static str,
        /// What was asked for.
        expected: String,
        /// What the store has.
        found: String,
    },
    /// A row of an ordered store has a key that is none of the type that the store was opened with.
    #[error(
        "a row has the key {row_key:02x?}, which is none of this type: open the store with the type that its keys have, bytes \
         instead of text if they are no UTF-8"
    )]
    OtherKey {
        /// The key as it is in the row.
        row_key: Vec<u8>,
    },
    /// The store was written by another version of this library.
    #[error(
        "the store has format version {found}, this version of twiceshy reads {supported}: use the one that made it"
    )]
    Version {
        /// The version of the store.
        found: u32,
        /// The version that can be read.
        supported: u32,
    },
    /// Something in the store contradicts something else.
    #[error("the store is damaged: {what}; restore it from a backup")]
    Damaged {
        /// What is wrong.
        what: String,
    },
    /// [`verify`](crate::AdaptiveStore::verify) found that filter and rows disagree.
    #[error("filter and rows disagree: {what}; call rebuild()")]
    Disagree {
        /// What is wrong.
        what: String,
    },
    /// A thread panicked in the middle of a change.
    #[error("a thread panicked in the middle of a change: open the store again")]
    Broken,
}

impl StoreError {
    /// Whether there is no store in the folder, and none was to be made
    /// ([`create(false)`](crate::StoreBuilder::create)).
    pub fn is_not_found(&self) -> bool {
        matches!(self, Self::NoStore { .. })
    }

    /// Whether somebody else has the store open.
    pub(crate) fn is_in_use(&self) -> bool {
        matches!(self, Self::Engine(cause) if cause.kind() == EngineErrorKind::InUse)
    }

    pub(crate) fn damaged(what: impl Into<String>) -> Self {
        Self::Damaged { what: what.into() }
    }
}

impl From<Full> for StoreError {
    fn from(Full { used, slots }: Full) -> Self {
        Self::FilterFull { used, slots }
    }
}

impl From<OperationError> for StoreError {
    fn from(error: OperationError) -> Self {
        match error {
            OperationError::Full(error) => error.into(),
            OperationError::Indistinguishable(error) => error.into(),
            OperationError::Memory(error) => error.into(),
            error => Self::damaged(error.to_string()),
        }
    }
}

impl From<RebuildError<StoreError>> for StoreError {
    fn from(error: RebuildError<StoreError>) -> Self {
        match error {
            RebuildError::Lookup(error) => error,
            RebuildError::Indistinguishable(error) => error.into(),
            RebuildError::Memory(error) => error.into(),
            RebuildError::Build(error) => error.into(),
            RebuildError::Full { slots } => Self::FilterFull { used: slots, slots },
            error => Self::damaged(error.to_string()),
        }
    }
}
