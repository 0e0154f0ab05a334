//! Asking a list.

use std::ops::ControlFlow;

use twiceshy::Key;
use twiceshy::list::Answer;

use super::YesNoStore;
use crate::engine::Keys;
use crate::error::StoreError;
use crate::shared::{Count as Counted, Pages};
use crate::sync::Ordering;

/// How many keys are asked for before a writer gets its turn.
const AT_ONCE: usize = 256;

/// How many keys are on the lists.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Count {
    /// On the YES list.
    pub yes: u64,
    /// On the NO list.
    pub no: u64,
}

impl YesNoStore {
    /// The answer to a key. Asks the filter only: right for every key on either list, and wrong with at most the error rate for
    /// another.
    pub fn query<K: Key + ?Sized>(&self, key: &K) -> Result<Answer, StoreError> {
        self.shared.counters.add(Counted::Queries, 1);
        Ok(self.shared.durable.filter()?.query(key))
    }

    /// The answers to many keys, in order.
    ///
    /// # Panics
    ///
    /// If there are not as many answers as keys.
    pub fn query_batch<K: Key>(&self, keys: &[K], answers: &mut [Answer]) -> Result<(), StoreError> {
        assert_eq!(keys.len(), answers.len(), "as many answers as keys");
        self.shared.counters.add(Counted::Queries, keys.len() as u64);
        for (keys, answers) in keys.chunks(AT_ONCE).zip(answers.chunks_mut(AT_ONCE)) {
            self.shared.durable.filter()?.query_batch(keys, answers);
        }
        Ok(())
    }

    /// The list that a key is on, `None` if it is on neither. Asks the engine.
    pub fn lookup<K: Key + ?Sized>(&self, key: &K) -> Result<Option<Answer>, StoreError> {
        let key = key.key_bytes();
        self.shared.counters.add(Counted::Lookups, 1);
        if self.in_doubt.load(Ordering::Relaxed) {
            self.resolve(&mut *self.shared.writer()?)?;
        }
        self.list_of(key.as_ref())
    }

    /// The list that a key is on, given its bytes.
    pub(super) fn list_of(&self, key: &[u8]) -> Result<Option<Answer>, StoreError> {
        self.shared.durable.rows.get(key)?.map(|value| list_of_row(&value)).transpose()
    }

    /// The answer to a key, which is right for every key. Asks the engine if the filter says *yes*, and
    /// [learns](Self::report) if that was a mistake: what goes wrong then does not fail this call, and shows in the
    /// [statistics](Self::stats).
    pub fn query_exactly<K: Key + ?Sized>(&self, key: &K) -> Result<Answer, StoreError> {
        if self.query(key)?.is_no() {
            return Ok(Answer::No);
        }
        let is_on = self.lookup(key)?;
        if is_on != Some(Answer::Yes) {
            self.report(key);
        }
        Ok(is_on.unwrap_or(Answer::No))
    }

    /// Learns that the answer *yes* to a key was a mistake, if it was: the key is on neither list.
    ///
    /// What goes wrong shows in the [statistics](Self::stats). If another thread writes, it is learned by that
    /// one: the same key may be answered *yes* until then.
    pub fn report<K: Key + ?Sized>(&self, key: &K) {
        self.shared.learn(key.key_bytes().as_ref());
    }

    /// All keys and the lists that they are on, in about the order of the keys' hashes.
    ///
    /// It reads a page at a time: keys that come or go meanwhile may be met or not, all others are met once.
    pub fn iter(&self) -> Iter<'_> {
        Iter { store: self, pages: Pages::new(Vec::new(), None) }
    }

    /// How many keys there are on each list. Counts them all; [`approximate_len`](Self::approximate_len) and
    /// [`approximate_no_len`](Self::approximate_no_len) do not.
    pub fn count(&self) -> Result<Count, StoreError> {
        self.iter().try_fold(Count { yes: 0, no: 0 }, |mut count, row| {
            match row?.1 {
                Answer::Yes => count.yes += 1,
                Answer::No => count.no += 1,
            }
            Ok(count)
        })
    }

    /// How many keys are on the NO list, without counting. Exact, unless a write failed without saying whether it had been
    /// carried out.
    pub fn approximate_no_len(&self) -> u64 {
        self.no.load(Ordering::Relaxed)
    }

    /// Whether there are no keys, on either list.
    pub fn is_empty(&self) -> Result<bool, StoreError> {
        let mut is_empty = true;
        self.shared.durable.rows.rows_from(Keys::ALL, &mut |_, _, _| {
            is_empty = false;
            ControlFlow::Break(())
        })?;
        Ok(is_empty)
    }
}

/// The list that a row with this value is on.
pub(super) fn list_of_row(value: &[u8]) -> Result<Answer, StoreError> {
    Answer::of_row_value(value).ok_or_else(|| StoreError::damaged("a row does not say which list it is on"))
}

/// All keys of a list, and which list they are on; see [`YesNoStore::iter`].
#[derive(Debug)]
pub struct Iter<'a> {
    store: &'a YesNoStore,
    pages: Pages<(Vec<u8>, Answer)>,
}

impl Iterator for Iter<'_> {
    type Item = Result<(Vec<u8>, Answer), StoreError>;

    fn next(&mut self) -> Option<Self::Item> {
        let rows = &self.store.shared.durable.rows;
        self.pages.next(|keys, take| {
            let mut failed = None;
            rows.rows_from(keys, &mut |row_key, key, value| match list_of_row(value) {
                Ok(list) => take(row_key, (key.to_vec(), list), key.len()),
                Err(error) => {
                    failed = Some(error);
                    ControlFlow::Break(())
                }
            })?;
            failed.map_or(Ok(()), Err)
        })
    }
}
