//! Changing entries: a new one, one that gets longer, and one that others take the place of.
//!
//! Each is a plan that may fail and a deed that cannot, in one [`Kernel`]. Values have any type; whether keys may share an
//! entry was decided before.

use super::{Entry, Found, Payload, Strings, Table};
use crate::bits::cpu::{Cpu, Kernel};
use crate::hash::{MAX_BITS, Words};
use crate::prefix::Prefix;
use crate::table::{Edit, Full, Limits, Run, Slot};

/// An entry and where it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Place {
    pub(crate) quotient: u64,
    pub(crate) run: Run,
    pub(crate) entry: Entry,
}

/// What became of a hash, or would.
pub(crate) enum Outcome {
    Stored,
    Covered(Place),
    Full(Full),
    Indistinguishable,
}

/// Where an entry goes that does not exist yet, and how many bits of the hash it has.
struct Gap {
    quotient: u64,
    run: Run,
    at: u64,
    len: u32,
}

impl Gap {
    /// The gap for at least so many bits of a hash that no entry covers.
    #[inline(always)]
    fn find<C: Cpu, P: Payload>(
        cpu: C,
        table: &Table,
        strings: Strings<P>,
        words: &impl Words,
        least: u32,
    ) -> Result<Self, Outcome> {
        let quotient = table.address().quotient(words.word(0));
        let run = table.run(cpu, quotient);
        match strings.find(table, run, words) {
            Found::Covered(entry) => Err(Outcome::Covered(Place { quotient, run, entry })),
            Found::Between { at, common_bits } => match least.max(common_bits + 1) {
                len @ ..=MAX_BITS => Ok(Self { quotient, run, at, len: strings.round_up(len) }),
                _ => Err(Outcome::Indistinguishable),
            },
        }
    }
}

/// Tells whether there is room for the entry of a hash that no other covers, of at least so many bits.
pub(crate) struct PlanNew<'a, P: Payload, W> {
    pub(crate) table: &'a Table,
    pub(crate) strings: Strings<P>,
    pub(crate) words: &'a W,
    pub(crate) value: &'a P::Value,
    pub(crate) least: u32,
    pub(crate) limits: Limits,
}

impl<P: Payload, W: Words> Kernel for PlanNew<'_, P, W> {
    type Output = Outcome;
    #[inline(always)]
    fn run<C: Cpu>(self, cpu: C) -> Outcome {
        let Self { table, strings, words, value, least, limits } = self;
        let Gap { quotient, run, at, len } = match Gap::find(cpu, table, strings, words, least) {
            Ok(gap) => gap,
            Err(none) => return none,
        };
        match table.plan(cpu, quotient, run, at, 0, strings.slots_with(len, value), limits) {
            Ok(_) => Outcome::Stored,
            Err(why) => Outcome::Full(why),
        }
    }
}

/// Stores an entry of at least so many bits for a hash that no other covers.
pub(crate) struct InsertNew<'a, P: Payload, W> {
    pub(crate) table: &'a mut Table,
    pub(crate) strings: Strings<P>,
    pub(crate) words: &'a W,
    pub(crate) value: &'a P::Value,
    pub(crate) least: u32,
    pub(crate) limits: Limits,
}

impl<P: Payload, W: Words> Kernel for InsertNew<'_, P, W> {
    type Output = Outcome;
    #[inline(always)]
    fn run<C: Cpu>(self, cpu: C) -> Outcome {
        let Self { table, strings, words, value, least, limits } = self;
        let Gap { quotient, run, at, len } = match Gap::find(cpu, table, strings, words, least) {
            Ok(gap) => gap,
            Err(none) => return none,
        };
        let stored = match strings.payload().in_head(value) {
            Some(own) if strings.slots_for(len) == 1 => {
                table.insert_head(cpu, quotient, run, at, strings.slot(words, len, 0) | own, limits)
            }
            _ => {
                let mut slots = Vec::new();
                strings.encode(words, len, value, &mut slots);
                let edit = table.plan(cpu, quotient, run, at, 0, slots.len() as u64, limits);
                edit.map(|edit| table.commit(cpu, edit, &slots))
            }
        };
        match stored {
            Ok(()) => Outcome::Stored,
            Err(why) => Outcome::Full(why),
        }
    }
}

