//! Finding, merging and resizing in the plainest way, every fingerprint written out and one at a time: what the fast ways
//! are compared with, byte for byte.

use super::fill::Filler;
use super::merge::Union;
use super::stream::Carried;
use super::{Core, Neighbour};
use crate::bits::cpu::dispatch;
use crate::codec::string::{Found, Payload, Place, Table};
use crate::error::RebuildError;
use crate::hash::Words;
use crate::prefix::Prefix;
use crate::table::Size;

/// The keys under a prefix, or an error.
type Under<W, V, E> = Result<Vec<Neighbour<W, V>>, E>;

/// What came out: bytes, fingerprints, and how many of them got fresh length; nothing if there was no room.
type Outcome = Option<(Vec<u8>, u64, u64)>;

fn outcome<P: Payload, E>(core: &Core<P>, filled: Result<Filler<P>, RebuildError<E>>) -> Outcome {
    let filled = match filled {
        Ok(filler) => core.with_filled(filler),
        Err(RebuildError::Full { .. }) => return None,
        Err(_) => panic!("not the fault of a table"),
    };
    filled.table.validate().unwrap();
    filled.check().unwrap();
    let rejuvenated = filled.counters.rejuvenated - core.counters.rejuvenated;
    Some((filled.table.bytes().to_vec(), filled.entries, rejuvenated))
}

/// Asks for a hash in both ways: what covers it, and with which ticket.
pub(crate) fn query_in_both_ways<P: Payload>(core: &Core<P>, words: &impl Words) {
    let expected = match core.find(words) {
        (quotient, run, Found::Covered(entry)) => Some(Place { quotient, run, entry }),
        (_, _, Found::Between { .. }) => None,
    };
    assert_eq!(core.cover(words), expected);
    assert_eq!(core.query(words), expected.map(|place| core.ticket(&place)));
}

/// Moves a core to tables of all sizes near its own, in both ways.
pub(crate) fn move_in_both_ways<P: Payload, W: Words, E>(
    core: &Core<P>,
    mut under: impl FnMut(&Prefix) -> Under<W, P::Value, E>,
) {
    let larger = Size::steps().take_while(|size| size.quotient_bits() < core.quotient_bits() + 3);
    for size in larger.filter_map(|size| core.shape_for(size)) {
        let mut plainly = || {
            let mut filler = core.filler(size)?;
            for (prefix, value) in core.iter() {
                filler.push_or_renew(&prefix, &value, &mut under)?;
            }
            Ok(filler)
        };
        let expected = outcome(core, plainly());
        assert!(outcome(core, core.repack(size, &mut under)) == expected, "{size:?}");
    }
}

/// Merges two cores in tables of all sizes near theirs, in both ways.
pub(crate) fn merge_in_both_ways<P: Payload, W: Words + PartialEq, E>(
    one: &Core<P>,
    other: &Core<P>,
    mut mine: impl FnMut(&Prefix) -> Under<W, P::Value, E>,
    mut theirs: impl FnMut(&Prefix) -> Under<W, P::Value, E>,
) {
    let smallest = one.quotient_bits().max(other.quotient_bits());
    let sizes = Size::steps().filter(|size| (smallest..smallest + 3).contains(&size.quotient_bits()));
    for size in sizes.filter_map(|size| one.shape_for_union(other, size)) {
        macro_rules! union {
            () => {
                Union { one, other, filler: one.filler(size).unwrap(), mine: &mut mine, theirs: &mut theirs }
            };
        }
        let expected = outcome(one, union!().fill_plainly());
        assert!(outcome(one, dispatch(union!())) == expected, "{size:?}");
    }
}

