//! Boxes of every size and every slot width, against a map of counts.

use std::collections::BTreeMap;

use super::*;
use crate::bits::cpu::dispatch;
use crate::table::Shape;
use twiceshy_testkit::Random;

/// What a box should hold.
type Model = BTreeMap<u16, u64>;

fn set_of(suffix_bits: u32, model: &Model) -> Multiset {
    let mut set = Multiset::new(suffix_bits);
    model.iter().for_each(|(&suffix, &count)| {
        set.add(suffix, count);
    });
    set
}

/// The run of quotient 5, of 64, with these boxes.
fn table_of(codec: Boxes, slot_bits: u32, boxes: &[(u64, Model)]) -> Table {
    let shape = Shape::new(6, slot_bits).with_limits(255, 4_000).unwrap();
    let mut loader = Loader::new(shape, u64::MAX).unwrap();
    for (string, model) in boxes {
        let head = string << codec.suffix_bits;
        push(&mut loader, (5, head), &set_of(codec.suffix_bits, model), &mut Vec::new()).unwrap();
    }
    loader.finish()
}

struct RunOf<'a>(&'a Table);
impl Kernel for RunOf<'_> {
    type Output = Run;
    #[inline(always)]
    fn run<C: Cpu>(self, cpu: C) -> Run {
        self.0.run(cpu, 5)
    }
}

struct Meets<'a>(&'a Table, Boxes, Probe);
impl Kernel for Meets<'_> {
    type Output = bool;
    #[inline(always)]
    fn run<C: Cpu>(self, cpu: C) -> bool {
        meets(cpu, self.0, self.1, self.0.home_now(cpu, self.2.hash), self.2)
    }
}

struct Change<'a>(&'a mut Table, Boxes, u64, u16, bool);
impl Kernel for Change<'_> {
    type Output = Result<bool, Full>;
    #[inline(always)]
    fn run<C: Cpu>(self, cpu: C) -> Self::Output {
        let Self(table, codec, hash, suffix, is_insert) = self;
        match is_insert {
            true => add(cpu, table, codec, (hash, suffix), Limits::NONE),
            false => remove(cpu, table, codec, hash, suffix),
        }
    }
}

/// One box among others, written and read, and asked for every range.
fn check(suffix_bits: u32, slot_bits: u32, model: &Model, ranges: bool) -> u64 {
    let codec = Boxes::new(suffix_bits, false);
    let string_bits = slot_bits - suffix_bits;
    let (string, other) = (low_mask(string_bits) / 2, low_mask(string_bits));
    let neighbour = Model::from([(low_mask(suffix_bits) as u16, 1)]);
    let boxes = [(string, model.clone()), (other, neighbour)];
    let table = table_of(codec, slot_bits, &boxes);
    let run = dispatch(RunOf(&table));
    let entries: Vec<Entry> = codec.boxes(&table, run).collect();
    assert_eq!(entries.len(), 2, "{suffix_bits} of {slot_bits} bits: {model:?}");
    for (entry, (string, model)) in entries.iter().zip(&boxes) {
        let mut set = Multiset::new(suffix_bits);
        codec.read_into(&table, entry, run.end, &mut set);
        assert_eq!(entry.string, *string);
        assert_eq!(set, set_of(suffix_bits, model), "{suffix_bits} of {slot_bits} bits");
    }
    let copies = model.values().sum::<u64>() + 1;
    assert_eq!(check_run(&table, codec, run), Some((2, copies)));
    let keys: Vec<_> = Keys::new(&table, codec).collect();
    let expected = boxes
        .iter()
        .flat_map(|(string, model)| model.iter().map(move |(&suffix, &count)| (5, *string, suffix, count)));
    assert!(keys.into_iter().eq(expected));
    if ranges {
        let most = low_mask(suffix_bits) as u16;
        for from in 0..=most {
            for to in from..=most {
                let expected = model.range(from..=to).next().is_some();
                let found = codec.meets(&table, &entries[0], run.end, from, to);
                assert_eq!(found, expected, "{from}..={to} in {model:?}");
            }
        }
    }
    entries[0].end - entries[0].start
}

