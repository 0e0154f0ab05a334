//! How fast the frozen list is, beside our quotient filter of the same YES keys and error rate, by turns; and how long it takes to
//! build one.

use std::hint::black_box;

use serde::Serialize;
use twiceshy::list::{Answer, ListKeys};
use twiceshy::{FrozenYesNoList, Hasher, QuotientFilter};
use twiceshy_testkit::scatter;

use crate::{Failure, Keys, rate, sizes, timed};

/// Queries per measurement.
const QUERIES: u64 = 1 << 20;

/// Measurements of each, of which the median counts.
const ROUNDS: usize = 15;

/// The error rate, as a power of two.
const RATE_LOG2: i32 = 9;

/// Queries of one sort.
#[derive(Debug, Serialize)]
pub(crate) struct Row {
    /// Which keys are asked for.
    pub(crate) keys: &'static str,
    /// How.
    pub(crate) way: &'static str,
    pub(crate) list_ns: f64,
    pub(crate) filter_ns: f64,
    /// The median of the ratios of the times of the filter to those of the list, of two measurements after each other: above 1 the
    /// list is faster.
    pub(crate) ratio: f64,
}

/// Building a list of as many NO keys as YES keys.
#[derive(Debug, Serialize)]
pub(crate) struct Building {
    pub(crate) yes: u64,
    pub(crate) no: u64,
    pub(crate) seconds: f64,
}

pub(crate) fn building(keys: u64) -> Result<Building, Failure> {
    let lists = Keys { yes: keys, no: keys, ratio_log2: 0 };
    let measured = sizes::frozen(lists, 1, rate(RATE_LOG2))?;
    Ok(Building { yes: keys, no: keys, seconds: measured.build_seconds })
}

pub(crate) fn measure(keys: u64) -> Result<Vec<Row>, Failure> {
    let half = keys / 2;
    let mut listed = ListKeys::new(Hasher::fast());
    let no = |number: u64| scatter(Keys::NO | number);
    (0..half).for_each(|number| listed.yes_hash(scatter(number)));
    (0..half).for_each(|number| listed.no_hash(no(number)));
    let list = FrozenYesNoList::builder().error_rate(rate(RATE_LOG2)).build_keys(&listed, |_| ())?;
    let mut filter = QuotientFilter::builder().capacity(half).error_rate(rate(RATE_LOG2)).build()?;
    (0..half).try_for_each(|number| filter.insert_hash(scatter(number)).map(drop))?;

    let yes: Vec<u64> = (0..QUERIES).map(|i| scatter(scatter(i | 1 << 51) % half)).collect();
    let unlisted: Vec<u64> = (0..QUERIES).map(|i| scatter(Keys::UNLISTED | i)).collect();
    let no: Vec<u64> = (0..QUERIES).map(|i| no(scatter(i | 1 << 52) % half)).collect();
    let one_yes_of = |all: u64| -> Vec<u64> {
        let keys = (0..).zip(&yes).zip(&unlisted);
        keys.map(|((i, &yes), &unlisted)| if scatter(i).is_multiple_of(all) { yes } else { unlisted })
            .collect()
    };
    let (few, half_of_them) = (one_yes_of(100), one_yes_of(2));

    let mut rows = Vec::new();
    let sorts = [
        ("unlisted", unlisted),
        ("NO", no),
        ("1 % YES, 99 % unlisted", few),
        ("YES", yes),
        ("half YES, half unlisted", half_of_them),
    ];
    for (keys, hashes) in sorts {
        rows.push(by_turns(
            (keys, "one by one"),
            || hashes.iter().filter(|&&hash| list.query_hash(hash).is_yes()).count(),
            || hashes.iter().filter(|&&hash| filter.contains_hash(hash)).count(),
        ));
        let (mut answers, mut found) = (vec![Answer::No; hashes.len()], vec![false; hashes.len()]);
        rows.push(by_turns(
            (keys, "batch"),
            || {
                list.query_hash_batch(&hashes, &mut answers);
                answers.iter().filter(|answer| answer.is_yes()).count()
            },
            || {
                filter.contains_hash_batch(&hashes, &mut found);
                found.iter().filter(|&&found| found).count()
            },
        ));
    }
    Ok(rows)
}

fn by_turns(
    (keys, way): (&'static str, &'static str),
    mut list: impl FnMut() -> usize,
    mut filter: impl FnMut() -> usize,
) -> Row {
    let (mut lists, mut filters, mut ratios) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        let nanos = |(_, seconds): (usize, f64)| seconds * 1e9 / QUERIES as f64;
        let (one, other) = (nanos(timed(|| black_box(list()))), nanos(timed(|| black_box(filter()))));
        lists.push(one);
        filters.push(other);
        ratios.push(other / one);
    }
    Row { keys, way, list_ns: median(lists), filter_ns: median(filters), ratio: median(ratios) }
}

fn median(mut numbers: Vec<f64>) -> f64 {
    numbers.sort_by(f64::total_cmp);
    numbers[numbers.len() / 2]
}
