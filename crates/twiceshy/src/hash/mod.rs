//! From a key to its hash: an endless string of bits.
//!
//! A fingerprint is a prefix of `H(x)`, the hash of key `x` read as an endless bit string, most
//! significant bit first. [`Hasher`] gives that string 64 bits at a time. Nearly every operation
//! needs only the first word; the later ones separate keys that agree that far.
//!
//! # Cost
//!
//! In ns per word of a `u64`, on a shared AMD EPYC, many keys one after the other:
//!
//! | | word 0 | word 1 | later words |
//! |---|---|---|---|
//! | AES | 3 | 8 | 37 |
//! | SipHash | 7 | 12 | 20 |
//! | fast | 1 to 2 | 26 | 26 |
//!
//! A key whose hash is waited for takes 15 ns on AES and 8 with SipHash; but filters wait for memory, and the next keys are
//! hashed meanwhile. The later words are dearer because most of them derive a key or secrets of their own first.
//!
//! # Where it comes from
//!
//! There are two keyed hashes: AES-CMAC, with SipHash-1-3 for long keys (files `aes.rs` and `cmac.rs`), and SipHash-1-3 for
//! all (file `sip.rs`). The fast hash is rapidhash v3 from the crate of that name, which promises never to change its output.
//!
//! # Example
//!
//! ```
//! use twiceshy::hash::HashKey;
//! use twiceshy::Hasher;
//!
//! let hasher = Hasher::keyed(HashKey::from_bytes(*b"sixteen secret b"));
//! let first = hasher.hash("cat");
//! assert_eq!(first, hasher.word("cat", 0));
//! assert_ne!(first, hasher.word("cat", 1));
//! assert_ne!(first, hasher.hash("dog"));
//! ```

mod aes;
mod cmac;
mod epoch;
mod sip;
mod then;
mod words;

pub use epoch::Turn;
pub(crate) use then::{Hashes, hashed, tried};
pub(crate) use words::{KeyWords, MAX_BITS, RawKeyWords, RawWords, Words};

use std::fmt;
use std::sync::Arc;

use rapidhash::v3::{RapidSecrets, rapidhash_v3_seeded};

use crate::bits::cpu::{Cpu, Portable, dispatch};
use crate::key::Key;
use aes::{AesHash, FirstWords};
use epoch::Turned;
use sip::Sip13;
use then::{Done, HashAll};

/// The 128-bit secret of a keyed [`Hasher`].
///
/// Filters whose hashers have the same key can be merged. Whoever knows it can choose keys that
/// collide, so it stays out of `Debug` and of every report.
///
/// ```
/// use twiceshy::hash::HashKey;
///
/// let key = HashKey::from_bytes([7; 16]);
/// assert_eq!(format!("{key:?}"), "HashKey(secret)");
/// ```
#[derive(Clone, PartialEq, Eq)]
pub struct HashKey([u8; 16]);

impl HashKey {
    /// A key of the caller's choice: 16 bytes that are hard to guess.
    #[inline]
    pub const fn from_bytes(bytes: [u8; 16]) -> Self {
        Self(bytes)
    }

    /// A fresh key from the operating system's random source.
    ///
    /// # Errors
    ///
    /// [`RandomError`] if the operating system has no random bytes to give.
    pub fn random() -> Result<Self, RandomError> {
        let mut bytes = [0; 16];
        getrandom::fill(&mut bytes).map_err(RandomError)?;
        Ok(Self(bytes))
    }

    /// The secret bytes themselves, to be stored where only the owner reads them.
    #[inline]
    pub const fn expose(&self) -> &[u8; 16] {
        &self.0
    }
}

impl fmt::Debug for HashKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("HashKey(secret)")
    }
}

