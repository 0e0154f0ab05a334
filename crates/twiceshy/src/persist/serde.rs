//! Filters in formats of `serde`: the bytes of the file format, as one byte string.
//!
//! Formats without byte strings, as JSON, carry them as a sequence of numbers. What is read is checked as
//! strictly as a file.

use std::fmt;
use std::marker::PhantomData;

use ::serde::Deserializer;
use ::serde::de::{Error, SeqAccess, Visitor};

use super::{Stored, from_bytes};
use crate::mem::Memory;

/// Memory that is set aside on the word of a sequence that tells its length.
const TRUSTED_LEN: usize = 4096;

/// Reads bytes, and the filter that they hold.
pub(crate) fn deserialize<'de, D: Deserializer<'de>, F: Stored<Bytes = Memory>>(
    deserializer: D,
    expecting: &'static str,
) -> Result<F, D::Error> {
    deserializer.deserialize_byte_buf(Bytes { expecting, filter: PhantomData })
}

struct Bytes<F> {
    expecting: &'static str,
    filter: PhantomData<F>,
}

impl<'de, F: Stored<Bytes = Memory>> Visitor<'de> for Bytes<F> {
    type Value = F;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.expecting)
    }

    // Borrowed and owned bytes come here too.
    fn visit_bytes<E: Error>(self, bytes: &[u8]) -> Result<F, E> {
        from_bytes(bytes).map_err(E::custom)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut numbers: A) -> Result<F, A::Error> {
        let mut bytes = Vec::with_capacity(numbers.size_hint().unwrap_or(0).min(TRUSTED_LEN));
        while let Some(byte) = numbers.next_element()? {
            bytes.push(byte);
        }
        self.visit_bytes(&bytes)
    }
}
