//! Keys of bytes.

use twiceshy_testkit::mix;

pub(crate) const KEY_BYTES: usize = 16;

/// The key with this number; those of different streams differ.
pub(crate) fn key(stream: u64, number: u64) -> [u8; KEY_BYTES] {
    let seed = mix(stream.wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ mix(number));
    let mut key = [0; KEY_BYTES];
    key[..8].copy_from_slice(&seed.to_le_bytes());
    key[8..].copy_from_slice(&mix(seed ^ number).to_le_bytes());
    key
}
