//! The commands `twiceshy store`.

use crate::Outcome;

#[derive(clap::Subcommand)]
pub(crate) enum Command {}

pub(crate) fn run(command: &Command) -> anyhow::Result<Outcome> {
    match *command {}
}
