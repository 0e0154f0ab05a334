//! The filters of the twins: none that learns.

use twiceshy::{Hasher, QuotientFilter, RangeFilter};

use super::spread;

/// Which filter a twin has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TwinFilter {
    /// None: every query asks the engine.
    None,
    Bloom,
    Quotient,
    /// A Bloom filter of prefixes, for ranges.
    PrefixBloom,
    /// A range filter.
    Range,
}

/// What a filter is built for, besides a number of keys.
#[derive(Debug, Clone, Copy)]
pub(super) enum Built {
    /// An error rate, from as little memory as that takes.
    ForRate(f64),
    /// The lowest error rate that so many bytes allow.
    ForBytes(u64),
}

/// What a filter has to know.
#[derive(Debug, Clone)]
pub(super) struct Plan {
    /// How many different keys there will be.
    pub(super) keys: u64,
    pub(super) built: Built,
    pub(super) hasher: Hasher,
    /// The longest range.
    pub(super) max_range: u64,
}

/// A filter, which is asked for keys or for ranges of them.
pub(super) trait Filter {
    /// Whether there may be what is asked for.
    fn may_have(&self, query: &[u8]) -> bool;
    fn insert(&mut self, key: &[u8]) -> anyhow::Result<()>;
    fn bytes(&self) -> u64;
}

impl TwinFilter {
    /// What to call it in a table.
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::None => "no filter",
            Self::Bloom => "Bloom",
            Self::Quotient => "quotient",
            Self::PrefixBloom => "prefix Bloom",
            Self::Range => "range",
        }
    }

    /// A filter without keys.
    pub(super) fn build(self, plan: &Plan) -> anyhow::Result<Box<dyn Filter>> {
        let hasher = plan.hasher.clone();
        Ok(match self {
            Self::None => Box::new(NoFilter),
            Self::Bloom => Box::new(Bloom { filter: bloom(plan.keys, plan.built), hasher }),
            Self::Quotient => Box::new(Quotient { filter: quotient(plan.keys, plan.built)?, hasher }),
            Self::PrefixBloom => {
                // A range meets two prefixes at most, and each may be a mistake.
                let built = match plan.built {
                    Built::ForRate(rate) => Built::ForRate(rate / 2.0),
                    built @ Built::ForBytes(_) => built,
                };
                let suffix_bits = plan.max_range.next_power_of_two().trailing_zeros();
                Box::new(PrefixBloom { filter: bloom(plan.keys, built), hasher, suffix_bits })
            }
            Self::Range => Box::new(range(plan)?),
        })
    }
}

struct NoFilter;

impl Filter for NoFilter {
    fn may_have(&self, _: &[u8]) -> bool {
        true
    }

    fn insert(&mut self, _: &[u8]) -> anyhow::Result<()> {
        Ok(())
    }

    fn bytes(&self) -> u64 {
        0
    }
}

struct Bloom {
    filter: fastbloom::BloomFilter,
    hasher: Hasher,
}

impl Filter for Bloom {
    fn may_have(&self, query: &[u8]) -> bool {
        self.filter.contains_hash(self.hasher.hash_bytes(query))
    }

    fn insert(&mut self, key: &[u8]) -> anyhow::Result<()> {
        self.filter.insert_hash(self.hasher.hash_bytes(key));
        Ok(())
    }

    fn bytes(&self) -> u64 {
        bloom_bytes(&self.filter)
    }
}

struct Quotient {
    filter: QuotientFilter,
    hasher: Hasher,
}

impl Filter for Quotient {
    fn may_have(&self, query: &[u8]) -> bool {
        self.filter.contains_hash(self.hasher.hash_bytes(query))
    }

    fn insert(&mut self, key: &[u8]) -> anyhow::Result<()> {
        self.filter.insert_hash(self.hasher.hash_bytes(key))?;
        Ok(())
    }

    fn bytes(&self) -> u64 {
        self.filter.size_in_bytes() as u64
    }
}

/// Keys without their lowest bits, in a Bloom filter: what an engine does that has filters of prefixes, and, but for where it cuts,
/// what a trie of shortened keys does. It cannot tell a range from a key with the same prefix. Prefixes are as long as they can be
/// if no range is to meet more than two of them.
struct PrefixBloom {
    filter: fastbloom::BloomFilter,
    hasher: Hasher,
    suffix_bits: u32,
}

impl PrefixBloom {
    fn hash(&self, prefix: u64) -> u64 {
        self.hasher.hash_bytes(&prefix.to_be_bytes())
    }
}

