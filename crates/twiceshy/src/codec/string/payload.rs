//! What an entry carries beside its string.
//!
//! # The idea
//!
//! Keys that share a fingerprint share one entry, and with it one *value*. What that is decides who may share:
//!
//! - Nothing: there is no value, and all may.
//! - [`Tags`]: a number, the same for all keys of an entry. Keys of different tags part: the entry is cut into longer ones.
//! - A set of [suffixes](super::suffixes), for a range filter: keys *unite*, the entry has the suffixes of all of them.
//!
//! A value lies in the payload slots after the string, and in as many of the lowest bits of the head as it asks for. So a
//! remainder and a suffix may share a slot, and an entry with nothing else takes no more than that slot.
//!
//! # Cost
//!
//! A payload is a type without data, or with a number or two, so that what it does not need is compiled away.

use std::fmt::Debug;

use crate::bits::word::low_mask;
use crate::table::{Kind, Slot};

/// How values are stored, and who may share one.
pub trait Payload: Copy + Eq + Debug {
    /// What an entry carries, and what a key brings along.
    type Value: Clone + Default + PartialEq + Debug;

    /// What a query asks for beside a hash: nothing, if every entry whose string fits is an answer.
    type Query;

    /// Whether all keys of an entry bring the same along.
    const ALIKE: bool = false;

    /// Whether some bits of a head may belong to the value.
    const IN_HEAD: bool = false;

    /// How many of the lowest bits of a head belong to the value.
    #[inline(always)]
    fn head_bits(self) -> u32 {
        0
    }

    /// The bits of the head, if the value has no slots beside it: what nearly all values should be.
    fn in_head(self, value: &Self::Value) -> Option<u64>;

    /// Appends the payload slots of a value and tells the bits of the head.
    fn encode(self, value: &Self::Value, slot_bits: u32, slots: &mut Vec<Slot>) -> u64;

    /// The value that has these bits in the head and these slots after the string. Whatever they are, it is some value; only
    /// if it is encoded in the same way they came from here.
    fn decode(self, head: u64, slots: impl DoubleEndedIterator<Item = u64>, slot_bits: u32) -> Self::Value;

    /// Whether an entry with this value says what is to be said of a key with another.
    fn covers(self, entry: &Self::Value, key: &Self::Value) -> bool;

    /// Whether an entry with this value is what a query asks for whose hash begins with the entry's string.
    #[inline(always)]
    fn meets(self, _entry: &Self::Value, _query: &Self::Query) -> bool {
        true
    }

    /// Whether keys with these values may share an entry; if not, they part.
    fn may_share(self, one: &Self::Value, other: &Self::Value) -> bool;

    /// What an entry carries without a key, which nobody else under it brings the same along as; `None` if that is nothing.
    fn without(self, entry: &Self::Value, key: &Self::Value) -> Option<Self::Value>;

    /// Adds what another key brings along to the value of an entry that it may share.
    fn unite(self, entry: &mut Self::Value, key: &Self::Value);
}

/// A number, the same for all keys of an entry: its digits to the base `2^w` in slots of `w` bits, lowest first, the last
/// one not 0. The tag 0 takes no slot.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Tags;

impl Payload for Tags {
    type Value = u64;
    type Query = ();
    const ALIKE: bool = true;

    #[inline(always)]
    fn in_head(self, tag: &u64) -> Option<u64> {
        (*tag == 0).then_some(0)
    }

    #[inline(always)]
    fn encode(self, tag: &u64, slot_bits: u32, slots: &mut Vec<Slot>) -> u64 {
        let mut rest = *tag;
        while rest > 0 {
            slots.push(Slot { kind: Kind::Payload, value: rest & low_mask(slot_bits) });
            rest = rest.unbounded_shr(slot_bits);
        }
        0
    }

    #[inline(always)]
    fn decode(self, _: u64, slots: impl DoubleEndedIterator<Item = u64>, slot_bits: u32) -> u64 {
        slots.rev().fold(0, |tag: u64, digit| tag.unbounded_shl(slot_bits) | digit)
    }

    #[inline(always)]
    fn covers(self, entry: &u64, key: &u64) -> bool {
        entry == key
    }

    #[inline(always)]
    fn may_share(self, one: &u64, other: &u64) -> bool {
        one == other
    }

    fn without(self, _: &u64, _: &u64) -> Option<u64> {
        None
    }

    fn unite(self, _: &mut u64, _: &u64) {}
}
