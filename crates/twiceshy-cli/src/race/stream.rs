//! The queries of every phase, a chunk at a time. All of them ask for absent keys.
//!
//! | phase | a query asks for |
//! |---|---|
//! | uniform | a key that was never asked for |
//! | Zipf | one of as many absent keys as keys were loaded, the popular ones again and again |
//! | attack | a key that was never asked for or, a share of them, one that the adversary has noted |
//!
//! Every store gets the same queries in the same order. Only what a replay asks for differs: each store has an adversary of
//! its own, who replays what was slow there.

use serde::Serialize;

use super::dataset::{AbsentKey, absent};
use super::random::{Numbers, Zipf};

/// A part of the race.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub(super) enum Phase {
    /// Keys that were never asked for.
    Uniform,
    /// Few keys are asked for again and again.
    Zipf {
        /// The exponent: how much more popular the popular ones are.
        skew: f64,
    },
    /// Some queries replay what was slow before.
    Attack {
        /// How many of them, in percent.
        percent: f64,
    },
}

impl Phase {
    /// All phases, in their order.
    pub(super) fn all(skew: f64, percents: &[f64]) -> Vec<Self> {
        let attacks = percents.iter().map(|&percent| Self::Attack { percent });
        [Self::Uniform, Self::Zipf { skew }].into_iter().chain(attacks).collect()
    }

    /// What to call it in a table.
    pub(super) fn name(&self) -> String {
        match self {
            Self::Uniform => "uniform".into(),
            Self::Zipf { .. } => "Zipf".into(),
            Self::Attack { percent } => format!("attack {percent}\u{a0}%"),
        }
    }

    /// How many of 100 queries replay: the phase's place in a plot of attacks.
    pub(super) fn replayed_percent(&self) -> Option<f64> {
        match *self {
            Self::Uniform => Some(0.0),
            Self::Zipf { .. } => None,
            Self::Attack { percent } => Some(percent),
        }
    }
}

/// What is asked next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Query {
    /// This key.
    Key(AbsentKey),
    /// One of the keys that the adversary has noted, chosen by this number; if there is none yet, this key.
    Replay(u64, AbsentKey),
}

/// The queries of a phase.
pub(super) struct Stream {
    phase: Phase,
    seed: u64,
    /// Keys of different phases differ; stream 0 has the keys that were loaded.
    stream: u64,
    zipf: Zipf,
    numbers: Numbers,
    asked: u64,
}

impl Stream {
    /// The queries of the phase at this place in the order, with so many keys to be popular or not.
    pub(super) fn new(phase: Phase, place: usize, seed: u64, keys: u64) -> Self {
        let stream = place as u64 + 1;
        let skew = if let Phase::Zipf { skew } = phase { skew } else { 0.0 };
        let numbers = Numbers::new(seed, stream);
        Self { phase, seed, stream, zipf: Zipf::new(keys, skew), numbers, asked: 0 }
    }

    /// The next queries.
    pub(super) fn next_chunk(&mut self, length: u64) -> Vec<Query> {
        (0..length).map(|_| self.next()).collect()
    }

    fn next(&mut self) -> Query {
        let number = match self.phase {
            Phase::Zipf { .. } => self.zipf.rank(&mut self.numbers),
            Phase::Uniform | Phase::Attack { .. } => self.asked,
        };
        self.asked += 1;
        let key = absent(self.seed, self.stream, number);
        match self.phase {
            Phase::Attack { percent } if self.numbers.fraction() * 100.0 < percent => {
                Query::Replay(self.numbers.next(), key)
            }
            _ => Query::Key(key),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn queries(phase: Phase, seed: u64) -> Vec<Query> {
        let mut stream = Stream::new(phase, 3, seed, 1_000);
        [stream.next_chunk(3_000), stream.next_chunk(17_000)].concat()
    }

    #[test]
    fn a_stream_does_not_depend_on_its_chunks() {
        for phase in Phase::all(1.2, &[5.0]) {
            assert_eq!(queries(phase, 1), Stream::new(phase, 3, 1, 1_000).next_chunk(20_000));
            assert_ne!(queries(phase, 1), queries(phase, 2));
        }
    }

    #[test]
    fn an_attack_replays_its_share() {
        let replays = |percent| {
            let queries = queries(Phase::Attack { percent }, 1);
            queries.iter().filter(|query| matches!(query, Query::Replay(..))).count()
        };
        assert_eq!((replays(0.0), replays(100.0)), (0, 20_000));
        assert!((900..1_100).contains(&replays(5.0)), "{}", replays(5.0));
    }
}
