//! The one primitive: cutting the hashes of some keys to fingerprints of which none is a prefix of another.
//!
//! # The idea
//!
//! Every key says how long its fingerprint must be at least: long enough to be apart from a query that was a
//! false positive, as long as the one it had before, as long as a fresh one. Keys whose hashes agree go
//! together down the tree of all bit strings. Where they all are content, at a length that fills its slots,
//! they get one fingerprint together; else they part at the next bit. A key that is content early thus gets
//! a longer fingerprint if a neighbour needs one, and no fingerprint is a prefix of another. A hash that no fingerprint may
//! cover goes down the tree with them, is never content, and gets nothing.
//!
//! Adapting, inserting what may not share, giving fresh length to entries that ran out of bits, merging and
//! rebuilding differ only in the keys and in the lengths that they ask for.

use std::ops::Range;

use crate::codec::string::{Payload, Strings};
use crate::error::Indistinguishable;
use crate::hash::{MAX_BITS, Words};
use crate::table::Slot;

/// A key to be cut.
pub(crate) struct Member<W, V> {
    pub(crate) words: W,
    /// What it brings along. Keys that may not share that never share a fingerprint.
    pub(crate) value: V,
    /// The least length of its fingerprint, which is not rounded up if the codec can hold it as it is.
    pub(crate) least: u32,
}

/// The least length of what gets no fingerprint: more than any has.
const BARRED: u32 = u32::MAX;

impl<W, V: Default> Member<W, V> {
    /// A hash that no fingerprint may cover.
    pub(crate) fn barred(words: W) -> Self {
        Self { words, value: V::default(), least: BARRED }
    }
}

impl<W, V> Member<W, V> {
    /// Whether no fingerprint may cover it.
    pub(crate) fn is_barred(&self) -> bool {
        self.least == BARRED
    }
}

/// A fingerprint: the first `len` bits of the hashes of some members, which it carries the values of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Piece {
    pub(super) members: Range<usize>,
    pub(super) len: u32,
}

impl Piece {
    /// The first of its members.
    pub(super) fn first<'a, W, V>(&self, members: &'a [Member<W, V>]) -> &'a Member<W, V> {
        &members[self.members.start]
    }

    /// Appends its slots.
    pub(super) fn encode<P: Payload, W: Words>(
        &self,
        members: &[Member<W, P::Value>],
        strings: &Strings<P>,
        slots: &mut Vec<Slot>,
    ) {
        let [first, others @ ..] = &members[self.members.clone()] else { return };
        let mut value = first.value.clone();
        others.iter().for_each(|other| strings.payload().unite(&mut value, &other.value));
        strings.encode(&first.words, self.len, &value, slots);
    }
}

/// Cuts the hashes of members, which agree in their first `from` bits. The order of the members changes; the
/// pieces are in ascending order. Equal hashes of a key and of a member that is barred cannot be told apart.
pub(crate) fn cut<P: Payload, W: Words>(
    members: &mut [Member<W, P::Value>],
    strings: &Strings<P>,
    from: u32,
) -> Result<Vec<Piece>, Indistinguishable> {
    let mut pieces = Vec::new();
    // Whoever is alone is content as soon as it is long enough.
    let from = if let [member] = &members { from.max(member.least) } else { from };
    split(members, strings, from, 0, &mut pieces)?;
    Ok(pieces)
}

