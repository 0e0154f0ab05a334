//! Asking a list, and learning from mistakes.

use std::ops::ControlFlow;

use super::{Lists, YesNoList};
use crate::error::SetError;
use crate::filter::adaptive::{Adapted, Filter, Record, Ticket};
use crate::filter::batch::{CHUNK, in_chunks};
use crate::filter::core::Contains;
use crate::filter::protocol::{Adapt, ReadOnly, Remove, drive};
use crate::hash::{Hashes, KeyWords, hashed};
use crate::key::Key;
use crate::list::Answer;
use crate::mem::Memory;
use crate::reverse_map::{Lookup, MemoryMap, ReverseMap};

/// The filter of a [`YesNoList`], without keys: it answers as the list does, and cannot be changed.
///
/// Its bytes are all that someone needs who only asks. A list shows it with [`filter`](YesNoList::filter).
///
/// ```
/// use twiceshy::list::{Answer, ListFilter};
/// use twiceshy::YesNoList;
///
/// let list = YesNoList::builder().from_lists(["evil.example"], ["vote.example"])?;
/// let bytes = list.filter().to_bytes();
/// let shipped = ListFilter::view(&bytes)?;
/// assert_eq!(shipped.query("evil.example"), Answer::Yes);
/// assert_eq!(shipped.query("vote.example"), Answer::No);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub type ListFilter<B = Memory> = Filter<Lists, B>;

impl<B: AsRef<[u8]>> ListFilter<B> {
    /// The answer to a key.
    #[inline]
    pub fn query<K: Key + ?Sized>(&self, key: &K) -> Answer {
        Answer::from(hashed(self, key, |filter, key, hash| Contains {
            core: filter.core(),
            words: KeyWords::with_first(filter.reader.hasher(), key, hash),
        }))
    }

    /// The answers to many keys, in order.
    ///
    /// # Panics
    ///
    /// If there are not as many answers as keys.
    pub fn query_batch<K: Key>(&self, keys: &[K], answers: &mut [Answer]) {
        assert_eq!(keys.len(), answers.len(), "as many answers as keys");
        let hasher = self.reader.hasher();
        let mut found = [false; CHUNK];
        for (keys, answers) in keys.chunks(CHUNK).zip(answers.chunks_mut(CHUNK)) {
            let found = &mut found[..keys.len()];
            in_chunks(hasher, keys, found, |keys, hashes, found| {
                let words = |number| KeyWords::with_first(hasher, &keys[number], hashes[number]);
                self.core().contains_all(hashes, words, found);
            });
            for (answer, found) in answers.iter_mut().zip(&*found) {
                *answer = Answer::from(*found);
            }
        }
    }

    /// The fingerprint that makes the answer to a key *yes*, with a ticket; `None` if it is *no*.
    pub fn ticket<K: Key + ?Sized>(&self, key: &K) -> Option<Ticket> {
        self.core().query(&KeyWords::new(self.reader.hasher(), &key)).map(|ticket| self.listed(ticket))
    }

    /// The record to write after a mistake about a key was fixed; see
    /// [`AdaptiveFilter::separate_record`](crate::AdaptiveFilter::separate_record).
    pub fn separate_record<K: Key + ?Sized>(&self, key: &K) -> Option<Record> {
        let bytes = key.key_bytes();
        self.separate_record_of(self.reader.row(bytes.as_ref(), Answer::No))
    }
}

impl ListFilter {
    /// Takes a key off the YES list whose row was removed from the database; call this afterwards. An error changes nothing.
    pub fn remove_with<K: Key + ?Sized, L: Lookup + ?Sized>(
        &mut self,
        key: &K,
        database: &L,
    ) -> Result<(), SetError<L::Error>> {
        let bytes = key.key_bytes();
        let row = self.reader.row(bytes.as_ref(), Answer::Yes);
        drive(self, &mut ReadOnly(database), Remove::after_its_row(row.hash, row.key)).map(drop)
    }
}

