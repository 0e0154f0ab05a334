//! An adaptive filter in front of your own database: `cargo run --release --example adaptive`.
//!
//! The database here is a `BTreeMap` that counts how often it is asked. It keeps its rows by the hash of
//! their key and the key, so that it can tell the filter which keys begin alike.
#![expect(clippy::print_stdout, reason = "an example talks to its reader")]

use std::cell::Cell;
use std::collections::BTreeMap;
use std::convert::Infallible;
use std::error::Error;
use std::ops::{ControlFlow, RangeInclusive};

use twiceshy::AdaptiveFilter;
use twiceshy::reverse_map::Lookup;
use twiceshy::reverse_map::Row;

/// Your database: slow to ask.
#[derive(Default)]
struct Database {
    rows: BTreeMap<(u64, String), u32>,
    reads: Cell<u64>,
}

impl Database {
    fn get(&self, hash: u64, key: &str) -> Option<u32> {
        self.reads.set(self.reads.get() + 1);
        self.rows.get(&(hash, key.to_string())).copied()
    }
}

/// All that the filter asks: which keys have hashes in this range?
impl Lookup for Database {
    type Error = Infallible;

    fn visit(
        &self,
        hashes: RangeInclusive<u64>,
        visit: &mut dyn FnMut(Row<'_>) -> ControlFlow<()>,
    ) -> Result<(), Infallible> {
        self.reads.set(self.reads.get() + 1);
        for ((hash, key), _) in self.rows.range((*hashes.start(), String::new())..) {
            if hash > hashes.end() || visit(Row { hash: *hash, key: key.as_bytes(), value: &[] }).is_break() {
                break;
            }
        }
        Ok(())
    }
}

/// Stores a row. The filter comes first, so that it never misses one.
fn put(filter: &mut AdaptiveFilter, db: &mut Database, key: &str, value: u32) -> Result<(), Box<dyn Error>> {
    filter.insert_with(key, db)?;
    db.rows.insert((filter.hasher().hash(key), key.to_string()), value);
    Ok(())
}

/// Reads a row, if there is one. The database is asked only if the filter says *maybe*, and never twice in
/// vain for the same key.
fn get(filter: &mut AdaptiveFilter, db: &Database, key: &str) -> Result<Option<u32>, Box<dyn Error>> {
    if !filter.contains(key) {
        return Ok(None);
    }
    let value = db.get(filter.hasher().hash(key), key);
    if value.is_none() {
        // A false positive: the feedback.
        let adapted = filter.adapt_with(key, db)?;
        println!("  {key:?} was a false positive: {adapted:?}");
    }
    Ok(value)
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut filter = AdaptiveFilter::new(1.0 / 100.0)?;
    let mut db = Database::default();
    for i in 0..10_000 {
        put(&mut filter, &mut db, &format!("user-{i}"), i)?;
    }
    println!(
        "{} keys in {} bytes, after {} growths and {} reads of the database; expected error rate {:.4}",
        filter.len(),
        filter.size_in_bytes(),
        filter.stats().growths,
        db.reads.take(),
        filter.expected_error_rate(),
    );

    for round in 1..=3 {
        for i in 0..1_000 {
            assert_eq!(get(&mut filter, &db, &format!("guest-{i}"))?, None);
        }
        println!("round {round}: 1000 absent keys, {} reads of the database", db.reads.take());
    }
    assert_eq!(get(&mut filter, &db, "user-77")?, Some(77));

    // What it learned is in the file.
    let copy = AdaptiveFilter::from_bytes(&filter.to_bytes())?;
    let wrong = (0..1_000).filter(|i| copy.contains(&format!("guest-{i}"))).count();
    println!("saved and loaded: {wrong} of them are false positives");
    assert_eq!(wrong, 0);
    Ok(())
}
