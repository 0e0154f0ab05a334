//! Asking for keys.

use std::borrow::Borrow;
use std::ops::{Bound, ControlFlow};

use super::{OrderedKey, OrderedStore};
use crate::engine::Keys;
use crate::error::StoreError;
use crate::shared::Count;

/// How many keys are asked for before a writer gets its turn.
const AT_ONCE: usize = 256;

impl<K: OrderedKey + ?Sized> OrderedStore<K> {
    /// The value of a key.
    ///
    /// The engine is asked only if the filter says *maybe*. If that was a mistake, the filter learns from it: what
    /// goes wrong then does not fail this call, and shows in the [statistics](Self::stats).
    pub fn get<Q: OrderedKey + ?Sized>(&self, key: &Q) -> Result<Option<Vec<u8>>, StoreError>
    where
        K: Borrow<Q>,
    {
        if self.may_contain(key)? { self.look_up(key) } else { Ok(None) }
    }

    /// Whether a key is there.
    pub fn contains_key<Q: OrderedKey + ?Sized>(&self, key: &Q) -> Result<bool, StoreError>
    where
        K: Borrow<Q>,
    {
        Ok(self.get(key)?.is_some())
    }

    /// The values of many keys, in their order. The filter is asked for all of them together, which is faster.
    pub fn get_batch<Q: Borrow<K>>(&self, keys: &[Q]) -> Result<Vec<Option<Vec<u8>>>, StoreError> {
        let shared = &self.shared;
        let mut values = Vec::with_capacity(keys.len());
        for keys in keys.chunks(AT_ONCE) {
            let mut maybe = [false; AT_ONCE];
            let maybe = &mut maybe[..keys.len()];
            let points: Vec<_> = keys.iter().map(|key| one::<K>(key.borrow())).collect();
            shared.durable.filter()?.contains_range_batch(&points, maybe);
            shared.counters.add(Count::Queries, keys.len() as u64);
            let mut has_learned = false;
            for (key, &maybe) in keys.iter().zip(&*maybe) {
                // The same key may come again, and the filter may know better now.
                let maybe = maybe && (!has_learned || shared.durable.filter()?.contains(key.borrow()));
                let value = if maybe { self.look_up(key.borrow())? } else { None };
                has_learned |= maybe && value.is_none();
                values.push(value);
            }
        }
        Ok(values)
    }

    /// Whether a key may be there. `false` is certain. Asks the filter only, and learns nothing.
    pub fn may_contain<Q: OrderedKey + ?Sized>(&self, key: &Q) -> Result<bool, StoreError>
    where
        K: Borrow<Q>,
    {
        self.shared.counters.add(Count::Queries, 1);
        Ok(self.shared.durable.filter()?.contains(key))
    }

    /// How many keys there are. Counts them all; [`approximate_len`](Self::approximate_len) does not.
    pub fn len(&self) -> Result<u64, StoreError> {
        let mut keys = 0;
        self.shared.durable.rows.rows_in(Keys::ALL, &mut |_, _, _| {
            keys += 1;
            ControlFlow::Continue(())
        })?;
        Ok(keys)
    }

    /// Whether there are no keys.
    pub fn is_empty(&self) -> Result<bool, StoreError> {
        let mut is_empty = true;
        self.shared.durable.rows.rows_in(Keys::ALL, &mut |_, _, _| {
            is_empty = false;
            ControlFlow::Break(())
        })?;
        Ok(is_empty)
    }

    /// The value of a key that the filter says *maybe* to.
    fn look_up<Q: OrderedKey + ?Sized>(&self, key: &Q) -> Result<Option<Vec<u8>>, StoreError> {
        self.shared.counters.add(Count::Lookups, 1);
        let written = self.written(key);
        let value = self.shared.durable.rows.get(written.row())?;
        if value.is_none() {
            self.learn(&(key.code()..=key.code()), written.key());
        }
        Ok(value)
    }
}

/// The range of one key.
fn one<K: ?Sized>(key: &K) -> (Bound<&K>, Bound<&K>) {
    (Bound::Included(key), Bound::Included(key))
}
