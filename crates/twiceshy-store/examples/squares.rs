//! The store of the README. Run it twice: the second time there are no mistakes.
//!
//! ```sh
//! cargo run --release -p twiceshy-store --example squares
//! ```
#![allow(clippy::print_stdout, reason = "an example says what it does")]

use twiceshy_store::AdaptiveStore;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let store = AdaptiveStore::open(std::env::temp_dir().join("squares"))?; // run it twice: it is all still there
    for number in 0..1_000u64 {
        store.insert(&number, (number * number).to_string())?;
    }
    assert_eq!(store.get(&12u64)?, Some(b"144".to_vec()));
    for number in 1_000..100_000u64 {
        assert_eq!(store.get(&number)?, None); // absent keys cost no disk access, but for a few mistakes
    }
    println!("{:?}: {} mistakes", store.recovery(), store.stats()?.false_positives); // the second time there are none
    Ok(())
}
