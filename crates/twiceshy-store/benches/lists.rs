//! What lists cost: bits of the filter for every YES key beside NO lists of all lengths, bytes of a row in memory and on disk, and
//! how long it takes to make and to change them.
//!
//! ```sh
//! cargo bench -p twiceshy-store --bench lists                # a million keys, some minutes
//! cargo bench -p twiceshy-store --bench lists -- --quick
//! ```
#![allow(clippy::print_stdout, reason = "a table is what it is for")]

mod common;
#[path = "common/disk.rs"]
mod disk;

use std::time::{Duration, Instant};

use twiceshy::YesNoList;
use twiceshy::list::{Answer, least_bits};
use twiceshy::reverse_map::MemoryMap;
use twiceshy_store::files::Folder;
use twiceshy_store::{EngineKind, YesNoStore};
use twiceshy_testkit::mix;

use disk::bytes_below;

/// Keys of both lists together.
const KEYS: u64 = 1_000_000;
/// How many keys a batch has.
const BATCH: usize = 10_000;
/// How many single changes are timed on an engine.
const SINGLE: u64 = 20_000;

/// A key of 16 bytes.
fn key(number: u64) -> [u8; 16] {
    common::value(number)
}

fn main() {
    let mut keys = KEYS;
    for argument in std::env::args().skip(1) {
        match argument.as_str() {
            "--quick" => keys = 20_000,
            // What `cargo bench` and `cargo test` say.
            "--bench" | "--test" => (),
            // One of its own processes, which does nothing else.
            "yes" => return weigh(keys, Answer::Yes),
            "no" => return weigh(keys, Answer::No),
            _ => {
                eprintln!("there is no option {argument}; the only one is --quick");
                std::process::exit(2);
            }
        }
    }
    filters(keys);
    memory(keys);
    times_in_memory(keys);
    for &kind in EngineKind::ALL {
        engine(kind, keys);
    }
}

/// Bits per YES key: made at once, made key by key, and the least that is possible.
fn filters(keys: u64) {
    println!("Bits of the filter per YES key, {keys} keys on both lists together\n");
    println!(
        "| NO keys per YES key | error rate | made at once | made key by key | least possible | error rate, measured |"
    );
    println!("|---|---|---|---|---|---|");
    for ratio in [1.0 / 16.0, 1.0 / 4.0, 1.0, 4.0, 16.0, 64.0f64] {
        let yes = (keys as f64 / (1.0 + ratio)) as u64;
        for exponent in [7, 9, 12] {
            let rate = f64::from(-exponent).exp2();
            let builder = YesNoList::builder().error_rate(rate);
            let list = builder.clone().from_lists((0..yes).map(key), (yes..keys).map(key)).expect("memory");
            let mut added = builder.build_list(MemoryMap::new()).expect("memory");
            for number in 0..keys {
                // Both lists grow side by side.
                let number = mix(number) % 1_000_003 * 7 % keys;
                let _ = if number < yes { added.add_yes(&key(number)) } else { added.add_no(&key(number)) };
            }
            (0..yes).for_each(|number| _ = added.add_yes(&key(number)).expect("memory"));
            (yes..keys).for_each(|number| _ = added.add_no(&key(number)).expect("memory"));
            let asked = 4 * KEYS;
            let wrong = (0..asked).filter(|number| list.query(&key(keys + number)).is_yes()).count();
            println!(
                "| {ratio} | 2^-{exponent} | {:.2} | {:.2} | {:.2} | 2^-{:.2} |",
                bits(&list),
                bits(&added),
                least_bits(yes, keys - yes, rate),
                -(wrong as f64 / asked as f64).log2(),
            );
        }
    }
}

fn bits(list: &YesNoList<MemoryMap>) -> f64 {
    list.filter().size_in_bytes() as f64 * 8.0 / list.yes_len() as f64
}

/// What rows in memory take, in processes of their own: the operating system says so.
fn memory(keys: u64) {
    println!("\nBytes of a row in memory, {keys} keys of 16 bytes\n");
    println!("| list | made at once | key by key |\n|---|---|---|");
    for list in ["yes", "no"] {
        let quick = if keys < KEYS { "--quick" } else { "--bench" };
        let program = std::env::current_exe().expect("this program");
        let output = std::process::Command::new(program).args([quick, list]).output().expect("it runs");
        print!("{}", String::from_utf8_lossy(&output.stdout));
    }
}

