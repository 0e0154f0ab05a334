//! Learning from mistakes, and making room for what was learned.
//!
//! A query that was a mistake puts itself, written as a key, into a queue and then does what is in the queue, if nobody
//! else holds the writer lock. Whoever has held the lock looks into the queue after letting it go. So a lesson is never left lying:
//! a thread that puts one in and finds the lock taken does so before its holder looks.
//!
//! Others may fill the queue as fast as one thread empties it, so a thread that came for something else does a few
//! lessons at most, and leaves the rest to a thread of the store's own.

use std::collections::VecDeque;
use std::fmt::Debug;

use twiceshy::adaptive::protocol::{Answers, Operation, Step};
use twiceshy::adaptive::{Adapted, Record};

use super::stats::Count;
use super::{Served, Shared, Writer};
use crate::error::StoreError;
use crate::rows::{AndPending, KeyRows, Pending};
use crate::sync::{Arc, Ordering, TryLockError, thread};

/// The queue takes no more lessons than this.
const MOST_LESSONS: usize = 10_000;
/// Nor keys that are longer than this together.
const MOST_LESSON_BYTES: usize = 16 << 20;
/// A thread that came for something else does no more of them than this.
const A_FEW_LESSONS: usize = 16;
/// The thread of our own lets writers have their turn after so many.
const MANY_LESSONS: usize = 256;
/// A filter of up to this size grows at once, which takes as long as a disk access; larger ones by a thread of its own.
/// The model checker has that thread do all it can.
const SMALL_BYTES: usize = if cfg!(shuttle) { 0 } else { 64 << 10 };
/// With more lessons than this that are in no journal yet, a thread writes them there.
const MOST_UNWRITTEN: usize = if cfg!(shuttle) { 0 } else { 4_096 };

impl<F: Served> Shared<F> {
    /// The filter said *maybe* to a query for which there is no row.
    pub(crate) fn learn(self: &Arc<Self>, key: &[u8]) {
        self.counters.add(Count::Mistakes, 1);
        self.remember(key);
    }

    /// There is no row for a query: the filter learns that if it does not know, and the journal in any case.
    pub(crate) fn remember(self: &Arc<Self>, key: &[u8]) {
        let queued = self.lessons.lock().is_ok_and(|mut lessons| lessons.push(key));
        if !queued {
            self.counters.add(Count::Dropped, 1);
        }
        self.learn_queued();
    }

    /// Does what is in the queue, unless another thread holds the writer lock: it will look when it is done.
    pub(super) fn learn_queued(self: &Arc<Self>) {
        while self.lessons.lock().is_ok_and(|lessons| !lessons.keys.is_empty()) {
            let mut writer = match self.writer.try_lock() {
                Ok(writer) => writer,
                Err(TryLockError::WouldBlock) => {
                    self.counters.add(Count::Postponed, 1);
                    return;
                }
                Err(TryLockError::Poisoned(_)) => return,
            };
            let is_done = self.take_lessons(&mut writer, A_FEW_LESSONS);
            while !writer.waiting.is_empty()
                && self.durable.filter().is_ok_and(|filter| filter.size_in_bytes() <= SMALL_BYTES)
            {
                self.grow_and_learn(&mut writer);
            }
            self.counters.add(Count::Postponed, writer.waiting.len() as u64);
            if !is_done || !writer.waiting.is_empty() || writer.journal.learned.len() > MOST_UNWRITTEN {
                self.call_helper();
            }
            if !is_done {
                return;
            }
        }
    }

    /// Does what is in the queue, but no more than `most` lessons. Tells whether that was all.
    fn take_lessons(&self, writer: &mut Writer, most: usize) -> bool {
        for _ in 0..most {
            let Some(key) = self.lessons.lock().ok().and_then(|mut lessons| lessons.pop()) else {
                return true;
            };
            self.take_lesson(writer, key);
        }
        self.lessons.lock().is_ok_and(|lessons| lessons.keys.is_empty())
    }

    /// Learns one lesson, or notes that it needs a larger filter.
    fn take_lesson(&self, writer: &mut Writer, key: Vec<u8>) {
        match self.adapt(writer, &key) {
            Ok(Lesson::Learned) => self.counters.add(Count::Fixed, 1),
            Ok(Lesson::Nothing) => (),
            // There are that many only if no thread of our own can be started.
            Ok(Lesson::NeedsGrow) if writer.waiting.len() >= MOST_LESSONS => {
                self.counters.add(Count::Dropped, 1)
            }
            Ok(Lesson::NeedsGrow) => writer.waiting.push(key),
            Err(_) => self.counters.add(Count::Failed, 1),
        }
    }

