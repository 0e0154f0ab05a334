//! The ratios as a picture: an SVG of bars that start at 1, the yardstick, and go right where the filter
//! is faster and left where it is slower. The axis is logarithmic, so that twice as fast is as long as
//! half as fast. A thin line through the end of a bar spans the 10th to the 90th percentile.
//!
//! The file has no dependencies and follows the reader's choice of light or dark.

use std::fmt::Write;

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

/// One colour per filter, for light and for dark.
const COLOURS: [(&str, &str); 8] = [
    ("#2a6fc9", "#5b9bea"),
    ("#d9622b", "#f08a54"),
    ("#1a9a6c", "#3fc796"),
    ("#7d55c7", "#a98bea"),
    ("#c2406f", "#ea7aa2"),
    ("#9a7b00", "#d1b03a"),
    ("#0b8a9c", "#45bccb"),
    ("#6b6b66", "#a3a39d"),
];

/// Marks on the axis, as far as they are needed.
const TICKS: [f64; 13] = [0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0];

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
    let scale = Scale::new(&rows);
    // Two names to a line.
    let legend_lines = filters.len().div_ceil(2) as f64;
    let top = TOP + legend_lines * LEGEND_LINE;

    let mut bars = String::new();
    let mut y = top + GAP / 2.0;
    for op in ops {
        let group: Vec<_> = rows.iter().filter(|row| row.op == op).collect();
        let middle = y + group.len() as f64 * BAR / 2.0;
        text(&mut bars, "label end", LEFT - 12.0, middle + 4.0, op.name());
        for row in group {
            let colour = filters.iter().position(|&filter| filter == row.filter).unwrap_or(0);
            bar(&mut bars, row, colour % COLOURS.len(), y, &scale);
            y += BAR;
        }
        y += GAP;
    }
    let bottom = y - GAP / 2.0;
    let height = bottom + 44.0;

    let mut svg = String::new();
    let (setup, shown) = (&report.setup, scale.marks());
    put(
        &mut svg,
        format_args!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height:.0}\" role=\"img\" \
         font-family=\"system-ui, 'DejaVu Sans', sans-serif\">"
        ),
    );
    put(&mut svg, format_args!("<title>Speed relative to {}</title>", setup.yardstick));
    put(&mut svg, format_args!("<style>{}</style>", style()));
    put(&mut svg, format_args!("<rect class=\"paper\" width=\"{WIDTH}\" height=\"{height:.0}\"/>"));
    text(&mut svg, "title", 20.0, 32.0, &format!("Speed relative to {} (more is faster)", setup.yardstick));
    let shape = format!(
        "2^{} slots of {} bits, load {}, same hashes on both sides, median of {} run(s)",
        setup.slots_log2, setup.remainder_bits, setup.load, setup.runs
    );
    text(&mut svg, "small", 20.0, 54.0, &shape);
    for (number, filter) in filters.iter().enumerate() {
        let (x, y) = (20.0 + (number % 2) as f64 * 410.0, TOP + (number / 2) as f64 * LEGEND_LINE);
        let colour = number % COLOURS.len();
        put(
            &mut svg,
            format_args!(
                "<rect class=\"c{colour}\" x=\"{x}\" y=\"{:.1}\" width=\"11\" height=\"11\" rx=\"2\"/>",
                y - 10.0
            ),
        );
        let own = rows.iter().any(|row| row.filter == *filter && row.hash == Hash::Own);
        let name = if own { format!("{filter} (own hash)") } else { (*filter).to_owned() };
        text(&mut svg, "label", x + 18.0, y, &name);
    }
    for mark in shown {
        let x = scale.x(mark);
        let class = if mark == 1.0 { "one" } else { "grid" };
        put(
            &mut svg,
            format_args!(
                "<line class=\"{class}\" x1=\"{x:.1}\" y1=\"{top:.1}\" x2=\"{x:.1}\" y2=\"{bottom:.1}\"/>"
            ),
        );
        text(&mut svg, "small middle", x, bottom + 20.0, &format!("{mark}\u{d7}"));
    }
    svg.push_str(&bars);
    svg.push_str("</svg>\n");
    svg
}

/// Speeds, raw where a filter has a raw row for the operation.
fn chosen(rows: &[Row]) -> Vec<&Row> {
    let speeds = || rows.iter().filter(|row| row.mops.is_some() && row.ratio.is_some());
    let has_raw = |filter: &str| speeds().any(|row| row.filter == filter && row.hash == Hash::Raw);
    speeds().filter(|row| row.hash == Hash::Raw || !has_raw(&row.filter)).collect()
}

