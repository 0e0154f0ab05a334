//! The program `twiceshy`: filters, lists and stores from the shell, and a race that shows what they are for.
//!
//! One folder or file per command. What they share is beside them: reading keys (`input.rs`), printing (`output.rs`,
//! `answers.rs`), what a file is (`kinds.rs`), files that are made (`target.rs`), progress (`progress.rs`), Ctrl-C (`interrupt.rs`). A command returns an [`Outcome`]
//! or an error; what becomes of that, and the exit status, is decided here and nowhere else.

mod answers;
mod arguments;
mod filter;
mod input;
mod interrupt;
mod kinds;
mod list;
mod output;
mod progress;
mod race;
mod store;
mod target;

use std::process::ExitCode;

use clap::{CommandFactory, Parser, Subcommand};

use interrupt::Interrupted;

/// Membership filters that make no mistake twice, and stores behind them.
#[derive(Parser)]
#[command(name = "twiceshy", version, propagate_version = true, max_term_width = 100, after_help = STATUS)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

const STATUS: &str = "Exit status, as grep's: 0 found or done, 1 not found, 2 error (130 after Ctrl-C).";

#[derive(Subcommand)]
enum Command {
    /// Show what an adaptive filter is for: the same queries, and an attack, on four stores
    Race(Box<race::Args>),
    /// Make filter files, ask them, look into them, merge them
    #[command(subcommand)]
    Filter(filter::Command),
    /// Make YES/NO lists: keys that always answer yes, keys that never do, few mistakes about others
    #[command(subcommand)]
    List(list::Command),
    /// Keep keys and values on disk behind an adaptive filter
    #[command(subcommand)]
    Store(store::Command),
    /// Print a completion script for a shell
    #[command(
        after_help = "Example:\n  twiceshy completions bash > ~/.local/share/bash-completion/completions/twiceshy"
    )]
    Completions {
        /// Which shell
        shell: clap_complete::Shell,
    },
}

/// How a command ended that could do what it was asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Outcome {
    /// Everything that was asked for is there, or everything is done.
    Done,
    /// Something that was asked for is not there.
    NotFound,
}

fn main() -> ExitCode {
    let cli = Cli::parse();
    let result = run(cli.command);
    interrupt::wait_if_ending();
    match result {
        Ok(Outcome::Done) => ExitCode::SUCCESS,
        Ok(Outcome::NotFound) => ExitCode::from(1),
        // Whoever closed the pipe has read enough.
        Err(error) if output::is_closed_pipe(&error) => ExitCode::SUCCESS,
        Err(error) if error.is::<Interrupted>() => {
            output::complain(error);
            ExitCode::from(130)
        }
        Err(error) => {
            output::complain(output::describe(&error));
            ExitCode::from(2)
        }
    }
}

fn run(command: Command) -> anyhow::Result<Outcome> {
    match command {
        Command::Race(args) => race::run(&args),
        Command::Filter(command) => filter::run(&command),
        Command::List(command) => list::run(&command),
        Command::Store(command) => store::run(&command),
        Command::Completions { shell } => {
            let mut script = Vec::new();
            clap_complete::generate(shell, &mut Cli::command(), "twiceshy", &mut script);
            output::print(|out| out.write_all(&script))?;
            Ok(Outcome::Done)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_arguments_are_consistent() {
        Cli::command().debug_assert();
    }
}
