//! `twiceshy list query`: what a list says of keys.

use std::path::PathBuf;

use twiceshy::list::Answer;

use super::file::{self, Asked};
use crate::Outcome;
use crate::answers::AnswerArgs;
use crate::input::NamedKeys;

#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// The list: one with keys, or a frozen one
    list: PathBuf,
    #[command(flatten)]
    keys: NamedKeys,
    /// Print which list each key is on: yes, no or unlisted; needs a list with keys
    #[arg(long)]
    listed: bool,
    #[command(flatten)]
    answers: AnswerArgs,
}

const EXAMPLES: &str = "\
Prints `yes` or `no` for each key, in order. Every key on the YES list answers yes, every key on the NO \
list no; any other key answers no, but for mistakes at the list's error rate.
Exit status: 0 if there was a `yes`, 1 if there was none, 2 after an error.
In JSON a key that is not UTF-8 is \"key_hex\", in hexadecimal digits.

Examples:
  twiceshy list query blocked.list evil.example
  twiceshy list query blocked.frozen --with-key < domains.txt | sed -n 's/^yes\\t//p'
  if twiceshy list query blocked.frozen -- \"$domain\" > /dev/null; then echo blocked; fi";

pub(super) fn run(args: &Args) -> anyhow::Result<Outcome> {
    let source = args.keys.source();
    if args.listed {
        let list = file::load_keyed(&args.list)?;
        return args.answers.print(&source, "yes", |keys| {
            keys.iter().map(|key| Ok(list.lookup(key)?.map_or("unlisted", in_a_word))).collect()
        });
    }
    let list = Asked::load(&args.list)?;
    args.answers.print(&source, "yes", |keys| Ok(list.answers(keys).into_iter().map(in_a_word).collect()))
}

const fn in_a_word(answer: Answer) -> &'static str {
    if answer.is_yes() { "yes" } else { "no" }
}
