//! Every operation of one filter against the yardstick, in one process.
//!
//! Tables live as long as their operation needs them and no longer: the pair that was filled is queried,
//! then removed from, then dropped, before the next pair is made. Merging is the exception: each side has
//! two sources, so four tables and a copy are alive.

use std::hint::black_box;
use std::ops::{Deref, DerefMut};
use std::sync::Barrier;

use twiceshy_testkit::scatter;

use crate::adapters::{Contender, Kind, YARDSTICK};
use crate::clock;
use crate::op::Op;
use crate::pages::{self, Cushion};
use crate::pair::{Pair, Side, Turn, summarise, take_turns};
use crate::plan::{Hash, Plan, RANGE};
use crate::report::{HugePages, Row};
use crate::stats::percentile;

/// A pair of tables. Unused memory lies before, between and after them: see [`Cushion`].
struct Tables {
    pair: Pair<Box<dyn Contender>>,
    /// How many bytes lay in huge pages as soon as they were made. Most tables are not touched until then.
    huge: Pair<u64>,
    _cushions: [Cushion; 3],
}

impl Tables {
    fn new(
        ours: impl FnOnce() -> Option<Box<dyn Contender>>,
        theirs: impl FnOnce() -> Option<Box<dyn Contender>>,
    ) -> Option<Self> {
        let before = Cushion::new();
        let (ours, huge_ours) = pages::huge_bytes_of(ours);
        let between = Cushion::new();
        let (theirs, huge_theirs) = pages::huge_bytes_of(theirs);
        let (ours, theirs) = (ours?, theirs?);
        let huge = Pair { ours: huge_ours, theirs: huge_theirs };
        let after = Cushion::new();
        Some(Self { pair: Pair { ours, theirs }, huge, _cushions: [before, between, after] })
    }
}

impl Deref for Tables {
    type Target = Pair<Box<dyn Contender>>;
    fn deref(&self) -> &Self::Target {
        &self.pair
    }
}

impl DerefMut for Tables {
    fn deref_mut(&mut self) -> &mut Self::Target {
        &mut self.pair
    }
}

/// What is asked for.
pub(crate) struct Wish<'a> {
    pub(crate) kind: &'static dyn Kind,
    pub(crate) plan: &'a Plan,
    pub(crate) hashes: &'a [Hash],
    pub(crate) ops: &'a [Op],
}

/// What one process found out.
#[derive(Default)]
pub(crate) struct Findings {
    pub(crate) rows: Vec<Row>,
    pub(crate) huge: Vec<HugePages>,
}

/// Measures all that is asked for, except growth, which needs a process of its own.
pub(crate) fn measure(wish: &Wish<'_>) -> Findings {
    let mut findings = Findings::default();
    for &hash in wish.kind.hashes().iter().filter(|hash| wish.hashes.contains(hash)) {
        let mut session = Session::new(wish, hash);
        session.filled_tables();
        session.single_inserts();
        session.bulk_load();
        session.build_unsorted();
        session.merge();
        session.growth();
        session.hash_only();
        session.rows.sort_by_key(|row| row.op);
        findings.rows.append(&mut session.rows);
        findings.huge.extend(session.huge);
    }
    findings
}

/// One filter, one way of hashing.
struct Session<'a> {
    wish: &'a Wish<'a>,
    plan: &'a Plan,
    hash: Hash,
    kinds: Pair<&'static dyn Kind>,
    /// The items to insert, as each side takes them.
    items: Pair<Vec<u64>>,
    /// Of the filled table, once there was one.
    bits_per_item: Option<f64>,
    error_rate: Option<f64>,
    rows: Vec<Row>,
    huge: Option<HugePages>,
}

impl<'a> Session<'a> {
    fn new(wish: &'a Wish<'a>, hash: Hash) -> Self {
        let kinds = Pair { ours: wish.kind, theirs: YARDSTICK };
        let plan = wish.plan;
        let items = kinds.map(|kind| {
            let numbers = 0..plan.items() as u64;
            prepared(kind, plan, hash, numbers.map(|number| plan.present(hash, number)))
        });
        let (bits_per_item, error_rate, rows, huge) = (None, None, Vec::new(), None);
        Self { wish, plan, hash, kinds, items, bits_per_item, error_rate, rows, huge }
    }

