//! The one primitive: cutting the hashes of some keys to fingerprints of which none is a prefix of another.
//!
//! # The idea
//!
//! Every key says how long its fingerprint must be at least: long enough to be apart from a query that was a
//! false positive, as long as the one it had before, as long as a fresh one. Keys whose hashes agree go
//! together down the tree of all bit strings. Where they all are content, at a length that fills its slots,
//! they get one fingerprint together; else they part at the next bit. A key that is content early thus gets
//! a longer fingerprint if a neighbour needs one, and no fingerprint is a prefix of another.
//!
//! Adapting, inserting with another tag, giving fresh length to entries that ran out of bits, merging and
//! rebuilding differ only in the keys and in the lengths that they ask for.

use crate::codec::string::Strings;
use crate::error::Indistinguishable;
use crate::hash::{MAX_BITS, Words};

/// A key to be cut.
pub(super) struct Member<W> {
    pub(super) words: W,
    /// Keys of different tags never share a fingerprint.
    pub(super) tag: u64,
    /// The least length of its fingerprint, which is not rounded up if the codec can hold it as it is.
    pub(super) least: u32,
}

/// A fingerprint: the first `len` bits of the hash of a member, and the member's tag.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Piece {
    pub(super) member: usize,
    pub(super) len: u32,
}

/// Cuts the hashes of members, which agree in their first `from` bits. The order of the members changes; the
/// pieces are in ascending order.
pub(super) fn cut<W: Words>(
    members: &mut [Member<W>],
    strings: &Strings,
    from: u32,
) -> Result<Vec<Piece>, Indistinguishable> {
    let mut pieces = Vec::new();
    // Whoever is alone is content as soon as it is long enough.
    let from = if let [member] = &members { from.max(member.least) } else { from };
    split(members, strings, from, 0, &mut pieces)?;
    Ok(pieces)
}

/// Cuts members that agree in their first `depth` bits and have the numbers from `first` on.
fn split<W: Words>(
    members: &mut [Member<W>],
    strings: &Strings,
    depth: u32,
    first: usize,
    pieces: &mut Vec<Piece>,
) -> Result<(), Indistinguishable> {
    if members.is_empty() {
        return Ok(());
    }
    if depth > MAX_BITS {
        return Err(Indistinguishable);
    }
    if let Some(len) = common_length(members, strings, depth) {
        pieces.push(Piece { member: first, len });
        return Ok(());
    }
    members.sort_by_key(|member| member.words.window(depth, 1));
    let zeros = members.partition_point(|member| member.words.window(depth, 1) == 0);
    let (zero, one) = members.split_at_mut(zeros);
    split(zero, strings, depth + 1, first, pieces)?;
    split(one, strings, depth + 1, first + zeros, pieces)
}

/// The length of one fingerprint for all members, which agree in their first `depth` bits. `None` if they must part.
///
/// A length that a member asks for is taken as it is: it may be one that a fingerprint had in another table, and would
/// get longer with every rebuild if it were rounded up. One that nobody asks for came about by parting, and takes what
/// its slots hold.
fn common_length<W: Words>(members: &[Member<W>], strings: &Strings, depth: u32) -> Option<u32> {
    let [one, others @ ..] = members else { return None };
    let content = |member: &Member<W>| member.least <= depth && member.tag == one.tag;
    if !members.iter().all(content) {
        return None;
    }
    let asked_for = members.iter().any(|member| member.least == depth);
    if asked_for && strings.fit(depth) == depth {
        return Some(depth);
    }
    let most = strings.round_up(depth);
    let common = others.iter().map(|other| one.words.common_bits(&other.words, most)).min().unwrap_or(most);
    (strings.fit(common) == common).then_some(common)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hash::RawWords;
    use crate::random::Random;
    use crate::table::Shape;

    /// Strings of four bits at most, all others of which are 0: enough for keys to meet.
    fn members(random: &mut Random, count: u64, bits: u32) -> Vec<Member<RawWords>> {
        (0..count)
            .map(|_| Member {
                words: RawWords(random.below(1 << bits) << (64 - bits)),
                tag: random.below(2),
                least: random.below(12) as u32,
            })
            .collect()
    }

    #[test]
    fn pieces_cover_every_member_once_and_are_as_few_as_can_be() {
        let mut random = Random(1);
        for round in 0..3000 {
            let (slot_bits, has_stop) = (1 + random.below(5) as u32, random.below(2) == 1);
            let strings = Strings::new(&Shape::new(2, slot_bits), has_stop && slot_bits > 1);
            let count = 1 + random.below(6);
            let mut members = members(&mut random, count, 7);
            // Members of one quotient, as in a run.
            for member in &mut members {
                member.words.0 >>= 2;
            }
            let Ok(pieces) = cut(&mut members, &strings, 2) else {
                // Only equal strings with different tags cannot be told apart.
                let equal =
                    |a: &Member<RawWords>, b: &Member<RawWords>| a.words.0 == b.words.0 && a.tag != b.tag;
                assert!(members.iter().any(|a| members.iter().any(|b| equal(a, b))), "round {round}");
                continue;
            };
            let covers = |piece: &Piece, member: &Member<RawWords>| {
                members[piece.member].words.common_bits(&member.words, piece.len) == piece.len
            };
            for member in &members {
                let own: Vec<&Piece> = pieces.iter().filter(|piece| covers(piece, member)).collect();
                assert_eq!(own.len(), 1, "round {round}");
                assert!(own[0].len >= member.least && members[own[0].member].tag == member.tag);
            }
            for (i, piece) in pieces.iter().enumerate() {
                assert_eq!(strings.fit(piece.len), piece.len);
                let under: Vec<_> = members.iter().filter(|member| covers(piece, member)).collect();
                let asked = under.iter().map(|member| member.least).max();
                if strings.has_stop() && asked == Some(piece.len) {
                    continue;
                }
                // A shorter one would not do: somebody under it is not content.
                let slots = strings.slots_for(piece.len);
                if slots > 1 {
                    let shorter = Piece { len: strings.bits_in(slots - 1), ..*piece };
                    let under: Vec<_> = members.iter().filter(|member| covers(&shorter, member)).collect();
                    let content = under.iter().all(|m| m.least <= shorter.len && m.tag == under[0].tag);
                    assert!(!content, "round {round}, piece {i}");
                }
            }
        }
    }
}
