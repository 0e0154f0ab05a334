//! The table against a model that is obviously right: a list of entries per quotient.
//!
//! After every edit the bytes must equal those of a table loaded in order from the model, which also
//! pins offsets, run ends, shifting and the zeroing of freed slots.

use super::*;
use crate::bits::cpu::{Cpu, Kernel, Portable, dispatch};
use crate::bits::word::low_mask;
use twiceshy_testkit::Random;

/// A layout with a word of the filter's own in every block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Coded;

impl Layout for Coded {
    const EXTENDED: bool = true;
    const OWN_WORDS: usize = 1;
}

/// A shape whose blocks have as many slots as quotients, or fewer: that depends on the seed.
fn shape_with(quotient_bits: u32, width: u32, seed: u64) -> Shape {
    let block_slots = [64, 40, 8, 56, 48, 24, 16, 32][seed as usize % 8];
    Shape::new(Size::new(quotient_bits, block_slots).unwrap_or(quotient_bits.into()), width)
}

/// One entry: a head and its extension slots.
type Entry = Vec<Slot>;

struct Model {
    shape: Shape,
    runs: Vec<Vec<Entry>>,
}

impl Model {
    fn new(shape: Shape) -> Self {
        Self { shape, runs: vec![Vec::new(); shape.quotients() as usize] }
    }

    fn load<L: Layout>(&self) -> Result<Table<Memory, L>, NoRoom> {
        let mut loader = Loader::new(self.shape, u64::MAX).unwrap();
        for (quotient, run) in self.runs.iter().enumerate() {
            for entry in run {
                loader.push(quotient as u64, entry)?;
            }
        }
        Ok(loader.finish())
    }

    /// Where each run lies, by definition.
    fn places(&self) -> Vec<Run> {
        let mut free = 0;
        let place = |(quotient, run): (usize, &Vec<Entry>)| {
            let start = self.shape.home_of(quotient as u64).max(free);
            let end = start + run.iter().map(|entry| entry.len() as u64).sum::<u64>();
            if end > start {
                free = end;
            }
            Run { start, end }
        };
        self.runs.iter().enumerate().map(place).collect()
    }
}

/// Replaces slots of a run through `plan` and `commit`, compiled for the best CPU.
struct Replace<'a, L> {
    table: &'a mut Table<Memory, L>,
    quotient: u64,
    at: u64,
    remove: u64,
    slots: &'a [Slot],
}

impl<L: Layout> Kernel for Replace<'_, L> {
    type Output = Result<(), Full>;
    #[inline(always)]
    fn run<C: Cpu>(self, cpu: C) -> Self::Output {
        let run = self.table.run(cpu, self.quotient);
        let (insert, at) = (self.slots.len() as u64, run.start + self.at);
        let edit = self.table.plan(cpu, self.quotient, run, at, self.remove, insert, Limits::NONE)?;
        self.table.commit(cpu, edit, self.slots);
        Ok(())
    }
}

struct FindRun<'a, B, L>(&'a Table<B, L>, u64);

impl<B: AsRef<[u8]>, L: Layout> Kernel for FindRun<'_, B, L> {
    type Output = Run;
    #[inline(always)]
    fn run<C: Cpu>(self, cpu: C) -> Run {
        self.0.run(cpu, self.1)
    }
}

/// The run before ends with the block, but for extension slots in the next one; nothing in the block shows
/// that.
#[test]
fn an_empty_run_at_the_end_of_a_block_begins_behind_extensions_in_the_next() {
    for last in 120..127usize {
        let mut model = Model::new(Shape::new(7, 4));
        // Block 1 begins with a slot of block 0.
        model.runs[63] = vec![vec![Slot::head(1)], vec![Slot::head(2)]];
        // One entry per slot from the quotient on, and the last of them goes on in the next block.
        let mut run: Vec<Entry> = (last..128).map(|slot| vec![Slot::head(slot as u64 - 120)]).collect();
        let longest = run.last_mut().expect("at least one");
        longest.extend([1, 2].map(|value| Slot { kind: Kind::Continuation, value }));
        model.runs[last] = run;
        let mut table = model.load::<Extended>().unwrap();
        compare(&table, &model, &format!("run of {last}"));
        let (quotient, entry) = (last as u64 + 1, vec![Slot::head(7)]);
        dispatch(Replace { table: &mut table, quotient, at: 0, remove: 0, slots: &entry }).unwrap();
        model.runs[last + 1].push(entry);
        compare(&table, &model, &format!("run of {quotient}"));
    }
}

