//! What the adaptive filter promises, at sizes at which it is used: the experiments of the papers as tests.
//!
//! The unit tests check everything after every operation, on tiny sets with bad hashes. Here the hash is the
//! keyed one and the sets have tens of thousands of keys. `cargo test --test adaptive -- --nocapture` prints
//! the figures.

#![allow(clippy::print_stdout, reason = "the figures are worth seeing")]

mod adversary;
mod churn;
mod cycles;
mod game;
mod keys;
mod limits;
mod map_accesses;
mod merge_and_load;
mod orders;
mod rates;
mod recovery;
mod rotate;
mod skew;
mod zipf;

use twiceshy::adaptive::Growth;
use twiceshy::hash::HashKey;
use twiceshy::reverse_map::MemoryMap;
use twiceshy::{AdaptiveSet, Hasher, adaptive};
use twiceshy_testkit::Random as Numbers;

fn hasher() -> Hasher {
    Hasher::keyed(HashKey::from_bytes(*b"a key for tests!"))
}

fn builder() -> adaptive::Builder {
    AdaptiveSet::builder().hasher(hasher())
}

/// A set that does not grow, with 2^`quotient_bits` slots and remainders of `remainder_bits`.
fn fixed(quotient_bits: u32, remainder_bits: u32) -> adaptive::Builder {
    builder().quotient_bits(quotient_bits).remainder_bits(remainder_bits).growth(Growth::Refuse)
}

/// The keys of a set: numbers below 2^63.
fn member(numbers: &mut Numbers) -> u64 {
    numbers.next() >> 1
}

/// What is asked but never inserted: numbers from 2^63 on.
fn stranger(numbers: &mut Numbers) -> u64 {
    numbers.next() | 1 << 63
}

/// Inserts this many keys and returns them.
fn fill(set: &mut AdaptiveSet<MemoryMap>, numbers: &mut Numbers, keys: u64) -> Vec<u64> {
    let keys: Vec<u64> = (0..keys).map(|_| member(numbers)).collect();
    assert_eq!(set.insert_batch(&keys).unwrap(), keys.len() as u64);
    keys
}
