//! A remainder with a count, in slots that hold nothing but `w`-bit numbers.
//!
//! # The idea
//!
//! Entries of a run are in ascending order of their remainders, each remainder once:
//!
//! | count | slots |
//! |---|---|
//! | 1 | `x` |
//! | 2 | `x x` |
//! | 3 and more | `x x x` and the digits of `count - 3` |
//!
//! Three equal slots are the escape: only then does a slot mean something else than a remainder. The
//! first digit therefore lies at least three slots after the start of the run, and a run without equal
//! neighbours has none.
//!
//! With two or more bits per slot a digit is `w - 1` bits of the number, lowest first, and its top bit
//! says whether another digit follows. With a single bit per slot the number plus one is written in
//! Elias' gamma code: as many 0 as it has bits after its first, then its bits, highest first.
//!
//! # Cost
//!
//! A remainder that occurs once takes one slot. With `w ≥ 2`, `n ≥ 3` copies take
//! `3 + max(1, ⌈log2(n - 2) / (w - 1)⌉)` slots: with 9-bit slots 7 for a billion copies.
//!
//! # Source
//!
//! Section 4 of *A general-purpose counting filter* (Pandey et al.) has the same aim with another
//! escape, a slot smaller than the one before it. Ours costs a slot more for counts from three on, has
//! no special case for remainder 0, and keeps a lookup simple.

use crate::bits::cpu::{Cpu, Kernel};
use crate::bits::packed;
use crate::bits::word::low_mask;
use crate::table::{Full, Glance, Home, Limits, Loader, NoRoom, Run, Runs, Slot, Source, Table};

/// No slot of a run before this one holds a digit.
pub(super) const FIRST_DIGIT: usize = 3;

/// An entry of a run: `slots` slots from `start` on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Entry {
    pub(crate) remainder: u64,
    pub(crate) count: u64,
    pub(crate) start: u64,
    pub(crate) slots: u64,
}

impl Entry {
    pub(crate) fn end(&self) -> u64 {
        self.start + self.slots
    }
}

/// The entry that starts at `start`, in a run that ends at `end`.
///
/// In a run that no encoder wrote, the entry is cut off at `end` and the count is at most `u64::MAX`.
#[inline(always)]
pub(crate) fn decode<B: Source>(table: &Table<B>, start: u64, end: u64) -> Entry {
    let remainder = table.slot(start);
    let repeats = |slot: u64| slot < end && table.slot(slot) == remainder;
    if !repeats(start + 1) {
        return Entry { remainder, count: 1, start, slots: 1 };
    }
    if !repeats(start + 2) {
        return Entry { remainder, count: 2, start, slots: 2 };
    }
    decode_digits(table, remainder, start, end)
}

#[cold]
#[inline(never)]
fn decode_digits<B: Source>(table: &Table<B>, remainder: u64, start: u64, end: u64) -> Entry {
    let mut slot = start + FIRST_DIGIT as u64;
    let extra = if table.shape().slot_bits() == 1 {
        let zeros = (slot..end).take_while(|&at| table.slot(at) == 0).count() as u64;
        slot += zeros;
        let number = (slot..end)
            .take(zeros as usize + 1)
            .fold(0u128, |number, at| number.saturating_mul(2) | u128::from(table.slot(at)));
        slot = (slot + zeros + 1).min(end);
        number.saturating_sub(1)
    } else {
        let payload_bits = table.shape().slot_bits() - 1;
        let (mut number, mut shift) = (0u128, 0);
        while slot < end {
            let digit = table.slot(slot);
            slot += 1;
            number |= u128::from(digit & low_mask(payload_bits)).checked_shl(shift).unwrap_or(0);
            if digit >> payload_bits == 0 {
                break;
            }
            shift = (shift + payload_bits).min(128);
        }
        number
    };
    let count = u64::try_from(extra).unwrap_or(u64::MAX).saturating_add(3);
    Entry { remainder, count, start, slots: slot - start }
}

/// The slots of an entry. Almost always there are one or two.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Encoded {
    Few([Slot; 2], usize),
    Many(Vec<Slot>),
}

impl AsRef<[Slot]> for Encoded {
    #[inline(always)]
    fn as_ref(&self) -> &[Slot] {
        match self {
            Self::Few(slots, len) => &slots[..*len],
            Self::Many(slots) => slots,
        }
    }
}

