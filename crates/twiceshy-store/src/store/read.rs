//! Asking for keys.

use std::ops::ControlFlow;

use twiceshy::{AdaptiveFilter, Key};

use super::AdaptiveStore;
use crate::engine::Keys;
use crate::error::StoreError;
use crate::shared::{Count, Pages, Shared};
use crate::sync::Arc;

/// How many keys are asked for before a writer gets its turn.
const AT_ONCE: usize = 256;

impl AdaptiveStore {
    /// The value of a key.
    ///
    /// The engine is asked only if the filter says *maybe*. If that was a mistake, the filter learns from it: what
    /// goes wrong then does not fail this call, and shows in the [statistics](Self::stats).
    pub fn get<K: Key + ?Sized>(&self, key: &K) -> Result<Option<Vec<u8>>, StoreError> {
        let key = key.key_bytes();
        self.shared.get(key.as_ref())
    }

    /// Whether a key is there.
    pub fn contains_key<K: Key + ?Sized>(&self, key: &K) -> Result<bool, StoreError> {
        Ok(self.get(key)?.is_some())
    }

    /// The values of many keys, in their order. The filter is asked for all of them together, which is faster.
    pub fn get_batch<K: Key>(&self, keys: &[K]) -> Result<Vec<Option<Vec<u8>>>, StoreError> {
        let shared = &self.shared;
        let mut values = Vec::with_capacity(keys.len());
        for keys in keys.chunks(AT_ONCE) {
            let mut maybe = [false; AT_ONCE];
            let maybe = &mut maybe[..keys.len()];
            shared.durable.filter()?.contains_batch(keys, maybe);
            shared.counters.add(Count::Queries, keys.len() as u64);
            let mut has_learned = false;
            for (key, &maybe) in keys.iter().zip(&*maybe) {
                // The same key may come again, and the filter may know better now.
                let maybe = maybe && (!has_learned || shared.durable.filter()?.contains(key));
                let value = if maybe { shared.look_up(key.key_bytes().as_ref())? } else { None };
                has_learned |= maybe && value.is_none();
                values.push(value);
            }
        }
        Ok(values)
    }

    /// Whether a key may be there. `false` is certain. Asks the filter only, and learns nothing.
    pub fn may_contain<K: Key + ?Sized>(&self, key: &K) -> Result<bool, StoreError> {
        self.shared.counters.add(Count::Queries, 1);
        Ok(self.shared.durable.filter()?.contains(key))
    }

    /// All keys and values, in about the order of the keys' hashes.
    ///
    /// It reads a page at a time: keys that come or go meanwhile may be met or not, all others are met once.
    pub fn iter(&self) -> Iter<'_> {
        Iter { store: self, pages: Pages::new(Vec::new(), None) }
    }

    /// How many keys there are. Counts them all; [`approximate_len`](Self::approximate_len) does not.
    pub fn len(&self) -> Result<u64, StoreError> {
        let mut keys = 0;
        self.shared.durable.rows.rows_from(Keys::ALL, &mut |_, _, _| {
            keys += 1;
            ControlFlow::Continue(())
        })?;
        Ok(keys)
    }

    /// Whether there are no keys.
    pub fn is_empty(&self) -> Result<bool, StoreError> {
        let mut is_empty = true;
        self.shared.durable.rows.rows_from(Keys::ALL, &mut |_, _, _| {
            is_empty = false;
            ControlFlow::Break(())
        })?;
        Ok(is_empty)
    }
}

impl Shared<AdaptiveFilter> {
    fn get(self: &Arc<Self>, key: &[u8]) -> Result<Option<Vec<u8>>, StoreError> {
        self.counters.add(Count::Queries, 1);
        if self.durable.filter()?.contains(key) { self.look_up(key) } else { Ok(None) }
    }

    /// The value of a key that the filter says *maybe* to.
    fn look_up(self: &Arc<Self>, key: &[u8]) -> Result<Option<Vec<u8>>, StoreError> {
        self.counters.add(Count::Lookups, 1);
        let value = self.durable.rows.get(key)?;
        if value.is_none() {
            self.learn(key);
        }
        Ok(value)
    }
}

/// All keys and values of a store; see [`AdaptiveStore::iter`].
#[derive(Debug)]
pub struct Iter<'a> {
    store: &'a AdaptiveStore,
    pages: Pages<(Vec<u8>, Vec<u8>)>,
}

impl Iterator for Iter<'_> {
    type Item = Result<(Vec<u8>, Vec<u8>), StoreError>;

    fn next(&mut self) -> Option<Self::Item> {
        let rows = &self.store.shared.durable.rows;
        self.pages.next(|keys, take| {
            rows.rows_from(keys, &mut |row_key, key, value| {
                take(row_key, (key.to_vec(), value.to_vec()), key.len() + value.len())
            })
        })
    }
}
