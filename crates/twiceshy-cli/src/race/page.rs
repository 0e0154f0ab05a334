//! `race.html`: one page, with everything in it and nothing loaded from anywhere.
//!
//! It is written for somebody who has never heard of filters: first what happened, in a line, four figures and a plot, then
//! in sentences and more plots, then the tables and what one must know to judge them. A little script fades out what is not pointed at; without
//! it nothing is missing.

use std::fmt::{Arguments, Write};

use twiceshy_plot::{COLOURS, css, escape};

use super::options::Discipline;
use super::plots::{self, Plot, Width};
use super::report::{Part, Report, StoreReport};
use super::words::{self, bytes, grouped, rate, speed, spread, title};

const STYLE: &str = include_str!("page.css");
const SCRIPT: &str = include_str!("page.js");

/// The page.
pub(super) fn html(report: &Report) -> String {
    let mut page = Page(String::new());
    page.put(format_args!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">\n<title>twiceshy race: {}</title>\n\
         <style>\n{STYLE}{}{}\n</style>\n</head>\n<body>\n<main>",
        escape(&words::headline(report)),
        css(),
        borders(),
    ));
    top(&mut page, report);
    figures(&mut page, report);
    tables(&mut page, report);
    fine_print(&mut page, report);
    page.put(format_args!("</main>\n<script>\n{SCRIPT}</script>\n</body>\n</html>"));
    page.0
}

/// A card of class `bN` has a border of colour N.
fn borders() -> String {
    let rules = |pick: fn(&(&'static str, &'static str)) -> &'static str| -> String {
        let rule = |(number, colour)| format!(".cards .b{number}{{border-color:{colour}}}");
        COLOURS.iter().map(pick).enumerate().map(rule).collect()
    };
    let (light, dark) = (rules(|colours| colours.0), rules(|colours| colours.1));
    format!("{light}@media (prefers-color-scheme:dark){{{dark}}}")
}

struct Page(String);

impl Page {
    fn put(&mut self, text: Arguments<'_>) {
        // A string takes everything.
        let _ = self.0.write_fmt(text);
        self.0.push('\n');
    }
}

fn top(page: &mut Page, report: &Report) {
    let (asked, and) = match report.discipline() {
        Discipline::Keys => ("keys that are not there", ""),
        Discipline::Ranges { .. } => {
            ("ranges without a key", " Some err wherever a range lies close to a key.")
        }
    };
    page.put(format_args!(
        "<h1>{}</h1>\n<p class=\"lead\">A filter in memory keeps queries for {asked} away from the disk. Most \
         filters make the same mistake again and again, and whoever finds one can use it.{and} This race shows what that costs, \
         and what it costs when the filter learns. Compared: {}.</p>",
        escape(&words::headline(report)),
        escape(&words::memory(report)),
    ));
    if report.settings.simulated_latency.is_some() {
        page.put(format_args!("<p class=\"warning\">{}</p>", escape(&words::caveats(report)[0])));
    }
    cards(page, report);
}

/// One figure per store: what the strongest attack costs.
fn cards(page: &mut Page, report: &Report) {
    let Some((last, percent)) = report.strongest_attack() else { return };
    page.put(format_args!(
        "<p class=\"caption\">Lookups in the engine per 1,000\u{a0}queries when {percent}\u{a0}% of them are an attack: \
         <strong>lower is better</strong></p>\n<ul class=\"cards\">"
    ));
    for store in &report.stores {
        let colour = plots::colour(report, store);
        let lookups = |place| rate(store.phase(place).lookups_per_thousand());
        let beside = report
            .correlated()
            .map_or_else(String::new, |place| format!(", {} close to keys", lookups(place)));
        page.put(format_args!(
            "<li data-row=\"{colour}\" class=\"b{colour}\"><span class=\"name\">{}{}</span><b>{}</b><small>{} without an \
             attack{beside}</small></li>",
            sign(colour),
            escape(title(&store.name)),
            lookups(last),
            lookups(0),
        ));
    }
    page.put(format_args!("</ul>"));
}

/// A piece of a store's line, with its marker.
fn sign(colour: usize) -> String {
    let mut canvas = twiceshy_plot::Canvas::new();
    canvas.line(&format!("line s{colour}"), (0.0, 7.0), (30.0, 7.0));
    canvas.marker(colour, (15.0, 7.0), 4.5, None);
    canvas.inline("sign", (30.0, 14.0), "").replace("role=\"img\" aria-label=\"\"", "aria-hidden=\"true\"")
}

