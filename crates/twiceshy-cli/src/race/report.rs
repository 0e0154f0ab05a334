//! What a race found out: the fields of `race.json`, and what is computed from them.
//!
//! Two races with the same settings agree in everything but times: the fields `started`, `*seconds` and `*per_second`, and
//! `cold`, where as much is asked as there is time for.

use serde::Serialize;

use super::options::Discipline;
use super::stream::Phase;

/// All of it.
#[derive(Debug, Clone, Serialize)]
pub(super) struct Report {
    /// The version of twiceshy that ran.
    pub(super) version: &'static str,
    /// When it began, in seconds since 1970 (UTC).
    pub(super) started: u64,
    /// How long it took, from opening the stores to their last answer.
    pub(super) total_seconds: f64,
    /// Where it ran.
    pub(super) machine: Machine,
    /// What was chosen.
    pub(super) settings: Settings,
    /// The phases, in their order.
    pub(super) phases: Vec<Phase>,
    /// Why the phases were not run again with cold files; null if they were.
    pub(super) cold_left_out: Option<String>,
    /// How the stores did.
    pub(super) stores: Vec<StoreReport>,
}

/// Where a race ran.
#[derive(Debug, Clone, Serialize)]
pub(super) struct Machine {
    /// Operating system and kind of CPU.
    pub(super) system: String,
    /// How many threads can run at the same time.
    pub(super) cpus: usize,
}

/// What was chosen, as it was used.
#[derive(Debug, Clone, Serialize)]
pub(super) struct Settings {
    /// The command that runs this race again.
    pub(super) command: String,
    /// The engine's name.
    pub(super) engine: &'static str,
    /// The file that the keys are from; null if they were generated.
    pub(super) key_file: Option<String>,
    /// Different keys that were loaded.
    pub(super) keys: u64,
    /// Rows that were loaded: more than keys if some occur twice in the file.
    pub(super) rows: u64,
    /// The bytes of all keys and values that were loaded.
    pub(super) data_bytes: u64,
    /// The bytes of the engine's cache, for each store.
    pub(super) cache_bytes: u64,
    /// How many queries every store got in each phase.
    pub(super) queries_per_phase: u64,
    /// The exponent of the Zipf phase; null in a race of ranges.
    pub(super) skew: Option<f64>,
    /// The longest range that was asked for; null in a race of keys.
    pub(super) max_range: Option<u64>,
    /// The share of replays in each attack, in percent.
    pub(super) adversary_percent: Vec<f64>,
    /// What the adaptive filter was built for.
    pub(super) error_rate: f64,
    /// Whether the other filters were built for the same rate; else they have the same memory.
    pub(super) equal_rate: bool,
    /// Where all random numbers started.
    pub(super) seed: u64,
    /// Seconds that were added to every lookup in the engine; null if none were. Such a race is a simulation.
    pub(super) simulated_latency: Option<f64>,
}

/// How a store did.
#[derive(Debug, Clone, Serialize)]
pub(super) struct StoreReport {
    /// `adaptive`, `Bloom`, `quotient` or `no filter`; of ranges `prefix Bloom` and `range` instead of the other two.
    pub(super) name: String,
    /// The bytes of its filter after loading.
    pub(super) filter_bytes_loaded: u64,
    /// The bytes of its filter at the end: what was learned may need room.
    pub(super) filter_bytes: u64,
    /// Bits of the filter at the end, divided by the keys.
    pub(super) filter_bits_per_key: f64,
    /// The bytes of its files after loading, if the engine knows.
    pub(super) disk_bytes: Option<u64>,
    /// How long loading took, with tidying up the files.
    pub(super) load_seconds: f64,
    /// Its figures, one entry for each phase.
    pub(super) phases: Vec<PhaseReport>,
    /// What keys, or ranges with a key, that are there cost, asked for at the end: filters cannot help with those.
    pub(super) present: Figures,
    /// Its figures when every lookup reads the disk, one entry for each phase; none if that was left out.
    pub(super) cold: Vec<PhaseReport>,
}

/// All phases are run with files in the operating system's cache, and then once more with files that are evicted from it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Part {
    Warm,
    Cold,
}

/// How a store did in a phase.
#[derive(Debug, Clone, Default, Serialize)]
pub(super) struct PhaseReport {
    /// The whole phase.
    #[serde(flatten)]
    pub(super) figures: Figures,
    /// How much the speeds of its parts differ.
    #[serde(flatten)]
    pub(super) speed: Speed,
    /// Parts of the phase, in their order; their sums are the whole.
    pub(super) windows: Vec<Figures>,
}

impl PhaseReport {
    /// To be called when all parts are there.
    pub(super) fn sum_up(&mut self) {
        let mut speeds: Vec<_> = self.windows.iter().map(|window| window.queries_per_second).collect();
        speeds.sort_by(f64::total_cmp);
        if speeds.is_empty() {
            return;
        }
        // So far from the slowest to the fastest; between two of them in proportion.
        let at = |share: f64| {
            let place = share * (speeds.len() - 1) as f64;
            let (below, above) = (speeds[place.floor() as usize], speeds[place.ceil() as usize]);
            below + (above - below) * place.fract()
        };
        self.speed = Speed {
            median_per_second: at(0.5),
            lower_quartile_per_second: at(0.25),
            upper_quartile_per_second: at(0.75),
        };
    }
}

