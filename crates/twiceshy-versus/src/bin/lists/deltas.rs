//! Deltas after a thousandth of the keys on either list changed.

use serde::Serialize;
use twiceshy::list::ListKeys;
use twiceshy::{FrozenYesNoList, Hasher};

use crate::{Failure, Keys, RATIOS, rate, timed};

/// What happened to the lists.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Change {
    /// A thousandth of the keys on either list went, and as many new ones came.
    Replaced,
    /// A thousandth of the keys on either list are on the other one.
    Moved,
}

/// A delta.
#[derive(Debug, Serialize)]
pub(crate) struct Row {
    pub(crate) lists: Keys,
    pub(crate) rate_log2: i32,
    pub(crate) change: Change,
    /// Keys that are answered otherwise than before.
    pub(crate) changed_answers: u64,
    pub(crate) list_bytes: usize,
    pub(crate) delta_bytes: usize,
    /// How long it took to make.
    pub(crate) seconds: f64,
}

pub(crate) fn measure(keys: u64) -> Result<Vec<Row>, Failure> {
    let mut rows = Vec::new();
    for ratio_log2 in RATIOS {
        let lists = Keys::new(keys, ratio_log2);
        for rate_log2 in [7, 12] {
            let builder = FrozenYesNoList::builder().error_rate(rate(rate_log2));
            let list = builder.hasher(Hasher::fast_with_seed(7)).build(lists.yes(), lists.no())?;
            for change in [Change::Replaced, Change::Moved] {
                rows.push(row(lists, rate_log2, &list, change)?);
            }
        }
    }
    Ok(rows)
}

fn row(lists: Keys, rate_log2: i32, list: &FrozenYesNoList, change: Change) -> Result<Row, Failure> {
    // Every thousandth key.
    let changes = |key: &u64| key.is_multiple_of(1_000);
    let mut keys = ListKeys::new(list.hasher().clone());
    let (mut yes, mut no) = (Vec::new(), Vec::new());
    for key in lists.yes() {
        match change {
            _ if !changes(&key) => yes.push(key),
            Change::Replaced => {
                keys.removed(&key);
                yes.push(key | 1 << 60);
            }
            Change::Moved => no.push(key),
        }
    }
    for key in lists.no() {
        match change {
            _ if !changes(&key) => no.push(key),
            Change::Replaced => no.push(key | 1 << 60),
            Change::Moved => yes.push(key),
        }
    }
    yes.iter().for_each(|key| keys.yes(key));
    no.iter().for_each(|key| keys.no(key));
    let (delta, seconds) = timed(|| list.delta_of(&keys, |_| ()));
    let delta = delta?;
    let mut next = list.try_clone()?;
    next.apply(delta.try_clone()?)?;
    let all = yes.iter().chain(&no).copied().chain(lists.yes().filter(changes));
    let changed_answers = all.filter(|key| list.query(key) != next.query(key)).count() as u64;
    Ok(Row {
        lists,
        rate_log2,
        change,
        changed_answers,
        list_bytes: list.to_bytes().len(),
        delta_bytes: delta.to_bytes().len(),
        seconds,
    })
}
