//! What a run found out: rows, and the ways to print them.

use std::io::{self, Write};

use comfy_table::presets::UTF8_BORDERS_ONLY;
use comfy_table::{Cell, CellAlignment, ContentArrangement, Table};
use serde::{Deserialize, Serialize};

use crate::op::Op;
use crate::pages::Pages;
use crate::plan::Hash;

/// All that one or several runs found out.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Report {
    pub(crate) rows: Vec<Row>,
    pub(crate) setup: Setup,
}

/// One operation of one filter, compared with the yardstick.
///
/// In every ratio, more than 1 is in favour of the filter.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Row {
    pub(crate) filter: String,
    pub(crate) hash: Hash,
    pub(crate) op: Op,
    pub(crate) slots_log2: u32,
    /// Millions of operations per second.
    pub(crate) mops: Option<f64>,
    pub(crate) mops_yardstick: Option<f64>,
    /// For what is not a speed: the number itself, in `unit`.
    pub(crate) value: Option<f64>,
    pub(crate) value_yardstick: Option<f64>,
    pub(crate) unit: Option<String>,
    pub(crate) ratio: Option<f64>,
    pub(crate) ratio_p10: Option<f64>,
    pub(crate) ratio_p90: Option<f64>,
    pub(crate) bits_per_item: Option<f64>,
    pub(crate) error_rate: Option<f64>,
    /// What else is worth knowing.
    pub(crate) note: Option<String>,
}

impl Row {
    /// The numbers, in a fixed order, so that rows of several runs can be combined.
    pub(crate) fn numbers(&mut self) -> [&mut Option<f64>; 9] {
        [
            &mut self.mops,
            &mut self.mops_yardstick,
            &mut self.value,
            &mut self.value_yardstick,
            &mut self.ratio,
            &mut self.ratio_p10,
            &mut self.ratio_p90,
            &mut self.bits_per_item,
            &mut self.error_rate,
        ]
    }

    /// Whether two rows of different runs are about the same thing.
    pub(crate) fn same_subject(&self, other: &Self) -> bool {
        (&self.filter, self.hash, self.op) == (&other.filter, other.hash, other.op)
    }
}

/// How it was measured.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Setup {
    pub(crate) yardstick: String,
    pub(crate) slots_log2: u32,
    pub(crate) remainder_bits: u32,
    pub(crate) load: f64,
    pub(crate) items: usize,
    pub(crate) seed: u64,
    pub(crate) runs: usize,
    pub(crate) clock: String,
    /// What the compiler was allowed to use beyond the baseline, and whether BMI2 was ruled out.
    pub(crate) build: String,
    pub(crate) pages: Pages,
    pub(crate) kernel_huge_pages: Option<String>,
    pub(crate) huge: Vec<HugePages>,
}

/// How much of a pair of tables lies in huge pages, as the kernel counts it after the first chunk.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct HugePages {
    pub(crate) filter: String,
    pub(crate) hash: Hash,
    pub(crate) bytes: u64,
    pub(crate) huge_bytes: u64,
    pub(crate) bytes_yardstick: u64,
    pub(crate) huge_bytes_yardstick: u64,
}

impl Report {
    /// One JSON object on a line.
    pub(crate) fn write_json(&self, out: &mut dyn Write) -> io::Result<()> {
        serde_json::to_writer(&mut *out, self)?;
        writeln!(out)
    }

    /// Tables for people.
    pub(crate) fn write_tables(&self, out: &mut dyn Write) -> io::Result<()> {
        self.setup.write(out)?;
        let mut speeds = table(&[
            "filter",
            "hash",
            "operation",
            "M/s",
            "qfilter M/s",
            "ratio",
            "10 to 90 %",
            "bits/item",
            "error rate",
        ]);
        let mut others = table(&["filter", "hash", "measure", "value", "qfilter", "unit", "ratio"]);
        let mut notes: Vec<String> = Vec::new();
        for row in &self.rows {
            let subject = [row.filter.clone(), row.hash.name().to_owned(), row.op.name().to_owned()];
            let numbers = if row.mops.is_some() {
                let interval = match (row.ratio_p10, row.ratio_p90) {
                    (Some(p10), Some(p90)) => format!("{p10:.2} to {p90:.2}"),
                    _ => String::new(),
                };
                vec![
                    number(row.mops, 2),
                    number(row.mops_yardstick, 2),
                    number(row.ratio, 2),
                    interval,
                    number(row.bits_per_item, 2),
                    row.error_rate.map_or_else(String::new, |rate| format!("{:.4} %", rate * 100.0)),
                ]
            } else {
                let unit = row.unit.clone().unwrap_or_default();
                vec![number(row.value, 1), number(row.value_yardstick, 1), unit, number(row.ratio, 2)]
            };
            let to = if row.mops.is_some() { &mut speeds } else { &mut others };
            let cells = subject.map(Cell::new).into_iter();
            let right = |text| Cell::new(text).set_alignment(CellAlignment::Right);
            to.add_row(cells.chain(numbers.into_iter().map(right)));
            let note = row.note.as_ref().map(|note| format!("{}: {note}", row.op.name()));
            notes.extend(note.filter(|note| !notes.contains(note)));
        }
        for table in [speeds, others] {
            if !table.is_empty() {
                writeln!(out, "\n{table}")?;
            }
        }
        for note in notes {
            writeln!(out, "{note}")?;
        }
        Ok(())
    }
}

impl Setup {
    fn write(&self, out: &mut dyn Write) -> io::Result<()> {
        let Self { slots_log2, remainder_bits, load, items, runs, clock, build, seed, .. } = self;
        writeln!(
            out,
            "2^{slots_log2} slots, {remainder_bits} remainder bits, load {load}: {items} items. \
             {runs} run(s), {clock}, seed {seed}."
        )?;
        writeln!(out, "{build}.")?;
        let kernel = self.kernel_huge_pages.as_deref().unwrap_or("not known");
        match self.pages {
            Pages::Huge => writeln!(out, "Huge pages asked for on both sides (kernel: {kernel}).")?,
            Pages::Small => writeln!(out, "Huge pages off on both sides (kernel: {kernel}).")?,
        }
        let mib = |bytes: u64| bytes as f64 / f64::from(1 << 20);
        for huge in &self.huge {
            writeln!(
                out,
                "  in huge pages: {} ({}) {:.1} of {:.1} MiB, {} {:.1} of {:.1} MiB",
                huge.filter,
                huge.hash.name(),
                mib(huge.huge_bytes),
                mib(huge.bytes),
                self.yardstick,
                mib(huge.huge_bytes_yardstick),
                mib(huge.bytes_yardstick),
            )?;
        }
        if self.huge.iter().any(|huge| huge.huge_bytes > huge.bytes) {
            writeln!(out, "  (whole huge pages: the first and the last one reach beyond the table)")?;
        }
        writeln!(out, "A ratio above 1 is in favour of the filter named first.")
    }
}

fn table(header: &[&str]) -> Table {
    let mut table = Table::new();
    table.load_preset(UTF8_BORDERS_ONLY).set_content_arrangement(ContentArrangement::Disabled);
    table.set_header(header.iter().copied());
    table
}

fn number(number: Option<f64>, digits: usize) -> String {
    number.map_or_else(String::new, |number| format!("{number:.digits$}"))
}