fn random_entry<L: Layout>(random: &mut Random, shape: &Shape) -> Entry {
    let mask = low_mask(shape.slot_bits());
    let mut entry = vec![Slot::head(random.next() & mask)];
    if L::EXTENDED {
        let longer = [0, 0, 0, 1, 1, 2, 5][random.below(7) as usize];
        for _ in 0..longer {
            let kind = if random.below(2) == 0 { Kind::Continuation } else { Kind::Payload };
            entry.push(Slot { kind, value: random.next() & mask });
        }
    }
    entry
}

/// Position, first slot and slots of every entry.
type Entries = Vec<(u64, u64, Vec<u64>)>;

/// All entries as [`Stretches`] tells them.
struct InStretches<'a, B, L>(&'a Table<B, L>);

impl<B: AsRef<[u8]>, L: Layout> Kernel for InStretches<'_, B, L> {
    type Output = Entries;
    fn run<C: Cpu>(self, cpu: C) -> Entries {
        let (table, mut all, mut stretches) = (self.0, Entries::new(), self.0.stretches());
        loop {
            let mut told = Vec::new();
            let one_by_one = table.shape().slot_bits() > WIDEST;
            let stretch = stretches.next(cpu, one_by_one, |number, position, slot| {
                assert!(number == told.len() && number < 64);
                told.push((position, slot));
            });
            match stretch {
                None => return all,
                Some(Stretch::Heads { start, count }) => {
                    assert_eq!(told.len(), count);
                    let heads = (start..).zip(told);
                    all.extend(heads.map(|(start, (position, slot))| (position, start, vec![slot])));
                }
                Some(Stretch::Entry { quotient, start, end }) => {
                    assert!(told.is_empty() && start < end);
                    let slots = (start..end).map(|slot| table.slot(slot)).collect();
                    all.push((table.shape().position(quotient), start, slots));
                }
            }
        }
    }
}

fn read_in_stretches<B: AsRef<[u8]>, L: Layout>(table: &Table<B, L>) -> Entries {
    let all = dispatch(InStretches(table));
    assert_eq!(InStretches(table).run(Portable), all);
    all
}

fn read_one_by_one<L: Layout>(table: &Table<Memory, L>, runs: &[(u64, Run)]) -> Entries {
    let mut all = Entries::new();
    for &(quotient, run) in runs {
        for slot in run.start..run.end {
            match (table.kind(slot), all.last_mut()) {
                (Kind::Continuation | Kind::Payload, Some((.., slots))) => slots.push(table.slot(slot)),
                _ => all.push((table.shape().position(quotient), slot, vec![table.slot(slot)])),
            }
        }
    }
    all
}

/// Compares everything that can be asked of the table with the model.
fn compare<L: Layout>(table: &Table<Memory, L>, model: &Model, context: &str) {
    table.validate().unwrap_or_else(|invalid| panic!("{context}: {invalid}"));
    let loaded = model.load::<L>().expect("the model fits");
    assert!(table.bytes() == loaded.bytes(), "{context}: bytes differ from a fresh load");
    assert_eq!(table.used(), loaded.used(), "{context}");
    let places = model.places();
    for (quotient, &place) in places.iter().enumerate() {
        let quotient = quotient as u64;
        assert_eq!(table.run(Portable, quotient), place, "{context}: run of {quotient}");
        assert_eq!(dispatch(FindRun(table, quotient)), place, "{context}: run of {quotient}");
    }
    let full: Vec<_> = places.iter().enumerate().filter(|(_, run)| !run.is_empty()).collect();
    let runs: Vec<_> = table.runs().collect();
    let expected: Vec<_> = full.iter().map(|&(quotient, &run)| (quotient as u64, run)).collect();
    assert_eq!(runs, expected, "{context}");
    assert_eq!(read_in_stretches(table), read_one_by_one(table, &expected), "{context}: stretches");
    let used = |slot: u64| expected.iter().any(|(_, run)| (run.start..run.end).contains(&slot));
    let mut stretches = Vec::new();
    for slot in (0..table.shape().total_slots()).filter(|&slot| used(slot)) {
        match stretches.last_mut() {
            Some(last) if *last == (slot - 1) => *last = slot,
            _ => stretches.push(slot),
        }
    }
    // In blocks of any number of slots there are the same runs.
    for block_slots in [8, 40, 48, 64] {
        let size = Size::new(model.shape.quotient_bits(), block_slots);
        let Some(size) = size.filter(|_| table.used().is_multiple_of(5)) else { continue };
        let spill = model.shape.total_slots() as u32;
        let shape = model.shape.resized(size, model.shape.slot_bits());
        let shape = shape.with_limits(model.shape.offset_max(), spill).unwrap().with_layout::<L>();
        let (respaced, other) = (table.respaced(shape).unwrap(), Model { shape, runs: model.runs.clone() });
        match other.load::<L>() {
            Ok(loaded) => {
                let respaced = respaced.unwrap_or_else(|| panic!("{context}: {block_slots} slots"));
                respaced
                    .validate()
                    .unwrap_or_else(|invalid| panic!("{context}: {block_slots} slots: {invalid}"));
                assert!(respaced.bytes() == loaded.bytes(), "{context}: {block_slots} slots");
            }
            Err(NoRoom) => assert!(respaced.is_none(), "{context}: {block_slots} slots"),
        }
    }
    let ends: Vec<_> = table.clusters().map(|cluster| cluster.end - 1).collect();
    assert_eq!(ends, stretches, "{context}: clusters");
}

