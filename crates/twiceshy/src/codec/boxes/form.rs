//! How the keys of a box are written in its slots, and read.
//!
//! What is not one slot, or two in ascending order, begins with a pair that cannot be in such an order, and what follows it is
//! a stream of bits in whole slots, the lowest bits of a slot first:
//!
//! | pair | stream |
//! |---|---|
//! | equal: copies of one suffix | `γ(copies - 1)` |
//! | descending: the largest and the smallest suffix | `γ(n + 1)`, a bit, the `n` suffixes between the two, and if the bit is 1, `γ(copies)` of each suffix in ascending order |
//!
//! `γ(x)` is Elias' gamma code: as many 0 as `x` has bits after its highest, a 1, and these bits. Of the `g` suffixes that there
//! can be between the two, those that are there are listed, or those that are not, whichever are fewer, as numbers from 0 on, in
//! ascending order, of as many bits as `g - 1` has; or there is a bit for each of the `g`, unless a list is shorter. So nothing
//! is written if all of them are there.

use super::multiset::Multiset;
use crate::bits::word::low_mask;
use crate::codec::fields::{self, Fields};
use crate::table::{Kind, Slot, Table};

/// The stream of bits after the first two slots of a box.
pub(super) struct Stream<'a, B> {
    pub(super) table: &'a Table<B>,
    /// Its first slot, and the end of the run: nothing but zeros from there on.
    pub(super) start: u64,
    pub(super) end: u64,
}

impl<B: AsRef<[u8]>> Stream<'_, B> {
    /// The `len` bits (at most 64) from bit `at` on.
    fn bits(&self, at: u64, len: u32) -> u64 {
        let slot = |number| Some(self.start + number).filter(|slot| *slot < self.end);
        let slot = |number| slot(number).map(|slot| self.table.slot(slot));
        fields::read(slot, self.table.shape().slot_bits(), at, len)
    }

    /// The number in gamma code at bit `at`, and the bit after it. What is none counts as 1.
    pub(super) fn gamma(&self, at: u64) -> (u64, u64) {
        let zeros = self.bits(at, 64).trailing_zeros();
        if zeros == 64 {
            return (1, at + 64);
        }
        let after = at + u64::from(zeros) + 1;
        (1 << zeros | self.bits(after, zeros), after + u64::from(zeros))
    }

    /// The slot after the one with the last of so many bits.
    pub(super) fn end_after(&self, bits: u64) -> u64 {
        let slots = bits.div_ceil(self.table.shape().slot_bits().into());
        self.start.saturating_add(slots).min(self.end)
    }

    /// Whether a bit lies after the last slot.
    fn is_over(&self, at: u64) -> bool {
        self.start + at / u64::from(self.table.shape().slot_bits()) >= self.end
    }
}

/// Appends a number, at least 1.
fn push_gamma(fields: &mut Fields, number: u64) {
    let bits = number.ilog2();
    fields.push(1 << bits, bits + 1);
    fields.push(number & low_mask(bits), bits);
}

/// How those between the smallest and the largest are written.
#[derive(Clone, Copy)]
enum Between {
    /// So many that are there, or that are not, as numbers of `width` bits.
    Listed { len: u32, width: u32, are_members: bool },
    /// A bit for each.
    Mapped,
}

impl Between {
    /// If `members` are there of `gap` that could be.
    fn of(gap: u32, members: u32) -> Self {
        let len = members.min(gap - members);
        let width = u32::BITS - gap.saturating_sub(1).leading_zeros();
        if len * width < gap {
            return Self::Listed { len, width, are_members: members <= gap - members };
        }
        Self::Mapped
    }

    /// How many bits that takes.
    fn bits(self, gap: u32) -> u64 {
        match self {
            Self::Listed { len, width, .. } => (len * width).into(),
            Self::Mapped => gap.into(),
        }
    }
}

/// A box of a descending pair: two suffixes or more.
#[derive(Debug, Clone, Copy)]
pub(super) struct Many {
    low: u16,
    high: u16,
    /// How many there are between the two.
    between: u32,
    has_copies: bool,
    /// The bit where those begin.
    at: u64,
}

impl Many {
    pub(super) fn read<B: AsRef<[u8]>>(low: u16, high: u16, stream: &Stream<'_, B>) -> Self {
        let (number, at) = stream.gamma(0);
        let gap = u32::from(high - low - 1);
        let between = (number - 1).min(gap.into()) as u32;
        Self { low, high, between, has_copies: stream.bits(at, 1) == 1, at: at + 1 }
    }

    /// How many suffixes there can be between the two.
    fn gap(self) -> u32 {
        u32::from(self.high - self.low - 1)
    }

    fn form(self) -> Between {
        Between::of(self.gap(), self.between)
    }

    /// The bit where the counts begin.
    fn counts_at(self) -> u64 {
        self.at + self.form().bits(self.gap())
    }

