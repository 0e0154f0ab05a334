//! The table that lives while the race runs: on standard error, on a terminal only. `indicatif` draws it, not too often.

use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};

use super::options::latency_text;
use super::report::Figures;
use super::table;
use super::words::{rate, speed};
use crate::output;

pub(super) struct Live {
    bar: ProgressBar,
    about: String,
    /// Name, then the figures as they are shown.
    lines: Vec<[String; 5]>,
}

impl Live {
    pub(super) fn new(latency: Option<Duration>) -> Self {
        let bar = if output::for_people() { ProgressBar::new(0) } else { ProgressBar::hidden() };
        let template = "{msg}\n{prefix} [{bar:20.cyan}] {percent} %";
        let style = ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar());
        let about = latency.map_or_else(String::new, |latency| {
            format!("With a simulated latency of {} per lookup in the engine\n", latency_text(latency))
        });
        bar.set_style(style.progress_chars("=> "));
        Self { bar, about, lines: Vec::new() }
    }

    /// One store more.
    pub(super) fn add(&mut self, name: &str) {
        let dash = || "-".to_owned();
        self.lines.push([name.to_owned(), dash(), dash(), dash(), dash()]);
    }

    /// A new part of the race.
    pub(super) fn start(&mut self, what: &str, length: u64) {
        self.bar.set_length(length);
        self.bar.set_position(0);
        self.bar.set_prefix(what.to_owned());
        self.draw();
    }

    pub(super) fn advance(&self, by: u64) {
        self.bar.inc(by);
    }

    /// What a store did in this phase so far.
    pub(super) fn show(&mut self, number: usize, figures: &Figures, bits_per_key: f64) {
        let line = &mut self.lines[number];
        line[1] = speed(figures.queries_per_second);
        line[2] = rate(figures.false_positives_per_thousand());
        line[3] = rate(figures.lookups_per_thousand());
        line[4] = format!("{bits_per_key:.1}");
        self.draw();
    }

    fn draw(&self) {
        if self.bar.is_hidden() {
            return;
        }
        let head =
            ["store", "queries\nper second", "mistakes\nper 1,000", "lookups\nper 1,000", "bits\nper key"];
        let table = table::plain(&head, self.lines.iter().map(<[String; 5]>::as_slice));
        self.bar.set_message(format!("{}{table}", self.about));
    }

    /// Takes it away again.
    pub(super) fn end(&self) {
        self.bar.finish_and_clear();
    }
}

impl Drop for Live {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}
