//! Who plays: filters of numbers, with the keys in memory.

use std::cell::Cell;
use std::convert::Infallible;
use std::ops::RangeInclusive;

use fastbloom::BloomFilter;
use twiceshy::adaptive::Growth;
use twiceshy::cascade::{Cascade, CascadeSet, Layer};
use twiceshy::error::{CascadeError, SetError};
use twiceshy::hash::HashKey;
use twiceshy::reverse_map::{Lookup, MemoryMap, Visit};
use twiceshy::{AdaptiveSet, Hasher, QuotientFilter, ReverseMap};

use crate::Args;

pub(crate) type Failure = Box<dyn std::error::Error>;

/// What a game may be about, for what is promised in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum About {
    /// Queries that were never asked before.
    New,
    /// Those that were mistakes.
    Known,
    /// Both.
    Both,
}

/// A filter of numbers.
pub(crate) trait Contender {
    fn name(&self) -> &'static str;
    /// The highest rate that is promised.
    fn promised(&self, about: About) -> Option<f64>;
    fn insert(&mut self, key: u64) -> Result<(), Failure>;
    fn remove(&mut self, key: u64) -> Result<(), Failure>;
    fn finds(&self, key: u64) -> bool;
    /// Learns that a key is absent; `false` if it cannot.
    fn learn(&mut self, _key: u64) -> Result<bool, Failure> {
        Ok(false)
    }
    fn bytes(&self) -> usize;
    fn map_accesses(&self) -> u64 {
        0
    }
}

/// Makes contenders, all for the same number of keys and the same error rate.
pub(crate) type Make = fn(&Args) -> Result<Box<dyn Contender>, Failure>;

pub(crate) const ALL: &[Make] = &[
    |args| adaptive(args, "adaptive, grows", Growth::Grow { max_bytes: None }),
    |args| adaptive(args, "adaptive, of fixed size", Growth::Refuse),
    // What it takes to grow up to these keys, and some more.
    |args| adaptive(args, "adaptive, rotates", Growth::Rotate { max_bytes: args.keys * 20 / 8 }),
    |args| cascade::<twiceshy::cascade::BloomLayer>(args, "Bloom cascade"),
    |args| cascade::<twiceshy::cascade::QuotientLayer>(args, "quotient cascade"),
    |args| Ok(Box::new(Quotient::new(args)?)),
    |args| Ok(Box::new(Bloom::new(args))),
];

fn hasher(args: &Args) -> Hasher {
    Hasher::keyed(HashKey::from_bytes(u128::from(args.seed).to_le_bytes()))
}

/// A map that counts how often it is asked or written.
#[derive(Debug, Default)]
struct Counting {
    map: MemoryMap,
    accesses: Cell<u64>,
}

impl Counting {
    fn count(&self) {
        self.accesses.set(self.accesses.get() + 1);
    }
}

impl Lookup for Counting {
    type Error = Infallible;

    fn visit(&self, hashes: RangeInclusive<u64>, visit: Visit<'_>) -> Result<(), Infallible> {
        self.count();
        self.map.visit(hashes, visit)
    }

    fn contains(&self, hash: u64, key: &[u8]) -> Result<bool, Infallible> {
        self.count();
        self.map.contains(hash, key)
    }
}

impl ReverseMap for Counting {
    fn insert(&mut self, hash: u64, key: &[u8], value: &[u8]) -> Result<bool, Infallible> {
        self.count();
        self.map.insert(hash, key, value)
    }

    fn remove(&mut self, hash: u64, key: &[u8]) -> Result<bool, Infallible> {
        self.count();
        self.map.remove(hash, key)
    }
}

struct Adaptive {
    name: &'static str,
    set: AdaptiveSet<Counting>,
    rate: f64,
    growth: Growth,
}

fn adaptive(args: &Args, name: &'static str, growth: Growth) -> Result<Box<dyn Contender>, Failure> {
    let builder = AdaptiveSet::builder().capacity(args.keys).error_rate(args.error_rate).growth(growth);
    let set = builder.hasher(hasher(args)).build_set(Counting::default())?;
    Ok(Box::new(Adaptive { name, set, rate: args.error_rate, growth }))
}

