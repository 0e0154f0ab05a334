//! Tables that many threads read while one changes them: where their words lie, and how a reader knows what it saw.
//!
//! A shared filter is cut into *shards*, each a filter of its own for the hashes that begin with some bits, behind a lock of
//! its own. Whoever changes a shard holds that lock, and so reads its table as if it were alone. Readers do not take the
//! lock: [`front`] has the protocol, [`ground`] the memory. The filters are in [`filter::shared`](crate::filter::shared).

/// What [`front`] uses: a model checker has others.
mod atomic {
    pub(crate) use std::sync::atomic::{AtomicPtr, AtomicU64, AtomicUsize, fence};
}
mod front;
mod ground;
mod lock;

pub(crate) use ground::{Ground, Plot, Racing, Reading, Whereabouts};
pub(crate) use lock::{Held, Lock};
