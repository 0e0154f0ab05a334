//! Figures as people read them, and what the race showed in a few sentences. Every sentence is made from the figures of this
//! race: where they do not say what we like to hear, neither does the sentence.
//!
//! A blank between a number and its unit is one at which no line is broken; [`in_plain_text`] has usual ones.

use super::options::Discipline;
use super::random::Zipf;
use super::report::{Figures, Part, Report, Speed, StoreReport};
use super::run::{COLD_TURN, WINDOWS};
use super::stream::Phase;

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
        value if value >= 0.0995 || value == 0.0 => format!("{value:.2}"),
        value => format!("{value:.3}"),
    }
}

/// In which unit so many per second are told.
fn unit_of(per_second: f64) -> (f64, &'static str) {
    match per_second {
        per_second if per_second >= 999_500.0 => (1e6, "\u{a0}M"),
        per_second if per_second >= 999.5 => (1e3, "\u{a0}k"),
        _ => (1.0, ""),
    }
}

/// So many per second.
pub(super) fn speed(per_second: f64) -> String {
    let (unit, name) = unit_of(per_second);
    format!("{}{name}", rate(per_second / unit))
}

/// The median of several speeds, and in a second line the range of the middle half of them in the same unit.
pub(super) fn spread(speeds: &Speed) -> String {
    let (unit, _) = unit_of(speeds.median_per_second);
    let (lower, upper) = (speeds.lower_quartile_per_second / unit, speeds.upper_quartile_per_second / unit);
    format!("{}\n{}–{}", speed(speeds.median_per_second), rate(lower), rate(upper))
}

/// A time, with about three digits.
pub(super) fn time(seconds: f64) -> String {
    match seconds {
        seconds if seconds >= 0.999_5 => format!("{}\u{a0}s", rate(seconds)),
        seconds if seconds >= 0.000_999_5 => format!("{}\u{a0}ms", rate(seconds * 1e3)),
        seconds => format!("{}\u{a0}µs", rate(seconds * 1e6)),
    }
}

/// Bytes in the unit that fits.
pub(super) fn bytes(bytes: u64) -> String {
    match bytes as f64 {
        bytes if bytes >= 1e9 => format!("{:.1}\u{a0}GB", bytes / 1e9),
        bytes if bytes >= 1e6 => format!("{:.1}\u{a0}MB", bytes / 1e6),
        bytes if bytes >= 1e3 => format!("{:.0}\u{a0}kB", bytes / 1e3),
        bytes => format!("{bytes}\u{a0}bytes"),
    }
}

/// Text as terminals have it.
pub(super) fn in_plain_text(text: &str) -> String {
    text.replace('\u{a0}', " ")
}

/// Text in lines of at most this many letters, where words allow it.
pub(super) fn wrapped(text: &str, width: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in text.split(' ') {
        let line = lines.last_mut().expect("there is always one");
        if line.is_empty() {
            line.push_str(word);
        } else if line.chars().count() + 1 + word.chars().count() <= width {
            line.push(' ');
            line.push_str(word);
        } else {
            lines.push(word.to_owned());
        }
    }
    lines.iter().map(|line| in_plain_text(line)).collect()
}

/// A store as it is called in a sentence.
pub(super) fn title(name: &str) -> &str {
    match name {
        "adaptive" => "adaptive filter",
        "Bloom" => "Bloom filter",
        "quotient" => "quotient filter",
        "prefix Bloom" => "prefix Bloom filter",
        "range" => "range filter",
        other => other,
    }
}

/// What is asked for, in two words.
pub(super) fn absent(discipline: Discipline) -> &'static str {
    match discipline {
        Discipline::Keys => "absent keys",
        Discipline::Ranges { .. } => "empty ranges",
    }
}

/// What is asked for at the end.
pub(super) fn present(discipline: Discipline) -> &'static str {
    match discipline {
        Discipline::Keys => "Keys that are there",
        Discipline::Ranges { .. } => "Ranges with a key",
    }
}

/// What an adversary asks for again.
fn noted(discipline: Discipline) -> &'static str {
    match discipline {
        Discipline::Keys => "keys",
        Discipline::Ranges { .. } => "ranges",
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
        // What is compared with was rare, so there is no third digit to tell.
        ratio if ratio >= 99.5 => {
            let tens = 10f64.powf(ratio.log10().floor() - 1.0);
            format!("about {}\u{a0}times as many as before", grouped(((ratio / tens).round() * tens) as u64))
        }
        ratio if ratio >= 1.5 => format!("{}\u{a0}times as many as before", rate(ratio)),
        ratio if ratio >= 1.0 => format!("{:.0}\u{a0}% more than before", ratio.mul_add(100.0, -100.0)),
        ratio => format!("{:.0}\u{a0}% less than before", 100.0 - ratio * 100.0),
    }
}

