//! Looking into a run without finding out where it is first: the fast path of every operation.
//!
//! At usual loads a run has one or two slots and lies in the block of its quotient, but whether a quotient
//! has a run at all is a coin toss that no branch predictor wins. So everything is computed as if there
//! were a run, without a branch: both ends of the run with one `pdep`, up to six slots with one load, and
//! all of them are compared with a value at once. Only if that cannot decide (the run leaves the block, or
//! is longer) is there a jump, to the general code, in about one query of seventy for an absent key at 90 % load.
//!
//! Comparing several slots at once is the well-known search for a zero byte in a word, with lanes of any
//! width: `(x - 1) & !x` has the top bit of a lane set if the lane is 0. Lanes above a zero lane may be
//! wrong because of the borrow, the lowest one that is set never is.
//!
//! There are two of them: [`look_at`](Table::look_at) for queries of strings, and [`glance_at`](Table::glance_at) for edits,
//! which must also know where a run would begin that is not there, and for tables without extensions, where it takes fewer
//! steps.
//!
//! In tables with extensions a glance is for runs whose entries have one slot each, and that no extension
//! slot of an earlier run touches: nearly all. Whether there are extensions is known from the type of the table, so that
//! tables without pay nothing.

use std::hint::select_unpredictable;

use super::source::{ReadBlock, Source};
use super::{Home, Layout, OCCUPIED_AT, OFFSET_AT, Run, Shape, Table};
use crate::bits::cpu::Cpu;
use crate::bits::vectors::Vectors;
use crate::bits::word::{bit, low_mask, rank_below};

/// The most slots that are compared at once. A run of more is rare at any load.
const MOST_LANES: usize = 6;

/// Room for a mask for each number of lanes, and a power of two.
pub(super) const MASKS: usize = 8;

/// Several slots side by side in a word, and what else a glance needs that follows from the shape.
#[derive(Clone, Copy)]
pub(super) struct Lanes {
    /// How many there are.
    count: u32,
    /// The lowest bit of each.
    pub(super) ones: u64,
    /// The highest bits of the first `n` of them.
    pub(super) highs: [u64; MASKS],
    /// Offsets from here on are saturated, or point after the block.
    offset_limit: u32,
    /// How many slots a block has, and the bits of a metadata word that stand for them.
    slots: u32,
    slots_of_word: u64,
    /// The bit of a metadata word that stands for the last of them.
    last_slot: u64,
    pub(super) vectors: Vectors,
}

impl Lanes {
    pub(super) fn new(shape: &Shape) -> Self {
        // A word loaded at a byte has at least 57 bits from any bit of that byte on.
        let width = shape.slot_bits();
        let count = (57 / width).min(MOST_LANES as u32);
        let ones = (0..count).fold(0, |ones, lane| ones | 1 << (lane * width));
        let highs = std::array::from_fn(|len| ones << (width - 1) & low_mask(len as u32 * width));
        // If the first 64 bits of a hash do not reach to the end of a slot, nothing is decided at a glance.
        let slots = shape.block_slots() as u32;
        let is_usual = shape.position_bits() + width <= 64;
        let offset_limit = if is_usual { u32::from(shape.offset_max()).min(slots) } else { 0 };
        let vectors = Vectors::new(shape.slots_bytes(), width);
        let (slots_of_word, last_slot) = (shape.slots_of_word(), 1 << (slots - 1));
        Self { count, ones, highs, offset_limit, slots, slots_of_word, last_slot, vectors }
    }
}

/// The header of a block.
#[derive(Clone, Copy)]
pub(super) struct Words {
    pub(super) offset: u32,
    pub(super) occupied: u64,
    /// The word `runend` as it is: with extensions, payload has these bits too.
    pub(super) ends: u64,
    /// 0 in tables without.
    pub(super) extension: u64,
}

/// A run of at most six slots in the block of its quotient; no slots if the quotient has no run.
#[derive(Clone, Copy)]
pub(crate) struct Glance {
    pub(super) block: u64,
    pub(super) words: Words,
    /// The quotient, and the first slot and the length of its run, in the block.
    pub(super) home: u32,
    pub(super) start: u32,
    pub(super) len: u32,
    /// The slots from the start of the run on, side by side.
    pub(super) slots: u64,
}

impl<B: Source, L: Layout> Table<B, L> {
    /// Looks at the run of `quotient`; `None` if it takes more than a glance.
    #[inline(always)]
    pub(crate) fn glance<C: Cpu>(&self, cpu: C, quotient: u64) -> Option<Glance> {
        self.glance_at(cpu, Home::of(quotient))
    }

