//! The filters that can be compared, behind one face.
//!
//! An adapter is a file here. It implements [`Filter`] for what a table does and [`Kind`] for how tables
//! are made, and is named in [`ALL`]. What a filter cannot do, it leaves out, and the rows are left out
//! with it.
//!
//! A measurement sees only a [`Contender`]: one dynamic call per chunk, inside of which the filter's own
//! calls are compiled into the loop, the same loop for every filter.

mod aleph;
mod cuckoofilter;
mod fastbloom;
mod qfilter;
mod sbbf;
mod twiceshy_adaptive;
mod twiceshy_expandable;
mod twiceshy_quotient;
mod twiceshy_range;
mod xorf;

use std::any::Any;
use std::hint::black_box;

use crate::clock;
use crate::plan::{Hash, Plan};

/// What every other filter is compared with.
pub(crate) static YARDSTICK: &dyn Kind = &qfilter::Qfilter;

/// All filters, ours first.
pub(crate) static ALL: &[&dyn Kind] = &[
    &twiceshy_quotient::FAST,
    &twiceshy_quotient::KEYED,
    &twiceshy_quotient::PORTABLE,
    &twiceshy_adaptive::FAST,
    &twiceshy_adaptive::KEYED,
    &twiceshy_adaptive::PORTABLE,
    &twiceshy_adaptive::ADAPTED,
    &twiceshy_expandable::FAST,
    &twiceshy_range::PLAIN,
    &twiceshy_range::ADAPTIVE,
    YARDSTICK,
    &fastbloom::Fastbloom,
    &sbbf::Sbbf,
    &xorf::Fuse8,
    &xorf::Fuse16,
    &cuckoofilter::Cuckoofilter,
    &aleph::Aleph,
];

/// The filter with this name.
pub(crate) fn find(name: &str) -> Option<&'static dyn Kind> {
    ALL.iter().copied().find(|kind| kind.name() == name)
}

/// How the tables of a filter are made, and what else does not need a table.
pub(crate) trait Kind: Sync {
    /// The name in `--filter` and in the rows.
    fn name(&self) -> &'static str;

    /// What it is, in a few words.
    fn about(&self) -> &'static str;

    /// Whether it is one of ours, and so compared by default.
    fn is_ours(&self) -> bool {
        false
    }

    /// What a process does before it measures anything of this kind.
    fn prepare_process(&self) {}

    /// Who may hash.
    fn hashes(&self) -> &'static [Hash] {
        &[Hash::Raw, Hash::Own]
    }

    /// What the filter is given for a raw hash: the same bits, where it looks for them.
    fn prepare(&self, _plan: &Plan, hash: u64) -> u64 {
        hash
    }

    /// Whether raw queries have the very same answers as the yardstick's. Then they are checked.
    fn agrees_with_yardstick(&self) -> bool {
        false
    }

    /// Whether every inserted item is found again. Then that is checked.
    fn is_reliable(&self) -> bool {
        true
    }

    /// An empty table; `None` if it cannot be filled item by item.
    fn empty(&self, _plan: &Plan, _hash: Hash) -> Option<Box<dyn Contender>> {
        None
    }

    /// A table that starts small and grows by itself to the planned size, for raw hashes.
    fn growing(&self, _plan: &Plan) -> Option<Box<dyn Contender>> {
        None
    }

    /// Puts items into the order in which [`load_sorted`](Self::load_sorted) takes them.
    fn sort_for_load(&self, _plan: &Plan, items: &mut Vec<u64>) {
        items.sort_unstable();
    }

    /// A table from items in that order: raw hashes, or keys if it only takes keys.
    fn load_sorted(&self, _plan: &Plan, _sorted: &[u64]) -> Option<Box<dyn Contender>> {
        None
    }

    /// The ways to build a table from unsorted items. The fastest one counts.
    fn build_ways(&self) -> &'static [&'static str] {
        &[]
    }

    /// A table from unsorted items in one of these ways.
    fn build(&self, _plan: &Plan, _hash: Hash, _way: usize, _items: Vec<u64>) -> Box<dyn Contender> {
        unreachable!("no way to build was named")
    }

    /// Only hashes the keys: the filter's own hash, all results combined. `None` if it has none.
    fn hash_keys(&self, _keys: &[u64]) -> Option<u64> {
        None
    }

    /// Hashes keys of 16 bytes.
    fn hash_texts(&self, _texts: &[[u8; 16]]) -> Option<u64> {
        None
    }
}

