//! The expandable filter: a multiset of fingerprints that doubles for ever, without ever reading a key.
//!
//! # The idea
//!
//! A slot holds a string of bits that ends with a stop bit ([`codec::stop`](crate::codec::stop)), so entries of
//! one table may have fingerprints of different lengths. When the table is full it doubles: every fingerprint
//! gives one stored bit to the quotient, and stays the same string. Keys that come later get the full length
//! again. Half of the entries are always new, a quarter is one bit shorter, and so on: the old ones are so few
//! that their short fingerprints do little harm.
//!
//! A query is positive iff some stored fingerprint is a prefix of the key's hash. Fingerprints may be prefixes
//! of each other. Removing takes the *longest* prefix: whoever relies on a shorter one still has it.
//!
//! | file | what |
//! |---|---|
//! | `lengths.rs` | how long new fingerprints are: the modes, and the proof of the error rate |
//! | `fingerprint.rs` | fingerprints and hashes apart from a table |
//! | `place.rs`, `fill.rs`, `level.rs` | which table an entry belongs to; the chain |
//! | `grow.rs`, `spread.rs` | doubling at once, or little by little |
//! | `shrink.rs`, `smaller.rs` | halving at once, or little by little |
//! | `rejuvenate.rs`, `merge.rs`, `batch.rs`, `iter.rs`, `stats.rs`, `persist.rs` | as they say |
//!
//! # Cost
//!
//! `(ℓ + 3.125) / load` bits per key, with `ℓ` bits of fingerprint for new keys. Queries and updates touch one
//! or two cache lines of the active table, and the same of each table of the chain, if there is one.
//!
//! # Source
//!
//! Section 4 of *InfiniFilter*; the files say where we deviate. Repeated keys are counted
//! ([`codec::aged`](crate::codec::aged)): a million copies of one key take a few slots.

mod batch;
mod builder;
mod fill;
pub(super) mod fingerprint;
mod grow;
mod iter;
pub(super) mod lengths;
mod level;
mod merge;
mod persist;
mod place;
mod rejuvenate;
mod shrink;
mod smaller;
mod spread;
mod stats;
#[cfg(test)]
mod tests;
mod validate;

pub use builder::Builder;
pub use iter::{Iter, PrefixCount};
pub use lengths::Mode;
pub use persist::View;
pub use stats::{AgeStats, Stats, TableStats};

use crate::bits::cpu::dispatch;
use crate::codec::counted::{self, Change};
use crate::codec::{aged, stop};
use crate::error::{BuildError, ExpandError};
use crate::filter::macros::{cloned, hashing, kernel, shown};
use crate::filter::room::Effort;
use crate::hash::{Hasher, hashed, tried};
use crate::key::Key;
use crate::mem::{Memory, OutOfMemory};
use crate::table::Table;
use fingerprint::{Fingerprint, Hash};
use grow::Undo;
use level::{Level, Which};
use place::Settings;
use smaller::Smaller;
use spread::Moves;

/// A filter that starts small and doubles for ever: no size to guess, no keys to read again.
///
/// - `contains` never says `false` for a key that was inserted and not removed since.
/// - For any other key it says `true` with at most the error rate that the filter was built for, **at every
///   size it grows to** (in the default [`Mode::Growing`]).
/// - It is a multiset: a key that was inserted twice is there until it was removed twice.
///
/// ```
/// use twiceshy::ExpandableFilter;
///
/// let mut seen = ExpandableFilter::new(0.001)?;
/// for number in 0..100_000u32 {
///     seen.insert(&number)?;
/// }
/// assert!((0..100_000u32).all(|number| seen.contains(&number)));
/// let wrong = (100_000..200_000u32).filter(|number| seen.contains(number)).count();
/// assert!(wrong < 150, "{wrong}"); // 100 on average at the most
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Which mode
///
/// [`Mode`] says what each of the three costs. Take the default unless the filter must be as small as possible
/// and a rate that grows with the logarithm of its size is fine.
///
/// # Old keys
///
/// A key's fingerprint loses a bit with every doubling. Where the keys can be read again (after a hit, or while
/// files are compacted), [`rejuvenate`](Self::rejuvenate) gives it the full length back, which lowers the error
/// rate. A filter without it keeps its promises too.
///
/// The type parameter says where the bytes live: [`Memory`] for a filter that can be changed, `&[u8]` in a
/// [view](View) of a file.
pub struct ExpandableFilter<B = Memory> {
    /// The active table, where new entries go, and the chain after it. At least one.
    levels: Vec<Level<B>>,
    hasher: Hasher,
    settings: Settings,
    /// Copies of all keys.
    len: u64,
    /// Whether the first 64 bits of a hash are all that any table compares, and no table is on the move.
    is_plain: bool,
    /// With fewer slots in use the active table gets smaller.
    shrink_below: u64,
    /// How many slots were in use when the active table grew early because it was crowded, if it did.
    crowded_at: Option<u64>,
    /// The tables that are to take the place of the present ones, if the filter gets smaller little by little.
    smaller: Option<Box<Smaller>>,
    moves: Moves,
}

