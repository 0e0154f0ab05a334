//! What the tests of all kinds of stores ask of a store: keys and queries are numbers, written as bytes.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use twiceshy::adaptive::{Query, Ticket};
use twiceshy::adaptive_range::Coded;
use twiceshy::hash::HashKey;
use twiceshy::list::Answer;
use twiceshy::{AdaptiveRangeFilter, Hasher};
use twiceshy_store::engine::Engine;
use twiceshy_store::files::Files;
use twiceshy_store::list::YesNoStoreBuilder;
use twiceshy_store::ordered::OrderedBuilder;
use twiceshy_store::{
    AdaptiveStore, Durability, EngineKind, OrderedKey, OrderedStore, Recovery, StoreBuilder, StoreError,
    StoreStats, Verified, YesNoStore,
};

use crate::common;

/// A builder of stores.
pub(crate) trait Choose: Clone {
    type Store: Tested<Builder = Self>;

    fn open_on(self, engine: impl Engine, files: impl Files) -> Result<Self::Store, StoreError>;
    fn open_in(self, folder: &Path) -> Result<Self::Store, StoreError>;
    fn with_engine(self, kind: EngineKind) -> Self;
    fn with_durability(self, level: Durability) -> Self;
    fn with_save_after(self, changes: u64) -> Self;
}

/// A store.
pub(crate) trait Tested: Send + Sync + Sized {
    type Builder: Choose<Store = Self>;

    /// A small store that hashes with this key.
    fn chosen(error_rate: f64, hash_key: u8) -> Self::Builder;

    /// The bytes of a key.
    fn key(number: u64) -> Vec<u8>;
    /// What it keeps of a value.
    fn kept(value: Vec<u8>) -> Vec<u8> {
        value
    }
    /// So many queries are asked at a time: enough for some mistakes.
    const AT_A_TIME: u64;
    /// A query for which there is never a row.
    fn stranger(number: u64) -> Vec<u8>;

    fn put(&self, key: &[u8], value: &[u8]) -> Result<bool, StoreError>;
    fn put_all(&self, rows: &[(Vec<u8>, Vec<u8>)]) -> Result<u64, StoreError>;
    fn take_out(&self, key: &[u8]) -> Result<bool, StoreError>;
    fn try_value(&self, key: &[u8]) -> Result<Option<Vec<u8>>, StoreError>;
    fn value(&self, key: &[u8]) -> Option<Vec<u8>> {
        self.try_value(key).unwrap()
    }
    /// Whether the filter knows a key.
    fn may_have(&self, key: &[u8]) -> bool;
    fn rows(&self) -> BTreeMap<Vec<u8>, Vec<u8>>;

    /// Whether the filter lets a query through.
    fn is_positive(&self, query: &[u8]) -> bool;
    /// Asks, and finds nothing.
    fn ask(&self, query: &[u8]) -> Result<(), StoreError>;
    /// Asks for many, and finds nothing.
    fn ask_all(&self, queries: &[Vec<u8>]) -> Result<(), StoreError>;
    /// One way to ask for a key that may be there, without comparing it with others.
    fn get_one(&self, key: &[u8]) -> Result<(), StoreError>;
    /// The keys that a query is mistaken for.
    fn culprits(&self, query: &[u8], rows: &BTreeMap<Vec<u8>, Vec<u8>>) -> BTreeSet<Vec<u8>>;

    fn verified(&self) -> Result<Verified, StoreError>;
    fn approximate(&self) -> u64;
    fn recovered(&self) -> &Recovery;
    fn flushed(&self) -> Result<(), StoreError>;
    fn closed(self) -> Result<(), StoreError>;
    fn rebuilt(&self) -> Result<u64, StoreError>;
    fn compacted(&self) -> Result<(), StoreError>;
    fn counted(&self) -> u64;
    fn values(&self, keys: &[Vec<u8>]) -> Vec<Option<Vec<u8>>>;
    fn statistics(&self) -> StoreStats;
}

fn hasher(key: u8) -> Hasher {
    Hasher::keyed(HashKey::from_bytes([key; 16]))
}

macro_rules! choose {
    ($builder:ty => $store:ty) => {
        impl Choose for $builder {
            type Store = $store;

            fn open_on(self, engine: impl Engine, files: impl Files) -> Result<$store, StoreError> {
                self.open_with(engine, files)
            }

            fn open_in(self, folder: &Path) -> Result<$store, StoreError> {
                self.open(folder)
            }

            fn with_engine(self, kind: EngineKind) -> Self {
                self.engine(kind)
            }

            fn with_durability(self, level: Durability) -> Self {
                self.durability(level)
            }

            fn with_save_after(self, changes: u64) -> Self {
                self.save_after(changes)
            }
        }
    };
}
choose!(StoreBuilder => AdaptiveStore);
choose!(OrderedBuilder<u32> => OrderedStore<u32>);
choose!(YesNoStoreBuilder => YesNoStore);

