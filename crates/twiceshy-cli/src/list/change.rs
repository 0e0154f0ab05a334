//! `twiceshy list add`, `move` and `remove`: changing a list with keys.
//!
//! Keys are read first, so that nobody waits for them; then the file is locked, read, changed in memory and replaced.

use std::convert::Infallible;
use std::path::PathBuf;

use anyhow::bail;
use indicatif::HumanCount;
use serde_json::{Value, json};
use twiceshy::error::SetError;
use twiceshy::list::Answer;

use super::file::{Changing, KeyedList};
use super::sides::{SideArgs, Sides, named};
use crate::Outcome;
use crate::input::{KeyList, NamedKeys};
use crate::output::{self, count};

#[derive(clap::Args)]
#[command(after_help = ADD_EXAMPLES)]
pub(crate) struct AddArgs {
    /// The list with keys
    list: PathBuf,
    #[command(flatten)]
    sides: SideArgs,
    /// Print what was done as JSON
    #[arg(long)]
    json: bool,
}

const ADD_EXAMPLES: &str = "\
All keys are added, or none: a key that is on the other list is an error that names it, and list move is \
the command for that. A key that is on its list already stays there.

Examples:
  twiceshy list add blocked.list --yes new-bad.txt --no new-good.txt
  twiceshy list add blocked.list --yes-key evil.example --no-key vote.example
  grep -h example *.txt | twiceshy list add blocked.list --no -";

pub(super) fn add(args: &AddArgs) -> anyhow::Result<Outcome> {
    let (target, sides) = given(&args.list, &args.sides)?;
    let (list, (yes, no)) = target.change(|list| {
        for (keys, side) in [(&sides.yes, Answer::Yes), (&sides.no, Answer::No)] {
            let is_on_other = |key: &&[u8]| matches!(list.lookup(key), Ok(Some(found)) if found != side);
            if let Some(wrong) = named(keys.iter().filter(is_on_other)) {
                let (to, other) = if side.is_yes() { ("yes", "NO") } else { ("no", "YES") };
                bail!(
                    "{wrong} on the {other} list already, and nothing was changed: to change sides, use twiceshy list \
                     move with --{to}"
                );
            }
        }
        let yes = changed(&sides.yes, |key| list.add_yes(key))?;
        let no = changed(&sides.no, |key| list.add_no(key))?;
        Ok(((yes, no), yes + no > 0))
    })?;
    let there = sides.len() - yes - no;
    let words = format!("{} and {} added, {}", yes_keys(yes), no_keys(no), were_there(there));
    report(args.json, &list, &words, json!({ "added_yes": yes, "added_no": no, "there": there }))?;
    Ok(Outcome::Done)
}

#[derive(clap::Args)]
#[command(after_help = MOVE_EXAMPLES)]
pub(crate) struct MoveArgs {
    /// The list with keys
    list: PathBuf,
    #[command(flatten)]
    sides: SideArgs,
    /// Print what was done as JSON
    #[arg(long)]
    json: bool,
}

const MOVE_EXAMPLES: &str = "\
Each key is on the list that was named afterwards, wherever it was before; one that was on neither is added, \
and counted as such.

Examples:
  twiceshy list move blocked.list --no-key unjustly-blocked.example
  twiceshy list move blocked.list --no appeals.txt --yes relapses.txt";

pub(super) fn put(args: &MoveArgs) -> anyhow::Result<Outcome> {
    let (target, sides) = given(&args.list, &args.sides)?;
    let (list, (moved, added)) = target.change(|list| {
        let (mut moved, mut added) = (0, 0);
        for (keys, side) in [(&sides.yes, Answer::Yes), (&sides.no, Answer::No)] {
            for key in keys.iter() {
                let was_on = if side.is_yes() { list.move_to_yes(key) } else { list.move_to_no(key) };
                match was_on? {
                    None => added += 1,
                    Some(other) => moved += u64::from(other != side),
                }
            }
        }
        Ok(((moved, added), moved + added > 0))
    })?;
    let there = sides.len() - moved - added;
    let words = format!("{} moved, {} added, {}", count(moved, "key"), HumanCount(added), were_there(there));
    report(args.json, &list, &words, json!({ "moved": moved, "added": added, "there": there }))?;
    Ok(Outcome::Done)
}

#[derive(clap::Args)]
#[command(after_help = REMOVE_EXAMPLES)]
pub(crate) struct RemoveArgs {
    /// The list with keys
    list: PathBuf,
    #[command(flatten)]
    keys: NamedKeys,
    /// Print what was done as JSON
    #[arg(long)]
    json: bool,
}

const REMOVE_EXAMPLES: &str = "\
A key that was removed is unlisted: it answers no, but for mistakes at the error rate. To be sure that it never \
answers yes, move it to the NO list instead.
Exit status: 0 if all keys were listed, 1 if one was not (the others are removed), 2 after an error.

Examples:
  twiceshy list remove blocked.list evil.example
  twiceshy list remove blocked.list --from expired.txt";

pub(super) fn remove(args: &RemoveArgs) -> anyhow::Result<Outcome> {
    let target = Changing::new(&args.list)?;
    let (source, mut keys) = (args.keys.source(), KeyList::default());
    source.for_each_chunk(&source.progress("reading keys"), |chunk| {
        chunk.iter().for_each(|key| keys.push(key));
        Ok(())
    })?;
    let (list, (yes, no, missing)) = target.change(|list| {
        let (mut yes, mut no, mut missing) = (0, 0, 0);
        for key in keys.iter() {
            match list.remove(key)? {
                Some(Answer::Yes) => yes += 1,
                Some(Answer::No) => no += 1,
                None => missing += 1u64,
            }
        }
        Ok(((yes, no, missing), yes + no > 0))
    })?;
    let words = format!("{} and {} removed, {} not listed", yes_keys(yes), no_keys(no), HumanCount(missing));
    let object = json!({ "removed_yes": yes, "removed_no": no, "missing": missing });
    report(args.json, &list, &words, object)?;
    Ok(if missing == 0 { Outcome::Done } else { Outcome::NotFound })
}

/// The list that is to be changed, and the keys that it is to be changed by.
fn given(list: &std::path::Path, sides: &SideArgs) -> anyhow::Result<(Changing, Sides)> {
    sides.check(false)?;
    let target = Changing::new(list)?;
    let sides = sides.read()?;
    sides.check()?;
    Ok((target, sides))
}

/// Does something with every key, and counts those with which that was anything.
fn changed(
    keys: &KeyList,
    mut change: impl FnMut(&[u8]) -> Result<bool, SetError<Infallible>>,
) -> anyhow::Result<u64> {
    let mut changed = 0;
    for key in keys.iter() {
        changed += u64::from(change(key)?);
    }
    Ok(changed)
}

fn yes_keys(number: u64) -> String {
    count(number, "YES key")
}

fn no_keys(number: u64) -> String {
    count(number, "NO key")
}

fn were_there(number: u64) -> String {
    format!("{} there before", HumanCount(number))
}

/// Says what was done and what the list has now.
fn report(json: bool, list: &KeyedList, words: &str, mut object: Value) -> anyhow::Result<()> {
    let (yes, no) = (list.yes_len(), list.no_len()?);
    output::told(if json {
        object["yes_keys"] = yes.into();
        object["no_keys"] = no.into();
        output::print_json(&object)
    } else {
        output::print(|out| writeln!(out, "{words}; the list has {} and {}", yes_keys(yes), no_keys(no)))
    })
}
