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

pub use dynamic::{
    Builder as YesNoListBuilder, ListFilter, ListStats, Lists, View as ListFilterView, YesNoList,
};

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
