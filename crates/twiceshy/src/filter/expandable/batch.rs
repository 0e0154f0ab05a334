//! Many keys in one call: the memory of the next ones is on its way while the present one is worked on, and an
//! error takes all of them back.

use super::ExpandableFilter;
use super::fingerprint::Hash;
use super::grow::Undo;
use super::level::{Level, Which};
use crate::bits::cpu::Cpu;
use crate::codec::aged;
use crate::codec::counted::Change;
use crate::error::ExpandError;
use crate::filter::batch::{CHUNK, Probe, ask_ahead, contains_all, in_chunks};
use crate::key::Key;

impl<B: AsRef<[u8]>> ExpandableFilter<B> {
    /// [`contains`](Self::contains) for every key, in order.
    ///
    /// ```
    /// # use twiceshy::ExpandableFilter;
    /// # let mut filter = ExpandableFilter::new(1e-9)?;
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
        if !self.is_plain {
            assert_eq!(keys.len(), found.len(), "as many answers as keys");
            return keys.iter().zip(found).for_each(|(key, found)| *found = self.contains(key));
        }
        in_chunks(&self.hasher, keys, found, |_, hashes, found| self.contains_hash_batch(hashes, found));
    }

    /// [`contains_batch`](Self::contains_batch) for callers who hash themselves.
    ///
    /// # Panics
    ///
    /// If there are not as many answers as hashes.
    pub fn contains_hash_batch(&self, hashes: &[u64], found: &mut [bool]) {
        if !self.is_plain {
            assert_eq!(hashes.len(), found.len(), "as many answers as hashes");
            return hashes.iter().zip(found).for_each(|(&hash, found)| *found = self.contains_hash(hash));
        }
        // A copy of the levels, so that their measures can stay in registers.
        let levels: Vec<_> = self.levels.iter().map(Level::borrowed).collect();
        contains_all(Levels(&levels), hashes, found);
    }
}

struct Levels<'a>(&'a [Level<&'a [u8]>]);

impl Probe for Levels<'_> {
    // The chain is small and stays in the caches.
    #[inline(always)]
    fn ask_far<C: Cpu>(&self, cpu: C, hash: u64) {
        self.0[0].table.prefetch_far(cpu, hash);
    }

    #[inline(always)]
    fn ask_near<C: Cpu>(&self, cpu: C, hash: u64) {
        self.0[0].table.prefetch(cpu, hash);
    }

    #[inline(always)]
    fn contains<C: Cpu>(&self, cpu: C, _: usize, hash: u64) -> bool {
        // Not `any`, whose closure would not be compiled for the CPU.
        for Level { table, .. } in self.0 {
            if aged::contains(cpu, table, table.address().home(cpu, hash), hash) {
                return true;
            }
        }
        false
    }
}

/// What a batch did for one key, in few bytes.
#[derive(Clone, Copy)]
struct Done {
    /// Bits of the fingerprint that was added, 0 if there was none.
    added: u8,
    /// Bits of the one that was removed, 0 if there was none, and where it was.
    removed: u8,
    level: u8,
    place: Which,
}

impl Done {
    const NOTHING: Self = Self { added: 0, removed: 0, level: 0, place: Which::Table };
}

impl ExpandableFilter {
    /// Inserts a copy of every key, or none of them if there is an error; then the filter's bytes are as they
    /// were. Tells how many full fingerprints were not there before.
    pub fn insert_batch<K: Key>(&mut self, keys: &[K]) -> Result<u64, ExpandError> {
        let first = |filter: &Self, keys: &[K], hashes: &mut [u64]| filter.hasher.hash_all(keys, hashes);
        self.insert_all(keys, first, |filter, key, hash| filter.whole_hash(key, hash))
    }

    /// [`insert_batch`](Self::insert_batch) for callers who hash themselves.
    pub fn insert_hash_batch(&mut self, hashes: &[u64]) -> Result<u64, ExpandError> {
        let first = |_: &Self, given: &[u64], hashes: &mut [u64]| hashes.copy_from_slice(given);
        self.insert_all(hashes, first, |filter, _, hash| filter.raw(hash))
    }

    /// [`rejuvenate`](Self::rejuvenate) for every key, or for none of them if there is an error. Tells how many
    /// had a shorter fingerprint. The warning there applies.
    ///
    /// Whenever many keys are read anyway, as when files are compacted, this is the way to keep the error rate
    /// of an old filter low.
    pub fn rejuvenate_batch<K: Key>(&mut self, keys: &[K]) -> Result<u64, ExpandError> {
        let whole = |filter: &Self, key: &K| filter.whole_hash(key, filter.hasher.hash(key));
        self.rejuvenate_all(keys, whole)
    }

    /// [`rejuvenate_batch`](Self::rejuvenate_batch) for callers who hash themselves.
    pub fn rejuvenate_hash_batch(&mut self, hashes: &[u64]) -> Result<u64, ExpandError> {
        self.rejuvenate_all(hashes, |filter, &hash| filter.raw(hash))
    }