impl<P, A, B, W, E, F, G> Union<'_, P, Core<P, A>, Core<P, B>, F, G>
where
    P: Payload,
    A: AsRef<[u8]>,
    B: AsRef<[u8]>,
    W: Words + PartialEq,
    F: FnMut(&Prefix) -> Under<W, P::Value, E>,
    G: FnMut(&Prefix) -> Under<W, P::Value, E>,
{
    fn fill_plainly(mut self) -> Result<Filler<P>, RebuildError<E>> {
        let payload = self.filler.strings.payload();
        let (mut one, mut other) = (self.one.iter().peekable(), self.other.iter().peekable());
        loop {
            match (one.peek_mut(), other.peek()) {
                (None, None) => return Ok(self.filler),
                (Some((a, mine)), Some((b, theirs))) if a.overlaps(b) => {
                    let is_long = a.len() >= self.filler.strings.position_bits();
                    if a == b && is_long && payload.may_share(mine, theirs) {
                        payload.unite(mine, theirs);
                        self.filler.push(a, a.len(), mine)?;
                        one.next();
                        other.next();
                    } else {
                        let root = if a.len() <= b.len() { &*a } else { b }.clone();
                        self.cut_anew(&root, under(&root, &mut one), under(&root, &mut other))?;
                    }
                }
                (Some((a, _)), b) if b.is_none_or(|(b, _)| &*a < b) => {
                    let (prefix, value) = one.next().unwrap();
                    self.filler.push_or_renew(&prefix, &value, self.mine)?;
                }
                _ => {
                    let (prefix, value) = other.next().unwrap();
                    self.filler.push_or_renew(&prefix, &value, self.theirs)?;
                }
            }
        }
    }
}

/// The next fingerprints, as long as they are under a root.
fn under<V>(
    root: &Prefix,
    all: &mut std::iter::Peekable<impl Iterator<Item = Carried<V>>>,
) -> Vec<Carried<V>> {
    std::iter::from_fn(|| all.next_if(|(prefix, _)| root.overlaps(prefix))).collect()
}

mod tests {
    use std::collections::BTreeMap;
    use std::convert::Infallible;

    use super::*;
    use crate::codec::string::Tags;
    use crate::filter::core::{Growth, Insertion, Room};
    use crate::hash::{MAX_BITS, RawWords};
    use crate::table::Part;
    use twiceshy_testkit::Random;

    /// A core, and the hashes in it with their tags.
    struct Filled {
        core: Core<Tags>,
        hashes: BTreeMap<u64, u64>,
    }

    impl Filled {
        fn under(&self, prefix: &Prefix) -> Vec<Neighbour<RawWords, u64>> {
            let hashes = self.hashes.range(prefix.first_words()).map(|(hash, _)| RawWords(*hash));
            let under = hashes.filter(|words| prefix.is_prefix_of(words));
            under.map(|words| Neighbour { words, value: None }).collect()
        }

        fn lookup(&self, prefix: &Prefix) -> Under<RawWords, u64, Infallible> {
            Ok(self.under(prefix))
        }

        fn grow(&mut self) {
            self.core = self.core.grown(0, |prefix| self.lookup(prefix)).unwrap();
        }

        fn insert(&mut self, hash: u64, tag: u64) {
            match self.core.insert(&RawWords(hash), &tag, 0) {
                Ok(Insertion::Stored) => {}
                Ok(Insertion::Covered(ticket)) if ticket.value == tag => {
                    if self.hashes.contains_key(&hash) {
                        return;
                    }
                    self.core.insert_covered(&ticket).unwrap();
                }
                Ok(Insertion::Covered(_)) => return,
                Err(_) => return self.grow(),
            }
            self.hashes.insert(hash, tag);
        }

        /// Learns that something like a hash is none.
        fn adapt(&mut self, hash: u64, other: u64) {
            let ticket = self.core.query(&RawWords(hash)).unwrap();
            let below = u64::MAX.unbounded_shr(ticket.prefix.len());
            let query = RawWords(hash & !below | other & below);
            if self.hashes.contains_key(&query.0) {
                return;
            }
            let neighbours = self.under(&ticket.prefix).into_iter().map(|neighbour| {
                let needed = neighbour.words.common_bits(&query, MAX_BITS) + 1;
                (neighbour, needed)
            });
            if self.core.adapt(&ticket, &query, neighbours).is_err() {
                self.grow();
            }
        }
    }

