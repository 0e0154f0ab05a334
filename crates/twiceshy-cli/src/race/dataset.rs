//! The keys that are loaded, and keys that are certainly not among them.
//!
//! Nothing is kept in memory: a key follows from the seed and its number, or is read from the file again. An absent key
//! ends with a line feed, and no key of a dataset does: a line of a file cannot hold one, and generated keys end with
//! another byte. So an absent key is absent for certain, not just very likely. The same holds for empty ranges (`spread.rs`).

use std::io::BufRead;
use std::path::Path;

use anyhow::{Context, bail};

use super::random::{Numbers, mix};
use super::spread::{RangeQuery, Spread};
use crate::{input, interrupt};

pub(super) const KEY_BYTES: usize = 16;
pub(super) const VALUE_BYTES: usize = 100;

/// What is asked for and not there: a key, or the first and the last key of a range.
pub(super) type AbsentQuery = RangeQuery;

/// What can be asked for and is not there.
#[derive(Debug, Clone, Copy)]
pub(super) enum Absent {
    /// Keys, which follow from this seed.
    Keys { seed: u64 },
    /// Ranges.
    Ranges(Spread),
}

impl Absent {
    /// One per stream and number.
    pub(super) fn query(&self, stream: u64, number: u64) -> AbsentQuery {
        match self {
            Self::Keys { seed } => numbered(*seed, stream, number, ABSENT),
            Self::Ranges(spread) => spread.anywhere(stream, number),
        }
    }

    /// One close to a key that is there, wherever that is; if keys have no order, any.
    pub(super) fn beside(&self, stream: u64, numbers: &mut Numbers) -> AbsentQuery {
        match self {
            Self::Keys { .. } => self.query(stream, numbers.next()),
            Self::Ranges(spread) => spread.beside(numbers),
        }
    }
}

/// The last byte of a generated key that is present.
const PRESENT: u8 = b'.';
/// The last byte of an absent one.
const ABSENT: u8 = b'\n';

/// The key number `number` of a stream. Those with different numbers differ.
fn numbered(seed: u64, stream: u64, number: u64, last: u8) -> [u8; KEY_BYTES] {
    let first = mix(number ^ mix(seed ^ mix(stream)));
    let mut key = [0; KEY_BYTES];
    key[..8].copy_from_slice(&first.to_le_bytes());
    key[8..].copy_from_slice(&mix(first ^ seed.rotate_left(32) ^ stream).to_le_bytes());
    key[KEY_BYTES - 1] = last;
    key
}

/// A value that does not compress.
fn value(seed: u64, number: u64) -> [u8; VALUE_BYTES] {
    let mut value = [0; VALUE_BYTES];
    let mut numbers = Numbers::new(seed, number);
    for chunk in value.chunks_mut(8) {
        chunk.copy_from_slice(&numbers.next().to_le_bytes()[..chunk.len()]);
    }
    value
}

/// Where the keys come from.
pub(super) enum Dataset<'a> {
    Generated {
        seed: u64,
        keys: u64,
    },
    File {
        path: &'a Path,
        seed: u64,
        lines: u64,
        key_bytes: u64,
    },
    /// Numbers, as eight bytes, the highest first.
    Numbers {
        seed: u64,
        spread: Spread,
    },
}

impl<'a> Dataset<'a> {
    pub(super) fn generated(seed: u64, keys: u64) -> Self {
        Self::Generated { seed, keys }
    }

    /// Numbers that lie apart, for ranges of up to this many.
    pub(super) fn numbers(seed: u64, keys: u64, max_range: u64) -> Self {
        Self::Numbers { seed, spread: Spread::new(seed, keys, max_range) }
    }

    /// What can be asked for and is not there.
    pub(super) fn absent(&self) -> Absent {
        match *self {
            Self::Generated { seed, .. } | Self::File { seed, .. } => Absent::Keys { seed },
            Self::Numbers { spread, .. } => Absent::Ranges(spread),
        }
    }

    /// A query that finds a key of the dataset.
    pub(super) fn present(&self, key: Vec<u8>) -> Vec<u8> {
        match (self, <[u8; 8]>::try_from(key.as_slice())) {
            (Self::Numbers { spread, .. }, Ok(bytes)) => spread.around(u64::from_be_bytes(bytes)).to_vec(),
            _ => key,
        }
    }

