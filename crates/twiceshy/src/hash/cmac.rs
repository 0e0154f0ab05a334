//! AES-CMAC: a pseudorandom function of 128 bits, one AES call for a message of up to 16 bytes.
//!
//! The message is cut into blocks of 16 bytes. Each is XORed with what came out of the one before and encrypted; the last
//! one is XORed with a mask, too. A last block that is not whole is filled up with a bit 1 and zeros, and has another mask.
//!
//! # Source
//!
//! Iwata and Kurosawa, *OMAC: One-Key CBC MAC*, FSE 2003 (OMAC1); RFC 4493, whose vectors are in the tests. Its proof: as
//! long as AES is a pseudorandom permutation, nobody who sees `q` outputs tells them from random ones with an advantage
//! of more than a small multiple of `q^2 / 2^128`, the birthday bound.

use super::sip::short_word;
use crate::bits::aes::Aes128;
use crate::bits::cpu::{Cpu, Kernel, dispatch};

/// AES-CMAC under one key. Messages and outputs of 16 bytes are little-endian numbers.
pub(super) struct Cmac {
    aes: Aes128,
    /// For a last block that was filled up, and for one that is whole: `K2` and `K1` of the RFC.
    masks: [u128; 2],
}

impl Cmac {
    pub(super) fn new(key: &[u8; 16]) -> Self {
        let aes = Aes128::new(key);
        // The RFC reads blocks as big-endian numbers.
        let whole = doubled(dispatch(OfZeros(&aes)).swap_bytes());
        Self { aes, masks: [doubled(whole).swap_bytes(), whole.swap_bytes()] }
    }

    /// A copy for many messages; `None` if there is none that is faster.
    #[inline(always)]
    pub(super) fn in_registers(&self) -> Option<Self> {
        Some(Self { aes: self.aes.in_registers()?, masks: self.masks })
    }

    /// Of at most 16 bytes, if the CPU has instructions for it.
    #[inline(always)]
    pub(super) fn at_once<C: Cpu>(&self, cpu: C, bytes: &[u8]) -> Option<u128> {
        cpu.aes128(&self.aes, filled_up(bytes), self.mask(bytes))
    }

    /// Of at most 16 bytes, on any CPU.
    #[inline(always)]
    pub(super) fn short<C: Cpu>(&self, cpu: C, bytes: &[u8]) -> u128 {
        self.aes.encrypt(cpu, filled_up(bytes), self.mask(bytes))
    }

    /// Of any message.
    pub(super) fn of(&self, message: &[u8]) -> u128 {
        dispatch(Of(self, message))
    }

    #[inline(always)]
    fn of_on<C: Cpu>(&self, cpu: C, mut message: &[u8]) -> u128 {
        let mut state = 0;
        while let Some((block, rest)) = message.split_first_chunk()
            && !rest.is_empty()
        {
            state = self.aes.encrypt(cpu, state ^ u128::from_le_bytes(*block), &0);
            message = rest;
        }
        self.aes.encrypt(cpu, state ^ filled_up(message), self.mask(message))
    }

    /// The mask of a last block with these bytes.
    #[inline(always)]
    fn mask(&self, bytes: &[u8]) -> &u128 {
        let is_whole = bytes.len() == 16;
        &self.masks[usize::from(is_whole)]
    }
}

/// [`Cmac::of`] a message.
struct Of<'a>(&'a Cmac, &'a [u8]);

impl Kernel for Of<'_> {
    type Output = u128;
    #[inline(always)]
    fn run<C: Cpu>(self, cpu: C) -> u128 {
        self.0.of_on(cpu, self.1)
    }
}

/// AES of a block of zeros.
struct OfZeros<'a>(&'a Aes128);

impl Kernel for OfZeros<'_> {
    type Output = u128;
    #[inline(always)]
    fn run<C: Cpu>(self, cpu: C) -> u128 {
        self.0.encrypt(cpu, 0, &0)
    }
}

/// Twice a number in the field of 2^128 elements.
fn doubled(number: u128) -> u128 {
    (number << 1) ^ ((number >> 127) * 0x87)
}

/// At most 16 bytes, followed by a bit 1 and zeros if they are fewer, in reads that may overlap: where they do, they agree.
#[inline(always)]
fn filled_up(bytes: &[u8]) -> u128 {
    let len = bytes.len() as u32;
    let (low, high) = match (bytes.first_chunk(), bytes.last_chunk()) {
        (Some(first), Some(last)) => {
            // Bytes 8 and up; shifted out altogether if there are none.
            let rest = u64::from_le_bytes(*last).unbounded_shr(8 * (16 - len));
            (u64::from_le_bytes(*first), rest | 0x80u64.unbounded_shl(8 * (len - 8)))
        }
        _ => (short_word(bytes) | 0x80 << (8 * len), 0),
    };
    u128::from(high) << 64 | u128::from(low)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bits::cpu::Portable;
    use aes::cipher::KeyInit;
    use cmac::Mac;

    struct AtOnce<'a>(&'a Cmac, &'a [u8]);

    impl Kernel for AtOnce<'_> {
        type Output = Option<u128>;
        #[inline(always)]
        fn run<C: Cpu>(self, cpu: C) -> Option<u128> {
            self.0.at_once(cpu, self.1)
        }
    }

    /// Checks all ways.
    fn check(key: &[u8; 16], message: &[u8], expected: &[u8; 16]) {
        let cmac = Cmac::new(key);
        let (expected, context) = (u128::from_le_bytes(*expected), format!("{} bytes", message.len()));
        assert_eq!(cmac.of(message), expected, "{context}");
        assert_eq!(cmac.of_on(Portable, message), expected, "{context}");
        if message.len() <= 16 {
            assert!(dispatch(AtOnce(&cmac, message)).is_none_or(|at_once| at_once == expected), "{context}");
        }
    }

    #[test]
    fn the_vectors_of_rfc_4493() {
        let key = 0x2b7e1516_28aed2a6_abf71588_09cf4f3c_u128.to_be_bytes();
        let message = [
            0x6bc1bee2_2e409f96_e93d7e11_7393172a_u128,
            0xae2d8a57_1e03ac9c_9eb76fac_45af8e51,
            0x30c81c46_a35ce411_e5fbc119_1a0a52ef,
            0xf69f2445_df4f9b17_ad2b417b_e66c3710,
        ];
        let message = message.map(u128::to_be_bytes).concat();
        let vectors = [
            (0, 0xbb1d6929_e9593728_7fa37d12_9b756746_u128),
            (16, 0x070a16b4_6b4d4144_f79bdd9d_d04a287c),
            (40, 0xdfa66747_de9ae630_30ca3261_1497c827),
            (64, 0x51f0bebf_7e3b9d92_fc497417_79363cfe),
        ];
        for (len, expected) in vectors {
            check(&key, &message[..len], &expected.to_be_bytes());
        }
    }

    #[test]
    fn another_implementation_agrees_at_every_length() {
        let pattern: Vec<u8> = (0..100u8).map(|i| i.wrapping_mul(37) ^ 0xa5).collect();
        for key in [[0; 16], [0xff; 16], *b"sixteen secret b"] {
            for len in 0..pattern.len() {
                let message = &pattern[..len];
                let mut oracle = cmac::Cmac::<aes::Aes128>::new(&key.into());
                oracle.update(message);
                check(&key, message, &oracle.finalize().into_bytes().into());
            }
        }
    }
}
