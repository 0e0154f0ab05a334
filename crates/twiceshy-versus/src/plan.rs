//! What is measured: the size of the tables, how many chunks, and the items themselves.
//!
//! # Items
//!
//! With the hash *raw*, an item is a hash of 64 bits. Its first `q + r` bits are a fingerprint, and no two
//! inserted items have the same one: both sides then fill exactly the same slots, whatever they do with
//! copies. They come from a counter through a bijection, so no memory is needed to tell them apart. The
//! absent items are plain random numbers and hit inserted fingerprints as often as chance has it.
//!
//! With its *own* hash, an item is a key of 64 bits; inserted and absent keys differ.

use serde::{Deserialize, Serialize};

use clap::ValueEnum;
use twiceshy_testkit::scatter;

/// Who hashes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Hash {
    /// Nobody: both sides get the same hashes.
    Raw,
    /// Each side hashes the same keys with its own function.
    Own,
}

impl Hash {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Raw => "raw",
            Self::Own => "own",
        }
    }
}

/// Sizes and seed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Plan {
    pub(crate) slots_log2: u32,
    pub(crate) remainder_bits: u32,
    pub(crate) load: f64,
    pub(crate) seed: u64,
    /// Few chunks: a test that all of it works, not a measurement.
    pub(crate) quick: bool,
}

/// How many keys the ranges have.
pub(crate) const RANGE: u64 = 32;

impl Plan {
    pub(crate) fn slots(&self) -> u64 {
        1 << self.slots_log2
    }

    pub(crate) fn fingerprint_bits(&self) -> u32 {
        self.slots_log2 + self.remainder_bits
    }

    /// How many items a filled table holds. A few less than fit, because keys that share a fingerprint
    /// three times take a slot more in our tables.
    pub(crate) fn items(&self) -> usize {
        let most = self.slots() * 19 / 20 - self.slots() / 4096 - 2;
        ((self.slots() as f64 * self.load) as u64).min(most) as usize
    }

    /// The end of a growth: 13 million items in 2^24 slots; in a quick run as full, but as small as the others.
    pub(crate) fn grown(&self) -> Self {
        let slots_log2 = if self.quick { self.slots_log2 } else { 24 };
        Self { slots_log2, load: 13e6 / f64::from(1 << 24), ..*self }
    }

    /// How often filters grow that count.
    pub(crate) fn growths(&self) -> usize {
        if self.quick { 2 } else { 6 }
    }

    /// The error rate of a quotient filter of this shape, for peers that are built for a rate.
    pub(crate) fn error_rate(&self) -> f64 {
        self.load * 0.5f64.powi(self.remainder_bits as i32)
    }

    /// Chunks of a fill from empty to the load that count. One more warms up.
    pub(crate) fn fill_chunks(&self) -> usize {
        if self.items() < 200 * 4096 { 20 } else { 200 }
    }

    /// How often tables are filled.
    pub(crate) fn fills(&self) -> usize {
        if self.quick { 1 } else { ((12 << 20) / self.items()).clamp(1, 20) }
    }

    /// Chunks of queries and removals that count.
    pub(crate) fn query_chunks(&self) -> usize {
        if self.quick { 8 } else { 128 }
    }

    /// Queries in a chunk.
    pub(crate) fn query_chunk(&self) -> usize {
        if self.quick { 1 << 12 } else { 1 << 16 }
    }

    /// Removals in a chunk: few enough that the load stays.
    pub(crate) fn remove_chunk(&self) -> usize {
        (self.items() / 64).clamp(1, 1 << 16)
    }

    /// How often whole tables are built that count.
    pub(crate) fn builds(&self) -> usize {
        if self.quick { 2 } else { (2 * ((24 << 20) / self.items())).clamp(4, 24) }
    }

    /// As often, where it takes longer.
    pub(crate) fn unsorted_builds(&self) -> usize {
        self.builds().div_ceil(4) * 2
    }

    /// Inserted item number `number`.
    pub(crate) fn present(&self, hash: Hash, number: u64) -> u64 {
        match hash {
            Hash::Raw => {
                let bits = self.fingerprint_bits();
                let below = scatter(number ^ self.seed.rotate_left(32)) >> bits;
                permute(number, self.seed, bits) << (64 - bits) | below
            }
            Hash::Own => scatter(self.seed.wrapping_add(number)),
        }
    }

    /// The start of a range number `number` that comes right after a key.
    pub(crate) fn after_a_key(&self, number: u64) -> u64 {
        let key = self.present(Hash::Own, scatter(number ^ !self.seed) % self.items() as u64);
        key.wrapping_add(1 + number % RANGE).min(u64::MAX - RANGE)
    }

    /// Absent item number `number`. A counter starts where the one of the inserted items never gets.
    pub(crate) fn absent(&self, number: u64) -> u64 {
        scatter(self.seed.wrapping_add(1 << 60).wrapping_add(number))
    }
}

/// What [`scatter`] is for 64 bits, for numbers of `bits` bits: multiplying by odd numbers and folding the upper half
/// onto the lower one can both be undone.
fn permute(number: u64, seed: u64, bits: u32) -> u64 {
    let mask = u64::MAX >> (64 - bits);
    let fold = bits.div_ceil(2);
    let mut z = number.wrapping_add(scatter(seed)) & mask;
    for factor in [0x9e37_79b9_7f4a_7c15u64, 0xbf58_476d_1ce4_e5b9, 0x94d0_49bb_1331_11eb] {
        z = z.wrapping_mul(factor) & mask;
        z ^= z >> fold;
    }
    z
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn inserted_fingerprints_differ_and_fill_the_range_evenly() {
        let plan = Plan { slots_log2: 12, remainder_bits: 5, load: 0.9, seed: 3, quick: true };
        let mut seen = vec![false; 1 << 17];
        let mut quarters = [0u32; 4];
        for number in 0..plan.items() as u64 {
            let fingerprint = (plan.present(Hash::Raw, number) >> (64 - 17)) as usize;
            assert!(!std::mem::replace(&mut seen[fingerprint], true));
            quarters[fingerprint >> 15] += 1;
        }
        let expected = plan.items() as u32 / 4;
        assert!(quarters.iter().all(|&count| count.abs_diff(expected) < 150), "{quarters:?}");
    }

    #[test]
    fn the_permutation_is_one() {
        let mut images: Vec<u64> = (0..1 << 11).map(|number| permute(number, 9, 11)).collect();
        images.sort_unstable();
        assert!(images.iter().copied().eq(0..1 << 11));
    }
}