impl ExpandableFilter {
    /// A small filter that keeps the error rate at every size, with a random hash key.
    ///
    /// See [`builder`](Self::builder) for everything that can be chosen.
    pub fn new(error_rate: f64) -> Result<Self, BuildError> {
        Self::builder().error_rate(error_rate).build()
    }

    /// Chooses mode, error rate, hash and how the filter grows.
    pub fn builder() -> Builder {
        Builder::default()
    }

    /// An empty filter of the size at the start that hashes and grows in the same way: the two can be merged.
    pub fn empty_like(&self) -> Result<Self, OutOfMemory> {
        Self::from_settings(self.settings, self.hasher.clone())
    }

    fn from_settings(settings: Settings, hasher: Hasher) -> Result<Self, OutOfMemory> {
        let table = Table::new(settings.shape(None, settings.least_quotient_bits))?;
        Ok(Self::from_levels(vec![settings.level(table)], hasher, settings, 0))
    }

    /// Inserts a copy of `key`. `true` if no copy of its full fingerprint was there before.
    ///
    /// An error changes nothing.
    #[inline]
    pub fn insert<K: Key + ?Sized>(&mut self, key: &K) -> Result<bool, ExpandError> {
        let may_try = self.takes_at_glance();
        let (hash, inserted) = tried(may_try, &mut *self, key, |filter, hash| InsertAtGlance {
            table: &mut filter.levels[0].table,
            hash,
        });
        self.len += u64::from(inserted);
        if inserted {
            return Ok(true);
        }
        let hash = self.whole_hash(key, hash);
        self.insert_slowly(hash)
    }

    /// [`insert`](Self::insert) for callers who hash themselves. All bits of the hash must be evenly
    /// distributed. There are 64 of them, so no fingerprint is longer; that is enough for 2^40 keys.
    ///
    /// Ask with [`contains_hash`](Self::contains_hash) for what was inserted in this way.
    #[inline]
    pub fn insert_hash(&mut self, hash: u64) -> Result<bool, ExpandError> {
        if self.insert_at_glance(hash) {
            return Ok(true);
        }
        self.insert_slowly(Hash::raw(hash, self.settings.block_bits))
    }

    /// Whether the usual insert may be tried.
    #[inline(always)]
    fn takes_at_glance(&self) -> bool {
        let Some(level) = self.levels.first() else { return false };
        let is_usual = self.is_plain && self.smaller.is_none();
        is_usual && level.table.used() < level.limit && self.len < u64::MAX
    }

    /// The usual insert; `false` if it is not one, with nothing changed.
    #[inline(always)]
    fn insert_at_glance(&mut self, hash: u64) -> bool {
        let inserted =
            self.takes_at_glance() && dispatch(InsertAtGlance { table: &mut self.levels[0].table, hash });
        self.len += u64::from(inserted);
        inserted
    }

    fn insert_slowly(&mut self, hash: Hash) -> Result<bool, ExpandError> {
        let len = self.len.checked_add(1).ok_or(ExpandError::TooManyCopies)?;
        let mut undo = Vec::new();
        match self.add_hash(hash, &mut undo) {
            Ok((fingerprint, before)) => {
                self.len = len;
                self.copy_change(fingerprint, Change::Add(1));
                self.end_operation(1);
                Ok(before == 0)
            }
            Err(error) => {
                self.take_back(undo);
                self.moves.forget();
                Err(error)
            }
        }
    }