/// What a table does. Methods are called in tight loops and should be inlined.
///
/// Items are what [`Kind::prepare`] made of raw hashes, or keys, depending on what the table was made for.
pub(crate) trait Filter: Sync + Sized + 'static {
    /// Whether [`remove`](Self::remove) is there.
    const REMOVES: bool = false;
    /// Whether [`contains_batch`](Self::contains_batch) is there.
    const BATCHES: bool = false;
    /// Whether [`merge`](Self::merge) and [`copy`](Self::copy) are there.
    const MERGES: bool = false;
    /// Whether [`contains_range`](Self::contains_range) and its batch are there.
    const RANGES: bool = false;

    /// Inserts a copy.
    fn insert(&mut self, item: u64);

    /// Whether it seems to be there.
    fn contains(&self, item: u64) -> bool;

    /// The bytes of the table.
    fn bytes(&self) -> usize;

    /// Removes a copy. `false` if there was none.
    fn remove(&mut self, _item: u64) -> bool {
        unreachable!("does not remove")
    }

    /// All answers with one call.
    fn contains_batch(&self, _items: &[u64], _found: &mut [bool]) {
        unreachable!("no batches")
    }

    /// Whether there seems to be an item in the range of [`RANGE`](crate::plan::RANGE) items that begins with this one.
    fn contains_range(&self, _start: u64) -> bool {
        unreachable!("no ranges")
    }

    /// All answers with one call.
    fn contains_range_batch(&self, _starts: &[u64], _found: &mut [bool]) {
        unreachable!("no ranges")
    }

    /// A copy of the table.
    fn copy(&self) -> Self {
        unreachable!("not copied")
    }

    /// Adds all items of another table.
    fn merge(&mut self, _other: &Self) {
        unreachable!("does not merge")
    }
}

/// A table of any filter, to be used a chunk at a time. Every [`Filter`] is one.
pub(crate) trait Contender: Any + Sync {
    fn insert_all(&mut self, items: &[u64]);
    /// Inserts and times each item.
    fn insert_each(&mut self, items: &[u64], nanos: &mut Vec<f64>);
    /// How many seem to be there.
    fn contains_all(&self, items: &[u64]) -> u64;
    fn batches(&self) -> bool;
    /// Asks for all of them with one call.
    fn contains_batch(&self, items: &[u64], found: &mut [bool]) -> u64;
    fn ranges(&self) -> bool;
    /// How many ranges that begin with these seem to have items; for a filter without ranges, how many of the items.
    fn contains_ranges(&self, starts: &[u64]) -> u64;
    /// Asks for all of them with one call, if there is one.
    fn contains_range_batch(&self, starts: &[u64], found: &mut [bool]) -> u64;
    fn removes(&self) -> bool;
    /// How many were removed.
    fn remove_all(&mut self, items: &[u64]) -> u64;
    fn merges(&self) -> bool;
    fn copy(&self) -> Box<dyn Contender>;
    /// Adds all items of another table of the same type.
    fn merge(&mut self, other: &dyn Contender);
    fn bytes(&self) -> usize;
}

impl<F: Filter> Contender for F {
    fn insert_all(&mut self, items: &[u64]) {
        for &item in items {
            self.insert(item);
        }
    }

    fn insert_each(&mut self, items: &[u64], nanos: &mut Vec<f64>) {
        clock::time_each(items, nanos, |item| self.insert(item));
    }

    fn contains_all(&self, items: &[u64]) -> u64 {
        let mut found = 0;
        for &item in items {
            found += u64::from(self.contains(item));
        }
        black_box(found)
    }

    fn batches(&self) -> bool {
        F::BATCHES
    }

    fn contains_batch(&self, items: &[u64], found: &mut [bool]) -> u64 {
        Filter::contains_batch(self, items, found);
        black_box(found.iter().map(|&found| u64::from(found)).sum())
    }

    fn ranges(&self) -> bool {
        F::RANGES
    }

    fn contains_ranges(&self, starts: &[u64]) -> u64 {
        if !F::RANGES {
            return self.contains_all(starts);
        }
        let mut found = 0;
        for &start in starts {
            found += u64::from(self.contains_range(start));
        }
        black_box(found)
    }

    fn contains_range_batch(&self, starts: &[u64], found: &mut [bool]) -> u64 {
        if !F::RANGES {
            return self.contains_all(starts);
        }
        Filter::contains_range_batch(self, starts, found);
        black_box(found.iter().map(|&found| u64::from(found)).sum())
    }

    fn removes(&self) -> bool {
        F::REMOVES
    }

    fn remove_all(&mut self, items: &[u64]) -> u64 {
        let mut removed = 0;
        for &item in items {
            removed += u64::from(self.remove(item));
        }
        black_box(removed)
    }

    fn merges(&self) -> bool {
        F::MERGES
    }

    fn copy(&self) -> Box<dyn Contender> {
        Box::new(Filter::copy(self))
    }

    fn merge(&mut self, other: &dyn Contender) {
        let other = (other as &dyn Any).downcast_ref::<F>();
        Filter::merge(self, other.expect("both sources are tables of one type"));
    }

    fn bytes(&self) -> usize {
        Filter::bytes(self)
    }
}

/// A table with the items inserted one by one: a way to build for filters without a better one.
fn insert_into_empty(kind: &dyn Kind, plan: &Plan, hash: Hash, items: &[u64]) -> Box<dyn Contender> {
    let mut table = kind.empty(plan, hash).expect("it can be filled item by item");
    table.insert_all(items);
    table
}
