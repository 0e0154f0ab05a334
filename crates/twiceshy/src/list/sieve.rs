//! A sieve: which of two sets a key is from, for keys of either; and for any other key the one, but for a small rate.
//!
//! # The idea
//!
//! Two stages. The first, the *approximate* one, is a filter of the YES keys: of `c` columns, so `2^-c` of all other keys pass
//! it, NO keys among them. The second, the *exact* one, has one column and knows for sure what is to be said of the YES keys and of
//! the NO keys that pass the first. Other keys pass it with probability 1/2.
//!
//! Rates between `2^-(c+1)` and `2^-(c+2)`: some keys, a *share* that their hash decides, must match two equations of the exact
//! stage, if they are to be a YES.
//!
//! Both stages begin with a ribbon in the same groups, so that one look answers for both, whatever the answer is: no branch depends on
//! it, and no other memory. So the first ribbon of the exact stage has as many rows as that of the approximate one. It has room for the YES keys
//! and some NO keys. If there are more, a share of all keys, by their hash again, goes *past* it: to the next ribbon of the stage. So do
//! second equations.
//!
//! # Cost
//!
//! `c + 1 + share` bits for each of `n` YES keys and `2^-c` for each of `m` NO keys, and half a percent more for the ribbons.
//! Every column is a bit for each YES key and halves the NO keys that pass, so there may be more of them than the rate asks
//! for: `c` and the share are those that take the least space. For rates that are powers of two that is at most 1.036 times the
//! least that is possible if there are up to `1 / (2 rate)` NO keys for each YES key, and at most 1.066 times with more of them;
//! for other rates at most 1.075 times (see [`bound`](super::bound)).
//!
//! # Source
//!
//! Two stages are the clubcard of Schanck (*Clubcards for the WebPKI*, IEEE S&P 2025), who goes back to Hamburg. There the number of
//! columns follows from `m / n` alone, and so does the rate: half of all unlisted keys are a YES if there are fewer NO keys than
//! YES keys. Shares are ours.

use super::keys::Pair;
use super::progress::{Phase, Watch, Watched};
use super::ribbon::stage::{Place, Stage, WHOLE, Wanted, take};
use super::ribbon::{Joined, MOST_COLUMNS, again, apart};
use crate::bits::cpu::{Cpu, Kernel, dispatch};
use crate::error::{Indistinguishable, ListError, ReadError};
use crate::filter::batch::Probe;
use crate::filter::macros::kernel;
use crate::hash::Words;
use crate::mem::Memory;

/// Bytes after the last ribbon, so that a reader may load vectors near its end.
const PADDING: usize = 16;

/// Which of two sets a key is from, as a function of its hash.
#[derive(Clone, Debug)]
pub(super) struct Sieve<B> {
    /// Which hash of a key is used: 0 is the first word, others are made of the first two.
    which: u8,
    /// Keys that have two equations, of [`WHOLE`].
    share: u16,
    /// Keys that go past the first ribbon of the exact stage, of [`WHOLE`].
    past: u16,
    approximate: Stage,
    exact: Stage,
    first: Option<First>,
    bytes: B,
}

/// What queries begin with, if that is the same for all.
#[derive(Clone, Copy, Debug)]
pub(super) struct First {
    /// The first ribbons of both stages.
    ribbons: Joined,
    /// The lowest bits of a hash from which on it has one equation in either of these, and no others.
    sure_from: u16,
}

/// The columns of the first stage, and the share of keys with two equations.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Plan {
    pub(super) columns: u32,
    pub(super) share: u16,
}

impl Plan {
    /// The smallest sieve for so many keys with at most the rate; `None` if no columns are enough.
    pub(super) fn new(yes: usize, no: usize, rate: f64) -> Option<Self> {
        let others = no as f64 / yes.max(1) as f64;
        let plans = (0..=MOST_COLUMNS).filter_map(|columns| {
            let passes = 0.5f64.powi(columns as i32);
            // Rounded up, so that the rate is rounded down.
            let share = (2.0 * (1.0 - 2.0 * rate / passes)).max(0.0);
            let share = u16::try_from((share * f64::from(WHOLE)).ceil() as u32).ok()?;
            let bits = f64::from(columns) + f64::from(share) / f64::from(WHOLE) + others * passes;
            Some((bits, Self { columns, share }))
        });
        plans.min_by(|(one, _), (other, _)| one.total_cmp(other)).map(|(_, plan)| plan)
    }
}