impl Filter for PrefixBloom {
    fn may_have(&self, query: &[u8]) -> bool {
        spread::bounds(query).is_none_or(|(first, last)| {
            let mut prefixes = first >> self.suffix_bits..=last >> self.suffix_bits;
            prefixes.any(|prefix| self.filter.contains_hash(self.hash(prefix)))
        })
    }

    fn insert(&mut self, key: &[u8]) -> anyhow::Result<()> {
        let hash = self.hash(number(key)? >> self.suffix_bits);
        self.filter.insert_hash(hash);
        Ok(())
    }

    fn bytes(&self) -> u64 {
        bloom_bytes(&self.filter)
    }
}

impl Filter for RangeFilter<u64> {
    fn may_have(&self, query: &[u8]) -> bool {
        spread::bounds(query).is_none_or(|(first, last)| self.contains_range(first..=last))
    }

    fn insert(&mut self, key: &[u8]) -> anyhow::Result<()> {
        self.insert(&number(key)?)?;
        Ok(())
    }

    fn bytes(&self) -> u64 {
        self.size_in_bytes() as u64
    }
}

/// The number that a key is.
pub(super) fn number(key: &[u8]) -> anyhow::Result<u64> {
    Ok(u64::from_be_bytes(key.try_into()?))
}

fn bloom(keys: u64, built: Built) -> fastbloom::BloomFilter {
    let keys = usize::try_from(keys).unwrap_or(usize::MAX);
    match built {
        Built::ForRate(rate) => fastbloom::BloomFilter::with_false_pos(rate).seed(&0).expected_items(keys),
        Built::ForBytes(bytes) => {
            let words = usize::try_from(bytes / 8).unwrap_or(usize::MAX).max(1);
            fastbloom::BloomFilter::with_num_bits(words * 64).seed(&0).expected_items(keys)
        }
    }
}

fn bloom_bytes(filter: &fastbloom::BloomFilter) -> u64 {
    filter.as_slice().len() as u64 * 8
}

/// How many keys a quotient filter or a range filter gets room for. Three keys with the same fingerprint take four slots: room for
/// the few that do, even if fingerprints are short.
fn with_reserve(keys: u64) -> u64 {
    keys + keys / 16 + 64
}

/// How many bits remainders may have, if filters with one and with two of them have so many bytes: every further bit takes as many
/// as the second.
fn remainder_bits([one, two]: [usize; 2], bytes: u64, most: u32) -> u32 {
    let more = bytes.saturating_sub(one as u64) / (two - one) as u64;
    u32::try_from(1 + more).map_or(most, |bits| bits.min(most))
}

fn quotient(keys: u64, built: Built) -> anyhow::Result<QuotientFilter> {
    let builder = QuotientFilter::builder().capacity(with_reserve(keys));
    Ok(match built {
        Built::ForRate(rate) => builder.error_rate(rate).build()?,
        Built::ForBytes(bytes) => {
            let with = |bits| builder.clone().remainder_bits(bits).build();
            let (one, two) = (with(1)?, with(2)?);
            // Up to the bits that a hash has.
            let most = u64::BITS - one.slots().ilog2();
            with(remainder_bits([one.size_in_bytes(), two.size_in_bytes()], bytes, most))?
        }
    })
}

/// With shorter remainders a range filter may be full before all keys are in. If that is more than the bytes that it may have, it
/// has more, and the report says so.
const LEAST_RANGE_BITS: u32 = 3;

fn range(plan: &Plan) -> anyhow::Result<RangeFilter<u64>> {
    let builder = RangeFilter::builder().capacity(with_reserve(plan.keys)).growth(false);
    let builder = builder.max_range(plan.max_range).hasher(plan.hasher.clone());
    Ok(match plan.built {
        Built::ForRate(rate) => builder.error_rate(rate).build()?,
        Built::ForBytes(bytes) => {
            let with = |bits| builder.clone().remainder_bits(bits).build();
            let (one, two) = (with(1)?, with(2)?);
            // A slot has 64 bits at most, with the suffix.
            let suffix_bits = plan.max_range.next_power_of_two().trailing_zeros();
            let most = (u64::BITS - one.slots().ilog2()).min(u64::BITS - suffix_bits).min(48);
            let bits = remainder_bits([one.size_in_bytes(), two.size_in_bytes()], bytes, most);
            with(bits.max(LEAST_RANGE_BITS))?
        }
    })
}
