//! Many keys in one call: the memory of the next ones is on its way while the present one is worked on.

use crate::bits::cpu::{Cpu, Kernel, dispatch};
use crate::hash::Hasher;
use crate::key::Key;

/// How many keys ahead memory is asked for: about as many cache misses as a core can have in flight.
pub(super) const AHEAD: usize = 16;

/// Keys that are hashed together, many times [`AHEAD`] and few enough for the stack.
pub(super) const CHUNK: usize = 256;

/// Hashes keys a chunk at a time, and goes on with the chunk, its hashes and the place of its answers.
#[inline(always)]
pub(super) fn in_chunks<K: Key>(
    hasher: &Hasher,
    keys: &[K],
    found: &mut [bool],
    each: impl Fn(&[K], &[u64], &mut [bool]),
) {
    assert_eq!(keys.len(), found.len(), "as many answers as keys");
    let mut hashes = [0; CHUNK];
    for (keys, found) in keys.chunks(CHUNK).zip(found.chunks_mut(CHUNK)) {
        let hashes = &mut hashes[..keys.len()];
        hasher.hash_all(keys, hashes);
        each(keys, hashes, found);
    }
}

/// What can be asked for a hash, and told beforehand that it will be.
pub(super) trait Probe {
    /// Asks for the memory of a hash.
    fn ask_for<C: Cpu>(&self, cpu: C, hash: u64);
    /// Whether the hash, the one with this number, seems to be there.
    fn contains<C: Cpu>(&self, cpu: C, number: usize, hash: u64) -> bool;
}

/// Asks for every hash.
pub(super) fn contains_all(probe: impl Probe, hashes: &[u64], found: &mut [bool]) {
    assert_eq!(hashes.len(), found.len(), "as many answers as hashes");
    dispatch(ContainsAll { probe, hashes, found });
}

struct ContainsAll<'a, P> {
    probe: P,
    hashes: &'a [u64],
    found: &'a mut [bool],
}

impl<P: Probe> Kernel for ContainsAll<'_, P> {
    type Output = ();
    #[inline(always)]
    fn run<C: Cpu>(self, cpu: C) {
        let Self { probe, hashes, found } = self;
        hashes.iter().take(AHEAD).for_each(|&hash| probe.ask_for(cpu, hash));
        let (most, rest) = hashes.split_at(hashes.len().saturating_sub(AHEAD));
        let (found_most, found_rest) = found.split_at_mut(most.len());
        let ahead = hashes.iter().skip(AHEAD);
        for (number, ((&hash, &ahead), found)) in most.iter().zip(ahead).zip(found_most).enumerate() {
            probe.ask_for(cpu, ahead);
            *found = probe.contains(cpu, number, hash);
        }
        for (number, (&hash, found)) in (most.len()..).zip(rest.iter().zip(found_rest)) {
            *found = probe.contains(cpu, number, hash);
        }
    }
}