/// Cuts members that agree in their first `depth` bits and have the numbers from `first` on.
fn split<P: Payload, W: Words>(
    members: &mut [Member<W, P::Value>],
    strings: &Strings<P>,
    depth: u32,
    first: usize,
    pieces: &mut Vec<Piece>,
) -> Result<(), Indistinguishable> {
    if members.iter().all(Member::is_barred) {
        return Ok(());
    }
    if depth > MAX_BITS {
        return Err(Indistinguishable);
    }
    if let Some(len) = common_length(members, strings, depth) {
        pieces.push(Piece { members: first..first + members.len(), len });
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
fn common_length<P: Payload, W: Words>(
    members: &[Member<W, P::Value>],
    strings: &Strings<P>,
    depth: u32,
) -> Option<u32> {
    let [one, others @ ..] = members else { return None };
    let content = |member: &Member<W, P::Value>| {
        member.least <= depth && strings.payload().may_share(&one.value, &member.value)
    };
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
    use crate::codec::string::Tags;
    use crate::hash::RawWords;
    use crate::table::Shape;
    use twiceshy_testkit::Random;

    /// Strings of four bits at most, all others of which are 0: enough for keys to meet.
    fn members(random: &mut Random, count: u64, bits: u32) -> Vec<Member<RawWords, u64>> {
        (0..count)
            .map(|_| Member {
                words: RawWords(random.below(1 << bits) << (64 - bits)),
                value: random.below(2),
                least: random.below(12) as u32,
            })
            .collect()
    }

    #[test]
    fn pieces_are_clear_of_what_is_barred() {
        let mut random = Random(2);
        for round in 0..3000 {
            let (slot_bits, has_stop) = (1 + random.below(5) as u32, random.below(2) == 1);
            let strings = Strings::new(&Shape::new(2, slot_bits), has_stop && slot_bits > 1, Tags);
            let (keys, barred) = (random.below(6), random.below(6));
            let mut members = members(&mut random, keys, 7);
            members.extend((0..barred).map(|_| Member::barred(RawWords(random.below(1 << 7) << 57))));
            for member in &mut members {
                member.words.0 >>= 2;
                member.value = 0;
            }
            let is_among = |words: RawWords, is_barred, members: &[Member<RawWords, u64>]| {
                members.iter().any(|member| member.words.0 == words.0 && member.is_barred() == is_barred)
            };
            let is_both = |member: &Member<RawWords, u64>, members: &[_]| {
                is_among(member.words, !member.is_barred(), members)
            };
            let cannot_be_told = members.iter().any(|member| is_both(member, &members));
            let Ok(pieces) = cut(&mut members, &strings, 2) else {
                assert!(cannot_be_told, "round {round}");
                continue;
            };
            assert!(!cannot_be_told, "round {round}");
            for member in &members {
                let covers = |piece: &&Piece| {
                    piece.first(&members).words.common_bits(&member.words, piece.len) == piece.len
                };
                let covering: Vec<&Piece> = pieces.iter().filter(covers).collect();
                assert_eq!(covering.len(), usize::from(!member.is_barred()), "round {round}");
                assert!(member.is_barred() || covering[0].len >= member.least, "round {round}");
            }
            // Where nothing is barred, it makes no difference that something could be.
            assert!(pieces.len() <= keys as usize);
        }
    }

    #[test]
    fn pieces_cover_every_member_once_and_are_as_few_as_can_be() {
        let mut random = Random(1);
        for round in 0..3000 {
            let (slot_bits, has_stop) = (1 + random.below(5) as u32, random.below(2) == 1);
            let strings = Strings::new(&Shape::new(2, slot_bits), has_stop && slot_bits > 1, Tags);
            let count = 1 + random.below(6);
            let mut members = members(&mut random, count, 7);
            // Members of one quotient, as in a run.
            for member in &mut members {
                member.words.0 >>= 2;
            }
            let Ok(pieces) = cut(&mut members, &strings, 2) else {
                // Only equal strings with different tags cannot be told apart.
                let equal = |a: &Member<RawWords, u64>, b: &Member<RawWords, u64>| {
                    a.words.0 == b.words.0 && a.value != b.value
                };
                assert!(members.iter().any(|a| members.iter().any(|b| equal(a, b))), "round {round}");
                continue;
            };
            let covers = |piece: &Piece, member: &Member<RawWords, u64>| {
                piece.first(&members).words.common_bits(&member.words, piece.len) == piece.len
            };
            for member in &members {
                let own: Vec<&Piece> = pieces.iter().filter(|piece| covers(piece, member)).collect();
                assert_eq!(own.len(), 1, "round {round}");
                assert!(own[0].len >= member.least && own[0].first(&members).value == member.value);
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
                    let shorter = Piece { len: strings.bits_in(slots - 1), ..piece.clone() };
                    let under: Vec<_> = members.iter().filter(|member| covers(&shorter, member)).collect();
                    let content = under.iter().all(|m| m.least <= shorter.len && m.value == under[0].value);
                    assert!(!content, "round {round}, piece {i}");
                }
            }
        }
    }
}