    fn wants(&self, ops: &[Op]) -> bool {
        self.wish.ops.iter().any(|op| ops.contains(op))
    }

    /// Adds the row of a speed.
    fn push_speed(&mut self, op: Op, turns: &[Pair<Turn>]) {
        if let Some(summary) = summarise(turns) {
            let row = Row {
                mops: Some(summary.mops.ours),
                mops_yardstick: Some(summary.mops.theirs),
                ratio: Some(summary.ratio),
                ratio_p10: Some(summary.ratio_p10),
                ratio_p90: Some(summary.ratio_p90),
                ..self.row(op)
            };
            self.push(row);
        }
    }

    fn push(&mut self, row: Row) {
        if self.wants(&[row.op]) {
            self.rows.push(row);
        }
    }

    fn row(&self, op: Op) -> Row {
        Row {
            bits_per_item: self.bits_per_item,
            error_rate: self.error_rate,
            ..empty_row(self.wish.kind, self.plan, self.hash, op)
        }
    }

    /// Empty tables of both sides, if the filter can be filled item by item.
    fn empty_tables(&self) -> Option<Tables> {
        let [ours, theirs] =
            [self.kinds.ours, self.kinds.theirs].map(|kind| || kind.empty(self.plan, self.hash));
        Tables::new(ours, theirs)
    }

    /// Fills a pair of tables and does everything that needs a filled pair.
    fn filled_tables(&mut self) {
        use Op::{ContainsAbsent, ContainsAbsentTwoThreads, ContainsBatchAbsent, ContainsBatchPresent};
        use Op::{
            ContainsPresent, Insert, InsertLastTenth, RangeAbsent, RangeAbsentCorrelated, RangeBatchAbsent,
            Remove,
        };
        let inserts = [Insert, InsertLastTenth];
        let others = [
            ContainsAbsent,
            ContainsPresent,
            ContainsBatchAbsent,
            ContainsBatchPresent,
            ContainsAbsentTwoThreads,
            RangeAbsent,
            RangeAbsentCorrelated,
            RangeBatchAbsent,
            Remove,
        ];
        if !self.wants(&inserts) && !self.wants(&others) {
            return;
        }
        let (mut tables, turns) = self.fill();
        let items = self.plan.items() as f64;
        self.bits_per_item = Some(tables.ours.bytes() as f64 * 8.0 / items);

        let chunks = self.plan.query_chunks();
        let queries = (chunks + 1) * self.plan.query_chunk();
        let absent = (0..queries as u64).map(|number| self.plan.absent(number));
        let absent = self.queries(absent);
        // The error rate first, because every row has it.
        let found = tables.ours.contains_all(&absent.ours);
        self.error_rate = Some(found as f64 / queries as f64);

        self.push_fill(&turns);
        if self.wants(&others) {
            self.contains(&tables, &absent, [ContainsAbsent, ContainsBatchAbsent]);
            self.two_threads(&tables, &absent);
            self.ranges(&tables, &absent);
            drop(absent);
            let items = self.plan.items() as u64;
            let chosen = |number| scatter(number ^ !self.plan.seed) % items;
            let present =
                self.queries((0..queries as u64).map(|number| self.plan.present(self.hash, chosen(number))));
            self.contains(&tables, &present, [ContainsPresent, ContainsBatchPresent]);
            self.remove(&mut tables);
        }
    }

    /// Queries as each side takes them.
    fn queries(&self, items: impl Iterator<Item = u64> + Clone) -> Pair<Vec<u64>> {
        self.kinds.map(|kind| prepared(kind, self.plan, self.hash, items.clone()))
    }

