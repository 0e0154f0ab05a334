//! The name of a list: a number that follows from its bytes and from those of every list before it.
//!
//! A delta is for the list of one name, and gives a list of another one. A list that is built again from the same keys has the
//! same name, and so has one that came from the same list by the same deltas. Another one has it with probability 2^-64. The
//! name is no protection against forgery: sign files whose source is not trusted.

use super::sieve::Sieve;
use crate::hash::digest;

/// The name of a list that is made from another one, of which the name is given, by one more sieve. The first one is made from the
/// name 0.
pub(super) fn name_after(before: u64, sieve: &Sieve<impl AsRef<[u8]>>) -> u64 {
    let mut all = before.to_le_bytes().to_vec();
    sieve.describe(&mut all);
    all.extend(digest(sieve.bytes().as_ref()));
    let [name, _] = *digest(&all).as_chunks().0 else { unreachable!("16 bytes are two words") };
    u64::from_le_bytes(name)
}
