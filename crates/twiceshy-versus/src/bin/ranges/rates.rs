//! How often filters are mistaken, wherever ranges lie.

use std::ops::RangeInclusive;

use serde::Serialize;
use twiceshy_testkit::{Random, scatter};

use crate::Args;
use crate::contenders::{Failure, Ranged, Start, adaptive, plain, truncating};

/// The shares of empty ranges that seem to have a key.
#[derive(Debug, Serialize)]
pub(crate) struct Row {
    pub(crate) filter: &'static str,
    pub(crate) bits_per_key: f64,
    pub(crate) uniform: f64,
    pub(crate) correlated: f64,
    /// Of those at the worst distance from a key.
    pub(crate) worst_distance: f64,
    pub(crate) zipf: f64,
}

/// Keys anywhere, and empty ranges far from them and next to them.
pub(crate) struct Universe {
    sorted: Vec<u64>,
    max_range: u64,
}

impl Universe {
    pub(crate) fn new(keys: u64, max_range: u64) -> Self {
        let mut sorted: Vec<u64> = (0..keys).map(key).collect();
        sorted.sort_unstable();
        Self { sorted, max_range }
    }

    /// The range from a number on, unless there is a key in it, or it is not all there.
    fn empty_from(&self, first: u64) -> Option<RangeInclusive<u64>> {
        let last = first.checked_add(self.max_range - 1)?;
        let next = self.sorted.partition_point(|key| *key < first);
        self.sorted.get(next).is_none_or(|key| *key > last).then_some(first..=last)
    }

    /// Anywhere.
    pub(crate) fn uniform(&self, number: u64) -> Option<RangeInclusive<u64>> {
        self.empty_from(scatter(1 << 40 | number))
    }

    /// So many keys after some key.
    pub(crate) fn after_a_key(&self, number: u64, distance: u64) -> Option<RangeInclusive<u64>> {
        let key = self.sorted[(scatter(2 << 40 | number) % self.sorted.len() as u64) as usize];
        self.empty_from(key.checked_add(distance)?)
    }
}

pub(crate) fn key(number: u64) -> u64 {
    scatter(number)
}

/// The share of these ranges that are found.
pub(crate) fn share(
    ranges: impl Iterator<Item = RangeInclusive<u64>>,
    mut finds: impl FnMut(RangeInclusive<u64>) -> Result<bool, Failure>,
) -> Result<f64, Failure> {
    let (mut asked, mut found) = (0u64, 0u64);
    for range in ranges {
        asked += 1;
        found += u64::from(finds(range)?);
    }
    Ok(found as f64 / asked.max(1) as f64)
}

/// Whether a filter finds an empty range, which it learns from.
fn finds(filter: &mut dyn Ranged, range: RangeInclusive<u64>) -> Result<bool, Failure> {
    let found = filter.finds(range.clone());
    if found {
        filter.learn(range)?;
    }
    Ok(found)
}

pub(crate) fn measure(args: &Args) -> Result<Vec<Row>, Failure> {
    let universe = Universe::new(args.keys, args.max_range);
    // Fingerprints that several keys share take more slots than one.
    let keys = args.keys + args.keys / 16 + 64;
    let make: [&dyn Fn() -> Result<Box<dyn Ranged>, Failure>; 3] = [
        &|| Ok(Box::new(plain(args, Start::Keys(keys))?)),
        &|| Ok(Box::new(adaptive(args, Start::Keys(keys), false)?)),
        &|| Ok(Box::new(truncating(args, keys)?)),
    ];
    make.iter().map(|make| row(args, &universe, make)).collect()
}

fn row(
    args: &Args,
    universe: &Universe,
    make: &dyn Fn() -> Result<Box<dyn Ranged>, Failure>,
) -> Result<Row, Failure> {
    let filled = || {
        let mut filter = make()?;
        (0..args.keys).try_for_each(|number| filter.insert(key(number)))?;
        Ok::<_, Failure>(filter)
    };
    let mut filter = filled()?;
    let (name, bits_per_key) = (filter.name(), filter.bytes() as f64 * 8.0 / args.keys as f64);
    let uniform = (0..args.queries).filter_map(|number| universe.uniform(number));
    let uniform = share(uniform, |range| finds(&mut *filter, range))?;
    let mut filter = filled()?;
    let each = args.queries.div_ceil(args.max_range);
    let distances: Result<Vec<f64>, Failure> = (1..=args.max_range)
        .map(|distance| {
            let numbers = (distance - 1) * each..distance * each;
            let ranges = numbers.filter_map(|number| universe.after_a_key(number, distance));
            share(ranges, |range| finds(&mut *filter, range))
        })
        .collect();
    let distances = distances?;
    let correlated = distances.iter().sum::<f64>() / distances.len() as f64;
    let mut filter = filled()?;
    let mut random = Random(1);
    // As many different ones as queries: their number, to the power of something between 0 and 1.
    let zipf = (0..args.queries).filter_map(|_| {
        let exponent = (random.next() >> 11) as f64 / (1u64 << 53) as f64;
        universe.uniform((args.queries as f64).powf(exponent) as u64)
    });
    let zipf = share(zipf, |range| finds(&mut *filter, range))?;
    let worst_distance = distances.into_iter().fold(0.0, f64::max);
    Ok(Row { filter: name, bits_per_key, uniform, correlated, worst_distance, zipf })
}
