//! Tables of text: names on the left, figures on the right.

use comfy_table::{CellAlignment, ContentArrangement, Table, TableComponent, presets};

use super::report::Report;
use super::words::{rate, speed};

/// A table with a head.
pub(super) fn plain<'a>(head: &[&str], lines: impl Iterator<Item = &'a [String]>) -> Table {
    let mut table = Table::new();
    table.load_preset(presets::NOTHING).set_content_arrangement(ContentArrangement::Disabled);
    // A line below the head, and no other.
    for component in [TableComponent::HeaderLines, TableComponent::MiddleHeaderIntersections] {
        table.set_style(component, '-');
    }
    table.set_header(head);
    for line in lines {
        table.add_row(line);
    }
    for column in table.column_iter_mut().skip(1) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    table
}

/// The tables of the whole race: engine lookups, then speed, by phase.
pub(super) fn of_report(report: &Report) -> String {
    let names: Vec<_> = report.phases.iter().map(|phase| phase.name()).collect();
    let head = |last: Option<&'static str>| -> Vec<String> {
        ["store".to_owned()].into_iter().chain(names.iter().cloned()).chain(last.map(str::to_owned)).collect()
    };
    let places = 0..report.phases.len();
    let lookups = report.stores.iter().map(|store| {
        let figures = places.clone().map(|place| rate(store.phase(place).lookups_per_thousand()));
        [store.name.clone()].into_iter().chain(figures).collect::<Vec<_>>()
    });
    let speeds = report.stores.iter().map(|store| {
        let figures = places.clone().map(|place| speed(store.phase(place).queries_per_second));
        let bits = format!("{:.1}", store.filter_bits_per_key);
        [store.name.clone()].into_iter().chain(figures).chain([bits]).collect::<Vec<_>>()
    });
    let draw = |head: Vec<String>, lines: Vec<Vec<String>>| {
        let head: Vec<_> = head.iter().map(String::as_str).collect();
        plain(&head, lines.iter().map(Vec::as_slice))
    };
    let simulated = if report.settings.simulated_latency.is_some() { ", with simulated latency" } else { "" };
    format!(
        "Lookups in the engine per 1,000 queries for absent keys, those for learning included\n{}\n\n\
         Queries per second{simulated}; bits of the filter per key\n{}\n",
        draw(head(None), lookups.collect()),
        draw(head(Some("bits/key")), speeds.collect()),
    )
}
