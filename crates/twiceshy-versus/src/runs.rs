//! Runs in fresh processes, and one report from all of them.
//!
//! The addresses of the tables, the state of the allocator and the luck with huge pages stay the same
//! within a process. So each run of each filter is a process of its own: this program calls itself with a
//! hidden argument, and the child prints its rows as JSON. Reported is the median over the runs, number by
//! number.

use std::env;
use std::process::{Command, Stdio};

use indicatif::{ProgressBar, ProgressStyle};
use serde::{Deserialize, Serialize, de::DeserializeOwned};

use crate::adapters::{Kind, YARDSTICK};
use crate::args::Args;
use crate::measure::{Wish, grow_peak, grow_row, measure};
use crate::op::Op;
use crate::pair::Pair;
use crate::plan::Hash;
use crate::report::{HugePages, Report, Row};
use crate::stats::median;

/// What a child is to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Task {
    /// Everything that is paired in one process.
    Pairs,
    /// The memory that growth takes.
    Growth,
}

impl Task {
    fn name(self) -> &'static str {
        match self {
            Self::Pairs => "pairs",
            Self::Growth => "growth",
        }
    }
}

/// What a child prints.
#[derive(Serialize, Deserialize)]
struct Pairs {
    rows: Vec<Row>,
    huge: Vec<HugePages>,
}

/// Does `task` in this process. The result is a line of JSON.
pub(crate) fn child(task: Task, args: &Args) -> Result<String, String> {
    // A child must not outlive a parent that was interrupted.
    #[cfg(target_os = "linux")]
    rustix::process::set_parent_process_death_signal(Some(rustix::process::Signal::KILL))
        .map_err(|error| format!("cannot tie the child to its parent: {error}"))?;
    args.pages.apply()?;
    let plan = args.plan();
    let &[kind] = &args.kinds()[..] else { return Err("a child measures one filter".into()) };
    kind.prepare_process();
    let json = match task {
        Task::Pairs => {
            let found = measure(&Wish { kind, plan: &plan, hashes: &args.hashes(), ops: &args.ops() });
            serde_json::to_string(&Pairs { rows: found.rows, huge: found.huge })
        }
        Task::Growth => serde_json::to_string(&grow_peak(kind, &plan)),
    };
    json.map_err(|error| error.to_string())
}

/// All runs of all filters.
pub(crate) fn all(args: &Args) -> Result<Report, String> {
    let kinds = args.kinds();
    let runs = args.runs();
    let mut setup = args.setup();
    // Hidden by itself where the standard error output is not a terminal.
    let style = ProgressStyle::with_template("{bar:30} {pos}/{len} {msg} ({elapsed})").expect("valid");
    let progress = ProgressBar::new((runs * kinds.len()) as u64).with_style(style);
    let mut rows: Vec<Vec<Row>> = Vec::new();
    for run in 0..runs {
        for &kind in &kinds {
            progress.set_message(format!("{}, run {}", kind.name(), run + 1));
            let mut found = call::<Pairs>(Task::Pairs, kind, args)?;
            found.rows.extend(growth(kind, args)?);
            for row in found.rows {
                match rows.iter_mut().find(|rows| rows[0].same_subject(&row)) {
                    Some(rows) => rows.push(row),
                    None => rows.push(vec![row]),
                }
            }
            if run == 0 {
                setup.huge.extend(found.huge);
            }
            progress.inc(1);
        }
    }
    progress.finish_and_clear();
    Ok(Report { rows: rows.into_iter().map(combine).collect(), setup })
}

/// Growth of a filter and of the yardstick, each in a process of its own.
fn growth(kind: &dyn Kind, args: &Args) -> Result<Option<Row>, String> {
    if !args.ops().contains(&Op::GrowPeakBytes) || !args.hashes().contains(&Hash::Raw) {
        return Ok(None);
    }
    let Some(ours) = call::<Option<u64>>(Task::Growth, kind, args)? else { return Ok(None) };
    let theirs = call::<Option<u64>>(Task::Growth, YARDSTICK, args)?;
    Ok(theirs.map(|theirs| grow_row(kind, &args.plan(), Pair { ours, theirs })))
}

/// Runs a child and reads what it prints.
fn call<T: DeserializeOwned>(task: Task, kind: &dyn Kind, args: &Args) -> Result<T, String> {
    let name = kind.name();
    let failed = |why: String| format!("measuring {name} failed: {why}");
    let program = env::current_exe().map_err(|error| failed(error.to_string()))?;
    let output = Command::new(program)
        .args(["--child", task.name(), "--filter", name])
        .args(args.for_child())
        .stdin(Stdio::null())
        .stderr(Stdio::inherit())
        .output()
        .map_err(|error| failed(error.to_string()))?;
    if !output.status.success() {
        return Err(failed(output.status.to_string()));
    }
    serde_json::from_slice(&output.stdout).map_err(|error| failed(error.to_string()))
}

/// One row from the same row of several runs: the median of each number.
fn combine(mut rows: Vec<Row>) -> Row {
    let mut combined = rows[0].clone();
    let count = combined.numbers().len();
    for at in 0..count {
        let values: Vec<f64> = rows.iter_mut().filter_map(|row| *row.numbers()[at]).collect();
        *combined.numbers()[at] = median(&values);
    }
    combined
}