impl Sieve<Memory> {
    /// The sieve that lets `yes` pass and `no` not; these have no key in common.
    pub(super) fn build(
        yes: &[Pair],
        no: &[Pair],
        rate: f64,
        watch: &mut Watch<'_>,
    ) -> Result<Self, ListError> {
        let (which, yes, no) = told_apart(yes, no)?;
        let Plan { columns, share } = Plan::new(yes.len(), no.len(), rate).ok_or(ListError::RateSpent)?;
        let mut bytes = Vec::new();

        let mut watched = watch.phase(Phase::Approximate, yes.len());
        let wanted = yes.iter().map(|&hash| (hash, false)).collect();
        let approximate =
            Stage::build(Place::First, wanted, Vec::new(), columns, &mut bytes, |done| watched.add(done))?;
        bytes.resize(bytes.len() + PADDING, 0);
        let mut watched = watch.phase(Phase::Survivors, no.len());
        let no =
            dispatch(Survivors { stage: &approximate, bytes: &bytes, hashes: no, watched: &mut watched });
        bytes.truncate(bytes.len() - PADDING);

        // Without YES keys nothing passes the first stage.
        let no = if yes.is_empty() { Vec::new() } else { no };
        let past = approximate.too_many_beside(yes.len() + no.len());
        let all = no.into_iter().map(|hash| (hash, true)).chain(yes.iter().map(|&hash| (hash, false)));
        let (mut elsewhere, wanted): (Vec<Wanted>, _) = all.partition(|&(hash, _)| is_in(hash, past));
        let twice = yes.iter().filter(|&&hash| is_in(hash, share));
        elsewhere.extend(twice.map(|&hash| (again(hash), false)));
        let mut watched = watch.phase(Phase::Exact, wanted.len() + elsewhere.len());
        let place = Place::Beside(&approximate);
        let exact = Stage::build(place, wanted, elsewhere, 1, &mut bytes, |done| watched.add(done))?;
        bytes.resize(bytes.len() + PADDING, 0);
        Ok(Self::new(which, share, past, approximate, exact, Memory::from_vec(bytes)?))
    }
}

impl<B> Sieve<B> {
    fn new(which: u8, share: u16, past: u16, approximate: Stage, exact: Stage, bytes: B) -> Self {
        let ribbons = approximate.joined().filter(|_| which == 0);
        let first = ribbons.map(|ribbons| First { ribbons, sure_from: share.max(past) });
        Self { which, share, past, approximate, exact, first, bytes }
    }

    /// The probability that a key of neither set passes.
    pub(super) fn rate(&self) -> f64 {
        let share = f64::from(self.share) / f64::from(WHOLE);
        self.approximate.rate() * self.exact.rate() * (1.0 - share / 2.0)
    }

    /// What queries begin with, if that is the same for all.
    #[inline(always)]
    pub(super) fn first(&self) -> Option<&First> {
        self.first.as_ref()
    }

    /// Its bytes, wherever they are.
    pub(super) fn bytes(&self) -> &B {
        &self.bytes
    }

    /// The same over other bytes, which are equal.
    pub(super) fn over<T>(&self, bytes: T) -> Sieve<T> {
        let Self { which, share, past, ref approximate, ref exact, first, .. } = *self;
        Sieve { which, share, past, approximate: approximate.clone(), exact: exact.clone(), first, bytes }
    }

    /// Its description in a directory.
    pub(super) fn describe(&self, directory: &mut Vec<u8>) {
        directory.push(self.which);
        directory.extend(self.share.to_le_bytes());
        directory.extend(self.past.to_le_bytes());
        self.approximate.describe(directory);
        self.exact.describe(directory);
    }
}

impl Sieve<()> {
    /// The most bytes of a description.
    pub(super) const MOST_DESCRIBED: usize = 5 + 2 * Stage::MOST_DESCRIBED;

    /// Reads a description off the front of a directory. Tells how many bytes belong to it.
    pub(super) fn read(directory: &mut &[u8]) -> Result<(Self, usize), ReadError> {
        let [which] = take(directory)?;
        let [share, past] = [take(directory)?, take(directory)?].map(u16::from_le_bytes);
        let (approximate, end) = Stage::read(Place::First, directory, 0)?;
        let (exact, end) = Stage::read(Place::Beside(&approximate), directory, end)?;
        let columns = exact.columns();
        crate::persist::expect("columns of the exact stage", columns == 1, 1, columns)?;
        let end = end.checked_add(PADDING).ok_or_else(crate::mem::OutOfMemory::too_large)?;
        Ok((Self::new(which, share, past, approximate, exact, ()), end))
    }
}

impl<B: AsRef<[u8]>> Sieve<B> {
    /// The same over borrowed bytes.
    pub(super) fn borrowed(&self) -> Sieve<&[u8]> {
        self.over(self.bytes.as_ref())
    }

    /// Whether a key passes.
    #[inline(always)]
    pub(super) fn passes<C: Cpu>(&self, cpu: C, words: &impl Words) -> bool {
        match &self.first {
            Some(first) => self.passes_first(cpu, first, words.word(0)),
            None => cpu.outlined(Passes { sieve: self, hash: of_words(words, self.which) }),
        }
    }

