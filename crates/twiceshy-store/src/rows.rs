//! The keys and values of the user as rows of an engine, in the order of the keys' hashes.
//!
//! # The idea
//!
//! A row's key is the head of the key's hash, and the key. So the keys under a fingerprint lie side by side, and the
//! filter's question "which keys are these?" is a short scan. The filter's fingerprints are written nowhere: however
//! they change, the rows stay as they are.
//!
//! The head is short, four bytes, because it makes every row longer: the first 31 bits of the hash, highest first, and
//! a bit that says whether the key follows. (A key of 16 bytes then makes a row's key of 20, the most that fjall keeps
//! without an allocation.) Among the few rows with the same head the order is that of the keys; who
//! needs the order of whole hashes gets it from [`RowMap::rows_in`], which sorts these few.
//!
//! A key that is too long for the engine lies under a head with that bit set and 256 further bits of its keyed hash; the
//! key itself is in front of the value.
//!
//! # Source
//!
//! Section 4.2 of *Adaptive Quotient Filters*; the paper's map is keyed by fingerprints and rewritten as they change.

use std::ops::{ControlFlow, RangeInclusive};
use std::sync::Arc;

use twiceshy::adaptive::protocol::Wanted;
use twiceshy::reverse_map::{Lookup, Row, Rows, Visit};
use twiceshy::{Hasher, Prefix};

use crate::engine::{Batch, Engine, Keys, Space};
use crate::error::StoreError;

/// The first bytes of a row's key.
pub(crate) type Head = [u8; HEAD_BYTES];

/// The bytes of a head.
pub(crate) const HEAD_BYTES: usize = 4;
/// The bits of a hash that are in no head.
const REST_BITS: u32 = 64 - (HEAD_BYTES as u32 * 8 - 1);
const DIGEST_BYTES: usize = 32;
/// The length of a long key, in front of it.
const LEN_BYTES: usize = 8;

/// What is called with a row's key, the key and the value.
type VisitRow<'a> = dyn FnMut(&[u8], &[u8], &[u8]) -> ControlFlow<()> + 'a;

/// A row that is to be written.
pub(crate) struct NewRow<'a> {
    /// The hash of its key, and the key, as the filter knows them.
    pub(crate) hash: u64,
    pub(crate) key: &'a [u8],
    /// What tells it from other rows.
    pub(crate) row: &'a [u8],
    pub(crate) value: &'a [u8],
}

/// Who has the key of a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Sharing {
    /// The row and no other, if it is there.
    Alone,
    /// The row, which is there, and others.
    WithOthers,
    /// The row is not there.
    NotThere,
}

/// The rows of a store, in which its filter finds keys by their hashes.
///
/// What the filter takes for a key may be less than what tells rows apart: then several rows have the same key.
pub(crate) trait KeyRows: Lookup<Error = StoreError> + Send + Sync + 'static {
    /// The hash of a key, or of a query that is written as a key.
    fn hash(&self, key: &[u8]) -> u64;

    /// Checks that a row can be stored.
    fn check(&self, row: &[u8], value: &[u8]) -> Result<(), StoreError>;

    /// What the filter sees of a value.
    fn seen<'a>(&self, _value: &'a [u8]) -> &'a [u8] {
        &[]
    }

    /// Whether there is this row.
    fn has(&self, row: &[u8]) -> Result<bool, StoreError>;

    /// Rows that an operation asks for.
    fn wanted(&self, wanted: &Wanted) -> Result<Rows, StoreError> {
        wanted.read(self)
    }

    /// Whether other rows have the key of a row. If every row has a key of its own, that need not be looked up.
    fn sharing(&self, _key: &[u8], _row: &[u8]) -> Result<Sharing, StoreError> {
        Ok(Sharing::Alone)
    }

    /// Adds a row, which was [checked](Self::check), to a batch, and what the filter needs to find its key if it is new.
    fn put(&self, batch: &mut Batch, row: &NewRow<'_>, is_new: bool);

    /// Adds the removal of a row that is there to a batch.
    fn delete(&self, batch: &mut Batch, hash: u64, row: &[u8]) -> Result<(), StoreError>;
}