/// Queries per second in the parts of a phase: half of the parts are between the quartiles.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub(super) struct Speed {
    pub(super) median_per_second: f64,
    pub(super) lower_quartile_per_second: f64,
    pub(super) upper_quartile_per_second: f64,
}

/// What was counted and measured.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub(super) struct Figures {
    /// Keys or ranges that were asked for.
    pub(super) queries: u64,
    /// How many of them replayed what the adversary had noted.
    pub(super) replayed: u64,
    /// How many of them the filter let through although they were not there.
    pub(super) false_positives: u64,
    /// How often the engine was asked for a key, or for the first one in a range.
    pub(super) engine_lookups: u64,
    /// How often the engine was asked for the keys beside a mistake, to learn from it.
    pub(super) learning_lookups: u64,
    /// How long all of that took.
    pub(super) seconds: f64,
    /// Queries divided by seconds.
    pub(super) queries_per_second: f64,
}

impl Figures {
    pub(super) fn add(&mut self, more: &Self) {
        self.queries += more.queries;
        self.replayed += more.replayed;
        self.false_positives += more.false_positives;
        self.engine_lookups += more.engine_lookups;
        self.learning_lookups += more.learning_lookups;
        self.seconds += more.seconds;
        self.queries_per_second = self.queries as f64 / self.seconds.max(1e-9);
    }

    fn per_thousand(&self, number: u64) -> f64 {
        number as f64 * 1e3 / self.queries.max(1) as f64
    }

    /// Of 1,000 queries.
    pub(super) fn false_positives_per_thousand(&self) -> f64 {
        self.per_thousand(self.false_positives)
    }

    /// For 1,000 queries, what it takes to learn included.
    pub(super) fn lookups_per_thousand(&self) -> f64 {
        self.per_thousand(self.engine_lookups + self.learning_lookups)
    }
}

impl Report {
    /// What was asked for.
    pub(super) fn discipline(&self) -> Discipline {
        self.settings.max_range.map_or(Discipline::Keys, |max_range| Discipline::Ranges { max_range })
    }

    /// The place of the phase with ranges beside keys, if there is one.
    pub(super) fn correlated(&self) -> Option<usize> {
        self.phases.iter().position(|phase| *phase == Phase::Correlated)
    }

    /// The phases with a share of replays, none included: their places, and the shares.
    pub(super) fn attacks(&self) -> Vec<(usize, f64)> {
        let share =
            |(place, phase): (usize, &Phase)| phase.replayed_percent().map(|percent| (place, percent));
        self.phases.iter().enumerate().filter_map(share).collect()
    }

    /// The attack with most replays: its place, and the share.
    pub(super) fn strongest_attack(&self) -> Option<(usize, f64)> {
        self.attacks()
            .into_iter()
            .filter(|attack| attack.1 > 0.0)
            .max_by(|one, other| one.1.total_cmp(&other.1))
    }

    /// What was run of the race.
    pub(super) fn parts(&self) -> &'static [Part] {
        if self.cold_left_out.is_none() { &[Part::Warm, Part::Cold] } else { &[Part::Warm] }
    }

    /// The store of this name.
    pub(super) fn store(&self, name: &str) -> Option<&StoreReport> {
        self.stores.iter().find(|store| store.name == name)
    }
}

impl StoreReport {
    /// Whether its filter is larger than after loading.
    pub(super) fn has_grown(&self) -> bool {
        self.filter_bytes > self.filter_bytes_loaded
    }

    /// How fast it was in a phase.
    pub(super) fn speed(&self, part: Part, place: usize) -> Speed {
        let phases = match part {
            Part::Warm => &self.phases,
            Part::Cold => &self.cold,
        };
        phases.get(place).map(|phase| phase.speed).unwrap_or_default()
    }

    /// The whole of a phase.
    pub(super) fn phase(&self, place: usize) -> Figures {
        self.phases.get(place).map(|phase| phase.figures).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn half_of_the_parts_are_between_the_quartiles() {
        let speed = |speeds: &[f64]| {
            let window = |&queries_per_second: &f64| Figures { queries_per_second, ..Figures::default() };
            let mut phase =
                PhaseReport { windows: speeds.iter().map(window).collect(), ..PhaseReport::default() };
            phase.sum_up();
            let Speed { median_per_second, lower_quartile_per_second, upper_quartile_per_second } =
                phase.speed;
            [lower_quartile_per_second, median_per_second, upper_quartile_per_second]
        };
        assert_eq!(speed(&[5.0, 1.0, 4.0, 2.0, 100.0]), [2.0, 4.0, 5.0]);
        assert_eq!(speed(&[3.0, 1.0]), [1.5, 2.0, 2.5]);
        assert_eq!((speed(&[7.0]), speed(&[])), ([7.0; 3], [0.0; 3]));
    }
}
