//! Answers to keys, one per line and in their order: what filters and lists print.

use std::io::{self, Write};

use indicatif::ProgressBar;
use serde_json::Map;

use crate::input::{self, Keys};
use crate::{Outcome, output};

/// How answers are printed.
#[derive(clap::Args)]
pub(crate) struct AnswerArgs {
    /// Print a tab and the key after each answer
    #[arg(long)]
    with_key: bool,
    /// Print only how many keys are found
    #[arg(long, conflicts_with = "with_key")]
    count: bool,
    /// Print an object for each key: {"answer":"no","key":"ant"}
    #[arg(long, conflicts_with = "with_key")]
    json: bool,
}

impl AnswerArgs {
    /// Asks for all keys, some at a time, and prints what is answered. A key is found if the answer is the `positive` one.
    pub(crate) fn print(
        &self,
        keys: &Keys<'_>,
        positive: &'static str,
        mut ask: impl FnMut(&[&[u8]]) -> anyhow::Result<Vec<&'static str>>,
    ) -> anyhow::Result<Outcome> {
        let mut out = output::stdout();
        let (mut asked, mut found) = (0, 0);
        let is_typed = input::is_typed();
        // Answers are the progress.
        keys.for_each_chunk(&ProgressBar::hidden(), |keys| {
            let answers = ask(keys)?;
            asked += keys.len();
            found += answers.iter().filter(|&&answer| answer == positive).count();
            if !self.count {
                let mut lines = keys.iter().zip(&answers);
                output::written(lines.try_for_each(|(key, answer)| self.write(&mut out, key, answer)))?;
            }
            output::written(if is_typed { out.flush() } else { Ok(()) })
        })?;
        if self.count {
            let written = if self.json {
                let counts = [("keys", asked.into()), (positive, found.into())];
                let counts: Map<_, _> =
                    counts.map(|(name, count)| (name.to_owned(), count)).into_iter().collect();
                output::write_json(&mut out, &counts)
            } else {
                writeln!(out, "{found}")
            };
            output::written(written)?;
        }
        output::written(out.flush())?;
        Ok(if found > 0 { Outcome::Done } else { Outcome::NotFound })
    }

    fn write(&self, out: &mut dyn Write, key: &[u8], answer: &str) -> io::Result<()> {
        if self.json {
            let mut object = Map::new();
            object.insert("answer".into(), answer.into());
            output::put_bytes(&mut object, "key", key);
            return output::write_json(out, &object);
        }
        out.write_all(answer.as_bytes())?;
        if self.with_key {
            out.write_all(b"\t")?;
            out.write_all(key)?;
        }
        out.write_all(b"\n")
    }
}
