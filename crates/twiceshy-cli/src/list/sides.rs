//! The keys of the YES list and of the NO list, as people give them: in files, or as they are.

use std::collections::HashSet;
use std::ffi::OsString;
use std::path::PathBuf;

use anyhow::bail;
use indicatif::{HumanCount, ProgressBar};
use twiceshy::list::Answer;

use crate::input::{self, KeyList, Keys};
use crate::{output, progress};

/// How many keys a message names.
const MOST_NAMED: usize = 5;

#[derive(clap::Args)]
pub(super) struct SideArgs {
    /// A file of keys for the YES list, one per line, or standard input for `-`; can be given several times
    #[arg(long, value_name = "FILE")]
    yes: Vec<PathBuf>,
    /// A file of keys for the NO list; can be given several times
    #[arg(long, value_name = "FILE")]
    no: Vec<PathBuf>,
    /// A key itself for the YES list; can be given several times
    #[arg(long, value_name = "KEY", allow_hyphen_values = true)]
    yes_key: Vec<OsString>,
    /// A key itself for the NO list; can be given several times
    #[arg(long, value_name = "KEY", allow_hyphen_values = true)]
    no_key: Vec<OsString>,
}

/// Keys of both lists.
#[derive(Default)]
pub(super) struct Sides {
    pub(super) yes: KeyList,
    pub(super) no: KeyList,
}

impl SideArgs {
    /// There are keys, and standard input is read once.
    pub(super) fn check(&self, others: bool) -> anyhow::Result<()> {
        let files = || self.yes.iter().chain(&self.no);
        if !others && files().next().is_none() && self.yes_key.is_empty() && self.no_key.is_empty() {
            bail!(
                "there are no keys: give files of keys with --yes and --no, or keys with --yes-key and --no-key"
            );
        }
        if files().filter(|path| input::is_stdin(path)).count() > 1 {
            bail!("standard input can be read only once: give a file for one of the lists");
        }
        Ok(())
    }

    /// A bar for reading them.
    fn progress(&self, what: &'static str) -> ProgressBar {
        let files = self.yes.iter().chain(&self.no);
        progress::bytes(what, files.map(|path| input::size(path)).sum())
    }

    /// Calls `work` with all keys and the list that they are for, some at a time.
    pub(super) fn for_each_chunk(
        &self,
        what: &'static str,
        mut work: impl FnMut(Answer, &[&[u8]]) -> anyhow::Result<()>,
    ) -> anyhow::Result<()> {
        let bar = self.progress(what);
        for (side, files, keys) in
            [(Answer::Yes, &self.yes, &self.yes_key), (Answer::No, &self.no, &self.no_key)]
        {
            let lines = Keys::Lines(files.iter().map(PathBuf::as_path).collect());
            for source in [lines, Keys::Given(keys)] {
                source.for_each_chunk(&bar, |keys| work(side, keys))?;
            }
        }
        bar.finish_and_clear();
        Ok(())
    }

    /// All of them.
    pub(super) fn read(&self) -> anyhow::Result<Sides> {
        let mut sides = Sides::default();
        self.for_each_chunk("reading keys", |side, keys| {
            keys.iter().for_each(|key| sides.push(side, key));
            Ok(())
        })?;
        Ok(sides)
    }
}

impl Sides {
    pub(super) fn push(&mut self, side: Answer, key: &[u8]) {
        if side.is_yes() { self.yes.push(key) } else { self.no.push(key) }
    }

    /// How many keys there are, each as often as it came.
    pub(super) fn len(&self) -> u64 {
        (self.yes.len() + self.no.len()) as u64
    }

    /// An error if a key is for both lists.
    pub(super) fn check(&self) -> anyhow::Result<()> {
        let yes: HashSet<&[u8]> = self.yes.iter().collect();
        let both = named(self.no.iter().filter(|key| yes.contains(key)));
        match both {
            Some(both) => bail!("{both} on both lists: take each off one of them (nothing was changed)"),
            None => Ok(()),
        }
    }
}

/// The first of some keys and how many there are: `"ant" and 2 other keys are`. `None` if there are none.
pub(super) fn named<'k>(keys: impl Iterator<Item = &'k [u8]>) -> Option<String> {
    let (mut seen, mut first) = (HashSet::new(), Vec::new());
    for key in keys.filter(|key| seen.insert(*key)) {
        if first.len() < MOST_NAMED {
            first.push(output::quoted(key));
        }
    }
    let (all, shown) = (seen.len(), first.join(", "));
    match all - first.len() {
        _ if all == 0 => None,
        0 if all == 1 => Some(format!("{shown} is")),
        0 => Some(format!("{shown} ({} keys) are", HumanCount(all as u64))),
        _ => Some(format!("{shown} and others ({} keys) are", HumanCount(all as u64))),
    }
}