impl<M: ReverseMap> YesNoList<M> {
    /// The answer to a key. Asks the filter only: right for every key on either list, and wrong with at most the error rate for
    /// another.
    #[inline]
    pub fn query<K: Key + ?Sized>(&self, key: &K) -> Answer {
        self.filter().query(key)
    }

    /// The answers to many keys, in order.
    ///
    /// ```
    /// use twiceshy::list::Answer;
    /// use twiceshy::YesNoList;
    ///
    /// let list = YesNoList::builder().from_lists(0..1_000u32, 1_000..5_000)?;
    /// let mut answers = [Answer::No; 3];
    /// list.query_batch(&[7, 1_007, 8u32], &mut answers);
    /// assert_eq!(answers, [Answer::Yes, Answer::No, Answer::Yes]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Panics
    ///
    /// If there are not as many answers as keys.
    pub fn query_batch<K: Key>(&self, keys: &[K], answers: &mut [Answer]) {
        self.filter().query_batch(keys, answers);
    }

    /// The list that a key is on, `None` if it is on neither. Asks the map.
    pub fn lookup<K: Key + ?Sized>(&self, key: &K) -> Result<Option<Answer>, M::Error> {
        let bytes = key.key_bytes();
        self.list_of(bytes.as_ref())
    }

    /// The list that a key is on, given its bytes.
    pub(super) fn list_of(&self, key: &[u8]) -> Result<Option<Answer>, M::Error> {
        let value = self.stored_value(self.filter().reader.row(key, Answer::No))?;
        Ok(value.as_deref().and_then(Answer::of_row_value))
    }

    /// The answer to a key, which is right for every key. Asks the map if the filter says *yes*, and [adapts](Self::adapt) if
    /// that was a mistake.
    pub fn query_exactly<K: Key + ?Sized>(&mut self, key: &K) -> Result<Answer, SetError<M::Error>> {
        if self.query(key).is_no() {
            return Ok(Answer::No);
        }
        match self.lookup(key).map_err(SetError::Map)? {
            Some(Answer::Yes) => Ok(Answer::Yes),
            Some(Answer::No) | None => {
                self.adapt(key)?;
                Ok(Answer::No)
            }
        }
    }

    /// Learns that the answer *yes* was wrong for `key`, which is on neither list; asks the map whether it was. The answer is
    /// *no* from now on, until a key comes on the YES list that it is mistaken for.
    pub fn adapt<K: Key + ?Sized>(&mut self, key: &K) -> Result<Adapted, SetError<M::Error>> {
        let bytes = key.key_bytes();
        let row = self.filter().reader.row(bytes.as_ref(), Answer::No);
        self.drive(Adapt::new(row.hash, row.key))
    }

    /// How many keys are on the YES list.
    pub fn yes_len(&self) -> u64 {
        self.len()
    }

    /// How many keys are on the NO list. Counts them: reads the whole map.
    pub fn no_len(&self) -> Result<u64, M::Error> {
        let mut keys = 0;
        self.for_each(|_, list| keys += u64::from(list.is_no()))?;
        Ok(keys)
    }

    /// Calls `visit` with the bytes of every key and the list that it is on, in the order of the hashes.
    pub fn for_each(&self, mut visit: impl FnMut(&[u8], Answer)) -> Result<(), M::Error> {
        self.map().visit(0..=u64::MAX, &mut |row| {
            if let Some(list) = Answer::of_row_value(row.value) {
                visit(row.key, list);
            }
            ControlFlow::Continue(())
        })
    }
}

impl YesNoList<MemoryMap> {
    /// The bytes of every key and the list that it is on, in the order of the hashes.
    ///
    /// ```
    /// use twiceshy::list::Answer;
    /// use twiceshy::YesNoList;
    ///
    /// let list = YesNoList::builder().from_lists(["ant", "bee"], ["cow"])?;
    /// let no: Vec<&[u8]> = list.iter().filter(|(_, list)| *list == Answer::No).map(|(key, _)| key).collect();
    /// assert_eq!(no, [b"cow"]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn iter(&self) -> impl Iterator<Item = (&[u8], Answer)> {
        self.map().iter().filter_map(|row| Some((row.key, Answer::of_row_value(row.value)?)))
    }
}
