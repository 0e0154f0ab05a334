//! An adaptive filter in front of your own database: `cargo run --release --example adaptive`.
//!
//! The database here is a `BTreeMap` that counts how often it is asked. It keeps its rows by the hash of
//! their key and the key, so that it can tell the filter which keys begin alike.
#![expect(clippy::print_stdout, reason = "an example talks to its reader")]

use std::cell::Cell;
use std::collections::BTreeMap;
use std::convert::Infallible;
use std::error::Error;

use twiceshy::error::{AdaptError, InsertError};
use twiceshy::{AdaptiveFilter, Insertion, Prefix, Query};

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

    /// All keys whose hashes begin like this.
    fn keys_under(&self, prefix: &Prefix) -> Vec<&str> {
        self.reads.set(self.reads.get() + 1);
        let (first, last) = prefix.first_words().into_inner();
        let rows = self.rows.range((first, String::new())..);
        rows.take_while(|((hash, _), _)| *hash <= last).map(|((_, key), _)| key.as_str()).collect()
    }
}

/// Stores a row, and tells the filter.
fn put(filter: &mut AdaptiveFilter, db: &mut Database, key: &str, value: u32) -> Result<(), Box<dyn Error>> {
    let hash = filter.hasher().hash(key);
    let insertion = loop {
        match filter.insert(key) {
            // Almost no growth asks the database anything: only for fingerprints that ran out of bits.
            Err(InsertError::NeedsGrow { .. }) => filter.grow(|p| Ok::<_, Infallible>(db.keys_under(p)))?,
            insertion => break insertion?,
        }
    };
    let old = db.rows.insert((hash, key.to_string()), value);
    if let (Insertion::Covered(ticket), None) = (insertion, old) {
        filter.insert_covered(&ticket)?;
    }
    Ok(())
}

/// Reads a row, if there is one. The database is asked only if the filter says *maybe*, and never twice in
/// vain for the same key.
fn get(filter: &mut AdaptiveFilter, db: &Database, key: &str) -> Result<Option<u32>, Box<dyn Error>> {
    let Query::Maybe(ticket) = filter.query(key) else { return Ok(None) };
    if let Some(value) = db.get(filter.hasher().hash(key), key) {
        return Ok(Some(value));
    }
    // A false positive: the feedback.
    match filter.adapt(&ticket, key, db.keys_under(ticket.prefix())) {
        Err(AdaptError::NeedsGrow { .. }) => {
            filter.grow(|prefix| Ok::<_, Infallible>(db.keys_under(prefix)))?;
            // Tickets from before are stale.
            return get(filter, db, key);
        }
        adapted => println!("  {key:?} was a false positive: {:?}", adapted?),
    }
    Ok(None)
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
