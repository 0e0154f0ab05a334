//! Cascades: a filter that cannot learn becomes one that can, by marking cells as dead.
//!
//! # The idea
//!
//! A cascade is a row of [layers](Layer), each a filter that never changes its mind. All keys are in the first. If a query turns
//! out to be a mistake there, one of its cells is marked as dead, and the keys that have this cell go to the second layer, which
//! has other hash functions and a smaller error rate; a mistake there is treated in the same way. A query looks into the first
//! layer; only if its cell is dead, the next one knows more.
//!
//! The keys of a cell come from a map in the order of their hashes ([`Lookup`]), as for all filters here. So a cell that may die
//! is a stretch of the map: its keys are found with one scan, in whichever layer it is.
//!
//! When a later layer has no room left, the cascade is *rebuilt* from its keys: all that it has learned is forgotten, and with it
//! which of its answers were known to be wrong, since all hash functions are new.
//!
//! | file | what it does |
//! |---|---|
//! | `mod.rs` | the cascade: asking, inserting, rebuilding |
//! | `learn.rs` | which cells die of a mistake, and which keys go on; all of it or nothing |
//! | `layer.rs` | what is asked of a layer |
//! | `bloom.rs`, `quotient.rs` | Bloom filters and quotient filters as layers |
//! | `set.rs` | a cascade and its map |
//! | `builder.rs`, `persist.rs` | size and error rate; bytes and files |
//!
//! # What it promises
//!
//! No false negatives, as every filter here. A query is a mistake with at most the probability that was asked for, whatever was
//! asked before, for anyone who does not know the hash key. It is *not* promised that a mistake never comes back: keys that go to
//! a later layer because of another mistake may collide with it there, and a rebuild forgets. [`AdaptiveSet`](crate::AdaptiveSet)
//! promises that, takes less space, asks one table instead of several, and grows without reading all keys again: take it, unless you
//! want to compare.
//!
//! # Cost
//!
//! Layers with error rates ε, ε², ε⁴ and so on. The second one has room for four times ε of the keys, so all later layers together
//! take a share of about 8ε of the first one's space. An insert does not read the map.
//!
//! # Source
//!
//! Section 5 of *Bloom Filters, Adaptivity, and the Dictionary Problem* (Bender et al.), theorems 19 and 20. We deviate in three
//! points. A single cell per key can die, the one that is a stretch of the map, where the paper picks any and asks an oracle for its
//! keys; so only one array needs the bits that say so, and a later layer has one hash function more, because whoever comes there
//! shares that cell for certain. Later layers have four times the room, so that rebuilds are rare. And there is no last layer of
//! another kind: error rates end at 2^-40, and what two layers of that rate do not tell apart has equal hashes.

mod bloom;
mod builder;
mod layer;
mod learn;
mod persist;
mod quotient;
mod set;
#[cfg(test)]
mod tests;

pub use bloom::BloomLayer;
pub use builder::Builder;
pub use layer::{Layer, Probe, Seen};
pub use quotient::QuotientLayer;
pub use set::CascadeSet;

use learn::{Inserted, Plan};

use std::fmt;
use std::ops::ControlFlow;

use crate::error::{BuildError, CascadeError};
use crate::filter::batch::FAR;
use crate::hash::Hasher;
use crate::key::Key;
use crate::reverse_map::{Lookup, Row};

/// There are never more layers.
const MOST_LAYERS: usize = 12;
/// No layer has a smaller error rate.
const LEAST_RATE: f64 = 1.0 / (1u64 << 40) as f64;
/// How many times the keys that are expected in a later layer find room there.
const ROOM: f64 = 4.0;
/// Every layer has room for as many.
const LEAST_KEYS: u64 = 32;

/// An adaptive Bloom filter: see the [cascade](self) that it is.
///
/// ```
/// use twiceshy::cascade::BloomCascade;
///
/// let mut filter = BloomCascade::builder().capacity(1_000).error_rate(0.01).build()?;
/// filter.insert("moth")?;
/// assert!(filter.contains("moth"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub type BloomCascade = Cascade<BloomLayer>;

/// A cascade of quotient filters: see the [cascade](self) that it is.
///
/// ```
/// use twiceshy::cascade::QuotientCascade;
///
/// let mut filter = QuotientCascade::builder().capacity(1_000).error_rate(0.01).build()?;
/// filter.insert("moth")?;
/// assert!(filter.contains("moth"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub type QuotientCascade = Cascade<QuotientLayer>;

/// Layers of filters, of which a later one has the keys whose cell in the one before is dead.
///
/// It has room for a number of keys, and does not know them: who keeps them gives a [`Lookup`] to learn. [`CascadeSet`] is a
/// cascade with its keys in a map, and grows.
#[derive(Clone)]
pub struct Cascade<L> {
    hasher: Hasher,
    /// What the hash functions of all layers are derived from; secret, as it comes from the hash key.
    salt: u64,
    /// How often it was rebuilt.
    epoch: u64,
    capacity: u64,
    error_rate: f64,
    /// Keys.
    len: u64,
    layers: Vec<Counted<L>>,
}

