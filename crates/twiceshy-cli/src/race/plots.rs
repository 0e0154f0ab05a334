//! The plots of a race.

use twiceshy_plot::{Across, Bar, Bars, Canvas, LineChart, Point, Scale, Series, Span};

use super::options::Discipline;
use super::report::{Part, Report, StoreReport};
use super::stream::Phase;
use super::words::{absent, files, grouped, memory, rate, speed};

/// The number of a store's colour, dashes and marker; they follow its place in the tables.
pub(super) const NO_FILTER: usize = 7;

pub(super) fn colour(report: &Report, store: &StoreReport) -> usize {
    let place = report.stores.iter().position(|other| other.name == store.name).unwrap_or(0);
    if store.name == "no filter" { NO_FILTER } else { place }
}

/// Where an axis without values starts.
const SMALLEST: f64 = 0.001;

/// A drawing and its size.
pub(super) struct Plot {
    pub(super) canvas: Canvas,
    pub(super) size: (f64, f64),
}

/// How wide a plot is drawn: for a narrow column or phone, or for a wide page.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Width {
    Narrow,
    Wide,
}

/// How a mark of an axis is written.
fn mark(value: f64) -> String {
    if value >= 1.0 { grouped(value.round() as u64) } else { format!("{}", (value * 1e6).round() / 1e6) }
}

fn series(report: &Report, points: impl Fn(&StoreReport) -> Vec<Point>) -> Vec<Series> {
    let line = |store: &StoreReport| Series {
        name: store.name.clone(),
        colour: colour(report, store),
        is_heavy: store.name == "adaptive",
        points: points(store),
    };
    report.stores.iter().map(line).collect()
}

/// How much room the names of stores take beside a plot.
fn names_width(report: &Report) -> f64 {
    let letters = report.stores.iter().map(|store| store.name.chars().count()).max();
    letters.unwrap_or(0) as f64 * 8.0 + 8.0
}

/// All values that a logarithmic axis has a place for, or the ends of their ranges.
fn values(series: &[Series]) -> impl Iterator<Item = f64> {
    let points = series.iter().flat_map(|series| &series.points);
    let ends = points.flat_map(|point| <[f64; 2]>::from(point.range.unwrap_or((point.y, point.y))));
    ends.filter(|value| *value > 0.0)
}

/// False positives per 1,000 queries over time, with the phases; `top` is room for the title of an image.
pub(super) fn over_time(report: &Report, width: Width, top: f64) -> Plot {
    let mut spans = Vec::new();
    let mut end = 0.0;
    for phase in &report.phases {
        let from = end;
        end += report.settings.queries_per_phase as f64;
        spans.push(Span { names: span_names(report, phase, width), from, to: end });
    }
    let series = series(report, |store| {
        let mut asked = 0.0;
        let mut points = Vec::new();
        for (phase, figures) in report.phases.iter().zip(&store.phases) {
            for window in &figures.windows {
                let y = window.false_positives_per_thousand();
                let about = format!("{}: {} of 1,000", phase.name(), rate(y));
                points.push(Point { x: asked + window.queries as f64 / 2.0, y, range: None, about });
                asked += window.queries as f64;
            }
        }
        points
    });
    let size = match width {
        Width::Narrow => (420.0, 360.0 + top),
        Width::Wide => (1_000.0, 380.0 + top),
    };
    let chart = LineChart {
        size,
        margins: (48.0, names_width(report)),
        top,
        across: Across::Spans(spans),
        up: Scale::log(values(&series), SMALLEST),
        mark,
        none: Some("none"),
        unit: "false positives per 1,000 queries (logarithmic)".into(),
        series,
        markers: false,
        hints: top == 0.0,
    };
    Plot { canvas: chart.draw(), size }
}

fn span_names(report: &Report, phase: &Phase, width: Width) -> Vec<String> {
    let new = match report.discipline() {
        Discipline::Keys => "new keys only",
        Discipline::Ranges { .. } => "ranges anywhere",
    };
    match (phase, width) {
        (Phase::Uniform, Width::Wide) => vec!["uniform".into(), new.into()],
        (Phase::Correlated, Width::Wide) => vec!["correlated".into(), "ranges beside keys".into()],
        (Phase::Zipf { .. }, Width::Wide) => vec!["Zipf".into(), "few keys are popular".into()],
        (Phase::Attack { percent }, Width::Wide) => {
            vec!["attack".into(), format!("{percent}\u{a0}% replayed")]
        }
        (Phase::Uniform, Width::Narrow) => vec!["uniform".into(), "".into()],
        (Phase::Zipf { .. }, Width::Narrow) => vec!["Zipf".into(), "".into()],
        (Phase::Correlated, Width::Narrow) => vec!["beside".into(), "keys".into()],
        (Phase::Attack { percent }, Width::Narrow) => vec!["attack".into(), format!("{percent}\u{a0}%")],
    }
}

