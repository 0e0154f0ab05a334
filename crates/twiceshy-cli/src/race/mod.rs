//! The command `twiceshy race`.

use crate::Outcome;

#[derive(clap::Args)]
pub(crate) struct Args {}

pub(crate) fn run(_args: &Args) -> anyhow::Result<Outcome> {
    Ok(Outcome::Done)
}