/// A layer, and how many keys have been in it.
#[derive(Clone)]
struct Counted<L> {
    layer: L,
    keys: u64,
}

/// What came of an attempt to learn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Learned {
    /// The query was a mistake, and is none now.
    Fixed {
        /// How many cells have died for it.
        cells: u32,
        /// How many keys went to a later layer, each as often as it did.
        moved: u64,
    },
    /// The query is a key.
    WasMember,
    /// The filter did not say *maybe*.
    NotPositive,
}

/// What a layer has and knows; see [`Cascade::layers`].
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct LayerStats {
    /// Keys that were put into it; those that have gone on count, too.
    pub keys: u64,
    /// Keys that it has room for.
    pub capacity: u64,
    /// Cells that are dead.
    pub dead: u64,
    /// The error rate that it was made for.
    pub error_rate: f64,
    /// The bytes of its tables.
    pub bytes: usize,
}

/// The hash of a key, as far as a cascade needs it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Hashed {
    place: u64,
    later: u64,
}

impl<L: Layer> Cascade<L> {
    /// Chooses capacity, error rate and hash.
    pub fn builder() -> Builder<L> {
        Builder::default()
    }

    fn empty(hasher: Hasher, epoch: u64, capacity: u64, error_rate: f64) -> Result<Self, BuildError> {
        let mut empty = Self::without_layers(hasher, epoch, capacity, error_rate);
        empty.add_layer()?;
        Ok(empty)
    }

    fn without_layers(hasher: Hasher, epoch: u64, capacity: u64, error_rate: f64) -> Self {
        let salt = hasher.word_bytes(b"twiceshy cascade", 1);
        Self { hasher, salt, epoch, capacity, error_rate, len: 0, layers: Vec::new() }
    }

    /// The keys that a layer has room for, and its error rate.
    fn room(&self, number: usize) -> (u64, f64) {
        let (mut keys, mut rate) = (self.capacity, self.error_rate);
        for _ in 0..number {
            keys = ((keys as f64 * rate * ROOM).ceil() as u64).max(LEAST_KEYS);
            rate = (rate * rate).max(LEAST_RATE);
        }
        (keys, rate)
    }

    fn add_layer(&mut self) -> Result<(), BuildError> {
        let number = self.layers.len();
        let (keys, rate) = self.room(number);
        self.layers.push(Counted { layer: L::new(keys, rate, number == 0)?, keys: 0 });
        Ok(())
    }

    fn hashed(&self, key: &[u8]) -> Hashed {
        Hashed { place: self.hasher.hash_bytes(key), later: self.hasher.word_bytes(key, 1) }
    }

    fn hashed_row(&self, row: Row<'_>) -> Hashed {
        Hashed { place: row.hash, later: self.hasher.word_bytes(row.key, 1) }
    }

    /// What a layer knows of a key.
    #[inline(always)]
    fn probe(&self, layer: usize, key: Hashed) -> Probe {
        let own =
            self.salt.wrapping_add((self.epoch << 8 | layer as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15));
        Probe { place: key.place, bits: mixed(key.later ^ mixed(own)) }
    }

    /// The layer that says *maybe*.
    #[inline(always)]
    fn present_in(&self, key: Hashed) -> Option<usize> {
        for (number, counted) in self.layers.iter().enumerate() {
            match counted.layer.look(self.probe(number, key)) {
                Seen::Absent => return None,
                Seen::Present => return Some(number),
                Seen::Dead => {}
            }
        }
        None
    }

    /// The layers that a key is to be in: up to the first where its cell is alive. A key that is in has them all.
    fn home(&self, key: Hashed) -> usize {
        let is_alive = |&number: &usize| {
            self.layers.get(number).is_none_or(|counted| !counted.layer.is_dead(self.probe(number, key)))
        };
        (0..).find(is_alive).unwrap_or_default()
    }

    /// Whether `key` may have been inserted. `false` is certain.
    pub fn contains<K: Key + ?Sized>(&self, key: &K) -> bool {
        self.present_in(self.hashed(key.key_bytes().as_ref())).is_some()
    }

    /// [`contains`](Self::contains) for many keys: sets `found[i]` for `keys[i]`.
    ///
    /// # Panics
    ///
    /// If the slices have different lengths.
    pub fn contains_batch<K: Key>(&self, keys: &[K], found: &mut [bool]) {
        assert_eq!(keys.len(), found.len(), "as many answers as keys");
        let mut hashes = [Hashed { place: 0, later: 0 }; FAR];
        for (keys, found) in keys.chunks(FAR).zip(found.chunks_mut(FAR)) {
            for (key, hash) in keys.iter().zip(&mut hashes) {
                *hash = self.hashed(key.key_bytes().as_ref());
                self.layers[0].layer.prefetch(self.probe(0, *hash));
            }
            for (found, &hash) in found.iter_mut().zip(&hashes) {
                *found = self.present_in(hash).is_some();
            }
        }
    }