/// The rows of a store, in the order of the hashes of their keys.
#[derive(Clone)]
pub(crate) struct RowMap {
    engine: Arc<dyn Engine>,
    hasher: Hasher,
    /// How many bytes of a value the filter sees.
    seen_bytes: usize,
}

impl RowMap {
    /// A filter sees the first `seen_bytes` bytes of values. Others stay in the engine.
    pub(crate) fn new(engine: Arc<dyn Engine>, hasher: Hasher, seen_bytes: usize) -> Self {
        Self { engine, hasher, seen_bytes }
    }

    fn is_long(&self, key: &[u8]) -> bool {
        HEAD_BYTES + key.len() > self.engine.max_key_len()
    }

    /// The key of the row of a key with this hash.
    fn row_key(&self, hash: u64, key: &[u8]) -> Vec<u8> {
        let is_long = self.is_long(key);
        let len = if is_long { DIGEST_BYTES } else { key.len() };
        let mut row = Vec::with_capacity(HEAD_BYTES + len);
        row.extend(head(hash, is_long));
        if is_long {
            row.extend((1..=4).flat_map(|index| self.hasher.word_bytes(key, index).to_be_bytes()));
        } else {
            row.extend(key);
        }
        row
    }

    /// Checks that a row can be stored.
    fn check_row(&self, key: &[u8], value: &[u8]) -> Result<(), StoreError> {
        let mut max = self.engine.max_value_len();
        if self.is_long(key) {
            let no_room = HEAD_BYTES + DIGEST_BYTES > self.engine.max_key_len();
            let most =
                if no_room { self.engine.max_key_len().saturating_sub(HEAD_BYTES) } else { max - LEN_BYTES };
            if no_room || key.len() > most {
                return Err(StoreError::KeyTooLong { len: key.len(), max: most });
            }
            max = most - key.len();
        }
        if value.len() > max {
            return Err(StoreError::ValueTooLong { len: value.len(), max });
        }
        Ok(())
    }

    /// The value of a key.
    pub(crate) fn get(&self, key: &[u8]) -> Result<Option<Vec<u8>>, StoreError> {
        if self.is_long(key) && HEAD_BYTES + DIGEST_BYTES > self.engine.max_key_len() {
            return Ok(None);
        }
        let row = self.row_key(self.hash(key), key);
        let Some(mut value) = self.engine.get(Space::Rows, &row)? else { return Ok(None) };
        if !self.is_long(key) {
            return Ok(Some(value));
        }
        let (stored, rest) = split_long(&value)?;
        if stored != key {
            return Ok(None);
        }
        let start = value.len() - rest.len();
        Ok(Some(value.split_off(start)))
    }

    /// Calls `visit` for every key whose hash is in the range, in the order of the hashes, with what the filter sees of its
    /// value.
    pub(crate) fn rows_in(&self, hashes: RangeInclusive<u64>, visit: Visit<'_>) -> Result<(), StoreError> {
        let (from, until) = heads(&hashes);
        // The keys whose hashes have the same head, nearly always one.
        let mut group = Group::default();
        let mut flow = ControlFlow::Continue(());
        self.rows_from(
            Keys { from: &from, until: until.as_ref().map(Head::as_slice) },
            &mut |row_key, key, value| {
                let same = group.head == hash_bits(row_key);
                if !same {
                    flow = group.visit(&hashes, visit);
                    group.head = hash_bits(row_key);
                }
                group.rows.push((self.hash(key), key.to_vec(), self.seen(value).to_vec()));
                flow
            },
        )?;
        if flow.is_continue() {
            let _ = group.visit(&hashes, visit);
        }
        Ok(())
    }