impl Contender for Adaptive {
    fn name(&self) -> &'static str {
        self.name
    }

    fn promised(&self, about: About) -> Option<f64> {
        match (about, self.growth) {
            (About::Known, Growth::Grow { .. }) => Some(0.0),
            (About::Known | About::Both, Growth::Refuse) => None,
            _ => Some(self.rate),
        }
    }

    fn insert(&mut self, key: u64) -> Result<(), Failure> {
        self.set.insert(&key)?;
        Ok(())
    }

    fn remove(&mut self, key: u64) -> Result<(), Failure> {
        self.set.remove(&key)?;
        Ok(())
    }

    fn finds(&self, key: u64) -> bool {
        self.set.contains(&key)
    }

    fn learn(&mut self, key: u64) -> Result<bool, Failure> {
        match self.set.adapt(&key) {
            Ok(_) => Ok(true),
            Err(SetError::Full(_)) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }

    fn bytes(&self) -> usize {
        self.set.filter().size_in_bytes()
    }

    fn map_accesses(&self) -> u64 {
        self.set.map().accesses.get()
    }
}

struct Cascading<L: Layer> {
    name: &'static str,
    set: CascadeSet<L, Counting>,
}

fn cascade<L: Layer + 'static>(args: &Args, name: &'static str) -> Result<Box<dyn Contender>, Failure> {
    let builder = Cascade::<L>::builder().capacity(args.keys).error_rate(args.error_rate);
    Ok(Box::new(Cascading { name, set: builder.hasher(hasher(args)).build_set(Counting::default())? }))
}

impl<L: Layer> Contender for Cascading<L> {
    fn name(&self) -> &'static str {
        self.name
    }

    fn promised(&self, about: About) -> Option<f64> {
        // A mistake may come back, but no more often than others are made.
        (about != About::Known).then(|| self.set.filter().error_rate())
    }

    fn insert(&mut self, key: u64) -> Result<(), Failure> {
        self.set.insert(&key)?;
        Ok(())
    }

    fn remove(&mut self, key: u64) -> Result<(), Failure> {
        self.set.remove(&key)?;
        Ok(())
    }

    fn finds(&self, key: u64) -> bool {
        self.set.contains(&key)
    }

    fn learn(&mut self, key: u64) -> Result<bool, Failure> {
        match self.set.adapt(&key) {
            Ok(_) => Ok(true),
            Err(CascadeError::NeedsRebuild { .. }) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }

    fn bytes(&self) -> usize {
        self.set.filter().size_in_bytes()
    }

    fn map_accesses(&self) -> u64 {
        self.set.map().accesses.get()
    }
}

struct Quotient {
    filter: QuotientFilter,
    rate: f64,
}

impl Quotient {
    fn new(args: &Args) -> Result<Self, Failure> {
        let builder = QuotientFilter::builder().capacity(args.keys).error_rate(args.error_rate);
        Ok(Self { filter: builder.hasher(hasher(args)).build()?, rate: args.error_rate })
    }
}

impl Contender for Quotient {
    fn name(&self) -> &'static str {
        "quotient"
    }

    fn promised(&self, about: About) -> Option<f64> {
        (about == About::New).then_some(self.rate)
    }

    fn insert(&mut self, key: u64) -> Result<(), Failure> {
        self.filter.insert(&key)?;
        Ok(())
    }

    fn remove(&mut self, key: u64) -> Result<(), Failure> {
        self.filter.remove(&key);
        Ok(())
    }

    fn finds(&self, key: u64) -> bool {
        self.filter.contains(&key)
    }

    fn bytes(&self) -> usize {
        self.filter.size_in_bytes()
    }
}

/// The Bloom filter of the crate `fastbloom`. What is removed stays in it.
struct Bloom {
    filter: BloomFilter,
    rate: f64,
}

impl Bloom {
    fn new(args: &Args) -> Self {
        let builder = BloomFilter::with_false_pos(args.error_rate).seed(&u128::from(args.seed));
        Self { filter: builder.expected_items(args.keys as usize), rate: args.error_rate }
    }
}

impl Contender for Bloom {
    fn name(&self) -> &'static str {
        "Bloom"
    }

    fn promised(&self, about: About) -> Option<f64> {
        (about == About::New).then_some(self.rate)
    }

    fn insert(&mut self, key: u64) -> Result<(), Failure> {
        self.filter.insert(&key);
        Ok(())
    }

    fn remove(&mut self, _: u64) -> Result<(), Failure> {
        Ok(())
    }

    fn finds(&self, key: u64) -> bool {
        self.filter.contains(&key)
    }

    fn bytes(&self) -> usize {
        self.filter.num_bits() / 8
    }
}
