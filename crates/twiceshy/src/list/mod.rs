//! Lists of keys that must answer Yes and of keys that must answer No.
//!
//! | file | what it does |
//! |---|---|
//! | `ribbon/` | some bits for each of some keys, without the keys: what sieves are made of |
//! | `sieve.rs` | which of two sets a key is from: an approximate stage and an exact one |
//! | `keys.rs` | the keys of both lists, as hashes |
//! | `frozen/` | [`FrozenYesNoList`](frozen::FrozenYesNoList): a sieve, and one more for each delta |
//! | `delta/` | [`Delta`](delta::Delta): a sieve of the keys that a list answers wrongly |
//! | `bound.rs`, `progress.rs` | the least space that is possible; how far building is |

mod bound;
mod delta;
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
pub use frozen::{Builder, FrozenYesNoList, View};
pub use keys::ListKeys;
pub use progress::{Phase, Progress};

/// What a list says of a key.
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
