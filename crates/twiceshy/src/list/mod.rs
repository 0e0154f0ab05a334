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
//!
//! # Source
//!
//! Sections 2.4, 4.3 and 5 of *Adaptive Quotient Filters*.

mod dynamic;

pub use dynamic::{Builder, ListFilter, ListStats, Lists, View, YesNoList};

use std::fmt;

/// What a list says of a key, and the list that the key is on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Answer {
    /// The key is on the YES list, or is mistaken for one that is.
    Yes,
    /// The key is not on the YES list.
    No,
}

impl Answer {
    /// Whether it is yes.
    #[inline]
    pub fn is_yes(self) -> bool {
        self == Self::Yes
    }
}

/// `true` is yes.
impl From<bool> for Answer {
    #[inline]
    fn from(yes: bool) -> Self {
        if yes { Self::Yes } else { Self::No }
    }
}

/// In small letters.
impl fmt::Display for Answer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(if self.is_yes() { "yes" } else { "no" })
    }
}