    fn adapt(&self, writer: &mut Writer, key: &[u8]) -> Result<Lesson, StoreError> {
        let hash = self.durable.rows.hash(key);
        let mut adapt = F::adapt(hash, key);
        loop {
            // The filter is held for a step, not while the engine is read.
            let step = adapt.step(&mut *self.durable.filter_mut()?)?;
            match step {
                Step::Rows(wanted) => adapt.rows(wanted.read(&self.durable.rows)?),
                Step::Room(_) => return Ok(Lesson::NeedsGrow),
                Step::Done(adapted) => {
                    // An older snapshot may have what was cleared away.
                    let is_cleared = adapted == Adapted::Vanished;
                    writer.journal.learned.extend(is_cleared.then_some(Record::Removed(hash)));
                    // Also if it was no mistake any more: longer fingerprints came when the filter grew, and one that is built
                    // from the rows may be smaller.
                    writer.journal.learned.extend(self.durable.filter()?.separate_record(hash, key));
                    return Ok(match adapted {
                        Adapted::Fixed { .. } | Adapted::Vanished => Lesson::Learned,
                        _ => Lesson::Nothing,
                    });
                }
                step => return Err(unexpected(&step)),
            }
        }
    }

    /// Puts a larger filter in place of this one, with room for so many keys more. `pending` are keys that the filter knows
    /// and the engine does not yet.
    pub(crate) fn grow(&self, _: &mut Writer, keys: u64, pending: &Pending<'_>) -> Result<(), StoreError> {
        let rows = AndPending { rows: &self.durable.rows, pending };
        let larger = self.durable.filter()?.grown_for(keys, &rows)?;
        self.durable.exchange(larger)
    }

    /// Grows the filter and learns what waited for that; some of it may have to wait for more.
    fn grow_and_learn(&self, writer: &mut Writer) {
        let waiting = std::mem::take(&mut writer.waiting);
        let grown = self.grow(writer, 0, &Pending::default());
        for key in waiting {
            match grown {
                Ok(()) => self.take_lesson(writer, key),
                Err(_) => self.counters.add(Count::Failed, 1),
            }
        }
    }

    /// Has a thread of its own do what must not keep a reader waiting. Called with the writer lock held.
    pub(super) fn call_helper(self: &Arc<Self>) {
        if self.has_helper.swap(true, Ordering::SeqCst) {
            return;
        }
        let shared = Arc::clone(self);
        let helper =
            thread::Builder::new().name("twiceshy".into()).spawn(move || shared.work_in_background());
        let Ok(mut slot) = self.helper.lock() else { return };
        match helper {
            Ok(helper) => {
                // The last one has said that it is done.
                if let Some(last) = slot.replace(helper) {
                    let _ = last.join();
                }
            }
            Err(_) => self.has_helper.store(false, Ordering::SeqCst),
        }
    }

    /// Waits until the thread is done, if there is one.
    pub(crate) fn join_helper(&self) {
        let helper = self.helper.lock().ok().and_then(|mut helper| helper.take());
        if let Some(helper) = helper {
            // If it panicked, the locks say so.
            let _ = helper.join();
        }
    }

    /// What that thread does: grows the filter, learns what waited for that, and saves what got long.
    ///
    /// It holds the lock itself, not by a [`WriterLock`](super::WriterLock): it must not call another helper, which would
    /// wait for its end.
    fn work_in_background(self: Arc<Self>) {
        loop {
            let Ok(mut writer) = self.writer.lock() else { return };
            let is_done = self.take_lessons(&mut writer, MANY_LESSONS);
            if !writer.waiting.is_empty() {
                self.grow_and_learn(&mut writer);
                continue;
            }
            if writer.journal.learned.len() > MOST_UNWRITTEN
                && self.durable.write_learned(&mut writer.journal).is_ok()
            {
                continue;
            }
            if self.durable.is_worth_saving(&writer.journal) {
                drop(writer);
                if self.save().is_ok() {
                    continue;
                }
                let Ok(again) = self.writer.lock() else { return };
                writer = again;
            }
            if !is_done {
                drop(writer);
                thread::yield_now();
                continue;
            }
            // Whoever needs help from now on gets the lock first, and sees this.
            self.has_helper.store(false, Ordering::SeqCst);
            drop(writer);
            // What was left in the queue meanwhile is for this thread, unless another one has come.
            let is_done = self.lessons.lock().is_ok_and(|lessons| lessons.keys.is_empty());
            if is_done || self.has_helper.swap(true, Ordering::SeqCst) {
                return;
            }
        }
    }
}

/// An operation asked for something that it never asks for here.
pub(crate) fn unexpected<T: Debug>(step: &Step<'_, T>) -> StoreError {
    StoreError::damaged(format!("the filter has asked for {step:?}"))
}

/// Queries that were mistakes and are to be learned.
#[derive(Default)]
pub(super) struct Lessons {
    keys: VecDeque<Vec<u8>>,
    /// The bytes of all of them.
    bytes: usize,
}

impl Lessons {
    /// `false` if there is no room.
    fn push(&mut self, key: &[u8]) -> bool {
        // Of the longest keys there is room for one.
        let has_room = self.keys.is_empty()
            || self.keys.len() < MOST_LESSONS && self.bytes + key.len() <= MOST_LESSON_BYTES;
        if has_room {
            self.bytes += key.len();
            self.keys.push_back(key.to_vec());
        }
        has_room
    }

    fn pop(&mut self) -> Option<Vec<u8>> {
        let key = self.keys.pop_front()?;
        self.bytes -= key.len();
        Some(key)
    }
}

/// What became of a lesson.
enum Lesson {
    Learned,
    Nothing,
    NeedsGrow,
}