/// Random edits; how often quotients repeat and how full the table gets varies with the seed.
fn drive<L: Layout>(shape: Shape, seed: u64, steps: u32) -> u32 {
    let mut random = Random(seed);
    let mut model = Model::new(shape);
    let mut table = Table::<Memory, L>::new(shape).unwrap();
    let hot = 1 + random.below(shape.quotients());
    let base = random.below(shape.quotients());
    let eager = 2 + random.below(4);
    let mut refused = 0;
    for step in 0..steps {
        let quotient = (base + random.below(hot)) % shape.quotients();
        let run = &model.runs[quotient as usize];
        let first = random.below(run.len() as u64 + 1) as usize;
        let remove = random.below(3).min((run.len() - first) as u64) as usize;
        let insert = if random.below(6) < eager { 1 + random.below(2) } else { 0 };
        let new: Vec<Entry> = (0..insert).map(|_| random_entry::<L>(&mut random, &shape)).collect();
        let slots: Vec<Slot> = new.iter().flatten().copied().collect();
        let at = run[..first].iter().map(|entry| entry.len() as u64).sum();
        let removed: u64 = run[first..first + remove].iter().map(|entry| entry.len() as u64).sum();
        let before = table.bytes().to_vec();
        let replace = Replace { table: &mut table, quotient, at, remove: removed, slots: &slots };
        let outcome = dispatch(replace);
        let mut changed = model.runs[quotient as usize].clone();
        changed.splice(first..first + remove, new);
        let old = std::mem::replace(&mut model.runs[quotient as usize], changed);
        let context = format!("{shape:?} seed {seed} step {step}");
        if outcome.is_err() {
            refused += 1;
            assert!(table.bytes() == before, "{context}: an error changed bytes");
            assert!(model.load::<L>().is_err(), "{context}: refused although it fits");
            model.runs[quotient as usize] = old;
        }
        compare(&table, &model, &context);
    }
    refused
}

#[test]
fn random_edits_agree_with_the_model_for_every_width() {
    for width in 1..=64 {
        for (quotient_bits, spill) in [(2, 3), (6, 1), (7, 70), (8, 20)] {
            for seed in [0, 1 + u64::from(width + quotient_bits) % 7] {
                let shape = shape_with(quotient_bits, width, seed).with_limits(3, spill).unwrap();
                drive::<Plain>(shape, u64::from(width), 40);
                drive::<Extended>(shape, u64::from(width) + 100, 40);
                drive::<Coded>(shape, u64::from(width) + 200, 20);
            }
        }
    }
}

#[test]
fn random_edits_agree_with_the_model_for_every_offset_limit() {
    let mut refused = 0;
    for seed in 0..40 {
        for offset_max in [1, 2, 3, 20, 63, 64, 65, 255] {
            for quotient_bits in [1, 3, 6, 7, 9] {
                let shape = shape_with(quotient_bits, 5, seed).with_limits(offset_max, 40).unwrap();
                refused += drive::<Plain>(shape, seed, 60);
                refused += drive::<Extended>(shape, seed, 60);
            }
        }
    }
    assert!(refused > 1000, "full tables were hardly tested: {refused}");
}

