//! Reading filters of formats of `serde`, where they are one byte string.
//!
//! Formats without byte strings, as JSON, carry them as a sequence of numbers. What is read is checked as
//! strictly as a file.

use std::fmt;

use ::serde::Deserializer;
use ::serde::de::{Error, SeqAccess, Visitor};

use crate::error::ReadError;

/// Memory that is set aside on the word of a sequence that tells its length.
const TRUSTED_LEN: usize = 4096;

/// Reads bytes, and through `read` what they hold.
pub(super) fn from_bytes<'de, D: Deserializer<'de>, T>(
    deserializer: D,
    expecting: &'static str,
    read: impl FnOnce(&[u8]) -> Result<T, ReadError>,
) -> Result<T, D::Error> {
    deserializer.deserialize_byte_buf(Bytes { expecting, read })
}

struct Bytes<F> {
    expecting: &'static str,
    read: F,
}

impl<'de, T, F: FnOnce(&[u8]) -> Result<T, ReadError>> Visitor<'de> for Bytes<F> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.expecting)
    }

    // Borrowed and owned bytes come here too.
    fn visit_bytes<E: Error>(self, bytes: &[u8]) -> Result<T, E> {
        (self.read)(bytes).map_err(E::custom)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut numbers: A) -> Result<T, A::Error> {
        let mut bytes = Vec::with_capacity(numbers.size_hint().unwrap_or(0).min(TRUSTED_LEN));
        while let Some(byte) = numbers.next_element()? {
            bytes.push(byte);
        }
        self.visit_bytes(&bytes)
    }
}