    /// A filled pair, and the turns of each time it was filled. Static filters are built, so they have no
    /// turns.
    fn fill(&mut self) -> (Tables, Vec<Vec<Pair<Turn>>>) {
        let Some(mut tables) = self.empty_tables() else {
            let (plan, hash) = (self.plan, self.hash);
            let [ours, theirs] = [Side::Ours, Side::Theirs].map(|side| {
                let items = self.items.get(side).clone();
                let kind = *self.kinds.get(side);
                move || Some(kind.build(plan, hash, 0, items))
            });
            return (Tables::new(ours, theirs).expect("they can be built"), Vec::new());
        };
        let chunks = self.plan.fill_chunks();
        let mut fills = Vec::new();
        let mut huge = tables.huge;
        for number in 0..self.plan.fills() {
            if number > 0 {
                drop(tables);
                tables = self.empty_tables().expect("as before");
            }
            let items = &self.items;
            fills.push(take_turns(chunks, |side, chunk| {
                let table = tables.get_mut(side);
                let items = nth_chunk(items.get(side), chunk, chunks + 1);
                let mut insert = || clock::time(|| table.insert_all(items)).0;
                let seconds = if (number, chunk) == (0, 0) {
                    // Items are random, so the first chunk touches nearly every huge page.
                    let (seconds, more) = pages::huge_bytes_of(insert);
                    *huge.get_mut(side) += more;
                    seconds
                } else {
                    insert()
                };
                Turn { operations: items.len() as u64, seconds }
            }));
        }
        self.huge = Some(HugePages {
            filter: self.wish.kind.name().to_owned(),
            hash: self.hash,
            bytes: tables.ours.bytes() as u64,
            huge_bytes: huge.ours,
            bytes_yardstick: tables.theirs.bytes() as u64,
            huge_bytes_yardstick: huge.theirs,
        });
        (tables, fills)
    }

    fn push_fill(&mut self, fills: &[Vec<Pair<Turn>>]) {
        let last_tenth = |fill: &Vec<Pair<Turn>>| fill[fill.len() - self.plan.fill_chunks() / 10..].to_vec();
        let last_tenths: Vec<_> = fills.iter().flat_map(last_tenth).collect();
        self.push_speed(Op::Insert, &fills.concat());
        self.push_speed(Op::InsertLastTenth, &last_tenths);
    }

    /// Queries one by one and as batches.
    fn contains(&mut self, tables: &Tables, queries: &Pair<Vec<u64>>, [single, batch]: [Op; 2]) {
        let chunks = self.plan.query_chunks();
        let mut found = vec![false; self.plan.query_chunk()];
        for (op, in_batches) in [(single, false), (batch, true)] {
            if !self.wants(&[op]) || in_batches && !tables.ours.batches() {
                continue;
            }
            let mut hits = Pair::<u64>::default();
            let turns = take_turns(chunks, |side, chunk| {
                let (table, queries) = (tables.get(side), nth_chunk(queries.get(side), chunk, chunks + 1));
                let (seconds, hit) = clock::time(|| {
                    if in_batches && table.batches() {
                        table.contains_batch(queries, &mut found)
                    } else {
                        table.contains_all(queries)
                    }
                });
                *hits.get_mut(side) += hit;
                Turn { operations: queries.len() as u64, seconds }
            });
            self.check(op, hits, queries.ours.len() as u64);
            self.push_speed(op, &turns);
        }
    }

