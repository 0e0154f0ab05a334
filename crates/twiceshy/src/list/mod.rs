//! YES/NO lists: a set of keys that are answered *yes*, a set of keys that are never answered *yes*, and few mistakes about all
//! others.
//!
//! A filter alone answers *yes* to every key of its set, and to a few others. A list also knows some of those others, and
//! gets none of them wrong: pages that a blocklist must never block, certificates that are valid, domains that are no
//! spam.
//!
//! | list | what it is |
//! |---|---|
//! | [`YesNoList`] | keys come, go and change sides at any time; it keeps them, in memory or in a database |
//! | [`FrozenYesNoList`] | a small copy without keys, for those who only ask; [`Delta`]s bring it up to date |
//!
//! | file | what it does |
//! |---|---|
//! | `dynamic/` | the list that changes: an adaptive set whose map has the NO keys, too |
//! | `frozen/` | the list that does not: a sieve, and one more for each delta |
//! | `delta/` | a sieve of the keys that a frozen list answers wrongly |
//! | `sieve.rs` | which of two sets a key is from: an approximate stage and an exact one |
//! | `ribbon/` | some bits for each of some keys, without the keys: what sieves are made of |
//! | `keys.rs` | the keys of both lists, as hashes |
//! | `name.rs` | which list a delta is for |
//! | `bound.rs`, `progress.rs` | the least space that is possible; how far building is |
//!
//! # Source
//!
//! Sections 2.4, 4.3 and 5 of *Adaptive Quotient Filters*.

mod bound;
mod delta;
mod dynamic;
mod frozen;
mod keys;
mod name;
mod progress;
mod ribbon;
mod sieve;
#[cfg(test)]
mod tests;

pub use bound::least_bits;
pub use delta::{Delta, View as DeltaView};
pub use dynamic::{
    Builder as YesNoListBuilder, ListFilter, ListStats, Lists, View as ListFilterView, YesNoList,
};
pub use frozen::{Builder as FrozenYesNoListBuilder, FrozenYesNoList, View as FrozenYesNoListView};
pub use keys::ListKeys;
pub use progress::{Phase, Progress};

/// What a list says of a key, and the list that the key is on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Answer {
    /// The key is on the YES list, or on no list and this is a mistake.
    Yes,
    /// The key is on the NO list, or on none.
    No,
}

impl Answer {
    /// Whether it is Yes.
    #[inline]
    pub const fn is_yes(self) -> bool {
        matches!(self, Self::Yes)
    }

    /// Whether it is No.
    #[inline]
    pub const fn is_no(self) -> bool {
        matches!(self, Self::No)
    }
}

impl From<bool> for Answer {
    /// `true` is Yes.
    #[inline(always)]
    fn from(yes: bool) -> Self {
        if yes { Self::Yes } else { Self::No }
    }
}

impl std::fmt::Display for Answer {
    /// `yes` or `no`.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(if self.is_yes() { "yes" } else { "no" })
    }
}
