//! How filters fare while they grow: the experiments of section 5 of *InfiniFilter* (figures 13 to 16).
//!
//! A *phase* begins when a filter doubles and ends just before it doubles again, when it is as full as it gets.
//! At the end of every phase the program prints a line of CSV: the size, the time of an insert (growth included)
//! and of a query for an absent key in CPU time, the measured error rate and what the model allows, and the bits per key.
//!
//! ```sh
//! cargo run --release -p twiceshy-versus --bin growth > growth.csv      # 2^10 to 2^24 keys, some minutes
//! cargo run --release -p twiceshy-versus --bin growth -- --keys-log2 16 # a quick look
//! ```
//!
//! | filter | what |
//! |---|---|
//! | growing, chained, basic | the modes of our expandable filter |
//! | growing-spread | growing, with growth in small steps |
//! | sacrifice | fingerprint sacrifice: a quotient filter that doubles, and every fingerprint loses a bit |
//! | geometric | geometric chaining: a new quotient filter of twice the size after the others |
//!
//! Slots of 8 and 16 bits are counted as in the paper, where 3 bits of a slot are metadata: fingerprints have 4
//! and 12 bits in ours (one is the stop bit) and 5 and 13 in the baselines. A growing filter has no fixed slot;
//! it is asked for the error rates 2^-4 and 2^-12.

mod contenders;

use std::hint::black_box;
use std::io::{self, Write};
use std::time::Instant;

use clap::Parser;
use twiceshy_testkit::scatter;

use contenders::{Growing, all};

/// Prints, as CSV, what growing filters cost at the end of every doubling.
#[derive(Debug, Parser)]
#[command(version, max_term_width = 100)]
struct Args {
    /// Two to the power of this many keys are inserted
    #[arg(long, value_name = "BITS", default_value_t = 24, value_parser = clap::value_parser!(u32).range(11..=30))]
    keys_log2: u32,

    /// The share of slots at which filters double
    #[arg(long, value_name = "SHARE", default_value_t = 0.9)]
    load: f64,

    /// Only filters whose name contains this
    #[arg(long, value_name = "NAME")]
    filter: Option<String>,

    /// Times single inserts in CPU time of the thread: the slowest one is then that of the filter and not that of
    /// the machine, but reading this clock slows all of them down
    #[arg(long)]
    cpu_clock: bool,

    /// Queries per measurement
    #[arg(long, value_name = "NUMBER", default_value_t = 1 << 20)]
    queries: u64,
}

/// All filters start with 2^10 slots.
const START: u32 = 10;

/// The columns.
const HEAD: &str = "filter,slot_bits,rejuvenation,phase,keys,insert_ns,query_ns,error_rate,model_rate,\
                    bits_per_key,tables,slowest_insert_ns,most_slots_moved";

fn main() -> io::Result<()> {
    let args = Args::parse();
    let mut out = io::stdout().lock();
    writeln!(out, "{HEAD}")?;
    for mut filter in all(START, args.load) {
        if args.filter.as_ref().is_none_or(|name| filter.name().contains(name.as_str())) {
            grow(&mut *filter, &args, &mut out)?;
        }
    }
    Ok(())
}

/// Grows one filter, and prints a line per phase.
fn grow(filter: &mut dyn Growing, args: &Args, out: &mut impl Write) -> io::Result<()> {
    let most = 1u64 << args.keys_log2;
    let (mut keys, mut phase, mut slowest) = (0u64, 0, 0.0f64);
    while keys < most {
        let (start_of_phase, mut seconds) = (keys, 0.0);
        // The insert that ends a phase is the first of the next one.
        loop {
            let hashes: Vec<u64> = (keys..most.min(keys + 1024)).map(present).collect();
            let Some(inserted) = insert_until_full(filter, &hashes, args.cpu_clock) else { return Ok(()) };
            seconds += inserted.seconds;
            slowest = slowest.max(inserted.slowest);
            keys += inserted.keys;
            // The keys that are read again meanwhile: any of those inserted so far.
            let again = (inserted.keys as f64 * filter.rejuvenation()) as u64;
            for number in 0..again {
                // An old key leaves the chain for the active table: that may fill it too.
                if filter.is_full() {
                    break;
                }
                filter.rejuvenate(present(scatter(keys ^ number << 32) % keys));
            }
            if keys == most || filter.is_full() {
                break;
            }
        }
        let absent: Vec<u64> = (0..args.queries).map(|number| scatter(number | 1 << 40)).collect();
        let start = cpu_nanos();
        let found = absent.iter().filter(|&&hash| black_box(filter.contains(hash))).count();
        let query_ns = (cpu_nanos() - start) / absent.len() as f64;
        // No false negatives, on a sample.
        let step = (keys / 100_000).max(1) as usize;
        assert!((0..keys).step_by(step).all(|number| filter.contains(present(number))), "lost keys");
        writeln!(
            out,
            "{},{},{},{phase},{keys},{:.1},{query_ns:.1},{:.3e},{:.3e},{:.2},{},{slowest:.0},{}",
            filter.name(),
            filter.slot_bits(),
            filter.rejuvenation(),
            seconds * 1e9 / (keys - start_of_phase) as f64,
            found as f64 / absent.len() as f64,
            filter.model_rate(keys),
            filter.bytes() as f64 * 8.0 / keys as f64,
            filter.tables(),
            filter.most_slots_moved(),
        )?;
        out.flush()?;
        phase += 1;
    }
    Ok(())
}

struct Inserted {
    keys: u64,
    seconds: f64,
    /// Nanoseconds of the slowest.
    slowest: f64,
}

/// Inserts, at least one, until the filter is about to grow. `None` if it cannot grow any more.
fn insert_until_full(filter: &mut dyn Growing, hashes: &[u64], cpu_clock: bool) -> Option<Inserted> {
    let (start, cpu_start) = (Instant::now(), cpu_nanos());
    let now = || if cpu_clock { cpu_nanos() } else { start.elapsed().as_nanos() as f64 };
    let (mut before, mut slowest, mut keys) = (now(), 0.0f64, 0);
    for &hash in hashes {
        if !filter.insert(hash) {
            return None;
        }
        let now = now();
        slowest = slowest.max(now - before);
        before = now;
        keys += 1;
        if filter.is_full() {
            break;
        }
    }
    Some(Inserted { keys, seconds: (cpu_nanos() - cpu_start) * 1e-9, slowest })
}

/// CPU time of this thread: what else runs on the machine does not count.
#[cfg(unix)]
fn cpu_nanos() -> f64 {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    time.tv_sec as f64 * 1e9 + time.tv_nsec as f64
}

/// There is no such clock here.
#[cfg(not(unix))]
fn cpu_nanos() -> f64 {
    static START: std::sync::OnceLock<Instant> = std::sync::OnceLock::new();
    START.get_or_init(Instant::now).elapsed().as_nanos() as f64
}

fn present(number: u64) -> u64 {
    scatter(number)
}
