//! Filters that threads share: how they scale, and what they cost if there is only one thread.
//!
//! The yardstick here is not another crate but the same work by one thread, and for a *control* the same by threads that share
//! nothing: each has a filter of its own that is not shared, of half the size. What the control loses with two threads is the
//! machine's doing (caches, memory, frequency), and the rest is ours. As everywhere, sides take turns chunk by chunk, and the
//! median of the ratios counts. Time is wall time, from a start that all threads wait for to the end of the last one, since a
//! thread that waits for a lock takes no CPU time: measure on a quiet machine.

use std::hint::black_box;
use std::io::{self, Write};
use std::sync::Barrier;
use std::time::Instant;

use serde::Serialize;
use twiceshy::{Hasher, QuotientFilter, SharedQuotientFilter};
use twiceshy_testkit::scatter;

use crate::plan::Plan;
use crate::stats::{median, percentile};

/// The name in `--filter`.
pub(crate) const NAME: &str = "twiceshy-shared";

/// A measurement. More than 1 is in favour of the threads that share, or of the filter that is shared.
#[derive(Serialize)]
pub(crate) struct Row {
    filter: &'static str,
    op: &'static str,
    slots_log2: u32,
    threads: usize,
    /// Millions of operations per second of all threads together, and of what they are compared with.
    mops: f64,
    mops_yardstick: f64,
    ratio: f64,
    ratio_p10: f64,
    ratio_p90: f64,
}

/// All of them.
#[derive(Serialize)]
pub(crate) struct Report {
    pub(crate) rows: Vec<Row>,
}

impl Report {
    /// JSON for programs.
    pub(crate) fn write_json(&self, out: &mut impl Write) -> io::Result<()> {
        let json = serde_json::to_string_pretty(self).map_err(io::Error::other)?;
        writeln!(out, "{json}")
    }

    /// A table for people.
    pub(crate) fn write_table(&self, out: &mut impl Write) -> io::Result<()> {
        writeln!(
            out,
            "{:34} {:>7} {:>8} {:>10} {:>6}  p10 to p90",
            "operation", "threads", "M/s", "compared", "ratio"
        )?;
        self.rows.iter().try_for_each(|row| {
            let Row { op, threads, mops, mops_yardstick, ratio, ratio_p10, ratio_p90, .. } = row;
            writeln!(out, "{op:34} {threads:7} {mops:8.1} {mops_yardstick:10.1} {ratio:6.2}  {ratio_p10:.2} to {ratio_p90:.2}")
        })
    }
}

/// Operations per thread and chunk.
const CHUNK: usize = 1 << 17;

/// Something that threads do with items.
type Work<'a> = &'a (dyn Fn(usize, &[u64]) + Sync);

/// Operations per second of some threads, each with items of its own.
fn speed(threads: usize, items: &[Vec<u64>], work: Work<'_>) -> f64 {
    let start = Barrier::new(threads);
    let begun = |thread: usize| {
        start.wait();
        let begin = Instant::now();
        work(thread, &items[thread]);
        (begin, Instant::now())
    };
    let times: Vec<(Instant, Instant)> = std::thread::scope(|scope| {
        let others: Vec<_> = (1..threads).map(|thread| scope.spawn(move || begun(thread))).collect();
        let own = begun(0);
        others.into_iter().map(|other| other.join().expect("no thread fails")).chain([own]).collect()
    });
    let first = times.iter().map(|(begin, _)| *begin).min().expect("a thread");
    let last = times.iter().map(|(_, end)| *end).max().expect("a thread");
    let operations: usize = items[..threads].iter().map(Vec::len).sum();
    operations as f64 / (last - first).as_secs_f64()
}

