//! Changing a table: replace slots of one run by others, shifting what comes after them.
//!
//! An edit that needs more slots takes the nearest free ones after it: the first after the runs of its block, or of the
//! next block that is not full. Taking a free slot `e` for a run moves everything between the run and `e` one slot up, so
//! every block that starts after the run and not after `e` has one more slot taken by earlier quotients: its offset grows by
//! one.
//!
//! An edit that needs fewer slots closes them one by one. Everything up to the end of the block's runs moves one slot down,
//! and if they reach into the next block, its runs do so too; the offsets of these blocks shrink by one. A saturated offset
//! says only "at least", so it is computed anew.

use super::crowd::CROWDED_REACH;
use super::shift::Moved;
use super::{EXTENSION_AT, Full, Layout, Limits, RUNEND_AT, Run, Table, split};
use crate::bits::cpu::Cpu;
use crate::mem::Memory;

/// What the two metadata bits of a slot say, apart from the end of the run, which the table knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// The first slot of an entry.
    Head,
    /// More of the entry's bit string. Needs extension bits.
    Continuation,
    /// Payload of the entry. Needs extension bits.
    Payload,
}

/// A slot to be written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Slot {
    pub(crate) kind: Kind,
    pub(crate) value: u64,
}

impl Slot {
    pub(crate) const fn head(value: u64) -> Self {
        Self { kind: Kind::Head, value }
    }
}

/// An edit that is known to fit. Valid until the table changes.
#[derive(Debug)]
pub(crate) struct Edit {
    quotient: u64,
    run: Run,
    at: u64,
    remove: u64,
    insert: u64,
    /// The free slots that will be taken, in order: the first and the others.
    taken: Option<u64>,
    also_taken: Vec<u64>,
}

impl<L: Layout> Table<Memory, L> {
    /// Plans to replace the `remove` slots at `at` by `insert` others. They lie in `run`, the run of
    /// `quotient`, and begin and end between entries; `at` may be the end of the run.
    #[expect(clippy::too_many_arguments, reason = "where, how many, and within which limits")]
    #[inline(always)]
    pub(crate) fn plan<C: Cpu>(
        &self,
        cpu: C,
        quotient: u64,
        run: Run,
        at: u64,
        remove: u64,
        insert: u64,
        limits: Limits,
    ) -> Result<Edit, Full> {
        debug_assert!(run.start <= at && at + remove <= run.end);
        let mut edit = Edit { quotient, run, at, remove, insert, taken: None, also_taken: Vec::new() };
        if insert > remove {
            let more = insert - remove;
            let limits = limits.for_entry(remove);
            let mut free = self.free_slot(cpu, quotient, run, at, more, limits)?;
            edit.taken = Some(free);
            for _ in 1..more {
                free = self.first_free(cpu, free + 1).ok_or(Full::End { slots: more as u32 })?;
                edit.also_taken.push(free);
            }
        }
        Ok(edit)
    }

    /// The free slot that is nearest to a run, the run of `quotient`, for an edit at `at` that takes `more` slots.
    #[inline(always)]
    fn free_slot<C: Cpu>(
        &self,
        cpu: C,
        quotient: u64,
        run: Run,
        at: u64,
        more: u64,
        limits: Limits,
    ) -> Result<u64, Full> {
        if self.used.saturating_add(more) > limits.slots {
            return Err(Full::Slots);
        }
        let free = self.first_free(cpu, run.end).ok_or(Full::End { slots: more as u32 })?;
        if free - self.shape.home_of(quotient) > CROWDED_REACH {
            self.check_reach(quotient, run, at, free, limits)?;
        }
        Ok(free)
    }

    /// Whether an edit that uses the slot `free` is within the limits.
    #[cold]
    fn check_reach(&self, quotient: u64, run: Run, at: u64, free: u64, limits: Limits) -> Result<(), Full> {
        if self.crowd.work > limits.work {
            return Err(Full::Work);
        }
        let reach = (free - at)
            .max((run.end - run.start).saturating_mul(4))
            .max((run.start - self.shape.home_of(quotient)) / 16);
        if reach > limits.reach {
            return Err(Full::Far { reach: u32::try_from(reach).unwrap_or(u32::MAX) });
        }
        Ok(())
    }

