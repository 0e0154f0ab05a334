//! `twiceshy list verify`: whether a list answers all keys as it should.

use std::path::PathBuf;

use serde_json::{Map, Value, json};
use twiceshy::list::Answer;

use super::file::Asked;
use super::sides::SideArgs;
use crate::Outcome;
use crate::output::{self, count};

#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// The list: one with keys, or a frozen one
    list: PathBuf,
    #[command(flatten)]
    sides: SideArgs,
    /// Print what was found as JSON
    #[arg(long)]
    json: bool,
}

const EXAMPLES: &str = "\
Asks the list for every key: those of --yes must answer yes, those of --no must answer no. Names the first \
keys that do not. Keys stream through: a file may be larger than the memory.
Exit status: 0 only if every key is right, 1 if one is wrong, 2 after an error.

Examples:
  twiceshy list verify blocked.frozen --yes bad.txt --no good.txt";

/// How many wrong keys are named.
const MOST_NAMED: usize = 10;

pub(super) fn run(args: &Args) -> anyhow::Result<Outcome> {
    args.sides.check(false)?;
    let list = Asked::load(&args.list)?;
    let mut found = Found::default();
    args.sides.for_each_chunk("checking keys", |side, keys| {
        for (key, answer) in keys.iter().zip(list.answers(keys)) {
            found.count(key, side, answer);
        }
        Ok(())
    })?;
    found.report(args.json)?;
    Ok(if found.wrong == 0 { Outcome::Done } else { Outcome::NotFound })
}

/// What came of it.
#[derive(Default)]
struct Found {
    yes: u64,
    no: u64,
    wrong: u64,
    first: Vec<(Vec<u8>, Answer)>,
}

impl Found {
    fn count(&mut self, key: &[u8], side: Answer, answer: Answer) {
        *(if side.is_yes() { &mut self.yes } else { &mut self.no }) += 1;
        if answer != side {
            self.wrong += 1;
            if self.first.len() < MOST_NAMED {
                self.first.push((key.to_vec(), answer));
            }
        }
    }

    fn report(&self, json: bool) -> anyhow::Result<()> {
        let Self { yes, no, wrong, ref first } = *self;
        if json {
            let named = first.iter().map(|(key, answer)| {
                let mut object = Map::new();
                object.insert("answer".into(), answer.to_string().into());
                output::put_bytes(&mut object, "key", key);
                Value::from(object)
            });
            let mut object = json!({ "ok": wrong == 0, "yes_keys": yes, "no_keys": no, "wrong": wrong });
            if wrong > 0 {
                object["first"] = named.collect();
            }
            return output::print_json(&object);
        }
        let all = format!("{} and {}", count(yes, "YES key"), count(no, "NO key"));
        output::print(|out| {
            for (key, answer) in first {
                writeln!(out, "wrong: {} answers {answer}", output::quoted(key))?;
            }
            match wrong {
                0 => writeln!(out, "all right: {all}"),
                _ => writeln!(out, "{} of {all} wrong", indicatif::HumanCount(wrong)),
            }
        })
    }
}