/// The operating system had no random bytes for a hash key.
#[derive(Debug, thiserror::Error)]
#[error(
    "no random hash key: the operating system's random source failed ({0}); \
     supply a key with Hasher::keyed"
)]
pub struct RandomError(#[source] getrandom::Error);

/// The hash function of a filter, with its key or seed.
///
/// It turns a key into an endless bit string `H(x)`, most significant bit first: word `i` holds
/// the bits `64 * i .. 64 * i + 64`. The output is the same on every platform and never changes,
/// because filters are stored.
///
/// - [`Hasher::keyed`] is the default choice. No way is known to find keys that collide without
///   knowing the hash key, however many answers one sees.
/// - [`Hasher::fast`] is a choice for trusted keys: numbered rows, a benchmark, a closed system.
///
/// Which one it is stands in the filter's file, so it is chosen at run time.
///
/// # Which keyed hash
///
/// There are two, [`Hasher::aes`] and [`Hasher::siphash`]. `keyed` takes the first on x86_64 and aarch64, where CPUs have
/// instructions for AES, and the second everywhere else, where AES would be slow. It goes by the kind of machine that the
/// program was built for, never by the CPU that is found: so filters of two machines of the same kind, with the same
/// key, can always be merged. If machines of different kinds are to share a key, choose one of the two. Every machine reads
/// the files of every other, whichever it was.
///
/// # Which bits
///
/// *AES.* Keys with up to 16 bytes are short. Words 0 and 1 of a short key are the two halves of its AES-CMAC under
/// `K("twiceshy short", 0)`. Words `2b` and `2b + 1`, for `b >= 1`, are those of the AES-CMAC under
/// `K("twiceshy later", 0)` of 16 bytes that are `b` as a little-endian number, followed by the key's bytes. The first half
/// are the first 8 bytes; both are little-endian numbers. Words `2b` and `2b + 1` of a longer key, for `b >= 0`, are the two
/// halves of SipHash-1-3-128 of its bytes under `K("twiceshy long", b)`.
///
/// `K(label, b)` is a key derived from the secret as NIST SP 800-108 says, in counter mode: the AES-CMAC under the secret of
/// the number 1, the label, a byte 0, the number `b` and the number 128, each number as 4 bytes, the highest first.
///
/// AES-CMAC (Iwata and Kurosawa, *OMAC: One-Key CBC MAC*, FSE 2003; RFC 4493) and SipHash (Aumasson and Bernstein,
/// INDOCRYPT 2012) are pseudorandom functions with published analysis, and nothing is put between them and the bits. The
/// proof of CMAC holds up to the birthday bound: after `q` hashes an advantage of a few times `q^2 / 2^128` is possible at
/// most, beside that of breaking AES. That is 2^-46 after 2^40 keys.
///
/// *SipHash.* Words 0 and 1 are the two halves of SipHash-1-3-128 of the key's bytes. Words `2b` and
/// `2b + 1`, for `b >= 1`, are the same under another key, derived from the first: the 16 bytes of
/// SipHash-1-3-128 of `b` as a little-endian `u32`, under the first key XOR `"twiceshy.blockey"`. So
/// every block of 128 bits is a pseudorandom function of its own. To append `b` to the key's bytes
/// instead would make block `b` of one key equal to block 0 of another, longer one.
///
/// *Fast.* Word 0 is rapidhash v3 with the secrets that its crate derives from the seed
/// (`RapidSecrets::seed`). Word `i >= 1` is the same with another seed: the `i`-th output of
/// SplitMix64 started at the seed.
///
/// ```
/// use twiceshy::Hasher;
///
/// let hasher = Hasher::random()?;
/// assert_eq!(hasher.hash("cat"), hasher.hash(b"cat"));
/// # Ok::<(), twiceshy::hash::RandomError>(())
/// ```
#[derive(Clone, PartialEq, Eq)]
pub struct Hasher(Inner);

#[derive(Clone, PartialEq, Eq)]
enum Inner {
    Aes(Arc<AesHash>),
    Sip(HashKey),
    Fast {
        seed: u64,
        /// Derived from `seed`; kept because the derivation costs more than a hash.
        secrets: RapidSecrets,
    },
    /// Any of the others, in the epochs of a filter that rotates. What is hashed for maps and callers is hashed by that one.
    Turned(Arc<Turned>),
    /// Any function of the bytes and the index of the word, to test with bad hashes.
    #[cfg(any(test, fuzzing))]
    Chosen(Chosen),
}

/// A hash function for tests. Only compared with itself.
#[cfg(any(test, fuzzing))]
#[derive(Clone)]
struct Chosen(fn(&[u8], u32) -> u64);

#[cfg(any(test, fuzzing))]
impl PartialEq for Chosen {
    fn eq(&self, other: &Self) -> bool {
        std::ptr::fn_addr_eq(self.0, other.0)
    }
}

#[cfg(any(test, fuzzing))]
impl Eq for Chosen {}

impl Hasher {
    /// A hash under a secret key, safe for keys that strangers choose: [`Hasher::aes`] on x86_64 and aarch64,
    /// [`Hasher::siphash`] elsewhere.
    ///
    /// ```
    /// use twiceshy::hash::HashKey;
    /// use twiceshy::Hasher;
    ///
    /// let key = || HashKey::from_bytes(*b"sixteen secret b");
    /// let has_aes = cfg!(any(target_arch = "x86_64", target_arch = "aarch64"));
    /// assert_eq!(Hasher::keyed(key()), if has_aes { Hasher::aes(key()) } else { Hasher::siphash(key()) });
    /// ```
    pub fn keyed(key: HashKey) -> Self {
        if cfg!(any(target_arch = "x86_64", target_arch = "aarch64")) {
            Self::aes(key)
        } else {
            Self::siphash(key)
        }
    }

    /// AES-CMAC under a secret key, and SipHash-1-3 for keys of more than 16 bytes, on every kind of machine.
    ///
    /// One of a few instructions for short keys where the CPU has AES. Where it has not, it is right but ten times as slow
    /// as [`Hasher::siphash`].
    ///
    /// ```
    /// use twiceshy::hash::HashKey;
    /// use twiceshy::{Hasher, QuotientFilter};
    ///
    /// let hasher = Hasher::aes(HashKey::random()?);
    /// let mut filter = QuotientFilter::builder().capacity(100).hasher(hasher).build()?;
    /// filter.insert("cat")?;
    /// assert!(filter.contains("cat"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn aes(key: HashKey) -> Self {
        Self(Inner::Aes(Arc::new(AesHash::new(key))))
    }

    /// SipHash-1-3 under a secret key, on every kind of machine: about as fast on all of them.
    ///
    /// ```
    /// use twiceshy::hash::HashKey;
    /// use twiceshy::Hasher;
    ///
    /// const KEY: [u8; 16] = *b"sixteen secret b";
    /// const EVERYWHERE: Hasher = Hasher::siphash(HashKey::from_bytes(KEY));
    /// assert_ne!(EVERYWHERE.hash("cat"), Hasher::aes(HashKey::from_bytes(KEY)).hash("cat"));
    /// ```
    #[inline]
    pub const fn siphash(key: HashKey) -> Self {
        Self(Inner::Sip(key))
    }

    /// [`Hasher::keyed`] with a fresh random key.
    ///
    /// # Errors
    ///
    /// [`RandomError`] if the operating system has no random bytes to give.
    pub fn random() -> Result<Self, RandomError> {
        HashKey::random().map(Self::keyed)
    }

    /// Rapidhash v3 with seed 0: for trusted keys only.
    ///
    /// The hash is public, so anyone can compute keys that collide and give a filter as many false
    /// positives, or as crowded a table, as they like. Use it only if nobody who chooses keys or
    /// queries means harm.
    #[inline]
    pub const fn fast() -> Self {
        Self::fast_with_seed(0)
    }

    /// [`Hasher::fast`] with another seed, for filters whose errors should be independent.
    ///
    /// The seed is not a secret and does not protect: rapidhash is not made to hide it.
    #[inline]
    pub const fn fast_with_seed(seed: u64) -> Self {
        Self(Inner::Fast { seed, secrets: RapidSecrets::seed(seed) })
    }

    /// Word `index` of a key's hash is what the function says.
    #[cfg(any(test, fuzzing))]
    pub fn chosen(word: fn(&[u8], u32) -> u64) -> Self {
        Self(Inner::Chosen(Chosen(word)))
    }

    /// The first 64 bits of `H(key)`.
    #[inline]
    pub fn hash<K: Key + ?Sized>(&self, key: &K) -> u64 {
        match &self.0 {
            Inner::Aes(_) => hashed(self, key, |_, _, hash| Done(hash)),
            Inner::Turned(turned) => turned.plain.hash(key),
            _ => self.hash_slowly(Portable, key),
        }
    }

    /// The bits `64 * index .. 64 * index + 64` of `H(key)`; word 0 is [`Hasher::hash`].
    #[inline]
    pub fn word<K: Key + ?Sized>(&self, key: &K, index: u32) -> u64 {
        if index == 0 { self.hash(key) } else { self.plain().later_word(key.key_bytes().as_ref(), index) }
    }

    /// [`Hasher::hash`] of the key with these canonical bytes.
    #[inline]
    pub fn hash_bytes(&self, bytes: &[u8]) -> u64 {
        self.hash(bytes)
    }

    /// [`Hasher::word`] of the key with these canonical bytes.
    #[inline]
    pub fn word_bytes(&self, bytes: &[u8], index: u32) -> u64 {
        self.word(bytes, index)
    }

    /// How the fingerprint of a key begins: [`Hasher::hash`], but for a filter that rotates.
    #[inline(always)]
    pub(crate) fn first_word_of<K: Key + ?Sized>(&self, key: &K) -> u64 {
        self.first_word(self.hash(key))
    }

    /// How the fingerprint of a key begins, if it takes only a few of the CPU's own instructions.
    #[inline(always)]
    pub(crate) fn hash_at_once<C: Cpu, K: Key + ?Sized>(&self, cpu: C, key: &K) -> Option<u64> {
        let Inner::Aes(keys) = &self.0 else { return None };
        keys.at_once(cpu, key.key_bytes().as_ref())
    }

    /// What [`hash_at_once`](Self::hash_at_once) needs for many keys.
    #[inline(always)]
    fn in_registers(&self) -> Option<FirstWords> {
        let Inner::Aes(keys) = &self.0 else { return None };
        keys.in_registers()
    }

    /// How the fingerprint of a key begins if it takes more.
    #[inline(always)]
    pub(crate) fn hash_slowly<C: Cpu, K: Key + ?Sized>(&self, cpu: C, key: &K) -> u64 {
        if let Inner::Turned(turned) = &self.0 {
            let hash = match turned.plain.hash_at_once(cpu, key) {
                Some(hash) => hash,
                None => turned.plain.hash(key),
            };
            return turned.first_word(cpu, hash);
        }
        let bytes = key.key_bytes();
        let bytes = bytes.as_ref();
        match &self.0 {
            Inner::Aes(keys) => keys.block(bytes, 0).0,
            Inner::Sip(key) => Sip13::new(key.expose()).first_half(bytes),
            Inner::Fast { secrets, .. } => rapidhash_v3_seeded(bytes, secrets),
            Inner::Turned(_) => unreachable!("asked for above"),
            #[cfg(any(test, fuzzing))]
            Inner::Chosen(Chosen(word)) => word(bytes, 0),
        }
    }

    /// How the fingerprint of every key begins, one beside the other.
    ///
    /// # Panics
    ///
    /// If there are not as many hashes as keys.
    pub(crate) fn hash_all<K: Key>(&self, keys: &[K], hashes: &mut [u64]) {
        assert_eq!(keys.len(), hashes.len(), "as many hashes as keys");
        dispatch(HashAll { hasher: self.plain(), keys, hashes });
        self.first_words(hashes);
    }

    /// [`Hasher::word`] for an `index` that is not 0, of a hasher without epochs.
    fn later_word(&self, bytes: &[u8], index: u32) -> u64 {
        match &self.0 {
            Inner::Aes(keys) => {
                let (first, second) = keys.block(bytes, index / 2);
                if index.is_multiple_of(2) { first } else { second }
            }
            Inner::Sip(key) => {
                let sip = match index / 2 {
                    0 => Sip13::new(key.expose()),
                    block => Sip13::new(block_key(key, block).expose()),
                };
                match index % 2 {
                    0 => sip.first_half(bytes),
                    _ => sip.both_halves(bytes).1,
                }
            }
            Inner::Fast { seed, .. } => {
                rapidhash_v3_seeded(bytes, &RapidSecrets::seed(word_seed(*seed, index)))
            }
            Inner::Turned(turned) => turned.plain.later_word(bytes, index),
            #[cfg(any(test, fuzzing))]
            Inner::Chosen(Chosen(word)) => word(bytes, index),
        }
    }
}

