//! Many keys in one call: the memory of the next ones is on its way while the present one is worked on.

use crate::bits::cpu::{Cpu, Kernel, Portable, dispatch};
use crate::hash::Hasher;
use crate::key::Key;
use crate::table::{Layout, Table};

/// How many keys ahead a block is asked for, which may be in DRAM: into the second-level cache, which can wait for many.
pub(crate) const FAR: usize = 32;

/// How many keys ahead it is asked for again, to be in the first-level cache when it is looked at.
const NEAR: usize = 8;

/// Keys that are hashed together, many times [`FAR`] and few enough for the stack.
pub(crate) const CHUNK: usize = 512;

/// Asks for the memory of some hashes that come after number `i`, in the order of the numbers.
#[inline(always)]
pub(crate) fn ask_ahead<B: AsRef<[u8]>, L: Layout>(table: &Table<B, L>, hashes: &[u64], i: usize) {
    if i == 0 {
        hashes.iter().take(FAR).for_each(|&hash| table.prefetch_far(Portable, hash));
    }
    if let Some(&hash) = hashes.get(i + FAR) {
        table.prefetch_far(Portable, hash);
    }
    if let Some(&hash) = hashes.get(i + NEAR) {
        table.prefetch(Portable, hash);
    }
}

/// Hashes keys a chunk at a time, and goes on with the chunk, its hashes and the place of its answers.
#[inline(always)]
pub(crate) fn in_chunks<K: Key>(
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
pub(crate) trait Probe {
    /// Asks for the memory of a hash that is [`FAR`] ahead.
    fn ask_far<C: Cpu>(&self, cpu: C, hash: u64);
    /// And of one that is [`NEAR`].
    fn ask_near<C: Cpu>(&self, cpu: C, hash: u64);
    /// Whether the hash, the one with this number, seems to be there.
    fn contains<C: Cpu>(&self, cpu: C, number: usize, hash: u64) -> bool;
}

/// Asks for every hash.
pub(crate) fn contains_all(probe: impl Probe, hashes: &[u64], found: &mut [bool]) {
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
        hashes.iter().take(FAR).for_each(|&hash| probe.ask_far(cpu, hash));
        let (most, rest) = hashes.split_at(hashes.len().saturating_sub(FAR));
        let (found_most, found_rest) = found.split_at_mut(most.len());
        let ahead = hashes.iter().skip(FAR).zip(hashes.iter().skip(NEAR));
        for (number, ((&hash, (&far, &near)), found)) in most.iter().zip(ahead).zip(found_most).enumerate() {
            probe.ask_far(cpu, far);
            probe.ask_near(cpu, near);
            *found = probe.contains(cpu, number, hash);
        }
        for (number, (&hash, found)) in (most.len()..).zip(rest.iter().zip(found_rest)) {
            *found = probe.contains(cpu, number, hash);
        }
    }
}
