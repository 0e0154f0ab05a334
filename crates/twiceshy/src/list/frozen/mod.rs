//! The frozen list: a snapshot of a YES list and a NO list, to be shipped to whoever asks it.
//!
//! # The idea
//!
//! A [sieve](crate::list::sieve), and one more for every delta that was applied: a key is a Yes if an odd number of them lets it
//! pass. Each delta's sieve has the keys of which the answer changes.
//!
//! # Cost
//!
//! 1.006 to 1.065 times the least that is possible ([`least_bits`]) for a million keys, from 16 YES keys for
//! a NO key to 64 NO keys for a YES key: `docs/lists.md` has the table. A query reads two or three
//! cache lines, whatever the answer. Building takes 0.2 µs per key.
//!
//! # Source
//!
//! *Adaptive Quotient Filters*, sections 5 and 6.8, has the problem and the bound. Why this is written here, and not taken from a
//! crate: `clubcard` 0.3 is the nearest, and as small at the rate that it happens to have (between 0.99 and 1.01 times with as
//! many NO keys as YES keys and more), but that rate cannot be chosen, and there are no bytes that can be asked in place;
//! `rust_cascade` is a cascade of Bloom filters, 1.6 to 2.1 times as large there; `xorf` and `sux` have fuse filters, which take 1.13
//! to 1.23 times the bits; `ribbon-filter` is a filter only, without bumping.

mod batch;
mod builder;
pub(super) mod persist;

pub use builder::Builder;
pub use persist::View;

use super::Answer;
use super::bound::least_bits;
use super::name::name_after;
use super::sieve::Sieve;
use crate::bits::cpu::{Cpu, Kernel, dispatch};
use crate::error::ListError;
use crate::filter::macros::{cloned, hashing, shown};
use crate::hash::{Hasher, KeyWords, RawWords, Words, hashed};
use crate::key::Key;
use crate::mem::{Memory, OutOfMemory};

/// A YES list and a NO list as a few bits per YES key, without the keys: for shipping to clients.
///
/// - Every key of the YES list answers Yes, and every key of the NO list No. That was checked when the list was built.
/// - Any other key answers Yes with at most the error rate that the list was built for, and always the same.
/// - It cannot be changed, but a [`Delta`](crate::list::Delta) makes the next list of it, from far fewer bytes than that
///   has.
///
/// The same lists under the same hash key are the same bytes, in whatever order the keys come.
///
/// **The rate and the hash key.** It holds against anyone who does not know the hash key. But a client who has the list has its key,
/// and can find as many unlisted keys as they like that answer Yes. If that matters, keep the file from them, or the list on
/// a server.
///
/// The type parameter says where the bytes live: [`Memory`], or `&[u8]` in a [view](View) of a file.
///
/// ```
/// use twiceshy::FrozenYesNoList;
///
/// let revoked = ["serial 17", "serial 23"];
/// let valid = ["serial 1", "serial 2", "serial 3"];
/// let list = FrozenYesNoList::new(revoked, valid, 0.01)?;
/// assert!(revoked.iter().all(|key| list.query(key).is_yes()));
/// assert!(valid.iter().all(|key| list.query(key).is_no()));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct FrozenYesNoList<B = Memory> {
    hasher: Hasher,
    /// The list as it was built.
    base: Sieve<B>,
    /// What was applied to it, in this order.
    deltas: Vec<Sieve<B>>,
    /// What was asked for.
    error_rate: f64,
    /// Keys on either list.
    yes: u64,
    no: u64,
    /// What deltas know it by.
    name: u64,
}

impl FrozenYesNoList {
    /// A list of YES keys and NO keys, and at most this rate for all others, under a random hash key.
    ///
    /// A key may be on a list several times, but not on both. See [`builder`](Self::builder) for more.
    pub fn new<Y: Key, N: Key>(
        yes: impl IntoIterator<Item = Y>,
        no: impl IntoIterator<Item = N>,
        error_rate: f64,
    ) -> Result<Self, ListError> {
        Self::builder().error_rate(error_rate).build(yes, no)
    }

    /// Chooses error rate and hash.
    pub fn builder() -> Builder {
        Builder::default()
    }

    /// A copy, or an error if there is no memory for it.
    pub fn try_clone(&self) -> Result<Self, OutOfMemory> {
        let copy = |sieve: &Sieve<Memory>| Ok::<_, OutOfMemory>(sieve.over(Memory::copy_of(sieve.bytes())?));
        let deltas = self.deltas.iter().map(copy).collect::<Result<_, _>>()?;
        let Self { ref hasher, ref base, error_rate, yes, no, name, .. } = *self;
        Ok(Self { hasher: hasher.clone(), base: copy(base)?, deltas, error_rate, yes, no, name })
    }
}

cloned!(FrozenYesNoList);
hashing!(FrozenYesNoList);
shown!([B: AsRef<[u8]>] FrozenYesNoList<B>: yes_keys, no_keys, error_rate, deltas, size_in_bytes, name);

