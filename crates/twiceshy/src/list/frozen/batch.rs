//! Many keys in one call: the memory of the next ones is on its way while the present one is worked on.

use super::FrozenYesNoList;
use crate::bits::cpu::Cpu;
use crate::filter::batch::{CHUNK, Probe, contains_all, in_chunks};
use crate::hash::{KeyWords, RawWords, Words};
use crate::key::Key;
use crate::list::Answer;
use crate::mem::{prefetch, prefetch_far};

impl<B: AsRef<[u8]>> FrozenYesNoList<B> {
    /// [`query`](Self::query) for every key, in order.
    ///
    /// ```
    /// use twiceshy::FrozenYesNoList;
    /// use twiceshy::list::Answer::{No, Yes};
    ///
    /// let list = FrozenYesNoList::new(["ant"], ["bee", "cow"], 0.01)?;
    /// let mut answers = [No; 3];
    /// list.query_batch(&["cow", "ant", "bee"], &mut answers);
    /// assert_eq!(answers, [No, Yes, No]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Panics
    ///
    /// If there are not as many answers as keys.
    pub fn query_batch<K: Key>(&self, keys: &[K], answers: &mut [Answer]) {
        assert_eq!(keys.len(), answers.len(), "as many answers as keys");
        for (keys, answers) in keys.chunks(CHUNK).zip(answers.chunks_mut(CHUNK)) {
            let found = &mut [false; CHUNK][..keys.len()];
            in_chunks(&self.hasher, keys, found, |keys, hashes, found| {
                let words = |number: usize, hash| KeyWords::with_first(&self.hasher, &keys[number], hash);
                contains_all(Asked { list: self, words }, hashes, found);
            });
            answers.iter_mut().zip(found).for_each(|(answer, found)| *answer = (*found).into());
        }
    }

    /// [`query_batch`](Self::query_batch) for callers who hash themselves.
    ///
    /// # Panics
    ///
    /// If there are not as many answers as hashes.
    pub fn query_hash_batch(&self, hashes: &[u64], answers: &mut [Answer]) {
        assert_eq!(hashes.len(), answers.len(), "as many answers as hashes");
        for (hashes, answers) in hashes.chunks(CHUNK).zip(answers.chunks_mut(CHUNK)) {
            let found = &mut [false; CHUNK][..hashes.len()];
            contains_all(Asked { list: self, words: |_, hash| RawWords(hash) }, hashes, found);
            answers.iter_mut().zip(found).for_each(|(answer, found)| *answer = (*found).into());
        }
    }
}

/// A list and where the words of hashes come from.
struct Asked<'a, B, F> {
    list: &'a FrozenYesNoList<B>,
    words: F,
}

impl<B: AsRef<[u8]>, W: Words, F: Fn(usize, u64) -> W> Probe for Asked<'_, B, F> {
    #[inline(always)]
    fn ask_far<C: Cpu>(&self, _: C, hash: u64) {
        self.list.base.ask_for(hash, prefetch_far);
    }

    #[inline(always)]
    fn ask_near<C: Cpu>(&self, _: C, hash: u64) {
        self.list.base.ask_for(hash, prefetch);
    }

    #[inline(always)]
    fn contains<C: Cpu>(&self, cpu: C, number: usize, hash: u64) -> bool {
        self.list.says(cpu, &(self.words)(number, hash))
    }
}