#[test]
fn every_small_multiset_reads_back_at_every_width() {
    const COUNTS: [u64; 5] = [0, 1, 2, 5, 1_000_000];
    for suffix_bits in 0..=2u32 {
        let suffixes = 1 << suffix_bits;
        for number in 1..5usize.pow(suffixes) {
            let count = |suffix: u16| COUNTS[number / 5usize.pow(suffix.into()) % 5];
            let model: Model =
                (0..suffixes as u16).map(|suffix| (suffix, count(suffix))).filter(|(_, n)| *n > 0).collect();
            for slot_bits in [1, 2, 3, 5, 9, 14, 33, 64].map(|bits| (bits + suffix_bits).min(64)) {
                check(suffix_bits, slot_bits, &model, true);
            }
        }
    }
}

#[test]
fn every_set_of_up_to_four_bits_reads_back() {
    for suffix_bits in [3, 4] {
        for mask in 1..1u32 << (1 << suffix_bits) {
            let is_in = |suffix: &u16| mask >> suffix & 1 == 1;
            let model: Model = (0..1 << suffix_bits).filter(is_in).map(|suffix| (suffix, 1)).collect();
            check(suffix_bits, suffix_bits + 1 + mask % 12, &model, mask % 16 == 0 || suffix_bits == 3);
        }
    }
}

/// A suffix more at a time, in any order, until all are there, past every boundary of the encoding; and away again.
#[test]
fn boxes_of_every_size_read_back() {
    let mut random = Random(1);
    for suffix_bits in [4, 5, 6, 8, 10u32] {
        for slot_bits in [1, 2, 9, 20, 40].map(|bits| suffix_bits + bits) {
            for copies in [false, true] {
                let mut model = Model::new();
                while model.len() < 1 << suffix_bits {
                    let suffix = random.below(1 << suffix_bits) as u16;
                    *model.entry(suffix).or_insert(0) =
                        1 + u64::from(copies) * (random.next() >> 40 >> random.below(24));
                    if suffix_bits < 8 || random.below(16) == 0 || model.len() > 1000 {
                        check(suffix_bits, slot_bits, &model, suffix_bits < 6);
                    }
                }
            }
        }
    }
}

#[test]
fn copies_and_full_boxes_take_few_slots() {
    let full: Model = (0..32).map(|suffix| (suffix, 1)).collect();
    assert_eq!(check(5, 14, &full, true), 3);
    assert_eq!(check(5, 14, &Model::from([(7, 1_000_000)]), true), 5);
    let sixty_four: Model = (0..64).map(|suffix| (suffix, 1)).collect();
    assert_eq!(check(6, 17, &sixty_four, true), 3);
    for count in [2, 3, 4, u64::MAX - 2, u64::MAX - 1] {
        for slot_bits in [6, 14, 64] {
            check(5, slot_bits, &Model::from([(31, count)]), true);
        }
    }
    let three = Model::from([(3, 1), (9, 1), (30, 1)]);
    let four = Model::from([(3, 1), (9, 1), (10, 1), (30, 1)]);
    assert_eq!((check(5, 14, &three, true), check(5, 14, &four, true)), (3, 3));
}

/// Slots that nobody wrote. What is accepted is what would be written.
#[test]
fn any_bits_are_read_to_an_end() {
    let mut random = Random(2);
    let mut accepted = 0;
    for _ in 0..200_000 {
        let suffix_bits = random.below(17) as u32;
        let slot_bits = (suffix_bits + 1 + random.below(12) as u32).min(64);
        let codec = Boxes::new(suffix_bits, random.below(2) == 0);
        let shape = Shape::new(6, slot_bits).with_limits(255, 100).unwrap();
        let mut loader = Loader::new(shape, u64::MAX).unwrap();
        let few = low_mask(1 + random.below(slot_bits.into()) as u32);
        let len = 1 + random.below(12);
        for _ in 0..len {
            push_one(&mut loader, 5, random.next() & random.next() & few & low_mask(slot_bits)).unwrap();
        }
        let table = loader.finish();
        let run = dispatch(RunOf(&table));
        let mut boxes = 0;
        for entry in codec.boxes(&table, run) {
            boxes += 1;
            let from = random.below(1 << suffix_bits) as u16;
            let to = from.saturating_add(random.below(100) as u16).min(low_mask(suffix_bits) as u16);
            codec.meets(&table, &entry, run.end, from, to);
        }
        assert!(boxes <= len);
        assert!(Keys::new(&table, codec).take(1_000_000).count() as u64 >= boxes);
        accepted += u64::from(check_run(&table, codec, run).is_some());
    }
    assert!(accepted > 1_000, "{accepted}");
}