#[test]
fn long_histories_fill_tables_to_the_last_slot() {
    for seed in 0..8 {
        let shape = shape_with(8, 4, seed).with_limits(7, 90).unwrap();
        drive::<Plain>(shape, seed, 1500);
        drive::<Extended>(shape, seed, 1500);
        drive::<Coded>(shape, seed, 500);
    }
}

/// One head more in a sorted run, or one less, through the shortcuts of `quick.rs`: `false` if they leave
/// it to others.
struct Quick<'a, L> {
    table: &'a mut Table<Memory, L>,
    quotient: u64,
    value: u64,
    insert: bool,
}

impl<L: Layout> Kernel for Quick<'_, L> {
    type Output = bool;
    #[inline(always)]
    fn run<C: Cpu>(self, cpu: C) -> bool {
        let Self { table, quotient, value, insert } = self;
        let home = Home::of(quotient);
        let glance = table.glance(cpu, quotient);
        // A look has the same answer, where a run is.
        let looked_at = table.look_at(cpu, home);
        assert_eq!(glance.is_some(), looked_at.is_some());
        if let (Some(one), Some(other)) = (glance, looked_at) {
            assert_eq!(one.len, other.len);
            assert!(one.len == 0 || (one.start, one.slots) == (other.start, other.slots));
        }
        if let Some(glance) = &glance {
            Self::check(cpu, table, quotient, glance, value);
        }
        if insert {
            let has_room = glance.is_some_and(|glance| table.has_room_at_glance(&glance));
            let rank = |table: &Table<Memory, L>, glance: &Glance| Some(table.rank_at_glance(glance, value));
            assert_eq!(table.insert_at_glance(cpu, home, value, rank), has_room);
            return has_room;
        }
        let Some(glance) = glance else { return false };
        let rank = table.rank_at_glance(&glance, value);
        table.count_at_glance(&glance, value) > 0 && table.remove_at_glance(cpu, &glance, rank)
    }
}

impl<L: Layout> Quick<'_, L> {
    /// What a glance finds is what is there.
    #[inline(always)]
    fn check<C: Cpu>(cpu: C, table: &Table<Memory, L>, quotient: u64, glance: &Glance, value: u64) {
        assert_eq!(table.find_at_glance(glance, value, 0) > 0, table.count_at_glance(glance, value) > 0);
        // A part of each slot only.
        let first = table.run(cpu, quotient).start;
        for ignored in 1..table.shape.slot_bits().min(8) {
            let part = value >> ignored << ignored;
            let found = table.find_at_glance(glance, part, low_mask(ignored));
            let rank =
                (0..u64::from(glance.len())).find(|i| table.slot(first + i) >> ignored == value >> ignored);
            let bit = rank.map_or(0, |rank| 1 << ((rank as u32 + 1) * table.shape.slot_bits() - 1));
            assert_eq!(found, bit, "{ignored} bits ignored");
        }
    }
}

#[test]
fn a_quick_edit_is_the_planned_one_or_none() {
    quick_or_planned::<Plain>();
}

/// What reaches over many blocks is for `plan`, which knows limits.
#[test]
fn a_quick_edit_does_not_reach_far() {
    for (blocks, is_quick) in [(10, true), (20, false)] {
        let shape = Shape::new(12, 5);
        let mut model = Model::new(shape);
        (64..64 * blocks).for_each(|quotient| model.runs[quotient].push(vec![Slot::head(7)]));
        let mut table = model.load::<Plain>().unwrap();
        let before = table.bytes().to_vec();
        let done = dispatch(Quick { table: &mut table, quotient: 70, value: 9, insert: true });
        assert_eq!(done, is_quick, "{blocks} blocks");
        assert_eq!(table.bytes() == before, !is_quick);
    }
}

/// Nothing but the bit of its last slot tells then that a block has no room.
#[test]
fn a_block_that_one_run_fills_is_full() {
    fn check<L: Layout>(shape: Shape, new: usize) {
        let mut model = Model::new(shape);
        model.runs[100] = (0..shape.block_slots()).map(|value| vec![Slot::head(value)]).collect();
        let mut table = model.load::<L>().unwrap();
        let done = dispatch(Quick { table: &mut table, quotient: new as u64, value: 7, insert: true });
        if done {
            model.runs[new].push(vec![Slot::head(7)]);
        }
        assert!(table.bytes() == model.load::<L>().unwrap().bytes(), "{shape:?}, {new}: {done}");
    }
    for (seed, new) in (0..8).flat_map(|seed| [64, 99, 101, 127].map(|new| (seed, new))) {
        for width in [7, 9, 10, 30] {
            check::<Plain>(shape_with(8, width, seed), new);
            check::<Extended>(shape_with(8, width, seed), new);
        }
    }
}