    /// A filter with everything that happens to filters, whose hashes begin like `part`.
    fn filled(random: &mut Random, part: Part) -> Filled {
        let (quotient_bits, remainder_bits) =
            (1 + random.below(9) as u32, [1, 2, 3, 4, 9, 20, 50, 57, 60][random.below(9) as usize]);
        let mut core =
            Core::empty(Tags, quotient_bits.into(), remainder_bits, Growth::default(), Some((3, 20)))
                .unwrap();
        core.set_table(Table::new(core.table.shape().for_part(part)).unwrap());
        let mut filled = Filled { core, hashes: BTreeMap::new() };
        let (tagged, adapted, weak) = (random.below(3) * 5, random.below(4) * 10, random.below(4) == 0);
        for _ in 0..random.below(1 << quotient_bits) {
            let bits = random.next() & if weak { 0xff0f_0000_ffff_ffff } else { u64::MAX };
            let hash = part.number().unbounded_shl(64 - part.bits()) | bits >> part.bits();
            let tag = if random.below(100) < tagged { 1 + random.below(600) } else { 0 };
            filled.insert(hash, tag);
            if filled.hashes.contains_key(&hash) && random.below(100) < adapted {
                filled.adapt(hash, random.next());
            }
        }
        match random.below(4) {
            0 => filled.grow(),
            1 => filled.core.shrink_to_fit(0).unwrap(),
            _ => {}
        }
        filled
    }

    #[test]
    fn filters_of_all_sizes_move_and_merge_as_in_the_plainest_way() {
        let mut random = Random(1);
        for round in 0..300 {
            let part = if round % 4 == 0 { Part::new(2, 3) } else { Part::ALL };
            let (mut one, other) = (filled(&mut random, part), filled(&mut random, part));
            for (&hash, &tag) in other.hashes.iter().filter(|_| round % 3 == 0) {
                // They share some keys.
                if random.below(10) == 0 {
                    one.insert(hash, tag);
                }
            }
            for hash in one.hashes.keys().chain(other.hashes.keys()) {
                query_in_both_ways(&one.core, &RawWords(*hash));
            }
            move_in_both_ways(&one.core, |prefix| one.lookup(prefix));
            for (one, other) in [(&one, &other), (&other, &one)] {
                let (mine, theirs) = (|prefix: &_| one.lookup(prefix), |prefix: &_| other.lookup(prefix));
                merge_in_both_ways(&one.core, &other.core, mine, theirs);
            }
        }
    }

    /// Whoever writes a row first must be able to insert its fingerprint then.
    #[test]
    fn what_there_is_room_for_can_be_inserted() {
        let mut random = Random(2);
        for _ in 0..400 {
            let (quotient_bits, remainder_bits) = (1 + random.below(7) as u32, 1 + random.below(9) as u32);
            let mut core =
                Core::empty(Tags, quotient_bits.into(), remainder_bits, Growth::Refuse, Some((3, 20)))
                    .unwrap();
            for _ in 0..3 << quotient_bits {
                let (words, tag) = (RawWords(random.next()), random.below(4) / 3 * random.below(600));
                let room = core.room_for(&words, &tag, 0);
                let inserted = match core.insert_at_glance(words.0, &tag) {
                    true => Ok(Insertion::Stored),
                    false => core.insert(&words, &tag, 0),
                };
                match (room, inserted) {
                    (Ok(Room::AtGlance | Room::Enough), Ok(Insertion::Stored)) | (Err(_), Err(_)) => {}
                    (Ok(Room::Covered(_)), Ok(Insertion::Covered(_))) => {}
                    (room, inserted) => panic!("{room:?}, {inserted:?}"),
                }
            }
        }
    }
}
