//! Random numbers with a visible seed, so that a failure can be repeated: SplitMix64.

/// What the state of the generator grows by.
const STEP: u64 = 0x9e37_79b9_7f4a_7c15;

/// A sequence of random numbers, which follows from its seed.
#[derive(Debug, Clone)]
pub struct Random(pub u64);

impl Random {
    /// The next number.
    #[inline]
    #[expect(clippy::should_implement_trait, reason = "it never ends, so there is no need for an option")]
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(STEP);
        mix(self.0)
    }

    /// A number below `bound`.
    #[inline]
    pub fn below(&mut self, bound: u64) -> u64 {
        self.next() % bound
    }

    /// One of these, of which there must be one.
    pub fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.below(from.len() as u64) as usize]
    }
}

/// Mixes the bits of a number. Different numbers stay different, and 0 stays 0.
#[inline]
pub const fn mix(number: u64) -> u64 {
    let z = (number ^ number >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ z >> 31
}

/// Scatters numbers that follow each other over all of 64 bits: `scatter(n)` is the number `n` of `Random(0)`.
/// Different numbers stay different.
#[inline]
pub const fn scatter(number: u64) -> u64 {
    mix(number.wrapping_mul(STEP))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_numbers_are_those_of_splitmix64() {
        let mut random = Random(0);
        let first = [0xe220_a839_7b1d_cdaf, 0x6e78_9e6a_a1b9_65f4, 0x06c4_5d18_8009_454f];
        assert_eq!([(); 3].map(|()| random.next()), first);
        assert_eq!([1, 2, 3].map(scatter), first);
    }

    #[test]
    fn everything_is_picked_and_nothing_else() {
        let mut random = Random(1);
        let mut seen = [0; 5];
        for _ in 0..100 {
            seen[random.pick(&[0usize, 1, 2, 3, 4])] += 1;
            assert!(random.below(7) < 7);
        }
        assert!(seen.iter().all(|&times| times > 5), "{seen:?}");
    }
}
