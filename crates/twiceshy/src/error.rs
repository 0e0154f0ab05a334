//! What can go wrong, one type per operation.
//!
//! Every error leaves the filter as it was, byte for byte, but that of
//! [`AdaptiveSet::insert_batch`](crate::AdaptiveSet::insert_batch), which is many inserts. Messages name the cause and the remedy.

pub use crate::mem::OutOfMemory;
pub use crate::persist::{ReadError, SaveError};

use crate::hash::RandomError;

/// Why a filter could not be built.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BuildError {
    /// Neither a capacity nor a number of quotient bits was given.
    #[error("the filter has no size: give a capacity or quotient_bits")]
    NoSize,
    /// Two settings that decide the same thing were both given.
    #[error("{first} and {second} contradict each other: give one of them")]
    Contradiction {
        /// One setting.
        first: &'static str,
        /// The other setting.
        second: &'static str,
    },
    /// The error rate is not a number between 0 and 1.
    #[error("an error rate lies between 0 and 1 (both excluded), not at {found}")]
    ErrorRate {
        /// What was given.
        found: f64,
    },
    /// The load at which a filter grows is not between 0.5 and 0.95.
    #[error("a filter can grow at a load from 0.5 to 0.95, not at {found}")]
    MaxLoad {
        /// What was given.
        found: f64,
    },
    /// A width or capacity is outside of what a table can have.
    #[error("{what} must be in {min}..={max}, not {found}")]
    OutOfRange {
        /// Which setting.
        what: &'static str,
        /// The smallest allowed value.
        min: u64,
        /// The largest allowed value.
        max: u64,
        /// What was given.
        found: u64,
    },
    /// Quotient and remainder together need more bits than the hash has.
    #[error(
        "quotient and remainder need {needed} bits but the hash has {available}: lower the capacity or \
         allow a higher error rate"
    )]
    NotEnoughBits {
        /// Bits that the settings ask for.
        needed: u32,
        /// Bits that there are.
        available: u32,
    },
    /// Growing to the size asked for would leave nothing of the remainders.
    #[error(
        "growing that far takes {missing} more bits than the remainders have to give: give more \
         remainder_bits or grow less"
    )]
    CannotGrow {
        /// Bits that the remainders lack.
        missing: u32,
    },
    /// There was no random key for the hash.
    #[error(transparent)]
    Random(#[from] RandomError),
    /// The memory for the table could not be allocated.
    #[error(transparent)]
    Memory(#[from] OutOfMemory),
}

/// There is no slot left, and the filter does not grow.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "the filter is full ({used} of {slots} slots in use) and does not grow: build it larger, or let it grow, with grow_to \
     or grow() and, if it adapts, with Growth::Grow and enough max_bytes; a range filter that may grow would be full at \
     every size, since its fingerprints have a bit or two: build it with a lower error rate; if most slots are free, the \
     hashes given to it are badly distributed"
)]
pub struct Full {
    /// Slots in use.
    pub used: u64,
    /// Slots that there are.
    pub slots: u64,
}

/// An adaptive filter whose keys are kept by the caller has no slot left at its present size.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "the filter has no room at its present size ({used} of {slots} slots in use): call grow() and do it again, or use an \
     AdaptiveSet, which does that by itself"
)]
pub struct NeedsGrow {
    /// Slots in use.
    pub used: u64,
    /// Slots that there are.
    pub slots: u64,
}

/// Why a key could not be inserted. The filter is as it was.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum InsertError {
    /// There is no slot left.
    #[error(transparent)]
    Full(#[from] Full),
    /// An adaptive filter whose keys are kept by the caller has no slot left at its present size.
    #[error(transparent)]
    NeedsGrow(#[from] NeedsGrow),
    /// The hash agrees with that of another key as far as hashes go.
    #[error(transparent)]
    Indistinguishable(#[from] Indistinguishable),
    /// The number of copies does not fit 64 bits.
    #[error("the filter would hold more than 2^64 - 1 copies")]
    TooManyCopies,
    /// The memory for a larger table could not be allocated.
    #[error(transparent)]
    Memory(#[from] OutOfMemory),
}

/// Why an expandable filter could not take a key, or lengthen its fingerprint. The filter is as it was.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ExpandError {
    /// There are free slots, but none near where this hash belongs, and doubling does not help.
    #[error(
        "there is no room for this hash although only {used} of {slots} slots are in use: the hashes given \
         to the filter are badly distributed or too short; let it hash its keys itself"
    )]
    Crowded {
        /// Slots in use.
        used: u64,
        /// Slots that there are.
        slots: u64,
    },
    /// A filter in its basic mode has reached its last size.
    #[error(
        "the oldest fingerprints have no bit left for another doubling of {slots} slots: rejuvenate or remove \
         the oldest keys, or build the filter with Mode::Growing or Mode::Chained, which double for ever"
    )]
    Exhausted {
        /// Slots that there are.
        slots: u64,
    },
    /// The number of copies does not fit 64 bits.
    #[error("the filter would hold more than 2^64 - 1 copies")]
    TooManyCopies,
    /// The memory for a larger table could not be allocated.
    #[error(transparent)]
    Memory(#[from] OutOfMemory),
}