    /// The keys of a file, one per line, or the first `most` of them. Reads it once, to know how many there are.
    pub(super) fn of_file(path: &'a Path, seed: u64, most: Option<u64>) -> anyhow::Result<Self> {
        if path == Path::new("-") {
            bail!(
                "--key-file reads the file more than once, so it cannot be standard input: give the name of a file"
            );
        }
        let about = path.metadata().with_context(|| format!("cannot open {}", path.display()))?;
        if !about.is_file() && !about.is_dir() {
            bail!(
                "--key-file reads the file more than once, so it must be a regular file: {} is none",
                path.display()
            );
        }
        let (mut file, mut line) = (input::open(path)?, Vec::new());
        let (mut lines, mut key_bytes) = (0, 0);
        while most.is_none_or(|most| lines < most) && read(&mut *file, path, &mut line)? {
            lines += 1;
            key_bytes += line.len() as u64;
            if lines % 4_096 == 0 {
                interrupt::check()?;
            }
        }
        if lines == 0 {
            bail!(
                "there is no key in {}: it needs one per line, and blank lines are left out",
                path.display()
            );
        }
        Ok(Self::File { path, seed, lines, key_bytes })
    }

    /// How many keys there are, those that occur twice counted twice.
    pub(super) fn rows(&self) -> u64 {
        match *self {
            Self::Generated { keys, .. } => keys,
            Self::File { lines, .. } => lines,
            Self::Numbers { spread, .. } => spread.keys(),
        }
    }

    /// The bytes of all keys and values.
    pub(super) fn bytes(&self) -> u64 {
        let key_bytes = match *self {
            Self::Generated { keys, .. } => keys * KEY_BYTES as u64,
            Self::File { key_bytes, .. } => key_bytes,
            Self::Numbers { spread, .. } => spread.keys() * 8,
        };
        key_bytes + self.rows() * VALUE_BYTES as u64
    }

    /// Calls `load` with all keys and values, some at a time.
    pub(super) fn for_each_batch(
        &self,
        at_once: usize,
        mut load: impl FnMut(&[(Vec<u8>, [u8; VALUE_BYTES])]) -> anyhow::Result<()>,
    ) -> anyhow::Result<()> {
        let mut batch = Vec::with_capacity(at_once);
        let mut file = match *self {
            Self::Generated { .. } | Self::Numbers { .. } => None,
            Self::File { path, .. } => Some((path, input::open(path)?)),
        };
        for number in 0..self.rows() {
            let (key, seed) = match (self, &mut file) {
                (Self::File { seed, .. }, Some((path, file))) => {
                    let mut line = Vec::new();
                    if !read(&mut **file, path, &mut line)? {
                        bail!("{} got shorter while it was read: keep it as it is", path.display());
                    }
                    (line, *seed)
                }
                (Self::Numbers { seed, spread }, _) => (spread.key(number).to_be_bytes().to_vec(), *seed),
                (Self::Generated { seed, .. } | Self::File { seed, .. }, _) => {
                    (numbered(*seed, 0, number, PRESENT).to_vec(), *seed)
                }
            };
            batch.push((key, value(seed, number)));
            if batch.len() == at_once || number + 1 == self.rows() {
                load(&batch)?;
                batch.clear();
            }
        }
        Ok(())
    }
}

fn read(file: &mut dyn BufRead, path: &Path, line: &mut Vec<u8>) -> anyhow::Result<bool> {
    Ok(input::next_line(file, line).with_context(|| format!("cannot read {}", path.display()))?.is_some())
}

/// Some of the keys that were loaded, every one with the same probability: a sample of fixed size (algorithm R).
pub(super) struct Sample {
    keys: Vec<Vec<u8>>,
    most: usize,
    seen: u64,
    numbers: Numbers,
}

impl Sample {
    pub(super) fn new(most: usize, seed: u64) -> Self {
        Self { keys: Vec::new(), most, seen: 0, numbers: Numbers::new(seed, 0xABBA) }
    }

    pub(super) fn offer(&mut self, key: &[u8]) {
        self.seen += 1;
        if self.keys.len() < self.most {
            self.keys.push(key.to_vec());
        } else if let Some(place) = self.keys.get_mut((self.numbers.next() % self.seen) as usize) {
            *place = key.to_vec();
        }
    }

    pub(super) fn into_keys(self) -> Vec<Vec<u8>> {
        self.keys
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn present_and_absent_keys_are_all_different() {
        let mut keys = HashSet::new();
        Dataset::generated(7, 10_000)
            .for_each_batch(999, |rows| {
                keys.extend(rows.iter().map(|(key, _)| key.clone()));
                Ok(())
            })
            .unwrap();
        let absent = Absent::Keys { seed: 7 };
        for stream in 1..4 {
            keys.extend((0..10_000).map(|number| absent.query(stream, number).to_vec()));
        }
        assert_eq!(keys.len(), 40_000);
        assert_ne!(absent.query(1, 1), Absent::Keys { seed: 8 }.query(1, 1));
    }

    #[test]
    fn a_sample_is_of_all_keys() {
        let mut sample = Sample::new(100, 1);
        (0..10_000u32).for_each(|number| sample.offer(&number.to_le_bytes()));
        let keys = sample.into_keys();
        let late = keys.iter().filter(|key| u32::from_le_bytes(key[..].try_into().unwrap()) >= 5_000).count();
        assert!(keys.len() == 100 && (25..75).contains(&late), "{late}");
    }
}
