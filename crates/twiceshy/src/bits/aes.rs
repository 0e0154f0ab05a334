//! AES-128 of one block, without tables.
//!
//! Tables of AES are read at places that depend on the key, and caches tell which. So the rounds are the CPU's own
//! instructions: on x86_64 written here, to be compiled into kernels; everywhere else, and on CPUs without them, those of the
//! crate `aes`, which has ARMv8's, too, and else computes with single bits.
//!
//! # Cost
//!
//! 12 instructions with AES-NI, a key 176 bytes. Without any AES instructions some 1,500, and 720 bytes.
//!
//! # Source
//!
//! FIPS 197. The tests compare all ways with each other and with its example.

use aes::Aes128Enc;
use aes::cipher::{BlockCipherEncrypt, KeyInit};

use super::cpu::Cpu;
#[cfg(target_arch = "x86_64")]
use core::arch::x86_64::*;

/// AES-128 under one key, in the form that the running CPU uses. A block is a little-endian number.
pub(crate) enum Aes128 {
    /// The key of every round, for a [`Fast`](super::cpu::Fast) CPU.
    #[cfg(target_arch = "x86_64")]
    Rounds([__m128i; 11]),
    Crate(Box<Aes128Enc>),
}

impl Aes128 {
    pub(crate) fn new(key: &[u8; 16]) -> Self {
        #[cfg(all(target_arch = "x86_64", not(twiceshy_portable)))]
        if super::cpu::is_fast() {
            #[expect(unsafe_code, reason = "calls a function compiled for AES-NI")]
            // SAFETY: a fast CPU has it.
            return Self::Rounds(unsafe { expand(key) });
        }
        Self::Crate(Box::new(Aes128Enc::new(key.into())))
    }

    /// A copy that can stay in registers while many blocks are encrypted; `None` if there is no such key.
    #[inline(always)]
    pub(crate) fn in_registers(&self) -> Option<Self> {
        match self {
            #[cfg(target_arch = "x86_64")]
            Self::Rounds(keys) => Some(Self::Rounds(*keys)),
            Self::Crate(_) => None,
        }
    }

    /// One block, on any CPU.
    #[inline(always)]
    pub(crate) fn encrypt<C: Cpu>(&self, cpu: C, block: u128, mask: &u128) -> u128 {
        cpu.aes128(self, block, mask).unwrap_or_else(|| self.by_crate(block ^ mask))
    }

    #[inline(never)]
    fn by_crate(&self, block: u128) -> u128 {
        let mut block = block.to_le_bytes().into();
        match self {
            // A key for other kernels than those that ask; the first round's is the key itself.
            #[cfg(target_arch = "x86_64")]
            Self::Rounds(keys) => {
                Aes128Enc::new(&number(keys[0]).to_le_bytes().into()).encrypt_block(&mut block)
            }
            Self::Crate(key) => key.encrypt_block(&mut block),
        }
        u128::from_le_bytes(block.into())
    }
}

/// One block, XORed with a mask before.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "aes")]
#[inline]
pub(super) fn rounds(keys: &[__m128i; 11], block: u128, mask: &u128) -> u128 {
    // In this order, so that what is the same for many blocks is computed once.
    let mut state = _mm_xor_si128(vector(block), _mm_xor_si128(vector(*mask), keys[0]));
    for key in &keys[1..10] {
        state = _mm_aesenc_si128(state, *key);
    }
    number(_mm_aesenclast_si128(state, keys[10]))
}

/// The keys of all rounds.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "aes")]
fn expand(key: &[u8; 16]) -> [__m128i; 11] {
    let mut keys = [vector(u128::from_le_bytes(*key)); 11];
    // Powers of two in the field of AES.
    let constants = [0x01, 0x02, 0x04, 0x08, 0x10, 0x20, 0x40, 0x80, 0x1b, 0x36];
    for (round, constant) in (1..).zip(constants) {
        let before = keys[round - 1];
        // The last word of the key before, rotated and through the S-box, in all four words.
        let last = _mm_shuffle_epi32::<0xff>(_mm_aeskeygenassist_si128::<0>(before));
        // Every word is XORed with all words before it.
        let pairs = _mm_xor_si128(before, _mm_slli_si128::<4>(before));
        let fours = _mm_xor_si128(pairs, _mm_slli_si128::<8>(pairs));
        keys[round] = _mm_xor_si128(fours, _mm_xor_si128(last, _mm_set1_epi32(constant)));
    }
    keys
}

#[cfg(target_arch = "x86_64")]
#[inline(always)]
fn vector(number: u128) -> __m128i {
    #[expect(unsafe_code, reason = "the same 16 bytes in another kind of register")]
    // SAFETY: both are 16 bytes, of any value.
    unsafe {
        core::mem::transmute::<u128, __m128i>(number)
    }
}

#[cfg(target_arch = "x86_64")]
#[inline(always)]
fn number(vector: __m128i) -> u128 {
    #[expect(unsafe_code, reason = "the same 16 bytes in another kind of register")]
    // SAFETY: both are 16 bytes, of any value.
    unsafe {
        core::mem::transmute::<__m128i, u128>(vector)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bits::cpu::{Cpu, Kernel, Portable, dispatch};

    struct Encrypt<'a>(&'a Aes128, u128, u128);

    impl Kernel for Encrypt<'_> {
        type Output = u128;
        #[inline(always)]
        fn run<C: Cpu>(self, cpu: C) -> u128 {
            self.0.encrypt(cpu, self.1, &self.2)
        }
    }

    /// In every way that there is, masked and not.
    fn encrypted(key: [u8; 16], block: [u8; 16]) -> [u8; 16] {
        let block = u128::from_le_bytes(block);
        let crates = Aes128::Crate(Box::new(Aes128Enc::new(&key.into())));
        let expected = crates.encrypt(Portable, block, &0);
        for aes in [&Aes128::new(&key), &crates] {
            for mask in [0, 1, u128::MAX, block] {
                assert_eq!(dispatch(Encrypt(aes, block ^ mask, mask)), expected);
                assert_eq!(aes.encrypt(Portable, block ^ mask, &mask), expected);
            }
        }
        expected.to_le_bytes()
    }

    #[test]
    fn the_example_of_the_standard() {
        let block = std::array::from_fn(|i| 0x11 * i as u8);
        assert_eq!(
            encrypted(std::array::from_fn(|i| i as u8), block),
            [0x69, 0xc4, 0xe0, 0xd8, 0x6a, 0x7b, 0x04, 0x30, 0xd8, 0xcd, 0xb7, 0x80, 0x70, 0xb4, 0xc5, 0x5a]
        );
    }

    #[test]
    fn all_ways_agree() {
        let mut block = [0; 16];
        for key in 0..1000u128 {
            block = encrypted((key * key).to_le_bytes(), block);
        }
    }
}