/// The slots for `count` copies of `remainder` with `slot_bits` bits per slot; none for no copies.
#[inline(always)]
pub(crate) fn encode(remainder: u64, count: u64, slot_bits: u32) -> Encoded {
    let head = Slot::head(remainder);
    match count {
        0..=2 => Encoded::Few([head; 2], count as usize),
        3.. => Encoded::Many(encode_digits(head, count - 3, slot_bits)),
    }
}

#[cold]
#[inline(never)]
fn encode_digits(head: Slot, extra: u64, slot_bits: u32) -> Vec<Slot> {
    let mut slots = vec![head; 3];
    if slot_bits == 1 {
        let number = u128::from(extra) + 1;
        let bits = number.ilog2();
        slots.extend((0..bits).map(|_| Slot::head(0)));
        slots.extend((0..=bits).rev().map(|i| Slot::head((number >> i & 1) as u64)));
        return slots;
    }
    let payload_bits = slot_bits - 1;
    let mut rest = extra;
    loop {
        let digit = rest & low_mask(payload_bits);
        rest = rest.checked_shr(payload_bits).unwrap_or(0);
        slots.push(Slot::head(digit | u64::from(rest > 0) << payload_bits));
        if rest == 0 {
            return slots;
        }
    }
}

/// Appends an entry to a table, or nothing if it does not fit.
#[inline(always)]
pub(crate) fn push(loader: &mut Loader, quotient: u64, remainder: u64, count: u64) -> Result<(), NoRoom> {
    if count == 1 {
        loader.push_head(quotient, remainder)
    } else {
        push_many(loader, quotient, remainder, count)
    }
}

#[inline(never)]
fn push_many(loader: &mut Loader, quotient: u64, remainder: u64, count: u64) -> Result<(), NoRoom> {
    let encoded = encode(remainder, count, loader.shape().slot_bits());
    loader.push(quotient, encoded.as_ref())
}

/// All entries of a table in order, as quotient, remainder and count.
pub(crate) struct Entries<'a, B> {
    table: &'a Table<B>,
    runs: Runs<'a, B>,
    quotient: u64,
    /// What is left of the present run; nothing behind the last.
    run: Run,
    /// The first bit of the slot where it starts, which is cheaper to move on than to compute anew, and the first slot of the
    /// next block.
    bit: usize,
    next_block: u64,
}

impl<'a, B: AsRef<[u8]>> Entries<'a, B> {
    pub(crate) fn new(table: &'a Table<B>) -> Self {
        let mut all = Self {
            table,
            runs: table.runs(),
            quotient: 0,
            run: Run { start: 0, end: 0 },
            bit: 0,
            next_block: 0,
        };
        all.next_run();
        all
    }

    /// The table that is read.
    #[inline(always)]
    pub(crate) fn table(&self) -> &'a Table<B> {
        self.table
    }

    /// The quotient of the next entry.
    pub(crate) fn quotient(&self) -> u64 {
        self.quotient
    }

    /// Goes on at `slot` of the present run.
    #[inline(always)]
    fn go_to(&mut self, slot: u64) {
        self.run.start = slot;
        (self.bit, self.next_block) = self.table.shape().slot_bit_and_next_block(slot);
    }

    #[inline(always)]
    fn next_run(&mut self) {
        let last = (self.quotient, Run { start: 0, end: 0 });
        (self.quotient, self.run) = self.runs.next().unwrap_or(last);
        self.go_to(self.run.start);
    }
}

impl<B: AsRef<[u8]>> Iterator for Entries<'_, B> {
    type Item = (u64, u64, u64);

    #[inline(always)]
    fn next(&mut self) -> Option<Self::Item> {
        if self.run.is_empty() {
            return None;
        }
        let (bytes, width, quotient) = (self.table.bytes(), self.table.shape().slot_bits(), self.quotient);
        let remainder = packed::get(bytes, self.bit, width);
        // One copy, for certain: the slot is the last of the run, or another value follows in the block.
        let next = self.run.start + 1;
        let next_bit = self.bit + width as usize;
        if next == self.run.end {
            self.next_run();
            return Some((quotient, remainder, 1));
        }
        if next != self.next_block && packed::get(bytes, next_bit, width) != remainder {
            (self.run.start, self.bit) = (next, next_bit);
            return Some((quotient, remainder, 1));
        }
        let entry = decode(self.table, self.run.start, self.run.end);
        if entry.end() == self.run.end {
            self.next_run();
        } else {
            self.go_to(entry.end());
        }
        Some((quotient, remainder, entry.count))
    }
}

