//! Giving the keys of a group fingerprints of another epoch.
//!
//! All rows of the group are read, and nothing else: the rows are in the order of hashes that no epoch changes. A row that is not
//! read would be a key that is lost; so what is asked for are the hashes of the group itself, from its first to its last, and not
//! those that begin like any fingerprint.

use std::ops::ControlFlow;

use super::Reader;
use crate::error::RebuildError;
use crate::filter::core::cut::Member;
use crate::filter::core::{Core, NotRotated};
use crate::reverse_map::{Lookup, Rows};

/// Has the fingerprints of the keys between two hashes, a group, be those that another reader has of them. An error changes nothing.
pub(crate) fn rotate<R: Reader, L: Lookup + ?Sized>(
    core: &mut Core<R::Payload>,
    now: &R,
    next: &R,
    group: (u64, u64),
    lookup: &L,
) -> Result<(), RebuildError<L::Error>> {
    let mut rows = Rows::new();
    let read = lookup.visit(group.0..=group.1, &mut |row| {
        rows.push(row);
        ControlFlow::Continue(())
    });
    read.map_err(RebuildError::Lookup)?;
    let (least, common_bits) = (core.fresh_bits(), (group.0 ^ group.1).leading_zeros());
    let mut members: Vec<_> = rows
        .iter()
        .filter_map(|row| match now.is_key(row) {
            true => {
                let carried = || Some(core.value(&core.cover(&now.words(row))?.entry));
                let value = now.value_under(row).or_else(carried).unwrap_or_else(|| now.value(row));
                Some(Member { words: next.words(row), value, least })
            }
            false => now.is_barred(row).then(|| Member::barred(next.words(row))),
        })
        .collect();
    core.rewrite_group(group, common_bits, &mut members).map_err(|error| match error {
        NotRotated::Full(full) => RebuildError::Full { slots: full.slots },
        NotRotated::Indistinguishable(error) => error.into(),
    })
}