#[test]
fn a_quick_edit_among_extensions_is_the_planned_one_or_none() {
    quick_or_planned::<Extended>();
    quick_or_planned::<Coded>();
}

fn quick_or_planned<L: Layout>() {
    let (mut quick, mut declined) = (0, 0);
    for seed in 0..80u64 {
        for width in [1, 2, 5, 9, 19, 20, 28, 29, 57, 58, 64] {
            let mut random = Random(seed * 100 + u64::from(width));
            let limits = [(255, 64), (3, 30), (1, 5), (64, 7)][seed as usize % 4];
            let shape =
                shape_with(2 + seed as u32 % 8, width, seed / 2).with_limits(limits.0, limits.1).unwrap();
            let mask = low_mask(width) & if seed % 2 == 0 { 7 } else { u64::MAX };
            let mut model = Model::new(shape);
            let mut table = Table::<Memory, L>::new(shape).unwrap();
            let crowd = 1 + random.below(shape.quotients());
            for step in 0..300 {
                let quotient = shape.quotients() - 1 - random.below(crowd) * random.below(4).min(1);
                let value = random.next() & mask;
                let insert = random.below(10) < 6;
                let run = &mut model.runs[quotient as usize];
                let place = run.partition_point(|entry| entry[0].value < value);
                if !insert && run.get(place).is_none_or(|entry| entry[0].value != value) {
                    continue;
                }
                let before = table.bytes().to_vec();
                // Now and then an entry of several slots, which is nothing for a quick edit.
                let extensions = if L::EXTENDED && random.below(8) == 0 { 1 + random.below(2) } else { 0 };
                let kinds = [Kind::Continuation, Kind::Payload];
                let extension = |i: u64| Slot { kind: kinds[(step + i) as usize % 2], value: i & mask };
                let entry: Vec<Slot> =
                    std::iter::once(Slot::head(value)).chain((0..extensions).map(extension)).collect();
                let plain = if insert { extensions == 0 } else { run[place].len() == 1 };
                let done = plain && dispatch(Quick { table: &mut table, quotient, value, insert });
                let old = run.clone();
                let at = run[..place].iter().map(|entry| entry.len() as u64).sum();
                let removed = if insert { 0 } else { run[place].len() as u64 };
                if insert {
                    run.insert(place, entry.clone());
                } else {
                    run.remove(place);
                }
                let context = format!("{shape:?} seed {seed} step {step}");
                if done {
                    quick += 1;
                } else {
                    declined += 1;
                    assert!(table.bytes() == before, "{context}: declined, but changed something");
                    let slots: &[Slot] = if insert { &entry } else { &[] };
                    let planned = Replace { table: &mut table, quotient, at, remove: removed, slots };
                    if dispatch(planned).is_err() {
                        model.runs[quotient as usize] = old;
                    }
                }
                compare(&table, &model, &context);
            }
        }
    }
    assert!(quick > 20_000 && declined > 2_000, "{quick} quick, {declined} declined");
}

/// Inserts a continuation.
struct Continue<'a, L> {
    table: &'a mut Table<Memory, L>,
    quotient: u64,
    at: u64,
    value: u64,
}

impl<L: Layout> Kernel for Continue<'_, L> {
    type Output = Result<(), Full>;
    #[inline(always)]
    fn run<C: Cpu>(self, cpu: C) -> Self::Output {
        let Self { table, quotient, at, value } = self;
        let run = table.run(cpu, quotient);
        table.insert_continuation(cpu, quotient, run, run.start + at, value, Limits::NONE)
    }
}

/// Entries come in the order of their quotients, forwards or backwards, and more of them than there are slots: what
/// the table remembers of a crowd must be true after other edits in between, and when the spill area gets larger.
#[test]
fn crowds_in_order_agree_with_the_model() {
    let (mut remembered, mut extended) = (0, 0);
    for seed in 0..120u64 {
        let (known, more) =
            if seed % 3 > 0 { crowd_in_order::<Extended>(seed) } else { crowd_in_order::<Plain>(seed) };
        (remembered, extended) = (remembered + known, extended + more);
    }
    assert!(remembered > 10_000 && extended > 50, "{remembered} {extended}");
}