/// One row from the speeds of two sides in every chunk.
fn row(op: &'static str, plan: &Plan, threads: usize, speeds: &[(f64, f64)]) -> Row {
    // The first one warms up.
    let speeds = &speeds[1..];
    let ratios: Vec<f64> = speeds.iter().map(|(ours, theirs)| ours / theirs).collect();
    let of = |values: Vec<f64>| median(&values).unwrap_or(f64::NAN) / 1e6;
    Row {
        filter: NAME,
        op,
        slots_log2: plan.slots_log2,
        threads,
        mops: of(speeds.iter().map(|(ours, _)| *ours).collect()),
        mops_yardstick: of(speeds.iter().map(|(_, theirs)| *theirs).collect()),
        ratio: median(&ratios).unwrap_or(f64::NAN),
        ratio_p10: percentile(&ratios, 0.1).unwrap_or(f64::NAN),
        ratio_p90: percentile(&ratios, 0.9).unwrap_or(f64::NAN),
    }
}

/// Lets two sides take turns, in changing order. Each is given fresh items for every thread.
fn take_turns(
    chunks: usize,
    threads: usize,
    mut items: impl FnMut() -> Vec<u64>,
    mut side: impl FnMut(bool, &[Vec<u64>]) -> f64,
) -> Vec<(f64, f64)> {
    (0..=chunks)
        .map(|chunk| {
            let (mut ours, mut theirs) = (0.0, 0.0);
            for turn in 0..2 {
                let items: Vec<Vec<u64>> = (0..threads).map(|_| items()).collect();
                let is_ours = (turn + chunk) % 2 == 0;
                *(if is_ours { &mut ours } else { &mut theirs }) = side(is_ours, &items);
            }
            (ours, theirs)
        })
        .collect()
}

/// Filters of a plan.
fn builder(plan: &Plan, fewer_bits: u32) -> twiceshy::quotient::Builder {
    QuotientFilter::builder()
        .quotient_bits(plan.slots_log2 - fewer_bits)
        .remainder_bits(plan.remainder_bits + fewer_bits)
        .hasher(Hasher::fast())
}

