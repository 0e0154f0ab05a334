//! Many keys in one call: the memory of the next ones is on its way while the present one is worked on.
//!
//! A chunk of keys goes through the approximate stage first, and what is left of it through the exact one. So no branch depends on
//! whether a key is a Yes, which nobody can guess: in a mix of keys a query takes half of the time that it takes alone.

use super::FrozenYesNoList;
use crate::bits::cpu::{Cpu, Kernel, dispatch};
use crate::filter::batch::{CHUNK, in_chunks};
use crate::hash::{KeyWords, RawWords, Words};
use crate::key::Key;
use crate::list::Answer;

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
        let mut found = [false; CHUNK];
        for (keys, answers) in keys.chunks(CHUNK).zip(answers.chunks_mut(CHUNK)) {
            let found = &mut found[..keys.len()];
            in_chunks(&self.hasher, keys, found, |keys, hashes, found| {
                let words = |number: usize, hash| KeyWords::with_first(&self.hasher, &keys[number], hash);
                dispatch(Batch { list: self, hashes, words, found });
            });
            answer(found, answers);
        }
    }

    /// [`query_batch`](Self::query_batch) for callers who hash themselves.
    ///
    /// # Panics
    ///
    /// If there are not as many answers as hashes.
    pub fn query_hash_batch(&self, hashes: &[u64], answers: &mut [Answer]) {
        assert_eq!(hashes.len(), answers.len(), "as many answers as hashes");
        let mut found = [false; CHUNK];
        for (hashes, answers) in hashes.chunks(CHUNK).zip(answers.chunks_mut(CHUNK)) {
            let found = &mut found[..hashes.len()];
            dispatch(Batch { list: self, hashes, words: |_, hash| RawWords(hash), found });
            answer(found, answers);
        }
    }
}

fn answer(found: &[bool], answers: &mut [Answer]) {
    answers.iter_mut().zip(found).for_each(|(answer, &found)| *answer = found.into());
}

/// The answers for a chunk of hashes, of which the first words are at hand.
struct Batch<'a, B, F> {
    list: &'a FrozenYesNoList<B>,
    hashes: &'a [u64],
    /// The whole of a hash, by its number.
    words: F,
    found: &'a mut [bool],
}

impl<B: AsRef<[u8]>, W: Words, F: Fn(usize, u64) -> W> Kernel for Batch<'_, B, F> {
    type Output = ();
    #[inline(always)]
    fn run<C: Cpu>(self, cpu: C) {
        let Self { list, hashes, words, found } = self;
        match list.base.first() {
            Some(first) => list.base.pass_all(cpu, first, hashes, found),
            None => {
                for (number, (&hash, found)) in hashes.iter().zip(&mut *found).enumerate() {
                    *found = list.base.passes(cpu, &words(number, hash));
                }
            }
        }
        for delta in &list.deltas {
            for (number, (&hash, found)) in hashes.iter().zip(&mut *found).enumerate() {
                *found ^= delta.passes(cpu, &words(number, hash));
            }
        }
    }
}