/// How often the table remembered a crowd, and how often it got a larger spill area.
fn crowd_in_order<L: Layout>(seed: u64) -> (u64, u64) {
    let (mut remembered, mut extended) = (0, 0);
    let mut random = Random(seed);
    let (offset_max, spill) = [(1, 5), (3, 30), (20, 64), (255, 64)][seed as usize % 4];
    let shape = shape_with(7 + seed as u32 % 3, 5, seed / 3).with_limits(offset_max, spill).unwrap();
    let mut model = Model::new(shape);
    let mut table = Table::<Memory, L>::new(shape).unwrap();
    let (others, crowd) = (random.below(12), 2 + random.below(6));
    let quotients = shape.quotients();
    for step in 0..3 * quotients / 2 {
        let context = format!("{shape:?} seed {seed} step {step}");
        let in_order = (step / crowd).min(quotients - 1);
        let in_order = if seed.is_multiple_of(5) { quotients - 1 - in_order } else { in_order };
        let elsewhere = random.below(100) < others;
        let quotient = if elsewhere { random.below(quotients) } else { in_order };
        let run = &mut model.runs[quotient as usize];
        let len = |entries: &[Entry]| entries.iter().map(|entry| entry.len() as u64).sum::<u64>();
        let place = if elsewhere { random.below(run.len() as u64 + 1) as usize } else { run.len() };
        let what = random.below(20);
        let outcome = if what == 0 && elsewhere && place < run.len() {
            let (at, remove) = (len(&run[..place]), run.remove(place).len() as u64);
            dispatch(Replace { table: &mut table, quotient, at, remove, slots: &[] })
        } else if what < 6 && L::EXTENDED && place > 0 {
            run[place - 1].insert(1, Slot { kind: Kind::Continuation, value: 7 });
            let at = len(&run[..place - 1]) + 1;
            dispatch(Continue { table: &mut table, quotient, at, value: 7 })
        } else {
            run.insert(place, vec![Slot::head(step & 31)]);
            let at = len(&run[..place]);
            dispatch(Replace { table: &mut table, quotient, at, remove: 0, slots: &[Slot::head(step & 31)] })
        };
        remembered += u64::from(table.crowd.is_known());
        if let Err(why) = outcome {
            assert_eq!(why, Full::End { slots: 1 }, "{context}");
            // The same edit in a table with more room.
            table = table.extended(1).unwrap();
            model.shape = *table.shape();
            table = model.load().unwrap();
            extended += 1;
        }
        if step % 7 == 0 || elsewhere {
            compare(&table, &model, &context);
        }
    }
    compare(&table, &model, &format!("{shape:?} seed {seed}"));
    (remembered, extended)
}

#[test]
fn a_loader_makes_room_at_the_end_if_it_may() {
    let shape = Shape::new(7, 5).with_limits(3, 10).unwrap();
    let entries: Vec<(u64, u64)> = (0..120).map(|i| (100 + i / 5, i % 32)).collect();
    let load = |mut loader: Loader| {
        entries.iter().try_for_each(|&(quotient, value)| loader.push_head(quotient, value))?;
        Ok::<Table, NoRoom>(loader.finish())
    };
    let new = || Loader::new(shape, 122).unwrap();
    assert!(matches!(load(new()), Err(NoRoom)));
    assert!(matches!(load(new().extending(50)), Err(NoRoom)), "more bytes than allowed");
    let table = load(new().extending(u64::MAX)).unwrap();
    table.validate().unwrap();
    assert_eq!(table.used(), 120);
    let found: Vec<(u64, u64)> = table
        .runs()
        .flat_map(|(quotient, run)| (run.start..run.end).map(move |slot| (quotient, slot)))
        .map(|(quotient, slot)| (quotient, table.slot(slot)))
        .collect();
    assert_eq!(found, entries);
    // Another size has the usual spill area again.
    assert_eq!(table.shape().resized(8, 5).spill_slots(), 10);
}

#[test]
#[should_panic(expected = "out of order")]
fn a_loader_refuses_quotients_out_of_order() {
    let mut loader = Loader::<Plain>::new(Shape::new(7, 5), 100).unwrap();
    for quotient in [3, 9, 8] {
        loader.push_head(quotient, 1).unwrap();
    }
    loader.finish();
}

