//! What the keys of an ordered store are, as its files say it.

use std::fmt;
use std::path::Path;

use twiceshy::RangeKey;

use crate::error::StoreError;
use crate::settings;

/// What the keys of an [`OrderedStore`](crate::OrderedStore) are: which [type](RangeKey::TYPE) of key, and how many bits their
/// codes have. So a program that opens any store knows as what.
///
/// ```
/// use twiceshy_store::{KeyType, OrderedStore};
///
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("visits");
/// OrderedStore::<i64>::open(&path)?;
/// let found = KeyType::in_folder(&path)?;
/// assert_eq!(found, Some(KeyType::of::<i64>()));
/// assert_eq!(found.unwrap().to_string(), "numbers with a sign, of 64 bits");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct KeyType {
    /// The number of the type: [`RangeKey::TYPE`].
    pub number: u8,
    /// How many bits codes have: [`RangeKey::CODE_BITS`].
    pub bits: u32,
}

impl KeyType {
    /// That of a type. Types that can be borrowed as each other, for example `str` and `String`, have the same.
    pub const fn of<K: RangeKey + ?Sized>() -> Self {
        Self { number: K::TYPE, bits: K::CODE_BITS }
    }

    /// That of the ordered store in a folder, by the file that says so. Nothing is opened, and nothing is made. `None` if there
    /// is no ordered store, or if that file is gone: whoever opens the store then makes it again.
    pub fn in_folder(folder: impl AsRef<Path>) -> Result<Option<Self>, StoreError> {
        Ok(settings::described(folder.as_ref())?.and_then(|description| description.keys))
    }

    /// As in the file that says what a store is.
    pub(crate) fn line(self) -> String {
        format!("{} {}", self.number, self.bits)
    }

    /// What such a line says.
    pub(crate) fn of_line(line: &str) -> Option<Self> {
        let (number, bits) = line.split_once(' ')?;
        Some(Self { number: number.parse().ok()?, bits: bits.parse().ok()? })
    }
}

impl fmt::Display for KeyType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.number {
            0 | 128.. => {
                write!(f, "{} (type {}), of {} bits", type_name(self.number), self.number, self.bits)
            }
            number => write!(f, "{}, of {} bits", type_name(number), self.bits),
        }
    }
}

/// What a [`RangeKey::TYPE`] means.
pub(crate) fn type_name(number: u8) -> &'static str {
    match number {
        0 => "any",
        1 => "numbers without a sign",
        2 => "numbers with a sign",
        3 => "floating-point numbers",
        4 => "addresses",
        5 => "times in nanoseconds",
        6 => "strings",
        7 => "times in seconds",
        8 => "times in milliseconds",
        _ => "another one",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_read_as_they_are_written() {
        for (number, bits) in [(1, 64), (6, 128), (200, 7)] {
            let keys = KeyType { number, bits };
            assert_eq!(KeyType::of_line(&keys.line()), Some(keys));
        }
        for wrong in ["", "1", "1 ", "256 64", "1 64 2", "u64"] {
            assert_eq!(KeyType::of_line(wrong), None, "{wrong}");
        }
    }
}