/// From ratios to places.
struct Scale {
    low: f64,
    high: f64,
}

impl Scale {
    /// Wide enough for all rows and, in any case, for half and double.
    fn new(rows: &[&Row]) -> Self {
        let ends = rows.iter().flat_map(|row| [row.ratio, row.ratio_p10, row.ratio_p90]).flatten();
        let (low, high) = ends.fold((0.5f64, 2f64), |(low, high), end| (low.min(end), high.max(end)));
        Self { low: (low * 0.75).max(TICKS[0]), high: (high * 1.1).min(TICKS[TICKS.len() - 1]) }
    }

    fn x(&self, ratio: f64) -> f64 {
        let share = (ratio.clamp(self.low, self.high) / self.low).ln() / (self.high / self.low).ln();
        LEFT + share * (RIGHT - LEFT)
    }

    fn marks(&self) -> impl Iterator<Item = f64> {
        TICKS.into_iter().filter(|&tick| (self.low..=self.high).contains(&tick))
    }
}

fn bar(svg: &mut String, row: &Row, colour: usize, y: f64, scale: &Scale) {
    let Some(ratio) = row.ratio else { return };
    let (one, end) = (scale.x(1.0), scale.x(ratio));
    let (from, width) = (one.min(end), (one - end).abs().max(1.0));
    put(
        svg,
        format_args!(
            "<rect class=\"c{colour}\" x=\"{from:.1}\" y=\"{:.1}\" width=\"{width:.1}\" height=\"{:.1}\" rx=\"2\">\
         <title>{} {}: {ratio:.2}</title></rect>",
            y + 1.5,
            BAR - 3.0,
            row.filter,
            row.op.name()
        ),
    );
    let (mut low, mut high) = (end, end);
    if let (Some(p10), Some(p90)) = (row.ratio_p10, row.ratio_p90) {
        (low, high) = (scale.x(p10).min(end), scale.x(p90).max(end));
        let middle = y + BAR / 2.0;
        put(
            svg,
            format_args!(
                "<line class=\"span\" x1=\"{low:.1}\" y1=\"{middle:.1}\" x2=\"{high:.1}\" y2=\"{middle:.1}\"/>"
            ),
        );
    }
    // On the outer side of the bar, beyond the line.
    let (class, x) = if ratio >= 1.0 { ("number", high.max(one) + 5.0) } else { ("number end", low - 5.0) };
    text(svg, class, x, y + BAR - 3.5, &format!("{ratio:.2}"));
}

fn text(svg: &mut String, class: &str, x: f64, y: f64, content: &str) {
    put(svg, format_args!("<text class=\"{class}\" x=\"{x:.1}\" y=\"{y:.1}\">{content}</text>"));
}

fn put(svg: &mut String, line: std::fmt::Arguments<'_>) {
    svg.write_fmt(line).expect("a string takes all");
    svg.push('\n');
}

/// The colours and sizes, with a second set of colours for the dark.
fn style() -> String {
    let fills = |pick: fn(&(&'static str, &'static str)) -> &'static str| -> String {
        let rule = |(number, colours)| format!(".c{number}{{fill:{}}}", pick(colours));
        COLOURS.iter().enumerate().map(rule).collect()
    };
    let theme = |paper: &str, ink: &str, pale: &str, grid: &str, fills: &str| {
        format!(
            ".paper{{fill:{paper}}}.title,.label,.number{{fill:{ink}}}.small{{fill:{pale}}}\
             .grid{{stroke:{grid}}}.one{{stroke:{pale}}}.span{{stroke:{ink}}}{fills}"
        )
    };
    format!(
        ".title{{font-size:18px;font-weight:600}}.label{{font-size:13px}}.small{{font-size:12px}}\
         .number{{font-size:10.5px}}.end{{text-anchor:end}}.middle{{text-anchor:middle}}\
         .grid,.one,.span{{stroke-width:1}}.one{{stroke-width:1.5}}.span{{stroke-opacity:.7}}{}\
         @media (prefers-color-scheme:dark){{{}}}",
        theme("#ffffff", "#1d1d1b", "#5c5c58", "#e3e3df", &fills(|colours| colours.0)),
        theme("#16181c", "#ececea", "#a5a5a0", "#2e3238", &fills(|colours| colours.1)),
    )
}