impl<B: AsRef<[u8]>> FrozenYesNoList<B> {
    /// What the lists say of a key.
    #[inline]
    pub fn query<K: Key + ?Sized>(&self, key: &K) -> Answer {
        hashed(self, key, |list, key, hash| Query {
            list,
            hash,
            words: move |hash| KeyWords::with_first(&list.hasher, key, hash),
        })
        .into()
    }

    /// [`query`](Self::query) for callers who hash themselves, of a list that was built from
    /// [hashes](crate::list::ListKeys::yes_hash). All bits of a hash must be evenly distributed.
    #[inline]
    pub fn query_hash(&self, hash: u64) -> Answer {
        dispatch(Query { list: self, hash, words: RawWords }).into()
    }

    /// How many different keys are on the YES list.
    pub fn yes_keys(&self) -> u64 {
        self.yes
    }

    /// How many different keys are on the NO list.
    pub fn no_keys(&self) -> u64 {
        self.no
    }

    /// The highest probability that a key on neither list answers Yes: what was asked for.
    pub fn error_rate(&self) -> f64 {
        self.error_rate
    }

    /// The probability that a key on neither list answers Yes. Every delta brings it nearer to
    /// [`error_rate`](Self::error_rate), and never beyond.
    pub fn expected_error_rate(&self) -> f64 {
        self.sieves().map(Sieve::rate).fold(0.0, either)
    }

    /// How many deltas were applied.
    pub fn deltas(&self) -> usize {
        self.deltas.len()
    }

    /// The bytes of the list, without header and directory.
    pub fn size_in_bytes(&self) -> usize {
        self.sieves().map(|sieve| sieve.bytes().as_ref().len()).sum()
    }

    /// The bits that any list needs at least for such keys, per YES key: [`least_bits`].
    pub fn least_bits(&self) -> f64 {
        least_bits(self.yes, self.no, self.error_rate)
    }

    /// A number that follows from the bytes of the list; a delta is for the list of one name only.
    pub fn name(&self) -> u64 {
        self.name
    }

    /// How keys are hashed.
    pub fn hasher(&self) -> &Hasher {
        &self.hasher
    }

    /// The sieves, in order.
    fn sieves(&self) -> impl Iterator<Item = &Sieve<B>> {
        [&self.base].into_iter().chain(&self.deltas)
    }

    /// What the list says of a hash. A loop, since what a closure does is not compiled for the CPU.
    #[inline(always)]
    pub(super) fn says<C: Cpu>(&self, cpu: C, words: &impl Words) -> bool {
        let mut yes = self.base.passes(cpu, words);
        for delta in &self.deltas {
            yes ^= delta.passes(cpu, words);
        }
        yes
    }

    /// The same over borrowed bytes.
    pub(super) fn borrowed(&self) -> FrozenYesNoList<&[u8]> {
        let Self { ref hasher, ref base, error_rate, yes, no, name, .. } = *self;
        let deltas = self.deltas.iter().map(Sieve::borrowed).collect();
        FrozenYesNoList { hasher: hasher.clone(), base: base.borrowed(), deltas, error_rate, yes, no, name }
    }

    /// One more sieve, and what follows from it.
    pub(super) fn take_over(&mut self, sieve: Sieve<B>, name: u64, yes: u64, no: u64) {
        self.deltas.push(sieve);
        (self.name, self.yes, self.no) = (name, yes, no);
    }

    /// The name that follows from its bytes.
    fn right_name(&self) -> u64 {
        self.sieves().fold(0, |before, sieve| name_after(before, sieve))
    }
}

/// The probability that exactly one of two things happens, which have nothing to do with each other.
pub(super) fn either(one: f64, other: f64) -> f64 {
    one + other - 2.0 * one * other
}

/// Whether the answer is Yes, for a hash whose first word is at hand.
struct Query<'a, B, F> {
    list: &'a FrozenYesNoList<B>,
    hash: u64,
    /// The whole of it, for lists that need more.
    words: F,
}

impl<B: AsRef<[u8]>, W: Words, F: FnOnce(u64) -> W> Kernel for Query<'_, B, F> {
    type Output = bool;
    #[inline(always)]
    fn run<C: Cpu>(self, cpu: C) -> bool {
        let Self { list, hash, words } = self;
        match list.base.first() {
            Some(first) if list.deltas.is_empty() => list.base.passes_first(cpu, first, hash),
            _ => cpu.outlined(Says { list, hash, words }),
        }
    }
}

/// The same of any list.
struct Says<'a, B, F> {
    list: &'a FrozenYesNoList<B>,
    hash: u64,
    words: F,
}

impl<B: AsRef<[u8]>, W: Words, F: FnOnce(u64) -> W> Kernel for Says<'_, B, F> {
    type Output = bool;
    #[inline(always)]
    fn run<C: Cpu>(self, cpu: C) -> bool {
        self.list.says(cpu, &(self.words)(self.hash))
    }
}