/// A value and its range by the share of replays.
fn by_share(
    report: &Report,
    value: impl Fn(&StoreReport, usize) -> (f64, Option<(f64, f64)>),
    about: fn(f64) -> String,
    mark: fn(f64) -> String,
    unit: String,
) -> Plot {
    let attacks = report.attacks();
    let series = series(report, |store| {
        let point = |(number, &(place, percent)): (usize, &(usize, f64))| {
            let (y, range) = value(store, place);
            Point { x: number as f64, y, range, about: format!("{percent}\u{a0}% replayed: {}", about(y)) }
        };
        attacks.iter().enumerate().map(point).collect()
    });
    let size = (430.0, 320.0);
    let chart = LineChart {
        size,
        margins: (50.0, names_width(report)),
        top: 0.0,
        across: Across::Places {
            names: attacks.iter().map(|(_, percent)| format!("{percent}\u{a0}%")).collect(),
            unit: "queries that replay what was slow before".into(),
        },
        up: Scale::log(values(&series), SMALLEST),
        mark,
        none: Some("none"),
        unit,
        series,
        markers: true,
        hints: true,
    };
    Plot { canvas: chart.draw(), size }
}

/// Lookups in the engine by the share of replays.
pub(super) fn lookups(report: &Report) -> Plot {
    let about = |value| format!("{} lookups per 1,000 queries", rate(value));
    let unit = "lookups in the engine per 1,000 queries (logarithmic)".to_owned();
    by_share(report, |store, place| (store.phase(place).lookups_per_thousand(), None), about, mark, unit)
}

/// Speed by the share of replays.
pub(super) fn speeds(report: &Report, part: Part) -> Plot {
    let about = |value| format!("{} queries per second", speed(value));
    let short = |value: f64| match value {
        value if value >= 1e6 => format!("{}\u{a0}M", value / 1e6),
        value if value >= 1e3 => format!("{}\u{a0}k", value / 1e3),
        value => value.to_string(),
    };
    let unit = format!("queries per second, {} (logarithmic)", files(report, part));
    let value = |store: &StoreReport, place| {
        let speed = store.speed(part, place);
        (speed.median_per_second, Some((speed.lower_quartile_per_second, speed.upper_quartile_per_second)))
    };
    by_share(report, value, about, short, unit)
}

/// The size of the filters.
pub(super) fn space(report: &Report) -> Plot {
    let bar = |store: &StoreReport| Bar {
        name: store.name.clone(),
        value: store.filter_bits_per_key,
        label: match store.filter_bytes {
            0 => "none".into(),
            _ => format!("{:.1}\u{a0}bits", store.filter_bits_per_key),
        },
        colour: colour(report, store),
    };
    let bars = Bars {
        width: 430.0,
        names: names_width(report) + 2.0,
        bars: report.stores.iter().map(bar).collect(),
    };
    let (canvas, size) = bars.draw();
    Plot { canvas, size }
}

/// The picture of false positives over time as a file of its own.
pub(super) fn picture(report: &Report) -> String {
    let plot = over_time(report, Width::Wide, 64.0);
    let settings = &report.settings;
    let simulated = if settings.simulated_latency.is_some() { "; simulated latency" } else { "" };
    let mut canvas = Canvas::new();
    let title = "The same queries on four stores: who makes the same mistake again?";
    canvas.text("title", 20.0, 30.0, title);
    let about = format!(
        "{} keys on {}, {} queries for {} in each phase; {}{simulated}; made by twiceshy race",
        grouped(settings.keys),
        settings.engine,
        grouped(settings.queries_per_phase),
        absent(report.discipline()),
        memory(report),
    );
    canvas.text("small", 20.0, 52.0, &about);
    canvas.group((20.0, 6.0), &plot.canvas);
    canvas.file((plot.size.0 + 24.0, plot.size.1 + 18.0), title)
}
