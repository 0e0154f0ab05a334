//! The commands `twiceshy list`: YES/NO lists from the shell.
//!
//! A list with keys is a file that is read whole and replaced whole: what a change does is there, or the file is as it was. A
//! frozen list has no keys, is small, and is for shipping; deltas bring it up to date.
//!
//! | file | what |
//! |---|---|
//! | `build.rs`, `query.rs`, `info.rs`, `verify.rs` | a command each |
//! | `change.rs` | add, move and remove |
//! | `delta.rs` | delta and apply |
//! | `sides.rs` | keys of the YES list and of the NO list, as people give them |
//! | `file.rs` | loading, locking |

mod build;
mod change;
mod delta;
mod file;
mod info;
mod query;
mod sides;
mod verify;

use crate::Outcome;

#[derive(clap::Subcommand)]
pub(crate) enum Command {
    /// Make a list from keys: one that can change, or a small frozen one for shipping
    Build(build::Args),
    /// Ask a list for keys: prints `yes` or `no` for each
    Query(query::Args),
    /// Put keys on a list with keys
    Add(change::AddArgs),
    /// Put keys on the YES or the NO list, also if they are on the other one
    Move(change::MoveArgs),
    /// Take keys off a list with keys
    Remove(change::RemoveArgs),
    /// Tell what is in lists and deltas
    Info(info::Args),
    /// Check that a list answers all keys as it should
    Verify(verify::Args),
    /// Make what brings a frozen list up to date: far smaller than a new one
    Delta(delta::DeltaArgs),
    /// Make a new frozen list from an old one and deltas
    Apply(delta::ApplyArgs),
}

pub(crate) fn run(command: &Command) -> anyhow::Result<Outcome> {
    match command {
        Command::Build(args) => build::run(args),
        Command::Query(args) => query::run(args),
        Command::Add(args) => change::add(args),
        Command::Move(args) => change::put(args),
        Command::Remove(args) => change::remove(args),
        Command::Info(args) => info::run(args),
        Command::Verify(args) => verify::run(args),
        Command::Delta(args) => delta::delta(args),
        Command::Apply(args) => delta::apply(args),
    }
}