impl fmt::Debug for Hasher {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut fields = f.debug_struct("Hasher");
        fields.field("kind", &self.kind());
        if let Inner::Fast { seed, .. } = &self.plain().0 {
            fields.field("seed", seed);
        }
        if let Inner::Turned(_) = &self.0 {
            fields.field("turn", &self.turn());
        }
        fields.finish()
    }
}

/// Which hash function a stored filter uses: the number in its file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum HashKind {
    Sip = 1,
    Fast = 2,
    Aes = 3,
}

impl TryFrom<u8> for HashKind {
    /// The number that names no hash function.
    type Error = u8;

    fn try_from(number: u8) -> Result<Self, u8> {
        match number {
            1 => Ok(Self::Sip),
            2 => Ok(Self::Fast),
            3 => Ok(Self::Aes),
            unknown => Err(unknown),
        }
    }
}

/// 16 bytes that follow from some bytes, to know them by; no secret is in it. SipHash-1-3-128 under a key that is no key.
pub(crate) fn digest(bytes: &[u8]) -> [u8; 16] {
    let (first, second) = Sip13::new(b"twiceshy.digest.").both_halves(bytes);
    (u128::from(second) << 64 | u128::from(first)).to_le_bytes()
}

/// How a hasher is stored: its kind, and 16 bytes that are the key or the padded seed.
impl Hasher {
    pub(crate) fn kind(&self) -> HashKind {
        match &self.0 {
            Inner::Aes(_) => HashKind::Aes,
            Inner::Sip(_) => HashKind::Sip,
            Inner::Fast { .. } => HashKind::Fast,
            Inner::Turned(turned) => turned.plain.kind(),
            // In a file it looks like the fast one; tests put it back.
            #[cfg(any(test, fuzzing))]
            Inner::Chosen(_) => HashKind::Fast,
        }
    }