macro_rules! same_names {
    () => {
        fn verified(&self) -> Result<Verified, StoreError> {
            self.verify()
        }

        fn recovered(&self) -> &Recovery {
            self.recovery()
        }

        fn flushed(&self) -> Result<(), StoreError> {
            self.flush()
        }

        fn closed(self) -> Result<(), StoreError> {
            self.close()
        }

        fn compacted(&self) -> Result<(), StoreError> {
            self.compact()
        }
    };
}

macro_rules! counting {
    () => {
        fn approximate(&self) -> u64 {
            self.approximate_len()
        }

        fn rebuilt(&self) -> Result<u64, StoreError> {
            self.rebuild()
        }

        fn counted(&self) -> u64 {
            assert_eq!(self.is_empty().unwrap(), self.len().unwrap() == 0);
            self.len().unwrap()
        }
    };
}

impl Tested for AdaptiveStore {
    type Builder = StoreBuilder;

    fn chosen(error_rate: f64, hash_key: u8) -> StoreBuilder {
        AdaptiveStore::builder().error_rate(error_rate).capacity(10).hasher(hasher(hash_key))
    }

    fn key(number: u64) -> Vec<u8> {
        common::key(number)
    }

    const AT_A_TIME: u64 = 8;

    fn stranger(number: u64) -> Vec<u8> {
        common::stranger(number)
    }

    fn put(&self, key: &[u8], value: &[u8]) -> Result<bool, StoreError> {
        self.insert(key, value)
    }

    fn put_all(&self, rows: &[(Vec<u8>, Vec<u8>)]) -> Result<u64, StoreError> {
        self.insert_batch(rows)
    }

    fn take_out(&self, key: &[u8]) -> Result<bool, StoreError> {
        self.remove(key)
    }

    fn try_value(&self, key: &[u8]) -> Result<Option<Vec<u8>>, StoreError> {
        self.get(key)
    }

    fn may_have(&self, key: &[u8]) -> bool {
        self.may_contain(key).unwrap()
    }

    fn rows(&self) -> BTreeMap<Vec<u8>, Vec<u8>> {
        self.iter().map(Result::unwrap).collect()
    }

    fn is_positive(&self, query: &[u8]) -> bool {
        self.may_contain(query).unwrap()
    }

    fn ask(&self, query: &[u8]) -> Result<(), StoreError> {
        assert_eq!(self.get(query)?, None);
        Ok(())
    }

    fn ask_all(&self, queries: &[Vec<u8>]) -> Result<(), StoreError> {
        assert!(self.get_batch(queries)?.iter().all(Option::is_none));
        Ok(())
    }

    fn get_one(&self, key: &[u8]) -> Result<(), StoreError> {
        self.get(key).map(drop)
    }

    fn culprits(&self, query: &[u8], rows: &BTreeMap<Vec<u8>, Vec<u8>>) -> BTreeSet<Vec<u8>> {
        self.with_filter(|filter| match filter.query(query) {
            Query::Absent => BTreeSet::new(),
            Query::Maybe(ticket) => {
                let covers = |key: &&Vec<u8>| ticket.prefix().covers(filter.hasher(), key.as_slice());
                rows.keys().filter(covers).cloned().collect()
            }
        })
        .unwrap()
    }

    fn values(&self, keys: &[Vec<u8>]) -> Vec<Option<Vec<u8>>> {
        self.get_batch(keys).unwrap()
    }

    fn statistics(&self) -> StoreStats {
        self.stats().unwrap()
    }

    same_names! {}
    counting! {}
}

/// The number that some bytes are a key of.
fn number(bytes: &[u8]) -> u32 {
    u32::from_be_bytes(*bytes.first_chunk().unwrap())
}

/// The range that some bytes are a query of.
fn range(bytes: &[u8]) -> std::ops::RangeInclusive<u32> {
    number(bytes)..=number(&bytes[4..])
}

/// Which keys a part of a range, in whose partition they are not, is mistaken for.
pub(crate) fn under_the_fingerprint_of<'f, K: OrderedKey>(
    filter: &'f AdaptiveRangeFilter<K>,
    part: &Coded,
) -> impl Fn(&K) -> bool + use<'f, K> {
    let (codes, size) = (filter.partitions().part_codes(part), u128::from(filter.max_range()));
    let (met, suffixes) = (filter.query(part), codes.start() % size..=codes.end() % size);
    move |key| {
        let is_met = |own: Ticket<_>| met.as_ref().is_some_and(|met| met.prefix() == own.prefix());
        suffixes.contains(&(key.code() % size)) && filter.query(&filter.coded(key)).is_some_and(is_met)
    }
}

