//! Where a table's bytes live, and how to have them near before they are needed.
//!
//! Small tables are on the heap. On Linux a table of four megabytes or more lives in an anonymous
//! map that asks for huge pages: a random access to a table of many megabytes otherwise misses the
//! TLB nearly every time. The request is a hint; where the kernel says no, the table works as before.

use std::ops::{Deref, DerefMut};
use std::ptr::NonNull;

use crate::words::Plot;

/// Tables from this size on are mapped (two huge pages of x86-64).
#[cfg(target_os = "linux")]
const MAP_FROM: usize = 4 << 20;

/// As many words can be changed at once: a block of a table with the widest slots, and what lies around it.
const MOST_WORDS: usize = 72;

/// The memory for a table could not be allocated.
#[derive(Debug, thiserror::Error)]
#[error("cannot allocate {bytes} bytes for the table; free memory or ask for a smaller filter")]
#[non_exhaustive]
pub struct OutOfMemory {
    /// How many bytes were asked for.
    pub bytes: usize,
    #[source]
    source: Option<Box<dyn std::error::Error + Send + Sync>>,
}

impl OutOfMemory {
    pub(crate) fn new(bytes: usize, source: impl std::error::Error + Send + Sync + 'static) -> Self {
        Self { bytes, source: Some(Box::new(source)) }
    }

    /// More than can be addressed.
    pub(crate) fn too_large() -> Self {
        Self { bytes: usize::MAX, source: None }
    }
}

/// Bytes owned by a filter.
///
/// This is the default storage of every filter type; you need its name only to write a filter's
/// full type.
pub struct Memory {
    /// The bytes, wherever they are: every access would have to ask for the place otherwise.
    start: NonNull<u8>,
    len: usize,
    /// How many of them can be borrowed to be changed: all, or, of memory that others read at the same time, none.
    plain: usize,
    owner: Owner,
}

enum Owner {
    /// `start` and `len` are a `Box<[u8]>`.
    Heap,
    /// `start` and `len` are the inside of this map.
    #[cfg(target_os = "linux")]
    Mapped(memmap2::MmapMut),
    /// `start` and `len` are bytes of a table on the ground of a shared filter.
    Shared(Plot),
}

#[expect(unsafe_code, reason = "a pointer to bytes that this value owns alone")]
// SAFETY: `Memory` owns its bytes like the `Box` or the map that they came from, and shares nothing.
unsafe impl Send for Memory {}

#[expect(unsafe_code, reason = "a pointer to bytes that this value owns alone")]
// SAFETY: a shared `Memory` gives out shared bytes only.
unsafe impl Sync for Memory {}

impl Memory {
    /// `len` bytes, all 0.
    pub(crate) fn zeroed(len: usize) -> Result<Self, OutOfMemory> {
        #[cfg(test)]
        scarce::take(len)?;
        #[cfg(target_os = "linux")]
        if len >= MAP_FROM {
            let mut map = memmap2::MmapMut::map_anon(len).map_err(|error| OutOfMemory::new(len, error))?;
            // A hint: kernels without transparent huge pages refuse it, and nothing depends on it.
            let _ = map.advise(memmap2::Advice::HugePage);
            let start = NonNull::from(&mut map[..]).cast();
            return Ok(Self { start, len, plain: len, owner: Owner::Mapped(map) });
        }
        let mut heap = Vec::new();
        heap.try_reserve_exact(len).map_err(|error| OutOfMemory::new(len, error))?;
        heap.resize(len, 0);
        Ok(Self::on_heap(heap))
    }

    /// Takes over `bytes`, which are copied only if they belong into a map.
    pub(crate) fn from_vec(bytes: Vec<u8>) -> Result<Self, OutOfMemory> {
        #[cfg(target_os = "linux")]
        if bytes.len() >= MAP_FROM {
            return Self::copy_of(&bytes);
        }
        Ok(Self::on_heap(bytes))
    }

    fn on_heap(bytes: Vec<u8>) -> Self {
        let bytes = Box::leak(bytes.into_boxed_slice());
        Self { len: bytes.len(), plain: bytes.len(), start: NonNull::from(bytes).cast(), owner: Owner::Heap }
    }

    /// The first `len` bytes of words that others read at the same time.
    pub(crate) fn shared(plot: Plot, len: usize) -> Self {
        Self { start: plot.start(), len, plain: 0, owner: Owner::Shared(plot) }
    }