    /// Ranges without a key, anywhere and next to keys, one by one and as batches. Each row has the error rate of its own
    /// queries.
    fn ranges(&mut self, tables: &Tables, absent: &Pair<Vec<u64>>) {
        if !tables.ours.ranges() {
            return;
        }
        let (chunks, of_points) = (self.plan.query_chunks(), self.error_rate);
        let starts =
            |start: &dyn Fn(u64) -> u64| -> Vec<u64> { (0..absent.ours.len() as u64).map(start).collect() };
        let anywhere = starts(&|number| self.plan.absent(number).min(u64::MAX - RANGE));
        let after_keys = starts(&|number| self.plan.after_a_key(number));
        let mut found = vec![false; self.plan.query_chunk()];
        for (op, starts, in_batches) in [
            (Op::RangeAbsent, &anywhere, false),
            (Op::RangeAbsentCorrelated, &after_keys, false),
            (Op::RangeBatchAbsent, &anywhere, true),
        ] {
            if !self.wants(&[op]) {
                continue;
            }
            let mut mistakes = 0;
            let turns = take_turns(chunks, |side, chunk| {
                let (table, starts) = (tables.get(side), nth_chunk(starts, chunk, chunks + 1));
                let (seconds, hit) = clock::time(|| match in_batches {
                    true => table.contains_range_batch(starts, &mut found),
                    false => table.contains_ranges(starts),
                });
                mistakes += if side == Side::Ours { hit } else { 0 };
                Turn { operations: starts.len() as u64, seconds }
            });
            self.error_rate = Some(mistakes as f64 / starts.len() as f64);
            self.push_speed(op, &turns);
        }
        self.error_rate = of_points;
    }

    /// Stops if an answer is wrong: the speed of wrong answers is of no interest.
    fn check(&self, op: Op, hits: Pair<u64>, queries: u64) {
        let (name, op_name) = (self.kinds.ours.name(), op.name());
        if matches!(op, Op::ContainsPresent | Op::ContainsBatchPresent | Op::Remove) {
            let reliable = !self.kinds.ours.is_reliable() || hits.ours == queries;
            assert!(reliable, "{name} lost items: {op_name} found {} of {queries}", hits.ours);
            assert_eq!(hits.theirs, queries, "the yardstick lost items in {op_name}");
        } else if self.hash == Hash::Raw && self.kinds.ours.agrees_with_yardstick() {
            assert_eq!(hits.ours, hits.theirs, "{name} and the yardstick disagree in {op_name}");
        }
    }

    /// Two threads read the same table. A turn takes as long as the slower of them.
    fn two_threads(&mut self, tables: &Tables, queries: &Pair<Vec<u64>>) {
        let op = Op::ContainsAbsentTwoThreads;
        if !self.wants(&[op]) {
            return;
        }
        let chunks = self.plan.query_chunks() / 2;
        let turns = take_turns(chunks, |side, chunk| {
            let (table, queries) = (tables.get(side), nth_chunk(queries.get(side), chunk, chunks + 1));
            let barrier = Barrier::new(2);
            let read = |queries: &[u64]| {
                barrier.wait();
                clock::time(|| black_box(table.contains_all(queries))).0
            };
            let (first, second) = queries.split_at(queries.len() / 2);
            let seconds = std::thread::scope(|scope| {
                let other = scope.spawn(|| read(second));
                read(first).max(other.join().expect("the reader does not panic"))
            });
            Turn { operations: queries.len() as u64, seconds }
        });
        self.push_speed(op, &turns);
    }

    /// Removes chunks of what was inserted. Each is inserted again, off the clock, so that the load stays.
    fn remove(&mut self, tables: &mut Tables) {
        if !self.wants(&[Op::Remove]) || !tables.ours.removes() {
            return;
        }
        let (chunks, length) = (self.plan.query_chunks(), self.plan.remove_chunk());
        let items = &self.items;
        let (mut hits, mut removals) = (Pair::<u64>::default(), 0);
        let turns = take_turns(chunks, |side, chunk| {
            let items = items.get(side);
            let start = chunk * length % (items.len() - length + 1);
            let (table, chunk) = (tables.get_mut(side), &items[start..][..length]);
            let (seconds, removed) = clock::time(|| table.remove_all(chunk));
            table.insert_all(chunk);
            *hits.get_mut(side) += removed;
            removals += u64::from(side == Side::Ours) * length as u64;
            Turn { operations: length as u64, seconds }
        });
        self.check(Op::Remove, hits, removals);
        self.push_speed(Op::Remove, &turns);
    }

