//! A cascade and its map, in step by themselves.

use super::{Cascade, Layer, Learned};
use crate::error::CascadeError;
use crate::key::Key;
use crate::reverse_map::ReverseMap;

/// A set of keys with a [cascade](super) in front: learns, and rebuilds itself when it has no room.
///
/// ```
/// use twiceshy::cascade::BloomCascade;
/// use twiceshy::reverse_map::MemoryMap;
///
/// let mut set = BloomCascade::builder().error_rate(0.01).build_set(MemoryMap::new())?;
/// for number in 0..1_000u32 {
///     assert!(set.insert(&number)?);
/// }
/// assert!((0..1_000u32).all(|number| set.contains(&number)));
/// // Asks the map if the cascade says maybe, and learns from a mistake.
/// assert!(!set.contains_exactly(&5_000u32)?);
/// assert!(!set.contains(&5_000u32));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone)]
pub struct CascadeSet<L: Layer, M> {
    filter: Cascade<L>,
    map: M,
}

impl<L: Layer, M: ReverseMap> CascadeSet<L, M> {
    /// A cascade and the map of its keys, which have the same.
    pub fn from_parts(filter: Cascade<L>, map: M) -> Self {
        Self { filter, map }
    }

    /// The cascade and the map.
    pub fn into_parts(self) -> (Cascade<L>, M) {
        (self.filter, self.map)
    }

    /// The cascade.
    pub fn filter(&self) -> &Cascade<L> {
        &self.filter
    }

    /// The map.
    pub fn map(&self) -> &M {
        &self.map
    }

    /// Whether `key` may be in the set. `false` is certain. Asks the cascade only.
    pub fn contains<K: Key + ?Sized>(&self, key: &K) -> bool {
        self.filter.contains(key)
    }

    /// [`contains`](Self::contains) for every key, in order.
    ///
    /// # Panics
    ///
    /// If there are not as many answers as keys.
    pub fn contains_batch<K: Key>(&self, keys: &[K], found: &mut [bool]) {
        self.filter.contains_batch(keys, found);
    }

    /// Whether `key` is in the set. Asks the map if the cascade says *maybe*, and [adapts](Self::adapt) if that was a mistake.
    pub fn contains_exactly<K: Key + ?Sized>(&mut self, key: &K) -> Result<bool, CascadeError<M::Error>> {
        let bytes = key.key_bytes();
        let bytes = bytes.as_ref();
        let hash = self.filter.hasher.hash_bytes(bytes);
        if !self.filter.contains(bytes) {
            return Ok(false);
        }
        let is_member = self.map.contains(hash, bytes).map_err(CascadeError::Map)?;
        if !is_member {
            self.adapt(bytes)?;
        }
        Ok(is_member)
    }

    /// Inserts a key. `false` if it was there already.
    pub fn insert<K: Key + ?Sized>(&mut self, key: &K) -> Result<bool, CascadeError<M::Error>> {
        let bytes = key.key_bytes();
        let bytes = bytes.as_ref();
        let hash = self.filter.hasher.hash_bytes(bytes);
        let (mut larger, inserted) = match self.filter.insert_bytes(bytes) {
            Err(CascadeError::NeedsRebuild { .. }) => {
                // Its bits may be all there is of keys that were removed. Else it is to be larger.
                let (capacity, len) = (self.filter.capacity, self.filter.len);
                let capacity = if len < capacity / 2 { capacity } else { capacity.saturating_mul(2) };
                let mut larger = self.filter.rebuilt(&self.map, capacity)?;
                let inserted = larger.insert_bytes(bytes).map_err(CascadeError::with_map)?;
                (Some(larger), inserted)
            }
            inserted => (None, inserted.map_err(CascadeError::with_map)?),
        };
        let is_new = self.map.insert(hash, bytes, &[]);
        let filter = larger.as_mut().unwrap_or(&mut self.filter);
        if !matches!(is_new, Ok(true)) {
            filter.take_back(inserted);
            filter.len -= 1;
        }
        let is_new = is_new.map_err(CascadeError::Map)?;
        if let Some(larger) = larger {
            self.filter = larger;
        }
        Ok(is_new)
    }

    /// Removes a key. `false` if it was not there.
    pub fn remove<K: Key + ?Sized>(&mut self, key: &K) -> Result<bool, CascadeError<M::Error>> {
        let bytes = key.key_bytes();
        let bytes = bytes.as_ref();
        if !self.filter.contains(bytes) {
            return Ok(false);
        }
        let hash = self.filter.hasher.hash_bytes(bytes);
        let was_there = self.map.remove(hash, bytes).map_err(CascadeError::Map)?;
        if was_there {
            self.filter.remove_bytes(bytes);
        }
        Ok(was_there)
    }

    /// Learns that a query was a mistake, if it was. If a layer has no room for what is to be learned, the cascade is rebuilt, and
    /// forgets what it has learned before.
    pub fn adapt<K: Key + ?Sized>(&mut self, key: &K) -> Result<Learned, CascadeError<M::Error>> {
        let bytes = key.key_bytes();
        let bytes = bytes.as_ref();
        match self.filter.adapt_bytes(bytes, &self.map) {
            Err(CascadeError::NeedsRebuild { .. }) => {
                let mut fresh = self.filter.rebuilt(&self.map, self.filter.capacity)?;
                let learned = match fresh.adapt_bytes(bytes, &self.map)? {
                    // All hash functions are new.
                    Learned::NotPositive => Learned::Fixed { cells: 0, moved: 0 },
                    learned => learned,
                };
                self.filter = fresh;
                Ok(learned)
            }
            learned => learned,
        }
    }

    /// Makes the cascade anew from the keys in the map, with other hash functions: nothing that was learned is left, nor is
    /// anything of keys that were removed.
    pub fn rebuild(&mut self) -> Result<(), CascadeError<M::Error>> {
        let keys = self.filter.capacity;
        self.filter = self.filter.rebuilt(&self.map, keys)?;
        Ok(())
    }

    /// How many keys there are.
    pub fn len(&self) -> u64 {
        self.filter.len
    }

    /// Whether there is no key.
    pub fn is_empty(&self) -> bool {
        self.filter.is_empty()
    }
}
