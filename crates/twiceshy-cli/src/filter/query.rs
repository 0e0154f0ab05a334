//! `twiceshy filter query`: whether keys may be in a filter.

use std::path::PathBuf;

use super::file;
use crate::Outcome;
use crate::answers::AnswerArgs;
use crate::input::KeyArgs;

#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// The filter file
    file: PathBuf,
    #[command(flatten)]
    keys: KeyArgs,
    #[command(flatten)]
    answers: AnswerArgs,
}

const EXAMPLES: &str = "\
Prints `maybe` or `no` for each key, in order. `no` is certain; `maybe` is wrong at the filter's \
error rate.
Exit status: 0 if there was a `maybe`, 1 if there was none, 2 after an error.
In JSON a key that is not UTF-8 is \"key_hex\", in hexadecimal digits.

Examples:
  twiceshy filter query seen.tw keys.txt
  twiceshy filter query seen.tw --with-key < keys.txt | sed -n 's/^no\\t//p'    # what is new
  if twiceshy filter query seen.tw --key \"$url\" > /dev/null; then echo seen before; fi";

pub(super) fn run(args: &Args) -> anyhow::Result<Outcome> {
    let filter = file::load(&args.file)?;
    args.answers.print(&args.keys.source(), "maybe", |keys| {
        let mut found = vec![false; keys.len()];
        filter.contains_batch(keys, &mut found);
        Ok(found.into_iter().map(|found| if found { "maybe" } else { "no" }).collect())
    })
}