/// Strings of any lengths in one run, changed one key at a time: the bytes are those of a fresh load, all answers are those of
/// the model, and what is removed is the longest string.
#[test]
fn edits_and_answers_agree_with_a_model() {
    let mut random = Random(3);
    for round in 0..120 {
        let (suffix_bits, has_stops) = ([0, 1, 2, 5, 7][round % 5], round % 2 == 0);
        let string_bits = 2 + random.below(8) as u32;
        let (codec, slot_bits) = (Boxes::new(suffix_bits, has_stops), string_bits + suffix_bits);
        // The string of each box, and its suffixes.
        let mut model = BTreeMap::<u64, Model>::new();
        if has_stops {
            for _ in 0..random.below(8) {
                let len = random.below(string_bits.into()) as u32;
                let string = stop::encode(random.next() & low_mask(len), len, string_bits);
                model.insert(string, Model::from([(random.below(1 << suffix_bits) as u16, 1)]));
            }
        }
        let boxes: Vec<_> = model.clone().into_iter().collect();
        let mut table = table_of(codec, slot_bits, &boxes);
        for _ in 0..60 {
            let string = random.next() & low_mask(string_bits);
            let hash = 5 << 58 | string << (58 - string_bits) | random.next() >> (6 + string_bits);
            let suffix = random.below(1 << suffix_bits) as u16;
            let is_insert = random.below(5) < 3;
            let done = dispatch(Change(&mut table, codec, hash, suffix, is_insert)).unwrap();
            if is_insert {
                let full = if has_stops { string | 1 } else { string };
                let covering = || model.iter().filter(|(stored, _)| codec.matches(**stored, string));
                assert_eq!(done, !covering().any(|(_, model)| model.contains_key(&suffix)));
                let longest =
                    covering().map(|(stored, _)| *stored).min_by_key(|stored| stored.trailing_zeros());
                let has_bits = |stored: &u64| stop::len(*stored, string_bits) >= 6;
                let longest = longest.filter(|stored| !has_stops || *stored == full || has_bits(stored));
                *model.entry(longest.unwrap_or(full)).or_default().entry(suffix).or_insert(0) += 1;
            } else {
                let matching = |(stored, model): &(&u64, &mut Model)| {
                    codec.matches(**stored, string) && model.contains_key(&suffix)
                };
                let longest =
                    model.iter_mut().filter(matching).min_by_key(|(stored, _)| stored.trailing_zeros());
                assert_eq!(done, longest.is_some());
                if let Some((&stored, model_of)) = longest {
                    *model_of.get_mut(&suffix).unwrap() -= 1;
                    model_of.retain(|_, count| *count > 0);
                    if model_of.is_empty() {
                        model.remove(&stored);
                    }
                }
            }
            let boxes: Vec<_> = model.clone().into_iter().collect();
            assert!(table.bytes() == table_of(codec, slot_bits, &boxes).bytes(), "{model:?}");
            for string in 0..1 << string_bits {
                let hash = 5 << 58 | string << (58 - string_bits);
                let (from, to) =
                    (random.below(1 << suffix_bits) as u16, random.below(1 << suffix_bits) as u16);
                let (from, to) = (from.min(to), from.max(to));
                let expected = model.iter().any(|(stored, model)| {
                    codec.matches(*stored, string) && model.range(from..=to).next().is_some()
                });
                let found = dispatch(Meets(&table, codec, Probe { hash, from, to }));
                assert_eq!(found, expected, "{string:b} {from}..={to} in {model:?}");
            }
        }
    }
}
