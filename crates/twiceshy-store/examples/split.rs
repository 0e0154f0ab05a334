//! A redb database that stays as it is, with an adaptive filter in front: the database still answers ranges.
//!
//! ```sh
//! cargo run --release -p twiceshy-store --example split
//! ```
#![allow(clippy::print_stdout, reason = "an example says what it does")]

use redb::{Database as Redb, Error, ReadableDatabase, TableDefinition};
use twiceshy_store::{AdaptiveStore, Database, Durability, FilteredDb};

const WORDS: TableDefinition<'_, &[u8], &[u8]> = TableDefinition::new("words");

/// Somebody's database, in the order of its keys.
struct Dictionary(Redb);

// All that the filter needs of it.
impl Database for Dictionary {
    type Error = Error;

    fn read(&self, key: &[u8]) -> Result<Option<Vec<u8>>, Error> {
        let words = self.0.begin_read()?.open_table(WORDS)?;
        Ok(words.get(key)?.map(|value| value.value().to_vec()))
    }

    fn write(&self, key: &[u8], value: Option<&[u8]>) -> Result<(), Error> {
        let writes = self.0.begin_write()?;
        match value {
            Some(value) => drop(writes.open_table(WORDS)?.insert(key, value)?),
            None => drop(writes.open_table(WORDS)?.remove(key)?),
        }
        Ok(writes.commit()?)
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let folder = tempfile::tempdir()?;
    let dictionary = Dictionary(Redb::create(folder.path().join("words.redb"))?);
    // The filter and its reverse map live beside it, as safe as redb is: a key in the database must not be lost here.
    let filter = AdaptiveStore::builder()
        .error_rate(0.05)
        .capacity(4)
        .durability(Durability::Power)
        .open(folder.path().join("words.filter"))?;
    let words = FilteredDb::new(dictionary, filter);

    for (word, meaning) in
        [("ant", "six legs"), ("bat", "two wings"), ("bee", "four wings"), ("cow", "four legs")]
    {
        words.insert(word, meaning)?;
    }
    assert_eq!(words.get("bee")?, Some(b"four wings".to_vec()));

    for round in ["first", "second"] {
        let before = words.keys().stats()?.false_positives;
        let asked = (0..5_000u32)
            .filter(|number| words.contains_key(&format!("word {number}")).unwrap_or(true))
            .count();
        let wrong = words.keys().stats()?.false_positives - before;
        println!("5,000 absent words, {round} time: {asked} found, {wrong} false positives");
    }

    // The database itself, as before.
    let table = words.database().0.begin_read()?.open_table(WORDS)?;
    for row in table.range(b"b".as_slice()..b"c".as_slice())? {
        let (word, meaning) = row?;
        println!("{}: {}", word.value().escape_ascii(), meaning.value().escape_ascii());
    }
    Ok(())
}
