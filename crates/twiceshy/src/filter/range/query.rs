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

use super::RangeKey;
use super::partition::{Cut, Part, Partition};
use crate::bits::cpu::{Cpu, Kernel, dispatch};
use crate::filter::batch::{self, Probe};
use crate::hash::Hashes;
use crate::table::Home;

/// A filter of partitions, each with suffixes.
pub(crate) trait Partitioned: Hashes {
    /// What its keys are.
    type Key: RangeKey + ?Sized;

    /// How codes are cut.
    fn cut(&self) -> Cut;

    /// Where a partition with this hash is.
    fn home<C: Cpu>(&self, cpu: C, hash: u64) -> Home;

    /// Where a partition with this hash is, which is looked up now: asks for its memory.
    fn home_now<C: Cpu>(&self, cpu: C, hash: u64) -> Home;

    /// Asks for the memory of a hash that is [far](batch) ahead.
    fn ask_far<C: Cpu>(&self, cpu: C, hash: u64);

    /// And of one that is near.
    fn ask_near<C: Cpu>(&self, cpu: C, hash: u64);

    /// Asks for the header that a hash needs.
    fn ask_header<C: Cpu>(&self, cpu: C, hash: u64);

    /// Whether a partition may have one of these suffixes; `None` if that takes more than a glance.
    fn meets_at_glance<C: Cpu>(&self, cpu: C, home: Home, asked: Asked) -> Option<bool>;

    /// Whether a partition may have one of these suffixes.
    fn meets<C: Cpu>(&self, cpu: C, home: Home, asked: Asked) -> bool;
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

    /// The suffixes that are asked for, and those behind them unless these are the first of the partition, whose last one is
    /// `most`, as two numbers: those that, XORed with the first, are less than the second.
    #[inline(always)]
    pub(crate) fn nearly(&self, most: u16) -> (u64, u64) {
        match self.from {
            0 => (0, u64::from(self.to) + 1),
            from => (most.into(), u64::from(most - from) + 1),
        }
    }

    pub(crate) fn suffixes(&self) -> RangeInclusive<u16> {
        self.from..=self.to
    }
}

/// Whether a code may be there.
#[inline(always)]
pub(crate) fn contains<F: Partitioned>(filter: &F, code: u128) -> bool {
    let (partition, suffix) = filter.cut().split(small::<F>(code));
    dispatch(One::<false, F> { filter, partition, from: suffix, to: suffix })
}

/// Whether any of some codes may be there.
#[inline(always)]
pub(crate) fn contains_any<F: Partitioned>(filter: &F, codes: RangeInclusive<u128>) -> bool {
    let cut = filter.cut();
    let (start, end) = (small::<F>(*codes.start()), small::<F>(*codes.end()));
    let ((partition, from), (last, to)) = (cut.split(start), cut.split(end));
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
fn contains_long<F: Partitioned>(filter: &F, codes: RangeInclusive<u128>) -> bool {
    let cut = filter.cut();
    if cut.is_too_long(&codes) {
        return true;
    }
    let mut parts = cut.parts(&codes);
    loop {
        let asked: Vec<Asked> = parts.by_ref().take(AT_ONCE).map(|part| asked(filter, part)).collect();
        if dispatch(Any { filter, asked: &asked }) {
            return true;
        }
        if asked.len() < AT_ONCE {
            return false;
        }
    }
}

/// A part of a range with the hash of its partition.
fn asked<F: Partitioned>(filter: &F, part: Part) -> Asked {
    let (from, to) = part.suffixes.into_inner();
    let hash = filter.hasher().first_word_of(&Partition::<F::Key>::new(part.partition));
    Asked { partition: part.partition, hash, from, to }
}

/// Hashes a partition if that takes only a few of the CPU's own instructions; slowly by any means.
#[inline(always)]
fn hash<const SLOWLY: bool, F: Partitioned, C: Cpu>(cpu: C, filter: &F, partition: u128) -> Option<u64> {
    let (hasher, partition) = (filter.hasher(), Partition::<F::Key>::new(partition));
    match hasher.hash_at_once(cpu, &partition) {
        None if SLOWLY => Some(hasher.hash_slowly(cpu, &partition)),
        hash => hash,
    }
}

/// Looks at a partition, for as long as it takes if that is to be slow.
#[inline(always)]
fn meets<const SLOWLY: bool, F: Partitioned, C: Cpu>(
    cpu: C,
    filter: &F,
    home: Home,
    asked: Asked,
) -> Option<bool> {
    if SLOWLY { Some(filter.meets(cpu, home, asked)) } else { filter.meets_at_glance(cpu, home, asked) }
}

/// A code, or the number of a partition, of which the compiler then knows that it is small, if it is.
#[inline(always)]
fn small<F: Partitioned>(number: u128) -> u128 {
    if F::Key::CODE_BITS <= 64 { u128::from(number as u64) } else { number }
}

/// Some keys of one partition. There are two copies: what takes more than a few instructions begins once more in the slow one, so
/// that nothing is kept for it.
struct One<'a, const SLOWLY: bool, F> {
    filter: &'a F,
    partition: u128,
    from: u16,
    to: u16,
}

impl<const SLOWLY: bool, F: Partitioned> Kernel for One<'_, SLOWLY, F> {
    type Output = bool;
    #[inline(always)]
    fn run<C: Cpu>(self, cpu: C) -> bool {
        let Self { filter, partition, from, to } = self;
        let found = hash::<SLOWLY, F, C>(cpu, filter, small::<F>(partition)).and_then(|hash| {
            let asked = Asked { partition: small::<F>(partition), hash, from, to };
            meets::<SLOWLY, F, C>(cpu, filter, filter.home_now(cpu, hash), asked)
        });
        match found {
            Some(found) => found,
            None => cpu.outlined(One::<true, F> { filter, partition, from, to }),
        }
    }
}

