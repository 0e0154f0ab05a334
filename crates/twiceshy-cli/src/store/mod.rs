//! The commands `twiceshy store`: keys and values on disk behind an adaptive filter.
//!
//! | file | what |
//! |---|---|
//! | `import.rs`, `export.rs` | all rows, as text; `tsv.rs` is the format of a line |
//! | `rows.rs` | insert, get and remove: rows that are named |
//! | `range.rs` | the rows between two keys |
//! | `whole.rs` | create, stats, verify and rebuild: the store as a whole |
//! | `any.rs` | a store of any kind |
//! | `keys.rs`, `time.rs` | keys as text, by their type |

mod any;
mod export;
mod import;
mod keys;
mod range;
mod rows;
mod time;
mod tsv;
mod whole;

use std::fmt::Display;
use std::path::Path;

use anyhow::anyhow;
use twiceshy_store::engine::EngineErrorKind;
use twiceshy_store::{Durability, KeyType, Recovery, StoreError, StoreKind};

use crate::{Outcome, output};
use any::{AnyStore, Opening};
use keys::{KINDS, Keys};

#[derive(clap::Subcommand)]
pub(crate) enum Command {
    /// Make a new store in a folder
    Create(whole::CreateArgs),
    /// Store the rows of a file, key TAB value
    Import(import::Args),
    /// Store a value under a key, in place of an older one
    Insert(rows::InsertArgs),
    /// Print the values of keys, one per line
    Get(rows::GetArgs),
    /// Print the rows between two keys, of a store that was made with --ordered
    Range(range::Args),
    /// Remove keys and their values
    Remove(rows::RemoveArgs),
    /// Tell what is in a store
    Stats(whole::StatsArgs),
    /// Check that filter, rows and keys agree
    Verify(whole::VerifyArgs),
    /// Build the filter anew from all rows; what it has learned stays
    Rebuild(whole::RebuildArgs),
    /// Print all rows, or write them to a file, so that import reads them back
    Export(export::Args),
}

pub(crate) fn run(command: &Command) -> anyhow::Result<Outcome> {
    match command {
        Command::Create(args) => whole::create(args),
        Command::Import(args) => import::run(args),
        Command::Insert(args) => rows::insert(args),
        Command::Get(args) => rows::get(args),
        Command::Range(args) => range::run(args),
        Command::Remove(args) => rows::remove(args),
        Command::Stats(args) => whole::stats(args),
        Command::Verify(args) => whole::verify(args),
        Command::Rebuild(args) => whole::rebuild(args),
        Command::Export(args) => export::run(args),
    }
}

/// A store, and what its keys are.
struct Opened {
    store: Box<dyn AnyStore>,
    keys: Keys,
}

/// Opens a store that is there.
fn open(folder: &Path) -> anyhow::Result<Opened> {
    open_for(folder, Durability::default())
}

/// Opens a store that is there, with what every single write is to survive.
fn open_for(folder: &Path, durability: Durability) -> anyhow::Result<Opened> {
    let keys = keys_in(folder)?;
    let store = keys.open(Opening { folder, durability, making: None }).map_err(explain(folder))?;
    if let Recovery::Rebuilt { why } = store.recovery() {
        output::complain(format_args!("note: the filter was built anew from all rows, because {why}"));
    }
    Ok(Opened { store, keys })
}

/// What the keys of the store in a folder are. Whatever is wrong with it is said when it is opened.
fn keys_in(folder: &Path) -> anyhow::Result<Keys> {
    match StoreKind::in_folder(folder) {
        Ok(Some(StoreKind::Ordered)) => {
            let found = KeyType::in_folder(folder).map_err(explain(folder))?;
            let kind = KINDS.iter().find(|kind| found == Some(kind.keys));
            let kind = kind.ok_or_else(|| {
                let (folder, found) = (folder.display(), found.map_or_else(String::new, |keys| keys.to_string()));
                anyhow!("the keys of {folder} are {found}: this program does not know them; use the one that made the store")
            })?;
            Ok(Keys(Some(kind)))
        }
        Ok(None) => Ok(undescribed(folder)),
        Ok(Some(_)) | Err(_) => Ok(Keys(None)),
    }
}

/// What the keys are if the file that says so is gone: found by trying. Whoever opens the store makes the file again.
fn undescribed(folder: &Path) -> Keys {
    let opening = Opening { folder, durability: Durability::default(), making: None };
    let is_other = match Keys(None).open(opening) {
        Err(StoreError::OtherKind { found, .. }) => found == StoreKind::Ordered,
        _ => false,
    };
    let is_it = |kind: &&keys::Kind| !matches!((kind.open)(opening), Err(StoreError::OtherKeys { .. }));
    Keys(KINDS.iter().filter(|_| is_other).find(is_it))
}

/// Closes a store whose rows were changed: when this returns, everything survives a power cut.
fn close(folder: &Path, store: Box<dyn AnyStore>) -> anyhow::Result<()> {
    store.close().map_err(|error| {
        // The engine is synced, whatever became of the snapshot.
        let is_done = matches!(error, StoreError::File { .. });
        let error = explain(folder)(error);
        if !is_done {
            return error;
        }
        partly(
            error,
            "the change itself is done and safe, do not repeat it: only the filter could not be saved; mend the cause, and \
             the next command that opens the store makes up for it",
        )
    })
}

/// What stopped a command that had done a part, and what it had done.
fn partly(error: anyhow::Error, done: impl Display) -> anyhow::Error {
    let what = format!("{}; {done}", output::describe(&error));
    error.context(what)
}

/// What went wrong, in words of the command line.
fn explain(folder: &Path) -> impl Fn(StoreError) -> anyhow::Error {
    let is_file = folder.is_file();
    let folder = folder.display().to_string();
    move |error| match &error {
        StoreError::NoStore { .. } | StoreError::File { .. } if is_file => {
            anyhow!("{folder} is a file, not the folder of a store: give a folder")
        }
        StoreError::NoStore { .. } => {
            anyhow!("there is no store in {folder}: make one with: twiceshy store create {folder}")
        }
        StoreError::NotAStore { .. } | StoreError::HalfMade { .. } | StoreError::File { .. } => error.into(),
        StoreError::Disagree { what } => {
            anyhow!(
                "{folder}: filter and rows disagree: {what}; mend it with: twiceshy store rebuild {folder}"
            )
        }
        StoreError::Engine(cause) if cause.kind() == EngineErrorKind::InUse => {
            anyhow!("{folder} is open in another program: wait until that ends, or end it")
        }
        _ => anyhow::Error::new(error).context(folder.clone()),
    }
}
