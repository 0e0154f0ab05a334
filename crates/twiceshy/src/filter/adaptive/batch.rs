//! Many keys in one call: the memory of the next ones is on its way while the present one is worked on.

use super::AdaptiveFilter;
use crate::bits::cpu::{Cpu, Kernel, Portable, dispatch};
use crate::codec::string::{Strings, Table};
use crate::filter::batch::{AHEAD, CHUNK, hash_all};
use crate::hash::{Hasher, KeyWords, RawWords, Words};
use crate::key::Key;

impl<B: AsRef<[u8]>> AdaptiveFilter<B> {
    /// [`contains`](Self::contains) for every key, in order.
    ///
    /// # Panics
    ///
    /// If there are not as many answers as keys.
    pub fn contains_batch<K: Key>(&self, keys: &[K], found: &mut [bool]) {
        assert_eq!(keys.len(), found.len(), "as many answers as keys");
        let mut hashes = [0; CHUNK];
        for (keys, found) in keys.chunks(CHUNK).zip(found.chunks_mut(CHUNK)) {
            let hashes = hash_all(&mut hashes, keys, |key| self.hasher.hash(key));
            let words = KeysAndHashes { hasher: &self.hasher, keys, hashes };
            dispatch(ContainsAll { table: &self.table, strings: self.strings(), words, found });
        }
    }

    /// [`contains_batch`](Self::contains_batch) for callers who hash themselves; see
    /// [`contains_hash`](Self::contains_hash).
    ///
    /// # Panics
    ///
    /// If there are not as many answers as hashes.
    pub fn contains_hash_batch(&self, hashes: &[u64], found: &mut [bool]) {
        assert_eq!(hashes.len(), found.len(), "as many answers as hashes");
        dispatch(ContainsAll { table: &self.table, strings: self.strings(), words: Hashes(hashes), found });
    }
}

impl AdaptiveFilter {
    /// Asks the CPU for the memory that a key with this hash will need: call it for keys that are still some keys
    /// ahead.
    #[inline]
    pub fn prefetch(&self, hash: u64) {
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

struct ContainsAll<'a, B, W> {
    table: &'a Table<B>,
    strings: Strings,
    words: W,
    found: &'a mut [bool],
}

impl<B: AsRef<[u8]>, W: Many> Kernel for ContainsAll<'_, B, W> {
    type Output = ();
    #[inline(always)]
    fn run<C: Cpu>(self, cpu: C) {
        let Self { table, strings, words, found } = self;
        // A table of its own, so that its measures can stay in registers.
        let table = &table.borrowed();
        let hashes = words.first_words();
        let ask_for = |hash: u64| table.prefetch(cpu, hash);
        hashes.iter().take(AHEAD).for_each(|&hash| ask_for(hash));
        for (i, found) in found.iter_mut().enumerate() {
            if let Some(&ahead) = hashes.get(i + AHEAD) {
                ask_for(ahead);
            }
            *found = strings.contains(cpu, table, &words.at(i));
        }
    }
}