#[test]
fn quick_edits_reach_across_many_blocks() {
    // One cluster over five blocks, every run a few slots after its home: what is removed or inserted at
    // its front moves all of it.
    for width in [3, 9, 14] {
        let shape = Shape::new(9, width);
        let mut model = Model::new(shape);
        for quotient in 0..300 {
            let heads = if quotient < 8 { 2 } else { 1 };
            model.runs[quotient] = (1..=heads).map(|value| vec![Slot::head(value)]).collect();
        }
        let mut table = model.load::<Plain>().unwrap();
        for insert in [false, true] {
            for quotient in 0..8 {
                let done = dispatch(Quick { table: &mut table, quotient, value: 2, insert });
                assert!(done, "width {width} quotient {quotient} insert {insert}: declined");
                let run = &mut model.runs[quotient as usize];
                if insert {
                    run.push(vec![Slot::head(2)])
                } else {
                    drop(run.pop())
                }
                compare(&table, &model, &format!("width {width} quotient {quotient} insert {insert}"));
            }
        }
    }
}

#[test]
fn a_shrinking_cluster_updates_every_block_it_covered() {
    // One run that spills over several blocks, then shrinks from its front.
    for offset_max in [1, 3, 64, 255] {
        let shape = Shape::new(9, 3).with_limits(offset_max, 64).unwrap();
        let mut model = Model::new(shape);
        for (quotient, count) in [(0, 250), (3, 1), (70, 2), (130, 3), (251, 1), (300, 1)] {
            model.runs[quotient] = (0..count).map(|i| vec![Slot::head(i % 8)]).collect();
        }
        let mut table = model.load::<Plain>().unwrap();
        for step in 0..250 {
            model.runs[0].remove(0);
            dispatch(Replace { table: &mut table, quotient: 0, at: 0, remove: 1, slots: &[] }).unwrap();
            compare(&table, &model, &format!("offset_max {offset_max} step {step}"));
        }
    }
}

#[test]
fn all_short_histories_of_a_tiny_table() {
    // Every sequence of up to 6 single-slot inserts and removals over 4 quotients, with 2 spill slots.
    let shape = Shape::new(2, 1).with_limits(1, 2).unwrap();
    let mut histories: Vec<(Table, Model)> = vec![(Table::new(shape).unwrap(), Model::new(shape))];
    for depth in 0..6 {
        let mut next = Vec::new();
        for (table, model) in &histories {
            for quotient in 0..4usize {
                for insert in [true, false] {
                    let mut table = table.try_clone().unwrap();
                    let mut runs = model.runs.clone();
                    let slot = [Slot::head(depth & 1)];
                    let outcome = if insert {
                        runs[quotient].insert(0, slot.to_vec());
                        dispatch(Replace {
                            table: &mut table,
                            quotient: quotient as u64,
                            at: 0,
                            remove: 0,
                            slots: &slot,
                        })
                    } else if runs[quotient].is_empty() {
                        continue;
                    } else {
                        runs[quotient].remove(0);
                        dispatch(Replace {
                            table: &mut table,
                            quotient: quotient as u64,
                            at: 0,
                            remove: 1,
                            slots: &[],
                        })
                    };
                    let new = Model { shape, runs };
                    assert_eq!(outcome.is_err(), new.load::<Plain>().is_err());
                    if outcome.is_ok() {
                        compare(&table, &new, "exhaustive");
                        next.push((table, new));
                    }
                }
            }
        }
        histories = next;
    }
    assert!(histories.len() > 10_000, "{}", histories.len());
}

#[test]
fn validate_notices_every_flipped_metadata_bit() {
    for seed in 0..8 {
        notices_flipped_bits::<Plain>(seed);
        notices_flipped_bits::<Extended>(seed);
    }
}

