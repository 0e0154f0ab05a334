//! What was measured, as tables in Markdown.

use std::fmt::Write;

use crate::deltas::Change;
use crate::sizes::Measured;
use crate::{Report, rate};

pub(crate) fn markdown(report: &Report) -> String {
    let mut text = String::new();
    let tables = [sizes, peers, deltas, speeds].map(|table| table(report));
    tables.iter().for_each(|table| text += &format!("{table}\n"));
    let building = &report.building;
    let _ = writeln!(
        text,
        "Building a frozen list of {} YES and {} NO keys: {:.2} s, {:.0} ns per key.",
        building.yes,
        building.no,
        building.seconds,
        building.seconds * 1e9 / (building.yes + building.no) as f64
    );
    text
}

fn sizes(report: &Report) -> String {
    let mut text = "| NO per YES | error rate | least | frozen | ratio | measured rate | dynamic | measured rate | paper, at least |\n\
                    |---|---|---|---|---|---|---|---|---|\n"
        .to_owned();
    for row in &report.sizes {
        let _ = writeln!(
            text,
            "| {} | 2^-{} | {:.2} | {:.2} | {:.3} | {} | {:.2} | {} | {:.2} |",
            row.lists.ratio(),
            row.rate_log2,
            row.least_bits,
            row.frozen.bits,
            row.frozen.bits / row.least_bits,
            share(row.frozen.rate),
            row.dynamic.bits,
            share(row.dynamic.rate),
            row.paper_bits
        );
    }
    text
}

/// One line for each ratio: what the peers take does not depend on a rate. The frozen list beside them has the highest rate that
/// was measured which is not above that of the peer.
fn peers(report: &Report) -> String {
    let mut text = "| NO per YES | cascade | its rate | frozen, with at most that rate | clubcard | its rate | frozen, with at most that rate |\n\
                    |---|---|---|---|---|---|---|\n"
        .to_owned();
    for rows in report.sizes.chunk_by(|one, other| one.lists.ratio_log2 == other.lists.ratio_log2) {
        let frozen = |peer: &Measured| {
            let fits = rows.iter().find(|row| rate(row.rate_log2) <= peer.rate.max(rate(12)));
            let is_asked_for = rows.iter().any(|row| peer.keeps(rate(row.rate_log2), report.queries));
            match fits {
                Some(row) if is_asked_for => format!("{:.2} (2^-{})", row.frozen.bits, row.rate_log2),
                _ => "none: its rate is above 2^-7".into(),
            }
        };
        let (cascade, clubcard) = (&rows[0].cascade, &rows[0].clubcard);
        let _ = writeln!(
            text,
            "| {} | {:.2} | {} | {} | {:.2} | {} | {} |",
            rows[0].lists.ratio(),
            cascade.bits,
            share(cascade.rate),
            frozen(cascade),
            clubcard.bits,
            share(clubcard.rate),
            frozen(clubcard)
        );
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
        rate if rate > 0.4 => format!("{:.0} %", rate * 100.0),
        rate => format!("2^{:.2}", rate.log2()),
    }
}
