//! The commands `twiceshy filter`.

use crate::Outcome;

#[derive(clap::Subcommand)]
pub(crate) enum Command {}

pub(crate) fn run(command: &Command) -> anyhow::Result<Outcome> {
    match *command {}
}