    /// Whether others read it at the same time. Then it can be changed by [`change`](Self::change) only.
    #[inline(always)]
    pub(crate) fn is_shared(&self) -> bool {
        self.plain < self.len
    }

    /// The words, if others read them at the same time.
    #[inline(always)]
    pub(crate) fn plot(&mut self) -> Option<&Plot> {
        if let Owner::Shared(plot) = &self.owner { Some(plot) } else { None }
    }

    /// Changes the `len` bytes at `at`, of which there are not many.
    #[inline(always)]
    pub(crate) fn change<R>(&mut self, at: usize, len: usize, change: impl FnOnce(&mut [u8]) -> R) -> R {
        if self.is_shared() { self.change_shared(at, len, change) } else { change(&mut self[at..][..len]) }
    }

    /// The same for bytes that others read at the same time: a copy is changed, and the words that differ are stored.
    #[inline(always)]
    fn change_shared<R>(&mut self, at: usize, len: usize, change: impl FnOnce(&mut [u8]) -> R) -> R {
        let Owner::Shared(plot) = &self.owner else { unreachable!("other memory is plain") };
        plot.disturb();
        let (first, words) = (at / 8, (at % 8 + len).div_ceil(8));
        let mut copy = [[0; 8]; MOST_WORDS];
        let copy = &mut copy[..words];
        for (i, word) in copy.iter_mut().enumerate() {
            *word = plot.load(first + i).to_le_bytes();
        }
        let result = change(&mut copy.as_flattened_mut()[at % 8..][..len]);
        for (i, word) in (first..).zip(copy) {
            let word = u64::from_le_bytes(*word);
            if word != plot.load(i) {
                plot.store(i, word);
            }
        }
        result
    }

    /// Makes all bytes 0.
    pub(crate) fn clear(&mut self) {
        if let Owner::Shared(plot) = &self.owner {
            plot.disturb();
            (0..self.len.div_ceil(8)).for_each(|i| plot.store(i, 0));
        }
        self.fill(0);
    }

    /// The operating system may have the whole pages of these bytes, which read as 0 from now on, if they are in a map; else
    /// nothing happens. Nobody may have borrowed them, nor expect that they stay as they are.
    pub(crate) fn give_back(&self, at: usize, len: usize) {
        #[cfg(target_os = "linux")]
        if let Owner::Mapped(map) = &self.owner {
            const PAGE: usize = 1 << 12;
            let start = self.start.addr().get();
            let first = (start + at).next_multiple_of(PAGE) - start;
            let end = ((start + at + len) & !(PAGE - 1)).saturating_sub(start);
            if first < end {
                #[expect(unsafe_code, reason = "bytes that change without being written")]
                // SAFETY: private anonymous pages stay mapped and become 0. Nobody has borrowed these bytes, and who loads
                // them as atomics at the same time sees either.
                let given = unsafe {
                    map.unchecked_advise_range(memmap2::UncheckedAdvice::DontNeed, first, end - first)
                };
                // A hint: nothing depends on it.
                let _ = given;
            }
        }
        #[cfg(not(target_os = "linux"))]
        let _ = (at, len);
    }

    /// A copy of `bytes`.
    pub(crate) fn copy_of(bytes: &[u8]) -> Result<Self, OutOfMemory> {
        let mut memory = Self::zeroed(bytes.len())?;
        memory.copy_from_slice(bytes);
        Ok(memory)
    }
}

/// The number of bytes and where they are, not what they are.
impl std::fmt::Debug for Memory {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mapped = !matches!(self.owner, Owner::Heap);
        f.debug_struct("Memory").field("bytes", &self.len).field("mapped", &mapped).finish()
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        match &self.owner {
            Owner::Heap => {
                let bytes = NonNull::slice_from_raw_parts(self.start, self.len);
                #[expect(unsafe_code, reason = "gives leaked bytes back")]
                // SAFETY: `on_heap` leaked a box of exactly these bytes, and nothing else frees them.
                drop(unsafe { Box::from_raw(bytes.as_ptr()) });
            }
            #[cfg(target_os = "linux")]
            Owner::Mapped(_) => {}
            Owner::Shared(_) => {}
        }
    }
}

impl Deref for Memory {
    type Target = [u8];
    #[inline(always)]
    fn deref(&self) -> &[u8] {
        #[expect(unsafe_code, reason = "a slice from its parts")]
        // SAFETY: the bytes are initialised, belong to `self` and live as long; a shared borrow of
        // `self` allows nobody to change them. If others read them at the same time, `self` is the only one to store there.
        unsafe {
            std::slice::from_raw_parts(self.start.as_ptr(), self.len)
        }
    }
}

