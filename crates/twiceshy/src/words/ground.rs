//! The ground that the tables of a shared filter stand on.
//!
//! # The idea
//!
//! A reader may still be reading a table that a larger one has replaced. It will notice, but until then what it loads must be
//! there. So the memory of the tables is never unmapped while the filter lives, and never used for anything but words that
//! are loaded and stored as atomics: a late reader loads zeros, or words of another table, and its version has changed by
//! then. Memory of a table that was replaced is used again for later ones; meanwhile the operating system gets its pages back.
//!
//! A table that is being made, for growth or for a merge, is nobody else's, and lies in [`Memory`] of its own; once
//! complete, it is copied to where it is shared.
//!
//! # Cost
//!
//! Tables are cut from a few large pieces, so that these can have huge pages. There is at most an eighth more than the tables
//! need that was never touched, and what replaced tables leave between others.

use std::collections::BTreeMap;
use std::ptr::NonNull;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::{Relaxed, Release};

use super::front::{Front, Place};
use super::lock::{Held, Lock};
use crate::bits::word::high_mask;
use crate::mem::{Memory, OutOfMemory};

/// Tables begin at multiples of as many bytes: two cache lines.
const ALIGN: usize = 128;

/// Words that another thread may be storing.
#[derive(Clone, Copy)]
pub(crate) struct Racing<'a>(&'a [AtomicU64]);

impl Racing<'_> {
    /// Word number `i`, 0 after the last.
    #[inline(always)]
    pub(crate) fn load(&self, i: usize) -> u64 {
        self.0.get(i).map_or(0, value)
    }

    /// The words from number `i` on; `None` if there are not as many.
    #[inline(always)]
    pub(crate) fn load_some<const N: usize>(&self, i: usize) -> Option<[u64; N]> {
        let words: &[AtomicU64; N] = self.0.get(i..)?.first_chunk()?;
        Some(std::array::from_fn(|i| value(&words[i])))
    }

    /// 64 bits from any bit on; 0 after the last word.
    #[inline(always)]
    pub(crate) fn at_bit(&self, bit: usize) -> u64 {
        let shift = bit % 64;
        let [low, high] = self.load_some(bit / 64).unwrap_or_default();
        // Shifting by 64 in two steps gives 0.
        low >> shift | high << 1 << (63 - shift)
    }

    #[inline(always)]
    pub(crate) fn as_ptr(&self) -> *const u8 {
        self.0.as_ptr().cast()
    }
}

/// What a word holds now.
#[inline(always)]
fn value(word: &AtomicU64) -> u64 {
    u64::from_le(word.load(Relaxed))
}

/// Where words seem to be, which may be wrong: to ask for their cache lines.
#[derive(Clone, Copy)]
pub(crate) struct Whereabouts(pub(crate) *const u8);

/// Words that are being read.
pub(crate) struct Reading<'a> {
    front: &'a Front<AtomicU64>,
    version: u64,
    /// The number of what says how to read them.
    pub(crate) frame: usize,
    pub(crate) words: Racing<'a>,
}

impl Reading<'_> {
    /// Whether all that was read was there at one moment.
    #[inline(always)]
    pub(crate) fn is_good(&self) -> bool {
        self.front.is_still(self.version)
    }
}

/// What shards have in common: their fronts, and the memory of their tables.
pub(crate) struct Ground {
    fronts: Box<[Front<AtomicU64>]>,
    arena: Lock<Arena>,
}

/// Nothing that can be read without the lock.
const NOWHERE: Place<AtomicU64> = Place { words: std::ptr::null_mut(), len: 0, frame: usize::MAX };

impl Ground {
    /// For so many shards, whose tables will have about as many bytes together at first.
    pub(crate) fn new(shards: usize, bytes: usize) -> Result<Arc<Self>, OutOfMemory> {
        let fronts = (0..shards).map(|_| Front::new(NOWHERE)).collect();
        let mut arena = Arena { retired: vec![Vec::new(); shards], ..Arena::default() };
        arena.add_piece(bytes + shards * ALIGN)?;
        Ok(Arc::new(Self { fronts, arena: Lock::new(arena) }))
    }