/// Keys are 20 apart, one or two in every partition of 32, in many places of it; queries are ranges in between, which meet one
/// partition, or two.
impl Tested for OrderedStore<u32> {
    type Builder = OrderedBuilder<u32>;

    fn chosen(error_rate: f64, hash_key: u8) -> OrderedBuilder<u32> {
        // A key is mistaken only for one in the same place of its partition, so most mistakes are not made.
        let error_rate = (error_rate * 4.0).min(0.95);
        let builder = OrderedStore::builder().error_rate(error_rate).capacity(1).hasher(hasher(hash_key));
        builder.max_range(32)
    }

    fn key(number: u64) -> Vec<u8> {
        (number as u32 * 20).to_be_bytes().to_vec()
    }

    const AT_A_TIME: u64 = 100;

    fn stranger(number: u64) -> Vec<u8> {
        let first = number * 20 + 1 + number % 7;
        let last = first + number % 12;
        [first as u32, last as u32].map(u32::to_be_bytes).concat()
    }

    fn put(&self, key: &[u8], value: &[u8]) -> Result<bool, StoreError> {
        self.insert(&number(key), value)
    }

    fn put_all(&self, rows: &[(Vec<u8>, Vec<u8>)]) -> Result<u64, StoreError> {
        let rows: Vec<_> = rows.iter().map(|(key, value)| (number(key), value)).collect();
        self.insert_batch(&rows)
    }

    fn take_out(&self, key: &[u8]) -> Result<bool, StoreError> {
        self.remove(&number(key))
    }

    fn try_value(&self, key: &[u8]) -> Result<Option<Vec<u8>>, StoreError> {
        let key = number(key);
        let value = self.get(&key)?;
        let in_range = self.range(key.saturating_sub(3)..=key).next().transpose()?.map(|(_, value)| value);
        assert_eq!(in_range, value);
        Ok(value)
    }

    fn may_have(&self, key: &[u8]) -> bool {
        self.may_contain(&number(key)).unwrap()
    }

    fn rows(&self) -> BTreeMap<Vec<u8>, Vec<u8>> {
        let rows: Vec<_> = self.iter().map(Result::unwrap).collect();
        assert!(rows.is_sorted_by(|one, other| one.0 < other.0));
        rows.into_iter().map(|(key, value)| (key.to_be_bytes().to_vec(), value)).collect()
    }

    fn is_positive(&self, query: &[u8]) -> bool {
        self.may_contain_range(range(query)).unwrap()
    }

    fn ask(&self, query: &[u8]) -> Result<(), StoreError> {
        match number(query) % 3 {
            0 => assert!(!self.contains_range(range(query))?),
            _ => assert!(self.range(range(query)).next().transpose()?.is_none()),
        }
        Ok(())
    }

    fn ask_all(&self, queries: &[Vec<u8>]) -> Result<(), StoreError> {
        let points: Vec<u32> = queries.iter().map(|query| number(query)).collect();
        assert!(self.get_batch(&points)?.iter().all(Option::is_none));
        queries.iter().try_for_each(|query| self.ask(query))
    }

    fn get_one(&self, key: &[u8]) -> Result<(), StoreError> {
        let key = number(key);
        self.get(&key)?;
        self.range(key.saturating_sub(3)..key + 40).try_for_each(|row| row.map(drop))
    }

    fn culprits(&self, query: &[u8], rows: &BTreeMap<Vec<u8>, Vec<u8>>) -> BTreeSet<Vec<u8>> {
        self.with_filter(|filter| {
            let mut culprits = BTreeSet::new();
            for part in filter.coded_parts(range(query)) {
                let under = under_the_fingerprint_of(filter, &part);
                culprits.extend(rows.keys().filter(|key| under(&number(key))));
            }
            culprits.into_iter().cloned().collect()
        })
        .unwrap()
    }

    fn values(&self, keys: &[Vec<u8>]) -> Vec<Option<Vec<u8>>> {
        let keys: Vec<u32> = keys.iter().map(|key| number(key)).collect();
        self.get_batch(&keys).unwrap()
    }

    fn statistics(&self) -> StoreStats {
        self.stats().unwrap().store
    }

    same_names! {}
    counting! {}
}

/// A value says which list the key is on. Whoever puts a key on one takes it off the other.
impl Tested for YesNoStore {
    type Builder = YesNoStoreBuilder;

