//! Queries of range filters: one and many points and ranges, whatever a filter stores.
//!
//! # The idea
//!
//! Nearly every range meets two partitions. Both are hashed, and the memory of both is asked for, before the first is looked at,
//! in one kernel that calls nothing. Batches ask for memory many partitions ahead.
//!
//! # Cost
//!
//! Two lookups that wait for memory at the same time.

use std::ops::RangeInclusive;

use super::partition::{Cut, Part};
use crate::bits::cpu::{Cpu, Kernel, dispatch};
use crate::filter::batch::{FAR, NEAR};
use crate::hash::{Hasher, Hashes};
use crate::table::Home;

/// A filter of partitions, each with suffixes.
pub(crate) trait Boxes: Hashes {
    /// How codes are cut.
    fn cut(&self) -> Cut;

    /// Where a partition with this hash is, which is looked up now: asks for its memory.
    fn home_now<C: Cpu>(&self, cpu: C, hash: u64) -> Home;

    /// Asks for the memory of a hash that is [`FAR`] ahead.
    fn ask_far<C: Cpu>(&self, cpu: C, hash: u64);

    /// And of one that is [`NEAR`].
    fn ask_near<C: Cpu>(&self, cpu: C, hash: u64);

    /// Whether a partition may have one of these suffixes.
    fn meets<C: Cpu>(&self, cpu: C, home: Home, asked: &Asked) -> bool;
}

/// Some neighbouring keys of one partition, and its hash.
#[derive(Clone, Copy)]
pub(crate) struct Asked {
    pub(crate) partition: u128,
    pub(crate) hash: u64,
    pub(crate) from: u16,
    pub(crate) to: u16,
}

impl Asked {
    /// Whether a suffix is one of those.
    #[inline(always)]
    pub(crate) fn has(&self, suffix: u64) -> bool {
        suffix.wrapping_sub(self.from.into()) <= u64::from(self.to.wrapping_sub(self.from))
    }

    pub(crate) fn suffixes(&self) -> RangeInclusive<u16> {
        self.from..=self.to
    }
}

/// Whether a code may be there.
#[inline(always)]
pub(crate) fn contains<F: Boxes>(filter: &F, code: u128) -> bool {
    let (partition, suffix) = filter.cut().split(code);
    dispatch(One::<false, F> { filter, partition, from: suffix, to: suffix })
}

/// Whether any of some codes may be there.
#[inline(always)]
pub(crate) fn contains_any<F: Boxes>(filter: &F, codes: RangeInclusive<u128>) -> bool {
    let cut = filter.cut();
    let ((partition, from), (last, to)) = (cut.split(*codes.start()), cut.split(*codes.end()));
    match last - partition {
        0 => dispatch(One::<false, F> { filter, partition, from, to }),
        1 => dispatch(Two::<false, F> { filter, partition, from, to }),
        _ => contains_long(filter, codes),
    }
}

/// So many partitions of a long range are asked for at once.
const AT_ONCE: usize = 16;

/// For ranges that meet more than two partitions.
#[cold]
#[inline(never)]
fn contains_long<F: Boxes>(filter: &F, codes: RangeInclusive<u128>) -> bool {
    let cut = filter.cut();
    if cut.is_too_long(&codes) {
        return true;
    }
    let mut parts = cut.parts(&codes);
    loop {
        let asked: Vec<Asked> =
            parts.by_ref().take(AT_ONCE).map(|part| asked(filter.hasher(), part)).collect();
        if dispatch(Any { filter, asked: &asked }) {
            return true;
        }
        if asked.len() < AT_ONCE {
            return false;
        }
    }
}

/// A part of a range with the hash of its partition.
fn asked(hasher: &Hasher, part: Part) -> Asked {
    let (from, to) = part.suffixes.into_inner();
    Asked { partition: part.partition, hash: hasher.hash(&part.partition), from, to }
}

/// Hashes a partition if that takes only a few of the CPU's own instructions; slowly by any means.
#[inline(always)]
fn hash<const SLOWLY: bool, C: Cpu>(cpu: C, hasher: &Hasher, partition: u128) -> Option<u64> {
    if SLOWLY { Some(hasher.hash_slowly(&partition)) } else { hasher.hash_at_once(cpu, &partition) }
}

/// Some keys of one partition. There are two copies, as of [`Hashed`](crate::hash::hashed).
struct One<'a, const SLOWLY: bool, F> {
    filter: &'a F,
    partition: u128,
    from: u16,
    to: u16,
}

impl<const SLOWLY: bool, F: Boxes> Kernel for One<'_, SLOWLY, F> {
    type Output = bool;
    #[inline(always)]
    fn run<C: Cpu>(self, cpu: C) -> bool {
        let Self { filter, partition, from, to } = self;
        let Some(hash) = hash::<SLOWLY, C>(cpu, filter.hasher(), partition) else {
            return cpu.outlined(One::<true, F> { filter, partition, from, to });
        };
        filter.meets(cpu, filter.home_now(cpu, hash), &Asked { partition, hash, from, to })
    }
}

