//! The command line.

use std::path::PathBuf;

use clap::builder::PossibleValuesParser;
use clap::{Parser, ValueEnum};

use crate::adapters::{ALL, Kind, YARDSTICK, find};
use crate::clock;
use crate::op::Op;
use crate::pages::{self, Pages};
use crate::plan::{Hash, Plan};
use crate::report::Setup;
use crate::runs::Task;
use crate::shared;

/// Compares membership filters with qfilter, in pairs.
///
/// For every operation the filter and qfilter take turns on the same items, and the median ratio of their
/// speeds is reported: more than 1 means that the filter is faster than qfilter.
///
/// Build with --release. An extra table for RUSTFLAGS=-Ctarget-cpu=native, or for
/// RUSTFLAGS='--cfg twiceshy_portable' with --features portable (no BMI2 on either side), needs a build of
/// its own; the output says which one it comes from.
#[derive(Debug, Parser)]
#[command(version, max_term_width = 100)]
pub(crate) struct Args {
    /// The tables have two to the power of this many slots
    #[arg(long, value_name = "BITS", default_value_t = 22, value_parser = clap::value_parser!(u32).range(12..=30))]
    slots_log2: u32,

    /// The bits of a slot
    #[arg(long, value_name = "BITS", default_value_t = 9, value_parser = clap::value_parser!(u32).range(5..=32))]
    remainder_bits: u32,

    /// The share of slots that is filled, up to 0.95
    #[arg(long, value_name = "SHARE", default_value_t = 0.9, value_parser = load)]
    load: f64,

    /// Which filters to compare with qfilter; all of ours if not given, "all" for all there are
    #[arg(long = "filter", value_name = "NAME", num_args = 1.., value_parser = names(), hide_possible_values = true)]
    filters: Vec<String>,

    /// How many threads share a filter (with --filter twiceshy-shared)
    #[arg(long, value_name = "N", default_value_t = 2, value_parser = clap::value_parser!(u32).range(1..=64))]
    threads: u32,

    /// Only these operations
    #[arg(long = "op", value_name = "NAME", num_args = 1.., value_enum, hide_possible_values = true)]
    ops: Vec<Op>,

    /// Only with this hash: raw, the same hashes for both sides, or each side's own
    #[arg(long)]
    hash: Option<Hash>,

    /// How often all of it is repeated, in fresh processes; the median is reported
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..))]
    runs: u32,

    /// The memory pages of both sides
    #[arg(long, default_value = "huge")]
    pub(crate) pages: Pages,

    /// Where the random items come from
    #[arg(long, value_name = "NUMBER", default_value_t = 1)]
    seed: u64,

    /// Prints JSON for programs
    #[arg(long)]
    pub(crate) json: bool,

    /// Writes a plot of the ratios besides
    #[arg(long, value_name = "FILE.svg")]
    pub(crate) plot: Option<PathBuf>,

    /// Small tables, few chunks, one run: shows that everything works, and measures nothing
    #[arg(long, conflicts_with_all = ["runs", "slots_log2"])]
    quick: bool,

    /// Lists the filters
    #[arg(long)]
    pub(crate) list: bool,

    /// What this process does for another one
    #[arg(long, hide = true)]
    pub(crate) child: Option<Task>,

    /// The child of a quick run
    #[arg(long, hide = true)]
    few_chunks: bool,
}

/// All filters, under "all" for the command line.
const EVERY: &str = "all";

fn names() -> PossibleValuesParser {
    ALL.iter().map(|kind| kind.name()).chain([EVERY, shared::NAME]).collect::<Vec<_>>().into()
}

fn load(text: &str) -> Result<f64, String> {
    let load: f64 = text.parse().map_err(|_| "not a number".to_owned())?;
    if (0.05..=0.95).contains(&load) { Ok(load) } else { Err("must be from 0.05 to 0.95".into()) }
}

/// Slots of a quick run.
const QUICK_SLOTS_LOG2: u32 = 14;

impl Args {
    pub(crate) fn plan(&self) -> Plan {
        Plan {
            slots_log2: if self.quick { QUICK_SLOTS_LOG2 } else { self.slots_log2 },
            remainder_bits: self.remainder_bits,
            load: self.load,
            seed: self.seed,
            quick: self.quick || self.few_chunks,
        }
    }

    /// Whether filters that threads share are measured, and by how many: they are compared with themselves.
    pub(crate) fn shared_threads(&self) -> Option<usize> {
        (self.filters == [shared::NAME]).then_some(self.threads as usize)
    }

