//! The keyed hash on AES: AES-CMAC for keys of up to 16 bytes, SipHash-1-3 for longer ones.
//!
//! Most keys are short, and one AES call gives the first 128 bits of their hashes: 12 instructions, where SipHash takes
//! 110. For long keys SipHash is the faster one of the two, since CMAC's calls wait for each other.
//!
//! Each use has a key of its own, derived from the secret; so nothing that comes out of one says anything of the others,
//! and the secret itself is used for nothing else.
//!
//! | bytes of the key | block 0 | block `b >= 1` |
//! |---|---|---|
//! | up to 16 | AES-CMAC under `K("twiceshy short", 0)` | AES-CMAC under `K("twiceshy later", 0)` of `b` and the bytes |
//! | more | SipHash-1-3-128 under `K("twiceshy long", 0)` | the same under `K("twiceshy long", b)` |
//!
//! # Cost
//!
//! 700 bytes for the keys of a secret. A later word of a short key is two AES calls; one of a long key derives a key first.
//!
//! # Source
//!
//! AES-CMAC: see `cmac.rs`; SipHash: see `sip.rs`. Keys are derived as NIST SP 800-108 says, in counter mode with AES-CMAC.

use super::HashKey;
use super::cmac::Cmac;
use super::sip::Sip13;
use crate::bits::cpu::Cpu;

/// The most bytes of a short key.
const SHORT: usize = 16;

/// A secret, and what is derived from it.
pub(super) struct AesHash {
    secret: HashKey,
    /// Derives the keys.
    parent: Cmac,
    short: Cmac,
    later: Cmac,
    long: [u8; 16],
}

impl AesHash {
    pub(super) fn new(secret: HashKey) -> Self {
        let parent = Cmac::new(secret.expose());
        let [short, later] =
            ["twiceshy short", "twiceshy later"].map(|label| Cmac::new(&derived(&parent, label, 0)));
        Self { long: derived(&parent, LONG, 0), secret, parent, short, later }
    }

    pub(super) fn secret(&self) -> &HashKey {
        &self.secret
    }

    /// The key of an epoch.
    pub(super) fn epoch_key(&self, epoch: u32) -> [u8; 16] {
        derived(&self.parent, "twiceshy epoch", epoch)
    }

    /// The first word of a short key, if the CPU has instructions for it.
    #[inline(always)]
    pub(super) fn at_once<C: Cpu>(&self, cpu: C, bytes: &[u8]) -> Option<u64> {
        first_word(&self.short, cpu, bytes)
    }

    /// For the first words of many short keys, if the CPU has instructions for it.
    #[inline(always)]
    pub(super) fn in_registers(&self) -> Option<FirstWords> {
        self.short.in_registers().map(FirstWords)
    }

    /// Both words of a block.
    pub(super) fn block(&self, bytes: &[u8], block: u32) -> (u64, u64) {
        if bytes.len() > SHORT {
            let key = if block == 0 { self.long } else { derived(&self.parent, LONG, block) };
            return Sip13::new(&key).both_halves(bytes);
        }
        let both = if block == 0 {
            self.short.of(bytes)
        } else {
            let mut message = [0; 2 * SHORT];
            message[..4].copy_from_slice(&block.to_le_bytes());
            message[SHORT..][..bytes.len()].copy_from_slice(bytes);
            self.later.of(&message[..SHORT + bytes.len()])
        };
        (both as u64, (both >> 64) as u64)
    }
}

/// What the first words of short keys are made with, as a copy that can stay in registers.
pub(crate) struct FirstWords(Cmac);

impl FirstWords {
    /// The first word of a short key.
    #[inline(always)]
    pub(super) fn at_once<C: Cpu>(&self, cpu: C, bytes: &[u8]) -> Option<u64> {
        first_word(&self.0, cpu, bytes)
    }
}

#[inline(always)]
fn first_word<C: Cpu>(short: &Cmac, cpu: C, bytes: &[u8]) -> Option<u64> {
    if bytes.len() <= SHORT { Some(short.at_once(cpu, bytes)? as u64) } else { None }
}

/// Whether the secret is the same.
impl PartialEq for AesHash {
    fn eq(&self, other: &Self) -> bool {
        self.secret == other.secret
    }
}

impl Eq for AesHash {}

/// What keys of long keys are derived for.
const LONG: &str = "twiceshy long";

/// The key for a purpose and a block, as in SP 800-108: a counter, the purpose, a zero, the block, and how many bits are
/// derived; numbers are big-endian.
fn derived(parent: &Cmac, label: &str, block: u32) -> [u8; 16] {
    let (counter, bits) = (1u32.to_be_bytes(), 128u32.to_be_bytes());
    let message = [&counter, label.as_bytes(), &[0], &block.to_be_bytes(), &bits].concat();
    parent.of(&message).to_le_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Hasher;
    use aes::cipher::KeyInit;
    use cmac::Mac;
    use siphasher::sip128::SipHasher13;

    const SECRET: [u8; 16] = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15];

    fn mac(key: [u8; 16], parts: &[&[u8]]) -> [u8; 16] {
        let mut mac = cmac::Cmac::<aes::Aes128>::new(&key.into());
        parts.iter().for_each(|part| mac.update(part));
        mac.finalize().into_bytes().into()
    }

    fn key(label: &[u8], block: u32) -> [u8; 16] {
        mac(SECRET, &[&[0, 0, 0, 1], label, &[0], &block.to_be_bytes(), &[0, 0, 0, 128]])
    }

    /// A block of `H(bytes)` as its definition says, from other implementations of CMAC and SipHash.
    fn oracle(bytes: &[u8], block: u32) -> [u64; 2] {
        if bytes.len() > 16 {
            let output = SipHasher13::new_with_key(&key(b"twiceshy long", block)).hash(bytes);
            return [output.h1, output.h2];
        }
        let output = match block {
            0 => mac(key(b"twiceshy short", 0), &[bytes]),
            _ => mac(key(b"twiceshy later", 0), &[&u128::from(block).to_le_bytes(), bytes]),
        };
        [0, 8].map(|at| u64::from_le_bytes(*output[at..].first_chunk().unwrap()))
    }

    #[test]
    fn words_are_what_other_implementations_say() {
        let pattern: Vec<u8> = (0..600u32).map(|i| (i * 7 + i / 256) as u8).collect();
        let hasher = Hasher::aes(HashKey::from_bytes(SECRET));
        for len in 0..pattern.len() {
            let bytes = &pattern[..len];
            for block in [0, 1, 2, 256, 1000, u32::MAX / 2] {
                let words = [2 * block, 2 * block + 1].map(|i| hasher.word_bytes(bytes, i));
                assert_eq!(words, oracle(bytes, block), "length {len}, block {block}");
            }
            assert_eq!(hasher.hash_bytes(bytes), oracle(bytes, 0)[0], "length {len}");
        }
    }
}