/// Makes the string of an entry as long as `len` bits of a hash, if that takes just one slot more. `false` if it does not,
/// or if there is no room.
pub(crate) struct Lengthen<'a, P, W> {
    pub(crate) table: &'a mut Table,
    pub(crate) strings: Strings<P>,
    pub(crate) place: &'a Place,
    pub(crate) words: &'a W,
    pub(crate) len: u32,
    pub(crate) limits: Limits,
}

impl<P: Payload, W: Words> Kernel for Lengthen<'_, P, W> {
    type Output = bool;
    #[inline(always)]
    fn run<C: Cpu>(self, cpu: C) -> bool {
        let Self { table, strings, place: Place { quotient, run, entry }, words, len, limits } = self;
        let (old, new) = (entry.string_slots, strings.slots_for(len));
        if new != old + 1 {
            return false;
        }
        let at = entry.start + u64::from(old);
        let last = strings.slot(words, len, old);
        if table.insert_continuation(cpu, *quotient, *run, at, last, limits).is_err() {
            return false;
        }
        // The stop bit was in the slot before.
        let own = if old == 1 { strings.own_bits(table.slot(at - 1)) } else { 0 };
        table.set_value(at - 1, strings.slot(words, len, old - 1) | own);
        true
    }
}

/// Takes the entry of a fingerprint away, if that is as simple as it usually is.
pub(crate) struct TakeOutAtGlance<'a, P> {
    pub(crate) table: &'a mut Table,
    pub(crate) strings: Strings<P>,
    pub(crate) prefix: &'a Prefix,
    /// The own bits of its head; it has no other payload.
    pub(crate) own: u64,
}

impl<P: Payload> Kernel for TakeOutAtGlance<'_, P> {
    type Output = bool;
    #[inline(always)]
    fn run<C: Cpu>(self, cpu: C) -> bool {
        let Self { table, strings, prefix, own } = self;
        strings.remove_at_glance(cpu, table, prefix, prefix.len(), own)
    }
}

/// Takes an entry away, which cannot fail.
pub(crate) struct TakeOut<'a> {
    pub(crate) table: &'a mut Table,
    pub(crate) place: &'a Place,
}

impl Kernel for TakeOut<'_> {
    type Output = ();
    #[inline(always)]
    fn run<C: Cpu>(self, cpu: C) {
        let Self { table, place } = self;
        let Place { quotient, run, entry } = *place;
        if entry.slots() == 1 {
            return table.remove_head(cpu, quotient, run, entry.start);
        }
        let taken = Replace { table, place, slots: &[], limits: Limits::NONE }.run(cpu);
        debug_assert!(taken.is_ok(), "taking slots away cannot fail");
    }
}

/// Plans to put `slots` slots in the place of an entry.
pub(crate) struct PlanReplace<'a> {
    pub(crate) table: &'a Table,
    pub(crate) place: &'a Place,
    pub(crate) slots: u64,
    pub(crate) limits: Limits,
}

impl Kernel for PlanReplace<'_> {
    type Output = Result<Edit, Full>;
    #[inline(always)]
    fn run<C: Cpu>(self, cpu: C) -> Self::Output {
        let Self { table, place: Place { quotient, run, entry }, slots, limits } = self;
        table.plan(cpu, *quotient, *run, entry.start, entry.slots(), slots, limits)
    }
}

/// Puts other slots in the place of an entry: those of any number of entries of the same quotient.
pub(crate) struct Replace<'a> {
    pub(crate) table: &'a mut Table,
    pub(crate) place: &'a Place,
    pub(crate) slots: &'a [Slot],
    pub(crate) limits: Limits,
}

impl Kernel for Replace<'_> {
    type Output = Result<(), Full>;
    #[inline(always)]
    fn run<C: Cpu>(self, cpu: C) -> Self::Output {
        let Self { table, place, slots, limits } = self;
        let edit = PlanReplace { table, place, slots: slots.len() as u64, limits }.run(cpu)?;
        table.commit(cpu, edit, slots);
        Ok(())
    }
}