    /// The slowest of single inserts near the end of a fill.
    fn single_inserts(&mut self) {
        let op = Op::P999InsertNs;
        if !self.wants(&[op]) {
            return;
        }
        let Some(mut tables) = self.empty_tables() else { return };
        let (count, chunks) = (self.plan.items(), 16);
        let start = count - count / 10;
        for side in [Side::Ours, Side::Theirs] {
            tables.get_mut(side).insert_all(&self.items.get(side)[..start]);
        }
        let mut nanos = Pair { ours: Vec::with_capacity(count), theirs: Vec::with_capacity(count) };
        take_turns(chunks, |side, chunk| {
            let items = nth_chunk(&self.items.get(side)[start..], chunk, chunks + 1);
            tables.get_mut(side).insert_each(items, nanos.get_mut(side));
            Turn { operations: items.len() as u64, seconds: 1.0 }
        });
        let slowest = nanos.map(|nanos| percentile(&nanos, 0.999).unwrap_or(0.0));
        let row = value_row(self.row(op), slowest, "ns");
        self.push(row);
    }

    /// Whole tables from sorted hashes.
    fn bulk_load(&mut self) {
        let op = Op::BulkLoad;
        // Filters that take raw hashes are loaded with these, others with keys; the yardstick always has hashes.
        if !self.wants(&[op]) || self.hash != self.kinds.ours.hashes()[0] {
            return;
        }
        let count = self.plan.items() as u64;
        let hashes = (0..count).map(|number| self.plan.present(Hash::Raw, number));
        let theirs = prepared(self.kinds.theirs, self.plan, Hash::Raw, hashes);
        let mut sorted = Pair { ours: self.items.ours.clone(), theirs };
        self.kinds.ours.sort_for_load(self.plan, &mut sorted.ours);
        self.kinds.theirs.sort_for_load(self.plan, &mut sorted.theirs);
        // A table of one item tells whether there is such a way at all.
        if self.kinds.ours.load_sorted(self.plan, &sorted.ours[..1]).is_none() {
            return;
        }
        let turns = take_turns(self.plan.builds(), |side, _| {
            let (kind, sorted) = (self.kinds.get(side), sorted.get(side));
            let (seconds, _table) = clock::time(|| kind.load_sorted(self.plan, sorted));
            Turn { operations: sorted.len() as u64, seconds }
        });
        self.push_speed(op, &turns);
        self.compare_with_own_inserts(op);
    }

    /// Says how many times as fast as our own single inserts something is, if these were measured.
    fn compare_with_own_inserts(&mut self, op: Op) {
        let speed = |op| self.rows.iter().find(|row| row.op == op).and_then(|row| row.mops);
        let (Some(inserts), Some(speed)) = (speed(Op::Insert), speed(op)) else { return };
        if let Some(row) = self.rows.last_mut().filter(|row| row.op == op) {
            row.note = Some(format!("{:.1} times our own single inserts", speed / inserts));
        }
    }

    /// Whole tables from unsorted items, each side in its fastest way.
    fn build_unsorted(&mut self) {
        let op = Op::BuildUnsorted;
        let ways = self.kinds.map(Kind::build_ways);
        if !self.wants(&[op]) || ways.ours.is_empty() {
            return;
        }
        let build = |side: Side, way: usize| {
            let items = self.items.get(side).clone();
            clock::time(|| self.kinds.get(side).build(self.plan, self.hash, way, items)).0
        };
        let fastest = [Side::Ours, Side::Theirs].map(|side| {
            let times: Vec<f64> = (0..ways.get(side).len()).map(|way| build(side, way)).collect();
            let best = (0..times.len()).min_by(|&a, &b| times[a].total_cmp(&times[b]));
            best.expect("at least one way")
        });
        let fastest = Pair { ours: fastest[0], theirs: fastest[1] };
        let turns = take_turns(self.plan.unsorted_builds(), |side, _| Turn {
            operations: self.plan.items() as u64,
            seconds: build(side, *fastest.get(side)),
        });
        self.push_speed(op, &turns);
        if let Some(row) = self.rows.last_mut().filter(|row| row.op == op) {
            let way = |side: Side| ways.get(side)[*fastest.get(side)];
            let (ours, theirs) = (self.kinds.ours.name(), self.kinds.theirs.name());
            row.note = Some(format!("{ours}: {}; {theirs}: {}", way(Side::Ours), way(Side::Theirs)));
        }
    }

