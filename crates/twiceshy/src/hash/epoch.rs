//! Hashes that are made anew, group by group: what a filter in constant space has instead of more memory.
//!
//! # The idea
//!
//! A map is in the order of `H(x)` and stays so. A fingerprint in *epoch* `e` is a prefix of another string: the first `b` bits are
//! those of `H(x)`, and what follows is a pseudorandom function of `H(x)` under a key of that epoch. All keys that agree in `b`
//! bits are a *group*: they lie together in the map in every epoch, so whoever needs the keys under a fingerprint reads its group.
//! Groups before the *frontier* are in the epoch that is coming, the others in the one that is going, so one comparison tells which
//! string a key has ([`Turn`]). Epoch 0 is `H` itself: a filter that never rotates hashes as if there were no epochs.
//!
//! # Which bits
//!
//! Word `i` of a key in epoch `e >= 1` follows from word `i` of `H` alone, as bytes of a little-endian number:
//!
//! | hash | word `i` |
//! |---|---|
//! | AES | the first 8 bytes of the AES-CMAC of word and `i` (4 bytes; nothing for `i = 0`) under `K("twiceshy epoch", e)` |
//! | SipHash | the first half of SipHash-1-3-128 of the same bytes under a key: SipHash-1-3-128 of `e` under the secret XOR `"twiceshy.epochkey"[..16]` |
//! | fast | output `i + 1` of SplitMix64 started at the word XOR a seed: output `e` of SplitMix64 started at the complement of the filter's |
//!
//! Of word 0 the first `b` bits are those of `H`, and the first `64 - b` bits of the above follow them.
//!
//! # Why that is enough
//!
//! Without the secret, `H` is a random function, and so is each epoch's on top of it: AES-CMAC and SipHash are pseudorandom
//! functions, and every epoch has a key of its own, derived from the secret, which says nothing of the others'. So whatever was
//! asked in other epochs, and whatever came of it, says nothing of the bits after `b` in this one, unless two keys have the same 64
//! bits of `H`; then they are told apart by later words. That is one pair in 2^64. What never changes is which keys are in a group
//! together, and how many they are: see `docs/rotate.md`. The fast hash protects from nobody in any epoch.
//!
//! # Cost
//!
//! 13 instructions more than `H` on a CPU with AES, and a call, as for long keys: the copy of a kernel that is not for the usual
//! hash ([`hashed`](super::hashed)). They wait for `H`: `docs/rotate.md` has figures. A linear mixer would be quicker, and would not
//! do: queries whose hashes differ alike would be mistakes together in every epoch, which whoever remembers them finds out.
//!
//! # Source
//!
//! *Changing hash functions* in section 3.1 of *Bloom Filters, Adaptivity, and the Dictionary Problem* (Bender et al., FOCS 2018),
//! which has two hash functions and a frontier in the order of the keys. There all bits are new; here the first `b` stay, so that a
//! map in order answers which keys are under a fingerprint.

use std::sync::Arc;

use super::aes::AesHash;
use super::cmac::Cmac;
use super::sip::Sip13;
use super::{HashKey, Hasher, Inner, word_seed};
use crate::bits::cpu::{Cpu, Kernel, Portable, dispatch};

/// An epoch, and how many of the first bits of hashes stay in it what they are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Epoch {
    pub(crate) number: u32,
    /// 64 in epoch 0, in which all bits do; else less.
    pub(crate) bits: u32,
}

impl Epoch {
    const FIRST: Self = Self { number: 0, bits: 64 };
}

/// How far a filter has come with hashing its keys anew: which of them are in which epoch.
///
/// Made by [`AdaptiveFilter::turn`](crate::AdaptiveFilter::turn).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Turn {
    /// That of the groups from the frontier on.
    old: Epoch,
    /// That of the groups before it; the same as the old one if the frontier is at the start.
    new: Epoch,
    /// The first word of the first hash that is in the old epoch.
    frontier: u64,
}

impl Turn {
    /// Before the first rotation.
    pub(crate) const NONE: Self = Self { old: Epoch::FIRST, new: Epoch::FIRST, frontier: 0 };

    /// How often all keys were hashed anew: a rotation of the whole filter is an epoch.
    pub fn epoch(&self) -> u32 {
        self.old.number
    }

    /// The share of all hashes that is in the next epoch already, from 0 to 1.
    pub fn share(&self) -> f64 {
        self.frontier as f64 / (u64::MAX as f64 + 1.0)
    }