    /// Inserts a key. A key that is in already counts once more: who keeps the keys knows.
    ///
    /// No key is read again. [`CascadeError::NeedsRebuild`] if a layer has no room.
    pub fn insert<K: Key + ?Sized>(&mut self, key: &K) -> Result<(), CascadeError> {
        self.insert_bytes(key.key_bytes().as_ref()).map(drop)
    }

    fn insert_bytes(&mut self, key: &[u8]) -> Result<Inserted<L>, CascadeError> {
        let hash = self.hashed(key);
        let home = self.home(hash);
        let comes = (0..=home).map(|number| (number, hash)).collect();
        let inserted = self.carry_out(Plan { kills: Vec::new(), comes }, hash)?;
        self.len += 1;
        Ok(inserted)
    }

    /// Removes a key that is in, as far as the layers can: a Bloom filter keeps its cells until the next rebuild. The caller's word
    /// that the key is in counts: removing another one may lose a key.
    pub fn remove<K: Key + ?Sized>(&mut self, key: &K) {
        self.remove_bytes(key.key_bytes().as_ref());
    }

    fn remove_bytes(&mut self, key: &[u8]) {
        let hash = self.hashed(key);
        let home = self.home(hash);
        for number in 0..=home.min(self.layers.len() - 1) {
            let probe = self.probe(number, hash);
            let counted = &mut self.layers[number];
            if counted.layer.remove(probe) {
                counted.keys = counted.keys.saturating_sub(1);
            }
        }
        self.len = self.len.saturating_sub(1);
    }

    /// A new cascade of all keys that `lookup` has, with hash functions of its own and room for `capacity` keys: nothing that was
    /// learned is left.
    pub fn rebuilt<M: Lookup + ?Sized>(
        &self,
        lookup: &M,
        capacity: u64,
    ) -> Result<Self, CascadeError<M::Error>> {
        let fresh = Self::empty(self.hasher.clone(), self.epoch + 1, capacity, self.error_rate);
        let (mut fresh, mut failed) = (fresh.map_err(CascadeError::Build)?, None);
        lookup
            .visit(0..=u64::MAX, &mut |row| match fresh.insert_bytes(row.key) {
                Ok(_) => ControlFlow::Continue(()),
                Err(error) => {
                    failed = Some(error);
                    ControlFlow::Break(())
                }
            })
            .map_err(CascadeError::Map)?;
        failed.map_or(Ok(fresh), |error| Err(error.with_map()))
    }

    /// How many keys were inserted and not removed since.
    pub fn len(&self) -> u64 {
        self.len
    }

    /// Whether there is no key.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// How many keys there is room for.
    pub fn capacity(&self) -> u64 {
        self.capacity
    }

    /// The error rate that was asked for.
    pub fn error_rate(&self) -> f64 {
        self.error_rate
    }

    /// How often it was rebuilt.
    pub fn rebuilds(&self) -> u64 {
        self.epoch
    }

    /// The bytes of all tables.
    pub fn size_in_bytes(&self) -> usize {
        self.layers.iter().map(|counted| counted.layer.size_in_bytes()).sum()
    }

    /// How it hashes its keys.
    pub fn hasher(&self) -> &Hasher {
        &self.hasher
    }

    /// What the layers have, from the first to the last that there is.
    pub fn layers(&self) -> Vec<LayerStats> {
        let stats = |(number, counted): (usize, &Counted<L>)| {
            let (capacity, error_rate) = self.room(number);
            let layer = &counted.layer;
            LayerStats {
                keys: counted.keys,
                capacity,
                dead: layer.dead(),
                error_rate,
                bytes: layer.size_in_bytes(),
            }
        };
        self.layers.iter().enumerate().map(stats).collect()
    }

    /// The probability that a key that was never inserted is found now.
    pub fn expected_error_rate(&self) -> f64 {
        let (mut rate, mut gets_there) = (0.0, 1.0);
        for (number, counted) in self.layers.iter().enumerate() {
            let (present, dead) = counted.layer.rates();
            // In a later layer the cell that tells nothing is set for certain.
            let present = if number == 0 { present } else { self.room(number).1 };
            rate += gets_there * present;
            gets_there *= dead.min(1.0);
        }
        rate
    }
}

/// Every bit of the word depends on all of them, and none is lost: the finaliser of SplitMix64.
#[inline(always)]
fn mixed(word: u64) -> u64 {
    let word = (word ^ word >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let word = (word ^ word >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
    word ^ word >> 31
}

/// A summary, without the hash key and without the contents.
impl<L: Layer> fmt::Debug for Cascade<L> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct(L::NAME)
            .field("len", &self.len)
            .field("capacity", &self.capacity)
            .field("error_rate", &self.error_rate)
            .field("layers", &self.layers())
            .finish()
    }
}
