//! The sizes as a picture: a chart for the highest error rate and one for the lowest.

use twiceshy_plot::{Across, Canvas, LineChart, Point, Scale, Series};

use crate::sizes::Row;
use crate::{RATES, Report};

const SIZE: (f64, f64) = (550.0, 380.0);
const TOP: f64 = 64.0;

/// What a line shows of a row.
type Line = (&'static str, fn(&Row) -> f64);

const LINES: [Line; 6] = [
    ("frozen list", |row| row.frozen.bits),
    ("least possible", |row| row.least_bits),
    ("dynamic list", |row| row.dynamic.bits),
    ("of a fixed size", |row| row.fixed.bits),
    ("Bloom cascade", |row| row.cascade.list.bits),
    ("clubcard", |row| row.clubcard.list.bits),
];

pub(crate) fn svg(report: &Report) -> String {
    let mut canvas = Canvas::new();
    canvas.text("title", 20.0, 32.0, "What YES/NO lists take");
    let about = format!(
        "{} keys on both lists together. Cascade and clubcard have no error rate to choose: with few NO keys they \
         answer most unlisted keys Yes.",
        thousands(report.keys)
    );
    canvas.text("small", 20.0, 54.0, &about);
    let most = report.sizes.iter().flat_map(|row| LINES.map(|(_, bits)| bits(row)));
    let up = Scale::linear(most);
    for (number, rate_log2) in [RATES[0], RATES[RATES.len() - 1]].into_iter().enumerate() {
        let chart = chart(report, rate_log2, up);
        canvas.group((20.0 + number as f64 * SIZE.0, TOP), &chart.draw());
    }
    canvas.file((20.0 + 2.0 * SIZE.0, SIZE.1 + TOP), "What YES/NO lists take, in bits per YES key")
}

/// With a comma before every three digits.
fn thousands(number: u64) -> String {
    match number {
        0..1_000 => number.to_string(),
        _ => format!("{},{:03}", thousands(number / 1_000), number % 1_000),
    }
}

fn chart(report: &Report, rate_log2: i32, up: Scale) -> LineChart {
    let rows: Vec<&Row> = report.sizes.iter().filter(|row| row.rate_log2 == rate_log2).collect();
    let series = LINES.iter().enumerate().map(|(colour, &(name, bits))| {
        let points = rows.iter().enumerate().map(|(place, row)| {
            let about = format!("{} NO keys per YES key: {:.2} bits", row.lists.ratio(), bits(row));
            Point { x: place as f64, y: bits(row), range: None, about }
        });
        Series { name: name.into(), colour, is_heavy: colour == 0, points: points.collect() }
    });
    LineChart {
        size: SIZE,
        margins: (36.0, 170.0),
        top: 0.0,
        across: Across::Places {
            names: rows.iter().map(|row| row.lists.ratio()).collect(),
            unit: "NO keys for each YES key".into(),
        },
        up,
        mark: |bits| bits.to_string(),
        none: None,
        unit: format!("bits per YES key, error rate 2^-{rate_log2}"),
        series: series.collect(),
        markers: true,
        hints: true,
    }
}