    /// Carries out a plan with as many `slots` as it was made for.
    #[inline(always)]
    pub(crate) fn commit<C: Cpu>(&mut self, cpu: C, edit: Edit, slots: &[Slot]) {
        let Edit { quotient, mut run, at, remove, insert, taken, also_taken } = edit;
        debug_assert_eq!(slots.len() as u64, insert);
        let entry_slots = remove.max(1);
        if remove > insert {
            for slot in (at + insert..at + remove).rev() {
                run = self.close(cpu, quotient, run, slot, entry_slots);
            }
        }
        if !run.is_empty() {
            self.set_bit(self.last_head(run), RUNEND_AT, false);
        }
        for free in taken.into_iter().chain(also_taken) {
            self.shift_up(at + remove, free);
            self.bump_offsets(quotient, at, free, entry_slots);
            run.end += 1;
            self.used += 1;
        }
        for (slot, new) in (at..).zip(slots) {
            self.set_slot(slot, new.value);
            self.set_bit(slot, RUNEND_AT, new.kind == Kind::Payload);
            if L::EXTENDED {
                self.set_bit(slot, EXTENSION_AT, new.kind != Kind::Head);
            }
        }
        self.set_occupied(quotient, !run.is_empty());
        if !run.is_empty() {
            self.set_bit(self.last_head(run), RUNEND_AT, true);
        }
    }

    /// Inserts one head at `at` in `run`, the run of `quotient`: what most edits are. The same as
    /// [`plan`](Table::plan) and [`commit`](Table::commit), in fewer steps.
    #[inline(always)]
    pub(crate) fn insert_head<C: Cpu>(
        &mut self,
        cpu: C,
        quotient: u64,
        run: Run,
        at: u64,
        value: u64,
        limits: Limits,
    ) -> Result<(), Full> {
        let free = self.free_slot(cpu, quotient, run, at, 1, limits)?;
        if !run.is_empty() && at == run.end {
            self.set_bit(self.last_head(run), RUNEND_AT, false);
        }
        self.shift_up(at, free);
        self.bump_offsets(quotient, at, free, 1);
        self.set_slot(at, value);
        self.used += 1;
        if run.is_empty() {
            self.set_occupied(quotient, true);
        }
        // Shifting left the new slot without a run end.
        if at == run.end {
            self.set_bit(at, RUNEND_AT, true);
        }
        Ok(())
    }

    /// Inserts a continuation at `at`, between two slots of an entry or after its last, in `run`, the run of
    /// `quotient`. The same as [`plan`](Table::plan) and [`commit`](Table::commit), in fewer steps.
    #[inline(always)]
    pub(crate) fn insert_continuation<C: Cpu>(
        &mut self,
        cpu: C,
        quotient: u64,
        run: Run,
        at: u64,
        value: u64,
        limits: Limits,
    ) -> Result<(), Full> {
        if self.used >= limits.slots {
            return Err(Full::Slots);
        }
        if self.insert_continuation_quickly(quotient, run, at, value) {
            return Ok(());
        }
        let free = self.free_slot(cpu, quotient, run, at, 1, limits)?;
        self.shift_up(at, free);
        self.bump_offsets(quotient, at, free, 1);
        self.set_slot(at, value);
        // Shifting left the new slot without a run end, and runs end at heads.
        self.set_bit(at, EXTENSION_AT, true);
        self.used += 1;
        Ok(())
    }

    /// Puts another value into a slot in use.
    #[inline(always)]
    pub(crate) fn set_value(&mut self, slot: u64, value: u64) {
        self.set_slot(slot, value);
    }

    /// Removes the head at `at`, which has no extensions, from `run`, the run of `quotient`.
    #[inline(always)]
    pub(crate) fn remove_head<C: Cpu>(&mut self, cpu: C, quotient: u64, run: Run, at: u64) {
        self.close(cpu, quotient, run, at, 1);
    }