/// How the stores' files were read.
pub(super) fn files(report: &Report, part: Part) -> &'static str {
    match part {
        Part::Warm if report.settings.simulated_latency.is_some() => "simulated latency",
        Part::Warm => "files in memory",
        Part::Cold => "files read from disk",
    }
}

/// What the filters have in common, in a few words.
pub(super) fn memory(report: &Report) -> String {
    if report.settings.equal_rate {
        format!("all filters built for the same error rate, {}", report.settings.error_rate)
    } else {
        let has_grown = report.store("adaptive").is_some_and(StoreReport::has_grown);
        let when = if has_grown { " when they were loaded" } else { "" };
        format!("all filters with the same memory{when}{}", but_larger(report))
    }
}

/// Which filter has more than the same memory, if one has.
fn but_larger(report: &Report) -> String {
    let most = report.store("adaptive").map_or(0, |store| store.filter_bytes_loaded);
    let larger = report.stores.iter().find(|store| store.filter_bytes_loaded > most);
    larger.map_or_else(String::new, |store| {
        format!(", but the {}, which does not fit into it", title(&store.name))
    })
}

/// The result in one line.
pub(super) fn headline(report: &Report) -> String {
    let (queries, compared) = match report.discipline() {
        Discipline::Keys => ("queries", "Bloom"),
        Discipline::Ranges { .. } => ("ranges", "prefix Bloom"),
    };
    let lookups = |name: &str| {
        let (last, _) = report.strongest_attack()?;
        Some(rate(report.store(name)?.phase(last).lookups_per_thousand()))
    };
    match (lookups(compared), lookups("adaptive")) {
        (Some(others), Some(adaptive)) => format!(
            "Under attack 1,000\u{a0}{queries} cost {others}\u{a0}database lookups behind a {}, {adaptive} behind the adaptive filter",
            title(compared)
        ),
        _ => "Four stores, the same queries, one attack".into(),
    }
}

