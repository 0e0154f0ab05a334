//! A stage: ribbons one after the other, each for what the one before bumped.
//!
//! All but the last have codes and somewhat fewer rows than keys. The last takes every key that is left, some hundreds of them,
//! and has as many rows as that needs.
//!
//! A stage of no columns lets everything pass, and has no ribbons. One of columns but without keys has none either; nothing passes.

use super::solve::{Added, System};
use super::{BUCKET, BUCKETS_PER_BYTE, Equation, GROUP, LIMITS, MOST_COLUMNS, Ribbon, bits_of, next};
use crate::bits::cpu::Cpu;
use crate::bits::parity::SUMS;
use crate::error::{ListError, ReadError};
use crate::persist::expect;

/// Keys for each row of a ribbon with codes.
const CROWDING: f64 = 1.03;

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
}

impl Stage {
    /// The most bytes of a description.
    pub(in crate::list) const MOST_DESCRIBED: usize = 2 + 4 * MOST_RIBBONS;

    /// Builds a stage for some different hashes, and appends its bytes. `done` hears how many keys were dealt with.
    pub(in crate::list) fn build(
        mut keys: Vec<Wanted>,
        columns: u32,
        bytes: &mut Vec<u8>,
        mut done: impl FnMut(usize),
    ) -> Result<Self, ListError> {
        let mut groups = Vec::new();
        let at = bytes.len();
        if columns > 0 && !keys.is_empty() {
            while keys.len() > LAST && groups.len() + 1 < MOST_RIBBONS {
                let size =
                    ((keys.len() as f64 / CROWDING) as usize / GROUP).min(u32::MAX as usize - 1) as u32;
                keys = bump(keys, size, columns, bytes, &mut done)?;
                groups.push(size);
            }
            groups.push(last(&keys, columns, bytes)?);
        }
        done(keys.len());
        let (stage, end) = Self::place(columns, groups, at).ok_or(crate::mem::OutOfMemory::too_large())?;
        debug_assert_eq!(end, bytes.len());
        Ok(stage)
    }

    /// A stage of ribbons of so many groups, whose bytes begin at `at`, and where they end. `None` if that cannot be addressed.
    fn place(columns: u32, groups: Vec<u32>, mut at: usize) -> Option<(Self, usize)> {
        let mut ribbons = Vec::new();
        for (number, &groups_of_it) in (1..).zip(&groups) {
            let has_codes = number < groups.len();
            ribbons.push(Ribbon::new(groups_of_it, columns, at, has_codes));
            at = at.checked_add(Ribbon::bytes(groups_of_it, columns, has_codes)?)?;
        }
        let last = ribbons.pop();
        Some((Self { columns, open: ribbons, last, groups }, at))
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

    /// The first ribbon, which is all that most queries need, if there are others and it has few columns.
    pub(in crate::list) fn first(&self) -> Option<&Ribbon> {
        self.open.first().filter(|_| self.columns as usize <= SUMS)
    }

    /// Whether the ribbon that has this hash gives its values. The bytes reach 16 bytes beyond the stage.
    #[inline(always)]
    pub(in crate::list) fn matches<C: Cpu>(&self, cpu: C, bytes: &[u8], mut hash: u64) -> bool {
        for ribbon in &self.open {
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
    pub(in crate::list) fn read(directory: &mut &[u8], at: usize) -> Result<(Self, usize), ReadError> {
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
        let largest = groups.iter().copied().max().unwrap_or(fewest);
        Self::place(columns, groups, at).ok_or_else(|| ReadError::Field {
            field: "groups of a ribbon",
            expected: "no more than can be addressed".into(),
            found: largest.into(),
        })
    }

    /// Checks what does not matter to queries: that codes of buckets that do not exist are 0.
    pub(in crate::list) fn check(&self, bytes: &[u8]) -> Result<(), String> {
        for ribbon in &self.open {
            let buckets = ribbon.starts.div_ceil(BUCKET as u64) as usize;
            let used = buckets % BUCKETS_PER_BYTE;
            if used > 0 && bytes[ribbon.rows_at - 1] >> (2 * used) != 0 {
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

/// Appends a ribbon with codes. What is left are the keys that it bumps, with other hashes.
fn bump(
    mut keys: Vec<Wanted>,
    groups: u32,
    columns: u32,
    bytes: &mut Vec<u8>,
    done: &mut impl FnMut(usize),
) -> Result<Vec<Wanted>, ListError> {
    keys.sort_unstable();
    let ribbon = Ribbon::new(groups, columns, bytes.len(), true);
    bytes.resize(ribbon.rows_at, 0);
    let mut system = System::new(groups)?;
    let bucket_of = |key: &Wanted| ribbon.start(key.0) / BUCKET;
    let mut bumped = Vec::new();
    for bucket in keys.chunk_by(|one, other| bucket_of(one) == bucket_of(other)) {
        let (code, left) = fill(&mut system, &ribbon, bits_of(columns), bucket);
        let number = bucket_of(&bucket[0]);
        bytes[ribbon.codes_at + number / BUCKETS_PER_BYTE] |= code << (2 * (number % BUCKETS_PER_BYTE));
        done(bucket.len() - left.len());
        bumped.extend(left.iter().map(|&(hash, flip)| (next(hash), flip)));
    }
    append(&system, &ribbon, groups, bytes);
    Ok(bumped)
}

/// Adds the keys of a bucket, from the highest start on, as many as one of the codes tells apart. Gives the code, and the keys
/// that are left.
fn fill<'k>(system: &mut System, ribbon: &Ribbon, counts: u64, mut keys: &'k [Wanted]) -> (u8, &'k [Wanted]) {
    let mut added = Vec::new();
    for code in (0..3).rev() {
        added.clear();
        let limit = usize::from(LIMITS[code]);
        let below = keys.partition_point(|key| ribbon.start(key.0) % BUCKET < limit);
        for key in keys[below..].iter().rev() {
            match add(system, ribbon, counts, key) {
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
fn last(keys: &[Wanted], columns: u32, bytes: &mut Vec<u8>) -> Result<u32, ListError> {
    let mut keys: Vec<Wanted> = keys.iter().map(|&(hash, flip)| (next(hash), flip)).collect();
    keys.sort_unstable();
    let fewest =
        u32::try_from(keys.len().div_ceil(GROUP)).map_err(|_| crate::mem::OutOfMemory::too_large())?;
    let fewest = fewest.max(Ribbon::FEWEST_GROUPS);
    for groups in fewest..fewest.saturating_add(TRIES) {
        let ribbon = Ribbon::new(groups, columns, bytes.len(), false);
        let mut system = System::new(groups)?;
        let mut added = keys.iter().rev().map(|key| add(&mut system, &ribbon, bits_of(columns), key));
        if added.all(|added| added != Added::Not) {
            append(&system, &ribbon, groups, bytes);
            return Ok(groups);
        }
    }
    Err(crate::error::Indistinguishable.into())
}

/// Adds the equation of a key.
#[inline]
fn add(system: &mut System, ribbon: &Ribbon, counts: u64, &(hash, flip): &Wanted) -> Added {
    let Equation { coefficients, values } = Equation::of(hash);
    system.add(ribbon.start(hash), coefficients, (values ^ u64::from(flip)) & counts)
}

/// Appends the rows of a ribbon.
fn append(system: &System, ribbon: &Ribbon, groups: u32, bytes: &mut Vec<u8>) {
    bytes.resize(ribbon.rows_at + groups as usize * ribbon.columns, 0);
    system.solve(ribbon.columns as u32, &mut bytes[ribbon.rows_at..]);
}
