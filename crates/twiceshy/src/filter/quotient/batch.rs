//! Many keys in one call: the memory of the next ones is on its way while the present one is worked on.

use super::QuotientFilter;
use crate::bits::cpu::Cpu;
use crate::codec::counted;
use crate::error::InsertError;
use crate::filter::batch::{CHUNK, Probe, ask_ahead, contains_all, in_chunks};
use crate::key::Key;
use crate::mem::Memory;
use crate::table::Table;

impl<B: AsRef<[u8]>> QuotientFilter<B> {
    /// [`contains`](Self::contains) for every key, in order.
    ///
    /// ```
    /// # use twiceshy::QuotientFilter;
    /// # let mut filter = QuotientFilter::new(100, 1e-9)?;
    /// filter.insert("ant")?;
    /// let mut found = [false; 3];
    /// filter.contains_batch(&["ant", "bee", "cow"], &mut found);
    /// assert_eq!(found, [true, false, false]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Panics
    ///
    /// If there are not as many answers as keys.
    pub fn contains_batch<K: Key>(&self, keys: &[K], found: &mut [bool]) {
        in_chunks(&self.hasher, keys, found, |_, hashes, found| self.contains_hash_batch(hashes, found));
    }

    /// [`contains_batch`](Self::contains_batch) for callers who hash themselves.
    ///
    /// # Panics
    ///
    /// If there are not as many answers as hashes.
    pub fn contains_hash_batch(&self, hashes: &[u64], found: &mut [bool]) {
        contains_all(One(self.table.borrowed()), hashes, found);
    }
}

impl QuotientFilter {
    /// Inserts a copy of every key, or none of them if there is an error. Tells how many fingerprints
    /// were not there before.
    ///
    /// After an error the filter's bytes are as they were.
    pub fn insert_batch<K: Key>(&mut self, keys: &[K]) -> Result<u64, InsertError> {
        let hasher = self.hasher.clone();
        self.insert_all(keys, |keys, hashes| hasher.hash_all(keys, hashes))
    }

    /// [`insert_batch`](Self::insert_batch) for callers who hash themselves.
    pub fn insert_hash_batch(&mut self, hashes: &[u64]) -> Result<u64, InsertError> {
        self.insert_all(hashes, |given, hashes| hashes.copy_from_slice(given))
    }

    fn insert_all<T>(&mut self, keys: &[T], hash: impl Fn(&[T], &mut [u64])) -> Result<u64, InsertError> {
        let (mut inserted, mut new) = (0, 0);
        let mut start = Start { len: self.len, distinct: self.distinct, before_growth: None };
        let mut buffer = [0; CHUNK];
        for chunk in keys.chunks(CHUNK) {
            let hashes = &mut buffer[..chunk.len()];
            hash(chunk, hashes);
            for (i, &one) in hashes.iter().enumerate() {
                ask_ahead(&self.table, hashes, i);
                let is_new = self.insert_at_glance(one)
                    || match self.insert_copies(one, 1, |old| start.keep(old, inserted)) {
                        Ok(is_new) => is_new,
                        Err(error) => {
                            self.take_back(&keys[..inserted], hash, start);
                            return Err(error);
                        }
                    };
                new += u64::from(is_new);
                inserted += 1;
            }
        }
        Ok(new)
    }

    /// Removes what a batch has inserted so far. Equal contents are equal bytes, so this leaves no trace.
    #[cold]
    fn take_back<T>(&mut self, mut keys: &[T], hash: impl Fn(&[T], &mut [u64]), start: Start) {
        if let Some((table, inserted_then)) = start.before_growth {
            (self.table, keys) = (table, &keys[..inserted_then]);
        }
        for key in keys.chunks(1) {
            let mut one = [0];
            hash(key, &mut one);
            self.remove_hash(one[0]);
        }
        (self.len, self.distinct) = (start.len, start.distinct);
    }
}

/// How a filter was when a batch began.
struct Start {
    len: u64,
    distinct: u64,
    /// The table that the batch began with, once there is a larger one, and how many of the batch are in it.
    before_growth: Option<(Table<Memory>, usize)>,
}

impl Start {
    fn keep(&mut self, table: Table<Memory>, inserted: usize) {
        self.before_growth.get_or_insert((table, inserted));
    }
}

/// A table of its own, so that its measures can stay in registers.
struct One<'a>(Table<&'a [u8]>);

impl Probe for One<'_> {
    #[inline(always)]
    fn ask_far<C: Cpu>(&self, cpu: C, hash: u64) {
        self.0.prefetch_far(cpu, hash);
    }

    #[inline(always)]
    fn ask_near<C: Cpu>(&self, cpu: C, hash: u64) {
        self.0.prefetch(cpu, hash);
    }

    #[inline(always)]
    fn contains<C: Cpu>(&self, cpu: C, _: usize, hash: u64) -> bool {
        counted::contains(cpu, &self.0, self.0.address().home(cpu, hash), hash)
    }
}
