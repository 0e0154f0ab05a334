//! Quotient filters in formats of `serde`: the bytes of the file format, as one byte string.
//!
//! Formats without byte strings, as JSON, carry them as a sequence of numbers. What is read is checked as
//! strictly as a file.

use std::fmt;

use ::serde::de::{Error, SeqAccess, Visitor};
use ::serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::QuotientFilter;

/// Memory that is set aside on the word of a sequence that tells its length.
const TRUSTED_LEN: usize = 4096;

/// Carries the bytes of [`to_bytes`](QuotientFilter::to_bytes), and with them the hash key: treat the
/// output as a secret.
impl<B: AsRef<[u8]>> Serialize for QuotientFilter<B> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_bytes(&self.to_bytes())
    }
}

/// Reads and checks the bytes as [`from_bytes`](QuotientFilter::from_bytes) does.
impl<'de> Deserialize<'de> for QuotientFilter {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_byte_buf(Bytes)
    }
}

struct Bytes;

impl<'de> Visitor<'de> for Bytes {
    type Value = QuotientFilter;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the bytes of a quotient filter")
    }

    // Borrowed and owned bytes come here too.
    fn visit_bytes<E: Error>(self, bytes: &[u8]) -> Result<QuotientFilter, E> {
        QuotientFilter::from_bytes(bytes).map_err(E::custom)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut numbers: A) -> Result<QuotientFilter, A::Error> {
        let mut bytes = Vec::with_capacity(numbers.size_hint().unwrap_or(0).min(TRUSTED_LEN));
        while let Some(byte) = numbers.next_element()? {
            bytes.push(byte);
        }
        self.visit_bytes(&bytes)
    }
}
