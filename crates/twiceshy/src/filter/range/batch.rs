//! Many keys or ranges in one call: the memory of the next ones is on its way while the present one is worked on.

use std::borrow::Borrow;
use std::ops::RangeBounds;

use super::boxed::{Boxed, InsertAtGlance};
use super::key::codes;
use super::{RangeFilter, RangeKey};
use crate::bits::cpu::{Cpu, dispatch};
use crate::codec::boxes;
use crate::error::InsertError;
use crate::filter::batch::{CHUNK, Probe, ask_ahead, contains_all};

/// Parts of partitions that are looked up together, and whose they are.
struct Parts {
    partitions: [u128; CHUNK],
    hashes: [u64; CHUNK],
    /// The smallest and the largest suffix of each.
    suffixes: [(u16, u16); CHUNK],
    /// Which answer it belongs to.
    owners: [usize; CHUNK],
    found: [bool; CHUNK],
    count: usize,
}

impl Parts {
    fn new() -> Self {
        Self {
            partitions: [0; CHUNK],
            hashes: [0; CHUNK],
            suffixes: [(0, 0); CHUNK],
            owners: [0; CHUNK],
            found: [false; CHUNK],
            count: 0,
        }
    }

    #[inline(always)]
    fn push(&mut self, owner: usize, partition: u128, from: u16, to: u16) {
        let at = self.count % CHUNK;
        (self.partitions[at], self.suffixes[at], self.owners[at]) = (partition, (from, to), owner);
        self.count += 1;
    }

    /// Looks all of them up, and forgets them.
    fn look_up<K: RangeKey + ?Sized, B: AsRef<[u8]>>(
        &mut self,
        filter: &RangeFilter<K, B>,
        found: &mut [bool],
    ) {
        let count = std::mem::take(&mut self.count);
        let (hashes, answers) = (&mut self.hashes[..count], &mut self.found[..count]);
        filter.hasher.hash_all(&self.partitions[..count], hashes);
        contains_all(One { boxed: filter.boxes.borrowed(), suffixes: &self.suffixes }, hashes, answers);
        for (owner, answer) in self.owners.iter().zip(answers) {
            found[*owner] |= *answer;
        }
    }
}

impl<K: RangeKey + ?Sized, B: AsRef<[u8]>> RangeFilter<K, B> {
    /// [`contains`](Self::contains) for every key, in order.
    ///
    /// ```
    /// # use twiceshy::RangeFilter;
    /// let filter: RangeFilter<u64> = [3, 900].into_iter().collect();
    /// let mut found = [false; 3];
    /// filter.contains_batch(&[3, 900, 901], &mut found);
    /// assert_eq!(found[..2], [true, true]);
    /// ```
    ///
    /// # Panics
    ///
    /// If there are not as many answers as keys.
    pub fn contains_batch<T: Borrow<K>>(&self, keys: &[T], found: &mut [bool]) {
        self.in_parts(keys.len(), found, |parts, number| {
            let (partition, suffix) = self.settings.cut.split_of::<K>(keys[number].borrow().code());
            parts.push(number, partition, suffix, suffix);
            None
        });
    }

    /// [`contains_range`](Self::contains_range) for every range, in order.
    ///
    /// ```
    /// # use twiceshy::RangeFilter;
    /// let filter: RangeFilter<u64> = [3, 900].into_iter().collect();
    /// let mut found = [false; 3];
    /// filter.contains_range_batch(&[0..10, 890..901, 7..7], &mut found);
    /// assert_eq!(found, [true, true, false]);
    /// ```
    ///
    /// # Panics
    ///
    /// If there are not as many answers as ranges.
    pub fn contains_range_batch<R: RangeBounds<K>>(&self, ranges: &[R], found: &mut [bool]) {
        let cut = self.settings.cut;
        let most = (cut.max_range() - 1) as u16;
        self.in_parts(ranges.len(), found, |parts, number| {
            let Some(codes) = codes::<K>(&ranges[number]) else { return Some(false) };
            let ((first, from), (last, to)) =
                (cut.split_of::<K>(*codes.start()), cut.split_of::<K>(*codes.end()));
            match last - first {
                0 => parts.push(number, first, from, to),
                1 => {
                    parts.push(number, first, from, most);
                    parts.push(number, last, 0, to);
                }
                _ => return Some(self.contains_codes::<K>(&codes)),
            }
            None
        });
    }