/// Why a filter could not be grown or shrunk. The filter is as it was.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ResizeError {
    /// Every doubling takes a bit from the remainders, and they have none left to give.
    #[error("the remainders have no bit left for another doubling: build the filter with a lower error rate")]
    NotEnoughBits,
    /// The entries do not fit the new size.
    #[error("{used} slots are in use and the new size has only {slots}")]
    Full {
        /// Slots in use.
        used: u64,
        /// Slots of the new size.
        slots: u64,
    },
    /// The memory for the new table could not be allocated.
    #[error(transparent)]
    Memory(#[from] OutOfMemory),
}

const DIFFERENT_HASH: &str = "the filters hash their keys differently, so their fingerprints have nothing in common: build \
    the filters that you want to merge with the same Hasher, or make one from the other with empty_like()";

const DIFFERENT_PARTITIONS: &str = "the filters cut keys into partitions differently, so their fingerprints have nothing in \
    common: build them with the same max_range and max_partitions, or make one from the other with empty_like()";

/// Why filters could not be merged. All of them are as they were.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum MergeError {
    /// The filters hash their keys differently.
    #[error("{DIFFERENT_HASH}")]
    DifferentHash,
    /// Range filters cut their keys differently.
    #[error(
        "the filters have partitions of {ours} and of {theirs} keys, so their fingerprints have nothing in common: build \
         them with the same max_range, or make one from the other with empty_like()"
    )]
    DifferentPartitions {
        /// Keys of a partition of the filter that was to take all.
        ours: u64,
        /// And of the other.
        theirs: u64,
    },
    /// The shortest fingerprint has no bit left for the remainders at the size that is needed.
    #[error(
        "{needed_slots} slots are needed, but the shortest fingerprint has only {fingerprint_bits} bits, too \
         few for this size: use QuotientFilter::merge, which finds the size, or build the filters with a \
         lower error rate"
    )]
    NotEnoughBits {
        /// Bits of the shortest fingerprint.
        fingerprint_bits: u32,
        /// Slots that the merged filter needs.
        needed_slots: u64,
    },
    /// The merged entries do not fit a filter that must not grow.
    #[error(
        "the merged entries do not fit {slots} slots: merge into a larger filter, or allow growth (a quotient filter's \
         grow_to, a range filter's growth); fingerprints of a few bits, for error rates near 1, leave no room to grow"
    )]
    Full {
        /// Slots of the filter that was to take all.
        slots: u64,
    },
    /// The merged entries of expandable filters find no room.
    #[error("the merged entries find no room: {0}")]
    NoRoom(#[source] ExpandError),
    /// The entries of a view are not in order: its bytes were not written by this library.
    #[error("a filter's bytes are damaged: call validate() on views before merging them")]
    Invalid,
    /// There was no filter to merge.
    #[error("there is nothing to merge: give at least one filter")]
    Nothing,
    /// The number of copies does not fit 64 bits.
    #[error("the filter would hold more than 2^64 - 1 copies")]
    TooManyCopies,
    /// The memory for the merged table could not be allocated.
    #[error(transparent)]
    Memory(#[from] OutOfMemory),
}

/// Why a filter could not be built from many keys or hashes at once.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BulkError {
    /// The settings are wrong.
    #[error(transparent)]
    Build(#[from] BuildError),
    /// The hashes are not in ascending order.
    #[error(
        "hash {index} is smaller than the one before it: sort the hashes first, or load keys with from_keys"
    )]
    Unsorted {
        /// Position of the first hash that is smaller than its predecessor.
        index: u64,
    },
    /// There are more keys than the settings allow.
    #[error(
        "{inserted} keys filled the table of {slots} slots: give a larger capacity or allow growth with grow_to"
    )]
    Full {
        /// Keys that fitted.
        inserted: u64,
        /// Slots that there are.
        slots: u64,
    },
    /// The number of copies does not fit 64 bits.
    #[error("the filter would hold more than 2^64 - 1 copies")]
    TooManyCopies,
}

impl From<OutOfMemory> for BulkError {
    fn from(error: OutOfMemory) -> Self {
        Self::Build(error.into())
    }
}