/// A few words on what a sentence is about, and the sentence.
pub(super) type Said = (&'static str, String);

/// The race in a few sentences.
pub(super) fn summary(report: &Report) -> Vec<Said> {
    let settings = &report.settings;
    let asked = match report.discipline() {
        Discipline::Keys => "keys that are not there".to_owned(),
        Discipline::Ranges { max_range } => {
            format!("ranges of up to {}\u{a0}keys in which there is none", grouped(max_range))
        }
    };
    let mut said = vec![(
        "The race",
        format!(
            "Four stores hold the same {}\u{a0}keys on disk ({}). Each was asked {}\u{a0}times for {asked}. A \
             filter in memory answers nearly all of these queries; when it errs, a false positive, the engine on disk is asked \
             in vain.",
            grouped(settings.keys),
            settings.engine,
            grouped(settings.queries_per_phase * report.phases.len() as u64),
        ),
    )];
    let (Some(adaptive), Some(none)) = (report.store("adaptive"), report.store("no filter")) else {
        return said;
    };
    let others = || report.stores.iter().filter(|store| ![&adaptive.name, &none.name].contains(&&store.name));
    let list = |figure: &dyn Fn(&StoreReport) -> String| {
        others()
            .map(|store| format!("{} {}", title(&store.name), figure(store)))
            .collect::<Vec<_>>()
            .join(", ")
    };
    said.push(("Memory", about_memory(report, adaptive, &list(&|store| bits(store)))));
    let mistakes = |store: &StoreReport| store.phase(0).false_positives_per_thousand();
    let why = if !settings.equal_rate && others().all(|store| mistakes(store) < mistakes(adaptive)) {
        " From the same memory, filters that never change get a lower error rate: the adaptive one keeps room to learn and to \
         grow."
    } else {
        ""
    };
    let new = match report.discipline() {
        Discipline::Keys => "new keys",
        Discipline::Ranges { .. } => "ranges anywhere",
    };
    said.push((
        "Without an attack",
        format!(
            "False positives per 1,000\u{a0}queries for {new}: adaptive filter {}, {}.{why} Without a filter all \
             1,000\u{a0}go to the engine.",
            rate(mistakes(adaptive)),
            list(&|store| rate(mistakes(store))),
        ),
    ));
    if let Some(place) = report.correlated() {
        let mistakes = |store: &StoreReport| rate(store.phase(place).false_positives_per_thousand());
        let all = format!("adaptive filter {}, {}", mistakes(adaptive), list(&mistakes));
        said.push(("Close to keys", about_correlated(report, place, &all)));
    }
    if let Some((last, percent)) = report.strongest_attack() {
        let told = |store: &StoreReport| {
            let (before, now) = (store.phase(0), store.phase(last));
            let change = match now.replayed {
                0 => "no mistake was found that could be replayed".into(),
                _ => change(&before, &now),
            };
            format!("{} ({change})", rate(now.lookups_per_thousand()))
        };
        said.push((
            "Under attack",
            format!(
                "An adversary notes which answers are slow and asks for the same {} again, in {percent}\u{a0}% of the queries. \
                 Lookups in the engine per 1,000\u{a0}queries: {}. The adaptive filter learns from each mistake and does not make \
                 it again: {}.",
                noted(report.discipline()),
                others().map(|store| format!("{} {}", title(&store.name), told(store))).collect::<Vec<_>>().join("; "),
                told(adaptive),
            ),
        ));
        let speeds = |part: Part| {
            let lookup = 1.0 / none.speed(part, 0).median_per_second.max(1e-9);
            let speeds = report.stores.iter().map(|store| {
                let of = |place| speed(store.speed(part, place).median_per_second);
                format!("{} {} ({})", title(&store.name), of(last), of(0))
            });
            format!(
                "With {} a query that reaches the engine takes {}. Queries per second: {}.",
                files(report, part),
                time(lookup),
                speeds.collect::<Vec<_>>().join(", ")
            )
        };
        let speeds: Vec<_> = report.parts().iter().map(|&part| speeds(part)).collect();
        said.push(("Speed", format!("Under that attack, and in brackets without one. {}", speeds.join(" "))));
    }
    let zipf = report.phases.iter().enumerate().find_map(|(place, phase)| match phase {
        Phase::Zipf { skew } => Some((place, *skew)),
        _ => None,
    });
    let zipf = zipf.map(|(place, skew)| (place, Zipf::new(settings.keys, skew).share_of_first()));
    // Else no key is popular.
    if let Some((place, share)) = zipf.filter(|(_, share)| *share >= 0.01) {
        let mistakes = |store: &StoreReport| rate(store.phase(place).false_positives_per_thousand());
        said.push((
            "Zipf",
            format!(
                "In this phase the same keys are asked for again and again, the most popular one in {}\u{a0}% of the queries. A \
                 filter that never changes errs for a key always or never, so its figure hangs on luck with few keys: were the most \
                 popular one its mistake, as may be with another --seed, {} of 1,000\u{a0}queries would reach the engine for \
                 that key alone. The adaptive filter errs once for each key, however popular. False positives per \
                 1,000\u{a0}queries here: adaptive filter {}, {}.",
                rate(share * 100.0),
                rate(share * 1e3),
                mistakes(adaptive),
                list(&mistakes),
            ),
        ));
    }
    if let Some(why) = &report.cold_left_out {
        said.push(("Left out", format!("The phases with files read from disk were not run: {why}.")));
    }
    said
}

/// What filters make of ranges beside keys, with the mistakes of all of them.
fn about_correlated(report: &Report, place: usize, mistakes: &str) -> String {
    let fails = |store: &StoreReport| {
        let [anywhere, beside] = [0, place].map(|place| store.phase(place).false_positives_per_thousand());
        beside > 10.0 * anywhere.max(1.0)
    };
    let why = if report.store("prefix Bloom").is_some_and(fails) {
        " A filter of prefixes takes a range that begins like a key for one with that key in it. The others know more than prefixes."
    } else {
        ""
    };
    format!(
        "In the phase \u{201c}correlated\u{201d} every range lies beside a key, from 1 to {}\u{a0}away, as where neighbours of what \
         is there are asked for. False positives per 1,000\u{a0}queries: {mistakes}.{why}",
        grouped(report.settings.max_range.unwrap_or_default()),
    )
}

fn bits(store: &StoreReport) -> String {
    format!("{:.1}", store.filter_bits_per_key)
}

fn about_memory(report: &Report, adaptive: &StoreReport, others: &str) -> String {
    let settings = &report.settings;
    let compared = if settings.equal_rate {
        format!(
            "All filters were built for the same error rate, {}, from the memory that this takes. Without --equal-rate they \
             have the same memory.",
            settings.error_rate
        )
    } else {
        format!(
            "All filters got the same memory{}: what the adaptive one, built for an error rate of {}, came to when it was loaded. \
             With --equal-rate all are built for that rate.",
            but_larger(report),
            settings.error_rate
        )
    };
    let grown = if adaptive.has_grown() {
        format!(
            " Since then it has grown from {:.1}\u{a0}bits per key, to have room for what it learned.",
            adaptive.filter_bytes_loaded as f64 * 8.0 / settings.keys as f64
        )
    } else {
        String::new()
    };
    format!(
        "{compared} Bits per key: adaptive filter {}, {others}.{grown} The adaptive filter grows as keys come, so its bits per \
         key depend on how many there are; the others were told that number beforehand.",
        bits(adaptive),
    )
}

/// What a reader must know to judge the figures.
pub(super) fn caveats(report: &Report) -> Vec<String> {
    let settings = &report.settings;
    let mut caveats = Vec::new();
    if let Some(seconds) = settings.simulated_latency {
        caveats.push(format!(
            "Simulated latency: every lookup in the engine was made {} slower on purpose. Speeds show what would happen with \
             such a storage; nothing here was measured on one. Counts of lookups are not affected.",
            time(seconds)
        ));
    }
    caveats.push(format!(
        "Files in memory: the operating system has all of them in its cache ({} of keys and values per store), and the \
         engine has a cache of {} of its own, for each store: a lookup costs next to nothing.",
        bytes(settings.data_bytes),
        bytes(settings.cache_bytes),
    ));
    if report.cold_left_out.is_none() {
        caveats.push(format!(
            "Files read from disk: they are evicted from the operating system's cache before every lookup, and the \
             engine has no cache: as if the data were far larger than the memory. A real system is somewhere between. What \
             evicting takes is not counted. What the disk or the machine below has in a cache of its own stays there. In each \
             of its turns a store was asked for {} at most, so the stores got different numbers of queries.",
            time(COLD_TURN.as_secs_f64())
        ));
    }
    if settings.engine == "fjall" && report.discipline() == Discipline::Keys {
        caveats.push(
            "The engine fjall has Bloom filters of its own, which were on, as by default: they make lookups of absent keys \
             cheap for the store without a filter, and for false positives."
                .into(),
        );
    }
    caveats.push(format!(
        "Each store has an adversary of its own, who sees only whether the engine was asked, as a stranger sees from how \
         long an answer takes. Up to 10,000 {} are noted, in all phases. All other queries are the same for all stores.",
        noted(report.discipline())
    ));
    if let Discipline::Ranges { max_range } = report.discipline() {
        caveats.push(format!(
            "Ranges have any length from 1 to {}\u{a0}keys, for which the adaptive filter and the range filter were built; the \
             prefixes of the prefix Bloom filter are as long as they can be if no range is to meet more than two of them.",
            grouped(max_range)
        ));
    }
    caveats.push(
        "To learn, the adaptive filter reads the keys beside a mistake: these reads are counted as lookups, and their time is \
         in its speed."
            .into(),
    );
    caveats.push(format!(
        "One thread asked, all stores by turns. A speed is the median of up to {WINDOWS}\u{a0}turns; half of them were \
         in the range that is given with it. {} always cost a lookup, with any filter: at the end {} of them were asked for \
         in each store, and all were found ({}).",
        present(report.discipline()),
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
        assert_eq!(
            [rate(0.0), rate(0.0149), rate(0.526), rate(12.34), rate(1000.0)],
            ["0.00", "0.015", "0.53", "12.3", "1,000"]
        );
        assert_eq!(
            [speed(5_897_123.0), speed(204_400.0), speed(12_345.0), speed(87.6)],
            ["5.90\u{a0}M", "204\u{a0}k", "12.3\u{a0}k", "87.6"]
        );
        assert_eq!(
            [bytes(92_800_000), bytes(12), bytes(4_096)],
            ["92.8\u{a0}MB", "12\u{a0}bytes", "4\u{a0}kB"]
        );
    }

    #[test]
    fn speeds_are_told_with_their_range() {
        let speeds = |median, lower, upper| {
            spread(&Speed {
                median_per_second: median,
                lower_quartile_per_second: lower,
                upper_quartile_per_second: upper,
            })
        };
        assert_eq!(speeds(1_465_091.0, 882_022.0, 1_586_591.0), "1.47\u{a0}M\n0.88–1.59");
        assert_eq!(speeds(16_868.0, 8_587.0, 119_334.0), "16.9\u{a0}k\n8.59–119");
        assert_eq!(
            [time(0.000_066), time(0.0021), time(1.5)],
            ["66.0\u{a0}µs", "2.10\u{a0}ms", "1.50\u{a0}s"]
        );
    }

    #[test]
    fn lines_are_not_broken_before_a_unit() {
        assert_eq!(wrapped("it was 10\u{a0}% of all", 8), ["it was", "10 % of", "all"]);
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
        assert_eq!(change(10, 990), "99.0\u{a0}times as many as before");
        assert_eq!(change(3, 9_970), "about 3,300\u{a0}times as many as before");
        assert_eq!(change(1_000, 1_200), "20\u{a0}% more than before");
        assert_eq!(change(1_000, 700), "30\u{a0}% less than before");
        assert_eq!(change(0, 50), "none before");
        assert_eq!([change(0, 0), change(30, 45), change(45, 30)], ["about as before"; 3]);
    }
}
