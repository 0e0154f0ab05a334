//! A store on disk that is asked for keys it has and for keys it does not have. Run it twice: the second time the data
//! and what was learned are still there.
//!
//! ```sh
//! cargo run --release -p twiceshy-store --example store
//! ```
#![allow(clippy::print_stdout, reason = "an example says what it does")]

use twiceshy_store::AdaptiveStore;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let path = std::env::temp_dir().join("twiceshy-example-store");
    let store = AdaptiveStore::builder().error_rate(0.01).open(&path)?;
    println!("opened {}: {:?}, {} keys", path.display(), store.recovery(), store.approximate_len());

    if store.is_empty()? {
        let rows: Vec<_> = (0..10_000u32).map(|number| (number, format!("value {number}"))).collect();
        println!("stored {} new keys", store.insert_batch(&rows)?);
    }
    assert_eq!(store.get(&7_777u32)?, Some(b"value 7777".to_vec()));

    // Keys that are not there, twice: the first time about one in a hundred reaches the engine, then none.
    for round in ["first", "second"] {
        let before = store.stats()?.engine_lookups;
        for number in 1_000_000..1_010_000u32 {
            assert_eq!(store.get(&number)?, None);
        }
        let lookups = store.stats()?.engine_lookups - before;
        println!("10,000 absent keys, {round} time: {lookups} lookups in the engine");
    }

    let stats = store.stats()?;
    println!("filter: {} bytes; {} false positives were fixed in this run", stats.filter_bytes, stats.fixed);
    store.close()?;
    println!("now run it again; remove {} to start over", path.display());
    Ok(())
}