/// Keys of a partition from a suffix on, and of the next one up to a suffix.
struct Two<'a, const SLOWLY: bool, F> {
    filter: &'a F,
    partition: u128,
    from: u16,
    to: u16,
}

impl<const SLOWLY: bool, F: Boxes> Kernel for Two<'_, SLOWLY, F> {
    type Output = bool;
    #[inline(always)]
    fn run<C: Cpu>(self, cpu: C) -> bool {
        let Self { filter, partition, from, to } = self;
        let (hasher, next) = (filter.hasher(), partition + 1);
        let hashes = (hash::<SLOWLY, C>(cpu, hasher, partition), hash::<SLOWLY, C>(cpu, hasher, next));
        let (Some(first), Some(second)) = hashes else {
            return cpu.outlined(Two::<true, F> { filter, partition, from, to });
        };
        let homes = (filter.home_now(cpu, first), filter.home_now(cpu, second));
        let most = filter.cut().last_suffix();
        filter.meets(cpu, homes.0, &Asked { partition, hash: first, from, to: most })
            || filter.meets(cpu, homes.1, &Asked { partition: next, hash: second, from: 0, to })
    }
}

/// Any of some parts.
struct Any<'a, F> {
    filter: &'a F,
    asked: &'a [Asked],
}

impl<F: Boxes> Kernel for Any<'_, F> {
    type Output = bool;
    #[inline(always)]
    fn run<C: Cpu>(self, cpu: C) -> bool {
        let Self { filter, asked } = self;
        asked.iter().for_each(|asked| filter.ask_near(cpu, asked.hash));
        asked.iter().any(|asked| filter.meets(cpu, filter.home_now(cpu, asked.hash), asked))
    }
}

/// Ranges that are worked on together.
const CHUNK: usize = 256;

/// [`contains_any`] for many ranges, in order: those that are `None` have no keys.
///
/// # Panics
///
/// If there are not as many answers as ranges.
pub(crate) fn contains_all<F: Boxes>(
    filter: &F,
    ranges: impl ExactSizeIterator<Item = Option<RangeInclusive<u128>>>,
    found: &mut [bool],
) {
    assert_eq!(ranges.len(), found.len(), "as many answers as ranges");
    let mut ranges = ranges;
    for found in found.chunks_mut(CHUNK) {
        dispatch(Chunk { filter, ranges: ranges.by_ref().take(found.len()), found });
    }
}

/// Some ranges, and where their answers go.
struct Chunk<'a, F, I> {
    filter: &'a F,
    ranges: I,
    found: &'a mut [bool],
}

impl<F: Boxes, I: Iterator<Item = Option<RangeInclusive<u128>>>> Kernel for Chunk<'_, F, I> {
    type Output = ();
    #[inline(always)]
    fn run<C: Cpu>(self, cpu: C) {
        let Self { filter, ranges, found } = self;
        let (hasher, cut, most) = (filter.hasher(), filter.cut(), filter.cut().last_suffix());
        let nothing = Asked { partition: 0, hash: 0, from: 0, to: 0 };
        // What is asked for, and by which range.
        let (mut all, mut len) = ([(nothing, 0u16); 2 * CHUNK], 0);
        let mut ask = |number: usize, partition, from, to| {
            let hash = match hasher.hash_at_once(cpu, &partition) {
                Some(hash) => hash,
                None => hasher.hash_slowly(&partition),
            };
            all[len] = (Asked { partition, hash, from, to }, number as u16);
            len += 1;
        };
        for (number, (range, found)) in ranges.zip(found.iter_mut()).enumerate() {
            *found = false;
            let Some(codes) = range else { continue };
            let ((partition, from), (last, to)) = (cut.split(*codes.start()), cut.split(*codes.end()));
            match last - partition {
                0 => ask(number, partition, from, to),
                1 => {
                    ask(number, partition, from, most);
                    ask(number, last, 0, to);
                }
                _ => *found = contains_long(filter, codes),
            }
        }
        let all = &all[..len];
        all.iter().take(FAR).for_each(|(asked, _)| filter.ask_far(cpu, asked.hash));
        for (i, (asked, number)) in all.iter().enumerate() {
            if let Some((far, _)) = all.get(i + FAR) {
                filter.ask_far(cpu, far.hash);
            }
            if let Some((near, _)) = all.get(i + NEAR) {
                filter.ask_near(cpu, near.hash);
            }
            found[usize::from(*number)] |= filter.meets(cpu, filter.home_now(cpu, asked.hash), asked);
        }
    }
}
