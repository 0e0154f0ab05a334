//! Adaptive filters in formats of `serde`: the bytes of the file format, as one byte string.

use ::serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::AdaptiveFilter;
use crate::filter::serde::from_bytes;

/// Carries the bytes of [`to_bytes`](AdaptiveFilter::to_bytes), and with them the hash key: treat the
/// output as a secret.
impl<B: AsRef<[u8]>> Serialize for AdaptiveFilter<B> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_bytes(&self.to_bytes())
    }
}

/// Reads and checks the bytes as [`from_bytes`](AdaptiveFilter::from_bytes) does.
impl<'de> Deserialize<'de> for AdaptiveFilter {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        from_bytes(deserializer, "the bytes of an adaptive filter", Self::from_bytes)
    }
}
