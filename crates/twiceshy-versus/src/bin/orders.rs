//! How long filters that start small take for the same keys in different orders.
//!
//! Copying, merging and iterating give keys in the order of their hashes. A table that starts small then fills from one
//! end, and must not take longer for that. Every order is measured by turns, on a fresh filter; the figure is the median
//! of its times, divided by the median for random order. Tables that grew early have more slots in between; at the end they
//! should have as many as in random order, or not many times more.
//!
//! `cargo run --release -p twiceshy-versus --bin orders -- [KEYS] [ROUNDS]`

#![allow(clippy::print_stdout, reason = "this is its output")]

use std::time::{Duration, Instant};

use twiceshy::reverse_map::MemoryMap;
use twiceshy::{AdaptiveSet, ExpandableFilter, Hasher, QuotientFilter};

type Failure = Box<dyn std::error::Error>;

/// A name, and the keys in this order.
type Order = (&'static str, Vec<u64>);

/// A name, and what inserts all keys into a fresh filter and tells how many slots it has then.
type Contender = (&'static str, fn(&Hasher, &[u64]) -> Result<u64, Failure>);

const CONTENDERS: [Contender; 4] = [
    ("quotient, grow_to", |hasher, keys| {
        let builder =
            QuotientFilter::builder().capacity(64).grow_to(keys.len() as u64).error_rate(1.0 / 512.0);
        let mut filter = builder.hasher(hasher.clone()).build()?;
        keys.iter().try_for_each(|key| filter.insert(key).map(drop))?;
        Ok(filter.slots())
    }),
    ("expandable", |hasher, keys| {
        let builder = ExpandableFilter::builder().error_rate(1.0 / 512.0);
        let mut filter = builder.hasher(hasher.clone()).build()?;
        keys.iter().try_for_each(|key| filter.insert(key).map(drop))?;
        Ok(filter.slots())
    }),
    ("expandable, spread growth", |hasher, keys| {
        let builder = ExpandableFilter::builder().error_rate(1.0 / 512.0).spread_growth(true);
        let mut filter = builder.hasher(hasher.clone()).build()?;
        keys.iter().try_for_each(|key| filter.insert(key).map(drop))?;
        Ok(filter.slots())
    }),
    ("adaptive set", |hasher, keys| {
        let builder = AdaptiveSet::builder().error_rate(1.0 / 512.0).hasher(hasher.clone());
        let mut set = builder.build_set(MemoryMap::new())?;
        keys.iter().try_for_each(|key| set.insert(key).map(drop))?;
        Ok(set.filter().slots())
    }),
];

fn orders(hasher: &Hasher, keys: u64) -> Vec<Order> {
    let random: Vec<u64> = (0..keys).collect();
    let mut ascending = random.clone();
    ascending.sort_by_key(|key| hasher.hash(key));
    let descending = ascending.iter().rev().copied().collect();
    let mut ranges = random.clone();
    ranges.sort_by_key(|key| hasher.hash(key) >> 60);
    let part = ascending.len() / 8;
    let streams = (0..8 * part).map(|i| ascending[i % 8 * part + i / 8]).collect();
    let mut nearly = ascending.clone();
    nearly.chunks_mut(300).for_each(|chunk| chunk.sort_unstable());
    let mut some_first: Vec<u64> = random.iter().copied().take(1_000).collect();
    some_first.extend(ascending.iter().filter(|key| **key >= 1_000));
    let lists = |lists: usize| -> Vec<u64> {
        let each = random.chunks(random.len().div_ceil(lists));
        let sorted = each.map(|list| {
            let mut list = list.to_vec();
            list.sort_by_key(|key| hasher.hash(key));
            list
        });
        sorted.flatten().collect()
    };
    let (few_lists, many_lists) = (lists(9), lists(30));
    vec![
        ("random", random),
        ("ascending", ascending),
        ("descending", descending),
        ("8 streams by turns, each ascending", streams),
        ("ascending, but for 300 neighbours", nearly),
        ("16 ranges, one after the other", ranges),
        ("1,000 random keys, then ascending", some_first),
        ("9 lists one after the other, each ascending", few_lists),
        ("30 lists one after the other, each ascending", many_lists),
    ]
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort();
    times[times.len() / 2]
}

fn main() -> Result<(), Failure> {
    let numbers: Result<Vec<u64>, _> = std::env::args().skip(1).map(|number| number.parse()).collect();
    let numbers = numbers.map_err(|_| "usage: orders [KEYS] [ROUNDS], both numbers")?;
    let (keys, rounds) =
        (numbers.first().copied().unwrap_or(1_000_000), numbers.get(1).copied().unwrap_or(5));
    let hasher = Hasher::fast_with_seed(7);
    let orders = orders(&hasher, keys.max(1));
    println!("{keys} keys, medians of {rounds} rounds\n");
    println!(
        "| filter | order | ns per key | against random order | slots at the end |\n|---|---|---|---|---|"
    );
    for (filter, insert_all) in CONTENDERS {
        let (mut times, mut slots) = (vec![Vec::new(); orders.len()], vec![0; orders.len()]);
        for _ in 0..rounds.max(1) {
            for (((_, keys), times), slots) in orders.iter().zip(&mut times).zip(&mut slots) {
                let start = Instant::now();
                *slots = std::hint::black_box(insert_all(&hasher, keys)?);
                times.push(start.elapsed());
            }
        }
        let medians: Vec<Duration> = times.into_iter().map(median).collect();
        for (((order, _), time), slots) in orders.iter().zip(&medians).zip(slots) {
            let (each, ratio) =
                (time.as_nanos() as f64 / keys as f64, time.as_secs_f64() / medians[0].as_secs_f64());
            println!("| {filter} | {order} | {each:.0} | {ratio:.2}× | {slots} |");
        }
    }
    Ok(())
}