    /// A turn in which hashes before the frontier, of so many first bits, are in the epoch after `epoch`, if there is one like it.
    pub(crate) fn from_parts(epoch: u32, old_bits: u32, new_bits: u32, frontier: u64) -> Option<Self> {
        let is_turning = frontier > 0;
        let number = if is_turning { epoch.checked_add(1)? } else { epoch };
        let (old, new) = (Epoch { number: epoch, bits: old_bits }, Epoch { number, bits: new_bits });
        let turn = Self { old, new, frontier };
        let has_bits = |epoch: Epoch| if epoch.number == 0 { epoch.bits == 64 } else { epoch.bits <= 63 };
        let is_one = is_turning || old == new;
        let starts_a_group = frontier & (u64::MAX >> turn.ordered_bits().min(63)) == 0;
        (has_bits(old) && has_bits(new) && is_one && starts_a_group).then_some(turn)
    }

    /// What [`from_parts`](Self::from_parts) takes.
    pub(crate) fn parts(&self) -> (u32, u32, u32, u64) {
        (self.old.number, self.old.bits, self.new.bits, self.frontier)
    }

    /// The epoch that a hash is in. Its first bits tell, in any epoch.
    #[inline(always)]
    pub(crate) fn epoch_of(&self, first_word: u64) -> Epoch {
        if first_word < self.frontier { self.new } else { self.old }
    }

    /// How many of the first bits of all hashes are those that maps are ordered by.
    #[inline(always)]
    pub(crate) fn ordered_bits(&self) -> u32 {
        self.old.bits.min(self.new.bits)
    }

    /// The least bits that a fingerprint must have, so that all keys under it are in one group.
    pub(crate) fn least_bits(&self) -> u32 {
        let bits = |epoch: Epoch| if epoch == Epoch::FIRST { 0 } else { epoch.bits };
        bits(self.old).max(bits(self.new))
    }

    /// Whether this one is later than another.
    pub(crate) fn is_after(&self, other: &Self) -> bool {
        (self.old.number, self.frontier) > (other.old.number, other.frontier)
    }

    /// The turn after the next group has come to the new epoch, in which so many bits stay if it begins now, and the first and the
    /// last hash of that group. `None` after the last epoch.
    pub(crate) fn advanced(&self, bits: u32) -> Option<(Self, (u64, u64))> {
        let begun = match self.frontier {
            0 => Self { new: Epoch { number: self.old.number.checked_add(1)?, bits }, ..*self },
            _ => *self,
        };
        let last = begun.frontier | u64::MAX.unbounded_shr(begun.ordered_bits());
        let after = match last.checked_add(1) {
            Some(frontier) => Self { frontier, ..begun },
            None => Self { old: begun.new, new: begun.new, frontier: 0 },
        };
        Some((after, (begun.frontier, last)))
    }

    /// How many bits stay in the epoch after the old one of another turn, if this one knows.
    pub(crate) fn bits_after(&self, other: &Self) -> Option<u32> {
        let next = other.old.number.checked_add(1);
        [self.old, self.new].into_iter().find(|epoch| Some(epoch.number) == next).map(|epoch| epoch.bits)
    }

    /// Whether not all groups have turned since an earlier one.
    pub(crate) fn is_within_a_turn_of(&self, earlier: &Self) -> bool {
        (self.old.number, self.frontier) < (earlier.old.number.saturating_add(1), earlier.frontier)
    }
}

/// A hash function in the epochs of a turn.
#[derive(Clone)]
pub(super) struct Turned {
    pub(super) plain: Hasher,
    turn: Turn,
    old: Mixer,
    new: Mixer,
}

impl PartialEq for Turned {
    fn eq(&self, other: &Self) -> bool {
        self.plain == other.plain && self.turn == other.turn
    }
}

impl Eq for Turned {}

/// What makes the bits of an epoch.
#[derive(Clone)]
enum Mixer {
    /// Those of epoch 0 stay as they are.
    None,
    Aes(Arc<Cmac>),
    Sip([u8; 16]),
    Fast(u64),
    /// Hashes with a few bits stay hashes with a few bits.
    #[cfg(any(test, fuzzing))]
    Chosen(u64),
}

