//! A store of any kind, with keys as bytes: those of the key itself, or those that order it (see `keys.rs`).

use std::ops::Bound;
use std::path::Path;

use twiceshy::AdaptiveRangeFilter;
use twiceshy_store::{AdaptiveStore, Durability, EngineKind, OrderedStore, Recovery, StoreError, Verified};

use super::keys::{Keys, Written};
use super::tsv::Row;

pub(super) type Result<T, E = StoreError> = std::result::Result<T, E>;

/// Rows, one after the other.
pub(super) type Rows<'a> = Box<dyn Iterator<Item = Result<Row>> + 'a>;

/// A bound of a range of keys.
pub(super) type KeyBound = Bound<Vec<u8>>;

/// What all commands ask of a store.
pub(super) trait AnyStore {
    fn insert_batch(&self, rows: &[Row]) -> Result<u64>;
    fn get_batch(&self, keys: &[&[u8]]) -> Result<Vec<Option<Vec<u8>>>>;
    fn remove(&self, key: &[u8]) -> Result<bool>;
    /// All rows; those of an ordered store in order.
    fn iter(&self) -> Rows<'_>;
    /// The rows in a range, in order; `None` if keys have no order.
    fn range(&self, range: (KeyBound, KeyBound)) -> Option<Rows<'_>>;
    /// What the filter is like.
    fn filter(&self) -> Result<FilterFigures>;
    fn verify(&self) -> Result<Verified>;
    fn rebuild(&self) -> Result<u64>;
    fn flush(&self) -> Result<()>;
    fn close(self: Box<Self>) -> Result<()>;
    fn recovery(&self) -> &Recovery;
    fn approximate_len(&self) -> u64;
    fn engine_name(&self) -> &'static str;
}

/// What there is to say of a filter.
pub(super) struct FilterFigures {
    pub(super) bytes: u64,
    pub(super) fingerprints: u64,
    /// Fingerprints that have learned from a mistake.
    pub(super) adapted: u64,
    pub(super) load: f64,
    pub(super) expected_error_rate: f64,
    pub(super) highest_error_rate: f64,
    /// The longest range that the rate holds for, if it knows ranges.
    pub(super) max_range: Option<u64>,
}

/// What all stores have under the same names; and how long a range their filters know.
macro_rules! as_every_store {
    ($max_range:expr) => {
        fn filter(&self) -> Result<FilterFigures> {
            self.with_filter(|filter| {
                let lengths = filter.lengths();
                FilterFigures {
                    bytes: filter.size_in_bytes() as u64,
                    fingerprints: filter.fingerprints(),
                    adapted: lengths.extended,
                    load: filter.load_factor(),
                    expected_error_rate: lengths.expected_error_rate,
                    highest_error_rate: filter.highest_error_rate(),
                    max_range: $max_range(filter),
                }
            })
        }

        fn verify(&self) -> Result<Verified> {
            self.verify()
        }

        fn rebuild(&self) -> Result<u64> {
            self.rebuild()
        }

        fn flush(&self) -> Result<()> {
            self.flush()
        }

        fn close(self: Box<Self>) -> Result<()> {
            (*self).close()
        }

        fn recovery(&self) -> &Recovery {
            self.recovery()
        }

        fn approximate_len(&self) -> u64 {
            self.approximate_len()
        }

        fn engine_name(&self) -> &'static str {
            self.engine().name()
        }
    };
}

impl AnyStore for AdaptiveStore {
    fn insert_batch(&self, rows: &[Row]) -> Result<u64> {
        self.insert_batch(rows)
    }

    fn get_batch(&self, keys: &[&[u8]]) -> Result<Vec<Option<Vec<u8>>>> {
        self.get_batch(keys)
    }

    fn remove(&self, key: &[u8]) -> Result<bool> {
        self.remove(key)
    }

    fn iter(&self) -> Rows<'_> {
        Box::new(self.iter())
    }

    fn range(&self, _: (KeyBound, KeyBound)) -> Option<Rows<'_>> {
        None
    }

    as_every_store! { |_| None }
}

