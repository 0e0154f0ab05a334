//! What was measured, as tables in Markdown.

use std::fmt::Write;

use crate::deltas::Change;
use crate::sizes::{Peer, Row};
use crate::{RATES, Report};

pub(crate) fn markdown(report: &Report) -> String {
    let mut text = String::new();
    let tables = [
        (report.sizes.is_empty(), sizes(report)),
        (report.sizes.is_empty(), peers(report)),
        (report.deltas.is_empty(), deltas(report)),
        (report.speed.is_empty(), speeds(report)),
    ];
    for (_, table) in tables.iter().filter(|(is_empty, _)| !is_empty) {
        text += &format!("{table}\n");
    }
    if let Some(building) = &report.building {
        let _ = writeln!(
            text,
            "Building a frozen list of {} YES and {} NO keys: {:.2} s, {:.0} ns per key.",
            building.yes,
            building.no,
            building.seconds,
            building.seconds * 1e9 / (building.yes + building.no) as f64
        );
    }
    text
}

/// What a table of sizes shows, and how it writes a row.
type Cells = (&'static str, fn(&Row) -> String);

const SIZES: [Cells; 6] = [
    ("Least possible, and what the paper's list has but for a constant", |row| {
        format!("{:.2}, {:.2}", row.least_bits, row.paper_bits)
    }),
    ("Frozen list, and how many times the least", |row| {
        format!("{:.2} ({:.3}×)", row.frozen.bits, row.frozen.bits / row.least_bits)
    }),
    ("Dynamic list that grows, its filter", |row| format!("{:.1}", row.dynamic.bits)),
    ("Dynamic list of a fixed size, its filter", |row| format!("{:.1}", row.fixed.bits)),
    ("Unlisted keys that the frozen list answers Yes, measured", |row| share(row.frozen.rate)),
    ("Unlisted keys that the dynamic lists answer Yes, growing and fixed, measured", |row| {
        format!("{}, {}", share(row.dynamic.rate), share(row.fixed.rate))
    }),
];

/// A table for each list: a line for each ratio, a column for each error rate. Sizes are bits per YES key.
fn sizes(report: &Report) -> String {
    let mut text = String::new();
    for (title, cell) in SIZES {
        let _ = writeln!(
            text,
            "{title}:\n\n| NO per YES |{}",
            RATES.map(|rate| format!(" 2^-{rate} |")).concat()
        );
        let _ = writeln!(text, "|---|{}", "---|".repeat(RATES.len()));
        for rows in report.sizes.chunk_by(|one, other| one.lists.ratio_log2 == other.lists.ratio_log2) {
            let cells: String = rows.iter().map(|row| format!(" {} |", cell(row))).collect();
            let _ = writeln!(text, "| {} |{cells}", rows[0].lists.ratio());
        }
        text.push('\n');
    }
    text
}

/// One line for each ratio: what the peers take does not depend on a rate.
fn peers(report: &Report) -> String {
    let mut text =
        "| NO per YES | cascade | its rate | frozen, same rate | clubcard | its rate | frozen, same rate |\n\
                    |---|---|---|---|---|---|---|\n"
            .to_owned();
    for rows in report.sizes.chunk_by(|one, other| one.lists.ratio_log2 == other.lists.ratio_log2) {
        let _ = write!(text, "| {} |", rows[0].lists.ratio());
        for Peer { list, frozen } in [&rows[0].cascade, &rows[0].clubcard] {
            let _ = write!(text, " {:.2} | {} | {:.2} |", list.bits, share(list.rate), frozen.bits);
        }
        text.push('\n');
    }
    text
}

fn deltas(report: &Report) -> String {
    let mut text = "| NO per YES | error rate | list | 0.1 % replaced: delta | of the list | 0.1 % moved: delta | of the list |\n\
                    |---|---|---|---|---|---|---|\n"
        .to_owned();
    for rows in report.deltas.chunks(2) {
        let list_bytes = rows[0].list_bytes;
        let _ = write!(
            text,
            "| {} | 2^-{} | {:.1} kB |",
            rows[0].lists.ratio(),
            rows[0].rate_log2,
            list_bytes as f64 / 1e3
        );
        for change in [Change::Replaced, Change::Moved] {
            for row in rows.iter().filter(|row| row.change == change) {
                let percent = 100.0 * row.delta_bytes as f64 / list_bytes as f64;
                let _ = write!(text, " {} B | {percent:.2} % |", row.delta_bytes);
            }
        }
        text.push('\n');
    }
    text
}

fn speeds(report: &Report) -> String {
    let mut text =
        "| keys | how | frozen list | quotient filter | as fast |\n|---|---|---|---|---|\n".to_owned();
    for row in &report.speed {
        let _ = writeln!(
            text,
            "| {} | {} | {:.1} ns | {:.1} ns | {:.2}× |",
            row.keys, row.way, row.list_ns, row.filter_ns, row.ratio
        );
    }
    text
}

/// A rate as a power of two, which is what is asked for.
fn share(rate: f64) -> String {
    match rate {
        0.0 => "0".into(),
        rate if rate > 0.2 => format!("{:.0} %", rate * 100.0),
        rate => format!("2^{:.2}", rate.log2()),
    }
}
