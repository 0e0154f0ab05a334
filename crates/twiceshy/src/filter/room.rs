//! What to do if a table has no room for an edit.
//!
//! A table is full when as many slots are in use as may be. With hashes that come in no order that is all there is to
//! say. But whoever copies a set gives its keys in the order of their hashes, or backwards, or one range after the other,
//! and a table that starts small and grows is then crowded in one place and empty elsewhere: there is no free slot up to
//! its end, or everything has to be shifted over thousands of slots. It is no error to insert in that order, so
//!
//! - a table gets a larger spill area if there is no free slot up to its end;
//! - a table that could grow does so earlier if an edit reaches far, which spreads the crowd: two doublings earlier if it
//!   would shift two thousand slots or is thirty thousand slots from home, up to six doublings if it would shift sixty
//!   thousand, or if many edits in a crowd have taken longer than growing, and longer than is usual at that load;
//! - if it may not grow, edits take as long as they take, up to [`Limits::FARTHEST`] slots, and are refused beyond that.
//!
//! Most of a table that grew early is empty, and large tables lie in memory that the system hands out when it is first
//! written. With evenly distributed hashes in no order all this never happens: at three quarters of the load limit an edit
//! reaches two thousand slots with a probability of about `e^-100`, at 90 % load eight thousand and at 95 % load thirty
//! thousand with `e^-40`.

use crate::table::{Full, Limits};

/// An edit that shifts more slots than this is a reason to grow, if not many slots are in use.
const LONG: u64 = 1 << 11;

/// Whether a table that is at most half full is crowded, if something lies as many slots after its home. With hashes in no
/// order nothing does.
pub(super) fn is_crowded(farthest_from_home: u64) -> bool {
    farthest_from_home > 1 << 7
}

/// An edit that shifts more than this is one, if many are,
const LONG_IF_LOADED: u64 = 1 << 13;
/// or nearly all.
const LONG_IF_NEARLY_FULL: u64 = 1 << 15;

/// As many slots more than it has may be shifted by edits in crowds of a table in which many are used: a small one is
/// crowded now and then.
const WORK_IF_LOADED: u64 = 1 << 16;

/// For every so many slots that are shifted, a table may be as many times as large as it must be,
const SLOTS_PER_SIZE: u64 = 1024;
/// within these limits.
const LARGER: (u64, u64) = (4, 64);

/// How hard to look for room.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Effort {
    /// As long as it is quick.
    Usual,
    /// As long as it can be borne.
    Utmost,
}

impl Effort {
    /// What an edit may take in a table that uses some slots and may use more.
    #[inline(always)]
    pub(super) fn limits(self, used: u64, slots: u64) -> Limits {
        match self {
            Self::Usual if used <= slots / 4 * 3 => Limits { slots, reach: LONG, work: slots },
            Self::Usual => {
                let is_nearly_full = used > slots / 16 * 15;
                let reach = if is_nearly_full { LONG_IF_NEARLY_FULL } else { LONG_IF_LOADED };
                Limits { slots, reach, work: slots + WORK_IF_LOADED }
            }
            Self::Utmost => Limits { slots, reach: Limits::FARTHEST, work: u64::MAX },
        }
    }
}

/// What helps.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Remedy {
    /// A larger spill area.
    Extend,
    /// [`Effort::Utmost`].
    TryHarder,
    /// A table of twice as many slots.
    Grow,
    /// Nothing: the table is full.
    None,
}

/// A table that had no room.
pub(super) struct Crowded {
    pub(super) why: Full,
    pub(super) effort: Effort,
    /// Slots that are in use, and that may be.
    pub(super) used: u64,
    pub(super) limit: u64,
}

impl Crowded {
    /// How many slots the edit takes that found the end of the table.
    pub(super) fn slots(&self) -> u64 {
        if let Full::End { slots } = self.why { slots.into() } else { 0 }
    }

    /// What helps, given what is allowed.
    pub(super) fn remedy(
        &self,
        can_extend: impl FnOnce() -> bool,
        can_grow: impl FnOnce() -> bool,
    ) -> Remedy {
        let Self { why, effort, used, limit } = *self;
        let larger = match why {
            Full::Slots => u64::MAX,
            Full::End { .. } if can_extend() => return Remedy::Extend,
            Full::End { .. } | Full::Work => LARGER.1,
            Full::Far { reach } => (u64::from(reach) / SLOTS_PER_SIZE).clamp(LARGER.0, LARGER.1),
        };
        match why {
            _ if used >= limit / larger && can_grow() => Remedy::Grow,
            Full::Far { .. } | Full::Work if effort == Effort::Usual => Remedy::TryHarder,
            _ => Remedy::None,
        }
    }
}
