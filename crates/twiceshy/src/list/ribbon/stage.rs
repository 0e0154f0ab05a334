//! A stage: ribbons one after the other, each for what the one before bumped.
//!
//! All but the last have codes and somewhat fewer rows than keys. The last takes every key that is left, some hundreds of them,
//! and has as many rows as that needs.
//!
//! The first ribbon may have another one beside it, in the same groups: that of a second stage, which has a [`Place`] there. Such a stage
//! has as many rows in its first ribbon as the other one has; keys that are too many for these go *past* it, to its next ribbon, as if
//! they were bumped.
//!
//! A stage of no columns lets everything pass, and has no ribbons. One of columns but without keys has none either; nothing passes.

use super::solve::{Added, System};
use super::{BUCKET, Equation, GROUP, Joined, LIMITS, MOST_COLUMNS, Ribbon, next};
use crate::bits::cpu::Cpu;
use crate::bits::word::low_mask;
use crate::error::{ListError, ReadError};
use crate::persist::expect;

/// Keys for each row of a ribbon with codes.
const CROWDING: f64 = 1.03;

/// The same for a ribbon beside another, which has as many rows as that.
const MOST_CROWDING: f64 = 1.1;

/// What shares of keys are counted in.
pub(in crate::list) const WHOLE: u32 = 1 << 16;

/// Keys that are left to the last ribbon: for fewer, its rows that nobody uses cost less than another ribbon's.
const LAST: usize = 512;

/// The most ribbons. Each has a thirtieth of the keys of the one before.
const MOST_RIBBONS: usize = 16;

/// How many sizes are tried for the last ribbon, each a group larger. Nearly always one of the first few will do.
const TRIES: u32 = 256;

/// A key as a stage knows it: its hash there, and whether it must not match.
pub(in crate::list) type Wanted = (u64, bool);

/// How a stage lies in bytes.
#[derive(Clone, Debug, PartialEq)]
pub(in crate::list) struct Stage {
    columns: u32,
    /// Those with codes.
    open: Vec<Ribbon>,
    last: Option<Ribbon>,
    /// How many groups each of them has.
    groups: Vec<u32>,
    /// Whether the first lies in the same groups as that of another stage.
    is_joined: bool,
}

/// Where a stage lies.
#[derive(Clone, Copy)]
pub(in crate::list) enum Place<'a> {
    /// By itself. If its first ribbon has codes, there is room in the groups of that for one column of another stage.
    First,
    /// After another stage, and its first ribbon in the room there, if there is any. It has one column.
    Beside(&'a Stage),
}

impl<'a> Place<'a> {
    /// The ribbon that the first one lies beside, and how many groups it has.
    fn neighbour(self) -> Option<(&'a Ribbon, u32)> {
        match self {
            Self::First => None,
            Self::Beside(stage) => stage.open.first().zip(stage.groups.first().copied()),
        }
    }

    /// The first of those ribbons that do not lie beside another, or a later one, from byte `at` on.
    fn ribbon(self, number: usize, groups: u32, columns: u32, at: usize, has_codes: bool) -> Ribbon {
        let (room, first_value) = match self {
            Self::First => (usize::from(number == 0 && has_codes), 0),
            Self::Beside(stage) => (0, stage.columns),
        };
        Ribbon::new(groups, columns as usize, room, first_value, at, has_codes)
    }
}

impl Stage {
    /// The most bytes of a description.
    pub(in crate::list) const MOST_DESCRIBED: usize = 2 + 4 * MOST_RIBBONS;

    /// Builds a stage for some different hashes, and appends its bytes. Of those that go `past` it, nothing is in a ribbon beside that
    /// of another stage. `done` hears how many keys were dealt with.
    pub(in crate::list) fn build(
        place: Place<'_>,
        mut keys: Vec<Wanted>,
        past: Vec<Wanted>,
        columns: u32,
        bytes: &mut Vec<u8>,
        mut done: impl FnMut(usize),
    ) -> Result<Self, ListError> {
        let too_large = crate::mem::OutOfMemory::too_large;
        let (mut groups, at) = (Vec::new(), bytes.len());
        if columns > 0 && !(keys.is_empty() && past.is_empty()) {
            match place.neighbour() {
                None => keys.extend(past),
                Some((ribbon, groups_there)) => {
                    keys = bump(keys, &ribbon.beside(), groups_there, bytes, &mut done)?;
                    keys.extend(past.into_iter().map(|(hash, flip)| (next(hash), flip)));
                    groups.push(groups_there);
                }
            }
            while keys.len() > LAST && groups.len() + 1 < MOST_RIBBONS {
                let size =
                    ((keys.len() as f64 / CROWDING) as usize / GROUP).min(u32::MAX as usize - 1) as u32;
                let ribbon = place.ribbon(groups.len(), size, columns, bytes.len(), true);
                bytes.resize(ribbon.end(size).ok_or(too_large())?, 0);
                keys = bump(keys, &ribbon, size, bytes, &mut done)?;
                groups.push(size);
            }
            groups.push(last(&keys, place, columns, bytes)?);
        }
        done(keys.len());
        let (stage, end) = Self::place(place, columns, groups, at).ok_or(too_large())?;
        debug_assert_eq!(end, bytes.len());
        Ok(stage)
    }