/// Makes a list of one side in both ways and prints what that takes.
fn weigh(keys: u64, side: Answer) {
    let (yes, no) = if side.is_yes() { (0..keys, 0..0) } else { (0..0, 0..keys) };
    let resident = || {
        let pages = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
        pages.split(' ').nth(1).and_then(|pages| pages.parse::<u64>().ok()).unwrap_or(0) * 4096
    };
    let per_key = |before: u64, list: &YesNoList<MemoryMap>| {
        let all = resident().saturating_sub(before + list.filter().size_in_bytes() as u64);
        all as f64 / keys as f64
    };
    let before = resident();
    let mut added = YesNoList::builder().build_list(MemoryMap::new()).expect("memory");
    yes.clone().for_each(|number| _ = added.add_yes(&key(number)).expect("memory"));
    no.clone().for_each(|number| _ = added.add_no(&key(number)).expect("memory"));
    let one_by_one = per_key(before, &added);
    let between = resident();
    let loaded = YesNoList::builder().from_lists(yes.map(key), no.map(key)).expect("memory");
    println!("| {side} | {:.0} | {one_by_one:.0} |", per_key(between, &loaded));
}

/// Nanoseconds of each of some operations.
fn each(took: Duration, operations: u64) -> f64 {
    took.as_nanos() as f64 / operations as f64
}

fn times_in_memory(keys: u64) {
    let start = Instant::now();
    let list =
        YesNoList::builder().from_lists((0..keys).map(key), (keys..2 * keys).map(key)).expect("memory");
    println!(
        "\nIn memory, {keys} keys on each list\n\nMade at once in {:.2} s.",
        start.elapsed().as_secs_f64()
    );
    let mut list = list;
    let mut timed = |what: &str, change: &mut dyn FnMut(&mut YesNoList<MemoryMap>, u64)| {
        let start = Instant::now();
        (0..keys).for_each(|number| change(&mut list, number));
        println!("{what}: {:.0} ns each.", each(start.elapsed(), keys));
    };
    timed("query", &mut |list, number| assert!(list.query(&key(number)).is_yes()));
    timed("add_no", &mut |list, number| assert!(list.add_no(&key(3 * keys + number)).expect("memory")));
    timed("add_yes", &mut |list, number| assert!(list.add_yes(&key(5 * keys + number)).expect("memory")));
    timed("move_to_no", &mut |list, number| _ = list.move_to_no(&key(5 * keys + number)).expect("memory"));
    timed("move_to_yes", &mut |list, number| {
        _ = list.move_to_yes(&key(3 * keys + number)).expect("memory");
    });
    timed("remove", &mut |list, number| _ = list.remove(&key(number)).expect("memory"));
    let start = Instant::now();
    list.validate().expect("no listed key is wrong");
    println!("validate: {:.2} s.", start.elapsed().as_secs_f64());
}

/// Loading, single changes, and what rows take on disk.
fn engine(kind: EngineKind, keys: u64) {
    println!("\n{}, {keys} keys of 16 bytes on each list\n", kind.name());
    for side in [Answer::Yes, Answer::No] {
        let folder = tempfile::tempdir().expect("a folder for temporary files");
        let rows = folder.path().join("rows");
        let files = Folder::create(folder.path().join("files")).expect("a folder");
        let engine = common::open(kind, &rows, Some(64 << 20));
        let store = YesNoStore::builder().open_with(engine, files).expect("a new store");
        let start = Instant::now();
        let all: Vec<_> = (0..keys).map(key).collect();
        for batch in all.chunks(BATCH) {
            let _ = if side.is_yes() { store.add_yes_batch(batch) } else { store.add_no_batch(batch) }
                .expect("room");
        }
        let loading = each(start.elapsed(), keys) / 1e3;
        let single = SINGLE.min(keys);
        let start = Instant::now();
        for number in keys..keys + single {
            let _ = if side.is_yes() { store.add_yes(&key(number)) } else { store.add_no(&key(number)) }
                .expect("room");
        }
        let adding = each(start.elapsed(), single) / 1e3;
        let start = Instant::now();
        for number in 0..single {
            let _ =
                if side.is_yes() { store.move_to_no(&key(number)) } else { store.move_to_yes(&key(number)) }
                    .expect("room");
        }
        let moving = each(start.elapsed(), single) / 1e3;
        store.flush().expect("room");
        store.compact().expect("room");
        store.close().expect("room");
        let bytes = bytes_below(&rows) as f64 / (keys + single) as f64;
        println!(
            "{side}: {bytes:.1} bytes on disk for a key, {loading:.1} µs each in batches of {BATCH}, {adding:.0} µs alone, \
             {moving:.0} µs to move one to the other list"
        );
    }
}
