//! The commands `twiceshy store`: keys and values on disk behind an adaptive filter.
//!
//! | file | what |
//! |---|---|
//! | `import.rs`, `export.rs` | all rows, as text; `tsv.rs` is the format of a line |
//! | `rows.rs` | insert, get and remove: rows that are named |
//! | `whole.rs` | create, stats, verify and rebuild: the store as a whole |

mod export;
mod import;
mod rows;
mod tsv;
mod whole;

use std::fmt::Display;
use std::path::Path;

use anyhow::anyhow;
use twiceshy_store::engine::EngineErrorKind;
use twiceshy_store::{AdaptiveStore, Durability, Recovery, StoreError};

use crate::{Outcome, output};

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
        Command::Remove(args) => rows::remove(args),
        Command::Stats(args) => whole::stats(args),
        Command::Verify(args) => whole::verify(args),
        Command::Rebuild(args) => whole::rebuild(args),
        Command::Export(args) => export::run(args),
    }
}

/// Opens a store that is there.
fn open(folder: &Path) -> anyhow::Result<AdaptiveStore> {
    open_for(folder, Durability::default())
}

/// Opens a store that is there, with what every single write is to survive.
fn open_for(folder: &Path, durability: Durability) -> anyhow::Result<AdaptiveStore> {
    let builder = AdaptiveStore::builder().create(false).durability(durability);
    let store = builder.open(folder).map_err(explain(folder))?;
    if let Recovery::Rebuilt { why } = store.recovery() {
        output::complain(format_args!("note: the filter was built anew from all rows, because {why}"));
    }
    Ok(store)
}

/// Closes a store whose rows were changed: when this returns, everything survives a power cut.
fn close(folder: &Path, store: AdaptiveStore) -> anyhow::Result<()> {
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