/// All rows.
pub(crate) fn measure(plan: &Plan, threads: usize) -> Result<Report, String> {
    let failed = |error: &dyn std::fmt::Display| format!("measuring {NAME} failed: {error}");
    let (mut numbers, seed) = (0u64, plan.seed);
    let mut random = move |count: usize| -> Vec<u64> {
        numbers += count as u64;
        (numbers - count as u64..numbers).map(|number| scatter(seed << 48 | number)).collect()
    };
    let chunk = if plan.quick { 1 << 10 } else { CHUNK };
    let chunks = if plan.quick { 4 } else { 40 };
    let mut rows = Vec::new();

    // Filled to half of the load by inserts that count, and then to the load.
    let shared = builder(plan, 0).build_shared().map_err(|error| failed(&error))?;
    let mut plain = builder(plan, 0).build().map_err(|error| failed(&error))?;
    let fill = plan.items() / 2;
    let each = (fill / chunks / 4).min(chunk).max(1);
    let speeds = take_turns(
        chunks,
        1,
        || random(each),
        |is_ours, items| match is_ours {
            true => speed(1, items, &|_, items| insert_all(&shared, items)),
            false => {
                let begin = Instant::now();
                for &hash in &items[0] {
                    let _ = black_box(plain.insert_hash(hash));
                }
                items[0].len() as f64 / begin.elapsed().as_secs_f64()
            }
        },
    );
    rows.push(row("one_thread_insert", plan, 1, &speeds));
    let speeds = take_turns(
        chunks,
        threads,
        || random(each),
        |is_ours, items| {
            speed(if is_ours { threads } else { 1 }, items, &|_, items| insert_all(&shared, items))
        },
    );
    rows.push(row("shared_insert", plan, threads, &speeds));
    let missing = plan.items().saturating_sub(shared.len() as usize);
    shared.insert_hash_batch(&random(missing)).map_err(|error| failed(&error))?;
    let missing = plan.items().saturating_sub(plain.len() as usize);
    plain.insert_hash_batch(&random(missing)).map_err(|error| failed(&error))?;

    let speeds = take_turns(
        chunks,
        1,
        || random(chunk),
        |is_ours, items| match is_ours {
            true => speed(1, items, &|_, items| ask_all(items, |hash| shared.contains_hash(hash))),
            false => speed(1, items, &|_, items| ask_all(items, |hash| plain.contains_hash(hash))),
        },
    );
    rows.push(row("one_thread_contains_absent", plan, 1, &speeds));
    let batch = |items: &[u64], ask: &dyn Fn(&[u64], &mut [bool])| {
        let mut found = vec![false; items.len()];
        ask(items, &mut found);
        black_box(found);
    };
    let ask_shared =
        |_: usize, items: &[u64]| batch(items, &|items, found| shared.contains_hash_batch(items, found));
    let ask_plain =
        |_: usize, items: &[u64]| batch(items, &|items, found| plain.contains_hash_batch(items, found));
    let speeds = take_turns(
        chunks,
        1,
        || random(chunk),
        |is_ours, items| match is_ours {
            true => speed(1, items, &ask_shared),
            false => speed(1, items, &ask_plain),
        },
    );
    rows.push(row("one_thread_contains_batch_absent", plan, 1, &speeds));

    let contains = |_: usize, items: &[u64]| ask_all(items, |hash| shared.contains_hash(hash));
    let mixed = |_: usize, items: &[u64]| {
        // What comes goes again, so that the load stays.
        for pair in items.chunks_exact(4) {
            black_box(shared.contains_hash(pair[0]) | shared.contains_hash(pair[1]));
            if shared.insert_hash(pair[2]).is_ok() {
                black_box(shared.remove_hash(pair[2]));
            }
        }
    };
    let works: [(&'static str, Work<'_>); 3] = [
        ("shared_contains_absent", &contains),
        ("shared_contains_batch_absent", &ask_shared),
        ("shared_mixed", &mixed),
    ];
    for (op, work) in works {
        let speeds = take_turns(
            chunks,
            threads,
            || random(chunk),
            |is_ours, items| speed(if is_ours { threads } else { 1 }, items, work),
        );
        rows.push(row(op, plan, threads, &speeds));
    }
    drop((shared, plain));

    // Filters that nobody shares, behind a lock that only one thread takes once.
    let own = |_| builder(plan, 1).build().map(std::sync::Mutex::new);
    let own: Vec<_> = (0..threads).map(own).collect::<Result<_, _>>().map_err(|error| failed(&error))?;
    let lock = |thread: usize| own[thread].lock().expect("no thread fails");
    let insert = |thread: usize, items: &[u64]| {
        let mut filter = lock(thread);
        for &hash in items {
            let _ = black_box(filter.insert_hash(hash));
        }
    };
    let each = (each / 2).max(1);
    let speeds = take_turns(
        chunks,
        threads,
        || random(each),
        |is_ours, items| speed(if is_ours { threads } else { 1 }, items, &insert),
    );
    rows.push(row("control_insert", plan, threads, &speeds));
    for filter in &own {
        let mut filter = filter.lock().expect("no thread fails");
        let missing = (plan.items() / 2).saturating_sub(filter.len() as usize);
        filter.insert_hash_batch(&random(missing)).map_err(|error| failed(&error))?;
    }
    let contains = |thread: usize, items: &[u64]| {
        let filter = lock(thread);
        ask_all(items, |hash| filter.contains_hash(hash));
    };
    let speeds = take_turns(
        chunks,
        threads,
        || random(chunk),
        |is_ours, items| speed(if is_ours { threads } else { 1 }, items, &contains),
    );
    rows.push(row("control_contains_absent", plan, threads, &speeds));
    Ok(Report { rows })
}

fn insert_all(filter: &SharedQuotientFilter, items: &[u64]) {
    for &hash in items {
        let _ = black_box(filter.insert_hash(hash));
    }
}

fn ask_all(items: &[u64], contains: impl Fn(u64) -> bool) {
    let mut found = 0;
    for &hash in items {
        found += u64::from(contains(hash));
    }
    black_box(found);
}