impl Mixer {
    fn new(plain: &Hasher, epoch: u32) -> Self {
        match &plain.0 {
            _ if epoch == 0 => Self::None,
            Inner::Aes(keys) => Self::Aes(Arc::new(Cmac::new(&AesHash::epoch_key(keys, epoch)))),
            Inner::Sip(key) => Self::Sip(*epoch_key(key, epoch).expose()),
            Inner::Fast { seed, .. } => Self::Fast(word_seed(!seed, epoch)),
            Inner::Turned(turned) => Self::new(&turned.plain, epoch),
            #[cfg(any(test, fuzzing))]
            Inner::Chosen(_) => Self::Chosen(word_seed(0, epoch) | 1),
        }
    }

    /// Word `index` in this epoch.
    #[inline(always)]
    fn word<C: Cpu>(&self, cpu: C, index: u32, word: u64) -> u64 {
        let mut message = [0; 12];
        message[..8].copy_from_slice(&word.to_le_bytes());
        message[8..].copy_from_slice(&index.to_le_bytes());
        let message = if index == 0 { &message[..8] } else { &message[..] };
        match self {
            Self::None => word,
            Self::Aes(key) => key.short(cpu, message) as u64,
            Self::Sip(key) => Sip13::new(key).first_half(message),
            Self::Fast(seed) => word_seed(word ^ seed, index + 1),
            #[cfg(any(test, fuzzing))]
            Self::Chosen(factor) => word.wrapping_mul(*factor),
        }
    }
}

/// The key of an epoch of SipHash.
fn epoch_key(key: &HashKey, epoch: u32) -> HashKey {
    let parent = (u128::from_le_bytes(*key.expose()) ^ u128::from_le_bytes(EPOCH_LABEL)).to_le_bytes();
    let (first, second) = Sip13::new(&parent).both_halves(&epoch.to_le_bytes());
    HashKey((u128::from(second) << 64 | u128::from(first)).to_le_bytes())
}

/// Mixed into the key before those of epochs are derived.
const EPOCH_LABEL: [u8; 16] = *b"twiceshy.epochke";

impl Turned {
    /// How a key begins in its epoch whose hash begins like this.
    #[inline(always)]
    pub(super) fn first_word<C: Cpu>(&self, cpu: C, hash: u64) -> u64 {
        let (epoch, mixer) =
            if hash < self.turn.frontier { (self.turn.new, &self.new) } else { (self.turn.old, &self.old) };
        let below = u64::MAX.unbounded_shr(epoch.bits);
        hash & !below | mixer.word(cpu, 0, hash).unbounded_shr(epoch.bits)
    }

    /// Word `index`, which is not 0, of a key that begins with `first_word` in any epoch.
    #[inline(always)]
    pub(super) fn later_word<C: Cpu>(&self, cpu: C, first_word: u64, index: u32, word: u64) -> u64 {
        let mixer = if first_word < self.turn.frontier { &self.new } else { &self.old };
        mixer.word(cpu, index, word)
    }
}

/// First words that become those of their epochs.
struct TurnAll<'a> {
    turned: &'a Turned,
    hashes: &'a mut [u64],
}

impl Kernel for TurnAll<'_> {
    type Output = ();
    #[inline(always)]
    fn run<C: Cpu>(self, cpu: C) {
        for hash in self.hashes {
            *hash = self.turned.first_word(cpu, *hash);
        }
    }
}

impl Hasher {
    /// This hasher without epochs: what maps are ordered by.
    #[inline(always)]
    pub(crate) fn plain(&self) -> &Self {
        match &self.0 {
            Inner::Turned(turned) => &turned.plain,
            _ => self,
        }
    }

    /// Whether any key is in another epoch than the first.
    #[inline(always)]
    pub(crate) fn is_turned(&self) -> bool {
        matches!(self.0, Inner::Turned(_))
    }

    #[inline(always)]
    pub(crate) fn turn(&self) -> Turn {
        match &self.0 {
            Inner::Turned(turned) => turned.turn,
            _ => Turn::NONE,
        }
    }

    /// This hasher in the epochs of a turn.
    pub(crate) fn in_turn(&self, turn: Turn) -> Self {
        let plain = self.plain();
        if turn == Turn::NONE {
            return plain.clone();
        }
        let mixer = |epoch: u32| match &self.0 {
            Inner::Turned(turned) if turned.turn.old.number == epoch => turned.old.clone(),
            Inner::Turned(turned) if turned.turn.new.number == epoch => turned.new.clone(),
            _ => Mixer::new(plain, epoch),
        };
        let (old, new) = (mixer(turn.old.number), mixer(turn.new.number));
        Self(Inner::Turned(Arc::new(Turned { plain: plain.clone(), turn, old, new })))
    }

