//! What is compared: filters of numbers that are asked for ranges.

use std::cell::Cell;
use std::convert::Infallible;
use std::ops::RangeInclusive;

use twiceshy::reverse_map::{Lookup, MemoryMap, Visit};
use twiceshy::{AdaptiveRangeFilter, AdaptiveRangeSet, Hasher, QuotientFilter, RangeFilter, ReverseMap};

use crate::Args;

pub(crate) type Failure = Box<dyn std::error::Error>;

/// How a filter begins.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Start {
    /// With room for so many keys.
    Keys(u64),
    /// With two to the power of so many slots.
    Slots(u32),
}

/// A filter of numbers.
pub(crate) trait Ranged {
    fn name(&self) -> &'static str;
    fn insert(&mut self, key: u64) -> Result<(), Failure>;
    fn finds(&self, range: RangeInclusive<u64>) -> bool;
    /// Whoever can learns that there is no key in the range.
    fn learn(&mut self, _range: RangeInclusive<u64>) -> Result<(), Failure> {
        Ok(())
    }
    fn bytes(&self) -> usize;
}

/// One that grows.
pub(crate) trait Growing: Ranged {
    fn slots(&self) -> u64;
    /// Whether it grows with the next insert.
    fn is_full(&self) -> bool;
    /// Takes the next larger table.
    fn grow(&mut self) -> Result<(), Failure>;
    /// How many keys were read so far to grow.
    fn keys_read(&self) -> u64 {
        0
    }
}

pub(crate) fn plain(args: &Args, start: Start) -> Result<RangeFilter<u64>, Failure> {
    let builder = RangeFilter::builder().max_range(args.max_range).error_rate(args.error_rate);
    let builder = match start {
        Start::Keys(keys) => builder.capacity(keys),
        Start::Slots(bits) => builder.quotient_bits(bits),
    };
    Ok(builder.hasher(Hasher::fast()).build()?)
}

impl Ranged for RangeFilter<u64> {
    fn name(&self) -> &'static str {
        "range"
    }

    fn insert(&mut self, key: u64) -> Result<(), Failure> {
        self.insert(&key)?;
        Ok(())
    }

    fn finds(&self, range: RangeInclusive<u64>) -> bool {
        self.contains_range(range)
    }

    fn bytes(&self) -> usize {
        self.size_in_bytes()
    }
}

impl Growing for RangeFilter<u64> {
    fn slots(&self) -> u64 {
        self.slots()
    }

    fn is_full(&self) -> bool {
        self.used_slots() >= self.capacity()
    }

    fn grow(&mut self) -> Result<(), Failure> {
        self.grow()?;
        Ok(())
    }
}

/// A map that counts the rows that it was asked for.
#[derive(Debug, Default)]
struct Counting {
    map: MemoryMap,
    rows: Cell<u64>,
}

impl Lookup for Counting {
    type Error = Infallible;

    fn visit(&self, hashes: RangeInclusive<u64>, visit: Visit<'_>) -> Result<(), Infallible> {
        self.map.visit(hashes, &mut |row| {
            self.rows.set(self.rows.get() + 1);
            visit(row)
        })
    }
}

impl ReverseMap for Counting {
    fn insert(&mut self, hash: u64, key: &[u8], value: &[u8]) -> Result<bool, Infallible> {
        self.map.insert(hash, key, value)
    }

    fn remove(&mut self, hash: u64, key: &[u8]) -> Result<bool, Infallible> {
        self.map.remove(hash, key)
    }
}

/// Our adaptive set, which grows in one of two ways.
pub(crate) struct Adaptive {
    set: AdaptiveRangeSet<u64, Counting>,
    /// Whether every fingerprint gets fresh length when it grows.
    full: bool,
    keys_read: u64,
}

pub(crate) fn adaptive(args: &Args, start: Start, full: bool) -> Result<Adaptive, Failure> {
    let builder = AdaptiveRangeFilter::<u64>::builder().max_range(args.max_range);
    let builder = match start {
        Start::Keys(keys) => builder.capacity(keys),
        Start::Slots(bits) => builder.quotient_bits(bits),
    };
    let builder = builder.error_rate(args.error_rate).hasher(Hasher::fast());
    Ok(Adaptive { set: builder.build_set(Counting::default())?, full, keys_read: 0 })
}

impl Ranged for Adaptive {
    fn name(&self) -> &'static str {
        if self.full { "adaptive, full" } else { "adaptive" }
    }

    fn insert(&mut self, key: u64) -> Result<(), Failure> {
        self.set.insert(&key)?;
        Ok(())
    }

    fn finds(&self, range: RangeInclusive<u64>) -> bool {
        self.set.contains_range(range)
    }

    fn learn(&mut self, range: RangeInclusive<u64>) -> Result<(), Failure> {
        self.set.adapt_range(range)?;
        Ok(())
    }

    fn bytes(&self) -> usize {
        self.set.filter().size_in_bytes()
    }
}

impl Growing for Adaptive {
    fn slots(&self) -> u64 {
        self.set.filter().slots()
    }

    fn is_full(&self) -> bool {
        self.set.filter().used_slots() >= self.set.filter().capacity()
    }

    fn grow(&mut self) -> Result<(), Failure> {
        self.set.map().rows.set(0);
        self.set.grow()?;
        if self.full {
            self.set.rejuvenate()?;
        }
        self.keys_read += self.set.map().rows.get();
        Ok(())
    }

    fn keys_read(&self) -> u64 {
        self.keys_read
    }
}

/// Keys without their lowest bits, in a quotient filter.
pub(crate) struct Truncating {
    filter: QuotientFilter,
    suffix_bits: u32,
}

pub(crate) fn truncating(args: &Args, keys: u64) -> Result<Truncating, Failure> {
    // A range meets two prefixes at most, and each may be a mistake.
    let builder = QuotientFilter::builder().capacity(keys).error_rate(args.error_rate / 2.0);
    let suffix_bits = args.max_range.next_power_of_two().trailing_zeros();
    Ok(Truncating { filter: builder.hasher(Hasher::fast()).build()?, suffix_bits })
}

impl Ranged for Truncating {
    fn name(&self) -> &'static str {
        "truncating"
    }

    fn insert(&mut self, key: u64) -> Result<(), Failure> {
        self.filter.insert(&(key >> self.suffix_bits))?;
        Ok(())
    }

    fn finds(&self, range: RangeInclusive<u64>) -> bool {
        let mut prefixes = range.start() >> self.suffix_bits..=range.end() >> self.suffix_bits;
        prefixes.any(|prefix| self.filter.contains(&prefix))
    }

    fn bytes(&self) -> usize {
        self.filter.size_in_bytes()
    }
}
