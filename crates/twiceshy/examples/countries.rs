//! Does any allocation of this country begin in this block of addresses? Real data, fetched by the script `examples/countries`.
//!
//! The first addresses of all allocations of one country are the keys. What is asked for are the blocks in which the
//! allocations of all other countries begin: next to the keys and between them, as correlated as queries can be.
//!
//! Addresses of version 4 are keys as they are. Of version 6 the first 48 bits are, since nobody asks for less than that, and a
//! range of addresses would have far more keys than a filter answers: choose keys as coarse as what is asked for.
#![expect(clippy::print_stdout, reason = "an example talks to its reader")]

use std::collections::BTreeSet;
use std::error::Error;
use std::net::{Ipv4Addr, Ipv6Addr};
use std::ops::RangeInclusive;
use std::path::Path;
use std::str::FromStr;

use twiceshy::reverse_map::MemoryMap;
use twiceshy::{AdaptiveRangeSet, RangeFilter, RangeKey};

/// A block has so many keys: those of version 4 are of the form a.b.c.d/20, those of version 6 /36.
const BLOCK: u64 = 4096;
const ERROR_RATE: f64 = 0.01;

fn main() -> Result<(), Box<dyn Error>> {
    let mut args = std::env::args().skip(1);
    let (Some(folder), Some(country)) = (args.next(), args.next()) else {
        return Err("usage: countries FOLDER COUNTRY; the script examples/countries has the data".into());
    };
    let file = |version: u32| Path::new(&folder).join(format!("geo-whois-asn-country-ipv{version}.csv"));

    let starts: Vec<(Ipv4Addr, String)> = read(&file(4))?;
    let block = |address: Ipv4Addr| {
        let first = address.to_bits() & !(BLOCK as u32 - 1);
        Ipv4Addr::from_bits(first)..=Ipv4Addr::from_bits(first + (BLOCK as u32 - 1))
    };
    ask("IPv4, blocks of /20", &country, starts, block)?;

    let starts: Vec<(Ipv6Addr, String)> = read(&file(6))?;
    let site = |(address, country): (Ipv6Addr, String)| ((address.to_bits() >> 80) as u64, country);
    let block = |site: u64| site & !(BLOCK - 1)..=site | (BLOCK - 1);
    ask("IPv6, blocks of /36", &country, starts.into_iter().map(site).collect(), block)
}

/// The first address and the country of every allocation.
fn read<A: FromStr<Err: Error + 'static>>(path: &Path) -> Result<Vec<(A, String)>, Box<dyn Error>> {
    let text = std::fs::read_to_string(path)
        .map_err(|error| format!("could not read {}: {error}", path.display()))?;
    let line = |line: &str| {
        let mut fields = line.split(',');
        let (Some(first), Some(_), Some(country)) = (fields.next(), fields.next(), fields.next()) else {
            return Err(format!("{line:?} is not: first address, last address, country").into());
        };
        Ok((first.parse()?, country.to_owned()))
    };
    text.lines().map(line).collect()
}

/// Asks for all blocks in which something begins, and nothing of the country.
fn ask<K: RangeKey + Ord + Copy>(
    what: &str,
    country: &str,
    starts: Vec<(K, String)>,
    block: impl Fn(K) -> RangeInclusive<K>,
) -> Result<(), Box<dyn Error>> {
    let keys: BTreeSet<K> = starts.iter().filter(|(_, of)| of == country).map(|(key, _)| *key).collect();
    if keys.is_empty() {
        return Err(format!("no allocation of {country}: give two capital letters").into());
    }
    let firsts: BTreeSet<K> = starts.iter().map(|(key, _)| *block(*key).start()).collect();
    let blocks = firsts.into_iter().map(block);
    let (full, empty): (Vec<_>, Vec<_>) =
        blocks.partition(|block| keys.range(block.clone()).next().is_some());
    println!("{what}: {} allocations of {country} begin in {} blocks.", keys.len(), full.len());
    println!("  {} other blocks, in which only those of others do:", empty.len());
    let share = |wrong: usize| wrong as f64 * 100.0 / empty.len() as f64;
    let bits = |bytes: usize| bytes as f64 * 8.0 / keys.len() as f64;

    let mut filter =
        RangeFilter::builder().max_range(BLOCK).error_rate(ERROR_RATE).from_keys(keys.iter().copied())?;
    // It was made for as many partitions as keys; several keys are in one.
    filter.shrink_to_fit()?;
    assert!(full.iter().all(|block| filter.contains_range(block.clone())), "never missed");
    let wrong = empty.iter().filter(|block| filter.contains_range((*block).clone())).count();
    println!(
        "  range filter:  {:.3} % wrong, {:.1} bits per key",
        share(wrong),
        bits(filter.size_in_bytes())
    );

    let mut set = AdaptiveRangeSet::<K, _>::builder()
        .max_range(BLOCK)
        .error_rate(ERROR_RATE)
        .build_set(MemoryMap::new())?;
    for key in &keys {
        set.insert(key)?;
    }
    set.shrink_to_fit()?;
    for round in ["at first", "and again"] {
        let mut wrong = 0;
        for block in &empty {
            wrong += usize::from(set.contains_range(block.clone()));
            // Looks the block up if the filter says maybe, and learns from that.
            assert!(!set.contains_range_exactly(block.clone())?);
        }
        let bits = bits(set.filter().size_in_bytes());
        println!("  adaptive set:  {:.3} % wrong {round}, {bits:.1} bits per key", share(wrong));
    }
    assert!(full.iter().all(|block| set.contains_range(block.clone())), "never missed");
    Ok(())
}