fn figures(page: &mut Page, report: &Report) {
    page.put(format_args!(
        "<h2 id=\"time-title\">False positives over time</h2>\n<figure id=\"plot-time\" aria-labelledby=\"time-title\">\
         <figcaption>Queries run from left to right, through all phases. Lower is better; each line of the grid is ten times \
         the one below it.</figcaption>"
    ));
    let about = "False positives per 1,000 queries over time, one line per store";
    draw(page, "plot wide", about, &plots::over_time(report, Width::Wide, 0.0));
    draw(page, "plot narrow", about, &plots::over_time(report, Width::Narrow, 0.0));
    page.put(format_args!("</figure>\n<h2>What happened</h2>\n<dl class=\"said\">"));
    for (about, sentence) in words::summary(report) {
        page.put(format_args!("<dt>{about}</dt><dd>{}</dd>", escape(&sentence)));
    }
    page.put(format_args!("</dl>\n<div class=\"plots\">"));
    figure(
        page,
        ("lookups", "Lookups in the engine under attack"),
        "How often the disk has to be asked when an adversary repeats what was slow before. Lower is better.",
        &plots::lookups(report),
    );
    figure(
        page,
        ("space", "Memory for the filter"),
        &format!(
            "Bits of memory per key at the end of the race: {}. Shorter is better.",
            words::memory(report)
        ),
        &plots::space(report),
    );
    for &part in report.parts() {
        let id = match part {
            Part::Warm => "speed",
            Part::Cold => "cold",
        };
        figure(
            page,
            (id, &format!("Speed under attack, {}", words::files(report, part))),
            "Queries that one thread gets answered in a second: the median of the turns, and the range of half of them. Higher is better.",
            &plots::speeds(report, part),
        );
    }
    page.put(format_args!("</div>"));
    glossary(page, report.discipline());
}

/// The words that a stranger to filters may miss.
fn glossary(page: &mut Page, discipline: Discipline) {
    let common = [
        ("store", "keys and values on disk, with or without a filter in front"),
        ("engine", "the database that keeps them there; asking it is slow"),
        ("filter", "a summary of the keys in memory: “not there” is certain, “maybe” may be a mistake"),
        ("false positive", "such a mistake: the engine is asked, and has nothing"),
        ("adaptive", "the filter changes after each mistake, so that this query is not a mistake again"),
    ];
    let special = match discipline {
        Discipline::Keys => [
            ("uniform", "every query asks for a new key"),
            ("Zipf", "few keys are asked for again and again, as in real life"),
            ("attack", "a share of the queries replays keys that were slow before"),
            ("Bloom, quotient", "filters that stay as they are"),
        ]
        .as_slice(),
        Discipline::Ranges { .. } => &[
            ("range", "a query for all keys between two others: is there one?"),
            ("uniform", "every query asks for a new range, anywhere"),
            ("correlated", "every query asks for a range beside a key, as in real life"),
            ("attack", "a share of the queries replays ranges that were slow before"),
            ("prefix Bloom", "a Bloom filter of keys without their last bits; it stays as it is"),
            ("range filter", "it knows which bits the keys had, too; but it stays as it is"),
        ],
    };
    page.put(format_args!("<h2>The words</h2>\n<dl class=\"words\">"));
    for (word, meaning) in common.iter().chain(special) {
        page.put(format_args!("<dt>{word}</dt><dd>{}</dd>", escape(meaning)));
    }
    page.put(format_args!("</dl>"));
}

fn figure(page: &mut Page, (id, heading): (&str, &str), about: &str, plot: &Plot) {
    page.put(format_args!(
        "<figure id=\"plot-{id}\" aria-labelledby=\"{id}-title\"><h2 id=\"{id}-title\">{}</h2><figcaption>{}</figcaption>",
        escape(heading),
        escape(about)
    ));
    draw(page, "plot", heading, plot);
    page.put(format_args!("</figure>"));
}

fn draw(page: &mut Page, class: &str, about: &str, plot: &Plot) {
    page.put(format_args!("{}", plot.canvas.inline(class, plot.size, about)));
}

