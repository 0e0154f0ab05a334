//! Filters that many threads share: every operation takes `&self`.
//!
//! # The idea
//!
//! The hashes are cut by their first bits into *shards*. A shard is a filter of its own for the hashes that begin with its
//! bits, and an operation concerns one shard. Which shard it is takes the place of bits of the quotient, so all shards
//! together are as large as one filter.
//!
//! - Whoever changes a shard holds its lock; who changes another shard does not wait.
//! - Whoever asks takes no lock: it reads, and sees from a version whether the shard was changed meanwhile; then it asks
//!   again ([`words`](crate::words) has the protocol). After some tries it takes the lock.
//! - A shard that needs a larger table makes it while others go on reading the old one, and then shows it to them.
//!
//! What is done with a shard is what the filter does that is not shared: here is only who may when.
//!
//! # Cost
//!
//! A query takes some loads more than in a filter that is not shared, and no store. A change takes a lock, which only threads
//! contend for that change the same shard.

mod adaptive;
mod quotient;

pub use adaptive::{SharedAdaptiveFilter, SharedAdaptiveSet};
pub use quotient::SharedQuotientFilter;

use std::ops::Deref;
use std::sync::{Arc, OnceLock};

use crate::bits::cpu::{Cpu, Portable};
use crate::mem::{Memory, OutOfMemory};
use crate::table::{Layout, Part, Table};
use crate::words::{Ground, Held, Lock, Reading, Whereabouts};

/// A filter that can be a shard.
pub(crate) trait Shard {
    /// All that it takes to read its table, but for the words of the table.
    type Frame: PartialEq;

    /// How its table is to be read now.
    fn frame(&self) -> Self::Frame;

    /// Where its table lies.
    fn memory(&mut self) -> &mut Memory;
}

/// How to read a table of the layout `L`, whose entries a codec reads.
pub(crate) struct Frame<L, C> {
    table: Table<(), L>,
    codec: C,
}

impl<L: Layout, C: PartialEq> PartialEq for Frame<L, C> {
    fn eq(&self, other: &Self) -> bool {
        self.table.shape() == other.table.shape() && self.codec == other.codec
    }
}

/// As many ways to read tables are known at the same time. One is a shape: there is one for each size that a shard had, and
/// some more for tables with longer ends. Whatever has another one is read with the lock only.
const MOST_FRAMES: usize = 256;

/// A filter has at most `2^MOST_BITS` shards,
const MOST_BITS: u32 = 6;
/// and they are planned for `2^LEAST_SLOTS_BITS` slots at least.
const LEAST_SLOTS_BITS: u32 = 10;

/// The first bits of a hash that say which shard it is in, if there are to be `2^quotient_bits` slots.
pub(crate) fn shard_bits(quotient_bits: u32) -> u32 {
    quotient_bits.saturating_sub(LEAST_SLOTS_BITS).min(MOST_BITS)
}

/// The same, if somebody has said how many shards there are to be.
pub(crate) fn bits_of(shards: usize) -> u32 {
    shards.clamp(1, 1 << Part::MOST_BITS).next_power_of_two().ilog2()
}

/// How often a reader tries before it takes the lock.
pub(crate) const TRIES: usize = 16;

/// Shards, and what they have in common.
pub(crate) struct Shards<F: Shard> {
    ground: Arc<Ground>,
    states: Box<[Alone<Lock<F>>]>,
    /// Frames are added, and stay.
    frames: Box<[OnceLock<Box<F::Frame>>]>,
    /// Who looks for the number of a frame, or adds one.
    naming: Lock<()>,
    bits: u32,
}

/// On cache lines of its own.
#[repr(align(128))]
struct Alone<T>(T);

impl<T> Deref for Alone<T> {
    type Target = T;
    #[inline(always)]
    fn deref(&self) -> &T {
        &self.0
    }
}

impl<F: Shard> Shards<F> {
    /// `2^bits` filters, those of the parts in order.
    pub(crate) fn new(bits: u32, mut filters: Vec<F>) -> Result<Self, OutOfMemory> {
        assert_eq!(filters.len(), 1 << bits, "a filter for every shard");
        let bytes = filters.iter_mut().map(|filter| filter.memory().len().next_multiple_of(128)).sum();
        let shards = Self {
            ground: Ground::new(filters.len(), bytes)?,
            frames: (0..MOST_FRAMES).map(|_| OnceLock::new()).collect(),
            naming: Lock::new(()),
            states: filters.into_iter().map(|filter| Alone(Lock::new(filter))).collect(),
            bits,
        };
        (0..shards.states.len()).for_each(|shard| shards.write(shard, |_| ()));
        Ok(shards)
    }