/// The entry of `remainder` in `run`, or the slot where it would be inserted.
#[inline(always)]
pub(crate) fn find<B: Source>(table: &Table<B>, run: Run, remainder: u64) -> Result<Entry, u64> {
    let mut slot = run.start;
    while slot < run.end {
        let entry = decode(table, slot, run.end);
        if entry.remainder == remainder {
            return Ok(entry);
        }
        if entry.remainder > remainder {
            break;
        }
        slot = entry.end();
    }
    Err(slot)
}

/// Whether there is an entry of the fingerprint of `hash`, which belongs there.
#[inline(always)]
pub(crate) fn contains<C: Cpu, B: Source>(cpu: C, table: &Table<B>, home: Home, hash: u64) -> bool {
    match contains_at_glance(cpu, table, home, hash) {
        Some(found) => found,
        None => cpu.outlined(LookCloser { table, hash }),
    }
}

/// [`contains`], if that takes no more than a glance.
#[inline(always)]
pub(crate) fn contains_at_glance<C: Cpu, B: Source>(
    cpu: C,
    table: &Table<B>,
    home: Home,
    hash: u64,
) -> Option<bool> {
    let glance = table.glance_at(cpu, home)?;
    let found = table.find_at_glance(&glance, table.address().window(cpu, hash), 0);
    // What is found further on may be a digit.
    (!table.is_behind::<FIRST_DIGIT>(found)).then_some(found != 0)
}

/// Whether a run certainly has no digits: it is too short, or no slot repeats the one before it.
#[inline(always)]
pub(super) fn is_plain<B: Source>(table: &Table<B>, glance: &Glance) -> bool {
    glance.len() as usize <= FIRST_DIGIT || !table.repeats_at_glance(glance, 0)
}

/// [`contains`] for all runs. Two words, which are passed in registers, so that the caller needs no stack.
pub(crate) struct LookCloser<'a, B> {
    pub(crate) table: &'a Table<B>,
    pub(crate) hash: u64,
}

impl<B: Source> Kernel for LookCloser<'_, B> {
    type Output = bool;
    #[inline(always)]
    fn run<C: Cpu>(self, cpu: C) -> bool {
        let Self { table, hash } = self;
        let (quotient, remainder) = table.address().split(hash);
        let run = table.run(cpu, quotient);
        match (run.start..run.end).find(|&slot| table.slot(slot) == remainder) {
            None => false,
            Some(slot) => slot < run.start + FIRST_DIGIT as u64 || find(table, run, remainder).is_ok(),
        }
    }
}

/// Inserts a remainder that is not there yet, if that takes no more than a glance; the usual insert.
#[inline(always)]
pub(crate) fn insert_at_glance<C: Cpu>(cpu: C, table: &mut Table, home: Home, remainder: u64) -> bool {
    table.prefetch_block(home);
    table.insert_at_glance(cpu, home, remainder, |table, glance| {
        let is_new = table.find_at_glance(glance, remainder, 0) == 0 && is_plain(table, glance);
        is_new.then(|| table.rank_at_glance(glance, remainder))
    })
}

/// Removes a remainder that is there once, if that takes no more than a glance; the usual removal.
#[inline(always)]
pub(crate) fn remove_at_glance<C: Cpu>(cpu: C, table: &mut Table, home: Home, remainder: u64) -> bool {
    table.prefetch_block(home);
    match table.glance_at(cpu, home) {
        Some(glance) if table.count_at_glance(&glance, remainder) == 1 && is_plain(table, &glance) => {
            let rank = table.rank_at_glance(&glance, remainder);
            table.remove_at_glance(cpu, &glance, rank)
        }
        _ => false,
    }
}

/// A change of the number of copies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Change {
    Add(u64),
    /// Down to none at most.
    Remove(u64),
}