    pub(crate) fn runs(&self) -> usize {
        if self.quick { 1 } else { self.runs as usize }
    }

    /// The filters to compare, in the order of the list.
    pub(crate) fn kinds(&self) -> Vec<&'static dyn Kind> {
        if self.filters.is_empty() {
            return ALL.iter().copied().filter(|kind| kind.is_ours()).collect();
        }
        if self.filters.iter().any(|name| name == EVERY) {
            return ALL.to_vec();
        }
        let mut kinds: Vec<_> = self.filters.iter().filter_map(|name| find(name)).collect();
        let mut seen = Vec::new();
        kinds.retain(|kind| {
            !seen.contains(&kind.name()) && {
                seen.push(kind.name());
                true
            }
        });
        kinds
    }

    pub(crate) fn ops(&self) -> Vec<Op> {
        if self.ops.is_empty() { Op::value_variants().to_vec() } else { self.ops.clone() }
    }

    pub(crate) fn hashes(&self) -> Vec<Hash> {
        self.hash.map_or_else(|| Hash::value_variants().to_vec(), |hash| vec![hash])
    }

    /// The arguments that a child needs besides its filter.
    pub(crate) fn for_child(&self) -> Vec<String> {
        let plan = self.plan();
        let mut arguments = vec![
            format!("--slots-log2={}", plan.slots_log2),
            format!("--remainder-bits={}", plan.remainder_bits),
            format!("--load={}", plan.load),
            format!("--seed={}", plan.seed),
        ];
        let mut name = |option: &str, value: &dyn Fn() -> Option<clap::builder::PossibleValue>| {
            let value = value().expect("no value is skipped");
            arguments.push(format!("--{option}={}", value.get_name()));
        };
        name("pages", &|| self.pages.to_possible_value());
        for op in self.ops() {
            name("op", &|| op.to_possible_value());
        }
        if let Some(hash) = self.hash {
            name("hash", &|| hash.to_possible_value());
        }
        if plan.quick {
            arguments.push("--few-chunks".to_owned());
        }
        arguments
    }

    pub(crate) fn setup(&self) -> Setup {
        let plan = self.plan();
        Setup {
            yardstick: YARDSTICK.name().to_owned(),
            slots_log2: plan.slots_log2,
            remainder_bits: plan.remainder_bits,
            load: plan.load,
            items: plan.items(),
            seed: plan.seed,
            runs: self.runs(),
            clock: clock::KIND.to_owned(),
            build: build(),
            pages: self.pages,
            kernel_huge_pages: pages::kernel_setting(),
            huge: Vec::new(),
        }
    }
}

/// What this program was compiled for.
fn build() -> String {
    let compiled = if cfg!(debug_assertions) { "Debug build, so no measurement" } else { "Release build" };
    let cpu = if cfg!(all(target_arch = "x86_64", target_feature = "bmi2")) {
        "for a CPU with BMI2"
    } else {
        "for the baseline of the target"
    };
    let bmi2 = |without: bool| if without { "ruled out" } else { "if the CPU has it" };
    format!(
        "{compiled} {cpu}; BMI2 in twiceshy {}, in qfilter {}",
        bmi2(cfg!(twiceshy_portable)),
        bmi2(cfg!(feature = "portable"))
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_command_line_is_sound() {
        Args::command().debug_assert();
    }

    #[test]
    fn ours_are_the_default_and_names_count_once() {
        let of = |arguments: &[&str]| -> Vec<&str> {
            let args = Args::parse_from([&["versus"], arguments].concat());
            args.kinds().iter().map(|kind| kind.name()).collect()
        };
        assert!(of(&[]).iter().all(|name| name.starts_with("twiceshy-")));
        assert_eq!(
            of(&["--filter", "qfilter", "fastbloom", "--filter", "qfilter"]),
            ["qfilter", "fastbloom"]
        );
        assert_eq!(of(&["--filter", "all"]).len(), ALL.len());
    }

    #[test]
    fn a_child_gets_the_same_plan() {
        let args = Args::parse_from(["versus", "--quick", "--load=0.95", "--seed=7", "--pages=small"]);
        let child = Args::parse_from(["versus".to_owned()].into_iter().chain(args.for_child()));
        assert_eq!(format!("{:?}", child.plan()), format!("{:?}", args.plan()));
        assert_eq!((child.pages, child.ops()), (args.pages, args.ops()));
    }
}
