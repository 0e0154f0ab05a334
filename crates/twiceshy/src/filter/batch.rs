//! Many keys in one call: the memory of the next ones is on its way while the present one is worked on.

/// How many keys ahead memory is asked for: about as many cache misses as a core can have in flight.
pub(super) const AHEAD: usize = 16;

/// Keys that are hashed together, many times [`AHEAD`] and few enough for the stack.
pub(super) const CHUNK: usize = 256;

/// Hashes up to a chunk of keys into `buffer`.
#[inline(always)]
pub(super) fn hash_all<'a, T>(
    buffer: &'a mut [u64; CHUNK],
    keys: &[T],
    hash: impl Fn(&T) -> u64,
) -> &'a [u64] {
    let hashes = &mut buffer[..keys.len()];
    for (slot, key) in hashes.iter_mut().zip(keys) {
        *slot = hash(key);
    }
    hashes
}