    /// Finds so many answers, given what is to be looked up for each (up to two parts), or the answer.
    #[inline(always)]
    fn in_parts(
        &self,
        count: usize,
        found: &mut [bool],
        mut each: impl FnMut(&mut Parts, usize) -> Option<bool>,
    ) {
        assert_eq!(count, found.len(), "as many answers as questions");
        let mut parts = Parts::new();
        for number in 0..count {
            found[number] = each(&mut parts, number).unwrap_or(false);
            if parts.count > CHUNK - 2 {
                parts.look_up(self, found);
            }
        }
        parts.look_up(self, found);
    }
}

/// A table of its own, so that its measures can stay in registers.
struct One<'a> {
    boxed: Boxed<&'a [u8]>,
    suffixes: &'a [(u16, u16); CHUNK],
}

impl Probe for One<'_> {
    #[inline(always)]
    fn ask_far<C: Cpu>(&self, cpu: C, hash: u64) {
        self.boxed.table.prefetch_far(cpu, hash);
    }

    #[inline(always)]
    fn ask_near<C: Cpu>(&self, cpu: C, hash: u64) {
        self.boxed.table.prefetch(cpu, hash);
    }

    #[inline(always)]
    fn contains<C: Cpu>(&self, cpu: C, number: usize, hash: u64) -> bool {
        let (Boxed { table, codec, .. }, (from, to)) = (&self.boxed, self.suffixes[number % CHUNK]);
        boxes::meets(cpu, table, *codec, table.address().home(cpu, hash), boxes::Probe { hash, from, to })
    }
}

impl<K: RangeKey + ?Sized> RangeFilter<K> {
    /// Inserts a copy of every key, or none of them if there is an error; then the filter's bytes are as they were. Tells how
    /// many were not there before.
    pub fn insert_batch<T: Borrow<K>>(&mut self, keys: &[T]) -> Result<u64, InsertError> {
        let (mut new, mut done) = (0, 0);
        let mut start = Start { len: self.len, before_growth: None };
        let (mut partitions, mut hashes) = ([0; CHUNK], [0; CHUNK]);
        for chunk in keys.chunks(CHUNK) {
            let hashes = &mut hashes[..chunk.len()];
            for (partition, key) in partitions.iter_mut().zip(chunk) {
                *partition = self.settings.cut.split_of::<K>(key.borrow().code()).0;
            }
            self.hasher.hash_all(&partitions[..chunk.len()], hashes);
            for (i, key) in chunk.iter().enumerate() {
                ask_ahead(&self.boxes.table, hashes, i);
                let (hash, suffix) = (hashes[i], self.settings.cut.split_of::<K>(key.borrow().code()).1);
                let inserted =
                    self.has_room() && dispatch(InsertAtGlance { boxed: &mut self.boxes, hash, suffix });
                self.count_new(inserted);
                if !inserted {
                    match self.insert_slowly(hash, suffix, |old| start.keep(old, done)) {
                        Ok(is_new) => new += u64::from(is_new),
                        Err(error) => {
                            self.take_back(&keys[..done], start);
                            return Err(error);
                        }
                    }
                }
                new += u64::from(inserted);
                done += 1;
            }
        }
        Ok(new)
    }

    /// Removes what a batch has inserted so far, the last key first: so the table is again as it was before each of them. Equal
    /// contents are equal bytes, so this leaves no trace.
    #[cold]
    fn take_back<T: Borrow<K>>(&mut self, mut keys: &[T], start: Start) {
        if let Some((boxes, done)) = start.before_growth {
            (self.boxes, keys) = (boxes, &keys[..done]);
        }
        for key in keys.iter().rev() {
            let (partition, suffix) = self.settings.cut.split_of::<K>(key.borrow().code());
            self.boxes.remove(self.hasher.hash(&partition), suffix);
        }
        self.len = start.len;
    }
}

/// How a filter was when a batch began.
struct Start {
    len: u64,
    /// The table that the batch began with, once there is a larger one, and how many of the batch are in it.
    before_growth: Option<(Boxed, usize)>,
}

impl Start {
    fn keep(&mut self, boxes: Boxed, done: usize) {
        self.before_growth.get_or_insert((boxes, done));
    }
}
