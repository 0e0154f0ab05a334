//! Tickets: what a query hands to the caller, who looks into the map and comes back with it.
//!
//! Between the two the filter may have changed, and not every change shows in its bytes: a key that is
//! inserted under an existing fingerprint leaves no trace, but whoever has read the map before and acts on
//! what was there would lose it. So every change counts a version up, and a ticket remembers it.
//!
//! One version for the whole filter would let busy writers make every ticket stale; there are 64, one for
//! each value of the first six bits of a hash.

use std::ops::RangeInclusive;

use crate::prefix::Prefix;

/// How many bits of a hash say which version is its own.
const STRIPE_BITS: u32 = 6;

/// A fingerprint that a key has met, and the state of the filter at that time.
///
/// Made by [`query`](crate::AdaptiveFilter::query) and [`insert`](crate::AdaptiveFilter::insert). Look up
/// the keys under [`prefix`](Self::prefix) and come back with the ticket; if a key came or went in the
/// meantime, the answer is `Stale` and nothing happens.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ticket<V = u64> {
    pub(super) prefix: Prefix,
    /// Where the keys under it are, if these are not the hashes that begin like it.
    pub(crate) listed: Option<Box<Prefix>>,
    /// What the fingerprint carries.
    pub(crate) value: V,
    pub(super) stamp: u64,
}

impl<V> Ticket<V> {
    /// Where to look for the keys under the fingerprint: their hashes begin like this. It is the fingerprint itself, as long as
    /// the filter has not [rotated](crate::adaptive::Growth::Rotate); then some others begin so, too.
    pub fn prefix(&self) -> &Prefix {
        self.listed.as_deref().unwrap_or(&self.prefix)
    }

    /// The fingerprint, to know it by. In a filter that has rotated it says nothing of where keys are in a map.
    pub fn fingerprint(&self) -> &Prefix {
        &self.prefix
    }
}

impl Ticket {
    /// The tag of the fingerprint, 0 if none was given.
    pub fn tag(&self) -> u64 {
        self.value
    }
}

/// The versions of a filter.
#[derive(Clone)]
pub(super) struct Versions {
    /// The first bits of a hash, which are the same for all hashes of a table.
    part_bits: u32,
    stripes: [u64; 1 << STRIPE_BITS],
}

impl Versions {
    /// For a table whose hashes have their first bits in common.
    pub(super) fn new(part_bits: u32) -> Self {
        Self { part_bits, stripes: [0; 1 << STRIPE_BITS] }
    }

    /// The stripe of a hash.
    #[inline(always)]
    fn stripe(&self, hash: u64) -> usize {
        (hash << self.part_bits >> (64 - STRIPE_BITS)) as usize
    }

    /// A key with this hash, or a fingerprint that begins like it, came, went or changed.
    #[inline(always)]
    pub(super) fn bump(&mut self, hash: u64) {
        let stripe = &mut self.stripes[self.stripe(hash)];
        *stripe = stripe.wrapping_add(1);
    }

    /// A fingerprint that begins like some of these hashes came, went or changed.
    #[inline(always)]
    pub(super) fn bump_range(&mut self, hashes: RangeInclusive<u64>) {
        let (first, last) = hashes.into_inner();
        let stripes = self.stripe(first)..=self.stripe(last);
        self.stripes[stripes].iter_mut().for_each(|stripe| *stripe = stripe.wrapping_add(1));
    }

    /// Everything may have changed.
    pub(super) fn bump_all(&mut self) {
        for stripe in &mut self.stripes {
            *stripe = stripe.wrapping_add(1);
        }
    }

    /// A number that changes when anything under a prefix does: versions only count up, so their sum stays
    /// the same only if each of them does.
    #[inline(always)]
    pub(super) fn stamp(&self, prefix: &Prefix) -> u64 {
        let (first, last) = prefix.first_words().into_inner();
        let stripes = self.stripe(first)..=self.stripe(last);
        // Nearly always.
        if stripes.start() == stripes.end() {
            return self.stripes[*stripes.start()];
        }
        self.stripes[stripes].iter().fold(0, |sum, &version| sum.wrapping_add(version))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stamp_changes_with_what_is_under_its_prefix_only() {
        for (part_bits, len) in
            [0, 3].into_iter().flat_map(|part| [0, 1, 5, 6, 7, 20, 64].map(|len| (part, len)))
        {
            let (prefix, last) = (Prefix::from_bits(0, len), u64::MAX >> part_bits);
            let mut versions = Versions::new(part_bits);
            let before = versions.stamp(&prefix);
            versions.bump(last);
            assert_eq!(
                versions.stamp(&prefix) == before,
                len > part_bits,
                "{len} bits, {part_bits} of the part"
            );
            let before = versions.stamp(&prefix);
            versions.bump(0);
            assert_ne!(versions.stamp(&prefix), before);
            let before = versions.stamp(&prefix);
            versions.bump_all();
            assert_ne!(versions.stamp(&prefix), before);
        }
    }
}
