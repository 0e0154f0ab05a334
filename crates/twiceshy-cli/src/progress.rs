//! Progress bars, on a terminal only: `indicatif` draws nothing elsewhere, and no colours with `NO_COLOR`.

use std::time::Duration;

use indicatif::{ProgressBar, ProgressFinish, ProgressStyle};

use crate::output;

/// A bar for work of known length, or a line that counts up, on standard error.
pub(crate) fn bar(what: &'static str, total: Option<u64>) -> ProgressBar {
    let template = match total {
        Some(_) => "{msg} [{bar:32}] {human_pos} of {human_len}, {eta} left",
        None => "{msg} {human_pos} in {elapsed}",
    };
    drawn(what, total, template)
}

/// A bar that counts bytes.
pub(crate) fn bytes(what: &'static str, total: Option<u64>) -> ProgressBar {
    let template = match total {
        Some(_) => "{msg} [{bar:32}] {bytes} of {total_bytes}, {eta} left",
        None => "{msg} {bytes} in {elapsed}",
    };
    drawn(what, total, template)
}

fn drawn(what: &'static str, total: Option<u64>, template: &str) -> ProgressBar {
    if !output::for_people() {
        return ProgressBar::hidden();
    }
    let bar = total.map_or_else(ProgressBar::no_length, ProgressBar::new);
    bar.with_style(style(template)).with_message(what).with_finish(ProgressFinish::AndClear)
}

fn style(template: &str) -> ProgressStyle {
    ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar())
}

/// Does what comes last, which nobody can count, and clears the bar when that is done, not before.
pub(crate) fn saving<T>(bar: &ProgressBar, work: impl FnOnce() -> T) -> T {
    passing(bar, "saving", work)
}

/// Does something that nobody can count.
pub(crate) fn waiting<T>(what: &'static str, work: impl FnOnce() -> T) -> T {
    passing(&bar(what, None), what, work)
}

/// Shows how the time passes while something is done, and clears the bar then.
fn passing<T>(bar: &ProgressBar, what: &'static str, work: impl FnOnce() -> T) -> T {
    if !bar.is_hidden() {
        bar.set_style(style("{msg}, {elapsed} in all"));
        bar.set_message(what);
        bar.enable_steady_tick(Duration::from_millis(100));
    }
    let done = work();
    bar.finish_and_clear();
    done
}
