//! The ratios as a picture: an SVG of bars that start at 1, the yardstick, and go right where the filter
//! is faster and left where it is slower. The axis is logarithmic, so that twice as fast is as long as
//! half as fast. A thin line through the end of a bar spans the 10th to the 90th percentile.
//!
//! The file has no dependencies and follows the reader's choice of light or dark.

use twiceshy_plot::{COLOURS, Canvas, Scale};

use crate::plan::Hash;
use crate::report::{Report, Row};

const WIDTH: f64 = 880.0;
/// Where the bars begin and end. Names are on the left; the right has room for the last number.
const LEFT: f64 = 230.0;
const RIGHT: f64 = WIDTH - 60.0;
const TOP: f64 = 76.0;
const BAR: f64 = 14.0;
/// Between two groups of bars.
const GAP: f64 = 14.0;
const LEGEND_LINE: f64 = 20.0;

/// Ratios beyond these are drawn as if they were these.
const LEAST: f64 = 0.01;
const MOST: f64 = 100.0;

/// The plot of all speeds in a report: with raw hashes where there are any, as ratios are to be compared.
pub(crate) fn svg(report: &Report) -> String {
    let rows = chosen(&report.rows);
    let mut filters: Vec<&str> = Vec::new();
    let mut ops = Vec::new();
    for row in &rows {
        if !filters.contains(&row.filter.as_str()) {
            filters.push(&row.filter);
        }
        if !ops.contains(&row.op) {
            ops.push(row.op);
        }
    }
    ops.sort_unstable();
    let scale = scale(&rows);
    // Two names to a line.
    let legend_lines = filters.len().div_ceil(2) as f64;
    let top = TOP + legend_lines * LEGEND_LINE;

    let mut bars = Canvas::new();
    let mut y = top + GAP / 2.0;
    for op in ops {
        let group: Vec<_> = rows.iter().filter(|row| row.op == op).collect();
        let middle = y + group.len() as f64 * BAR / 2.0;
        bars.text("label end", LEFT - 12.0, middle + 4.0, op.name());
        for row in group {
            let colour = filters.iter().position(|&filter| filter == row.filter).unwrap_or(0);
            bar(&mut bars, row, &fill(colour), y, &scale);
            y += BAR;
        }
        y += GAP;
    }
    let bottom = y - GAP / 2.0;
    let height = bottom + 44.0;

    let mut canvas = Canvas::new();
    let setup = &report.setup;
    canvas.text("title", 20.0, 32.0, &format!("Speed relative to {} (more is faster)", setup.yardstick));
    let shape = format!(
        "2^{} slots of {} bits, load {}, same hashes on both sides, median of {} run(s)",
        setup.slots_log2, setup.remainder_bits, setup.load, setup.runs
    );
    canvas.text("small", 20.0, 54.0, &shape);
    for (number, filter) in filters.iter().enumerate() {
        let (x, y) = (20.0 + (number % 2) as f64 * 410.0, TOP + (number / 2) as f64 * LEGEND_LINE);
        canvas.rect(&fill(number), (x, y - 10.0), (11.0, 11.0), None);
        let own = rows.iter().any(|row| row.filter == *filter && row.hash == Hash::Own);
        let name = if own { format!("{filter} (own hash)") } else { (*filter).to_owned() };
        canvas.text("label", x + 18.0, y, &name);
    }
    for mark in marks(&scale) {
        let x = x(&scale, mark);
        canvas.line(if mark == 1.0 { "one" } else { "grid" }, (x, top), (x, bottom));
        canvas.text("small middle", x, bottom + 20.0, &format!("{mark}\u{d7}"));
    }
    canvas.group((0.0, 0.0), &bars);
    canvas.file((WIDTH, height), &format!("Speed relative to {}", setup.yardstick))
}

/// Speeds, raw where a filter has a raw row for the operation.
fn chosen(rows: &[Row]) -> Vec<&Row> {
    let speeds = || rows.iter().filter(|row| row.mops.is_some() && row.ratio.is_some());
    let has_raw = |filter: &str| speeds().any(|row| row.filter == filter && row.hash == Hash::Raw);
    speeds().filter(|row| row.hash == Hash::Raw || !has_raw(&row.filter)).collect()
}

/// Wide enough for all rows and, in any case, for half and double.
fn scale(rows: &[&Row]) -> Scale {
    let ends = rows.iter().flat_map(|row| [row.ratio, row.ratio_p10, row.ratio_p90]).flatten();
    let (low, high) = ends.fold((0.5f64, 2f64), |(low, high), end| (low.min(end), high.max(end)));
    Scale::Log { low: (low * 0.75).max(LEAST), high: (high * 1.1).min(MOST) }
}

/// Where a ratio lies.
fn x(scale: &Scale, ratio: f64) -> f64 {
    LEFT + scale.place(ratio) * (RIGHT - LEFT)
}

/// Round ratios on the axis: 1, 2 and 5 in every power of ten.
fn marks(scale: &Scale) -> impl Iterator<Item = f64> {
    let Scale::Log { low, high } = *scale else { unreachable!("ratios have a logarithmic scale") };
    let ratios = [0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0];
    ratios.into_iter().filter(move |ratio| (low..=high).contains(ratio))
}

/// The class of a filter's bars. There are fewer colours than filters: those that come second are pale.
fn fill(number: usize) -> String {
    format!("c{}{}", number % COLOURS.len(), if number < COLOURS.len() { "" } else { " second" })
}

fn bar(canvas: &mut Canvas, row: &Row, fill: &str, y: f64, scale: &Scale) {
    let Some(ratio) = row.ratio else { return };
    let (one, end) = (x(scale, 1.0), x(scale, ratio));
    let (from, width) = (one.min(end), (one - end).abs().max(1.0));
    let about = format!("{} {}: {ratio:.2}", row.filter, row.op.name());
    canvas.rect(fill, (from, y + 1.5), (width, BAR - 3.0), Some(&about));
    let (mut low, mut high) = (end, end);
    if let (Some(p10), Some(p90)) = (row.ratio_p10, row.ratio_p90) {
        (low, high) = (x(scale, p10).min(end), x(scale, p90).max(end));
        let middle = y + BAR / 2.0;
        canvas.line("span", (low, middle), (high, middle));
    }
    // On the outer side of the bar, beyond the line.
    let (class, x) = if ratio >= 1.0 { ("number", high.max(one) + 5.0) } else { ("number end", low - 5.0) };
    canvas.text(class, x, y + BAR - 3.5, &format!("{ratio:.2}"));
}
