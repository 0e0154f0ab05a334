//! The commands `twiceshy filter`: filter files from the shell.
//!
//! | file | what |
//! |---|---|
//! | `build.rs`, `query.rs`, `info.rs`, `merge.rs` | a command each |
//! | `file.rs` | loading and saving the files |

mod build;
mod file;
mod info;
mod merge;
mod query;

use crate::Outcome;

#[derive(clap::Subcommand)]
pub(crate) enum Command {
    /// Make a filter file from keys, or add keys to one
    Build(build::Args),
    /// Ask a filter for keys: prints `maybe` or `no` for each
    Query(query::Args),
    /// Tell what is in filter files
    Info(info::Args),
    /// Make one filter file from several
    Merge(merge::Args),
}

pub(crate) fn run(command: &Command) -> anyhow::Result<Outcome> {
    match command {
        Command::Build(args) => build::run(args),
        Command::Query(args) => query::run(args),
        Command::Info(args) => info::run(args),
        Command::Merge(args) => merge::run(args),
    }
}