    /// How many bits the stream has.
    pub(super) fn bits<B: AsRef<[u8]>>(self, stream: &Stream<'_, B>) -> u64 {
        let mut at = self.counts_at();
        if self.has_copies {
            for _ in 0..self.between + 2 {
                if stream.is_over(at) {
                    break;
                }
                at = stream.gamma(at).1;
            }
        }
        at
    }

    /// Adds all that is in the box to a multiset, which is empty.
    pub(super) fn read_all<B: AsRef<[u8]>>(self, stream: &Stream<'_, B>, set: &mut Multiset) {
        let (gap, first) = (self.gap(), u32::from(self.low) + 1);
        let chunks = (0..gap).step_by(64).map(|from| (from, 64.min(gap - from)));
        match self.form() {
            Between::Mapped => {
                chunks.for_each(|(from, len)| {
                    set.set_bits(first + from, stream.bits(self.at + u64::from(from), len))
                });
            }
            Between::Listed { len, width, are_members } => {
                if !are_members {
                    chunks.for_each(|(from, len)| set.set_bits(first + from, low_mask(len)));
                }
                for i in 0..len {
                    let number = stream.bits(self.at + u64::from(i * width), width) as u32;
                    // What no encoder wrote.
                    if number >= gap {
                        continue;
                    }
                    match are_members {
                        true => set.set_bits(first + number, 1),
                        false => set.unset((first + number) as u16),
                    }
                }
            }
        }
        set.set_bits(self.low.into(), 1);
        set.set_bits(self.high.into(), 1);
        if self.has_copies {
            let (mut at, mut from) = (self.counts_at(), 0);
            while let (Some(suffix), false) = (set.next(from, true), stream.is_over(at)) {
                let (count, next) = stream.gamma(at);
                if count > 1 {
                    set.add(suffix, count - 1);
                }
                (at, from) = (next, u32::from(suffix) + 1);
            }
        }
    }

    /// Whether any suffix is in the range.
    pub(super) fn meets<B: AsRef<[u8]>>(self, stream: &Stream<'_, B>, from: u16, to: u16) -> bool {
        let is_in = |suffix: u16| (from..=to).contains(&suffix);
        if is_in(self.low) || is_in(self.high) {
            return true;
        }
        if to < self.low || from > self.high {
            return false;
        }
        // The range lies between the two.
        let (from, to) = (u32::from(from - self.low - 1), u32::from(to - self.low - 1));
        match self.form() {
            Between::Mapped => (from..=to).step_by(64).any(|from| {
                let len = 64.min(to - from + 1);
                stream.bits(self.at + u64::from(from), len) != 0
            }),
            Between::Listed { len, width, are_members } => {
                // How many of the list are smaller.
                let rank = |number: u32| {
                    let (mut low, mut high) = (0, len);
                    while low < high {
                        let middle = (low + high) / 2;
                        let listed = stream.bits(self.at + u64::from(middle * width), width) as u32;
                        (low, high) = if listed < number { (middle + 1, high) } else { (low, middle) };
                    }
                    low
                };
                let listed = rank(to + 1).saturating_sub(rank(from));
                if are_members { listed > 0 } else { listed < to + 1 - from }
            }
        }
    }
}

/// Appends the slots of a box. `head` is its string, with zeros for the suffix.
pub(super) fn encode(head: u64, set: &Multiset, slot_bits: u32, slots: &mut Vec<Slot>) {
    let Some((low, high)) = set.ends() else { return };
    let mut push = |suffix: u16| slots.push(Slot::head(head | u64::from(suffix)));
    let (distinct, has_copies) = (set.distinct(), set.has_copies());
    match distinct {
        1 if !has_copies => return push(low),
        2 if !has_copies => {
            push(low);
            return push(high);
        }
        _ => {
            push(high);
            push(low);
        }
    }
    let mut fields = Fields::new(slot_bits, Kind::Head, slots);
    if distinct == 1 {
        push_gamma(&mut fields, set.count(low) - 1);
        return fields.finish();
    }
    let (gap, between, first) = (u32::from(high - low - 1), distinct - 2, u32::from(low) + 1);
    push_gamma(&mut fields, u64::from(between) + 1);
    fields.push(has_copies.into(), 1);
    match Between::of(gap, between) {
        Between::Mapped => {
            for from in (0..gap).step_by(64) {
                let len = 64.min(gap - from);
                fields.push(set.bits(first + from, len), len);
            }
        }
        Between::Listed { len, width, are_members } => {
            let mut from = first;
            for _ in 0..len {
                let listed = set.next(from, are_members).map_or(from, u32::from);
                fields.push((listed - first).into(), width);
                from = listed + 1;
            }
        }
    }
    if has_copies {
        set.iter().for_each(|(_, count)| push_gamma(&mut fields, count));
    }
    fields.finish();
}