    /// Calls `visit` with the row's key, the key and the value of all rows in a range of row's keys.
    pub(crate) fn rows_from(&self, keys: Keys<'_>, visit: &mut VisitRow<'_>) -> Result<(), StoreError> {
        let mut failed = None;
        self.engine.scan(Space::Rows, keys, &mut |row_key, value| match decode(row_key, value) {
            Ok((key, value)) => visit(row_key, key, value),
            Err(error) => {
                failed = Some(error);
                ControlFlow::Break(())
            }
        })?;
        failed.map_or(Ok(()), Err)
    }

    /// Whether a row lies where its key belongs.
    pub(crate) fn is_in_place(&self, row_key: &[u8], key: &[u8]) -> bool {
        self.row_key(self.hash(key), key) == row_key
    }
}

impl KeyRows for RowMap {
    fn hash(&self, key: &[u8]) -> u64 {
        self.hasher.hash_bytes(key)
    }

    fn check(&self, key: &[u8], value: &[u8]) -> Result<(), StoreError> {
        self.check_row(key, value)
    }

    fn seen<'a>(&self, value: &'a [u8]) -> &'a [u8] {
        &value[..value.len().min(self.seen_bytes)]
    }

    fn has(&self, key: &[u8]) -> Result<bool, StoreError> {
        Ok(self.get(key)?.is_some())
    }

    fn put(&self, batch: &mut Batch, row: &NewRow<'_>, _: bool) {
        let &NewRow { hash, key, value, .. } = row;
        let value = if self.is_long(key) {
            [&(key.len() as u64).to_le_bytes(), key, value].concat()
        } else {
            value.to_vec()
        };
        batch.put(Space::Rows, self.row_key(hash, key), value);
    }

    fn delete(&self, batch: &mut Batch, hash: u64, key: &[u8]) -> Result<(), StoreError> {
        batch.delete(Space::Rows, self.row_key(hash, key));
        Ok(())
    }
}

/// All keys whose hashes have a head.
pub(crate) fn rows_with(head: Head, rows: &impl KeyRows) -> Result<Rows, StoreError> {
    let mut bytes = [0; 8];
    bytes[..HEAD_BYTES].copy_from_slice(&head);
    let first = u64::from_be_bytes(bytes) >> (64 - 8 * HEAD_BYTES) >> 1;
    Rows::under(&Prefix::from_bits(first, 64 - REST_BITS), rows)
}

/// The heads of the hashes in a range: the first, and the first one after them, if there is one.
pub(crate) fn heads(hashes: &RangeInclusive<u64>) -> (Head, Option<Head>) {
    let end = (*hashes.end() >> REST_BITS << REST_BITS).checked_add(1 << REST_BITS);
    (head(*hashes.start(), false), end.map(|end| head(end, false)))
}

/// Rows that are not in the engine yet, and rows that are there and will not be.
#[derive(Default)]
pub(crate) struct Pending<'a> {
    /// Hash, key, and what the filter sees of the value; nothing if the row will be gone. In order.
    rows: Vec<PendingRow<'a>>,
}

/// Hash, key and value of a row that is not in the engine yet; without a value, it is still there and will be gone.
pub(crate) type PendingRow<'a> = (u64, &'a [u8], Option<&'a [u8]>);

impl<'a> Pending<'a> {
    pub(crate) fn new(rows: impl IntoIterator<Item = PendingRow<'a>>) -> Self {
        let mut rows: Vec<_> = rows.into_iter().collect();
        rows.sort_unstable();
        Self { rows }
    }

    /// Rows that are to be written, with their values as the filter sees them.
    pub(crate) fn of<R: KeyRows>(rows: &R, new: impl IntoIterator<Item = &'a NewRow<'a>>) -> Self {
        Self::new(new.into_iter().map(|row| (row.hash, row.key, Some(rows.seen(row.value)))))
    }

    /// Takes one of them out.
    pub(crate) fn pop(&mut self) -> Option<(u64, &'a [u8])> {
        self.rows.pop().map(|(hash, key, _)| (hash, key))
    }

    /// Those whose hashes are in a range.
    fn within(&self, hashes: &RangeInclusive<u64>) -> &[PendingRow<'a>] {
        let first = self.rows.partition_point(|(hash, ..)| hash < hashes.start());
        let end = self.rows.partition_point(|(hash, ..)| hash <= hashes.end());
        &self.rows[first..end]
    }
}