    /// The head of the last entry of a run that is not empty.
    #[inline(always)]
    fn last_head(&self, run: Run) -> u64 {
        let mut slot = run.end - 1;
        while L::EXTENDED && slot > run.start && self.is_extension(slot) {
            slot -= 1;
        }
        slot
    }

    /// Moves the slots `from..free` and their bits one slot up, onto the free slot after them. What is left in `from` is 0.
    #[inline(always)]
    fn shift_up(&mut self, from: u64, free: u64) {
        let ((first, at), (last, free)) = (self.shape.place(from), self.shape.place(free));
        let last_slot = self.last_slot();
        let mut moved = Moved::default();
        for block in first..=last {
            let at = if block == first { at } else { 0 };
            moved = self.shift_in(block, at, if block == last { free } else { last_slot }, moved);
        }
    }

    /// A slot more is taken for `quotient`, at `at`, and `free` is in use now. It is for an entry of so many slots.
    #[inline(always)]
    fn bump_offsets(&mut self, quotient: u64, at: u64, free: u64, entry_slots: u64) {
        if free - self.shape.home_of(quotient) > CROWDED_REACH {
            self.count_edit(self.shape.home_of(quotient), at, free, entry_slots);
        }
        let (home, last) = (split(quotient).0, self.shape.place(free).0);
        for block in self.first_unsaturated(home)..=last {
            if let Some(offset) = self.offset(block) {
                self.set_offset(block, offset + 1);
            }
        }
        self.crowd.moved_up(home, last);
        if self.is_far(home, last) {
            self.remember_crowd(home, last, entry_slots);
        }
    }

    /// Takes one slot out of a run, and of an entry of so many, and closes the gap. The slot must not be a head that still has
    /// extension slots.
    #[inline(always)]
    fn close<C: Cpu>(&mut self, cpu: C, quotient: u64, run: Run, slot: u64, entry_slots: u64) -> Run {
        let end = self.end_of_cluster(cpu, split(quotient).0);
        // If the run's last head goes, the head before it becomes the last.
        if slot == self.last_head(run) {
            if slot == run.start {
                self.set_occupied(quotient, false);
            } else {
                let before = self.last_head(Run { end: slot, ..run });
                self.set_bit(before, RUNEND_AT, true);
            }
        }
        if end - slot > CROWDED_REACH * entry_slots {
            self.count_work((end - slot) / entry_slots);
        }
        self.shift_down(slot, end);
        self.used -= 1;
        self.crowd.given_back += 1;
        self.lower_offsets(cpu, quotient, end - 1);
        Run { start: run.start, end: run.end - 1 }
    }

    /// Moves the slots after `slot` up to `end` and their bits one slot down.
    #[inline(always)]
    fn shift_down(&mut self, slot: u64, end: u64) {
        let ((first, at), (last, last_at)) = (self.shape.place(slot), self.shape.place(end - 1));
        let last_slot = self.last_slot();
        let mut moved = Moved::default();
        for block in (first..=last).rev() {
            let at = if block == first { at } else { 0 };
            moved = self.shift_out(block, at, if block == last { last_at } else { last_slot }, moved);
        }
    }

    /// A slot fewer is taken for `quotient`, and `freed`, the last slot that moved, is not in use.
    #[inline(always)]
    fn lower_offsets<C: Cpu>(&mut self, cpu: C, quotient: u64, freed: u64) {
        let (first, last) = (split(quotient).0, self.shape.place(freed).0);
        self.crowd.moved_down(first, last);
        // The first own slot of the block before, once a saturated offset asks for it.
        let mut own = None;
        for block in first + 1..=last {
            let before = own.take();
            match self.offset(block) {
                Some(offset) => self.set_offset(block, offset - 1),
                None => {
                    let before = before.unwrap_or_else(|| self.first_own_slot(cpu, block - 1));
                    let free = self.behind_block(cpu, block - 1, before);
                    self.set_offset(block, free - self.shape.first_slot(block));
                    if self.offset(block).is_some() {
                        self.crowd.is_not_saturated(block);
                    }
                    own = Some(free);
                }
            }
        }
    }
}