    fn raw(&self, hash: u64) -> Hash {
        Hash::raw(hash, self.settings.block_bits)
    }

    fn insert_all<T>(
        &mut self,
        keys: &[T],
        first: impl Fn(&Self, &[T], &mut [u64]),
        whole: impl Fn(&Self, &T, u64) -> Hash,
    ) -> Result<u64, ExpandError> {
        let mut new = 0;
        let mut buffer = [0; CHUNK];
        let mut next = 0;
        self.in_batch(
            keys,
            |filter, i, undo| {
                // The keys are hashed a chunk at a time, and their memory is asked for some keys ahead.
                if i == next {
                    let chunk = &keys[i..keys.len().min(i + CHUNK)];
                    first(filter, chunk, &mut buffer[..chunk.len()]);
                    next = i + chunk.len();
                }
                let hash = buffer[i % CHUNK];
                ask_ahead(&filter.levels[0].table, &buffer[..next - i / CHUNK * CHUNK], i % CHUNK);
                let added = if filter.insert_at_glance(hash) {
                    new += 1;
                    filter.full_bits()
                } else {
                    let len = filter.len.checked_add(1).ok_or(ExpandError::TooManyCopies)?;
                    let (fingerprint, before) = filter.add_hash(whole(filter, &keys[i], hash), undo)?;
                    filter.len = len;
                    new += u64::from(before == 0);
                    fingerprint.len()
                };
                Ok(Done { added: added as u8, ..Done::NOTHING })
            },
            |filter, i| {
                let mut one = [0];
                first(filter, &keys[i..=i], &mut one);
                whole(filter, &keys[i], one[0])
            },
        )?;
        Ok(new)
    }

    fn rejuvenate_all<T>(
        &mut self,
        keys: &[T],
        whole: impl Fn(&Self, &T) -> Hash,
    ) -> Result<u64, ExpandError> {
        let mut longer = 0;
        self.in_batch(
            keys,
            |filter, i, undo| {
                let hash = whole(filter, &keys[i]);
                let Some(done) = filter.lengthen(hash, undo)? else { return Ok(Done::NOTHING) };
                longer += 1;
                let (added, removed) = (done.to.len() as u8, done.from.len() as u8);
                Ok(Done { added, removed, level: done.level as u8, place: done.place })
            },
            |filter, i| whole(filter, &keys[i]),
        )?;
        Ok(longer)
    }

    /// Does something for every key and, if there is an error, takes all of it back, step by step from the end.
    fn in_batch<T>(
        &mut self,
        keys: &[T],
        mut each: impl FnMut(&mut Self, usize, &mut Vec<Undo>) -> Result<Done, ExpandError>,
        hash_of: impl Fn(&Self, usize) -> Hash,
    ) -> Result<(), ExpandError> {
        let len = self.len;
        let mut log: Vec<Done> = Vec::new();
        // What was done to make room, and for which key.
        let mut rooms: Vec<(usize, Vec<Undo>)> = Vec::new();
        for i in 0..keys.len() {
            let mut undo = Vec::new();
            match each(self, i, &mut undo) {
                Ok(done) => {
                    log.push(done);
                    if !undo.is_empty() {
                        rooms.push((i, undo));
                    }
                }
                Err(error) => {
                    self.take_back(undo);
                    for (i, done) in log.iter().enumerate().rev() {
                        self.reverse(*done, hash_of(self, i), rooms.pop_if(|room| room.0 == i));
                    }
                    self.len = len;
                    self.moves.forget();
                    return Err(error);
                }
            }
        }
        for (i, Done { added, removed, .. }) in log.into_iter().enumerate() {
            if self.smaller.is_none() {
                break;
            }
            for (bits, change) in [(removed, Change::Remove(1)), (added, Change::Add(1))] {
                if bits > 0 {
                    self.copy_change(hash_of(self, i).fingerprint(u32::from(bits)), change);
                }
            }
        }
        self.end_operation(keys.len() as u64);
        Ok(())
    }

    /// Takes back what a batch did for one key.
    #[cold]
    fn reverse(&mut self, done: Done, hash: Hash, room: Option<(usize, Vec<Undo>)>) {
        if done.added > 0 {
            let fingerprint = hash.fingerprint(u32::from(done.added));
            let fits = |level: &&mut Level| level.table.shape().position_bits() <= fingerprint.len();
            if let Some(level) = self.levels.iter_mut().find(fits) {
                level.take(Which::Table, fingerprint);
            }
        }
        if let Some((_, undo)) = room {
            self.take_back(undo);
        }
        if done.removed > 0 {
            let fingerprint = hash.fingerprint(u32::from(done.removed));
            self.levels[usize::from(done.level)].put_back(done.place, fingerprint);
        }
    }
}
