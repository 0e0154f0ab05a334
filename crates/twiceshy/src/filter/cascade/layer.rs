//! What a cascade asks of the filters that it consists of.

use std::fmt::Debug;
use std::ops::RangeInclusive;

use crate::error::{BuildError, Full};
use crate::persist::ReadError;

/// What one layer knows of a key: where the key is in the map, and bits that are this layer's own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Probe {
    /// The first 64 bits of its hash, by which the map is ordered.
    pub(crate) place: u64,
    /// Bits that no other layer has, nor this one after a rebuild.
    pub(crate) bits: u64,
}

/// What a layer says of a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Seen {
    /// It is not here, nor in a later layer.
    Absent,
    /// It may be here.
    Present,
    /// It would be here, but its cell is dead: the next layer knows.
    Dead,
}

/// A filter that can mark one of the cells of a key as dead.
///
/// Cells are such that the keys of one are near each other in the map: those whose first 64 bits lie in
/// [`places`](Self::places), and which [share it](Self::is_same_cell).
pub trait Layer: Sized + Clone + Debug {
    /// What it takes to take an insertion back.
    type Undo;

    /// Its number in a file, and its name in one word.
    const NUMBER: u8;
    /// What a cascade of it is called.
    const NAME: &'static str;

    /// An empty one for so many keys and such an error rate; the first of a cascade, or one that only those reach who share
    /// a dead cell with one of its keys.
    fn new(keys: u64, error_rate: f64, is_first: bool) -> Result<Self, BuildError>;

    /// What it says of a key, if these others were there, too.
    fn look_among(&self, probe: Probe, others: &[Probe]) -> Seen;

    /// What it says of a key.
    fn look(&self, probe: Probe) -> Seen;

    /// Whether the cell of a key is dead, whether or not the key is here.
    fn is_dead(&self, probe: Probe) -> bool;

    /// Where in the map the keys of a key's cell are.
    fn places(&self, probe: Probe) -> RangeInclusive<u64>;

    /// Whether two keys have the same cell.
    fn is_same_cell(&self, one: Probe, other: Probe) -> bool;

    /// Puts a key in, whether or not its cell is dead.
    fn insert(&mut self, probe: Probe) -> Result<Self::Undo, Full>;

    /// Takes the last insertion back that was not taken back yet.
    fn undo(&mut self, probe: Probe, undo: Self::Undo);

    /// Takes a key out that is in. Tells whether there is room for another one now.
    fn remove(&mut self, probe: Probe) -> bool;

    /// Marks the cell of a key as dead.
    fn kill(&mut self, probe: Probe) -> Result<(), Full>;

    /// Marks it as alive: it was killed last.
    fn revive(&mut self, probe: Probe, copies: u64);

    /// How many copies of something the cell of a key has that [`kill`](Self::kill) drops.
    fn copies(&self, _: Probe) -> u64 {
        0
    }

    /// Asks for the memory that a look needs first.
    fn prefetch(&self, probe: Probe);

    /// The probabilities that a key that was never inserted is present, and that it is dead.
    fn rates(&self) -> (f64, f64);

    /// How many cells are dead.
    fn dead(&self) -> u64;

    /// The bytes of its tables.
    fn size_in_bytes(&self) -> usize;

    /// Its bytes in a file.
    fn to_bytes(&self) -> Vec<u8>;

    /// Reads them, given what the layer was made for.
    fn from_bytes(bytes: &[u8], keys: u64, error_rate: f64, is_first: bool) -> Result<Self, ReadError>;
}