    fn chosen(error_rate: f64, hash_key: u8) -> YesNoStoreBuilder {
        YesNoStore::builder().error_rate(error_rate).capacity(10).hasher(hasher(hash_key))
    }

    fn key(number: u64) -> Vec<u8> {
        common::key(number)
    }

    fn kept(value: Vec<u8>) -> Vec<u8> {
        let sum = value.iter().fold(0u8, |sum, byte| sum.wrapping_add(*byte));
        Answer::from(sum % 2 == 0).to_string().into_bytes()
    }

    const AT_A_TIME: u64 = 8;

    fn stranger(number: u64) -> Vec<u8> {
        common::stranger(number)
    }

    fn put(&self, key: &[u8], value: &[u8]) -> Result<bool, StoreError> {
        let was_on = match list(value) {
            Answer::Yes => self.move_to_yes(key)?,
            Answer::No => self.move_to_no(key)?,
        };
        Ok(was_on.is_none())
    }

    fn put_all(&self, rows: &[(Vec<u8>, Vec<u8>)]) -> Result<u64, StoreError> {
        let known = self.approximate();
        let changes: Vec<_> = rows.iter().map(|(key, value)| (key, Some(list(value)))).collect();
        self.change_batch(&changes)?;
        // Others may write meanwhile; then nobody asks.
        Ok(self.approximate().saturating_sub(known))
    }

    fn take_out(&self, key: &[u8]) -> Result<bool, StoreError> {
        Ok(self.remove(key)?.is_some())
    }

    fn try_value(&self, key: &[u8]) -> Result<Option<Vec<u8>>, StoreError> {
        let list = self.lookup(key)?;
        assert!(list.is_none_or(|list| self.query(key).unwrap() == list), "{}", key.escape_ascii());
        assert_eq!(self.query_exactly(key)?, list.unwrap_or(Answer::No));
        Ok(list.map(|list| list.to_string().into_bytes()))
    }

    fn may_have(&self, key: &[u8]) -> bool {
        let list = self.lookup(key).unwrap();
        list == Some(self.query(key).unwrap())
    }

    fn rows(&self) -> BTreeMap<Vec<u8>, Vec<u8>> {
        let rows = self.iter().map(Result::unwrap);
        rows.map(|(key, list)| (key, list.to_string().into_bytes())).collect()
    }

    fn is_positive(&self, query: &[u8]) -> bool {
        self.query(query).unwrap().is_yes()
    }

    fn ask(&self, query: &[u8]) -> Result<(), StoreError> {
        assert_eq!(self.query_exactly(query)?, Answer::No);
        Ok(())
    }

    fn ask_all(&self, queries: &[Vec<u8>]) -> Result<(), StoreError> {
        let mut answers = vec![Answer::No; queries.len()];
        self.query_batch(queries, &mut answers)?;
        let yes = queries.iter().zip(answers).filter(|(_, answer)| answer.is_yes());
        yes.into_iter().try_for_each(|(query, _)| self.ask(query))
    }

    fn get_one(&self, key: &[u8]) -> Result<(), StoreError> {
        self.query_exactly(key).map(drop)
    }

    fn culprits(&self, query: &[u8], rows: &BTreeMap<Vec<u8>, Vec<u8>>) -> BTreeSet<Vec<u8>> {
        self.with_filter(|filter| {
            let Some(ticket) = filter.ticket(query) else { return BTreeSet::new() };
            let covers = |key: &[u8]| ticket.prefix().covers(filter.hasher(), key);
            let yes = rows.iter().filter(|(key, value)| list(value).is_yes() && covers(key));
            yes.map(|(key, _)| key.clone()).collect()
        })
        .unwrap()
    }

    fn approximate(&self) -> u64 {
        self.approximate_len() + self.approximate_no_len()
    }

    fn rebuilt(&self) -> Result<u64, StoreError> {
        Ok(self.rebuild()? + self.approximate_no_len())
    }

    fn counted(&self) -> u64 {
        let count = self.count().unwrap();
        assert_eq!((count.yes, count.no), (self.approximate_len(), self.approximate_no_len()));
        assert_eq!(self.is_empty().unwrap(), count.yes + count.no == 0);
        count.yes + count.no
    }

    fn values(&self, keys: &[Vec<u8>]) -> Vec<Option<Vec<u8>>> {
        keys.iter().map(|key| self.value(key)).collect()
    }

    fn statistics(&self) -> StoreStats {
        self.stats().unwrap()
    }

    same_names! {}
}

/// The list that a value names.
fn list(value: &[u8]) -> Answer {
    Answer::from(value == b"yes")
}