    /// A stage of ribbons of so many groups, whose bytes begin at `at`, and where they end. `None` if that cannot be addressed.
    fn place(place: Place<'_>, columns: u32, groups: Vec<u32>, mut at: usize) -> Option<(Self, usize)> {
        let mut ribbons = Vec::new();
        for (number, &groups_of_it) in groups.iter().enumerate() {
            match place.neighbour() {
                Some((ribbon, _)) if number == 0 => ribbons.push(ribbon.beside()),
                _ => {
                    let ribbon = place.ribbon(number, groups_of_it, columns, at, number + 1 < groups.len());
                    at = ribbon.end(groups_of_it)?;
                    ribbons.push(ribbon);
                }
            }
        }
        let last = ribbons.pop();
        let is_joined = ribbons.first().is_some_and(Ribbon::is_joined);
        Some((Self { columns, open: ribbons, last, groups, is_joined }, at))
    }

    pub(in crate::list) fn columns(&self) -> u32 {
        self.columns
    }

    /// The probability that a hash which was not wanted matches.
    pub(in crate::list) fn rate(&self) -> f64 {
        match self.last {
            None if self.columns > 0 => 0.0,
            _ => 0.5f64.powi(self.columns as i32),
        }
    }

    /// The first ribbon and the one beside it, which are all that most queries need, if there are such and their columns are few.
    pub(in crate::list) fn joined(&self) -> Option<Joined> {
        self.open.first().and_then(Joined::new)
    }

    /// For how many of so many keys there is no room beside another stage, of [`WHOLE`]: 0 if codes can bump them.
    pub(in crate::list) fn too_many_beside(&self, keys: usize) -> u16 {
        match self.open.first() {
            Some(ribbon) if keys as f64 > ribbon.starts as f64 * MOST_CROWDING => {
                ((1.0 - ribbon.starts as f64 * CROWDING / keys as f64) * f64::from(WHOLE)) as u16
            }
            _ => 0,
        }
    }

    /// Whether the ribbon that has this hash gives its values. It may go past the first ribbon, if that lies in the same groups as
    /// another one. The bytes reach 16 bytes beyond the stage.
    #[inline(always)]
    pub(in crate::list) fn matches<C: Cpu>(
        &self,
        cpu: C,
        bytes: &[u8],
        mut hash: u64,
        goes_past: bool,
    ) -> bool {
        let mut open = &self.open[..];
        if goes_past && self.is_joined {
            (hash, open) = (next(hash), &open[1..]);
        }
        for ribbon in open {
            let start = ribbon.start(hash);
            if ribbon.keeps(bytes, start) {
                return ribbon.matches(cpu, bytes, hash, start);
            }
            hash = next(hash);
        }
        let Some(ribbon) = &self.last else { return self.columns == 0 };
        let hash = next(hash);
        ribbon.matches(cpu, bytes, hash, ribbon.start(hash))
    }

    /// Its description in a directory.
    pub(in crate::list) fn describe(&self, directory: &mut Vec<u8>) {
        directory.extend([self.columns as u8, self.groups.len() as u8]);
        self.groups.iter().for_each(|groups| directory.extend(groups.to_le_bytes()));
    }

    /// Reads a description off the front of a directory, of a stage whose bytes begin at `at`; and where they end.
    pub(in crate::list) fn read(
        place: Place<'_>,
        directory: &mut &[u8],
        at: usize,
    ) -> Result<(Self, usize), ReadError> {
        let [columns, ribbons] = take(directory)?;
        let (columns, ribbons) = (u32::from(columns), usize::from(ribbons));
        let most = MOST_COLUMNS;
        expect("columns", columns <= most, format_args!("at most {most}"), columns)?;
        let most = if columns == 0 { 0 } else { MOST_RIBBONS };
        expect("ribbons", ribbons <= most, format_args!("at most {most}"), ribbons as u64)?;
        let groups = (0..ribbons).map(|_| Ok(u32::from_le_bytes(take(directory)?)));
        let groups = groups.collect::<Result<Vec<_>, ReadError>>()?;
        let fewest = Ribbon::FEWEST_GROUPS;
        let smallest = groups.iter().copied().min().unwrap_or(fewest);
        expect("groups of a ribbon", smallest >= fewest, format_args!("at least {fewest}"), smallest)?;
        if let Some((_, there)) = place.neighbour() {
            expect("ribbons", ribbons >= 2, "at least 2", ribbons as u64)?;
            expect("groups of a ribbon beside another", groups[0] == there, there, groups[0])?;
        }
        let largest = groups.iter().copied().max().unwrap_or(fewest);
        Self::place(place, columns, groups, at).ok_or_else(|| ReadError::Field {
            field: "groups of a ribbon",
            expected: "no more than can be addressed".into(),
            found: largest.into(),
        })
    }

