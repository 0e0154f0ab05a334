//! Tables of text: names on the left, figures on the right.

use comfy_table::{CellAlignment, ContentArrangement, Table, TableComponent, presets};

use super::report::{Report, StoreReport};
use super::words::{self, files, in_plain_text, memory, rate, spread, wrapped};

/// A table with a head.
pub(super) fn plain<'a>(head: &[&str], lines: impl Iterator<Item = &'a [String]>) -> Table {
    let mut table = Table::new();
    table.load_preset(presets::NOTHING).set_content_arrangement(ContentArrangement::Disabled);
    // A line below the head, and no other.
    table.set_style(TableComponent::HeaderLines, '-');
    table.set_header(head);
    for line in lines {
        table.add_row(line.iter().map(|cell| in_plain_text(cell)));
    }
    for column in table.column_iter_mut().skip(1) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    table
}

/// The tables of the whole race, with a column for each store: engine lookups, then speeds, by phase.
pub(super) fn of_report(report: &Report, width: usize) -> String {
    let names: Vec<_> = report.stores.iter().map(|store| store.name.as_str()).collect();
    let head = [&["phase"], names.as_slice()].concat();
    let line = |name: String, figure: &dyn Fn(&StoreReport) -> String| -> Vec<String> {
        [name].into_iter().chain(report.stores.iter().map(figure)).collect()
    };
    let by_phase = |figure: &dyn Fn(&StoreReport, usize) -> String| -> Vec<_> {
        let phases = report.phases.iter().enumerate();
        phases.map(|(place, phase)| line(phase.name(), &|store| figure(store, place))).collect()
    };
    let mut text = format!("Compared: {}\n\n", memory(report));
    let mut draw = |title: &str, lines: &[Vec<String>]| {
        wrapped(title, width).iter().for_each(|line| text += &format!("{line}\n"));
        text += &format!("{}\n\n", plain(&head, lines.iter().map(Vec::as_slice)));
    };
    let mut lookups = by_phase(&|store, place| rate(store.phase(place).lookups_per_thousand()));
    lookups.push(line("bits/key".into(), &|store| format!("{:.1}", store.filter_bits_per_key)));
    let absent = words::absent(report.discipline());
    let title = format!("Lookups in the engine per 1,000 queries for {absent}, those for learning included");
    draw(&title, &lookups);
    for &part in report.parts() {
        let speeds = by_phase(&|store, place| spread(&store.speed(part, place)));
        let title = format!(
            "Queries per second, {}: median of the turns, and the range of half of them",
            files(report, part)
        );
        draw(&title, &speeds);
    }
    text
}