    /// One half of the items into the other half. The four sources stay; the target is a copy.
    fn merge(&mut self) {
        let op = Op::Merge;
        if !self.wants(&[op]) || self.hash == Hash::Own {
            return;
        }
        let (Some(mut into), Some(mut from)) = (self.empty_tables(), self.empty_tables()) else { return };
        if !into.ours.merges() {
            return;
        }
        for side in [Side::Ours, Side::Theirs] {
            let items = self.items.get(side);
            let (half, other_half) = items.split_at(items.len() / 2);
            into.get_mut(side).insert_all(half);
            from.get_mut(side).insert_all(other_half);
        }
        let turns = take_turns(self.plan.builds(), |side, _| {
            let mut target = into.get(side).copy();
            let (seconds, ()) = clock::time(|| target.merge(&**from.get(side)));
            Turn { operations: self.plan.items() as u64, seconds }
        });
        self.push_speed(op, &turns);
    }

    /// Whole growths, and queries of what has grown.
    fn growth(&mut self) {
        use Op::{GrowContainsAbsent, GrowInsert};
        if !self.wants(&[GrowInsert, GrowContainsAbsent]) || self.hash == Hash::Own {
            return;
        }
        let (kinds, plan) = (self.kinds, self.plan.grown());
        let growing = || {
            let [ours, theirs] = [kinds.ours, kinds.theirs].map(|kind| || kind.growing(&plan));
            Tables::new(ours, theirs)
        };
        let Some(mut tables) = growing() else { return };
        let count = plan.items() as u64;
        let items = kinds.map(|kind| {
            prepared(kind, &plan, Hash::Raw, (0..count).map(|number| plan.present(Hash::Raw, number)))
        });
        let turns = take_turns(plan.growths(), |side, turn| {
            if turn > 0 {
                *tables.get_mut(side) = kinds.get(side).growing(&plan).expect("as before");
            }
            let seconds = clock::time(|| tables.get_mut(side).insert_all(items.get(side))).0;
            Turn { operations: count, seconds }
        });
        drop(items);
        let chunks = plan.query_chunks();
        let queries = ((chunks + 1) * plan.query_chunk()) as u64;
        let absent = kinds
            .map(|kind| prepared(kind, &plan, Hash::Raw, (0..queries).map(|number| plan.absent(number))));
        let found = tables.as_ref().map(|table| table.bytes() as f64 * 8.0 / count as f64);
        let rates = Pair {
            ours: tables.ours.contains_all(&absent.ours) as f64 / queries as f64,
            theirs: tables.theirs.contains_all(&absent.theirs) as f64 / queries as f64,
        };
        let before = (self.bits_per_item, self.error_rate);
        (self.bits_per_item, self.error_rate) = (Some(found.ours), Some(rates.ours));
        self.push_speed(GrowInsert, &turns);
        if self.wants(&[GrowContainsAbsent]) {
            let turns = take_turns(chunks, |side, chunk| {
                let (table, queries) = (tables.get(side), nth_chunk(absent.get(side), chunk, chunks + 1));
                let seconds = clock::time(|| black_box(table.contains_all(queries))).0;
                Turn { operations: queries.len() as u64, seconds }
            });
            self.push_speed(GrowContainsAbsent, &turns);
        }
        for row in self.rows.iter_mut().filter(|row| [GrowInsert, GrowContainsAbsent].contains(&row.op)) {
            row.slots_log2 = plan.slots_log2;
            let (bits, rate) = (found.theirs, rates.theirs);
            row.note = Some(format!("qfilter: {bits:.2} bits per item, error rate {:.4} %", 100.0 * rate));
        }
        (self.bits_per_item, self.error_rate) = before;
    }

