//! Hashing a key inside the kernel that uses its hash.
//!
//! What is hashed in a kernel is hashed with the CPU's own AES instructions and without a call. So an operation on a key is
//! the kernel that takes its hash, with [`hashed`] in front; batches hash a chunk of keys in a kernel of its own, one
//! beside the other.

use std::ops::Deref;

use super::Hasher;
use crate::bits::cpu::{Cpu, Kernel, dispatch};
use crate::key::Key;

/// Whatever hashes its keys, in the epochs that it is in.
pub trait Hashes {
    fn hasher(&self) -> &Hasher;
}

impl Hashes for Hasher {
    #[inline(always)]
    fn hasher(&self) -> &Hasher {
        self
    }
}

/// Hashes a key and goes on with a kernel that is made of the filter, the key and its hash.
///
/// Two pointers go into the kernel in registers; so does a closure that captures nothing.
#[inline(always)]
pub(crate) fn hashed<'k, T: Deref<Target: Hashes>, K: Key + ?Sized, N: Kernel>(
    filter: T,
    key: &'k K,
    then: impl FnOnce(T, &'k K, u64) -> N,
) -> N::Output {
    dispatch(Hashed::<'k, false, _, _, _> { filter, key, then })
}

/// [`hashed`] for a kernel that does something or not, if it may be tried at all. Gives the hash, and whether it was done.
#[inline(always)]
pub(crate) fn tried<T: Deref<Target: Hashes>, K: Key + ?Sized, N: Kernel<Output = bool>>(
    may_try: bool,
    filter: T,
    key: &K,
    then: impl FnOnce(T, u64) -> N,
) -> (u64, bool) {
    #[cold]
    fn only_hashed<K: Key + ?Sized>(hasher: &Hasher, key: &K) -> u64 {
        hasher.first_word_of(key)
    }

    if !may_try {
        return (only_hashed(filter.hasher(), key), false);
    }
    hashed(filter, key, move |filter, _, hash| WithHash(then(filter, hash), hash))
}

/// Comes in two copies: one for hashes that take a few instructions, which calls nothing and so saves nothing on the stack,
/// and one, elsewhere as a whole, for all others.
struct Hashed<'k, const SLOWLY: bool, T, K: ?Sized, F> {
    filter: T,
    key: &'k K,
    then: F,
}

impl<'k, const SLOWLY: bool, T, K, N, F> Kernel for Hashed<'k, SLOWLY, T, K, F>
where
    T: Deref<Target: Hashes>,
    K: Key + ?Sized,
    N: Kernel,
    F: FnOnce(T, &'k K, u64) -> N,
{
    type Output = N::Output;
    #[inline(always)]
    fn run<C: Cpu>(self, cpu: C) -> N::Output {
        let Self { filter, key, then } = self;
        let hasher = filter.hasher();
        let hash = if SLOWLY { Some(hasher.hash_slowly(cpu, key)) } else { hasher.hash_at_once(cpu, key) };
        match hash {
            Some(hash) => then(filter, key, hash).run(cpu),
            None => cpu.outlined(Hashed::<'k, true, _, _, _> { filter, key, then }),
        }
    }
}

/// Nothing is left to do: gives what it has.
pub(super) struct Done(pub(super) u64);

impl Kernel for Done {
    type Output = u64;
    #[inline(always)]
    fn run<C: Cpu>(self, _: C) -> u64 {
        self.0
    }
}

/// A kernel that says the hash, too.
struct WithHash<N>(N, u64);

impl<N: Kernel> Kernel for WithHash<N> {
    type Output = (u64, N::Output);
    #[inline(always)]
    fn run<C: Cpu>(self, cpu: C) -> Self::Output {
        (self.1, self.0.run(cpu))
    }
}

/// The hashes of as many keys.
pub(super) struct HashAll<'a, K> {
    pub(super) hasher: &'a Hasher,
    pub(super) keys: &'a [K],
    pub(super) hashes: &'a mut [u64],
}

impl<K: Key> Kernel for HashAll<'_, K> {
    type Output = ();
    #[inline(always)]
    fn run<C: Cpu>(self, cpu: C) {
        let Self { hasher, keys, hashes } = self;
        let in_registers = hasher.in_registers();
        for (hash, key) in hashes.iter_mut().zip(keys) {
            let at_once = match &in_registers {
                Some(first) => first.at_once(cpu, key.key_bytes().as_ref()),
                None => None,
            };
            *hash = match at_once {
                Some(hash) => hash,
                None => hasher.hash_slowly(cpu, key),
            };
        }
    }
}
