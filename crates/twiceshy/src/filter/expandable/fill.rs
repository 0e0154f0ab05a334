//! Filling a table from a stream of entries in ascending order: growing, halving and merging come down to this.

use super::fingerprint::Entry;
use super::place::NoPlace;
use crate::bits::cpu::{Cpu, Kernel, dispatch};
use crate::codec::counted;
use crate::table::{Loader, Shape, Table};

/// A table with all entries of a stream that are long enough for it, and the others.
pub(super) struct Filled {
    pub(super) table: Table,
    pub(super) too_short: Vec<Entry>,
}

/// Fills a table with all entries that have at least its quotient bits; cuts off what does not fit a slot.
pub(super) fn fill(
    shape: Shape,
    limit: u64,
    entries: impl Iterator<Item = Entry>,
) -> Result<Filled, NoPlace> {
    let loader = Loader::new(shape, limit).map_err(NoPlace::Memory)?.extending(u64::MAX);
    dispatch(FillFrom { loader, entries })
}

struct FillFrom<I> {
    loader: Loader,
    entries: I,
}

impl<I: Iterator<Item = Entry>> Kernel for FillFrom<I> {
    type Output = Result<Filled, NoPlace>;
    #[inline(always)]
    fn run<C: Cpu>(self, _: C) -> Self::Output {
        let Self { mut loader, entries } = self;
        let shape = *loader.shape();
        let mut too_short = Vec::new();
        // The last entry may get more copies; it is written when another one follows. Count 0: there is none.
        let (mut last, mut count) = ((0, 0), 0u64);
        for entry in entries {
            if entry.fingerprint.len() < shape.position_bits() {
                too_short.push(entry);
                continue;
            }
            let next = entry.fingerprint.in_table(&shape);
            if next == last && count > 0 {
                count = count.checked_add(entry.count).ok_or(NoPlace::TooManyCopies)?;
                continue;
            }
            if next < last {
                return Err(NoPlace::Unsorted);
            }
            if count > 0 {
                counted::push(&mut loader, last.0, last.1, count)?;
            }
            (last, count) = (next, entry.count);
        }
        if count > 0 {
            counted::push(&mut loader, last.0, last.1, count)?;
        }
        Ok(Filled { table: loader.finish(), too_short })
    }
}