/// The rows of the engine as they will be.
pub(crate) struct AndPending<'a, R> {
    pub(crate) rows: &'a R,
    pub(crate) pending: &'a Pending<'a>,
}

impl<R: KeyRows> Lookup for AndPending<'_, R> {
    type Error = StoreError;

    fn visit(&self, hashes: RangeInclusive<u64>, visit: Visit<'_>) -> Result<(), StoreError> {
        let pending = self.pending.within(&hashes);
        if pending.is_empty() {
            return self.rows.visit(hashes, visit);
        }
        let mut all = Rows::new();
        let is_pending = |row: Row<'_>| {
            let place = pending.binary_search_by(|(hash, key, _)| (*hash, *key).cmp(&(row.hash, row.key)));
            place.is_ok()
        };
        self.rows.visit(hashes.clone(), &mut |row| {
            if !is_pending(row) {
                all.push(row);
            }
            ControlFlow::Continue(())
        })?;
        for &(hash, key, value) in pending {
            if let Some(value) = value {
                all.push(Row { hash, key, value });
            }
        }
        all.sort();
        // They cannot fail.
        let Ok(()) = all.visit(hashes, visit);
        Ok(())
    }
}

/// The head of the row of a key with this hash.
pub(crate) fn head(hash: u64, is_long: bool) -> Head {
    let head = (hash >> REST_BITS << 1 | u64::from(is_long)) << (64 - 8 * HEAD_BYTES);
    let mut bytes = [0; HEAD_BYTES];
    bytes.copy_from_slice(&head.to_be_bytes()[..HEAD_BYTES]);
    bytes
}

/// The bits of a hash that are in a row's key.
fn hash_bits(row_key: &[u8]) -> Option<Head> {
    let mut head = *row_key.first_chunk()?;
    head[HEAD_BYTES - 1] &= !1;
    Some(head)
}

/// Keys whose hashes have the same head.
#[derive(Default)]
struct Group {
    head: Option<Head>,
    /// Hash, key, and what is seen of the value.
    rows: Vec<(u64, Vec<u8>, Vec<u8>)>,
}

impl Group {
    /// Calls `visit` for those whose hashes are in a range, in their order, and forgets all.
    fn visit(&mut self, hashes: &RangeInclusive<u64>, visit: Visit<'_>) -> ControlFlow<()> {
        self.rows.sort_unstable();
        for (hash, key, value) in self.rows.drain(..) {
            if hashes.contains(&hash) {
                visit(Row { hash, key: &key, value: &value })?;
            }
        }
        ControlFlow::Continue(())
    }
}

/// The key and the value of a row of an engine.
fn decode<'a>(row_key: &'a [u8], value: &'a [u8]) -> Result<(&'a [u8], &'a [u8]), StoreError> {
    match row_key.split_first_chunk::<HEAD_BYTES>() {
        Some((head, key)) if head[HEAD_BYTES - 1] & 1 == 0 => Ok((key, value)),
        Some(_) => split_long(value),
        None => Err(StoreError::damaged(format!("a row has a key of {} bytes", row_key.len()))),
    }
}

/// A long key and its value.
fn split_long(value: &[u8]) -> Result<(&[u8], &[u8]), StoreError> {
    let parts = value
        .split_first_chunk::<LEN_BYTES>()
        .and_then(|(len, rest)| rest.split_at_checked(usize::try_from(u64::from_le_bytes(*len)).ok()?));
    parts.ok_or_else(|| StoreError::damaged("the row of a long key is cut off"))
}

/// The rows as a filter's reverse map.
impl Lookup for RowMap {
    type Error = StoreError;

    fn visit(&self, hashes: RangeInclusive<u64>, visit: Visit<'_>) -> Result<(), StoreError> {
        self.rows_in(hashes, visit)
    }

    fn contains(&self, _: u64, key: &[u8]) -> Result<bool, StoreError> {
        self.has(key)
    }
}
