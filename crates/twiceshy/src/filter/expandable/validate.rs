//! Checking every invariant of a filter.

use super::level::Level;
use super::{ExpandableFilter, Mode};
use crate::codec::counted;
use crate::table::Table;

/// Checks the entries of valid tables, the order of the chain and the counts; says what is wrong.
pub(super) fn check<B: AsRef<[u8]>>(filter: &ExpandableFilter<B>) -> Result<(), String> {
    let active = filter.levels.first().ok_or("there is no table")?.table.shape();
    let stored = filter.settings.lengths.stored_bits(active.quotient_bits());
    if active.slot_bits() != stored + 1 {
        return Err(format!("expected slots of {} bits, found {}", stored + 1, active.slot_bits()));
    }
    if filter.mode() == Mode::Basic && filter.levels.len() > 1 {
        return Err("a basic filter has a chain".into());
    }
    let (mut len, mut above) = (0u64, u32::MAX);
    for (number, level) in filter.levels.iter().enumerate() {
        let copies = check_level(level).map_err(|what| format!("table {number}: {what}"))?;
        len = len.checked_add(copies).ok_or("the counts add up to more than 64 bits")?;
        let longest = level.entries().map(|entry| entry.fingerprint.len()).max().unwrap_or(0);
        if longest >= above {
            return Err(format!("table {number} has a fingerprint of {longest} bits behind one of {above}"));
        }
        let quotient_bits = level.table.shape().quotient_bits();
        if quotient_bits >= above {
            return Err(format!("table {number} has {quotient_bits} quotient bits behind one of {above}"));
        }
        above = quotient_bits;
    }
    if len != filter.len {
        return Err(format!("expected {} copies, found {len}", filter.len));
    }
    Ok(())
}

/// Checks both tables of a level and counts the copies in it.
fn check_level<B: AsRef<[u8]>>(level: &Level<B>) -> Result<u64, String> {
    check_table(&level.table)?;
    if let Some(old) = &level.old {
        check_table(&old.table)?;
        let (shape, larger) = (old.table.shape(), level.table.shape());
        if shape.quotient_bits() + 1 != larger.quotient_bits() || old.moved > shape.quotients() {
            return Err("a table moves to one that is not twice as large".into());
        }
    }
    level
        .entries()
        .try_fold(0u64, |copies, entry| copies.checked_add(entry.count))
        .ok_or_else(|| "the counts add up to more than 64 bits".into())
}

fn check_table<B: AsRef<[u8]>>(table: &Table<B>) -> Result<(), String> {
    for (quotient, run) in table.runs() {
        let is_encoded = counted::check_run(table, run).is_some();
        // Ascending, so only the first entry could be 0: a slot without a stop bit.
        if !is_encoded || table.slot(run.start) == 0 {
            return Err(format!("the run of quotient {quotient} is not encoded as it should be"));
        }
    }
    Ok(())
}
