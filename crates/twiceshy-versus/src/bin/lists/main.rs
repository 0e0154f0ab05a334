//! What YES/NO lists take and how fast they are: ours, a Bloom cascade (`rust_cascade`) and a clubcard (`clubcard`), beside the
//! least that is possible.
//!
//! ```sh
//! cargo run --release -p twiceshy-versus --bin lists -- --plot docs/lists.svg    # tables, some minutes
//! cargo run --release -p twiceshy-versus --bin lists -- --keys 20000 --json      # a quick look, as JSON
//! ```
//!
//! | file | what it measures |
//! |---|---|
//! | `sizes.rs` | bits per YES key, and how many unlisted keys are a Yes, for all ratios of the lists and all error rates |
//! | `peers.rs` | the other crates |
//! | `deltas.rs` | deltas after a thousandth of all keys changed |
//! | `speed.rs` | queries of the frozen list and of our quotient filter, by turns; building |
//! | `tables.rs`, `plot.rs` | the same as Markdown, and as a picture |

#![allow(clippy::print_stdout, reason = "this is its output")]

mod deltas;
mod peers;
mod plot;
mod sizes;
mod speed;
mod tables;

use std::path::PathBuf;
use std::time::Instant;

use clap::Parser;
use serde::Serialize;

type Failure = Box<dyn std::error::Error>;

/// Measures YES/NO lists of two million keys and less.
#[derive(Debug, Parser)]
#[command(version, max_term_width = 100)]
struct Args {
    /// Keys on both lists together
    #[arg(long, value_name = "NUMBER", default_value_t = 1_000_000, value_parser = clap::value_parser!(u64).range(1_000..))]
    keys: u64,

    /// Unlisted keys that every list is asked for
    #[arg(long, value_name = "NUMBER", default_value_t = 1 << 21)]
    queries: u64,

    /// Measures this only
    #[arg(long, value_name = "PART")]
    part: Option<Part>,

    /// Prints JSON instead of tables
    #[arg(long)]
    json: bool,

    /// Draws the sizes into this file, as SVG
    #[arg(long, value_name = "FILE")]
    plot: Option<PathBuf>,
}

/// What can be measured alone.
#[derive(Debug, Clone, Copy, PartialEq, clap::ValueEnum)]
enum Part {
    Sizes,
    Deltas,
    /// Queries
    Speed,
    Building,
}

/// All that is measured, or a part of it.
#[derive(Debug, Serialize)]
struct Report {
    /// Keys on both lists together.
    keys: u64,
    /// Unlisted keys that were asked for.
    queries: u64,
    sizes: Vec<sizes::Row>,
    deltas: Vec<deltas::Row>,
    speed: Vec<speed::Row>,
    building: Option<speed::Building>,
}

/// The two lists of a run: so many numbers from 0 on, and so many from [`NO`](Keys::NO) on.
#[derive(Debug, Clone, Copy, Serialize)]
struct Keys {
    yes: u64,
    no: u64,
    /// NO keys for each YES key, as a power of two.
    ratio_log2: i32,
}

impl Keys {
    /// The first NO key.
    const NO: u64 = 1 << 40;
    /// The first key that is on neither list, nor will be.
    const UNLISTED: u64 = 1 << 50;

    /// So many keys together, of which there are `2^ratio_log2` NO keys for each YES key.
    fn new(keys: u64, ratio_log2: i32) -> Self {
        let yes = (keys as f64 / (1.0 + 2f64.powi(ratio_log2))).round().max(1.0) as u64;
        Self { yes, no: keys - yes, ratio_log2 }
    }

    fn yes(&self) -> impl Iterator<Item = u64> + Clone + use<> {
        0..self.yes
    }

    fn no(&self) -> impl Iterator<Item = u64> + Clone + use<> {
        Self::NO..Self::NO + self.no
    }

    fn unlisted(queries: u64) -> impl Iterator<Item = u64> {
        Self::UNLISTED..Self::UNLISTED + queries
    }

    /// The ratio as it is written: 1/16, 1, 64.
    fn ratio(&self) -> String {
        match self.ratio_log2 {
            log2 if log2 < 0 => format!("1/{}", 1 << -log2),
            log2 => (1 << log2).to_string(),
        }
    }
}

/// NO keys for each YES key, as powers of two.
const RATIOS: [i32; 8] = [-4, -2, 0, 1, 2, 4, 5, 6];

/// Error rates, as powers of two, without the sign.
const RATES: [i32; 6] = [7, 8, 9, 10, 11, 12];

fn rate(log2: i32) -> f64 {
    0.5f64.powi(log2)
}

/// What something gives, and how many seconds it took.
fn timed<T>(work: impl FnOnce() -> T) -> (T, f64) {
    let start = Instant::now();
    let result = work();
    (result, start.elapsed().as_secs_f64())
}

fn main() -> Result<(), Failure> {
    let args = Args::parse();
    let Args { keys, queries, .. } = args;
    let mut report =
        Report { keys, queries, sizes: Vec::new(), deltas: Vec::new(), speed: Vec::new(), building: None };
    let is_wanted = |part| args.part.is_none_or(|only| only == part);
    if is_wanted(Part::Sizes) {
        report.sizes = sizes::measure(keys, queries)?;
    }
    if is_wanted(Part::Deltas) {
        report.deltas = deltas::measure(keys)?;
    }
    if is_wanted(Part::Speed) {
        report.speed = speed::measure(keys)?;
    }
    if is_wanted(Part::Building) {
        report.building = Some(speed::building(keys)?);
    }
    if let Some(path) = &args.plot {
        std::fs::write(path, plot::svg(&report))?;
    }
    match args.json {
        true => println!("{}", serde_json::to_string_pretty(&report)?),
        false => print!("{}", tables::markdown(&report)),
    }
    Ok(())
}
