//! Many keys in one call: the memory of the next ones is on its way while the present one is worked on.
//!
//! A chunk of keys goes through the list as it was built, and then through one delta after the other.

use super::FrozenYesNoList;
use crate::bits::cpu::{Cpu, Kernel, dispatch};
use crate::filter::batch::{CHUNK, contains_all, in_chunks};
use crate::hash::{KeyWords, RawWords, Words};
use crate::key::Key;
use crate::list::Answer;
use crate::list::sieve::{Many, Sieve};

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
                self.say_all(hashes, words, found);
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
            self.say_all(hashes, |_, hash| RawWords(hash), found);
            answer(found, answers);
        }
    }

    /// The answers for a chunk of hashes, of which the first words are at hand, and the whole of one by its number.
    fn say_all<W: Words>(&self, hashes: &[u64], words: impl Fn(usize, u64) -> W, found: &mut [bool]) {
        match self.base.first() {
            Some(&first) => contains_all(Many { sieve: &self.base, first }, hashes, found),
            None => {
                found.fill(false);
                dispatch(Turn { sieve: &self.base, hashes, words: &words, found });
            }
        }
        for sieve in &self.deltas {
            dispatch(Turn { sieve, hashes, words: &words, found });
        }
    }
}

fn answer(found: &[bool], answers: &mut [Answer]) {
    answers.iter_mut().zip(found).for_each(|(answer, &found)| *answer = found.into());
}

/// Turns the answers of those around that a sieve lets pass.
struct Turn<'a, B, F> {
    sieve: &'a Sieve<B>,
    hashes: &'a [u64],
    words: &'a F,
    found: &'a mut [bool],
}

impl<B: AsRef<[u8]>, W: Words, F: Fn(usize, u64) -> W> Kernel for Turn<'_, B, F> {
    type Output = ();
    #[inline(always)]
    fn run<C: Cpu>(self, cpu: C) {
        let Self { sieve, hashes, words, found } = self;
        for (number, (&hash, found)) in hashes.iter().zip(found).enumerate() {
            *found ^= sieve.passes(cpu, &words(number, hash));
        }
    }
}
