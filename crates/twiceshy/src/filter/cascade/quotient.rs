//! A quotient filter some of whose fingerprints may be dead.
//!
//! # The idea
//!
//! A fingerprint is a cell: its quotient is cut from the first bits of the hash, by which the map is ordered, so the keys that may
//! have it are found with one scan; its remainder is this layer's own. Fingerprints that are dead lie in a second quotient filter,
//! which is small.
//!
//! # Source
//!
//! The end of section 5 of *Bloom Filters, Adaptivity, and the Dictionary Problem* (theorem 20), for any filter that stores the
//! hashes of its keys as they are.

use std::ops::RangeInclusive;

use super::layer::{Layer, Probe, Seen};
use crate::bits::word::low_mask;
use crate::error::{BuildError, Full, InsertError};
use crate::filter::quotient::QuotientFilter;
use crate::hash::Hasher;
use crate::persist::{ReadError, expect};

/// A quotient filter some of whose fingerprints may be dead, as a layer of a [cascade](super::Cascade).
#[derive(Debug, Clone)]
pub struct QuotientLayer {
    alive: QuotientFilter,
    /// Of the same shape but for its quotient, which is shorter, and its remainder, which is longer by as much.
    dead: QuotientFilter,
}

impl QuotientLayer {
    /// The fingerprint, with whatever follows it.
    #[inline(always)]
    fn hash(&self, probe: Probe) -> u64 {
        let bits = self.alive.quotient_bits();
        probe.place & !low_mask(64 - bits) | probe.bits >> bits
    }

    #[inline(always)]
    fn fingerprint(&self, probe: Probe) -> u64 {
        self.hash(probe) >> (64 - self.alive.fingerprint_bits())
    }

    fn full(&self) -> Full {
        Full { used: self.alive.used_slots(), slots: self.alive.slots() }
    }
}

/// Why an insert of a hash failed: filters of a fixed size have one reason, and another that takes 2^64 copies.
fn as_full(full: Full) -> impl Fn(InsertError) -> Full {
    move |error| if let InsertError::Full(full) = error { full } else { full }
}

impl Layer for QuotientLayer {
    type Undo = ();
    const NUMBER: u8 = 10;
    const NAME: &'static str = "quotient-cascade";

    fn new(keys: u64, error_rate: f64, is_first: bool) -> Result<Self, BuildError> {
        // Whoever reaches a later layer has a quotient that is in use there for certain, and by more keys than others.
        let error_rate = if is_first { error_rate } else { error_rate / 4.0 };
        let builder = || QuotientFilter::builder().hasher(Hasher::fast());
        let alive = builder().capacity(keys.max(1)).error_rate(error_rate).build()?;
        // Each takes a key at least to the next layer, which has room for four times the error rate.
        let quotient_bits = (alive.quotient_bits() + 3).saturating_sub(error_rate.recip().log2() as u32);
        let quotient_bits = quotient_bits.clamp(1, alive.quotient_bits());
        let remainder_bits = alive.fingerprint_bits() - quotient_bits;
        let dead = builder().quotient_bits(quotient_bits).remainder_bits(remainder_bits).build()?;
        Ok(Self { alive, dead })
    }

    fn look_among(&self, probe: Probe, others: &[Probe]) -> Seen {
        match self.look(probe) {
            Seen::Absent if others.iter().any(|&other| self.is_same_cell(probe, other)) => Seen::Present,
            seen => seen,
        }
    }

    #[inline]
    fn look(&self, probe: Probe) -> Seen {
        let hash = self.hash(probe);
        match self.alive.contains_hash(hash) {
            true => Seen::Present,
            false if self.dead.contains_hash(hash) => Seen::Dead,
            false => Seen::Absent,
        }
    }

    fn is_dead(&self, probe: Probe) -> bool {
        self.dead.contains_hash(self.hash(probe))
    }

    fn places(&self, probe: Probe) -> RangeInclusive<u64> {
        let later = low_mask(64 - self.alive.quotient_bits());
        probe.place & !later..=probe.place | later
    }

    fn is_same_cell(&self, one: Probe, other: Probe) -> bool {
        self.fingerprint(one) == self.fingerprint(other)
    }

    fn insert(&mut self, probe: Probe) -> Result<(), Full> {
        if !self.is_dead(probe) {
            self.alive.insert_hash(self.hash(probe)).map_err(as_full(self.full()))?;
        }
        Ok(())
    }

    fn undo(&mut self, probe: Probe, (): ()) {
        self.remove(probe);
    }

    fn remove(&mut self, probe: Probe) -> bool {
        self.alive.remove_hash(self.hash(probe))
    }

    fn kill(&mut self, probe: Probe) -> Result<(), Full> {
        let hash = self.hash(probe);
        self.dead.insert_hash(hash).map_err(as_full(self.full()))?;
        self.alive.remove_hash_many(hash, u64::MAX);
        Ok(())
    }

    fn revive(&mut self, probe: Probe, copies: u64) {
        let hash = self.hash(probe);
        self.dead.remove_hash(hash);
        let back = self.alive.insert_hash_many(hash, copies);
        debug_assert!(back.is_ok(), "there was room for it before");
    }

    fn copies(&self, probe: Probe) -> u64 {
        self.alive.count_hash(self.hash(probe))
    }

    fn prefetch(&self, _: Probe) {}

    fn rates(&self) -> (f64, f64) {
        (self.alive.expected_error_rate(), self.dead.expected_error_rate())
    }

    fn dead(&self) -> u64 {
        self.dead.len()
    }

    fn size_in_bytes(&self) -> usize {
        self.alive.size_in_bytes() + self.dead.size_in_bytes()
    }

    fn to_bytes(&self) -> Vec<u8> {
        let (alive, dead) = (self.alive.to_bytes(), self.dead.to_bytes());
        [&(alive.len() as u64).to_le_bytes()[..], &alive, &dead].concat()
    }

    fn from_bytes(bytes: &[u8], keys: u64, error_rate: f64, is_first: bool) -> Result<Self, ReadError> {
        let cut = |found: u64| ReadError::Field { field: "bytes of a layer", expected: "more".into(), found };
        let (len, rest) = bytes.split_first_chunk().ok_or_else(|| cut(bytes.len() as u64))?;
        let len = u64::from_le_bytes(*len);
        let parts = usize::try_from(len).ok().and_then(|len| rest.split_at_checked(len));
        let (alive, dead) = parts.ok_or_else(|| cut(len))?;
        let empty = Self::new(keys, error_rate, is_first)
            .map_err(|error| ReadError::Inconsistent(error.to_string()))?;
        let read = |bytes, like: &QuotientFilter| -> Result<QuotientFilter, ReadError> {
            let filter = QuotientFilter::from_bytes(bytes)?;
            let shape = |filter: &QuotientFilter| (filter.quotient_bits(), filter.remainder_bits());
            let is_alike = shape(&filter) == shape(like) && filter.hasher() == like.hasher();
            expect("slots of a layer", is_alike, like.slots(), filter.slots())?;
            Ok(filter)
        };
        Ok(Self { alive: read(alive, &empty.alive)?, dead: read(dead, &empty.dead)? })
    }
}