    /// Looks at the run of a quotient, given where it is; `None` if it takes more than a glance.
    #[inline(always)]
    pub(crate) fn glance_at<C: Cpu>(&self, cpu: C, home: Home) -> Option<Glance> {
        let (lanes, block, home) = (&self.lanes, home.block, home.number as u32);
        let (words, bytes) = self.words_and_slots(block)?;
        let Words { offset, occupied, extension, .. } = words;
        // See `run_in_block`: a virtual run end before the block's own ones.
        let own_ends = words.own_ends() << 1 | 1;
        let (start, end) = cpu.select_two(own_ends, rank_below(occupied, home));
        let (start, end) = (offset + start, offset.wrapping_add(end));
        // If the numbers make no sense, any slot will do.
        let slots = bytes.fields(start);
        // Less than 0, which is a large number here, if the end of the run is not in this block.
        let len = end.wrapping_sub(start);
        // Without a run there is nothing to decide.
        let has_run = bit(occupied, home);
        let len = select_unpredictable(has_run, len, 0);
        if L::EXTENDED {
            // So many slots from there on are no extensions; those of the next block, shifted in as zeros, may be some. The
            // slot after the run must be none, either. (Reckoned, since compilers make a branch of a choice here.)
            let plain = (lanes.slots_of_word & !extension).wrapping_shr(start).trailing_ones();
            if (plain.wrapping_sub(len).wrapping_sub(has_run.into()) as i32) < 0 {
                return None;
            }
        }
        if len > lanes.count || offset >= lanes.offset_limit {
            return None;
        }
        Some(Glance { block, words, home, start, len, slots })
    }

    /// Looks at the run of a quotient as [`glance_at`](Self::glance_at) does, in fewer steps: for queries, which need not know
    /// where a run would begin that is not there.
    #[inline(always)]
    pub(crate) fn look_at<C: Cpu>(&self, cpu: C, home: Home) -> Option<Glance> {
        let (words, bytes) = self.words_and_slots(home.block)?;
        let is_wanted = bit(words.occupied, home.number as u32);
        let glance = self.look_into(cpu, home, words, bytes, is_wanted)?;
        (words.offset < self.lanes.offset_limit).then_some(glance)
    }

    /// [`look_at`](Self::look_at), given the words of the block, whose offset is known to be usual; nothing is looked at
    /// unless it is wanted.
    #[inline(always)]
    pub(super) fn look_into<C: Cpu>(
        &self,
        cpu: C,
        home: Home,
        words: Words,
        bytes: impl ReadBlock,
        is_wanted: bool,
    ) -> Option<Glance> {
        let (lanes, Home { block, number }) = (&self.lanes, home);
        let number = number as u32;
        // See `run_in_block`: a virtual run end before the block's own ones.
        let own_ends = words.own_ends() << 1 | 1;
        let run = cpu.between(own_ends, rank_below(words.occupied, number), is_wanted);
        let start = words.offset.wrapping_add(run.start);
        let slots = bytes.fields(start);
        if L::EXTENDED {
            // Neither the slots of the run nor the one after it may be extensions; one of the next block may be.
            let plain = (lanes.slots_of_word & !words.extension).wrapping_shr(words.offset);
            if (run.bits | run.bits << 1) & !plain != 0 {
                return None;
            }
        }
        if !run.is_whole || run.len > lanes.count {
            return None;
        }
        Some(Glance { block, words, home: number, start, len: run.len, slots })
    }

    /// The header of a block, and its bytes; `None` if there is no such block.
    #[inline(always)]
    pub(super) fn words_and_slots(&self, block: u64) -> Option<(Words, B::Block<'_>)> {
        let width = self.shape.slot_bits() as u8;
        let bytes = self.bytes.block(self.shape.block_at(block), L::BYTES as u8, width)?;
        Some((Words::read::<L>(bytes.first_byte(), |i| bytes.header_word(i)), bytes))
    }

    /// The header of a block.
    #[inline(always)]
    pub(super) fn words(&self, block: u64) -> Words {
        let at = self.shape.block_at(block);
        Words::read::<L>(self.bytes.byte(at + OFFSET_AT), |i| self.bytes.word(at + OCCUPIED_AT + 8 * i))
    }

    /// The run, which has some slots.
    #[inline(always)]
    pub(crate) fn run_at_glance(&self, glance: &Glance) -> Run {
        let start = self.shape.first_slot(glance.block) + u64::from(glance.start);
        Run { start, end: start + u64::from(glance.len) }
    }

    /// How many slots of a block with this header are in use, and how many it has.
    #[inline(always)]
    pub(super) fn used_of(&self, words: &Words) -> (u32, u32) {
        (words.used(self.lanes.slots), self.lanes.slots)
    }

    /// Whether the last slot of a block is in use, if all runs end in the block.
    #[inline(always)]
    pub(super) fn is_full(&self, words: &Words) -> bool {
        words.ends | words.extension >= self.lanes.last_slot
    }

    /// Offsets from here on are saturated, or point after the block.
    #[inline(always)]
    pub(super) fn offset_limit(&self) -> u32 {
        self.lanes.offset_limit
    }

    /// Whether the place where the run begins, or would begin, follows from the block alone.
    #[inline(always)]
    pub(super) fn is_placed(&self, glance: &Glance) -> bool {
        let Glance { start, words, .. } = glance;
        *start < self.lanes.slots
            && words.offset < self.lanes.offset_limit
            // Extension slots of the run before may reach up to here.
            && !bit(words.extension, *start)
    }
}