/// Keys of a partition from a suffix on, and of the next one up to a suffix. There are two copies, as of [`One`].
struct Two<'a, const SLOWLY: bool, F> {
    filter: &'a F,
    partition: u128,
    from: u16,
    to: u16,
}

impl<const SLOWLY: bool, F: Partitioned> Two<'_, SLOWLY, F> {
    #[inline(always)]
    fn look<C: Cpu>(&self, cpu: C) -> Option<bool> {
        let Self { filter, partition, from, to } = *self;
        let partition = small::<F>(partition);
        let next = small::<F>(partition + 1);
        let first = hash::<SLOWLY, F, C>(cpu, filter, partition)?;
        let second = hash::<SLOWLY, F, C>(cpu, filter, next)?;
        // The second one's header is on its way while the first is looked at.
        filter.ask_header(cpu, second);
        let homes = (filter.home_now(cpu, first), filter.home_now(cpu, second));
        let most = filter.cut().last_suffix();
        let asked = Asked { partition, hash: first, from, to: most };
        if meets::<SLOWLY, F, C>(cpu, filter, homes.0, asked)? {
            return Some(true);
        }
        meets::<SLOWLY, F, C>(cpu, filter, homes.1, Asked { partition: next, hash: second, from: 0, to })
    }
}

impl<const SLOWLY: bool, F: Partitioned> Kernel for Two<'_, SLOWLY, F> {
    type Output = bool;
    #[inline(always)]
    fn run<C: Cpu>(self, cpu: C) -> bool {
        match self.look(cpu) {
            Some(found) => found,
            None => {
                let Self { filter, partition, from, to } = self;
                cpu.outlined(Two::<true, F> { filter, partition, from, to })
            }
        }
    }
}

/// Any of some parts.
struct Any<'a, F> {
    filter: &'a F,
    asked: &'a [Asked],
}

impl<F: Partitioned> Kernel for Any<'_, F> {
    type Output = bool;
    #[inline(always)]
    fn run<C: Cpu>(self, cpu: C) -> bool {
        let Self { filter, asked } = self;
        asked.iter().for_each(|asked| filter.ask_near(cpu, asked.hash));
        asked.iter().any(|asked| filter.meets(cpu, filter.home_now(cpu, asked.hash), *asked))
    }
}

/// Ranges that are worked on together.
const CHUNK: usize = 256;

/// [`contains_any`] for many ranges, in order: those that are `None` have no keys.
///
/// # Panics
///
/// If there are not as many answers as ranges.
pub(crate) fn contains_all<F: Partitioned>(
    filter: &F,
    mut ranges: impl ExactSizeIterator<Item = Option<RangeInclusive<u128>>>,
    found: &mut [bool],
) {
    assert_eq!(ranges.len(), found.len(), "as many answers as ranges");
    let (cut, most) = (filter.cut(), filter.cut().last_suffix());
    // What is asked for: suffixes from and to, and by which range; and the answers.
    let mut all = [(0, 0, 0u16); 2 * CHUNK];
    let (mut partitions, mut hashes) = ([Partition::<F::Key>::new(0); 2 * CHUNK], [0; 2 * CHUNK]);
    let mut answers = [false; 2 * CHUNK];
    for found in found.chunks_mut(CHUNK) {
        let mut len = 0;
        for (number, (found, range)) in (0..).zip(found.iter_mut().zip(&mut ranges)) {
            *found = false;
            let Some(codes) = range else { continue };
            let ((first, from), (last, to)) = (cut.split(*codes.start()), cut.split(*codes.end()));
            if last - first > 1 {
                *found = contains_long(filter, codes);
                continue;
            }
            // Both are written, whether or not there are two.
            let is_one = first == last;
            let end = if is_one { to } else { most };
            (partitions[len], partitions[len + 1]) = (Partition::new(first), Partition::new(last));
            (all[len], all[len + 1]) = ((from, end, number), (0, to, number));
            len += 2 - usize::from(is_one);
        }
        let (partitions, all) = (&partitions[..len], &all[..len]);
        let (hashes, answers) = (&mut hashes[..len], &mut answers[..len]);
        filter.hasher().hash_all(partitions, hashes);
        batch::contains_all(Parts { filter, partitions, all }, hashes, answers);
        for ((.., number), answer) in all.iter().zip(answers) {
            found[usize::from(*number)] |= *answer;
        }
    }
}

/// Parts of ranges that are asked for in a batch.
struct Parts<'a, F: Partitioned> {
    filter: &'a F,
    partitions: &'a [Partition<F::Key>],
    all: &'a [(u16, u16, u16)],
}

impl<F: Partitioned> Probe for Parts<'_, F> {
    #[inline(always)]
    fn ask_far<C: Cpu>(&self, cpu: C, hash: u64) {
        self.filter.ask_far(cpu, hash);
    }

    #[inline(always)]
    fn ask_near<C: Cpu>(&self, cpu: C, hash: u64) {
        self.filter.ask_near(cpu, hash);
    }

    #[inline(always)]
    fn contains<C: Cpu>(&self, cpu: C, number: usize, hash: u64) -> bool {
        let (partition, (from, to, _)) = (self.partitions[number].number(), self.all[number]);
        let asked = Asked { partition, hash, from, to };
        self.filter.meets(cpu, self.filter.home(cpu, hash), asked)
    }
}