    /// The first bits of a hash that say which shard it is in.
    pub(crate) fn bits(&self) -> u32 {
        self.bits
    }

    /// The shard of a hash.
    #[inline(always)]
    pub(crate) fn of(&self, hash: u64) -> usize {
        // Shifting by 64 in two steps gives 0.
        (hash >> 1 >> (63 - self.bits)) as usize
    }

    /// All shards, in order.
    pub(crate) fn numbers(&self) -> std::ops::Range<usize> {
        0..self.states.len()
    }

    /// Bytes of memory that the tables lie in.
    pub(crate) fn reserved(&self) -> usize {
        self.ground.reserved()
    }

    /// Begins to read a shard without its lock: its frame, and its words. `None` if somebody changes it now.
    ///
    /// (No closure: what is in one may be compiled for another CPU.)
    #[inline(always)]
    pub(crate) fn begin(&self, shard: usize) -> Option<(&F::Frame, Reading<'_>)> {
        let reading = self.ground.begin(shard)?;
        Some((self.frames.get(reading.frame)?.get()?, reading))
    }

    /// Where a shard seems to be: to ask for its cache lines.
    #[inline(always)]
    fn glimpse(&self, shard: usize) -> Option<(&F::Frame, Whereabouts)> {
        let (frame, words) = self.ground.glimpse(shard);
        Some((self.frames.get(frame)?.get()?, words))
    }

    /// A shard that stays as it is, for as long as this is held.
    pub(crate) fn lock(&self, shard: usize) -> Held<'_, F> {
        self.states[shard].lock()
    }

    /// Changes a shard.
    #[inline(always)]
    pub(crate) fn write<R>(&self, shard: usize, change: impl FnOnce(&mut F) -> R) -> R {
        let mut state = self.lock(shard);
        let result = change(&mut state);
        self.settle(shard, &mut state);
        result
    }

    /// Lets readers see a shard that was changed.
    #[inline(always)]
    fn settle(&self, shard: usize, state: &mut F) {
        if state.memory().is_shared() {
            self.ground.settle(shard);
        } else {
            self.show(shard, state);
        }
    }

    /// Shows readers a table that is new.
    #[cold]
    fn show(&self, shard: usize, state: &mut F) {
        let frame = self.number_of(state.frame());
        self.ground.show(shard, state.memory(), frame);
    }

    /// The number of a frame, `None` if there are too many.
    fn number_of(&self, frame: F::Frame) -> Option<usize> {
        let _one_at_a_time = self.naming.lock();
        let number = self.frames.iter().position(|known| known.get().is_none_or(|known| **known == frame))?;
        self.frames[number].get_or_init(|| Box::new(frame));
        Some(number)
    }

    /// The sum of what every shard says. Shards are asked one after the other: what is changed meanwhile counts or not.
    pub(crate) fn sum(&self, each: impl Fn(&F) -> u64) -> u64 {
        self.numbers().map(|shard| each(&self.lock(shard))).sum()
    }
}

impl<L: Layout, C: PartialEq, F: Shard<Frame = Frame<L, C>>> Shards<F> {
    /// Asks for all that a query for a hash may read; see [`Table::prefetch_far`].
    #[inline(always)]
    fn ask_far<U: Cpu>(&self, cpu: U, hash: u64) {
        if let Some((frame, words)) = self.glimpse(self.of(hash)) {
            frame.table.with_bytes(words).prefetch_far(cpu, hash);
        }
    }

    /// Asks for what a change for a hash will most likely read.
    #[inline(always)]
    fn ask_to_change(&self, hash: u64) {
        if let Some((frame, words)) = self.glimpse(self.of(hash)) {
            let table = frame.table.with_bytes(words);
            table.prefetch_block(table.address().home(Portable, hash));
        }
    }

    /// Asks for what a query for a hash will most likely read; see [`Table::prefetch`].
    #[inline(always)]
    fn ask_near<U: Cpu>(&self, cpu: U, hash: u64) {
        if let Some((frame, words)) = self.glimpse(self.of(hash)) {
            frame.table.with_bytes(words).prefetch(cpu, hash);
        }
    }
}