    /// The key, or the seed as little-endian bytes followed by zeros.
    pub(crate) fn secret(&self) -> [u8; 16] {
        match &self.0 {
            Inner::Aes(keys) => *keys.secret().expose(),
            Inner::Sip(key) => *key.expose(),
            Inner::Fast { seed, .. } => u128::from(*seed).to_le_bytes(),
            Inner::Turned(turned) => turned.plain.secret(),
            #[cfg(any(test, fuzzing))]
            Inner::Chosen(_) => [0; 16],
        }
    }

    /// The hasher with this kind and secret; `None` if a seed is not followed by zeros.
    pub(crate) fn from_parts(kind: HashKind, secret: [u8; 16]) -> Option<Self> {
        match kind {
            HashKind::Aes => Some(Self::aes(HashKey::from_bytes(secret))),
            HashKind::Sip => Some(Self::siphash(HashKey::from_bytes(secret))),
            HashKind::Fast => {
                let seed = u64::try_from(u128::from_le_bytes(secret)).ok()?;
                Some(Self::fast_with_seed(seed))
            }
        }
    }
}

/// Mixed into the key before block keys are derived, so that no block key is the hash of a user's key.
const BLOCK_LABEL: [u8; 16] = *b"twiceshy.blockey";

/// The key of the 128-bit block `block` of a keyed hash, for `block >= 1`.
fn block_key(key: &HashKey, block: u32) -> HashKey {
    let parent = (u128::from_le_bytes(*key.expose()) ^ u128::from_le_bytes(BLOCK_LABEL)).to_le_bytes();
    let (first, second) = Sip13::new(&parent).both_halves(&block.to_le_bytes());
    HashKey((u128::from(second) << 64 | u128::from(first)).to_le_bytes())
}

