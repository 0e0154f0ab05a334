//! Filters that double and double: rates, space, and how long it takes.

use serde::Serialize;

use crate::Args;
use crate::clock::time;
use crate::contenders::{Failure, Growing, Start, adaptive, plain};
use crate::rates::{Universe, key, share};

/// Two to the power of so many slots at the start.
const START: u32 = 12;

/// Keys between two looks at whether a filter is full.
const CHUNK: u64 = 64;

/// A filter at the end of a phase.
#[derive(Debug, Serialize)]
pub(crate) struct Row {
    pub(crate) filter: &'static str,
    pub(crate) doublings: u32,
    pub(crate) keys: u64,
    pub(crate) bits_per_key: f64,
    pub(crate) uniform: f64,
    pub(crate) correlated: f64,
    /// Nanoseconds of an insert, without growth.
    pub(crate) insert_ns: f64,
    /// Milliseconds that it took to double, since the last row.
    pub(crate) doubling_ms: f64,
    /// Keys that were read for it.
    pub(crate) keys_read: u64,
}

pub(crate) fn measure(args: &Args) -> Result<Vec<Row>, Failure> {
    let start = Start::Slots(START);
    let mut filters: [Box<dyn Growing>; 3] = [
        Box::new(plain(args, start)?),
        Box::new(adaptive(args, start, false)?),
        Box::new(adaptive(args, start, true)?),
    ];
    let mut rows = Vec::new();
    for filter in &mut filters {
        grow(&mut **filter, args, &mut rows)?;
    }
    Ok(rows)
}

fn grow(filter: &mut dyn Growing, args: &Args, rows: &mut Vec<Row>) -> Result<(), Failure> {
    let (start, mut keys) = (filter.slots(), 0);
    let (mut before, mut insert_seconds, mut doubling_seconds, mut read_before) = (0, 0.0, 0.0, 0);
    for doublings in 0..=args.doublings {
        loop {
            while !filter.is_full() {
                let (seconds, inserted) = time(|| insert_some(filter, keys));
                (insert_seconds, keys) = (insert_seconds + seconds, keys + inserted?);
            }
            if filter.slots() >= start << doublings {
                break;
            }
            // Some take a step or two to twice the size.
            let (seconds, done) = time(|| filter.grow());
            doubling_seconds += seconds;
            done?;
        }
        let universe = Universe::new(keys, args.max_range);
        let queries = args.queries.div_ceil(args.max_range) * args.max_range;
        let uniform = (0..queries).filter_map(|number| universe.uniform(number));
        let correlated =
            (0..queries).filter_map(|number| universe.after_a_key(number, 1 + number % args.max_range));
        rows.push(Row {
            filter: filter.name(),
            doublings,
            keys,
            bits_per_key: filter.bytes() as f64 * 8.0 / keys as f64,
            uniform: share(uniform, |range| Ok(filter.finds(range)))?,
            correlated: share(correlated, |range| Ok(filter.finds(range)))?,
            insert_ns: insert_seconds * 1e9 / (keys - before) as f64,
            doubling_ms: doubling_seconds * 1e3,
            keys_read: filter.keys_read() - read_before,
        });
        assert!((0..keys).all(|number| filter.finds(key(number)..=key(number))), "lost keys");
        (before, insert_seconds, doubling_seconds, read_before) = (keys, 0.0, 0.0, filter.keys_read());
    }
    Ok(())
}

/// Inserts keys until a chunk of them is in or the filter is full, and tells how many.
fn insert_some(filter: &mut dyn Growing, keys: u64) -> Result<u64, Failure> {
    for number in 0..CHUNK {
        if filter.is_full() {
            return Ok(number);
        }
        filter.insert(key(keys + number))?;
    }
    Ok(CHUNK)
}
