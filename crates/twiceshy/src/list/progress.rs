//! How far the building of a list is, for whoever waits for it.

/// What is being done while a list is built.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Phase {
    /// Asking the list that a delta is for.
    Compare,
    /// The first stage: a filter of the YES keys.
    Approximate,
    /// Asking it for the NO keys.
    Survivors,
    /// The second stage, for the YES keys and those NO keys that pass the first.
    Exact,
    /// Asking the list for every key.
    Verify,
}

/// How far the building of a list is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Progress {
    /// What is being done. Phases come in the order in which they are declared; only a delta has the first.
    pub phase: Phase,
    /// How many keys of this phase are done.
    pub done: u64,
    /// How many there are.
    pub of: u64,
}

/// Keys between two reports.
const STEP: u64 = 1 << 16;

/// Whoever wants to know how far it is.
pub(super) struct Watch<'a>(pub(super) &'a mut dyn FnMut(Progress));

impl Watch<'_> {
    /// Begins a phase.
    pub(super) fn phase(&mut self, phase: Phase, keys: usize) -> Watched<'_> {
        let mut watched =
            Watched { hook: self.0, progress: Progress { phase, done: 0, of: keys as u64 }, due: 0 };
        watched.add(0);
        watched
    }
}

/// A phase that is watched.
pub(super) struct Watched<'a> {
    hook: &'a mut dyn FnMut(Progress),
    progress: Progress,
    /// When to report next.
    due: u64,
}

impl Watched<'_> {
    /// So many more keys are done.
    #[inline]
    pub(super) fn add(&mut self, keys: usize) {
        self.progress.done += keys as u64;
        if self.progress.done >= self.due {
            self.due = (self.progress.done + STEP).min(self.progress.of);
            (self.hook)(self.progress);
        }
    }
}