    /// Begins to read the words of a shard; see [`Front::begin`]. `None` if somebody writes, or nobody may read without the
    /// lock.
    #[inline(always)]
    pub(crate) fn begin(&self, shard: usize) -> Option<Reading<'_>> {
        let front = &self.fronts[shard];
        let (version, Place { words, len, frame }) = front.begin()?;
        if words.is_null() {
            return None;
        }
        #[expect(unsafe_code, reason = "words that were published")]
        // SAFETY: `show` published pointer and length together, and the front gives them out together. They are in a piece
        // of the arena, aligned, which is never unmapped before `self` is dropped, and is written by atomic stores only
        // from the time of its first publication on; those before it happened before the publication that was seen.
        let words = unsafe { std::slice::from_raw_parts(words, len) };
        Some(Reading { front, version, frame, words: Racing(words) })
    }

    /// Where the words of a shard seem to be, and the number of what seems to be their frame: enough to ask for cache lines.
    #[inline(always)]
    pub(crate) fn glimpse(&self, shard: usize) -> (usize, Whereabouts) {
        let Place { words, frame, .. } = self.fronts[shard].glimpse();
        (frame, Whereabouts(words.cast_const().cast()))
    }

    fn arena(&self) -> Held<'_, Arena> {
        self.arena.lock()
    }

    /// Bytes of memory that the tables lie in.
    pub(crate) fn reserved(&self) -> usize {
        self.arena().reserved
    }

    /// Ends a change of a shard's table, by whoever holds its lock.
    #[inline(always)]
    pub(crate) fn settle(&self, shard: usize) {
        self.fronts[shard].settle();
    }

    /// Moves a shard's table, which lies in memory of its own, to where it is shared, to be read as the number of a frame
    /// says; without such a number, or without memory, nobody reads it without the lock. Whoever calls this holds the lock.
    pub(crate) fn show(self: &Arc<Self>, shard: usize, memory: &mut Memory, frame: Option<usize>) {
        let bytes: &[u8] = memory;
        let place = frame.and_then(|frame| {
            let len = bytes.len().div_ceil(8);
            let words = self.arena().take(len * 8).ok()?;
            Some(Place { words: words.as_ptr(), len, frame })
        });
        if let Some(Place { words, len, .. }) = place {
            let plot =
                Plot { words: NonNull::new(words).expect("not null"), len, shard, ground: Arc::clone(self) };
            for (i, word) in bytes.chunks(8).enumerate() {
                let mut all = [0; 8];
                all[..word.len()].copy_from_slice(word);
                plot.store(i, u64::from_le_bytes(all));
            }
            *memory = Memory::shared(plot, bytes.len());
        }
        self.fronts[shard].publish(place.unwrap_or(NOWHERE));
        // Nobody begins to read it any more.
        self.arena().reclaim(shard);
    }
}

/// The memory of one table on the ground. Whoever has it holds the lock of the shard: nobody else stores there.
pub(crate) struct Plot {
    words: NonNull<AtomicU64>,
    len: usize,
    shard: usize,
    ground: Arc<Ground>,
}

#[expect(unsafe_code, reason = "a pointer to atomics that others read only")]
// SAFETY: it points to atomics, which any thread may load, and of which this value is the only one that stores.
unsafe impl Send for Plot {}

#[expect(unsafe_code, reason = "a pointer to atomics that others read only")]
// SAFETY: shared, it gives out loads only, and stores of atomics.
unsafe impl Sync for Plot {}

impl Plot {
    pub(crate) fn start(&self) -> NonNull<u8> {
        self.words.cast()
    }

    /// From now on readers of the shard find nothing.
    #[inline(always)]
    pub(crate) fn disturb(&self) {
        self.ground.fronts[self.shard].disturb();
    }

    #[inline(always)]
    fn word(&self, i: usize) -> &AtomicU64 {
        assert!(i < self.len);
        #[expect(unsafe_code, reason = "a word of those that this value stands for")]
        // SAFETY: there are `len` words in a piece of the arena, which lives as long as the ground.
        unsafe {
            self.words.add(i).as_ref()
        }
    }

    /// Word number `i`.
    #[inline(always)]
    pub(crate) fn load(&self, i: usize) -> u64 {
        u64::from_le(self.word(i).load(Relaxed))
    }

    #[inline(always)]
    pub(crate) fn store(&self, i: usize, word: u64) {
        self.word(i).store(word.to_le(), Release);
    }

    /// Turns some of the 64 bits from `bit` on around.
    #[inline(always)]
    pub(crate) fn toggle(&self, bit: usize, bits: u64) {
        let (i, shift) = (bit / 64, bit % 64);
        self.store(i, self.load(i) ^ bits << shift);
        // Shifting by 64 in two steps gives 0.
        self.store(i + 1, self.load(i + 1) ^ bits >> 1 >> (63 - shift));
    }

