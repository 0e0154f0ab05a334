//! Games against filters: whoever asks sees which answers are wrong, and uses it.
//!
//! Every filter gets the same keys and plays every game from the start, and whoever can learns from every mistake, at once. A row
//! tells the share of queries for absent keys that were answered wrongly.
//!
//! | game | who asks |
//! |---|---|
//! | fresh | keys that were never asked for |
//! | repeat | all mistakes that were found in these, once more |
//! | cycle | some mistakes that were collected before anything was learned, round after round, from the second round on |
//! | active set | keys of a small set, any of them as likely; its size is given as a multiple of the number of keys |
//! | Zipf | keys of which few are popular: rank k with a probability in proportion to 1/k |
//! | adversary | every other query is one of the last mistakes that were found, of which it remembers some; all queries count |
//! | churn | the same, while keys are removed and others inserted |
//!
//! ```sh
//! cargo run --release -p twiceshy-versus --bin games            # minutes
//! cargo run --release -p twiceshy-versus --bin games -- --quick # seconds
//! cargo run --release -p twiceshy-versus --bin games -- --json
//! ```

mod contenders;
mod play;

use std::io::{self, Write};

use clap::Parser;
use serde::Serialize;

/// Plays games against filters, and tells how often each is mistaken.
#[derive(Debug, Clone, Parser)]
#[command(version, max_term_width = 100)]
struct Args {
    /// How many keys there are
    #[arg(long, value_name = "NUMBER", default_value_t = 100_000, value_parser = clap::value_parser!(u64).range(16..=1 << 28))]
    keys: u64,

    /// Queries of each game
    #[arg(long, value_name = "NUMBER", default_value_t = 4_000_000, value_parser = clap::value_parser!(u64).range(1..=1 << 36))]
    queries: u64,

    /// Mistakes that are collected for the game `cycle`
    #[arg(long, value_name = "NUMBER", default_value_t = 10_000, value_parser = clap::value_parser!(u64).range(1..=1 << 28))]
    mistakes: u64,

    /// Mistakes that the adversary remembers
    #[arg(long, value_name = "NUMBER", default_value_t = 1_000, value_parser = clap::value_parser!(u64).range(1..=1 << 28))]
    memory: u64,

    /// How many times as many keys as are stored are in the active set
    #[arg(long, value_name = "TIMES", value_delimiter = ',', default_values_t = [1.0, 10.0, 100.0])]
    active: Vec<f64>,

    /// The error rate that is asked for
    #[arg(long, value_name = "RATE", default_value_t = 1.0 / 256.0)]
    error_rate: f64,

    /// What all random choices follow from
    #[arg(long, value_name = "NUMBER", default_value_t = 1)]
    seed: u64,

    /// Few keys and queries
    #[arg(long)]
    quick: bool,

    /// One JSON object instead of a table
    #[arg(long)]
    json: bool,
}

/// All that was found out.
#[derive(Debug, Serialize)]
struct Report {
    keys: u64,
    queries: u64,
    seed: u64,
    rows: Vec<Row>,
}

/// How a game went.
#[derive(Debug, Serialize)]
struct Row {
    filter: &'static str,
    game: String,
    keys: u64,
    queries: u64,
    /// The share of queries for absent keys that were answered wrongly.
    error_rate: f64,
    /// What the filter promises in this game; `None` if nothing.
    promised: Option<f64>,
    /// After the game.
    bits_per_key: f64,
    /// How often rows were asked for or written, per thousand queries.
    map_accesses: f64,
    /// Mistakes that could not be learned, per thousand queries.
    not_learned: f64,
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut args = Args::parse();
    if args.quick {
        args.keys = args.keys.min(3_400);
        args.queries = args.queries.min(200_000);
        args.mistakes = args.mistakes.min(1_000);
    }
    let rows = play::all(&args)?;
    let report = Report { keys: args.keys, queries: args.queries, seed: args.seed, rows };
    let mut out = io::stdout().lock();
    if args.json {
        serde_json::to_writer(&mut out, &report)?;
        writeln!(out)?;
    } else {
        report.write_table(&mut out)?;
    }
    Ok(())
}

impl Report {
    fn write_table(&self, out: &mut impl Write) -> io::Result<()> {
        writeln!(out, "{} keys, {} queries in each game, seed {}\n", self.keys, self.queries, self.seed)?;
        writeln!(
            out,
            "| game | filter | wrong | promised | bits per key | map accesses per 1,000 | not learned per 1,000 |"
        )?;
        writeln!(out, "|---|---|---|---|---|---|---|")?;
        for row in &self.rows {
            let promised = row.promised.map_or_else(|| "–".to_owned(), percent);
            writeln!(
                out,
                "| {} | {} | {} | {promised} | {:.1} | {:.2} | {:.2} |",
                row.game,
                row.filter,
                percent(row.error_rate),
                row.bits_per_key,
                row.map_accesses,
                row.not_learned,
            )?;
        }
        Ok(())
    }
}

/// A share, with three digits that count.
fn percent(share: f64) -> String {
    let percent = share * 100.0;
    let digits = if percent > 0.0 { (2 - percent.log10().floor() as i32).clamp(0, 6) as usize } else { 0 };
    format!("{percent:.digits$} %")
}