/// The hashes of two keys that must be told apart agree in more than a thousand bits. That does not happen
/// with the library's own hashes; two equal hashes were given to a `_hash` method.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "two keys that must be told apart have the same hash: give the filter keys instead of hashes, or hashes \
     that differ for different keys"
)]
pub struct Indistinguishable;

/// A key would be on the YES list and on the NO list.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "the key {} would be on the YES list and on the NO list: remove it from one of them, or move it with move_to_yes or \
     move_to_no",
    crate::key::show(key)
)]
pub struct OnBothLists {
    /// The bytes of the key.
    pub key: Vec<u8>,
}

/// A ticket is out of date: something under its fingerprint has changed. Ask again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("keys came or went under this fingerprint since the ticket was given: query again")]
pub struct Stale;

/// Why an adaptive filter could not learn. The filter is as it was.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AdaptError {
    /// The ticket is out of date.
    #[error(transparent)]
    Stale(#[from] Stale),
    /// There is no slot left at the present size.
    #[error(transparent)]
    NeedsGrow(#[from] NeedsGrow),
    /// There is no slot left, and the filter must not grow.
    #[error(transparent)]
    Full(#[from] Full),
    /// The query and a key have the same hash.
    #[error(transparent)]
    Indistinguishable(#[from] Indistinguishable),
    /// There is no memory for a larger table.
    #[error(transparent)]
    Memory(#[from] OutOfMemory),
}

impl From<InsertError> for AdaptError {
    fn from(error: InsertError) -> Self {
        match error {
            InsertError::NeedsGrow(error) => error.into(),
            InsertError::Full(error) => error.into(),
            InsertError::Indistinguishable(error) => error.into(),
            InsertError::Memory(error) => error.into(),
            InsertError::TooManyCopies => unreachable!("a fingerprint has no count"),
        }
    }
}

/// Why an adaptive filter could not be resized, merged or rebuilt. It is as it was. `E` is the error of
/// the map, or of whatever looks keys up.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RebuildError<E> {
    /// The keys could not be looked up.
    #[error("the keys could not be looked up: {0}")]
    Lookup(#[source] E),
    /// The entries do not fit the largest size that is allowed.
    #[error(
        "{slots} slots are too few, and the filter must not grow beyond them: build it larger, or with \
         Growth::Grow and enough max_bytes; if most slots are free, the hashes are badly distributed"
    )]
    Full {
        /// Slots of the largest size that was tried.
        slots: u64,
    },
    /// A key was smaller, in the order of hashes, than the one before it.
    #[error("key {index} is out of order: sort the keys by the first 64 bits of their hashes")]
    Unsorted {
        /// The number of the key, from 0.
        index: u64,
    },
    /// There were so many more keys than announced that the first ones ran out of bits.
    #[error("there are far more keys than the capacity of {capacity}: give the right one to the builder")]
    Capacity {
        /// What was announced.
        capacity: u64,
    },
    /// The filters hash their keys differently.
    #[error("{DIFFERENT_HASH}")]
    DifferentHash,
    /// The range filters cut keys into other partitions.
    #[error("{DIFFERENT_PARTITIONS}")]
    DifferentPartitions,
    /// The bytes of a view are damaged.
    #[error("the other filter's bytes are damaged: {0}")]
    Invalid(String),
    /// A key is on the YES list of one and on the NO list of the other.
    #[error(transparent)]
    OnBothLists(#[from] OnBothLists),
    /// Two keys have the same hash.
    #[error(transparent)]
    Indistinguishable(#[from] Indistinguishable),
    /// The memory for the table could not be allocated.
    #[error(transparent)]
    Memory(#[from] OutOfMemory),
    /// The settings are wrong.
    #[error(transparent)]
    Build(#[from] BuildError),
}

/// Why an operation on an adaptive set failed. Set and map agree as before. `E` is the error of the map.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SetError<E> {
    /// The map could not look or write.
    #[error("the reverse map failed: {0}")]
    Map(#[source] E),
    /// There is no slot left, and the set must not grow.
    #[error(transparent)]
    Full(#[from] Full),
    /// The sets hash their keys differently.
    #[error("{DIFFERENT_HASH}")]
    DifferentHash,
    /// The sets of ranges cut keys into other partitions.
    #[error("{DIFFERENT_PARTITIONS}")]
    DifferentPartitions,
    /// The map gave its rows out of order.
    #[error("the reverse map gave row {index} out of order: it must sort its rows by their hashes")]
    Unsorted {
        /// The number of the row, from 0.
        index: u64,
    },
    /// A key would be on both lists of a [`YesNoList`](crate::YesNoList).
    #[error(transparent)]
    OnBothLists(#[from] OnBothLists),
    /// Filter and map disagree, or the filter is damaged: [`validate`](crate::AdaptiveSet::validate) found that.
    #[error("the set is inconsistent: {0}; make a new one with recover()")]
    Inconsistent(String),
    /// Two keys have the same hash.
    #[error(transparent)]
    Indistinguishable(#[from] Indistinguishable),
    /// The memory for the table could not be allocated.
    #[error(transparent)]
    Memory(#[from] OutOfMemory),
}

/// Why a [cascade](crate::cascade) could not insert, learn or be rebuilt. It is as it was. `E` is the error of the map.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CascadeError<E = std::convert::Infallible> {
    /// The map could not look or write.
    #[error("the reverse map failed: {0}")]
    Map(#[source] E),
    /// A layer has no room.
    #[error(
        "layer {layer} of the cascade has room for {capacity} keys and no more: make a new one with rebuilt(), or use a \
         CascadeSet, which does that by itself; if few keys were inserted, the hashes are badly distributed"
    )]
    NeedsRebuild {
        /// The number of the layer, from 0.
        layer: usize,
        /// How many keys it has room for.
        capacity: u64,
    },
    /// The query and a key cannot be told apart.
    #[error(transparent)]
    Indistinguishable(#[from] Indistinguishable),
    /// A layer could not be made.
    #[error(transparent)]
    Build(#[from] BuildError),
}

impl CascadeError {
    /// The same for callers who have a map.
    pub(crate) fn with_map<E>(self) -> CascadeError<E> {
        match self {
            Self::Map(never) => match never {},
            Self::NeedsRebuild { layer, capacity } => CascadeError::NeedsRebuild { layer, capacity },
            Self::Indistinguishable(error) => CascadeError::Indistinguishable(error),
            Self::Build(error) => CascadeError::Build(error),
        }
    }
}

/// Why a YES/NO list, or a delta of one, could not be built.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ListError {
    /// The settings are wrong.
    #[error(transparent)]
    Build(#[from] BuildError),
    /// The error rate is smaller than any that a list can have.
    #[error("the smallest error rate of a list is {least:e}, not {found:e}")]
    ErrorRate {
        /// The smallest that is possible.
        least: f64,
        /// What was given.
        found: f64,
    },
    /// A key is to answer both Yes and No.
    #[error(
        "key {yes} of the YES list is on the NO list, too, as key {no}, counted from 0: take it off one of them"
    )]
    OnBothLists {
        /// The number of the key among the YES keys as they came, from 0.
        yes: u64,
        /// And among the NO keys.
        no: u64,
    },
    /// Keys on different lists cannot be told apart by their hashes.
    #[error(transparent)]
    Indistinguishable(#[from] Indistinguishable),
    /// The keys of a delta are hashed differently from those of the list.
    #[error("the keys are hashed differently from those of the list: collect them with its own hasher()")]
    DifferentHash,
    /// The list has as many deltas as it can have.
    #[error("the list has {most} deltas, and there can be no more: make a new list")]
    TooManyDeltas {
        /// How many there can be.
        most: usize,
    },
    /// There is nothing left of the error rate that a delta could use.
    #[error("the deltas of this list have used up its error rate: build a new list")]
    RateSpent,
    /// What was built gives wrong answers. That must not happen.
    #[error(
        "the list answers {wrong} of its own keys wrongly and was thrown away: this is a mistake of twiceshy, or of the \
         memory of this machine"
    )]
    Unverified {
        /// Keys with a wrong answer.
        wrong: u64,
    },
}

impl From<OutOfMemory> for ListError {
    fn from(error: OutOfMemory) -> Self {
        Self::Build(error.into())
    }
}

/// Why a snapshot of a [`YesNoList`](crate::YesNoList), or a delta to one, could not be made. `E` is the error of its map.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FreezeError<E> {
    /// The keys could not be read.
    #[error("the keys of the list could not be read: {0}")]
    Map(#[source] E),
    /// The keys could not be made a list of.
    #[error(transparent)]
    List(#[from] ListError),
}

/// Why a delta could not be applied. The list is as it was.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ApplyError {
    /// The delta is for another list.
    #[error(
        "the delta is for the list {expected:016x} and not for {found:016x}: apply the deltas before it first, or take the \
         whole list"
    )]
    WrongList {
        /// The name of the list that it is for.
        expected: u64,
        /// The name of this one.
        found: u64,
    },
    /// The delta is for a list of that name, but under another hash key.
    #[error("the delta is for a list under another hash key: take the whole list")]
    DifferentHash,
    /// The bytes of the delta are not those that it was made of, or the list would not keep its error rate with it.
    #[error("the delta is damaged: fetch it again")]
    Damaged,
    /// The list has as many deltas as it can have.
    #[error("the list has {most} deltas, and cannot have more: take the whole list")]
    TooMany {
        /// How many it can have.
        most: usize,
    },
}
