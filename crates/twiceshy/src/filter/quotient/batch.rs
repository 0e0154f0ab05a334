//! Many keys in one call: the memory of the next ones is on its way while the present one is worked on.

use super::{Contains, QuotientFilter};
use crate::bits::cpu::{Cpu, Kernel};
use crate::error::InsertError;
use crate::filter::batch::{AHEAD, CHUNK, Probe, contains_all, hash_all};
use crate::key::Key;
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
        assert_eq!(keys.len(), found.len(), "as many answers as keys");
        let mut hashes = [0; CHUNK];
        for (keys, found) in keys.chunks(CHUNK).zip(found.chunks_mut(CHUNK)) {
            let hashes = hash_all(&mut hashes, keys, |key| self.hasher.hash(key));
            contains_all(One(self.table.borrowed()), hashes, found);
        }
    }

    /// [`contains_batch`](Self::contains_batch) for callers who hash themselves.
    ///
    /// # Panics
    ///
    /// If there are not as many answers as hashes.
    pub fn contains_hash_batch(&self, hashes: &[u64], found: &mut [bool]) {
        assert_eq!(hashes.len(), found.len(), "as many answers as hashes");
        contains_all(One(self.table.borrowed()), hashes, found);
    }
}

impl QuotientFilter {
    /// Inserts a copy of every key, or none of them if there is an error. Tells how many fingerprints
    /// were not there before.
    ///
    /// After an error the filter's bytes are as they were. (One thing can get in the way: if the filter grew
    /// during the batch and there is no memory for its old size, it has the old contents in the new size.)
    pub fn insert_batch<K: Key>(&mut self, keys: &[K]) -> Result<u64, InsertError> {
        let hasher = self.hasher.clone();
        self.insert_all(keys, |key| hasher.hash(key))
    }

    /// [`insert_batch`](Self::insert_batch) for callers who hash themselves.
    pub fn insert_hash_batch(&mut self, hashes: &[u64]) -> Result<u64, InsertError> {
        self.insert_all(hashes, |&hash| hash)
    }

    fn insert_all<T>(&mut self, keys: &[T], hash: impl Fn(&T) -> u64) -> Result<u64, InsertError> {
        let (quotient_bits, mut inserted, mut new) = (self.quotient_bits(), 0, 0);
        let mut buffer = [0; CHUNK];
        for chunk in keys.chunks(CHUNK) {
            let hashes = hash_all(&mut buffer, chunk, &hash);
            hashes.iter().take(AHEAD).for_each(|&hash| ask_for(&self.table, hash));
            for (i, &one) in hashes.iter().enumerate() {
                if let Some(&ahead) = hashes.get(i + AHEAD) {
                    ask_for(&self.table, ahead);
                }
                match self.insert_hash(one) {
                    Ok(first) => new += u64::from(first),
                    Err(error) => {
                        self.take_back(keys[..inserted].iter().map(&hash), quotient_bits);
                        return Err(error);
                    }
                }
                inserted += 1;
            }
        }
        Ok(new)
    }

    /// Removes hashes that were inserted since the filter had `quotient_bits`. Equal contents are equal
    /// bytes, so this leaves no trace.
    #[cold]
    fn take_back(&mut self, hashes: impl Iterator<Item = u64>, quotient_bits: u32) {
        for hash in hashes {
            self.remove_hash(hash);
        }
        if self.quotient_bits() != quotient_bits {
            // It fitted before. Without memory for the old size the filter stays larger than it was.
            let _ = self.resize(quotient_bits);
        }
    }
}

/// A table of its own, so that its measures can stay in registers.
struct One<'a>(Table<&'a [u8]>);

impl Probe for One<'_> {
    #[inline(always)]
    fn ask_for(&self, hash: u64) {
        ask_for(&self.0, hash);
    }

    #[inline(always)]
    fn contains<C: Cpu>(&self, cpu: C, hash: u64) -> bool {
        Contains { table: &self.0, hash }.run(cpu)
    }
}

/// Asks for the memory of a hash.
#[inline(always)]
fn ask_for<B: AsRef<[u8]>>(table: &Table<B>, hash: u64) {
    table.prefetch(table.split(hash).0);
}
