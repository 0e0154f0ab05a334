//! What can be chosen, and what is chosen if nothing is said.

use std::path::PathBuf;
use std::time::Duration;

use twiceshy_store::EngineKind;

use crate::arguments::{self, count, max_range, number, rate, size};

const EXAMPLES: &str = "\
Examples:
  twiceshy race                                 # about a minute; see race.html then
  twiceshy race --quick --out /tmp/race         # about ten seconds
  twiceshy race --engine redb --cache 1%        # a B-tree, with hardly any cache
  twiceshy race --equal-rate                    # all filters built for the same error rate
  twiceshy race --key-file urls.txt             # your own keys, one per line
  twiceshy race --ranges                        # empty ranges of keys, on ordered stores
  twiceshy race --adversary 0.1,1,50 --seed 7   # other attacks, other random numbers
  twiceshy race --latency 100us                 # as if the storage were farther away (simulated)

Two runs with the same options and the same --seed make the same mistakes; only times differ.";

/// Loads the same keys into four stores on disk, asks them for keys that are not there, and then attacks them: an adaptive
/// filter beside a Bloom filter, a quotient filter and no filter. With --ranges it asks for ranges of keys in which there is
/// none: an adaptive range filter beside a Bloom filter of prefixes, a range filter that does not learn, and no filter. Shows a
/// live table, and writes a page (race.html) and all figures (race.json).
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Ask for ranges of keys instead of single keys: anywhere, close to keys, and under attack
    #[arg(long, conflicts_with_all = ["key_file", "skew"])]
    pub(super) ranges: bool,
    /// The longest range that is asked for, and that the filters are built for, as a number of keys, from 1 to 65536 [default: 32]
    #[arg(long, value_name = "KEYS", value_parser = max_range, requires = "ranges")]
    pub(super) max_range: Option<u64>,
    /// How many keys to load; with --key-file the most to take from it [default: 800000, 300000 on redb, 100000
    /// with --quick]
    #[arg(long, value_name = "N", value_parser = count)]
    pub(super) keys: Option<u64>,
    /// How many queries every store gets in each phase [default: as many as fit into about a minute, ten seconds with
    /// --quick; fewer on a slow engine or with --latency]
    #[arg(long, value_name = "N", value_parser = count)]
    pub(super) queries: Option<u64>,
    /// How much more popular the popular keys are in the Zipf phase: the exponent; 0 is not at all
    #[arg(long, value_name = "S", default_value = "1.1", value_parser = skew)]
    pub(super) skew: f64,
    /// How many of 100 queries replay what was slow before: one phase for each
    #[arg(long, value_name = "PERCENT,...", default_value = "1,3,10", value_delimiter = ',', value_parser = percent)]
    pub(super) adversary: Vec<f64>,
    /// The engine that keeps the rows on disk: fjall (log-structured) or redb (B-tree)
    #[arg(long, value_name = "ENGINE", default_value = "fjall")]
    pub(super) engine: EngineKind,
    /// The engine's own cache, for each store: percent of the data (10%) or a size (64M); a bare number is
    /// bytes
    #[arg(long, value_name = "SIZE", default_value = "10%", value_parser = cache)]
    pub(super) cache: Cache,
    /// The error rate that the adaptive filter is built for: the share of absent keys it may let through
    #[arg(long, value_name = "RATE", default_value_t = arguments::ERROR_RATE, value_parser = rate)]
    pub(super) error_rate: f64,
    /// Build all filters for that error rate. Otherwise the others get the memory that the adaptive one has, and err less
    /// often than it as long as nobody attacks
    #[arg(long)]
    pub(super) equal_rate: bool,
    /// Where all random numbers start, those of keys, queries and hashes
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub(super) seed: u64,
    /// Load the keys of this file, one per line, instead of random ones
    #[arg(long, value_name = "FILE")]
    pub(super) key_file: Option<PathBuf>,
    /// Pretend that every lookup in the engine takes this much longer, for example 100us or 2ms (simulated)
    #[arg(long, value_name = "TIME", value_parser = latency)]
    pub(super) latency: Option<Duration>,
    /// Leave out the second part, in which the files are evicted from the operating system's cache, so that every lookup
    /// reads the disk
    #[arg(long)]
    pub(super) no_cold: bool,
    /// A small race of about ten seconds
    #[arg(long)]
    pub(super) quick: bool,
    /// Where race.html and race.json go
    #[arg(long, value_name = "DIR", default_value = ".")]
    pub(super) out: PathBuf,
    /// Where the stores lie while the race runs [default: the folder for temporary files]
    #[arg(long, value_name = "DIR")]
    pub(super) dir: Option<PathBuf>,
    /// Write the picture of false positives over time to this file, too
    #[arg(long, value_name = "FILE")]
    pub(super) svg: Option<PathBuf>,
    /// Print all figures as JSON instead of a table and a summary
    #[arg(long)]
    pub(super) json: bool,
}

/// The size of an engine's cache.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Cache {
    /// Percent of the bytes of all keys and values.
    Percent(f64),
    Bytes(u64),
}

impl Cache {
    pub(super) fn bytes(self, data_bytes: u64) -> u64 {
        match self {
            Self::Percent(percent) => (data_bytes as f64 * percent / 100.0) as u64,
            Self::Bytes(bytes) => bytes,
        }
    }
}

impl std::fmt::Display for Cache {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Percent(percent) => write!(f, "{percent}%"),
            Self::Bytes(bytes) => write!(f, "{bytes}"),
        }
    }
}

