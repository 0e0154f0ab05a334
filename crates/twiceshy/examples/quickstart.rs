//! A filter from its first insert to a file: `cargo run --release --example quickstart`.
#![expect(clippy::print_stdout, reason = "an example talks to its reader")]

use std::error::Error;
use std::time::Instant;

use twiceshy::QuotientFilter;

const KEYS: u64 = 900_000;

fn main() -> Result<(), Box<dyn Error>> {
    // 900,000 keys, at most one false positive in 500 queries, a fresh secret hash key.
    let mut filter = QuotientFilter::new(KEYS, 0.002)?;
    let started = Instant::now();
    for user in 0..KEYS {
        filter.insert(&format!("user-{user}"))?;
    }
    println!("inserted {KEYS} keys in {:.2?}", started.elapsed());
    println!(
        "  {} slots of {} bits, {:.0} % in use, {:.1} bits per key",
        filter.slots(),
        filter.remainder_bits(),
        100.0 * filter.load_factor(),
        filter.size_in_bytes() as f64 * 8.0 / KEYS as f64,
    );

    // Every key that was inserted is found.
    let missing = (0..KEYS).filter(|user| !filter.contains(&format!("user-{user}"))).count();
    println!("false negatives: {missing}");
    assert_eq!(missing, 0);

    // Some that were not are found too: about as many as promised.
    let guests: Vec<String> = (0..KEYS).map(|guest| format!("guest-{guest}")).collect();
    let mut found = vec![false; guests.len()];
    filter.contains_batch(&guests, &mut found);
    let wrong = found.iter().filter(|&&found| found).count();
    println!(
        "false positives: {wrong} of {KEYS} queries, {:.3} % (expected {:.3} %)",
        100.0 * wrong as f64 / KEYS as f64,
        100.0 * filter.expected_error_rate(),
    );
    if let Some(i) = found.iter().position(|&found| found) {
        println!("  {:?} is one of them, and will be each time it is asked for", guests[i]);
    }

    // Copies are counted, in a few slots even if there are many.
    filter.insert_many("popular", 1_000_000_000)?;
    println!("copies of \"popular\": {}", filter.count("popular"));

    // To a file and back; a file can also be queried in place.
    let path = std::env::temp_dir().join(format!("quickstart-{}.twiceshy", std::process::id()));
    filter.save(&path)?;
    let bytes = std::fs::read(&path)?;
    std::fs::remove_file(&path)?;
    let view = QuotientFilter::view(&bytes)?;
    view.validate()?;
    println!("saved {} bytes; \"user-7\" in the file: {}", bytes.len(), view.contains("user-7"));
    Ok(())
}