    /// Nothing but the filter's own hash.
    fn hash_only(&mut self) {
        if self.hash == Hash::Raw {
            return;
        }
        let length = self.plan.query_chunk();
        let keys: Vec<u64> = (0..length as u64).map(|number| self.plan.absent(number)).collect();
        let texts: Vec<[u8; 16]> = keys
            .iter()
            .map(|key| format!("{key:016x}").as_bytes().try_into())
            .map(|text| text.expect("16 digits"))
            .collect();
        let kinds = self.kinds;
        self.hashes(Op::HashOnly, length, |side| kinds.get(side).hash_keys(&keys));
        self.hashes(Op::HashOnly16Bytes, length, |side| kinds.get(side).hash_texts(&texts));
    }

    fn hashes(&mut self, op: Op, length: usize, hash_all: impl Fn(Side) -> Option<u64>) {
        if !self.wants(&[op]) || hash_all(Side::Ours).is_none() {
            return;
        }
        let turns = take_turns(self.plan.query_chunks(), |side, _| {
            let (seconds, combined) = clock::time(|| hash_all(side));
            black_box(combined);
            Turn { operations: length as u64, seconds }
        });
        let Some(summary) = summarise(&turns) else { return };
        let row = empty_row(self.wish.kind, self.plan, self.hash, op);
        let row = Row {
            ratio: Some(summary.ratio),
            ratio_p10: Some(summary.ratio_p10),
            ratio_p90: Some(summary.ratio_p90),
            ..value_row(row, summary.mops.map(|mops| 1000.0 / mops), "ns per key")
        };
        self.push(row);
    }
}

/// How many bytes the process takes more at most while `kind` grows from a small table to the planned one.
/// `None` if it does not grow or the system does not tell. For a process that did nothing else before.
pub(crate) fn grow_peak(kind: &dyn Kind, plan: &Plan) -> Option<u64> {
    let before = pages::resident_bytes()?;
    let mut table = kind.growing(plan)?;
    // A few at a time, so that the items themselves take no memory.
    let mut items = [0; 1024];
    for start in (0..plan.items()).step_by(items.len()) {
        let length = items.len().min(plan.items() - start);
        for (number, item) in (start as u64..).zip(&mut items[..length]) {
            *item = kind.prepare(plan, plan.present(Hash::Raw, number));
        }
        table.insert_all(&items[..length]);
    }
    black_box(&table);
    Some(pages::peak_bytes()?.saturating_sub(before))
}

/// The row of the growth of a filter and the yardstick.
pub(crate) fn grow_row(kind: &dyn Kind, plan: &Plan, peaks: Pair<u64>) -> Row {
    let row = empty_row(kind, plan, Hash::Raw, Op::GrowPeakBytes);
    value_row(row, peaks.map(|bytes| bytes as f64), "bytes")
}

/// A row of something of which less is better.
fn value_row(row: Row, values: Pair<f64>, unit: &str) -> Row {
    let comparable = values.ours > 0.0 && values.theirs > 0.0;
    Row {
        value: Some(values.ours),
        value_yardstick: Some(values.theirs),
        unit: Some(unit.to_owned()),
        ratio: comparable.then(|| values.theirs / values.ours),
        ..row
    }
}

fn empty_row(kind: &dyn Kind, plan: &Plan, hash: Hash, op: Op) -> Row {
    Row {
        filter: kind.name().to_owned(),
        hash,
        op,
        slots_log2: plan.slots_log2,
        mops: None,
        mops_yardstick: None,
        value: None,
        value_yardstick: None,
        unit: None,
        ratio: None,
        ratio_p10: None,
        ratio_p90: None,
        bits_per_item: None,
        error_rate: None,
        note: None,
    }
}

/// Items as `kind` takes them.
fn prepared(kind: &dyn Kind, plan: &Plan, hash: Hash, items: impl Iterator<Item = u64>) -> Vec<u64> {
    match hash {
        Hash::Raw => items.map(|item| kind.prepare(plan, item)).collect(),
        Hash::Own => items.collect(),
    }
}

/// Chunk `number` of `chunks` that differ by one item at most.
fn nth_chunk(items: &[u64], number: usize, chunks: usize) -> &[u64] {
    let border = |number: usize| items.len() * number / chunks;
    &items[border(number)..border(number + 1)]
}