/// What is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Discipline {
    /// Keys.
    Keys,
    /// Ranges of up to this many keys.
    Ranges { max_range: u64 },
}

/// The longest range if none is given.
const MAX_RANGE: u64 = 32;

/// How long all queries of a store without a filter may take, for the number of queries if none is given. What one of them
/// takes was measured on two busy cores of a 2.8 GHz Xeon, and is fixed, so that every machine races the same.
const SECONDS: f64 = 24.0;
const QUICK_SECONDS: f64 = 3.0;

impl Args {
    /// What is asked for.
    pub(super) fn discipline(&self) -> Discipline {
        match self.ranges {
            false => Discipline::Keys,
            true => Discipline::Ranges { max_range: self.max_range.unwrap_or(MAX_RANGE) },
        }
    }

    /// How many keys to generate.
    pub(super) fn generated_keys(&self) -> u64 {
        self.keys.unwrap_or(match self.engine.name() {
            _ if self.quick => 100_000,
            // It takes three times as long to load.
            "redb" => 300_000,
            _ => 800_000,
        })
    }

    /// How many queries every store gets in each of so many phases.
    pub(super) fn queries_of(&self, phases: usize) -> u64 {
        self.queries.unwrap_or_else(|| {
            // fjall has filters of its own, but none for ranges.
            let lookup = match (self.engine.name(), self.ranges) {
                (_, true) => 6e-6,
                ("redb", false) => 10e-6,
                (_, false) => 3e-6,
            };
            let slow = lookup + self.latency.unwrap_or_default().as_secs_f64();
            let seconds = if self.quick { QUICK_SECONDS } else { SECONDS };
            let most = (seconds / phases as f64 / slow).clamp(100.0, 1e6);
            // A round number.
            let power = 10f64.powf(most.log10().floor());
            ((most / power).floor() * power) as u64
        })
    }
}

fn skew(text: &str) -> Result<f64, String> {
    let skew = number(text)?;
    if (0.0..=10.0).contains(&skew) {
        Ok(skew)
    } else {
        Err("it must be from 0 to 10, for example 1.1".into())
    }
}

fn percent(text: &str) -> Result<f64, String> {
    let percent = number(text.trim().trim_end_matches('%'))?;
    match percent {
        0.0 => Err("it must be above 0: the race without an attack is always run".into()),
        percent if percent > 0.0 && percent <= 100.0 => Ok(percent),
        _ => Err("it is a share in percent, from 0 to 100, for example 1,3,10".into()),
    }
}

fn cache(text: &str) -> Result<Cache, String> {
    const HELP: &str =
        "it must be percent of the data, for example 10%, or a size, for example 64M; a bare number is bytes";
    if let Some(percent) = text.strip_suffix('%') {
        let percent = number(percent)?;
        return if (0.0..=1_000.0).contains(&percent) {
            Ok(Cache::Percent(percent))
        } else {
            Err(HELP.into())
        };
    }
    size(text).map(Cache::Bytes).map_err(|_| HELP.to_owned())
}

fn latency(text: &str) -> Result<Duration, String> {
    const HELP: &str = "it must be a time from 1us to 1s, for example 100us or 2ms";
    let (digits, unit) = text.split_at(text.find(char::is_alphabetic).unwrap_or(text.len()));
    let seconds = match unit {
        "us" | "µs" => 1e-6,
        "ms" => 1e-3,
        "s" => 1.0,
        _ => return Err(HELP.into()),
    } * number(digits).map_err(|_| HELP.to_owned())?;
    if (0.999e-6..=1.0).contains(&seconds) { Ok(Duration::from_secs_f64(seconds)) } else { Err(HELP.into()) }
}

/// A latency as it is given as an option.
pub(super) fn latency_text(latency: Duration) -> String {
    match latency.as_secs_f64() * 1e6 {
        micros if micros >= 1e3 => format!("{}ms", (micros / 1e3 * 1e3).round() / 1e3),
        micros => format!("{}us", (micros * 1e3).round() / 1e3),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_and_times_are_read() {
        assert_eq!(cache("10%"), Ok(Cache::Percent(10.0)));
        assert_eq!(cache("64M"), Ok(Cache::Bytes(64 << 20)));
        assert_eq!(cache("64MiB"), Ok(Cache::Bytes(64 << 20)));
        assert_eq!(cache("5000"), Ok(Cache::Bytes(5_000)));
        for wrong in ["", "M", "-1%", "NaN%", "1.5M", "10x", "99999999999999G"] {
            assert!(cache(wrong).is_err(), "{wrong}");
        }
        assert_eq!(latency("100us"), Ok(Duration::from_micros(100)));
        assert_eq!(latency("0.5ms"), Ok(Duration::from_micros(500)));
        assert_eq!(latency_text(Duration::from_micros(500)), "500us");
        assert_eq!(latency_text(Duration::from_micros(2_500)), "2.5ms");
        for wrong in ["", "5", "0us", "-1ms", "NaNs", "2s", "1h"] {
            assert!(latency(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn numbers_that_make_no_sense_are_refused() {
        assert_eq!(percent("2.5%"), Ok(2.5));
        for wrong in ["0", "-1", "101", "NaN", "inf", ""] {
            assert!(percent(wrong).is_err(), "{wrong}");
        }
        for wrong in ["-1", "11", "NaN"] {
            assert!(skew(wrong).is_err(), "{wrong}");
        }
    }
}
