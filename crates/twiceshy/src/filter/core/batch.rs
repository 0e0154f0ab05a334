//! Many keys in one call: the memory of the next ones is on its way while the present one is worked on.

use super::{Core, LookCloser};
use crate::bits::cpu::{Cpu, Kernel, Portable, dispatch};
use crate::codec::string::Payload;
use crate::filter::batch::{AHEAD, CHUNK};
use crate::hash::{Hasher, KeyWords, RawWords, Words};
use crate::key::Key;

impl<P: Payload, B: AsRef<[u8]>> Core<P, B> {
    /// Whether fingerprints cover keys, in order; as many answers as keys.
    pub(crate) fn contains_batch<K: Key>(&self, hasher: &Hasher, keys: &[K], found: &mut [bool]) {
        let mut hashes = [0; CHUNK];
        for (keys, found) in keys.chunks(CHUNK).zip(found.chunks_mut(CHUNK)) {
            let hashes = &mut hashes[..keys.len()];
            hasher.hash_all(keys, hashes);
            let words = KeysAndHashes { hasher, keys, hashes };
            dispatch(ContainsAll { core: self, words, found });
        }
    }

    /// [`contains_batch`](Self::contains_batch) for hashes.
    pub(crate) fn contains_hash_batch(&self, hashes: &[u64], found: &mut [bool]) {
        dispatch(ContainsAll { core: self, words: Hashes(hashes), found });
    }

    /// Asks the CPU for the memory that a key with this hash will need.
    #[inline(always)]
    pub(crate) fn prefetch(&self, hash: u64) {
        self.table.prefetch(Portable, hash);
    }
}

/// Many strings.
trait Many {
    /// The first words of all.
    fn first_words(&self) -> &[u64];
    /// The string with this number.
    fn at(&self, index: usize) -> impl Words;
}

struct KeysAndHashes<'a, K> {
    hasher: &'a Hasher,
    keys: &'a [K],
    hashes: &'a [u64],
}

impl<K: Key> Many for KeysAndHashes<'_, K> {
    #[inline(always)]
    fn first_words(&self) -> &[u64] {
        self.hashes
    }
    #[inline(always)]
    fn at(&self, index: usize) -> impl Words {
        KeyWords::with_first(self.hasher, &self.keys[index], self.hashes[index])
    }
}

struct Hashes<'a>(&'a [u64]);

impl Many for Hashes<'_> {
    #[inline(always)]
    fn first_words(&self) -> &[u64] {
        self.0
    }
    #[inline(always)]
    fn at(&self, index: usize) -> impl Words {
        RawWords(self.0[index])
    }
}

struct ContainsAll<'a, P: Payload, B, W> {
    core: &'a Core<P, B>,
    words: W,
    found: &'a mut [bool],
}

impl<P: Payload, B: AsRef<[u8]>, W: Many> Kernel for ContainsAll<'_, P, B, W> {
    type Output = ();
    #[inline(always)]
    fn run<C: Cpu>(self, cpu: C) {
        let Self { core, words, found } = self;
        // A table of its own, so that its measures can stay in registers.
        let (table, strings) = (&core.table.borrowed(), core.strings);
        let hashes = words.first_words();
        let ask_for = |hash: u64| table.prefetch(cpu, hash);
        hashes.iter().take(AHEAD).for_each(|&hash| ask_for(hash));
        for (i, found) in found.iter_mut().enumerate() {
            if let Some(&ahead) = hashes.get(i + AHEAD) {
                ask_for(ahead);
            }
            *found = match strings.contains_at_glance(cpu, table, hashes[i]) {
                Some(found) => found,
                None => cpu.outlined(LookCloser { core, words: words.at(i) }),
            };
        }
    }
}