impl DerefMut for Memory {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut [u8] {
        #[expect(unsafe_code, reason = "a slice from its parts")]
        // SAFETY: as for `deref`; the unique borrow of `self` makes this the only way to the bytes. If others read them at
        // the same time, there are none.
        unsafe {
            std::slice::from_raw_parts_mut(self.start.as_ptr(), self.plain)
        }
    }
}

impl AsRef<[u8]> for Memory {
    #[inline(always)]
    fn as_ref(&self) -> &[u8] {
        self
    }
}

/// Asks for the cache line that holds byte `at` of what begins at `start`, and which may lie after its end: into the first-level cache, to be read at
/// once. On CPUs without such an instruction this does nothing.
#[inline(always)]
pub(crate) fn prefetch(start: *const u8, at: usize) {
    ask_for::<true>(start, at);
}

/// The same into the second-level cache, to be read soon. A core waits for many more lines there than in the first level
/// (here 270 million lines a second came from DRAM, and else 130).
#[inline(always)]
pub(crate) fn prefetch_far(start: *const u8, at: usize) {
    ask_for::<false>(start, at);
}

#[inline(always)]
fn ask_for<const NEAR: bool>(start: *const u8, at: usize) {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::{_MM_HINT_T0, _MM_HINT_T1, _mm_prefetch};
        let place = start.wrapping_add(at);
        #[expect(unsafe_code, reason = "the prefetch intrinsic takes a raw pointer")]
        // SAFETY: SSE is part of x86-64, and prefetching from any address, valid or not, has no effect
        // that a program can observe.
        unsafe {
            if NEAR {
                _mm_prefetch::<_MM_HINT_T0>(place.cast());
            } else {
                _mm_prefetch::<_MM_HINT_T1>(place.cast());
            }
        }
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = (start, at);
}

/// Memory that runs out, for tests.
#[cfg(test)]
pub(crate) mod scarce {
    use std::cell::Cell;

    use super::OutOfMemory;

    thread_local! {
        /// How many more pieces of memory this thread gets.
        static LEFT: Cell<u64> = const { Cell::new(u64::MAX) };
    }

    pub(super) fn take(bytes: usize) -> Result<(), OutOfMemory> {
        let left = LEFT.get();
        LEFT.set(left.saturating_sub(u64::from(left < u64::MAX)));
        if left == 0 { Err(OutOfMemory { bytes, source: None }) } else { Ok(()) }
    }

    /// Carries out an operation that gets no memory, then one piece of it, and so on, until it does not fail for that
    /// reason. `same` is asked after every failure whether all is as before. Tells what came out, and how often the
    /// operation failed.
    pub(crate) fn until_enough<S, T, E: std::error::Error>(
        state: &mut S,
        operation: impl Fn(&mut S) -> Result<T, E>,
        same: impl Fn(&mut S) -> bool,
    ) -> (Result<T, E>, u64) {
        for pieces in 0.. {
            LEFT.set(pieces);
            let result = operation(state);
            let ran_out = LEFT.replace(u64::MAX) == 0;
            match result {
                Err(error) if ran_out && error.to_string().contains("cannot allocate") => {
                    assert!(same(state), "{pieces} pieces of memory: {error}");
                }
                result => return (result, pieces),
            }
        }
        unreachable!("the loop has no end")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_and_large_memory_start_at_zero_and_hold_what_is_written() {
        for len in [0, 1, 100, (4 << 20) - 1, 4 << 20, 5 << 20] {
            let mut memory = Memory::zeroed(len).unwrap();
            assert_eq!(memory.len(), len);
            assert!(memory.iter().all(|&byte| byte == 0));
            memory.fill(7);
            let copy = Memory::copy_of(&memory).unwrap();
            assert!(copy.iter().all(|&byte| byte == 7));
            prefetch(memory.as_ptr(), 0);
            prefetch(memory.as_ptr(), len + 1000);
            prefetch_far(memory.as_ptr(), len + 1000);
        }
    }

    #[test]
    fn an_impossible_size_is_an_error() {
        let error = Memory::zeroed(isize::MAX as usize).expect_err("cannot be had");
        assert!(error.to_string().contains("smaller filter"), "{error}");
        assert!(std::error::Error::source(&error).is_some());
    }
}
