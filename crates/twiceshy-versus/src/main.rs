//! Compares twiceshy with other membership filters.
//!
//! The only crate here that depends on them. The yardstick is `qfilter`; how a filter is compared with it
//! is told in `pair.rs`, what is measured in `measure.rs`, and how both sides get the same memory in
//! `pages.rs`. A new filter is a new file under `adapters`.

mod adapters;
mod args;
mod clock;
mod measure;
mod op;
mod pages;
mod pair;
mod plan;
mod plot;
mod report;
mod runs;
mod shared;
mod stats;

use std::io::{self, Write};
use std::process::ExitCode;

use clap::Parser;

use args::Args;

fn main() -> ExitCode {
    match run(&Args::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("twiceshy-versus: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run(args: &Args) -> Result<(), String> {
    let mut out = io::stdout().lock();
    if args.list {
        return done(adapters::ALL.iter().try_for_each(|kind| {
            let ours = if kind.is_ours() { " (compared by default)" } else { "" };
            writeln!(out, "{:24} {}{ours}", kind.name(), kind.about())
        }));
    }
    if let Some(task) = args.child {
        let json = runs::child(task, args)?;
        return done(writeln!(out, "{json}"));
    }
    if let Some(threads) = args.shared_threads() {
        args.pages.apply()?;
        let report = shared::measure(&args.plan(), threads)?;
        return done(if args.json { report.write_json(&mut out) } else { report.write_table(&mut out) });
    }
    let report = runs::all(args)?;
    if let Some(path) = &args.plot {
        std::fs::write(path, plot::svg(&report))
            .map_err(|error| format!("cannot write {}: {error}", path.display()))?;
    }
    done(if args.json { report.write_json(&mut out) } else { report.write_tables(&mut out) })
}

/// Whoever closes the pipe has read enough.
fn done(written: io::Result<()>) -> Result<(), String> {
    match written {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(format!("cannot print: {error}")),
        _ => Ok(()),
    }
}