fn notices_flipped_bits<L: Layout>(seed: u64) {
    let shape = shape_with(7, 5, seed).with_layout::<L>();
    let mut random = Random(5);
    let mut model = Model::new(shape);
    while model.load::<L>().unwrap().used() < shape.slots() / 2 {
        let quotient = random.below(64) as usize;
        model.runs[quotient].push(random_entry::<L>(&mut random, &shape));
    }
    let table = model.load::<L>().unwrap();
    for block in 0..shape.blocks() {
        // Offset, occupied and run ends. A flipped extension bit can be another valid table.
        for byte in 0..EXTENSION_AT {
            for i in 0..8 {
                // A continuation and a payload slot differ by their run end bit alone.
                let extension =
                    byte >= RUNEND_AT && bit(table.extension(block), (byte - RUNEND_AT) as u32 * 8 + i);
                let mut bytes = table.bytes().to_vec();
                bytes[shape.block_at(block) + byte] ^= 1 << i;
                let flipped = Table::<_, L>::from_bytes(bytes, shape, table.used()).unwrap();
                assert_eq!(flipped.validate().is_err(), !extension, "block {block} byte {byte} bit {i}");
            }
        }
    }
    let free = (0..shape.total_slots()).rev().find(|&slot| table.slot(slot) == 0).unwrap();
    let mut bytes = table.bytes().to_vec();
    bytes[shape.slot_bit(free) / 8] ^= 1 << (shape.slot_bit(free) % 8);
    assert!(Table::<_, L>::from_bytes(bytes, shape, table.used()).unwrap().validate().is_err());
    let bytes = table.bytes().to_vec();
    assert!(Table::<_, L>::from_bytes(bytes, shape, table.used() + 1).unwrap().validate().is_err());
}

#[test]
fn reading_arbitrary_bytes_ends() {
    read_arbitrary_bytes::<Plain>();
    read_arbitrary_bytes::<Extended>();
}

fn read_arbitrary_bytes<L: Layout>() {
    let mut random = Random(11);
    for round in 0..200 {
        let shape = shape_with(7, 1 + (round % 20), u64::from(round) / 3)
            .with_limits([1, 3, 255][round as usize % 3], 10)
            .unwrap();
        let shape = shape.with_layout::<L>();
        let dense = random.below(3);
        let bytes: Vec<u8> = (0..shape.body_bytes().unwrap())
            .map(|_| {
                (random.next() & if dense == 0 { random.next() & random.next() } else { u64::MAX }) as u8
            })
            .collect();
        let table = Table::<_, L>::from_bytes(bytes, shape, random.next()).unwrap();
        assert!(table.validate().is_err());
        for quotient in 0..shape.quotients() {
            let run = dispatch(FindRun(&table, quotient));
            assert!(run.start <= run.end && run.end <= shape.first_slot(shape.blocks()));
            let run = table.run(Portable, quotient);
            assert!(run.start <= run.end && run.end <= shape.first_slot(shape.blocks()));
        }
        assert!(table.runs().count() as u64 <= shape.quotients());
        assert!(read_in_stretches(&table).len() as u64 <= shape.blocks() * 64);
    }
}

#[test]
fn a_table_of_another_layout_is_refused() {
    let shape = Shape::new(7, 5).with_layout::<Extended>();
    let bytes = vec![0; shape.body_bytes().unwrap()];
    assert!(Table::<_, Extended>::from_bytes(bytes.as_slice(), shape, 0).is_some());
    assert!(Table::<_, Plain>::from_bytes(bytes.as_slice(), shape, 0).is_none());
    // Not even if there are as many bytes.
    let same_size = Shape::new(7, 6);
    assert_eq!(same_size.body_bytes(), shape.body_bytes());
    assert!(Table::<_, Extended>::from_bytes(bytes.as_slice(), same_size, 0).is_none());
}

/// Whatever is shifted, the words of a filter's own stay where they are.
#[test]
fn edits_leave_the_words_of_a_filter_alone() {
    let mut random = Random(3);
    let mut table = Table::<Memory, Coded>::new(Shape::new(8, 5)).unwrap();
    let own_at = Coded::BYTES - 8;
    for block in 0..table.shape().blocks() {
        table.set_word(block, own_at, block << 56 | 0x1234_5678);
    }
    for _ in 0..2_000 {
        let quotient = random.below(256);
        let run = dispatch(FindRun(&table, quotient));
        let (len, slots) = (run.end - run.start, random_entry::<Coded>(&mut random, &table.shape));
        let first_of_run = |at: u64| at < len && table.kind(run.start + at) != Kind::Head;
        // A whole entry is removed, or one is inserted.
        let remove = if len > 3 { 1 + (1..len).take_while(|&at| first_of_run(at)).count() as u64 } else { 0 };
        let slots = if remove > 0 { &[][..] } else { &slots };
        let _ = dispatch(Replace { table: &mut table, quotient, at: 0, remove, slots });
    }
    table.validate().unwrap();
    assert!(table.used() > 200);
    for block in 0..table.shape().blocks() {
        assert_eq!(table.word(block, own_at), block << 56 | 0x1234_5678);
    }
}