fn tables(page: &mut Page, report: &Report) {
    page.put(format_args!("<h2>The figures</h2>"));
    let places = || 0..report.phases.len();
    let by_phase = |figure: &dyn Fn(&StoreReport, usize) -> String| {
        let names = report.phases.iter().map(|phase| phase.name()).collect();
        let rows =
            report.stores.iter().map(|store| (store, places().map(|place| figure(store, place)).collect()));
        (names, rows.collect::<Vec<_>>())
    };
    let table = |page: &mut Page,
                 about: &str,
                 (names, rows): (Vec<String>, Vec<(&StoreReport, Vec<String>)>)| {
        let cells = |tag: &str, cells: &[String]| -> String {
            let cell = |text: &String| match text.split_once('\n') {
                None => format!("<{tag}>{}</{tag}>", escape(text)),
                Some((first, second)) => {
                    format!("<{tag}>{}<small>{}</small></{tag}>", escape(first), escape(second))
                }
            };
            cells.iter().map(cell).collect()
        };
        page.put(format_args!(
            "<p class=\"caption\">{}</p>\n<div class=\"scroll\" tabindex=\"0\"><table aria-label=\"{}\">\n<thead><tr><th>store</th>{}</tr></thead>\n<tbody>",
            escape(about),
            escape(about),
            cells("th", &names)
        ));
        for (store, figures) in rows {
            page.put(format_args!(
                "<tr data-row=\"{}\"><th>{}</th>{}</tr>",
                plots::colour(report, store),
                escape(&store.name),
                cells("td", &figures)
            ));
        }
        page.put(format_args!("</tbody></table></div>"));
    };
    let false_positives = by_phase(&|store, place| rate(store.phase(place).false_positives_per_thousand()));
    table(
        page,
        &format!(
            "False positives per 1,000 queries: {} that get past the filter",
            words::absent(report.discipline())
        ),
        false_positives,
    );
    let lookups = by_phase(&|store, place| rate(store.phase(place).lookups_per_thousand()));
    table(page, "Lookups in the engine per 1,000 queries, those for learning included", lookups);
    for &part in report.parts() {
        let speeds = by_phase(&|store, place| spread(&store.speed(part, place)));
        let about = format!(
            "Queries per second, one thread, {}: median of the turns, and the range of half of them",
            words::files(report, part)
        );
        table(page, &about, speeds);
    }
    let present = match report.discipline() {
        Discipline::Keys => "present keys per second",
        Discipline::Ranges { .. } => "ranges with a key per second",
    };
    let head = ["bits per key", "filter", "files", "loaded in", present];
    let rows = report.stores.iter().map(|store| {
        let cells = vec![
            format!("{:.1}", store.filter_bits_per_key),
            bytes(store.filter_bytes),
            store.disk_bytes.map_or_else(|| "unknown".into(), bytes),
            format!("{:.1}\u{a0}s", store.load_seconds),
            speed(store.present.queries_per_second),
        ];
        (store, cells)
    });
    table(page, "Memory for the filter, and the rest", (head.map(str::to_owned).to_vec(), rows.collect()));
}

fn fine_print(page: &mut Page, report: &Report) {
    page.put(format_args!("<h2>What to know before you judge</h2>\n<ul>"));
    for caveat in words::caveats(report) {
        page.put(format_args!("<li>{}</li>", escape(&caveat)));
    }
    page.put(format_args!("</ul>\n<h2>What was raced</h2>\n<dl>"));
    let settings = &report.settings;
    let keys = match &settings.key_file {
        Some(file) => format!("{} from {file} ({} lines)", grouped(settings.keys), grouped(settings.rows)),
        None => {
            let bytes = if settings.max_range.is_none() { 16 } else { 8 };
            format!(
                "{}, random, of {bytes}\u{a0}bytes, with values of 100\u{a0}bytes",
                grouped(settings.keys)
            )
        }
    };
    let second = match (report.discipline(), settings.skew) {
        (Discipline::Ranges { max_range }, _) => {
            format!("ranges at distances from 1 to {} from a key", grouped(max_range))
        }
        (Discipline::Keys, skew) => format!("Zipf with exponent {}", skew.unwrap_or_default()),
    };
    let percents: Vec<_> =
        settings.adversary_percent.iter().map(|percent| format!("{percent}\u{a0}%")).collect();
    let latency = settings.simulated_latency.map_or_else(|| "none".into(), words::time);
    let lines = [
        ("keys", keys),
        (
            "queries",
            format!(
                "{} in each phase, for each store, with files in memory",
                grouped(settings.queries_per_phase)
            ),
        ),
        ("phases", format!("uniform; {second}; attacks with {} replayed", percents.join(", "))),
        ("engine", format!("{}, with a cache of {}", settings.engine, bytes(settings.cache_bytes))),
        ("error rate", format!("{}: what the adaptive filter was built for", settings.error_rate)),
        ("filters", words::memory(report)),
        ("simulated latency", latency),
        ("seed", settings.seed.to_string()),
        ("machine", format!("{}, {}\u{a0}CPUs", report.machine.system, report.machine.cpus)),
        ("time", format!("{:.0}\u{a0}s in all", report.total_seconds)),
        ("version", format!("twiceshy {}", report.version)),
    ];
    for (name, value) in lines {
        page.put(format_args!("<dt>{name}</dt><dd>{}</dd>", escape(&value)));
    }
    page.put(format_args!(
        "</dl>\n<p>The same race again, with the same mistakes and other times:</p>\n<pre>{}</pre>\n\
         <footer>All figures are in race.json, beside this page. Pointing at a store fades out the others.</footer>",
        unbroken(&settings.command)
    ));
}

/// A command that may be broken between its options, but not inside one.
fn unbroken(command: &str) -> String {
    let options: Vec<_> = command.split(" --").map(escape).collect();
    format!("<span>{}</span>", options.join("</span> <span>--"))
}
