//! How many bits per key filters take, told truly: at best, at worst and on average over all numbers of keys.
//!
//! Tables have a power of two of slots, those of adaptive filters also five eighths or three quarters of one. If the number of
//! keys is known beforehand, it may just fit or just not fit the next smaller one; a filter that grows is nearly full just
//! before and has free slots just after. So the figure depends on the number of keys, and is the same again for twice as many. A Bloom filter of the same rate, told its size,
//! takes 1.44 bits for every halving of the rate, whatever the number.
//!
//! `cargo run --release -p twiceshy-versus --bin memory`

#![allow(clippy::print_stdout, reason = "this is its output")]

use twiceshy::adaptive::Growth;
use twiceshy::reverse_map::MemoryMap;
use twiceshy::{AdaptiveFilter, AdaptiveSet, ExpandableFilter, Hasher, QuotientFilter};

type Failure = Box<dyn std::error::Error>;

/// Numbers of keys from here to twice as many.
const KEYS: u64 = 1 << 19;

/// At best, at worst, on average.
struct Bits {
    least: f64,
    most: f64,
    sum: f64,
    count: u32,
}

impl Bits {
    fn new() -> Self {
        Self { least: f64::INFINITY, most: 0.0, sum: 0.0, count: 0 }
    }

    fn add(&mut self, bytes: usize, keys: u64) {
        let bits = bytes as f64 * 8.0 / keys as f64;
        (self.least, self.most) = (self.least.min(bits), self.most.max(bits));
        (self.sum, self.count) = (self.sum + bits, self.count + 1);
    }

    fn print(&self, rate: &str, what: &str) {
        let average = self.sum / f64::from(self.count);
        println!("| {rate} | {what} | {:.1} | {:.1} | {average:.1} |", self.least, self.most);
    }
}

/// Some numbers of keys between one power of two and the next.
fn numbers() -> impl Iterator<Item = u64> {
    (0..64).map(|step| KEYS + KEYS / 64 * step)
}

/// A filter that is told how many keys there will be.
fn known(size: impl Fn(u64) -> Result<usize, Failure>) -> Result<Bits, Failure> {
    let mut bits = Bits::new();
    for keys in numbers() {
        bits.add(size(keys)?, keys);
    }
    Ok(bits)
}

/// A filter that is not, and takes one key after the other.
fn unknown<F>(
    filter: &mut F,
    insert: impl Fn(&mut F, u64) -> Result<(), Failure>,
    size: impl Fn(&F) -> usize,
) -> Result<Bits, Failure> {
    let mut bits = Bits::new();
    for key in 0..2 * KEYS {
        insert(filter, key)?;
        if key + 1 >= KEYS {
            bits.add(size(filter), key + 1);
        }
    }
    Ok(bits)
}

fn main() -> Result<(), Failure> {
    println!("Bits per key, {KEYS} to {} keys\n", 2 * KEYS);
    println!("| error rate | filter | at best | at worst | average |\n|---|---|---|---|---|");
    for (name, rate) in [("1 %", 0.01f64), ("1/512", 1.0 / 512.0), ("0.1 %", 0.001)] {
        let bloom = -rate.log2() / std::f64::consts::LN_2;
        println!("| {name} | Bloom filter, size known (theory) | {bloom:.1} | {bloom:.1} | {bloom:.1} |");
        known(|keys| Ok(QuotientFilter::new(keys, rate)?.size_in_bytes()))?
            .print(name, "quotient, size known");
        known(|keys| {
            let builder = AdaptiveFilter::builder().capacity(keys).error_rate(rate).growth(Growth::Refuse);
            Ok(builder.build()?.size_in_bytes())
        })?
        .print(name, "adaptive, size known");
        let mut set =
            AdaptiveSet::builder().error_rate(rate).hasher(Hasher::fast()).build_set(MemoryMap::new())?;
        unknown(&mut set, |set, key| Ok(set.insert(&key).map(drop)?), |set| set.filter().size_in_bytes())?
            .print(name, "adaptive, growing");
        let mut seen = ExpandableFilter::builder().error_rate(rate).hasher(Hasher::fast()).build()?;
        unknown(&mut seen, |seen, key| Ok(seen.insert(&key).map(drop)?), ExpandableFilter::size_in_bytes)?
            .print(name, "expandable, growing");
    }
    Ok(())
}