/// The seed of word `index` of a fast hash: output `index`, from 1, of SplitMix64 started at `seed`.
fn word_seed(seed: u64, index: u32) -> u64 {
    let mut z = seed.wrapping_add(u64::from(index).wrapping_mul(0x9e37_79b9_7f4a_7c15));
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;
    use siphasher::sip128::SipHasher13;

    const SECRET: [u8; 16] = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15];

    fn sip() -> Hasher {
        Hasher::siphash(HashKey::from_bytes(SECRET))
    }

    /// A block of `H(bytes)` as its definition says, from another implementation of SipHash.
    fn oracle(bytes: &[u8], block: u32) -> [u64; 2] {
        let mut sip = SipHasher13::new_with_key(&SECRET);
        if block > 0 {
            let parent = std::array::from_fn(|i| SECRET[i] ^ b"twiceshy.blockey"[i]);
            let key = SipHasher13::new_with_key(&parent).hash(&block.to_le_bytes());
            sip = SipHasher13::new_with_keys(key.h1, key.h2);
        }
        let output = sip.hash(bytes);
        [output.h1, output.h2]
    }

    #[test]
    fn words_of_siphash_are_siphash_1_3_of_128_bits() {
        let pattern: Vec<u8> = (0..600u32).map(|i| (i * 7 + i / 256) as u8).collect();
        for len in 0..pattern.len() {
            let bytes = &pattern[..len];
            for block in [0, 1, 2, 1000, u32::MAX / 2] {
                let words = [2 * block, 2 * block + 1].map(|i| sip().word_bytes(bytes, i));
                assert_eq!(words, oracle(bytes, block), "length {len}, block {block}");
            }
        }
    }

    #[test]
    fn fast_words_are_rapidhash_v3_under_splitmix_seeds() {
        // The first outputs of SplitMix64 started at 0, from its published test vectors.
        let splitmix = [0xe220_a839_7b1d_cdaf, 0x6e78_9e6a_a1b9_65f4, 0x06c4_5d18_8009_454f];
        for (index, seed) in (1..).zip(splitmix) {
            assert_eq!(word_seed(0, index), seed);
            assert_eq!(Hasher::fast().word("cat", index), Hasher::fast_with_seed(seed).hash("cat"));
        }
    }

    #[test]
    fn a_hasher_comes_back_from_its_parts() {
        let aes = Hasher::aes(HashKey::from_bytes(SECRET));
        for hasher in
            [aes, sip(), Hasher::fast(), Hasher::fast_with_seed(1), Hasher::fast_with_seed(u64::MAX)]
        {
            let kind = HashKind::try_from(hasher.kind() as u8);
            assert_eq!(kind, Ok(hasher.kind()));
            let again = Hasher::from_parts(hasher.kind(), hasher.secret());
            assert_eq!(again, Some(hasher));
        }
    }

    #[test]
    fn bad_parts_are_refused() {
        assert_eq!(HashKind::try_from(0), Err(0));
        assert_eq!(HashKind::try_from(4), Err(4));
        for at in 8..16 {
            let mut secret = [0; 16];
            secret[at] = 1;
            assert_eq!(Hasher::from_parts(HashKind::Fast, secret), None);
        }
    }

    #[test]
    fn a_random_error_names_its_cause_and_the_remedy() {
        let error = RandomError(getrandom::Error::UNSUPPORTED);
        let cause = std::error::Error::source(&error).unwrap().to_string();
        assert!(error.to_string().contains(&cause));
        assert!(error.to_string().contains("Hasher::keyed"));
    }
}
