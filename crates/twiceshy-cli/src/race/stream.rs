//! The queries of every phase, a chunk at a time. All of them ask for absent keys, or for ranges without a key.
//!
//! | phase | a query asks for |
//! |---|---|
//! | uniform | a key or a range that was never asked for |
//! | Zipf | one of as many absent keys as keys were loaded, the popular ones again and again |
//! | correlated | a range beside a key |
//! | attack | what was never asked for or, a share of them, what the adversary has noted |
//!
//! Every store gets the same queries in the same order. Only what a replay asks for differs: each store has an adversary of
//! its own, who replays what was slow there.

use serde::Serialize;

use super::dataset::{Absent, AbsentQuery};
use super::options::Discipline;
use super::random::{Numbers, Zipf};

/// A part of the race.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub(super) enum Phase {
    /// Keys or ranges that were never asked for.
    Uniform,
    /// Few keys are asked for again and again.
    Zipf {
        /// The exponent: how much more popular the popular ones are.
        skew: f64,
    },
    /// Ranges beside keys.
    Correlated,
    /// Some queries replay what was slow before.
    Attack {
        /// How many of them, in percent.
        percent: f64,
    },
}

impl Phase {
    /// All phases, in their order.
    pub(super) fn all(discipline: Discipline, skew: f64, percents: &[f64]) -> Vec<Self> {
        let attacks = percents.iter().map(|&percent| Self::Attack { percent });
        let second = match discipline {
            Discipline::Keys => Self::Zipf { skew },
            Discipline::Ranges { .. } => Self::Correlated,
        };
        [Self::Uniform, second].into_iter().chain(attacks).collect()
    }

    /// What to call it in a table.
    pub(super) fn name(&self) -> String {
        match self {
            Self::Uniform => "uniform".into(),
            Self::Zipf { .. } => "Zipf".into(),
            Self::Correlated => "correlated".into(),
            Self::Attack { percent } => format!("attack {percent}\u{a0}%"),
        }
    }

    /// How many of 100 queries replay: the phase's place in a plot of attacks.
    pub(super) fn replayed_percent(&self) -> Option<f64> {
        match *self {
            Self::Uniform => Some(0.0),
            Self::Zipf { .. } | Self::Correlated => None,
            Self::Attack { percent } => Some(percent),
        }
    }
}

/// What is asked next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Query {
    /// This.
    New(AbsentQuery),
    /// What the adversary has noted, chosen by this number; if there is nothing yet, this.
    Replay(u64, AbsentQuery),
}

/// The queries of a phase.
pub(super) struct Stream {
    phase: Phase,
    absent: Absent,
    /// Queries of different phases differ; stream 0 has the keys that were loaded.
    stream: u64,
    zipf: Zipf,
    numbers: Numbers,
    asked: u64,
}

impl Stream {
    /// The queries of the phase at this place in the order, with so many keys to be popular or not.
    pub(super) fn new(phase: Phase, place: usize, absent: Absent, seed: u64, keys: u64) -> Self {
        let stream = place as u64 + 1;
        let skew = if let Phase::Zipf { skew } = phase { skew } else { 0.0 };
        let numbers = Numbers::new(seed, stream);
        Self { phase, absent, stream, zipf: Zipf::new(keys, skew), numbers, asked: 0 }
    }

    /// The next queries.
    pub(super) fn next_chunk(&mut self, length: u64) -> Vec<Query> {
        (0..length).map(|_| self.next()).collect()
    }

    fn next(&mut self) -> Query {
        let (absent, stream) = (self.absent, self.stream);
        let query = match self.phase {
            Phase::Zipf { .. } => absent.query(stream, self.zipf.rank(&mut self.numbers)),
            Phase::Correlated => absent.beside(stream, &mut self.numbers),
            Phase::Uniform | Phase::Attack { .. } => absent.query(stream, self.asked),
        };
        self.asked += 1;
        match self.phase {
            Phase::Attack { percent } if self.numbers.fraction() * 100.0 < percent => {
                Query::Replay(self.numbers.next(), query)
            }
            _ => Query::New(query),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::spread::Spread;
    use super::*;

    const RANGES: Discipline = Discipline::Ranges { max_range: 32 };

    fn stream(discipline: Discipline, phase: Phase, seed: u64) -> Stream {
        let absent = match discipline {
            Discipline::Keys => Absent::Keys { seed },
            Discipline::Ranges { max_range } => Absent::Ranges(Spread::new(seed, 1_000, max_range)),
        };
        Stream::new(phase, 3, absent, seed, 1_000)
    }

    fn queries(discipline: Discipline, phase: Phase, seed: u64) -> Vec<Query> {
        let mut stream = stream(discipline, phase, seed);
        [stream.next_chunk(3_000), stream.next_chunk(17_000)].concat()
    }

    #[test]
    fn a_stream_does_not_depend_on_its_chunks() {
        for discipline in [Discipline::Keys, RANGES] {
            for phase in Phase::all(discipline, 1.2, &[5.0]) {
                let all = queries(discipline, phase, 1);
                assert_eq!(all, stream(discipline, phase, 1).next_chunk(20_000));
                assert_ne!(all, queries(discipline, phase, 2));
            }
        }
    }

    #[test]
    fn an_attack_replays_its_share() {
        let replays = |percent| {
            let queries = queries(RANGES, Phase::Attack { percent }, 1);
            queries.iter().filter(|query| matches!(query, Query::Replay(..))).count()
        };
        assert_eq!((replays(0.0), replays(100.0)), (0, 20_000));
        assert!((900..1_100).contains(&replays(5.0)), "{}", replays(5.0));
    }
}
