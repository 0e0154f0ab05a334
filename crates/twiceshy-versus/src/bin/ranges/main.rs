//! How often range filters are mistaken, wherever ranges lie, and how they fare while they grow.
//!
//! The first table has the shares of empty ranges that seem to have a key. *Uniform* ranges lie anywhere; *correlated* ones begin
//! from 1 to R keys after a key, every distance as often as the others, and the worst distance is told besides; of the *Zipf* ones
//! few are popular: rank k is asked for with a probability of about 1/k. Whoever can learn learns from every mistake, at once.
//!
//! The second one follows filters from 2^12 slots on, over some doublings, as the last experiment of *Aeris Filter* does: at the
//! end of each phase, when a filter is as full as it gets, it has the rates of fresh ranges, the bits per key and the time that
//! the last doubling took, all in CPU time, with the keys in memory.
//!
//! | filter | what |
//! |---|---|
//! | range | `RangeFilter`: Memento, which grows without keys |
//! | adaptive | `AdaptiveRangeSet`: Aeris, with selective rejuvenation: keys are read for fingerprints that ran out of bits |
//! | adaptive, full | the same, but every doubling reads all keys and gives all fingerprints fresh length |
//! | truncating | a quotient filter of keys without their lowest bits, as long as they can be if no range is to meet more than two: what a filter of prefixes, or a trie of shortened keys, does |
//!
//! ```sh
//! cargo run --release -p twiceshy-versus --bin ranges            # some minutes
//! cargo run --release -p twiceshy-versus --bin ranges -- --quick # a quick look
//! ```

#[path = "../../clock.rs"]
#[allow(dead_code, reason = "no single operation is timed here")]
mod clock;
mod contenders;
mod growth;
mod rates;

use std::io::{self, Write};

use clap::Parser;
use serde::Serialize;

/// Tells how often range filters are mistaken, and how they fare while they grow.
#[derive(Debug, Clone, Parser)]
#[command(version, max_term_width = 100)]
struct Args {
    /// How many keys there are in the first table
    #[arg(long, value_name = "NUMBER", default_value_t = 900_000, value_parser = clap::value_parser!(u64).range(1..=1 << 30))]
    keys: u64,

    /// Empty ranges that are asked for, of each kind
    #[arg(long, value_name = "NUMBER", default_value_t = 1 << 22, value_parser = clap::value_parser!(u64).range(1..=1 << 36))]
    queries: u64,

    /// R, the length of all ranges
    #[arg(long, value_name = "KEYS", default_value_t = 32, value_parser = clap::value_parser!(u64).range(1..=65_536))]
    max_range: u64,

    /// The error rate that is asked for
    #[arg(long, value_name = "RATE", default_value_t = 0.01)]
    error_rate: f64,

    /// How often filters double in the second table
    #[arg(long, value_name = "NUMBER", default_value_t = 8, value_parser = clap::value_parser!(u32).range(0..=14))]
    doublings: u32,

    /// Few keys, queries and doublings
    #[arg(long)]
    quick: bool,

    /// One JSON object instead of tables
    #[arg(long)]
    json: bool,
}

/// All that was found out.
#[derive(Debug, Serialize)]
struct Report {
    keys: u64,
    queries: u64,
    max_range: u64,
    error_rate: f64,
    clock: &'static str,
    rates: Vec<rates::Row>,
    growth: Vec<growth::Row>,
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut args = Args::parse();
    if args.quick {
        (args.keys, args.queries, args.doublings) = (args.keys.min(10_000), args.queries.min(40_000), 3);
    }
    let Args { keys, queries, max_range, error_rate, .. } = args;
    let (rates, growth) = (rates::measure(&args)?, growth::measure(&args)?);
    let report = Report { keys, queries, max_range, error_rate, clock: clock::KIND, rates, growth };
    let mut out = io::stdout().lock();
    if args.json {
        serde_json::to_writer(&mut out, &report)?;
        writeln!(out)?;
    } else {
        report.write_tables(&mut out)?;
    }
    Ok(())
}

impl Report {
    fn write_tables(&self, out: &mut impl Write) -> io::Result<()> {
        let Self { keys, queries, max_range, error_rate, clock, .. } = self;
        let asked = percent(*error_rate);
        writeln!(
            out,
            "{keys} keys, {queries} empty ranges of {max_range} keys of each kind; {asked} asked for\n"
        )?;
        writeln!(out, "| filter | bits per key | uniform | correlated | worst distance | Zipf |")?;
        writeln!(out, "|---|---|---|---|---|---|")?;
        for row in &self.rates {
            let rates = [row.uniform, row.correlated, row.worst_distance, row.zipf].map(percent).join(" | ");
            writeln!(out, "| {} | {:.1} | {rates} |", row.filter, row.bits_per_key)?;
        }
        writeln!(
            out,
            "\n{} doublings, {clock}; {asked} asked for\n",
            self.growth.iter().map(|row| row.doublings).max().unwrap_or(0)
        )?;
        writeln!(
            out,
            "| filter | doublings | keys | bits per key | uniform | correlated | insert | last doubling | keys read |"
        )?;
        writeln!(out, "|---|---|---|---|---|---|---|---|---|")?;
        for row in &self.growth {
            writeln!(
                out,
                "| {} | {} | {} | {:.1} | {} | {} | {:.0} ns | {:.2} ms | {} |",
                row.filter,
                row.doublings,
                row.keys,
                row.bits_per_key,
                percent(row.uniform),
                percent(row.correlated),
                row.insert_ns,
                row.doubling_ms,
                row.keys_read,
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