/// The key that some bytes order.
fn key<K: Written>(bytes: &[u8]) -> Result<K> {
    // They come from `Keys::parse`, or from the store.
    K::from_row_key(bytes).ok_or_else(|| StoreError::Damaged { what: format!("{bytes:02x?} is no key") })
}

fn rows<'a, K: Written>(rows: impl Iterator<Item = Result<(K, Vec<u8>)>> + 'a) -> Rows<'a> {
    Box::new(rows.map(|row| {
        let (key, value) = row?;
        let mut bytes = Vec::new();
        key.write_row_key(&mut bytes);
        Ok((bytes, value))
    }))
}

fn bound<K: Written>(bound: KeyBound) -> Result<Bound<K>> {
    Ok(match bound {
        Bound::Included(bytes) => Bound::Included(key(&bytes)?),
        Bound::Excluded(bytes) => Bound::Excluded(key(&bytes)?),
        Bound::Unbounded => Bound::Unbounded,
    })
}

impl<K: Written> AnyStore for OrderedStore<K> {
    fn insert_batch(&self, rows: &[Row]) -> Result<u64> {
        let rows: Vec<(K, &[u8])> =
            rows.iter().map(|(bytes, value)| Ok((key(bytes)?, value.as_slice()))).collect::<Result<_>>()?;
        self.insert_batch(&rows)
    }

    fn get_batch(&self, keys: &[&[u8]]) -> Result<Vec<Option<Vec<u8>>>> {
        let keys: Vec<K> = keys.iter().map(|bytes| key(bytes)).collect::<Result<_>>()?;
        self.get_batch(&keys)
    }

    fn remove(&self, bytes: &[u8]) -> Result<bool> {
        self.remove(&key::<K>(bytes)?)
    }

    fn iter(&self) -> Rows<'_> {
        rows(self.iter())
    }

    fn range(&self, (start, end): (KeyBound, KeyBound)) -> Option<Rows<'_>> {
        let range = bound::<K>(start).and_then(|start| Ok((start, bound::<K>(end)?)));
        Some(match range {
            Ok(range) => rows(self.range(range)),
            Err(error) => Box::new(std::iter::once(Err(error))),
        })
    }

    as_every_store! { |filter: &AdaptiveRangeFilter<K>| Some(filter.max_range()) }
}

/// How a store is opened.
#[derive(Clone, Copy)]
pub(super) struct Opening<'a> {
    pub(super) folder: &'a Path,
    /// What every single write is to survive.
    pub(super) durability: Durability,
    /// How it is made; without this it must be there.
    pub(super) making: Option<Making>,
}

/// What is chosen when a store is made.
#[derive(Clone, Copy)]
pub(super) struct Making {
    pub(super) engine: EngineKind,
    pub(super) error_rate: f64,
    /// Of an ordered one.
    pub(super) max_range: Option<u64>,
}

/// A builder with what stores of all kinds can be told.
macro_rules! with_settings {
    ($builder:expr, $opening:expr) => {{
        let builder = $builder.create($opening.making.is_some()).durability($opening.durability);
        match $opening.making {
            Some(making) => builder.engine(making.engine).error_rate(making.error_rate),
            None => builder,
        }
    }};
}

pub(super) fn open_ordered<K: Written>(opening: Opening<'_>) -> Result<Box<dyn AnyStore>> {
    let builder = with_settings!(OrderedStore::<K>::builder(), opening);
    let max_range = opening.making.and_then(|making| making.max_range);
    let builder = if let Some(keys) = max_range { builder.max_range(keys) } else { builder };
    Ok(Box::new(builder.open(opening.folder)?))
}

fn open_plain(opening: Opening<'_>) -> Result<Box<dyn AnyStore>> {
    let builder = with_settings!(AdaptiveStore::builder(), opening);
    Ok(Box::new(builder.open(opening.folder)?))
}

impl Keys {
    /// Opens a store with such keys.
    pub(super) fn open(self, opening: Opening<'_>) -> Result<Box<dyn AnyStore>> {
        self.0.map_or(open_plain as fn(Opening<'_>) -> _, |kind| kind.open)(opening)
    }
}