    /// How the fingerprint of a key begins whose hash begins like this.
    #[inline(always)]
    pub(crate) fn first_word(&self, hash: u64) -> u64 {
        match &self.0 {
            Inner::Turned(turned) => turned_first(turned, hash),
            _ => hash,
        }
    }

    /// [`first_word`](Self::first_word) of every hash.
    pub(crate) fn first_words(&self, hashes: &mut [u64]) {
        if let Inner::Turned(turned) = &self.0 {
            dispatch(TurnAll { turned, hashes });
        }
    }

    /// Word `index`, which is not 0, of a fingerprint that begins with `first_word`, given that word of the hash.
    #[inline(always)]
    pub(crate) fn fingerprint_word(&self, first_word: u64, index: u32, word: u64) -> u64 {
        match &self.0 {
            Inner::Turned(turned) => turned.later_word(Portable, first_word, index, word),
            _ => word,
        }
    }
}

#[inline(never)]
fn turned_first(turned: &Turned, hash: u64) -> u64 {
    let mut hash = [hash];
    dispatch(TurnAll { turned, hashes: &mut hash });
    hash[0]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hash::{KeyWords, RawKeyWords, Words, hashed};
    use aes::cipher::KeyInit;
    use cmac::Mac;
    use siphasher::sip128::SipHasher13;

    const SECRET: [u8; 16] = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15];

    fn hashers() -> [Hasher; 4] {
        let key = || HashKey::from_bytes(SECRET);
        [Hasher::aes(key()), Hasher::siphash(key()), Hasher::fast(), Hasher::fast_with_seed(3)]
    }

    fn mac(key: [u8; 16], parts: &[&[u8]]) -> [u8; 16] {
        let mut mac = cmac::Cmac::<aes::Aes128>::new(&key.into());
        parts.iter().for_each(|part| mac.update(part));
        mac.finalize().into_bytes().into()
    }

    /// Word `index` of an epoch as its definition says, from other implementations.
    fn oracle(hasher: &Hasher, epoch: u32, index: u32, word: u64) -> u64 {
        let index = index.to_le_bytes();
        let index = if index == [0; 4] { &[][..] } else { &index[..] };
        match &hasher.0 {
            Inner::Aes(_) => {
                let parts: [&[u8]; 5] =
                    [&[0, 0, 0, 1], b"twiceshy epoch", &[0], &epoch.to_be_bytes(), &[0, 0, 0, 128]];
                let output = mac(mac(SECRET, &parts), &[&word.to_le_bytes(), index]);
                u64::from_le_bytes(*output.first_chunk().unwrap())
            }
            Inner::Sip(_) => {
                let parent = std::array::from_fn(|i| SECRET[i] ^ b"twiceshy.epochke"[i]);
                let key = SipHasher13::new_with_key(&parent).hash(&epoch.to_le_bytes());
                let message = [&word.to_le_bytes(), index].concat();
                SipHasher13::new_with_keys(key.h1, key.h2).hash(&message).h1
            }
            Inner::Fast { seed, .. } => {
                let index = index.first().map_or(0, |index| u32::from(*index));
                word_seed(word ^ word_seed(!seed, epoch), index + 1)
            }
            _ => unreachable!(),
        }
    }

    /// The turns of a filter whose groups have so many bits in common, from the start on.
    fn turns(bits: u32) -> impl Iterator<Item = Turn> {
        std::iter::successors(Some(Turn::NONE), move |turn| Some(turn.advanced(bits)?.0))
    }

    #[test]
    fn words_are_what_other_implementations_say() {
        for plain in hashers() {
            for turn in turns(3).take(30) {
                let hasher = plain.in_turn(turn);
                for key in 0..20u64 {
                    let hash = plain.hash(&key);
                    let Epoch { number, bits } = turn.epoch_of(hash);
                    let words = KeyWords::new(&hasher, key);
                    let raw = RawKeyWords::new(&hasher, hash);
                    for index in 0..5 {
                        let (of_key, of_raw) =
                            (plain.word(&key, index), crate::hash::RawWords(hash).word(index));
                        let expected = |word| match (number, index) {
                            (0, _) => word,
                            (_, 0) => {
                                (hash >> (64 - bits) << (64 - bits)) | oracle(&plain, number, 0, word) >> bits
                            }
                            _ => oracle(&plain, number, index, word),
                        };
                        assert_eq!(words.word(index), expected(of_key), "{plain:?}, {turn:?}, word {index}");
                        assert_eq!(raw.word(index), expected(of_raw), "{plain:?}, {turn:?}, word {index}");
                    }
                }
            }
        }
    }

    #[test]
    fn all_ways_to_hash_agree() {
        for plain in hashers()
            .into_iter()
            .chain([Hasher::chosen(|bytes, index| u64::from(bytes[0]) << 56 | u64::from(index))])
        {
            for turn in turns(2).take(12).chain(turns(0).take(3)) {
                let hasher = plain.in_turn(turn);
                assert_eq!(hasher.turn(), turn);
                assert_eq!((hasher.plain(), hasher == plain), (&plain, turn == Turn::NONE));
                let keys: Vec<String> = (0..60).map(|len| "k".repeat(len % 40) + &len.to_string()).collect();
                let mut together = vec![0; keys.len()];
                hasher.hash_all(&keys, &mut together);
                for (key, together) in keys.iter().zip(together) {
                    assert_eq!(hasher.hash(key), plain.hash(key), "what maps are ordered by");
                    assert_eq!(hasher.word(key, 3), plain.word(key, 3));
                    let first = hasher.first_word_of(key);
                    assert_eq!(first, KeyWords::new(&hasher, key).word(0));
                    assert_eq!(first, KeyWords::stored_under(&hasher, key, plain.hash(key)).word(0));
                    assert_eq!(first, hashed(&hasher, key, |_, _, hash| super::super::then::Done(hash)));
                    assert_eq!(first, together);
                    let bits = turn.ordered_bits().min(63);
                    assert_eq!(
                        first >> (63 - bits) >> 1,
                        plain.hash(key) >> (63 - bits) >> 1,
                        "a group stays together"
                    );
                }
            }
        }
    }

    #[test]
    fn every_group_turns_once_and_in_order() {
        for bits in [0, 1, 3, 7] {
            let mut turn = Turn::NONE;
            for epoch in 0..4 {
                let mut next = 0u128;
                assert_eq!((turn.epoch(), turn.share()), (epoch, 0.0));
                for _ in 0..1 << bits {
                    let (after, (first, last)) = turn.advanced(bits).unwrap();
                    assert_eq!(u128::from(first), next);
                    assert_eq!(
                        (turn.epoch_of(first).number, after.epoch_of(first).number),
                        (epoch, epoch + 1)
                    );
                    assert_eq!((turn.epoch_of(last).number, after.epoch_of(last).number), (epoch, epoch + 1));
                    assert!(after.is_after(&turn) && !turn.is_after(&after) && !turn.is_after(&turn));
                    let (number, old, new, frontier) = after.parts();
                    assert_eq!(Turn::from_parts(number, old, new, frontier), Some(after));
                    (turn, next) = (after, u128::from(last) + 1);
                }
                assert_eq!(next, 1 << 64);
            }
        }
    }

    #[test]
    fn an_epoch_may_keep_other_bits_than_the_one_before() {
        // Groups are those of fewer bits, until all are in the new epoch.
        let mut turn = turns(2).find(|turn| turn.epoch() == 1).unwrap();
        for group in 0..4u64 {
            let (after, (first, last)) = turn.advanced(5).unwrap();
            assert_eq!((first, last), (group << 62, group << 62 | u64::MAX >> 2));
            turn = after;
        }
        assert_eq!((turn.epoch(), turn.ordered_bits(), turn.least_bits()), (2, 5, 5));
        assert_eq!(turn.advanced(1).unwrap().1, (0, u64::MAX >> 1));
    }

    #[test]
    fn turns_that_there_are_not_are_refused() {
        for (epoch, old, new, frontier) in [
            (0, 63, 63, 0),     // Epoch 0 keeps all bits,
            (1, 64, 64, 0),     // and no other does.
            (1, 5, 6, 0),       // One epoch, but two numbers of bits.
            (1, 5, 5, 1 << 58), // Inside a group.
            (0, 64, 64, 1 << 60),
            (u32::MAX, 5, 5, 1 << 60),
            (3, 200, 5, 1 << 60),
        ] {
            assert_eq!(
                Turn::from_parts(epoch, old, new, frontier),
                None,
                "{epoch} {old} {new} {frontier:#x}"
            );
        }
        let last = Turn::from_parts(u32::MAX, 5, 5, 0).unwrap();
        assert_eq!(last.advanced(5), None, "no epoch comes twice");
    }
}
