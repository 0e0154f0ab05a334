//! Figures as people read them, and what the race showed in a few sentences. Every sentence is made from the figures of this
//! race: where they do not say what we like to hear, neither does the sentence.

use super::report::{Figures, Report, StoreReport};

/// A whole number with commas between groups of three digits.
pub(super) fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A rate or a ratio, with about three digits.
pub(super) fn rate(value: f64) -> String {
    match value {
        value if value >= 99.95 => grouped(value.round() as u64),
        value if value >= 9.995 => format!("{value:.1}"),
        value => format!("{value:.2}"),
    }
}

/// So many per second.
pub(super) fn speed(per_second: f64) -> String {
    match per_second {
        per_second if per_second >= 999_500.0 => format!("{:.2} M", per_second / 1e6),
        per_second if per_second >= 99_950.0 => format!("{:.0} k", per_second / 1e3),
        per_second if per_second >= 9_995.0 => format!("{:.1} k", per_second / 1e3),
        per_second => grouped(per_second.round() as u64),
    }
}

/// Bytes in the unit that fits.
pub(super) fn bytes(bytes: u64) -> String {
    match bytes as f64 {
        bytes if bytes >= 1e9 => format!("{:.1} GB", bytes / 1e9),
        bytes if bytes >= 1e6 => format!("{:.1} MB", bytes / 1e6),
        bytes if bytes >= 1e3 => format!("{:.0} kB", bytes / 1e3),
        bytes => format!("{bytes} bytes"),
    }
}

/// A store as it is called in a sentence.
pub(super) fn title(name: &str) -> &str {
    match name {
        "adaptive" => "adaptive filter",
        "Bloom" => "Bloom filter",
        "quotient" => "quotient filter",
        other => other,
    }
}

/// What an attack made of the lookups per query. Mistakes are rare, so a small difference is chance: up to three standard
/// deviations of it.
fn change(before: &Figures, now: &Figures) -> String {
    let (from, to) = (before.lookups_per_thousand(), now.lookups_per_thousand());
    let mistakes = (before.false_positives as f64, now.false_positives as f64);
    match to / from {
        _ if (mistakes.0 - mistakes.1).abs() <= 3.0 * (mistakes.0 + mistakes.1).sqrt() => {
            "about as before".into()
        }
        _ if from == 0.0 => "none before".into(),
        ratio if ratio >= 1.5 => format!("{} times as many as before", rate(ratio)),
        ratio if ratio >= 1.0 => format!("{:.0} % more than before", ratio.mul_add(100.0, -100.0)),
        ratio => format!("{:.0} % less than before", 100.0 - ratio * 100.0),
    }
}

