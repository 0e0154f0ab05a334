//! Random numbers for the unit tests: SplitMix64, with a visible seed, so that failures are repeatable; and hashes that
//! are made of them, most of them bad.

/// How a random number becomes a hash.
pub(crate) type Spread = fn(u64) -> u64;

/// Ways to make hashes, with their names.
pub(crate) const SPREADS: [(&str, Spread); 7] = [
    ("even", |n| n.wrapping_mul(0x9e37_79b9_7f4a_7c15)),
    ("constant quotient", |n| n.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 6),
    ("last quotients", |n| !(n.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 7)),
    ("six bits", |n| n << 58),
    ("three hashes", |n| (n % 3) << 62),
    ("nested", |n| u64::MAX << (n % 64)),
    ("sparse", |n| (n & 7) << 61 | (n >> 3 & 3) << 55),
];

pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ z >> 31
    }

    pub(crate) fn below(&mut self, n: u64) -> u64 {
        self.next() % n
    }
}