    /// Adds the full fingerprint of a hash, growing if need be. Tells which it was and how many copies there were
    /// before. After an error, what is in `undo` is to be taken back.
    fn add_hash(&mut self, hash: Hash, undo: &mut Vec<Undo>) -> Result<(Fingerprint, u64), ExpandError> {
        let mut effort = Effort::Usual;
        loop {
            // Longer after growth.
            let fingerprint = hash.fingerprint(self.full_bits());
            if fingerprint.len() < self.levels[0].table.shape().position_bits() {
                return Ok((fingerprint, self.add(fingerprint, 1, undo)?));
            }
            let level = &mut self.levels[0];
            match level.change(Which::Table, fingerprint, Change::Add(1), level.limits(effort)) {
                Ok(before) => return Ok((fingerprint, before)),
                Err(why) => effort = self.make_room(0, why, effort, undo)?,
            }
        }
    }

    /// Removes a copy of `key`. `false` if there is none.
    ///
    /// **Remove only keys that were inserted.** A key that merely looks present shares its fingerprint with
    /// another one, and removing it removes that one: it may then be missing, although it was inserted.
    ///
    /// After many removals the filter gets smaller by itself, but not smaller than it was at the start: at once,
    /// or little by little with [`spread_growth`](Builder::spread_growth).
    #[inline]
    pub fn remove<K: Key + ?Sized>(&mut self, key: &K) -> bool {
        let may_try = self.removes_at_glance();
        let (hash, removed) = tried(may_try, &mut *self, key, |filter, hash| RemoveAtGlance {
            table: &mut filter.levels[0].table,
            hash,
        });
        if removed {
            self.end_removal();
            return true;
        }
        let hash = self.whole_hash(key, hash);
        self.remove_slowly(hash)
    }

    /// [`remove`](Self::remove) for callers who hash themselves.
    #[inline]
    pub fn remove_hash(&mut self, hash: u64) -> bool {
        if self.removes_at_glance() && dispatch(RemoveAtGlance { table: &mut self.levels[0].table, hash }) {
            self.end_removal();
            return true;
        }
        self.remove_slowly(Hash::raw(hash, self.settings.block_bits))
    }

    /// Whether the usual removal may be tried. What is in the chain is shorter than all that is in the first table.
    #[inline(always)]
    fn removes_at_glance(&self) -> bool {
        self.is_plain && self.smaller.is_none()
    }

    /// What follows a usual removal.
    #[inline(always)]
    fn end_removal(&mut self) {
        self.len -= 1;
        if self.levels[0].table.used() < self.shrink_below {
            self.end_operation(1);
        }
    }

    fn remove_slowly(&mut self, hash: Hash) -> bool {
        let Some((number, fingerprint, place)) = self.longest(hash) else { return false };
        self.levels[number].take(place, fingerprint);
        self.len -= 1;
        self.copy_change(fingerprint, Change::Remove(1));
        self.end_operation(1);
        true
    }

    /// What follows operations that changed something: emptied tables go, moves go on.
    fn end_operation(&mut self, operations: u64) {
        self.drop_empty_levels();
        if self.levels[0].table.used() < self.shrink_below {
            if self.settings.spread_growth { self.begin_to_halve() } else { self.halve() }
        }
        if !self.is_plain {
            self.step(operations);
        }
        self.step_to_smaller(operations);
        self.moves.end();
    }

    /// A copy, or an error if there is no memory for it. A filter on its way to a larger table is copied with
    /// both; one on its way to a smaller table begins anew.
    pub fn try_clone(&self) -> Result<Self, OutOfMemory> {
        let levels = self.levels.iter().map(Level::try_clone).collect::<Result<_, _>>()?;
        let mut copy = Self::from_levels(levels, self.hasher.clone(), self.settings, self.len);
        copy.moves = self.moves;
        Ok(copy)
    }

