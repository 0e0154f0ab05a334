//! The command `twiceshy race`: what an adaptive filter is for, in about a minute.
//!
//! | file | what it does |
//! |---|---|
//! | `options.rs` | what can be chosen |
//! | `dataset.rs`, `spread.rs`, `random.rs`, `stream.rs` | keys, ranges between them, random numbers, and the queries of every phase |
//! | `watch.rs`, `cold.rs` | an engine that is watched; files that are read from the disk every time |
//! | `twin.rs`, `filters.rs` | stores with other filters, to compare with |
//! | `contender.rs` | a store with the adversary who attacks it |
//! | `run.rs` | the race |
//! | `live.rs`, `table.rs`, `words.rs` | the table while it runs and at the end; figures and sentences |
//! | `report.rs` | what it found out: the fields of `race.json` |
//! | `plots.rs`, `page.rs`, `page.css`, `page.js` | `race.html` |
//! | `files.rs` | where that goes |
//! | `folder.rs` | where the stores lie |

mod cold;
mod contender;
mod dataset;
mod files;
mod filters;
mod folder;
mod live;
mod options;
mod page;
mod plots;
mod random;
mod report;
mod run;
mod spread;
mod stream;
mod table;
mod twin;
mod watch;
mod words;

use std::io::{self, Write};

use anyhow::Context;
use twiceshy::{AdaptiveFilter, AdaptiveRangeFilter, QuotientFilter, RangeFilter};

pub(crate) use options::Args;

use crate::target::Contents;
use crate::{Outcome, interrupt, output};
use dataset::Dataset;
use files::{Out, Place};
use folder::Stores;
use options::Discipline;
use report::Report;

pub(crate) fn run(args: &Args) -> anyhow::Result<Outcome> {
    interrupt::watch()?;
    // Whatever can be wrong is found out before the work, not after it.
    let dataset = match (&args.key_file, args.discipline()) {
        (Some(path), _) => Dataset::of_file(path, args.seed, args.keys)?,
        (None, Discipline::Keys) => Dataset::generated(args.seed, args.generated_keys()),
        (None, Discipline::Ranges { max_range }) => {
            Dataset::numbers(args.seed, args.generated_keys(), max_range)
        }
    };
    check_rate(args.error_rate, args.discipline())?;
    let out = Out::prepare(&args.out)?;
    let picture = args.svg.clone().map(|path| Place::new(path, Contents::Picture)).transpose();
    let picture = picture.context("the picture has no place: choose another one with --svg")?;
    let replaced: Vec<_> = [Some(&out.page), Some(&out.figures), picture.as_ref()]
        .into_iter()
        .flatten()
        .filter(|place| place.is_replaced)
        .map(|place| place.path.display().to_string())
        .collect();
    if !replaced.is_empty() && output::for_people() {
        // Early enough to press Ctrl-C.
        output::complain(format_args!("at its end the race replaces {}", replaced.join(", ")));
    }
    let stores = stores_folder(args)?;
    let report = run::race(args, &dataset, stores.path())?;
    let place = stores.path().to_owned();
    let removed = stores.close().with_context(|| format!("cannot remove {}: please do", place.display()));

    // Whatever becomes of the folder and the files, the figures are shown; whoever closed the pipe still gets the files.
    let json = serde_json::to_string_pretty(&report)? + "\n";
    let written = write_files(&out, picture.as_ref(), &report, &json);
    let mut stdout = output::stdout();
    if args.json {
        stdout.write_all(json.as_bytes())?;
    } else {
        write_report(&mut stdout, &report)?;
        if written.is_ok() {
            writeln!(stdout, "\nThe page: {}\nAll figures: {}", out.page, out.figures)?;
            if let Some(picture) = &picture {
                writeln!(stdout, "The picture: {picture}")?;
            }
        }
    }
    stdout.flush()?;
    written?;
    removed?;
    Ok(Outcome::Done)
}

fn write_files(out: &Out, picture: Option<&Place>, report: &Report, json: &str) -> anyhow::Result<()> {
    if let Some(place) = picture {
        place.write(&plots::picture(report))?;
    }
    out.write(&page::html(report), json)
}

/// The filters have limits of their own.
fn check_rate(rate: f64, discipline: Discipline) -> anyhow::Result<()> {
    let fits = || {
        format!("no filter has an error rate of {rate}: choose a more usual --error-rate, for example 0.001")
    };
    match discipline {
        Discipline::Keys => {
            AdaptiveFilter::builder().error_rate(rate).build().with_context(fits)?;
            QuotientFilter::builder().capacity(1_000).error_rate(rate).build().with_context(fits)?;
        }
        Discipline::Ranges { max_range } => {
            let builder = AdaptiveRangeFilter::<u64>::builder().error_rate(rate).max_range(max_range);
            builder.build().with_context(fits)?;
            let builder = RangeFilter::<u64>::builder().capacity(1_000).error_rate(rate).max_range(max_range);
            builder.growth(false).build().with_context(fits)?;
        }
    }
    Ok(())
}

fn stores_folder(args: &Args) -> anyhow::Result<Stores> {
    let parent = args.dir.clone().unwrap_or_else(std::env::temp_dir);
    Stores::new(&parent).with_context(|| {
        format!("cannot make a folder for the stores in {}: choose another one with --dir", parent.display())
    })
}

fn write_report(stdout: &mut impl Write, report: &Report) -> anyhow::Result<()> {
    let width = width();
    write!(stdout, "{}", table::of_report(report, width))?;
    for (about, sentence) in words::summary(report) {
        for line in words::wrapped(&format!("{about}: {sentence}"), width) {
            writeln!(stdout, "{line}")?;
        }
    }
    Ok(())
}

/// How wide lines of text are: not too wide to be read, nor wider than the terminal.
fn width() -> usize {
    terminal_size::terminal_size_of(io::stdout())
        .map_or(100, |(terminal_size::Width(columns), _)| usize::from(columns).clamp(40, 100))
}