impl Glance {
    /// How many slots the run has.
    #[inline(always)]
    pub(crate) fn len(&self) -> u32 {
        self.len
    }
}

impl Words {
    /// The header of a block, of which `word` gives one after the other.
    #[inline(always)]
    fn read<L: Layout>(offset: u8, word: impl Fn(usize) -> u64) -> Self {
        let extension = if L::EXTENDED { word(2) } else { 0 };
        Self { offset: offset.into(), occupied: word(0), ends: word(1), extension }
    }

    /// Heads of last entries.
    #[inline(always)]
    pub(super) fn run_ends(&self) -> u64 {
        self.ends & !self.extension
    }

    /// How many of the block's `slots` are in use: they lie at its start, without a gap. All, if its runs, or those of
    /// earlier blocks, reach into the next.
    #[inline(always)]
    fn used(&self, slots: u32) -> u32 {
        if self.goes_on() || self.offset >= slots { slots } else { self.last_slot_end() }
    }

    /// The run ends of the block's own quotients, from its first own slot on; any bits, if that is in another block.
    #[inline(always)]
    pub(super) fn own_ends(&self) -> u64 {
        self.run_ends().wrapping_shr(self.offset)
    }

    /// Whether runs of the block end in a later one, if they begin in this.
    #[inline(always)]
    pub(super) fn goes_on(&self) -> bool {
        self.occupied.count_ones() > self.own_ends().count_ones()
    }

    /// How many slots are in use, if all runs end in the block: the last one is the end of a run or an extension.
    #[inline(always)]
    pub(super) fn last_slot_end(&self) -> u32 {
        64 - (self.ends | self.extension).leading_zeros()
    }
}

/// What the slots of a run hold.
impl<B: Source, L: Layout> Table<B, L> {
    /// The slots of the run and some after it, side by side, the first one in the lowest bits.
    #[inline(always)]
    pub(crate) fn slots_at_glance(&self, glance: &Glance) -> u64 {
        glance.slots
    }

    /// The highest bits of the lanes that hold slots of the run.
    #[inline(always)]
    pub(super) fn lanes_of(&self, glance: &Glance) -> u64 {
        B::first_lanes(&self.lanes.highs, glance.len, self.shape.slot_bits())
    }

    /// The first slot of the run that has this value, as a bit: 0 if there is none. The lowest bits of a slot that are set in
    /// `ignored` are not compared, and must be 0 in the value: a slot may hold something else there.
    #[inline(always)]
    pub(crate) fn find_at_glance(&self, glance: &Glance, value: u64, ignored: u64) -> u64 {
        let compared = !self.lanes.ones.wrapping_mul(ignored);
        let differ = (glance.slots ^ value.wrapping_mul(self.lanes.ones)) & compared;
        let found = differ.wrapping_sub(self.lanes.ones) & !differ & self.lanes_of(glance);
        found & found.wrapping_neg()
    }

    /// Whether a slot that was found is not among the first `N` of the run.
    #[inline(always)]
    pub(crate) fn is_behind<const N: usize>(&self, found: u64) -> bool {
        found > self.lanes.highs[N]
    }

    /// How many slots of the run have this value.
    #[inline(always)]
    pub(crate) fn count_at_glance(&self, glance: &Glance, value: u64) -> u32 {
        // With its top bit set, a lane lends nothing to the next one, so all lanes are right: the bit is
        // left alone if the lower bits differ.
        let highs = self.lanes.highs[MASKS - 1];
        let differ = glance.slots ^ value.wrapping_mul(self.lanes.ones);
        let differs = (differ | highs).wrapping_sub(self.lanes.ones) | differ;
        (!differs & self.lanes_of(glance)).count_ones()
    }

    /// Whether two neighbouring slots of the run, which has some, have the same value, but for the lowest bits, which are
    /// set in `ignored`.
    #[inline(always)]
    pub(crate) fn repeats_at_glance(&self, glance: &Glance, ignored: u64) -> bool {
        let compared = !self.lanes.ones.wrapping_mul(ignored);
        let differ = (glance.slots ^ glance.slots >> self.shape.slot_bits()) & compared;
        let pairs = self.lanes.highs[glance.len.wrapping_sub(1) as usize % MASKS];
        differ.wrapping_sub(self.lanes.ones) & !differ & pairs != 0
    }

    /// How many slots of the run have a smaller value.
    #[inline(always)]
    pub(crate) fn rank_at_glance(&self, glance: &Glance, value: u64) -> u32 {
        let (highs, others) = (self.lanes.highs[MASKS - 1], value.wrapping_mul(self.lanes.ones));
        // With its top bit set, a lane lends nothing to the next one: the top bit that is left tells
        // whether the lower bits were at least as large. The top bits themselves are compared apart.
        let not_less = (glance.slots | highs).wrapping_sub(others & !highs);
        let less = (!glance.slots & others) | (!(glance.slots ^ others) & !not_less);
        (less & self.lanes_of(glance)).count_ones()
    }
}