    /// Removes everything, and takes the size at the start again if there is memory for it.
    pub fn clear(&mut self) {
        match self.empty_like() {
            Ok(empty) => *self = Self { moves: self.moves, ..empty },
            Err(_) => {
                self.levels.truncate(1);
                self.levels[0].old = None;
                self.levels[0].table.clear();
                self.len = 0;
                self.sum_up_levels();
            }
        }
    }
}

impl<B: AsRef<[u8]>> ExpandableFilter<B> {
    fn from_levels(levels: Vec<Level<B>>, hasher: Hasher, settings: Settings, len: u64) -> Self {
        let mut filter = Self {
            levels,
            hasher,
            settings,
            len,
            is_plain: false,
            shrink_below: 0,
            crowded_at: None,
            smaller: None,
            moves: Moves::default(),
        };
        filter.sum_up_levels();
        filter
    }

    /// Sees to what follows from the levels, which are others than before.
    fn sum_up_levels(&mut self) {
        self.smaller = None;
        let settled = self.levels.iter().all(|level| level.old.is_none());
        self.is_plain = settled && self.full_bits() < 64 && self.settings.block_bits == 64;
        let can_shrink = settled && self.quotient_bits() > self.settings.least_quotient_bits;
        let quarter = self.levels[0].limit / 4;
        // A table that grew early would shrink at once.
        let least = self.crowded_at.map_or(quarter, |used| quarter.min(used / 2));
        self.shrink_below = if can_shrink { least + 1 } else { 0 };
    }

    /// Whether `key` may have been inserted. `false` is certain.
    #[inline]
    pub fn contains<K: Key + ?Sized>(&self, key: &K) -> bool {
        match &self.levels[..] {
            [_] if self.is_plain => {
                hashed(self, key, |filter, _, hash| ContainsHere { table: &filter.levels[0].table, hash })
            }
            _ => self.contains_elsewhere(key),
        }
    }

    /// [`contains`](Self::contains) if there are several tables, or a move goes on.
    #[inline(never)]
    fn contains_elsewhere<K: Key + ?Sized>(&self, key: &K) -> bool {
        let hash = self.hasher.hash(key);
        if self.is_plain {
            return self.contains_in_chain(hash);
        }
        self.contains_slowly(self.whole_hash(key, hash))
    }

    /// [`contains`](Self::contains) for callers who hash themselves.
    #[inline]
    pub fn contains_hash(&self, hash: u64) -> bool {
        if self.is_plain {
            return self.contains_plainly(hash);
        }
        self.contains_slowly(Hash::raw(hash, self.settings.block_bits))
    }

    #[inline(always)]
    fn contains_plainly(&self, hash: u64) -> bool {
        match &self.levels[..] {
            [level] => dispatch(ContainsHere { table: &level.table, hash }),
            _ => self.contains_in_chain(hash),
        }
    }

    #[inline(never)]
    fn contains_in_chain(&self, hash: u64) -> bool {
        self.levels.iter().any(|level| dispatch(ContainsHere { table: &level.table, hash }))
    }

    #[cold]
    #[inline(never)]
    fn contains_slowly(&self, hash: Hash) -> bool {
        self.levels.iter().any(|level| level.contains(hash))
    }

    /// The longest fingerprint that is a prefix of a hash, and where it is.
    fn longest(&self, hash: Hash) -> Option<(usize, Fingerprint, Which)> {
        // What is in a level is longer than all that is in the levels after it.
        (0..).zip(&self.levels).find_map(|(number, level)| {
            let (fingerprint, place) = level.longest(hash)?;
            Some((number, fingerprint, place))
        })
    }

    /// As much of a key's hash as any table may need, also if it grows now.
    fn whole_hash<K: Key + ?Sized>(&self, key: &K, first: u64) -> Hash {
        let needed = self.full_bits() + 8;
        Hash::of(&self.hasher, key.key_bytes().as_ref(), first, self.settings.block_bits, needed)
    }

    /// How many copies of keys were inserted and not removed since.
    pub fn len(&self) -> u64 {
        self.len
    }

    /// Whether nothing is in the filter.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// How many slots the active table has, without its spill area.
    pub fn slots(&self) -> u64 {
        self.levels[0].table.shape().slots()
    }