    /// Inserts a field of `width` bits at `bit`: what lies from there on up to bit `end` moves up by as many bits, the last of
    /// which are 0.
    #[inline(always)]
    pub(crate) fn insert(&self, bit: usize, end: usize, width: u32, value: u64) {
        let (first, shift) = (bit / 64, (bit % 64) as u32);
        let (last, own) = ((end - 1) / 64, high_mask((end - 1) as u32 % 64) << 1);
        // What a word gives to the next one: bits that move, and those of the value that do not fit the first.
        let (mut moves, mut carry) = (high_mask(shift), value << shift);
        let mut over = value >> 1 >> (63 - shift);
        for i in first..=last {
            let old = self.load(i);
            let moved = if i == last { old & moves & !own } else { old & moves };
            self.store(i, old ^ moved | moved << (width - 1) << 1 | carry);
            carry = moved >> (64 - width) | over;
            (moves, over) = (u64::MAX, 0);
        }
    }
}

impl Drop for Plot {
    fn drop(&mut self) {
        self.ground.arena().retire(self.shard, self.words, self.len * 8);
    }
}

/// Pieces of memory, and what is free of them.
#[derive(Default)]
struct Arena {
    /// Only their pointers are used.
    pieces: Vec<Memory>,
    reserved: usize,
    /// Stretches that no table uses: where they begin, and bytes.
    free: BTreeMap<usize, usize>,
    /// What a shard used before: it may be used again once nobody begins to read it.
    retired: Vec<Vec<(usize, usize)>>,
}

impl Arena {
    /// Memory for at least so many bytes.
    fn add_piece(&mut self, bytes: usize) -> Result<(), OutOfMemory> {
        let len = bytes.checked_add(2 * ALIGN).ok_or_else(OutOfMemory::too_large)?;
        let mut piece = Memory::zeroed(len)?;
        let start = piece.as_mut_ptr().expose_provenance();
        let first = start.next_multiple_of(ALIGN);
        self.free.insert(first, (start + len - first) / ALIGN * ALIGN);
        self.reserved += len;
        self.pieces.push(piece);
        Ok(())
    }

    /// Words for so many bytes, which nobody else uses.
    fn take(&mut self, bytes: usize) -> Result<NonNull<AtomicU64>, OutOfMemory> {
        let bytes = bytes.max(1).next_multiple_of(ALIGN);
        let fitting = |arena: &Self| {
            let enough = arena.free.iter().filter(|(_, len)| **len >= bytes);
            enough.min_by_key(|(_, len)| **len).map(|(&start, &len)| (start, len))
        };
        let (start, len) = match fitting(self) {
            Some(found) => found,
            None => {
                self.add_piece(bytes.max(self.reserved / 8)).or_else(|_| self.add_piece(bytes))?;
                fitting(self).expect("a piece that is large enough")
            }
        };
        self.free.remove(&start);
        if len > bytes {
            self.free.insert(start + bytes, len - bytes);
        }
        let words = std::ptr::with_exposed_provenance_mut(start);
        Ok(NonNull::new(words).expect("memory is not at address 0"))
    }

    /// A table is not used any more.
    fn retire(&mut self, shard: usize, words: NonNull<AtomicU64>, bytes: usize) {
        self.retired[shard].push((words.as_ptr().addr(), bytes.max(1).next_multiple_of(ALIGN)));
    }

    /// What a shard used before may be used again.
    fn reclaim(&mut self, shard: usize) {
        for (mut start, mut len) in std::mem::take(&mut self.retired[shard]) {
            self.give_back(start, len);
            if let Some((&before, &its)) = self.free.range(..start).next_back()
                && before + its == start
                && !self.is_first(start)
            {
                self.free.remove(&before);
                (start, len) = (before, its + len);
            }
            let end = start + len;
            if !self.is_first(end)
                && let Some(its) = self.free.remove(&end)
            {
                len += its;
            }
            self.free.insert(start, len);
        }
    }

    /// Whether a piece of memory begins there: what lies before it is another.
    fn is_first(&self, at: usize) -> bool {
        self.pieces.iter().any(|piece| piece.as_ptr().addr().next_multiple_of(ALIGN) == at)
    }

    /// The operating system may have these pages. They read as zeros from now on.
    fn give_back(&self, start: usize, len: usize) {
        for piece in &self.pieces {
            let first = piece.as_ptr().addr();
            if (first..first + piece.len()).contains(&start) {
                piece.give_back(start - first, len);
            }
        }
    }
}