/// A few words on what a sentence is about, and the sentence.
pub(super) type Said = (&'static str, String);

/// The race in a few sentences.
pub(super) fn summary(report: &Report) -> Vec<Said> {
    let settings = &report.settings;
    let mut said = vec![(
        "The race",
        format!(
            "Four stores hold the same {} keys on disk ({}). Each was asked {} times for keys that are not there. A filter in \
             memory answers nearly all of these queries; when it errs, a false positive, the engine on disk is asked in vain.",
            grouped(settings.keys),
            settings.engine,
            grouped(settings.queries_per_phase * report.phases.len() as u64),
        ),
    )];
    let Some(adaptive) = report.store("adaptive") else { return said };
    let others =
        || report.stores.iter().filter(|store| !matches!(store.name.as_str(), "adaptive" | "no filter"));
    let list = |figure: &dyn Fn(&StoreReport) -> String| {
        others()
            .map(|store| format!("{} {}", title(&store.name), figure(store)))
            .collect::<Vec<_>>()
            .join(", ")
    };
    said.push((
        "Without an attack",
        format!(
            "False positives per 1,000 queries for new keys: adaptive filter {}, {}. Without a filter all 1,000 go to the \
             engine.",
            rate(adaptive.phase(0).false_positives_per_thousand()),
            list(&|store| rate(store.phase(0).false_positives_per_thousand())),
        ),
    ));
    if let Some((last, percent)) = report.strongest_attack() {
        let told = |store: &StoreReport| {
            let (before, now) = (store.phase(0), store.phase(last));
            format!("{} ({})", rate(now.lookups_per_thousand()), change(&before, &now))
        };
        said.push((
            "Under attack",
            format!(
                "An adversary notes which answers are slow and asks for the same keys again, in {percent} % of the queries. \
                 Lookups in the engine per 1,000 queries: {}. The adaptive filter learns from each mistake and does not make it \
                 again: {}.",
                others().map(|store| format!("{} {}", title(&store.name), told(store))).collect::<Vec<_>>().join("; "),
                told(adaptive),
            ),
        ));
        let speeds = |store: &StoreReport| {
            let (before, now) = (store.phase(0).queries_per_second, store.phase(last).queries_per_second);
            format!("{} {} ({})", title(&store.name), speed(now), speed(before))
        };
        let speeds: Vec<_> = report.stores.iter().map(speeds).collect();
        let simulated = if settings.simulated_latency.is_some() { ", with simulated latency" } else { "" };
        said.push((
            "Speed",
            format!(
                "Queries per second under that attack, and in brackets without one{simulated}: {}.",
                speeds.join(", ")
            ),
        ));
    }
    said.push((
        "Memory",
        format!(
            "Bits per key: adaptive filter {:.1}, {}. The adaptive filter starts small and grows whenever it is full, so its \
             bits per key depend on the number of keys; the others were told that number beforehand.",
            adaptive.filter_bits_per_key,
            list(&|store| format!("{:.1}", store.filter_bits_per_key)),
        ),
    ));
    said
}

/// What a reader must know to judge the figures.
pub(super) fn caveats(report: &Report) -> Vec<String> {
    let settings = &report.settings;
    let mut caveats = Vec::new();
    if let Some(seconds) = settings.simulated_latency {
        caveats.push(format!(
            "Simulated latency: every lookup in the engine was made {} ms slower on purpose. Speeds show what would happen with \
             such a storage; nothing here was measured on one. Counts of lookups are not affected.",
            seconds * 1e3
        ));
    }
    caveats.push(format!(
        "The files ({} of keys and values per store) fit into the operating system's cache, so a lookup in the engine costs \
         microseconds here. On a cold disk or over a network it costs far more, and the differences in speed grow. The \
         engine's own cache had {} for each store.",
        bytes(settings.data_bytes),
        bytes(settings.cache_bytes),
    ));
    if settings.engine == "fjall" {
        caveats.push(
            "The engine fjall has Bloom filters of its own, which were on, as by default: they make lookups of absent keys \
             cheap for the store without a filter, and for false positives."
                .into(),
        );
    }
    caveats.push(
        "Each store has an adversary of its own, who sees only whether the engine was asked, as a stranger sees from how \
         long an answer takes. Up to 10,000 keys are noted, in all phases. All other queries are the same for all stores."
            .into(),
    );
    caveats.push(
        "The quotient filter has room for twice the keys, and so errs less often than it was asked to as long as it is half \
         empty. To learn, the adaptive filter reads the keys beside a mistake: these reads are counted as lookups, and \
         their time is in its speed."
            .into(),
    );
    caveats.push(format!(
        "One thread asked, all stores by turns. Keys that are there always cost a lookup, with any filter: at the end {} of \
         them were asked for in each store, and all were found ({}).",
        grouped(report.stores.first().map_or(0, |store| store.present.queries)),
        report
            .stores
            .iter()
            .map(|store| format!("{}: {} per second", title(&store.name), speed(store.present.queries_per_second)))
            .collect::<Vec<_>>()
            .join(", "),
    ));
    caveats
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_short() {
        assert_eq!(
            [grouped(0), grouped(999), grouped(1_000), grouped(1_234_567)],
            ["0", "999", "1,000", "1,234,567"]
        );
        assert_eq!([rate(0.0), rate(0.526), rate(12.34), rate(1000.0)], ["0.00", "0.53", "12.3", "1,000"]);
        assert_eq!(
            [speed(5_897_123.0), speed(204_400.0), speed(12_345.0), speed(87.6)],
            ["5.90 M", "204 k", "12.3 k", "88"]
        );
        assert_eq!([bytes(92_800_000), bytes(12), bytes(4_096)], ["92.8 MB", "12 bytes", "4 kB"]);
    }

    #[test]
    fn changes_are_told_as_they_are() {
        let figures = |false_positives| Figures {
            queries: 10_000,
            false_positives,
            engine_lookups: false_positives,
            ..Figures::default()
        };
        let change = |from, to| change(&figures(from), &figures(to));
        assert_eq!(change(10, 990), "99.0 times as many as before");
        assert_eq!(change(1_000, 1_200), "20 % more than before");
        assert_eq!(change(1_000, 700), "30 % less than before");
        assert_eq!(change(0, 50), "none before");
        assert_eq!([change(0, 0), change(30, 45), change(45, 30)], ["about as before"; 3]);
    }
}