/// Changes the number of copies of `remainder` in the run of `quotient`, within limits. Tells how many there were
/// before.
#[inline(always)]
pub(crate) fn change<C: Cpu>(
    cpu: C,
    table: &mut Table,
    quotient: u64,
    remainder: u64,
    change: Change,
    limits: Limits,
) -> Result<u64, Full> {
    let run = table.run(cpu, quotient);
    let (at, old_slots, old_count) = match find(table, run, remainder) {
        Ok(entry) => (entry.start, entry.slots, entry.count),
        Err(at) => (at, 0, 0),
    };
    let new_count = match change {
        Change::Add(copies) => old_count + copies,
        Change::Remove(copies) => old_count.saturating_sub(copies),
    };
    if (old_count, new_count) == (0, 1) {
        table.insert_head(cpu, quotient, run, at, remainder, limits)?;
        return Ok(0);
    }
    if (old_count, new_count) == (1, 0) {
        table.remove_head(cpu, quotient, run, at);
        return Ok(1);
    }
    let encoded = encode(remainder, new_count, table.shape().slot_bits());
    let new_slots = encoded.as_ref().len() as u64;
    let edit = table.plan(cpu, quotient, run, at, old_slots, new_slots, limits)?;
    table.commit(cpu, edit, encoded.as_ref());
    Ok(old_count)
}

/// Checks that a run is exactly what the encoder would have written; gives its entries and copies.
pub(crate) fn check_run<B: AsRef<[u8]>>(table: &Table<B>, run: Run) -> Option<(u64, u64)> {
    let (mut entries, mut copies) = (0, 0u64);
    let mut last = None;
    let mut slot = run.start;
    while slot < run.end {
        let entry = decode(table, slot, run.end);
        let encoded = encode(entry.remainder, entry.count, table.shape().slot_bits());
        let same = encoded.as_ref().len() as u64 == entry.slots
            && (slot..).zip(encoded.as_ref()).all(|(at, new)| table.slot(at) == new.value);
        if !same || last.is_some_and(|last| last >= entry.remainder) {
            return None;
        }
        last = Some(entry.remainder);
        entries += 1;
        copies = copies.checked_add(entry.count)?;
        slot = entry.end();
    }
    Some((entries, copies))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table::{Loader, Shape};

    fn counts() -> impl Iterator<Item = u64> {
        let near_powers = (2..64).flat_map(|i| [(1u64 << i) - 1, 1 << i, (1 << i) + 1, (1 << i) + 3]);
        (1..300).chain(near_powers).chain([1_000_000_000, u64::MAX - 1, u64::MAX])
    }

    #[test]
    fn every_count_reads_back_at_every_width() {
        for slot_bits in 1..=64 {
            for remainder in [0, 1, low_mask(slot_bits)] {
                for count in counts() {
                    let next = remainder.wrapping_add(1) & low_mask(slot_bits);
                    let mut loader =
                        Loader::new(Shape::new(2, slot_bits).with_limits(255, 200).unwrap(), u64::MAX)
                            .unwrap();
                    let encoded = encode(remainder, count, slot_bits);
                    loader.push(1, encoded.as_ref()).unwrap();
                    loader.push(1, &[Slot::head(next)]).unwrap();
                    let table = loader.finish();
                    let slots = encoded.as_ref().len() as u64;
                    let entry = decode(&table, 0, slots + 1);
                    // A repeated remainder is the same entry: only a different neighbour ends it.
                    if next != remainder {
                        assert_eq!(entry, Entry { remainder, count, start: 0, slots }, "width {slot_bits}");
                    }
                    assert_eq!(decode(&table, 0, slots).count, count, "width {slot_bits}");
                }
            }
        }
    }

    #[test]
    fn more_copies_never_take_fewer_slots() {
        for slot_bits in 1..=64 {
            let lens = (1..5000).map(|count| encode(0, count, slot_bits).as_ref().len());
            assert!(lens.is_sorted(), "width {slot_bits}");
        }
    }

    #[test]
    fn a_billion_copies_take_a_few_slots() {
        assert_eq!(encode(5, 1_000_000_000, 9).as_ref().len(), 7);
        assert_eq!(encode(5, 1_000_000_000, 16).as_ref().len(), 5);
    }
}