    /// How many slots are in use, in all tables.
    pub fn used_slots(&self) -> u64 {
        self.levels.iter().map(Level::used).sum()
    }

    /// How many slots of the active table may be in use before the filter grows.
    pub fn capacity(&self) -> u64 {
        self.levels[0].limit
    }

    /// The share of the active table's slots that is in use.
    pub fn load_factor(&self) -> f64 {
        self.levels[0].table.used() as f64 / self.slots() as f64
    }

    /// The bytes of all tables, also of those that will take the place of others.
    pub fn size_in_bytes(&self) -> usize {
        let smaller = self.smaller.iter().flat_map(|smaller| &smaller.levels).map(Level::size_in_bytes);
        self.levels.iter().map(Level::size_in_bytes).chain(smaller).sum()
    }

    /// How many tables the chain has after the active one.
    pub fn chain_len(&self) -> usize {
        self.levels.len() - 1
    }

    /// Bits of a fingerprint that its position in the active table implies: the number of slots is two to their
    /// power.
    pub fn quotient_bits(&self) -> u32 {
        self.levels[0].table.shape().quotient_bits()
    }

    /// Bits of the fingerprint that a new key gets.
    pub fn fingerprint_bits(&self) -> u32 {
        self.full_bits()
    }

    fn full_bits(&self) -> u32 {
        let shape = self.levels[0].table.shape();
        shape.position_bits() + shape.slot_bits() - 1
    }

    /// How the filter grows.
    pub fn mode(&self) -> Mode {
        self.settings.lengths.mode
    }

    /// How this filter hashes its keys.
    pub fn hasher(&self) -> &Hasher {
        &self.hasher
    }
}

hashing!(ExpandableFilter);
cloned!(ExpandableFilter);
shown! {
    [B: AsRef<[u8]>] ExpandableFilter<B>:
    mode, len, quotient_bits, fingerprint_bits, used_slots, chain_len, size_in_bytes, hasher
}

/// Inserts all keys.
///
/// # Panics
///
/// If a key cannot be inserted; [`insert_batch`](ExpandableFilter::insert_batch) returns an error then.
impl<K: Key> Extend<K> for ExpandableFilter {
    fn extend<I: IntoIterator<Item = K>>(&mut self, keys: I) {
        for key in keys {
            if let Err(error) = self.insert(&key) {
                panic!("{error}");
            }
        }
    }
}

/// A filter with the default settings and all keys.
///
/// ```
/// use twiceshy::ExpandableFilter;
///
/// let seen: ExpandableFilter = ["ant", "bee"].into_iter().collect();
/// assert!(seen.contains("ant") && seen.contains("bee"));
/// ```
///
/// # Panics
///
/// If there is no memory, or no random hash key.
impl<K: Key> FromIterator<K> for ExpandableFilter {
    fn from_iter<I: IntoIterator<Item = K>>(keys: I) -> Self {
        let mut filter = Self::builder().build().unwrap_or_else(|error| panic!("{error}"));
        filter.extend(keys);
        filter
    }
}

kernel! {
    /// Whether a table that compares only the first 64 bits of a hash has a prefix of it.
    // Two fields of a word each fit registers; with a third one all of them would go through memory.
    ContainsHere<'a, B: AsRef<[u8]>> { table: &'a Table<B>, hash: u64 } -> bool
    |cpu| aged::contains(cpu, table, table.home_now(cpu, hash), hash)
}

kernel! {
    InsertAtGlance<'a> { table: &'a mut Table, hash: u64 } -> bool
    |cpu| {
        let (home, window) = table.address().home_and_window(cpu, hash);
        let slot_bits = table.shape().slot_bits();
        let slot = stop::encode(window >> 1, slot_bits - 1, slot_bits);
        counted::insert_at_glance(cpu, table, home, slot)
    }
}

kernel! {
    RemoveAtGlance<'a> { table: &'a mut Table, hash: u64 } -> bool
    |cpu| {
        let (home, window) = table.address().home_and_window(cpu, hash);
        aged::remove_at_glance(cpu, table, home, window)
    }
}
