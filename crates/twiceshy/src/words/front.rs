//! What a reader sees of a shard without its lock: a version, and where the words are.
//!
//! # The protocol
//!
//! A *seqlock*. One thread at a time writes, since it holds the shard's lock:
//!
//! 1. it makes the version odd (relaxed);
//! 2. it stores words of the table, or where other words are (all of these stores are *releases*);
//! 3. it makes the version even again (release).
//!
//! A reader takes no lock and stores nothing:
//!
//! 1. it loads the version (acquire); if that is odd, somebody writes;
//! 2. it loads where the words are, and the version again: if that is the same, these belong together;
//! 3. it loads words, and at last the version again: if that is the same, it saw the table as it was at one moment.
//!
//! There is an acquire fence before the version is loaded again. Whoever has loaded what a writer stored (a release) after it
//! made the version odd, sees the odd version, or a later one, after such a fence. On x86-64 all of it is plain loads and
//! stores; no reader writes a cache line that another reads, and nothing keeps the CPU from beginning with the next query while
//! this one waits for memory.
//!
//! (With loads that are acquires, no fence would be needed. But then the compiler keeps the order of all loads, those of
//! measures of the table too, which do not fit into registers. ThreadSanitizer does
//! not know fences, and need not: it looks for races of plain accesses, and whatever is loaded here while it may be stored is
//! an atomic.)
//!
//! The words themselves may belong to another table by then; [`ground`](super::ground) says why they can be loaded.
//! The crate `twiceshy-loom` compiles this file with the atomics of a model checker, and tries all that a weak memory may do.

use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};

use super::atomic::{AtomicPtr, AtomicU64, AtomicUsize, fence};

/// The cache lines of a shard that threads share. Two lines of 64 bytes are fetched together by many CPUs.
#[repr(align(128))]
pub(crate) struct Front<W> {
    version: AtomicU64,
    words: AtomicPtr<W>,
    len: AtomicUsize,
    /// A number that says how to read the words.
    frame: AtomicUsize,
}

/// Where words are, and how to read them.
#[derive(Clone, Copy)]
pub(crate) struct Place<W> {
    pub(crate) words: *mut W,
    pub(crate) len: usize,
    pub(crate) frame: usize,
}

impl<W> Front<W> {
    pub(crate) fn new(place: Place<W>) -> Self {
        Self {
            version: AtomicU64::new(0),
            words: AtomicPtr::new(place.words),
            len: AtomicUsize::new(place.len),
            frame: AtomicUsize::new(place.frame),
        }
    }

    /// Begins to read: where the words are, and the version that they have. `None` if somebody writes.
    ///
    /// What is given was published as a whole. What the words hold may make no sense, unless the version
    /// [is the same](Self::is_still) afterwards.
    #[inline(always)]
    pub(crate) fn begin(&self) -> Option<(u64, Place<W>)> {
        let version = self.version.load(Acquire);
        let place = self.glimpse();
        (version.is_multiple_of(2) && self.is_still(version)).then_some((version, place))
    }

    /// Whether nobody has written since a reader began, in time for anything that it has loaded so far.
    #[inline(always)]
    pub(crate) fn is_still(&self, version: u64) -> bool {
        fence(Acquire);
        self.version.load(Relaxed) == version
    }

    /// Where the words seem to be: who is told may be told of two places at once. What the number of the frame stands for was
    /// there before the number.
    #[inline(always)]
    pub(crate) fn glimpse(&self) -> Place<W> {
        let frame = self.frame.load(Acquire);
        Place { words: self.words.load(Relaxed), len: self.len.load(Relaxed), frame }
    }

    /// From now on readers find nothing, until [`settle`](Self::settle). Only whoever holds the lock of the shard may
    /// call this and what follows.
    #[inline(always)]
    pub(crate) fn disturb(&self) {
        let version = self.version.load(Relaxed);
        if version.is_multiple_of(2) {
            self.version.store(version + 1, Relaxed);
        }
    }

    /// Readers find what is there now.
    #[inline(always)]
    pub(crate) fn settle(&self) {
        let version = self.version.load(Relaxed);
        if version % 2 == 1 {
            self.version.store(version + 1, Release);
        }
    }

    /// Other words take the place of those that were there.
    pub(crate) fn publish(&self, place: Place<W>) {
        self.disturb();
        self.words.store(place.words, Release);
        self.len.store(place.len, Release);
        self.frame.store(place.frame, Release);
        self.settle();
    }
}