    /// Whether a hash passes, if this is a sieve for which the first word of a hash is enough and queries begin with the
    /// first ribbons. Nearly always they end there, too; what goes on is elsewhere, so that nothing need be kept for it.
    #[inline(always)]
    pub(super) fn passes_first<C: Cpu>(&self, cpu: C, first: &First, hash: u64) -> bool {
        let (bytes, First { ribbons, sure_from }) = (self.bytes.as_ref(), first);
        let Some(start) = ribbons.start(bytes, hash) else {
            return cpu.outlined(Passes { sieve: self, hash });
        };
        let is_sure = !is_in(hash, *sure_from);
        let counts = if is_sure { ribbons.both } else { ribbons.first };
        let passes = ribbons.differences(cpu, bytes, hash, start) & counts == 0;
        if passes & !is_sure {
            return cpu.outlined(Decides { sieve: self, hash });
        }
        passes
    }

    /// Checks what does not matter to queries.
    pub(super) fn check(&self) -> Result<(), String> {
        let bytes = self.bytes.as_ref();
        self.approximate.check(bytes)?;
        self.exact.check(bytes)?;
        match bytes[bytes.len() - PADDING..].iter().all(|&byte| byte == 0) {
            true => Ok(()),
            false => Err("the padding is not 0".into()),
        }
    }
}

kernel! {
    /// Whether a hash passes, in all cases.
    Passes<'a, B: AsRef<[u8]>> { sieve: &'a Sieve<B>, hash: u64 } -> bool
    |cpu| sieve.approximate.matches(cpu, sieve.bytes.as_ref(), hash, false) && Decides { sieve, hash }.run(cpu)
}

kernel! {
    /// Whether a hash that has passed the approximate stage passes the exact one.
    Decides<'a, B: AsRef<[u8]>> { sieve: &'a Sieve<B>, hash: u64 } -> bool
    |cpu| {
        let (exact, bytes) = (&sieve.exact, sieve.bytes.as_ref());
        exact.matches(cpu, bytes, hash, is_in(hash, sieve.past))
            && (!is_in(hash, sieve.share) || exact.matches(cpu, bytes, again(hash), true))
    }
}

/// A sieve that is asked for many hashes.
pub(super) struct Many<'a, B> {
    pub(super) sieve: &'a Sieve<B>,
    pub(super) first: First,
}

impl<B: AsRef<[u8]>> Probe for Many<'_, B> {
    #[inline(always)]
    fn ask_far<C: Cpu>(&self, _: C, hash: u64) {
        self.first.ribbons.ask_for(self.sieve.bytes.as_ref(), hash);
    }

    /// The second-level cache is near enough.
    #[inline(always)]
    fn ask_near<C: Cpu>(&self, _: C, _: u64) {}

    #[inline(always)]
    fn contains<C: Cpu>(&self, cpu: C, _: usize, hash: u64) -> bool {
        self.sieve.passes_first(cpu, &self.first, hash)
    }
}

/// Those hashes that match a stage.
struct Survivors<'a, 'w> {
    stage: &'a Stage,
    bytes: &'a [u8],
    hashes: Vec<u64>,
    watched: &'a mut Watched<'w>,
}

impl Kernel for Survivors<'_, '_> {
    type Output = Vec<u64>;
    #[inline(always)]
    fn run<C: Cpu>(self, cpu: C) -> Vec<u64> {
        let Self { stage, bytes, hashes, watched } = self;
        let mut left = Vec::new();
        for hash in hashes {
            watched.add(1);
            if stage.matches(cpu, bytes, hash, false) {
                left.push(hash);
            }
        }
        left
    }
}

/// Whether a key is in a share of all keys. One that is in a small share is in every larger one.
#[inline(always)]
fn is_in(hash: u64, share: u16) -> bool {
    (hash as u16) < share
}

/// The hash that a sieve uses of a key.
#[inline(always)]
fn of_words(words: &impl Words, which: u8) -> u64 {
    match which {
        0 => words.word(0),
        _ => of_pair(&[words.word(0), words.word(1)], which),
    }
}

/// Pairs that differ have different hashes, for nearly all numbers.
fn of_pair(&[first, second]: &Pair, which: u8) -> u64 {
    if which == 0 { first } else { apart(first ^ u64::from(which)) ^ second }
}

/// The hashes of two sets of keys, in order and each once, and which these are: the first for which no key of one set has the
/// hash of one of the other.
fn told_apart(yes: &[Pair], no: &[Pair]) -> Result<(u8, Vec<u64>, Vec<u64>), Indistinguishable> {
    for which in 0..=u8::MAX {
        let [yes, no] = [yes, no].map(|pairs| {
            let mut hashes: Vec<u64> = pairs.iter().map(|pair| of_pair(pair, which)).collect();
            hashes.sort_unstable();
            hashes.dedup();
            hashes
        });
        if first_in_both(&yes, &no).is_none() {
            return Ok((which, yes, no));
        }
    }
    Err(Indistinguishable)
}

/// The first thing that two sorted slices have in common.
pub(super) fn first_in_both<'a, T: Ord>(one: &'a [T], other: &[T]) -> Option<&'a T> {
    let mut others = other.iter().peekable();
    one.iter().find(|thing| {
        while others.next_if(|other| other < thing).is_some() {}
        others.peek() == Some(thing)
    })
}