    /// Checks what does not matter to queries: that codes of buckets that do not exist are 0.
    pub(in crate::list) fn check(&self, bytes: &[u8]) -> Result<(), String> {
        for ribbon in &self.open {
            let buckets = ribbon.starts.div_ceil(BUCKET as u64) as usize;
            let used = buckets * ribbon.codes_bits % 8;
            if used > 0 && bytes[ribbon.groups_at - 1] >> used != 0 {
                return Err("there are codes after the last bucket of a ribbon".into());
            }
        }
        Ok(())
    }
}

/// The next bytes of a directory.
pub(in crate::list) fn take<const N: usize>(directory: &mut &[u8]) -> Result<[u8; N], ReadError> {
    let (taken, rest) = directory.split_first_chunk().ok_or_else(|| ReadError::Field {
        field: "directory bytes",
        expected: format!("at least {} more", N - directory.len()),
        found: directory.len() as u64,
    })?;
    *directory = rest;
    Ok(*taken)
}

/// Fills a ribbon with codes, whose bytes are there and 0. What is left are the keys that it bumps, with other hashes.
fn bump(
    mut keys: Vec<Wanted>,
    ribbon: &Ribbon,
    groups: u32,
    bytes: &mut [u8],
    done: &mut impl FnMut(usize),
) -> Result<Vec<Wanted>, ListError> {
    keys.sort_unstable();
    let mut system = System::new(groups)?;
    let bucket_of = |key: &Wanted| ribbon.start(key.0) / BUCKET;
    let mut bumped = Vec::new();
    for bucket in keys.chunk_by(|one, other| bucket_of(one) == bucket_of(other)) {
        let (code, left) = fill(&mut system, ribbon, bucket);
        let (at, bit) = ribbon.code_at(ribbon.start(bucket[0].0));
        bytes[at] |= code << bit;
        done(bucket.len() - left.len());
        bumped.extend(left.iter().map(|&(hash, flip)| (next(hash), flip)));
    }
    solve(&system, ribbon, groups, bytes);
    Ok(bumped)
}

/// Adds the keys of a bucket, from the highest start on, as many as one of the codes tells apart. Gives the code, and the keys
/// that are left.
fn fill<'k>(system: &mut System, ribbon: &Ribbon, mut keys: &'k [Wanted]) -> (u8, &'k [Wanted]) {
    let mut added = Vec::new();
    for code in (0..3).rev() {
        added.clear();
        let limit = usize::from(LIMITS[code]);
        let below = keys.partition_point(|key| ribbon.start(key.0) % BUCKET < limit);
        for key in keys[below..].iter().rev() {
            match add(system, ribbon, key) {
                Added::At(row) => added.push(row),
                Added::Known => (),
                Added::Not => {
                    system.take_back(&added);
                    return (code as u8 + 1, keys);
                }
            }
        }
        keys = &keys[..below];
    }
    (0, keys)
}

/// Appends a ribbon for all keys that are there. Tells how many groups it has.
fn last(keys: &[Wanted], place: Place<'_>, columns: u32, bytes: &mut Vec<u8>) -> Result<u32, ListError> {
    let mut keys: Vec<Wanted> = keys.iter().map(|&(hash, flip)| (next(hash), flip)).collect();
    keys.sort_unstable();
    let too_large = crate::mem::OutOfMemory::too_large;
    let fewest = u32::try_from(keys.len().div_ceil(GROUP)).map_err(|_| too_large())?;
    let fewest = fewest.max(Ribbon::FEWEST_GROUPS);
    for groups in fewest..fewest.saturating_add(TRIES) {
        let ribbon = place.ribbon(0, groups, columns, bytes.len(), false);
        let mut system = System::new(groups)?;
        let mut added = keys.iter().rev().map(|key| add(&mut system, &ribbon, key));
        if added.all(|added| added != Added::Not) {
            bytes.resize(ribbon.end(groups).ok_or(too_large())?, 0);
            solve(&system, &ribbon, groups, bytes);
            return Ok(groups);
        }
    }
    Err(crate::error::Indistinguishable.into())
}

/// Adds the equation of a key.
#[inline]
fn add(system: &mut System, ribbon: &Ribbon, &(hash, flip): &Wanted) -> Added {
    let Equation { coefficients, values } = Equation::of(hash);
    let values = (values >> ribbon.first_value ^ u64::from(flip)) & low_mask(ribbon.columns as u32);
    system.add(ribbon.start(hash), coefficients, values)
}

/// Writes the rows of a ribbon.
fn solve(system: &System, ribbon: &Ribbon, groups: u32, bytes: &mut [u8]) {
    let &Ribbon { columns, group_bytes, first, groups_at, .. } = ribbon;
    let end = groups_at + groups as usize * group_bytes;
    system.solve(first..first + columns, group_bytes, &mut bytes[groups_at..end]);
}
